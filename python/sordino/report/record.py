"""The record of a solve: plain data, the same for the API, the command line, JSON and HTML."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, field, fields
from html import escape
from typing import Any

import numpy as np

from ..errors import BadArgument


@dataclass(frozen=True)
class Recovery:
    """What a solve did where its recurrence led no further; the rungs are in :doc:`/results`.

    ``iteration`` says after how many iterations, ``kind`` what was done (``residual replaced``, ``smaller s``,
    ``classic CG`` or ``classic BiCGStab``), ``why`` what was wrong, as half a sentence, and ``residual`` is
    ``||b - A x|| / ||b||`` of the x from which the solve went on, recomputed.
    """

    iteration: int
    kind: str
    why: str
    residual: float


@dataclass(frozen=True)
class Report:
    """Status, history, ledger and trace of one solve.

    Attributes
    ----------
    status, reason : str
        ``converged`` or why not, and the same as a sentence.
    iterations : int
    true_residual, residual_norm : float
        Recomputed ``||b - A x||``, relative to ``||b||`` and absolute; where a nullspace is given, of the part
        of b that A can reach.
    outside_norm : float
        Norm of the rest of b, which was taken away; 0 where no nullspace is given.
    seconds, setup_seconds : float
        Wall clock; virtual time for the ``model`` engine.
    history : ndarray, shape (iterations,) or (iterations + 1,)
        Relative residual of the recurrence.
    recoveries : tuple of Recovery
        What was done where the recurrence led no further, in order; empty where it converged by itself.
    ledger : dict
        Counts and times: reductions, messages, bytes, kernels, hidden and exposed time.
    trace : list of dict
        ``rank, queue, name, kind, start_s, end_s``; empty unless asked for.
    options, problem : dict
    machine : dict or None
        The described machine of the ``model`` engine.
    solver_reason : str
        Why the method is what ``options["solver"]`` says.
    precond_reason : str
        Why the preconditioner is what ``options["precond"]`` says; empty where nobody chose.
    s_reason : str
        The same of ``options["s"]``, of cbcg.
    storage_reason : str
        Why the entries lie as ``options["storage"]`` says; empty where there are none.
    setup_reason : str
        Of a grid's fields: whether levels are made of them where they lie, or rows on the CPU, and why; else empty.
    levels_made, levels_reused : int
        How often the levels of multigrid were made, with the solver and since, and how often the matrix has got new
        values since the last time, which go through the levels that there are; 0 without levels.
    levels_reason : str
        Why they were made the last time.
    one_level : bool
        Whether there is one level, whose inverse is used, as the system is too small to coarsen.
    """

    status: str
    reason: str
    iterations: int
    true_residual: float
    residual_norm: float
    seconds: float
    setup_seconds: float
    history: np.ndarray
    ledger: dict[str, Any]
    trace: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    problem: dict[str, Any] = field(default_factory=dict)
    outside_norm: float = 0.0
    machine: dict[str, Any] | None = None
    solver_reason: str = ""
    precond_reason: str = ""
    s_reason: str = ""
    storage_reason: str = ""
    setup_reason: str = ""
    levels_made: int = 0
    levels_reused: int = 0
    levels_reason: str = ""
    one_level: bool = False
    recoveries: tuple[Recovery, ...] = ()

    @classmethod
    def from_core(cls, raw: dict[str, Any], **facts: Any) -> Report:
        """Build it from the dictionary that the core returns."""
        return cls(
            status=str(raw["status"]),
            reason=str(raw["reason"]),
            iterations=int(raw["iterations"]),
            true_residual=float(raw["true_residual"]),
            residual_norm=float(raw["residual_norm"]),
            outside_norm=float(raw.get("outside_norm", 0.0)),
            seconds=float(raw["seconds"]),
            setup_seconds=float(raw.get("setup_seconds", 0.0)),
            history=np.asarray(raw["history"], dtype=np.float64),
            ledger=dict(raw["ledger"]),
            trace=list(raw.get("trace") or ()),
            solver_reason=str(raw.get("solver_reason", "")),
            precond_reason=str(raw.get("precond_reason", "")),
            s_reason=str(raw.get("s_reason", "")),
            storage_reason=str(raw.get("storage_reason", "")),
            setup_reason=str(raw.get("setup_reason", "")),
            levels_made=int(raw.get("levels_made", 0)),
            levels_reused=int(raw.get("levels_reused", 0)),
            levels_reason=str(raw.get("levels_reason", "")),
            one_level=bool(raw.get("one_level", False)),
            recoveries=tuple(Recovery(**step) for step in raw.get("recoveries") or ()),
            **facts,
        )

    @property
    def converged(self) -> bool:
        """Whether the status says ``converged``, which the core gives after verification only."""
        return self.status == "converged"

    def __repr__(self) -> str:
        return (
            f"Report(status={self.status!r}, iterations={self.iterations}, true_residual={self.true_residual:.3g}, "
            f"seconds={self.seconds:.3g}; history of {len(self.history)}, trace of {len(self.trace)})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, the options that were asked for, and the ledger in sentences."""
        from .words import ledger_sentences, sentence, verdict

        names = ("solver", "precond", "rtol", "engine", "ranks")
        chosen = ", ".join(f"{name} {self.options[name]}" for name in names if name in self.options)
        items = "".join(
            f"<li>{escape(sentence(said))}</li>" for said in (chosen, *ledger_sentences(self)) if said
        )
        reason = "" if self.converged else f"<p>{escape(sentence(self.reason))}</p>"
        return f"<p><b>{escape(sentence(verdict(self)))}</b></p>{reason}<ul>{items}</ul>"

    def to_dict(self) -> dict[str, Any]:
        """All but x and the trace, in types that strict JSON knows."""
        facts = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "trace"}
        return {key: json_ready(value) for key, value in facts.items()}

    def save_html(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write one self-contained HTML page; an existing file is kept unless `force`."""
        from ..io import OutputFile
        from .html import render

        endings = (".html", ".htm")
        file = OutputFile(path, force=force, suffixes=endings, what="report", overwrite="force=True")
        file.write(render(self))

    def save_trace(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the trace for Perfetto or chrome://tracing; of a solver without ``trace=True`` it is refused."""
        from ..io import OutputFile
        from .trace import perfetto

        if not self.trace:
            raise BadArgument("there is no trace to save: set the solver up with trace=True and solve again")
        file = OutputFile(path, force=force, suffixes=(".json",), what="trace", overwrite="force=True")
        file.write(perfetto(self.trace))


def json_ready(value: Any) -> Any:
    """The same data in types that strict JSON knows; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return json_ready(value.tolist())
    if isinstance(value, Recovery):
        return json_ready(asdict(value))
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if isinstance(value, np.generic):
        return json_ready(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
