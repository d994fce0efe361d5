"""The trace: what the Trace Event Format asks for, and what Perfetto needs to show it well."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest

import sordino
from sordino.report import trace

KINDS = {"compute", "launch", "halo", "reduction", "halo wait", "reduction wait"}


def events_of(spans):
    whole = json.loads(trace.perfetto(spans))
    assert whole["displayTimeUnit"] in ("ms", "ns")
    return whole["traceEvents"]


def check_format(events):
    """Every event as the format wants it; names for all processes and tracks; slices nest on every track."""
    named, tracks = {"process_name": {}, "thread_name": {}}, defaultdict(list)
    for event in events:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] == "M":
            if event["name"] in named:
                place = event["pid"] if event["name"] == "process_name" else (event["pid"], event["tid"])
                assert place not in named[event["name"]], "a name is given twice"
                named[event["name"]][place] = event["args"]["name"]
            else:
                assert event["name"] in ("process_sort_index", "thread_sort_index")
                assert isinstance(event["args"]["sort_index"], int)
            continue
        assert event["ph"] == "X" and event["name"] and event["cat"] in KINDS
        assert event["ts"] >= 0 and event["dur"] >= 0
        tracks[event["pid"], event["tid"]].append(event)
    assert set(named["thread_name"]) == set(tracks)
    assert set(named["process_name"]) == {process for process, _ in tracks}
    for slices in tracks.values():
        check_nesting(slices)
    return named


def check_nesting(slices):
    """In order of time, each slice lies within the one that is open, or begins when that has ended."""
    inside, before = [], 0
    for event in slices:
        start, end = (round(1000 * t) for t in (event["ts"], event["ts"] + event["dur"]))
        assert start >= before, "slices of a track are out of order"
        before = start
        while inside and inside[-1] <= start:
            inside.pop()
        assert not inside or end <= inside[-1], f"{event['name']} ends after what is around it"
        inside.append(end)


def span(rank, queue, name, kind, start, end):
    return {"rank": rank, "queue": queue, "name": name, "kind": kind, "start_s": start, "end_s": end}


def test_ranks_are_processes_and_queues_are_tracks():
    spans = [span(0, 0, "SpMV", "compute", 5.0, 5.001), span(1, 1, "SpMV", "compute", 5.0005, 5.001)]
    spans += [span(1, 1, "SpMV", "halo wait", 5.0005, 5.0007), span(1, 1, "p", "halo", 5.0002, 5.0007)]
    events = events_of(spans)
    named = check_format(events)
    assert named["process_name"] == {0: "rank 0", 1: "rank 1"}
    assert sorted(named["thread_name"].values()) == ["halos under way", "queue 0", "queue 1"]
    slices = [event for event in events if event["ph"] == "X"]
    assert slices[0]["ts"] == 0, "times begin at the first span, whatever the clock's own zero is"
    assert [event["dur"] for event in slices] == [1000, 500, 500, 200]


def test_what_is_under_way_at_the_same_time_has_tracks_of_its_own():
    spans = [span(0, 0, "a", "reduction", 0.0, 3.0), span(0, 0, "b", "reduction", 1.0, 4.0)]
    spans += [span(0, 0, "c", "reduction", 3.5, 5.0), span(0, 1, "d", "reduction", 2.0, 2.5)]
    named = check_format(events_of(spans))
    labels = sorted(named["thread_name"].values())
    assert labels == ["reductions under way", "reductions under way 2", "reductions under way 3"]


def test_rounding_does_not_break_the_nesting():
    third = 1e-6 / 3
    spans = [span(0, 0, "outer", "compute", i * third, (i + 1) * third) for i in range(50)]
    spans += [
        span(0, 0, "inner", "launch", (i + 0.5) * third, (i + 1) * third * (1 + 1e-12)) for i in range(50)
    ]
    check_format(events_of(spans))


def test_a_rank_alone_has_nothing_under_way():
    A = sordino.poisson(6, 6, 6)
    report = sordino.solve(A, A @ np.ones(216), engine="host", ranks=1, trace=True).report
    assert {item["kind"] for item in report.trace} == {"compute"}


def test_an_empty_trace_is_a_trace():
    assert events_of([]) == []


@pytest.mark.parametrize("solver", ["cg", "prcg"])
@pytest.mark.parametrize("engine", ["host", "model"])
def test_the_trace_of_a_solve(engine, solver):
    A = sordino.poisson(12, 12, 12)
    report = sordino.solve(A, A @ np.ones(1728), engine=engine, ranks=3, solver=solver, trace=True).report
    events = events_of(report.trace)
    named = check_format(events)
    assert set(named["process_name"].values()) == {"rank 0", "rank 1", "rank 2"}
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == len(report.trace)
    assert {"compute", "halo", "reduction"} <= {event["cat"] for event in slices}
    # Waits are the exposed part of what is under way: on this rank, what is waited for has been started before.
    for kind in ("halo", "reduction"):
        flights = [e for e in report.trace if e["rank"] == 1 and e["kind"] == kind]
        waits = [e for e in report.trace if e["rank"] == 1 and e["kind"] == f"{kind} wait"]
        for wait in waits:
            assert any(
                f["start_s"] <= wait["start_s"] and wait["end_s"] <= f["end_s"] + 1e-12 for f in flights
            )
