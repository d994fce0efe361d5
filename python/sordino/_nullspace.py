"""Nullspaces of singular systems: what callers hand over, as the core takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._vectors import host_array
from .errors import BadArgument

_CONSTANT = "constant"


def apart(
    nullspace: Any, left: Any, options: Mapping[str, Any], n: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a nullspace is given as, and the options, among which the word ``"constant"`` goes.

    Parameters
    ----------
    nullspace, left : array_like, shape (n,) or (n, k), or "constant", or None
        Null vectors of A, and of its transpose where those are others; any basis.
    options : mapping
    n : int

    Returns
    -------
    given : dict
        ``nullspace`` and ``left_nullspace``, as arrays of shape (k, n), where they are given as such.
    options : dict

    Raises
    ------
    BadArgument
        For another shape, complex numbers, NaN or infinity.
    """
    settings = dict(options)
    if isinstance(nullspace, str):
        settings["nullspace"] = nullspace
        nullspace = None
    if left is not None and nullspace is None and settings.get("nullspace", "none") == "none":
        raise BadArgument(
            "left_nullspace is given without a nullspace: give what A itself maps to zero as nullspace, too"
        )
    given = {}
    if nullspace is not None:
        given["nullspace"] = _rows(nullspace, n, "nullspace")
    if isinstance(left, str) and left == _CONSTANT:
        given["left_nullspace"] = np.ones((1, n))
    elif left is not None:
        given["left_nullspace"] = _rows(left, n, "left_nullspace")
    return given, settings


def named(given: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether a nullspace is given, by vectors or by its word."""
    return bool(given) or options.get("nullspace", "none") != "none"


def taken_out(residual: np.ndarray, given: Mapping[str, Any], word: Any) -> np.ndarray:
    """A residual without what A cannot reach: its part along the nullspace of the transpose. Shape (n,)."""
    vectors = given.get("left_nullspace", given.get("nullspace"))
    if vectors is None:
        return residual - residual.mean() if word == _CONSTANT else residual
    basis = np.linalg.qr(vectors.T)[0]
    return residual - basis @ (basis.T @ residual)


def _rows(vectors: Any, n: int, what: str) -> np.ndarray:
    array = np.asarray(host_array(vectors, what))
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise BadArgument(
            f"{what} has shape {array.shape}, and is to be ({n},) or ({n}, k), or the word 'constant'"
        )
    if array.dtype.kind not in "fiub":
        raise BadArgument(f"{what} is {array.dtype}, and is to hold real numbers")
    rows = np.ascontiguousarray(array.reshape(n, -1).T, dtype=np.float64)
    if not np.isfinite(rows).all():
        raise BadArgument(f"{what} holds NaN or infinity")
    return rows
