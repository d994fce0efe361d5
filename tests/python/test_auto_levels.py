"""What precond=auto takes of grids is what the record says is faster, or as fast, and docs/choosing.md tells both."""

from __future__ import annotations

import importlib
import json
import re
import statistics
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

import sordino

ROOT = Path(__file__).parents[2]
RECORD = "2026-11-27_auto_since_2_cores.jsonl"
PAGE = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")


def measured():
    """Seconds of a core of setup and solve, medians, by problem, size and contrast, and preconditioner."""
    text = (ROOT / "bench" / "records" / RECORD).read_text(encoding="utf-8")
    times: dict = {}
    for row in map(json.loads, text.splitlines()):
        assert row["status"] == "converged" and row["ranks"] == 2 and row["engine"] == "host"
        problem = row["problem"], row["size"], row["contrast"]
        found = times.setdefault(problem, {}).setdefault(row["precond"], [])
        found.append((row["setup_cpu_s"] + row["cpu_s"], row["iterations"]))
    return {
        problem: {way: tuple(map(statistics.median, zip(*found, strict=True))) for way, found in ways.items()}
        for problem, ways in times.items()
    }


def told(contrast):
    return f"{contrast:,.0f}" if contrast < 1e6 else "1e6"


def lines():
    """The table on the page, and what auto takes there by its words."""
    for (problem, size, contrast), ways in measured().items():
        shown = [f"{ways[way][1]:,.0f}, {ways[way][0]:.3g}" for way in ("jacobi", "mg")]
        yield (problem, size, contrast), f"| {problem}, {size}^3, {told(contrast)} | {' | '.join(shown)} | "


def said(problem):
    (line,) = (line for key, line in lines() if key == problem)
    (row,) = (row for row in PAGE.splitlines() if row.startswith(line))
    return re.fullmatch(r"`(mg|jacobi)`, ([\d,]+) \|", row.removeprefix(line)).groups()


def test_the_page_has_the_record():
    assert RECORD in PAGE
    for problem, _ in lines():
        assert said(problem)


def test_auto_is_slower_than_jacobi_nowhere_where_it_was_measured():
    found = measured()
    taken = {problem: ways[said(problem)[0]][0] for problem, ways in found.items()}
    assert all(taken[problem] <= ways["jacobi"][0] for problem, ways in found.items())
    over = [taken[problem] / min(of for of, _ in ways.values()) for problem, ways in found.items()]
    best = over.count(1)
    assert len(over) - best == 4
    claim = f"slower than Jacobi on none of these {len(over)}, and the faster of both on {best}; on the other four"
    assert claim in PAGE
    assert f"at most {max(over):.2f} times as slow as `mg`" in PAGE
    most = max(ways["mg"][1] for ways in found.values())
    assert f"`mg` takes up to {most:.0f} iterations" in PAGE


@pytest.mark.parametrize("spacing", [(1, 1, 12), (1, 12, 12), (12, 1, 1)])
def test_stretched_cells_of_one_phase_are_not_taken_for_phases(spacing):
    A = sordino.problems.pressure_matrix(
        np.ones((24, 24, 24)), boundary="neumann,z+:dirichlet", spacing=spacing
    )
    b = np.random.default_rng().standard_normal(A.shape[0])
    report = sordino.solve(A, b, grid=(24, 24, 24), rtol=1e-8, engine="host").report
    assert report.options["precond"] == "mg" and report.iterations <= 14, report.precond_reason


def test_on_gpus_one_solve_with_setup_is_slower():
    record = "2026-11-26_multigrid_setup_h200x2.jsonl"
    text = (ROOT / "bench" / "records" / record).read_text(encoding="utf-8")
    took = {row["precond"]: row["setup_s"] + row["solve_s"] for row in map(json.loads, text.splitlines())}
    assert took["mg"] > took["sqrt-jacobi"]
    said = f"{took['mg']:.2f} s with `mg` and {took['sqrt-jacobi']:.2f} with `sqrt-jacobi` on two H200"
    assert said in PAGE and record in PAGE


@pytest.mark.parametrize("problem", [key for key, _ in lines() if key[1] <= 48])
def test_auto_takes_what_the_page_says(problem, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    bench = importlib.import_module("grid_preconditioners")
    kind, size, contrast = problem
    A = bench.matrix(size, contrast, Namespace(problem=kind, stencil=7, obstacles=0))
    options = {"rtol": bench.RTOL, "engine": "host", "ranks": 2, "grid": (size,) * 3, "maxiter": 1}
    report = sordino.solve(A, np.ones(A.shape[0]), on_failure="return", **options).report
    taken, foretold = said(problem)
    assert report.options["precond"] == taken
    assert report.precond_reason.startswith(
        f"jacobi is foretold to take {foretold.replace(',', '')} iterations, "
    )
