"""What direct solves do with the factors of a matrix: alike on the CPU, and on the GPU that right-hand sides are on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._factors import Factors
from ._libraries import Library
from ._triangular import FactorizedTriangle

Step = Callable[[Any], Any]


@dataclass(frozen=True)
class _Side:
    """The order and scale of rows, or of columns, in a library's memory; None: they stay as they are."""

    order: Any
    places: Any  # of each entry in that order
    scale: Any  # shape (n, 1)


class Arrays:
    """Orders, scales and matrix of a system in memory of one library, on one device; vectors have shape (n, k).

    Parameters
    ----------
    factors : Factors
    matrix : SciPy sparse array, or None
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
        self._library, self._dtype, self._matrix = library, dtype, matrix
        self._lower, self._upper = triangles
        self._rows = self._side(factors.row_order, factors.row_scale)
        self._columns = self._side(factors.column_order, factors.column_scale)
        self._products: dict[bool, Any] = {}  # by whether A is transposed

    def solved(self, b: Any, trans: str, refine: int | str = 0) -> Any:
        """X of A X = B, or of the other systems, not verified; triangles may refine by themselves."""
        to, back = (self._rows, self._columns) if trans == "N" else (self._columns, self._rows)
        y = b if to.scale is None else b * to.scale
        y = y if to.order is None else self._library.gathered(y, to.order)
        for step in self._steps(trans, refine):
            y = step(y)
        x = y if back.places is None else self._library.gathered(y, back.places)
        return x if back.scale is None else self._library.typed(x * back.scale, x)

    def refined(self, b: Any, x: Any, trans: str, steps: int, enough: float) -> tuple[Any, list[float]]:
        """X after at most so many steps, until its residual is small enough, and the residuals before and after each.

        A residual is the largest of the columns' ``||b - A x||_2 / ||b||_2``; a step that does not lessen it is left
        out.
        """
        norms = self._library.norms(b)
        left = self.left(b, x, trans)
        residuals = [_relative(self._library.norms(left), norms)]
        while len(residuals) <= steps and residuals[-1] > enough:
            better = x + self.solved(left, trans)
            left = self.left(b, better, trans)
            residual = _relative(self._library.norms(left), norms)
            if not residual < residuals[-1]:
                break
            x = better
            residuals.append(residual)
        return x, residuals

    def left(self, b: Any, x: Any, trans: str) -> Any:
        """b - A x, in double precision."""
        library = self._library
        wide = library.widened(x, np.result_type(self._matrix.dtype, self._dtype, np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            if trans == "H":
                return b - library.conjugated(self._product(True) @ library.conjugated(wide))
            return b - self._product(trans == "T") @ wide

    def _product(self, transposed: bool) -> Any:
        if transposed not in self._products:
            A = self._matrix.T.tocsr() if transposed else self._matrix
            self._products[transposed] = self._library.matrix(
                A, np.result_type(A.dtype, self._dtype, np.float64)
            )
        return self._products[transposed]

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


def _relative(left: np.ndarray, norms: np.ndarray) -> float:
    """The largest of the columns' residuals, relative to their right-hand sides."""
    worst = 0.0
    for off, norm in zip(left, norms, strict=True):
        relative = 0.0 if off == 0 else off / norm if norm else np.inf
        worst = max(worst, float(relative) if off == off else np.inf)
    return worst
