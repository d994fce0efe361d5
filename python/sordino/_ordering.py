"""Orders of rows and columns in which factors stay sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._metis import graph_of, pymetis
from .errors import BadArgument, Unsupported, suggestion
from .log import logger

ORDERINGS = ("auto", "metis", "mmd", "colamd", "natural")


def chosen(ordering: str, matrix: Any) -> tuple[str, bool, str]:
    """The ordering that is taken of a matrix, whether pivots are to stay on its diagonal, and why.

    "auto" of a pattern that is not symmetric stays "auto": several are tried (``_factoring.py``).
    """
    if ordering not in ORDERINGS:
        near = suggestion(str(ordering), ORDERINGS)
        raise BadArgument(f"ordering is one of {', '.join(ORDERINGS)}, not '{ordering}'{near}")
    symmetric = has_symmetric_pattern(matrix)
    if ordering != "auto":
        return ordering, symmetric and ordering != "colamd", "it was asked for"
    if not symmetric:
        return "auto", False, ""
    if (missing := without_metis()) is not None:
        logger.info("minimum degree orders the matrix: %s", missing)
        return "mmd", True, f"the pattern is symmetric, and {missing}"
    return "metis", True, "the pattern is symmetric"


def without_metis() -> str | None:
    """What is missing for nested dissection, or None."""
    try:
        pymetis("ordering='metis'")
    except Unsupported as missing:
        return str(missing)
    return None


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
    """Powers of two, of the matrix' type, that bring each row's largest entry near 1; None where all are 1."""
    largest = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[:-1])  # no row is empty
    with np.errstate(divide="ignore"):
        power = -np.round(np.log2(np.where(largest > 0, largest, 1)))
    most = -np.finfo(matrix.dtype).minexp
    power = np.clip(power, -most, most)
    logger.debug("rows are scaled by powers of two from 2^%d to 2^%d", power.min(), power.max())
    return np.ldexp(1.0, power.astype(int)) if power.any() else None


def most_multiplications(pattern: Any, limit: float) -> float:
    """How many multiplications an elimination takes at most, whichever rows are its pivots; inf: more than `limit`.

    Parameters
    ----------
    pattern : SciPy CSR array, shape (n, n), no row empty
        Columns are eliminated in its order.

    Notes
    -----
    Rows whose first entry is in column k merge: any of them may be the pivot, and then all others get its entries.
    So row k of U is inside the union, column k of L has at most so many entries as there are rows, and all but one
    go on as the union without k (George and Ng, SIAM J. Sci. Stat. Comput. 8, 1987, 877-898).
    Cost: the entries of all unions; nothing more once `limit` is passed.
    """
    begin, columns = pattern.indptr.tolist(), pattern.indices.tolist()
    waiting: dict[
        int, list[tuple[set[int], int]]
    ] = {}  # by the first column: entries, and how many rows have them
    for row in range(pattern.shape[0]):
        entries = set(columns[begin[row] : begin[row + 1]])
        waiting.setdefault(min(entries), []).append((entries, 1))
    total = 0.0
    for column in range(pattern.shape[0]):
        merging = waiting.pop(column, [])
        if not merging:  # the matrix is singular
            continue
        rows = sum(count for _, count in merging)
        union = set().union(*(entries for entries, _ in merging))
        total += (rows - 1) * len(union)
        if total > limit:
            return np.inf
        union.discard(column)
        if rows > 1 and union:
            waiting.setdefault(min(union), []).append((union, rows - 1))
    return total
