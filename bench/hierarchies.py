"""Hierarchies of PyAMG: iterations and seconds of its own cycle with CG beside ours, verified to 1e-8.

python bench/hierarchies.py [--problems poisson:48,bcsstk16.mtx] [--ranks 1,2] [--repeats 3] [--record FILE]

A problem is `poisson:N`, of N^3 cells in CSR, or a file. Setup is PyAMG's, the same for all; random right-hand sides.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import time
from typing import Any

import numpy as np
import pyamg
import scipy.sparse as sp

import sordino
import sordino.io
from sordino.bench import _records

RTOL, MOST = 1e-8, 500
SETUPS = {"smoothed aggregation": "smoothed_aggregation_solver", "Ruge-Stuben": "ruge_stuben_solver"}


def problem(word: str) -> Any:
    """The matrix of a word."""
    if word.startswith("poisson:"):
        size = int(word.split(":")[1])
        return sp.csr_matrix(sordino.poisson(size, size, size))
    return sp.csr_matrix(sordino.io.read_matrix(word).matrix)


def of_pyamg(A: Any, b: np.ndarray, ml: Any, repeats: int) -> dict[str, Any]:
    """Its own cycle, symmetric Gauss-Seidel before and after, with its CG on one core."""
    seconds = []
    for _ in range(repeats):
        residuals: list[float] = []
        begun = time.perf_counter()
        x = ml.solve(b, tol=RTOL, accel="cg", maxiter=MOST, residuals=residuals)
        seconds.append(time.perf_counter() - begun)
    true = float(np.linalg.norm(b - A @ x) / np.linalg.norm(b))
    return {"iterations": len(residuals) - 1, "solve_s": statistics.median(seconds), "true_residual": true}


def ours(A: Any, b: np.ndarray, M: Any, repeats: int, **options: Any) -> dict[str, Any]:
    """Verified solves, after a first one, of at most 500 iterations."""
    begun = time.perf_counter()
    with sordino.Solver(A, M=M, solver="cg", rtol=RTOL, maxiter=MOST, engine="host", **options) as solver:
        setup = time.perf_counter() - begun
        found = [solver.solve(b, on_failure="return") for _ in range(repeats + 1)][1:]
    return {
        "status": found[0].status, "iterations": found[0].iterations,
        "solve_s": statistics.median(each.seconds for each in found),
        "true_residual": max(each.true_residual for each in found), "setup_s": setup,
    }  # fmt: skip


def measure(word: str, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of one problem."""
    A = problem(word)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    rows = []

    def add(solver: str, setup: str, ranks: int, cycle: str, row: dict[str, Any]) -> None:
        about = {
            "bench": "hierarchies",
            "problem": word.rpartition("/")[2],
            "n": A.shape[0],
            "nnz": int(A.nnz),
        }
        about |= {"rtol": RTOL, "repeats": given.repeats, "pyamg": pyamg.__version__}
        rows.append({**about, "solver": solver, "hierarchy": setup, "ranks": ranks, "cycle": cycle, **row})
        print(f"{word} {setup:22} {solver} ranks {ranks} {cycle} {row}", flush=True)

    for ranks in map(int, given.ranks.split(",")):
        add("sordino, jacobi", "", ranks, "", ours(A, b, "jacobi", given.repeats, ranks=ranks))
    for setup, function in SETUPS.items():
        begun = time.perf_counter()
        ml = getattr(pyamg, function)(A)
        made = time.perf_counter() - begun
        add("pyamg", setup, 1, "v", {**of_pyamg(A, b, ml, given.repeats), "setup_s": made})
        for ranks in map(int, given.ranks.split(",")):
            for cycle in ("v", "w"):
                add("sordino", setup, ranks, cycle, ours(A, b, ml, given.repeats, ranks=ranks, cycle=cycle))
    return rows


def main() -> int:
    """Measure, print a line each, append records; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", default="poisson:48")
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--repeats", type=int, default=3)
    _records.add_arguments(parser)
    given = parser.parse_args()
    command = shlex.join(["python", *sys.argv])
    for word in given.problems.split(","):
        rows = measure(word, given)
        if given.record:
            _records.append(given.record, rows, command, given.commit or _records.commit())
    return 0


if __name__ == "__main__":
    sys.exit(main())
