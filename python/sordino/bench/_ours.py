"""Sordino's own figures for ``bench cg``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._matrix import CsrArrays
from .._solve import Solver
from ._timing import per_iteration

#: No tolerance is met before the iterations asked for are done.
NEVER = 1e-300


@dataclass(frozen=True)
class Ours:
    """Seconds of an iteration and of a product in it, counts of the iteration, and how the entries lay."""

    iteration: float
    spmv: float
    ledger: dict[str, Any]
    residual: float
    storage: str


def measure(
    rows: CsrArrays, engine: str, ranks: int, way: str, storage: str, iterations: int, repeats: int
) -> Ours:
    """Time Jacobi-CG on given rows.

    Parameters
    ----------
    rows : CsrArrays
    engine : str
    ranks : int
    way : str
        Of sums over ranks; with "nccl" everything goes by NCCL.
    storage : str
    iterations, repeats : int
        As :func:`sordino.bench._timing.per_iteration` takes them.
    """
    b = rows.product(np.ones(rows.n))
    plan: dict[str, Any] = {
        "solver": "cg",
        "precond": "jacobi",
        "engine": engine,
        "ranks": ranks,
        "all_reduce": way,
        "storage": storage,
        "transport": "nccl" if way == "nccl" else "auto",
        "rtol": NEVER,
    }
    solvers: dict[int, Solver] = {}

    def run(count: int) -> tuple[int, float]:
        if count not in solvers:
            solvers[count] = Solver(rows, maxiter=count, **plan)
        solution = solvers[count].solve(b, on_failure="return")
        return solution.iterations, solution.seconds

    seconds = per_iteration(run, iterations, repeats)
    product = min(next(iter(solvers.values())).time_product(iterations // 2 + 1) for _ in range(repeats))
    solvers.clear()
    timed = Solver(rows, maxiter=iterations, time_commands=True, **plan)
    solution = timed.solve(b, on_failure="return")
    return Ours(seconds, product, solution.ledger, solution.true_residual, solution.report.options["storage"])
