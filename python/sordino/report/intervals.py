"""Spans of time as sorted intervals that do not touch each other."""

from __future__ import annotations

from collections.abc import Iterable

Interval = tuple[float, float]


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """All that some of them cover."""
    covered: list[Interval] = []
    for start, end in sorted(intervals):
        if covered and start <= covered[-1][1]:
            covered[-1] = covered[-1][0], max(end, covered[-1][1])
        else:
            covered.append((start, end))
    return covered


def common(a: list[Interval], b: list[Interval]) -> list[Interval]:
    """What both cover, each of them merged."""
    found, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            found.append((start, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return found


def total(intervals: list[Interval]) -> float:
    """Their length."""
    return sum(end - start for start, end in intervals)
