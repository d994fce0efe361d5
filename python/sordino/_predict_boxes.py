"""What is run for ranks that own boxes of a grid (``partition=boxes``): as many boxes, of fewer cells each.

A smaller box has more surface for its cells, and less work behind which its halo could hide. So two boxes are coupled
in a patch of the face between them alone, as small as leaves to surface and core the shares that they have in the
whole. Memory and links are then slower by factors of their own, as for a narrower box (:mod:`sordino._predict`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ._box import Box, Made
from ._matrix import CsrArrays
from ._native import core, translated
from ._subject import MOST_ROWS, Subject, of_box, weight
from .errors import BadArgument

#: Cells of a rank's box, at least: so many fill some of the tiles of 256 rows by which work waits for the halo.
LEAST = 1000

#: Cells along a direction of a rank's box that are few enough to be kept.
_FEW = 4


def in_boxes(
    subject: Subject, ranks: int, options: dict[str, Any], most_rows: int = MOST_ROWS
) -> tuple[Subject, dict[str, Any]]:
    """What is run where ranks own boxes of the grid, and with which options. A large box is run by smaller ones.

    Raises
    ------
    BadArgument
        Without a grid, for one that is not the subject's, and for boxes that it does not have.
    """
    whole = subject.whole
    if isinstance(whole, Box):
        options = {"grid": ",".join(map(str, whole.cells)), **options}
    grid, along = _shape(subject.n, ranks, options)
    if isinstance(whole, Box) and grid != list(whole.cells):
        raise BadArgument(f"grid is that of the problem, {' x '.join(map(str, whole.cells))}: leave it out")
    if ranks == 1:
        return subject, {k: v for k, v in options.items() if k not in ("partition", "grid", "boxes")}
    if isinstance(whole, Box):
        subject, grid = _of_boxes(subject, whole, along, most_rows)
    return subject, {**options, "grid": grid, "boxes": along}


def _of_boxes(subject: Subject, whole: Box, along: list[int], most_rows: int) -> tuple[Subject, list[int]]:
    """The subject as it is run, and the cells of that."""
    found = smaller(whole, along, most_rows)
    if found is None:
        return of_box(subject.name, whole, whole.n) if subject.scaled else subject, list(whole.cells)
    box, patch = found
    if whole.around:
        raise BadArgument(
            "boxes of ranks in a grid with periodic directions are predicted up to a million cells: give fewer cells, "
            "or leave --partition out"
        )
    made = box.made()
    rows = loosened(made, box.cells, along, patch)
    largest, own = (
        math.prod(-(-cells // count) for cells, count in zip(each.cells, along, strict=True))
        for each in (whole, box)
    )
    traffic = weight(subject.entries / subject.n, 1) * largest / (weight(rows.nnz / rows.n, 1) * own)
    surface = ghosts(whole, along) / ghosts_of(rows, box.cells, along)
    subject = replace(subject, run=rows, traffic=traffic, surface=surface, nullspace=made.nullspace)
    return subject, list(box.cells)


def _shape(n: int, ranks: int, options: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Cells of the grid, and boxes in each direction, as a solve with these options has them."""
    with translated():
        grid, along = core().choose_boxes(n, options.get("grid", ""), options.get("boxes", "auto"), ranks)
    return list(grid), list(along)


def smaller(box: Box, along: list[int], most_rows: int) -> tuple[Box, list[int]] | None:
    """The box of about `most_rows` rows that is run in place of `box`, and the cells of a rank's box of those that are
    coupled with others, in each direction; None where the whole is run. All ranks' boxes are alike."""
    ranks = math.prod(along)
    if box.n <= max(most_rows, LEAST * ranks):
        return None
    whole = [-(-cells // count) for cells, count in zip(box.cells, along, strict=True)]  # of the largest
    by = (max(most_rows / ranks, LEAST) / math.prod(whole)) ** (1 / 3)
    own = [min(cells, max(_FEW, round(cells * by))) for cells in whole]
    kept = [cells / of for cells, of in zip(own, whole, strict=True)]
    # Two sides of a patch across x are to have as many cells as a face of `own`, times kept[x]; likewise y and z.
    patch = [
        min(cells, max(1, round(cells * math.sqrt(math.prod(kept)) / share)))
        for cells, share in zip(own, kept, strict=True)
    ]
    nx, ny, nz = (count * cells for count, cells in zip(along, own, strict=True))
    return replace(box, cells=(nx, ny, nz)), patch


def loosened(made: Made, cells: tuple[int, int, int], along: list[int], patch: list[int]) -> CsrArrays:
    """The matrix with couplings between ranks' boxes in their patches alone.

    Raises
    ------
    BadArgument
        For a nullspace that is not constant: cells between obstacles may be left alone.
    """
    if made.nullspace is not None and not isinstance(made.nullspace, str):
        raise BadArgument(
            "obstacles in a tank that is closed on all sides are predicted in boxes up to a million cells: "
            "give fewer cells, leave --obstacles out, or open a face by --bc"
        )
    rows = made.rows
    row = np.repeat(np.arange(rows.n, dtype=np.int32), np.diff(rows.indptr))
    crossing = np.flatnonzero(_boxes(row, cells, along) != _boxes(rows.indices, cells, along))
    keep = np.ones(rows.nnz, bool)
    keep[crossing] = _in_patches(row[crossing], rows.indices[crossing], cells, along, patch)
    data = np.where(keep, rows.data, 0.0)
    if made.nullspace is not None:  # what flowed there flows nowhere, and constants are mapped to zero still
        lost = np.bincount(row, weights=rows.data - data, minlength=rows.n)
        data[row == rows.indices] += lost
    indptr = np.concatenate([[0], np.cumsum(np.add.reduceat(keep, rows.indptr[:-1], dtype=np.int64))])
    return CsrArrays(indptr, rows.indices[keep], data[keep], rows.n, order_kept=True)


def ghosts(box: Box, along: list[int]) -> int:
    """Rows of others that all ranks read together, if the whole is cut so."""
    grown = [cells + 2 * (count - 1) for cells, count in zip(box.cells, along, strict=True)]
    if box.stencil == 27:
        return math.prod(grown) - box.n
    return sum((more - cells) * (box.n // cells) for more, cells in zip(grown, box.cells, strict=True))


def ghosts_of(rows: CsrArrays, cells: tuple[int, int, int], along: list[int]) -> int:
    """The same of a matrix, counted."""
    row = np.repeat(np.arange(rows.n, dtype=np.int32), np.diff(rows.indptr))
    owner = _boxes(row, cells, along)
    crossing = owner != _boxes(rows.indices, cells, along)
    return len(np.unique(owner[crossing].astype(np.int64) * rows.n + rows.indices[crossing]))


def _places(number: np.ndarray, cells: tuple[int, int, int]) -> list[np.ndarray]:
    nx, ny, _ = cells
    return [number % nx, number // nx % ny, number // (nx * ny)]


def _boxes(number: np.ndarray, cells: tuple[int, int, int], along: list[int]) -> np.ndarray:
    """The box of each cell, where all boxes have as many cells."""
    x, y, z = (
        place // (count // boxes)
        for place, count, boxes in zip(_places(number, cells), cells, along, strict=True)
    )
    return (z * along[1] + y) * along[0] + x


def _in_patches(
    first: np.ndarray, second: np.ndarray, cells: tuple[int, int, int], along: list[int], patch: list[int]
) -> np.ndarray:
    """Which couplings of cells in two boxes are in the patch, along the directions in which they do not cross a cut."""
    inside = np.ones(len(first), bool)
    for a, b, count, boxes, few in zip(
        _places(first, cells), _places(second, cells), cells, along, patch, strict=True
    ):
        own = count // boxes
        inside &= (a // own != b // own) | (np.maximum(a % own, b % own) < few)
    return inside
