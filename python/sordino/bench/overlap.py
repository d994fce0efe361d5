"""``sordino bench overlap``: sums over ranks that take longer, as on a slow network: what methods that hide them gain.

Each rank gets a sum so much later than it has started it, and computes meanwhile what the recording lets it. Beside
what was measured stands what the model engine says of the same methods on the machine's description, with sums that
take as much longer there.
"""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _options, _predict, machines
from .._box import Box
from .._matrix import CsrArrays
from .._names import of_method
from .._native import core, translated
from .._subject import of_box
from ..cli import display
from ..cli.common import Parser, number, whole_number
from ..cli.processes import say
from ..errors import BadArgument, Unsupported
from ..machines import _calibration
from ..report.record import json_ready
from . import _records
from ._ours import NEVER
from ._timing import Run, per_iteration

SUMMARY = (
    "what hiding sums over ranks gains where they take longer: measured with injected delays, and predicted"
)

#: Who hides its sums, and who does the same without.
PAIRS = (("pcg-overlap", "pcg2"), ("pcg-overlap", "pcg1"), ("gropp", "cg"), ("prcg", "cg"))


@dataclass(frozen=True)
class Plan:
    """What is measured: seconds by which sums are late, of which methods, so often."""

    size: int
    stencil: int
    engine: str
    ranks: int
    storage: str
    solvers: list[str]
    delays: list[float]
    iterations: int
    repeats: int
    best_of: int


def main(argv: Sequence[str]) -> int:
    """Measure and predict, print two tables or one JSON object, append a record; return the exit code."""
    parser = _parser()
    given = parser.read(argv)
    plan = _plan(given)
    if given.record:
        _records.check(given.record)
    machine = machines.load(given.machine) if given.machine else None
    box = Box((plan.size,) * 3, plan.stencil)
    if machine is None:
        machine = _calibration.calibrate(plan.engine, [plan.ranks], "here", plan.repeats)
    measured = measure(box.made().rows, plan, quiet=given.json)
    predicted = predict(box, plan, machine)
    facts = {
        "bench": "overlap", "engine": plan.engine, "size": plan.size, "stencil": plan.stencil, "ranks": plan.ranks,
        "storage": plan.storage, "repeats": plan.repeats, "best_of": plan.best_of, "described_machine": machine["name"],
        "numbers": machines.numbers(machine),
    }  # fmt: skip
    rows = [
        {**facts, **row} for row in [*_times(plan, measured, predicted), *_gains(plan, measured, predicted)]
    ]
    if given.json:
        say(json.dumps(json_ready({"bench": "overlap", "rows": rows}), allow_nan=False))
    else:
        _show(plan, rows)
    if given.record:
        command = shlex.join(["sordino", "bench", "overlap", *argv])
        _records.append(given.record, rows, command, given.commit or _records.commit())
    return 0


def _parser() -> Parser:
    parser = Parser("bench overlap", SUMMARY)
    parser.add_argument("--size", default="64", metavar="N", help="a box of N^3 cells (default 64)")
    parser.add_argument("--stencil", default="7", metavar="7|27", help="points (default 7)")
    parser.add_argument("--ranks", default="2", metavar="N", help="at least 2 (default 2)")
    parser.add_argument(
        "--solvers",
        default="pcg1,pcg2,pcg-overlap,cg,gropp,prcg",
        metavar="A,B",
        help="methods (default %(default)s)",
    )
    parser.add_argument(
        "--delays", default="0,50,200,1000", metavar="US,US", help="of each sum, us (default %(default)s)"
    )
    parser.add_argument(
        "--iterations",
        default="40",
        metavar="N",
        help="of a long run; a short one does a quarter (default 40)",
    )
    parser.add_argument("--repeats", default="5", metavar="N", help="of which the median counts (default 5)")
    parser.add_argument(
        "--best-of",
        default="3",
        metavar="N",
        help="runs of a repeat, of which the fastest counts; many short ones on a busy machine (default 3)",
    )
    parser.add_argument(
        "--machine",
        metavar="NAME|FILE",
        help="what predictions go by (default: what calibrate measures just before)",
    )
    parser.add_argument("--engine", default="host", metavar="NAME", help="host or cuda (default host)")
    parser.add_argument(
        "--storage", default="csr", metavar="NAME", help="how entries lie in memory (default csr)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    _records.add_arguments(parser)
    return parser


def _plan(given: Any) -> Plan:
    if given.engine not in ("host", "cuda"):
        raise Unsupported(f"sums are made late on engine host or cuda, not on '{given.engine}'")
    if given.storage not in (storages := _options.specs()["storage"].choices or ()):
        raise BadArgument(f"--storage is of {', '.join(storages)}, not '{given.storage}'")
    known = [row["name"] for row in core().solvers() if row["requires"] == "spd"]
    solvers = list(dict.fromkeys(word for word in given.solvers.split(",") if word))
    for name in solvers:
        if name not in known:
            near = of_method(name, known) or f"; known: {', '.join(known)}"
            raise BadArgument(f"unknown solver '{name}'{near}")
    delays = [number(word, "--delays") / 1e6 for word in given.delays.split(",") if word]
    size, stencil, ranks, iterations, repeats, best_of = (
        whole_number(getattr(given, name), "--" + name.replace("_", "-"))
        for name in ("size", "stencil", "ranks", "iterations", "repeats", "best_of")
    )
    if not solvers or not delays or not all(0 <= delay < 1 for delay in delays):
        raise BadArgument("overlap needs a method, and delays of 0 to less than a second")
    if ranks < 2 or iterations < 4 or min(repeats, best_of) < 1:
        raise BadArgument("overlap needs 2 ranks, 4 iterations and 1 repeat at least")
    return Plan(
        size, stencil, given.engine, ranks, given.storage, solvers, delays, iterations, repeats, best_of
    )


def measure(rows: CsrArrays, plan: Plan, *, quiet: bool) -> dict[tuple[float, str], np.ndarray]:
    """Seconds of an iteration by delay and method, shape (repeats,).

    Methods take turns within a repeat, so that what else the machine does meets all of them.
    """
    b = np.random.default_rng(0).standard_normal(rows.n)
    solvers = {}
    for name in plan.solvers:
        options = {"solver": name, "engine": plan.engine, "ranks": plan.ranks, "rtol": NEVER}
        options["storage"] = plan.storage
        with translated():
            solvers[name] = core().DelayedSolver(*rows.arrays(), rows.n, options)

    def run_of(name: str, late: float) -> Run:
        return lambda count: solvers[name].solve(b, count, late)

    cases = list(itertools.product(plan.delays, plan.solvers))
    found: dict[tuple[float, str], list[float]] = {case: [] for case in cases}
    with display.steps("measuring", plan.repeats * len(cases), quiet=quiet) as step, translated():
        for _ in range(plan.repeats):
            for late, name in cases:
                found[late, name].append(
                    per_iteration(run_of(name, late), plan.iterations, plan.best_of).best
                )
                step()
    return {case: np.array(seconds) for case, seconds in found.items()}


def predict(box: Box, plan: Plan, machine: dict[str, Any]) -> dict[tuple[float, str], float]:
    """Seconds of an iteration on the model engine by delay and method, with sums that take so much longer there."""
    subject = of_box(box.name, box)
    return {
        (late, name): _predict.iteration(
            subject,
            {**machine, "reduction_base_s": machine["reduction_base_s"] + late},
            plan.ranks,
            {"solver": name, "storage": plan.storage},
            runs=_predict.RUNS[1:],
        ).seconds
        for late, name in itertools.product(plan.delays, plan.solvers)
    }


def _times(
    plan: Plan, measured: dict[tuple[float, str], np.ndarray], predicted: dict[tuple[float, str], float]
) -> list[dict[str, Any]]:
    return [
        {
            "quantity": "iteration_s", "delay_s": late, "solver": name, **_summary(measured[late, name]),
            "predicted": predicted[late, name],
        }
        for late, name in itertools.product(plan.delays, plan.solvers)
    ]  # fmt: skip


def _gains(
    plan: Plan, measured: dict[tuple[float, str], np.ndarray], predicted: dict[tuple[float, str], float]
) -> list[dict[str, Any]]:
    """By which part of the other's time the one that hides its sums is faster; least and most of the repeats."""

    def gain(late: float, ours: str, other: str) -> dict[str, float]:
        mine, theirs = measured[late, ours], measured[late, other]
        whole = theirs > 0  # a run that the machine has held up may leave nothing of a difference
        each = 1 - mine[whole] / theirs[whole] if whole.any() else np.array([np.nan])
        return {**_summary(each), "measured": 1 - float(np.median(mine) / max(np.median(theirs), 1e-12))}

    return [
        {
            "quantity": "gain", "delay_s": late, "solver": ours, "than": other, **gain(late, ours, other),
            "predicted": 1 - predicted[late, ours] / predicted[late, other],
        }
        for late, (ours, other) in itertools.product(plan.delays, PAIRS)
        if ours in plan.solvers and other in plan.solvers
    ]  # fmt: skip


def _summary(values: np.ndarray) -> dict[str, float]:
    return {"measured": float(np.median(values)), "least": float(values.min()), "most": float(values.max())}


def _show(plan: Plan, rows: list[dict[str, Any]]) -> None:
    def cells(quantity: str, scale: float) -> list[list[str]]:
        return [
            [
                f"{row['delay_s'] * 1e6:.0f}",
                row["solver"] + (f" than {row['than']}" if "than" in row else ""),
                *(f"{row[key] * scale:.2f}" for key in ("measured", "least", "most", "predicted")),
            ]
            for row in rows
            if row["quantity"] == quantity
        ]

    where = f"{plan.size}^3, {plan.stencil} points, {plan.ranks} ranks, engine {plan.engine}, median of {plan.repeats}"
    numbers = ("measured", "least", "most", "predicted")
    heads = ("sums late by us", "method", *numbers)
    display.show_table(f"ms an iteration: {where}", heads, cells("iteration_s", 1e3), left=2)
    if gains := cells("gain", 100):
        display.show_table("faster by, percent", heads, gains, left=2)
