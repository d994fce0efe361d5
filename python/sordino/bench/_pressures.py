"""The problems of ``sordino bench accuracy``: sixty pressure equations, fixed with their seeds, and ten more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problems import multiphase, poisson, pressure_matrix

Cells = tuple[int, int, int]

#: Numbers of cells in x, y and z that nothing divides well; some are thin, or long.
_CELLS: tuple[Cells, ...] = (
    (13, 11, 9),
    (7, 17, 23),
    (31, 3, 13),
    (5, 7, 11),
    (1, 37, 29),
    (47, 5, 5),
    (17, 13, 19),
)
_CONTRASTS = (1.0, 10.0, 1e3, 1e4, 1e5, 1e6)


@dataclass(frozen=True, eq=False)
class System:
    """A system A x = b.

    Attributes
    ----------
    A : scipy.sparse array, shape (n, n)
        Symmetric, positive definite or, with a nullspace, semidefinite.
    b : ndarray, shape (n,)
    cells : (nx, ny, nz)
        Whose unknowns the rows are, x fastest.
    nullspace : ndarray, shape (n,), or None
        What A maps to zero.
    """

    A: Any
    b: np.ndarray
    cells: Cells
    nullspace: np.ndarray | None

    def judged(self) -> np.ndarray:
        """What a claim is about: b, or its part in the range of A, in extended precision."""
        b = self.b.astype(np.longdouble)
        if self.nullspace is None:
            return b
        null = self.nullspace.astype(np.longdouble)
        return b - null * ((null @ b) / (null @ null))


@dataclass(frozen=True)
class Entry:
    """A problem by its name; `build` makes it, the same each time."""

    name: str
    contrast: float
    build: Callable[[], System]


Matrix = tuple[Any, np.ndarray | None]  # A, and its nullspace
Setting = Callable[[Cells, float], Matrix]


def sixty() -> list[Entry]:
    """Ten settings, each with six contrasts; sizes and right-hand sides take turns, so that all meet."""
    return [
        _entry(
            words, make, _CELLS[(3 * row + step) % len(_CELLS)], contrast, _SIDES[(row + step) % len(_SIDES)]
        )
        for row, (words, make) in enumerate(_SETTINGS)
        for step, contrast in enumerate(_CONTRASTS)
    ]


def rising() -> list[Entry]:
    """Ten problems for the question of what can be attained: two settings, five contrasts from 1 to 10^6."""
    chosen = [(words, make) for words, make in _SETTINGS if words in ("27 points", "bubbles, open tank")]
    contrasts = (1.0, 1e2, 1e3, 1e4, 1e6)
    return [_entry(words, make, (12, 11, 13), c, _SIDES[0]) for words, make in chosen for c in contrasts]


def _entry(words: str, make: Setting, cells: Cells, contrast: float, side: tuple[str, Any]) -> Entry:
    def build() -> System:
        A, null = make(cells, contrast)
        return System(A, side[1](cells), cells, null)

    size = " x ".join(map(str, cells))
    return Entry(f"{words}, {size}, contrast {contrast:g}, b {side[0]}", contrast, build)


def _ball(stencil: int, boundary: str) -> Setting:
    """A ball of another density in a box."""

    def make(cells: Cells, contrast: float) -> Matrix:
        A = poisson(*cells, stencil=stencil, contrast=contrast, boundary=boundary)
        return A, np.ones(A.shape[0]) if boundary == "neumann" else None

    return make


def _flow(phases: str, boundary: str, *, obstacles: int = 0, drops: bool = False) -> Setting:
    """Two phases; drops are bubbles of the dense one."""

    def make(cells: Cells, contrast: float) -> Matrix:
        made = multiphase(
            *cells, phases=phases, contrast=1 / contrast if drops else contrast, boundary=boundary,
            obstacles=obstacles, seed=cells[0],
        )  # fmt: skip
        null = np.ones(len(made.b)) if isinstance(made.nullspace, str) else made.nullspace
        return made.A, null

    return make


def _layers(cells: Cells, contrast: float) -> Matrix:
    """Layers of both densities in turns, across the longest direction, each two cells thick."""
    shape = cells[::-1]
    axis = int(np.argmax(shape))
    dense = (np.arange(shape[axis]) // 2) % 2 == 1
    density = np.where(np.expand_dims(dense, tuple(a for a in range(3) if a != axis)), contrast, 1.0)
    return pressure_matrix(np.broadcast_to(density, shape)), None


_SETTINGS: tuple[tuple[str, Setting], ...] = (
    ("7 points", _ball(7, "dirichlet")),
    ("27 points", _ball(27, "dirichlet")),
    ("7 points, walls", _ball(7, "neumann")),
    ("27 points, walls", _ball(27, "neumann")),
    ("7 points, open on one side", _ball(7, "neumann,z+:dirichlet")),
    ("bubbles, open tank", _flow("bubbles", "neumann,z+:dirichlet")),
    ("drops, walls", _flow("bubbles", "neumann", drops=True)),
    ("free surface and obstacles, open tank", _flow("free-surface", "neumann,z+:dirichlet", obstacles=3)),
    ("bubbles and obstacles, walls", _flow("bubbles", "neumann", obstacles=2)),
    ("layers", _layers),
)


def _random(cells: Cells) -> np.ndarray:
    """Normal numbers, of which every direction has its part."""
    return np.random.default_rng(cells).standard_normal(int(np.prod(cells)))


def _smooth(cells: Cells) -> np.ndarray:
    """One wave across the box."""
    x, y, z = ((np.arange(n) + 0.5) / n for n in cells)
    return np.ravel(
        np.cos(np.pi * x) * np.cos(np.pi * y)[:, None] * np.sin(2 * np.pi * z + 0.3)[:, None, None]
    )


#: Squares of the last two, at a residual of 1e-10, are just numbers.
_SIDES: tuple[tuple[str, Callable[[Cells], np.ndarray]], ...] = (
    ("random", _random),
    ("smooth", _smooth),
    ("of 1e-140", lambda cells: 1e-140 * _random(cells)),
    ("of 1e140", lambda cells: 1e140 * _random(cells)),
)
