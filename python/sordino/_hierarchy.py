"""Hierarchies of algebraic multigrid that the caller brings, as PyAMG makes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._matrix import CsrArrays, as_csr
from ._numbers import is_complex
from .errors import BadArgument, Unsupported

#: Of R and the transpose of P, and of the first level's matrix and A, to the largest entry.
_ROUNDING = 1e-12

_INSTEAD = "give M=hierarchy.aspreconditioner(), which is called as a function, to bicgstab or gmres"


@dataclass(frozen=True)
class Rectangle:
    """A matrix in compressed rows that need not be square: `indptr`, `indices` and `data` as of CsrArrays."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    shape: tuple[int, int]


@dataclass(frozen=True)
class Hierarchy:
    """The levels below the matrix itself, each with P from it to the level above and its own matrix."""

    levels: tuple[tuple[Rectangle, CsrArrays], ...]

    @property
    def nbytes(self) -> int:
        """What the arrays take."""
        return sum(
            array.nbytes for P, A in self.levels for array in (P.indptr, P.indices, P.data, *A.arrays())
        )

    def arrays(self) -> list[tuple[Any, ...]]:
        """As the core takes them: of each level three arrays of P, its shape, and three arrays of the matrix."""
        return [((P.indptr, P.indices, P.data), P.shape, A.arrays()) for P, A in self.levels]

    def in_order(self, places: np.ndarray) -> Hierarchy:
        """The same for a matrix whose row i was row places[i]."""
        if not self.levels:
            return self
        (P, A), *below = self.levels
        moved = sp.csr_array((P.data, P.indices, P.indptr), shape=P.shape)[places]
        return replace(self, levels=((_rectangle(moved, "P"), A), *below))


def is_hierarchy(M: Any) -> bool:
    """Whether it has levels of matrices, as pyamg.multilevel.MultilevelSolver has."""
    levels = getattr(M, "levels", None)
    return (
        isinstance(levels, (list, tuple))
        and len(levels) > 0
        and all(hasattr(level, "A") for level in levels)
        and all(hasattr(level, "P") for level in levels[:-1])
    )


def as_hierarchy(M: Any, matrix: CsrArrays) -> Hierarchy:
    """Check a hierarchy, and bring its levels into compressed rows of their own.

    Parameters
    ----------
    M : object with ``levels``, of which each has ``A`` and all but the last ``P`` and, perhaps, ``R``
    matrix : CsrArrays
        The system's.

    Raises
    ------
    BadArgument
        The first level is of another matrix, R is not the transpose of P, or a level is no usable matrix.
    Unsupported
        For complex numbers.
    """
    for level in M.levels:
        for part in (level.A, getattr(level, "P", None)):
            if is_complex(np.dtype(getattr(part, "dtype", float))):
                raise Unsupported(f"a hierarchy of multigrid is to be of real numbers: {_INSTEAD}")
    if matrix.complex:
        raise Unsupported(f"a hierarchy of multigrid is for real matrices: {_INSTEAD}")
    _require_same(M.levels[0].A, matrix)
    levels = []
    for k, (above, below) in enumerate(zip(M.levels[:-1], M.levels[1:], strict=True)):
        P = _rectangle(above.P, f"P of level {k}")
        _require_transpose(getattr(above, "R", None), P, k)
        try:
            levels.append((P, as_csr(below.A, own=True)))
        except BadArgument as refused:
            raise BadArgument(f"level {k + 1} of the hierarchy: {refused}") from None
    return Hierarchy(tuple(levels))


def _rectangle(matrix: Any, what: str) -> Rectangle:
    try:
        rows = sp.csr_array(matrix, copy=True)
    except (TypeError, ValueError):
        raise BadArgument(f"{what} of the hierarchy is no matrix") from None
    rows.sum_duplicates()
    rows.sort_indices()
    return Rectangle(
        np.ascontiguousarray(rows.indptr, dtype=np.int64),
        np.ascontiguousarray(rows.indices, dtype=np.int32),
        np.ascontiguousarray(rows.data, dtype=np.float64),
        (int(rows.shape[0]), int(rows.shape[1])),
    )


def _require_same(first: Any, matrix: CsrArrays) -> None:
    """The smoothers of the first level multiply by the system's own matrix."""
    if tuple(first.shape) != (matrix.n, matrix.n):
        raise BadArgument(
            f"the hierarchy is of a matrix of shape {tuple(first.shape)}, and this one is {matrix.n} x {matrix.n}"
        )
    held = sp.csr_array(first)
    if _apart(held, matrix.matrix()):
        raise BadArgument("the hierarchy is of a matrix with other values than this one: set it up anew")


def _require_transpose(R: Any, P: Rectangle, k: int) -> None:
    if R is None:
        return
    transpose = sp.csr_array((P.data, P.indices, P.indptr), shape=P.shape).T
    if tuple(R.shape) != transpose.shape or _apart(sp.csr_array(R), transpose.tocsr()):
        raise BadArgument(
            f"R of level {k} of the hierarchy is not the transpose of P, so that its cycle is not symmetric: {_INSTEAD}"
        )


def _apart(one: Any, other: Any) -> bool:
    """Whether they differ by more than rounding, or hold a NaN."""
    difference = one - other
    largest = np.max(np.abs(other.data), initial=0.0)
    return not bool(np.max(np.abs(difference.data), initial=0.0) <= _ROUNDING * largest)
