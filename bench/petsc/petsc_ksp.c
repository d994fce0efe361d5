/* One system solved by PETSc's KSP, for the measurements that put Sordino beside it.

     mpiexec -n 2 petsc_ksp SYSTEM X [-repeats N] [options of PETSc, such as -ksp_type cg -pc_type jacobi]

   SYSTEM is a file of machine words: int64 n, nnz; int64 indptr[n + 1]; int32 indices[nnz]; float64 values[nnz], b[n].
   X is written: float64 x[n] of the last solve. Each solve begins with x = 0, and rank 0 prints one JSON object a solve,
   of the slowest rank's seconds. Reading the file is in no figure; setup is the matrix out of its arrays, and KSPSetUp. */
#include <petscksp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

typedef struct {
  int64_t n, nnz, first, rows, entries;
  PetscInt *indptr, *indices; /* of this rank's rows, from 0 */
  PetscScalar *values, *b;
} Rows;

static int read_at(FILE* file, int64_t offset, void* into, size_t bytes) {
  return fseek(file, (long)offset, SEEK_SET) != 0 || fread(into, 1, bytes, file) != bytes;
}

/* This rank's share of the file: consecutive rows, as even as can be. */
static PetscErrorCode read_rows(const char* path, Rows* r) {
  int rank, ranks, bad = 0;
  int64_t head[2], *starts;
  int32_t* columns;
  FILE* file = fopen(path, "rb");
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
  if (!file || read_at(file, 0, head, sizeof head)) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s is no system", path);
  r->n = head[0], r->nnz = head[1];
  r->first = r->n * rank / ranks;
  r->rows = r->n * (rank + 1) / ranks - r->first;
  PetscCall(PetscMalloc1(r->rows + 1, &starts));
  bad |= read_at(file, 16 + 8 * r->first, starts, 8 * (size_t)(r->rows + 1));
  r->entries = starts[r->rows] - starts[0];
  PetscCall(PetscMalloc4(r->rows + 1, &r->indptr, r->entries, &r->indices, r->entries, &r->values, r->rows, &r->b));
  PetscCall(PetscMalloc1(r->entries, &columns));
  int64_t at = 16 + 8 * (r->n + 1);
  bad |= read_at(file, at + 4 * starts[0], columns, 4 * (size_t)r->entries);
  at += 4 * r->nnz;
  bad |= read_at(file, at + 8 * starts[0], r->values, 8 * (size_t)r->entries);
  at += 8 * r->nnz;
  bad |= read_at(file, at + 8 * r->first, r->b, 8 * (size_t)r->rows);
  fclose(file);
  if (bad) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s ends too early", path);
  for (int64_t i = 0; i <= r->rows; i++) r->indptr[i] = (PetscInt)(starts[i] - starts[0]);
  for (int64_t k = 0; k < r->entries; k++) r->indices[k] = columns[k];
  PetscCall(PetscFree(columns));
  PetscCall(PetscFree(starts));
  return 0;
}

/* User seconds of this process so far. */
static double user_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
}

static PetscErrorCode write_x(const char* path, Vec x, const Rows* r) {
  const PetscScalar* values;
  MPI_File file;
  PetscCall(VecGetArrayRead(x, &values));
  if (MPI_File_open(PETSC_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) ||
      MPI_File_write_at_all(file, 8 * r->first, values, (int)r->rows, MPI_DOUBLE, MPI_STATUS_IGNORE) || MPI_File_close(&file))
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "%s cannot be written", path);
  PetscCall(VecRestoreArrayRead(x, &values));
  return 0;
}

/* ||P b|| and ||P (b - A x)||: P is the preconditioner where the method's norm is the preconditioned one, else 1. */
static PetscErrorCode own_norms(KSP ksp, Vec b, Vec x, double norms[2]) {
  KSPNormType type;
  Vec r, z;
  Mat A;
  PC pc;
  PetscCall(KSPGetNormType(ksp, &type));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(VecDuplicate(x, &r));
  PetscCall(VecDuplicate(x, &z));
  for (int k = 0; k < 2; k++) {
    if (k == 0)
      PetscCall(VecCopy(b, r));
    else
      PetscCall(MatResidual(A, b, x, r));
    if (type == KSP_NORM_PRECONDITIONED) PetscCall(PCApply(pc, r, z));
    PetscCall(VecNorm(type == KSP_NORM_PRECONDITIONED ? z : r, NORM_2, &norms[k]));
  }
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  return 0;
}

/* Solves once, and prints what PETSc says of it. `setup` is told with each. */
static PetscErrorCode solve(KSP ksp, Vec b, Vec x, double setup) {
  KSPConvergedReason reason;
  PetscInt iterations;
  double own[2] = {-1, -1}; /* of a failure nobody asks */
  double seconds[2], slowest[2];
  PetscCall(VecSet(x, 0.0));
  MPI_Barrier(PETSC_COMM_WORLD);
  double user = user_seconds();
  seconds[0] = -MPI_Wtime();
  PetscCall(KSPSolve(ksp, b, x));
  seconds[0] += MPI_Wtime();
  seconds[1] = user_seconds() - user;
  MPI_Allreduce(seconds, slowest, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  if (reason > 0) PetscCall(own_norms(ksp, b, x, own));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "{\"reason\": \"%s\", \"converged\": %s, \"iterations\": %d, \"own_norms\": [\"%.17g\", \"%.17g\"], "
                        "\"setup_s\": %.9f, \"solve_s\": %.9f, \"user_s\": %.9f}\n",
                        KSPConvergedReasons[reason], reason > 0 ? "true" : "false", (int)iterations, own[0], own[1], setup,
                        slowest[0], slowest[1]));
  return 0;
}

int main(int argc, char** argv) {
  Rows r;
  Mat A;
  Vec b, x;
  KSP ksp;
  PetscInt repeats = 1;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  if (argc < 3) SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_USER, "usage: petsc_ksp SYSTEM X [options]");
  const char *system = argv[1], *result = argv[2];
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeats", &repeats, NULL));
  PetscCall(read_rows(system, &r));
  MPI_Barrier(PETSC_COMM_WORLD);
  double setup = -MPI_Wtime(), slowest;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, (PetscInt)r.rows, (PetscInt)r.rows, (PetscInt)r.n, (PetscInt)r.n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocationCSR(A, r.indptr, r.indices, r.values)); /* of the two, the one of A's type acts */
  PetscCall(MatMPIAIJSetPreallocationCSR(A, r.indptr, r.indices, r.values));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, (PetscInt)r.rows, (PetscInt)r.n, r.b, &b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  setup += MPI_Wtime();
  MPI_Allreduce(&setup, &slowest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
  for (PetscInt k = 0; k < repeats; k++) PetscCall(solve(ksp, b, x, slowest));
  PetscCall(write_x(result, x, &r));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree4(r.indptr, r.indices, r.values, r.b));
  PetscCall(PetscFinalize());
  return 0;
}
