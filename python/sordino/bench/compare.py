"""``sordino bench compare``: two records of a measurement side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..cli import display
from ..cli.common import Parser, number
from ..cli.processes import say
from ..errors import BadArgument
from ..report.record import json_ready
from . import _records

SUMMARY = "two records of a measurement side by side, and what is slower by more than so many percent"

#: Where and when it was measured, and what it was called with: not what was measured.
FACTS = ("date", "commit", "command", "machine")


def main(argv: Sequence[str]) -> int:
    """Print what has changed; return 0, or 4 where a time grew by more than --within."""
    parser = Parser("bench compare", SUMMARY)
    parser.add_argument("before", metavar="BEFORE", help="a record, JSON lines as --record writes them")
    parser.add_argument("after", metavar="AFTER", help="another one, of the same benchmark")
    parser.add_argument(
        "--within", default="10", metavar="X", help="percent of change that are not worth a word (default 10)"
    )
    parser.add_argument("--all", action="store_true", help="show what is within them, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    given = parser.read(argv)
    within = number(given.within, "--within") / 100
    if not within >= 0:
        raise BadArgument("--within is a number of percent, 0 or more")
    before, after = _records.read(given.before), _records.read(given.after)
    changes, unmatched = compared(before, after)
    if not changes:
        raise BadArgument(f"{given.before} and {given.after} have no measurement in common")
    worse = [change for change in changes if change["is_time"] and change["ratio"] > 1 + within]
    if given.json:
        say(
            json.dumps(
                json_ready({"changes": changes, "unmatched": unmatched, "slower": len(worse)}),
                allow_nan=False,
            )
        )
        return 4 if worse else 0
    shown = [c for c in changes if given.all or not 1 / (1 + within) <= c["ratio"] <= 1 + within]
    cells = [
        [c["what"], c["figure"], _said(c["before"]), _said(c["after"]), f"{c['ratio']:.2f}"] for c in shown
    ]
    display.show_table(
        "What has changed", ("what", "figure", "before", "after", "after/before"), cells, left=2
    )
    for name, rows in (("before", before), ("after", after)):
        say(f"{name}: {', '.join(sorted({str(row.get('commit', 'unknown'))[:12] for row in rows}))}")
    times = sum(change["is_time"] for change in changes)
    say(
        f"{len(changes)} figures compared, {times} of them times: {len(worse)} slower by more than {given.within} %"
    )
    if unmatched:
        say(f"{unmatched} lines are in one of the records only")
    return 4 if worse else 0


def compared(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Each figure of the lines that both have, and the number of lines that only one has.

    Lines belong together where their words and whole numbers agree, such as solver, size and ranks; what is repeated
    in a record is taken in its order.
    """
    names = _measured_counts(before + after)
    left: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in before:
        left.setdefault(_key(line, names), []).append(line)
    changes, alone = [], 0
    for line in after:
        partners = left.get(_key(line, names))
        if not partners:
            alone += 1
            continue
        changes += _changes(partners.pop(0), line, names)
    return changes, alone + sum(map(len, left.values()))


def _measured_counts(lines: list[dict[str, Any]]) -> set[str]:
    """Whole numbers that are outcomes and no settings."""
    outcomes = {"iterations", "ended", "same_cause", "missed_by_nobody", "with_epochs", "as_it_must_be"}
    return {name for line in lines for name in line if name in outcomes}


def _key(line: dict[str, Any], outcomes: set[str]) -> tuple[Any, ...]:
    def is_setting(name: str, value: Any) -> bool:
        return (
            name not in FACTS
            and name not in outcomes
            and isinstance(value, (str, int))
            and not isinstance(value, bool)
        )

    return tuple(sorted((name, value) for name, value in line.items() if is_setting(name, value)))


def _changes(before: dict[str, Any], after: dict[str, Any], outcomes: set[str]) -> Iterator[dict[str, Any]]:
    what = ", ".join(
        str(value) for name, value in _key(after, outcomes) if name not in ("bench", "n", "nnz", "rows")
    )
    then = dict(_figures("", before, outcomes))
    for name, now in _figures("", after, outcomes):
        if name not in then:
            continue
        ratio = now / then[name] if then[name] else (1.0 if now == 0 else math.inf)
        is_time = name.endswith("_s") or "seconds" in name or "_s " in name
        yield {
            "what": what,
            "figure": name,
            "before": then[name],
            "after": now,
            "ratio": ratio,
            "is_time": is_time,
        }


def _figures(prefix: str, found: Any, outcomes: set[str]) -> Iterator[tuple[str, float]]:
    """Numbers that were measured, by the path to them."""
    for name, value in found.items():
        if name in FACTS:
            continue
        if isinstance(value, dict):
            yield from _figures(f"{prefix}{name} ", value, outcomes)
        elif isinstance(value, float) or (name in outcomes and isinstance(value, int)):
            yield f"{prefix}{name}", float(value)


def _said(value: float) -> str:
    return f"{value:.4g}"
