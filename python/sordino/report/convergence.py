"""The convergence plot: relative residual against iterations, on a logarithmic scale."""

from __future__ import annotations

import math

from . import svg
from .record import Report

WIDTH, HEIGHT = 720.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 74.0, 20.0, 18.0, 62.0
MOST_POINTS = 900


def plot(report: Report) -> str:
    """The plot as inline SVG, or an empty string where there is no history."""
    points = _points(report)
    if len(points) < 2:
        return ""
    tolerance = float(report.options.get("rtol") or 0)
    marks = [value for _, value in points]
    marks += [
        math.log10(value) for value in (tolerance, report.true_residual) if value > 0 and math.isfinite(value)
    ]
    frame = _Frame(points[0][0], points[-1][0], math.floor(min(marks)), math.ceil(max(marks)))
    parts = [frame.axes(), svg.polyline([frame.at(x, y) for x, y in points], "curve")]
    if tolerance > 0:
        parts.append(_tolerance(frame, tolerance))
    parts.append(_true_residual(frame, report, points[-1][0]))
    label = f"Relative residual over {report.iterations} iterations"
    return svg.drawing(WIDTH, HEIGHT, "".join(parts), label, "plot")


class _Frame:
    """The plot's coordinates."""

    def __init__(self, x0: float, x1: float, y0: float, y1: float) -> None:
        self.x0, self.x1 = x0, max(x1, x0 + 1)
        self.y0, self.y1 = y0, max(y1, y0 + 1)

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.x0) / (self.x1 - self.x0)
        up = (y - self.y0) / (self.y1 - self.y0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def axes(self) -> str:
        parts = []
        for exponent in svg.ticks(self.y0, self.y1, 6, 1.0):
            _, y = self.at(self.x0, exponent)
            parts.append(svg.line(LEFT, y, WIDTH - RIGHT, y, "grid"))
            parts.append(svg.text(LEFT - 8, y + 5, f"1e{exponent:.0f}", text_anchor="end"))
        for iteration in svg.ticks(self.x0, self.x1, 6, 1.0):
            x, y = self.at(iteration, self.y0)
            parts.append(svg.line(x, y, x, y + 5, "axis"))
            parts.append(svg.text(x, y + 26, f"{iteration:,.0f}", text_anchor="middle"))
        x, y = self.at(self.x0, self.y0)
        parts.append(svg.line(x, y, WIDTH - RIGHT, y, "axis"))
        parts.append(svg.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 7, "iteration", text_anchor="middle"))
        return "".join(parts)


def _points(report: Report) -> list[tuple[float, float]]:
    history = report.history
    offset = 0 if len(history) > report.iterations else 1
    step = max(1, math.ceil(len(history) / MOST_POINTS))
    chosen = sorted({*range(0, len(history), step), len(history) - 1} if len(history) else ())
    return [
        (float(index + offset), math.log10(history[index]))
        for index in chosen
        if history[index] > 0 and math.isfinite(history[index])
    ]


def _tolerance(frame: _Frame, tolerance: float) -> str:
    _, y = frame.at(frame.x0, math.log10(tolerance))
    label = svg.text(LEFT + 6, y - 7, f"rtol {tolerance:g}", class_="note")
    return svg.line(LEFT, y, WIDTH - RIGHT, y, "tolerance") + label


def _true_residual(frame: _Frame, report: Report, last: float) -> str:
    value = report.true_residual
    if not (value > 0 and math.isfinite(value)):
        return ""
    x, y = frame.at(last, math.log10(value))
    title = svg.element("title", f"recomputed residual {value:.3e}")
    return svg.element(
        "circle", title, cx=x, cy=y, r=6.0, class_="verified" if report.converged else "missed"
    )
