"""Precond sqrt-jacobi from Python: what is said and shown is of the caller's system, and iterations are Jacobi's."""

from __future__ import annotations

import numpy as np
import pytest

import sordino


@pytest.fixture(scope="module")
def system():
    A = sordino.poisson(12, 11, 10, contrast=1e4)
    return A, np.random.default_rng(30).standard_normal(A.shape[0])


def residual(A, b, x):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


@pytest.mark.parametrize("engine", ["host", "model"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_iterations_are_those_of_jacobi(system, engine, ranks):
    A, b = system
    common = {"solver": "cg", "rtol": 1e-8, "engine": engine, "ranks": ranks}
    jacobi = sordino.solve(A, b, precond="jacobi", **common)
    scaled = sordino.solve(A, b, M="sqrt-jacobi", **common)
    assert abs(scaled.iterations - jacobi.iterations) <= 1
    assert residual(A, b, scaled.x) <= 1e-8 * (1 + 1e-9)
    assert scaled.true_residual == pytest.approx(residual(A, b, scaled.x), rel=1e-6)
    assert scaled.report.options["precond"] == "sqrt-jacobi"
    assert len(scaled.history) == scaled.iterations
    # The same residuals in exact arithmetic; between two looks the ratio of the norms is that of the next one.
    assert np.max(np.abs(np.log(scaled.history / jacobi.history[: scaled.iterations]))) < np.log(30)


def test_callbacks_and_x0_are_of_the_callers_system(system):
    A, b = system
    seen = []

    def look(iteration, norm, x):
        seen.append((iteration, norm, residual(A, b, x)))

    found = sordino.solve(
        A,
        b,
        solver="cg",
        precond="sqrt-jacobi",
        rtol=1e-8,
        ranks=2,
        callback=look,
        callback_every=1,
        callback_x=True,
    )
    assert [iteration for iteration, _, _ in seen] == list(range(1, found.iterations + 1))
    assert seen[-1][2] <= 1e-8 * (1 + 1e-6)
    again = sordino.solve(A, b, x0=found.x, precond="sqrt-jacobi", rtol=1e-8)
    assert again.iterations == 0 and (again.x == found.x).all()


def test_new_values(system):
    A, b = system
    B = sordino.poisson(12, 11, 10, contrast=10.0)
    solver = sordino.Solver(A, solver="cg", precond="sqrt-jacobi", rtol=1e-8, ranks=2)
    solver.solve(b)
    solver.update_values(B.data)
    assert (
        solver.solve(b).x == sordino.solve(B, b, solver="cg", M="sqrt-jacobi", rtol=1e-8, ranks=2).x
    ).all()
    with pytest.raises(sordino.BadArgument, match="that of row 0 is not positive"):
        solver.update_values(-B.data)


@pytest.mark.parametrize("storage", ["csr", "dia", "symdia"])
def test_memory_is_as_estimated(system, storage):
    A, _ = system
    options = {"solver": "cg", "precond": "sqrt-jacobi", "storage": storage, "engine": "host", "ranks": 2}
    held = sordino.Solver(A, **options).memory()["bytes_per_rank"]
    estimated = sordino.estimate_memory(A, **options)["bytes_per_rank"]
    assert estimated == pytest.approx(held, rel=0.1)


def test_a_unit_diagonal_is_not_stored():
    A = sordino.poisson(24, 24, 24)  # its diagonal is constant, so that nobody looks between iterations
    runs = [
        sordino.solve(A, np.ones(24**3), solver="cg", precond=p, storage="symdia", engine="host", ranks=1)
        for p in ("jacobi", "sqrt-jacobi")
    ]
    jacobi, scaled = (run.ledger["memory_bytes"] / run.iterations / A.shape[0] for run in runs)
    assert runs[0].iterations == runs[1].iterations
    assert 20 < jacobi - scaled < 25


def test_what_is_refused(system):
    A, b = system
    with pytest.raises(sordino.Unsupported, match="does not take precond sqrt-jacobi"):
        sordino.solve(A, b, solver="pipebicgstab", precond="sqrt-jacobi")
    with pytest.raises(sordino.Unsupported, match="precond sqrt-jacobi is for real matrices"):
        sordino.solve(A.astype(complex), b, precond="sqrt-jacobi")
