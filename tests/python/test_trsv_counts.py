"""How bench/trsv_counts.py scores predictions beside measurements."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("trsv_counts", ROOT / "bench" / "trsv_counts.py")
trsv_counts = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(trsv_counts)
RECORD = ROOT / "bench" / "records" / "2026-11-27_triangular_predictions_counts.jsonl"


def solve(ranks, predicted=None, measured=None, direction="forward", **more):
    row = {"points": 7, "side": 9, "order": "metis", "direction": direction, "ranks": ranks, **more}
    if predicted is not None:
        row |= {"described": "h200x4", "predicted_seconds": predicted}
    return row if measured is None else {**row, "seconds": measured}


def test_a_best_number_that_is_named_and_one_that_is_not_are_counted_with_what_the_latter_costs():
    predicted = [solve(1, 1.0), solve(2, 0.5), solve(1, 1.0, direction="backward")]
    predicted += [solve(2, 2.0, direction="backward"), solve(1, 9.0) | {"described": "h100x2"}]
    measured = [solve("1", measured=1.0), solve("2", measured=0.4)]
    measured += [solve(n, measured=seconds, direction="backward") for n, seconds in ((1, 1.1), (2, 1.0))]
    text = trsv_counts.score(trsv_counts.paired(predicted, measured, "h200x4"))
    assert "Named right: 1 of 2 (50 %)" in text
    assert "at most 10 % longer" in text
    assert "Median error of 4 times: 17 %" in text  # 0, 9, 25 and 100 %
    assert "| 7 points, 9^3, metis, backward | 1000.000 / 1100.000 | 2000.000 / 1000.000 | 2 | 1 |" in text
    assert "layout" not in text


def test_a_solve_that_was_not_predicted_or_not_measured_is_left_out():
    assert trsv_counts.paired([solve(1, 1.0)], [solve(2, measured=1.0), solve(1)], "h200x4") == {}
    assert trsv_counts.score({}) == ""


def test_the_record_has_a_prediction_of_every_solve_and_layout_by_both_descriptions():
    rows = [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()]
    for name in trsv_counts.DESCRIPTIONS:
        found = {(trsv_counts.key_of(r), trsv_counts.choice_of(r)) for r in rows if r["described"] == name}
        assert len(found) == 6 * len(trsv_counts.STRUCTURES) + 6 * len(trsv_counts.LAYOUTS_OF)
        assert all(r["predicted_seconds"] > 0 for r in rows)
    assert len(trsv_counts.STRUCTURES) == 14
    assert len(trsv_counts.LAYOUTS_OF) == 8


def test_the_pages_have_the_scores():
    measured = ROOT / "bench" / "records" / "2026-11-27_triangular_counts_h200x4.jsonl"
    predicted, found = (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in (RECORD, measured)
    )
    text = trsv_counts.score(trsv_counts.paired(predicted, found, "h200x4")).strip()
    assert text in (ROOT / "docs" / "theory" / "004.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "triangular_limits.md").read_text(encoding="utf-8")
    scores = [line for line in text.splitlines() if line.startswith("Named right")]
    assert len(scores) == 2 and all(score[1:] in page for score in scores)
