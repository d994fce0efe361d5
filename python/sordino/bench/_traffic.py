"""Messages and broadcasts of host data, for ``sordino bench comm``: what paper 002 shows in its Figs 7 to 9."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import machines
from .._native import core, translated
from ..cli import display

if TYPE_CHECKING:
    from .comm import Plan

#: To and fro; many one way; many both ways at once; from the first rank to all.
KINDS = ("ping_pong", "one_way", "both_ways", "broadcast")


def measure(plan: Plan, kind: str, size: int) -> list[dict[str, Any]]:
    """Time one kind for each number of ranks."""
    return [_measure(plan, kind, size, ranks) for ranks in plan.ranks]


def _measure(plan: Plan, kind: str, size: int, ranks: int) -> dict[str, Any]:
    numbers = machines.numbers(plan.machine) if plan.machine else None
    options = {"engine": plan.engine, "ranks": ranks}
    with translated():
        timed = core().time_traffic(kind, size, plan.repeats, options, numbers)
    directions = 2 if kind == "both_ways" else 1
    return {
        "bench": "comm", **timed, "bytes": size, "repeats": plan.repeats,
        "bytes_per_s": directions * size / timed["seconds"] if kind != "broadcast" else None,
        "described_machine": plan.machine["name"] if plan.machine else None,
    }  # fmt: skip


def show(plan: Plan, size: int, records: list[dict[str, Any]]) -> None:
    """Print one table."""
    rows = []
    for record in records:
        rate = f"{record['bytes_per_s'] / 1e6:,.1f}" if record["bytes_per_s"] is not None else "-"
        rows.append([record["traffic"], str(record["ranks"]), f"{record['seconds'] * 1e6:,.2f}", rate])
    where = f"machine {plan.machine['name']}" if plan.machine else records[0]["transport"]
    heads = ("traffic", "ranks", "us", "MB/s")
    display.show_table(f"{size:,} bytes, {plan.engine} engine, {where}", heads, rows, left=1)
