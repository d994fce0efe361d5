"""What the entries of a matrix say of it, to rounding, as the core looks at them."""

from __future__ import annotations

import numpy as np

from ._matrix import CsrArrays

_ROUNDING = 1e-12  # relative, as in the core


def is_hermitian(rows: CsrArrays) -> bool:
    """Whether A^H = A, entry by entry; for real entries, whether A is symmetric. Cost: O(nnz), and two matrices."""
    A = rows.matrix()
    return bool((abs(A - A.conj().T) - _ROUNDING * abs(A)).max() <= 0)


def is_symmetric(rows: CsrArrays) -> bool:
    """Whether A^T = A, entry by entry. Cost: O(nnz), and two matrices."""
    A = rows.matrix()
    return bool((abs(A - A.T) - _ROUNDING * abs(A)).max() <= 0)


def maps_ones_to_zero(rows: CsrArrays) -> bool:
    """Whether A maps the constant vector to zero, beside its largest row. Cost: O(nnz), and a matrix."""
    largest = float(abs(rows.matrix()).sum(axis=1).max())
    return largest > 0 and float(np.abs(rows.product(np.ones(rows.n))).max()) <= _ROUNDING * largest
