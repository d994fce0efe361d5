"""A surface of triangles: what it is made of, its conductors, and what makes it unfit for boundary elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..errors import BadArgument, shown
from ..report.words import count

#: A triangle with less area than this times the square of its longest edge has none but for rounding.
_FLAT = 1e-12
#: Metres; the square of an area must be a number, still.
_FARTHEST = 1e70


class Surface:
    """Triangles in space, checked; its arrays can be read, not written.

    Parameters
    ----------
    points : array_like, shape (v, 3)
        The nodes, in metres.
    triangles : array_like of int, shape (n, 3)
        Three nodes each, from 0; their order tells which side of a triangle its normal points to.
    potential : float or array_like, shape (n,), optional
        Volts on each triangle, or on all of them.
    allow_open : bool
        Whether a surface may have a boundary, as a plate has.
    name : str
        What it is called in messages and reports.

    Raises
    ------
    BadArgument
        Without triangles; for nodes that are no numbers or are not there, for a triangle without area or one that
        is there twice, for a boundary unless `allow_open`, for potentials of another length. Triangles and nodes
        are named by their numbers, from 0.

    Notes
    -----
    The checks sort the edges once: O(n log n) time and about 100 bytes a triangle.
    """

    def __init__(
        self,
        points: Any,
        triangles: Any,
        potential: Any = None,
        *,
        allow_open: bool = False,
        name: str = "surface",
    ) -> None:
        self.name = name
        self.points = _kept(_points(points))
        self.triangles = _kept(_triangles(triangles, len(self.points)))
        self.allow_open = allow_open
        _check_nodes(self.points, self.triangles)
        self._check_areas()
        _check_twice(self.triangles)
        if not allow_open:
            self._check_closed()
        self.potential = None if potential is None else _kept(per_triangle(potential, self.n))

    @property
    def n(self) -> int:
        """Number of triangles, which is that of unknowns."""
        return len(self.triangles)

    @cached_property
    def corners(self) -> np.ndarray:
        """The corners of each triangle, shape (n, 3, 3): triangle, corner, coordinate."""
        return _kept(self.points[self.triangles])

    @cached_property
    def centroids(self) -> np.ndarray:
        """Where the potential is asked for, shape (n, 3)."""
        return _kept(self.corners.mean(axis=1))

    @cached_property
    def areas(self) -> np.ndarray:
        """Square metres, shape (n,)."""
        return _kept(np.linalg.norm(self._twice_area, axis=1) / 2)

    @cached_property
    def normals(self) -> np.ndarray:
        """Of length 1, on the side from which the nodes run anticlockwise, shape (n, 3)."""
        return _kept(self._twice_area / (2 * self.areas[:, None]))

    @cached_property
    def conductors(self) -> np.ndarray:
        """The connected part that each triangle is of, shape (n,), int64: from 0, in the order of the triangles."""
        ends = self._edges
        graph = sp.coo_array((np.ones(len(ends), np.int8), ends.T), shape=(len(self.points),) * 2)
        parts = connected_components(graph, directed=False)[1][self.triangles[:, 0]]
        _, first, number = np.unique(parts, return_index=True, return_inverse=True)
        return _kept(np.argsort(np.argsort(first))[number].astype(np.int64))

    @property
    def conductor_count(self) -> int:
        """How many connected parts there are."""
        return int(self.conductors.max()) + 1

    @cached_property
    def twins(self) -> np.ndarray:
        """Triangles whose centroids are the very same point, shape (k, 2), int64: one, and the one before it there.

        Rows of the matrix are equal then: only the sum of both charges is determined, and potentials have to be equal.
        Cost: a sort of the centroids.
        """
        place = np.sort(self.corners, axis=1).mean(axis=1)  # the same bits in whichever order corners stand
        order = np.lexsort(place.T)
        same = (place[order[1:]] == place[order[:-1]]).all(axis=1)
        pairs = np.stack([order[1:][same], order[:-1][same]], axis=1)
        return _kept(pairs[np.argsort(pairs[:, 0])])

    def totals(self, density: np.ndarray) -> np.ndarray:
        """Integrals over each conductor of densities that are constant on triangles.

        Parameters
        ----------
        density : ndarray, shape (n,) or (n, k)

        Returns
        -------
        ndarray, shape (conductors,) or (conductors, k)
        """
        weighted = np.asarray(density) * self.areas.reshape(-1, *[1] * (np.ndim(density) - 1))
        sums = np.zeros((self.conductor_count, *weighted.shape[1:]))
        np.add.at(sums, self.conductors, weighted)
        return sums

    def __repr__(self) -> str:
        return f"<sordino.Surface {self.name}: {count(self.n, 'triangle')}, {count(self.conductor_count, 'conductor')}>"

    @cached_property
    def _twice_area(self) -> np.ndarray:
        a, b, c = np.moveaxis(self.corners, 1, 0)
        return np.cross(b - a, c - a)

    @property
    def _edges(self) -> np.ndarray:
        """Both nodes of all three edges of each triangle, shape (3 n, 2)."""
        return self.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)

    def _check_areas(self) -> None:
        longest = np.linalg.norm(self.corners - np.roll(self.corners, 1, axis=1), axis=2).max(axis=1)
        flat = np.flatnonzero(self.areas <= _FLAT * longest**2)
        if flat.size:
            nodes = _words(self.triangles[flat[0]])
            raise BadArgument(
                f"triangle {flat[0]} has no area: its nodes {nodes} lie on one line{_others(flat)}"
            )

    def _check_closed(self) -> None:
        ends = np.sort(self._edges, axis=1)
        order = np.lexsort(ends.T[::-1])
        _, first, times = np.unique(ends[order], axis=0, return_index=True, return_counts=True)
        single = np.sort(order[first[times == 1]])
        if single.size:
            a, b = ends[single[0]]
            raise BadArgument(
                f"the surface is open: only triangle {single[0] // 3} has the edge from node {a} to node {b}"
                f"{_others(single, 'such edge')}; a surface that is meant to be open is to be given as such "
                "(--open, in Python allow_open=True)"
            )


def per_triangle(potential: Any, n: int) -> np.ndarray:
    """A potential as an array of shape (n,).

    Raises
    ------
    BadArgument
        For another length, and for what is no finite number.
    """
    values = _numbers(potential, "the potential")
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.shape != (n,):
        raise BadArgument(
            f"there are potentials of shape {values.shape}, and the surface has {n:,} triangles: one for each is wanted"
        )
    if not np.isfinite(values).all():
        place = int(np.argmin(np.isfinite(values)))
        raise BadArgument(f"the potential of triangle {place} is {values[place]}, not a finite number")
    return values


def _kept(values: np.ndarray) -> np.ndarray:
    values.setflags(write=False)
    return values


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        numbers = np.asarray(values)
        if numbers.dtype.kind != "c":
            return np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadArgument(f"{what} must be numbers, not {shown(values)}") from None
    raise BadArgument(f"{what} must be real numbers, and these are complex: {shown(values)}")


def _points(given: Any) -> np.ndarray:
    points = _numbers(given, "the nodes of a surface")
    if points.ndim != 2 or points.shape[1] != 3:
        raise BadArgument(f"the nodes of a surface are of shape (v, 3), not {points.shape}")
    good = np.isfinite(points).all(axis=1)
    if not good.all():
        place = int(np.argmin(good))
        raise BadArgument(f"node {place} is at {_words(points[place])}, which is no place")
    if np.abs(points).max(initial=0.0) > _FARTHEST:
        place = int(np.abs(points).max(axis=1).argmax())
        raise BadArgument(f"node {place} is at {_words(points[place])}, too far away to compute with")
    return points


def _triangles(given: Any, nodes: int) -> np.ndarray:
    triangles = np.asarray(given)
    if triangles.size == 0 or not nodes:
        raise BadArgument("the surface is empty: it has no triangle")
    if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
        raise BadArgument(
            f"triangles are whole numbers of shape (n, 3), not {triangles.dtype} of shape {triangles.shape}"
        )
    return np.array(triangles, dtype=np.int64, order="C")


def _check_nodes(points: np.ndarray, triangles: np.ndarray) -> None:
    outside = np.flatnonzero(((triangles < 0) | (triangles >= len(points))).any(axis=1))
    if outside.size:
        wrong = next(node for node in triangles[outside[0]] if not 0 <= node < len(points))
        raise BadArgument(
            f"triangle {outside[0]} has node {wrong}, and nodes are numbered 0 to {len(points) - 1}"
        )


def _check_twice(triangles: np.ndarray) -> None:
    nodes = np.sort(triangles, axis=1)
    order = np.lexsort(nodes.T[::-1])
    same = np.flatnonzero((nodes[order[1:]] == nodes[order[:-1]]).all(axis=1))
    if same.size:
        one, other = sorted(order[same[0] : same[0] + 2])
        raise BadArgument(
            f"triangles {one} and {other} are the same: both have the nodes {_words(nodes[one])}{_others(same)}"
        )


def _words(values: Sequence[Any] | np.ndarray) -> str:
    return ", ".join(f"{value:g}" for value in values[:-1]) + f" and {values[-1]:g}"


def _others(found: np.ndarray, what: str = "such triangle") -> str:
    more = len(found) - 1
    return f" ({count(more, f'more {what}')})" if more else ""
