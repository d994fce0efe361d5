"""Two phases in motion: what the volume of fluid method would hand to a pressure solver, in closed form.

Lengths are in cells, and time is such that gravity, which points down along z, is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

#: Half the thickness of an interface: over three cells the density goes from that of one phase to that of the other.
HALF_WIDTH = 1.5

_BUBBLES = 12
_MODES = 3


class Flow(Protocol):
    """What a pressure problem needs to know of two phases."""

    @property
    def fastest(self) -> float:
        """The speed of the interface, at most: cells in a unit of time."""

    def liquid(self, time: float) -> np.ndarray:
        """The share of liquid in each cell, shape (nz, ny, nx)."""

    def rise(self, time: float) -> np.ndarray:
        """The velocity along z in each cell, shape (nz, ny, nx)."""


@dataclass(frozen=True)
class Bubbles:
    """Spheres of gas that rise in a liquid at rest; what leaves at the top comes in again at the bottom.

    Attributes
    ----------
    cells : (nx, ny, nz)
    centres : ndarray, shape (m, 3)
        x, y and z at time 0.
    radii : ndarray, shape (m,)
    """

    cells: tuple[int, int, int]
    centres: np.ndarray
    radii: np.ndarray

    @classmethod
    def drawn(cls, cells: tuple[int, int, int], rng: np.random.Generator) -> Bubbles:
        """Some, that together take about a sixth of the box where they do not overlap."""
        centres = rng.uniform(size=(_BUBBLES, 3)) * cells
        return cls(cells, centres, rng.uniform(0.1, 0.2, _BUBBLES) * np.prod(cells, dtype=float) ** (1 / 3))

    @property
    def speeds(self) -> np.ndarray:
        """2/3 sqrt(g R): Davies and Taylor 1950, Proc. R. Soc. A 200, 375."""
        return 2 / 3 * np.sqrt(self.radii)

    @property
    def fastest(self) -> float:
        """The speed of the largest bubble."""
        return float(self.speeds.max())

    def liquid(self, time: float) -> np.ndarray:
        """The share of liquid in each cell, shape (nz, ny, nx). Cost: that of the cells in bubbles."""
        share = np.ones(self.cells[::-1])
        for place, gas, _ in self._gas(time):
            share[place] = np.minimum(share[place], 1 - gas)
        return share

    def rise(self, time: float) -> np.ndarray:
        """The velocity along z in each cell, shape (nz, ny, nx): that of the bubble around it."""
        velocity = np.zeros(self.cells[::-1])
        for place, gas, speed in self._gas(time):
            velocity[place] = np.maximum(velocity[place], speed * gas)
        return velocity

    def _gas(self, time: float) -> Iterator[tuple[Any, np.ndarray, float]]:
        """Of each bubble the cells around it, the share of gas in them, and its speed."""
        nx, ny, nz = self.cells
        for (x, y, z), radius, speed in zip(self.centres, self.radii, self.speeds, strict=True):
            reach = radius + HALF_WIDTH
            columns, dx = _near(np.arange(nx) + 0.5 - x, reach)
            rows, dy = _near(np.arange(ny) + 0.5 - y, reach)
            above = np.arange(nz) + 0.5 - (z + speed * time)
            layers, dz = _near((above + nz / 2) % nz - nz / 2, reach)
            distance = np.sqrt(dx**2 + dy[:, None] ** 2 + dz[:, None, None] ** 2)
            yield np.ix_(layers, rows, columns), _step(radius - distance), float(speed)


@dataclass(frozen=True)
class FreeSurface:
    """A liquid that sloshes below a gas: standing waves between walls, each with the period that its length has.

    Attributes
    ----------
    cells : (nx, ny, nz)
    depth : float
        Of the liquid at rest.
    waves : ndarray, shape (m, 2)
        Half wave lengths of each wave along x and along y.
    heights, phases : ndarray, shape (m,)
    """

    cells: tuple[int, int, int]
    depth: float
    waves: np.ndarray
    heights: np.ndarray
    phases: np.ndarray

    @classmethod
    def drawn(cls, cells: tuple[int, int, int], rng: np.random.Generator) -> FreeSurface:
        """Waves that together reach up and down by 15 % of the box, around 60 % of its height."""
        waves = rng.integers(0, 4, size=(_MODES, 2))
        waves[~waves.any(axis=1), 0] = 1
        heights = rng.uniform(0.5, 1.0, _MODES)
        heights *= 0.15 * cells[2] / heights.sum()
        return cls(cells, 0.6 * cells[2], waves, heights, rng.uniform(0, 2 * np.pi, _MODES))

    @property
    def frequencies(self) -> np.ndarray:
        """sqrt(g k tanh(k d)), that of gravity waves over depth d; k is the wave number."""
        number = np.pi * np.hypot(self.waves[:, 0] / self.cells[0], self.waves[:, 1] / self.cells[1])
        return np.sqrt(number * np.tanh(number * self.depth))

    @property
    def fastest(self) -> float:
        """The speed of the surface where all waves meet."""
        return float(self.heights @ self.frequencies)

    def liquid(self, time: float) -> np.ndarray:
        """The share of liquid in each cell, shape (nz, ny, nx)."""
        surface = self.depth + self._waves(self.heights, time, np.cos)
        return _step(surface - self._heights_of_cells())

    def rise(self, time: float) -> np.ndarray:
        """The velocity along z in each cell, shape (nz, ny, nx): that of the surface, and none at bottom and top."""
        surface = self.depth + self._waves(self.heights, time, np.cos)
        moving = self._waves(-self.heights * self.frequencies, time, np.sin)
        z, top = self._heights_of_cells(), self.cells[2]
        return moving * np.minimum(z / surface, (top - z) / (top - surface))

    def _heights_of_cells(self) -> np.ndarray:
        return (np.arange(self.cells[2]) + 0.5)[:, None, None]

    def _waves(
        self, factors: np.ndarray, time: float, swing: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """A sum over all waves on the cells of one layer, shape (ny, nx)."""
        along = [
            np.cos(np.pi * np.outer(halves, np.arange(n) + 0.5) / n)
            for halves, n in zip(self.waves.T, self.cells[:2], strict=True)
        ]
        return np.einsum("m,mx,my->yx", factors * swing(self.frequencies * time + self.phases), *along)


#: Kinds of flow by their names.
PHASES: dict[str, Callable[[tuple[int, int, int], np.random.Generator], Flow]] = {
    "bubbles": Bubbles.drawn,
    "free-surface": FreeSurface.drawn,
}


def _near(offsets: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Those that are within reach: places and offsets."""
    places = np.flatnonzero(np.abs(offsets) < reach)
    return places, offsets[places]


def _step(distance: np.ndarray) -> np.ndarray:
    """0 on one side of an interface and 1 on the other, where `distance` is positive; smooth once, by a cubic."""
    share = np.clip((distance / HALF_WIDTH + 1) / 2, 0.0, 1.0)
    return share**2 * (3 - 2 * share)
