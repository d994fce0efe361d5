"""bench/grid_preconditioners.py and bench/hierarchies.py, and what a page says of what they measured."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sordino

ROOT = Path(__file__).parents[2]
SHAPES = "2026-11-27_multigrid_shapes_2_cores.jsonl"
PAGE = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())


@pytest.fixture
def script(monkeypatch):
    """A function that runs a script of bench/ and returns the lines that it records."""
    monkeypatch.syspath_prepend(os.fspath(ROOT / "bench"))

    def run(name, record, *words):
        module = importlib.import_module(name)
        argv = [f"{name}.py", *map(str, words), "--record", str(record), "--commit", "abc"]
        monkeypatch.setattr(sys, "argv", argv)
        assert module.main() == 0
        return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]

    return run


# ---- grids -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [(), ("--problem", "bubbles"), ("--problem", "layers"), ("--problem", "free-surface", "--obstacles", 2)],
)
def test_a_grid_of_each_problem(script, tmp_path, words):
    sizes = ("--sizes", 12, "--contrasts", 100, "--preconds", "jacobi,mg:v,mg:w", "--repeats", 1)
    jacobi, v, w = script("grid_preconditioners", tmp_path / "r.jsonl", *words, *sizes)
    for row in (jacobi, v, w):
        assert (
            row["problem"] == (words[1] if words else "ball") and row["obstacles"] == (words[3:] or (0,))[0]
        )
        assert row["status"] == "converged" and row["true_residual"] <= 1e-8
    assert (v["precond"], v["cycle"], w["cycle"]) == ("mg", "v", "w")
    assert w["iterations"] <= v["iterations"] < jacobi["iterations"] / 2


def test_what_does_not_converge_is_a_line_and_a_ball_has_no_obstacles(script, tmp_path, monkeypatch, capsys):
    words = ("--sizes", 6, "--contrasts", 1, "--preconds", "jacobi", "--repeats", 1)
    with pytest.raises(SystemExit):
        script("grid_preconditioners", tmp_path / "r.jsonl", *words, "--obstacles", 1)
    assert "obstacles are of bubbles and of a free surface" in capsys.readouterr().err
    monkeypatch.setattr(importlib.import_module("grid_preconditioners"), "RTOL", 1e-17)
    (row,) = script("grid_preconditioners", tmp_path / "r.jsonl", *words)
    assert row["status"] != "converged" and row["true_residual"] > 1e-17


@pytest.fixture(scope="module")
def recorded():
    """Iterations by problem, obstacles, size, contrast and preconditioner with its cycle."""
    lines = (ROOT / "bench" / "records" / SHAPES).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert all(row["status"] == "converged" and row["true_residual"] <= 1e-8 for row in rows)
    keys = ("problem", "obstacles", "size", "contrast", "precond", "cycle")
    found = {tuple(row[key] for key in keys): row["iterations"] for row in rows}
    assert len(found) == len(rows) == 150 and SHAPES in PAGE
    return found


def test_the_page_has_the_record_s_iterations(recorded):
    names = {"ball": "a ball", "free-surface": "a free surface", "bubbles": "bubbles"}
    for problem, obstacles in dict.fromkeys(key[:2] for key in recorded):
        cells = []
        for size in (24, 40):
            for contrast in (1.0, 1e3, 1e6):
                case = (problem, obstacles, size, contrast)
                v, w = (recorded[(*case, "mg", cycle)] for cycle in "vw")
                cells.append(f"{v}, {w} ({recorded[(*case, 'sqrt-jacobi', '')]:,})")
        with_them = f", {obstacles} obstacles" if obstacles else ""
        assert f"| {names[problem]}{with_them} | {' | '.join(cells)} |" in PAGE


def test_the_page_has_the_iterations_along_aggregates(recorded):
    names = {"ball": "a ball", "free-surface": "a free surface", "bubbles": "bubbles"}
    for problem, obstacles in dict.fromkeys(key[:2] for key in recorded):
        cells = []
        for size in (24, 40):
            for contrast in (1.0, 1e3, 1e6):
                v, w = (recorded[(problem, obstacles, size, contrast, "amg", cycle)] for cycle in "vw")
                assert max(v, w) <= (12 if contrast == 1 else 25)
                cells.append(f"{v}, {w}")
        with_them = f", {obstacles} obstacles" if obstacles else ""
        assert f"| {names[problem]}{with_them} | {' | '.join(cells)} |" in PAGE
    hardest = ("bubbles", 3, 40, 1e6)
    own, by_grid = ([recorded[(*hardest, word, cycle)] for cycle in "vw"] for word in ("amg", "mg"))
    assert "too: {} and {} where `mg` takes {} and {}.".format(*own, *by_grid) in TEXT


def test_where_the_page_says_that_the_target_is_met(recorded):
    cycles = {key: count for key, count in recorded.items() if key[4] == "mg"}

    def span(*, contrasts, bubbles, words="vw"):
        counts = [
            count
            for (problem, _, _, contrast, _, cycle), count in cycles.items()
            if contrast in contrasts and (problem == "bubbles") in bubbles and cycle in words
        ]
        return min(counts), max(counts)

    hard = (1e3, 1e6)
    smooth, others = span(contrasts=(1.0,), bubbles=(False, True)), span(contrasts=hard, bubbles=(False,))
    assert smooth[1] <= 12 and "it is met with 1 ({} to {}),".format(*smooth) in TEXT
    assert others[1] <= 25 and "with obstacles or without ({} to {}).".format(*others) in TEXT
    v, w = (span(contrasts=hard, bubbles=(True,), words=word) for word in "vw")
    over = [
        key
        for key, count in cycles.items()
        if key[0] == "bubbles" and key[3] in hard and key[5] == "v" and count > 25
    ]
    assert over == [("bubbles", 3, 40, 1e6, "mg", "v")] and w[1] <= 25
    assert "Bubbles take V {} to {}, W {} to {}: one of eight".format(*v, *w) in TEXT
    times = [
        recorded[(*key[:4], "sqrt-jacobi", "")] / count
        for key, count in cycles.items()
        if key[0] == "bubbles" and key[3] in hard
    ]
    assert f"they take {min(times):.0f} to {max(times):.0f} times as many" in TEXT


# ---- hierarchies -------------------------------------------------------------------------------------------------


def hierarchy(n):
    """Levels of n x n cells, n halved twice, by linear interpolation."""
    levels = [SimpleNamespace(A=sp.csr_array(sordino.poisson(n, n, 1)))]
    for m in (n, n // 2):
        apart = np.arange(m)[:, None] / 2 - np.arange(m // 2)
        half = sp.csr_array(np.maximum(0, 1 - np.abs(apart)))
        levels[-1].P = sp.csr_array(sp.kron(half, half))
        levels.append(SimpleNamespace(A=sp.csr_array(levels[-1].P.T @ levels[-1].A @ levels[-1].P)))
    return SimpleNamespace(levels=levels, setup_s=0.25, pyamg="5.4.1")


def test_a_stored_hierarchy_is_measured_without_pyamg(script, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)  # importing it fails
    hierarchies = importlib.import_module("hierarchies")
    made = {setup: hierarchy(24) for setup in hierarchies.SETUPS}
    A, file = next(iter(made.values())).levels[0].A, tmp_path / "h.npz"
    hierarchies.store(str(file), [hierarchies.Problem("plane.mtx", A, made)])
    held = hierarchies.load(str(file), "plane.mtx")
    for setup, given in made.items():
        levels = held.hierarchies[setup].levels
        assert len(levels) == len(given.levels) and not hasattr(levels[-1], "P")
        for level, wanted in zip(levels, given.levels, strict=True):
            assert abs(level.A - wanted.A).max() == 0
            assert not hasattr(wanted, "P") or abs(level.P - wanted.P).max() == 0
    words = ("--problems", "nowhere/plane.mtx", "--hierarchy", file, "--ranks", 2, "--repeats", 1)
    rows = script("hierarchies", tmp_path / "r.jsonl", *words)
    assert [row["solver"] for row in rows] == ["sordino, jacobi", *2 * ["sordino, amg"], *4 * ["sordino"]]
    for row in rows:
        assert row["status"] == "converged" and row["true_residual"] <= 1e-8
        assert row["pyamg"] == "5.4.1" and row["problem"] == "plane.mtx" and row["engine"] == "host"
    assert max(row["iterations"] for row in rows[1:]) < rows[0]["iterations"] / 3
    with pytest.raises(KeyError):
        hierarchies.load(str(file), "other.mtx")


def test_what_pyamg_sets_up_is_stored(script, tmp_path):
    pytest.importorskip("pyamg")
    words = ("--problems", "poisson:10", "--hierarchy", tmp_path / "h.npz", "--ranks", 1, "--repeats", 1)
    first = script("hierarchies", tmp_path / "first.jsonl", *words)
    again = script("hierarchies", tmp_path / "again.jsonl", *words)
    iterations = [row["iterations"] for row in first if row["solver"] != "pyamg"]
    assert len(first) == 9 and [row["iterations"] for row in again] == iterations
    assert np.isfinite([row["solve_s"] for row in first]).all()


def test_bubbles_on_a_gpu_are_on_the_page():
    page = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    text = (ROOT / "bench" / "records" / "2026-11-26_amg_h200.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    for size in (64, 128):
        for contrast, said in ((1.0, ", contrast 1"), (1e6, ", 1e6")):
            cells = []
            for precond, cycle in (("mg", "v"), ("amg", "v"), ("sqrt-jacobi", "")):
                asked = (size, contrast, precond, cycle)
                (r,) = (r for r in rows if (r["size"], r["contrast"], r["precond"], r["cycle"]) == asked)
                assert r["status"] == "converged" and r["true_residual"] <= 1e-8 * (1 + 1e-9)
                cells.append(f"{r['iterations']:,}, {1e3 * r['solve_s']:.1f}")
            assert f"| {size}^3{said} | " + " | ".join(cells) + " |" in page


def test_hierarchies_on_two_cores_are_on_the_page():
    name = "2026-11-27_hierarchies_2_cores.jsonl"
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    found = {tuple(r[key] for key in ("problem", "hierarchy", "solver", "cycle", "ranks")): r
             for r in map(json.loads, lines)}  # fmt: skip

    def told(*case):
        row = found[case]
        if row.get("status", "converged") != "converged":
            return f"not in {row['iterations']}"
        return f"{row['iterations']}, {1e3 * row['solve_s']:.0f}"

    assert name in page
    for problem, said in (("poisson:64", "64^3 cells as CSR"), ("bcsstk16.mtx", "bcsstk16, 4,884 rows")):
        for hierarchy, setup in (
            ("smoothed aggregation", "smoothed aggregation"),
            ("Ruge-Stuben", "Ruge and Stueben"),
        ):
            cells = [told(problem, hierarchy, "pyamg", "v", 1)]
            cells += [told(problem, hierarchy, "sordino", cycle, ranks) for cycle in "vw" for ranks in (1, 2)]
            with_jacobi = hierarchy == "smoothed aggregation"
            cells += [
                told(problem, "", "sordino, jacobi", "", ranks) if with_jacobi else "" for ranks in (1, 2)
            ]
            assert f"| {said} | {setup} | {' | '.join(cells)} |" in page
    own = [
        told(problem, "", "sordino, amg", "v", ranks)
        for problem in ("poisson:64", "bcsstk16.mtx")
        for ranks in (1, 2)
    ]
    assert "take V {} and {} on one rank and two at 64^3, {} and {} of bcsstk16".format(*own) in page
