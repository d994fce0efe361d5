"""Factors of a matrix by SciPy's SuperLU, set up for fast solves: :func:`splu`."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._columns import rows_and_kind
from ._factors import Factors, of_superlu
from ._lu import FactorizedLU
from ._lu_triangles import Renewal
from ._ordering import chosen, nested_dissection, row_scale
from ._superlu import structure_without_pivoting, superlu, superlu_without_pivoting
from ._triangular_options import known_options
from .errors import BadArgument


def splu(A: Any, ordering: str = "auto", **options: Any) -> FactorizedLU:
    """Factor a sparse matrix by SciPy's SuperLU, and set up both triangles for fast solves.

    Parameters
    ----------
    A : SciPy sparse matrix or array of any format, or dense array, shape (n, n)
        float32, float64 or complex128, in which it is factored and solved; complex64 as complex128, others as
        float64.
    ordering : {"auto", "metis", "mmd", "colamd", "natural"}
        Which order of columns keeps factors sparse: METIS's nested dissection of the pattern of A + A^T, minimum degree
        of the same, approximate minimum degree of A^T A, or the columns as they are. "auto" is metis of a symmetric
        pattern, or mmd without pymetis, and colamd of all others.
    **options
        ``ranks``, ``threads``, ``width``, ``algorithm``, ``layout``, ``engine``, ``devices``, ``blocks``, ``timeout``,
        ``machine``, ``seed`` and ``plans`` of :func:`factorized`.

    Returns
    -------
    FactorizedLU
        Whose ``solve`` is verified, whose ``update`` factors other values of A, and which is a preconditioner as it is
        (``M=F``).

    Raises
    ------
    BadArgument
        What :func:`solve` refuses, too; a matrix that is singular; an option out of range.
    Unsupported
        ``ordering="metis"`` without pymetis.

    Notes
    -----
    Rows are scaled by powers of two, so that the largest entry of each is about 1, unless the pattern is symmetric:
    then pivots stay on the diagonal as long as they are not tiny. SciPy factors on one thread and does not release
    the GIL.
    """
    known_options(options)
    begun = time.perf_counter()
    matrix = _rows_of(A)
    taken_ordering, symmetric = chosen(ordering, matrix)
    scale = None if symmetric else row_scale(matrix)
    before = nested_dissection(matrix) if taken_ordering == "metis" else None
    ordered_at = time.perf_counter()
    lu = superlu(_scaled(matrix, scale), before, taken_ordering, symmetric)
    found = of_superlu(lu)
    factored_at = time.perf_counter()
    assert found.row_order is not None and found.column_order is not None
    factors = Factors(
        lower=found.lower,
        upper=found.upper,
        unit_lower=True,
        row_order=found.row_order if before is None else before[found.row_order],
        column_order=found.column_order if before is None else before[found.column_order],
        row_scale=scale,
    )
    F = FactorizedLU(factors, matrix, options)
    F.ordering = taken_ordering
    F.factor_again = SamePivots(factors, matrix)
    F.seconds = {"ordering": ordered_at - begun, "factoring": factored_at - ordered_at, **F.seconds}
    return F


@dataclass(frozen=True)
class SamePivots:
    """Factors other values of a matrix in the order, and with the pivots, of the first ones.

    Attributes
    ----------
    factors : Factors
        Of the first ones; what it is called for takes their orders.
    matrix : scipy.sparse.csr_array
        Of which the pattern counts.
    """

    factors: Factors
    matrix: Any

    def __call__(self, A: Any) -> Renewal:
        """The factors of A, and A by its rows, in memory of its own.

        Raises
        ------
        BadArgument
            Another pattern; complex values in the place of real ones; a pivot that is zero.
        """
        new, old = _rows_of(A), self.matrix
        if not (np.array_equal(new.indptr, old.indptr) and np.array_equal(new.indices, old.indices)):
            raise BadArgument("the new matrix has another pattern than the one that was set up")
        if new.dtype.kind == "c" and old.dtype.kind == "f":
            raise BadArgument("the new matrix is complex, and the one that was set up is real")
        new = new.astype(old.dtype)
        scale = None if self.factors.row_scale is None else row_scale(new)
        ordered = _scaled(new, scale)[self.factors.row_order][:, self.factors.column_order]
        lu = superlu_without_pivoting(ordered)
        factors = replace(self.factors, lower=lu.L, upper=lu.U, row_scale=scale)
        return Renewal(factors, new, lambda: of_superlu(structure_without_pivoting(ordered)))


def _rows_of(A: Any) -> Any:
    """The matrix by its rows, in the type that it is factored in, and in memory of its own."""
    matrix, kind = rows_and_kind(A)
    return matrix.astype(kind)


def _scaled(matrix: Any, scale: np.ndarray | None) -> Any:
    return matrix if scale is None else sp.diags_array(scale.astype(matrix.dtype)) @ matrix
