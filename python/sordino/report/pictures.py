"""The problem's own pictures: a slice of a field on a grid, the pattern of a matrix, the blocks of an H-matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from .._matrix import CsrArrays
from . import raster, svg

#: Boxes of a pattern's picture in each direction, and cells of a slice, at most.
MOST_BOXES, MOST_CELLS = 150, 240
#: Pixels of a picture of blocks in each direction, at most.
MOST_PIXELS = 600
#: Colours of ranks, which take turns: people tell them apart however they see them (Okabe and Ito), and one more.
RANKS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#7F7F7F")
SIDE, BAR = 300.0, 14.0
TOP, LEFT, RIGHT, BOTTOM = 10.0, 62.0, 84.0, 40.0

STRETCHED = {"preserveAspectRatio": "none", "class": "pixels"}


@dataclass(frozen=True)
class Picture:
    """A picture with its heading and a sentence below it."""

    heading: str
    drawing: str
    caption: str


def field_slice(values: np.ndarray, shape: Sequence[int], heading: str, what: str) -> Picture:
    """The middle layer in z of a field on a grid.

    Parameters
    ----------
    values : ndarray, shape (nx * ny * nz,)
        x runs fastest.
    shape : (nx, ny, nz)
    heading : str
    what : str
        What is shown, for the caption.
    """
    nx, ny, nz = (int(n) for n in shape)
    layer = np.asarray(values, dtype=float).reshape(nz, ny, nx)[nz // 2]
    return map_of(layer, heading, f"{what} in the layer z = {nz // 2} of {nz}, {nx} x {ny} cells.")


def map_of(layer: np.ndarray, heading: str, caption: str, *, axes: tuple[str, str] = ("x", "y")) -> Picture:
    """A field on one layer of cells, shape (ny, nx), in colours; zero is in the middle where it has both signs.

    More than :data:`MOST_CELLS` cells in a direction are thinned; what is not finite is left blank.
    """
    ny, nx = layer.shape
    shown = layer[:: -(-ny // MOST_CELLS), :: -(-nx // MOST_CELLS)]
    finite = shown[np.isfinite(shown)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    stops: tuple[str, ...] = raster.SEQUENTIAL
    if high - low <= 1e-12 * max(abs(low), abs(high)):  # rounding errors are no structure
        high = low
    elif low < 0 < high:
        low, high, stops = -max(-low, high), max(-low, high), raster.DIVERGING
    image = raster.data_uri(raster.coloured(shown[::-1], stops, low, high))
    across, up = (SIDE, SIDE * ny / nx) if nx >= ny else (SIDE * nx / ny, SIDE)
    across, up = max(across, 60.0), max(up, 60.0)
    label = f"{heading}: values from {low:.3g} to {high:.3g}"
    content = framed(image, across, up, label, (axes[0], nx), (axes[1], ny)) + scale(
        stops, low, high, across, up
    )
    drawing = svg.drawing(LEFT + SIDE + RIGHT, TOP + up + BOTTOM, content, label, "map")
    return Picture(heading, drawing, caption)


def sparsity(rows: CsrArrays) -> Picture:
    """Where a matrix has entries: boxes, the stronger the more of their places are taken.

    Cost: one pass over the indices.
    """
    n, boxes = rows.n, min(rows.n, MOST_BOXES)
    counts, reach = np.zeros(boxes * boxes), 0
    box_of = (np.arange(n, dtype=np.int64) * boxes) // n
    step = max(1, (1 << 22) * n // max(rows.nnz, 1))
    for first in range(0, n, step):
        last = min(n, first + step)
        part = slice(int(rows.indptr[first]), int(rows.indptr[last]))
        row = np.repeat(np.arange(first, last), np.diff(rows.indptr[first : last + 1]))
        counts += np.bincount(box_of[row] * boxes + box_of[rows.indices[part]], minlength=boxes * boxes)
        if row.size:
            reach = max(reach, int(np.abs(row - rows.indices[part]).max()))
    places = np.outer(*[np.bincount(box_of, minlength=boxes)] * 2)
    filled = counts.reshape(boxes, boxes) / places
    heading = "Pattern of the matrix"
    image = raster.data_uri(_ink(filled))
    label = f"{heading}: {rows.nnz:,} entries in {n:,} rows, at most {reach:,} from the diagonal"
    content = framed(image, SIDE, SIDE, label, ("column", n), ("row", n), downwards=True)
    each = np.diff(rows.indptr)
    caption = (
        f"{each.min():,} to {each.max():,} entries a row, {rows.nnz / n:.1f} on average; "
        f"the farthest is {reach:,} places from the diagonal."
    )
    if boxes < n:
        caption += f" A dot stands for {-(-n // boxes):,} rows and columns: the stronger, the more is filled."
    return Picture(
        heading, svg.drawing(LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM, content, label, "map"), caption
    )


def block_structure(blocks: np.ndarray, n: int) -> Picture:
    """The blocks of an H-matrix, in the order of its clusters, coloured by rank; dense ones are red.

    Parameters
    ----------
    blocks : structured ndarray
        ``row_begin``, ``row_end``, ``column_begin``, ``column_end`` and ``rank``, -1 for a dense block.
    n : int
        Rows.
    """
    low_rank = blocks["rank"] >= 0
    colours, least, most = block_colours(blocks)
    heading = "Blocks of the matrix"
    label = f"{heading}: {int(low_rank.sum()):,} of low rank, {int((~low_rank).sum()):,} dense"
    content = _square(painted(blocks, colours, n), n, label)
    content += scale(raster.SEQUENTIAL, least, most, SIDE, SIDE)
    caption = (
        f"{int(low_rank.sum()):,} blocks of low rank, coloured by it, from {least:g} to {most:g}; "
        f"{int((~low_rank).sum()):,} dense blocks in red. Rows and columns are in the order of the clusters."
    )
    drawing = svg.drawing(LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM, content, label, "map")
    return Picture(heading, drawing, caption)


def block_colours(blocks: np.ndarray) -> tuple[np.ndarray, float, float]:
    """RGBA of each block by its rank, red of dense ones, and the least and the largest rank."""
    rank = blocks["rank"].astype(float)
    low_rank = rank >= 0
    least, most = (float(rank[low_rank].min()), float(rank[low_rank].max())) if low_rank.any() else (0.0, 0.0)
    colours = raster.coloured(rank, raster.SEQUENTIAL, least, most)
    colours[~low_rank] = (207, 109, 79, 255)
    return colours, least, most


def rank_map(shares: np.ndarray, n: int, ranks: int, distribution: str) -> Picture:
    """The blocks of an H-matrix in the colours of the ranks that multiply them; dense ones are darker.

    Parameters
    ----------
    shares : structured ndarray
        As :meth:`sordino.HMatrix.shares` has it.
    n, ranks : int
        Rows and ranks.
    distribution : str
        How they are shared, for the caption.
    """
    heading = "Rank map"
    label = f"{heading}: who of {ranks:,} ranks multiplies which block, by {distribution}"
    content = _square(painted(shares, rank_colours(shares), n), n, label)
    for rank, colour in enumerate(RANKS[:ranks]):
        y = TOP + 22 * rank
        content += svg.element("rect", x=LEFT + SIDE + 12, y=y, width=BAR, height=14.0, fill=colour)
        content += svg.text(LEFT + SIDE + 12 + BAR + 5, y + 11, str(rank))
    held = np.bincount(shares["owner"], _values(shares), ranks)
    caption = (
        f"Each block in the colour of the rank that multiplies it, dense ones darker, by {distribution}: "
        f"{held.max() / held.mean():.3g} times the mean is the most that one rank reads."
    )
    if distribution == "rows":
        caption += " Blocks that ranks cut are read in part by each of them."
    if ranks > len(RANKS):
        caption += f" Of {ranks:,} ranks every {len(RANKS)}th has the same colour."
    drawing = svg.drawing(LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM, content, label, "map")
    return Picture(heading, drawing, caption)


def _values(shares: np.ndarray) -> np.ndarray:
    """What is read of each share: rows of u or of a dense block, and all of v."""
    height = shares["row_end"] - shares["row_begin"]
    width = shares["column_end"] - shares["column_begin"]
    return np.where(shares["rank"] < 0, height * width, (height + width) * shares["rank"])


def rank_colours(shares: np.ndarray) -> np.ndarray:
    """RGBA of each share: its owner's colour, paler where the block is of low rank."""
    palette = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] + [255] for colour in RANKS])
    colours = palette[shares["owner"] % len(RANKS)]
    pale = shares["rank"] >= 0
    colours[pale, :3] = (colours[pale, :3] + 2 * 255) // 3
    return colours.astype(np.uint8)


def painted(blocks: np.ndarray, colours: np.ndarray, n: int) -> np.ndarray:
    """RGBA of a square in which each block has its colour, and an edge where there is room."""
    size = min(n, MOST_PIXELS)
    names = ("row_begin", "row_end", "column_begin", "column_end")
    ends = np.stack([blocks[name] * size // n for name in names], axis=1)
    ends[:, 1::2] = np.maximum(ends[:, 1::2], ends[:, ::2] + 1)  # what is smaller than a pixel is one
    image = np.zeros((size, size, 4), dtype=np.uint8)
    for (top, bottom, left, right), colour in zip(ends.tolist(), colours, strict=True):
        image[top:bottom, left:right] = colour
        if min(bottom - top, right - left) >= 4:  # else there would be nothing but edges
            image[top, left:right, 3] = image[top:bottom, left, 3] = 120
    return image


def _square(image: np.ndarray, n: int, label: str) -> str:
    return framed(raster.data_uri(image), SIDE, SIDE, label, ("column", n), ("row", n), downwards=True)


def _ink(filled: np.ndarray) -> np.ndarray:
    """One colour, whose opacity is the logarithm of how much is filled; what has an entry is always seen."""
    rgba = np.zeros((*filled.shape, 4), dtype=np.uint8)
    rgba[..., :3] = (62, 124, 196)
    most = max(float(filled.max()), 1e-300)
    with np.errstate(divide="ignore"):
        share = np.clip(1.0 + np.log10(filled / most) / 3.0, 0.0, 1.0)
    rgba[..., 3] = np.where(filled > 0, np.rint(95 + 160 * share), 0)
    return rgba


def framed(
    image: str,
    across: float,
    up: float,
    label: str,
    x: tuple[str, int],
    y: tuple[str, int],
    *,
    downwards: bool = False,
) -> str:
    """The image with both axes: a name in the middle of each, and the numbers at its ends."""
    bottom, right, middle = TOP + up, LEFT + across, TOP + up / 2
    zero, most = (TOP + 11, bottom) if downwards else (bottom, TOP + 11)
    parts = [
        svg.element("title", escape(label)),
        svg.element("image", x=LEFT, y=TOP, width=across, height=up, href=image, **STRETCHED),
        svg.element("rect", x=LEFT, y=TOP, width=across, height=up, class_="frame"),
        svg.text((LEFT + right) / 2, bottom + 32, x[0], text_anchor="middle"),
        svg.text(LEFT, bottom + 17, "0"),
        svg.text(right, bottom + 17, _count(x[1]), text_anchor="end"),
        svg.text(16.0, middle, y[0], text_anchor="middle", transform=f"rotate(-90 16 {middle:g})"),
        svg.text(LEFT - 6, zero, "0", text_anchor="end"),
        svg.text(LEFT - 6, most, _count(y[1]), text_anchor="end"),
    ]
    return "".join(parts)


def _count(n: int) -> str:
    """``9,216``, ``110k`` or ``2.1M``: at most five letters."""
    for factor, letter in ((1e6, "M"), (1e3, "k")):
        if n >= max(factor, 1e4):
            return f"{n / factor:.3g}{letter}"
    return f"{n:,}"


def scale(stops: tuple[str, ...], low: float, high: float, across: float, up: float) -> str:
    """The bar of colours, with the values at its ends and in its middle."""
    if not high > low:
        return svg.text(LEFT + across + 12, TOP + 12, f"all {low:.3g}")
    shades = raster.coloured(np.linspace(high, low, 64)[:, None], stops, low, high)
    x = LEFT + across + 12
    parts = [
        svg.element("image", x=x, y=TOP, width=BAR, height=up, href=raster.data_uri(shades), **STRETCHED)
    ]
    values = [(high, TOP + 10), (low, TOP + up)]
    if up >= 90:
        values.append(((low + high) / 2, TOP + up / 2 + 4))
    parts += [svg.text(x + BAR + 5, y, _short(value)) for value, y in values]
    return "".join(parts)


def _short(value: float) -> str:
    shown = f"{value:.2g}"
    return shown.replace("e-0", "e-").replace("e+0", "e")
