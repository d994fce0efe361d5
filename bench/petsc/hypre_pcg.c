/* One system solved by hypre's PCG with its diagonal scaling, for the measurements that put Sordino beside it.

     mpiexec -n 2 hypre_pcg SYSTEM X RTOL [REPEATS]

   SYSTEM is a file as system.h has it. X is written: float64 x[n] of the last solve. Each solve begins with x = 0 and ends by the
   2-norm of r relative to b's, and rank 0 prints one JSON object a solve, of the slowest rank's seconds. Reading the file is in no
   figure; setup is the matrix out of its arrays, and the solver's. */
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <string.h>

#include "system.h"

static int rank;

static void check(int bad, const char* what) {
  if (!bad) return;
  fprintf(stderr, "hypre_pcg: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static HYPRE_IJMatrix make_matrix(const Rows* r) {
  HYPRE_IJMatrix A;
  const HYPRE_BigInt first = (HYPRE_BigInt)r->first, last = (HYPRE_BigInt)(r->first + r->rows - 1);
  HYPRE_Int* sizes = malloc(sizeof *sizes * (size_t)r->rows);
  HYPRE_BigInt *rows = malloc(sizeof *rows * (size_t)r->rows), *columns = malloc(sizeof *columns * (size_t)r->entries);
  check(!sizes || !rows || !columns, "no memory");
  for (int64_t i = 0; i < r->rows; i++) {
    sizes[i] = (HYPRE_Int)(r->indptr[i + 1] - r->indptr[i]);
    rows[i] = first + (HYPRE_BigInt)i;
  }
  for (int64_t k = 0; k < r->entries; k++) columns[k] = r->indices[k];
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &A);
  HYPRE_IJMatrixSetObjectType(A, HYPRE_PARCSR);
  HYPRE_IJMatrixSetRowSizes(A, sizes);
  HYPRE_IJMatrixInitialize(A);
  HYPRE_IJMatrixSetValues(A, (HYPRE_Int)r->rows, sizes, rows, columns, r->values);
  HYPRE_IJMatrixAssemble(A);
  free(sizes);
  free(rows);
  free(columns);
  return A;
}

static HYPRE_IJVector make_vector(const Rows* r, const double* values) {
  HYPRE_IJVector v;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, (HYPRE_BigInt)r->first, (HYPRE_BigInt)(r->first + r->rows - 1), &v);
  HYPRE_IJVectorSetObjectType(v, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(v);
  HYPRE_IJVectorSetValues(v, (HYPRE_Int)r->rows, NULL, values);
  HYPRE_IJVectorAssemble(v);
  return v;
}

static void solve(HYPRE_Solver pcg, HYPRE_ParCSRMatrix A, HYPRE_ParVector b, HYPRE_ParVector x, double rtol, Seconds setup) {
  HYPRE_Int iterations;
  double norm;
  HYPRE_ParVectorSetConstantValues(x, 0.0);
  MPI_Barrier(MPI_COMM_WORLD);
  Seconds begun = seconds_now();
  HYPRE_ParCSRPCGSolve(pcg, A, b, x);
  Seconds slowest = slowest_since(begun);
  HYPRE_ClearAllErrors();
  HYPRE_PCGGetNumIterations(pcg, &iterations);
  HYPRE_PCGGetFinalRelativeResidualNorm(pcg, &norm);
  if (rank == 0)
    printf("{\"converged\": %s, \"iterations\": %d, \"setup_s\": %.9f, \"solve_s\": %.9f, \"user_s\": %.9f, \"setup_user_s\": %.9f}\n",
           norm <= rtol ? "true" : "false", (int)iterations, setup.clock, slowest.clock, slowest.user,
             setup.user);
}

int main(int argc, char** argv) {
  Rows r;
  HYPRE_Solver pcg;
  HYPRE_ParCSRMatrix A;
  HYPRE_ParVector b, x;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check(argc < 4, "usage: hypre_pcg SYSTEM X RTOL [REPEATS]");
  const double rtol = atof(argv[3]);
  const int repeats = argc > 4 ? atoi(argv[4]) : 1;
  check(read_rows(argv[1], &r), "the file is no system");
  HYPRE_Init();
  double* zeros = calloc((size_t)r.rows, sizeof *zeros);
  check(!zeros, "no memory");
  MPI_Barrier(MPI_COMM_WORLD);
  Seconds begun = seconds_now();
  HYPRE_IJMatrix matrix = make_matrix(&r);
  HYPRE_IJVector right = make_vector(&r, r.b), left = make_vector(&r, zeros);
  HYPRE_IJMatrixGetObject(matrix, (void**)&A);
  HYPRE_IJVectorGetObject(right, (void**)&b);
  HYPRE_IJVectorGetObject(left, (void**)&x);
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &pcg);
  HYPRE_PCGSetMaxIter(pcg, 100000);
  HYPRE_PCGSetTol(pcg, rtol);
  HYPRE_PCGSetTwoNorm(pcg, 1);
  HYPRE_PCGSetPrecond(pcg, (HYPRE_PtrToSolverFcn)HYPRE_ParCSRDiagScale, (HYPRE_PtrToSolverFcn)HYPRE_ParCSRDiagScaleSetup,
                      NULL);
  HYPRE_ParCSRPCGSetup(pcg, A, b, x);
  const Seconds setup = slowest_since(begun);
  for (int k = 0; k < repeats; k++) solve(pcg, A, b, x, rtol, setup);
  HYPRE_IJVectorGetValues(left, (HYPRE_Int)r.rows, NULL, zeros);
  check(write_x(argv[2], zeros, &r), "x cannot be written");
  HYPRE_ParCSRPCGDestroy(pcg);
  HYPRE_IJVectorDestroy(right);
  HYPRE_IJVectorDestroy(left);
  HYPRE_IJMatrixDestroy(matrix);
  HYPRE_Finalize();
  free(zeros);
  free_rows(&r);
  MPI_Finalize();
  return 0;
}
