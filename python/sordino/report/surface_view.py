"""Pictures of a surface with a number on each triangle, drawn here so that a report needs nothing installed."""

from __future__ import annotations

from html import escape

import numpy as np

from . import raster, svg
from .pictures import LEFT, RIGHT, SIDE, STRETCHED, TOP, Picture, scale

#: Pixels along the longer side: two for each unit of the drawing.
_PIXELS = 600
_MOST_SAMPLES = 1 << 21
_ELEVATION = 20.0
_MARGIN = 10.0


def surface_view(
    corners: np.ndarray,
    values: np.ndarray,
    heading: str,
    caption: str,
    *,
    azimuth: float = 60.0,
    upwards: str = "z",
) -> Picture:
    """A surface from one side, from a little above, lit from there.

    Parameters
    ----------
    corners : ndarray, shape (n, 3, 3)
        Triangle, corner, coordinate.
    values : ndarray, shape (n,)
        Shown in colours, which end where one in a hundred triangles lies beyond; zero is in the middle where the
        values have both signs.
    heading, caption : str
    azimuth : float
        Where one looks from: degrees from x to y, or from -x to z where y is upwards.
    upwards : {"z", "y"}

    Notes
    -----
    Time is that of the pixels, and of n: about a second for 100,000 triangles.
    """
    place = (
        corners if upwards == "z" else np.stack([-corners[..., 0], corners[..., 2], corners[..., 1]], axis=-1)
    )
    right, up, towards = _camera(azimuth)
    across = np.stack([place @ right, -(place @ up)], axis=-1)
    low, extent = across.min((0, 1)), np.ptp(across, axis=(0, 1))
    pixel = max(float(extent.max()), 1e-300) / (_PIXELS - 4)
    shape = tuple(int(size) for size in np.ceil(extent[::-1] / pixel).astype(int) + 4)
    seen = _nearest((across - low) / pixel + 2, place @ towards, shape)

    least, most, stops = _limits(values)
    rgba = raster.coloured(np.where(seen >= 0, values[seen], np.nan), stops, least, most)
    normals = np.cross(place[:, 1] - place[:, 0], place[:, 2] - place[:, 0])
    facing = np.abs(normals @ towards) / np.maximum(np.linalg.norm(normals, axis=1), 1e-300)
    rgba[..., :3] = np.rint(rgba[..., :3] * (0.6 + 0.4 * facing[seen])[..., None])

    label = f"{heading}: values from {values.min():.3g} to {values.max():.3g}"
    height, width = (SIDE * size / _PIXELS for size in shape)
    image = raster.data_uri(rgba)
    content = svg.element("title", escape(label))
    left, room = _MARGIN + (SIDE - width) / 2, max(height, 60.0)
    content += svg.element("image", x=left, y=TOP, width=width, height=height, href=image, **STRETCHED)
    bar = scale(stops, least, most, SIDE, room)
    content += svg.element("g", bar, transform=f"translate({_MARGIN - LEFT:g} 0)")
    drawing = svg.drawing(LEFT + SIDE + RIGHT, TOP + room + 10, content, label, "map")
    return Picture(heading, drawing, caption)


def _camera(azimuth: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """To the right, upwards and towards the eye."""
    turn, rise = np.radians(azimuth), np.radians(_ELEVATION)
    towards = np.array([np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise), np.sin(rise)])
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    return right, np.cross(towards, right), towards


def _limits(values: np.ndarray) -> tuple[float, float, tuple[str, ...]]:
    low, high = (float(value) for value in np.percentile(values, [1, 99]))
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # rounding errors are no structure
        return low, low, raster.SEQUENTIAL
    if low < 0 < high:
        most = max(-low, high)
        return -most, most, raster.DIVERGING
    return low, high, raster.SEQUENTIAL


def _nearest(across: np.ndarray, depth: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The triangle that is seen in each pixel, -1 for none: the nearest of samples that lie closer than pixels.

    Parameters
    ----------
    across : ndarray, shape (n, 3, 2)
        Corners in pixels, to the right and downwards.
    depth : ndarray, shape (n, 3)
        The larger, the nearer.
    shape : (height, width)
    """
    seen = np.full(shape[0] * shape[1], -1)
    nearest = np.full(seen.shape, -np.inf)
    longest = np.linalg.norm(across - np.roll(across, 1, axis=1), axis=2).max(axis=1)
    cuts = np.ceil(1.5 * longest).astype(int) + 1
    for cut in np.unique(cuts):
        share = _lattice(int(cut))
        triangles = np.flatnonzero(cuts == cut)
        step = max(1, _MOST_SAMPLES // len(share))
        for first in range(0, len(triangles), step):
            some = triangles[first : first + step]
            column, row = np.moveaxis(np.rint(share @ across[some]).astype(int), -1, 0)
            pixel, near = (row * shape[1] + column).ravel(), (depth[some] @ share.T).ravel()
            owner = np.repeat(some, len(share))
            np.maximum.at(nearest, pixel, near)
            front = near == nearest[pixel]
            seen[pixel[front]] = owner[front]
    return seen.reshape(shape)


def _lattice(cut: int) -> np.ndarray:
    """Shares of the three corners at points in a triangle, `cut` along each edge; shape (cut (cut + 1) / 2, 3)."""
    i, j = np.divmod(np.arange((cut + 1) ** 2), cut + 1)
    inside = i + j <= cut
    return np.stack([i, j, cut - i - j], axis=1)[inside] / cut
