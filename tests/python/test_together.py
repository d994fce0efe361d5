"""Several complex right-hand sides of an H-matrix at once: a solve for each, which meet in every product."""

from __future__ import annotations

import _thread
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino._together import Meeting, Together
from sordino.errors import BadArgument, Interrupted, NotConverged, Unsupported
from sordino.surfaces import sphere

HOST = {"engine": "host", "solver": "bicgstab"}
NEVER = {"rtol": 1e-300, "maxiter": 10**8}


@pytest.fixture(scope="module")
def matrix():
    return sordino.hmatrix(sphere(4, 5, radius=1.0), 1e-6, kernel="helmholtz", wavenumber=1.0, probes=0)


@pytest.fixture
def sides(matrix, rng_of_today):
    return rng_of_today.standard_normal((matrix.shape[0], 5, 2)) @ [1, 1j]


def multiplications(solver):
    """A list that gets the number of vectors of each product from now on."""
    counts, multiply = [], solver._together._multiply

    def counted(vectors):
        counts.append(len(vectors))
        return multiply(vectors)

    solver._together._multiply = counted
    return counts


def in_turn(H, B, **options):
    return [sordino.solve(H, b, **{**HOST, **options}) for b in B.T]


@pytest.mark.parametrize("ranks", [1, 2])
def test_each_column_is_verified_and_near_what_it_is_alone(matrix, sides, ranks):
    together = sordino.solve(matrix, sides, ranks=ranks, rtol=1e-9, **HOST)
    alone = in_turn(matrix, sides, ranks=ranks, rtol=1e-9)
    residuals = np.linalg.norm(matrix @ together.x - sides, axis=0) / np.linalg.norm(sides, axis=0)
    assert together.converged and residuals.max() <= 1.01e-9
    for report, residual, other in zip(together.reports, residuals, alone, strict=True):
        assert report.true_residual == pytest.approx(residual, rel=1e-3)
        assert 0.5 < report.iterations / other.iterations < 2 and len(report.history) == report.iterations
        assert report.options["precond"] == other.report.options["precond"] == "jacobi"
        assert report.options["ranks"] == ranks
    np.testing.assert_allclose(
        together.x, np.stack([s.x for s in alone], axis=1), atol=1e-5 * abs(together.x).max()
    )


def test_the_bits_of_a_column_do_not_hang_on_the_others(matrix, sides):
    with sordino.Solver(matrix, rtol=1e-8, **HOST) as solver:
        all_of_them = solver.solve(sides).x
        easy = np.ones(len(sides))  # ends before the others
        some = solver.solve(np.stack([sides[:, 3], easy, sides[:, 0]], axis=1))
    assert some.reports[1].iterations < min(some.reports[0].iterations, some.reports[2].iterations)
    np.testing.assert_array_equal(some.x[:, 0], all_of_them[:, 3])
    np.testing.assert_array_equal(some.x[:, 2], all_of_them[:, 0])


def test_products_are_as_many_as_of_the_slowest_column(matrix, sides):
    sides[:, 1] = 0  # is solved at once
    with sordino.Solver(matrix, rtol=1e-8, **HOST) as solver:
        counts = multiplications(solver)
        found = solver.solve(sides)
    iterations = [report.iterations for report in found.reports]
    assert found.converged and iterations[1] == 0 and not found.x[:, 1].any()
    assert counts[0] == 4 and counts == sorted(counts, reverse=True)
    assert 2 * max(iterations) < len(counts) <= 2 * max(iterations) + 4 * (1 + len(found.report.recoveries))


def test_more_than_eight_go_by_eight(matrix):
    B = np.outer(np.ones(matrix.shape[0]), np.arange(1.0, 11.0))
    with sordino.Solver(matrix, rtol=1e-8, **HOST) as solver:
        counts = multiplications(solver)
        found = solver.solve(B)
    assert set(counts) == {8, 2} and found.converged
    np.testing.assert_allclose(found.x, np.outer(found.x[:, 0], np.arange(1.0, 11.0)), rtol=1e-6)


def test_first_guesses_are_of_each_column(matrix, sides):
    X = sordino.solve(matrix, sides, rtol=1e-10, **HOST).x
    again = sordino.solve(matrix, sides, X, rtol=1e-6, **HOST)
    assert [report.iterations for report in again.reports] == [0] * 5
    np.testing.assert_array_equal(again.x, X)


@pytest.mark.parametrize(
    "how", [{"precond": "none"}, {"M": "a diagonal"}, {"distribution": "grid", "ranks": 2}]
)
def test_preconditioners_and_distributions(matrix, sides, how):
    if "M" in how:
        how = {"M": sp.diags_array(1 / matrix.diagonal())}
    with sordino.Solver(matrix, rtol=1e-8, **HOST, **how) as solver:
        counts = multiplications(solver)
        found = solver.solve(sides)
    assert counts and found.converged
    assert (
        np.linalg.norm(matrix @ found.x - sides, axis=0).max() < 1.01e-8 * np.linalg.norm(sides, axis=0).max()
    )
    said = in_turn(matrix, sides[:, :1], rtol=1e-8, **how)[0].report.options["precond"]
    assert found.report.options["precond"] == said


@pytest.mark.parametrize("how", [{"precond": "block-jacobi"}, {"callback_every": 5}])
def test_what_is_still_solved_in_turn(matrix, sides, how):
    with sordino.Solver(matrix, **{**HOST, **how, "rtol": 1e-6}) as solver:
        assert solver._together is None
        assert solver.solve(sides, callback=lambda *_: False).converged
    model = sordino.Solver(matrix, engine="model", ranks=2)
    assert model._together is None
    real = sordino.hmatrix(sphere(4, 3, radius=1.0), 1e-6, probes=0)
    assert not isinstance(sordino.Solver(real, **HOST)._together, Together)


def test_columns_that_do_not_converge_say_so_by_themselves(matrix, sides):
    sides[:, 2] = 0
    with pytest.raises(NotConverged, match="column 0 of 5, 4 of which did not converge") as failed:
        sordino.solve(matrix, sides, maxiter=2, rtol=1e-12, **HOST)
    statuses = [report.status for report in failed.value.solution.reports]
    assert statuses == ["max_iterations"] * 2 + ["converged"] + ["max_iterations"] * 2
    late = sordino.solve(matrix, sides, time_limit=1e-6, on_failure="return", **HOST, **NEVER)
    assert [report.status for report in late.reports].count("time_limit") == 4


def test_the_time_of_all_is_that_of_the_solve(matrix, sides):
    with sordino.Solver(matrix, rtol=1e-9, **HOST) as solver:
        solver.solve(sides)
        begun = time.perf_counter()
        seconds = solver.solve(sides).seconds
        assert 0 < seconds <= time.perf_counter() - begun


def test_a_callback_sees_the_column_that_is_behind_and_stops_all(matrix, sides):
    seen = []

    def callback(iteration, residual):
        seen.append((iteration, residual, threading.get_ident()))
        return len(seen) == 3

    found = sordino.solve(matrix, sides, callback=callback, on_failure="return", **HOST, **NEVER)
    assert [report.status for report in found.reports] == ["stopped_by_user"] * 5
    assert len(seen) == 3 and {thread for *_, thread in seen} == {threading.get_ident()}
    assert np.isfinite(found.x).all()


def test_what_a_callback_raises_comes_out(matrix, sides):
    solver = sordino.Solver(matrix, **HOST, **NEVER)

    def asks_again(*_):
        solver.solve(sides)

    with pytest.raises(BadArgument, match="a callback cannot use the solver that calls it"):
        solver.solve(sides, callback=asks_again)
    assert solver.solve(sides, rtol=1e-6, maxiter=500).converged


def test_ctrl_c_ends_all_columns(matrix, sides):
    B = np.tile(sides, 2)  # ten: two of them follow
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    begun = time.perf_counter()
    with pytest.raises(Interrupted) as interrupted:
        sordino.solve(matrix, B, **HOST, **NEVER)
    assert time.perf_counter() - begun < 10
    statuses = [report.status for report in interrupted.value.solution.reports]
    assert statuses[:8] == ["interrupted"] * 8 and set(statuses[8:]) <= {"time_limit", "stagnated"}
    assert np.isfinite(interrupted.value.solution.x).all()


def test_a_product_that_fails_ends_all_columns(matrix, sides):
    solver = sordino.Solver(matrix, rtol=1e-9, **HOST)

    def fails(vectors):
        raise Unsupported("no product today")

    multiply, solver._together._multiply = solver._together._multiply, fails
    with pytest.raises(Unsupported, match="no product today"):
        solver.solve(sides)
    solver._together._multiply = multiply
    assert solver.solve(sides).converged
    solver.close()
    with pytest.raises(BadArgument, match="closed"):
        solver.solve(sides)


def test_a_column_that_fails_stops_the_others(matrix, sides):
    solver = sordino.Solver(matrix, **HOST, **NEVER)

    def fails(*_):
        raise Unsupported("not this column")

    solver.solve(sides, maxiter=1, on_failure="return")
    solver._together._columns[1].solve = fails
    with pytest.raises(Unsupported, match="not this column"):
        solver.solve(sides)


def test_a_meeting_waits_for_those_who_are_still_there():
    calls, results = [], {}

    def multiply(vectors):
        calls.append(len(vectors))
        return [2 * x for x in vectors]

    meeting = Meeting(multiply, 3)

    def member(k, products):
        try:
            results[k] = [meeting.product(k, np.array([float(k), p]))[1] for p in range(products)]
        finally:
            meeting.leave(k)

    threads = [threading.Thread(target=member, args=(k, products)) for k, products in enumerate([4, 0, 2])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
        assert not thread.is_alive()
    assert results == {0: [0, 2, 4, 6], 1: [], 2: [0, 2]} and calls == [2, 2, 1, 1]
