"""What docs/multigrid.md says of cycles on GPUs since interpolation is along lines, against its records."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOLVES = "2026-11-27_multigrid_since_h200x4.jsonl"
LEVELS = "2026-11-27_multigrid_levels_since_h200x4.jsonl"
MOST = {1.0: 45, 1000.0: 90}  # ms, asked of 256^3 on one GPU


def rows_of(name):
    text = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def page():
    return (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")


def told():
    return " ".join(page().split())


def solves():
    """Rows by size, GPUs, contrast, precision, of Chebyshev's polynomial and a ball."""
    return {
        (r["size"], r["ranks"], r["contrast"], r["precision"]): r
        for r in rows_of(SOLVES)
        if r["precond"] == "mg" and r["problem"] == "ball" and r.get("smoother", "chebyshev") == "chebyshev"
    }


def lines_of_solves():
    found = solves()
    for size, ranks, contrast in sorted({key[:3] for key in found}):
        double, single = (found[size, ranks, contrast, precision] for precision in ("double", "single"))
        assert double["iterations"] == single["iterations"]
        cells = [f"{size}^3, {ranks}", f"{contrast:,.0f}", str(double["iterations"])]
        cells += [f"{1e3 * r['solve_s']:.1f}" for r in (double, single)] + [f"{double['setup_s']:.2f}"]
        yield "| " + " | ".join(cells) + " |"


def kernels(record=LEVELS):
    (row,) = (r for r in rows_of(record) if r["size"] == 256 and r["ranks"] == 1)
    return {(k["level"], k["name"]): k for k in row["kernels"]}


def lines_of_kernels():
    found = kernels()
    for name in dict.fromkeys(name for _, name in found):
        cells = [f"`{name}`"]
        for level in (0, 1):
            k = found[level, name]
            cells += [f"{1e6 * k['seconds']:.1f}", f"{k['roofline_s'] / k['seconds']:.2f}"]
        yield "| " + " | ".join(cells) + " |"


def part_of_roofline(levels):
    """Of all kernels of a cycle together, products counted twice."""
    of = [k for (level, _), k in kernels().items() if level in levels]
    times = [2 if k["name"] == "SpMV" else 1 for k in of]
    roofline = sum(n * k["roofline_s"] for n, k in zip(times, of, strict=True))
    return roofline / sum(n * k["seconds"] for n, k in zip(times, of, strict=True))


def test_the_page_has_the_solves():
    expected = [*lines_of_solves()]
    assert SOLVES in page() and len(expected) == 6
    assert [line for line in page().splitlines() if line in expected] == expected
    assert all(r["status"] == "converged" and r["true_residual"] <= 1.01e-8 for r in rows_of(SOLVES))


def test_the_page_has_the_kernels():
    expected = [*lines_of_kernels()]
    assert LEVELS in page() and len(expected) == 6
    assert [line for line in page().splitlines() if line in expected] == expected
    both, finest, second = (part_of_roofline(levels) for levels in ((0, 1), (0,), (1,)))
    said = f"Together they reach {finest:.2f} of their rooflines on the finest level, {second:.2f} on the second one"
    assert f"{said} and {both:.2f} on both" in told()


def test_what_four_gpus_gain():
    found = solves()
    gains = [
        found[256, 1, c, "double"]["solve_s"] / found[256, 4, c, "double"]["solve_s"] for c in (1.0, 1000.0)
    ]
    assert f"four GPUs solve 256^3 {gains[0]:.2f} and {gains[1]:.2f} times as fast as one" in told()
    for contrast, most in MOST.items():
        assert (1e3 * found[256, 1, contrast, "double"]["solve_s"] <= most) == (
            f"{most} ms are met" in told()
        )


def test_what_other_cards_and_other_ways_took():
    def ms(record, ranks, **more):
        wanted = {"problem": "ball", "size": 256, "precond": "mg", "cycle": "v", "ranks": ranks} | more
        found = [r for r in rows_of(record) if all(r[key] == value for key, value in wanted.items())]
        one, thousand = (next(r for r in found if r["contrast"] == c) for c in (1.0, 1e3))
        return f"{1e3 * one['solve_s']:.1f} and {1e3 * thousand['solve_s']:.1f}"

    assert f"it was {ms('2026-11-26_multigrid_again_h200x4.jsonl', 1)} ms on one H200" in told()
    alone, four = (
        ms(f"2026-11-27_multigrid_{name}.jsonl", ranks, precision="double")
        for name, ranks in (("h100", 1), ("h100x4", 4))
    )
    assert f"On H100s it is {alone} ms on one, {four} on four" in told()
    before, kept = kernels("2026-11-27_multigrid_levels_h100x4.jsonl"), kernels()[0, "Restrict"]
    parts = [before[level, "Restrict"] for level in (0, 1)]
    said = " and ".join(f"{k['roofline_s'] / k['seconds']:.2f}" for k in parts)
    assert f"On an H100 it reached {said} while a thread loaded its cells one by one" in told()
    four_cells = kernels("2026-11-27_multigrid_four_cells_h200x4.jsonl")[0, "Restrict"]
    assert f"took {1e6 * four_cells['seconds']:.0f} us instead of {1e6 * kept['seconds']:.0f}" in told()


def test_what_choosing_says_of_bubbles():
    found = {
        (r["size"], r["precond"]): r
        for r in rows_of(SOLVES)
        if r["problem"] == "bubbles" and r.get("smoother", "chebyshev") == "chebyshev"
    }
    mg, amg = ([found[size, precond] for size in (64, 128)] for precond in ("mg", "amg"))
    assert amg[0]["iterations"] == amg[1]["iterations"]
    small, large, ours = (r["iterations"] for r in (*mg, amg[0]))
    said = f"`mg` takes {small} at 64^3 and {large} at 128^3 and `amg` {ours}, in "
    said += " and ".join(f"{1e3 * r['solve_s']:.1f}" for r in mg) + " ms and "
    said += " and ".join(f"{1e3 * r['solve_s']:.1f}" for r in amg) + f", `{SOLVES}`"
    assert said in (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    print(*lines_of_solves(), *lines_of_kernels(), sep="\n")
    print(*(f"{part_of_roofline(levels):.2f}" for levels in ((0, 1), (0,), (1,))))
