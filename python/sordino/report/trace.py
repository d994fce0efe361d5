"""The trace in the JSON that Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
from typing import Any

#: Communication under way, which runs beside the commands: tracks of their own.
_BESIDE = {"halo": "halos under way", "reduction": "reductions under way"}
#: Numbers of tracks: queues first, as they come; a rank has fewer of them than this.
_FIRST_BESIDE = 1000


def perfetto(trace: list[dict[str, Any]]) -> str:
    """Translate a trace.

    Parameters
    ----------
    trace : list of dict
        ``rank, queue, name, kind, start_s, end_s``.

    Returns
    -------
    str
        JSON in the Trace Event Format: a process for each rank, a track for each queue, tracks for what is under way,
        times in microseconds from the first span on. Slices of a track nest or follow each other.
    """
    zero = min((float(item["start_s"]) for item in trace), default=0.0)
    tracks: dict[tuple[int, str, int], int] = {}
    ends: dict[
        tuple[int, str, int], list[int]
    ] = {}  # of the slices of a track that are open, the outermost first
    events: list[dict[str, Any]] = []
    for item in sorted(trace, key=lambda span: (float(span["start_s"]), -float(span["end_s"]))):
        start, end = (round((float(item[key]) - zero) * 1e9) for key in ("start_s", "end_s"))
        track = _track(item, start, ends)
        inside = ends.setdefault(track, [])
        while inside and inside[-1] <= start:
            inside.pop()
        end = min([end, *inside[-1:]])  # rounding must not make a slice longer than the one around it
        inside.append(end)
        thread = tracks.setdefault(track, _number(track, tracks))
        events.append(
            {
                "name": str(item["name"]),
                "cat": str(item["kind"]),
                "ph": "X",
                "ts": start / 1e3,
                "dur": max(0, end - start) / 1e3,
                "pid": track[0],
                "tid": thread,
                "args": {"kind": str(item["kind"])},
            }
        )
    return json.dumps({"traceEvents": _names(tracks) + events, "displayTimeUnit": "ns"}, allow_nan=False)


def _track(
    item: dict[str, Any], start: int, ends: dict[tuple[int, str, int], list[int]]
) -> tuple[int, str, int]:
    """(rank, name, number): what is under way goes to the first of its tracks on which nothing is any more."""
    rank, beside = int(item["rank"]), _BESIDE.get(str(item["kind"]))
    if beside is None:
        queue = str(item["queue"])
        return rank, f"queue {queue}" if queue.isdigit() else queue, 0
    number = 0
    while any(end > start for end in ends.get((rank, beside, number), ())):
        number += 1
    return rank, beside, number


def _number(track: tuple[int, str, int], tracks: dict[tuple[int, str, int], int]) -> int:
    beside = track[1] in _BESIDE.values()
    others = [other for other in tracks if other[0] == track[0] and (other[1] in _BESIDE.values()) == beside]
    return len(others) + (_FIRST_BESIDE if beside else 0)


def _names(tracks: dict[tuple[int, str, int], int]) -> list[dict[str, Any]]:
    def named(what: str, rank: int, thread: int, **args: object) -> dict[str, Any]:
        return {"name": what, "ph": "M", "pid": rank, "tid": thread, "args": args}

    found = []
    for rank in sorted({rank for rank, _, _ in tracks}):
        found.append(named("process_name", rank, 0, name=f"rank {rank}"))
        found.append(named("process_sort_index", rank, 0, sort_index=rank))
    for (rank, label, number), thread in tracks.items():
        found.append(named("thread_name", rank, thread, name=f"{label} {number + 1}" if number else label))
        found.append(named("thread_sort_index", rank, thread, sort_index=thread))
    return found
