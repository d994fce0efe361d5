"""Showing things on a terminal: with rich where it is installed, as plain text otherwise."""

from __future__ import annotations

import itertools
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import log
from . import processes

#: Seconds before the first line of a progress that is told in lines, and between it and those after it.
_FIRST_LINE_S, _LINE_EVERY_S = 10.0, 60.0


def rich_module(name: str) -> Any:
    """A module of rich, or None; the log says what would bring it."""
    try:
        return __import__(f"rich.{name}", fromlist=[name])
    except ImportError:
        log.logger.debug("rich is not installed: plain text; 'pip install sordino[cli]' brings it")
        return None


def show_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table in process 0; the first `left` columns are aligned to the left, numbers to the right.

    One that is wider than the terminal stays plain text: cells folded into a few letters a line cannot be read.
    Launchers of MPI programs give them terminals of 80 columns, whatever the user's has.
    """
    if processes.index() != 0 or not rows:
        return
    text = plain_table(title, heads, rows, left)
    fits = max(map(len, text.splitlines())) <= shutil.get_terminal_size().columns
    table = rich_module("table") if fits and sys.stdout.isatty() else None
    console = rich_module("console") if table else None
    if table is None or console is None:
        print(text)
        return
    box = rich_module("box").SIMPLE_HEAD
    drawn = table.Table(title=title, title_justify="left", box=box, pad_edge=False)
    for index, head in enumerate(heads):
        drawn.add_column(head, justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(rich_module("markup").escape(str(cell)) for cell in row))
    console.Console(highlight=False).print(drawn)


def plain_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """The table as text."""
    cells = [list(map(str, heads)), *[list(map(str, row)) for row in rows]]
    widths = [max(len(row[index]) for row in cells) for index in range(len(heads))]

    def shown(row: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    rule = "  ".join("-" * width for width in widths)
    lines = (
        [title, shown(cells[0]), rule, *map(shown, cells[1:])]
        if title
        else [shown(cells[0]), rule, *map(shown, cells[1:])]
    )
    return "\n".join([*lines, ""])


@contextmanager
def steps(what: str, total: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Show how many of `total` steps are done, on standard error; yields what is called after each.

    Where that is no terminal, a line says so after some time, and from then on after each minute.
    """
    if quiet or processes.index() != 0:
        yield lambda: None
    elif not sys.stderr.isatty():
        yield from _told_steps(what, total)
    else:
        progress = rich_module("progress")
        yield from _drawn_steps(progress, what, total) if progress else _plain_steps(what, total)


def _told_steps(what: str, total: int) -> Iterator[Callable[[], None]]:
    done, over, watch = itertools.count(1), threading.Event(), Stopwatch()
    count = [0]

    def tell() -> None:
        wait = _FIRST_LINE_S
        while not over.wait(wait):
            passed = f"{watch.seconds():,.0f} s"
            print(f"sordino: {what}: {count[0]:,} of {total:,} after {passed}", file=sys.stderr, flush=True)
            wait = _LINE_EVERY_S

    def step() -> None:
        count[0] = next(done)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield step
    finally:
        over.set()
        teller.join()


def _drawn_steps(progress: Any, what: str, total: int) -> Iterator[Callable[[], None]]:
    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
    console = rich_module("console").Console(stderr=True)
    with progress.Progress(*columns, progress.TimeElapsedColumn(), console=console, transient=True) as shown:
        task = shown.add_task(what, total=total)
        yield lambda: shown.advance(task)


def _plain_steps(what: str, total: int) -> Iterator[Callable[[], None]]:
    done = itertools.count(1)

    def show(count: int) -> None:
        print(f"\r{what}: {count} of {total}\033[K", end="", file=sys.stderr, flush=True)

    show(0)
    try:
        yield lambda: show(next(done))
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._start
