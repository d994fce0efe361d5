"""``sordino bench faults``: each kind of fault, injected a few times on threads."""

from __future__ import annotations

import json

import pytest

from sordino._native import core
from sordino.bench.faults import CAUSE


@pytest.mark.parametrize("kind", ["dropped", "late", "throws", "memory"])
def test_a_fault_in_the_middle_of_a_solve_is_named(kind):
    found = core().fault_trial(kind, 1, 0.4, "cg", 3, 0.3, False)
    said = CAUSE.match(found["cause"])
    assert said and said["command"] and said["iteration"]
    assert (said["seen"] is not None) == (kind in ("dropped", "late"))
    assert found["fault_s"] is not None and found["begin_s"] <= found["fault_s"] <= found["end_s"]


def test_the_campaign_counts(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    code, out, err = cli(
        "bench", "faults", "--kinds", "throws", "--trials", "3", "--record", record, "--commit", "a"
    )
    assert code == 0, err
    row = json.loads(record.read_text())
    assert row["kind"] == "throws" and row["trials"] == row["ended"] == row["same_cause"] == 3
    assert "throws" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--kinds", "killed"], "not 'killed'"),
        (["--ranks", "1"], "a fault needs a survivor"),
        (["--timeout", "0"], "the timeout above 0"),
    ],
)
def test_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", "faults", *argv)
    assert code == 2 and sentence in err
