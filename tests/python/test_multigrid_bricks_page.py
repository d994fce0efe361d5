"""What docs/multigrid.md says of stretched bricks, against its records."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEFORE, SINCE = (
    "2026-11-27_multigrid_bricks_before_2_cores.jsonl",
    "2026-11-27_multigrid_bricks_since_2_cores.jsonl",
)
GRADED = ("1,1,0.01", 100.0)
CONTRASTS = (1.0, 10.0)


def runs(name):
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    found = {(r["edges"], r["grading"], r["size"], r["contrast"]): r for r in map(json.loads, lines)}
    assert all(
        (r["problem"], r["precond"], r["cycle"], r["smoother"], r["ranks"], r["status"])
        == ("bricks", "mg", "v", "chebyshev", 2, "converged")
        and r["true_residual"] <= 1e-8
        for r in found.values()
    )
    return found


def shapes():
    return list(dict.fromkeys(key[:2] for key in runs(SINCE)))


def table():
    before, since = runs(BEFORE), runs(SINCE)
    lines = []
    for edges, grading in shapes():
        name = " x ".join(edges.split(","))
        if (edges, grading) == GRADED:
            name = "1 x 1 x 0.01 to 1"
        cells = [
            " / ".join(f"{found[edges, grading, size, contrast]['iterations']:,}" for contrast in CONTRASTS)
            for found, size in ((before, 32), (since, 32), (since, 48))
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def test_the_page_has_the_table():
    page = (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")
    expected = table()
    assert BEFORE in page and SINCE in page and len(expected) == 9
    assert [line for line in page.splitlines() if line in expected] == expected


def test_stretched_ones_take_about_the_iterations_of_cubes():
    since = runs(SINCE)
    for edges, grading, size, contrast in since:
        cubes = since["1,1,1", 1.0, size, contrast]["iterations"]
        steep = "100,100" in edges or grading > 1  # with coefficients drawn, or in one place only
        assert since[edges, grading, size, contrast]["iterations"] <= cubes + (13 if steep else 4)
