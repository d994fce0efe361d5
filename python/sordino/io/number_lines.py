"""Text files made of lines of numbers; whatever is wrong with one is said with its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import FileError, shown
from ..report.words import count
from .opening import opened


class NumberLines:
    """The lines of a file, ``.gz`` included, from the first on; blank ones do not count.

    Parameters
    ----------
    name : str
        A file that can be read.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        with opened(name) as stream:
            lines = stream.read().split(b"\n")
        self._lines = [(number, line) for number, line in enumerate(lines, 1) if not line.isspace() and line]
        self._at = 0

    @property
    def left(self) -> int:
        """Lines that have not been taken."""
        return len(self._lines) - self._at

    def words(self, what: str) -> list[bytes]:
        """The next line as words; `what` it is to hold, for the message where the file has ended."""
        if not self.left:
            raise FileError(f"{self.name} ends after line {self._end()}, where {what} is missing")
        self._at += 1
        return self._lines[self._at - 1][1].split()

    def count(self, what: str) -> int:
        """The next line as one whole number, at least 0."""
        words = self.words(what)
        if len(words) != 1 or not words[0].isdigit() or len(words[0]) > 18:
            raise self.wrong(f"is {_quoted(words)}, where {what} is to stand: one whole number")
        return int(words[0])

    def table(self, rows: int, columns: int, kind: Callable[[bytes], Any], what: str) -> np.ndarray:
        """So many lines with so many numbers each, shape (rows, columns).

        Parameters
        ----------
        kind : :func:`whole` or :func:`real`
        what : str
            What a line stands for, in singular, for the messages: ``"node"``.
        """
        if rows > self.left:
            raise FileError(
                f"{self.name} ends after line {self._end()}, in the middle: {self.left:,} of {rows:,} {what}s are there"
            )
        numbers: list[Any] = []
        for _ in range(rows):
            words = self.words(what)
            try:
                if len(words) != columns:
                    raise ValueError
                numbers.extend(map(kind, words))
            except ValueError:
                wanted = count(columns, "whole number" if kind is whole else "number")
                raise self.wrong(f"is {_quoted(words)}, where a {what} is to stand: {wanted}") from None
        try:
            return np.array(numbers, dtype=np.int64 if kind is whole else np.float64).reshape(rows, columns)
        except OverflowError:
            raise FileError(f"{self.name} has a {what} with a number beyond 2^63") from None

    def rest(self, kind: Callable[[bytes], Any], what: str) -> list[Any]:
        """All numbers of the lines that are left."""
        numbers: list[Any] = []
        while self.left:
            words = self.words(what)
            try:
                numbers.extend(map(kind, words))
            except ValueError:
                raise self.wrong(f"is {_quoted(words)}, where {what} is to stand: numbers") from None
        return numbers

    def wrong(self, said: str) -> FileError:
        """An error in the line that was taken last."""
        return FileError(f"{self.name}, line {self._last()} {said}")

    def _last(self) -> int:
        return self._lines[self._at - 1][0] if self._at else 0

    def _end(self) -> int:
        return self._lines[-1][0] if self._lines else 0


def real(word: bytes) -> float:
    """A finite number, also with the D of Fortran's exponents; ValueError for anything else."""
    value = float(word.replace(b"D", b"E").replace(b"d", b"e"))
    if b"_" in word or not np.isfinite(value):
        raise ValueError
    return value


def whole(word: bytes) -> int:
    """A whole number; ValueError for anything else, also for the 1_000 of Python."""
    if b"_" in word:
        raise ValueError
    return int(word)


def _quoted(words: list[bytes]) -> str:
    return shown(b" ".join(words).decode("ascii", "replace"))
