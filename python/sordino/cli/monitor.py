"""What is seen of a solve while it goes on: a line or a bar on a terminal, ``--monitor`` anywhere."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..report.words import duration
from . import processes
from .display import rich_module

#: What the solver calls some ten times a second: (iteration, relative residual) -> whether to stop.
Callback = Callable[[int, float], bool]

_WINDOW_S, _LEAST_LOOKS = 10.0, 5
_LINE_EVERY_S = 1.0
_LEVELS = "▁▂▃▄▅▆▇█"


@contextmanager
def watch(rtol: float, asked: bool, *, quiet: bool) -> Iterator[Callback | None]:
    """Show a solve on standard error, in process 0; yields the callback for it, or None.

    Parameters
    ----------
    rtol : float
        The tolerance, for the bar and the time left; 0 where there is none.
    asked : bool
        ``--monitor``: everything that is known, and lines where there is no terminal. Else a bar on a terminal only.
    quiet : bool
        Whether nothing is shown unless it is asked for.
    """
    terminal = sys.stderr.isatty()
    if processes.index() != 0 or not (asked or (terminal and not quiet)):
        yield None
        return
    looks = Looks(rtol)
    show = _on_terminal(looks, asked) if terminal else _as_lines(looks)
    with show as update:

        def look(iteration: int, residual: float) -> bool:
            looks.add(iteration, residual, time.perf_counter())
            update()
            return False

        yield look


class Looks:
    """What was seen of the residual lately, and what follows from it."""

    def __init__(self, rtol: float) -> None:
        self.rtol = rtol
        self.iteration, self.residual, self.looks = 0, math.nan, 0
        self._seen: deque[tuple[float, int, float]] = deque()  # (time, iteration, log10 of the residual)
        self.curve: list[float] = []  # log10 of the residual at every look; thinned when it grows long
        self._stride = 1

    def add(self, iteration: int, residual: float, now: float) -> None:
        """The solver has come to this iteration; `now` in seconds, on any clock."""
        self.iteration, self.residual = iteration, residual
        if not (residual > 0 and math.isfinite(residual)):
            return
        level = math.log10(residual)
        if self.looks % self._stride == 0:
            self.curve.append(level)
        self.looks += 1
        if len(self.curve) > 400:
            self.curve, self._stride = self.curve[::2], 2 * self._stride
        self._seen.append((now, iteration, level))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()

    def rate(self) -> float | None:
        """Iterations a second of the last moments."""
        if len(self._seen) < 2:
            return None
        (since, first, _), (now, last, _) = self._seen[0], self._seen[-1]
        return (last - first) / (now - since) if now > since and last > first else None

    def seconds_left(self) -> float | None:
        """Until the tolerance, if the residual goes on falling as it did lately; None where it does not fall."""
        if len(self._seen) < _LEAST_LOOKS or not 0 < self.rtol < 1:
            return None
        times, levels = [seen[0] for seen in self._seen], [seen[2] for seen in self._seen]
        middle, mean = sum(times) / len(times), sum(levels) / len(levels)
        spread = sum((at - middle) ** 2 for at in times)
        if spread == 0:
            return None
        slope = sum((at - middle) * (level - mean) for at, level in zip(times, levels, strict=True)) / spread
        missing = levels[-1] - math.log10(self.rtol)
        # A residual that falls by less than a thousandth of what is missing is one that stands still.
        if slope >= 0 or -slope * (times[-1] - times[0]) < 1e-3 * missing:
            return None
        return max(0.0, missing / -slope)

    def way(self) -> float:
        """The part of the way to the tolerance, on a logarithmic scale; between 0 and 1."""
        if not (self.residual > 0 and 0 < self.rtol < 1):
            return 0.0
        return min(1.0, max(0.0, math.log(self.residual) / math.log(self.rtol)))

    def words(self) -> list[str]:
        """``iteration 1,200``, ``residual 3.2e-04``, ``812 iterations/s``, ``about 3.1 s left``."""
        said = [f"iteration {self.iteration:,}", f"residual {self.residual:.1e}"]
        rate, left = self.rate(), self.seconds_left()
        if rate is not None:
            said.append(f"{rate:,.3g} iterations/s" if rate < 1000 else f"{rate:,.0f} iterations/s")
        if left is not None:
            said.append(f"about {_rounded(left)} left")
        return said


def _rounded(seconds: float) -> str:
    if seconds >= 120:
        return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"
    return f"{seconds:.0f} s" if seconds >= 10 else duration(round(seconds, 1))


def curve(levels: list[float], width: int) -> str:
    """Levels as a line of blocks of rising height, the newest to the right."""
    if not levels:
        return ""
    step = max(1, math.ceil(len(levels) / width))
    shown = levels[::-1][::step][::-1]
    low, high = min(shown), max(shown)
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[round((level - low) / ((high - low) or 1.0) * top)] for level in shown)


@contextmanager
def _as_lines(looks: Looks) -> Iterator[Callable[[], None]]:
    """A line a second, and one at the end."""
    begin = shown_at = time.perf_counter()

    def say(said: list[str]) -> None:
        print(f"sordino: {', '.join(said)}", file=sys.stderr, flush=True)

    def update() -> None:
        nonlocal shown_at
        now = time.perf_counter()
        if looks.looks == 1 or now - shown_at >= _LINE_EVERY_S:
            shown_at = now
            say(looks.words())

    yield update
    say([f"the solve ended after {duration(time.perf_counter() - begin)}"])


@contextmanager
def _on_terminal(looks: Looks, asked: bool) -> Iterator[Callable[[], None]]:
    live = rich_module("live")
    if live is None:
        yield lambda: print(f"\r{', '.join(looks.words())}\033[K", end="", file=sys.stderr, flush=True)
        print("\r\033[K", end="", file=sys.stderr, flush=True)
        return
    console = rich_module("console").Console(stderr=True)
    begin = time.perf_counter()
    draw = lambda: _drawn(looks, asked, time.perf_counter() - begin, console.width)  # noqa: E731
    with live.Live(console=console, get_renderable=draw, refresh_per_second=8, transient=not asked) as shown:
        yield shown.refresh


def _drawn(looks: Looks, asked: bool, seconds: float, width: int) -> Any:
    """One line with a bar; or, where it was asked for, all that is known, a bar and the residual's curve."""
    group, text = rich_module("console").Group, rich_module("text").Text
    so_far = f"{duration(round(seconds, 1))} so far"
    if not looks.looks:
        return text(f"solving, {so_far}")
    room = max(10, min(60, width - 24))
    line = rich_module("table").Table.grid(padding=(0, 1))
    long = room if asked else 24
    bar = rich_module("progress_bar").ProgressBar(total=1.0, completed=looks.way(), width=long)
    words = looks.words() if asked else looks.words()[:2]
    said = text(", ".join([*words, so_far]), no_wrap=True, overflow="ellipsis")
    if not asked:
        line.add_row(bar, said)
        return line
    line.add_row(bar)
    ends = f"{10 ** looks.curve[0]:.0e}", f"{10 ** looks.curve[-1]:.0e}"
    return group(said, line, text(f"{curve(looks.curve, room)} from {ends[0]} to {ends[1]}", no_wrap=True))
