"""Sordino's own figures for ``bench cg``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._matrix import CsrArrays
from .._solve import Solver
from ..errors import BadArgument
from ._peers import cupy_there
from ._timing import Seconds, per_iteration

#: No tolerance is met before the iterations asked for are done.
NEVER = 1e-300


@dataclass(frozen=True)
class Ours:
    """Seconds of an iteration and of a product in it, the bytes that one declares on a rank, the most that a rank holds
    of vectors and entries, counts of the whole, and how the entries lay.
    """

    iteration: Seconds
    spmv: Seconds
    bytes: float
    held: int
    ledger: dict[str, Any]
    residual: float
    storage: str
    vectors: str  # whose: numpy, or cupy, which are on a GPU


def _where_it_is_used(b: np.ndarray, engine: str) -> Any:
    """Return b in a GPU's memory where CuPy is there for it: what travels at both ends of a solve varies by more than
    some hundred iterations take.
    """
    if engine != "cuda" or not cupy_there():
        return b
    import cupy

    return cupy.asarray(b)


def measure(
    rows: CsrArrays, engine: str, ranks: int, way: str, given: dict[str, Any], iterations: int, repeats: int
) -> Ours:
    """Time a method on given rows.

    Parameters
    ----------
    rows : CsrArrays
    engine : str
    ranks : int
    way : str
        Of sums over ranks; with "nccl" everything goes by NCCL.
    given : dict
        More options of a solver: storage, solver, precond.
    iterations, repeats : int
        As :func:`sordino.bench._timing.per_iteration` takes them.
    """
    # Rough, so that rounding does not end a run before its iterations are done.
    b = _where_it_is_used(np.random.default_rng(0).standard_normal(rows.n), engine)
    plan: dict[str, Any] = {
        **given,
        "engine": engine,
        "ranks": ranks,
        "all_reduce": way,
        "transport": "nccl" if way == "nccl" else "auto",
        "rtol": NEVER,
    }
    moved: dict[int, float] = {}

    with Solver(rows, maxiter=iterations, **plan) as solver:

        def run(count: int) -> tuple[int, float]:
            solution = solver.solve(b, on_failure="return", maxiter=count)
            if solution.iterations < count:
                raise BadArgument(
                    f"{given['solver']} with {given['precond']} ended before {count} "
                    "iterations: measure fewer --iterations"
                )
            moved[solution.iterations] = solution.ledger["memory_bytes"]
            return solution.iterations, solution.seconds

        seconds = per_iteration(run, iterations, repeats)
        held = max(solver.memory()["bytes_per_rank"])  # before the product is timed, with a vector of its own
        product = Seconds.of([solver.time_product(iterations // 2 + 1) for _ in range(repeats)])
    with Solver(rows, maxiter=iterations, time_commands=True, **plan) as timed:
        solution = timed.solve(b, on_failure="return")
    few, many = min(moved), max(moved)
    return Ours(
        iteration=seconds,
        spmv=product,
        bytes=(moved[many] - moved[few]) / (many - few) if many > few else 0.0,
        held=held,
        ledger=solution.ledger,
        residual=solution.true_residual,
        vectors=type(b).__module__.partition(".")[0],
        storage=solution.report.options["storage"],
    )
