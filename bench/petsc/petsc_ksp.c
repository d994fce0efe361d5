/* One system solved by PETSc's KSP, for the measurements that put Sordino beside it.

     mpiexec -n 2 petsc_ksp SYSTEM X [-repeats N] [options of PETSc, such as -ksp_type cg -pc_type jacobi]

   SYSTEM is a file as system.h has it. X is written: float64 x[n] of the last solve. Each solve begins with x = 0, and rank 0 prints one JSON object a solve,
   of the slowest rank's seconds. Reading the file is in no figure; setup is the matrix out of its arrays, and KSPSetUp. */
#include <petscksp.h>

#include "system.h"

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
static PetscErrorCode solve(KSP ksp, Vec b, Vec x, Seconds setup) {
  KSPConvergedReason reason;
  PetscInt iterations;
  double own[2] = {-1, -1}; /* of a failure nobody asks */
  PetscCall(VecSet(x, 0.0));
  MPI_Barrier(PETSC_COMM_WORLD);
  Seconds begun = seconds_now();
  PetscCall(KSPSolve(ksp, b, x));
  Seconds slowest = slowest_since(begun);
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  if (reason > 0) PetscCall(own_norms(ksp, b, x, own));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "{\"reason\": \"%s\", \"converged\": %s, \"iterations\": %d, \"own_norms\": [\"%.17g\", \"%.17g\"], "
                        "\"setup_s\": %.9f, \"solve_s\": %.9f, \"user_s\": %.9f, \"setup_user_s\": %.9f}\n",
                        KSPConvergedReasons[reason], reason > 0 ? "true" : "false", (int)iterations, own[0], own[1],
                        setup.clock, slowest.clock, slowest.user, setup.user));
  return 0;
}

int main(int argc, char** argv) {
  Rows r;
  Mat A;
  Vec b, x;
  KSP ksp;
  PetscInt repeats = 1, *indptr, *indices;
  const PetscScalar* values;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  if (argc < 3) SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_USER, "usage: petsc_ksp SYSTEM X [options]");
  const char *system = argv[1], *result = argv[2];
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeats", &repeats, NULL));
  if (read_rows(system, &r)) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s is no system", system);
  PetscCall(PetscMalloc2(r.rows + 1, &indptr, r.entries, &indices));
  for (int64_t i = 0; i <= r.rows; i++) indptr[i] = (PetscInt)r.indptr[i];
  for (int64_t k = 0; k < r.entries; k++) indices[k] = r.indices[k];
  MPI_Barrier(PETSC_COMM_WORLD);
  Seconds begun = seconds_now();
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, (PetscInt)r.rows, (PetscInt)r.rows, (PetscInt)r.n, (PetscInt)r.n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocationCSR(A, indptr, indices, r.values)); /* of the two, the one of A's type acts */
  PetscCall(MatMPIAIJSetPreallocationCSR(A, indptr, indices, r.values));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, (PetscInt)r.rows, (PetscInt)r.n, r.b, &b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  Seconds setup = slowest_since(begun);
  for (PetscInt k = 0; k < repeats; k++) PetscCall(solve(ksp, b, x, setup));
  PetscCall(VecGetArrayRead(x, &values));
  if (write_x(result, values, &r)) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "%s cannot be written", result);
  PetscCall(VecRestoreArrayRead(x, &values));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree2(indptr, indices));
  free_rows(&r);
  PetscCall(PetscFinalize());
  return 0;
}
