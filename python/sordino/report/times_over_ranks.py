"""The picture of ``sordino predict trsv --plot``: predicted times over numbers of ranks, and what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from . import svg
from .pictures import RANKS as COLOURS
from .words import count, duration

WIDTH, HEIGHT = 760.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 70.0, 190.0, 44.0, 52.0
#: Times further apart than that are drawn by their logarithms; others from zero on.
FAR = 20.0
#: Pixels that a number of ranks needs, below its place.
NUMBER = 26.0
#: A file that is looked at by itself: white, so that it is read on a dark page, too.
STYLE = (
    "svg{font-family:system-ui,sans-serif;font-size:13px}text{fill:#5b6470;stroke:none}"
    "text.heading{fill:#1b1f24;font-size:15px}.page{fill:#fff}.grid{stroke:#dfe3e8}.axis{stroke:#5b6470}"
    "polyline{fill:none;stroke-width:2.2;stroke-linejoin:round}.other{stroke-dasharray:6 4}.cross{stroke-width:2.2}"
)


@dataclass(frozen=True)
class Curve:
    """One way to solve: seconds by numbers of ranks."""

    name: str
    predicted: dict[int, float]
    measured: dict[int, float] = field(default_factory=dict)


def drawing(curves: Sequence[Curve], heading: str) -> str:
    """The picture as an SVG file; the first curve is drawn through, the others are dashed.

    Parameters
    ----------
    curves : sequence of Curve
        At least one, with positive times; one without predictions has crosses alone.
    """
    frame = _Frame(curves)
    content = [
        svg.element("style", STYLE),
        svg.element("rect", x=0, y=0, width=WIDTH, height=HEIGHT, class_="page"),
        svg.text(LEFT, 24.0, heading, class_="heading"),
        frame.axes(),
    ]
    for k, curve in enumerate(curves):
        content.append(_curve(frame, curve, "curve" if k == 0 else "other", COLOURS[k % len(COLOURS)]))
    content.append(_legend(curves))
    return svg.drawing(WIDTH, HEIGHT, "".join(content), _said(curves, heading), "times")


class _Frame:
    """Coordinates: ranks by their logarithms, times from zero on, or by theirs."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        times = [s for curve in curves for s in (*curve.predicted.values(), *curve.measured.values())]
        self.ranks = sorted({r for curve in curves for r in (*curve.predicted, *curve.measured)})
        low, high = min(times), max(times)
        self.by_logarithm = high > FAR * low
        self.scale: Callable[[float], float] = math.log10 if self.by_logarithm else float
        self.y0 = math.log10(low) - 0.1 if self.by_logarithm else 0.0
        self.y1 = math.log10(high) + 0.1 if self.by_logarithm else 1.08 * high
        self.bottom, self.right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def at(self, ranks: int, seconds: float) -> tuple[float, float]:
        span = math.log2(self.ranks[-1] / self.ranks[0])
        across = math.log2(ranks / self.ranks[0]) / span if span else 0.5
        up = (self.scale(seconds) - self.y0) / (self.y1 - self.y0)
        return LEFT + 12 + across * (self.right - LEFT - 24), self.bottom - up * (self.bottom - TOP)

    def axes(self) -> str:
        parts = []
        for seconds in self._times():
            _, y = self.at(self.ranks[0], seconds)
            parts.append(svg.line(LEFT, y, self.right, y, "grid"))
            label = duration(seconds) if seconds else "0"
            parts.append(svg.text(LEFT - 8, y + 4, label, text_anchor="end"))
        free = -math.inf
        for ranks in self.ranks:
            x, _ = self.at(ranks, 10**self.y0 if self.by_logarithm else 0.0)
            parts.append(svg.line(x, self.bottom, x, self.bottom + 5, "axis"))
            if x >= free:
                parts.append(svg.text(x, self.bottom + 20, f"{ranks}", text_anchor="middle"))
                free = x + NUMBER
        parts.append(svg.line(LEFT, self.bottom, self.right, self.bottom, "axis"))
        parts.append(svg.text((LEFT + self.right) / 2, self.bottom + 42, "ranks", text_anchor="middle"))
        return "".join(parts)

    def _times(self) -> list[float]:
        if not self.by_logarithm:
            return svg.ticks(0.0, self.y1, 6)
        powers = range(math.floor(self.y0), math.ceil(self.y1))
        round_ones = [float(f"{factor}e{power}") for power in powers for factor in (1, 2, 5)]
        return [seconds for seconds in round_ones if self.y0 <= math.log10(seconds) <= self.y1]


def _curve(frame: _Frame, curve: Curve, class_: str, colour: str) -> str:
    points = {ranks: frame.at(ranks, seconds) for ranks, seconds in sorted(curve.predicted.items())}
    parts = [svg.polyline(list(points.values()), class_)] if len(points) > 1 else []
    for ranks, (x, y) in points.items():
        title = _title(curve, ranks, curve.predicted[ranks], "predicted")
        parts.append(svg.element("circle", title, cx=x, cy=y, r=3.5, fill=colour))
    for ranks, seconds in sorted(curve.measured.items()):
        parts.append(_cross(*frame.at(ranks, seconds), _title(curve, ranks, seconds, "measured")))
    return svg.element("g", "".join(parts), stroke=colour)


def _title(curve: Curve, ranks: int, seconds: float, how: str) -> str:
    return svg.element("title", escape(f"{curve.name}, {count(ranks, 'rank')}: {duration(seconds)} {how}"))


def _cross(x: float, y: float, title: str = "") -> str:
    lines = svg.line(x - 5, y - 5, x + 5, y + 5, "cross") + svg.line(x - 5, y + 5, x + 5, y - 5, "cross")
    return svg.element("g", title + lines, class_="measured" if title else "sample")


def _legend(curves: Sequence[Curve]) -> str:
    x, y, parts = WIDTH - RIGHT + 18, TOP + 14, []
    for k, curve in enumerate(curves):
        colour = COLOURS[k % len(COLOURS)]
        sample = svg.polyline([(x, y - 4), (x + 26, y - 4)], "curve" if k == 0 else "other")
        parts.append(svg.element("g", sample, stroke=colour) + svg.text(x + 34, y, curve.name))
        y += 22
    if any(curve.measured for curve in curves):
        parts.append(svg.element("g", _cross(x + 13, y - 4), stroke="#5b6470"))
        parts.append(svg.text(x + 34, y, "measured"))
    return "".join(parts)


def _said(curves: Sequence[Curve], heading: str) -> str:
    """For those who do not see it."""
    parts = [
        f"{curve.name}: " + ", ".join(f"{duration(s)} on {r}" for r, s in sorted(curve.predicted.items()))
        for curve in curves
        if curve.predicted
    ]
    return f"{heading}. Seconds over ranks; {'; '.join(parts)}"
