"""The pressure problem of two phases around obstacles, step by step: like those of JUPITER, paper 001."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.ndimage

from ..errors import BadArgument, shown, suggestion
from .boundary import at_face, dirichlet_faces
from .box import check_grid
from .flow import PHASES, Flow
from .pressure import CUBE, Edges, beside, checked_fields, checked_spacing, pressure_rows

#: A tank with walls that is open at the top, where the pressure is that of the air.
OPEN_TANK = "neumann,z+:dirichlet"

#: Bytes a cell that are needed beside matrix and vectors while a matrix is made.
_MAKING = 140

_COURANT = 0.5


@dataclass(frozen=True, eq=False)
class PressureProblem:
    """A pressure equation A p = b of two phases, at one time; made by :func:`multiphase`.

    Attributes
    ----------
    A : scipy.sparse.csr_array, shape (n, n)
        As :func:`pressure_matrix` has it; n = nx ny nz, and x runs fastest.
    b : ndarray, shape (n,)
        -div(u* + g dt)/dt, times a cell's volume, for dt of half a cell's motion: see :func:`pressure_steps`. Within
        the range of A.
    density : ndarray, shape (nz, ny, nx)
        1 in the gas, and the contrast in the liquid.
    solid : ndarray of bool, shape (nz, ny, nx)
    nullspace : "constant", or ndarray of shape (n,), or None
        For ``Solver(nullspace=...)``: the indicator of the fluid where no Dirichlet face touches it.
    flow : Flow
        Where the phases are, and how they move, at any time.
    contrast : float
    boundary : str
    spacing : tuple of float
        Edges of a cell in x, y and z.
    """

    A: Any
    b: np.ndarray
    density: np.ndarray
    solid: np.ndarray
    nullspace: Any
    flow: Flow
    contrast: float
    boundary: str
    spacing: Edges


def multiphase(
    nx: int,
    ny: int,
    nz: int,
    *,
    phases: str = "bubbles",
    contrast: float = 1000.0,
    boundary: str = OPEN_TANK,
    obstacles: Any = 0,
    seed: int = 0,
    spacing: Any = CUBE,
) -> PressureProblem:
    """A pressure problem of gas and liquid on nx x ny x nz cells, the same on every machine and at every resolution.

    Parameters
    ----------
    nx, ny, nz : int
        Numbers of cells; z points up.
    phases : {"bubbles", "free-surface"}
        Bubbles of gas that rise in the liquid, or liquid that sloshes below the gas.
    contrast : float
        Density of the liquid; that of the gas is 1. Between them it changes smoothly over three cells.
    boundary : str
        Conditions on the faces, as :func:`pressure_matrix` takes them; by default those of a tank that is open
        at the top.
    obstacles : int, or array_like of bool, shape (nz, ny, nx)
        A number of solid boxes at random places, or the solid cells. Fluid that obstacles cut off, from the Dirichlet
        faces or, where there are none, from the largest part of the fluid, becomes solid, too.
    seed : int
        For bubbles or waves, and for obstacles.
    spacing : three floats
        Edges of a cell in x, y and z, as :func:`pressure_matrix` takes them. Phases, their motion and gravity are
        counted in cells: longer cells make longer bubbles, and the same fields on the same grid.

    Returns
    -------
    PressureProblem

    Raises
    ------
    BadArgument
        For numbers that make no grid, a contrast or an edge that is not above 0, names that are none, obstacles that
        leave no fluid, and what does not fit into memory.

    Notes
    -----
    The setting is that of paper 001, section III-A; its own fields are not published. Cost: some 300 bytes a cell
    while it is made, and a second for each million cells.
    """
    cells = (nx, ny, nz)
    check_grid(nx, ny, nz, 7, contrast, extra=_MAKING)
    if not isinstance(phases, str) or phases not in PHASES:
        near = suggestion(str(phases), PHASES) or f"; known: {', '.join(PHASES)}"
        raise BadArgument(f"unknown phases {shown(phases)}{near}")
    if not isinstance(seed, Integral) or seed < 0:
        raise BadArgument(f"the seed is a whole number of at least 0, not {shown(seed)}")
    dirichlet, edges = dirichlet_faces(boundary), checked_spacing(spacing)
    flow = PHASES[phases](cells, np.random.default_rng([seed, 0]))
    walls = _boxes(cells, obstacles, seed) if _is_single(obstacles) else obstacles
    density, solid = checked_fields(_density(flow, contrast, 0.0), walls)
    solid, closed = _filled(solid, dirichlet)
    null = None if not closed else (~solid).astype(float).ravel() if solid.any() else "constant"
    rows = pressure_rows(density, solid, dirichlet, edges)
    b = right_hand_side(flow.rise(0.0), solid, dirichlet, _COURANT / flow.fastest, edges)
    return PressureProblem(rows.matrix(), b, density, solid, null, flow, float(contrast), boundary, edges)


def _is_single(obstacles: Any) -> bool:
    try:
        return np.ndim(obstacles) == 0
    except ValueError as error:  # lists of several lengths
        raise BadArgument(
            "obstacles are a number, or an array of bool of shape (nz, ny, nx): in these lists lengths differ"
        ) from error


def pressure_steps(
    problem: PressureProblem, steps: int | None = None, *, courant: float = _COURANT
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The systems of the time steps that follow: the interface moves, and with it values and right-hand side.

    Parameters
    ----------
    problem : PressureProblem
        The system at time 0, with which a solver is set up.
    steps : int, optional
        How many; without it they do not end.
    courant : float
        Cells by which the interface moves in a step dt, at most.

    Yields
    ------
    values : ndarray, shape (nnz,)
        For ``Solver.update_values``: in the order of ``problem.A.data``. The pattern stays.
    b : ndarray, shape (n,)
        -div(u* + g dt)/dt of the projection step, times a cell's volume, where u* is the velocity of the phases and g
        their weight; neither goes through walls and obstacles, so that b is in the range of A.

    Raises
    ------
    BadArgument
        For a number of steps or cells that is not above 0.

    Notes
    -----
    The motion is given in closed form (:attr:`PressureProblem.flow`): the pressure does not act back on it. Each step
    costs as much as the first system. Pressures of successive steps are near each other: give the last one as x0.
    """
    if steps is not None and (not isinstance(steps, Integral) or steps < 1):
        raise BadArgument(f"the number of steps is a whole number of at least 1, not {shown(steps)}")
    if not isinstance(courant, Real) or not 0 < courant < np.inf:
        raise BadArgument(f"the interface moves by a number of cells above 0 in a step, not {shown(courant)}")
    return islice(_systems(problem, courant / problem.flow.fastest), steps)


def _systems(problem: PressureProblem, dt: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    flow, solid, dirichlet = problem.flow, problem.solid, dirichlet_faces(problem.boundary)
    for step in count(1):
        density = _density(flow, problem.contrast, step * dt)
        values = pressure_rows(density, solid, dirichlet, problem.spacing).data
        yield values, right_hand_side(flow.rise(step * dt), solid, dirichlet, dt, problem.spacing)


def right_hand_side(
    velocity: np.ndarray, solid: np.ndarray, dirichlet: frozenset[str], dt: float, spacing: Edges = CUBE
) -> np.ndarray:
    """-div(u* + g dt)/dt times a cell's volume, shape (n,), for velocities along z in cells, shape (nz, ny, nx).

    Velocities and g = -1 are in edges of a cell along z, so that of all edges the volume alone is in it. On a face
    stands the mean of two cells; at a Dirichlet face flows what its cells have, and nothing through walls.
    """
    nz, ny, nx = velocity.shape
    below, above = beside(0)
    flux = np.zeros((nz + 1, ny, nx))
    flux[1:-1] = (velocity[below] + velocity[above]) / 2 - dt
    flux[1:-1][solid[below] | solid[above]] = 0.0
    for name in dirichlet & {"z-", "z+"}:
        cells = at_face(name)
        flux[cells] = np.where(solid[cells], 0.0, velocity[cells] - dt)
    return np.ravel(flux[:-1] - flux[1:]) / dt * np.prod(spacing)


def _density(flow: Flow, contrast: float, time: float) -> np.ndarray:
    liquid = flow.liquid(time)
    return contrast * liquid + (1 - liquid)


def _boxes(cells: tuple[int, int, int], number: Any, seed: int) -> np.ndarray:
    """Cells whose centres are in one of so many boxes, each 16 to 40 % of the domain in each direction."""
    if not isinstance(number, Integral) or number < 0:
        raise BadArgument(f"the number of obstacles is a whole number of at least 0, not {shown(number)}")
    rng = np.random.default_rng([seed, 1])
    solid = np.zeros(cells[::-1], dtype=bool)
    for _ in range(number):
        middle, half = rng.uniform(size=3), rng.uniform(0.08, 0.2, size=3)
        x, y, z = (
            np.flatnonzero(np.abs((np.arange(n) + 0.5) / n - m) <= h)
            for n, m, h in zip(cells, middle, half, strict=True)
        )
        solid[np.ix_(z, y, x)] = True
    return solid


def _filled(solid: np.ndarray, dirichlet: frozenset[str]) -> tuple[np.ndarray, bool]:
    """Solid cells with the fluid that they cut off, and whether the rest touches no Dirichlet face."""
    if not solid.any():
        return solid, not dirichlet
    parts, _ = scipy.ndimage.label(~solid)
    reached = {int(part) for name in dirichlet for part in np.unique(parts[at_face(name)])} - {0}
    largest = 1 + int(np.argmax(np.bincount(parts.ravel())[1:]))
    return ~np.isin(parts, list(reached) or [largest]), not reached
