"""What a solve found, and how it is handed out."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ._numbers import is_complex
from .errors import BadArgument, Interrupted, NotConverged, NotConvergedWarning, suggestion
from .log import logger
from .report.record import Recovery, Report
from .report.words import duration, sentence

_ON_FAILURE = ("raise", "warn", "return")
_AT_ONCE = 1e-9  # seconds


@dataclass(frozen=True)
class Solution:
    """What a solve found.

    Attributes
    ----------
    x : array of the kind, type and shape of b, (n,) or (n, k); None on MPI processes other than the first
        The solution if `converged`, else the best x that was seen. Complex where matrix, M, b or x0 is. float32 or
        complex64 where matrix and b are of single precision (over MPI of double): all is computed in double, and
        what is verified is x as it is handed out. A torch tensor for a torch tensor, and so on for all that speaks
        DLPack; else NumPy. For b on a GPU it is there, of the allocator of b's library; of (n, k) the columns lie
        without gaps.
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
    def recoveries(self) -> tuple[Recovery, ...]:
        """What was done where the recurrence led no further: iteration, kind, why, and the residual by then."""
        return self.report.recoveries

    @property
    def seconds(self) -> float:
        """Time of the solve, of all columns, without setup."""
        return sum(report.seconds for report in self.reports)

    @property
    def whose(self) -> str:
        """Of several columns, the one that the report is of, as the beginning of a sentence; else empty."""
        if len(self.reports) < 2:
            return ""
        place = next(place for place, report in enumerate(self.reports) if report is self.report)
        failed = sum(not report.converged for report in self.reports)
        return f"column {place} of {len(self.reports)}, {failed} of which did not converge: "

    @property
    def ledger(self) -> dict[str, Any]:
        """Counts and times of communication and kernels."""
        return self.report.ledger

    def __repr__(self) -> str:
        columns = f"columns={len(self.reports)}, " if len(self.reports) > 1 else ""
        return (
            f"Solution(status={self.status!r}, {columns}iterations={self.iterations}, "
            f"true_residual={self.true_residual:.3g}, seconds={self.seconds:.3g})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: a few rows, and the reason as a sentence."""
        options = self.report.options
        rows = {
            "status": self.status.replace("_", " "),
            "solver": f"{options.get('solver', '')}, preconditioner {options.get('precond', '')}",
            "iterations": f"{self.iterations:,}",
            "||b - A x|| / ||b||, recomputed": f"{self.true_residual:.3e}",
            "time to solve": duration(self.seconds),
        }
        if len(self.reports) > 1:
            rows["columns"] = (
                f"{len(self.reports)}, of which {sum(r.converged for r in self.reports)} converged"
            )
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in rows.items()
        )
        return (
            f"<table><caption>sordino.Solution</caption>{cells}</table><p>{escape(sentence(self.reason))}</p>"
        )


def reported(
    raw: dict[str, Any], options: dict[str, Any], problem: dict[str, Any], machine: dict[str, Any] | None
) -> Report:
    """What the core has said of a solve, as a report; the log has a line of it."""
    names = ("solver", "s", "precond", "symmetry", "storage", "engine", "transport")
    chosen = {name: raw[name] for name in names if raw.get(name)}
    report = Report.from_core(raw, options={**options, **chosen}, problem=problem, machine=machine)
    logger.info(
        "%s after %d iterations of %s%s in %.3g s: %s",
        report.status,
        report.iterations,
        report.options["solver"],
        f" (the matrix is {raw['symmetry']})" if raw.get("symmetry") else "",
        report.seconds,
        report.reason,
    )
    return report


def collected(parts: list[Any], reports: tuple[Report, ...], joined: Callable[[list[Any]], Any]) -> Solution:
    """A solution of its columns x, all of which are None where this process is given none."""
    worst = max(reports, key=lambda report: report.iterations)
    worst = next((report for report in reports if not report.converged), worst)
    x = None if any(part is None for part in parts) else joined(parts)
    return Solution(x, worst, reports)


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
        double, single = ("complex128", "complex64") if is_complex(x.dtype) else ("float64", "float32")
        rounded["status"] = "stagnated"
        rounded["reason"] = (
            f"x meets the tolerance in {double}, and misses it in {single}, as matrix and b are: relative residual "
            f"{rounded['true_residual']:.3e}; give b as {double}"
        )
    return rounded


def check_on_failure(on_failure: str) -> None:
    """Refuse another word than raise, warn or return."""
    if on_failure not in _ON_FAILURE:
        near = suggestion(str(on_failure), _ON_FAILURE)
        raise BadArgument(f"on_failure is one of {', '.join(_ON_FAILURE)}, not {on_failure!r}{near}")


def callers_level() -> int:
    """The ``stacklevel`` with which a function of this package warns about the line of its caller's that led to it."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level


def in_turn(
    solve: Callable[[Any, Any, dict[str, Any], Any], dict[str, Any]],
    columns: list[Any],
    starts: list[Any],
    places: list[Any],
    overrides: dict[str, Any],
) -> list[dict[str, Any]]:
    """What the core says of each column; once one was interrupted, the others end as soon as they have begun."""
    raws: list[dict[str, Any]] = []
    for column, start, place in zip(columns, starts, places, strict=True):
        raws.append(solve(column, start, hurried(raws, overrides), place))
    return raws


def hurried(before: list[dict[str, Any]], overrides: dict[str, Any]) -> dict[str, Any]:
    """Options of the next solve: if one before was interrupted, it ends as soon as it has begun."""
    interrupted = any(raw["status"] == "interrupted" for raw in before)
    return {**overrides, "time_limit": _AT_ONCE} if interrupted else overrides


def deliver(solution: Solution, on_failure: str) -> Solution:
    """The solution, or :class:`NotConverged`, or a warning, as the caller wants it; never after Ctrl-C."""
    if any(report.status == "interrupted" for report in solution.reports):
        raise Interrupted(solution)
    if solution.converged or on_failure == "return":
        return solution
    if on_failure == "warn":
        warnings.warn(
            f"{solution.whose}{solution.status}: {solution.reason}",
            NotConvergedWarning,
            stacklevel=callers_level(),
        )
        return solution
    raise NotConverged(solution)
