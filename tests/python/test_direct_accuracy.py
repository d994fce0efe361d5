"""How exact solves by factors, and by one triangle, are beside substitution, and what that takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular

import sordino
from sordino._factors import with_unit_diagonal
from sordino._lu_arrays import Arrays

MATRICES = Path(__file__).parents[3] / "shared" / "data" / "matrices"
ROUNDING = 2.0**-53


@pytest.fixture
def solves(monkeypatch):
    """A list that grows by one with each solve by both triangles."""
    counted, solved = [], Arrays.solved

    def counting(self, *arguments):
        counted.append(1)
        return solved(self, *arguments)

    monkeypatch.setattr(Arrays, "solved", counting)
    return counted


def substituted(factors, b, trans):
    """x of A x = b, or of A^T x = b, by SciPy's substitution with the same factors."""
    L, U = sp.csr_array(factors.lower), sp.csr_array(factors.upper)
    scale = 1.0 if factors.row_scale is None else factors.row_scale
    x = np.empty_like(b)
    if trans == "N":
        y = spsolve_triangular(L, (b * scale)[factors.row_order], unit_diagonal=True)
        x[factors.column_order] = spsolve_triangular(U, y, lower=False)
        return x
    y = spsolve_triangular(sp.csr_array(U.T), b[factors.column_order])
    x[factors.row_order] = spsolve_triangular(sp.csr_array(L.T), y, lower=False, unit_diagonal=True)
    return x * scale


def exact_error(A, b, x):
    """The componentwise backward error, in long double."""
    A, x = sp.csr_array(A).astype(np.longdouble), x.astype(np.longdouble)
    off, most = abs(b - A @ x), abs(A) @ abs(x) + abs(b)
    return float(np.max(np.divide(off, most, out=np.zeros_like(off), where=off > 0)))


@pytest.mark.skipif(not MATRICES.is_dir(), reason="no folder ../shared/data/matrices beside the checkout")
@pytest.mark.parametrize("trans", ["N", "T"])
@pytest.mark.parametrize(
    "name", ["bcsstk16.mtx", "bayer10.mtx", "big.rua", "ScaleMicrogrid_Jacobian_N1000_01.mtx", "add20.mtx"]
)
def test_solves_of_real_matrices_are_within_ten_times_of_substitution_or_better(name, trans, solves):
    A = sp.csr_array(sordino.read_matrix(MATRICES / name).matrix)
    n, rng = A.shape[0], np.random.default_rng(1)
    F = sordino.splu(A)
    of = A if trans == "N" else sp.csr_array(A.T)
    for b in (of @ np.ones(n), rng.standard_normal(n), rng.standard_normal(n)):
        solves.clear()
        x = F.solve(b, trans)
        by_rows = substituted(F.factors, b, trans)
        assert exact_error(of, b, x) <= 10 * max(exact_error(of, b, by_rows), 1.2e-16)
        errors = F.report["backward_errors"]
        assert errors[-1] <= 16 * ROUNDING
        assert len(solves) == len(errors) == 1 + (errors[0] > 16 * ROUNDING)  # none that is not needed


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_a_solve_that_is_exact_enough_takes_no_other_one(dtype, solves, rng_of_today):
    A = sordino.poisson(9, 9, 9).astype(dtype)
    F = sordino.splu(A)
    b = rng_of_today.standard_normal((A.shape[0], 3))
    exact = 8 * np.finfo(dtype).eps
    F.solve(b)
    assert len(solves) == 1 and F.report["refinements"] == 0
    assert len(F.report["backward_errors"]) == len(F.report["residuals"]) == 1
    assert F.report["backward_errors"][0] == F.backward_error(b, F.solve(b)) <= exact
    F.solve(b, refine=0)
    assert "backward_errors" not in F.report and F.report["residuals"]


@pytest.mark.parametrize("dtype", [np.float32, float, complex])
def test_digits_that_inverting_costs_are_refined_with_the_matrix(dtype, solves):
    """L is like Kahan's matrix, whose inverse grows by a factor of 2.3 from row to row; A = 2 L."""
    n = 18 if dtype == np.float32 else 36
    L = sp.csc_array((np.tril(-np.ones((n, n)), -1) + 0.75 * np.eye(n)).astype(dtype))
    A = sp.csr_array(2 * L.astype(np.result_type(dtype, float)))
    F = sordino.factorized_lu(sordino.Factors(L, sp.csr_array(2 * sp.eye_array(n, dtype=dtype))), A)
    b = A @ np.ones(n)
    rounding = float(np.finfo(dtype).eps) / 2
    plain = F.backward_error(b, F.solve(b, refine=0, on_failure="return"))
    solves.clear()
    x = F.solve(b, on_failure="return")
    assert plain > 16 * rounding >= F.backward_error(b, x)
    assert len(solves) == 1 + F.report["refinements"] <= 3
    errors = F.report["backward_errors"]
    assert errors[0] > 16 * rounding >= errors[-1]


def test_where_no_step_helps_one_is_tried_and_taken_back(solves):
    A = sp.diags_array([3.0, 7, 9])
    wrong = sordino.Factors(
        sp.eye_array(3), sp.diags_array([-1.0, 1, 1]) @ A
    )  # a step doubles the error of the first
    F = sordino.factorized_lu(wrong, A)
    x = F.solve(np.ones(3), on_failure="return")
    assert len(solves) == 2 and F.report["refinements"] == 0
    np.testing.assert_array_equal(x, F.solve(np.ones(3), refine=0, on_failure="return"))


def triangles_of(F):
    """(L, lower, unit) and (U, lower, unit), and each with the diagonal that is meant, by rows."""
    f = F.factors
    for T, lower, unit in ((f.lower, True, f.unit_lower), (f.upper, False, f.unit_upper)):
        yield (T, lower, unit), sp.csr_array(with_unit_diagonal(T, unit))


def test_a_triangle_of_long_rows_is_as_exact_as_substitution_and_is_not_refined(rng_of_today):
    """Plain sums by columns would tell 1.4e-15 of this L, and nothing of substitution by columns."""
    for given, T in triangles_of(sordino.splu(sordino.poisson(20, 20, 20), ordering="metis")):
        F = sordino.factorized(*given)
        for b in (T @ np.ones(T.shape[0]), rng_of_today.uniform(-1, 1, T.shape[0])):
            x = F.solve(b)
            assert F.report["refinements"] == 0 and not F.wants_steps("N", "auto")
            told, exact = F.backward_error(b, x), exact_error(T, b, x)
            assert abs(told - exact) <= 2 * ROUNDING
            by_rows = spsolve_triangular(T, b, lower=given[1])
            assert exact <= 4 * max(exact_error(T, b, by_rows), 4 * ROUNDING)
            assert abs(F.backward_error(b, by_rows) - exact_error(T, b, by_rows)) <= 2 * ROUNDING


@pytest.mark.skipif(not MATRICES.is_dir(), reason="no folder ../shared/data/matrices beside the checkout")
def test_a_triangle_whose_inverse_costs_digits_is_refined():
    A = sp.csr_array(sordino.read_matrix(MATRICES / "bayer10.mtx").matrix)
    _, (given, U) = triangles_of(sordino.splu(A))
    F = sordino.factorized(*given)
    b = U @ np.ones(U.shape[0])
    plain = F.backward_error(b, F.solve(b, refine=0))
    assert plain > 16 * ROUNDING and plain > 4 * exact_error(U, b, spsolve_triangular(U, b, lower=False))
    assert F.backward_error(b, F.solve(b)) <= 16 * ROUNDING and F.report["refinements"] >= 1
