"""Reading matrices and vectors; the kind of a file is told by its first bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix import as_columns, as_vector
from ..errors import BadArgument, FileError
from . import harwell_boeing, matlab, matrix_market, numpy_files
from .opening import check_readable, head

#: Enough to tell one kind from another: the header lines of Harwell-Boeing.
_START = 512


@dataclass(frozen=True)
class MatrixFile:
    """A matrix read from a file.

    Attributes
    ----------
    matrix : sparse array or ndarray, shape (rows, columns)
    name : str
        The file's name without its folder.
    notes : tuple of str
        What a user should know of how it was read.
    rhs : ndarray, shape (rows, k), or None
        Right-hand sides that came with it.
    """

    matrix: Any
    name: str
    notes: tuple[str, ...] = ()
    rhs: np.ndarray | None = None


def read_matrix(path: str | os.PathLike[str]) -> MatrixFile:
    """Read a matrix: Matrix Market and Harwell-Boeing (also ``.gz``), ``.npz``, MATLAB's ``.mat``, dense ``.npy``.

    Right-hand sides that a Harwell-Boeing or MATLAB file brings along are read, too.

    Raises
    ------
    FileError
        With one sentence for whatever is wrong with the file.
    """
    name = check_readable(path)
    short = os.path.basename(name)
    start = head(name, _START)
    if start.startswith(matrix_market.BANNER):
        matrix, header = matrix_market.read(name)
        matrix_market.check_symmetric_storage(name, header, matrix)
        return MatrixFile(matrix, short, _of_a_pattern(short) if header.field == "pattern" else ())
    if start.startswith(numpy_files.ZIP):
        return MatrixFile(numpy_files.read_npz(name), short)
    if start.startswith(numpy_files.NPY):
        return MatrixFile(numpy_files.read_npy(name), short)
    if start.startswith(matlab.BANNERS):
        matrix, rhs, others = matlab.read(name)
        return MatrixFile(matrix, short, _unused(short, others) if rhs is None else (), rhs)
    if harwell_boeing.recognises(start):
        content = harwell_boeing.read(name)
        notes = tuple(f"{short}: {note}" for note in content.notes)
        return MatrixFile(
            content.matrix, short, notes + (_of_a_pattern(short) if content.pattern else ()), content.rhs
        )
    raise _unknown_kind(
        name, "Matrix Market (.mtx, .mtx.gz), Harwell-Boeing, SciPy .npz, MATLAB .mat and NumPy .npy"
    )


def _unused(short: str, vectors: tuple[str, ...]) -> tuple[str, ...]:
    if not vectors:
        return ()
    return (
        f"{short} also holds {', '.join(vectors)}, as long as the matrix: a right-hand side is to be called b",
    )


def _of_a_pattern(short: str) -> tuple[str, ...]:
    return (f"{short} gives a pattern without values: every entry is taken as 1",)


def read_vector(path: str | os.PathLike[str], n: int | None = None, what: str = "vector") -> np.ndarray:
    """Read a vector: ``.npy``, Matrix Market or ``.mat`` with one column.

    Parameters
    ----------
    n : int, optional
        The length it must have.
    what : str
        What it is, for the error messages: ``"right-hand side"``.

    Returns
    -------
    ndarray, shape (n,), float64 or complex128

    Raises
    ------
    FileError, BadArgument
        For an unreadable file; for a wrong shape, NaN or infinity.
    """
    name, values = _array_in(path, what)
    if values.ndim == 2 and values.shape[1] != 1 and values.shape[0] != 1:
        raise BadArgument(
            f"{name} has {values.shape[1]} columns, and a {what} is one vector (use one file for each)"
        )
    length = int(np.prod(values.shape, dtype=object))
    n = length if n is None else n
    if sp.issparse(values):
        if length != n:  # a few bytes may promise any length: nothing of it is made dense
            raise BadArgument(f"the {what} in {name} has {length:,} numbers, and the matrix has {n:,} rows")
        values = values.toarray()
    return as_vector(values.reshape(-1), n, f"the {what} in {name}")


def read_vectors(path: str | os.PathLike[str], n: int, what: str) -> np.ndarray:
    """Read vectors of length n by columns, from the files of :func:`read_vector`.

    Returns
    -------
    ndarray, shape (n, k), float64 or complex128

    Raises
    ------
    FileError, BadArgument
        As :func:`read_vector`.
    """
    name, values = _array_in(path, what)
    if values.shape[0] != n:
        raise BadArgument(f"the {what} in {name} has {values.shape[0]:,} rows, and the matrix {n:,}")
    return np.stack(as_columns(values, n, f"the {what} in {name}"), axis=1)


def _array_in(path: str | os.PathLike[str], what: str) -> tuple[str, Any]:
    """The file's name, and the array or sparse matrix in it, of one or two dimensions."""
    name = check_readable(path)
    start = head(name)
    if start.startswith(matrix_market.BANNER):
        values, header = matrix_market.read(name)
        matrix_market.check_symmetric_storage(name, header, values)
    elif start.startswith(numpy_files.NPY):
        values = numpy_files.read_npy(name)
    elif start.startswith(matlab.BANNERS):
        values = matlab.read_vectors(name)
    else:
        raise _unknown_kind(name, "NumPy .npy, Matrix Market (.mtx, .mtx.gz) and MATLAB .mat")
    if values.ndim not in (1, 2):
        raise BadArgument(f"{name} has {values.ndim} dimensions, and a {what} has one or two")
    return name, values


def _unknown_kind(name: str, known: str) -> FileError:
    if name.lower().endswith((".mtx", ".mtx.gz", ".mm", ".mtz")):
        return FileError(
            f"{name} is not a Matrix Market file: its first line does not begin with %%MatrixMarket"
        )
    if name.lower().endswith(".mat") and "MATLAB" in known:
        return FileError(
            f"{name} is no MATLAB file of version 5 to 7, as those of version 4 are not: save it with save(..., '-v7')"
        )
    return FileError(f"{name} is of no kind that can be read here; known are {known}")
