"""The timeline: a lane for each rank and queue, a bar for each command or wait, and below what is under way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

from . import svg
from .record import Report
from .words import duration

WIDTH = 920.0
LEFT, RIGHT, TOP = 118.0, 12.0, 6.0
LANE, GAP = 20.0, 12.0
THIN = 6.0
MOST_RANKS, MOST_BARS, LEAST_BARS, ITERATIONS = 8, 3000, 40, 3

#: What a bar can be, and what the legend says of it.
KINDS: dict[str, str] = {
    "compute": "computing",
    "launch": "launching",
    "halo_wait": "waiting for a halo (exposed)",
    "reduction_wait": "waiting for a reduction (exposed)",
    "halo": "halo under way",
    "reduction": "reduction under way",
    "other": "other",
}

#: Drawn in this order, one over the other.
_LAYERS = ("halo", "reduction", "compute", "other", "launch", "halo_wait", "reduction_wait")

#: What is under way runs beside the commands: in thin lanes of its own, below its queue, in this order.
_BESIDE = ("halo", "reduction")

#: Places of lanes: (rank, queue, kind), where the kind is "" for commands and waits.
_Lane = tuple[int, str, str]


@dataclass(frozen=True)
class Timeline:
    """The picture, the kinds in it, and a sentence on what part of the run it shows."""

    picture: str
    kinds: tuple[str, ...]
    caption: str


def classify(kind: str) -> str:
    """The entry of :data:`KINDS` for a kind of the trace."""
    word = kind.lower().replace(" ", "_").replace("-", "_")
    waits = "wait" in word
    if "halo" in word:
        return "halo_wait" if waits else "halo"
    if "reduc" in word:
        return "reduction_wait" if waits else "reduction"
    return word if word in ("compute", "launch") else "other"


def draw(report: Report) -> Timeline | None:
    """Draw some iterations from the middle of the run, or return None where there is no trace."""
    if not report.trace:
        return None
    ranks = _some_ranks({int(item["rank"]) for item in report.trace})
    seen = [item for item in report.trace if int(item["rank"]) in ranks]
    start, end, shown = _window(report, seen)
    lanes = _lanes(shown)
    bottom = max(y + _height(lane) for lane, y in lanes.items())
    shown.sort(key=lambda item: _LAYERS.index(classify(str(item["kind"]))))  # waits lie within their command
    bars = "".join(_bar(item, lanes, start, end) for item in shown)
    content = _labels(lanes) + bars + _axis(start, end, bottom)
    label = f"Timeline of {len(ranks)} ranks' queues over {duration(end - start)}"
    picture = svg.drawing(WIDTH, bottom + 40, content, label, "timeline")
    present = {classify(str(item["kind"])) for item in shown}
    kinds = tuple(kind for kind in KINDS if kind in present)
    return Timeline(picture, kinds, _caption(report, ranks, start, end))


def _some_ranks(ranks: set[int]) -> list[int]:
    ordered = sorted(ranks)
    if len(ordered) <= MOST_RANKS:
        return ordered
    stride = (len(ordered) - 1) / (MOST_RANKS - 1)
    return sorted({ordered[round(index * stride)] for index in range(MOST_RANKS)})


def _window(report: Report, seen: list[dict[str, Any]]) -> tuple[float, float, list[dict[str, Any]]]:
    """Start and end of some iterations in the middle, and what happens in them; more, if that is little."""
    first = min(float(item["start_s"]) for item in seen)
    last = max(float(item["end_s"]) for item in seen)
    span = ITERATIONS * (report.seconds or last - first) / max(report.iterations, 1) or 1e-9
    while True:
        span = min(span, max(last - first, 1e-9))
        start = first + (last - first - span) / 2
        shown = [s for s in seen if float(s["end_s"]) > start and float(s["start_s"]) < start + span]
        if len(shown) >= min(len(seen), LEAST_BARS) or span >= last - first:
            return start, start + span, shown[:MOST_BARS]
        span *= 2


def _lane_of(item: dict[str, Any]) -> _Lane:
    kind = classify(str(item["kind"]))
    return int(item["rank"]), str(item["queue"]), kind if kind in _BESIDE else ""


def _height(lane: _Lane) -> float:
    return THIN if lane[2] else LANE


def _lanes(shown: Iterable[dict[str, Any]]) -> dict[_Lane, float]:
    found = {_lane_of(item) for item in shown}
    found |= {(rank, queue, "") for rank, queue, _ in found}
    places: dict[_Lane, float] = {}
    y, previous = TOP, None
    for lane in sorted(found):
        if previous is not None:
            y += _height(previous) + (GAP if lane[0] != previous[0] else 2)
        places[lane] = y
        previous = lane
    return places


def _labels(lanes: dict[_Lane, float]) -> str:
    alone = len({queue for _, queue, _ in lanes}) == 1
    parts = []
    for (rank, queue, kind), y in lanes.items():
        height = THIN if kind else LANE
        parts.append(
            svg.element("rect", x=LEFT, y=y, width=WIDTH - LEFT - RIGHT, height=height, class_="lane")
        )
        if kind:
            continue
        name = f"queue {queue}" if queue.isdigit() else queue
        label = f"rank {rank}" if alone else f"rank {rank}, {name}"
        parts.append(svg.text(LEFT - 8, y + LANE - 5, label, text_anchor="end"))
    return "".join(parts)


def _bar(item: dict[str, Any], lanes: dict[_Lane, float], start: float, end: float) -> str:
    scale = (WIDTH - LEFT - RIGHT) / (end - start)
    low, high = max(float(item["start_s"]), start), min(float(item["end_s"]), end)
    kind, lane = classify(str(item["kind"])), _lane_of(item)
    took = duration(float(item["end_s"]) - float(item["start_s"]))
    title = svg.element("title", escape(f"{item['name']} ({KINDS[kind]}): {took}"))
    inset = 0.5 if lane[2] else 1.0
    return svg.element(
        "rect",
        title,
        x=LEFT + (low - start) * scale,
        y=lanes[lane] + inset,
        width=max(0.6, (high - low) * scale),
        height=_height(lane) - 2 * inset,
        class_=f"bar k-{kind}",
    )


def _axis(start: float, end: float, bottom: float) -> str:
    span = end - start
    parts = [svg.line(LEFT, bottom + 4, WIDTH - RIGHT, bottom + 4, "axis")]
    for offset in svg.ticks(0.0, span, 6):
        x = LEFT + offset / span * (WIDTH - LEFT - RIGHT)
        parts.append(svg.line(x, bottom + 4, x, bottom + 9, "axis"))
        parts.append(svg.text(min(x, WIDTH - 30), bottom + 26, duration(offset), text_anchor="middle"))
    return "".join(parts)


def _caption(report: Report, ranks: list[int], start: float, end: float) -> str:
    every = len({int(item["rank"]) for item in report.trace})
    who = (
        f"{len(ranks)} of {every} ranks" if len(ranks) < every else f"{every} rank{'s' if every > 1 else ''}"
    )
    clock = "virtual clock" if report.options.get("engine") == "model" else "wall clock"
    said = f"{duration(end - start)} from the middle of what was traced, by the {clock}; {who}."
    if any(classify(str(item["kind"])) in _BESIDE for item in report.trace):
        said += (
            " Thin bars are communication under way. Where a wait stands above one, it is exposed; "
            "where a computation does, it is hidden."
        )
    elif report.options.get("engine") == "cuda":
        said += " A bar is a command as the GPU took it, from where its sums have come."
    return said
