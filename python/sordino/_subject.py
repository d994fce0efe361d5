"""What is predicted: a system, and the one that is run for it, which may be smaller."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._box import Box
from ._facts import is_hermitian, is_symmetric
from ._matrix import CsrArrays

#: Rows of a box above which it is run scaled.
MOST_ROWS = 1_000_000

#: Bytes that an iteration moves for an entry and for a row, by which rows are shared out.
ENTRY_BYTES, ROW_BYTES = 12.0, 88.0


@dataclass(frozen=True)
class Subject:
    """What is predicted: a system, and the one that is run for it.

    Attributes
    ----------
    name : str
    n, entries : int
        Of the system.
    run : CsrArrays
        The matrix that is run: the system's own, or that of a narrower box.
    traffic, surface : float
        How many times more bytes the system moves in memory, and between ranks, than what is run.
    whole : Box or CsrArrays
        For a solve that counts iterations.
    rhs : ndarray, shape (n,), or None
        For the same, of a matrix; A*1 if None.
    nullspace : "constant", ndarray of shape (run.n,), or None
        What the matrix that is run maps to zero.
    """

    name: str
    n: int
    entries: int
    run: CsrArrays
    traffic: float
    surface: float
    whole: Box | CsrArrays
    rhs: np.ndarray | None = None
    nullspace: Any = None

    @property
    def scaled(self) -> bool:
        """Whether something smaller is run."""
        return self.run.n != self.n


def of_matrix(name: str, rows: CsrArrays, rhs: np.ndarray | None = None) -> Subject:
    """A matrix that is there."""
    return Subject(name, rows.n, rows.nnz, rows, 1.0, 1.0, rows, rhs)


def suiting(rows: CsrArrays) -> list[str]:
    """The methods that are right for a matrix, as ``solver="auto"`` looks at it. Cost: O(nnz)."""
    if is_hermitian(rows) and (rows.matrix().diagonal().real > 0).all():
        return ["cg", "cgcg", "prcg"]
    if rows.complex:
        return ["cocg", "bicgstab"] if is_symmetric(rows) else ["bicgstab"]
    return ["bicgstab", "pipebicgstab"]


def of_box(name: str, box: Box, most_rows: int = MOST_ROWS) -> Subject:
    """A generated problem; one of more than `most_rows` rows is run on a narrower box."""
    run = narrower(box, most_rows)
    made = run.made()
    entries = box.entries * made.rows.nnz // run.entries  # obstacles take their share at any size
    heavier = weight(entries, box.n) / weight(made.rows.nnz, run.n)
    return Subject(name, box.n, entries, made.rows, heavier, box.n / run.n, box, nullspace=made.nullspace)


def weight(entries: float, rows: float) -> float:
    """Bytes that an iteration of Jacobi-CG moves in memory, about."""
    return ENTRY_BYTES * entries + ROW_BYTES * rows


def narrower(box: Box, most_rows: int) -> Box:
    """The box with as many planes, and planes so small that it has about `most_rows` rows; 24 x 24 cells at least."""
    nx, ny, nz = box.cells
    if box.n <= most_rows:
        return box
    factor = math.sqrt(most_rows / box.n)
    fewest = 24
    cells = (min(nx, max(fewest, round(nx * factor))), min(ny, max(fewest, round(ny * factor))), nz)
    return replace(box, cells=cells)
