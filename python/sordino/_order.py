"""Rows in another order than the caller's, where each rank owns other rows; vectors go there and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _metis
from ._callbacks import Callback, Function
from ._hierarchy import Hierarchy
from ._matrix import CsrArrays
from ._native import core, translated
from ._permutation import Permutation
from ._system import System
from .errors import BadArgument
from .log import logger


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
    partition : str
        The option's word for it.
    """

    places: np.ndarray | None = None
    slots: np.ndarray | None = None
    rows: CsrArrays | None = None
    cuts: tuple[int, ...] = ()
    partition: str = "blocks"

    @property
    def given(self) -> dict[str, Any]:
        """What the core is told of it."""
        given: dict[str, Any] = {"cuts": list(self.cuts)} if self.cuts else {}
        return given | ({"cells": self.places} if self.partition == "boxes" else {})

    @cached_property
    def _permutation(self) -> Permutation | None:
        return None if self.places is None else Permutation(self.places)

    def into(self, vectors: Any) -> Any:
        """The caller's rows, shape (..., n), or (n,) on a GPU, in the solver's order."""
        return vectors if self._permutation is None or vectors is None else self._permutation.into(vectors)

    def back(self, x: Any) -> Any:
        """The solver's rows, shape (n,), in the caller's order."""
        return x if self._permutation is None or x is None else self._permutation.back(x)

    def values(self, values: np.ndarray) -> np.ndarray:
        """The caller's stored values in the solver's order."""
        return values if self.slots is None else values[self.slots]

    def seen(self, callback: Callback | None) -> Callback | None:
        """A callback that sees x in the caller's order."""
        if callback is None or self.places is None:
            return callback
        return lambda iteration, residual, *x: callback(iteration, residual, *map(self.back, x))


def ordered(system: System, options: dict[str, Any]) -> tuple[System, Order]:
    """The system with the rows of each rank beside each other, where the option `partition` asks for another order.

    Raises
    ------
    BadArgument
        For an operator, which shows no entries, with ``deterministic="on"``, for a matrix of which
        METIS leaves a rank nothing, and for boxes that the grid does not have.
    Unsupported
        For METIS without pymetis.

    Notes
    -----
    Rows are made of a grid's fields, and the grid is then among the options. Memory: the matrix once more,
    and 24 bytes an entry while it lasts; afterwards 8 an entry and its pattern.
    """
    if "hmatrix" in system.given:
        return _as_in_tree(system)
    ranks = int(options["ranks"]) * int(core().mpi()["size"])
    partition = options.get("partition", "blocks")
    boxes = _chosen_boxes(system, ranks, options) if partition == "boxes" else None
    if partition == "blocks" or ranks == 1:
        return system, Order(cuts=system.rows.cuts if system.rows else ())
    if fields := system.given.get("grid_matrix"):
        options.setdefault("grid", ",".join(map(str, fields.cells)))
        system = system.by_rows(f"partition {partition} gives ranks other rows than layers of cells")
    matrix = system.rows
    if matrix is None:
        raise BadArgument(
            f"partition={partition!r} needs the entries of the matrix, which is {system.stands_as}"
        )
    if options.get("deterministic") == "on":
        raise BadArgument(
            f"deterministic='on' keeps the bits on any number of ranks, and partition={partition!r} has another "
            "order of rows on each: choose one"
        )
    if boxes is not None:
        places, cuts = core().rows_in_boxes(matrix.indptr, matrix.indices, *boxes)
    else:
        places, cuts = _by_metis(matrix, ranks, options)
    rows, slots = _permuted(matrix, places)
    order = Order(places, slots, matrix, tuple(cuts), partition)
    given = {name: _given(name, value, order, places) for name, value in system.given.items()}
    return replace(system, rows=rows, given=given), order


def _as_in_tree(system: System) -> tuple[System, Order]:
    """Rows in the order of an H-matrix's clusters."""
    places = system.given["hmatrix"].order()
    order = Order(places)
    return replace(
        system, given={name: _given(name, value, order, places) for name, value in system.given.items()}
    ), order


def _chosen_boxes(system: System, ranks: int, options: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Cells of the grid in x, y and z, and boxes: one for each rank of all processes."""
    fields = system.given.get("grid_matrix")
    cells = ",".join(map(str, fields.cells)) if fields is not None else ""
    with translated():
        grid, along = core().choose_boxes(
            system.n, options.get("grid") or cells, options.get("boxes", "auto"), ranks
        )
    logger.info(
        "ranks own %s boxes of %s cells in all", *(" x ".join(map(str, each)) for each in (along, grid))
    )
    return grid, along


def _by_metis(matrix: CsrArrays, ranks: int, options: dict[str, Any]) -> tuple[np.ndarray, list[int]]:
    """The caller's number of each row in METIS's parts, and the first row of each part."""
    parts = _metis.parts(matrix, ranks, float(options.get("timeout", 60.0)))
    counts = np.bincount(parts, minlength=ranks)
    if counts.min() == 0:
        raise BadArgument(
            f"METIS leaves rank {int(np.argmin(counts))} of {ranks} without rows: "
            "take fewer ranks, or partition='blocks'"
        )
    return np.argsort(parts, kind="stable"), [0, *np.cumsum(counts).tolist()]


def _given(name: str, value: Any, order: Order, places: np.ndarray) -> Any:
    if isinstance(value, CsrArrays):
        return _permuted(value, places)[0]
    if isinstance(value, Hierarchy):
        return value.in_order(places)
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
