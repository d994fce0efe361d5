"""What docs/multigrid.md says of phases in several parts, against its record."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD, BEFORE = "2026-11-27_multigrid_phases_2_cores.jsonl", "2026-11-27_multigrid_parts_2_cores.jsonl"
TRIED = "2026-11-27_multigrid_phases_tried_2_cores.jsonl"
NAMES = {
    ("bubbles", 0): "bubbles",
    ("bubbles", 3): "bubbles, three obstacles",
    ("layers", 0): "layers of five cells",
    ("free-surface", 3): "free surface, three obstacles",
    ("ball", 0): "a ball",
}
SIZES, CONTRASTS = (32, 48, 64, 96, 128), (100, 300, 1e3, 1e6)
MOST = 25  # iterations, with contrasts of 1,000 and more


def runs(name=RECORD):
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["precond"] == "mg"]
    return {(r["problem"], r["obstacles"], r["size"], r["contrast"]): r for r in rows}


def page():
    return (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")


def lines_of_the_table():
    found = runs()
    return [
        f"| {name} | "
        + " | ".join(" / ".join(str(found[(*key, n, c)]["iterations"]) for c in CONTRASTS) for n in SIZES)
        + " |"
        for key, name in NAMES.items()
    ]


def missed():
    """Those with a contrast of 1,000 or more that take more iterations than were asked."""
    return {case: r["iterations"] for case, r in runs().items() if case[3] >= 1e3 and r["iterations"] > MOST}


def test_the_page_has_the_table():
    expected = lines_of_the_table()
    assert RECORD in page() and BEFORE in page() and len(expected) == len(NAMES)
    assert [line for line in page().splitlines() if line in expected] == expected


def test_every_run_is_solved_and_what_takes_more_iterations_than_were_asked_is_told():
    text = " ".join(page().split())
    assert all(r["status"] == "converged" and r["true_residual"] <= 1.01e-8 for r in runs().values())
    over = missed()
    assert {(problem, contrast) for problem, _, _, contrast in over} == {("bubbles", 1e6)}
    assert {size for _, _, size, _ in over} == {96, 256}
    at_96 = [over["bubbles", obstacles, 96, 1e6] for obstacles in (0, 3)]
    said = f"bubbles of 1e6 at 96^3, {at_96[0]} and {at_96[1]}, and at 256^3, {over['bubbles', 0, 256, 1e6]}"
    assert said in text, said


def test_what_was_tried_and_what_it_was_before_is_told():
    before, text = runs(BEFORE), " ".join(page().split())
    tried = runs(TRIED)
    larger = [tried["bubbles", 0, size, 1e6] for size in (96, 128)]
    assert "4,194,304" in larger[0]["variant"]
    assert "took {} and {} at 96^3 and 128^3".format(*(r["iterations"] for r in larger)) in text
    lines = (ROOT / "bench" / "records" / TRIED).read_text(encoding="utf-8").splitlines()
    then = [r["iterations"] for r in map(json.loads, lines) if "16,384" in r["variant"]]
    assert "bubbles of 300, 1,000 and 1e6 took {}, {} and {} (of that record, too)".format(*then) in text
    now = [runs()["bubbles", 0, 128, contrast]["iterations"] for contrast in (300, 1e3, 1e6)]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "take {}, {} and {} iterations instead of {}, {} and {}".format(*now, *then) in changes
    was = [before["bubbles", 0, 96, c]["iterations"] for c in (1e3, 1e6)]
    assert f"Before, bubbles of 96^3 took {was[0]} and {was[1]}" in text


if __name__ == "__main__":
    print(*lines_of_the_table(), missed(), sep="\n")
