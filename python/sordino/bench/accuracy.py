"""``sordino bench accuracy``: is `converged` true, of every method on sixty problems, and what can each attain?"""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

from .. import Solver, _options
from .._native import core
from ..cli import display
from ..cli.common import Parser, whole_number
from ..cli.processes import say
from ..errors import BadArgument, SordinoError, Unsupported
from ..report.record import json_ready
from . import _attainable, _judge, _pressures, _records

SUMMARY = (
    "60 problems, all methods and preconditioners: is `converged` true, and what accuracy can be attained"
)
TOLERANCES = (1e-6, 1e-10)
PARTS = ("sweep", "attainable")
#: Iterations after which a method may say that it has not converged: rounding sets in long before.
MOST = 4000

#: What a method, a preconditioner and a tolerance gave: a status, iterations, the residual recomputed from x, and by
#: how much one rounding may change that.
Answer = tuple[str, int, float, float]


def main(argv: Sequence[str]) -> int:
    """Ask, show, and record; return 0, or 4 if a claim is false."""
    given = _parser().read(argv)
    number, ranks, jobs = (
        whole_number(getattr(given, word), f"--{word}") for word in ("problems", "ranks", "jobs")
    )
    entries = _pressures.sixty()
    if not 1 <= number <= len(entries) or min(ranks, jobs) < 1:
        raise BadArgument(f"--problems is from 1 to {len(entries)}, and --ranks and --jobs are at least 1")
    parts = [word for word in given.what.split(",") if word]
    if not parts or not set(parts) <= set(PARTS):
        raise BadArgument(f"--what is of {', '.join(PARTS)}, not '{given.what}'")
    methods = _methods(given.solvers)
    if given.record:
        _records.check(given.record)
    measured: list[dict[str, Any]] = []
    with ThreadPoolExecutor(jobs) as pool:
        if "sweep" in parts:
            chosen = [entries[i * len(entries) // number] for i in range(number)]
            measured += _each(pool, chosen, lambda entry: _swept(entry, methods, given.engine, ranks))
        if "attainable" in parts:
            chosen = _pressures.rising()
            measured += _each(pool, chosen, lambda entry: _attained(entry, methods, given.engine, ranks))
    if given.json:
        say(json.dumps(json_ready({"bench": "accuracy", "measured": measured}), allow_nan=False))
    else:
        _show([row for row in measured if row["part"] == "sweep"])
        _attainable.show([row for row in measured if row["part"] == "attainable"])
    if given.record:
        command = shlex.join(["sordino", "bench", "accuracy", *argv])
        _records.append(given.record, measured, command, given.commit or _records.commit())
    return 4 if any(row.get("false") for row in measured) else 0


def _parser() -> Parser:
    parser = Parser("bench accuracy", SUMMARY)
    parser.add_argument(
        "--what", default=",".join(PARTS), metavar="A,B", help=f"of {', '.join(PARTS)} (default both)"
    )
    parser.add_argument(
        "--problems", default="60", metavar="N", help="so many of the 60, evenly chosen (default 60)"
    )
    parser.add_argument(
        "--solvers", default="", metavar="A,B", help="methods (default: all for real matrices)"
    )
    parser.add_argument("--engine", default="host", metavar="NAME", help="host or cuda (default host)")
    parser.add_argument("--ranks", default="1", metavar="N", help="number of ranks (default 1)")
    parser.add_argument(
        "--jobs", default="1", metavar="N", help="problems solved beside each other (default 1)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    _records.add_arguments(parser)
    return parser


def _methods(words: str) -> list[str]:
    """Those that were asked for, or all; the one for complex symmetric matrices is cg where they are real."""
    known = [row["name"] for row in core().solvers() if row["requires"] != "symmetric"]
    chosen = [word for word in words.split(",") if word] or known
    for word in chosen:
        if word not in known:
            raise BadArgument(f"--solvers is of {', '.join(known)}, not '{word}'")
    return chosen


def _each(
    pool: ThreadPoolExecutor,
    entries: list[_pressures.Entry],
    ask: Callable[[_pressures.Entry], dict[str, Any]],
) -> list[dict[str, Any]]:
    rows = []
    for row in pool.map(ask, entries):
        rows.append(row)
        sys.stderr.write(f"{len(rows)} of {len(entries)}: {row['problem']}\n")
    return rows


# ---- the sweep ---------------------------------------------------------------------------------------------------


def key(method: str, precond: str, rtol: float) -> str:
    """The name of an answer in a record."""
    return f"{method}, {precond}, {rtol:g}"


def _swept(entry: _pressures.Entry, methods: list[str], engine: str, ranks: int) -> dict[str, Any]:
    """The record of a problem, with the answers of all pairs of a method and a preconditioner that it takes."""
    system = entry.build()
    answers: dict[str, Answer] = {}
    for method in methods:
        for precond in _preconditioners():
            answers |= answered(system, method, precond, engine, ranks)
    return {
        "bench": "accuracy", "part": "sweep", "problem": entry.name, "contrast": entry.contrast,
        "n": len(system.b), "engine": engine, "ranks": ranks, "answers": answers, "false": false(answers),
    }  # fmt: skip


def _preconditioners() -> list[str]:
    of_h_matrices = {"block-jacobi"}
    return [
        word for word in _options.specs()["precond"].choices or () if word not in {"auto", *of_h_matrices}
    ]


def answered(
    system: _pressures.System, method: str, precond: str, engine: str = "host", ranks: int = 1
) -> dict[str, Answer]:
    """Answers of one solver to both tolerances; none if the method does not take the preconditioner."""
    options: dict[str, Any] = {
        "solver": method, "precond": precond, "engine": engine, "ranks": ranks, "grid": system.cells, "maxiter": MOST,
    }  # fmt: skip
    if system.nullspace is not None:
        options["nullspace"] = system.nullspace
    try:
        solver = Solver(system.A, **options)
    except Unsupported:
        return {}
    except SordinoError as refused:  # such as a pivot: a claim of nothing
        return {key(method, precond, rtol): (f"refused: {refused}", 0, 1.0, 0.0) for rtol in TOLERANCES}
    found = {}
    for rtol in TOLERANCES:
        solution = solver.solve(system.b, rtol=rtol, on_failure="return")
        b = system.judged()
        judged = (_judge.residual(system.A, b, solution.x), _judge.rounding(system.A, b, solution.x))
        residual, rounding = (float(f"{value:.7g}") for value in judged)
        found[key(method, precond, rtol)] = (solution.status, solution.iterations, residual, rounding)
    return found


def false(answers: dict[str, Answer]) -> list[str]:
    """The answers that claim what is not so: a residual that is over what was asked by more than one rounding."""
    return [
        name
        for name, (status, _, residual, rounding) in answers.items()
        if status == "converged" and not residual <= _asked(name) + rounding
    ]


def _asked(name: str) -> float:
    return float(name.rpartition(", ")[2])


# ---- what is shown -----------------------------------------------------------------------------------------------


def summed_up(rows: Sequence[dict[str, Any]], words: int = 2) -> list[dict[str, Any]]:
    """What the answers of a sweep come to, for each method (1 word) or each pair with a preconditioner (2 words).

    Returns
    -------
    list of dict
        ``who``; ``asked``, ``claimed`` and ``false``: how many; ``over``: how many claims are over what was asked at
        all, and ``worst``: the largest residual of a claim, over what was asked; ``not``: how often each other status;
        ``times``: iterations over those of cg with the same preconditioner, problem and tolerance, where both
        converged, as a median and the most of them.
    """
    found: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for row in rows:
        for name in row["answers"]:
            found.setdefault(", ".join(name.split(", ")[:words]), []).append((row, name))
    return [{"who": who, **_of_some(answers)} for who, answers in found.items()]


def _of_some(asked: list[tuple[dict[str, Any], str]]) -> dict[str, Any]:
    statuses = Counter(row["answers"][name][0].partition(":")[0] for row, name in asked)
    claims = [(row, name) for row, name in asked if row["answers"][name][0] == "converged"]
    parts = [row["answers"][name][2] / _asked(name) for row, name in claims]
    times = []
    for row, name in claims:
        status, taken, *_ = row["answers"].get(f"cg, {name.partition(', ')[2]}", ("", 0))
        if status == "converged" and taken:
            times.append(row["answers"][name][1] / taken)
    return {
        "asked": len(asked), "claimed": statuses.pop("converged", 0),
        "false": sum(name in row["false"] for row, name in claims), "over": sum(part > 1 for part in parts),
        "worst": max(parts, default=None), "not": dict(statuses),
        "times": [median(times), max(times)] if times else None,
    }  # fmt: skip


def _show(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    heads = ("method, preconditioner", "asked", "converged", "false", "worst", "iterations, of cg", "others")
    cells = [
        (
            part["who"], str(part["asked"]), str(part["claimed"]), str(part["false"]),
            "-" if part["worst"] is None else f"{part['worst']:.3f}",
            "-" if part["times"] is None else "{:.2f}, most {:.2f}".format(*part["times"]),
            ", ".join(f"{status} {count}" for status, count in part["not"].items()),
        )
        for part in summed_up(rows)
    ]  # fmt: skip
    asked = " and ".join(f"{rtol:g}" for rtol in TOLERANCES)
    title = f"{len(rows)} problems, asked for {asked} within {MOST:,} iterations"
    display.show_table(title, heads, cells)
    say(
        "worst: the largest ||b - Ax||/||b|| of a claim, from x in extended precision, over what was asked; "
        "false: over it by more than one rounding of A x\n"
    )
    lies = [f"{row['problem']}: {name}" for row in rows for name in row["false"]]
    display.show_table("False claims", ("problem and solver",), [(lie,) for lie in lies], left=1)


def _attained(entry: _pressures.Entry, methods: list[str], engine: str, ranks: int) -> dict[str, Any]:
    """The record of a problem of the second part."""
    system = entry.build()
    found = {name: _attainable.attained(system, {**options, "engine": engine, "ranks": ranks})
             for name, options in _attainable.variants(methods)}  # fmt: skip
    return {
        "bench": "accuracy", "part": "attainable", "problem": entry.name, "contrast": entry.contrast,
        "n": len(system.b), "engine": engine, "ranks": ranks, "attained": found,
    }  # fmt: skip
