"""The roofline: what each kernel reaches, against what the machine's memory and arithmetic allow."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from . import svg
from .record import Report
from .roof import Roof
from .words import kernel_rows, quantity

LEFT, RIGHT, TOP, BOTTOM = 58.0, 14.0, 14.0, 46.0
HEIGHT, PHONE_HEIGHT = 330.0, 300.0
LEAST_SHARE, MOST_LABELS, LABEL = 0.01, 8, 17.0


def plot(report: Report, roof: Roof | None) -> str:
    """Rate of arithmetic over flops a byte, both logarithmic, with the roof; empty without timed kernels."""
    rows = [
        row for row in kernel_rows(report) if row["share"] >= LEAST_SHARE and row["rate"] and row["bandwidth"]
    ]
    rows = rows[:MOST_LABELS]
    if not rows:
        return ""
    return svg.at_both_widths(lambda canvas: _draw(rows, roof, canvas), HEIGHT, PHONE_HEIGHT)


class _Frame:
    """Coordinates of the plot: logarithms to base 10 on both axes."""

    def __init__(self, rows: list[dict[str, Any]], roof: Roof | None, canvas: svg.Canvas) -> None:
        intensities = [math.log10(row["rate"] / row["bandwidth"]) for row in rows]
        rates = [math.log10(row["rate"]) for row in rows]
        self.x0, self.x1 = min(intensities) - 0.5, max(intensities) + 1.2
        top = max(rates)
        if roof:
            top = max(top, math.log10(roof.bandwidth) + self.x1)
            if roof.flops:
                top = max(max(rates), min(top, math.log10(roof.flops)))
        self.y0, self.y1 = math.floor(min(rates) - 0.2), math.ceil(top + 0.1)
        self.right, self.bottom = canvas.width - RIGHT, canvas.height - BOTTOM

    def at(self, x: float, y: float) -> tuple[float, float]:
        across, up = (x - self.x0) / (self.x1 - self.x0), (y - self.y0) / (self.y1 - self.y0)
        return LEFT + across * (self.right - LEFT), self.bottom - up * (self.bottom - TOP)

    def axes(self) -> str:
        parts = []
        for exponent in range(self.y0, self.y1 + 1):
            _, y = self.at(self.x0, exponent)
            parts.append(svg.line(LEFT, y, self.right, y, "grid"))
            parts.append(svg.text(LEFT - 8, y + 4, quantity(10.0**exponent, ""), text_anchor="end"))
        for intensity in _one_two_five(self.x0, self.x1):
            x, _ = self.at(math.log10(intensity), self.y0)
            parts.append(svg.line(x, self.bottom, x, self.bottom + 5, "axis"))
            parts.append(svg.text(x, self.bottom + 19, f"{intensity:g}", text_anchor="middle"))
        parts.append(svg.line(LEFT, self.bottom, self.right, self.bottom, "axis"))
        middle = (LEFT + self.right) / 2
        parts.append(
            svg.text(middle, self.bottom + 39, "flops a byte of memory traffic", text_anchor="middle")
        )
        return "".join(parts)


def _one_two_five(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten whose logarithms lie between low and high."""
    steps = [
        float(f"{factor}e{power}")
        for power in range(math.floor(low), math.ceil(high))
        for factor in (1, 2, 5)
    ]
    return [step for step in steps if low + 0.05 <= math.log10(step) <= high - 0.05]


def _draw(rows: list[dict[str, Any]], roof: Roof | None, canvas: svg.Canvas) -> str:
    frame = _Frame(rows, roof, canvas)
    parts = [frame.axes()]
    if roof:
        parts.append(_roof_line(frame, roof))
    points = [frame.at(math.log10(row["rate"] / row["bandwidth"]), math.log10(row["rate"])) for row in rows]
    parts.append(_labels(frame, rows, points))
    for row, (x, y) in zip(rows, points, strict=True):
        said = f"{row['name']}: {quantity(row['rate'], 'flop/s')}, {quantity(row['bandwidth'], 'B/s')}"
        parts.append(
            svg.element("circle", svg.element("title", escape(said)), cx=x, cy=y, r=6.0, class_="kernel")
        )
    names = ", ".join(row["name"] for row in rows)
    return svg.drawing(
        canvas.width, canvas.height, "".join(parts), f"Roofline with the kernels {names}", "plot"
    )


def _roof_line(frame: _Frame, roof: Roof) -> str:
    slope = math.log10(roof.bandwidth)
    ridge = math.log10(roof.flops) - slope if roof.flops else math.inf
    bend = min(max(ridge, frame.x0), frame.x1)
    first = max(frame.x0, frame.y0 - slope)
    if first >= bend:  # all kernels are far above it
        return ""
    points = [frame.at(first, slope + first), frame.at(bend, slope + bend)]
    if ridge < frame.x1:
        points.append(frame.at(frame.x1, math.log10(roof.flops)))
    name = svg.text(LEFT + 8, TOP + 17, f"roof: memory {quantity(roof.bandwidth, 'B/s')}", class_="note")
    if roof.flops:
        name += svg.text(LEFT + 8, TOP + 34, f"arithmetic {quantity(roof.flops, 'flop/s')}", class_="note")
    return svg.polyline(points, "roof") + name


def _labels(frame: _Frame, rows: list[dict[str, Any]], points: list[tuple[float, float]]) -> str:
    """The kernels' names in a column to the right of all points, one below the other, with lines to their points."""
    column = min(max(x for x, _ in points) + 46, frame.right - 90)
    order = sorted(range(len(rows)), key=lambda index: points[index][1])
    lowest = frame.bottom - 8 - LABEL * (len(rows) - 1)
    y, parts = TOP + 44, []
    for place, index in enumerate(order):
        y = min(max(y, points[index][1] + 4), lowest + LABEL * place)
        parts.append(svg.line(points[index][0], points[index][1], column - 4, y - 4, "leader"))
        parts.append(svg.text(column, y, rows[index]["name"], class_="kernel-name"))
        y += LABEL
    return "".join(parts)
