"""What docs/multigrid.md says of interpolation along lines, beside cycles before it, against their records."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEFORE, SINCE = "2026-11-26_f_cycles_2_cores.jsonl", "2026-11-27_multigrid_lines_2_cores.jsonl"


def runs(name):
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    return {(r["size"], r["contrast"], r["cycle"]): r for r in map(json.loads, lines)}


def told(run):
    return f"{run['iterations']}, {1e3 * run['cpu_s']:.0f}"


def lines_of_the_table():
    before, since = runs(BEFORE), runs(SINCE)
    sizes = sorted({key[:2] for key in since})
    return [
        f"| {size}^3, {contrast:,.0f} | {told(before[size, contrast, 'v'])} | "
        + " | ".join(told(since[size, contrast, cycle]) for cycle in "vfw")
        + " |"
        for size, contrast in sizes
    ]


def test_the_page_has_the_table():
    page = (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")
    expected = lines_of_the_table()
    assert SINCE in page and len(expected) == 6
    assert [line for line in page.splitlines() if line in expected] == expected


def test_every_run_is_solved_and_v_grows_by_no_more_than_was_asked():
    since = runs(SINCE)
    for run in since.values():
        assert run["status"] == "converged" and run["true_residual"] <= 1.01e-8
    for contrast, most in ((1.0, 12), (1000.0, 25)):
        taken = [since[size, contrast, "v"]["iterations"] for size in (32, 64, 96)]
        assert max(taken) <= most and max(taken) - min(taken) <= 3
