"""Solvers fcg and richardson from Python and the command line, and what is said where an iteration diverges."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular

import sordino

OPTIONS = {"rtol": 1e-8, "engine": "host"}


def scipy_matrix(rows) -> sp.csr_array:
    return sp.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)


@pytest.mark.parametrize("ranks", [1, 3])
def test_fcg_with_a_function_that_iterates_more_often_each_time(rng_of_today, ranks):
    A = scipy_matrix(sordino.poisson(12, 12, 12))
    b, d = rng_of_today.standard_normal(A.shape[0]), A.diagonal()

    def solved(solver, **options):
        calls = 0

        def sweeps(r):
            nonlocal calls
            z = np.zeros_like(r)
            for _ in range((1, 6, 2, 8, 3)[calls % 5]):
                z += 0.7 * (r - A @ z) / d
            calls += 1
            return z

        return sordino.solve(A, b, M=sweeps, solver=solver, ranks=ranks, **OPTIONS, **options)

    flexible = solved("fcg")
    assert flexible.converged and flexible.report.options["solver"] == "fcg"
    assert np.linalg.norm(b - A @ flexible.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    assert 2 * flexible.iterations < solved("cg", on_failure="return").iterations


def test_fcg_with_a_sweep_of_gauss_and_seidels_with_which_cg_does_not_converge(rng_of_today):
    A = scipy_matrix(sordino.poisson(10, 10, 10))
    b, lower = rng_of_today.standard_normal(A.shape[0]), sp.csr_array(sp.tril(A))
    options = {**OPTIONS, "M": lambda r: spsolve_triangular(lower, r, lower=True), "ranks": 2}
    found = sordino.solve(A, b, solver="fcg", **options)
    assert found.converged
    most = 5 * found.iterations
    assert not sordino.solve(A, b, solver="cg", maxiter=most, on_failure="return", **options).converged


def test_fcg_of_complex_hermitian_systems(rng_of_today):
    n = 300
    real = sordino.poisson(n, 1, 1)
    turn = sp.diags_array(np.exp(1j * rng_of_today.uniform(0, 6, n)))
    A = sp.csr_array(turn @ scipy_matrix(real) @ turn.conj().T + 0.1 * sp.eye_array(n))
    b = rng_of_today.standard_normal(n) + 1j * rng_of_today.standard_normal(n)
    found = sordino.solve(A, b, solver="fcg", precond="jacobi", ranks=2, **OPTIONS)
    assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)


def test_richardson_is_multigrid_by_itself(cli):
    words = ("poisson", 24, 24, 24, "--solver", "richardson", "--precond", "mg", "--engine", "host", "--json")
    code, out, err = cli(*words, "--rtol", "1e-8")
    assert code == 0, err
    said = json.loads(out)
    assert said["status"] == "converged" and said["options"]["solver"] == "richardson"
    assert 5 < said["iterations"] < 70


def test_richardson_says_that_it_diverges_and_omega_mends_it(cli, rng_of_today):
    pairs = sp.csr_array(sp.kron(sp.eye_array(50), np.array([[1.0, 1.5], [1.5, 1.0]])) + sp.eye_array(100))
    b = rng_of_today.standard_normal(100)
    definite = sp.csr_array(sp.kron(sp.eye_array(50), np.array([[1.0, 0.9], [0.9, 1.0]])))
    options = {**OPTIONS, "solver": "richardson", "precond": "none", "ranks": 2}
    with pytest.raises(sordino.NotConverged, match="omega M\\^-1 A has eigenvalues further than 1 from 1"):
        sordino.solve(pairs, b, **options)
    assert sordino.solve(definite, b, omega=0.9, **options).converged
    with pytest.raises(sordino.BadArgument, match="omega must be a finite number > 0"):
        sordino.solve(definite, b, omega=0.0, **options)
    code, out, err = cli(
        "poisson", 8, 8, 8, "--solver", "richardson", "--precond", "none", "--engine", "host"
    )
    assert code != 0 and "omega M^-1 A has eigenvalues further than 1 from 1" in out + err


def test_richardson_of_complex_systems(rng_of_today):
    n = 60
    A = sp.csr_array(
        sp.random_array((n, n), density=0.05, rng=rng_of_today) * (1 + 2j) + (8 + 3j) * sp.eye_array(n)
    )
    b = rng_of_today.standard_normal(n) + 1j
    found = sordino.solve(A, b, solver="richardson", precond="jacobi", ranks=2, **OPTIONS)
    x = np.zeros(n, complex)
    for _ in range(found.iterations):
        x += (b - A @ x) / A.diagonal()
    np.testing.assert_allclose(found.x, x, rtol=1e-10, atol=1e-12)
