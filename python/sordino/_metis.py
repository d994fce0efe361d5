"""Rows in METIS's order: each rank owns rows that touch few of the others'; vectors go there and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._callbacks import Callback, Function
from ._comm import run
from ._matrix import CsrArrays
from ._native import core
from ._system import System
from .errors import BadArgument, SordinoError, Unsupported
from .log import logger

_SEED = 1  # the same parts on every run
_MOST_EDGES = 2**31


@dataclass(frozen=True)
class Order:
    """Where a solver keeps the caller's rows.

    Attributes
    ----------
    places : ndarray, shape (n,), or None
        The caller's number of each row of the solver's; None: rows are where the caller has them.
    slots : ndarray, shape (nnz,), or None
        Where each stored value stands in the caller's matrix.
    rows : CsrArrays or None
        The matrix as the caller gave it, for its pattern.
    cuts : tuple of int
        The first row of each rank, and n; empty where rows are dealt out by the core.
    """

    places: np.ndarray | None = None
    slots: np.ndarray | None = None
    rows: CsrArrays | None = None
    cuts: tuple[int, ...] = ()

    @property
    def given(self) -> dict[str, Any]:
        """What the core is told of it."""
        return {"cuts": list(self.cuts)} if self.cuts else {}

    def into(self, vectors: Any) -> Any:
        """The caller's rows, shape (..., n), in the solver's order."""
        if self.places is None or vectors is None:
            return vectors
        if not isinstance(vectors, np.ndarray):
            raise Unsupported(
                "partition='metis' has another order of rows, which is made on the CPU: hand over vectors in its memory"
            )
        return np.ascontiguousarray(np.asarray(vectors)[..., self.places])

    def back(self, x: Any) -> Any:
        """The solver's rows, shape (n,), in the caller's order."""
        if self.places is None or x is None:
            return x
        returned = np.empty_like(np.asarray(x))
        returned[self.places] = x
        return returned

    def values(self, values: np.ndarray) -> np.ndarray:
        """The caller's stored values in the solver's order."""
        return values if self.slots is None else values[self.slots]

    def seen(self, callback: Callback | None) -> Callback | None:
        """A callback that sees x in the caller's order."""
        if callback is None or self.places is None:
            return callback
        return lambda iteration, residual, *x: callback(iteration, residual, *map(self.back, x))


def ordered(system: System, options: dict[str, Any]) -> tuple[System, Order]:
    """The system with the rows of each rank beside each other, where ``partition="metis"`` asks for it.

    Raises
    ------
    BadArgument
        For an operator, which shows no entries, with ``deterministic="on"``, and for a matrix of which METIS
        leaves a rank nothing.
    Unsupported
        Without pymetis.

    Notes
    -----
    The graph is that of A and its transpose; a row weighs what an iteration moves for it. One process
    computes, and tells the others. Memory: the matrix once more, and 24 bytes an entry while it lasts;
    afterwards 8 an entry and its pattern.
    """
    ranks = int(options["ranks"]) * int(core().mpi()["size"])
    if options.get("partition") != "metis" or ranks == 1:
        return system, Order(cuts=system.rows.cuts if system.rows else ())
    matrix = system.rows
    if matrix is None:
        raise BadArgument("partition='metis' needs the entries of the matrix, which is given as an operator")
    if options.get("deterministic") == "on":
        raise BadArgument(
            "deterministic='on' keeps the bits on any number of ranks, and partition='metis' has another order "
            "of rows on each: choose one"
        )
    parts = _agreed(lambda: _parts(matrix, ranks), float(options.get("timeout", 60.0)))
    counts = np.bincount(parts, minlength=ranks)
    if counts.min() == 0:
        raise BadArgument(
            f"METIS leaves rank {int(np.argmin(counts))} of {ranks} without rows: "
            "take fewer ranks, or partition='blocks'"
        )
    places = np.argsort(parts, kind="stable")
    rows, slots = _permuted(matrix, places)
    cuts = tuple(int(cut) for cut in np.concatenate([[0], np.cumsum(counts)]))
    order = Order(places, slots, matrix, cuts)
    given = {name: _given(name, value, order, places) for name, value in system.given.items()}
    return replace(system, rows=rows, given=given), order


def _given(name: str, value: Any, order: Order, places: np.ndarray) -> Any:
    if isinstance(value, CsrArrays):
        return _permuted(value, places)[0]
    if isinstance(value, Function):
        return value.between(order.back, order.into)
    return order.into(value) if name == "diagonal" else value


def _permuted(rows: CsrArrays, places: np.ndarray) -> tuple[CsrArrays, np.ndarray]:
    """P A P^T, and where its values stand in A's."""
    number = np.empty(rows.n, np.int32)
    number[places] = np.arange(rows.n, dtype=np.int32)
    lengths = np.diff(rows.indptr)[places]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    slots = np.repeat(rows.indptr[:-1][places] - indptr[:-1], lengths) + np.arange(rows.nnz)
    sorted_rows = sp.csr_array((slots, number[rows.indices[slots]], indptr), shape=(rows.n, rows.n))
    sorted_rows.sort_indices()
    indices = np.ascontiguousarray(sorted_rows.indices, dtype=np.int32)
    slots = np.ascontiguousarray(sorted_rows.data)
    return CsrArrays(indptr, indices, rows.data[slots], rows.n, order_kept=rows.order_kept), slots


def _parts(rows: CsrArrays, ranks: int) -> np.ndarray:
    """The rank of each row."""
    pymetis = _pymetis()
    pattern = sp.csr_array((np.ones(rows.nnz, np.int8), rows.indices, rows.indptr), shape=(rows.n, rows.n))
    graph = (pattern + pattern.T).tocoo()
    edges = graph.row != graph.col
    if int(edges.sum()) >= _MOST_EDGES:
        raise Unsupported("the matrix has more than 2^31 entries outside its diagonal, too many for METIS")
    graph = sp.csr_array((graph.data[edges], (graph.row[edges], graph.col[edges])), shape=graph.shape)
    weights = 3 * np.diff(rows.indptr) + 22  # as the core weighs rows: 12 bytes an entry, 88 a row
    cut, parts = pymetis.part_graph(
        ranks,
        pymetis.CSRAdjacency(graph.indptr.astype(np.int32), graph.indices.astype(np.int32)),
        vweights=weights.astype(np.int32),
        options=pymetis.Options(seed=_SEED),
    )
    logger.info("METIS cuts %d of %d edges between %d ranks", cut, graph.nnz // 2, ranks)
    return np.asarray(parts, dtype=np.int64)


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


def _pymetis() -> Any:
    try:
        import pymetis
    except ImportError:
        raise Unsupported("partition='metis' needs pymetis: pip install 'sordino[metis]'") from None
    return pymetis
