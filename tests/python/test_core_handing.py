"""What is handed to users and by them: errors and solutions between processes, warnings, stops, files of options."""

from __future__ import annotations

import copy
import inspect
import json
import multiprocessing
import pickle
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import sordino

A = sordino.poisson(9, 8, 7, contrast=100.0)
B = np.ones(A.shape[0])


def solver(**options):
    return sordino.Solver(A, **{"engine": "host", "ranks": 2, "solver": "cg", "rtol": 1e-9, **options})


def solve_elsewhere(maxiter):
    return solver(ranks=1).solve(B, maxiter=maxiter)


def test_solutions_and_errors_come_back_from_other_processes():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        solution = pool.submit(solve_elsewhere, 0).result(timeout=60)
        assert np.linalg.norm(B - A @ solution.x) <= 1e-9 * np.linalg.norm(B)
        with pytest.raises(sordino.NotConverged, match="max_iterations: the maximum number") as failed:
            pool.submit(solve_elsewhere, 3).result(timeout=60)
    assert failed.value.solution.iterations == 3
    assert failed.value.solution.x.shape == B.shape


@pytest.mark.parametrize("clone", [lambda o: pickle.loads(pickle.dumps(o)), copy.copy, copy.deepcopy])
def test_a_not_converged_error_keeps_what_it_carries(clone):
    with pytest.raises(sordino.NotConverged) as failed:
        solver().solve(B, maxiter=3)
    again = clone(failed.value)
    assert type(again) is sordino.NotConverged
    assert str(again) == str(failed.value)
    assert np.array_equal(again.solution.x, failed.value.solution.x)
    assert again.solution.report.ledger == failed.value.solution.report.ledger


@pytest.mark.parametrize("clone", [pickle.dumps, copy.copy])
def test_a_solver_says_that_it_stays_where_it_is(clone):
    with pytest.raises(sordino.Unsupported, match="cannot be pickled or copied: set one up in each process"):
        clone(solver())


def test_warnings_name_the_line_of_the_caller():
    held = solver()
    for call in (
        lambda: held.solve(B, maxiter=2, on_failure="warn"),
        lambda: sordino.solve(A, B, maxiter=2, on_failure="warn", engine="host", ranks=2),
    ):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert not call().converged
        assert [warning.filename for warning in seen] == [__file__]


def test_what_is_shown():
    held = solver()
    assert repr(
        held
    ) == "<sordino.Solver of 504 rows, 3,146 entries; solver cg, engine host, 2 ranks>".replace(
        "3,146", f"{A.nnz:,}"
    )
    operator = spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float)
    assert "given as an operator" in repr(sordino.Solver(operator, engine="host", ranks=1))
    solution = held.solve(np.stack([B, B], axis=1))
    assert repr(solution).startswith("Solution(status='converged', columns=2, iterations=")
    shown = solution._repr_html_()
    assert "cg, preconditioner jacobi" in shown
    assert "2, of which 2 converged" in shown
    assert "The recomputed residual meets the tolerance." in shown


@pytest.mark.parametrize("function", [sordino.solve, sordino.Solver, sordino.Solver.solve, sordino.linalg.cg])
def test_help_names_every_argument(function):
    arguments = inspect.signature(function).parameters
    text = " ".join((inspect.getdoc(function) or "").split())
    for name in set(arguments) - {"self", "options"}:
        assert name in text, name
    for section in ("Parameters", "Raises"):
        assert section in text


def test_why_a_solve_was_stopped():
    stopped = solver(callback_every=5, rtol=1e-14).solve(B, callback=lambda *_: True, on_failure="return")
    assert stopped.status == "stopped_by_user"
    assert stopped.reason.startswith("stopped on request: a callback asked for it")

    def slow(x):
        time.sleep(0.05)
        return A @ x

    operator = spla.LinearOperator(A.shape, matvec=slow, dtype=float)
    late = sordino.Solver(operator, engine="host", ranks=1, solver="cg").solve(
        B, rtol=1e-9, time_limit=0.01, on_failure="return"
    )
    assert late.status == "time_limit"
    assert late.reason.startswith("stopped on request: the time limit is reached")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"callback": 3}, r"callback is a function of \(iteration, residual\[, x\]\), not 3"),
        ({"callback_every": 3}, "option 'callback_every' is fixed at setup: give it to sordino.Solver"),
        ({"nullspace": "constant"}, "option 'nullspace' is fixed at setup"),
        ({"M": "jacobi"}, "option 'precond' is fixed at setup"),
        ({"tol": 1e-3}, "unknown option 'tol', did you mean 'rtol'"),
        ({"rtol": 0.0}, "rtol and atol are both 0"),
    ],
)
def test_what_a_solve_does_not_take(arguments, sentence):
    with pytest.raises(sordino.BadArgument, match=sentence):
        solver().solve(B, **arguments)


def test_tolerances_and_warm_starts():
    held = solver()
    x = held.solve(B).x
    assert held.solve(B, x0=x).iterations == 0
    assert held.solve(B, rtol=0.0, atol=1e-2).residual_norm <= 1e-2
    assert held.solve(B, atol=1e3).iterations == 0


def test_a_record_is_a_file_of_options(cli, tmp_path):
    code, out, _ = cli("poisson", 8, 7, 6, "--rtol", "1e-7", "--solver", "cgcg", "--ranks", 2, "--json")
    assert code == 0
    (tmp_path / "run.json").write_text(out)
    code, again, err = cli("poisson", 8, 7, 6, "--options", tmp_path / "run.json", "--json")
    assert code == 0, err
    first, second = json.loads(out), json.loads(again)
    assert second["options"] == first["options"]
    assert second["history"] == first["history"]
