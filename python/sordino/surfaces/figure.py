"""A figure like a person, of 19,664 triangles, alone or in a square of k x k.

It stands for the humans of HACApK's inputs, which have as many triangles each but are published nowhere: this one is
ours, made of capsules, and its results are not to be compared with theirs digit by digit.
"""

from __future__ import annotations

import numpy as np

from .shapes import check_room, joined, whole
from .surface import Surface

#: Cells of the grid from which the surface is taken, in metres: with it there are 19,664 triangles.
_CELL = 0.016289
#: Half the cells in x, y and z.
_REACH = (34, 14, 58)
#: Metres over which parts of the body flow into each other.
_BLEND = 0.05
#: Gap between figures, as a share of their width and depth.
_GAP = 0.3
#: Capsules of the right half and the middle: both ends (x to the side, y forwards, z up) and the radius at each.
_BODY = (
    ((0.0, 0.0, 1.63), (0.0, 0.01, 1.66), 0.095, 0.105),  # head
    ((0.0, 0.0, 1.40), (0.0, 0.0, 1.55), 0.06, 0.055),  # neck
    ((0.0, 0.0, 1.30), (0.0, 0.0, 1.02), 0.135, 0.12),  # trunk
    ((0.06, 0.0, 1.34), (0.17, 0.0, 1.38), 0.10, 0.065),  # shoulder
    ((0.08, 0.0, 0.94), (0.04, 0.0, 0.98), 0.115, 0.12),  # hip
    ((0.19, 0.0, 1.37), (0.33, -0.01, 1.12), 0.055, 0.045),  # upper arm
    ((0.33, -0.01, 1.12), (0.42, 0.04, 0.90), 0.043, 0.033),  # forearm
    ((0.42, 0.04, 0.88), (0.45, 0.06, 0.80), 0.036, 0.03),  # hand
    ((0.10, 0.0, 0.88), (0.13, 0.01, 0.50), 0.09, 0.06),  # thigh
    ((0.13, 0.01, 0.50), (0.15, -0.01, 0.12), 0.058, 0.042),  # lower leg
    ((0.15, -0.02, 0.06), (0.17, 0.14, 0.05), 0.05, 0.042),  # foot
)


def figure(k: int = 1, *, potential: float = 1.0) -> Surface:
    """k x k figures of 19,664 triangles each, all of the same potential, on the ground z = 0 and looking along y.

    Parameters
    ----------
    k : int
        Figures in x and in y, with a gap of 0.3 of their width and depth between them.
    potential : float
        Volts.

    Notes
    -----
    The surface of capsules that are blended is taken from a grid by surface nets, then moved onto it by Newton's
    method: about a second. A figure is 1.76 m tall.
    """
    k = whole(k, "k", 1)
    check_room(19_664 * k * k)
    points, triangles = _one()
    pitch = (1 + _GAP) * np.ptp(points, axis=0) * (1, 1, 0)
    parts = [(points + pitch * (i, j, 0), triangles) for j in range(k) for i in range(k)]
    name = "figure like a person" if k == 1 else f"{k} x {k} figures like a person"
    return Surface(*joined(parts), potential, name=name)


def _one() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and triangles of one figure."""
    steps = [np.arange(-n, n) + 0.5 for n in _REACH]
    grid = _CELL * np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1) + (0, 0.02, 0.88)
    points, triangles = _surface_net(grid, _distance(grid))
    for _ in range(8):
        points = _relaxed(points, triangles)
        points = points - _newton_step(points)
    points[:, 2] -= points[:, 2].min()
    return points, triangles


def _distance(x: np.ndarray) -> np.ndarray:
    """About the distance to the figure, negative inside, shape (...) for places of shape (..., 3)."""
    mirrored = np.concatenate([np.abs(x[..., :1]), x[..., 1:]], axis=-1)
    sharpness = 4 / _BLEND
    total = np.zeros(x.shape[:-1])
    for a, b, ra, rb in _BODY:
        along = np.subtract(b, a)
        share = np.clip((mirrored - a) @ along / (along @ along), 0, 1)
        gap = np.linalg.norm(mirrored - a - share[..., None] * along, axis=-1) - (ra + share * (rb - ra))
        total += np.exp(-sharpness * np.minimum(gap, 4.0))
    return -np.log(total) / sharpness


def _relaxed(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Each node in the middle of the triangles around it, which evens them out."""
    middles = np.repeat(points[triangles].mean(axis=1), 3, axis=0)
    sums = np.stack([np.bincount(triangles.ravel(), middles[:, axis]) for axis in range(3)], axis=1)
    return sums / np.bincount(triangles.ravel())[:, None]


def _newton_step(points: np.ndarray, h: float = 1e-5) -> np.ndarray:
    gradient = np.stack(
        [(_distance(points + e) - _distance(points - e)) / (2 * h) for e in h * np.eye(3)], axis=1
    )
    return (_distance(points) / (gradient**2).sum(axis=1))[:, None] * gradient


def _surface_net(grid: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The surface on which a field is zero: a node in each cell that it crosses, two triangles for each such edge.

    Gibson 1998, "Constrained elastic surface nets", without the relaxation.

    Parameters
    ----------
    grid : ndarray, shape (nx, ny, nz, 3)
    values : ndarray, shape (nx, ny, nz)
        Negative inside.
    """
    inside = values < 0
    cells = np.array(values.shape) - 1
    sums, counts = np.zeros((*cells, 3)), np.zeros(cells, dtype=np.int64)
    squares = []
    for axis in range(3):
        across = [other for other in range(3) if other != axis]
        ends = [
            tuple(slice(d, n + d) if a == axis else slice(None) for a, n in enumerate(cells)) for d in (0, 1)
        ]
        crossed = np.argwhere(inside[ends[0]] != inside[ends[1]])
        a, b = (values[end][tuple(crossed.T)] for end in ends)
        p, q = (grid[end][tuple(crossed.T)] for end in ends)
        crossing = p + (a / (a - b))[:, None] * (q - p)
        around = []
        for u, v in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
            cell = crossed.copy()
            cell[:, across[0]] += u
            cell[:, across[1]] += v
            np.add.at(sums, tuple(cell.T), crossing)
            np.add.at(counts, tuple(cell.T), 1)
            around.append(np.ravel_multi_index(tuple(cell.T), tuple(cells)))
        square = np.stack(around, axis=1)
        outwards = (a < 0) == (axis != 1)  # x, z is no right-handed pair around y
        squares.append(np.where(outwards[:, None], square, square[:, ::-1]))
    used = np.flatnonzero(counts)
    number = np.cumsum(counts.ravel() > 0) - 1
    square = number[np.concatenate(squares)]
    points = (sums.reshape(-1, 3) / np.maximum(counts.reshape(-1, 1), 1))[used]
    return points, _halved(points, square)


def _halved(points: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Each square cut along its shorter diagonal."""
    corner = points[square]
    first = np.linalg.norm(corner[:, 0] - corner[:, 2], axis=1) <= np.linalg.norm(
        corner[:, 1] - corner[:, 3], axis=1
    )
    cut = np.where(first[:, None], square[:, [0, 1, 2, 0, 2, 3]], square[:, [1, 2, 3, 1, 3, 0]])
    return cut.reshape(-1, 3)
