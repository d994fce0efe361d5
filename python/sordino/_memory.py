"""What memory there is, by the system and by the groups that limit it, and how many processes of a run share it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: How many processes of a run are on this host, as launchers say it.
_HERE = (
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "SLURM_STEP_TASKS_PER_NODE",
)

#: Of versions 2 and 1 of control groups: where they are mounted, the limit, what is used, and of that the pages of
#: files that the system drops where memory is wanted.
_GROUPS = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_memory(root: str | os.PathLike[str] = "/") -> int | None:
    """Bytes of memory that a program may still take on this machine, where the system tells.

    That is the least of what the system has and what the control groups of this process, which containers and batch
    systems make, leave of their limits. `root` is where ``/proc`` and ``/sys`` are.
    """
    known = [room for room in (_of_system(Path(root)), *_of_groups(Path(root))) if room is not None]
    return min(known, default=None)


def processes_here() -> int:
    """How many processes of this run share this host, by what the launcher has told; 1 without one."""
    for name in _HERE:
        told = re.match(r"\d+", os.environ.get(name, ""))  # Slurm writes 4(x2),3
        if told and int(told[0]) > 0:
            return int(told[0])
    return 1


def peak_of(work: Callable[[], T]) -> tuple[T, int | None]:
    """What `work` returns, and the bytes of resident memory that this process grew by meanwhile, at most.

    None where the system does not tell (it is Linux that does). Memory that was freed before, and kept by the
    allocator, may be used again without being counted.
    """
    told = _forget_peak()
    before = _status("VmRSS")
    done = work()
    peak = _status("VmHWM")
    return done, peak - before if told and peak is not None and before is not None else None


def _forget_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM is VmRSS from now on
        return True
    except OSError:
        return False


def _status(name: str) -> int | None:
    """Bytes that the system tells of this process."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _of_system(root: Path) -> int | None:
    try:
        for line in (root / "proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _of_groups(root: Path) -> Iterator[int | None]:
    """What this process's groups and those above them leave."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" or "memory" in controllers.split(","):
            mount, *files = _GROUPS[0] if number == "0" else _GROUPS[1]
            top = root / "sys/fs/cgroup" / mount
            inside = Path(path.lstrip("/"))
            for group in (inside, *inside.parents):  # a container may see its own group as the top
                yield _left(top / group, *files)


def _left(group: Path, limit: str, used: str, dropped: str) -> int | None:
    """Of one group's limit; None where it has none."""
    try:
        most, taken = (int((group / name).read_text(encoding="ascii")) for name in (limit, used))
        facts = dict(
            line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines()
        )
        return max(0, most - taken + int(facts.get(dropped, 0)))
    except (OSError, ValueError):  # no such file, or "max"
        return None
