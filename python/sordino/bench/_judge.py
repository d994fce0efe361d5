"""Whether a claim of success is true: the residual, recomputed from x in extended precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: A claim is false where the recomputed residual is more than so many times the one that was asked for: rounding, and
#: what is said in small print of norms, explain a factor of two, not of ten.
MARGIN = 10.0


def residual(matrix: Any, b: np.ndarray, x: Any) -> float:
    """``norm(b - A x) / norm(b)``, or ``norm(A x)`` for b = 0; infinity where that is no number.

    Parameters
    ----------
    matrix : scipy.sparse array, shape (n, n)
    b : ndarray, shape (n,)
    x : array_like, shape (n,), or None

    Notes
    -----
    Products and sums are of ``numpy.longdouble``, 64 bits of mantissa on x86, and no square overflows. Cost: some 60
    bytes an entry.
    """
    if x is None:
        return math.inf
    with np.errstate(all="ignore"):
        entries = matrix.tocoo()
        x = np.asarray(x).reshape(-1).astype(np.longdouble)
        left = b.astype(np.longdouble)
        np.subtract.at(left, entries.row, entries.data.astype(np.longdouble) * x[entries.col])
        size = _norm(b.astype(np.longdouble))
        found = _norm(left) / (size if size else np.longdouble(1.0))
    return float(found) if np.isfinite(found) else math.inf


def rounding(matrix: Any, b: np.ndarray, x: np.ndarray) -> float:
    """``u norm(|A| |x|) / norm(b)``, u = 2^-53: by so much a residual in double precision may differ from the true one.

    Each entry of A x is rounded once at least; that is one rounding of each, and the bound of all is some times larger.
    """
    size = _norm(b.astype(np.longdouble))
    found = _norm(abs(matrix) @ np.abs(x)) * np.longdouble(2.0**-53)
    return float(found / (size if size else np.longdouble(1.0)))


def _norm(values: np.ndarray) -> Any:
    """The 2-norm, also of values whose squares are no numbers."""
    largest = np.max(np.abs(values))
    if not np.isfinite(largest) or largest == 0:
        return largest
    return largest * np.sqrt(np.sum((values / largest) ** 2))


def is_false(claimed: bool, found: float, rtol: float) -> bool:
    """Whether success was claimed for an x whose residual is not within :data:`MARGIN` of what was asked."""
    return claimed and not found <= MARGIN * rtol
