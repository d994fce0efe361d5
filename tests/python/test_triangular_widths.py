"""The width of blocks that is chosen by prediction, and the page's table of widths."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino import BadArgument, machines

ROOT = Path(__file__).parents[2]


def factor(n=10):
    return sordino.splu(sordino.poisson(n, n, n), ordering="mmd").factors.lower


def machine(**numbers):
    """A described machine whose tasks have these numbers."""
    described = dict(machines.load("h200x4"))
    described["triangular"] = {**described["triangular"], **numbers}
    return described


def test_hops_want_wide_blocks_and_bytes_narrow_ones_and_the_reason_says_so():
    L = factor()
    b = np.random.default_rng(3).standard_normal(L.shape[0])
    wide = sordino.factorized(L, width="auto", engine="model", ranks=1, machine=machine(step_s=1e-3))
    slow = machine(step_s=1e-12, flag_s=1e-12, small_block_s=0, bandwidth=1e6, worker_bandwidth=1e6)
    narrow = sordino.factorized(L, width="auto", engine="model", ranks=1, machine=slow)
    assert narrow.statistics["width"] < wide.statistics["width"]
    for F in (wide, narrow):
        s = F.statistics
        assert re.match(
            rf"width {s['width']}: both ways are predicted to take [\d.e+]+ m?s, [\d.e+]+ m?s with ",
            s["width_reason"],
        )
        assert 0 < s["width_seconds"] < s["symbolic_seconds"] < s["setup_seconds"]
        named = sordino.factorized(L, width=s["width"])
        np.testing.assert_array_equal(F.solve(b), named.solve(b))
        assert named.statistics["width_reason"] == ""


def test_a_host_takes_128_the_default_is_256_and_the_paper_keeps_its_own():
    L = factor(6)
    s = sordino.factorized(L, width="auto").statistics
    assert (s["width"], s["width_reason"]) == (128, "width 128: on a host wider is no faster")
    assert sordino.factorized(L).statistics["width"] == 256
    assert sordino.factorized(L, algorithm="paper", width="auto").statistics["width"] == 128


def test_saved_plans_bring_their_width(tmp_path):
    L = factor()
    slow = machine(step_s=1e-12, flag_s=1e-12, small_block_s=0, bandwidth=1e6, worker_bandwidth=1e6)
    options = {"engine": "model", "ranks": 2, "width": "auto"}
    F = sordino.factorized(L, machine=machine(step_s=1e-3), **options)
    b = np.ones(L.shape[0])
    x = F.solve(b)
    F.save_plans(tmp_path / "plans.npz")
    G = sordino.factorized(L, machine=slow, plans=tmp_path / "plans.npz", **options)
    assert G.statistics["width"] == F.statistics["width"] > 32
    assert G.statistics["width_reason"] == f"width {F.statistics['width']}: the plans have it"
    np.testing.assert_array_equal(G.solve(b), x)


@pytest.mark.parametrize(
    ("width", "sentence"),
    [
        ("wide", "width is a whole number, at least 1, or 'auto', not 'wide'"),
        (-1, "width is a whole number, at least 1, not -1"),
        (2.0, "width is a whole number, at least 1, not 2.0"),
    ],
)
def test_other_widths_get_one_sentence(width, sentence):
    with pytest.raises(BadArgument, match=re.escape(sentence)):
        sordino.factorized(np.eye(3), width=width)


def test_the_command_line_says_what_was_chosen(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import scipy.io

    scipy.io.mmwrite("A.mtx", sordino.poisson(8, 8, 8))
    run = [
        "trsv",
        "A.mtx",
        "--factor",
        "--ordering",
        "mmd",
        "--engine",
        "model",
        "--ranks",
        "1",
        "--width",
        "auto",
    ]
    code, out, _ = cli(*run)
    assert code == 0 and re.search(r"^L: width \d+: both ways are predicted", out, re.M)
    assert re.search(r"^U: width \d+: both ways are predicted", out, re.M)
    code, out, _ = cli(*run, "--json")
    found = json.loads(out)
    assert found["options"]["width"] == "auto" and found["statistics"]["L"]["width"] in (32, 64, 128, 256)
    predict = ["predict", "trsv", "A.mtx", "--factor", "--ordering", "natural", "--width", "auto"]
    code, out, _ = cli(*predict)
    assert code == 0 and re.search(r"^Width \d+: both ways are predicted to take", out, re.M)
    code, out, _ = cli(*predict, "--layouts", "--ranks", "1,2", "--plan", "plan.svg", "--json")
    assert (
        code == 0 and json.loads(out)["widths"][0] in (32, 64, 128, 256) and (tmp_path / "plan.svg").exists()
    )
    code, _, err = cli("trsv", "A.mtx", "--factor", "--width", "some")
    assert code == 2 and "--width must be a whole number" in err


def test_the_page_has_the_record():
    record = "2026-11-27_trsv_widths_2_cores.jsonl"
    page = (ROOT / "docs" / "triangular_solves.md").read_text(encoding="utf-8")
    assert record in page
    text = (ROOT / "bench" / "records" / record).read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert len(rows) == 12
    for row in rows:
        name = row["problem"].removesuffix(".mtx").replace("poisson:", "7 points, ")
        name = "micro-grid" if name.startswith("Scale") else name + "^3" * (name[:1] == "7")
        ms = [f"{1e3 * s:.3g}" for s in (*row["host_both_ways_s"], row["setup_s"], row["auto_setup_s"])]
        us = [f"{1e6 * s:,.0f}" for s in row["predicted_both_ways_s"]]
        cells = [name, row["factor"], " / ".join(ms[:4]), " / ".join(us), str(row["taken"]), *ms[4:]]
        assert f"| {' | '.join(cells)} |" in page
    more = [row["auto_setup_s"] / row["setup_s"] - 1 for row in rows]
    assert f"Choosing changes a setup by {100 * min(more):+.0f} to {100 * max(more):+.0f} %" in page
    for row in rows:
        assert row["predicted_both_ways_s"][-1] == min(row["predicted_both_ways_s"])


def test_the_page_of_limits_has_the_trials_before_and_since():
    record = "2026-11-27_trsv_trials_2_cores.jsonl"
    page = (ROOT / "docs" / "triangular_limits.md").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in (ROOT / "bench" / "records" / record).read_text().splitlines()]
    before, since = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    assert [(a["problem"], a["factor"]) for a in before] == [(b["problem"], b["factor"]) for b in since]
    trials = [b["trial_ms"] / a["trial_ms"] for a, b in zip(before, since, strict=True)]
    setups = [b["setup_ms"] / a["setup_ms"] for a, b in zip(before, since, strict=True)]
    said = (
        f"on a host {min(trials):.2f} to {max(trials):.2f} times as long, {statistics.median(trials):.2f} in the "
        f"median of {len(trials)} triangles, while setups, which find the growth of inverses since, take "
        f"{statistics.median(setups):.2f} times as long in the median (`bench/records/{record}`"
    )
    assert said in page
    steps = {(row["problem"].split(".")[0][:5], row["factor"]): row["steps"] for row in since}
    assert steps["Scale", "L"] == steps["add20", "U"] == 0 < steps["bayer", "U"]
    assert (
        "by a trial of four, which came later and before two of them were aimed, neither takes a step on a host"
        in page
    )


def test_the_page_of_limits_has_the_setups_before_and_since():
    record = "2026-11-27_trsv_setups_2_cores.jsonl"
    page = (ROOT / "docs" / "triangular_limits.md").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in (ROOT / "bench" / "records" / record).read_text().splitlines()]
    before, since = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    assert [(a["problem"], a["factor"]) for a in before] == [(b["problem"], b["factor"]) for b in since]
    setups = [b["setup_ms"] / a["setup_ms"] for a, b in zip(before, since, strict=True)]
    said = (
        f"Setups take {min(setups):.2f} to {max(setups):.2f} times as long as before, "
        f"{statistics.median(setups):.2f} in the median of {len(setups)} triangles, on one thread of a host"
    )
    assert said in page and record in page
