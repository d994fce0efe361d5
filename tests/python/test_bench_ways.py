"""What ways of ours `sordino bench solution` takes."""

from __future__ import annotations

import json


def test_ways_of_ours_may_be_in_single_precision_and_by_another_storage(cli, tmp_path):
    record = tmp_path / "solution.jsonl"
    code, _, err = cli(
        "bench", "solution", "--sizes", 12, "--stencil", 27, "--ranks", 2, "--engine", "host", "--repeats", 1,
        "--preconds", "mg,mg:w:single", "--storages", "auto,symdia", "--no-peers", "--record", record,
    )  # fmt: skip
    assert code == 0, err
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert [row["method"] for row in rows] == [
        "cg, mg", "cg, mg, symdia", "cg, mg:w:single", "cg, mg:w:single, symdia",
    ]  # fmt: skip
    assert all(row["verified"] for row in rows)
    assert rows[0]["true_residual"] == rows[1]["true_residual"] != rows[2]["true_residual"]


def test_a_word_too_many_is_refused(cli):
    words = ("--sizes", 6, "--stencil", 27, "--engine", "host", "--no-peers", "--preconds", "mg:v:single:sor")
    code, _, err = cli("bench", "solution", *words)
    assert code == 2 and err.count("\n") == 1
    assert (
        "a preconditioner is a name, a cycle and a precision, such as mg:w:single, not 'mg:v:single:sor'"
        in err
    )
