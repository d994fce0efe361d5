"""Incomplete factorisations without fill, set up for fast solves: :func:`ilu0`, :func:`ic0`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._columns import rows_and_kind
from ._factors import Factors
from ._lu import FactorizedLU, factorized_lu, matrix_of
from ._lu_triangles import Renewal
from ._native import core, translated


def ilu0(A: Any, **options: Any) -> FactorizedLU:
    """Factor A = L U + R on the pattern of A, where R is zero, and set up both triangles for fast solves.

    Parameters
    ----------
    A : SciPy sparse matrix or array of any format, or dense array, shape (n, n)
        With an entry on the diagonal of each row. float32, float64 or complex128; complex64 as complex128, others as
        float64.
    **options
        ``ranks``, ``threads``, ``width``, ``engine``, ``devices``, ``timeout``, ``machine`` and ``seed`` of
        :func:`factorized`.

    Returns
    -------
    FactorizedLU
        A preconditioner as it is: ``M=sordino.ilu0(A)`` of :class:`Solver`, or of SciPy's methods. It solves with the
        factors, not with A, so nothing is verified. Its ``update`` factors another A of the same pattern.

    Raises
    ------
    BadArgument
        What :func:`solve` refuses, too; a row without an entry on the diagonal, or in which the factorisation breaks
        down: a pivot that is zero or too small, or entries that overflow.

    Notes
    -----
    No pivoting: it works for M-matrices and diagonally dominant ones, and may break down for others. Cost: of each row
    its entries times those of the rows that it needs, by one thread, in double precision. The GIL is released. Saad,
    Iterative Methods for Sparse Linear Systems, 2003, algorithm 10.4.

    Examples
    --------
    >>> s = sordino.Solver(A, method="gmres", M=sordino.ilu0(A))      # doctest: +SKIP
    """
    return _set_up(_ilu0, A, options)


def ic0(A: Any, **options: Any) -> FactorizedLU:
    """Factor a Hermitian positive definite A = L L^H + R on the pattern of A, where R is zero; see :func:`ilu0`.

    Only the lower triangle of A is read. Half the memory and work of :func:`ilu0`.

    Raises
    ------
    BadArgument
        As :func:`ilu0`; and a pivot that is not positive, which positive definite matrices may have, too, unless they
        are M-matrices or diagonally dominant.

    Notes
    -----
    Meijerink and van der Vorst, 1977.
    """
    return _set_up(_ic0, A, options)


def _ilu0(A: Any) -> Factors:
    matrix, kind = rows_and_kind(A)
    F = sp.csr_array(
        (_entries(matrix, False).astype(kind), matrix.indices, matrix.indptr), shape=matrix.shape
    )
    return Factors(lower=sp.tril(F, -1), upper=sp.triu(F), unit_lower=True)


def _ic0(A: Any) -> Factors:
    matrix, kind = rows_and_kind(A)
    L = sp.csr_array(sp.tril(matrix))
    L.sort_indices()
    return Factors(lower=sp.csr_array((_entries(L, True).astype(kind), L.indices, L.indptr), shape=L.shape))


def _entries(rows: Any, cholesky: bool) -> np.ndarray:
    with translated():
        return core().incomplete_factors(
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int32),
            np.ascontiguousarray(rows.data),
            cholesky,
        )


def _set_up(factor: Callable[[Any], Factors], A: Any, options: dict[str, Any]) -> FactorizedLU:
    start = time.perf_counter()
    factors = factor(A)
    seconds = time.perf_counter() - start
    F = factorized_lu(factors, **options)

    def again(new: Any) -> Renewal:
        made = factor(new)
        return Renewal(made, None if F.matrix is None else matrix_of(made, new))  # verified before: so still

    F.factor_again = again
    F.seconds = {"factoring": seconds, **F.seconds}
    return F
