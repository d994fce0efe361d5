"""The section on kernels: the roofline, a sentence, and a table of those that take time."""

from __future__ import annotations

from html import escape
from typing import Any

from . import roofline
from .record import Report
from .roof import Roof, of_roof
from .tables import scrolling, table
from .words import count, duration, kernel_rows, percent, quantity

_HEADS = ("kernel", "calls", "time", "share", "flops/byte", "GB/s", "of the roof", "GFLOP/s")
_NOTHING = "–"
_AXES = "Floating-point operations a second, over those a byte of memory traffic; both axes are logarithmic."


def kernel_section(report: Report, roof: Roof | None) -> str:
    """What goes below the heading; empty where no command was timed."""
    rows = [row for row in kernel_rows(report) if row["seconds"] > 0]
    if not rows:
        return ""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in _sentences(rows, roof))
    picture = roofline.plot(report, roof)
    if picture:
        said += f'<p class="caption">{_AXES}</p>{picture}'
    return said + scrolling(_table(rows, roof), "table of kernels")


def _sentences(rows: list[dict[str, Any]], roof: Roof | None) -> list[str]:
    first = rows[0]
    said = f"{first['name']} takes {percent(first['share'], 1)} of the time that kernels take"
    if roof is None:
        return [
            said + ".",
            "What the memory of this machine could do at most is not known here; sordino calibrate measures it.",
        ]
    part = of_roof(first, roof)
    if part is not None and part > 1.05:
        said += (
            f", and moves data {part:.1f} times as fast as the roof has it: "
            "reading is faster than the copies by which that was measured, and a busy machine measures low"
        )
    elif part is not None:
        said += f", and reaches {percent(part, 1)} of what the memory allows"
    most = f"The roof is {quantity(roof.bandwidth, 'B/s')} a rank, {roof.source}."
    return [said + ".", most]


def _table(rows: list[dict[str, Any]], roof: Roof | None) -> str:
    heads = tuple(head for head in _HEADS if roof or head != "of the roof")
    long = [row for row in rows if row["share"] >= roofline.LEAST_SHARE]
    short = rows[len(long) :]
    cells = [_cells(row, roof) for row in long]
    if short:
        others = {
            "name": f"{count(len(short), 'other')} below 1 %" if len(short) > 1 else short[0]["name"],
            "bandwidth": 0.0,
            "rate": 0.0,
            **{key: sum(row[key] for row in short) for key in ("calls", "seconds", "share")},
        }
        cells.append(_cells(others, roof))
    return table(heads, cells, escaped=True, class_="wide")


def _cells(row: dict[str, Any], roof: Roof | None) -> tuple[str, ...]:
    part = of_roof(row, roof)
    moves, computes = row["bandwidth"] > 0, row["rate"] > 0
    reached = (_bar(part, _percent(part)) if part is not None else _NOTHING,) if roof else ()
    return (
        escape(row["name"]),
        f"{row['calls']:,}",
        duration(row["seconds"]),
        _bar(row["share"], _percent(row["share"])),
        f"{row['rate'] / row['bandwidth']:.2f}" if moves and computes else _NOTHING,
        f"{row['bandwidth'] / 1e9:,.1f}" if moves else _NOTHING,
        *reached,
        f"{row['rate'] / 1e9:,.1f}" if computes else _NOTHING,
    )


def _percent(part: float) -> str:
    return "< 1 %" if 0 < part < 0.005 else f"{100 * part:,.0f} %"


def _bar(part: float, said: str) -> str:
    """A little bar beside a number; what is above the whole is as long as the whole."""
    bar = f'<span class="bar-of"><i style="width:{100 * min(part, 1.0):.0f}%"></i></span>'
    return f'{bar}<span class="beside">{escape(said)}</span>'
