"""What ``sordino trsv`` says of a solve: lines, tables, or one JSON object."""

from __future__ import annotations

import json
import shlex
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import machines
from .._factoring import Choice
from .._lu import FactorizedLU
from .._triangular import FactorizedTriangle
from ..report.record import json_ready
from ..report.words import count, duration, quantity, sentence
from . import display, processes
from .trsv_system import System

if TYPE_CHECKING:
    from .trsv_beside import Beside


@dataclass
class Found:
    """How it ended."""

    x: np.ndarray
    residual: float
    backward_error: float | None
    rtol: float
    refinements: int
    solve_seconds: float
    first_seconds: float
    beside: Beside | None = None

    @property
    def verified(self) -> bool:
        """Whether the recomputed residual meets the tolerance."""
        return self.residual <= self.rtol

    @property
    def reason(self) -> str:
        relation = "at most" if self.verified else "above"
        return f"||b - A x|| / ||b|| = {self.residual:.2e} is {relation} {self.rtol:g}"


def parts_of(system: System) -> dict[str, dict[str, Any]]:
    """Statistics of each triangle."""
    if isinstance(system.solver, FactorizedTriangle):
        return {"triangle": system.solver.statistics}
    s = system.solver.statistics
    return {name: s[part] for name, part in (("L", "lower"), ("U", "upper")) if s[part]}


def seconds_of(system: System) -> dict[str, float]:
    """Of what comes before a solve."""
    if isinstance(system.solver, FactorizedLU):
        return dict(system.solver.seconds)
    return {"setup": float(system.solver.statistics["setup_seconds"])}


def memory_of(system: System) -> int:
    """Bytes of all that is kept, but the triangles as they were given."""
    return sum(int(s["memory_bytes"]) for s in parts_of(system).values())


def _choice(system: System) -> Choice:
    """How a matrix was ordered; nothing is said of factors and triangles that were given."""
    choice = system.solver.choice if isinstance(system.solver, FactorizedLU) else None
    return choice or Choice()


def setup_seconds(system: System) -> float:
    """Of all that solves repay: the triangles and their plans, without ordering and factoring."""
    return seconds_of(system)["setup"] + sum(s["plan_seconds"] for s in parts_of(system).values())


def announce(system: System, engine: str) -> None:
    first = next(iter(parts_of(system).values()))
    where = [f"{engine} engine", count(first["ranks"], "rank") if first["ranks"] else "ranks by prediction"]
    where += [count(first["threads"], "thread")] if engine == "host" else []
    processes.say(f"{system.name}: {system.solver.shape[0]:,} rows, {system.words}; {', '.join(where)}")
    for note in system.notes:
        processes.say(note)
    processes.say("")


def has_one_factor(system: System) -> bool:
    """Whether a solve goes through one triangle there and back, as of L L^H; engine model times the last way alone."""
    return len(parts_of(system)) == 1 and isinstance(system.solver, FactorizedLU)


def result_rows(system: System, found: Found) -> list[tuple[str, str]]:
    """How it ended, and what it took."""
    rows = [
        ("status", "verified" if found.verified else "not verified"),
        ("||b - A x|| / ||b||, recomputed", f"{found.residual:.3e}"),
    ]
    if found.backward_error is not None:
        rows.append(("componentwise backward error", f"{found.backward_error:.3e}"))
    rows += [
        ("right-hand sides", f"{found.x.shape[1]:,}"),
        ("steps of refinement", f"{found.refinements:,}"),
        ("time to solve", duration(found.solve_seconds)),
    ]
    words = {"ordering": "order", "factoring": "factor", "setup": "set up the triangles"}
    rows += [(f"time to {words[name]}", duration(seconds)) for name, seconds in seconds_of(system).items()]
    rows.append(("time to plan", duration(sum(s["plan_seconds"] for s in parts_of(system).values()))))
    rows.append(("memory of the triangles", quantity(memory_of(system), "B")))
    if found.beside:
        rows.append(("SciPy's time to solve, on one core", duration(found.beside.seconds)))
        rows.append(("setup repaid after", found.beside.words))
    modelled = sum(s["modelled_seconds"] for s in parts_of(system).values())
    if modelled > 0:
        whole = "one way of two" if has_one_factor(system) else "a solve"
        rows.append((f"on the described machine, {whole}", duration(modelled)))
    return rows


def factor_rows(parts: dict[str, dict[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of a table of the triangles, by their statistics."""
    rows: list[tuple[str, ...]] = [
        (
            name,
            f"{s['entries']:,}",
            f"{s['stored_entries']:,}",
            quantity(s["stored_bytes"], "B"),
            quantity(s["memory_bytes"], "B"),
            "none: by rows" if s["by_rows"] else f"{s['blocks']:,}",
            f"{s['longest_chain']:,}",
            f"{max(s['forward_tasks'], s['backward_tasks']):,}",
        )
        for name, s in parts.items()
    ]
    heads = ("factor", "entries", "with zeros", "values", "memory", "blocks", "longest chain", "tasks")
    return heads, rows


def show(system: System, found: Found, written: list[str]) -> None:
    display.show_table("", ("result", ""), result_rows(system, found), left=2)
    display.show_table("", *factor_rows(parts_of(system)))
    state = "Solved and verified" if found.verified else "Not verified"
    processes.say(f"{state}: {found.reason}.")
    for name, s in parts_of(system).items():
        for reason in filter(None, (s["width_reason"], s["ranks_reason"])):
            processes.say(f"{name}: {reason}.")
    for said in written:
        processes.say(sentence(said))


def as_json(
    system: System, found: Found, given: Namespace, options: dict[str, Any], argv: Sequence[str]
) -> str:
    facts = {
        "name": system.name,
        "n": system.solver.shape[0],
        "status": "verified" if found.verified else "not_verified",
        "reason": found.reason,
        "residual": found.residual,
        "backward_error": found.backward_error,
        "refinements": found.refinements,
        "right_hand_sides": found.x.shape[1],
        "setup_seconds": sum(seconds_of(system).values()),
        "memory_bytes": memory_of(system),
        "solve_seconds": found.solve_seconds,
        "first_solve_seconds": found.first_seconds,
        "seconds": seconds_of(system),
        "beside": found.beside
        and {
            "what": "scipy.sparse.linalg.spsolve_triangular",
            "seconds": found.beside.seconds,
            "setup_and_plan_seconds": found.beside.setup_seconds,
            "repaid_after": found.beside.repaid_after,
        },
        "statistics": parts_of(system),
        **_choice(system).facts,
        "options": {**options, "trans": given.trans, "rtol": found.rtol},
        "machine": machines.this_machine(),
        "notes": system.notes,
        "command": shlex.join(["sordino", "trsv", *argv]),
    }
    return json.dumps(json_ready(facts), allow_nan=False)
