"""New values of what splu, factorized_lu, ilu0 and ic0 have set up: FactorizedLU.update."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import sordino
from sordino import BadArgument, Factors

MATRICES = Path(__file__).parents[3] / "shared" / "data" / "matrices"
OPERATIONS = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.conj().T}


def general(rng, n, dtype=float, symmetric=False):
    """Diagonally dominant by rows and columns."""
    A = sp.random_array((n, n), density=min(1, 4 / n), rng=rng)
    A = A + A.T if symmetric else A
    A = 0.8 / max(A.sum(0).max(), A.sum(1).max()) * A + sp.diags_array(rng.uniform(1, 2, n))
    A = A * np.exp(0.3j) if np.issubdtype(dtype, np.complexfloating) else A
    return sp.csr_array(A.astype(dtype))


def other_values(A, rng, least=0.5):
    """The same pattern, each entry times a number of its own."""
    B = A.copy()
    B.data = (A.data * rng.uniform(least, 1, A.nnz)).astype(A.dtype)
    return B


def planned(F):
    """What an update must not make anew: supernodes and plans, by the time that they took."""
    parts = (F.statistics["lower"], F.statistics["upper"])
    return [
        (s["plan_seconds"], s["symbolic_seconds"], s["forward_tasks"], s["backward_tasks"]) for s in parts
    ]


def relative(A, x, b):
    return np.linalg.norm(A @ x - b) / np.linalg.norm(b)


@pytest.mark.parametrize("dtype", [np.float32, float, complex])
@pytest.mark.parametrize(("symmetric", "ordering"), [(False, "colamd"), (True, "metis"), (True, "natural")])
def test_a_new_matrix_is_solved_with_in_all_ways_and_nothing_is_planned(
    dtype, symmetric, ordering, rng_of_today
):
    A = general(rng_of_today, 80, dtype, symmetric)
    F = sordino.splu(A, ordering)
    b = rng_of_today.standard_normal((80, 2))
    for trans in "NTH":
        F.solve(b, trans)
    before, orders = planned(F), (F.factors.row_order.copy(), F.factors.column_order.copy())
    new = other_values(A, rng_of_today)
    for form in ("csr", "csc", "coo"):
        F.update(A)
        F.update(new.asformat(form))
        exact = 1e-5 if dtype == np.float32 else 1e-14
        for trans, of in OPERATIONS.items():
            x = F.solve(b, trans)
            assert relative(of(new), x, b) <= exact
            assert F.report["residuals"][-1] <= exact
            assert F.backward_error(b, x, trans) <= exact
    assert planned(F) == before
    assert all(
        np.array_equal(*pair)
        for pair in zip(orders, (F.factors.row_order, F.factors.column_order), strict=True)
    )
    assert set(F.seconds) == {"factoring", "setup"}
    assert F.matrix.dtype == F.dtype == dtype


def test_scales_are_those_of_the_new_matrix(rng_of_today):
    A = general(rng_of_today, 60)
    F = sordino.splu(A)
    new = sp.csr_array(sp.diags_array(10.0 ** rng_of_today.uniform(-150, 150, 60)) @ A)
    F.update(new)
    b = new @ np.ones(60)
    np.testing.assert_allclose(F.solve(b), 1, rtol=1e-6)
    np.testing.assert_allclose(F.factors.product(np.ones(60)), b, rtol=1e-9)


def test_what_cannot_be_new_values_of_a_matrix_leaves_the_old_ones(rng_of_today):
    A = general(rng_of_today, 30, symmetric=True)
    F = sordino.splu(A)
    b = rng_of_today.standard_normal(30)
    x = F.solve(b)
    more = sp.csr_array(A + sp.coo_array(([0.1], ([0], [29])), shape=A.shape))
    less = sp.csr_array(sp.diags_array(A.diagonal()))
    broken = A.copy()
    broken.data[3] = np.nan
    for new, sentence in (
        (
            more if more.nnz > A.nnz else less,
            "the new matrix has another pattern than the one that was set up",
        ),
        (less, "the new matrix has another pattern"),
        (A * 1j, "the new matrix is complex, and the one that was set up is real"),
        (broken, "the matrix holds nan in row 0"),
        (A[:5], "the matrix is 5 x 30"),
        (0 * A, "the matrix is singular"),
    ):
        with pytest.raises(BadArgument, match=sentence) as refused:
            F.update(new)
        assert "\n" not in str(refused.value)
        np.testing.assert_array_equal(F.solve(b), x)
        assert relative(A, F.solve(b), b) < 1e-14
    with pytest.raises(BadArgument, match="A goes with new factors"):
        F.update(A, A)


def test_pivots_that_have_become_zero_are_refused_and_small_ones_are_refined_with():
    A = sp.csr_array([[4.0, 1, 0], [1, 3, 1], [0, 1, 5]])
    F = sordino.splu(A, "natural")
    b = np.array([1.0, 2, 3])
    x = F.solve(b)
    zero = sp.csr_array(([0.0, 1, 1, 3, 1, 1, 5], A.indices, A.indptr))
    with pytest.raises(
        BadArgument, match="a pivot of the matrix that was set up is zero with the new values"
    ):
        F.update(zero)
    np.testing.assert_array_equal(F.solve(b), x)
    small = zero.copy()
    small.data[0] = 1e-7  # loses half of the digits, which refinement brings back
    F.update(small)
    assert relative(small, F.solve(b), b) < 1e-15
    assert F.report["refinements"] > 0
    F.update(A)
    np.testing.assert_array_equal(F.solve(b), x)


def test_entries_that_had_cancelled_are_set_up_once_they_do_not():
    dense = np.array([[2.0, 1, 1, 0], [1, 3, 0.5, 1], [1, 0.5, 4, 1], [0, 1, 1, 5]])  # (1, 2) cancels
    A = sp.csr_array(dense)
    F = sordino.splu(A, "natural")
    cancelled = F.statistics["upper"]["entries"]
    assert cancelled < np.count_nonzero(np.triu(dense))
    rng = np.random.default_rng(1)
    b, entries = np.arange(1.0, 5), []
    for new in (other_values(A, rng), A, other_values(A, rng)):
        F.update(new)
        entries.append(F.statistics["upper"]["entries"])
        assert relative(new, F.solve(b), b) < 1e-15
        planned_now = planned(F)
    assert entries == [cancelled + 1] * 3
    F.update(A)
    F.solve(b)
    assert planned(F) == planned_now  # zeros are stored now, and plans stay


@pytest.mark.parametrize("cholesky", [False, True])
def test_new_factors_take_the_place_of_old_ones_with_their_matrix(cholesky, rng_of_today):
    A = general(rng_of_today, 40, symmetric=True)
    H = sp.csr_array(A @ A.T)

    def whole(triangle, lower):
        """With an entry in every place, whatever the order."""
        places = np.tri(40) if lower else np.tri(40).T
        return sp.csc_array(np.where(places, triangle + 1e-300, 0))

    def factors(matrix, order):
        B = matrix[order][:, order]
        if cholesky:
            L = whole(np.linalg.cholesky(B.toarray()), True)
            return Factors(L, row_order=order, column_order=order)
        lu = sla.splu(sp.csc_matrix(B), permc_spec="NATURAL", diag_pivot_thresh=0)
        L, U = whole(lu.L.toarray(), True), whole(lu.U.toarray(), False)
        return Factors(L, U, True, row_order=order, column_order=order)

    first, second = (rng_of_today.permutation(40) for _ in range(2))
    F = sordino.factorized_lu(factors(H, first), H)
    b = rng_of_today.standard_normal(40)
    x = F.solve(b)
    new = sp.csr_array(3 * H + sp.eye_array(40))
    with pytest.raises(BadArgument, match="give that of the new factors, too, as A"):
        F.update(factors(new, second))
    F.update(factors(new, second), new)  # in another order
    y = F.solve(b)
    assert relative(new, y, b) < 1e-13 and F.report["residuals"][-1] < 1e-13
    assert F.backward_error(b, y) < 1e-13 and relative(H, x, b) < 1e-13
    with pytest.raises(BadArgument, match=r"factors are those of .*, not a csr_array"):
        F.update(new)
    with pytest.raises(BadArgument, match="the new factors have 3 rows, and the old ones 40"):
        F.update(Factors(sp.eye_array(3)), new)
    with pytest.raises(BadArgument, match="of another kind than those that were set up"):
        F.update(Factors(sp.eye_array(40), sp.eye_array(40) if cholesky else None), new)
    np.testing.assert_array_equal(F.solve(b), y)


def test_scipys_superlu_is_new_factors_too(rng_of_today):
    A = general(rng_of_today, 50)
    new = other_values(A, rng_of_today, 0.9)
    F = sordino.factorized_lu(sla.splu(sp.csc_matrix(A)))
    b = rng_of_today.standard_normal(50)
    F.solve(b)
    F.update(sla.splu(sp.csc_matrix(new)))
    np.testing.assert_allclose(new @ F.solve(b), b, atol=1e-12)
    F.update(sla.splu(sp.csc_matrix(A)), A)  # from now on it is verified
    assert relative(A, F.solve(b), b) < 1e-13 and F.report["residuals"]


def test_factors_of_another_pattern_are_refused_and_both_triangles_stay():
    L, U = sp.csr_array([[1.0, 0], [0.5, 1]]), sp.csr_array([[2.0, 1], [0, 3]])
    F = sordino.factorized_lu(Factors(L, U))
    x = F.solve([1.0, 2])
    for new, sentence in (
        (Factors(sp.eye_array(2), U), "L: the new triangle has another pattern"),
        (Factors(2 * L, sp.eye_array(2)), "U: the new triangle has another pattern"),
        (
            Factors(2 * L, sp.csr_array([[0.0, 1], [0, 3]]) + 0 * U),
            "U: the new triangle has another pattern|U: the pivot",
        ),
        (Factors(2 * L, sp.csr_array(([0.0, 1, 3], U.indices, U.indptr))), "U: the pivot of row 0 is zero"),
        (Factors(2j * L, U), "L: the new triangle is complex, and the one that was set up is real"),
    ):
        with pytest.raises(BadArgument, match=sentence) as refused:
            F.update(new)
        assert "\n" not in str(refused.value)
        np.testing.assert_array_equal(F.solve([1.0, 2]), x)
    F.update(Factors(2 * L, U))
    np.testing.assert_allclose(2 * F.solve([1.0, 2]), x)


@pytest.mark.parametrize("dtype", [np.float32, float, complex])
@pytest.mark.parametrize("factor", [sordino.ilu0, sordino.ic0])
def test_incomplete_factors_of_new_values_have_the_bits_of_new_ones(factor, dtype, rng_of_today):
    A = sp.csr_array(sordino.poisson(12, 12, 11).astype(dtype))
    new = A + sp.diags_array(rng_of_today.uniform(0, 1, A.shape[0]).astype(dtype))
    b = rng_of_today.standard_normal((A.shape[0], 2))
    F = factor(A)
    x = F.solve(b)
    F.update(new)
    assert F.statistics["lower"]["by_rows"]
    for trans in "NTH":
        np.testing.assert_array_equal(F.solve(b, trans), factor(new).solve(b, trans))
    assert set(F.seconds) == {"factoring", "setup"}
    F.update(A)
    np.testing.assert_array_equal(F.solve(b), x)
    for wrong, sentence in (
        (sordino.poisson(12, 11, 12), "L: the new triangle has another pattern"),
        (A - 100 * sp.eye_array(A.shape[0]) if factor is sordino.ic0 else 0 * A, "breaks down in row 0"),
    ):
        with pytest.raises(BadArgument, match=sentence):
            F.update(wrong)
        np.testing.assert_array_equal(F.solve(b), x)


@pytest.mark.skipif(not MATRICES.is_dir(), reason="no folder ../shared/data/matrices beside the checkout")
@pytest.mark.parametrize(
    "name", ["bcsstk16.mtx", "bayer10.mtx", "big.rua", "ScaleMicrogrid_Jacobian_N1000_01.mtx", "add20.mtx"]
)
def test_real_matrices_are_updated_as_often_as_one_likes(name):
    rng = np.random.default_rng(1)
    A = sp.csr_array(sordino.read_matrix(MATRICES / name).matrix)
    F = sordino.splu(A)
    b = rng.standard_normal(A.shape[0])
    before = None
    for _ in range(3):
        new = other_values(A, rng, 0.9)
        F.update(new)
        x = F.solve(b)
        assert F.backward_error(b, x) <= 16 * 2.0**-53
        assert before in (
            None,
            planned(F),
        )  # of bayer10 some entries had cancelled, which are set up at first
        before = planned(F)
