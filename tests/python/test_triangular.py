"""Triangular systems and direct solves from Python: sordino.factorized, splu, factorized_lu."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino
from sordino import BadArgument, Factors, NotConverged, Unsupported

OPERATIONS = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.conj().T}
EPS = {np.dtype(np.float32): 6e-8, np.dtype(np.float64): 1.2e-16, np.dtype(np.complex128): 1.2e-16}


def triangle(rng, n, dtype, lower=True, entries=4):
    """Rows whose entries off the diagonal are small: solutions neither grow nor vanish."""
    dense = rng.standard_normal((n, n)) * (rng.random((n, n)) < entries / n) / entries
    if np.issubdtype(dtype, np.complexfloating):
        dense = dense * np.exp(2j * np.pi * rng.random((n, n)))
    dense = np.tril(dense, -1) + np.diag(rng.choice([-1, 1], n) * rng.uniform(0.5, 2, n))
    return sp.csr_array((dense if lower else dense.T).astype(dtype))


def general(rng, n, dtype=float, symmetric=False):
    """Diagonally dominant by rows and columns, so that any order of pivots is a good one."""
    A = sp.random_array((n, n), density=min(1, 4 / n), rng=rng)
    if symmetric:
        A = A + A.T
    A = 0.8 / max(A.sum(0).max(), A.sum(1).max()) * A + sp.diags_array(rng.uniform(1, 2, n))
    if np.issubdtype(dtype, np.complexfloating):
        A = A * np.exp(0.3j)
    return sp.csr_array(A.astype(dtype))


def relative(A, x, b):
    return np.linalg.norm(A @ x - b) / np.linalg.norm(b)


# ---- triangles -------------------------------------------------------------------------------------------------------
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    dtype=st.sampled_from([np.float32, np.float64, np.complex64, np.complex128]),
    lower=st.booleans(),
    form=st.sampled_from(["csr", "csc", "coo", "dense"]),
    trans=st.sampled_from("NTH"),
    columns=st.sampled_from([None, 1, 3]),
    is_complex=st.booleans(),
)
def test_solves_of_all_kinds_are_those_of_dense_algebra(
    seed, n, dtype, lower, form, trans, columns, is_complex
):
    rng = np.random.default_rng(seed)
    L = triangle(rng, n, dtype, lower)
    F = sordino.factorized(L.toarray() if form == "dense" else L.asformat(form), lower=lower)
    if form != "dense":
        assert F.dtype == {"f": dtype, "c": np.complex128}[np.dtype(dtype).kind]
    shape = (n,) if columns is None else (n, columns)
    b = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if is_complex else 0)
    x = F.solve(b, trans)
    A = OPERATIONS[trans](L.toarray().astype(np.complex128))
    single = dtype == np.float32 and form != "dense"
    assert x.shape == b.shape
    assert np.iscomplexobj(x) == (is_complex or F.dtype.kind == "c")
    np.testing.assert_allclose(A @ x, b, atol=(1e-4 if single else 1e-11) * np.abs(b).max())
    refined = F.solve(b, trans, refine=2)
    assert F.backward_error(b, refined, trans) <= F.backward_error(b, x, trans) * 1.01
    assert len(F.report["backward_errors"]) == F.report["refinements"] + 1


@pytest.mark.parametrize("lower", [True, False])
def test_a_unit_diagonal_is_taken_as_ones_whatever_is_stored(lower):
    rng = np.random.default_rng(1)
    L = triangle(rng, 30, float, lower)
    b = rng.standard_normal(30)
    ones = L - sp.diags_array(L.diagonal()) + sp.eye_array(30)
    x = sordino.factorized(L, lower=lower, unit_diagonal=True).solve(b)
    assert relative(ones, x, b) < 1e-13
    bare = sp.csr_array(L - sp.diags_array(L.diagonal()))
    bare.eliminate_zeros()
    np.testing.assert_array_equal(x, sordino.factorized(bare, lower=lower, unit_diagonal=True).solve(b))


def test_bits_do_not_depend_on_ranks_and_threads(rng_of_today):
    L = triangle(rng_of_today, 300, float)
    b = rng_of_today.standard_normal((300, 2))
    first = sordino.factorized(L, width=16).solve(b)
    for options in ({"ranks": 2}, {"ranks": 3, "threads": 5}, {"threads": 1}):
        np.testing.assert_array_equal(first, sordino.factorized(L, width=16, **options).solve(b))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_new_values_in_the_order_of_the_callers_matrix(lower, form, rng_of_today):
    L = triangle(rng_of_today, 40, float, lower).asformat(form)
    F = sordino.factorized(L, lower=lower)
    b = rng_of_today.standard_normal(40)
    new = L.copy()
    new.data = L.data * rng_of_today.uniform(1, 2, L.nnz)
    for values in (new.data, new, new.tocoo()):
        F.update(L)
        F.update(values)
        assert relative(new, F.solve(b), b) < 1e-12
        assert relative(new.T, F.solve(b, "T"), b) < 1e-12


def test_what_cannot_be_new_values_leaves_the_old_ones():
    L = sp.csr_array([[1.0, 0], [2, 4]])
    F = sordino.factorized(L)
    x = F.solve([1.0, 1.0])
    for values, sentence in (
        (np.ones(2), r"must be 3 real numbers, not float64 of shape \(2,\)"),
        (np.ones(3) * 1j, "must be 3 real numbers, not complex128"),
        (np.array([1.0, np.nan, 1]), r"holds nan at \(1, 0\)"),
        (np.array([1.0, 2, 0]), "the pivot of row 1 is zero"),
        (sp.csr_array([[1.0, 0], [0, 4]]), "another pattern"),
        (sp.csr_array([[1.0j, 0], [2, 4]]), "complex, and the one that was set up is real"),
    ):
        with pytest.raises(BadArgument, match=sentence):
            F.update(values)
        np.testing.assert_array_equal(F.solve([1.0, 1.0]), x)
    twice = sp.coo_array(([1.0, 2, 3, 1], ([0, 1, 1, 1], [0, 0, 1, 1])), shape=(2, 2))
    with pytest.raises(BadArgument, match="give update the matrix itself"):
        sordino.factorized(twice).update(np.ones(4))


def test_the_callers_arrays_may_change_after_setup():
    L = sp.csc_array(np.tril(np.ones((5, 5))))
    F = sordino.factorized(L)
    b = np.arange(1.0, 6)
    x = F.solve(b)
    L.data[:] = np.nan
    L.indices[:] = 99
    np.testing.assert_array_equal(F.solve(b, refine=2), x)
    assert F.backward_error(b, x) == 0


BAD = [
    (sp.csr_array([[1.0, 2], [0, 1]]), {}, r"not lower triangular: there is an entry at \(0, 1\), above"),
    (
        sp.csr_array([[1.0, 0], [2, 1]]),
        {"lower": False},
        r"not upper triangular: there is an entry at \(1, 0\), below",
    ),
    (sp.csr_array([[1.0, 0], [2, 0]]), {}, "the pivot of row 1 is missing, so it is zero"),
    (sp.csr_array(([1.0, 0], ([0, 1], [0, 1])), shape=(2, 2)), {}, "the pivot of row 1 is zero"),
    (
        sp.csr_array([[1.0, 0], [2, 1e-310]]),
        {},
        "the pivot of row 1 is so small that its reciprocal overflows",
    ),
    (sp.csr_array([[1.0, 0], [np.nan, 1]]), {}, r"holds nan at \(1, 0\)"),
    (sp.csr_array([[1.0, np.inf], [0, 1]]), {"lower": False}, r"holds inf at \(0, 1\)"),
    (sp.csr_array((2, 3)), {}, "the triangle is 2 x 3, and must be square"),
    (sp.csr_array((0, 0)), {}, r"the triangle is empty \(0 x 0\)"),
    ("A.mtx", {}, "not a str"),
    (sp.eye_array(2), {"engine": "abacus"}, "engine is host for triangular solves, not 'abacus'"),
    (sp.eye_array(2), {"ranks": 0}, "ranks is a whole number, at least 1, not 0"),
    (sp.eye_array(2), {"ranks": 33}, "1 to 32 ranks, and 33 were asked for"),
    (sp.csr_array(np.tril(np.ones((2, 2)))), {"ranks": 2}, "more ranks, 2, than the triangle has blocks, 1"),
    (sp.eye_array(2), {"width": 0}, "width is a whole number, at least 1, not 0"),
    (sp.eye_array(2), {"threads": 1.5}, "threads is a whole number, at least 1, not 1.5"),
    (sp.eye_array(2), {"timeout": "soon"}, "timeout is a number of seconds, not 'soon'"),
    (sp.eye_array(2), {"timeout": -1}, "timeout is at least 0 seconds, not -1"),
]


@pytest.mark.parametrize(("matrix", "options", "sentence"), BAD, ids=[b[2][:40] for b in BAD])
def test_bad_triangles_and_options_get_one_sentence(matrix, options, sentence):
    with pytest.raises(BadArgument, match=sentence) as refused:
        sordino.factorized(matrix, **options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("b", "more", "sentence"),
    [
        (np.ones(3), {}, r"b has shape \(3,\), and the matrix has 2 rows"),
        (np.ones((2, 0)), {}, "b has shape"),
        ([1, np.nan], {}, "b holds nan at position 1"),
        (["a", "b"], {}, "not numbers"),
        ([1, 1], {"trans": "X"}, "trans is N, T or H, not 'X'"),
        ([1, 1], {"refine": -1}, "refine is a whole number, at least 0, not -1"),
    ],
)
def test_bad_right_hand_sides_get_one_sentence(b, more, sentence):
    F = sordino.factorized(sp.eye_array(2))
    with pytest.raises(BadArgument, match=sentence):
        F.solve(b, **more)


def test_lost_digits_are_refined_where_a_trial_says_so():
    """Of a matrix like Kahan's, whose inverse grows by a factor of 2 from row to row, b = L*1 is the worst."""
    n = 40
    L = sp.csc_array(np.tril(-np.ones((n, n)), -1) + 0.75 * np.eye(n))
    F = sordino.factorized(L)
    b = L @ np.ones(n)
    assert F.backward_error(b, F.solve(b, refine=0)) > 1e-12
    assert F.backward_error(b, F.solve(b)) < 1e-14
    assert F.report["refinements"] > 0
    F.update(L + 10 * sp.eye_array(n))
    F.solve(b)
    assert F.report["refinements"] == 0


def test_a_solution_that_overflows_is_not_handed_out_as_one():
    F = sordino.factorized(sp.diags_array([1e-200, 1.0]))
    with pytest.raises(NotConverged, match="overflows") as raised:
        F.solve([1e200, 1.0])
    np.testing.assert_array_equal(raised.value.solution.x, [np.inf, 1])


def test_statistics_say_what_is_stored_and_what_it_took():
    L = sp.csc_array(np.tril(np.ones((100, 100))))
    F = sordino.factorized(L, width=30)
    s = F.statistics
    assert (s["n"], s["entries"], s["stored_entries"]) == (100, 5050, 5050)
    assert (s["blocks"], s["longest_chain"], s["forward_tasks"]) == (4, 4, 0)
    assert 5050 * 8 <= s["stored_bytes"] < s["memory_bytes"]
    F.solve(np.ones(100))
    assert F.statistics["forward_tasks"] > 0 and F.statistics["plan_seconds"] > 0
    assert "lower, float64, of 100 rows and 5,050 entries" in repr(F)
    with pytest.raises(Unsupported, match="cannot be pickled"):
        F.__reduce__()


def test_zeros_of_supernodes_that_outnumber_the_entries_are_warned_of(caplog, monkeypatch):
    from sordino import _triangular

    monkeypatch.setattr(_triangular, "_LARGE", 10)
    rows = np.arange(1, 101)  # an arrow that points the wrong way: its factor would be full
    arrow = sp.csc_array((np.ones(100), (rows, np.zeros(100, int))), shape=(101, 101)) + sp.eye_array(101)
    with caplog.at_level("WARNING", "sordino"):
        sordino.factorized(arrow)
    assert "supernodes store 26 values for each entry" in caplog.text


def test_the_gil_is_released_and_several_threads_take_turns(rng_of_today):
    L = triangle(rng_of_today, 400, float)
    F = sordino.factorized(L, threads=2)
    b = rng_of_today.standard_normal(400)
    wanted, right = F.solve(b), []

    def work():
        right.append(all(np.array_equal(F.solve(b), wanted) for _ in range(20)))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert right == [True] * 4


def test_what_speaks_dlpack_comes_back_as_what_it_is():
    class Elsewhere:
        def __init__(self, array):
            self.array, self.dtype = array, array.dtype

        def __dlpack__(self, **more):
            return self.array.__dlpack__(**more)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __array_namespace__(self):
            return type("space", (), {"from_dlpack": staticmethod(Elsewhere)})

    x = sordino.factorized(2 * sp.eye_array(3)).solve(Elsewhere(np.ones(3)))
    assert isinstance(x, Elsewhere)
    np.testing.assert_array_equal(x.array, [0.5] * 3)


# ---- factors ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.float32, float, complex])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("ordering", ["auto", "metis", "mmd", "colamd", "natural"])
def test_direct_solves_are_verified_in_all_ways(ordering, symmetric, dtype, rng_of_today):
    A = general(rng_of_today, 80, dtype, symmetric)
    F = sordino.splu(A, ordering)
    assert F.dtype == dtype
    tolerance = 1e-4 if dtype == np.float32 else 1e-8
    for trans, of in OPERATIONS.items():
        for shape in ((80,), (80, 3)):
            b = of(A) @ rng_of_today.standard_normal(shape)
            x = F.solve(b, trans)
            assert relative(of(A), x, b) <= tolerance
            assert F.report["residuals"][0] <= tolerance
            F.solve(b, trans, refine=2)
            found = F.report["residuals"]
            assert len(found) == F.report["refinements"] + 1 and found == sorted(found, reverse=True)
    if ordering == "auto":
        assert F.ordering == ("metis" if symmetric else "colamd")
    assert set(F.seconds) == {"ordering", "factoring", "setup"}


def test_rows_of_any_scale_are_no_trouble(rng_of_today):
    A = sp.diags_array(10.0 ** rng_of_today.uniform(-150, 150, 60)) @ general(rng_of_today, 60)
    F = sordino.splu(A)
    x = F.solve(A @ np.ones(60))
    scale = F.factors.row_scale
    assert np.array_equal(np.frexp(scale)[0], np.full(60, 0.5))  # powers of two: nothing is rounded
    np.testing.assert_allclose(x, 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", [float, complex])
def test_superlu_objects_and_factors_of_others(dtype, rng_of_today):
    n = 50
    A = general(rng_of_today, n, dtype)
    H = sp.csr_array(A @ A.conj().T)
    orders = [rng_of_today.permutation(n) for _ in range(2)]
    scales = [2.0 ** rng_of_today.integers(-9, 9, n) for _ in range(2)]
    B = (sp.diags_array(scales[0]) @ A @ sp.diags_array(scales[1])).tocsc()[orders[0]][:, orders[1]]
    lu = sla.splu(sp.csc_matrix(B), permc_spec="NATURAL")
    rows = orders[0][np.argsort(lu.perm_r)]
    columns = orders[1][np.argsort(lu.perm_c)]
    own = Factors(lu.L, lu.U, True, False, rows, columns, *scales)
    cholesky = Factors(sp.csc_array(np.linalg.cholesky(H.toarray())))
    superlu = sla.splu(sp.csc_matrix(A))
    for factors, matrix in ((own, A), (cholesky, H), (superlu, A)):
        F = sordino.factorized_lu(factors, matrix)
        for trans, of in OPERATIONS.items():
            x = rng_of_today.standard_normal((n, 2))
            b = of(matrix) @ x
            found = F.solve(b, trans)
            np.testing.assert_allclose(found, x, atol=1e-7)
            np.testing.assert_allclose(F.factors.product(x, trans), b, atol=1e-9)
            assert F.backward_error(b, F.solve(b, trans, refine=3), trans) < 1e-13


def test_without_the_matrix_nothing_is_verified_and_it_is_said():
    lu = sla.spilu(sp.csc_matrix(general(np.random.default_rng(3), 40)), drop_tol=0.1)
    F = sordino.factorized_lu(lu)
    F.solve(np.ones(40))
    assert "residuals" not in F.report
    with pytest.raises(BadArgument, match="refinement needs the matrix"):
        F.solve(np.ones(40), refine=1)
    with pytest.raises(BadArgument, match="a backward error needs the matrix"):
        F.backward_error(np.ones(40), np.ones(40))


def test_an_incomplete_factorisation_preconditions_a_solver_of_scipy(laplacian):
    A = laplacian(8)
    F = sordino.factorized_lu(sla.spilu(sp.csc_matrix(A), drop_tol=1e-3))
    M = sla.LinearOperator(A.shape, matvec=F.solve, dtype=float)
    steps = []
    x, code = sla.bicgstab(A, A @ np.ones(512), rtol=1e-10, M=M, callback=steps.append)
    assert code == 0 and len(steps) < 12
    np.testing.assert_allclose(x, 1, rtol=1e-6)


def test_what_is_not_verified_is_raised_returned_or_warned_of():
    A = general(np.random.default_rng(4), 30)
    F = sordino.factorized_lu(sla.splu(sp.csc_matrix(A)), 2 * A)  # the factors of another matrix
    b = np.ones(30)
    with pytest.raises(
        NotConverged, match=r"inaccurate: \|\|b - A x\|\| / \|\|b\|\| is 1\.00e\+00, above 1e-08"
    ) as e:
        F.solve(b)
    np.testing.assert_array_equal(e.value.solution.x, F.solve(b, on_failure="return"))
    with pytest.warns(sordino.NotConvergedWarning, match="inaccurate"):
        F.solve(b, on_failure="warn")
    F.solve(b, rtol=1.5)
    with pytest.raises(BadArgument, match="on_failure is one of"):
        F.solve(b, on_failure="shrug")


def test_bad_matrices_and_factors_get_one_sentence(rng_of_today):
    A = general(rng_of_today, 10)
    eye = sp.eye_array(3)
    for call, sentence in (
        (lambda: sordino.splu(sp.csr_array([[1.0, 1], [1, 1]])), "the matrix is singular"),
        (lambda: sordino.splu(A[:5]), "the matrix is 5 x 10"),
        (lambda: sordino.splu(A, "metsi"), "ordering is one of .*, did you mean 'metis'"),
        (lambda: sordino.splu(A, colour=1), "options of a triangular solve are .*, not colour"),
        (
            lambda: sordino.factorized_lu(A),
            "factors are those of scipy.sparse.linalg.splu .*, not a csr_array",
        ),
        (lambda: sordino.factorized_lu(Factors(eye), A), "the matrix has 10 rows, and its factors 3"),
        (lambda: sordino.factorized_lu(Factors(eye, 0 * eye)), "U: the pivot of row 0"),
        (lambda: Factors(eye, sp.eye_array(4)), "upper is 4 x 4, and lower has 3 rows"),
        (lambda: Factors(np.eye(3)), "lower is a sparse matrix of SciPy, not a ndarray"),
        (lambda: Factors(eye, row_order=[0, 0, 1]), "row_order is no permutation of 0, ..., 2"),
        (lambda: Factors(eye, row_order=[0.5, 1, 2]), "row_order has 3 whole numbers"),
        (lambda: Factors(eye, row_scale=[1, 0, 1]), "row_scale is positive, and entry 1 is 0"),
        (lambda: Factors(eye, row_scale=[1, 1]), "row_scale has 3 real numbers"),
    ):
        with pytest.raises(BadArgument, match=sentence):
            call()


def test_without_pymetis_minimum_degree_is_taken_or_it_is_said_what_to_install(
    monkeypatch, caplog, laplacian
):
    import builtins

    real = builtins.__import__

    def without(name, *more):
        if name == "pymetis":
            raise ImportError
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with caplog.at_level("INFO", "sordino"):
        assert sordino.splu(laplacian(3)).ordering == "mmd"
    assert "ordering='metis' needs pymetis" in caplog.text
    with pytest.raises(Unsupported, match=r"needs pymetis: pip install 'sordino\[metis\]'"):
        sordino.splu(laplacian(3), "metis")


def test_nested_dissection_fills_less_than_the_natural_order(laplacian):
    A = laplacian(10)
    entries = {o: sordino.splu(A, o).statistics["lower"]["entries"] for o in ("metis", "natural")}
    assert entries["metis"] < 0.5 * entries["natural"]
