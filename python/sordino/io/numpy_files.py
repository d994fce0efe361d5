"""NumPy's ``.npy`` and SciPy's ``.npz`` of a sparse matrix.

Both are read here rather than by their own libraries, which trust the sizes that a file promises, and whose errors are
made for programmers: arrays are allocated after the file has shown that it is long enough to fill them.
"""

from __future__ import annotations

import math
import os
import re
import zipfile
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from ..errors import FileError
from .opening import GZIP_MAX_RATIO

NPY = b"\x93NUMPY"
ZIP = b"PK\x03\x04"

_DESCR = re.compile(rb"""['"]descr['"]\s*:\s*['"]([<>|=]?[a-zA-Z]\d{0,3}(?:\[\w+\])?)['"]""")
_ORDER = re.compile(rb"""['"]fortran_order['"]\s*:\s*(True|False)""")
_SHAPE = re.compile(rb"""['"]shape['"]\s*:\s*\(([\d\s,]{0,200})\)""")
_LONGEST = 1 << 16
#: What a file of each format holds beside shape and data.
_PARTS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}


class _DamagedError(Exception):
    """An array that is not what its file says."""


def read_npy(name: str) -> np.ndarray:
    """Read an array of numbers.

    Raises
    ------
    FileError
        With one sentence: a damaged or truncated file, or one of Python objects.
    """
    try:
        with open(name, "rb") as stream:
            return _array(stream, name, os.path.getsize(name))
    except _DamagedError:
        raise FileError(f"{name} is a damaged or truncated .npy file") from None
    except FileError:
        raise
    except OSError as error:
        raise _unreadable(name, error) from None


def read_npz(name: str) -> Any:
    """Read a sparse array of the format that it was saved in: csr, csc, bsr, coo or dia.

    Raises
    ------
    FileError
        With one sentence: a damaged file, or one without a sparse matrix as ``scipy.sparse.save_npz`` writes it.
    """
    damaged = FileError(f"{name} is a damaged .npz file, or a truncated one")
    try:
        with zipfile.ZipFile(name) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if not {"format", "shape", "data"} <= members.keys():
                raise FileError(f"{name} does not hold a sparse matrix as scipy.sparse.save_npz writes it")
            form = word(_member(archive, members["format"], name))
            if form not in _PARTS or not set(_PARTS[form]) <= members.keys():
                raise FileError(f"{name} does not hold a sparse matrix as scipy.sparse.save_npz writes it")
            wanted = ("shape", "data", *_PARTS[form])
            return _assembled(form, {key: _member(archive, members[key], name) for key in wanted})
    except FileError:
        raise
    except OSError as error:
        raise (_unreadable(name, error) if error.errno else damaged) from None
    except Exception:  # of many kinds, in damaged archives
        raise damaged from None


def read_arrays(name: str, what: str) -> dict[str, np.ndarray]:
    """Read all arrays of an ``.npz``, by their names; `what` they are, for the error messages."""
    damaged = FileError(f"{name} is a damaged or truncated .npz file of {what}")
    try:
        with zipfile.ZipFile(name) as archive:
            return {
                info.filename.removesuffix(".npy"): _member(archive, info, name)
                for info in archive.infolist()
            }
    except FileError:
        raise
    except OSError as error:
        raise (_unreadable(name, error) if error.errno else damaged) from None
    except Exception:  # of many kinds, in damaged archives
        raise damaged from None


def member_names(name: str) -> set[str]:
    """Of the arrays of an ``.npz``; none of what is no such file."""
    try:
        with zipfile.ZipFile(name) as archive:
            return {info.filename.removesuffix(".npy") for info in archive.infolist()}
    except Exception:  # said by who reads it
        return set()


def _unreadable(name: str, error: OSError) -> FileError:
    return FileError(f"{name} cannot be read ({error.strerror or error})")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> np.ndarray:
    """One array of an archive; its size is believed only as far as compression can reach."""
    room = min(info.compress_size, os.path.getsize(name)) * GZIP_MAX_RATIO
    if info.file_size > room + 64:
        raise _DamagedError
    with archive.open(info) as stream:
        return _array(stream, name, info.file_size)


def _array(stream: IO[bytes], name: str, size: int) -> np.ndarray:
    """An array from a stream that holds `size` bytes."""
    start = stream.read(8)
    wide = 2 if start[6:7] == b"\x01" else 4
    length = int.from_bytes(stream.read(wide), "little")
    if len(start) < 8 or not start.startswith(NPY) or length > _LONGEST:
        raise _DamagedError
    header = stream.read(length)
    found = [pattern.search(header) for pattern in (_DESCR, _ORDER, _SHAPE)]
    if not all(found):
        raise _DamagedError
    descr, order, shape_text = (match.group(1) for match in found if match)
    if descr.lstrip(b"<>|=").startswith(b"a"):  # an old name of S, which NumPy never wrote
        raise _DamagedError
    if descr.lstrip(b"<>|=") == b"O":
        raise FileError(f"{name} holds Python objects, not numbers")
    try:
        dtype = np.dtype(descr.decode())
        shape = tuple(int(word) for word in shape_text.replace(b",", b" ").split())
    except (TypeError, ValueError):
        raise _DamagedError from None
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        raise FileError(f"{name} holds numbers of more than 64 bits: save them as float64")
    count = math.prod(shape)
    if dtype.hasobject or dtype.itemsize == 0 or count * dtype.itemsize > size - 8 - wide - length:
        raise _DamagedError
    return _filled(stream, dtype, shape, order == b"True")


def _filled(stream: IO[bytes], dtype: np.dtype, shape: tuple[int, ...], fortran: bool) -> np.ndarray:
    flat = np.empty(math.prod(shape), dtype=dtype)
    free = flat.view(np.uint8).data if flat.size else memoryview(b"")
    while len(free):
        here = stream.readinto(free)  # type: ignore[attr-defined]
        if not here:
            raise _DamagedError
        free = free[here:]
    try:
        array = flat.reshape(shape, order="F" if fortran else "C")
    except ValueError:  # more dimensions than arrays have, or an empty one beyond all sizes
        raise _DamagedError from None
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def word(array: np.ndarray) -> str:
    """The text in an array of one, or an empty one."""
    try:
        found = array.item() if array.size == 1 else ""
    except (SystemError, ValueError):  # numbers that are no letters
        return ""
    return found.decode("ascii", "replace") if isinstance(found, bytes) else str(found)


def _assembled(form: str, arrays: dict[str, np.ndarray]) -> Any:
    data, indices = arrays["data"], [arrays[key] for key in _PARTS[form]]
    shape = tuple(int(side) for side in arrays["shape"].ravel())
    whole = all(part.dtype.kind in "iu" and part.ndim == 1 for part in indices)
    if whole and "indptr" in _PARTS[form] and np.any(indices[1][1:] < indices[1][:-1]):
        raise _DamagedError
    if not whole or data.dtype.kind not in "biufc" or len(shape) != 2 or min(shape) < 0:
        raise _DamagedError
    if form == "coo":
        return sp.coo_array((data, tuple(indices)), shape=shape)
    if form == "dia":
        return sp.dia_array((data, indices[0]), shape=shape)
    made = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[form](
        (data, *indices), shape=shape
    )
    made.check_format(full_check=True)
    return made
