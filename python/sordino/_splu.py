"""Factors of a matrix by SciPy's SuperLU, set up for fast solves: :func:`splu`."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._factoring import factored, prepared, scaled
from ._factors import Factors, of_superlu
from ._lu import FactorizedLU
from ._lu_triangles import Renewal
from ._ordering import row_scale
from ._superlu import structure_without_pivoting, superlu_without_pivoting
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
        pattern, or mmd without pymetis. Of all others it factors by colamd, and by metis and natural where that is
        sure to be cheap, and takes the one whose solves are predicted to be the fastest (``ordering_reason``).
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
    the GIL. "auto" of other patterns costs up to three factorisations, where colamd's is one: the others are tried if,
    whichever rows are pivots, they take at most 3e9 multiplications, or ten times colamd's, and never above 3e10.
    """
    known_options(options)
    begun = time.perf_counter()
    matrix = prepared(A)
    found = factored(matrix, ordering)
    F = FactorizedLU(found.factors, matrix, options)
    F.choice = found.choice
    F.factor_again = SamePivots(found.factors, matrix)
    factoring = found.factoring_seconds
    ordering_seconds = found.done_at - begun - factoring
    F.seconds = {"ordering": ordering_seconds, "factoring": factoring, **F.seconds}
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
        new, old = prepared(A), self.matrix
        if not (np.array_equal(new.indptr, old.indptr) and np.array_equal(new.indices, old.indices)):
            raise BadArgument("the new matrix has another pattern than the one that was set up")
        if new.dtype.kind == "c" and old.dtype.kind == "f":
            raise BadArgument("the new matrix is complex, and the one that was set up is real")
        new = new.astype(old.dtype)
        scale = None if self.factors.row_scale is None else row_scale(new)
        ordered = scaled(new, scale)[self.factors.row_order][:, self.factors.column_order]
        lu = superlu_without_pivoting(ordered)
        factors = replace(self.factors, lower=lu.L, upper=lu.U, row_scale=scale)
        return Renewal(factors, new, lambda: of_superlu(structure_without_pivoting(ordered)))
