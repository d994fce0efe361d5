"""docs/multigrid.md on meshes that are no grids, on phases, and on convergence, beside its records and its picture."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
BCSSTK16 = "2026-11-27_hierarchies_2_cores.jsonl"
UNSTRUCTURED, CONTRASTS = (
    "2026-11-26_unstructured_2_cores.jsonl",
    "2026-11-27_multigrid_contrasts_2_cores.jsonl",
)


def rows_of(name):
    text = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def unstructured():
    """By order of rows: way to (iterations, setup, solve)."""
    found = {}
    for row in rows_of(UNSTRUCTURED):
        assert row["n"] >= 1e6 and row["true_residual"] <= 1e-8 * (1 + 1e-9), row
        found.setdefault(row["order"], {})[row["way"]] = (row["iterations"], row["setup_s"], row["solve_s"])
    return found


def asked():
    """The rows of the table of what was asked that are of our own levels beside PyAMG's."""
    own = {
        (r["solver"], r["cycle"]): r["iterations"]
        for r in rows_of(BCSSTK16)
        if r["problem"] == "bcsstk16.mtx"
        and r["ranks"] == 1
        and r["hierarchy"] in ("", "smoothed aggregation")
    }
    theirs, v, w = own["pyamg", "v"], own["sordino, amg", "v"], own["sordino, amg", "w"]
    yield (
        f"| bcsstk16, levels of our own | 1.5 of PyAMG's iterations | V {v}, W {w} of {theirs}: {v / theirs:.2f}, "
        f"{w / theirs:.2f} | {verdict(v / theirs)} |"
    )
    of_orders = unstructured()
    worst = max(of["amg:v"][0] / of["pyamg"][0] for of in of_orders.values())
    said = ", ".join(f"{order} {of['amg:v'][0]} of {of['pyamg'][0]}" for order, of in of_orders.items())
    yield (
        f"| an unstructured Poisson problem of 1e6 rows, levels of our own | 1.5 of PyAMG's iterations | V, rows as "
        f"{said} | {verdict(worst)} |"
    )


def verdict(ratio):
    return "met" if ratio <= 1.5 else "missed"


def meshes():
    """The table of an unstructured problem."""
    for order, ways in unstructured().items():
        for way, (iterations, setup, solve) in ways.items():
            name = "PyAMG, one core" if way == "pyamg" else f"`amg`, {way[-1].upper()}, two ranks"
            yield f"| {order} | {name} | {iterations} | {setup:.1f} | {solve:.1f} |"


def phases():
    """The table of iterations by problem and contrast, of mg and amg."""
    names = {
        ("bubbles", 0): "bubbles", ("layers", 0): "layers of five cells",
        ("bubbles", 3): "bubbles, three obstacles", ("free-surface", 3): "free surface, three obstacles",
    }  # fmt: skip
    found = {}
    for row in rows_of(CONTRASTS):
        assert row["status"] == "converged" and row["size"] == 64 and row["cycle"] == "v", row
        case = found.setdefault((row["problem"], row["obstacles"]), {})
        case.setdefault(row["contrast"], {})[row["precond"]] = row["iterations"]
    for case, of in found.items():
        cells = [f"{of[contrast]['mg']} / {of[contrast]['amg']}" for contrast in (1e3, 1e4, 1e5, 1e6)]
        yield f"| {names[case]} | {' | '.join(cells)} |"


def test_the_page_has_meshes_and_phases():
    lines = PAGE.splitlines()
    assert all(name in TEXT for name in (BCSSTK16, CONTRASTS, UNSTRUCTURED))
    for table, most in ((asked, 2), (meshes, 6), (phases, 4)):
        expected = [*table()]
        assert len(expected) == most and [line for line in lines if line in expected] == expected
    loads = [row["load_average"] for row in rows_of(UNSTRUCTURED)]
    assert f"at a load of {min(loads):.0f} to {max(loads):.0f}" in TEXT


def test_the_picture_of_convergence_shows_what_is_said(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    figures = importlib.import_module("multigrid_figures")
    for problem, said in (("ball", "contrast 1"), ("bubbles", "bubbles with a contrast of 1e6")):
        counts = {precond: len(history) for precond, history in figures.histories(problem).items()}
        plain = f"more than {figures.MOST:,}" if counts["none"] >= figures.MOST else f"{counts['none']}"
        wanted = f"{said}: {plain} iterations, {counts['jacobi']:,}, {counts['mg']} and {counts['amg']}"
        assert wanted in TEXT, wanted


if __name__ == "__main__":
    for lines in (asked(), meshes(), phases()):
        print(*lines, sep="\n", end="\n\n")
