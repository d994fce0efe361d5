"""Predicted triangular solves: what is recorded, what pages say of it, and the commands and the door that use it."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD = "2026-11-25_triangular_predictions_h100x2.jsonl"


def lines(name):
    text = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_recorded_predictions_stand_beside_what_was_measured_and_the_page_says_both():
    measured = [r for r in lines("2026-11-25_triangular_h100x2.jsonl") if r["bench"] == "triangular"]
    predicted = lines(RECORD)
    page = (ROOT / "docs" / "theory" / "004.md").read_text(encoding="utf-8")
    errors = []
    for p, m in zip(predicted, measured, strict=True):
        same = ("points", "side", "order", "always", "ranks", "columns", "direction", "tasks", "stored_bytes")
        assert [p[key] for key in same] == [m[key] for key in same]
        assert p["measured_seconds"] == m["seconds"]
        off = p["predicted_seconds"] / m["seconds"] - 1
        errors += [] if p["calibrates"] else [abs(off)]
        calibrates = f"`{p['calibrates']}`" if p["calibrates"] else ""
        row = f"| {1e3 * p['predicted_seconds']:.3f} | {1e3 * m['seconds']:.3f} | {100 * off:+.0f} % | {calibrates} |"
        assert row in page, row
    assert f"The nine are off by {100 * min(errors):.0f} to {100 * max(errors):.0f} %" in page
    assert len(errors) == 9
