"""A generated problem on a box by its numbers: what ``sordino poisson`` solves and ``sordino predict`` predicts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._matrix import CsrArrays, as_csr
from .problems import CUBE, Edges, PressureProblem, conditions, multiphase, poisson_rows


@dataclass(frozen=True)
class Made:
    """A system that is there.

    Attributes
    ----------
    rows : CsrArrays
    rhs : ndarray, shape (n,), or None
        None where nothing says what b is.
    nullspace : "constant", ndarray of shape (n,), or None
        What the matrix maps to zero.
    pressure : PressureProblem or None
        The fields of two phases.
    """

    rows: CsrArrays
    rhs: np.ndarray | None = None
    nullspace: Any = None
    pressure: PressureProblem | None = None

    def product(self) -> np.ndarray:
        """A right-hand side in the range of the matrix: A*1, or A*z with z_i = i/n where A*1 is zero. Shape (n,)."""
        n = self.rows.n
        return self.rows.product(np.ones(n) if self.nullspace is None else np.arange(1, n + 1) / n)


@dataclass(frozen=True)
class Box:
    """A Poisson problem by its numbers of cells; nothing is generated before it is needed.

    Attributes
    ----------
    cells : (nx, ny, nz)
    stencil : {7, 27}
    contrast : float
        Of a ball, or of two phases.
    boundary : str
    phases : str or None
        Which flow the pressure is of; None: a ball of another density.
    obstacles, seed : int
        Of two phases.
    spacing : tuple of float
        Edges of a cell, of two phases.
    """

    cells: tuple[int, int, int]
    stencil: int = 7
    contrast: float = 1.0
    boundary: str = "dirichlet"
    phases: str | None = None
    obstacles: int = 0
    seed: int = 0
    spacing: Edges = CUBE

    @property
    def n(self) -> int:
        """Rows."""
        return math.prod(self.cells)

    @property
    def entries(self) -> int:
        """Stored entries, if nothing is solid: neighbours within the box, and the diagonal."""
        ends = [0 if axis in self.around else 2 for axis in "xyz"]  # where a line of cells lacks a neighbour
        if self.stencil == 27:
            return math.prod(3 * count - lacking for count, lacking in zip(self.cells, ends, strict=True))
        return 7 * self.n - sum(
            self.n // count * lacking for count, lacking in zip(self.cells, ends, strict=True)
        )

    @property
    def around(self) -> str:
        """Directions that are periodic."""
        return conditions(self.boundary)[1]

    @property
    def name(self) -> str:
        """What a user calls it."""
        size = " x ".join(map(str, self.cells))
        contrast, boundary = f", contrast {self.contrast:g}", f", {self.boundary} boundary"
        if self.phases is not None:
            edges = f", cells of {' x '.join(f'{edge:g}' for edge in self.spacing)}"
            return (
                f"Pressure {size}{edges if self.spacing != CUBE else ''}, {self.phases}{contrast}{boundary}"
            )
        plain = f"Poisson {size}, {self.stencil}-point stencil"
        return (
            plain
            + (contrast if self.contrast != 1 else "")
            + (boundary if self.boundary != "dirichlet" else "")
        )

    def made(self) -> Made:
        """The system itself."""
        if self.phases is None:
            rows = poisson_rows(*self.cells, self.stencil, self.contrast, self.boundary)
            return Made(rows, nullspace=None if conditions(self.boundary)[0] else "constant")
        pressure = multiphase(
            *self.cells, phases=self.phases, contrast=self.contrast, boundary=self.boundary,
            obstacles=self.obstacles, seed=self.seed, spacing=self.spacing,
        )  # fmt: skip
        return Made(as_csr(pressure.A), pressure.b, pressure.nullspace, pressure)
