"""The convergence plot: relative residual against iterations, on a logarithmic scale."""

from __future__ import annotations

import math
from html import escape

from . import svg
from .record import Recovery, Report

LEFT, RIGHT, TOP, BOTTOM = 46.0, 14.0, 12.0, 46.0
HEIGHT, PHONE_HEIGHT = 320.0, 250.0
MOST_POINTS = 900


def plot(report: Report) -> str:
    """The plot as inline SVG, or an empty string where there is no history."""
    points = _points(report)
    if len(points) < 2:
        return ""
    return svg.at_both_widths(lambda canvas: _draw(report, points, canvas), HEIGHT, PHONE_HEIGHT)


def _draw(report: Report, points: list[tuple[float, float]], canvas: svg.Canvas) -> str:
    tolerance = float(report.options.get("rtol") or 0)
    marks = [value for _, value in points]
    marks += [
        math.log10(value) for value in (tolerance, report.true_residual) if value > 0 and math.isfinite(value)
    ]
    frame = _Frame(canvas, points[-1][0], math.floor(min(marks)), math.ceil(max(marks)))
    parts = [frame.axes()]
    if tolerance > 0:
        parts.append(_tolerance(frame, tolerance))
    parts.append(svg.polyline([frame.at(x, y) for x, y in points], "curve"))
    parts += [_recovery(frame, step) for step in report.recoveries]
    parts.append(_true_residual(frame, report, points[-1][0]))
    label = (
        f"Relative residual over {report.iterations:,} iterations, from {10 ** points[0][1]:.1e} "
        f"to {10 ** points[-1][1]:.1e}"
    )
    return svg.drawing(canvas.width, canvas.height, "".join(parts), label, "plot")


class _Frame:
    """The plot's coordinates."""

    def __init__(self, canvas: svg.Canvas, x1: float, y0: float, y1: float) -> None:
        self.x1, self.y0, self.y1 = max(x1, 1.0), y0, max(y1, y0 + 1)
        self.right, self.bottom = canvas.width - RIGHT, canvas.height - BOTTOM

    def at(self, x: float, y: float) -> tuple[float, float]:
        up = (y - self.y0) / (self.y1 - self.y0)
        return LEFT + x / self.x1 * (self.right - LEFT), self.bottom - up * (self.bottom - TOP)

    def axes(self) -> str:
        parts = []
        for exponent in svg.ticks(self.y0, self.y1, 6, 1.0):
            _, y = self.at(0, exponent)
            parts.append(svg.line(LEFT, y, self.right, y, "grid"))
            parts.append(svg.text(LEFT - 8, y + 4, svg.power_of_ten(exponent), text_anchor="end"))
        most = 6 if self.right > 500 else 4
        for iteration in svg.ticks(0, self.x1, most, 1.0):
            x, y = self.at(iteration, self.y0)
            parts.append(svg.line(x, y, x, y + 5, "axis"))
            at_edge = x > self.right - 12
            anchor, place = ("end", self.right + RIGHT) if at_edge else ("middle", x)
            parts.append(svg.text(place, y + 19, f"{iteration:,.0f}", text_anchor=anchor))
        parts.append(svg.line(LEFT, self.bottom, self.right, self.bottom, "axis"))
        middle = (LEFT + self.right) / 2
        parts.append(svg.text(middle, self.bottom + 39, "iteration", text_anchor="middle"))
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
    _, y = frame.at(0, math.log10(tolerance))
    label = svg.text(LEFT + 6, y - 7, f"rtol {tolerance:g}", class_="note")
    return svg.line(LEFT, y, frame.right, y, "tolerance") + label


def _recovery(frame: _Frame, step: Recovery) -> str:
    x, _ = frame.at(step.iteration, frame.y0)
    title = svg.element("title", escape(f"{step.kind} after iteration {step.iteration:,}: {step.why}"))
    return svg.element("g", title + svg.line(x, TOP, x, frame.bottom, "recovery"))


def _true_residual(frame: _Frame, report: Report, last: float) -> str:
    value = report.true_residual
    if not (value > 0 and math.isfinite(value)):
        return ""
    x, y = frame.at(last, math.log10(value))
    title = svg.element("title", f"recomputed residual {value:.3e}")
    return svg.element(
        "circle", title, cx=x, cy=y, r=6.0, class_="verified" if report.converged else "missed"
    )
