"""Incomplete factorisations: sordino.ilu0 and sordino.ic0."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino
from sordino import BadArgument


def dominant(rng, n, dtype, hermitian):
    """A random matrix whose diagonal is larger than its row and column."""
    dense = rng.standard_normal((n, n)) * (rng.random((n, n)) < 5 / n)
    if np.issubdtype(dtype, np.complexfloating):
        dense = dense * np.exp(2j * np.pi * rng.random((n, n)))
    dense = np.tril(dense, -1) + np.tril(dense, -1).conj().T if hermitian else dense
    np.fill_diagonal(dense, 0)
    np.fill_diagonal(dense, 1 + np.abs(dense).sum(0) + np.abs(dense).sum(1))
    return sp.csr_array(dense.astype(dtype))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 50),
    dtype=st.sampled_from([np.float32, np.float64, np.complex64, np.complex128]),
    form=st.sampled_from(["csr", "csc", "coo"]),
)
def test_products_of_factors_are_the_matrix_where_it_has_entries(seed, n, dtype, form):
    rng = np.random.default_rng(seed)
    close = 1e-4 if dtype == np.float32 else 1e-12
    for hermitian, factor in ((False, sordino.ilu0), (True, sordino.ic0)):
        A = dominant(rng, n, dtype, hermitian)
        F = factor(A.asformat(form))
        assert F.dtype == {"f": dtype, "c": np.complex128}[np.dtype(dtype).kind]
        off = F.factors.product(np.eye(n, dtype=F.dtype)) - A
        i, j = A.nonzero()
        assert np.abs(off[i, j]).max() <= close * np.abs(A).max()
        b = rng.standard_normal(n)
        for trans in "NTH":
            np.testing.assert_allclose(F.factors.product(F.solve(b, trans), trans), b, atol=close * n)


def test_a_matrix_without_fill_is_factored_whole(rng_of_today):
    A = sp.csr_array(sp.diags_array([-np.ones(99), 3 * np.ones(100), -np.ones(99)], offsets=[-1, 0, 1]))
    b = rng_of_today.standard_normal(100)
    for factor in (sordino.ilu0, sordino.ic0):
        np.testing.assert_allclose(A @ factor(A).solve(b), b, atol=1e-13)


def test_both_precondition_sordinos_and_scipys_methods():
    A = sordino.poisson(14, 13, 12)
    b = A @ np.linspace(1, 2, A.shape[0])
    plain = sordino.Solver(A, method="cg").solve(b, rtol=1e-9).iterations
    for factor in (sordino.ilu0, sordino.ic0):
        F = factor(A, threads=1)
        assert F.statistics["lower"]["by_rows"] and F.seconds["factoring"] > 0
        found = sordino.Solver(A, method="cg", M=F.solve).solve(b, rtol=1e-9)
        assert found.iterations < 0.6 * plain
        assert sordino.Solver(A, method="cg", M=F).solve(b, rtol=1e-9).iterations == found.iterations
        assert sordino.linalg.cg(A, b, rtol=1e-9, M=F)[1] == 0
        x, code = sla.cg(A, b, rtol=1e-9, M=F)
        assert code == 0 and np.allclose(x, np.linspace(1, 2, A.shape[0]))


@pytest.mark.parametrize("dtype", [np.float32, float, complex])
@pytest.mark.parametrize("factor", [sordino.splu, sordino.ilu0, sordino.ic0])
def test_factors_are_operators_of_scipy(factor, dtype, rng_of_today):
    A = dominant(rng_of_today, 30, dtype, True)
    F = factor(A)
    M = sla.aslinearoperator(F)
    assert M.shape == F.shape == (30, 30) and M.dtype == F.dtype == dtype
    b = rng_of_today.standard_normal((30, 2)).astype(dtype)
    close = {"rtol": 1e-3 if dtype == np.float32 else 1e-9, "atol": 1e-6}
    np.testing.assert_allclose(M @ b, F.solve(b), **close)
    np.testing.assert_allclose(M.matvec(b[:, 0]), F.solve(b[:, 0]), **close)
    np.testing.assert_allclose(M.rmatvec(b[:, 0]), F.solve(b[:, 0], trans="H"), **close)
    np.testing.assert_allclose(M.H @ b, F.solve(b, trans="H"), **close)
    assert F.matvec(b[:, :1]).shape == (30, 1) and F.rmatvec(b).shape == (30, 2)


@pytest.mark.parametrize("engine", ["host", "model"])
@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
def test_whole_factors_precondition_on_every_engine_that_takes_functions(engine, method):
    A = sordino.poisson(8, 7, 6)
    b = A @ np.linspace(1, 2, A.shape[0])
    for factor, most in ((sordino.splu, 3), (sordino.ilu0, 20), (sordino.ic0, 20)):
        F = factor(A)
        s = sordino.Solver(A, method=method, M=F, engine=engine, ranks=2).solve(b, rtol=1e-9)
        assert s.converged and s.iterations <= most
        np.testing.assert_allclose(s.x, np.linspace(1, 2, A.shape[0]), rtol=1e-6)


def test_a_preconditioner_is_neither_verified_nor_of_another_size_nor_real_for_complex_systems():
    A = sordino.poisson(6, 6, 6)
    b = A @ np.ones(A.shape[0])
    far = sordino.factorized_lu(sordino.splu(A).factors, 2 * A)  # solves are not verified, and raise
    with pytest.raises(sordino.NotConverged):
        far.solve(b)
    assert sordino.Solver(A, method="cg", M=far).solve(b).iterations <= 3
    assert far.matvec(b).shape == b.shape and far.report["residuals"][-1] > 0.9
    with pytest.raises(
        BadArgument, match=r"the preconditioner is of shape \(216, 216\), and the matrix is 27 x 27"
    ):
        sordino.Solver(sordino.poisson(3, 3, 3), M=far)
    shifted = sp.csr_array(A + 0.1j * sp.eye_array(A.shape[0]))
    for M in (sordino.splu(shifted), sordino.splu(A)):  # complex, or real with complex vectors
        s = sordino.Solver(shifted, method="bicgstab", M=M).solve(b.astype(complex))
        assert s.converged and s.iterations < 12


def test_what_overflows_is_said_of_a_preconditioner_too():
    F = sordino.ilu0(sp.diags_array([1e-200, 1.0]))
    with pytest.raises(sordino.NotConverged, match="overflows"):
        F.matvec(np.array([1e200, 1]))


def test_the_callers_matrix_stays_as_it_is():
    A = sp.csr_array(np.array([[4.0, 1], [1, 3]]))
    kept = A.copy()
    sordino.ilu0(A), sordino.ic0(A)
    assert (kept != A).nnz == 0


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        ([[1.0, 1], [1, 1]], r"ILU\(0\) breaks down in row 1: the pivot is zero"),
        (
            sp.csr_array(([1.0, 1, 1], ([0, 0, 1], [0, 1, 0])), shape=(2, 2)),
            "in row 1: the matrix has no entry on the diagonal there",
        ),
        ([[1.0, np.nan], [1, 1]], "the matrix holds NaN or infinity"),
        ([[1.0, 2, 3]], "the matrix is 1 x 3"),
    ],
)
def test_what_has_no_incomplete_factors_gets_one_sentence(matrix, sentence):
    with pytest.raises(BadArgument, match=sentence) as refused:
        sordino.ilu0(matrix)
    assert "\n" not in str(refused.value)


def test_what_is_not_positive_definite_has_no_incomplete_cholesky_factor():
    with pytest.raises(BadArgument, match=r"IC\(0\) breaks down in row 1: the pivot is -3.0"):
        sordino.ic0([[1.0, 2], [2, 1]])
    with pytest.raises(BadArgument, match="options of a triangular solve are ranks"):
        sordino.ic0(np.eye(2), colour="red")
