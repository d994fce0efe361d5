"""Sordino: linear solvers for many GPUs that keep communication quiet.

>>> import sordino
>>> A = sordino.poisson(32, 32, 32)                 # doctest: +SKIP
>>> solution = sordino.solve(A, b, rtol=1e-8)       # doctest: +SKIP

A result called ``converged`` was verified: the residual was recomputed from x. Anything
else raises :class:`NotConverged`, which carries the best x, unless told otherwise.
"""

from __future__ import annotations

from importlib import metadata as _metadata

from . import linalg, surfaces
from . import log as _log  # noqa: F401  the logger must have its handler from the start
from ._charge import Charge, bem
from ._comm import Communicator, Pending, run
from ._estimate import estimate_memory
from ._factorized import factorized
from ._factors import Factors
from ._grid_matrix import GridMatrix
from ._hmatrix import HMatrix, hmatrix
from ._incomplete import ic0, ilu0
from ._lu import FactorizedLU, factorized_lu
from ._once import solve
from ._rows import RowsSolver
from ._solution import Solution
from ._solve import Solver
from ._splu import splu
from ._triangular import FactorizedTriangle
from .errors import (
    AsymmetryWarning,
    BadArgument,
    CompressionWarning,
    DeviceError,
    FileError,
    Interrupted,
    NotConverged,
    NotConvergedWarning,
    PeerFailed,
    SordinoError,
    TinyPivotWarning,
    Unsupported,
)
from .io import read_matrix, read_surface, read_vector
from .problems import poisson
from .report import Recovery, Report

try:
    __version__ = _metadata.version("sordino")
except _metadata.PackageNotFoundError:  # used from the source folder
    __version__ = "0+source"

__all__ = [
    "AsymmetryWarning",
    "BadArgument",
    "Charge",
    "Communicator",
    "CompressionWarning",
    "DeviceError",
    "FactorizedLU",
    "FactorizedTriangle",
    "Factors",
    "FileError",
    "GridMatrix",
    "HMatrix",
    "Interrupted",
    "NotConverged",
    "NotConvergedWarning",
    "PeerFailed",
    "Pending",
    "Recovery",
    "Report",
    "RowsSolver",
    "Solution",
    "Solver",
    "SordinoError",
    "TinyPivotWarning",
    "Unsupported",
    "__version__",
    "bem",
    "estimate_memory",
    "factorized",
    "factorized_lu",
    "hmatrix",
    "ic0",
    "ilu0",
    "linalg",
    "poisson",
    "read_matrix",
    "read_surface",
    "read_vector",
    "run",
    "solve",
    "splu",
    "surfaces",
]
