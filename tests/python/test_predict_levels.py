"""``sordino predict --precond mg``: what levels take on described machines, and how large grids are put together."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino import BadArgument, _predict_levels, machines
from sordino._box import Box
from sordino._subject import of_box
from sordino.report.levels import AROUND, Level, by_level, cells_of, small_share

CELLS, RANKS = (16, 16, 128), 8
CLUSTER = {"engine": "model", "machine": "cluster", "ranks": RANKS, "rtol": 1e-300, "trace": True}


def solved(iterations, **options):
    A = sordino.poisson(*CELLS)
    b = np.random.default_rng(0).standard_normal(A.shape[0])
    with sordino.Solver(A, grid=CELLS, **{**CLUSTER, **options}) as solver:
        return solver.solve(b, maxiter=iterations, on_failure="return")


@pytest.mark.parametrize("solver", ["cg", "gropp"])
@pytest.mark.parametrize("level_rows", [0, 1024, 8192])
def test_levels_of_a_trace_add_up_to_an_iteration(solver, level_rows):
    few, many = (solved(count, solver=solver, precond="mg", level_rows=level_rows) for count in (3, 7))
    levels = by_level(many.report.trace, 4)
    alone = {0: 4, 1024: 2, 8192: 1}[level_rows]  # the first level that lives on one rank
    assert [level.place for level in levels] == [0, 1, 2, 3, AROUND]
    assert [level.commands for level in levels[:-1]] == [7 + 2 * (place == alone) for place in range(3)] + [1]
    an_iteration = (many.seconds - few.seconds) / 4
    assert sum(level.seconds for level in levels) == pytest.approx(an_iteration, rel=5e-3)
    assert sum(level.sums for level in levels) == 2 and levels[-1].sums == 2
    assert all(level.halo_s > level.halo_wait_s > 0 for level in levels[: min(alone + 1, 4)])
    assert all(level.halo_s == 0 for level in levels[alone + 1 : -1])
    if level_rows == 0:  # between hosts a message takes 12 us, and the bottom solve waits for one
        assert levels[-2].halo_s == pytest.approx(12e-6, rel=0.01)


@pytest.mark.parametrize(("smoother", "commands"), [("sor", 7), ("block-ilu", 9)])
def test_levels_of_other_smoothers_add_up_to_an_iteration(smoother, commands):
    options = {"solver": "cg", "precond": "mg", "level_rows": 0, "smoother": smoother}
    few, many = (solved(count, **options) for count in (3, 7))
    levels = by_level(many.report.trace, 4)
    assert [level.place for level in levels] == [0, 1, 2, 3, AROUND]
    assert [level.commands for level in levels[:-1]] == [commands] * 3 + [1]
    an_iteration = (many.seconds - few.seconds) / 4
    assert sum(level.seconds for level in levels) == pytest.approx(an_iteration, rel=5e-3)


def test_levels_on_one_rank_take_less_and_all_ranks_wait_for_them():
    seconds = {}
    for level_rows in (0, 8192):
        trace = solved(6, solver="cg", precond="mg", level_rows=level_rows).report.trace
        of_ranks = [sum(level.seconds for level in by_level(trace, rank)) for rank in (0, 4, 7)]
        assert max(of_ranks) == pytest.approx(min(of_ranks), rel=0.01)
        seconds[level_rows] = of_ranks[1]
    # Two levels and the last one between hosts against on one: messages of 12 us for each of eight halos.
    assert seconds[8192] < seconds[0] - 50e-6


def test_an_f_cycle_is_predicted_around_methods_that_take_it(cli):
    code, out, err = cli(
        "predict", "poisson", 16, 16, 64, "--precond", "mg", "--cycle", "f", "--ranks", 2, "--iterations", 7
    )
    assert code == 0, err
    assert "\nfcg " in out and "\ngmres " in out


def test_cycles_in_lower_precision_are_predicted_to_take_less_and_without_gropp(cli):
    words = ("predict", "poisson", *(128,) * 3, "--precond", "mg", "--ranks", 2, "--iterations", 7, "--json")
    seconds = []
    for precision in ("double", "single", "half"):
        code, out, err = cli(*words, "--cycle-precision", precision)
        assert code == 0, err
        found = {row["solver"]: row for row in json.loads(out)["predicted"]}
        assert ("gropp" in found) == (precision == "double")
        seconds.append(found["cg"]["iteration_s"])
    assert seconds[0] > seconds[1] > seconds[2]


def test_a_w_cycle_visits_coarse_levels_twice_and_amg_has_levels_too():
    w = by_level(solved(4, solver="cg", precond="mg", cycle="w", level_rows=0).report.trace, 4)
    assert [level.commands for level in w[:-1]] == [7, 17, 34, 4]
    for solver in ("fcg", "richardson", "gmres"):
        f = by_level(solved(4, solver=solver, precond="mg", cycle="f", level_rows=0).report.trace, 4)
        assert [level.commands for level in f[:-1]] == [7, 17, 24, 3]
    with sordino.Solver(sordino.poisson(*CELLS), solver="cg", precond="amg", **CLUSTER) as solver:
        of_amg = by_level(
            solver.solve(np.ones(16 * 16 * 128), maxiter=4, on_failure="return").report.trace, 4
        )
    assert {level.commands for level in of_amg[:-2]} == {15} and of_amg[-2].commands == 1
    assert by_level(solved(4, solver="cg", precond="jacobi").report.trace, 4) == []


def test_engines_have_the_same_commands_of_a_level():
    found = solved(
        4, solver="cg", precond="mg", engine="host", ranks=2, machine=None, level_rows=0
    ).report.trace
    assert [level.commands for level in by_level(found, 1)[:-1]][:3] == [7, 7, 7]
    assert all(level.work_s > 0 for level in by_level(found, 1))


@pytest.mark.parametrize("options", [{"solver": "cg"}, {"solver": "gropp"}, {"solver": "cbcg", "s": 4}])
@pytest.mark.parametrize(
    ("most_rows", "level_rows", "above"),
    [(20_000, 0, 1), (2_500, 0, 2), (20_000, 1000, 1), (2_500, 1000, 1), (2_500, 60, 2)],
)
def test_levels_put_together_take_what_the_whole_takes(options, most_rows, level_rows, above):
    subject, machine = of_box("", Box(CELLS)), machines.load("cluster")
    options = {"precond": "mg", "level_rows": level_rows, **options}
    whole = _predict_levels.iteration(subject, machine, RANKS, options)
    parts = _predict_levels.iteration(subject, machine, RANKS, options, most_rows=most_rows)
    assert whole.rows_run == subject.n and parts.rows_run < subject.n
    assert _predict_levels._levels_above(subject.whole, RANKS, most_rows, level_rows) == above
    assert len(parts.levels) == len(whole.levels)
    # A correction that comes back from one rank goes on to the neighbours, of whom those of the other node are late.
    assert parts.seconds == pytest.approx(whole.seconds, rel=0.01 if level_rows == 0 else 0.035)
    for level, of_whole in zip(parts.levels, whole.levels, strict=True):
        # Ranks of the other node get what comes of one rank 5.8 us later, and make it good on another level.
        same = pytest.approx(of_whole.seconds, rel=0.06, abs=0 if level_rows == 0 else 9e-6)
        assert level.place == of_whole.place and level.seconds == same


def test_the_command_line_tells_levels(cli):
    words = ("predict", "poisson", *CELLS, "--precond", "mg", "--machine", "cluster", "--ranks", RANKS)
    code, out, err = cli(*words, "--iterations", 9)
    assert code == 0, err
    assert "bottom solve" in out and all(f"\n{name} " in out for name in ("cg", "gropp", "cbcg"))
    code, out, err = cli(*words, "--solver", "cg", "--json")
    (row,) = json.loads(out)["predicted"]
    assert code == 0 and [level["place"] for level in row["levels"]] == [0, 1, 2, 3, AROUND]
    assert row["iterations"] <= 10 and row["options"]["grid"] == "16,16,128"
    told = sum(
        level[name]
        for level in row["levels"]
        for name in ("work_s", "launch_s", "halo_wait_s", "reduction_wait_s")
    )
    assert told == pytest.approx(row["iteration_s"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("64", "64", "1023", "--precond", "mg", "--ranks", 16),
            "give a multiple of 64 cells in z, not 1,023",
        ),
        (
            ("64", "64", "1024", "--precond", "amg", "--ranks", 16),
            "precond amg is predicted up to 1,000,000 rows",
        ),
        (
            ("64", "64", "1024", "--precond", "mg", "--ranks", 16, "--all-reduce", "tree"),
            "with precond mg, all_reduce is predicted up to 1,000,000 cells",
        ),
        (("16", "16", "16", "--precond", "mg", "--grid", "16,16,8"), "grid is that of the problem, 16,16,16"),
        (
            (
                *("64", "64", "1024", "--precond", "mg", "--ranks", 16),
                "--phases",
                "bubbles",
                "--spacing",
                "1,1,2",
            ),
            "cells that are no cubes",
        ),
        (("4", "4", "4", "--precond", "mg", "--ranks", 1), "precond mg has a single level here"),
        (
            ("64", "64", "1024", "--precond", "mg", "--ranks", 16, "--level-rows", 1_000_000),
            "are predicted where all ranks share the first levels",
        ),
    ],
)
def test_bad_usage(cli, words, sentence):
    code, out, err = cli("predict", "poisson", *words, "--solver", "cg", "--iterations", 9)
    assert code == 2 and out == "" and sentence in err


def test_a_longer_round_than_the_system_lasts_is_refused():
    with pytest.raises(BadArgument, match="give a smaller s"):
        _predict_levels.iteration(
            of_box("", Box(CELLS)),
            machines.load("cluster"),
            RANKS,
            {"precond": "mg", "cycle": "w", "solver": "cbcg", "s": 16},
        )


def test_a_report_has_a_table_of_levels(cli, tmp_path):
    page = tmp_path / "r.html"
    words = ("poisson", 16, 16, 16, "--solver", "cg", "--engine", "model", "--ranks", 2, "--report", page)
    code, _, err = cli(*words, "--precond", "mg")
    text = page.read_text(encoding="utf-8")
    assert code == 0, err
    assert "<h2>Levels</h2>" in text and "around the cycle" in text
    code, _, err = cli(*words, "--precond", "jacobi", "--force")
    assert code == 0 and "<h2>Levels</h2>" not in page.read_text(encoding="utf-8")


def test_the_share_of_small_levels():
    assert cells_of((65, 64, 1), 3) == [(65, 64, 1), (33, 32, 1), (17, 16, 1)]
    levels = [
        Level(0, work_s=3.0),
        Level(1, launch_s=1.0),
        Level(2, halo_wait_s=2.0),
        Level(AROUND, work_s=4.0),
    ]
    assert small_share(levels, (64, 64, 64)) == pytest.approx(0.2)  # 32^3 are not fewer


def test_the_script_records_levels(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(os.fspath(Path(__file__).parents[2] / "bench"))
    record = tmp_path / "r.jsonl"
    words = ["--sizes", "12", "--ranks", "2", "--repeats", "1", "--record", str(record), "--commit", "abc"]
    monkeypatch.setattr(sys, "argv", ["multigrid_levels.py", *words])
    assert importlib.import_module("multigrid_levels").main() == 0
    row = json.loads(record.read_text(encoding="utf-8"))
    assert row["cells"][:2] == [[12, 12, 12], [6, 6, 6]] and set(row["levels"]) == {"0", "1"}
    assert row["true_residual"] <= 1e-8 and 0 < row["below_32"] <= 1
