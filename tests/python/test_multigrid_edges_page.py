"""What docs/multigrid.md says of 27 points where phases meet, against its records."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEFORE, SINCE = "2026-11-27_multigrid_edges_before_2_cores.jsonl", "2026-11-27_multigrid_edges_2_cores.jsonl"
SIZES, CONTRASTS = (32, 48, 64), {1.0: "1", 1e3: "1,000", 1e4: "1e4", 1e6: "1e6"}


def iterations(name):
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    found = {(r["size"], r["contrast"]): r for r in map(json.loads, lines)}
    assert all(
        (r["problem"], r["stencil"], r["precond"], r["cycle"], r["ranks"], r["status"])
        == ("ball", 27, "mg", "v", 2, "converged")
        and r["true_residual"] <= 1e-8
        for r in found.values()
    )
    return {key: r["iterations"] for key, r in found.items()}


def table():
    before, since = iterations(BEFORE), iterations(SINCE)
    for contrast, said in CONTRASTS.items():
        cells = [f"{before[size, contrast]}, {since[size, contrast]}" for size in SIZES]
        yield f"| {said} | {' | '.join(cells)} |"


def test_the_page_has_the_table():
    page = (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")
    expected = [*table()]
    assert BEFORE in page and SINCE in page
    assert [line for line in page.splitlines() if line in expected] == expected


def test_iterations_are_about_the_same_whatever_the_contrast():
    since = iterations(SINCE)
    assert all(count <= since[size, 1.0] + 2 for (size, _), count in since.items())
    assert iterations(BEFORE)[64, 1e6] > 10 * since[64, 1e6]


def test_the_decision_has_its_figure():
    (decision,) = (ROOT / "docs" / "adr").glob("0046-*")
    took, takes = iterations(BEFORE)[32, 1e6], iterations(SINCE)[32, 1e6]
    said = f"a ball of 1e6 at 32^3 took {took} iterations instead of {takes}"
    assert said in decision.read_text(encoding="utf-8")
