"""What direct solves have in common: which system is solved, and what an unverified solution is carried by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import BadArgument, NotConverged

TRANS = ("N", "T", "H")


@dataclass(frozen=True)
class DirectSolution:
    """What a direct solve found, for :class:`NotConverged` to carry.

    Attributes
    ----------
    x : array of the kind and shape of b
    status : str
        ``converged``, or ``inaccurate``.
    reason : str
        The status as a sentence.
    """

    x: Any
    status: str
    reason: str
    whose: str = ""


def check_trans(trans: str) -> None:
    """Refuse what is none of N, T and H."""
    if trans not in TRANS:
        raise BadArgument(f"trans is N, T or H, not {trans!r}")


def stacked(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Vectors of n numbers beside each other, shape (n, k); one of them is not copied."""
    return columns[0].reshape(-1, 1) if len(columns) == 1 else np.stack(columns, axis=1)


def check_overflow(x: Any, finite: bool) -> Any:
    """x of a triangular system; :class:`NotConverged`, which carries it, unless all of it is finite."""
    if not finite:
        raise NotConverged(DirectSolution(x, "inaccurate", "the solution of the triangular system overflows"))
    return x
