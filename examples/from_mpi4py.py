"""A Python program that runs on MPI hands Sordino the rows that each of its processes has.

    mpiexec -n 4 python examples/from_mpi4py.py [points]

A line of points, each tied to its neighbours, with a load on all of them; each process assembles a stretch of it. The
residual is computed with messages of the program's own, over the same communicator.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI  # starts MPI, with threads, and ends it

import sordino


def rows_of_a_line(first: int, end: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows first ... end - 1 of the matrix (-1, 3, -1) of order n: indptr, columns in the whole matrix, values."""
    row = np.repeat(np.arange(first, end), 3)
    column = row + np.tile([-1, 0, 1], end - first)
    value = np.tile([-1.0, 3.0, -1.0], end - first)
    inside = (column >= 0) & (column < n)
    counts = np.bincount(row[inside] - first, minlength=end - first)
    return np.concatenate([[0], np.cumsum(counts)]), column[inside], value[inside]


def product(comm: MPI.Comm, x: np.ndarray) -> np.ndarray:
    """A x for this process's rows: the ends of the neighbours' stretches come by messages."""
    left, right = MPI.PROC_NULL, MPI.PROC_NULL
    if comm.rank > 0:
        left = comm.rank - 1
    if comm.rank < comm.size - 1:
        right = comm.rank + 1
    padded = np.zeros(len(x) + 2)
    padded[1:-1] = x
    comm.Sendrecv(x[:1].copy(), dest=left, recvbuf=padded[-1:], source=right)
    comm.Sendrecv(x[-1:].copy(), dest=right, recvbuf=padded[:1], source=left)
    return 3 * x - padded[:-2] - padded[2:]


def main(points: int = 100_000) -> int:
    """Solve, update the matrix, solve again."""
    comm = MPI.COMM_WORLD
    first, end = (points * (comm.rank + k) // comm.size for k in (0, 1))
    indptr, columns, values = rows_of_a_line(first, end, points)
    load = np.sin(np.arange(first, end))

    with sordino.RowsSolver(comm, indptr, columns, values, solver="cg", rtol=1e-10) as solver:
        solution = solver.solve(load)
        solver.update_values(2 * values)
        half = solver.solve(load).x

    x, engine = solution.x, solution.report.options["engine"]
    residual = comm.allreduce(float(np.sum((load - product(comm, x)) ** 2)))
    norm = comm.allreduce(float(np.sum(load**2)))
    close = comm.allreduce(bool(np.allclose(half, x / 2)), op=MPI.LAND)
    good = close and residual <= 1.1e-20 * norm
    if comm.rank == 0:
        print(
            f"{points} rows in {comm.size} processes, engine {engine}: relative residual {(residual / norm) ** 0.5:.1e}"
        )
    return 0 if good else 3


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
