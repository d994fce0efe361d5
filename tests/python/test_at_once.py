"""Several right-hand sides of an H-matrix at once in one loop, beside each alone."""

from __future__ import annotations

import _thread
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino._at_once import AtOnce
from sordino.errors import BadArgument, Interrupted, NotConverged
from sordino.surfaces import sphere, spheres

NEVER = {"rtol": 1e-300, "maxiter": 10**8}


@pytest.fixture(scope="module")
def matrix():
    return sordino.hmatrix(sphere(4, 6, radius=1.0), 1e-6, probes=0)


@pytest.fixture(scope="module")
def large():
    """A solve of several columns that is never content with its residual goes on for seconds."""
    return sordino.hmatrix(sphere(9, 20, radius=1.0), 1e-4, probes=0)


@pytest.fixture
def sides(matrix, rng_of_today):
    return rng_of_today.standard_normal((matrix.shape[0], 10))


@pytest.fixture(params=["host", "model"])
def how(request):
    return {"engine": request.param, "solver": "bicgstab"}


def residuals(H, B, X):
    return np.linalg.norm(H @ X - B, axis=0) / np.linalg.norm(B, axis=0)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("columns", [2, 3, 5, 8, 10])
def test_each_column_is_what_it_is_alone(matrix, sides, how, ranks, columns):
    B = sides[:, :columns]
    with sordino.Solver(matrix, ranks=ranks, rtol=1e-9, **how) as solver:
        assert isinstance(solver._together, AtOnce)
        found = solver.solve(B)
        alone = [solver.solve(b) for b in B.T]
    assert found.converged and residuals(matrix, B, found.x).max() <= 1.01e-9
    for k, one in enumerate(alone):
        np.testing.assert_array_equal(found.x[:, k], one.x)
        np.testing.assert_array_equal(found.reports[k].history, one.history)
        assert found.reports[k].iterations == one.iterations
        assert found.reports[k].true_residual == one.true_residual
        assert found.reports[k].options["precond"] == "jacobi" and found.reports[k].options["ranks"] == ranks


def test_products_and_reductions_are_those_of_the_slowest_column(matrix, sides, how):
    sides[:, 1] = 0  # is solved at once
    with sordino.Solver(matrix, ranks=2, rtol=1e-9, **how) as solver:
        found = solver.solve(sides[:, :8])
        alone = max((solver.solve(b) for b in sides[:, :8].T), key=lambda one: one.iterations)
    assert found.reports[1].iterations == 0 and not found.x[:, 1].any()
    few = alone.ledger["reductions"]
    assert (
        few <= found.ledger["reductions"] <= few + 3
        and found.ledger["messages"] <= 1.2 * alone.ledger["messages"]
    )


def test_the_model_says_that_eight_columns_cost_less_than_eight_solves(sides):
    """Bytes count on its clock: the matrix is read once an iteration."""
    H = sordino.hmatrix(sphere(6, 10, radius=1.0), 1e-8, probes=0)
    B = np.random.default_rng(5).standard_normal((H.shape[0], 8))
    with sordino.Solver(H, engine="model", ranks=1, rtol=1e-8) as solver:
        together = solver.solve(B).seconds
        in_turn = sum(solver.solve(b).seconds for b in B.T)
    assert together < 0.5 * in_turn


@pytest.mark.parametrize(
    "kind", [{"precond": "none"}, {"M": "a diagonal"}, {"distribution": "grid", "ranks": 2}]
)
def test_preconditioners_and_distributions(matrix, sides, how, kind):
    if "M" in kind:
        kind = {"M": sp.diags_array(1 / matrix.diagonal())}
    B = sides[:, :3]
    with sordino.Solver(matrix, rtol=1e-8, **how, **kind) as solver:
        found, one = solver.solve(B), solver.solve(B[:, 1])
    assert residuals(matrix, B, found.x).max() < 1.01e-8
    np.testing.assert_array_equal(found.x[:, 1], one.x)
    assert found.report.options["precond"] == one.report.options["precond"]


def test_first_guesses_are_of_each_column(matrix, sides, how):
    B = sides[:, :4]
    X = sordino.solve(matrix, B, rtol=1e-10, **how).x
    X[:, 2] = 0
    again = sordino.solve(matrix, B, X, rtol=1e-6, **how)
    iterations = [report.iterations for report in again.reports]
    assert iterations[:2] == [0, 0] and iterations[3] == 0 and iterations[2] > 0
    np.testing.assert_array_equal(again.x[:, [0, 1, 3]], X[:, [0, 1, 3]])


def test_sides_beyond_the_range_are_solved_by_themselves(matrix, sides, how):
    B = sides[:, :3] * [1, 1e-200, 1e200]
    with sordino.Solver(matrix, rtol=1e-8, **how) as solver:
        found = solver.solve(B)
        assert found.converged
        for k, b in enumerate(B.T):
            np.testing.assert_array_equal(found.x[:, k], solver.solve(b).x)


def test_columns_end_by_themselves_and_say_so(matrix, sides, how):
    B = sides[:, :5].copy()
    B[:, 2] = 0
    with pytest.raises(NotConverged, match="column 0 of 5, 4 of which did not converge") as failed:
        sordino.solve(matrix, B, maxiter=2, rtol=1e-12, **how)
    found = failed.value.solution
    assert [r.status for r in found.reports] == ["max_iterations"] * 2 + ["converged"] + [
        "max_iterations"
    ] * 2
    assert [r.iterations for r in found.reports] == [2, 2, 0, 2, 2]
    late = sordino.solve(matrix, B, time_limit=1e-6, on_failure="return", **how, **NEVER)
    assert [r.status for r in late.reports].count("time_limit") == 4 and np.isfinite(late.x).all()


def test_rounding_ends_columns_where_it_ends_each_alone(matrix, sides, how):
    B = sides[:, :2]
    with sordino.Solver(matrix, rtol=1e-30, maxiter=1000, **how) as solver:
        found = solver.solve(B, on_failure="return")
        alone = [solver.solve(b, on_failure="return") for b in B.T]
    for k, one in enumerate(alone):
        assert found.reports[k].status == one.status == "stagnated"
        assert found.reports[k].reason == one.reason and found.reports[k].recoveries == one.report.recoveries
        np.testing.assert_array_equal(found.x[:, k], one.x)


def test_a_nan_is_refused_as_of_one(matrix, sides, how):
    sides[3, 1] = np.nan
    with sordino.Solver(matrix, rtol=1e-8, **how) as solver:
        with pytest.raises(BadArgument, match="column 1 of b holds nan"):
            solver.solve(sides[:, :3])
        assert solver.solve(sides[:, 2:6]).converged


def test_seconds_and_callbacks_are_of_all(matrix, large, sides, rng_of_today):
    seen, many = [], rng_of_today.standard_normal((large.shape[0], 5))

    def callback(iteration, residual):
        seen.append((iteration, residual, threading.get_ident()))
        return len(seen) == 3

    how = {"engine": "host", "solver": "bicgstab"}
    found = sordino.solve(large, many, callback=callback, on_failure="return", **how, **NEVER)
    assert [report.status for report in found.reports] == ["stopped_by_user"] * 5
    assert len(seen) == 3 and {thread for *_, thread in seen} == {threading.get_ident()}
    assert np.isfinite(found.x).all()
    with sordino.Solver(matrix, rtol=1e-9, **how) as solver:
        begun = time.perf_counter()
        assert 0 < solver.solve(sides).seconds <= time.perf_counter() - begun


def test_what_a_callback_raises_comes_out(matrix, sides):
    solver = sordino.Solver(matrix, engine="host", **NEVER)

    def asks_again(*_):
        solver.solve(sides)

    with pytest.raises(BadArgument, match="a callback cannot use the solver that calls it"):
        solver.solve(sides, callback=asks_again)
    assert solver.solve(sides, rtol=1e-6, maxiter=500).converged


def test_ctrl_c_ends_all_columns(large, rng_of_today):
    sides = rng_of_today.standard_normal((large.shape[0], 10))
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    begun = time.perf_counter()
    with pytest.raises(Interrupted) as interrupted:
        sordino.solve(large, sides, engine="host", **NEVER)  # ten: two of them follow
    assert time.perf_counter() - begun < 10
    statuses = [report.status for report in interrupted.value.solution.reports]
    assert statuses[:8] == ["interrupted"] * 8 and set(statuses[8:]) <= {"time_limit", "stagnated"}
    assert np.isfinite(interrupted.value.solution.x).all()


def test_a_column_keeps_the_x_that_it_has_alone_when_others_go_on():
    """Seed and tolerance are of a column that ends, stagnated, in an iteration whose x is looked at."""
    H = sordino.hmatrix(sphere(6, 3), 1e-6)
    B = np.random.default_rng(4).standard_normal((H.shape[0], 8))
    with sordino.Solver(H, engine="host", solver="bicgstab", ranks=1, check_every=1) as solver:
        how = {"rtol": 1.3e-16, "maxiter": 49, "on_failure": "return"}
        found = solver.solve(B, **how)
        for k, b in enumerate(B.T):
            np.testing.assert_array_equal(found.x[:, k], solver.solve(b, **how).x)


@pytest.mark.parametrize("kind", [{"solver": "gmres"}, {"precond": "block-jacobi"}, {"callback_every": 5}])
def test_what_is_solved_in_turn(matrix, sides, kind):
    with sordino.Solver(matrix, **{"engine": "model", "rtol": 1e-6, **kind}) as solver:
        assert solver._together is None
        assert solver.solve(sides[:, :2], callback=lambda *_: False).converged


@pytest.mark.parametrize("engine", ["host", "model"])
def test_capacitances(engine):
    surface = spheres(2, 1, 1, m0=6, M=4, radius=0.25, spacing=1.0, potentials=(3.0, -2.0))
    found = sordino.bem(surface, capacitance=True, rtol=1e-10, engine=engine)
    C = found.capacitance
    np.testing.assert_allclose(C @ [3.0, -2.0], found.charge, rtol=1e-8)
    np.testing.assert_allclose(C, C.T, rtol=1e-4)
    assert len(found.solution.reports) == 3
