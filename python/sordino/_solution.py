"""What a solve found, and how it is handed out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import BadArgument, NotConverged, NotConvergedWarning, suggestion
from .report.record import Report

_ON_FAILURE = ("raise", "warn", "return")


@dataclass(frozen=True)
class Solution:
    """What a solve found.

    Attributes
    ----------
    x : array of the kind, type and shape of b, (n,) or (n, k); None on MPI processes other than the first
        The solution if `converged`, else the best x that was seen. float32 where matrix and b are float32 (over MPI
        float64): all is computed in float64, and what is verified is x as it is handed out. A torch tensor for a torch
        tensor, and so on for all that speaks DLPack; else NumPy. For b on a GPU it is there, of the allocator of b's
        library; of (n, k) the columns lie without gaps.
    report : Report
        Status, history, ledger and trace; the properties below are short cuts into it. Of several columns, that of the
        first which did not converge, or else of the one with most iterations.
    reports : tuple of Report
        One for each column of b.
    """

    x: Any
    report: Report
    reports: tuple[Report, ...]

    @property
    def status(self) -> str:
        """``converged``, or why the solve ended: ``max_iterations``, ``breakdown``, ..."""
        return self.report.status

    @property
    def reason(self) -> str:
        """The status as a sentence."""
        return self.report.reason

    @property
    def converged(self) -> bool:
        """Whether the recomputed residual ``||b - A x||`` meets the tolerance."""
        return self.report.converged

    @property
    def iterations(self) -> int:
        """Iterations done."""
        return self.report.iterations

    @property
    def true_residual(self) -> float:
        """``||b - A x|| / ||b||``, recomputed from x."""
        return self.report.true_residual

    @property
    def residual_norm(self) -> float:
        """``||b - A x||``, recomputed from x."""
        return self.report.residual_norm

    @property
    def history(self) -> np.ndarray:
        """Relative residual of the recurrence after each iteration."""
        return self.report.history

    @property
    def seconds(self) -> float:
        """Time of the solve, without setup."""
        return self.report.seconds

    @property
    def ledger(self) -> dict[str, Any]:
        """Counts and times of communication and kernels."""
        return self.report.ledger

    def __repr__(self) -> str:
        return (
            f"Solution(status={self.status!r}, iterations={self.iterations}, "
            f"true_residual={self.true_residual:.3g}, seconds={self.seconds:.3g})"
        )


def in_single(
    raw: dict[str, Any], x: Any, norm: float, residual: float, asked: dict[str, Any]
) -> dict[str, Any]:
    """What the core has said of a solve, for x in float32: ``||b||`` and ``||b - A x||`` are those of this x."""
    rounded = {
        **raw,
        "x": x,
        "residual_norm": residual,
        "true_residual": residual / norm if norm else 0.0,
    }
    if raw["status"] == "converged" and not residual <= max(asked["rtol"] * norm, asked["atol"]):
        rounded["status"] = "stagnated"
        rounded["reason"] = (
            f"x meets the tolerance in float64, and misses it in float32, as matrix and b are: relative residual "
            f"{rounded['true_residual']:.3e}; give b as float64"
        )
    return rounded


def check_on_failure(on_failure: str) -> None:
    """Refuse another word than raise, warn or return."""
    if on_failure not in _ON_FAILURE:
        near = suggestion(str(on_failure), _ON_FAILURE)
        raise BadArgument(f"on_failure is one of {', '.join(_ON_FAILURE)}, not {on_failure!r}{near}")


def deliver(solution: Solution, on_failure: str) -> Solution:
    """The solution, or :class:`NotConverged`, or a warning, as the caller wants it."""
    if solution.converged or on_failure == "return":
        return solution
    if on_failure == "warn":
        warnings.warn(f"{solution.status}: {solution.reason}", NotConvergedWarning, stacklevel=3)
        return solution
    raise NotConverged(solution)
