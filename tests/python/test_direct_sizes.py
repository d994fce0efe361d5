"""Solves by factors of numbers whose squares overflow or vanish, and updates that end half way."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import sordino
from sordino._triangular import FactorizedTriangle

N = 20
T = sp.diags_array([-np.ones(N - 1), 4 * np.ones(N), -np.ones(N - 1)], offsets=[-1, 0, 1]).tocsr()


@pytest.mark.parametrize("size", [1e200, 1.0, 1e-200, 1e-310])
def test_factors_of_another_matrix_are_refused_however_large_b_is(size):
    F = sordino.factorized_lu(sla.splu(sp.csc_matrix(T)), 2 * T)
    with pytest.raises(sordino.SordinoError, match="inaccurate"):
        F.solve(np.full(N, size), refine=0)
    right = sordino.splu(T)
    b = size * np.arange(1.0, N + 1)
    for given in (b[:, None], np.stack([b, np.ones(N), np.zeros(N)], axis=1)):
        x = right.solve(given)
        assert right.report["residuals"][-1] < 1e-12
        for one, of in zip(x.T, given.T, strict=True):
            scale = of.max() or 1.0
            np.testing.assert_allclose(T @ (one / scale), of / scale, rtol=1e-12)


def test_an_infinite_x_is_not_verified():
    A = sp.csr_array(1e-200 * np.eye(N))
    F = sordino.factorized_lu(sla.splu(sp.csc_matrix(A)), A)
    with pytest.raises(sordino.SordinoError):
        F.solve(np.full(N, 1e200))


def test_a_backward_error_whose_size_overflows_is_not_perfect():
    A = sp.csr_array(np.array([[1.0, 0, 0], [0, 1, 0], [1, -1, 1]]))
    F = sordino.factorized(A, unit_diagonal=False)
    x = np.array([1.7e308, 1.7e308, -1e300])
    assert F.backward_error(np.array([1.7e308, 1.7e308, 1e300]), x) == np.inf


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_an_update_that_is_interrupted_leaves_both_triangles_of_one_matrix(monkeypatch, error):
    F = sordino.ilu0(T)
    before = F.matvec(np.ones(N))
    take = FactorizedTriangle.take
    left = [error]

    def interrupted(self, values):
        take(self, values)
        if not self.lower and left:
            raise left.pop()

    monkeypatch.setattr(FactorizedTriangle, "take", interrupted)
    with pytest.raises(error):
        F.update(T + sp.diags_array(np.ones(N)).tocsr())
    np.testing.assert_array_equal(F.matvec(np.ones(N)), before)


def test_a_row_of_the_smallest_numbers_is_scaled_as_far_as_its_type_goes():
    A = np.eye(4, dtype=np.float32) + 0.25 * np.ones((4, 4), dtype=np.float32)
    A[0] = [1e-39, 0, 0, 2e-39]
    b = (A @ np.ones(4)).astype(np.float32)
    np.testing.assert_allclose(sordino.splu(sp.csr_array(A)).solve(b), 1, rtol=1e-3)


def test_incomplete_factors_that_verify_go_on_to_verify():
    F = sordino.ilu0(T)
    F.update(F.factors, A=T)
    F.update(2 * T)
    F.solve(np.ones(N))
    assert F.report["residuals"][-1] < 1e-12
