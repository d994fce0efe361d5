"""What this process and its GPUs hold, without help of other packages. What cannot be told is NaN."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import sys
from collections.abc import Callable

from .._gpu_memory import free_bytes


def resident() -> float:
    """Bytes of memory that are resident, but for pages of files, which the system drops and reads again as it likes.

    The pages themselves are counted, which takes milliseconds of a large process: the sums Linux keeps (``statm``),
    taken where that is not allowed, are put together from those of all cores, and may be off by a MiB for each.
    """
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as stream:
            sizes = {line.split(":")[0]: int(line.split()[1]) for line in stream.readlines()[1:]}
        return float(1024 * (sizes["Pss_Anon"] + sizes["Pss_Shmem"]))
    except (OSError, ValueError, IndexError, KeyError):
        return _counted_resident()


def _counted_resident() -> float:
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            _, pages, of_files = map(int, stream.read().split()[:3])
            return float((pages - of_files) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError):
        return math.nan


def blocks() -> float:
    """Pieces of up to 512 bytes that Python holds; what is larger is the heap's. Garbage and free lists go first."""
    gc.collect()
    return float(sys.getallocatedblocks())


def threads() -> float:
    """Threads of this process."""
    try:
        return float(len(os.listdir("/proc/self/task")))
    except OSError:
        return math.nan


class _Mallinfo2(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]  # fmt: skip


def heap() -> Callable[[], float]:
    """A function that tells the bytes in use of the heap of C and C++. glibc 2.33 and later."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return lambda: math.nan
    ask.restype = _Mallinfo2

    def used() -> float:
        found = ask()
        return float(found.uordblks + found.hblkhd)

    return used


def device_free(devices: list[int]) -> Callable[[], float]:
    """A function that tells the bytes that are free on these GPUs together."""

    def asked() -> float:
        told = [free for number in devices if (free := free_bytes(number)) is not None]
        return float(sum(told)) if told and len(told) == len(devices) else math.nan

    return asked
