"""Matrix Market files.

SciPy's reader does the work, in parallel. It trusts the file in places where a silently
wrong matrix would come out (``1.0D+02`` is read as 1, ``1,5`` as 1, a symmetric file with
both triangles is summed), so header and body are checked first, in one pass over the bytes.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import IO, Any

import scipy.io
import scipy.sparse as sp

from ..errors import FileError
from .opening import GZIP_MAX_RATIO, opened

BANNER = b"%%MatrixMarket"
_FIELDS = ("real", "double", "integer", "unsigned-integer", "complex", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_CHUNK = 1 << 22

# The body is checked by the kinds of its characters: d digit, s sign, e exponent, a point, and one kind of blank.
_KINDS = bytes.maketrans(b"0123456789+-E\t\r\n", b"ddddddddddsse   ")
_ALLOWED = b"0123456789+-.eE \t\r\n"
_NO_PAIRS = (b"ds", b".s", b"ss", b"s ", b"se", b"e ", b"e.", b"ee", b" e")
_NO_SKELETONS = (b"..", b"e.", b"ee", b"es.")  # of a number without its digits


@dataclass(frozen=True)
class Header:
    """What the first lines of a Matrix Market file promise."""

    layout: str
    field: str
    symmetry: str
    rows: int
    columns: int
    entries: int

    @property
    def words(self) -> int:
        """How many words the body must have."""
        if self.layout == "coordinate":
            return self.entries * (2 if self.field == "pattern" else 3)
        n = self.rows
        full = {"symmetric": n * (n + 1) // 2, "skew-symmetric": n * (n - 1) // 2}
        return full.get(self.symmetry, self.rows * self.columns)


def read(name: str) -> tuple[Any, Header]:
    """Read a Matrix Market file (``.mtx``, or compressed ``.mtx.gz``).

    Returns
    -------
    matrix : scipy.sparse.coo_array or numpy.ndarray
        Shape (rows, columns), all of a symmetric matrix; an ndarray for the array layout.
    header : Header

    Raises
    ------
    FileError
        With one sentence for whatever is wrong.

    Notes
    -----
    Cost: one pass over the bytes for the checks and one for the numbers.
    """
    with opened(name) as stream:
        header = _read_header(name, stream)
        _check_size(name, header)
        last = _scan_body(name, stream, header)
    try:
        matrix = scipy.io.mmread(name if last == b"\n" else _with_newline(name))
        return (sp.coo_array(matrix) if sp.issparse(matrix) else matrix), header
    except (ValueError, OverflowError, EOFError, OSError) as error:
        text = str(error).rstrip(".")
        raise FileError(f"{name} is not a valid Matrix Market file ({text})") from None
    except MemoryError:
        raise FileError(f"{name} does not fit into the memory of this machine") from None


def _with_newline(name: str) -> IO[bytes]:
    """The text with a newline at its end: SciPy's reader may read beyond a last line that has none."""
    with opened(name) as stream:
        return io.BytesIO(stream.read() + b"\n")


def _read_header(name: str, stream: IO[bytes]) -> Header:
    line = stream.readline(1024)
    if not line.startswith(BANNER):
        raise FileError(
            f"{name} is not a Matrix Market file: its first line does not begin with {BANNER.decode()}"
        )
    words = line.decode("ascii", "replace").lower().split()[1:]
    if len(words) < 4 or words[0] != "matrix" or words[1] not in ("coordinate", "array"):
        raise FileError(
            f"{name} has a malformed header: '%%MatrixMarket matrix coordinate real general' "
            "is the form of its first line"
        )
    layout, field, symmetry = words[1:4]
    if field not in _FIELDS or symmetry not in _SYMMETRIES or (layout == "array" and field == "pattern"):
        raise FileError(f"{name} has a malformed header: it does not know '{layout} {field} {symmetry}'")
    if field == "complex" or symmetry == "hermitian":
        raise FileError(f"{name} is complex, and this version solves real systems only")
    return _size_line(name, stream, layout, field, symmetry)


def _size_line(name: str, stream: IO[bytes], layout: str, field: str, symmetry: str) -> Header:
    line = stream.readline()
    while line and (line.startswith(b"%") or not line.strip()):
        line = stream.readline()
    words = line.split()
    try:
        sizes = [int(word) for word in words]
    except ValueError:
        sizes = []
    wanted = 3 if layout == "coordinate" else 2
    if len(sizes) != wanted or min(sizes) < 0 or max(sizes) >= 2**63:
        shape = "rows, columns and entries" if wanted == 3 else "rows and columns"
        raise FileError(f"{name} has a malformed header: the line after its comments must give {shape}")
    entries = sizes[2] if wanted == 3 else sizes[0] * sizes[1]
    if symmetry != "general" and sizes[0] != sizes[1]:
        raise FileError(f"{name} is called {symmetry} in its header, but is {sizes[0]} x {sizes[1]}")
    return Header(layout, field, symmetry, sizes[0], sizes[1], entries)


def _check_size(name: str, header: Header) -> None:
    """Refuse promises that the file cannot keep, before anything of that size is allocated."""
    size = os.path.getsize(name)
    with open(name, "rb") as raw:
        room = size * (GZIP_MAX_RATIO if raw.read(2) == b"\x1f\x8b" else 1)
    if 2 * header.words > room + 2:
        raise FileError(
            f"{name} is truncated: its header promises {header.entries:,} entries, "
            f"which cannot be in {size:,} bytes"
        )


def _scan_body(name: str, stream: IO[bytes], header: Header) -> bytes:
    """One pass over the numbers: well-formed ones only, and as many as promised; returns the last byte."""
    words, tail, skeleton_tail, last = 0, b" ", b" ", b"\n"
    while chunk := stream.read(_CHUNK):
        last = chunk[-1:]
        kinds = tail + _kinds(name, chunk)
        skeleton = skeleton_tail + kinds[1:].translate(None, b"d")
        if any(pair in kinds for pair in _NO_PAIRS) or any(part in skeleton for part in _NO_SKELETONS):
            raise FileError(f"{name} has something that is no number between its numbers")
        words += sum(kinds.count(start) for start in (b" d", b" s", b" ."))
        tail, skeleton_tail = kinds[-1:], skeleton[-2:]
    if tail in b"se" or words < header.words:
        raise FileError(
            f"{name} is truncated: {header.words:,} numbers are promised by its header, {words:,} are there"
        )
    if words > header.words:
        raise FileError(
            f"{name} holds more than its header promises: {words:,} numbers instead of {header.words:,}"
        )
    return last


def _kinds(name: str, chunk: bytes) -> bytes:
    kinds = chunk.translate(_KINDS)
    strange = chunk.translate(None, _ALLOWED)
    if not strange:
        return kinds
    char = strange[:1]
    if char in b"dD":
        why = "numbers in Fortran's D notation; write them with E"
    elif char in b"nNiI":
        why = "NaN or infinity among its numbers"
    elif char == b",":
        why = "commas; numbers are separated by blanks and have a decimal point"
    elif char == b"%":
        why = "comments between its entries"
    else:
        why = f"a byte that belongs to no number (0x{char.hex()})"
    raise FileError(f"{name} has {why}")


def check_symmetric_storage(name: str, header: Header, matrix: Any) -> None:
    """Refuse a symmetric file that stores a position twice, as one with both triangles does.

    Cost: one conversion to CSR.
    """
    if header.symmetry == "general" or not sp.issparse(matrix):
        return
    csr = sp.csr_array(matrix)
    if csr.nnz != matrix.nnz:
        raise FileError(
            f"{name} is called {header.symmetry} in its header, but stores some positions twice "
            "(only one triangle may be given)"
        )
