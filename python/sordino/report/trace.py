"""The trace in the JSON that Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
from typing import Any


def perfetto(trace: list[dict[str, Any]]) -> str:
    """Translate a trace.

    Parameters
    ----------
    trace : list of dict
        ``rank, queue, name, kind, start_s, end_s``.

    Returns
    -------
    str
        JSON: a process for each rank, a thread for each queue, times in microseconds.
    """
    lanes: dict[tuple[int, str], int] = {}
    events: list[dict[str, Any]] = []
    for item in trace:
        rank, queue = int(item["rank"]), str(item["queue"])
        thread = lanes.setdefault((rank, queue), sum(1 for other, _ in lanes if other == rank))
        events.append(
            {
                "name": str(item["name"]),
                "cat": str(item["kind"]),
                "ph": "X",
                "ts": float(item["start_s"]) * 1e6,
                "dur": max(0.0, (float(item["end_s"]) - float(item["start_s"])) * 1e6),
                "pid": rank,
                "tid": thread,
            }
        )
    events.sort(key=lambda event: (event["ts"], -event["dur"]))  # what encloses comes first
    return json.dumps({"traceEvents": _names(lanes) + events, "displayTimeUnit": "ns"}, allow_nan=False)


def _names(lanes: dict[tuple[int, str], int]) -> list[dict[str, Any]]:
    named = [
        {"name": "process_name", "ph": "M", "pid": rank, "tid": 0, "args": {"name": f"rank {rank}"}}
        for rank in sorted({rank for rank, _ in lanes})
    ]
    for (rank, queue), thread in lanes.items():
        label = f"queue {queue}" if queue.isdigit() else queue
        named.append({"name": "thread_name", "ph": "M", "pid": rank, "tid": thread, "args": {"name": label}})
    return named
