"""The page of ``sordino trsv --report``: factor, plan, critical path, bytes, accuracy."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sordino
from sordino import _triangular_prediction, machines
from sordino.cli.trsv_page import critical_rows
from sordino.report import plan_picture
from sordino.report.words import duration


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    A = sordino.poisson(8, 8, 8)
    scipy.io.mmwrite("A.mtx", A)
    scipy.io.mmwrite("L.mtx", sp.tril(sordino.poisson(12, 12, 12)))  # kept by rows
    return A


def words_of(path):
    """Text of the page, without drawings, by lines."""
    text = re.sub(r"<(style|svg).*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"</(tr|p|h1|h2|dd|dt|pre)>", "\n", text)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", line)).split()) for line in text.splitlines()]


def run(cli, *more):
    code, out, err = cli("trsv", "A.mtx", "--factor", "--ordering", "mmd", "--report", "page.html", *more)
    assert code == 0 and err == ""
    return out


def test_the_page_has_the_factor_its_plan_bytes_and_accuracy_and_is_told(cli, files, tmp_path):
    out = run(cli, "--engine", "model", "--ranks", "2", "--machine", "h100x2")
    assert out.rstrip().endswith("The report was written to page.html.")
    page, words = (tmp_path / "page.html").read_text(encoding="utf-8"), words_of(tmp_path / "page.html")
    for heading in ("The factor", "Plan", "Time, bytes and floor", "Accuracy and time", "This run"):
        assert heading in words
    assert page.count("<svg") == 1 and 'aria-label="plan"' in page
    assert any(line.startswith("L, forward, on 2 ranks of the described machine h100x2:") for line in words)
    assert any(line.startswith("tiny pivots of U 0") for line in words)
    assert any("as the machine h100x2 is described; the solve reaches" in line for line in words)
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)  # nothing is loaded


def test_names_of_machines_are_text(cli, files, tmp_path):
    described = {**machines.load("h100x2"), "name": "<b>mine</b>"}
    (tmp_path / "mine.json").write_text(json.dumps(described), encoding="utf-8")
    run(cli, "--engine", "model", "--machine", "mine.json")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<b>" not in page and "&lt;b&gt;mine&lt;/b&gt;" in page


def test_a_solve_there_and_back_through_one_modelled_triangle_is_told_as_one_way(cli, files, tmp_path):
    sordino.io.save_factors("half.npz", sordino.ic0(files).factors)
    code, out, _ = cli("trsv", "half.npz", "--engine", "model", "--report", "page.html")
    assert code == 0 and "on the described machine, one way of two" in out
    assert any(line.startswith("a solve, one way of two") for line in words_of(tmp_path / "page.html"))


def test_a_page_is_written_where_plans_cannot_be_saved(cli, files, tmp_path, monkeypatch):
    def refuse(*_):
        raise sordino.Unsupported("each way has chosen its own")

    monkeypatch.setattr(sordino.FactorizedLU, "save_plans", refuse)
    code, _, err = cli("trsv", "A.mtx", "--factor", "--report", "page.html", "--save-plans", "plans.npz")
    assert code == 2 and "each way has chosen its own" in err
    assert (tmp_path / "page.html").exists()


def test_floors_are_bytes_over_the_bandwidth_of_all_ranks(cli, files, tmp_path):
    run(cli, "--engine", "model", "--ranks", "2", "--machine", "h100x2", "--nrhs", "3")
    F = sordino.splu(files, "mmd", engine="model", ranks=2, machine="h100x2")
    stored = sum(F.statistics[part]["stored_bytes"] for part in ("lower", "upper"))
    moved = stored + 2 * 2 * 8 * 512 * 3
    floor = moved / (2 * machines.load("h100x2")["memory_bandwidth"])
    (line,) = (line for line in words_of(tmp_path / "page.html") if re.match(r"a solve [\d.]+ [kM]?B", line))
    assert duration(floor) in line


def test_a_host_is_measured_and_its_plan_is_another_machines(cli, files, tmp_path):
    run(cli)
    words = words_of(tmp_path / "page.html")
    assert any("of the described machine h200x4, not of this one:" in line for line in words)
    assert any("measured now: copies of" in line for line in words)


@pytest.mark.parametrize(
    ("file", "more", "sentence"),
    [
        ("L.mtx", [], "triangle is kept by rows, and substituted level by level: 34 levels."),
        ("A.mtx", ["--factor", "--algorithm", "paper"], "Algorithm 1 of paper 004 has no plan"),
    ],
)
def test_what_has_no_plan_of_blocks_is_said(cli, files, tmp_path, file, more, sentence):
    code, _, _ = cli("trsv", file, "--report", "page.html", *more)
    assert code == 0 and any(sentence in line for line in words_of(tmp_path / "page.html"))


def test_a_plan_that_is_too_large_to_be_drawn_has_its_critical_path(cli, files, tmp_path, monkeypatch):
    monkeypatch.setattr(plan_picture, "MOST_TASKS", 2)
    run(cli)
    words = words_of(tmp_path / "page.html")
    assert any("A picture shows up to 2 tasks, and this plan has more." in line for line in words)
    assert any(line.startswith("tasks on it, of all") for line in words)
    assert "<svg" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_parts_of_the_critical_path_are_the_whole():
    L = sordino.splu(sordino.poisson(9, 9, 9), "mmd").factors.lower
    sweeps = _triangular_prediction.of_triangle(L, True, "N")
    plan = _triangular_prediction.modelled_plan(sweeps, machines.load("h200x4"), 2, width=16)
    path = plan_picture.critical_path(plan)
    computing = sum(plan["end"][task] - plan["begin"][task] for task in path)
    rows = dict(critical_rows(plan))
    assert rows["they compute"] == duration(float(computing))
    assert rows["a solve"] == duration(float(plan["end"][path[-1]]))
    seen = plan["seconds"] - computing - plan["begin"][path[0]]
    assert rows["until a number is seen, or a worker and values are there"] == duration(float(seen))
    assert int(rows["hops to another rank"]) == np.count_nonzero(np.diff(plan["ranks"][path]))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--report", "page.pdf"], "page.pdf"),
        (["--report", "page.html", "--engine", "processes"], "--report tells of one process"),
        (["--report", "A.mtx"], "A.mtx"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_solved(cli, files, more, sentence):
    code, out, err = cli("trsv", "A.mtx", "--factor", *more)
    assert code == 2 and out == "" and sentence in err and err.count("\n") == 1
