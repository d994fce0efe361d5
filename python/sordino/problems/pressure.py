"""The pressure equation of two phases as a matrix: -div(1/rho grad p) on a box of cells, with solid ones among them."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from .._matrix import MOST_ROWS, CsrArrays
from ..errors import BadArgument, Unsupported, shown
from .boundary import Place, at_face, check_around, conditions

#: Where an entry stands in its row: z-, y-, x-, the diagonal, x+, y+, z+. That of array axis a is a, and 6 - a.
_ENTRIES, _DIAGONAL = 7, 3

#: Edges of a cell in x, y and z.
Edges = tuple[float, float, float]

CUBE: Edges = (1.0, 1.0, 1.0)

#: Of an edge, and of its inverse.
LONGEST = 1e9

#: Of a density and of its inverse, so that no sum of a row overflows, whatever the edges are.
LARGEST = 1e270


def pressure_matrix(
    density: Any, *, solid: Any = None, boundary: str = "dirichlet", spacing: Any = CUBE, periodic: str = ""
) -> Any:
    """The 7-point matrix of -div(1/rho grad p), by finite volumes on a box of cells.

    Parameters
    ----------
    density : array_like, shape (nz, ny, nx)
        rho, of cells.
    solid : array_like of bool, shape (nz, ny, nx), optional
        Cells through whose faces nothing flows. Each has the row of the identity, so that the grid stays a box; with 0
        in b it has 0 in x.
    boundary : str
        Conditions on the faces of the box, as :func:`poisson` takes them. Dirichlet's zero is *on* the face, half a
        cell from the centre, and Neumann's flux is zero.
    spacing : three floats
        Edges of a cell in x, y and z. A face weighs its area over the distance of the centres: of cells that are
        twice as long in z, couplings in z are a quarter of those in x and y.
    periodic : str
        Directions in which the last cell is beside the first one, as ``"xy"``: of three cells or more. Their faces
        have no condition, whatever the boundary says of them, which may name them, too, as ``"x:periodic"``.
        A box that is periodic in all of them is closed.

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n) with n = nx ny nz
        Symmetric, no positive entry off the diagonal; x runs fastest. On a face stands the harmonic mean of
        1/rho, 2/(rho_1 + rho_2), times its weight, which is 1 of cubes with edges of 1. Positive definite if fluid
        reaches a Dirichlet face from everywhere; else it maps the indicator of each part of the fluid that does not to
        zero.

    Raises
    ------
    BadArgument
        For densities and edges that are not positive, other shapes, boundaries that are none, no fluid, a cell of
        it that is closed on all sides, which has no equation, and periodic directions that are none or have fewer than
        three cells.

    Notes
    -----
    The equation and its second-order discretization are those of paper 001, section III-A. Cost: some 300 bytes a
    cell while it is made.
    """
    edges = checked_spacing(spacing)
    rho, walls = checked_fields(density, solid)
    faces, said = conditions(boundary)
    around = _checked_directions(periodic, rho.shape)
    around += _checked_directions("".join(axis for axis in said if axis not in around), rho.shape)
    dirichlet = frozenset(face for face in faces if face[0] not in around)
    return pressure_rows(rho, walls, dirichlet, edges, around).matrix()


def _checked_directions(periodic: str, shape: tuple[int, ...]) -> str:
    if not isinstance(periodic, str) or len(set(periodic) & set("xyz")) != len(periodic):
        raise BadArgument(f"periodic directions are some of x, y and z, as 'xy', not {shown(periodic)}")
    check_around(periodic, shape[::-1])
    return periodic


def checked_spacing(spacing: Any) -> Edges:
    """Edges of a cell in x, y and z as numbers."""
    given = tuple(spacing) if isinstance(spacing, Iterable) else ()
    edges = [float(edge) for edge in given if isinstance(edge, Real)]
    if not len(given) == len(edges) == 3 or not all(1 / LONGEST <= edge <= LONGEST for edge in edges):
        raise BadArgument(
            f"the spacing is three edges of a cell, in x, y and z, numbers from {1 / LONGEST:g} to {LONGEST:g}, "
            f"not {shown(spacing)}"
        )
    return edges[0], edges[1], edges[2]


def checked_fields(density: Any, solid: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays of shape (nz, ny, nx), of float64 and of bool; solid as None is nowhere."""
    rho = np.asarray(density)
    if rho.dtype.kind not in "fiu" or rho.ndim != 3 or rho.size == 0:
        raise BadArgument(
            f"the density is an array of numbers with three dimensions, not {rho.dtype} of shape {rho.shape}"
        )
    rho = rho.astype(np.float64, copy=False)
    if not ((rho > 1 / LARGEST) & (rho < LARGEST)).all():
        raise BadArgument("densities are numbers above 0 that have an inverse, and some of these are not")
    if rho.size > MOST_ROWS:
        raise Unsupported("more than 2^31 cells are not supported")
    walls = np.zeros(rho.shape, dtype=bool) if solid is None else np.asarray(solid)
    if walls.dtype != bool or walls.shape != rho.shape:
        raise BadArgument(
            f"solid cells are an array of bool of shape {rho.shape}, not {walls.dtype} of shape {walls.shape}"
        )
    if walls.all():
        raise BadArgument("the obstacles leave no fluid")
    return rho, walls


def pressure_rows(
    density: np.ndarray,
    solid: np.ndarray,
    dirichlet: frozenset[str],
    spacing: Edges = CUBE,
    periodic: str = "",
) -> CsrArrays:
    """The matrix of :func:`pressure_matrix` as the arrays that the core takes, from fields that are checked."""
    values = np.zeros((*density.shape, _ENTRIES))
    stored = np.zeros(values.shape, dtype=bool)
    diagonal = values[..., _DIAGONAL]
    stored[..., _DIAGONAL] = True
    x, y, z = spacing
    weights = x * y / z, x * z / y, y * z / x  # of faces across the array's axes: area over distance
    faces = [(axis, *beside(axis)) for axis in range(3)]
    faces += [("zyx".index(name), at_face(f"{name}+"), at_face(f"{name}-")) for name in periodic]
    for axis, lower, upper in faces:
        weight = weights[axis]
        open_ = ~(solid[lower] | solid[upper])
        face = np.where(open_, weight / (density[lower] / 2 + density[upper] / 2), 0.0)
        for near, entry in ((lower, 6 - axis), (upper, axis)):
            values[..., entry][near] = -face
            stored[..., entry][near] = open_
            diagonal[near] += face
    for name in dirichlet:
        near, weight = at_face(name), weights["zyx".index(name[0])]
        diagonal[near] += np.where(solid[near], 0.0, 2 * weight / density[near])
    diagonal[solid] = 1.0
    if not diagonal.all():
        at = np.argwhere(diagonal == 0)[0][::-1]
        raise BadArgument(f"the cell ({', '.join(map(str, at))}) is closed on all sides, and has no equation")
    n, (_, ny, nx) = density.size, density.shape
    offsets = np.array([-nx * ny, -nx, -1, 0, 1, nx, nx * ny], dtype=np.int32)
    by_row = stored.reshape(n, _ENTRIES)
    columns = np.arange(n, dtype=np.int32)[:, None] + offsets
    if periodic:
        columns = _around(columns.reshape(values.shape), periodic).reshape(n, _ENTRIES)
        order = np.argsort(columns, axis=1, kind="stable")
        columns, by_row = np.take_along_axis(columns, order, 1), np.take_along_axis(by_row, order, 1)
        values = np.take_along_axis(values.reshape(n, _ENTRIES), order, 1)
    indptr = np.concatenate([[0], np.cumsum(by_row.sum(axis=1, dtype=np.int64))])
    return CsrArrays(indptr, columns[by_row], values.reshape(n, _ENTRIES)[by_row], n, order_kept=True)


def _around(columns: np.ndarray, periodic: str) -> np.ndarray:
    """The columns of an array of shape (nz, ny, nx, 7) where those behind periodic faces are at the other end."""
    strides = np.cumprod([1, *columns.shape[2:0:-1]])[::-1]  # of the array's axes, in rows
    for name in periodic:
        axis = "zyx".index(name)
        span = columns.dtype.type(strides[axis] * columns.shape[axis])
        columns[(*at_face(f"{name}-"), axis)] += span
        columns[(*at_face(f"{name}+"), 6 - axis)] -= span
    return columns


def beside(axis: int) -> tuple[Place, Place]:
    """Cells below all inner faces across an axis of an array of shape (nz, ny, nx), and those above them."""
    before, after = (slice(None),) * axis, (slice(None),) * (2 - axis)
    return (*before, slice(None, -1), *after), (*before, slice(1, None), *after)
