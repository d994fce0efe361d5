"""``sordino bench dslash``: the Wilson dslash against its roofline, for precisions, link formats and ranks.

On engine model nothing is measured: a hop's time on a described machine is predicted (GMH, Fig. 10).
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import machines
from .._native import core, translated
from .._placement import default_engine
from ..cli import display
from ..cli.common import Parser, whole_number, whole_numbers
from ..cli.processes import say
from ..errors import BadArgument
from ..report.record import json_ready
from . import _peers, _records

SUMMARY = "the Wilson dslash of lattice QCD: Gflop/s and the fraction of the roofline"

PRECISIONS, RECONS = ("single", "double"), (12, 18)
#: Floating-point operations of a site, as the field counts them: QUDA's.
FLOPS_OF_SITE = 1320


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    lattices: list[tuple[int, ...]]
    ranks: list[int]
    precisions: list[str]
    recons: list[int]
    engine: str
    iterations: int
    machine: str  # of engine model


def main(argv: Sequence[str]) -> int:
    """Measure, print tables or JSON, append records; return the exit code."""
    given = _parser().read(argv)
    plan = _plan(given)
    if given.record:
        _records.check(given.record)
    bandwidth = _bandwidth(plan)
    if bandwidth and not given.json:
        say(f"copy bandwidth here: {bandwidth / 1e9:,.0f} GB/s\n")
    command = shlex.join(["sordino", "bench", "dslash", *argv])
    records: list[dict[str, Any]] = []
    try:
        for lattice in plan.lattices:
            rows = [
                _predict(plan, lattice, ranks, precision, recon)
                if plan.engine == "model"
                else _measure(plan, lattice, ranks, precision, recon, bandwidth)
                for ranks in plan.ranks
                for precision in plan.precisions
                for recon in plan.recons
            ]
            records += rows
            if not given.json:
                _show(lattice, rows, plan.engine)
            if given.record:  # at once: what is measured later may fail
                _records.append(given.record, rows, command, given.commit or _records.commit())
    finally:
        if given.json and records:
            say(json.dumps(json_ready({"bench": "dslash", "measured": records}), allow_nan=False))
    return 0


def _parser() -> Parser:
    parser = Parser("bench dslash", SUMMARY)
    parser.add_argument(
        "--lattices",
        nargs="+",
        default=["16,16,16,32"],
        metavar="X,Y,Z,T",
        help="sites; more lattices follow after spaces (default 16,16,16,32)",
    )
    parser.add_argument(
        "--ranks", default="1", metavar="N,N", help="numbers of ranks, such as 1,2,4 (default 1)"
    )
    parser.add_argument("--precisions", default="single,double", metavar="P,P", help="default %(default)s")
    parser.add_argument("--recons", default="12,18", metavar="N,N", help="reals a link (default %(default)s)")
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host, cuda or model (default: cuda where it can run)"
    )
    parser.add_argument(
        "--machine",
        default="",
        metavar="NAME",
        help="engine model: a described machine, or its file (default h200x4)",
    )
    parser.add_argument(
        "--iterations", default="100", metavar="N", help="pairs of hops of a timed run (default 100)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    _records.add_arguments(parser)
    return parser


def _plan(given: Any) -> Plan:
    lattices = [tuple(whole_numbers(text, "--lattices")) for text in given.lattices]
    if any(len(lattice) != 4 for lattice in lattices):
        raise BadArgument("a lattice has four numbers of sites, for x, y, z and t, such as 16,16,16,32")
    ranks, recons = whole_numbers(given.ranks, "--ranks"), whole_numbers(given.recons, "--recons")
    precisions = [word for word in given.precisions.split(",") if word]
    iterations = whole_number(given.iterations, "--iterations")
    if not ranks or min(*ranks, iterations) < 1 or iterations >= 2**30:
        raise BadArgument("ranks and iterations must be at least 1, and iterations below 2^30")
    if not (precisions and recons):
        raise BadArgument("there is nothing to measure: name a precision and a number of reals a link")
    if not set(precisions) <= set(PRECISIONS) or not set(recons) <= set(RECONS):
        raise BadArgument("precisions are single and double, and recons are 12 and 18")
    engine = given.engine or default_engine()
    if engine not in ("host", "cuda", "model"):
        raise BadArgument(
            f"--engine is host or cuda for a measurement, or model for a prediction, not '{engine}'"
        )
    if given.machine and engine != "model":
        raise BadArgument("--machine is for engine model")
    return Plan(lattices, ranks, precisions, recons, engine, iterations, given.machine or "h200x4")


def _bandwidth(plan: Plan) -> float | None:
    if plan.engine == "model":
        return None
    if plan.engine == "host":
        return _peers.host_copy_bandwidth(max(plan.ranks))
    return _peers.device_copy_bandwidth() if _peers.cupy_there() else None


def _measure(
    plan: Plan, lattice: tuple[int, ...], ranks: int, precision: str, recon: int, bandwidth: float | None
) -> dict[str, Any]:
    # Unit links: the time of a hop does not depend on them, and they cost least to make.
    problem = {
        "extent": list(lattice), "grid": [], "antiperiodic": True, "precision": precision, "recon": recon,
        "links": "unit", "seed": 0, "kappa": 0.12, "iterations": plan.iterations, "solve": False,
        "ranks_given": True,
    }  # fmt: skip
    with translated():
        found = core().dslash(problem, {"engine": plan.engine, "ranks": ranks}, None)
    rate = found["sites_per_hop"] / found["seconds_per_hop"]
    # Threads of one processor share its memory; devices have their own.
    total = bandwidth * (ranks if plan.engine == "cuda" else 1) if bandwidth else None
    return {
        "bench": "dslash", "lattice": list(lattice), "ranks": ranks, "engine": plan.engine,
        "grid": found["grid"], "precision": precision, "recon": recon, "iterations": plan.iterations,
        "bandwidth": bandwidth, "hop_s": found["seconds_per_hop"],
        "gflops": 1e-9 * rate * found["flops_per_site"],
        "of_uncached_roofline": rate * found["bytes_per_site_uncached"] / total if total else None,
        "of_ideal_roofline": rate * found["bytes_per_site_ideal"] / total if total else None,
        "hermiticity_error": found["hermiticity_error"], "ledger": found["ledger"],
    }  # fmt: skip


def _predict(plan: Plan, lattice: tuple[int, ...], ranks: int, precision: str, recon: int) -> dict[str, Any]:
    machine = machines.load(plan.machine)
    with translated():
        seconds = core().predict_hop(list(lattice), ranks, precision, recon, machines.numbers(machine))
    sites = math.prod(lattice) / 2
    return {
        "bench": "dslash", "lattice": list(lattice), "ranks": ranks, "engine": "model",
        "described_machine": plan.machine, "precision": precision, "recon": recon, "hop_s": seconds,
        "gflops": 1e-9 * FLOPS_OF_SITE * sites / seconds,
        "of_uncached_roofline": None, "of_ideal_roofline": None,
    }  # fmt: skip


def _show(lattice: tuple[int, ...], records: list[dict[str, Any]], engine: str) -> None:
    heads = (
        "ranks",
        "precision",
        "reals a link",
        "us a hop",
        "Gflop/s",
        "of QUDA-count roofline",
        "of ideal",
    )

    def part(fraction: float | None) -> str:
        return "-" if fraction is None else f"{100 * fraction:.0f} %"

    rows = [
        (
            str(r["ranks"]), r["precision"], str(r["recon"]), f"{r['hop_s'] * 1e6:,.1f}", f"{r['gflops']:,.0f}",
            part(r["of_uncached_roofline"]), part(r["of_ideal_roofline"]),
        )
        for r in records
    ]  # fmt: skip
    display.show_table(f"{' x '.join(map(str, lattice))} sites, {engine} engine", heads, rows)
