"""What direct solves do with the factors of a matrix: alike on the CPU, and on the GPU that right-hand sides are on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._factors import Factors
from ._libraries import Library
from ._residuals import Quality, Residuals
from ._triangular import FactorizedTriangle

Step = Callable[[Any], Any]


@dataclass(frozen=True)
class _Side:
    """The order and scale of rows, or of columns, in a library's memory; None: they stay as they are."""

    order: Any
    places: Any  # of each entry in that order
    scale: Any  # shape (n, 1)


class Arrays:
    """Orders, scales and residuals of a system in memory of one library, on one device; vectors have shape (n, k).

    Parameters
    ----------
    factors : Factors
    matrix : SciPy sparse array, or None
        That residuals are of; without one there are none.
    triangles : tuple of FactorizedTriangle
        The lower one and the upper one; of Cholesky's factors that is None.
    library : Library
    dtype : dtype
        Of factors.
    """

    def __init__(
        self,
        factors: Factors,
        matrix: Any,
        triangles: tuple[FactorizedTriangle, FactorizedTriangle | None],
        library: Library,
        dtype: np.dtype,
    ) -> None:
        self._library, self._dtype = library, dtype
        self.residuals = Residuals(matrix, library, dtype)
        self._lower, self._upper = triangles
        self._rows = self._side(factors.row_order, factors.row_scale)
        self._columns = self._side(factors.column_order, factors.column_scale)

    def solved(self, b: Any, trans: str, refine: int | str = 0) -> Any:
        """X of A X = B, or of the other systems, not verified; triangles may refine by themselves."""
        to, back = (self._rows, self._columns) if trans == "N" else (self._columns, self._rows)
        y = b if to.scale is None else b * to.scale
        y = y if to.order is None else self._library.gathered(y, to.order)
        for step in self._steps(trans, refine):
            y = step(y)
        x = y if back.places is None else self._library.gathered(y, back.places)
        return x if back.scale is None else self._library.typed(x * back.scale, x)

    def refined(
        self, b: Any, x: Any, trans: str, steps: int, rtol: float, exact: float
    ) -> tuple[Any, Quality]:
        """As Residuals.refined, by both triangles."""
        return self.residuals.refined(
            b, x, trans, lambda left: self.solved(left, trans), steps=steps, rtol=rtol, exact=exact
        )

    def _side(self, order: np.ndarray | None, scale: np.ndarray | None) -> _Side:
        places = None
        if order is not None:
            places = np.empty_like(order)
            places[order] = np.arange(len(order))
        given = (order, places, None if scale is None else scale[:, None])
        return _Side(*(None if array is None else self._library.given(array) for array in given))

    def _steps(self, trans: str, refine: int | str) -> list[Step]:
        """The triangles in their order, and how each is solved with."""
        lower, upper, conjugated = self._lower, self._upper, self._library.conjugated
        if upper is not None:
            both = [self._by(lower, trans, refine), self._by(upper, trans, refine)]
            return both if trans == "N" else both[::-1]
        if trans != "T" or self._dtype.kind == "f":  # L L^H is its own adjoint
            return [self._by(lower, "N", refine), self._by(lower, "H", refine)]
        first = self._by(lower, "N", refine)
        return [lambda y: conjugated(first(conjugated(y))), self._by(lower, "T", refine)]

    def _by(self, triangle: FactorizedTriangle, trans: str, refine: int | str) -> Step:
        if self._library.on_gpu:
            return lambda y: triangle.solve_there(y, trans)
        return lambda y: triangle.solve_columns(y, trans, refine)[0]
