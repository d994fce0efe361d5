"""METIS's parts of a matrix: each rank's rows touch few of the others'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._comm import run
from ._matrix import CsrArrays
from ._native import core
from .errors import SordinoError, Unsupported
from .log import logger

_SEED = 1  # the same parts on every run
_MOST_EDGES = 2**31


def parts(rows: CsrArrays, ranks: int, timeout: float) -> np.ndarray:
    """The rank of each row, shape (n,).

    Raises
    ------
    Unsupported
        Without pymetis, and for a matrix that is too large for METIS.

    Notes
    -----
    The graph is that of A and its transpose; a row weighs what an iteration moves for it. One process
    computes, and tells the others.
    """
    return _agreed(lambda: _parts(rows, ranks), timeout)


def _parts(rows: CsrArrays, ranks: int) -> np.ndarray:
    """The rank of each row."""
    metis = pymetis("partition='metis'")
    graph = graph_of(rows.indptr, rows.indices, rows.n)
    weights = 3 * np.diff(rows.indptr) + 22  # as the core weighs rows: 12 bytes an entry, 88 a row
    cut, parts = metis.part_graph(
        ranks,
        metis.CSRAdjacency(graph.indptr, graph.indices),
        vweights=weights.astype(np.int32),
        options=metis.Options(seed=_SEED),
    )
    logger.info("METIS cuts %d of %d edges between %d ranks", cut, graph.nnz // 2, ranks)
    return np.asarray(parts, dtype=np.int64)


def graph_of(indptr: np.ndarray, indices: np.ndarray, n: int) -> Any:
    """The graph of A + A^T without its diagonal, as METIS takes it: compressed rows of 32-bit numbers."""
    pattern = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
    graph = (pattern + pattern.T).tocoo()
    edges = graph.row != graph.col
    if int(edges.sum()) >= _MOST_EDGES:
        raise Unsupported("the matrix has more than 2^31 entries outside its diagonal, too many for METIS")
    graph = sp.csr_array((graph.data[edges], (graph.row[edges], graph.col[edges])), shape=graph.shape)
    graph.indptr, graph.indices = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
    return graph


def _agreed(compute: Callable[[], np.ndarray], timeout: float) -> np.ndarray:
    """What the first process computes, in all of them; what it raises, too."""
    if int(core().mpi()["size"]) == 1:
        return compute()
    mine = None
    if int(core().mpi()["rank"]) == 0:
        try:
            mine = compute()
        except Exception as error:  # the others wait for word
            mine = -1 - np.frombuffer(_sentence(error).encode(), np.uint8).astype(np.int64)
    found = np.asarray(run(1, lambda comm: comm.bcast(mine), timeout=timeout)[0])
    if found.min() < 0:
        raise Unsupported((-1 - found).astype(np.uint8).tobytes().decode())
    return found


def _sentence(error: Exception) -> str:
    if isinstance(error, SordinoError):
        return str(error)
    return f"METIS failed in the first process: {type(error).__name__}: {error}"


def pymetis(who: str) -> Any:
    """The module; `who` needs it, as the error says where it is not installed."""
    try:
        import pymetis
    except ImportError:
        raise Unsupported(f"{who} needs pymetis: pip install 'sordino[metis]'") from None
    return pymetis
