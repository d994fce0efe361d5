"""The 27-point matrix of trilinear finite elements: -div(k grad u) on a box of bricks, which may be stretched."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._matrix import MOST_ROWS
from ..errors import BadArgument, Unsupported, shown
from .boundary import check_around, conditions
from .pressure import CUBE, LARGEST, LONGEST

#: Steps to a node's neighbours and itself in z, y and x: entry s of a row is for step s.
_STEPS = tuple(itertools.product((-1, 0, 1), repeat=3))
_OWN = 13


class Bricks(NamedTuple):
    """A matrix of :func:`brick_matrix`, and whose nodes its rows are of."""

    A: Any  #: scipy.sparse.csr_array, shape (n, n)
    grid: tuple[int, int, int]  #: unknowns in x, y and z: option ``grid`` of ``precond="mg"``


def brick_matrix(coefficient: Any, *, boundary: str = "dirichlet", spacing: Any = CUBE) -> Bricks:
    """Trilinear finite elements of -div(k grad u) on bricks, k constant in each: 27 points.

    Parameters
    ----------
    coefficient : array_like, shape (bz, by, bx)
        k, of bricks: numbers above 0, or 0 of solid ones. Unknowns are of the nodes between them: in a direction of b
        bricks b + 1, less one for each end with Dirichlet's condition, and b where it is periodic. A node that touches
        solid bricks alone has the row of the identity.
    boundary : str
        Conditions on the faces of the box, as :func:`poisson` takes them. Dirichlet's zero is on the last nodes, which
        are no unknowns.
    spacing : three numbers or arrays
        Edges in x, y and z: of all bricks, or of shape (b,) of each one in that direction.

    Returns
    -------
    Bricks
        The matrix, x fastest, symmetric, and with 27 entries in each row but at faces, zeros among them; and its grid.
        Entries have both signs where bricks are longer than wide. Positive definite if bricks that are not solid
        connect each node with Dirichlet's condition; else it maps constants on each part that has none to zero.

    Raises
    ------
    BadArgument
        For coefficients and edges that are none, conditions that are none, periodic directions of fewer than three
        bricks, and boxes without unknowns.

    Notes
    -----
    Of an element, with K = [[1, -1], [-1, 1]] / h and M = [[2, 1], [1, 2]] h / 6 in each direction, the entries are
    k (K M M + M K M + M M K) (Zienkiewicz, Taylor, Zhu: The Finite Element Method, chapter 3). Cost: some 600 bytes a
    node while it is made.
    """
    import scipy.sparse as sp

    k = _checked_coefficient(coefficient)
    faces, around = conditions(boundary)
    bricks = k.shape
    check_around(around, bricks[::-1])
    edges = _checked_edges(spacing, bricks)
    nodes = tuple(b if axis in around else b + 1 for axis, b in zip("zyx", bricks, strict=True))
    if np.prod(nodes, dtype=float) > MOST_ROWS:
        raise Unsupported("more than 2^31 nodes are not supported")
    entries = _assembled(k, edges, nodes)
    kept = tuple(
        slice(f"{axis}-" in faces, count - (f"{axis}+" in faces))
        for axis, count in zip("zyx", nodes, strict=True)
    )
    numbers = np.full(nodes, -1)
    shape = numbers[kept].shape
    if numbers[kept].size == 0:
        raise BadArgument(
            f"a box of {' x '.join(map(str, bricks[::-1]))} bricks has no node that is not held"
        )
    numbers[kept] = np.arange(numbers[kept].size).reshape(shape)
    own = entries[_OWN][kept]
    own[own == 0] = 1
    rows, columns, values = [], [], []
    for step, of_step in zip(_STEPS, entries, strict=True):
        to = numbers
        for axis, by in enumerate(step):
            to = np.roll(to, -by, axis)
            if by and "zyx"[axis] not in around:
                end = [slice(None)] * 3
                end[axis] = slice(-1, None) if by > 0 else slice(0, 1)
                to[tuple(end)] = -1
        there = to[kept] >= 0
        rows.append(numbers[kept][there])
        columns.append(to[kept][there])
        values.append(of_step[kept][there])
    n = own.size
    coordinates = np.concatenate(rows).astype(np.int32), np.concatenate(columns).astype(np.int32)
    A = sp.csr_array((np.concatenate(values), coordinates), shape=(n, n))
    A.sort_indices()
    return Bricks(A, (shape[2], shape[1], shape[0]))


def _array_of(given: Any) -> np.ndarray:
    """Of objects, which nobody takes, where its rows differ in length."""
    try:
        return np.asarray(given)
    except ValueError:
        return np.asarray(None)


def _checked_coefficient(coefficient: Any) -> np.ndarray:
    k = _array_of(coefficient)
    if k.dtype.kind not in "fiu" or k.ndim != 3 or k.size == 0:
        raise BadArgument(
            f"the coefficient is an array of numbers with three dimensions, not {k.dtype} of shape {k.shape}"
        )
    k = k.astype(np.float64, copy=False)
    if not ((k == 0) | ((k > 1 / LARGEST) & (k < LARGEST))).all():
        raise BadArgument("coefficients are numbers above 0, or 0 of solid bricks, and some of these are not")
    return k


def _checked_edges(spacing: Any, bricks: Sequence[int]) -> list[np.ndarray]:
    """Those of each brick in z, y and x."""
    given = tuple(spacing) if isinstance(spacing, Iterable) else ()
    if len(given) != 3:
        raise BadArgument(f"the spacing is of x, y and z, a number or an array each, not {shown(spacing)}")
    edges = []
    for axis, edge, count in zip("zyx", given[::-1], bricks, strict=True):
        of_axis = _array_of(edge)
        if of_axis.dtype.kind not in "fiu" or of_axis.shape not in ((), (count,)):
            raise BadArgument(f"edges in {axis} are a number, or {count} of them, not {shown(edge)}")
        of_bricks = np.broadcast_to(of_axis.astype(np.float64), (count,))
        if not ((of_bricks >= 1 / LONGEST) & (of_bricks <= LONGEST)).all():
            raise BadArgument(
                f"edges are numbers from {1 / LONGEST:g} to {LONGEST:g}, and some in {axis} are not"
            )
        edges.append(of_bricks)
    return edges


def _assembled(k: np.ndarray, edges: Sequence[np.ndarray], nodes: Sequence[int]) -> np.ndarray:
    """Entries by steps, of all nodes; those behind a face are of nobody, and 0."""
    entries = np.zeros((len(_STEPS), *nodes))
    along = [h.reshape([-1 if a == axis else 1 for a in range(3)]) for axis, h in enumerate(edges)]
    corners = list(itertools.product((0, 1), repeat=3))
    for a, b in itertools.product(corners, repeat=2):
        stiff = [(1 if p == q else -1) / h for p, q, h in zip(a, b, along, strict=True)]
        mass = [h / (3 if p == q else 6) for p, q, h in zip(a, b, along, strict=True)]
        found = k * (
            stiff[0] * mass[1] * mass[2] + mass[0] * stiff[1] * mass[2] + mass[0] * mass[1] * stiff[2]
        )
        places = np.ix_(
            *((np.arange(count) + p) % of for count, p, of in zip(k.shape, a, nodes, strict=True))
        )
        entries[_STEPS.index(tuple(q - p for p, q in zip(a, b, strict=True)))][places] += found
    return entries
