"""A PETSc matrix, solved by Sordino where it lies: each process hands over its own rows.

    mpiexec -n 4 python examples/from_petsc4py.py

petsc4py and Sordino must use the same MPI library.
"""

from __future__ import annotations

import sys

from mpi4py import MPI  # isort: skip  # before petsc4py: mpi4py asks MPI for threads, PETSc alone does not
from petsc4py import PETSc

import sordino


def solve(A: PETSc.Mat, b: PETSc.Vec, x: PETSc.Vec, **options: object) -> sordino.Solution:
    """A x = b, verified. No process ever has more of A, b or x than PETSc gave it, but for the halo."""
    with sordino.RowsSolver(
        A.comm, *A.getValuesCSR(), first_row=A.getOwnershipRange()[0], **options
    ) as solver:
        solution = solver.solve(b.getArray(readonly=True))
    x.setArray(solution.x)
    return solution


def line(n: int) -> PETSc.Mat:
    """The matrix (-1, 3, -1) of order n, over all processes."""
    A = PETSc.Mat().createAIJ([n, n], nnz=3, comm=MPI.COMM_WORLD)
    for i in range(*A.getOwnershipRange()):
        for j in (i - 1, i, i + 1):
            if 0 <= j < n:
                A.setValue(i, j, 3.0 if i == j else -1.0)
    A.assemble()
    return A


def main(n: int = 2000) -> int:
    """Solve, and compute the residual with PETSc."""
    A = line(n)
    x, b = A.createVecs()
    b.set(1.0)
    solve(A, b, x, rtol=1e-10)
    r = b.duplicate()
    A.mult(x, r)
    r.aypx(-1.0, b)
    residual = r.norm() / b.norm()
    PETSc.Sys.Print(f"{n} rows in {A.comm.size} processes: relative residual {residual:.1e}")
    return 0 if residual <= 1.1e-10 else 3


if __name__ == "__main__":
    sys.exit(main())
