"""Triangular factors of anybody's factorisation, with what belongs to them: :class:`Factors`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .errors import BadArgument


@dataclass(frozen=True)
class Factors:
    """Factors of a matrix A of shape (n, n): ``(R A C)[row_order][:, column_order] = L U``.

    R and C are diagonal matrices of `row_scale` and `column_scale`. What is None is the identity; without `upper` U is
    L^H, the factors are Cholesky's.

    Attributes
    ----------
    lower : scipy.sparse.csc_array, shape (n, n)
        L.
    upper : scipy.sparse.csr_array, shape (n, n), or None
        U.
    unit_lower, unit_upper : bool
        Their diagonals are 1, whatever is stored there.
    row_order, column_order : ndarray, shape (n,), int64, or None
        Row k of L is row ``row_order[k]`` of A; column k of U is column ``column_order[k]``.
    row_scale, column_scale : ndarray, shape (n,), float64, or None

    Raises
    ------
    BadArgument
        Shapes that do not go together, an order that is no permutation, a scale that is not positive.
    """

    lower: Any
    upper: Any = None
    unit_lower: bool = False
    unit_upper: bool = False
    row_order: np.ndarray | None = None
    column_order: np.ndarray | None = None
    row_scale: np.ndarray | None = None
    column_scale: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name, form in (("lower", sp.csc_array), ("upper", sp.csr_array)):
            triangle = getattr(self, name)
            if triangle is None and name == "upper":
                continue
            if not sp.issparse(triangle):
                raise BadArgument(f"{name} is a sparse matrix of SciPy, not a {type(triangle).__name__}")
            object.__setattr__(self, name, form(triangle))
        n = self.n
        for name in ("lower", "upper"):
            triangle = getattr(self, name)
            if triangle is not None and triangle.shape != (n, n):
                rows, columns = triangle.shape
                raise BadArgument(f"{name} is {rows} x {columns}, and lower has {n} rows")
        for name in ("row_order", "column_order"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _permutation(getattr(self, name), n, name))
        for name in ("row_scale", "column_scale"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _scale(getattr(self, name), n, name))

    @property
    def n(self) -> int:
        """Rows of A."""
        return int(self.lower.shape[0])

    def product(self, x: np.ndarray, trans: str = "N") -> np.ndarray:
        """A x, A^T x or A^H x, shape (n,) or (n, k), by way of both factors. Cost: their entries once."""
        if trans == "H":
            return np.asarray(self.product(x.conj(), "T").conj())
        L = with_unit_diagonal(self.lower, self.unit_lower)
        U = L.conj().T if self.upper is None else with_unit_diagonal(self.upper, self.unit_upper)
        rows, columns = (self.row_order, self.row_scale), (self.column_order, self.column_scale)
        (order, scale), (order_back, scale_back) = (columns, rows) if trans == "N" else (rows, columns)
        y = x if scale is None else (x.T / scale).T
        y = y if order is None else y[order]
        y = L @ (U @ y) if trans == "N" else U.T @ (L.T @ y)
        if order_back is not None:
            y, given = np.empty_like(y), y
            y[order_back] = given
        return np.asarray(y if scale_back is None else (y.T / scale_back).T)


def as_factors(given: Any) -> Factors:
    """Factors of a caller: such, or those of SciPy's ``SuperLU``.

    Raises
    ------
    BadArgument
        Something else.
    """
    if isinstance(given, Factors):
        return given
    if not is_superlu(given):
        raise BadArgument(
            "factors are those of scipy.sparse.linalg.splu or spilu, or sordino.Factors, not a "
            f"{type(given).__name__}"
        )
    return of_superlu(given)


def is_superlu(given: Any) -> bool:
    """Whether it is what SciPy's ``splu`` and ``spilu`` return, or the like."""
    return all(hasattr(given, name) for name in ("L", "U", "perm_r", "perm_c"))


def of_superlu(lu: Any) -> Factors:
    """The factors of SciPy's ``splu`` or ``spilu``. Cost: copies of L and U, which SciPy makes."""
    return Factors(
        lower=lu.L,
        upper=lu.U,
        unit_lower=True,
        row_order=np.argsort(lu.perm_r),
        column_order=np.argsort(lu.perm_c),
    )


def _permutation(order: Any, n: int, name: str) -> np.ndarray:
    array = np.asarray(order)
    if array.dtype.kind not in "iu" or array.shape != (n,):
        raise BadArgument(f"{name} has {n:,} whole numbers, not {array.dtype} of shape {array.shape}")
    if not np.array_equal(np.sort(array), np.arange(n)):
        raise BadArgument(f"{name} is no permutation of 0, ..., {n - 1:,}")
    return array.astype(np.int64)


def _scale(scale: Any, n: int, name: str) -> np.ndarray:
    array = np.asarray(scale)
    if array.dtype.kind not in "fiu" or array.shape != (n,):
        raise BadArgument(f"{name} has {n:,} real numbers, not {array.dtype} of shape {array.shape}")
    array = array.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(array) & (array > 0)))
    if len(wrong):
        raise BadArgument(f"{name} is positive, and entry {wrong[0]} is {array[wrong[0]]:g}")
    return array


def with_unit_diagonal(triangle: Any, unit: bool) -> Any:
    """The triangle that is meant: with ones on its diagonal, whatever is stored there, or itself."""
    if not unit:
        return triangle
    return sp.csr_array(triangle - sp.diags_array(triangle.diagonal()) + sp.eye_array(triangle.shape[0]))
