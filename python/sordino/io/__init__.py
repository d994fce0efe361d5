"""Files: matrices and vectors in, results out. Every failure is one sentence."""

from __future__ import annotations

from .output import OutputFile, write_vector
from .reading import MatrixFile, read_matrix, read_vector, read_vectors

__all__ = ["MatrixFile", "OutputFile", "read_matrix", "read_vector", "read_vectors", "write_vector"]
