"""Files: matrices, vectors and surfaces in, results out. Every failure is one sentence."""

from __future__ import annotations

from .bem_bb import write_bem_bb
from .factor_files import load_factors, save_factors
from .hmatrix_files import load_hmatrix, save_hmatrix
from .output import OutputFile, write_vector
from .reading import MatrixFile, read_matrix, read_vector, read_vectors
from .surfaces import read_surface
from .vtk import write_vtk

__all__ = [
    "MatrixFile",
    "OutputFile",
    "load_factors",
    "load_hmatrix",
    "read_matrix",
    "read_surface",
    "read_vector",
    "read_vectors",
    "save_factors",
    "save_hmatrix",
    "write_bem_bb",
    "write_vector",
    "write_vtk",
]
