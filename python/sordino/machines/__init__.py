"""Machines: described ones for the ``model`` engine, and the one that this program runs on.

A description is data, one JSON file beside this one or anywhere else. Its numbers are in
SI units and say what one rank (one device) sees:

====================  ===============================================================
launch_s              before a command does anything
memory_bandwidth      bytes per second of a device's memory
flops                 floating-point operations per second of a device; 0: never the limit
link_latency_s        of a message between devices of one node
link_bandwidth        bytes per second at which a device sends within its node
put_overhead_s        for which sending a message keeps its queue busy
reduction_base_s      an all-reduce takes ``base + hop * ceil(log2(ranks))``
reduction_hop_s
reduction_start_s     for which starting a reduction keeps its queue busy with own rows' sums
jitter_s              most random delay of each launch, message and reduction
ranks_per_node        ranks that share a node; 0: all
internode_latency_s   of a message between nodes
internode_bandwidth   bytes per second at which a device sends to other nodes
workers               task groups that a device computes at the same time
host_overhead_s       for which sending host data keeps a rank's program busy
loopback_latency_s    of host data between ranks of one node that goes through their adapter
leader_skew_s         for which a node's leader is busy with each other rank of its node
====================  ===============================================================

A description may also have, else there is nothing of the kind:

====================  ===============================================================
paces                 of commands that are not as fast as their bytes say, by name: ``{"bandwidth": B/s}`` (0: the
                      machine's) and ``{"spread": x}``, the part of its time that is random: exponential with the
                      same mean, drawn by each rank for each call
interruptions         an operating system takes a rank's processor away at random: ``{"hz": n, "seconds": s}``, n times
                      a second for s each; ``"draws"``, a whole number: another one, other random times, also of paces
cache                 the last cache before a device's memory: its ``bytes``; the ``share`` of them that holds different
                      data (1; 0.5 where each of two halves keeps what its own multiprocessors read); its
                      ``bandwidth`` in bytes per second, read and written: what a command finds there of what commands
                      before it have touched takes that instead of the memory's
push                  ``{"seconds": x}``: of a message's latency, for which the command that sends it lasts yet, beside
                      its other rows: a fence, a flag
late_blocks           ``{"rows": n, "seconds": s}``: a command of more than n rows leaves no place on a device, and
                      blocks of the next one, which begin when it has ended, reach their rows s later than others; it is
                      taken to have as many rows
triangular            tasks of triangular solves, some of these; what is left out is the default in parentheses:
                      ``workers`` (528) of a device; ``bandwidth`` at which they take values together (0.91 of the
                      memory's) and ``worker_bandwidth`` of one alone (12.7 times its share); ``step_s`` (2.8e-6) of a
                      task, ``round_s`` (1.7e-6) more for each further round of its values, ``small_block_s``
                      (2.3e-6) for each block of a subtree and ``small_block_back_s`` (1.5e-6) on the way back;
                      ``flag_s`` (2.05e-6) to other workers, while nobody else asks the memory, and ``message_s``
                      (link_latency_s) to other devices; ``column`` (0.16) of further right-hand sides, in times of
                      the first; ``backward`` (0.92) of the bandwidths on the way back
====================  ===============================================================

``sources`` says of each number where it was measured, or that it is assumed.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from importlib import resources
from typing import Any

from .._native import core
from ..errors import BadArgument, shown, suggestion

FIELDS: tuple[str, ...] = (
    "launch_s",
    "memory_bandwidth",
    "flops",
    "link_latency_s",
    "link_bandwidth",
    "put_overhead_s",
    "reduction_base_s",
    "reduction_hop_s",
    "reduction_start_s",
    "jitter_s",
    "ranks_per_node",
    "internode_latency_s",
    "internode_bandwidth",
    "workers",
    "host_overhead_s",
    "loopback_latency_s",
    "leader_skew_s",
)
_WHOLE = ("ranks_per_node", "workers", "draws")
_POSITIVE = ("memory_bandwidth", "link_bandwidth", "workers")
_WORDS = ("name", "description", "sources")

#: Of a pace and of interruptions, each 0 if it is not given.
_PACE, _INTERRUPTIONS = ("bandwidth", "spread"), ("hz", "seconds", "draws")
_TASKS = (
    "workers",
    "bandwidth",
    "worker_bandwidth",
    "step_s",
    "round_s",
    "small_block_s",
    "small_block_back_s",
    "flag_s",
    "message_s",
    "column",
    "backward",
)
_CACHE, _PUSH, _LATE_BLOCKS = ("bytes", "share", "bandwidth"), ("seconds",), ("rows", "seconds")
_EXTRAS = ("paces", "interruptions", "cache", "push", "late_blocks", "triangular")
#: Of triangular solves as measured on H200s and an H100 (docs/theory/004.md).
_TASKS_OF_HOPPER = {
    "step_s": 2.8e-6,
    "round_s": 1.7e-6,
    "small_block_s": 2.3e-6,
    "small_block_back_s": 1.5e-6,
    "column": 0.16,
    "backward": 0.92,
}
_OF_MEMORY, _LONE_SHARES = 0.91, 12.7
#: A second: each costs the model engine a step.
_MOST_INTERRUPTIONS = 1_000_000

#: The machine that the model engine describes when none is named.
DEFAULT = "h200x4"


def names() -> list[str]:
    """The machines that come with Sordino."""
    files = resources.files(__package__).iterdir()
    return sorted(entry.name[:-5] for entry in files if entry.name.endswith(".json"))


def load(machine: str | os.PathLike[str] | dict[str, Any]) -> dict[str, Any]:
    """Return a checked description.

    Parameters
    ----------
    machine : str, path or dict
        A name such as ``"h200x4"`` (``"h200x8"``, ``"h100x8"`` for a host with so many), a JSON file, or the
        description itself.

    Raises
    ------
    BadArgument, FileError
        For an unknown name, unreadable JSON, a missing or unknown field, a value out of range.
    """
    if isinstance(machine, dict):
        return _checked(machine, "the machine")
    from ..io.opening import parse_object, read_text

    text = os.fspath(machine)
    if of_host := re.fullmatch(r"(h[12]00)x([1-9]\d?)", text):
        return _host_of(of_host[1], int(of_host[2]))
    if text in names():
        return _checked(_own(text), text)
    if text.endswith(".json") or os.sep in text:
        described = parse_object(read_text(text), text, "a machine's description")
        described.setdefault("name", os.path.basename(text).removesuffix(".json"))
        return _checked(described, text)
    known = f"; known: {', '.join(names())}, h200xN or h100xN for a host with N of them, or the name of a .json file"
    raise BadArgument(f"unknown machine {shown(text)}{suggestion(text, names()) or known}")


def _own(name: str) -> dict[str, Any]:
    """A description that comes with Sordino."""
    text = resources.files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def _host_of(device: str, count: int) -> dict[str, Any]:
    """One host with so many of a device: as described with another number of them in a node."""
    own, number = {"h200": ("h200x4", "four"), "h100": ("h100x2", "two")}[device]
    known = _own(own)
    if count == known["ranks_per_node"]:
        return _checked(known, own)
    name = f"{device}x{count}"
    links = f"as on a host of {number} {device.upper()}, where it was measured"
    sources = {**known["sources"], "ranks_per_node": "the name of the machine"}
    for field in ("link_latency_s", "link_bandwidth", "reduction_base_s", "reduction_hop_s"):
        if not sources[field].startswith("assumed"):
            sources[field] = f"{links}: {sources[field]}"
    about = (
        f"One host with {count} NVIDIA {device.upper()}, NVLink between all of them, one process; "
        f"links as on {number}"
    )
    return _checked(
        {**known, "name": name, "description": about, "ranks_per_node": count, "sources": sources}, name
    )


def numbers(described: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a description without its words: what the core takes."""
    return {key: described[key] for key in (*FIELDS, *_EXTRAS) if key in described}


def numbers_of_triangular(described: dict[str, Any]) -> dict[str, Any]:
    """The same with all numbers of triangular solves' tasks."""
    return {**numbers(described), "triangular": _all_tasks(described)}


def _all_tasks(described: dict[str, Any]) -> dict[str, Any]:
    """Numbers of triangular solves' tasks: those that are given, and else those of an H100."""
    given = dict(described.get("triangular", {}))
    for key in ("bandwidth", "worker_bandwidth"):
        if given.get(key, 1) == 0:  # it follows from others
            del given[key]
    bandwidth = given.get("bandwidth", _OF_MEMORY * described["memory_bandwidth"])
    share = bandwidth / given.get("workers", 528)
    return {"bandwidth": bandwidth, "worker_bandwidth": _LONE_SHARES * share, **_TASKS_OF_HOPPER, **given}


def is_random(described: dict[str, Any]) -> bool:
    """Whether its commands take random times, beyond jitter."""
    spreads = (pace["spread"] for pace in described.get("paces", {}).values())
    return any(spread > 0 for spread in spreads) or described.get("interruptions", {}).get("hz", 0) > 0


def hosts(described: dict[str, Any], ranks: int) -> int:
    """Hosts over which so many ranks of a described machine go."""
    each = int(described["ranks_per_node"])
    return -(-ranks // each) if each else 1


def said_of_hosts(described: dict[str, Any], ranks: int) -> str:
    """What must be known of a prediction for several hosts: how many, and whether anyone has measured their link."""
    sources = described.get("sources")
    told = sources if isinstance(sources, dict) else {}
    link = [str(told.get(key, "")) for key in ("internode_latency_s", "internode_bandwidth")]
    source = "assumed" if any(said.startswith("assumed") for said in link) else "described, not measured here"
    return (
        f"{ranks:,} ranks are {hosts(described, ranks):,} hosts of {described['name']}, which has "
        f"{described['ranks_per_node']:,} ranks a host; the link between them is {source}."
    )


def _checked(described: dict[str, Any], where: str) -> dict[str, Any]:
    for key in described:
        if key not in (*FIELDS, *_WORDS, *_EXTRAS):
            raise BadArgument(
                f"{where} has an unknown field {shown(key)}{suggestion(key, (*FIELDS, *_EXTRAS))}"
            )
    checked = {key: described[key] for key in _WORDS if key in described}
    checked.setdefault("name", "described")
    for key in ("name", "description"):
        if not isinstance(checked.get(key, ""), str):
            raise BadArgument(f"{where}: '{key}' must be words, not {shown(checked[key])}")
    for key in FIELDS:
        if key not in described:
            raise BadArgument(f"{where} lacks the field '{key}'")
        checked[key] = _number(described[key], key, where)
    for key in _EXTRAS:
        if key in described and not isinstance(described[key], dict):
            raise BadArgument(f"{where}: '{key}' must be a JSON object, not {shown(described[key])}")
    if "paces" in described:
        checked["paces"] = {
            command: _part(pace, _PACE, f"the pace of '{command}'", where)
            for command, pace in described["paces"].items()
        }
    if "interruptions" in described:
        checked["interruptions"] = _part(described["interruptions"], _INTERRUPTIONS, "interruptions", where)
    if "cache" in described:
        checked["cache"] = _part({"share": 1.0, **described["cache"]}, _CACHE, "'cache'", where)
    if "push" in described:
        checked["push"] = _part(described["push"], _PUSH, "'push'", where)
    if "late_blocks" in described:
        checked["late_blocks"] = _part(described["late_blocks"], _LATE_BLOCKS, "'late_blocks'", where)
    if "triangular" in described:
        checked["triangular"] = _tasks(described["triangular"], where)
    _check_shares(checked, where)
    return checked


def _tasks(given: dict[str, Any], where: str) -> dict[str, float | int]:
    """Those numbers of triangular solves' tasks that are given."""
    _check_keys(given, _TASKS, "'triangular'", where)
    checked = {key: _number(value, key, where) for key, value in given.items()}
    if not 0 < checked.get("backward", 1) <= 1:
        raise BadArgument(f"{where}: 'backward' is a part of the bandwidth, above 0 and at most 1")
    return checked


def _check_keys(given: dict[str, Any], keys: tuple[str, ...], what: str, where: str) -> None:
    for key in given:
        if key not in keys:
            raise BadArgument(f"{where}: {what} has an unknown field {shown(key)}{suggestion(key, keys)}")


def _part(given: Any, keys: tuple[str, ...], what: str, where: str) -> dict[str, float | int]:
    """Some numbers of a description that belong together."""
    if not isinstance(given, dict):
        raise BadArgument(f"{where}: {what} must be a JSON object, not {shown(given)}")
    _check_keys(given, keys, what, where)
    return {key: _number(given.get(key, 0), key, where) for key in keys}


def _check_shares(checked: dict[str, Any], where: str) -> None:
    for command, pace in checked.get("paces", {}).items():
        if pace["spread"] > 1:
            raise BadArgument(
                f"{where}: the spread of '{command}' is a part of its time, from 0 to 1, not {pace['spread']}"
            )
    cache = checked.get("cache")
    if cache and not (cache["bytes"] > 0 and cache["bandwidth"] > 0 and 0 < cache["share"] <= 1):
        raise BadArgument(
            f"{where}: a 'cache' has 'bytes' and a 'bandwidth' above 0, and a 'share' above 0 and at most 1"
        )
    interruptions = checked.get("interruptions")
    if interruptions and interruptions["hz"] > _MOST_INTERRUPTIONS:
        raise BadArgument(
            f"{where}: 'interruptions' are at most {_MOST_INTERRUPTIONS:,} a second, not {interruptions['hz']}"
        )
    if interruptions and interruptions["hz"] * interruptions["seconds"] >= 1:
        raise BadArgument(
            f"{where}: 'interruptions' leave a rank no time: 'hz' times 'seconds' must be below 1"
        )


def _number(value: Any, key: str, where: str) -> float | int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _is_finite(value):
        raise BadArgument(f"{where}: '{key}' must be a number, not {shown(value)}")
    if value < 0 or (key in _POSITIVE and value == 0):
        raise BadArgument(
            f"{where}: '{key}' must be {'above' if key in _POSITIVE else 'at least'} 0, not {shown(value)}"
        )
    if key not in _WHOLE:
        return float(value)
    if value != int(value):
        raise BadArgument(f"{where}: '{key}' must be a whole number, not {shown(value)}")
    return int(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floating-point ones
        return False


def cores() -> int:
    """CPU cores that this process may use, by its affinity and by its container's quota."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    return max(1, min(count, _quota() or count))


def _quota() -> int | None:
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as stream:
            allowed, period = stream.read().split()
        return None if allowed == "max" else math.ceil(int(allowed) / int(period))
    except (OSError, ValueError):
        return None


def this_machine() -> dict[str, Any]:
    """What this program runs on: processor, cores, devices, system. Names no host and no user."""
    build = core().build_info()
    devices = core().devices()["devices"] if build.get("cuda") else []
    return {
        "processor": _processor(),
        "cores": cores(),
        "devices": [device["name"] for device in devices],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sordino": build.get("version"),
        "compiler": build.get("compiler"),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
