"""What the memory and the arithmetic of one rank's device can do at most."""

from __future__ import annotations

import concurrent.futures
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..machines import cores
from .record import Report
from .words import count, quantity

#: Bytes a second of a device's memory by its maker's data sheet, by words of its name.
_DATA_SHEETS = (
    ("H200", 4.8e12),
    ("H100 NVL", 3.9e12),
    ("H100 PCIe", 2.0e12),
    ("H100", 3.35e12),
    ("A100-SXM4-80GB", 2.04e12),
    ("A100", 1.55e12),
    ("V100", 0.9e12),
)


@dataclass(frozen=True)
class Roof:
    """What one rank's device can do at most.

    Attributes
    ----------
    bandwidth : float
        Bytes per second of its memory.
    flops : float
        Floating-point operations per second; 0 where that is not known.
    source : str
        Where the numbers come from, as words.
    """

    bandwidth: float
    flops: float
    source: str


def roof_of(report: Report) -> Roof | None:
    """The roof of a described machine; of another nothing is known without measuring."""
    if not report.machine:
        return None
    machine = report.machine
    return Roof(
        machine["memory_bandwidth"], machine["flops"], f"as the machine {machine['name']} is described"
    )


def measured_roof(report: Report, devices: list[str]) -> Roof | None:
    """The roof of the machine that this program runs on.

    Parameters
    ----------
    report : Report
    devices : list of str
        The names of the GPUs that are seen.

    Notes
    -----
    Cost: some tenths of a second of copies by all cores for ``host``; a look into a table for ``cuda``. The
    copies are as large as what an iteration of a rank moves, so that a problem which fits into a cache is
    compared with the cache.
    """
    if report.machine:
        return roof_of(report)
    if report.options.get("engine") == "host":
        threads = min(max(1, int(report.options.get("ranks") or 1)), cores())
        moved = float(report.ledger.get("memory_bytes", 0)) / max(report.iterations, 1)
        rate, how = _by_copies(threads, moved)
        return Roof(rate / threads, 0.0, f"{how}, one's share")
    return _by_data_sheet(devices, 1)


def memory_roof(ranks: int, threads: int, moved: float, devices: list[str]) -> Roof | None:
    """The roof of all threads of a host together, or without threads of so many GPUs of this machine.

    Parameters
    ----------
    moved : float
        Bytes that are read once: copies of the host are as large.
    """
    if threads > 0:
        rate, how = _by_copies(min(threads, cores()), moved)
        return Roof(rate, 0.0, how)
    return _by_data_sheet(devices, ranks)


def _by_copies(threads: int, moved: float) -> tuple[float, str]:
    """Bytes a second of all threads, each of which copies what is moved, within bounds; and how that was found."""
    size = int(min(max(moved, 1 << 16), 1 << 26)) // 16 * 16
    how = f"copies of {quantity(size, 'B')} by {count(threads, 'thread')} at once"
    return _copy_bandwidth(threads, size), f"measured now: {how}"


def _by_data_sheet(devices: list[str], ranks: int) -> Roof | None:
    known = (sheet for name in devices[:1] for sheet in _DATA_SHEETS if sheet[0] in name)
    return next((Roof(ranks * rate, 0.0, f"by the data sheet of {name}") for name, rate in known), None)


def _copy_bandwidth(threads: int, size: int) -> float:
    """Bytes per second of all threads together, each of which copies half of `size` bytes to the other half."""
    buffers = [(np.ones(size // 16), np.ones(size // 16)) for _ in range(threads)]
    repeats = max(1, (1 << 26) // size)
    best = 0.0
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:

        def copy(pair: tuple[np.ndarray, np.ndarray]) -> None:
            for _ in range(repeats):
                np.copyto(pair[1], pair[0])

        for _ in range(5):
            begin = time.perf_counter()
            list(pool.map(copy, buffers))
            best = max(best, threads * repeats * float(size) / (time.perf_counter() - begin))
    return best


def of_roof(row: dict[str, Any], roof: Roof | None) -> float | None:
    """The part of the roof that a row of :func:`kernel_rows` reaches; None without a roof or without bytes."""
    if roof is None or not row["bandwidth"]:
        return None
    most = roof.bandwidth
    if roof.flops and row["rate"]:
        most = min(most, roof.flops * row["bandwidth"] / row["rate"])
    return row["bandwidth"] / most
