"""The page of ``sordino trsv --report``: the factor, its plan and critical path, time beside bytes, accuracy."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any

from .. import _triangular_prediction, machines
from .._lu import FactorizedLU
from .._triangular_prediction import Sweeps
from ..errors import BadArgument
from ..report import html, plan_picture
from ..report.roof import Roof, memory_roof
from ..report.tables import scrolling, table
from ..report.words import count, duration, quantity, sentence
from .trsv_report import Found, factor_rows, has_one_factor, memory_of, parts_of, result_rows, seconds_of
from .trsv_system import System


def page(system: System, found: Found, given: Namespace, options: dict[str, Any], argv: Sequence[str]) -> str:
    """The page. Cost: a plan of one triangle on the virtual clock, and on a host some tenths of a second of copies."""
    status = "Solved and verified" if found.verified else "Not verified"
    parts = parts_of(system)
    reasons = [f"{name}: {s[why]}" for name, s in parts.items() for why in ("width_reason", "ranks_reason")
               if s[why]]  # fmt: skip
    said = [found.reason, system.words, *system.notes, *reasons]
    eyebrow = f"triangular solves, engine {given.engine}, algorithm {given.algorithm}"
    sections = (
        html.header(
            eyebrow,
            system.name,
            status,
            found.verified,
            [sentence(text) for text in said],
            _tiles(system, found),
        ),
        html.section("The factor", scrolling(table(*factor_rows(parts)), "factor")),
        _plan_section(system, given),
        _bytes_section(system, found, given),
        html.section("Accuracy and time", table(("", ""), _accuracy_rows(system, found), class_="pairs")),
        html.command_section(shlex.join(["sordino", "trsv", *argv]), "", {**options, "trans": given.trans}),
    )
    return html.page(f"{system.name}: {status}", sections)


def _tiles(system: System, found: Found) -> dict[str, str]:
    parts = parts_of(system)
    tiles = {
        "rows": f"{system.solver.shape[0]:,}",
        "entries": f"{sum(s['entries'] for s in parts.values()):,}",
        "residual": f"{found.residual:.2e}",
        "time to solve": duration(found.solve_seconds),
        "setup": duration(sum(seconds_of(system).values())),
        "memory": quantity(memory_of(system), "B"),
        "ranks": str(max(s["ranks"] for s in parts.values())),
    }
    if found.backward_error is not None:
        tiles["backward error"] = f"{found.backward_error:.1e}"
    return tiles


def _accuracy_rows(system: System, found: Found) -> list[tuple[str, str]]:
    rows = result_rows(system, found)
    for name, s in parts_of(system).items():
        rows.append((f"tiny pivots of {name}", f"{s['tiny_pivots']:,}"))
        rows.append((f"growth of roundings by inverses of {name}", f"{s['growth']:.2g}"))
    return rows


def _machine(given: Namespace) -> dict[str, Any]:
    return machines.load(machines.DEFAULT if given.machine is None else given.machine)


def _first_sweep(system: System, trans: str) -> tuple[str, dict[str, Any], Sweeps]:
    """The name, the statistics and the way of the triangle whose plan is shown."""
    name, statistics = next(iter(parts_of(system).items()))
    solver = system.solver
    if isinstance(solver, FactorizedLU):
        return name, statistics, _triangular_prediction.of_factors(solver.factors, trans)
    way = "forward" if solver.lower == (trans == "N") else "backward"
    return name, statistics, Sweeps([(solver.columns, [way])], name)


def _plan_section(system: System, given: Namespace) -> str:
    """The plan of the first triangle, as a described machine carries it out, and where the time of its solve goes."""
    name, statistics, sweeps = _first_sweep(system, given.trans)
    if given.algorithm == "paper":
        return html.section(
            "Plan", "<p>Algorithm 1 of paper 004 has no plan: its thread blocks wait for messages.</p>"
        )
    if statistics["by_rows"]:
        levels = count(statistics["longest_chain"], "level")
        return html.section(
            "Plan", f"<p>{name} is kept by rows, and substituted level by level: {levels}.</p>"
        )
    machine, way = _machine(given), sweeps.triangles[0][1][0]
    ranks = statistics[f"{way}_ranks"] or 1
    plan = _triangular_prediction.modelled_plan(sweeps, machine, ranks, statistics["width"])
    whose = "" if given.engine == "model" else ", not of this one"
    caption = (
        f"{name}, {way}, on {count(ranks, 'rank')} of the described machine {machine['name']}{whose}: "
        f"{count(len(plan['columns']), 'block')}, {count(len(plan['end']), 'task')}."
    )
    rows = critical_rows(plan)
    content = table(("the critical path", ""), rows, class_="pairs")
    if len(plan["end"]) > plan_picture.MOST_TASKS:
        more = f"A picture shows up to {plan_picture.MOST_TASKS:,} tasks, and this plan has more."
        return html.section("Plan", f'<p class="caption">{escape(f"{caption} {more}")}</p>{content}')
    picture = scrolling(plan_picture.drawing(plan, f"The plan of a solve {way}"), "plan")
    return html.section("Plan", f'<p class="caption">{escape(caption)}</p>{picture}{content}')


def critical_rows(plan: dict[str, Any]) -> list[tuple[str, str]]:
    """Where the time of a modelled plan goes, along the tasks that each one waited for last."""
    path = plan_picture.critical_path(plan)
    begin, end, ranks = plan["begin"], plan["end"], plan["ranks"]
    hops = list(pairwise(path))
    seen = sum(float(begin[after] - end[before]) for before, after in hops)
    return [
        ("tasks on it, of all", f"{len(path):,} of {len(end):,}"),
        ("hops to another rank", f"{sum(int(ranks[before] != ranks[after]) for before, after in hops):,}"),
        ("until the first of them begins", duration(float(begin[path[0]]))),
        ("they compute", duration(sum(float(end[task] - begin[task]) for task in path))),
        ("until a number is seen, or a worker and values are there", duration(seen)),
        ("a solve", duration(plan["seconds"])),
    ]


def _bytes_section(system: System, found: Found, given: Namespace) -> str:
    """What a solve reads at least, the time that takes at the memory's speed, and what it took."""
    parts, columns = parts_of(system), found.x.shape[1]
    modelled_ways = sum(s["modelled_seconds"] for s in parts.values())  # of L of L L^H the last one
    there_and_back = has_one_factor(system)
    ways = 2 if there_and_back and modelled_ways == 0 else 1
    roof = _roof(parts, given)
    vectors = 2 * system.solver.dtype.itemsize * system.solver.shape[0] * columns
    rows, total = [], 0
    for name, s in parts.items():
        moved = ways * (int(s["stored_bytes"]) + vectors)
        total += moved
        modelled = duration(s["modelled_seconds"]) if s["modelled_seconds"] > 0 else ""
        rows.append((name, quantity(moved, "B"), _floor(moved, roof), modelled))
    seconds = modelled_ways or found.solve_seconds
    whole = "a solve, one way of two" if there_and_back and modelled_ways > 0 else "a solve"
    rows.append((whole, quantity(total, "B"), _floor(total, roof), duration(seconds)))
    heads = ("", "bytes, at least", "floor", "time")
    what = "its values once, b and x; sums between blocks, and residuals of refinement, are left out"
    caption = f"What each triangle moves: {what}."
    if roof:
        part = total / roof.bandwidth / seconds
        caption += (
            f" The floor is that at {quantity(roof.bandwidth, 'B/s')}, {roof.source}; "
            f"the solve reaches {100 * part:.2g} % of it."
        )
    return html.section(
        "Time, bytes and floor", f'<p class="caption">{escape(caption)}</p>{table(heads, rows)}'
    )


def _floor(moved: int, roof: Roof | None) -> str:
    return duration(moved / roof.bandwidth) if roof else "not known"


def _roof(parts: dict[str, dict[str, Any]], given: Namespace) -> Roof | None:
    """Of all ranks together."""
    first = next(iter(parts.values()))
    ranks = max(1, *(s["ranks"] for s in parts.values()))
    if given.engine == "model":
        machine = _machine(given)
        return Roof(
            ranks * machine["memory_bandwidth"], 0.0, f"as the machine {machine['name']} is described"
        )
    moved = sum(int(s["stored_bytes"]) for s in parts.values())
    threads = int(first["threads"]) if given.engine == "host" else 0
    return memory_roof(ranks, threads, moved, machines.this_machine()["devices"])


def check(given: Namespace) -> None:
    """Refuse what a page cannot tell."""
    if given.engine == "processes":
        raise BadArgument(
            "--report tells of one process: take another engine than processes, or leave it out"
        )
