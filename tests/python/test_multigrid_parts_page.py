"""What docs/multigrid.md says of phases in several parts, against its record."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD = "2026-11-27_multigrid_parts_2_cores.jsonl"
NAMES = {
    ("bubbles", 0): "bubbles",
    ("bubbles", 3): "bubbles, three obstacles",
    ("layers", 0): "layers of five cells",
    ("free-surface", 3): "free surface, three obstacles",
    ("ball", 0): "a ball",
}


def runs():
    lines = (ROOT / "bench" / "records" / RECORD).read_text(encoding="utf-8").splitlines()
    return {(r["problem"], r["obstacles"], r["size"], r["contrast"]): r for r in map(json.loads, lines)}


def lines_of_the_table():
    found = runs()
    sizes = (32, 48, 64)
    return [
        f"| {name} | "
        + " | ".join(" / ".join(str(found[(*key, n, c)]["iterations"]) for c in (1e3, 1e6)) for n in sizes)
        + " |"
        for key, name in NAMES.items()
    ]


def test_the_page_has_the_table():
    page = (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")
    expected = lines_of_the_table()
    assert RECORD in page and len(expected) == len(NAMES)
    assert [line for line in page.splitlines() if line in expected] == expected


def test_every_run_is_solved_and_up_to_64_in_as_few_iterations_as_were_asked():
    for (*_, size, _), run in runs().items():
        assert run["status"] == "converged" and run["true_residual"] <= 1.01e-8
        assert size > 64 or run["iterations"] <= 25


def test_larger_bubbles_are_told():
    page = " ".join((ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8").split())
    taken = [runs()["bubbles", 0, 96, contrast]["iterations"] for contrast in (1e3, 1e6)]
    assert f"Bubbles of 96^3 take {taken[0]} and {taken[1]}" in page
