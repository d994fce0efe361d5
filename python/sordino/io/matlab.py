"""MATLAB files (``.mat``): the sparse matrix in them, also as the SuiteSparse collection stores its problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import FileError, shown
from . import mat5

#: How files of MATLAB 5 to 7 begin, and those of 7.3, which are HDF5.
BANNERS = (b"MATLAB 5.0 MAT-file", b"MATLAB 7.3 MAT-file", b"\x89HDF")
#: Sparse right-hand sides are made dense up to so many columns.
_MOST_COLUMNS = 1024


def read(name: str) -> tuple[Any, np.ndarray | None, tuple[str, ...]]:
    """Read the one matrix of a file, and a right-hand side beside it, of shape (rows, k), if there is one.

    The third is the names of other vectors as long as the matrix has rows.

    Taken is, in this order: ``Problem.A`` with ``Problem.b``; the variable ``A`` with ``b``; the only sparse matrix;
    the only square dense one.

    Raises
    ------
    FileError
        With one sentence: a damaged file, one of MATLAB 7.3, no matrix, several to choose from, or a b that is no
        right-hand side of it.
    """
    variables = _variables(name)
    matrix = _matrix(name, variables)
    rows = matrix.shape[0]
    others = (key for key in sorted(variables) if key != "b" and _is_column(variables[key], rows))
    return matrix, _right_hand_side(name, variables.get("b"), rows), tuple(map(_word, others))


def read_vectors(name: str) -> Any:
    """The variable ``b``, or else the only array of numbers, sparse or dense: a vector, or several by columns."""
    variables = _variables(name)
    arrays = {key: value for key, value in variables.items() if _is_numbers(value)}
    if "b" in arrays:
        return arrays["b"]
    if len(arrays) != 1:
        found = f"several arrays ({_names(arrays)})" if arrays else "no array of numbers"
        raise FileError(f"{name} holds {found}: call the one to be read b")
    return next(iter(arrays.values()))


def _variables(name: str) -> dict[str, Any]:
    """What a file holds by its names, or what the structure ``Problem`` in it does."""
    try:
        with open(name, "rb") as stream:
            data = stream.read()
    except OSError as error:
        raise FileError(f"{name} cannot be read ({error.strerror or error})") from None
    if not data.startswith(BANNERS[0]):
        raise FileError(
            f"{name} is a file of MATLAB 7.3, which is not read here: save it with save(..., '-v7')"
        )
    try:
        variables = mat5.variables(data)
    except mat5.DamagedError:
        raise FileError(f"{name} is a damaged MATLAB file") from None
    problem = variables.get("Problem")
    return problem if isinstance(problem, dict) else variables


def _matrix(name: str, variables: dict[str, Any]) -> Any:
    named: Any = variables.get("A")
    matrices = {"A": named} if sp.issparse(named) or _is_square(named) else {}
    if not matrices:
        matrices = {
            key: value
            for key, value in variables.items()
            if sp.issparse(value) and not value.shape[0] > value.shape[1] == 1
        }
    if not matrices:
        matrices = {key: value for key, value in variables.items() if _is_square(value)}
    if not matrices:
        raise FileError(f"{name} holds no sparse matrix, and no square one")
    if len(matrices) > 1 and "A" not in matrices:
        raise FileError(f"{name} holds several matrices ({_names(matrices)}): call the one to be read A")
    return matrices["A"] if "A" in matrices else next(iter(matrices.values()))


def _right_hand_side(name: str, rhs: Any, rows: int) -> np.ndarray | None:
    """The variable `b`, dense and of shape (rows, k); None if there is none."""
    if rhs is None:
        return None
    if not _is_numbers(rhs):
        raise FileError(f"{name} holds a variable b beside its matrix that is no array of numbers")
    size = " x ".join(map(str, rhs.shape))
    if rhs.ndim != 2 or rhs.shape[0] != rows or rhs.shape[1] == 0:
        raise FileError(f"{name} holds a right-hand side b of {size}, and its matrix has {rows:,} rows")
    if sp.issparse(rhs) and rhs.shape[1] > _MOST_COLUMNS:
        raise FileError(
            f"{name} holds a sparse b of {size}, and at most {_MOST_COLUMNS:,} sparse columns are read"
        )
    return rhs.toarray() if sp.issparse(rhs) else rhs


def _is_numbers(value: Any) -> bool:
    return bool(sp.issparse(value)) or (isinstance(value, np.ndarray) and value.dtype.kind in "fiuc")


def _is_column(value: Any, rows: int) -> bool:
    return _is_numbers(value) and value.ndim == 2 and value.shape[0] == rows != value.shape[1]


def _is_square(value: Any) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind in "fiuc"
        and value.ndim == 2
        and value.shape[0] == value.shape[1] > 1
    )


def _word(key: str) -> str:
    return shown(key, 30)[1:-1]


def _names(matrices: dict[str, Any]) -> str:
    names = [_word(key) for key in sorted(matrices)]
    return ", ".join(names if len(names) <= 5 else [*names[:5], "..."])
