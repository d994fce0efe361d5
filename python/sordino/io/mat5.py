"""The variables of a MATLAB file of versions 5 to 7: numbers, sparse matrices, and structures of them.

The form is that of MathWorks, "MAT-File Format": elements, each with its type and its length before it, the
variables' compressed at will. SciPy's reader ends the whole program on some damaged files; this one checks every
length before it is used. Cells, words, objects and functions are passed over.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import scipy.sparse as sp

_Bytes = bytes | memoryview
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
#: Classes of variables that are read: structures, sparse matrices, floating-point and whole numbers.
_STRUCT, _SPARSE = 2, 5
_FLOATS, _WHOLE = (6, 7), tuple(range(8, 16))
_COMPLEX = 0x0800
_DEEPEST = 4  # structures in structures


class DamagedError(Exception):
    """A file that does not keep to the form."""


def variables(content: bytes) -> dict[str, Any]:
    """Variables by name: ndarrays with two dimensions or more, csc_arrays, dictionaries for structures of one element.

    Raises
    ------
    DamagedError
    """
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise DamagedError
    data = memoryview(content)  # so that parts of it are no copies
    found: dict[str, Any] = {}
    at = 128
    while at < len(data):
        sort, body, at = _element(data, at, order)
        if sort == _COMPRESSED:
            sort, body, _ = _element(_inflated(body, order), 0, order)
        if sort == _MATRIX:
            name, value = _variable(body, order, 0)
            if value is not None:
                found[name] = value
    return found


def _element(data: _Bytes, at: int, order: str) -> tuple[int, _Bytes, int]:
    """Type and content of the element at a place, and where the next one begins."""
    if at + 8 > len(data):
        raise DamagedError
    sort, length = (int(word) for word in np.frombuffer(data, order + "u4", 2, at))
    if sort >> 16:  # a short element: its length, its type and up to four bytes in one tag
        sort, length = sort & 0xFFFF, sort >> 16
        start, end = at + 4, at + 8
        if length > 4:
            raise DamagedError
    else:
        start = at + 8
        end = start + (length if sort == _COMPRESSED else -(-length // 8) * 8)
    if start + length > len(data):
        raise DamagedError
    return sort, data[start : start + length], end


def _inflated(packed: _Bytes, order: str) -> bytes:
    """The one element that a compressed element holds, and no byte more than it says it has."""
    try:
        unpacking = zlib.decompressobj()
        tag = unpacking.decompress(packed, 8)
        if len(tag) < 8:
            raise DamagedError
        length = int(np.frombuffer(tag, order + "u4", 2)[1])
        body = unpacking.decompress(unpacking.unconsumed_tail, length) if length else b""
        if (
            unpacking.decompress(unpacking.unconsumed_tail, 1) or not unpacking.eof
        ):  # its checksum is at its end
            raise DamagedError
        return tag + body
    except zlib.error:
        raise DamagedError from None


def _numbers(data: _Bytes, at: int, order: str) -> tuple[np.ndarray, int]:
    sort, body, end = _element(data, at, order)
    if sort not in _TYPES:
        raise DamagedError
    dtype = np.dtype(order + _TYPES[sort])
    values = np.frombuffer(body[: len(body) // dtype.itemsize * dtype.itemsize], dtype)
    return values.astype(dtype.newbyteorder("=")), end


def _variable(body: _Bytes, order: str, depth: int) -> tuple[str, Any]:
    """Name and value of a matrix element; the value of what is passed over is None."""
    if not body:
        return "", None
    flags, at = _numbers(body, 0, order)
    if len(flags) != 2:
        raise DamagedError
    sort, is_complex = int(flags[0]) & 0xFF, bool(int(flags[0]) & _COMPLEX)
    if sort not in (_STRUCT, _SPARSE, *_FLOATS, *_WHOLE):
        return "", None
    sizes, at = _numbers(body, at, order)
    shape = tuple(int(size) for size in sizes)
    if not 2 <= len(shape) <= 32 or min(shape) < 0:
        raise DamagedError
    letters, at = _numbers(body, at, order)
    name = letters.tobytes().decode("ascii", "replace")
    if sort == _STRUCT:
        return name, _structure(body, at, order, shape, depth)
    if sort == _SPARSE:
        return name, _sparse(body, at, order, shape, is_complex)
    values = _values(body, at, order, is_complex, math.prod(shape))
    if sort in _FLOATS and values.dtype.kind in "iu":  # stored in less room than its class has
        values = values.astype(np.float64)
    return name, values.reshape(shape, order="F")


def _values(body: _Bytes, at: int, order: str, is_complex: bool, count: int) -> np.ndarray:
    """The first `count` numbers of the element at a place, with those of the next as imaginary parts."""
    values, at = _numbers(body, at, order)
    if len(values) < count:
        raise DamagedError
    if not is_complex:
        return values[:count]
    imaginary, _ = _numbers(body, at, order)
    if len(imaginary) < count:
        raise DamagedError
    made = np.empty(count, dtype=np.complex128)
    made.real, made.imag = values[:count], imaginary[:count]
    return made


def _sparse(body: _Bytes, at: int, order: str, shape: tuple[int, ...], is_complex: bool) -> sp.csc_array:
    rows, at = _numbers(body, at, order)
    starts, at = _numbers(body, at, order)
    if (
        len(shape) != 2
        or len(starts) != shape[1] + 1
        or rows.dtype.kind not in "iu"
        or starts.dtype.kind not in "iu"
    ):
        raise DamagedError
    count = int(starts[-1])
    if not 0 <= count <= len(rows) or np.any(starts[1:] < starts[:-1]):
        raise DamagedError
    values = _values(body, at, order, is_complex, count)
    values = values.astype(np.complex128 if is_complex else np.float64)
    try:
        made = sp.csc_array((values, rows[:count].astype(np.int64), starts.astype(np.int64)), shape=shape)
        made.check_format(full_check=True)
    except (ValueError, IndexError):
        raise DamagedError from None
    return made


def _structure(
    body: _Bytes, at: int, order: str, shape: tuple[int, ...], depth: int
) -> dict[str, Any] | None:
    """The fields of a structure; arrays of structures, and too deep ones, are passed over."""
    if math.prod(shape) != 1 or depth == _DEEPEST:
        return None
    lengths, at = _numbers(body, at, order)
    width = int(lengths[0]) if len(lengths) == 1 else 0
    letters, at = _numbers(body, at, order)
    if not 1 <= width <= 256:
        raise DamagedError
    text = letters.tobytes()
    fields: dict[str, Any] = {}
    for first in range(0, len(text) // width * width, width):
        sort, field, at = _element(body, at, order)
        if sort != _MATRIX:
            raise DamagedError
        key = text[first : first + width].split(b"\0")[0].decode("ascii", "replace")
        value = _variable(field, order, depth + 1)[1]
        if value is not None:
            fields[key] = value
    return fields
