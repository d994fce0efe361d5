"""Factors in files that any program can write: NumPy's ``.npz``, versioned, written whole or not at all."""

from __future__ import annotations

import hashlib
import os
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from .._factors import Factors
from ..errors import BadArgument, FileError
from . import numpy_files
from .opening import check_readable
from .output import OutputFile

FORMAT, VERSION = "sordino factors", 1
SUFFIXES = (".npz",)

_PARTS = ("indptr", "indices", "data")
_TRIANGLES = ("lower", "upper_transposed")
_REST = ("row_order", "column_order", "row_scale", "column_scale")


def save_factors(output: OutputFile | str | os.PathLike[str], factors: Factors) -> None:
    """Write factors, with their orders and scales, for :func:`load_factors` and ``sordino trsv``.

    Parameters
    ----------
    output : OutputFile or path
        Named ``.npz``; a path must not exist.
    factors : Factors

    Raises
    ------
    BadArgument, FileError
        Another ending, a file that exists, a folder that cannot be written to.

    Notes
    -----
    A zip archive without compression of NumPy's arrays, which "triangular solves" in the documentation lists for
    programs that write their own, with the SHA-256 of all.
    """
    if not isinstance(output, OutputFile):
        output = OutputFile(
            output, suffixes=SUFFIXES, what="factor", overwrite="OutputFile(path, force=True)"
        )
    arrays = arrays_of(factors)
    arrays["checksum"] = np.array(checksum(arrays))

    def content(stream: IO[bytes]) -> None:
        np.savez(stream, allow_pickle=False, **arrays)

    output.write(content)


def load_factors(path: str | os.PathLike[str]) -> Factors:
    """Read factors that :func:`save_factors`, or a program that keeps to its form, has written.

    Raises
    ------
    FileError
        No such file, none of factors, of a later version, damaged or truncated.
    """
    name = check_readable(path)
    arrays = numpy_files.read_arrays(name, "factors")
    if not is_of_factors(arrays):
        raise FileError(f"{name} does not hold factors as sordino.io.save_factors writes them")
    version = arrays.pop("version", np.array(0))
    if version.size != 1 or version.dtype.kind not in "iu" or int(version.item()) < 1:
        raise FileError(f"{name} does not say of which version it is")
    if int(version.item()) > VERSION:
        raise FileError(f"{name} is of version {int(version.item())}, and this program reads up to {VERSION}")
    told = arrays.pop("checksum", None)
    if told is not None and numpy_files.word(told) != checksum({**arrays, "version": version}):
        raise FileError(f"{name} is damaged: its checksum is another one")
    try:
        return _factors(arrays)
    except (BadArgument, ValueError, KeyError) as wrong:
        missing = isinstance(wrong, KeyError)
        reason = f"{wrong.args[0]} is missing" if missing else str(wrong).split("\n")[0]
        raise FileError(f"{name} holds no valid factors: {reason}") from None


def is_of_factors(arrays: Any) -> bool:
    """Whether the members of an archive say so."""
    return "format" in arrays and numpy_files.word(arrays["format"]) == FORMAT


def checksum(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of all arrays: of each one's name, type and shape as text, then its bytes, in the order of names."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        if array.dtype.kind == "S":
            array = array.astype("U")
        little = array.astype(array.dtype.newbyteorder("<"))
        found.update(f"{name} {little.dtype.str} {array.shape}\n".encode())
        found.update(little.tobytes() if little.dtype.kind == "U" else little.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def arrays_of(factors: Factors) -> dict[str, np.ndarray]:
    """What is written of factors, but the checksum."""
    arrays: dict[str, np.ndarray] = {
        "format": np.array(FORMAT),
        "version": np.array(VERSION),
        "unit_lower": np.array(factors.unit_lower),
    }
    upper = None if factors.upper is None else factors.upper.T
    for name, triangle in zip(_TRIANGLES, (factors.lower, upper), strict=True):
        if triangle is not None:
            arrays |= {f"{name}_{part}": getattr(triangle, part) for part in _PARTS}
    if factors.upper is not None:
        arrays["unit_upper"] = np.array(factors.unit_upper)
    return arrays | {name: value for name in _REST if (value := getattr(factors, name)) is not None}


def _factors(arrays: dict[str, np.ndarray]) -> Factors:
    n = arrays["lower_indptr"].size - 1
    lower, upper = (_columns(arrays, name, n) for name in _TRIANGLES)
    if lower is None:
        raise KeyError("lower_indices")
    return Factors(
        lower=lower,
        upper=None if upper is None else upper.T,
        unit_lower=_flag(arrays, "unit_lower"),
        unit_upper=_flag(arrays, "unit_upper"),
        **{name: arrays[name] for name in _REST if name in arrays},
    )


def _columns(arrays: dict[str, np.ndarray], name: str, n: int) -> Any:
    if name != "lower" and f"{name}_indptr" not in arrays:
        return None
    begin, rows, data = (arrays[f"{name}_{part}"] for part in _PARTS)
    if begin.dtype.kind not in "iu" or rows.dtype.kind not in "iu" or data.dtype.kind not in "fiuc":
        raise ValueError(f"{name} has no whole numbers as indices, or no numbers as data")
    if begin.ndim != 1 or len(begin) < 2 or np.any(begin[1:] < begin[:-1]):
        raise ValueError(f"the pointers of {name} fall")
    made = sp.csc_array((data, rows, begin), shape=(n, len(begin) - 1))
    made.check_format(full_check=True)
    return made


def _flag(arrays: dict[str, np.ndarray], name: str) -> bool:
    value = arrays.get(name, np.array(False))
    if value.size != 1 or value.dtype.kind not in "biu":
        raise ValueError(f"{name} is 0 or 1")
    return bool(value.item())
