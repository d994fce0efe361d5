"""Harwell-Boeing files: assembled matrices of any symmetry, with right-hand sides, as Fortran programs wrote them.

The form is that of Duff, Grimes and Lewis, "Users' guide for the Harwell-Boeing sparse matrix collection" (1992):
four or five header lines, then column pointers, row indices, values and right-hand sides in Fortran formats of fixed
width.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import IO

import numpy as np
import scipy.sparse as sp

from ..errors import FileError, shown
from .opening import opened

_FORMAT = re.compile(
    rb"\(\s*(?:([+-]?\d+)\s*P\s*,?\s*)?(\d*)\s*([IEDFG])\s*(\d+)(?:\.(\d+))?(?:E\d+)?\s*\)", re.IGNORECASE
)
_KINDS = re.compile(rb"[RCP][SUHZR][AE]", re.IGNORECASE)
#: Longer lines, and larger numbers of anything, are no Harwell-Boeing file.
_LONGEST, _MOST = 1 << 12, 1 << 40
#: What numbers are made of; Python would read more as one: 1_000, infinity.
_DIGITS = b" \t0123456789+-"
_LETTERS = _DIGITS + b".eEdD"


@dataclass(frozen=True)
class Content:
    """What a file holds: the matrix, right-hand sides of shape (rows, k) or None, and what was left out."""

    matrix: sp.csc_array
    rhs: np.ndarray | None
    notes: tuple[str, ...]
    pattern: bool  # without values: all are 1


@dataclass(frozen=True)
class _Format:
    repeat: int
    letter: str
    width: int
    decimals: int
    scale: int


@dataclass(frozen=True)
class _Header:
    kind: str
    lines: tuple[int, int, int, int]  # of pointers, indices, values, right-hand sides
    rows: int
    columns: int
    entries: int
    formats: tuple[bytes, bytes, bytes, bytes]
    rhs_kind: str
    rhs_count: int


def recognises(start: bytes) -> bool:
    """Whether a file that begins so has the header lines of this form."""
    lines = start.replace(b"\r\n", b"\n").split(b"\n")
    if len(lines) < 4:
        return False
    counts = _fields(lines[1], 14, 4)
    return (
        _KINDS.match(lines[2][:3]) is not None
        and all(field.isdigit() for field in counts)
        and b"(" in lines[3]
    )


def read(name: str) -> Content:
    """Read a file, also compressed by gzip.

    Raises
    ------
    FileError
        With one sentence for whatever is wrong with the file, or not read here: finite elements that are not assembled,
        right-hand sides in sparse form.
    """
    with opened(name) as stream:
        header = _header(stream, name)
        pointers = _integers(
            stream, name, header.formats[0], header.columns + 1, header.lines[0], "column pointers"
        )
        indices = _integers(stream, name, header.formats[1], header.entries, header.lines[1], "row indices")
        values = _values(stream, name, header)
        matrix = _assembled(name, header, pointers, indices, values)
        rhs, notes = _right_hand_sides(stream, name, header)
    return Content(matrix, rhs, notes, header.kind[0] == "P")


def _header(stream: IO[bytes], name: str) -> _Header:
    lines = [_line(stream, name) for _ in range(4)]
    counts = [_count(name, field, "line 2") for field in _fields(lines[1], 14, 5)]
    counts += [0] * (5 - len(counts))
    kind = lines[2][:3].decode("ascii", "replace").upper()
    if not _KINDS.match(lines[2][:3]):
        raise FileError(
            f"{name}: the kind of the matrix in line 3 is {shown(kind)}, which is none of Harwell-Boeing's"
        )
    if kind[2] == "E":
        raise FileError(f"{name} holds finite elements that are not assembled: assemble them first")
    sizes = [_count(name, field, "line 3") for field in _fields(lines[2][14:], 14, 3)]
    if len(sizes) < 3:
        raise FileError(f"{name}: line 3 does not give rows, columns and entries")
    formats = lines[3].ljust(72)
    rhs_line = _line(stream, name) if counts[4] > 0 else b""
    rhs_counts = _fields(rhs_line[14:], 14, 1) if rhs_line else []
    return _Header(
        kind=kind,
        lines=(counts[1], counts[2], counts[3], counts[4]),
        rows=sizes[0],
        columns=sizes[1],
        entries=sizes[2],
        formats=(formats[:16], formats[16:32], formats[32:52], formats[52:72]),
        rhs_kind=rhs_line[:3].decode("ascii", "replace").upper(),
        rhs_count=_count(name, rhs_counts[0], "line 5") if rhs_counts else 0,
    )


def _fields(line: bytes, width: int, most: int) -> list[bytes]:
    """Numbers of a header line: of fixed width, and where a writer kept to no columns, words."""
    fixed = [line[at : at + width].strip() for at in range(0, min(len(line.rstrip()), width * most), width)]
    if all(len(field.split()) == 1 for field in fixed):
        return fixed
    return line.split()[:most]


def _count(name: str, field: bytes, where: str) -> int:
    if not field.isdigit() or int(field) >= _MOST:
        text = field.decode("ascii", "replace")
        raise FileError(f"{name}: {where} has {shown(text)} where a number of lines, rows or entries belongs")
    return int(field)


def _line(stream: IO[bytes], name: str) -> bytes:
    line = stream.readline(_LONGEST)
    if not line:
        raise FileError(f"{name} is cut short: it ends where more lines of a Harwell-Boeing file belong")
    if len(line) == _LONGEST:
        raise FileError(f"{name} is no Harwell-Boeing file: a line is longer than {_LONGEST - 1} characters")
    return line.rstrip(b"\r\n")


def _format(name: str, text: bytes, what: str) -> _Format:
    found = _FORMAT.fullmatch(text.strip())
    word = text.strip().decode("ascii", "replace")
    if not found:
        raise FileError(
            f"{name}: the format {shown(word)} of its {what} is not a Fortran format such as (16I5) or (4E20.12)"
        )
    scale, repeat, letter, width, decimals = found.groups()
    made = _Format(int(repeat or 1), letter.decode().upper(), int(width), int(decimals or 0), int(scale or 0))
    if not (
        1 <= made.width <= 64
        and 1 <= made.repeat * made.width < _LONGEST
        and max(made.decimals, abs(made.scale)) <= 64
    ):
        raise FileError(f"{name}: the format {shown(word)} of its {what} makes no sense")
    return made


def _words(stream: IO[bytes], name: str, form: _Format, count: int, what: str, letters: bytes) -> np.ndarray:
    """The next `count` fields of fixed width, as byte strings; a ValueError if there are other letters in them."""
    per_line = form.repeat
    lines = math.ceil(count / per_line)
    pieces = []
    for k in range(lines):
        here = min(per_line, count - k * per_line)
        line = _line(stream, name)[: here * form.width]
        if (
            len(line.rstrip()) <= (here - 1) * form.width
        ):  # here, before a file of blank lines fills the memory
            raise FileError(f"{name}: a field of its {what} is empty")
        pieces.append(line.ljust(here * form.width))
    text = b"".join(pieces)
    if text.translate(None, letters):
        raise ValueError
    if not text:
        return np.empty(0, dtype="S1")
    fields = np.char.strip(np.frombuffer(text, dtype=f"S{form.width}"))
    if not np.all(np.char.str_len(fields)):
        raise FileError(f"{name}: a field of its {what} is empty")
    return fields


def _integers(stream: IO[bytes], name: str, text: bytes, count: int, lines: int, what: str) -> np.ndarray:
    form = _format(name, text, what)
    if form.letter != "I":
        raise FileError(f"{name}: its {what} have a format that is not of whole numbers")
    if count > lines * form.repeat:
        raise FileError(f"{name}: {count} {what} do not fit on the {lines} lines that its header gives them")
    try:
        return _words(stream, name, form, count, what, _DIGITS).astype(np.int64)
    except (ValueError, OverflowError):
        raise FileError(f"{name}: one of its {what} is not a whole number") from None


def _reals(stream: IO[bytes], name: str, text: bytes, count: int, lines: int, what: str) -> np.ndarray:
    form = _format(name, text, what)
    if count > lines * form.repeat:
        raise FileError(f"{name}: {count} {what} do not fit on the {lines} lines that its header gives them")
    if count == 0:
        return np.empty(0)
    if form.letter == "I":
        form = _Format(form.repeat, "F", form.width, 0, 0)
    try:
        words = np.char.upper(_words(stream, name, form, count, what, _LETTERS))
        return _read_as(form, np.char.replace(words, b"D", b"E"))
    except OverflowError:
        raise FileError(f"{name}: one of its {what} is not a finite number") from None
    except ValueError:
        raise FileError(f"{name}: one of its {what} is not a number") from None


def _read_as(form: _Format, words: np.ndarray) -> np.ndarray:
    """Values of fields in capital letters; ValueError and OverflowError for what is no number or no finite one."""
    exponent = np.char.find(words, b"E") >= 0
    # Fortran may leave out the letter of an exponent: 1.25-103.
    signs = np.array([re.search(rb"[0-9.][+-]", word) is not None for word in words[~exponent]], dtype=bool)
    if signs.any():
        bare = np.flatnonzero(~exponent)[signs]
        longer = words.astype(f"S{form.width + 1}")
        longer[bare] = [re.sub(rb"(?<=[0-9.])([+-])", rb"E\1", word) for word in words[bare]]
        words, exponent[bare] = longer, True
    implied = np.char.find(words, b".") < 0
    with np.errstate(over="ignore"):
        values = words.astype(np.float64)
        values[implied] *= 10.0**-form.decimals
        if form.scale and not exponent.all():
            values[~exponent] *= 10.0**-form.scale
    if not np.isfinite(values).all():
        raise OverflowError
    return values


def _values(stream: IO[bytes], name: str, header: _Header) -> np.ndarray:
    if header.kind[0] == "P":
        return np.ones(header.entries)
    if header.lines[2] == 0:
        raise FileError(f"{name} says it has values, and gives them no lines")
    parts = 2 if header.kind[0] == "C" else 1
    values = _reals(stream, name, header.formats[2], header.entries * parts, header.lines[2], "values")
    return values.view(np.complex128) if parts == 2 else values


def _assembled(
    name: str, header: _Header, pointers: np.ndarray, indices: np.ndarray, values: np.ndarray
) -> sp.csc_array:
    if pointers[0] != 1 or pointers[-1] != header.entries + 1 or np.any(np.diff(pointers) < 0):
        raise FileError(
            f"{name}: its column pointers do not rise from 1 to {header.entries + 1}, one past its entries"
        )
    if header.entries and not (indices.min() >= 1 and indices.max() <= header.rows):
        raise FileError(f"{name}: a row index is not between 1 and {header.rows}")
    shape = (header.rows, header.columns)
    stored = sp.csc_array((values, indices - 1, pointers - 1), shape=shape)
    symmetry = header.kind[1]
    if symmetry in "UR":
        return stored
    if _stores_twice(stored):
        raise FileError(f"{name} says it is symmetric, and stores an entry twice")
    if header.rows != header.columns:
        raise FileError(
            f"{name} says it is symmetric, and has {header.rows} rows and {header.columns} columns"
        )
    below = sp.csc_array(sp.tril(stored, -1))
    if sp.triu(stored, 1).nnz and below.nnz:
        raise FileError(f"{name} says it is symmetric, and stores entries on both sides of the diagonal")
    mirrored = stored.T if symmetry == "S" else stored.conj().T if symmetry == "H" else -stored.T
    diagonal = sp.dia_array((stored.diagonal()[None, :], [0]), shape=shape)
    return sp.csc_array(
        stored + mirrored - (diagonal if symmetry == "S" else _own_diagonal(diagonal, symmetry))
    )


def _stores_twice(matrix: sp.csc_array) -> bool:
    once = matrix.copy()
    once.sum_duplicates()
    return bool(once.nnz < matrix.nnz)


def _own_diagonal(diagonal: sp.dia_array, symmetry: str) -> sp.dia_array:
    """What mirroring has added to the diagonal: its conjugate, or its negative."""
    return diagonal.conj() if symmetry == "H" else -diagonal


def _right_hand_sides(
    stream: IO[bytes], name: str, header: _Header
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    if header.lines[3] == 0 or header.rhs_count == 0:
        return None, ()
    if header.rhs_kind[:1] != "F":
        return None, ("its right-hand sides are in sparse form, which is not read",)
    parts = 2 if header.kind[0] == "C" else 1
    count = header.rows * header.rhs_count * parts
    values = _reals(stream, name, header.formats[3], count, header.lines[3], "right-hand sides")
    values = values.view(np.complex128) if parts == 2 else values
    left = [
        what for mark, what in (("G", "first guesses"), ("X", "solutions")) if mark in header.rhs_kind[1:]
    ]
    notes = (f"its {' and '.join(left)} are not read",) if left else ()
    return values.reshape(header.rhs_count, header.rows).T, notes
