"""What a failed solve says of its matrix: facts that an iteration does not see, and what to do about them."""

from __future__ import annotations

from typing import Any

from ._facts import is_symmetric, maps_ones_to_zero
from ._matrix import CsrArrays

_SYMMETRIC_METHODS = ("cg", "cgcg", "prcg", "cocg")


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
    found = ""
    if not singular and maps_ones_to_zero(rows):
        found = "A maps the constant vector to zero: say nullspace='constant'"
    elif raw.get("solver") in _SYMMETRIC_METHODS and not rows.complex and not is_symmetric(rows):
        found = f"the matrix is not symmetric, which solver {raw['solver']} needs: use bicgstab"
    return {**raw, "reason": f"{raw['reason']}; {found}"} if found else raw
