"""Strong scaling on boxes: the cells of one whole are cut into boxes, 7-point rows, and each rank has six neighbours.

What is run for a rank has its box's proportions and not its form: some hundred rows. Whole tiles of them are the box's
core, which needs nobody; the others are its surface, in as large a part of all rows, and as many of these as a face
has, in proportion, are coupled with those of the next rank in a direction. Bandwidths are smaller by as much as there
are fewer rows and ghosts.
"""

from __future__ import annotations

import math

import numpy as np

from .._matrix import CsrArrays
from .._subject import Subject
from ._weak import grid

#: Of more ranks some are run for all: setting up all takes time and memory by their square.
MOST_RANKS = 512

#: With so many ranks or fewer a rank's rows are several blocks of sums (of 840 in all), at whose ends tiles end, too:
#: what is run for more must be more.
_SEVERAL_BLOCKS = 420

#: Rows of a tile: a command waits for others' rows before the tiles that have some, and sends such tiles first.
_TILE = 256

#: Of a core at most.
_MOST_TILES = 8

#: Rows of a surface at least, so that faces can have their proportions.
_SURFACE = 16

#: Between rows of a rank that are coupled: so far apart that an incomplete factorization is no exact one.
_STRIDES = (16, 64)

#: Of the densities of cells, as phases have them, and how much a diagonal outweighs its row: a few rounds of twelve
#: iterations shall neither solve what is run nor make no progress.
_CONTRAST, _DOMINANCE = 1000.0, 1.003

Cells = tuple[float, float, float]


def subject(ranks: int, cells: Cells, depths: Cells | None) -> Subject:
    """The 7-point system of so many cells in boxes with the smallest faces: the boxes of the ranks that are run.

    Parameters
    ----------
    ranks : int
        That the cells are cut for; :func:`counts_run` says which of them are run.
    cells : tuple of float
        Of the whole, in x, y and z; they need not be multiples of the ranks in that direction.
    depths : tuple of float, or None
        Cells of the surface at a face across x, y and z. None: the whole box, so that nothing hides a halo.
    """
    counts, areas = counts_run(ranks, cells), faces(ranks, cells)
    core, rows = _rows(core_share(ranks, cells, depths))
    most = rows - core - 1  # else the same two rows would meet twice where a direction has two ranks
    sent = [round(most * area / max(max(areas), 1)) for area in areas]
    system = _system(counts, rows, core, sent)
    n = round(math.prod(cells) * math.prod(counts) / ranks)
    surface = sum(areas) / sum(sent) if any(sent) else 1.0
    return Subject(f"7-point, {ranks} ranks", n, 7 * n, system, n / system.n, surface, system)


def counts_run(ranks: int, cells: Cells) -> tuple[int, int, int]:
    """Ranks that are run in the three directions: of many, whole columns along z, as few as there need be.

    The whole is periodic, so all ranks have the same rows and six neighbours, in a part of it, too. Columns are whole,
    since ranks are numbered along z first: a node then has as many of a column's ranks. What grows with the number of
    ranks, the hops of a sum, the caller's machine must have; that nothing else grows with it is assumed.
    """
    x, y, z = grid_of(ranks, cells)
    columns = [(a, b) for a in range(3, x + 1) for b in range(3, y + 1) if a * b * z > _SEVERAL_BLOCKS]
    return (x, y, z) if ranks <= MOST_RANKS or not columns else (*min(columns, key=math.prod), z)


def grid_of(ranks: int, cells: Cells) -> tuple[int, int, int]:
    """Ranks in the three directions; of two that are alike, fewer along x, where a box's cells lie side by side."""
    z, y, x = grid(ranks, cells[::-1])
    return x, y, z


def faces(ranks: int, cells: Cells) -> list[float]:
    """Cells of a box's face across x, y and z; 0 where a rank is alone in the direction."""
    counts = grid_of(ranks, cells)
    box = [along / count for along, count in zip(cells, counts, strict=True)]
    return [math.prod(box) / along if count > 1 else 0.0 for along, count in zip(box, counts, strict=True)]


def core_share(ranks: int, cells: Cells, depths: Cells | None) -> float:
    """Which part of a box's cells is not of its surface."""
    if depths is None:
        return 0.0
    share = 1.0
    for along, count, depth in zip(cells, grid_of(ranks, cells), depths, strict=True):
        share *= max(0.0, 1 - 2 * depth * count / along) if count > 1 else 1
    return share


def _rows(core_share: float) -> tuple[int, int]:
    """Rows of the core, whole tiles, and of all. Of a share below an eighth there is no core."""
    if core_share < 1 / _MOST_TILES:
        return 0, 2 * _TILE
    core = _TILE
    while round(core / core_share) < core + _SURFACE and core < _MOST_TILES * _TILE:
        core += _TILE
    return core, max(round(core / core_share), core + _SURFACE)


def _system(counts: tuple[int, int, int], rows: int, core: int, sent: list[int]) -> CsrArrays:
    """A rank's rows are coupled with those one and two strides further; of the surface, with other ranks' too.

    Ranks are numbered along z first. Of a face the first rows of the surface are, of the one across the last.
    """
    ranks = math.prod(counts)
    place = np.arange(ranks).reshape(counts)
    rank, row = np.divmod(np.arange(ranks * rows), rows)
    columns = [rank * rows + row]
    for step in (1, *_STRIDES):
        columns += [
            np.where((row + by >= 0) & (row + by < rows), rank * rows + row + by, -1) for by in (step, -step)
        ]
    for d, count in enumerate(sent):
        ahead, behind = (np.roll(place, -side, axis=d).ravel()[rank] for side in (1, -1))
        across = row + (rows - core - count)
        columns.append(np.where((row >= core) & (row < core + count), ahead * rows + across, -1))
        back = row - (rows - core - count)
        columns.append(np.where((row >= rows - count), behind * rows + back, -1))
    table = np.stack(columns, axis=1)
    table.sort(axis=1)
    present = table >= 0
    own = np.arange(ranks * rows)
    density = _CONTRAST ** (own * 2654435761 % 1001 / 1000)
    data = np.where(present, -np.sqrt(density[:, None] * density[table]), 0.0)
    others = np.where(table == own[:, None], 0.0, data).sum(axis=1)
    data = np.where(table == own[:, None], _DOMINANCE * -others[:, None], data)
    return CsrArrays(
        np.concatenate([[0], np.cumsum(present.sum(axis=1), dtype=np.int64)]),
        table[present].astype(np.int32),
        data[present],
        len(own),
        order_kept=True,
        cuts=tuple(range(0, len(own) + 1, rows)),
    )
