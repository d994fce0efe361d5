"""What factoring a matrix means here, for solves and for their predictions alike: its order, its scale, its factors."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import machines
from ._columns import rows_and_kind
from ._factors import Factors, of_superlu
from ._ordering import chosen, most_multiplications, nested_dissection, row_scale, without_metis
from ._superlu import superlu
from ._triangular_prediction import Sweeps, of_factors, of_matrix, predicted
from .errors import BadArgument
from .log import logger
from .report.words import duration

#: Orderings are compared by one right-hand side on one GPU of it, whoever solves later: each run takes the same one.
_MACHINE = "h200x4"
#: Multiplications of a factorisation that is always tried; in times of colamd's, one that is, too; none above the last.
_CHEAP, _TIMES, _MOST = 3e9, 10, 3e10


@dataclass(frozen=True)
class Choice:
    """An ordering, why it is taken, and of each that was tried the predicted seconds of a solve."""

    ordering: str | None = None
    reason: str | None = None
    tried: dict[str, float] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """As reports and JSON have it."""
        return {"ordering": self.ordering, "ordering_reason": self.reason, "orderings": dict(self.tried)}


@dataclass(frozen=True)
class Factored:
    """Factors, by which ordering, how long SuperLU took for all that were tried, and when it was done."""

    factors: Factors
    choice: Choice
    factoring_seconds: float
    done_at: float


def prepared(A: Any) -> Any:
    """The matrix as it is factored: by its rows, checked, in the type of its factors, and in memory of its own."""
    matrix, kind = rows_and_kind(A)
    return matrix.astype(kind)


def scaled(matrix: Any, scale: np.ndarray | None) -> Any:
    """Its rows times these numbers, in its type; None: as they are."""
    return matrix if scale is None else sp.diags_array(scale.astype(matrix.dtype)) @ matrix


def factored(matrix: Any, ordering: str) -> Factored:
    """The factors of a prepared matrix in the ordering of this name; of "auto" see :func:`sordino.splu`.

    Raises
    ------
    BadArgument
        No such ordering; a matrix that is singular, or whose factors do not fit into memory.
    Unsupported
        "metis" without pymetis.
    """
    taken, symmetric, reason = chosen(ordering, matrix)
    if taken == "auto":
        return _fastest(matrix)
    before = nested_dissection(matrix) if taken == "metis" else None
    factors, seconds = _in_order(matrix, before, taken, symmetric)
    return Factored(factors, Choice(taken, reason), seconds, time.perf_counter())


def sweeps_of(A: Any, ordering: str, trans: str) -> tuple[Sweeps, Choice]:
    """Solves with the factors that :func:`factored` finds, to be predicted.

    Where elimination needs no values, they are not computed: in the orders metis and natural of a symmetric pattern,
    without zeros on the diagonal. Else the matrix is factored. Errors are those of :func:`factored`.
    """
    matrix = prepared(A)
    taken, symmetric, reason = chosen(ordering, matrix)
    if symmetric and taken in ("metis", "natural") and np.all(matrix.diagonal() != 0):
        return of_matrix(matrix, taken), Choice(taken, reason)
    found = factored(matrix, ordering)
    sweeps = of_factors(found.factors, trans)
    words = f"{sweeps.words} of SciPy's SuperLU, ordering {found.choice.ordering}"
    return replace(sweeps, words=words), found.choice


def _in_order(
    matrix: Any, before: np.ndarray | None, ordering: str, symmetric: bool = False
) -> tuple[Factors, float]:
    """The factors, rows and columns in the order `before`, if one is given; and SuperLU's seconds."""
    scale = None if symmetric else row_scale(matrix)
    begun = time.perf_counter()
    found = of_superlu(superlu(scaled(matrix, scale), before, ordering, symmetric))
    seconds = time.perf_counter() - begun
    rows, columns = found.row_order, found.column_order
    assert rows is not None and columns is not None
    factors = Factors(
        lower=found.lower,
        upper=found.upper,
        unit_lower=True,
        row_order=rows if before is None else before[rows],
        column_order=columns if before is None else before[columns],
        row_scale=scale,
    )
    return factors, seconds


def _fastest(matrix: Any) -> Factored:
    """The factors whose solve is predicted to be the fastest; of equals the ones that were tried first.

    Cost: a factorisation and a prediction for each ordering that is tried; two factorisations are kept at a time.
    """
    best, total = _in_order(matrix, None, "colamd")
    tried, left_out = {"colamd": _predicted_seconds(best)}, []
    taken, limit = "colamd", _limit(best)
    for name in ("metis", "natural"):
        if name == "metis" and (missing := without_metis()) is not None:
            left_out.append(missing)
            continue
        before = nested_dissection(matrix) if name == "metis" else None
        pattern = matrix if before is None else matrix[before][:, before]
        if most_multiplications(pattern, limit) > limit:
            left_out.append(f"{name} may take above {limit:,.0f} multiplications, and was not tried")
            continue
        try:
            factors, seconds = _in_order(matrix, before, name)
        except BadArgument as wrong:  # rounding may make one order singular, and not the other
            left_out.append(f"{name} was tried: {wrong}")
            continue
        total += seconds
        tried[name] = _predicted_seconds(factors)
        if tried[name] < tried[taken]:
            best, taken = factors, name
    choice = Choice(taken, "; ".join([_compared(taken, tried), *left_out]), tried)
    logger.info("ordering %s: %s", taken, choice.reason)
    return Factored(best, choice, total, time.perf_counter())


def _compared(taken: str, tried: dict[str, float]) -> str:
    others = [f"{duration(seconds)} with {name}" for name, seconds in tried.items() if name != taken]
    against = f", {', '.join(others)}" if others else ""
    return f"a solve is predicted to take {duration(tried[taken])} on one GPU of {_MACHINE}{against}"


def _predicted_seconds(factors: Factors) -> float:
    """Of L y = b and U x = y; factors that are not finite are the last to be taken."""
    try:
        found = predicted(of_factors(factors, "N"), machines.load(_MACHINE), [1])
    except BadArgument:
        return np.inf
    return float(found["predicted"][0]["seconds"])


def _limit(factors: Factors) -> float:
    """Most multiplications of another factorisation, by those of this one."""
    below = np.diff(factors.lower.indptr) - 1.0
    multiplications = float(below @ np.diff(factors.upper.indptr))
    return min(max(_CHEAP, _TIMES * multiplications), _MOST)
