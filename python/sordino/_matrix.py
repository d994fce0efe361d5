"""From whatever a caller holds to the arrays that the core takes, with every check."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._native import core, translated
from ._numbers import double, is_complex, words
from .errors import BadArgument
from .log import logger

MOST_ROWS = 2**31 - 1
_CHUNK = 1 << 22


@dataclass(frozen=True)
class CsrArrays:
    """A square matrix in compressed rows: sorted columns, no duplicates, float64 or complex128.

    Attributes
    ----------
    indptr : ndarray, shape (n + 1,), int64
    indices : ndarray, shape (nnz,), int32
    data : ndarray, shape (nnz,), float64 or complex128
    n : int
    order_kept : bool
        Whether `data` stands in the order of the caller's own ``A.data``.
    cuts : tuple of int
        The first row of each rank, and n; empty where the core deals rows out.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    n: int
    order_kept: bool
    cuts: tuple[int, ...] = ()

    @property
    def nnz(self) -> int:
        """The number of stored entries."""
        return len(self.data)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`indptr`, `indices` and `data` as the core takes them: complex entries as pairs, shape (2 nnz,)."""
        return self.indptr, self.indices, words(self.data)

    @property
    def complex(self) -> bool:
        """Whether the entries are complex."""
        return is_complex(self.data.dtype)

    def as_complex(self) -> CsrArrays:
        """The same with complex entries; itself if they are."""
        return self if self.complex else replace(self, data=self.data.astype(np.complex128))

    def same_pattern(self, other: CsrArrays) -> bool:
        """Whether both have entries in the same places. Cost: one pass over the indices."""
        return np.array_equal(self.indptr, other.indptr) and np.array_equal(self.indices, other.indices)

    def product(self, x: np.ndarray) -> np.ndarray:
        """A x by SciPy, shape (n,)."""
        return np.asarray(self.matrix() @ x)

    def matrix(self) -> Any:
        """The same as a scipy.sparse.csr_array, sharing entries and columns, if it has fewer than 2^31."""
        starts = (
            self.indptr.astype(np.int32) if self.nnz <= MOST_ROWS else self.indptr
        )  # of one type with columns
        return sp.csr_array((self.data, self.indices, starts), shape=(self.n, self.n))


def as_csr(matrix: Any, *, own: bool = False) -> CsrArrays:
    """Check a matrix and bring it into compressed rows.

    Parameters
    ----------
    matrix : SciPy sparse matrix or array of any format, or dense array, shape (n, n)
        Real or complex numbers; float32 and complex64 are widened and the log says so. Duplicates are summed.
    own : bool
        Whether the result must share no memory with `matrix`, which the caller may change.

    Returns
    -------
    CsrArrays
        Shares memory with `matrix` where that is canonical CSR already, unless `own`.

    Raises
    ------
    BadArgument
        Not a matrix, not square, empty, of no numeric type, NaN or infinity
        inside, indices out of range, diagonals outside, or a row without entries.

    Notes
    -----
    Cost: O(nnz), and a copy unless the matrix is canonical CSR. Of canonical CSR of float64 or complex128 one pass over
    the arrays, on all cores, which makes the copies, too.
    """
    if (taken := _taken(matrix, own)) is not None:
        return taken
    source = as_sparse(matrix)
    rows, columns = source.shape
    if rows != columns:
        raise BadArgument(f"the matrix is {rows} x {columns}, and a system needs a square one")
    if rows == 0:
        raise BadArgument("the matrix is empty (0 x 0)")
    if rows > MOST_ROWS:
        raise BadArgument(f"the matrix has {rows:,} rows, and this version numbers them with 32 bits")
    check_type(source.dtype, "the matrix")
    if source.nnz < rows:
        raise BadArgument(_empty_row_sentence(source))
    order_kept = bool(source.format == "csr" and _is_canonical(source))
    canonical = source if order_kept else _canonical(source)
    data = np.ascontiguousarray(canonical.data, dtype=double(canonical.data.dtype))
    if not all_finite(data):
        raise BadArgument(_not_finite_sentence(canonical))
    indptr = np.ascontiguousarray(canonical.indptr, dtype=np.int64)
    lengths = np.diff(indptr)
    if lengths.min() == 0:
        raise BadArgument(_no_entries(int(np.argmin(lengths))))
    indices = np.ascontiguousarray(canonical.indices, dtype=np.int32)
    if own and order_kept:
        indptr = _apart(indptr, source.indptr)
        indices = _apart(indices, source.indices)
        data = _apart(data, source.data)
    return CsrArrays(indptr, indices, data, rows, order_kept)


def _taken(matrix: Any, own: bool) -> CsrArrays | None:
    """What the core takes as it is, after a look at all of it.

    None of what is to be converted, sorted or refused: for that, and for what is wrong with it, there are other ways.
    """
    if not (sp.issparse(matrix) and matrix.format == "csr" and matrix.ndim == 2):
        return None
    rows, columns = matrix.shape
    held = matrix.indptr, matrix.indices, matrix.data
    if rows != columns or not 0 < rows <= MOST_ROWS:
        return None
    if not all(array.ndim == 1 and array.flags.c_contiguous and array.flags.aligned for array in held):
        return None
    indptr, indices, data = held
    if data.dtype not in (np.float64, np.complex128):
        return None
    with translated():
        copies = core().take_rows(indptr, indices, words(data), rows, 2 if is_complex(data.dtype) else 1, own)
    if copies is None:
        return None
    starts, places, values = (
        theirs if copy is None else copy for theirs, copy in zip(held, copies, strict=True)
    )
    return CsrArrays(starts, places, values.view(data.dtype), rows, order_kept=True)


def _apart(array: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return array.copy() if np.may_share_memory(array, theirs) else array


def as_vector(values: Any, n: int, what: str) -> np.ndarray:
    """Check a vector and bring it into float64, a complex one into complex128.

    Parameters
    ----------
    values : array_like, shape (n,) or (n, 1)
    n : int
    what : str
        What it is, for the error messages: ``"b"``.

    Returns
    -------
    ndarray, shape (n,), float64 or complex128, contiguous; shares memory where it can

    Raises
    ------
    BadArgument
        Wrong length, of no numeric type, NaN or infinity inside.
    """
    dense = values.toarray() if sp.issparse(values) else values
    _check_mask(dense, what)
    try:
        array = np.asarray(dense)
    except (TypeError, ValueError):
        raise BadArgument(f"{what} is not an array of numbers") from None
    check_type(array.dtype, what)
    if array.ndim == 2 and array.shape[1] > 1 and array.shape[0] == n:
        raise BadArgument(f"{what} has {array.shape[1]} columns, and is to be one vector")
    if array.ndim not in (1, 2) or array.size != n or len(array) != n:
        row = f": a vector is ({n},) or ({n}, 1)" if array.shape == (1, n) else ""
        raise BadArgument(f"{what} has shape {array.shape}, and the matrix has {n:,} rows{row}")
    vector = np.ascontiguousarray(array.reshape(-1), dtype=double(array.dtype))
    if not all_finite(vector):
        place = int(np.argmin(np.isfinite(vector)))
        raise BadArgument(f"{what} holds {vector[place]} at position {place} (counted from 0)")
    return vector


def as_columns(values: Any, n: int, what: str) -> list[np.ndarray]:
    """The columns of a vector or of an array of shape (n, k), k >= 1, checked as by :func:`as_vector`."""
    dense = values.toarray() if sp.issparse(values) else values
    if np.ndim(dense) != 2 or np.shape(dense)[0] != n or np.shape(dense)[1] < 2:
        return [as_vector(dense, n, what)]
    _check_mask(dense, what)
    array = np.asarray(dense)
    return [as_vector(array[:, k], n, f"column {k} of {what}") for k in range(array.shape[1])]


def _check_mask(values: Any, what: str) -> None:
    """Refuse masked entries, whose values are nobody's."""
    if np.ma.is_masked(values):
        raise BadArgument(f"{what} has masked entries: say what stands there, as its filled(0) does")


def new_values(values: Any, held: CsrArrays) -> np.ndarray:
    """The values of a matrix with the pattern of `held`, or bare ones in its order: shape (nnz,), of its type."""
    if sp.issparse(values):
        rows = as_csr(values)
        if not rows.same_pattern(held):
            raise BadArgument("the new matrix has another pattern than the one that was set up")
        if rows.complex and not held.complex:
            raise BadArgument("the new matrix is complex, and the one that was set up is real")
        return rows.data
    if not held.order_kept:
        raise BadArgument(
            "the order of bare values is known only for a CSR matrix with sorted columns and no "
            "duplicates: give update_values the matrix itself"
        )
    data = np.asarray(values)
    kinds, wanted = ("fiubc", "numbers") if held.complex else ("fiub", "real numbers")
    if data.dtype.kind not in kinds or data.shape != (held.nnz,):
        raise BadArgument(
            f"the new values must be {held.nnz:,} {wanted}, not {data.dtype} of shape {data.shape}"
        )
    data = np.ascontiguousarray(data, dtype=held.data.dtype)
    if not all_finite(data):
        raise BadArgument("the new values hold NaN or infinity")
    return data


def all_finite(values: np.ndarray) -> bool:
    """Whether no value is NaN or infinite. Cost: one pass, without a temporary in the usual case."""
    values = words(values)
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.add.reduce(values, axis=None)) if values.size else 0.0
    return math.isfinite(total) or bool(np.isfinite(values).all())


def as_sparse(matrix: Any) -> Any:
    """A SciPy sparse matrix of any format, valid, from itself or from a dense array of finite numbers."""
    if sp.issparse(matrix):
        if matrix.ndim != 2:
            raise BadArgument(f"the matrix has {matrix.ndim} dimension, and a system needs two")
        _check_structure(matrix)
        return matrix
    _check_mask(matrix, "the matrix")
    try:
        dense = np.asarray(matrix)
    except (TypeError, ValueError):
        dense = np.empty(0, dtype=object)
    if dense.dtype == object or dense.ndim != 2:
        raise BadArgument(
            "the matrix must be a SciPy sparse matrix or a 2-d array of numbers, "
            f"not {_describe(matrix, dense)}"
        )
    check_type(dense.dtype, "the matrix")
    if not np.isfinite(dense).all():
        raise BadArgument("the matrix holds NaN or infinity")
    return sp.csr_array(dense.astype(double(dense.dtype)) if dense.dtype.kind in "fc" else dense)


def _describe(matrix: Any, dense: np.ndarray) -> str:
    if isinstance(matrix, np.ndarray) and dense.dtype == object:
        return "an array of Python objects"
    if dense.dtype == object or (dense.ndim == 0 and not isinstance(matrix, np.ndarray)):
        kind = type(matrix).__name__
        hints = {"str": ": sordino.read_matrix(path).matrix reads a file", "MatrixFile": ": give its .matrix"}
        return f"a {kind}{hints.get(kind, '')}"
    return f"an array with {dense.ndim} dimension{'' if dense.ndim == 1 else 's'}"


def _check_structure(matrix: Any) -> None:
    if matrix.format == "dia":
        _check_diagonals(matrix)
    try:
        starts = getattr(matrix, "indptr", None)
        if starts is not None and np.any(
            starts[1:] < starts[:-1]
        ):  # SciPy does not look where the last one is <= 0
            raise ValueError("its index pointers fall")
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        text = str(error).split("\n")[0]
        raise BadArgument(f"the matrix is not a valid {matrix.format.upper()} matrix ({text})") from None


def _check_diagonals(matrix: Any) -> None:
    """Refuse entries that no cell of the matrix has, which SciPy drops: of diagonals wholly outside."""
    rows, columns = matrix.shape
    for offset, values in zip(matrix.offsets, matrix.data, strict=False):
        if (offset >= columns or -offset >= rows) and np.any(values):
            raise BadArgument(
                f"the matrix has a diagonal at offset {int(offset)}, which is outside of its {rows} x {columns} cells"
            )


def _is_canonical(csr: Any) -> bool:
    """Sorted columns without duplicates, by looking: SciPy's own flags can be set by anyone."""
    indices, indptr = csr.indices, csr.indptr
    for low in range(0, len(indices) - 1, _CHUNK):
        part = indices[low : low + _CHUNK + 1]
        drops = part[1:] <= part[:-1]  # of entries low + 1, ...
        rows = slice(*np.searchsorted(indptr, [low + 1, low + len(part)]))
        drops[indptr[rows] - (low + 1)] = False  # where a row begins it is right
        if drops.any():
            return False
    return True


def _canonical(source: Any) -> Any:
    csr = source.tocsr(copy=True) if source.format == "csr" else source.tocsr()
    csr = sp.csr_array(csr)
    csr.has_canonical_format = False
    csr.has_sorted_indices = False
    csr.sum_duplicates()
    return csr


def check_type(dtype: np.dtype, what: str) -> None:
    """Refuse what is no number; the log says what is converted."""
    if dtype.kind not in "fiubc":
        raise BadArgument(f"{what} holds {dtype}, not numbers")
    wide = np.dtype(double(dtype))
    if dtype.kind in "fc" and dtype.itemsize != wide.itemsize:
        logger.info("%s is %s: converted to %s, in which this version solves", what, dtype, wide)


def _empty_row_sentence(source: Any) -> str:
    if source.shape[0] > 50_000_000:
        return "the matrix has rows without entries, so it is singular"
    filled = np.zeros(source.shape[0], dtype=bool)
    filled[source.tocoo().row] = True
    return _no_entries(int(np.argmin(filled)))


def _no_entries(row: int) -> str:
    return f"row {row} (counted from 0) of the matrix has no entries, so the matrix is singular"


def _not_finite_sentence(csr: Any) -> str:
    place = int(np.argmin(np.isfinite(csr.data)))
    row = int(np.searchsorted(csr.indptr, place, side="right")) - 1
    return (
        f"the matrix holds {csr.data[place]} in row {row}, column {int(csr.indices[place])} (counted from 0)"
    )
