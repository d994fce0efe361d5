"""What direct solves do with the factors of a matrix: alike on the CPU, and on the GPU that right-hand sides are on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._factors import Factors
from ._libraries import Library
from ._triangular import FactorizedTriangle

Step = Callable[[Any], Any]


@dataclass(frozen=True)
class Quality:
    """How good an X was before the first step of refinement and after each that was kept.

    Attributes
    ----------
    residuals : list of float
        The largest of the columns' ``||b - A x||_2 / ||b||_2``.
    errors : list of float
        Componentwise backward errors; empty where no steps were allowed.
    """

    residuals: list[float]
    errors: list[float]

    @property
    def steps(self) -> int:
        return len(self.residuals) - 1


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
        self._sizes: dict[bool, Any] = {}  # |A|, alike
        self._turned: Any = None  # A^T, in memory of the CPU

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
        """X after at most so many steps, until it is verified and as exact as it should be; and how good it was.

        Parameters
        ----------
        rtol : float
            Residuals that verify X: ``||b - A x||_2 / ||b||_2``, the largest of all columns.
        exact : float
            Componentwise backward errors with which X is left as it is.

        Notes
        -----
        A step is kept that lessens the backward error, or the residual of an X that is not verified. Cost: one product
        with A; where steps are allowed one with |A|, and for each step both, and a solve. One step is enough nearly
        always (Skeel, Mathematics of Computation 35, 1980).
        """
        norms = self._library.norms(b)
        left = self.left(b, x, trans)
        found = Quality([_relative(self._library.norms(left), norms)], [])
        if not steps:
            return x, found
        found.errors.append(self.backward_error(left, b, x, trans))
        while found.steps < steps and (found.residuals[-1] > rtol or found.errors[-1] > exact):
            better = x + self.solved(left, trans)
            left = self.left(b, better, trans)
            residual = _relative(self._library.norms(left), norms)
            error = self.backward_error(left, b, better, trans)
            verifies = found.residuals[-1] > rtol and residual < found.residuals[-1]
            if not (verifies or error < found.errors[-1]):
                break
            x = better
            found.residuals.append(residual)
            found.errors.append(error)
        return x, found

    def backward_error(self, left: Any, b: Any, x: Any, trans: str) -> float:
        """The largest of ``|left| / (|A| |x| + |b|)``, entry by entry, where left is b - A x; infinite of NaN."""
        space, transposed = self._library.space, trans != "N"
        if transposed not in self._sizes:
            A = self._transposed() if transposed else self._matrix
            sizes = sp.csr_array((np.abs(A.data), A.indices, A.indptr), shape=A.shape)
            self._sizes[transposed] = self._library.matrix(sizes, np.dtype(np.float64))
        wide = self._library.widened(x, np.result_type(self._matrix.dtype, self._dtype, np.float64))
        with np.errstate(all="ignore"):
            off = space.abs(left)
            share = off / (self._sizes[transposed] @ space.abs(wide) + space.abs(b))
            worst = float(space.where(off == 0, off, share).max())
        return worst if worst == worst else np.inf

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
            A = self._transposed() if transposed else self._matrix
            self._products[transposed] = self._library.matrix(
                A, np.result_type(A.dtype, self._dtype, np.float64)
            )
        return self._products[transposed]

    def _transposed(self) -> Any:
        if self._turned is None:
            self._turned = self._matrix.T.tocsr()
        return self._turned

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
