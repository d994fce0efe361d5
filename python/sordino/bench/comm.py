"""``sordino bench comm``: host data between ranks. All-reduces alone and behind a product; messages; broadcasts.

With ``--engine cuda``: what messages between GPUs cost, from inside kernels (see :mod:`._comm_cuda`).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import machines
from .._native import core, translated
from ..cli import display
from ..cli.common import Parser, number, whole_number, whole_numbers
from ..cli.processes import index, say
from ..errors import BadArgument, suggestion
from ..report.record import json_ready
from . import _comm_cuda, _records, _traffic

SUMMARY = (
    "messages between ranks: all-reduces (to start, to wait for, hidden), broadcasts, and all that GPUs do"
)

#: A double, which is what is summed.
BYTES = 8

#: The ways of an all-reduce; ``mpi`` needs a launcher.
ALGORITHMS = ("ordered", "recursive_doubling", "tree", "two_level", "mpi")

#: Who lets an all-reduce of engine host go on: its rank, where commands meet, or a thread beside it.
PROGRESS = ("commands", "thread")


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    engine: str
    what: str
    machine: dict[str, Any] | None
    algorithms: list[str]
    ranks: list[int]
    sizes: list[int]
    degrees: tuple[int, int]
    by_adapter: bool
    repeats: int
    products: list[dict[str, Any]]
    progress: list[str]


def main(argv: Sequence[str]) -> int:
    """Measure, print tables or JSON, append records; return the exit code."""
    given = _parser().read(argv)
    if given.record:
        _records.check(given.record)
    command = shlex.join(["sordino", "bench", "comm", *argv])
    records: list[dict[str, Any]] = []
    try:
        for rows in _comm_cuda.measure(given) if given.engine == "cuda" else _measure_all(given):
            records += rows
            if given.record and index() == 0:  # at once: what is measured later may fail
                _records.append(given.record, rows, command, given.commit or _records.commit())
    finally:
        if given.json and records:
            say(json.dumps(json_ready({"bench": "comm", "measured": records}), allow_nan=False))
    return 0


def _measure_all(given: Any) -> Iterator[list[dict[str, Any]]]:
    plan = _plan(given)
    for size in plan.sizes:
        alone = plan.what == "all_reduce"
        rows = _all_reduces(plan, size) if alone else _traffic.measure(plan, plan.what, size)
        if not given.json:
            (_show if alone else _traffic.show)(plan, size, rows)
        yield rows


def _parser() -> Parser:
    parser = Parser("bench comm", SUMMARY)
    parser.add_argument(
        "--engine",
        default="host",
        metavar="NAME",
        help="host, model for a described machine, or cuda for GPUs (default host)",
    )
    parser.add_argument(
        "--machine",
        default=machines.DEFAULT,
        metavar="NAME",
        help="of engine model: a name, or a .json file (default %(default)s)",
    )
    parser.add_argument(
        "--algorithms",
        default="",
        metavar="A,B",
        help=f"of {', '.join(ALGORITHMS)} (default: all that can run here)",
    )
    parser.add_argument(
        "--ranks",
        default="",
        metavar="N,N",
        help="of this process, or, on cuda, GPUs of all processes (default 1,2,4; model: 1 to 1024)",
    )
    parser.add_argument("--bytes", default="8,1024", metavar="N,N", help="of a rank (default %(default)s)")
    parser.add_argument(
        "--degrees", default="2,4", metavar="K,M", help="of the trees that reduce and broadcast (default 2,4)"
    )
    parser.add_argument(
        "--by-adapter", action="store_true", help="model: messages within a node use the network adapter, too"
    )
    parser.add_argument(
        "--repeats", default="", metavar="N", help="whose median counts (default 50; model: 1)"
    )
    _comm_cuda.add_arguments(parser, ("all_reduce", *_traffic.KINDS))
    parser.add_argument(
        "--product",
        default="",
        metavar="N,N",
        help="each rank multiplies N x N matrices between start and end: how much is hidden",
    )
    parser.add_argument(
        "--commands",
        default="1",
        metavar="N",
        help="of a product; an all-reduce can go on between them (default 1)",
    )
    parser.add_argument(
        "--spread", default="0", metavar="X", help="model: some products take longer by up to this fraction"
    )
    parser.add_argument(
        "--progress",
        default="commands",
        metavar="A,B",
        help=f"engine host: {', '.join(PROGRESS)} (default commands)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    _records.add_arguments(parser)
    return parser


def _plan(given: Any) -> Plan:
    modelled = given.engine == "model"
    if given.engine not in ("host", "model"):
        raise BadArgument(f"--engine is host, model or cuda, not '{given.engine}'")
    what = given.what or "all_reduce"
    _known([what], ("all_reduce", *_traffic.KINDS), "traffic")
    chosen = _known(given.algorithms.split(","), ALGORITHMS, "all-reduce")
    progress = _known(given.progress.split(","), PROGRESS, "way of progress")
    fewest = 1 if what == "all_reduce" else 2  # messages need two
    usual = [4**k for k in range(6)] if modelled else [1, 2, 4]
    ranks = whole_numbers(given.ranks, "--ranks") or [n for n in usual if n >= fewest]
    sizes = whole_numbers(given.bytes, "--bytes")
    repeats = whole_number(given.repeats or ("1" if modelled else "50"), "--repeats")
    if not sizes or min(*ranks, repeats) < 1:
        raise BadArgument("ranks, bytes and repeats must be at least 1")
    if what == "all_reduce" and any(size < 0 or size % BYTES for size in sizes):
        raise BadArgument(f"--bytes are those of doubles: multiples of {BYTES}")
    degrees = whole_numbers(given.degrees, "--degrees")
    if len(degrees) != 2:
        raise BadArgument(f"--degrees are two numbers, such as 2,4, not '{given.degrees}'")
    processes = core().mpi()["size"]
    possible = [name for name in ALGORITHMS if name != "mpi" or (processes > 1 and not modelled)]
    machine = machines.load(given.machine) if modelled else None
    return Plan(
        given.engine,
        what,
        machine,
        chosen or possible,
        ranks,
        sizes,
        (degrees[0], degrees[1]),
        given.by_adapter,
        repeats,
        _products(given, machine),
        progress,
    )


def _known(words: list[str], known: tuple[str, ...], what: str) -> list[str]:
    chosen = [word for word in words if word]
    for word in chosen:
        if word not in known:
            near = suggestion(word, known) or f"; known: {', '.join(known)}"
            raise BadArgument(f"unknown {what} '{word}'{near}")
    return chosen


def _products(given: Any, machine: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What is computed behind the all-reduce; on a described machine at its rate."""
    rest = {
        "commands": whole_number(given.commands, "--commands"),
        "flops": float(machine["flops"]) if machine else 0.0,
        "spread": number(given.spread, "--spread"),
    }
    return [{"n": n, **rest} for n in whole_numbers(given.product, "--product")] or [{}]


def _all_reduces(plan: Plan, size: int) -> list[dict[str, Any]]:
    return [
        _measure(plan, algorithm, ranks, size, product, progress)
        for progress in plan.progress
        for algorithm in plan.algorithms
        for ranks in plan.ranks
        for product in plan.products
    ]


def _measure(
    plan: Plan, algorithm: str, ranks: int, size: int, product: dict[str, Any], progress: str
) -> dict[str, Any]:
    with translated():
        times = core().time_all_reduce(
            algorithm,
            size // BYTES,
            plan.repeats,
            {"engine": plan.engine, "ranks": ranks, "progress": progress},
            machines.numbers(plan.machine) if plan.machine else None,
            *plan.degrees,
            plan.by_adapter,
            product,
        )
    trees = algorithm in ("tree", "two_level")
    return {
        "bench": "comm", **times, "bytes": size, "repeats": plan.repeats, "product": product or None,
        "progress": progress if plan.engine == "host" else None,
        "degrees": list(plan.degrees) if trees else None, "by_adapter": plan.by_adapter,
        "described_machine": plan.machine["name"] if plan.machine else None,
    }  # fmt: skip


def _show(plan: Plan, size: int, records: list[dict[str, Any]]) -> None:
    heads = ["all-reduce", "same bits in every layout", "ranks", "start us", "wait us", "both us"]
    hidden = any(record["product"] for record in records)
    if hidden:
        heads += ["product", "progress", "alone us", "hidden"]
    rows = []
    for record in records:
        label = record["algorithm"]
        if record["degrees"]:
            label += f" ({record['degrees'][0]}, {record['degrees'][1]})"
        times = (f"{record[key] * 1e6:,.2f}" for key in ("post_s", "wait_s", "total_s"))
        row = [label, "yes" if record["reproducible"] else "no", str(record["ranks"]), *times]
        if hidden:
            row += [
                f"{record['product']['n']} in {record['product']['commands']}",
                record["progress"] or "model",
            ]
            row += [f"{record['alone_s'] * 1e6:,.2f}", f"{record['overlap']:.0%}"]
        rows.append(row)
    where = f"machine {plan.machine['name']}" if plan.machine else records[0]["transport"]
    display.show_table(f"{size:,} bytes a rank, {plan.engine} engine, {where}", heads, rows, left=2)
