"""A solver that is closed: what it held is gone, and what it is asked is refused."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import sordino


@pytest.fixture
def system():
    A = sordino.poisson(6, 5, 4)
    return A, A @ np.ones(120)


def test_a_closed_solver_refuses_with_a_sentence(system):
    A, b = system
    solver = sordino.Solver(A, engine="host", ranks=2)
    x = solver.solve(b).x
    operator = solver.aspreconditioner()
    solver.close()
    solver.close()
    assert repr(solver) == "<sordino.Solver, closed>" and solver.n == 120
    for asked in (
        lambda: solver.solve(b),
        lambda: solver.update_values(A.data),
        lambda: solver.time_product(),
        lambda: solver.memory(),
        lambda: operator @ b,
        lambda: solver.__enter__(),
    ):
        with pytest.raises(sordino.BadArgument, match="this solver has been closed: set up another one"):
            asked()
    np.testing.assert_allclose(x, 1, rtol=1e-3)


def test_a_block_closes_its_solver_also_when_something_is_raised(system):
    A, b = system
    with sordino.Solver(A, engine="host", ranks=2) as solver:
        assert solver.solve(b).converged
    assert repr(solver).endswith("closed>")
    with pytest.raises(ZeroDivisionError), sordino.Solver(A, engine="host", ranks=2) as solver:
        raise ZeroDivisionError
    assert repr(solver).endswith("closed>")


def test_arrays_and_engine_are_given_back(fake_core, system):
    A, _ = system
    solver = sordino.Solver(A)
    held = [weakref.ref(solver._native()), weakref.ref(solver._system.rows.data)]
    solver.close()
    gc.collect()
    assert [reference() for reference in held] == [None, None]


@pytest.mark.parametrize("every", [0, 2])
@pytest.mark.parametrize("asks", ["close", "solve", "time_product"])
def test_a_callback_that_uses_its_own_solver_is_refused_and_the_next_solve_is_well(system, asks, every):
    A, b = system
    if every == 0:  # the host looks after a twentieth of a second: long enough a solve
        A = sordino.poisson(60, 60, 60, contrast=1e6)
        b = A @ np.random.default_rng(1).standard_normal(A.shape[0])
    solver = sordino.Solver(A, rtol=1e-10, maxiter=100_000, engine="host", ranks=2, callback_every=every)
    ask = {"close": solver.close, "solve": lambda: solver.solve(b), "time_product": solver.time_product}[asks]
    with pytest.raises(sordino.BadArgument, match="a callback cannot use the solver that calls it"):
        solver.solve(b, callback=lambda *_: ask(), on_failure="return")
    assert solver.solve(b, rtol=1e-3, on_failure="return").converged
    solver.close()
