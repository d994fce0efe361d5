"""Hierarchies of PyAMG: iterations and seconds of its own cycle with CG beside ours, and our own levels, to 1e-8.

python bench/hierarchies.py [--problems poisson:48,bcsstk16.mtx] [--hierarchy FILE.npz] [--engine host] [--ranks 1,2]
    [--library numpy] [--repeats 3] [--record FILE]

A problem is `poisson:N`, of N^3 cells in CSR, or a file. Setup is PyAMG's, the same for all; random right-hand sides.
What PyAMG sets up is written to the file of --hierarchy where there is none yet, and read from it where there is: then
neither PyAMG nor a problem's own file is needed, and PyAMG's cycle is not measured. With cupy or torch as library b and
x are on a GPU, and do not travel.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from grid_preconditioners import vector

import sordino
import sordino.io
from sordino.bench import _records

RTOL, MOST = 1e-8, 500
SETUPS = {"smoothed aggregation": "smoothed_aggregation_solver", "Ruge-Stuben": "ruge_stuben_solver"}


@dataclass(frozen=True)
class Problem:
    """A matrix, and its hierarchies by the names of their setups, each with `setup_s`, seconds of it, and `pyamg`."""

    name: str
    A: Any
    hierarchies: dict[str, Any]


def set_up(word: str) -> Problem:
    """The problem of a word, with PyAMG's hierarchies, whose version is `pyamg`."""
    import pyamg

    if word.startswith("poisson:"):
        A = sp.csr_matrix(sordino.poisson(*3 * [int(word.split(":")[1])]))
    else:
        A = sp.csr_matrix(sordino.io.read_matrix(word).matrix)
    made = {}
    for name, function in SETUPS.items():
        begun = time.perf_counter()
        made[name] = getattr(pyamg, function)(A)
        made[name].setup_s, made[name].pyamg = time.perf_counter() - begun, pyamg.__version__
    return Problem(name_of(word), A, made)


def name_of(word: str) -> str:
    """A problem's name in records and files: a file's is without its folder."""
    return word.rpartition("/")[2]


def store(file: str, problems: list[Problem]) -> None:
    """Write them for :func:`load`: of level 0 A once, of all but the last P, of the others A; R is P's transpose."""
    arrays: dict[str, Any] = {}

    def put(name: str, matrix: Any) -> None:
        rows = sp.csr_matrix(matrix)
        parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
        arrays.update({f"{name}/{part}": array for part, array in parts.items()})

    for problem in problems:
        put(f"{problem.name}/A", problem.A)
        for setup, made in problem.hierarchies.items():
            arrays |= {
                f"{problem.name}/{setup}/{about}": getattr(made, about) for about in ("setup_s", "pyamg")
            }
            for k, (above, below) in enumerate(zip(made.levels[:-1], made.levels[1:], strict=True)):
                put(f"{problem.name}/{setup}/{k}/P", above.P)
                put(f"{problem.name}/{setup}/{k + 1}/A", below.A)
    np.savez_compressed(file, **arrays)


def load(file: str, name: str) -> Problem:
    """A problem of a file that :func:`store` wrote; KeyError if it has none of that name."""
    with np.load(file) as stored:

        def take(what: str) -> Any:
            data, indices, indptr, shape = (
                stored[f"{name}/{what}/{part}"] for part in ("data", "indices", "indptr", "shape")
            )
            return sp.csr_matrix((data, indices, indptr), shape=tuple(shape))

        A, made = take("A"), {}
        for setup in SETUPS:
            levels = [SimpleNamespace(A=A)]
            while f"{name}/{setup}/{len(levels) - 1}/P/data" in stored:
                levels[-1].P = take(f"{setup}/{len(levels) - 1}/P")
                levels.append(SimpleNamespace(A=take(f"{setup}/{len(levels)}/A")))
            setup_s, pyamg = (stored[f"{name}/{setup}/{about}"].item() for about in ("setup_s", "pyamg"))
            made[setup] = SimpleNamespace(levels=levels, setup_s=setup_s, pyamg=pyamg)
    return Problem(name, A, made)


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


def ours(A: Any, b: Any, M: Any, repeats: int, **options: Any) -> dict[str, Any]:
    """Verified solves, after a first one, of at most 500 iterations."""
    begun = time.perf_counter()
    with sordino.Solver(A, M=M, solver="cg", rtol=RTOL, maxiter=MOST, **options) as solver:
        setup = time.perf_counter() - begun
        found = [solver.solve(b, on_failure="return") for _ in range(repeats + 1)][1:]
    return {
        "status": found[0].status, "iterations": found[0].iterations,
        "solve_s": statistics.median(each.seconds for each in found),
        "true_residual": max(each.true_residual for each in found), "setup_s": setup,
    }  # fmt: skip


def measure(problem: Problem, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of one problem."""
    A, rows = problem.A, []
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    there = vector(b, given.library)

    def add(solver: str, setup: str, ranks: int, cycle: str, row: dict[str, Any]) -> None:
        about = {
            "bench": "hierarchies", "problem": problem.name, "n": A.shape[0], "nnz": int(A.nnz), "rtol": RTOL,
            "repeats": given.repeats, "pyamg": next(iter(problem.hierarchies.values())).pyamg,
        }  # fmt: skip
        rows.append({**about, "solver": solver, "hierarchy": setup, "ranks": ranks, "cycle": cycle, **row})
        print(f"{problem.name} {setup:22} {solver} ranks {ranks} {cycle} {row}", flush=True)

    def add_ours(solver: str, setup: str, ranks: int, cycle: str, M: Any) -> None:
        options = {"engine": given.engine, "ranks": ranks, "cycle": cycle or "v"}
        found = ours(A, there, M, given.repeats, **options)
        add(solver, setup, ranks, cycle, {"engine": given.engine, "library": given.library, **found})

    for ranks in map(int, given.ranks.split(",")):
        add_ours("sordino, jacobi", "", ranks, "", "jacobi")
        for cycle in ("v", "w"):
            add_ours("sordino, amg", "", ranks, cycle, "amg")
    for setup, made in problem.hierarchies.items():
        if hasattr(made, "solve"):  # not one that was stored
            add("pyamg", setup, 1, "v", {**of_pyamg(A, b, made, given.repeats), "setup_s": made.setup_s})
        for ranks in map(int, given.ranks.split(",")):
            for cycle in ("v", "w"):
                add_ours("sordino", setup, ranks, cycle, made)
    return rows


def main() -> int:
    """Measure, print a line each, append records; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", default="poisson:48")
    parser.add_argument("--hierarchy", metavar="FILE.npz")
    parser.add_argument("--engine", default="host")
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--library", default="numpy", choices=("numpy", "cupy", "torch"))
    parser.add_argument("--repeats", type=int, default=3)
    _records.add_arguments(parser)
    given = parser.parse_args()
    command, words = shlex.join(["python", *sys.argv]), given.problems.split(",")
    if given.hierarchy and os.path.exists(given.hierarchy):
        problems = [load(given.hierarchy, name_of(word)) for word in words]
    else:
        problems = [set_up(word) for word in words]
        if given.hierarchy:
            store(given.hierarchy, problems)
    for problem in problems:
        rows = measure(problem, given)
        if given.record:
            _records.append(given.record, rows, command, given.commit or _records.commit())
    return 0


if __name__ == "__main__":
    sys.exit(main())
