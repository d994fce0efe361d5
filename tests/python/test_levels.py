"""Levels of multigrid over new values: made anew when iterations grow, and told so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino._levels import Levels
from sordino.bench import steps as bench_steps
from sordino.problems import multiphase, pressure_steps
from sordino.report.words import levelled

ROOT = Path(__file__).parents[2]
OPTIONS = {"solver": "cg", "rtol": 1e-8, "engine": "host", "ranks": 2}


def took(iterations: int, digits: float = 8.0, **facts) -> dict:
    """What the core says of a solve that gained so many digits in so many iterations."""
    history = np.logspace(0, -digits, iterations + 1)
    return {
        "precond": "amg", "status": "converged", "storage": "csr", "history": history, "iterations": iterations,
        **facts,
    }  # fmt: skip


def after(*solves: dict) -> Levels:
    """Levels with new values before each solve but the first."""
    levels = Levels()
    for k, raw in enumerate(solves):
        if k:
            levels.update()
        levels.note(raw)
    return levels


@pytest.mark.parametrize(
    ("solves", "worn"),
    [
        ((took(16), took(17), took(23)), False),
        ((took(16), took(17), took(25)), True),
        ((took(16), took(25)), True),
        ((took(17), took(16), took(25)), True),  # the fewest of the first ones are usual
        ((took(20), took(20), took(20), took(12), took(29)), False),  # later ones that are easy say nothing
        ((took(8), took(12)), False),  # half as many again, but few
        ((took(8), took(14)), True),
        ((took(40), took(58)), False),  # many more, but not half as many again
        ((took(16), took(32, digits=16.0)), False),  # for twice the digits
        ((took(16), took(14, digits=4.0)), True),
        (
            (took(16, precond="mg"), took(30, precond="mg")),
            True,
        ),  # whose aggregates are by entries where phases meet
        ((took(16), took(30, precond="jacobi")), False),
        ((took(16), took(30, status="time_limit")), False),
        ((took(16), took(500, digits=1.0, status="max_iterations")), True),
        ((took(16), took(0)), False),
        ((took(16), took(30, history=np.r_[1.0, np.zeros(30)])), False),
        ((took(16), took(30, history=np.r_[1.0, np.full(30, np.nan)], status="diverged")), True),
    ],
)
def test_levels_are_worn_where_solves_take_clearly_more(solves, worn) -> None:
    levels = after(*solves)
    assert bool(levels.worn) == worn
    assert levels.made == 1 and levels.reused == len(solves) - 1


def test_what_is_slow_without_new_values_is_not_the_levels_fault() -> None:
    levels = Levels()
    for iterations in (16, 40, 40):
        levels.note(took(iterations))
    assert not levels.worn


def test_new_levels_that_change_nothing_are_not_made_again() -> None:
    levels = after(took(16), took(40))
    assert levels.worn == (
        "a solve took 40 iterations, where the first ones with the levels before took 16 for as many digits"
    )
    levels.renew(levels.worn)
    assert (levels.made, levels.reused, levels.worn) == (2, 0, "")
    levels.note(took(15))
    levels.note(took(38))  # another right-hand side with the very values of these levels
    for _ in range(3):
        levels.update()
        levels.note(took(15))
        levels.note(took(39))
    assert not levels.worn
    levels.note(took(60))
    assert levels.worn


def test_a_matrix_that_lies_otherwise_has_new_levels() -> None:
    levels = after(took(16, storage="symdia"), took(16, storage="dia"))
    assert levels.made == 2 and levels.why == "the matrix is stored as dia, which was symdia"


@pytest.fixture(scope="module")
def rising():
    """Bubbles that rise by half a cell a step."""
    problem = multiphase(20, 20, 20, contrast=1e6, seed=1)
    return problem, list(pressure_steps(problem, 14))


def test_iterations_of_time_steps_stay_what_they_were(rising) -> None:
    problem, steps = rising
    x = np.zeros(problem.A.shape[0])
    found = []
    with sordino.Solver(problem.A, precond="amg", **OPTIONS) as solver:
        for values, b in steps:
            solver.update_values(values)
            found.append(solver.solve(b, x0=x))
            x = found[-1].x
            A = problem.A.copy()
            A.data[:] = values
            assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    made = [each.report.levels_made for each in found]
    assert made[0] == 1 and 2 <= made[-1] <= 8 and np.all(np.diff(made) >= 0)
    renewed = [k for k in range(1, len(found)) if made[k] > made[k - 1]]
    fresh = sordino.solve(A, b, precond="amg", **OPTIONS).iterations
    assert max(found[k].iterations for k in renewed) <= fresh + 5
    assert {found[k].report.levels_reused for k in renewed} == {0}
    for k in renewed:  # the solve before is the one that took too many
        assert found[k].report.levels_reason.startswith(
            f"a solve took {found[k - 1].iterations} iterations, "
        )


def test_a_new_solver_has_the_same_bits_as_new_levels(rising) -> None:
    problem, steps = rising
    with sordino.Solver(problem.A, precond="amg", **OPTIONS) as solver:
        for values, b in steps:
            solver.update_values(values)
            report = solver.solve(b).report
            if report.levels_made == 2:
                break
        again = solver.solve(b)
    A = problem.A.copy()
    A.data[:] = values
    new = sordino.solve(A, b, precond="amg", **OPTIONS)
    assert np.array_equal(again.x, new.x) and again.iterations == new.iterations


def test_values_that_are_refused_leave_the_solver_as_it_was(rising) -> None:
    problem, steps = rising
    with sordino.Solver(problem.A, precond="amg", **OPTIONS) as solver:
        for values, b in steps:
            solver.update_values(values)
            solver.solve(b)
            if solver._held.levels.worn:
                break
        assert solver._held.levels.worn
        bad = values.copy()
        bad[5] = np.nan
        with pytest.raises(sordino.BadArgument):
            solver.update_values(bad)
        found = solver.solve(b)
        assert found.report.levels_made == 1
        A = problem.A.copy()
        A.data[:] = values
        assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
        solver.update_values(values)
        assert solver.solve(b).report.levels_made == 2


def test_several_processes_make_levels_anew_together(mpirun_python, tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, numpy as np, sordino, sys\n"
        "from sordino.problems import multiphase, pressure_steps\n"
        "problem = multiphase(16, 16, 16, contrast=1e6, seed=1)\n"
        "with sordino.Solver(problem.A, precond='amg', ranks=1, solver='cg', rtol=1e-8, engine='host') as solver:\n"
        "    told = []\n"
        "    for values, b in pressure_steps(problem, 14):\n"
        "        solver.update_values(values)\n"
        "        found = solver.solve(b)\n"
        "        told.append([found.report.levels_made, found.iterations])\n"
        "place = 'others' if found.x is None else 'first'\n"
        "json.dump(told, open(f'{place}.json', 'w'))\n"
    )
    done = mpirun_python(2, program)
    assert done.returncode == 0, done.stderr
    first, others = (json.loads((tmp_path / f"{place}.json").read_text()) for place in ("first", "others"))
    assert first == others and first[-1][0] >= 2


def test_grid_levels_are_made_once_and_told(rising) -> None:
    problem, steps = rising
    with sordino.Solver(problem.A, precond="mg", grid=(20, 20, 20), **OPTIONS) as solver:
        first = solver.solve(problem.b).report
        for values, _ in steps[:3]:
            solver.update_values(values)
        report = solver.solve(problem.b).report
    assert (first.levels_made, first.levels_reused, levelled(first)) == (1, 0, "")
    assert (report.levels_made, report.levels_reused) == (1, 3)
    assert (
        levelled(report)
        == "The levels were made once with the solver; new values went through them 3 times since."
    )
    assert report.to_dict()["levels_reason"] == "set up with the solver"


def test_solves_without_levels_say_nothing_of_them(cli) -> None:
    words = ("poisson", 8, 8, 8, "--solver", "cg", "--engine", "host", "--json")
    for precond, made in (("jacobi", 0), ("amg", 1)):
        code, out, err = cli(*words, "--precond", precond)
        said = json.loads(out)
        assert code == 0, err
        assert (said["levels_made"], said["levels_reused"]) == (made, 0)
        assert bool(said["levels_reason"]) == bool(made)


def test_the_page_of_a_solve_tells_why_levels_were_made(rising, tmp_path) -> None:
    problem, steps = rising
    with sordino.Solver(problem.A, precond="amg", **OPTIONS) as solver:
        report = solver.solve(problem.b).report
        for values, b in steps:
            if report.levels_made == 2:
                break
            solver.update_values(values)
            report = solver.solve(b).report
    page = tmp_path / "report.html"
    report.save_html(page)
    assert levelled(report) in page.read_text()
    assert levelled(report).startswith("The levels were made 2 times, the last time as a solve took ")


@pytest.mark.parametrize("precond", ["mg", "amg"])
@pytest.mark.parametrize("edge", [1, 2, 3, 4, 5])
def test_a_box_that_is_too_small_to_coarsen_is_said_to_be(cli, edge, precond) -> None:
    words = (
        "poisson",
        edge,
        edge,
        edge,
        "--precond",
        precond,
        "--solver",
        "cg",
        "--engine",
        "host",
        "--ranks",
        1,
    )
    code, out, err = cli(*words)
    rows = "1 row is" if edge == 1 else f"{edge**3} rows are"
    said = f"There is one level: {rows} too few to coarsen, and the inverse is used."
    assert code == 0 and (said in " ".join(out.split())) == (edge < 5) and "one level" not in err
    code, out, _ = cli(*words, "--json")
    found = json.loads(out)
    assert found["one_level"] == (edge < 5)
    assert (found["iterations"] == 1) == (edge < 5)  # the core's limit is the same


def test_steps_with_levels_that_are_made_anew_are_flat_and_say_so(cli):
    words = ("--problem", "bubbles", "--contrast", "1e6", "--precond", "amg", "--size", 16, "--steps", 40)
    code, out, err = cli("bench", "steps", *words, "--engine", "host", "--json")
    assert code == 0, out + err
    row = json.loads(out)
    made = row["each"]["levels_made"]
    assert made[0] == 1 and 3 <= made[-1] == row["levels_made"] <= 20
    assert row["levels_reason"].startswith("a solve took ") and row["verified"] == 40
    assert sum(row["each"]["iterations"]) < 40 * 30
    more = row["held"]["heap"]["may_grow"] - bench_steps.MAY_GROW["heap"]
    assert 0 < more < 1e6 and row["held"]["threads"]["may_grow"] == 0
    code, out, _ = cli("bench", "steps", *words[2:], "--engine", "host")
    assert code == 0 and "levels made 1 time" in " ".join(out.split())


def test_steps_with_levels_made_anew_are_as_recorded():
    def rows_of(name):
        lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
        return map(json.loads, lines)

    kept, then = sorted(
        rows_of("2026-11-26_steps_levels_2_cores.jsonl"), key=lambda row: row.get("levels_made", 0)
    )
    (anew,) = rows_of("2026-11-27_steps_levels_2_cores.jsonl")
    page = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    for row, name in ((kept, "that stay"), (then, "made anew"), (anew, "made anew, since")):
        each, held = row["each"], row["held"]
        assert row["flat"] and row["verified"] == row["steps"] == 100 and row["contrast"] == 1e6
        cells = [
            name, f"{min(each['iterations'])} to {max(each['iterations'])}", f"{row['iterations']:,}",
            str(row.get("levels_made", 1)), *(f"{1e3 * sum(each[what]):,.0f}" for what in ("update_s", "solve_s")),
            f"{max(each['residual']):.3g}", f"{held['heap']['grown']:,.0f}", f"{held['resident']['grown'] / 1024:,.0f}",
        ]  # fmt: skip
        assert f"| {' | '.join(cells)} |" in page
    assert anew["iterations"] < kept["iterations"] / 2 and max(anew["each"]["iterations"]) <= 50
    text = " ".join(page.split())
    assert f"here {anew['held']['heap']['may_grow']:,.0f} bytes of heap" in text
    assert f"at each of {anew['levels_made'] - 1} times" in text
