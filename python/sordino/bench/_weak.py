"""Weak scaling on boxes: each rank has a box of cells of its own, and neighbours on all sides.

A rank's box is run with fewer cells, on a machine with bandwidths smaller by as much, as :mod:`sordino._predict` runs
large systems: every byte takes the time that it would have taken. The whole is periodic, so that every rank has 26
neighbours and rows of the same length: a small box would else have much more of the border than a large one.
"""

from __future__ import annotations

import itertools

import numpy as np

from .._matrix import CsrArrays
from .._subject import Subject

#: Cells along an edge of the box that is run: its inside fills a tile of 256 rows, which need not wait for the halo.
_EDGE = 9

#: What is added to diagonals at most: of a periodic box they would make a singular matrix.
_SHIFT = 0.5

#: Multiples of it, less their whole part, are spread evenly, however many there are.
_GOLDEN = (5**0.5 - 1) / 2


def subject(ranks: int, edge: int, uneven: float = 0.0) -> Subject:
    """The 27-point system of `ranks` boxes of `edge`^3 cells.

    Parameters
    ----------
    ranks : int
        In the most cubic grid that there is.
    edge : int
        At least 3: cells of a smaller box have a neighbour on two sides.
    uneven : float
        The part of the mean, below 1, by which the slowest rank is slower in all that it does, and the fastest one
        faster: ranks in between are spread evenly, and not in their order, and rank 0 is as the mean. They have as
        many more rows, which need nobody.
    """
    run = min(edge, _EDGE)
    rows = _system(grid(ranks), run)
    if uneven > 0:
        places = np.fmod(_GOLDEN * np.arange(ranks) + 0.5, 1.0)
        rows = _lengthened(rows, np.rint(run**3 * 2 * uneven / (1 - uneven) * places).astype(np.int64))
    n = ranks * edge**3
    return Subject(
        f"27-point, {ranks} ranks of {edge}^3",
        n,
        27 * n,
        rows,
        n / rows.n,
        _ghosts(edge) / _ghosts(run),
        rows,
    )


def grid(ranks: int, cells: tuple[float, float, float] = (1, 1, 1)) -> tuple[int, int, int]:
    """Ranks in the three directions of a whole with so many cells: boxes with the smallest faces, the most along x."""
    divisors = [count for count in range(1, ranks + 1) if ranks % count == 0]
    triples = (
        (ranks // (b * c), b, c) for b, c in itertools.product(divisors, repeat=2) if ranks % (b * c) == 0
    )
    faces = {
        triple: sum(count / along for count, along in zip(triple, cells, strict=True)) for triple in triples
    }
    return min(faces, key=lambda triple: (round(faces[triple], 12), [-count for count in triple]))


def _ghosts(edge: int) -> int:
    return (edge + 2) ** 3 - edge**3


def _system(ranks: tuple[int, int, int], edge: int) -> CsrArrays:
    """Rows rank by rank; of a rank those first that need nobody, so that work on them hides the halo."""
    cells = [count * edge for count in ranks]
    n = int(np.prod(cells))
    x, y, z = (place.ravel() for place in np.meshgrid(*(np.arange(count) for count in cells), indexing="ij"))
    owner = (x // edge * ranks[1] + y // edge) * ranks[2] + z // edge
    at_surface = np.zeros(n, bool)
    for place in (x, y, z):
        at_surface |= np.isin(place % edge, (0, edge - 1))
    order = np.lexsort((at_surface, owner))
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    columns = np.empty((n, 27), np.int32)
    for k, (a, b, c) in enumerate(itertools.product((-1, 0, 1), repeat=3)):
        near = ((x + a) % cells[0] * cells[1] + (y + b) % cells[1]) * cells[2] + (z + c) % cells[2]
        columns[number, k] = number[near]
    columns.sort(axis=1)
    own = np.arange(n)
    diagonal = 26 + _SHIFT * (own * 2654435761 % 1001) / 1000
    data = np.where(columns == own[:, None], diagonal[:, None], -1.0)
    size = edge**3
    return CsrArrays(
        np.arange(0, 27 * n + 1, 27, dtype=np.int64),
        columns.ravel(),
        data.ravel(),
        n,
        order_kept=True,
        cuts=tuple(range(0, n + 1, size)),
    )


def _lengthened(rows: CsrArrays, more: np.ndarray) -> CsrArrays:
    """Before the rows of each rank as many more as it has in `more`, of 27 entries all but one of which are zeros."""
    assert rows.cuts is not None
    added = np.concatenate([[0], np.cumsum(more)])
    first, old = np.asarray(rows.cuts) + added, np.arange(rows.n)
    rank = np.searchsorted(rows.cuts, old, side="right") - 1
    number = old + added[rank + 1]
    n = int(first[-1])
    others = np.setdiff1d(np.arange(n), number)
    columns, data = np.empty((n, 27), np.int32), np.zeros((n, 27))
    columns[number] = number[rows.indices].reshape(-1, 27)
    data[number] = rows.data.reshape(-1, 27)
    columns[others] = others[:, None] + np.arange(27)
    data[others, 0] = 26 + _SHIFT
    return CsrArrays(
        np.arange(0, 27 * n + 1, 27, dtype=np.int64),
        columns.ravel(),
        data.ravel(),
        n,
        order_kept=True,
        cuts=tuple(int(cut) for cut in first),
    )
