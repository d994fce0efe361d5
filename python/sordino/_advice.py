"""What a failed solve says of its matrix: facts that an iteration does not see, and what to do about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._matrix import CsrArrays

_ROUNDING = 1e-12  # of the largest row: below it a product with ones is zero
_SYMMETRIC_METHODS = ("cg", "srcg", "prcg", "cocg")


def advised(raw: dict[str, Any], rows: CsrArrays | None, singular: bool) -> dict[str, Any]:
    """What the core has said, with a sentence more where the matrix explains the failure. Cost: O(nnz), if it failed.

    Parameters
    ----------
    raw : dict
        The core's words on a solve.
    rows : CsrArrays or None
        The matrix; None of an operator.
    singular : bool
        Whether a nullspace was given.
    """
    if raw["status"] in ("converged", "interrupted", "stopped_by_user", "time_limit") or rows is None:
        return raw
    A = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.n, rows.n))
    found = ""
    if not singular and _maps_ones_to_zero(A):
        found = "A maps the constant vector to zero: say nullspace='constant'"
    elif raw.get("solver") in _SYMMETRIC_METHODS and not rows.complex and not _is_symmetric(A):
        found = f"the matrix is not symmetric, which solver {raw['solver']} needs: use bicgstab"
    return {**raw, "reason": f"{raw['reason']}; {found}"} if found else raw


def _maps_ones_to_zero(A: sp.csr_array) -> bool:
    largest = float(abs(A).sum(axis=1).max())
    return largest > 0 and float(np.abs(A @ np.ones(A.shape[0])).max()) <= _ROUNDING * largest


def _is_symmetric(A: sp.csr_array) -> bool:
    largest = float(abs(A).max())
    return largest == 0 or float(abs(A - A.T).max()) <= _ROUNDING * largest
