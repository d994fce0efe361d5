"""What a report calls hidden: what was under way while the same rank computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sordino
from sordino.report.intervals import common, merged, total
from sordino.report.words import ledger_sentences


@pytest.fixture
def report(fake_core, laplacian):
    A = laplacian(6)
    return sordino.solve(A, A @ np.ones(216), ranks=2, engine="host").report


def span(kind, start, end, rank=0):
    return {"kind": kind, "name": kind, "start_s": start, "end_s": end, "rank": rank, "queue": 0}


def said(report, *spans):
    ledger = {
        **report.ledger,
        "hidden_reduction_s": 0.0,
        "reductions": 40,
        "messages": 20,
        "bytes_sent": 1000,
    }
    return " ".join(ledger_sentences(replace(report, trace=list(spans), ledger=ledger)))


def test_the_gap_before_the_next_kernel_hides_nothing(report):
    assert "hidden for 0 %" in said(
        report, span("compute", 0, 1), span("reduction", 1, 5), span("compute", 5, 9)
    )


def test_computing_hides_what_is_under_way_but_not_its_waits(report):
    half = [span("halo", 0, 8), span("compute", 2, 8), span("halo wait", 6, 8)]
    assert "hidden for 50 %" in said(report, *half)
    assert "hidden for 75 %" in said(report, *half[:2])


def test_two_that_are_under_way_at_once_count_once_and_only_the_first_rank(report):
    twice = [span("reduction", 0, 4), span("reduction", 2, 8), span("compute", 0, 6)]
    assert "hidden for 75 %" in said(report, *twice, span("reduction", 0, 100, rank=1))


def test_nothing_is_said_where_nothing_was_under_way(report):
    assert "hidden" not in said(report, span("compute", 0, 9))


def test_intervals():
    assert merged([(3, 4), (0, 1), (1, 2), (0, 0.5)]) == [(0, 2), (3, 4)]
    assert common([(0, 2), (3, 9)], [(1, 4), (5, 6), (8, 10)]) == [(1, 2), (3, 4), (5, 6), (8, 9)]
    assert total(common([(0, 1)], [(1, 2)])) == 0 and merged([]) == common([], [(0, 1)]) == []


def test_intervals_are_those_of_a_fine_grid(rng_of_today):
    for _ in range(50):
        sets, grids = [], []
        for _ in range(2):
            ends = np.sort(rng_of_today.integers(0, 60, size=(rng_of_today.integers(0, 12), 2)), axis=1)
            grid = np.zeros(60, dtype=bool)
            for start, end in ends:
                grid[start:end] = True
            sets.append(merged((int(a), int(b)) for a, b in ends if a < b))
            grids.append(grid)
        assert total(common(*sets)) == (grids[0] & grids[1]).sum() and total(sets[0]) == grids[0].sum()
