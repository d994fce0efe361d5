"""What docs/triangular_limits.md says of true factors on H200s, against its records."""

import json
import math
import statistics
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD, FOUR = "2026-11-27_true_factors_h200x2.jsonl", "2026-11-27_true_factors_h200x4.jsonl"
BEFORE = "2026-11-26_true_factors_h200.jsonl"
NAMES = {
    "ScaleMicrogrid_Jacobian_N1000_01.mtx": "micro-grid",
    "7:30": "7 points, 30^3",
    "7:40": "7 points, 40^3",
    "27:16": "27 points, 16^3",
    "ilu0:128": "ILU(0) of 7 points, 128^3",
}


def found(record):
    """Rows by matrix, triangle and number of ranks."""
    text = (ROOT / "bench" / "records" / record).read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return {(row["matrix"], row["triangle"], row["ranks"]): row for row in rows}


def section():
    page = (ROOT / "docs" / "triangular_limits.md").read_text(encoding="utf-8")
    return page.partition("## True factors on an H200\n")[2].partition("\n## ")[0]


def times_as_fast(row):
    return row["spsv"]["solve_s"] / row["ours"]["solve_s"]


def line(one, before, four):
    own = one["ours"]
    after = [one[key]["spsv"] for key in ("repaid_after", "repaid_after_calls")]
    cells = [
        NAMES.get(one["matrix"], one["matrix"].removesuffix(".mtx")), one["triangle"],
        f"{one['entries']:,}", f"{own['longest_chain']:,}", f"{1e3 * own['solve_s']:.3f}",
        f"{1e3 * own['call_s']:.3f}{', refined' if own['refined'] else ''}",
        f"{1e3 * before['ours']['solve_s']:.3f}, {1e3 * before['ours']['call_s']:.3f}",
        f"{1e3 * four['ours']['solve_s']:.3f}", f"{1e3 * one['spsv']['solve_s']:.3f}", f"{times_as_fast(one):.2f}",
        ", ".join("never" if count is None else f"{count:,}" for count in after),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def test_the_table_is_the_record_s():
    ones, others, page = found(RECORD), found(FOUR), section()
    assert len(ones) == 18 and RECORD in page and FOUR in page
    for (matrix, triangle, ranks), one in ones.items():
        assert line(one, others[matrix, triangle, ranks], others[matrix, triangle, 4]) in page


def test_what_is_said_beside_it():
    ones, page = list(found(RECORD).values()), section()
    slower = [(row["matrix"], row["triangle"]) for row in ones if times_as_fast(row) < 1]
    assert slower == [("big.rua", "L"), ("big.rua", "U")]
    assert "missed** by L and U of big.rua alone" in page
    by_blocks = [row for row in ones if not row["ours"]["by_rows"]]
    mean = math.exp(statistics.fmean(math.log(times_as_fast(row)) for row in by_blocks))
    assert f"of these {len(by_blocks)} by blocks it is {mean:.1f}" in page
    large = [times_as_fast(row) for row in by_blocks if row["entries"] >= 4e6]
    assert f"four million entries and more have {min(large):.0f} to {max(large):.0f}" in page
    after = [row["repaid_after"]["spsv"] for row in ones]
    soon = [count for count in after if count is not None and count <= 20]
    assert f"{len(soon)} of {len(after)} triangles, after {min(soon)} to {max(soon)} solves" in page
    later = [count for count in after if count is not None and count > 20]
    assert f"after {min(later)} to {max(later):,}" in page and after.count(None) == len(slower)
    setups = [1e3 * row["ours"]["setup_s"] for row in by_blocks]
    assert f"take {min(setups):.0f} to {max(setups):.0f} ms by blocks" in page
    for step, said in (
        ("inverses_s", "{} to {} % of that are inverses"),
        ("trial_s", "{} to {} % the trial"),
    ):
        shares = [round(100 * row["ours"]["setup"][step] / row["ours"]["setup_s"]) for row in by_blocks]
        assert said.format(min(shares), max(shares)) in page
    before = found(FOUR)
    times = sorted(
        before[row["matrix"], row["triangle"], 1]["ours"]["setup_s"] / row["ours"]["setup_s"] for row in ones
    )
    assert f"{times[0]:.1f} to {times[-1]:.1f} times as long before" in page
    for key in (key for key in before if key[2] == 1):
        assert before[(*key[:2], 4)]["ours"]["solve_s"] > before[key]["ours"]["solve_s"]


def test_what_it_was_the_day_before():
    before, page = found(BEFORE), section()
    small = [before[matrix, triangle, 1]["ours"] for matrix in ("big.rua", "add20.mtx") for triangle in "LU"]
    for name, unit in (("solve_s", " ms"), ("call_s", "")):
        times = [1e3 * own[name] for own in small]
        assert f"{min(times):.3f} to {max(times):.3f}{unit}" in " ".join(page.split())
    assert BEFORE in page
