"""Triangles as preconditioners: one, one with its conjugate transpose, and pairs."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import sordino
from sordino import BadArgument, Unsupported


def system(n=(9, 8, 7)):
    A = sordino.poisson(*n)
    return A, A @ np.linspace(1, 2, A.shape[0])


def of_ic0(A, **options):
    return sordino.factorized(sordino.ic0(A).factors.lower, **options)


@pytest.mark.parametrize("method", ["cg", "fcg", "bicgstab", "gmres"])
@pytest.mark.parametrize("lower", [True, False])
def test_a_triangle_with_its_transpose_takes_as_many_iterations_as_the_factors(method, lower):
    A, b = system()
    F = sordino.ic0(A)
    L = F.factors.lower
    T = sordino.factorized(L if lower else sp.csr_array(L.T), lower)
    wanted = sordino.Solver(A, method=method, M=F).solve(b, rtol=1e-9)
    found = sordino.Solver(A, method=method, M=T.cholesky()).solve(b, rtol=1e-9)
    assert found.converged and found.iterations == wanted.iterations
    np.testing.assert_allclose(found.x, np.linspace(1, 2, A.shape[0]), rtol=1e-6)
    _, code = sla.cg(A, b, M=sla.aslinearoperator(T.cholesky()))
    assert code == 0


def test_a_pair_is_both_one_behind_the_other():
    A, b = system()
    A = sp.csr_array(A + sp.diags_array(0.3 * np.ones(A.shape[0] - 1), offsets=1))
    F = sordino.ilu0(A)
    L = sordino.factorized(F.factors.lower, unit_diagonal=True)
    U = sordino.factorized(F.factors.upper, lower=False)
    for method in ("bicgstab", "gmres", "fcg"):
        wanted = sordino.Solver(A, method=method, M=F).solve(b, rtol=1e-9, on_failure="return")
        found = sordino.Solver(A, method=method, M=(L, U)).solve(b, rtol=1e-9, on_failure="return")
        assert found.iterations == wanted.iterations


@pytest.mark.parametrize("dtype", [np.float32, float, complex])
def test_they_are_operators_of_scipy_and_their_adjoints(dtype):
    rng = np.random.default_rng(4)
    T = np.tril(rng.standard_normal((20, 20))) + 9 * np.eye(20)
    T = (T + 1j * np.tril(rng.standard_normal((20, 20)), -1) if dtype is complex else T).astype(dtype)
    S = np.triu(rng.standard_normal((20, 20)).astype(dtype)) + 9 * np.eye(20, dtype=dtype)
    L, U = sordino.factorized(sp.csr_array(T)), sordino.factorized(sp.csr_array(S), lower=False)
    b = rng.standard_normal((20, 2)).astype(dtype)
    close = {"rtol": 1e-3 if dtype is np.float32 else 1e-10, "atol": 1e-5 if dtype is np.float32 else 1e-12}
    both = sordino._triangular_pair.pair_of((L, U))
    for M, P in ((L, T), (L.cholesky(), T @ T.conj().T), (U.cholesky(), S.conj().T @ S), (both, T @ S)):
        operator = sla.aslinearoperator(M)
        assert operator.shape == (20, 20) and operator.dtype == dtype
        np.testing.assert_allclose(P @ (operator @ b), b, **close)
        np.testing.assert_allclose(P.conj().T @ (operator.H @ b), b, **close)


@pytest.mark.parametrize("method", ["cg", "gropp", "auto"])
def test_one_triangle_is_refused_by_methods_that_need_symmetry(method):
    A, b = system()
    L = of_ic0(A)
    with pytest.raises(
        Unsupported, match=r"M is one triangle, which is not symmetric, and solver \w+ needs that: give"
    ):
        sordino.Solver(A, method=method, M=L)
    for other in ("fcg", "bicgstab", "gmres"):
        assert sordino.Solver(A, method=other, M=L).solve(b, on_failure="return").status != "inaccurate"
    diagonal = sordino.factorized(sp.diags_array(A.diagonal()))
    assert diagonal.hermitian and sordino.Solver(A, method="cg", M=diagonal).solve(b).converged
    assert not sordino.factorized(sp.diags_array([1j, 2.0])).hermitian
    assert sordino.factorized(np.diag([1j, 2.0]), unit_diagonal=True).hermitian


def test_one_triangle_preconditions_a_matrix_that_is_nearly_it():
    A = sp.csr_array(
        sp.diags_array([-np.ones(199), 2 * np.ones(200), 0.05 * np.ones(199)], offsets=[-1, 0, 1])
    )
    b = A @ np.linspace(1, 2, 200)
    plain = sordino.Solver(A, method="gmres").solve(b).iterations
    found = sordino.Solver(A, method="gmres", M=sordino.factorized(sp.tril(A))).solve(b)
    assert found.converged and found.iterations < plain / 2


@pytest.mark.parametrize("extra", ["size", "three", "kind"])
def test_other_pairs_get_one_sentence(extra):
    A, _ = system((4, 4, 4))
    L = of_ic0(A)
    M, sentence = {
        "size": (
            (L, sordino.factorized(np.eye(3))),
            "the triangles of the preconditioner have 64 and 3 rows",
        ),
        "three": ((L, L, L), "a preconditioner of triangles is a pair of them, (L, U)"),
        "kind": ((L, A), "a preconditioner of triangles is a pair of them, (L, U)"),
    }[extra]
    with pytest.raises(BadArgument, match=re.escape(sentence)):
        sordino.Solver(A, method="gmres", M=M)
