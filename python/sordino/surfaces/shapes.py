"""Surfaces to try boundary elements with: spheres as HACApK cuts them, pairs and arrays of them, and a plate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _memory
from ..errors import BadArgument
from .surface import Surface

#: Bytes of a triangle while a surface is made and checked: 360 to 540 were measured.
_TRIANGLE = 500


def sphere(
    m0: int,
    M: int,
    *,
    radius: float = 10.0,
    centre: Sequence[float] = (0.0, 0.0, 0.0),
    potential: Any = 1.0,
) -> Surface:
    """A sphere of 2 m0 M^2 triangles, cut as the inputs of HACApK and ppOpen-HPC are.

    Ring k = 1, ..., 2M-1 lies at theta = pi k / (2M) and has m0 min(k, 2M-k) nodes at equal distances, the first at
    phi = 0; the poles are nodes, too. (13, 20) is ``input_10ts`` and (25, 45) ``input_100ts``, node for node and
    triangle for triangle, but for the eight decimals of those files.

    Parameters
    ----------
    m0 : int
        Triangles at a pole, at least 3.
    M : int
        Rings from pole to equator, at least 1.
    radius, centre : float and three floats
        Metres. Normals point outwards.
    potential : float or array_like, shape (n,)
        Volts.
    """
    return Surface(*_sphere(m0, M, radius, centre), potential, name=f"sphere of {2 * m0 * M**2:,} triangles")


def pair(
    m0: int, M: int, *, radius: float = 0.25, distance: float = 1.0, potentials: Sequence[float] = (-1.0, 1.0)
) -> Surface:
    """Two equal spheres, one above the other: conductor 0 at z = -distance/2, conductor 1 at z = distance/2.

    With (6, 5) and (6, 30) these are the triangles of ``input_sample`` and ``input_216h``, which those files have in
    another order.

    Parameters
    ----------
    m0, M : int
        Of each, as for :func:`sphere`.
    radius, distance : float
        Metres; the distance is that of the centres.
    potentials : two floats
        Volts of the lower and of the upper one.
    """
    _more_than(distance, 2 * radius, "the distance of two spheres", "the sum of their radii")
    parts = [_sphere(m0, M, radius, (0.0, 0.0, z)) for z in (-distance / 2, distance / 2)]
    return _parted(f"pair of spheres of {2 * m0 * M**2:,} triangles each", parts, potentials)


def spheres(
    nx: int, ny: int, nz: int, *, m0: int = 6, M: int = 5, radius: float = 0.25, spacing: float = 1.0,
    potentials: Sequence[float] | None = None,
) -> Surface:  # fmt: skip
    """nx x ny x nz equal spheres, x fastest, the first at the origin.

    Parameters
    ----------
    nx, ny, nz : int
        Spheres in each direction.
    m0, M : int
        Of each, as for :func:`sphere`.
    radius, spacing : float
        Metres; the spacing is that of the centres.
    potentials : sequence of float, one for each sphere, optional
        Volts; if not given +1 and -1 in turn, neighbours opposite.
    """
    counts = tuple(whole(n, name, 1) for n, name in zip((nx, ny, nz), ("nx", "ny", "nz"), strict=True))
    _more_than(spacing, 2 * radius, "the spacing of spheres", "twice their radius")
    check_room(math.prod(counts) * 2 * m0 * M**2)
    places = np.stack(np.unravel_index(np.arange(math.prod(counts)), counts, order="F"), axis=1)
    volts = 1.0 - 2.0 * (places.sum(axis=1) % 2) if potentials is None else potentials
    parts = [_sphere(m0, M, radius, spacing * place) for place in places]
    return _parted(f"{nx} x {ny} x {nz} spheres", parts, volts)


def plate(m: int, *, side: float = 1.0, potential: Any = 1.0) -> Surface:
    """A square plate without thickness in the plane z = 0, of 2 m^2 triangles, smaller ones at its rim; it is open.

    Charge grows without bounds towards the rim, as the distance to it to the power of -1/2, which is why the nodes
    lie as those of Chebyshev do.

    Parameters
    ----------
    m : int
        Strips along each side.
    side : float
        Metres.
    potential : float or array_like, shape (n,)
        Volts.
    """
    strips = whole(m, "m", 1)
    check_room(2 * strips**2)
    along = -0.5 * _length(side, "the side") * np.cos(np.pi * np.arange(strips + 1) / strips)
    points = np.stack(
        [*(grid.ravel() for grid in np.meshgrid(along, along)), np.zeros((strips + 1) ** 2)], axis=1
    )
    corner = (np.arange(strips)[:, None] * (strips + 1) + np.arange(strips)).ravel()
    right, above = corner + 1, corner + strips + 1
    triangles = np.stack([corner, right, above + 1, corner, above + 1, above], axis=1).reshape(-1, 3)
    return Surface(
        points, triangles, potential, allow_open=True, name=f"plate of {len(triangles):,} triangles"
    )


def joined(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and triangles of several surfaces as those of one."""
    points, triangles = zip(*parts, strict=True)
    first = np.cumsum([0, *map(len, points[:-1])])
    return np.concatenate(points), np.concatenate([t + f for t, f in zip(triangles, first, strict=True)])


def _parted(name: str, parts: list[tuple[np.ndarray, np.ndarray]], potentials: Any) -> Surface:
    """A surface of parts, each of which has its potential."""
    if len(potentials) != len(parts):
        raise BadArgument(f"{len(parts)} spheres need as many potentials, not {len(potentials)}")
    points, triangles = joined(parts)
    volts = np.repeat(np.asarray(potentials, dtype=np.float64), [len(t) for _, t in parts])
    return Surface(points, triangles, volts, name=name)


def _sphere(m0: int, M: int, radius: float, centre: Any) -> tuple[np.ndarray, np.ndarray]:
    m0, M = whole(m0, "m0", 3), whole(M, "M", 1)
    check_room(2 * m0 * M**2)
    widths = [min(k, 2 * M - k) for k in range(2 * M + 1)]  # nodes of each ring in one of m0 sectors
    sizes = [max(1, m0 * width) for width in widths]
    theta = np.repeat(np.pi * np.arange(2 * M + 1) / (2 * M), sizes)
    phi = np.concatenate([2 * np.pi * np.arange(size) / size for size in sizes])
    unit = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=1)
    unit[[0, -1], :2] = 0.0
    first = np.cumsum([0, *sizes])
    bands = [_band(first[k : k + 2], widths[k : k + 2], m0) for k in range(2 * M)]
    return np.asarray(centre, dtype=np.float64) + _length(radius, "the radius") * unit, np.concatenate(bands)


def _band(first: Sequence[int] | np.ndarray, widths: Sequence[int], m0: int) -> np.ndarray:
    """The triangles between two rings, sector by sector; the wider ring has one node more in each."""
    narrow = min(widths)
    sector, i = np.arange(m0)[:, None], np.arange(narrow + 1)

    def node(ring: int, place: np.ndarray) -> np.ndarray:
        return first[ring] + (sector * widths[ring] + place) % max(1, m0 * widths[ring])

    if widths[0] < widths[1]:
        corners = (node(0, i), node(1, i), node(1, i + 1), node(0, i), node(1, i + 1), node(0, i + 1))
    else:
        corners = (node(0, i), node(1, i), node(0, i + 1), node(0, i + 1), node(1, i), node(1, i + 1))
    both = np.stack(corners, axis=2).reshape(m0, 2 * (narrow + 1), 3)
    return both[:, :-1].reshape(-1, 3)  # a sector ends with a triangle of the wider ring


def check_room(triangles: int) -> None:
    """Refuse a surface of so many triangles if this host's memory does not hold it, once in each process."""
    needed, available = _TRIANGLE * triangles, _memory.available_memory()
    if available is not None and needed * _memory.processes_here() > available:
        raise BadArgument(
            f"a surface of {triangles:,} triangles needs about {needed:,} bytes, and {available:,} bytes are available"
        )


def whole(n: Any, name: str, least: int) -> int:
    """A whole number, at least so much."""
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < least:
        raise BadArgument(f"{name} is a whole number, at least {least}, not {n!r}")
    return int(n)


def _length(value: float, what: str) -> float:
    if not (math.isfinite(value) and value > 0):
        raise BadArgument(f"{what} is a length above 0, not {value:g}")
    return float(value)


def _more_than(value: float, least: float, what: str, of: str) -> None:
    if not (math.isfinite(value) and value > least):
        raise BadArgument(f"{what} is more than {of}, {least:g}, not {value:g}")
