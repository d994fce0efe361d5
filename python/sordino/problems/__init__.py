"""Model problems: Poisson on a box, and the pressure of two phases that flow around obstacles.

Cells are numbered with x fastest, so that fields on them have the shape (nz, ny, nx); their edges have length 1 where
nothing else is said.
"""

from __future__ import annotations

from .boundary import conditions, dirichlet_faces
from .box import check_grid, check_shape, poisson, poisson_rows
from .bricks import Bricks, brick_matrix
from .flow import PHASES
from .multiphase import OPEN_TANK, PressureProblem, multiphase, pressure_steps
from .pressure import CUBE, Edges, checked_spacing, pressure_matrix

__all__ = [
    "CUBE",
    "OPEN_TANK",
    "PHASES",
    "Bricks",
    "Edges",
    "PressureProblem",
    "brick_matrix",
    "check_grid",
    "check_shape",
    "checked_spacing",
    "conditions",
    "dirichlet_faces",
    "multiphase",
    "poisson",
    "poisson_rows",
    "pressure_matrix",
    "pressure_steps",
]
