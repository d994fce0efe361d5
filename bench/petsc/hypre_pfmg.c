/* One system of a grid solved by hypre's PCG with PFMG, its geometric multigrid, for the measurements that put Sordino beside it.

     mpiexec -n 2 hypre_pfmg SYSTEM X RTOL REPEATS NX NY NZ

   SYSTEM is a file as system.h has it, of NX x NY x NZ cells, x fastest, whose entries are of neighbouring cells; each process has
   whole layers. X is written: float64 x[n] of the last solve. Each solve begins with x = 0 and ends by the 2-norm of r relative to
   b's, and rank 0 prints one JSON object a solve, of the slowest rank's seconds. Reading the file is in no figure; setup is the
   matrix out of its arrays, and the levels. PFMG is as it is by default, with weighted Jacobi: its red-black smoother writes beyond
   its arrays with 27 points in hypre 2.26. */
#include <HYPRE.h>
#include <HYPRE_struct_ls.h>
#include <string.h>

#include "system.h"

enum { points = 27 };

static void check(int bad, const char* what) {
  if (!bad) return;
  fprintf(stderr, "hypre_pfmg: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The place of an entry in the stencil; -1: it is of no neighbour. */
static int point_of(const int64_t* cells, int64_t row, int64_t column) {
  const int64_t layer = cells[0] * cells[1];
  const int64_t x = column % cells[0] - row % cells[0];
  const int64_t y = column / cells[0] % cells[1] - row / cells[0] % cells[1], z = column / layer - row / layer;
  const int near = x * x <= 1 && y * y <= 1 && z * z <= 1;
  return near ? (int)((z + 1) * 9 + (y + 1) * 3 + x + 1) : -1;
}

static HYPRE_StructMatrix make_matrix(const Rows* r, const int64_t* cells, HYPRE_StructGrid grid, HYPRE_Int* low, HYPRE_Int* high) {
  HYPRE_StructStencil stencil;
  HYPRE_StructMatrix A;
  HYPRE_Int all[points];
  double* values = calloc((size_t)r->rows * points, sizeof *values);
  check(!values, "no memory");
  HYPRE_StructStencilCreate(3, points, &stencil);
  for (int k = 0; k < points; k++) {
    HYPRE_Int offset[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    HYPRE_StructStencilSetElement(stencil, k, offset);
    all[k] = k;
  }
  for (int64_t i = 0; i < r->rows; i++)
    for (int64_t k = r->indptr[i]; k < r->indptr[i + 1]; k++) {
      const int at = point_of(cells, r->first + i, r->indices[k]);
      check(at < 0, "an entry is of no neighbouring cell");
      values[i * points + at] = r->values[k];
    }
  HYPRE_StructMatrixCreate(MPI_COMM_WORLD, grid, stencil, &A);
  HYPRE_StructMatrixInitialize(A);
  HYPRE_StructMatrixSetBoxValues(A, low, high, points, all, values);
  HYPRE_StructMatrixAssemble(A);
  HYPRE_StructStencilDestroy(stencil);
  free(values);
  return A;
}

static HYPRE_StructVector make_vector(HYPRE_StructGrid grid, HYPRE_Int* low, HYPRE_Int* high, double* values) {
  HYPRE_StructVector v;
  HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &v);
  HYPRE_StructVectorInitialize(v);
  HYPRE_StructVectorSetBoxValues(v, low, high, values);
  HYPRE_StructVectorAssemble(v);
  return v;
}

static HYPRE_StructSolver make_levels(void) {
  HYPRE_StructSolver pfmg;
  HYPRE_StructPFMGCreate(MPI_COMM_WORLD, &pfmg);
  HYPRE_StructPFMGSetMaxIter(pfmg, 1);
  HYPRE_StructPFMGSetTol(pfmg, 0.0);
  HYPRE_StructPFMGSetZeroGuess(pfmg);
  return pfmg;
}

int main(int argc, char** argv) {
  Rows r = {0};
  HYPRE_StructGrid grid;
  HYPRE_StructSolver pcg;
  int rank;
  int64_t cells[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check(argc < 8, "usage: hypre_pfmg SYSTEM X RTOL REPEATS NX NY NZ");
  const double rtol = atof(argv[3]);
  for (int d = 0; d < 3; d++) cells[d] = atoll(argv[5 + d]);
  check(read_rows(argv[1], &r), "the file is no system");
  const int64_t layer = cells[0] * cells[1];
  check(layer * cells[2] != r.n, "the grid is of another number of cells");
  check(r.first % layer != 0 || r.rows % layer != 0, "processes are to have whole layers");
  HYPRE_Int low[3] = {0, 0, (HYPRE_Int)(r.first / layer)};
  HYPRE_Int high[3] = {(HYPRE_Int)cells[0] - 1, (HYPRE_Int)cells[1] - 1, (HYPRE_Int)((r.first + r.rows) / layer) - 1};
  HYPRE_Init();
  double* x = calloc((size_t)r.rows, sizeof *x);
  check(!x, "no memory");
  MPI_Barrier(MPI_COMM_WORLD);
  Seconds begun = seconds_now();
  HYPRE_StructGridCreate(MPI_COMM_WORLD, 3, &grid);
  HYPRE_StructGridSetExtents(grid, low, high);
  HYPRE_StructGridAssemble(grid);
  HYPRE_StructMatrix A = make_matrix(&r, cells, grid, low, high);
  HYPRE_StructVector right = make_vector(grid, low, high, r.b), left = make_vector(grid, low, high, x);
  HYPRE_StructPCGCreate(MPI_COMM_WORLD, &pcg);
  HYPRE_StructPCGSetMaxIter(pcg, 1000);
  HYPRE_StructPCGSetTol(pcg, rtol);
  HYPRE_StructPCGSetTwoNorm(pcg, 1);
  HYPRE_StructSolver pfmg = make_levels();
  HYPRE_StructPCGSetPrecond(pcg, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, pfmg);
  HYPRE_StructPCGSetup(pcg, A, right, left);
  const Seconds setup = slowest_since(begun);
  for (int k = 0; k < atoi(argv[4]); k++) {
    HYPRE_Int iterations;
    double norm;
    HYPRE_StructVectorSetConstantValues(left, 0.0);
    MPI_Barrier(MPI_COMM_WORLD);
    begun = seconds_now();
    HYPRE_StructPCGSolve(pcg, A, right, left);
    Seconds slowest = slowest_since(begun);
    HYPRE_ClearAllErrors();
    HYPRE_StructPCGGetNumIterations(pcg, &iterations);
    HYPRE_StructPCGGetFinalRelativeResidualNorm(pcg, &norm);
    if (rank == 0)
      printf("{\"converged\": %s, \"iterations\": %d, \"setup_s\": %.9f, \"solve_s\": %.9f, \"user_s\": %.9f, \"setup_user_s\": %.9f}\n",
             norm <= rtol ? "true" : "false", (int)iterations, setup.clock, slowest.clock, slowest.user,
             setup.user);
  }
  HYPRE_StructVectorGetBoxValues(left, low, high, x);
  check(write_x(argv[2], x, &r), "x cannot be written");
  HYPRE_StructPCGDestroy(pcg);
  HYPRE_StructPFMGDestroy(pfmg);
  HYPRE_StructMatrixDestroy(A);
  HYPRE_StructVectorDestroy(right);
  HYPRE_StructVectorDestroy(left);
  HYPRE_StructGridDestroy(grid);
  HYPRE_Finalize();
  free(x);
  free_rows(&r);
  MPI_Finalize();
  return 0;
}
