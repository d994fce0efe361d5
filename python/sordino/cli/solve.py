"""``sordino solve FILE``: the system of a matrix in a file."""

from __future__ import annotations

from collections.abc import Sequence

from .._matrix import as_vector
from ..io import read_matrix, read_vector
from .common import Parser, add_solve_options, rows_of, solve_options, warn_of_a_crowd
from .run import Problem, solve_problem


def main(argv: Sequence[str]) -> int:
    """Read the files, solve, show and write; return the exit code."""
    parser = Parser(
        "solve", "Solve A x = b for a matrix in a file; without --rhs, b is the file's own, or else A*1."
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="Matrix Market (.mtx, .mtx.gz), Harwell-Boeing, SciPy .npz, MATLAB .mat or dense .npy",
    )
    parser.add_argument("--rhs", metavar="FILE", help="right-hand side, .npy or .mtx")
    parser.add_argument("--x0", metavar="FILE", help="first guess, .npy or .mtx (default: zero)")
    add_solve_options(parser)
    given = parser.read(argv)
    options = solve_options(given)

    def load() -> Problem:
        read = read_matrix(given.file)
        rows = rows_of(read)
        warn_of_a_crowd(options, rows.n)
        rhs = read_vector(given.rhs, rows.n, "right-hand side") if given.rhs else None
        x0 = read_vector(given.x0, rows.n, "first guess") if given.x0 else None
        notes = list(read.notes)
        if rhs is None and read.rhs is not None:
            rhs = as_vector(read.rhs[:, 0], rows.n, f"the right-hand side in {read.name}")
            others = read.rhs.shape[1] - 1
            notes.append(f"b is the {'first ' if others else ''}right-hand side in {read.name}.")
        return Problem(read.name, rows, rhs, x0, notes)

    return solve_problem(given, options, ["solve", *argv], load)
