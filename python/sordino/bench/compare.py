"""``sordino bench compare``: two records of a measurement side by side."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..cli import display
from ..cli.common import Parser, number
from ..cli.processes import say
from ..errors import BadArgument
from ..report.record import json_ready
from . import _records

SUMMARY = "two records of a measurement side by side, and what of ours is slower by more than so many percent"

#: Where and when it was measured, and what it was called with: not what was measured.
FACTS = ("date", "commit", "command", "machine", "load_average")

#: By benchmark, the times that decide: ours, over many repeats. Those of peers, of the slowest and the fastest turn,
#: and of ledgers, which are of one run, are shown beside them.
DECIDES = {
    "cg": ("iteration_s", "spmv_s"),
    "comm": ("median_s", "total_s", "seconds"),
    "dslash": ("hop_s",),
    "petsc": ("sordino iteration_s median", "sordino solve_s median"),
    "predict": ("iteration_s", "total_s"),
    "solution": ("solve_s median", "total_s median"),
    "steps": ("seconds_a_step",),
}

#: How the ways of others begin that ``bench comm`` measures beside ours.
OTHERS = ("NCCL", "cudaMemcpy")

#: Words and whole numbers that were measured; all others say what was.
OUTCOMES = (
    "iterations", "said", "status", "petsc_best", "transport", "ended", "same_cause", "missed_by_nobody", "with_epochs",
    "as_it_must_be",
)  # fmt: skip


def main(argv: Sequence[str]) -> int:
    """Print what has changed; return 0, or 4 where a time of ours that decides grew by more than --within."""
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
        raise BadArgument(
            f"{given.before} and {given.after} have no measurement in common: {differing(before, after)}"
        )
    grown = [change for change in changes if change["is_time"] and change["ratio"] > 1 + within]
    worse = [change for change in grown if change["decides"]]
    counts, load = of_counts(before, after), of_load(before, after)
    if given.json:
        found = {
            "changes": changes,
            "unmatched": unmatched,
            "slower": len(worse),
            "counts": counts,
            "load": load,
        }
        say(json.dumps(json_ready(found), allow_nan=False))
        return 4 if worse else 0
    shown = [c for c in changes if given.all or not 1 / (1 + within) <= c["ratio"] <= 1 + within]
    heads = ("what", "figure", "before", "after", "after/before", "decides")
    cells = [
        [
            c["what"],
            c["figure"],
            _said(c["before"]),
            _said(c["after"]),
            f"{c['ratio']:.2f}",
            _yes(c["decides"]),
        ]
        for c in shown
    ]
    display.show_table("What has changed", heads, cells, left=2)
    for name, rows in (("before", before), ("after", after)):
        say(f"{name}: {', '.join(sorted({_short(str(row.get('commit', 'unknown'))) for row in rows}))}")
    times = sum(change["decides"] for change in changes)
    say(
        f"{len(changes)} figures compared; {times} times of ours decide: "
        f"{len(worse)} slower by more than {given.within} %"
    )
    if others := len(grown) - len(worse):
        say(
            f"{others} other times are slower by as much: of peers, of one run, of the slowest or fastest turn"
        )
    if unmatched:
        say(f"{unmatched} lines are in one of the records only")
    for said in filter(None, (counts, load)):
        say(said)
    return 4 if worse else 0


def compared(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Each figure of the lines that both have, and the number of lines that only one has.

    Lines belong together where the words and whole numbers agree that all of them have, such as solver, size and
    ranks; what is repeated in a record is taken in its order.
    """
    names = _settings(before + after)
    left: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in before:
        left.setdefault(_key(line, names), []).append(line)
    changes: list[dict[str, Any]] = []
    alone = 0
    for line in after:
        partners = left.get(_key(line, names))
        if not partners:
            alone += 1
            continue
        changes += _changes(partners.pop(0), line, names)
    return changes, alone + sum(map(len, left.values()))


def of_counts(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    """A sentence where times are medians of several runs in one record, and in the other not; or nothing."""
    medians = [{row.get("counts") == "median" for row in rows} for rows in (before, after)]
    if medians[0] == medians[1]:
        return ""
    named = "before" if True in medians[0] else "after"
    return f"times of the record {named} are medians of several runs, and of the other one the best of them"


def of_load(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    """A sentence where the processors may have been busy with something else, or busier in one measurement; or nothing.

    The load is what the system counted when a measurement began, the highest of all lines; above the cores it is high.
    """
    loads = {name: _loads(rows) for name, rows in (("before", before), ("after", after))}
    most = {name: max(found) for name, found in loads.items() if found}
    machines = [row["machine"] for row in before + after if isinstance(row.get("machine"), dict)]
    cores = min((machine["cores"] for machine in machines if "cores" in machine), default=1)
    apart = len(most) == 2 and abs(most["before"] - most["after"]) > max(0.5, cores / 4)
    if not apart and max(most.values(), default=0) <= cores:
        return ""
    said = " and ".join(f"{load:.1f} {name}" for name, load in most.items())
    return (
        f"the load was {said}, on {cores} cores: times under unlike loads, or under more than the cores can do, "
        "say little; measure again where nothing else runs"
    )


def _loads(rows: list[dict[str, Any]]) -> list[float]:
    return [float(row["load_average"]) for row in rows if isinstance(row.get("load_average"), (int, float))]


def differing(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    """In which words and whole numbers two records have no line alike."""
    names = _settings(before + after)
    shared = {line.get("bench") for line in before} & {line.get("bench") for line in after}
    if not shared:
        return f"they differ in {_values('bench', before, after)}; compare records of one benchmark"
    apart = [
        _values(name, *(chosen))
        for bench in sorted(shared, key=str)
        for chosen in [[[line for line in lines if line.get("bench") == bench] for lines in (before, after)]]
        for name in names[bench]
        if not {line[name] for line in chosen[0]} & {line[name] for line in chosen[1]}
    ]
    if apart:
        return f"they differ in {'; in '.join(apart)}; measure again with the same"
    some = next(iter(shared))
    return f"no line of the one agrees with a line of the other in all of {', '.join(names[some])}"


def _values(name: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    then, now = (sorted({str(line.get(name)) for line in lines}) for lines in (before, after))
    return f"{name} ({', '.join(then)} before, {', '.join(now)} after)"


def _settings(lines: list[dict[str, Any]]) -> dict[Any, list[str]]:
    """By benchmark: the names of words and whole numbers that all its lines have and that are no outcomes."""
    common: dict[Any, set[str]] = {}
    for line in lines:
        kept = {
            name
            for name, value in line.items()
            if isinstance(value, (str, int))
            and not isinstance(value, bool)
            and name not in (*FACTS, *OUTCOMES)
        }
        bench = line.get("bench")
        common[bench] = common.get(bench, kept) & kept
    return {bench: sorted(names) for bench, names in common.items()}


def _key(line: dict[str, Any], names: dict[Any, list[str]]) -> tuple[Any, ...]:
    return tuple(line[name] for name in names[line.get("bench")])


def _changes(
    before: dict[str, Any], after: dict[str, Any], names: dict[Any, list[str]]
) -> Iterator[dict[str, Any]]:
    shown = [
        name for name in names[after.get("bench")] if name not in ("bench", "n", "nnz", "rows", "entries")
    ]
    what = ", ".join(f"{name} {after[name]}" for name in shown)
    deciding = DECIDES.get(str(after.get("bench")), ()) if _is_ours(after) else ()
    then = dict(_figures("", before, shown))
    for name, now in _figures("", after, shown):
        if name not in then:
            continue
        ratio = now / then[name] if then[name] else (1.0 if now == 0 else math.inf)
        is_time = any(part.endswith("_s") or part.startswith("seconds") for part in name.split())
        yield {
            "what": what,
            "figure": name,
            "before": then[name],
            "after": now,
            "ratio": ratio,
            "is_time": is_time,
            "decides": name in deciding,
        }


def _is_ours(line: dict[str, Any]) -> bool:
    return line.get("package", "sordino") == "sordino" and not str(line.get("way", "")).startswith(OTHERS)


def _figures(prefix: str, found: Any, settings: list[str]) -> Iterator[tuple[str, float]]:
    """Numbers that were measured, by the path to them; a yes is 1, a no 0."""
    for name, value in found.items():
        if name in FACTS or name in settings:
            continue
        if isinstance(value, dict):
            yield from _figures(f"{prefix}{name} ", value, settings)
        elif isinstance(value, (bool, int, float)) and (isinstance(value, (bool, float)) or name in OUTCOMES):
            yield f"{prefix}{name}", float(value)


def _short(commit: str) -> str:
    """Twelve digits of a hash, and what stands behind it."""
    return re.sub(r"^([0-9a-f]{12})[0-9a-f]+", r"\1", commit)


def _yes(decides: bool) -> str:
    return "yes" if decides else ""


def _said(value: float) -> str:
    return f"{value:.4g}"
