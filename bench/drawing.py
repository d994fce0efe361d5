"""What the pictures of bench/figures.py have in common: records, panels, and lines in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
RECORDS, PICTURES = ROOT / "bench" / "records", ROOT / "docs" / "pictures"
Rows = list[dict[str, Any]]

#: Okabe and Ito's colours, which people tell apart however they see them.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"


def records_of(name: str, machine: str) -> list[tuple[str, Rows]]:
    """Name and lines of each record of that name, or of those that a pattern names, the last name first.

    A name is all of it behind the date: `predictions` are not `triangular_predictions`.
    """
    found = sorted(RECORDS.glob(f"????-??-??_{name}_{machine}.jsonl"), reverse=True)
    return [
        (file.name, [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()])
        for file in found
    ]


def newest_of(
    name: str, machine: str, wanted: Callable[[dict[str, Any]], bool], serves: Callable[[Rows], bool] = any
) -> tuple[str, Rows]:
    """Name and all lines of the record whose last wanted line is the newest; "" and none if none has such a line.

    Which one that is, is asked of dates in lines, not of names: several of a day have names of one beginning. `serves`
    says of a record's wanted lines whether they are enough.
    """
    found: tuple[str, str, Rows] = ("", "", [])
    for file, lines in records_of(name, machine):
        chosen = [line for line in lines if wanted(line)]
        if serves(chosen) and (date := max(line["date"] for line in chosen)) > found[0]:
            found = (date, file, lines)
    return found[1:]


def rows_of(name: str, machine: str = "2_cores", figure: str = "") -> Rows:
    """The newest record of that name, or the rows of a figure in the newest one that has it; empty if there is none."""
    for _, rows in records_of(name, machine):
        if found := [row for row in rows if not figure or row["figure"] == figure]:
            return found
    return []


def figure_of(rows: int, columns: int, size: tuple[float, float], **panels: Any) -> tuple[Any, Any]:
    """A figure and its panels, of the same style in all pictures; white, so that it is read on a dark page, too."""
    plt.rcParams.update(
        {"svg.hashsalt": "sordino", "svg.fonttype": "none", "font.size": 9, "lines.markersize": 3}
    )
    return plt.subplots(rows, columns, figsize=size, layout="constrained", **panels)


def save(name: str, figure: Any) -> None:
    """As SVG that does not change from run to run."""
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def picture(name: str, draw: Callable[[Any, Any], None]) -> None:
    """Two panels side by side."""
    figure, (left, right) = figure_of(1, 2, (9, 3.6))
    draw(left, right)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    save(name, figure)


def curve(axes: Any, rows: Rows, x: str, y: str, label: str, scale: float = 1.0, style: str = "o-") -> None:
    """One line of a panel."""
    points = sorted((row[x], row[y] * scale) for row in rows)
    axes.plot(*zip(*points, strict=True), style, label=label)


def groups(rows: Rows, key: Callable[[dict[str, Any]], str]) -> dict[str, Rows]:
    """Rows by what `key` says of them, in the order in which that first occurs."""
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found
