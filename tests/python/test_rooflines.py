"""What the pages say of kernels beside their rooflines is what bench/rooflines.py makes of the newest record."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="bench/rooflines.py draws with matplotlib, the extra `report`")

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def rooflines(monkeypatch):
    monkeypatch.syspath_prepend(os.fspath(BENCH))
    return importlib.import_module("rooflines")


def kernel(name, parts, share=0.5, **changed):
    """A line of a kernel that takes 100 us, and reaches that part of its roofline."""
    return {
        "name": name, "calls": 9, "seconds": 1e-4, "bytes": 16.0 * 2**24, "flops": 2.0 * 2**24,
        "roofline_s": parts * 1e-4, "share": share, **changed,
    }  # fmt: skip


def run(solver, *kernels, **changed):
    return {
        "bench": "kernels", "engine": "cuda", "cells": [256, 128, 512], "solver": solver, "precond": "jacobi",
        "storage": "dia", "bandwidth": 4e12, "flops": 6e13, "kernels": kernels, "date": "2026-12-01T00:00:00+00:00",
        **changed,
    }  # fmt: skip


def test_the_pages_are_those_of_the_newest_record(rooflines):
    for page, text in rooflines.pages().items():
        assert page.read_text(encoding="utf-8") == text, "python bench/rooflines.py writes it"


def test_a_row_is_met_only_where_all_runs_are(rooflines):
    tiles = [
        run("cg", kernel("SpMV", part), kernel("Block ILU", part), precond="block-ilu", tile=tile)
        for part, tile in ((0.93, "4,4,4"), (0.919, "8,8,8"))
    ]
    shown = rooflines.kernels(tiles)
    assert [(k.name, k.met) for k in shown] == [("SpMV", False), ("Block ILU", True), ("Block ILU", False)]
    assert [k.row().split(" | ")[1:] for k in shown] == [
        ["`cg`, `block-ilu`, `dia`", "100.0", "16.0", "2.0", "0.919 to 0.930", "missed |"],
        ["`cg`, `block-ilu` of 4 x 4 x 4 cells, `dia`", "100.0", "16.0", "2.0", "0.930", "met |"],
        ["`cg`, `block-ilu` of 8 x 8 x 8 cells, `dia`", "100.0", "16.0", "2.0", "0.919", "missed |"],
    ]
    table = rooflines.of_001("record", shown)
    assert "(`record`)" in table and "1 of 3 reach 0.92:" in table
    said = rooflines.of_predicting("record", shown)
    assert "1 of 3 reach 0.93 to 0.93" in said and "`SpMV` of `cg`, `block-ilu`, `dia` 0.919 to 0.930" in said


def test_kernels_that_take_little_or_move_nothing_or_come_once_are_left_out(rooflines):
    lines = (
        kernel("SpMV", 0.95), kernel("Factor", 0, share=0.3, bytes=0.0), kernel("Keep", 0.9, share=0.009),
        kernel("First", 0.9, calls=1), kernel("Nobody knows it", 0.5),
    )  # fmt: skip
    shown = rooflines.kernels([run("cbcg", *lines)])
    assert [k.name for k in shown] == ["SpMV", "Nobody knows it"]
    assert shown[1].row().startswith("| `Nobody knows it` | `cbcg`, `jacobi`, `dia` |")


def test_the_newest_record_has_both_methods_and_the_cells_of_the_paper(rooflines, monkeypatch, tmp_path):
    later = "2026-12-02T00:00:00+00:00"
    records = {
        "kernels": [run("cg"), run("cbcg")],
        "kernels_earlier": [run(solver, date="2026-11-30T00:00:00+00:00") for solver in ("cg", "cbcg")],
        "kernels_of_one": [run("cbcg", date=later)],
        "kernels_smaller": [run(solver, cells=[64, 64, 64], date=later) for solver in ("cg", "cbcg")],
        "kernels_host": [run(solver, engine="host", date=later) for solver in ("cg", "cbcg")],
    }
    for name, lines in records.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"2026-12-01_{name}_h200.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.setattr(importlib.import_module("drawing"), "RECORDS", tmp_path)
    name, runs = rooflines.newest()
    assert name == "2026-12-01_kernels_h200.jsonl"
    assert [line["solver"] for line in runs] == ["cbcg", "cg"]


def test_a_page_without_marks_is_not_written_over(rooflines, monkeypatch, tmp_path):
    (tmp_path / "docs" / "theory").mkdir(parents=True)
    for page in rooflines.PAGES:
        (tmp_path / "docs" / page).write_text("no marks\n", encoding="utf-8")
    monkeypatch.setattr(rooflines, "ROOT", tmp_path)
    with pytest.raises(ValueError, match=r"theory/001\.md lacks the marks"):
        rooflines.pages()


def test_what_is_known_of_kernels_below_is_in_the_records_that_are_named():
    names = ("2026-11-23_kernels_h200", "2026-11-26_kernels_before_h200", "2026-11-26_kernels_h200")
    took = {}
    for name in names:
        text = (BENCH / "records" / f"{name}.jsonl").read_text(encoding="utf-8")
        for row in map(json.loads, text.splitlines()):
            for kernel in row.get("kernels", ()):
                key = row["solver"], row.get("tile", ""), kernel["name"]
                took.setdefault(key, []).append(f"{1e6 * kernel['seconds']:,.0f}")
    page = (BENCH.parent / "docs" / "theory" / "001.md").read_text(encoding="utf-8")
    text = (BENCH / "records" / "2026-11-26_kernels_batches_h200.jsonl").read_text(encoding="utf-8")
    now = {
        (row["solver"], row["precond"], kernel["name"]): f"{1e6 * kernel['seconds']:,.0f}"
        for row in map(json.loads, text.splitlines())
        for kernel in row["kernels"]
    }
    one, two, three = took["cg", "4,4,4", "SpMV"]
    assert f"in `cg` took {one} us on 2026-11-23, {two} three days later, {three} with loads" in page
    assert f"and {now['cg', 'jacobi', 'SpMV']} since rows know their seven diagonals" in page
    steps = took["cbcg", "", "Step"]
    assert "*`Step`* {}, {} and {}, and {} since".format(*steps, now["cbcg", "jacobi", "Step"]) in page
