"""``sordino bench accuracy``: a false claim is found, a few of the sixty problems have none, and the page tells the record."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino.bench import _attainable, _judge, _pressures, accuracy

ROOT = Path(__file__).parents[2]
RECORD = "2026-11-23_accuracy_2_cores.jsonl"


def test_the_problems_are_sixty_and_the_same_each_time():
    entries = _pressures.sixty()
    assert len({entry.name for entry in entries}) == len(entries) == 60
    assert set(Counter(entry.contrast for entry in entries).values()) == {10}
    assert max(entry.contrast for entry in entries) == 1e6
    assert {entry.name.rpartition(", ")[2] for entry in entries} == {
        f"b {side}" for side, _ in _pressures._SIDES
    }
    singular = 0
    for entry in entries:
        system, again = entry.build(), entry.build()
        assert system.A.shape == 2 * (len(system.b),) and np.prod(system.cells) == len(system.b)
        assert (system.A.data == again.A.data).all() and (system.b == again.b).all()
        largest = np.abs(system.A).max()
        assert np.abs(system.A - system.A.T).max() <= 1e-15 * largest
        if system.nullspace is not None:
            assert np.abs(system.A @ system.nullspace).max() <= 1e-14 * largest
            singular += 1
    assert singular == 24


def test_a_claim_about_a_singular_system_is_judged_in_its_range():
    system = next(entry for entry in _pressures.sixty() if "walls" in entry.name).build()
    assert abs(system.nullspace @ system.judged()) <= 1e-12 * np.linalg.norm(system.b) * len(system.b)
    found = sordino.solve(system.A, system.b, nullspace=system.nullspace, rtol=1e-8, engine="host")
    assert _judge.residual(system.A, system.judged(), found.x) <= 1.000001e-8
    assert _judge.residual(system.A, system.b, found.x) > 1e-3  # of all of b, nothing would be true


def test_a_claim_has_no_margin():
    answers = {
        "cg, none, 1e-06": ("converged", 10, 1.1e-6),
        "cg, none, 1e-10": ("converged", 20, 9.9e-11),
        "prcg, none, 1e-06": ("stagnated", 10, 0.5),
        "prcg, none, 1e-10": ("converged", 10, float("inf")),
    }
    assert accuracy.false(answers) == ["cg, none, 1e-06", "prcg, none, 1e-10"]


def test_answers_are_summed_up():
    first = {
        "cg, none, 1e-06": ("converged", 10, 8e-7), "prcg, none, 1e-06": ("converged", 12, 2e-6),
        "cg, none, 1e-10": ("stagnated", 90, 2e-10), "prcg, none, 1e-10": ("converged", 30, 5e-11),
    }  # fmt: skip
    second = {
        "cg, none, 1e-06": ("converged", 10, 8e-7), "prcg, none, 1e-06": ("converged", 20, 7e-7),
        "cg, none, 1e-10": ("converged", 10, 8e-11), "prcg, none, 1e-10": ("refused: a pivot", 0, 1.0),
    }  # fmt: skip
    rows = [{"answers": answers, "false": accuracy.false(answers)} for answers in (first, second)]
    cg, prcg = accuracy.summed_up(rows)
    assert (cg["pair"], cg["asked"], cg["claimed"], cg["false"]) == ("cg, none", 4, 3, 0)
    assert cg["not"] == {"stagnated": 1} and cg["worst"] == pytest.approx(0.8) and cg["times"] == [1, 1]
    assert (prcg["claimed"], prcg["false"], prcg["not"]) == (3, 1, {"refused": 1})
    assert prcg["worst"] == pytest.approx(2.0)
    assert prcg["times"] == pytest.approx([1.6, 2.0])  # of the two where cg converged as well


def test_nothing_false_is_claimed_of_some_of_the_sixty(cli, tmp_path):
    record = tmp_path / "accuracy.jsonl"
    code, out, err = cli(
        "bench", "accuracy", "--what", "sweep", "--problems", 3, "--jobs", 2, "--record", record,
        "--commit", "abc",
    )  # fmt: skip
    assert code == 0, out + err
    assert "3 problems" in out and "cbcg, block-ilu" in out and "False claims" not in out
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert len(rows) == 3 and not any(row["false"] for row in rows)
    parts = {part["pair"]: part for part in accuracy.summed_up(rows)}
    assert len(parts) == 39 and all(part["asked"] == 6 for part in parts.values())
    assert all(part["claimed"] >= 3 for part in parts.values())  # saying no to everything would be true, too
    assert parts["pcg2, jacobi"]["times"][1] < 1.1


def test_a_lie_fails_the_command(cli, monkeypatch):
    def lying(system, method, precond, *where):
        return {accuracy.key(method, precond, 1e-6): ("converged", 1, 1e-3)}

    monkeypatch.setattr(accuracy, "answered", lying)
    code, out, _ = cli("bench", "accuracy", "--what", "sweep", "--problems", 1, "--solvers", "cg")
    assert code == 4 and "False claims" in out


def test_a_preconditioner_that_a_method_does_not_take_is_not_asked():
    system = _pressures.sixty()[3].build()
    assert accuracy.answered(system, "prcg", "chebyshev") == {}
    assert [*accuracy.answered(system, "gropp", "chebyshev")] == [
        "gropp, chebyshev, 1e-06",
        "gropp, chebyshev, 1e-10",
    ]


def test_what_is_attained_hangs_on_the_contrast_and_on_replacements():
    made = sordino.problems.multiphase(8, 7, 9, contrast=1e3)
    system = _pressures.System(made.A, np.random.default_rng(0).standard_normal(len(made.b)), (8, 7, 9), None)
    found = {
        name: _attainable.attained(system, {**options, "engine": "host", "ranks": 1})
        for name, options in _attainable.variants(["cg", "pipebicgstab"])
    }
    assert found["cg"]["status"] == "stagnated" and 1e-16 < found["cg"]["solve"] < 1e-11
    assert 1e-16 < found["cg"]["run"] < 1e-11 and found["cg"]["run_iterations"] <= found["cg"]["iterations"]
    assert found["pipebicgstab, never replaced"]["run"] > 3 * found["pipebicgstab"]["run"]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--problems", "61"], "--problems is from 1 to 60"),
        (["--jobs", "0"], "--jobs are at least 1"),
        (["--what", "all"], "--what is of sweep, attainable"),
        (["--solvers", "cocg"], "--solvers is of cg, prcg"),
        (["--record", "/nowhere/a.jsonl"], "cannot be written"),
    ],
)
def test_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", "accuracy", *argv)
    assert code == 2 and sentence in err
