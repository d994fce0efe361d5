"""The picture of ``sordino predict trsv --plan``: blocks by their ranks, tasks over time, and the critical path."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import svg
from .pictures import RANKS as COLOURS
from .words import count, duration

WIDTH, TOP, SIDE, GAP, BOTTOM = 920.0, 66.0, 330.0, 64.0, 58.0
LEFT = 16.0
#: More tasks than a screen has lines for.
MOST_TASKS = 4000
STYLE = (
    "svg{font-family:system-ui,sans-serif;font-size:13px}text{fill:#5b6470}"
    "text.heading{fill:#1b1f24;font-size:15px}.page{fill:#fff}.frame{fill:none;stroke:#aab2bd}"
    ".axis{stroke:#5b6470}.values{fill-opacity:.3}.waits{fill:#eceff2}.path{fill:none;stroke:#1b1f24;stroke-width:1.6}"
    ".critical{stroke:#1b1f24;stroke-width:1.4}"
)


def critical_path(found: dict[str, Any]) -> list[int]:
    """Tasks from the first to the last one, each waited for by the next: backwards through whose result came last."""
    path = [int(np.argmax(found["end"]))]
    while (before := int(found["last_needs"][path[-1]])) >= 0:
        path.append(before)
    return path[::-1]


def lanes(found: dict[str, Any]) -> np.ndarray:
    """A line of the picture for each task, shape (tasks,): workers that hold one at a time, rank by rank."""
    lane = np.zeros(len(found["taken"]), np.int64)
    first = 0
    for rank in range(int(found["ranks"].max()) + 1):
        free: list[float] = []  # when each worker of the rank is
        of_rank = np.flatnonzero(found["ranks"] == rank)
        for task in of_rank[np.argsort(found["taken"][of_rank], kind="stable")]:
            place = next((k for k, end in enumerate(free) if end <= found["taken"][task]), len(free))
            free[place : place + 1] = [found["end"][task]]
            lane[task] = first + place
        first += len(free)
    return lane


def drawing(found: dict[str, Any], heading: str) -> str:
    """The picture as an SVG file, of what ``modelled_plan`` tells; shapes: one number for each block, or task.

    Parameters
    ----------
    found : dict
    heading : str
    """
    path, ranks = critical_path(found), int(found["ranks"].max()) + 1
    content = [
        svg.element("style", STYLE),
        svg.element("rect", x=0, y=0, width=WIDTH, height=TOP + SIDE + BOTTOM, class_="page"),
        svg.text(LEFT, 24.0, heading, class_="heading"),
        _matrix(found),
        _times(found, path),
        _legend(ranks),
    ]
    label = (
        f"{heading}. {count(len(found['columns']), 'block')} on {count(ranks, 'rank')}, {count(len(path), 'task')} "
        f"of {len(found['end']):,} on the critical path, {duration(found['seconds'])}"
    )
    return svg.drawing(WIDTH, TOP + SIDE + BOTTOM, "".join(content), label, "plan")


def _colour(rank: int) -> str:
    return COLOURS[rank % len(COLOURS)]


def _matrix(found: dict[str, Any]) -> str:
    """The triangle: each block's columns, with its runs of rows, in the colour of whoever has it."""
    n = int((found["columns"] + found["widths"]).max())
    scale = SIDE / n
    begins = np.concatenate([[0], np.cumsum(found["fronts"])])
    far = max(1.0, 0.5 / scale)  # rows that leave half a pixel between them
    shapes: dict[int, list[str]] = {}
    for k, (column, width) in enumerate(zip(found["columns"], found["widths"], strict=True)):
        below = np.sort(found["rows"][begins[k] + width : begins[k + 1]])
        x, y, wide = LEFT + scale * column, TOP + scale * column, max(scale * width, 0.4)
        of_rank = shapes.setdefault(int(found["owners"][k]), [])
        of_rank.append(f"M{x:.1f} {y:.1f}v{wide:.1f}h{wide:.1f}z")
        for run in np.split(below, np.flatnonzero(np.diff(below) > far) + 1):
            if len(run):
                y, high = TOP + scale * float(run[0]), scale * float(run[-1] + 1 - run[0])
                of_rank.append(f"M{x:.1f} {y:.1f}h{wide:.1f}v{max(high, 0.4):.1f}h-{wide:.1f}z")
    parts = [svg.element("path", d="".join(of), fill=_colour(rank)) for rank, of in sorted(shapes.items())]
    frame = svg.element("rect", x=LEFT, y=TOP, width=SIDE, height=SIDE, class_="frame")
    return "".join(parts) + frame + svg.text(LEFT, TOP + SIDE + 20, f"L, {n:,} rows, by who has its blocks")


def _times(found: dict[str, Any], path: list[int]) -> str:
    """Workers from above to below, time to the right."""
    lane, left = lanes(found), LEFT + SIDE + GAP
    across = (WIDTH - left - 24) / found["seconds"]
    high = SIDE / (int(lane.max()) + 1)
    on_path = set(path)
    parts = []
    for task in range(len(lane)):
        y = TOP + high * float(lane[task])
        x = [left + across * float(found[when][task]) for when in ("taken", "ready", "begin", "end")]
        bars = [
            svg.element("rect", x=x[k], y=y, width=max(x[k + 1] - x[k], 0.1), height=0.9 * high, class_=kind)
            for k, kind in enumerate(("values", "waits", "critical" if task in on_path else "computes"))
        ]
        title = svg.element(
            "title", f"task {task}, block {found['blocks'][task]}, rank {found['ranks'][task]}"
        )
        parts.append(svg.element("g", title + "".join(bars), fill=_colour(int(found["ranks"][task]))))
    middle = [TOP + high * (float(lane[task]) + 0.45) for task in path]
    points = []
    for y, task in zip(middle, path, strict=True):
        points += [(left + across * float(found[when][task]), y) for when in ("begin", "end")]
    parts.append(svg.polyline(points, "path"))
    bottom = TOP + SIDE
    parts.append(svg.line(left, bottom, WIDTH - 24, bottom, "axis"))
    for seconds in svg.ticks(0.0, found["seconds"], 5):
        x_tick = left + across * seconds
        parts.append(svg.line(x_tick, bottom, x_tick, bottom + 5, "axis"))
        parts.append(
            svg.text(x_tick, bottom + 20, duration(seconds) if seconds else "0", text_anchor="middle")
        )
    said = f"time, a line for each worker; black: the critical path, {count(len(path), 'task')}"
    return "".join(parts) + svg.text(left, bottom + 42, said)


def _legend(ranks: int) -> str:
    x, y, parts = LEFT, 48.0, []
    for rank in range(min(ranks, len(COLOURS))):
        parts.append(svg.element("rect", x=x, y=y - 10, width=12.0, height=12.0, fill=_colour(rank)))
        parts.append(svg.text(x + 17, y, f"rank {rank}"))
        x += 74
    x = LEFT + SIDE + GAP
    for class_, words in (("values", "values come"), ("waits", "waits for others"), ("computes", "computes")):
        sample = svg.element("rect", x=x, y=y - 10, width=12.0, height=12.0, class_=class_)
        parts.append(svg.element("g", sample, fill=_colour(0)) + svg.text(x + 17, y, words))
        x += 135
    return "".join(parts)
