"""What the entries of a matrix say of it, to rounding, as the core looks at them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ._hmatrix import product_of
from ._matrix import CsrArrays

_ROUNDING = 1e-12  # relative, as in the core
_SUMS_ROUNDING = 1e-6
_SAMPLE = 4096
_PART = 1 << 16  # entries that are compared at once: they stay in a cache


def is_hermitian(rows: CsrArrays) -> bool:
    """Whether A^H = A, entry by entry; for real entries, whether A is symmetric. Cost: O(nnz), and a matrix."""
    return _is_image(rows, rows.matrix().conj().T)


def is_symmetric(rows: CsrArrays) -> bool:
    """Whether A^T = A, entry by entry. Cost: O(nnz), and a matrix."""
    return _is_image(rows, rows.matrix().T)


def _is_image(rows: CsrArrays, image: Any) -> bool:
    """Whether both have the same entries; three more matrices where their patterns differ."""
    B = image.tocsr()
    if np.array_equal(rows.indptr, B.indptr) and np.array_equal(rows.indices, B.indices):
        parts = (slice(low, low + _PART) for low in range(0, rows.nnz, _PART))
        return all(_are_near(rows.data[part], B.data[part]) for part in parts)
    A = rows.matrix()
    return bool((abs(A - B) - _ROUNDING * abs(A)).max() <= 0)


def _are_near(ours: np.ndarray, theirs: np.ndarray) -> bool:
    return bool((np.abs(ours - theirs) <= _ROUNDING * np.abs(ours)).all())


def looks_asymmetric(rows: CsrArrays) -> bool:
    """Whether one of some 4,096 entries has no mirror image; up to so many, all are looked at. Cost: that of these.

    An entry may differ from its image by the rounding of a sum of many others.
    """
    few = rows.nnz <= _SAMPLE
    at = np.arange(rows.nnz) if few else np.random.default_rng(0).integers(0, rows.nnz, _SAMPLE)
    row, column = np.searchsorted(rows.indptr, at, side="right") - 1, rows.indices[at]
    low, high = rows.indptr[column], rows.indptr[column + 1]
    while (low < high).any():  # all searches at once
        middle = (low + high) // 2
        before = (low < high) & (rows.indices[np.minimum(middle, rows.nnz - 1)] < row)
        low, high = np.where(before, middle + 1, low), np.where(before | (low >= high), high, middle)
    image = np.minimum(low, rows.nnz - 1)
    there = (low < rows.indptr[column + 1]) & (rows.indices[image] == row)
    mirrored = np.where(there, rows.data[image], 0.0)
    return bool((np.abs(mirrored - rows.data[at]) > _SUMS_ROUNDING * np.abs(rows.data[at])).any())


def is_asymmetric_hmatrix(native: Any) -> bool:
    """Whether an H-matrix of the core's differs from its transpose by more than its compression explains.

    Of random x and y, (y, H x) - (x, H y) has the standard deviation norm(H - H^T). Cost: a pass over the matrix.
    """
    facts = native.statistics()
    x = np.random.default_rng(0).standard_normal((native.size(), 2))
    y = product_of(native, x)
    skew = abs(x[:, 1] @ y[:, 0] - x[:, 0] @ y[:, 1])
    return bool(skew > 10 * max(facts["compression_error"], _ROUNDING) * facts["norm"])


def maps_ones_to_zero(rows: CsrArrays) -> bool:
    """Whether A maps the constant vector to zero, beside its largest row.

    Cost: where a row of a sample has another sum, that of the sample and of a look at all entries; else O(nnz), and a
    matrix.
    """
    if not rows.nnz or _has_another_sum(rows):
        return False
    largest = float(abs(rows.matrix()).sum(axis=1).max())
    return largest > 0 and float(np.abs(rows.product(np.ones(rows.n))).max()) <= _ROUNDING * largest


def closed_parts(
    rows: CsrArrays, null: np.ndarray, places: np.ndarray | None = None
) -> tuple[list[tuple[int, int]], int]:
    """The connected parts of A whose rows add up to zero, beside the part's largest row.

    A maps to zero what is 1 on one of these and 0 elsewhere: the constant vector, where one has all rows.
    Cost: O(nnz), and two matrices; of k given vectors O(n k^2), and of p parts O(p k^2).

    Parameters
    ----------
    rows : CsrArrays
    null : ndarray, shape (k, n)
        What A is known to map to zero.
    places : ndarray, shape (n,), optional
        What the caller calls each row, if that is not its number here.

    Returns
    -------
    found : list of (int, int)
        How many rows each has, and its first one, by that.
    known : int
        Of the dimensions of what A maps to zero so, those that `null` spans.
    """
    A = rows.matrix()
    pattern = type(A)((np.ones(A.nnz), A.indices, A.indptr), A.shape)
    parts, part = connected_components(pattern, directed=False)
    largest, sums = np.zeros(parts), np.zeros(parts)
    np.maximum.at(largest, part, abs(A).sum(axis=1))
    np.maximum.at(sums, part, np.abs(rows.product(np.ones(rows.n))))
    closed = sums <= _ROUNDING * largest
    first = np.full(parts, rows.n)
    np.minimum.at(first, part, np.arange(rows.n) if places is None else places)
    found = sorted(
        zip(np.bincount(part)[closed].tolist(), first[closed].tolist(), strict=True), key=lambda each: each[1]
    )
    return found, _common(part, closed, null)


def _common(part: np.ndarray, closed: np.ndarray, null: np.ndarray) -> int:
    """In how many dimensions vectors, shape (k, n), and those that are 1 on a closed part and 0 elsewhere are the same.

    These are directions with an angle of 0 between them: its cosine is a singular value of a product of two bases.
    """
    numbers, n = np.cumsum(closed) - 1, len(part)
    inside = np.flatnonzero(closed[part])
    if not len(null) or not len(inside):
        return 0
    ones = csr_array((np.ones(len(inside)), (numbers[part[inside]], inside)), (int(closed.sum()), n))
    lengths = np.sqrt(ones.sum(axis=1))
    cosines = np.linalg.svd((ones @ np.linalg.qr(null.T)[0]) / lengths[:, None], compute_uv=False)
    return int((cosines > 1 - _SUMS_ROUNDING).sum())


def _has_another_sum(rows: CsrArrays) -> bool:
    """Whether a row of a sample does not add up to zero, beside the most to which magnitudes of a row may add up."""
    data = rows.data.view(np.float64) if rows.complex else rows.data
    parts = 2 if rows.complex else 1
    most = parts * int(np.diff(rows.indptr).max()) * max(float(data.max()), -float(data.min()))
    chosen = np.random.default_rng(0).integers(0, rows.n, min(rows.n, _SAMPLE))
    sums = (rows.data[rows.indptr[row] : rows.indptr[row + 1]].sum() for row in chosen)
    return any(abs(total) > _ROUNDING * most for total in sums)
