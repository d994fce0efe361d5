"""Sordino's own figures for ``bench cg``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._matrix import CsrArrays
from .._solve import Solution, Solver
from ._timing import per_iteration

#: No tolerance is met before the iterations asked for are done.
NEVER = 1e-300


@dataclass(frozen=True)
class Ours:
    """Seconds of an iteration and of a product in it, with counts of the iteration."""

    iteration: float
    spmv: float | None
    ledger: dict[str, Any]
    residual: float


def measure(rows: CsrArrays, engine: str, ranks: int, iterations: int, repeats: int) -> Ours:
    """Time Jacobi-CG on given rows.

    Parameters
    ----------
    rows : CsrArrays
    engine : str
    ranks : int
    iterations, repeats : int
        As :func:`sordino.bench._timing.per_iteration` takes them.
    """
    b = rows.product(np.ones(rows.n))
    plan: dict[str, Any] = {
        "solver": "cg",
        "precond": "jacobi",
        "engine": engine,
        "ranks": ranks,
        "rtol": NEVER,
    }
    solvers: dict[int, Solver] = {}

    def run(count: int) -> tuple[int, float]:
        if count not in solvers:
            solvers[count] = Solver(rows, maxiter=count, **plan)
        solution = solvers[count].solve(b, on_failure="return")
        return solution.iterations, solution.seconds

    seconds = per_iteration(run, iterations, repeats)
    solvers.clear()
    timed = Solver(rows, maxiter=iterations, time_commands=True, **plan).solve(b, on_failure="return")
    return Ours(seconds, _product_seconds(timed), timed.ledger, timed.true_residual)


def _product_seconds(solution: Solution) -> float | None:
    """The time of the kernel that does the product, where the engine times its kernels.

    It is the one with the most flops a call; a product has two an entry, nothing else comes near.
    """
    kernels = [k for k in solution.ledger.get("kernels") or [] if k["calls"] and k["seconds"] > 0]
    if not kernels:
        return None
    product = max(kernels, key=lambda kernel: kernel["flops"] / kernel["calls"])
    return float(product["seconds"]) / int(product["calls"])
