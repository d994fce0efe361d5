"""Nullspaces of singular systems: what callers hand over, as the core takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._numbers import words
from ._vectors import host_array
from .errors import BadArgument

_CONSTANT = "constant"


def apart(
    nullspace: Any, left: Any, options: Mapping[str, Any], n: int, is_complex: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a nullspace is given as, and the options, among which the word ``"constant"`` goes.

    Parameters
    ----------
    nullspace, left : array_like, shape (n,) or (n, k), or "constant", or None
        Null vectors of A, and of its (conjugate) transpose where those are others; any basis.
    options : mapping
    n : int
    is_complex : bool
        Whether the system is; real vectors are then taken, too.

    Returns
    -------
    given : dict
        ``nullspace`` and ``left_nullspace``, as arrays of shape (k, n), complex128 of a complex system,
        where they are given as such.
    options : dict

    Raises
    ------
    BadArgument
        For another shape, complex numbers where A is real, NaN or infinity.
    """
    settings = dict(options)
    kind = np.complex128 if is_complex else np.float64
    if isinstance(nullspace, str):
        settings["nullspace"] = nullspace
        nullspace = None
    if left is not None and nullspace is None and settings.get("nullspace", "none") == "none":
        raise BadArgument(
            "left_nullspace is given without a nullspace: give what A itself maps to zero as nullspace, too"
        )
    given = {}
    if nullspace is not None:
        given["nullspace"] = _rows(nullspace, n, "nullspace", kind)
    if isinstance(left, str) and left == _CONSTANT:
        given["left_nullspace"] = np.ones((1, n), kind)
    elif left is not None:
        given["left_nullspace"] = _rows(left, n, "left_nullspace", kind)
    return given, settings


def named(given: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether a nullspace is given, by vectors or by its word."""
    return bool(given) or options.get("nullspace", "none") != "none"


def in_words(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Given vectors as the core takes them."""
    return {name: words(rows) for name, rows in given.items()}


def vectors(given: Mapping[str, Any], options: Mapping[str, Any], n: int) -> np.ndarray:
    """The nullspace that is given, by vectors or by its word, as rows: shape (k, n), with k = 0 where none is."""
    if "nullspace" in given:
        return np.asarray(given["nullspace"])
    return np.ones((int(options.get("nullspace") == _CONSTANT), n))


def taken_out(residual: np.ndarray, given: Mapping[str, Any], word: Any) -> np.ndarray:
    """A residual without what A cannot reach: its part along the nullspace of the (conjugate) transpose. Shape (n,)."""
    left = given.get("left_nullspace", given.get("nullspace"))
    if left is None:
        return residual - residual.mean() if word == _CONSTANT else residual
    basis = np.linalg.qr(left.T)[0]
    return residual - basis @ (basis.conj().T @ residual)


def _rows(vectors: Any, n: int, what: str, kind: Any) -> np.ndarray:
    array = np.asarray(host_array(vectors, what))
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise BadArgument(
            f"{what} has shape {array.shape}, and is to be ({n},) or ({n}, k), or the word 'constant'"
        )
    if array.dtype.kind == "c" and kind == np.float64:
        raise BadArgument(
            f"{what} is {array.dtype}, and A is real: give real numbers, such as real and imaginary parts by themselves"
        )
    if array.dtype.kind not in "fiubc":
        raise BadArgument(f"{what} is {array.dtype}, and is to hold numbers")
    rows: np.ndarray = np.ascontiguousarray(array.reshape(n, -1).T, dtype=kind)
    if not np.isfinite(rows).all():
        raise BadArgument(f"{what} holds NaN or infinity")
    return rows
