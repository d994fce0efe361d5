"""What is said of predictions: where an iteration's time goes, and why one method wins."""

from __future__ import annotations

from typing import Any

from ._predict import Iteration
from ._predict_levels import shares
from .report.words import count, duration, stored

_NAMES = {
    "memory": "memory traffic",
    "launches": "launches of commands",
    "sums": "own sums of reductions",
    "reductions": "exposed reductions",
    "halo": "exposed halos",
    "imbalance": "waiting for ranks with more rows or jitter",
}


def _told(seconds: float) -> str:
    """A difference of long runs has no picoseconds: what is left of zero is rounding."""
    return duration(round(seconds, 12))


def where_time_goes(found: Iteration) -> str:
    """``memory traffic 11.3 μs, exposed reductions 6.1 μs, ... of 22.4 μs an iteration``."""
    parts = sorted(found.parts.items(), key=lambda item: -item[1])
    shown = [f"{_NAMES[name]} {_told(value)}" for name, value in parts if value >= 0.01 * found.seconds]
    return f"{', '.join(shown)} of {duration(found.seconds)} an iteration"


def why(winner: Iteration, other: Iteration, iterations: tuple[int | None, int | None] = (None, None)) -> str:
    """What the winner saves against the other, the largest first, and what it pays for it, an iteration."""
    saved = {name: other.parts[name] - winner.parts[name] for name in winner.parts}
    least = 0.05 * max(abs(other.seconds - winner.seconds), 0.01 * winner.seconds)
    gains = sorted((name for name in saved if saved[name] > least), key=lambda name: -saved[name])
    losses = sorted((name for name in saved if saved[name] < -least), key=lambda name: saved[name])

    def listed(names: list[str]) -> str:
        changes = [
            f"{_NAMES[name]} ({_told(winner.parts[name])}, not {_told(other.parts[name])})" for name in names
        ]
        return " and ".join(changes)

    said = []
    if None not in iterations and iterations[0] != iterations[1]:
        fewer = "fewer" if iterations[0] < iterations[1] else "more"  # type: ignore[operator]
        said.append(f"takes {fewer} iterations ({iterations[0]:,}, not {iterations[1]:,})")
    if gains:
        said.append(f"has less of {listed(gains)}")
    if losses:
        said.append(f"has more of {listed(losses)}")
    return ", and ".join(said) or "differs in nothing that the ledger knows"


def verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Who wins on one number of ranks: by the whole solve where all iterations are known, else by one iteration."""
    some = rows[0]
    rows = [row for row in rows if row["solves"]]
    if not rows:
        where = f"{some['described_machine']}, {some['ranks']:,} rank{'s' if some['ranks'] > 1 else ''}"
        none = f"{where}: no method has solved the system here, so none wins."
        return {
            "machine": some["described_machine"],
            "ranks": some["ranks"],
            "winner": None,
            "by": None,
            "why": none,
        }
    by = "total_s" if all(row["total_s"] is not None for row in rows) else "iteration_s"
    ranked = sorted(rows, key=lambda row: row[by])
    best = ranked[0]
    facts = {"machine": best["described_machine"], "ranks": best["ranks"], "winner": best["solver"], "by": by}
    where = f"{best['described_machine']}, {best['ranks']:,} rank{'s' if best['ranks'] > 1 else ''}: "
    if len(ranked) == 1:
        return {
            **facts,
            "why": f"{where}{best['solver']} spends {where_time_goes(best['iteration'])}.",
        }
    other = ranked[1]
    what = "" if by == "total_s" else " an iteration"
    iterations = (best["iterations"], other["iterations"]) if by == "total_s" else (None, None)
    said = (
        f"{where}{best['solver']} wins with {duration(best[by])}{what} against {duration(other[by])} of "
        f"{other['solver']}: it {why(best['iteration'], other['iteration'], iterations)}."
    )
    return {**facts, "why": said}


def by_level(rows: list[dict[str, Any]]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Heads and cells of a table: where a multigrid iteration's time goes, and which halos and sums are waited for."""
    heads = (
        "solver", "ranks", "levels", "finest level", "others", "bottom solve", "around", "halos exposed", "hidden",
        "sums exposed", "hidden",
    )  # fmt: skip
    cells = []
    for row in rows:
        levels = row["iteration"].levels
        waits = [
            sum(getattr(level, name) for level in levels)
            for name in ("halo_wait_s", "hidden_halo_s", "reduction_wait_s", "hidden_reduction_s")
        ]
        times = [*shares(levels).values(), *waits]
        told = [f"{seconds * 1e6:,.1f}" for seconds in times]
        cells.append([row["solver"], f"{row['ranks']:,}", str(len(levels) - 1), *told])
    return heads, cells


def storages(rows: list[dict[str, Any]]) -> list[str]:
    """How the matrix is stored, a sentence for each way, with the reason on the first number of ranks that is so.

    Reasons name the bytes of a rank, and rows on other numbers are told by these numbers alone.
    """
    said = []
    for way in dict.fromkeys(row["storage"] for row in rows):
        alike = [row for row in rows if row["storage"] == way]
        first, reason = alike[0], alike[0]["storage_reason"]
        others = sorted({row["ranks"] for row in alike if row["storage_reason"] != reason})
        if others:
            same = ", ".join(f"{ranks:,}" for ranks in others)
            reason += f" (on {count(first['ranks'], 'rank')}; the same way on {same})"
        said.append(stored(way, reason))
    return said
