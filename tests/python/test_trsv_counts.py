"""How bench/trsv_counts.py scores predictions beside measurements."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import scipy.io

import sordino

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


def test_the_pages_have_the_scores_of_layouts_by_their_steps_and_what_these_are_fitted_to():
    records = ROOT / "bench" / "records"
    predicted, measured, lanes = (
        trsv_counts.rows_in(str(records / f"2026-11-27_triangular_{name}.jsonl"))
        for name in ("layouts_by_steps", "counts_h200x4", "lanes_h200x2")
    )
    text = trsv_counts.score(trsv_counts.paired(predicted, measured, "h200x4", "predicted_by_steps")).strip()
    theory = (ROOT / "docs" / "theory" / "004.md").read_text(encoding="utf-8")
    assert text in theory
    (score,) = (line for line in text.splitlines() if line.startswith("Named right"))
    assert score[1:] in (ROOT / "docs" / "triangular_limits.md").read_text(encoding="utf-8")
    assert "Median error of 48 times: 6 %" in score
    assert "off by 6 % there" in (ROOT / "docs" / "predicting.md").read_text(encoding="utf-8")
    known = {(row["points"], row["side"]): row["seconds"] for row in lanes if row.get("algorithm") == "paper"}
    fitted = [row for row in predicted if "calibrates" in row]
    assert len(fitted) == len(known) == 4
    assert not {trsv_counts.key_of(row) for row in fitted} & {trsv_counts.key_of(row) for row in measured}
    for row in fitted:
        steps, took = row["predicted_by_steps"], known[row["points"], row["side"]]
        line = f"{1e3 * steps:.3f} | {1e3 * took:.3f} | {100 * (steps / took - 1):+.0f} %"
        assert f"| {row['points']} points, {row['side']}^3 | {line} |" in theory


def test_layouts_take_as_long_by_ranks_as_by_the_papers_algorithm(cli, tmp_path):
    scipy.io.mmwrite(tmp_path / "A.mtx", sordino.poisson(9, 8, 7))
    words = ("predict", "trsv", str(tmp_path / "A.mtx"), "--factor", "--machine", "h200x4", "--json")
    by_ranks = json.loads(cli(*words, "--ranks", "1,2", "--layouts")[1])
    by_layout = json.loads(cli(*words, "--ranks", "1,2", "--algorithm", "paper")[1])
    steps = {row["layout"]: row["by_steps"] for row in by_layout["layouts"]}
    assert {row["layout"]: row["seconds"] for row in by_ranks["layouts"]} == steps
    best = by_layout["best_by_steps"]
    assert best["by_steps"] == min(steps.values()) and by_ranks["best_layout"]["layout"] == best["layout"]
