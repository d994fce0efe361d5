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
        x, code = sla.cg(A, b, rtol=1e-9, M=sla.LinearOperator(A.shape, F.solve))
        assert code == 0 and np.allclose(x, np.linspace(1, 2, A.shape[0]))


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
