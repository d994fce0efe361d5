"""Triangles of callers as the core takes them: by columns, checked."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._device import host_copy
from ._matrix import MOST_ROWS, all_finite, as_csr, as_sparse
from ._native import core
from .errors import BadArgument
from .log import logger


class Columns:
    """A triangle by columns, an upper one transposed: columns sorted, in memory of its own, by so many threads.

    Attributes
    ----------
    begin : ndarray, shape (n + 1,), int64
    rows : ndarray, shape (nnz,), int32
    values : ndarray, shape (nnz,), float32, float64 or complex128
    form : str
        ``csc`` or ``csr`` if bare values stand in the order of such a matrix, or empty.
    """

    def __init__(self, matrix: Any, *, lower: bool, threads: int = 0) -> None:
        source = as_sparse(host_copy(matrix, "the triangle"))
        n, columns = source.shape
        if n != columns:
            raise BadArgument(f"the triangle is {n} x {columns}, and must be square")
        if n == 0:
            raise BadArgument("the triangle is empty (0 x 0)")
        if n > MOST_ROWS:
            raise BadArgument(f"the triangle has {n:,} rows, and this version numbers them with 32 bits")
        kind = kind_of(source.dtype)
        made = source.asformat("csc" if lower else "csr")
        self.n, self.lower = n, lower
        self._places: tuple[np.ndarray | None] | None = None
        moved, unique = self._take(made, kind, threads)
        in_order = not moved if made is source else getattr(source, "has_sorted_indices", False)
        simple = source is matrix and source.format in ("csc", "csr") and source.nnz == len(source.data)
        self.form = source.format if simple and unique and in_order else ""
        self._check()

    def _take(self, made: Any, kind: Any, threads: int) -> tuple[bool, bool]:
        """Whether entries were out of order, and whether none stood twice; those that did are one now, their sum."""
        self.begin = made.indptr.astype(np.int64)
        entries = slice(int(self.begin[-1]))  # SciPy's arrays may be longer
        rows = np.ascontiguousarray(made.indices[entries], dtype=np.int32)
        values = np.ascontiguousarray(made.data[entries], dtype=kind)
        # in memory of its own: what was checked cannot be changed
        self.rows, self.values, moved, unique = core().sorted_columns(self.begin, rows, values, threads)
        if not unique:
            summed = made.asformat("csr" if self.lower else "csc").asformat(
                made.format
            )  # sorts, in linear time
            summed.sum_duplicates()
            self.begin = summed.indptr.astype(np.int64)
            self.rows, self.values = summed.indices.astype(np.int32), summed.data.astype(kind)
        return moved, unique

    def _check(self) -> None:
        filled = np.flatnonzero(np.diff(self.begin))
        first = self.rows[self.begin[filled]]
        wrong = np.flatnonzero(first < filled)
        if len(wrong):
            place = self._place(int(first[wrong[0]]), int(filled[wrong[0]]))
            kind, side = ("lower", "above") if self.lower else ("upper", "below")
            raise BadArgument(
                f"the matrix is not {kind} triangular: there is an entry at {place}, {side} the diagonal"
            )
        self.check_finite(self.values)

    def check_finite(self, values: np.ndarray) -> None:
        """Refuse NaN and infinity, with the place."""
        if all_finite(values):
            return
        bad = int(np.argmin(np.isfinite(values)))
        column = int(np.searchsorted(self.begin, bad, side="right")) - 1
        place = self._place(int(self.rows[bad]), column)
        raise BadArgument(f"the triangle holds {values[bad]} at {place} (counted from 0)")

    def _place(self, row: int, column: int) -> tuple[int, int]:
        return (row, column) if self.lower else (column, row)

    def matrix(self) -> Any:
        """The triangle as a SciPy sparse array, without copies."""
        kind = sp.csc_array if self.lower else sp.csr_array
        return kind((self.values, self.rows, self.begin), shape=(self.n, self.n))

    def same_pattern(self, other: Columns) -> bool:
        return np.array_equal(self.begin, other.begin) and np.array_equal(self.rows, other.rows)

    def spread(self, other: Columns) -> np.ndarray | None:
        """Values of another triangle in this pattern, with zeros where it has no entries; None where it has more."""
        if self.same_pattern(other):
            return other.values.astype(self.values.dtype)
        own, new = self._numbers(), other._numbers()
        at = np.minimum(np.searchsorted(own, new), len(own) - 1)
        if not np.array_equal(own[at], new):
            return None
        values = np.zeros_like(self.values)
        values[at] = other.values
        return values

    def joined(self, other: Columns) -> Columns:
        """Another triangle in the pattern of both, with zeros where only this one has an entry."""
        new = other._numbers()
        all_of_them = np.sort(np.concatenate([self._numbers(), new]))
        all_of_them = all_of_them[np.diff(all_of_them, prepend=-1) > 0]
        made = copy.copy(other)
        made.form, made._places = "", None
        made.begin = np.searchsorted(all_of_them, np.arange(self.n + 1, dtype=np.int64) * self.n).astype(
            np.int64
        )
        made.rows = (all_of_them % self.n).astype(np.int32)
        made.values = np.zeros(len(all_of_them), other.values.dtype)
        made.values[np.searchsorted(all_of_them, new)] = other.values
        return made

    def _numbers(self) -> np.ndarray:
        """Of each entry, in order: n times its column, and its row."""
        columns = np.repeat(np.arange(self.n, dtype=np.int64), np.diff(self.begin))
        return columns * self.n + self.rows

    def new_values(self, values: Any) -> np.ndarray:
        """Other values of this pattern in its order and type, checked: of a matrix or its columns, or bare ones in the
        caller's order.

        Raises
        ------
        BadArgument
            Another pattern, another number or kind of values, NaN or infinity; bare ones whose order is not known.
        """
        if isinstance(values, Columns) or hasattr(values, "tocsc"):
            other = values if isinstance(values, Columns) else Columns(values, lower=self.lower)
            if not self.same_pattern(other):
                raise BadArgument("the new triangle has another pattern than the one that was set up")
            if other.values.dtype.kind == "c" and self.values.dtype.kind == "f":
                raise BadArgument("the new triangle is complex, and the one that was set up is real")
            return other.values.astype(self.values.dtype, copy=False)
        if not self.form:
            raise BadArgument(
                "the order of bare values is known only for a CSR or CSC matrix with sorted indices and no "
                "duplicates: give update the matrix itself"
            )
        data = np.asarray(values)
        dtype = self.values.dtype
        kinds, wanted = ("fiubc", "numbers") if dtype.kind == "c" else ("fiub", "real numbers")
        if data.dtype.kind not in kinds or data.shape != self.values.shape:
            raise BadArgument(
                f"the new values must be {len(self.values):,} {wanted}, not {data.dtype} of shape {data.shape}"
            )
        if self._places is None:
            self._places = (self.places(),)
        (places,) = self._places
        new: np.ndarray = data.astype(dtype) if places is None else data[places].astype(dtype)
        self.check_finite(new)
        return new

    def places(self) -> np.ndarray | None:
        """Where each value stands among the caller's bare ones; None: they have one order."""
        own = "csc" if self.lower else "csr"
        if self.form == own:
            return None
        numbers = sp.csc_array((np.arange(len(self.rows)), self.rows, self.begin), shape=(self.n, self.n))
        order = numbers.tocsr().data  # of a value in the other format: its place here
        there = np.empty_like(order)
        there[order] = np.arange(len(order))
        return there


def kind_of(dtype: np.dtype) -> Any:
    """The type in which triangles with such entries are solved; the log says what is widened."""
    if dtype.kind not in "fiubc":
        raise BadArgument(f"the triangle holds {dtype}, not numbers")
    if dtype == np.complex64:
        logger.info("the triangle is complex64: solved in complex128")
    if dtype.kind == "c":
        return np.complex128
    return np.float32 if dtype == np.float32 else np.float64


def rows_and_kind(A: Any) -> tuple[Any, Any]:
    """A matrix by its rows in double precision, checked, and the type that it is to be factored and solved in."""
    given = host_copy(A, "the matrix")
    kind = kind_of(given.dtype if sp.issparse(given) else np.asarray(given).dtype)
    return as_csr(given).matrix(), kind
