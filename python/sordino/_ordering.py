"""Orders of rows and columns in which factors stay sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._metis import graph_of, pymetis
from .errors import BadArgument, Unsupported, suggestion
from .log import logger

ORDERINGS = ("auto", "metis", "mmd", "colamd", "natural")


def chosen(ordering: str, matrix: Any) -> tuple[str, bool]:
    """The ordering that is taken of a matrix, and whether its pattern is symmetric."""
    if ordering not in ORDERINGS:
        near = suggestion(str(ordering), ORDERINGS)
        raise BadArgument(f"ordering is one of {', '.join(ORDERINGS)}, not '{ordering}'{near}")
    symmetric = has_symmetric_pattern(matrix)
    if ordering != "auto":
        return ordering, symmetric and ordering != "colamd"
    if not symmetric:
        return "colamd", False
    try:
        pymetis("ordering='metis'")
    except Unsupported as missing:
        logger.info("minimum degree orders the matrix: %s", missing)
        return "mmd", True
    return "metis", True


def has_symmetric_pattern(matrix: Any) -> bool:
    """Whether entry (j, i) is stored where (i, j) is. Cost: a transposition."""
    pattern = sp.csr_array((np.ones(matrix.nnz, np.int8), matrix.indices, matrix.indptr), shape=matrix.shape)
    other = pattern.T.tocsr()
    other.sort_indices()
    return np.array_equal(pattern.indptr, other.indptr) and np.array_equal(pattern.indices, other.indices)


def nested_dissection(matrix: Any) -> np.ndarray:
    """METIS's order: its k-th row is row order[k] of the matrix, shape (n,).

    Raises
    ------
    Unsupported
        Without pymetis, and for a matrix that is too large for METIS.
    """
    metis = pymetis("ordering='metis'")
    graph = graph_of(matrix.indptr, matrix.indices, matrix.shape[0])
    if graph.nnz == 0:
        return np.arange(matrix.shape[0])
    order, _ = metis.nested_dissection(metis.CSRAdjacency(graph.indptr, graph.indices))
    return np.asarray(order, dtype=np.int64)


def row_scale(matrix: Any) -> np.ndarray | None:
    """Powers of two that bring each row's largest entry near 1; None where all are 1."""
    largest = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[:-1])  # no row is empty
    with np.errstate(divide="ignore"):
        power = -np.round(np.log2(np.where(largest > 0, largest, 1)))
    logger.debug("rows are scaled by powers of two from 2^%d to 2^%d", power.min(), power.max())
    return np.ldexp(1.0, power.astype(int)) if power.any() else None
