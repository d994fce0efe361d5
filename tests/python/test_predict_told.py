"""``sordino predict``: what it says once, what it says meanwhile, and what it does not do for it."""

from __future__ import annotations

import re

import pytest

from sordino import _core, _predict, _predict_words, machines
from sordino._box import Box
from sordino._subject import of_box

needs_core = pytest.mark.skipif(not hasattr(_core, "Solver"), reason="needs the compiled module")


@needs_core
@pytest.mark.parametrize("s", [2, 3, 12, 16])
def test_few_rounds_of_a_method_take_as_long_as_many(s):
    box, machine, options = of_box("", Box((12, 12, 12))), machines.load("h200x4"), {"solver": "cbcg", "s": s}
    many = _predict.iteration(box, machine, 2, options, runs=_predict.RUNS)
    assert _predict.iteration(box, machine, 2, options).seconds == pytest.approx(many.seconds, rel=0.01)
    few, more = _predict._rounds(s, {})
    look = -(-32 // s)  # rounds, and no run ends with one
    assert more < 62 and few % look and more % look


@needs_core
@pytest.mark.parametrize(("s", "check_every"), [(12, 1000), (3, 100_000), (16, 100_000)])
def test_rare_looks_make_no_long_runs(s, check_every):
    assert _predict._rounds(s, {"check_every": check_every}) == _predict.RUNS[0]
    box, machine = of_box("", Box((12, 12, 12))), machines.load("h200x4")
    options = {"solver": "cbcg", "s": s, "check_every": check_every}
    many = _predict.iteration(box, machine, 2, options, runs=_predict.RUNS)
    assert _predict.iteration(box, machine, 2, options).seconds == many.seconds


@needs_core
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--s", 99), "s must be"),
        (("--degree", 99), "degree must be"),
        (("--restart", -1), "restart must be"),
    ],
)
def test_options_of_no_method_are_refused_out_of_their_range(cli, flags, sentence):
    code, out, err = cli("predict", "poisson", 8, 8, 8, "--solvers", "cg", "--ranks", 1, *flags)
    assert (code, out, err.count("\n")) == (2, "", 1) and sentence in err


@needs_core
def test_no_solve_of_a_prediction_looks_for_causes(monkeypatch):
    monkeypatch.setattr("sordino._advice.closed_parts", lambda *_: pytest.fail("looked"))
    box = of_box("", Box((12, 12, 12)))
    assert _predict.iteration(box, machines.load("laptop"), 2, {"solver": "cg"}).seconds > 0
    assert _predict.automatic(box, machines.load("laptop"), 2, {}, 1e-5)


@needs_core
def test_storage_and_options_of_no_method_are_told_once(cli):
    argv = (
        "predict",
        "poisson",
        12,
        12,
        12,
        "--solvers",
        "cg,cbcg",
        "--ranks",
        "1,2,4",
        "--s",
        4,
        "--iterations",
        9,
    )
    code, out, err = cli(*argv)
    assert (code, err) == (0, "") and out.count("The matrix is stored by") == 1
    assert "take 0.0968 MB of each rank" in out and "(on 1 rank; the same way on 2, 4)." in out
    code, _, err = cli(*argv, "--restart", 5)
    assert (code, err) == (0, "sordino: option 'restart' is for solver 'gmres', and changes nothing here\n")


def test_ways_of_storage_are_told_apart():
    rows = [
        {"ranks": ranks, "storage": way, "storage_reason": reason}
        for ranks, way, reason in (
            (1, "symdia", "large"),
            (2, "symdia", "large"),
            (4, "dia", "4 MB"),
            (8, "dia", "2 MB"),
        )
    ]
    assert _predict_words.storages(rows) == [
        "The matrix is stored by symmetric diagonals (symdia): large.",
        "The matrix is stored by diagonals (dia): 4 MB (on 4 ranks; the same way on 8).",
    ]


@needs_core
def test_what_takes_long_is_told_in_lines_where_there_is_no_terminal(cli, monkeypatch):
    monkeypatch.setattr("sordino.cli.display._FIRST_LINE_S", 0.0)
    monkeypatch.setattr("sordino.cli.display._LINE_EVERY_S", 0.01)
    argv = ("predict", "poisson", 12, 12, 12, "--ranks", "1,2")
    code, out, err = cli(*argv)
    lines = err.splitlines()
    assert code == 0 and re.fullmatch(r"sordino: choosing: \d of 2 after \d+ s", lines[0])
    assert re.fullmatch(r"sordino: predicting: \d+ of 9 after \d+ s", lines[-1])
    assert "predicting" not in out
    assert cli(*argv, "--json")[2] == ""
