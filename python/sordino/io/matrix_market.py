"""Matrix Market files.

SciPy's reader does the work, in parallel. It trusts the file in places where a silently
wrong matrix would come out (``1.0D+02`` is read as 1, ``1,5`` as 1, a symmetric file with
both triangles is summed), so header and body are checked first, in one pass over the bytes.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from ..errors import FileError, shown
from .opening import GZIP_MAGIC, GZIP_MAX_RATIO, opened

BANNER = b"%%MatrixMarket"
_FIELDS = ("real", "double", "integer", "unsigned-integer", "complex", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_CHUNK = 1 << 22
_PLUS = re.compile(rb"(?<=[ \t\r\n])\+")
_LONGEST = 1 << 12  # of the line of sizes

# The body is checked by the kinds of its characters and of their pairs.
_BLANK, _DIGIT, _SIGN, _POINT, _EXPONENT, _STRANGE = range(6)
_SORTS = {_BLANK: b" \t\r\n", _DIGIT: b"0123456789", _SIGN: b"+-", _POINT: b".", _EXPONENT: b"eE"}
_KIND = bytes(next((kind for kind, sort in _SORTS.items() if char in sort), _STRANGE) for char in range(256))
_FINE, _BEGIN, _WRONG = range(3)


def _pairs(wrong: str, begin: str = "") -> bytes:
    """What each pair of kinds (first * 6 + second, as bytes) means; pairs are written as in ``1+ e.``."""

    def codes(pairs: str) -> set[int]:
        return {
            6 * _KIND[ord(pair[0])] + _KIND[ord(pair[1])]
            for pair in pairs.replace("_", " ").split(",")
            if pair
        }

    bad, good = codes(wrong), codes(begin)
    return bytes(_WRONG if code in bad else _BEGIN if code in good else _FINE for code in range(256))


_NEIGHBOURS = _pairs("1+,.+,++,+_,+e,e_,e.,ee,_e", "_1,_+,_.")
_WITHOUT_DIGITS = _pairs("..,e.,ee")  # the same text, its digits taken out
_POINT_IN_EXPONENT = bytes((_EXPONENT, _SIGN, _POINT))


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
            return self.entries * self.entry
        n = self.rows
        triangle = n * (n + 1) // 2
        full = {"symmetric": triangle, "hermitian": triangle, "skew-symmetric": n * (n - 1) // 2}
        return full.get(self.symmetry, self.rows * self.columns) * self.entry

    @property
    def entry(self) -> int:
        """How many words an entry has: its row and column where they are given, and its value."""
        value = {"pattern": 0, "complex": 2}.get(self.field, 1)
        return value + (2 if self.layout == "coordinate" else 0)


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
        plain = _scan_body(name, stream, header)
    try:
        with np.errstate(invalid="ignore"):  # a skew-symmetric infinity is refused where it is used
            if plain and name.endswith((".gz", ".bz2")) == _is_compressed(name):
                matrix = scipy.io.mmread(name)
            else:
                with opened(name) as stream:
                    matrix = scipy.io.mmread(_Mended(stream))
        return (sp.coo_array(matrix) if sp.issparse(matrix) else matrix), header
    except (ValueError, OverflowError, EOFError, OSError) as error:
        text = shown(str(error).rstrip("."), 150)[1:-1]
        raise FileError(f"{name} is not a valid Matrix Market file ({text})") from None
    except MemoryError:
        raise FileError(f"{name} does not fit into the memory of this machine") from None


class _Mended:
    """A text as SciPy's reader needs it: no plus before a number, and a newline at the end.

    It refuses ``+1.5``, and may read beyond a last line without a newline.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._last = b""
        self._ended = False

    def read(self, size: int = -1) -> bytes:
        """The next bytes, of the same number as in the file."""
        chunk = self._stream.read(size)
        if chunk:
            mended = _PLUS.sub(b" ", self._last + chunk)[len(self._last) :]
            self._last = chunk[-1:]
            return mended
        chunk, self._ended = b"" if self._ended else b"\n", True
        return chunk


def _is_compressed(name: str) -> bool:
    with open(name, "rb") as raw:
        return raw.read(2) == GZIP_MAGIC


def _read_header(name: str, stream: IO[bytes]) -> Header:
    line = stream.readline(1024)
    if not line.startswith(BANNER):
        raise FileError(
            f"{name} is not a Matrix Market file: its first line does not begin with {BANNER.decode()}"
        )
    words = [word.decode("ascii", "replace").lower() for word in line.split()[1:]]
    if len(words) < 4 or words[0] != "matrix" or words[1] not in ("coordinate", "array"):
        raise FileError(
            f"{name} has a malformed header: '%%MatrixMarket matrix coordinate real general' "
            "is the form of its first line"
        )
    layout, field, symmetry = words[1:4]
    if field not in _FIELDS or symmetry not in _SYMMETRIES or (layout == "array" and field == "pattern"):
        raise FileError(f"{name} has a malformed header: it does not know {shown(' '.join(words[1:4]))}")
    if symmetry == "hermitian" and field != "complex":
        raise FileError(
            f"{name} has a malformed header: it is called hermitian, and {field} instead of complex"
        )
    return _size_line(name, stream, layout, field, symmetry)


def _size_line(name: str, stream: IO[bytes], layout: str, field: str, symmetry: str) -> Header:
    line = _first_after_comments(stream)
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


def _first_after_comments(stream: IO[bytes]) -> bytes:
    """The first line that is neither a comment nor blank; of lines of any length no more than a piece is kept."""
    line = stream.readline(_LONGEST)
    while line:
        comment, piece = line.startswith(b"%"), line
        if not comment and line.strip():
            return line if len(line) < _LONGEST else b""
        while piece and not piece.endswith(b"\n"):
            piece = stream.readline(_LONGEST)
            if not comment and piece.strip():
                return b""
        line = stream.readline(_LONGEST)
    return b""


def _check_size(name: str, header: Header) -> None:
    """Refuse promises that the file cannot keep, before anything of that size is allocated."""
    size = os.path.getsize(name)
    room = size * (GZIP_MAX_RATIO if _is_compressed(name) else 1)
    if 2 * header.words > room + 2:
        raise FileError(
            f"{name} is truncated: its header promises {header.entries:,} entries, "
            f"which cannot be in {size:,} bytes"
        )


def _scan_body(name: str, stream: IO[bytes], header: Header) -> bool:
    """One pass over the numbers: well-formed ones only, and as many as promised; whether SciPy takes all as it is."""
    words, tail, skeleton_tail, last, plus = 0, bytes((_BLANK,)), b"", b"\n", False
    while chunk := stream.read(_CHUNK):
        plus = plus or _has_plus(last + chunk)
        last = chunk[-1:]
        kinds = chunk.translate(_KIND)
        if _STRANGE in kinds:
            raise FileError(f"{name} has {_what(chunk[kinds.index(_STRANGE) :][:1])}")
        skeleton = skeleton_tail + kinds.translate(None, bytes((_DIGIT,)))
        neighbours = _meanings(tail + kinds, _NEIGHBOURS)
        if (
            _WRONG in neighbours
            or _WRONG in _meanings(skeleton, _WITHOUT_DIGITS)
            or _POINT_IN_EXPONENT in skeleton
        ):
            raise FileError(f"{name} has something that is no number between its numbers")
        if _has_fractions(header, tail + kinds, words):
            raise FileError(f"{name} has a decimal point or an exponent in a number that must be whole")
        words += neighbours.count(_BEGIN)
        tail, skeleton_tail = kinds[-1:], skeleton[-2:]
    if tail[0] in (_SIGN, _EXPONENT) or words < header.words:
        raise FileError(
            f"{name} is truncated: {header.words:,} numbers are promised by its header, {words:,} are there"
        )
    if words > header.words:
        raise FileError(
            f"{name} holds more than its header promises: {words:,} numbers instead of {header.words:,}"
        )
    return last == b"\n" and not plus


def _has_fractions(header: Header, kinds: bytes, words: int) -> bool:
    """Whether a row, a column or an integer has a point or an exponent; `words` begin before `kinds[1]`."""
    sorts = np.frombuffer(kinds, dtype=np.uint8)
    places = np.flatnonzero((sorts[1:] == _POINT) | (sorts[1:] == _EXPONENT))
    if header.field in ("integer", "pattern") or not places.size or header.layout != "coordinate":
        return bool(places.size) and header.field in ("integer", "pattern")
    begins = np.flatnonzero((sorts[:-1] == _BLANK) & (sorts[1:] != _BLANK))
    number = words + np.searchsorted(begins, places, side="right") - 1  # of the word, from 0 on
    return bool(np.any(number % header.entry < 2))


def _has_plus(text: bytes) -> bool:
    return any(pair in text for pair in (b" +", b"\n+", b"\t+", b"\r+"))


def _meanings(kinds: bytes, table: bytes) -> bytes:
    codes = np.frombuffer(kinds, dtype=np.uint8)
    return (codes[:-1] * np.uint8(6) + codes[1:]).tobytes().translate(table)


def _what(char: bytes) -> str:
    if char in b"dD":
        return "numbers in Fortran's D notation; write them with E"
    if char in b"nNiI":
        return "NaN or infinity among its numbers"
    if char == b",":
        return "commas; numbers are separated by blanks and have a decimal point"
    if char == b"%":
        return "comments between its entries"
    return f"a byte that belongs to no number (0x{char.hex()})"


def check_symmetric_storage(name: str, header: Header, matrix: Any) -> None:
    """Refuse a symmetric file that stores a position twice, as one with both triangles does.

    Cost: one conversion to CSR; a sort where there are more rows than entries, which promise no such memory.
    """
    if header.symmetry == "general" or not sp.issparse(matrix):
        return
    if _stores_twice(matrix):
        raise FileError(
            f"{name} is called {header.symmetry} in its header, but stores some positions twice "
            "(only one triangle may be given)"
        )


def _stores_twice(matrix: Any) -> bool:
    if matrix.shape[0] <= matrix.nnz:
        return bool(sp.csr_array(matrix).nnz != matrix.nnz)
    row, col = matrix.coords
    order = np.lexsort((col, row))
    same = (np.diff(row[order]) == 0) & (np.diff(col[order]) == 0)
    return bool(same.any())
