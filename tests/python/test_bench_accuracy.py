"""``sordino bench accuracy``: a false claim is found, some of the problems have none, and the page tells the record."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino.bench import _attainable, _judge, _pressures, accuracy

ROOT = Path(__file__).parents[2]
SWEEP, ATTAINABLE = "2026-11-27_accuracy_edges_2_cores.jsonl", "2026-11-23_accuracy_again_2_cores.jsonl"
ON_A_GPU = "2026-11-26_accuracy_h100.jsonl"
PAGE = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())


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


def test_a_claim_has_the_margin_of_one_rounding():
    answers = {
        "cg, none, 1e-06": ("converged", 10, 1.1e-6, 1e-10),
        "cg, none, 1e-10": ("converged", 20, 1.1e-10, 2e-11),
        "prcg, none, 1e-06": ("stagnated", 10, 0.5, 1e-10),
        "prcg, none, 1e-10": ("converged", 10, float("inf"), 1e-10),
    }
    assert accuracy.false(answers) == ["cg, none, 1e-06", "prcg, none, 1e-10"]


def test_one_rounding_of_a_residual():
    matrix, x = sp.csr_array([[3.0, -4.0], [0.0, 1.0]]), np.array([1.0, 2.0])
    u = np.hypot(11.0, 2.0) * 2.0**-53
    for scale in (1.0, 1e-200, 1e200):
        b = scale * np.array([3.0, 4.0])
        assert _judge.rounding(matrix, b, scale * x) == pytest.approx(u / 5)
    assert _judge.rounding(matrix, np.zeros(2), x) == pytest.approx(u)


def test_answers_are_summed_up():
    first = {
        "cg, none, 1e-06": ("converged", 10, 8e-7, 0.0), "prcg, none, 1e-06": ("converged", 12, 2e-6, 0.0),
        "cg, none, 1e-10": ("stagnated", 90, 2e-10, 0.0), "prcg, none, 1e-10": ("converged", 30, 5e-11, 0.0),
    }  # fmt: skip
    second = {
        "cg, none, 1e-06": ("converged", 10, 1.1e-6, 2e-7), "prcg, none, 1e-06": ("converged", 20, 7e-7, 0.0),
        "cg, none, 1e-10": ("converged", 10, 8e-11, 0.0), "prcg, none, 1e-10": ("refused: a pivot", 0, 1.0, 0.0),
        "prcg, jacobi, 1e-06": ("converged", 1, 1e-7, 0.0),
    }  # fmt: skip
    rows = [{"answers": answers, "false": accuracy.false(answers)} for answers in (first, second)]
    cg, prcg, jacobi = accuracy.summed_up(rows)
    assert (cg["who"], cg["asked"], cg["claimed"], cg["false"], cg["over"]) == ("cg, none", 4, 3, 0, 1)
    assert cg["not"] == {"stagnated": 1} and cg["worst"] == pytest.approx(1.1) and cg["times"] == [1, 1]
    assert (prcg["claimed"], prcg["false"], prcg["over"], prcg["not"]) == (3, 1, 1, {"refused": 1})
    assert prcg["worst"] == pytest.approx(2.0)
    assert prcg["times"] == pytest.approx([1.6, 2.0])  # of the two where cg converged as well
    assert jacobi["times"] is None
    assert [part["asked"] for part in accuracy.summed_up(rows, words=1)] == [4, 5]


@pytest.mark.slow
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
    parts = {part["who"]: part for part in accuracy.summed_up(rows)}
    assert len(parts) == 103 and all(part["asked"] == 6 for part in parts.values())
    assert parts.pop("richardson, none")["not"] == {"diverged": 6}  # these matrices are far from the identity
    for who, part in parts.items():  # saying no to everything would be true, too
        assert part["claimed"] >= (2 if who.startswith(("gmres", "richardson, mg")) else 3)
    assert parts["pcg2, jacobi"]["times"][1] < 1.1


def test_a_lie_fails_the_command(cli, monkeypatch):
    def lying(system, method, precond, *where):
        return {accuracy.key(method, precond, 1e-6): ("converged", 1, 1e-3, 0.0)}

    monkeypatch.setattr(accuracy, "answered", lying)
    code, out, _ = cli("bench", "accuracy", "--what", "sweep", "--problems", 1, "--solvers", "cg")
    assert code == 4 and "False claims" in out


def test_a_preconditioner_that_a_method_does_not_take_is_not_asked():
    system = _pressures.sixty()[3].build()
    assert accuracy.answered(system, "pipebicgstab", "chebyshev") == {}
    assert [*accuracy.answered(system, "gropp", "chebyshev")] == [
        "gropp, chebyshev, 1e-06",
        "gropp, chebyshev, 1e-10",
    ]


def test_what_is_attained_hangs_on_replacements():
    system = _pressures.rising()[0].build()
    found = {
        name: _attainable.attained(system, {**options, "engine": "host", "ranks": 1})
        for name, options in _attainable.variants(["cg", "pipebicgstab"])
    }
    assert found["cg"]["status"] == "stagnated" and 1e-17 < found["cg"]["solve"] < 1e-15
    assert 1e-16 < found["cg"]["run"] < 1e-14 and 40 < found["cg"]["run_iterations"] < 100
    assert found["pipebicgstab, never replaced"]["run"] > 100 * found["pipebicgstab"]["run"]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--problems", "61"], "--problems is from 1 to 60"),
        (["--jobs", "0"], "--jobs are at least 1"),
        (["--what", "all"], "--what is of sweep, attainable"),
        (["--solvers", "cocg"], "--solvers is of cg, fcg, prcg"),
        (["--record", "/nowhere/a.jsonl"], "cannot be written"),
    ],
)
def test_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", "accuracy", *argv)
    assert code == 2 and sentence in err


def _recorded(part):
    return _lines({"sweep": SWEEP, "attainable": ATTAINABLE}[part], part)


def _lines(record, part):
    assert record in PAGE
    lines = (ROOT / "bench" / "records" / record).read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["part"] == part]


def _over(row):
    """The claims of a problem that are over what was asked in their seventh digit."""
    return [
        name
        for name, (status, _, residual, _) in row["answers"].items()
        if status == "converged" and residual > 1.000001 * accuracy._asked(name)
    ]


def _claims(rows):
    """The lines of the page's table of claims."""
    for part in accuracy.summed_up(rows, words=1):
        others = ", ".join(f"{count} `{status}`" for status, count in part["not"].items())
        shown = [f"`{part['who']}`", part["asked"], part["claimed"], part["false"], part["over"]]
        shown += ["{:.2f} ({:.2f})".format(*part["times"]), others or "-"]
        yield f"| {' | '.join(map(str, shown))} |"


def _attained():
    """The lines of the page's table of what bubbles let attain: by a run, and by a solve that asks for too much."""
    rows = [row["attained"] for row in _recorded("attainable") if row["problem"].startswith("bubbles")]
    for name in rows[0]:
        if not name.startswith(("gather", "pcg1")):
            cells = [f"{row[name]['run']:.1e} / {row[name]['solve']:.1e}" for row in rows]
            yield f"| {name} | {' | '.join(cells)} |"


def test_the_page_tells_the_record():
    sweep = _recorded("sweep")
    assert all(row["false"] == accuracy.false(row["answers"]) == [] for row in sweep)
    assert len(sweep) == 60 and len(_recorded("attainable")) == 10
    for line in (*_claims(sweep), *_attained()):
        assert line in PAGE
    (total,) = accuracy.summed_up(sweep, words=0)
    assert total["false"] == 0
    assert (
        f"{total['claimed']:,} of {total['asked']:,} answers are `converged`, and none of them is false"
        in TEXT
    )
    over = [(row, name) for row in sweep for name in _over(row)]
    methods = [name.split(", ")[0] for _, name in over]
    assert sorted(methods) == ["gropp", "richardson", "richardson"]
    assert len({row["problem"] for row, name in over if name.startswith("richardson")}) == 1
    assert all("walls" in row["problem"] for row, _ in over)
    most = max(row["answers"][name][2] / accuracy._asked(name) for row, name in over)
    assert total["over"] == len(over) == 3
    said = "Three, two of `richardson` on one closed box and one of `gropp`, are over what was asked"
    assert f"{said}, by {100 * (most - 1):.1f} % at most" in TEXT
    missed = [
        (row["contrast"], *name.split(", ")[:2])
        for row in sweep
        for name, answer in row["answers"].items()
        if answer[0] != "converged"
    ]
    others = [precond for _, method, precond in missed if method != "richardson"]
    said = f"Of the {len(missed)} answers that are not `converged` within {accuracy.MOST:,} iterations"
    stationary = f"{len(missed) - len(others)} are of `richardson`, and of the other {len(others)}"
    assert (
        f"{said} {stationary} {others.count('none')} had no preconditioner, at contrasts of 1e3 and more."
        in TEXT
    )
    assert (
        min(contrast for contrast, method, precond in missed if (method, precond) != ("richardson", precond))
        == 1e3
    )


def test_what_gpus_claimed_is_told_and_none_of_it_is_false():
    rows = _lines(ON_A_GPU, "sweep")
    assert [row["problem"] for row in rows] == [row["problem"] for row in _recorded("sweep")]
    assert {row["engine"] for row in rows} == {"cuda"}
    assert all(row["false"] == accuracy.false(row["answers"]) == _over(row) == [] for row in rows)
    (total,) = accuracy.summed_up(rows, words=0)
    said = f"{total['claimed']:,} of {total['asked']:,} answers are `converged` on one H100"
    assert f"{said}, none of them false, and none over what was asked" in TEXT
    asked = {name.split(", ")[1] for row in rows for name in row["answers"]}
    assert asked.isdisjoint({"ic0", "ilu0"}) and "amg" in asked


def test_what_misses_anything_with_multigrid_is_told():
    answers = {
        precond: [
            (name.split(", ")[0], answer[0])
            for row in _recorded("sweep")
            for name, answer in row["answers"].items()
            if name.split(", ")[1] == precond
        ]
        for precond in ("mg", "amg")
    }
    assert {status for _, status in answers["mg"]} == {"converged"}
    assert f"With `mg` all {len(answers['mg']):,} of {len(answers['mg']):,} are." in TEXT
    asked, missed = len(answers["amg"]), [one for one in answers["amg"] if one[1] != "converged"]
    assert set(missed) == {("richardson", "diverged")}
    assert (
        f"With `amg` {asked - len(missed):,} of {asked:,} are, all but {len(missed)} of `richardson`" in TEXT
    )


def test_methods_attain_what_cg_attains():
    attained = [row["attained"] for row in _recorded("attainable")]
    ratios = {
        name: max(row[name]["solve"] / row["cg"]["solve"] for row in attained)
        for name in attained[0]
        if name != "gmres"
    }
    worst = max((name for name in ratios if "never" not in name), key=lambda name: ratios[name])
    assert f"residuals at most {ratios[worst]:.0f} times as large as `cg`'s (`{worst}`)" in TEXT
    assert ratios["pipebicgstab, never replaced"] <= 3
    restarted = attained[-1]["gmres"]
    assert f"is at {restarted['solve']:.1g} after {restarted['iterations']:,} of them" in TEXT
    assert all(part["status"] != "converged" for row in attained for part in row.values())


def test_gropp_takes_the_iterations_of_cg_with_multigrid():
    ratios, below = [], []
    for row in _recorded("sweep"):
        for name, (status, taken, _, rounding) in row["answers"].items():
            method, precond, _ = name.split(", ")
            of_cg = row["answers"].get(name.replace("gropp", "cg"), ("", 0))
            if method == "gropp" and precond in ("mg", "amg") and status == of_cg[0] == "converged":
                if accuracy._asked(name) > rounding:
                    ratios.append(taken / of_cg[1])
                elif precond == "mg":
                    below.append((of_cg[1], taken))
    said = f"`gropp` takes at most {max(ratios):.2f} times `cg`'s iterations with `mg` and `amg`, where more is asked"
    assert said in TEXT
    ((of_cg, taken),) = below
    assert f"with `mg` `cg` gets there in {of_cg} iterations, `gropp`" in TEXT and f"in {taken}." in TEXT
