"""Triangular systems from Python: sordino.factorized."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino
from sordino import BadArgument, NotConverged, Unsupported

OPERATIONS = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.conj().T}


def triangle(rng, n, dtype, lower=True, entries=4):
    """Rows whose entries off the diagonal are small: solutions neither grow nor vanish."""
    dense = rng.standard_normal((n, n)) * (rng.random((n, n)) < entries / n) / entries
    if np.issubdtype(dtype, np.complexfloating):
        dense = dense * np.exp(2j * np.pi * rng.random((n, n)))
    dense = np.tril(dense, -1) + np.diag(rng.choice([-1, 1], n) * rng.uniform(0.5, 2, n))
    return sp.csr_array((dense if lower else dense.T).astype(dtype))


def relative(A, x, b):
    return np.linalg.norm(A @ x - b) / np.linalg.norm(b)


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


def test_a_described_machine_has_the_bits_of_the_host_and_a_clock_of_its_own(rng_of_today):
    L = sp.csr_array(sp.tril(sordino.poisson(12, 12, 12)))
    b = rng_of_today.standard_normal(L.shape[0])
    host = sordino.factorized(L)

    def modelled(trans="N", **options):
        F = sordino.factorized(L, engine="model", **options)
        assert np.array_equal(F.solve(b, trans, refine=0), host.solve(b, trans, refine=0))
        return F.statistics["modelled_seconds"]

    for trans in "NT":
        one = modelled(trans)
        assert one == modelled(trans) and 0 < one < 1e-3
        assert modelled(trans, machine="laptop") > one  # less bandwidth
        for seed in (1, 2, 3):  # late tasks and messages, in another order
            assert modelled(trans, ranks=3, seed=seed) > modelled(trans, ranks=3)
    assert host.statistics["modelled_seconds"] == 0


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
    (
        sp.eye_array(2),
        {"machine": "summit"},
        "or for ranks='auto' or width='auto' of engine cuda; this is engine host",
    ),
    (sp.eye_array(2), {"engine": "model", "machine": "abacus"}, "unknown machine 'abacus'"),
    (sp.eye_array(2), {"engine": "model", "seed": -1}, "seed is a whole number, at least 0, not -1"),
    (sp.eye_array(2), {"devices": "0"}, "devices are those of engine cuda, and this is engine host"),
    (sp.eye_array(2), {"devices": 0}, "devices is a text such as '0-3' or '0,2', not int"),
    (
        sp.eye_array(2),
        {"engine": "abacus"},
        "engine is host, processes, cuda or model for triangular solves, not 'abacus'",
    ),
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
    n = 24
    L = sp.csc_array(np.tril(-np.ones((n, n)), -1) + 0.75 * np.eye(n))
    F = sordino.factorized(L)
    b = L @ np.ones(n)
    assert F.backward_error(b, F.solve(b, refine=0)) > 1e-14
    assert F.backward_error(b, F.solve(b)) < 1e-15
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


def ilu0(A):
    """The factors of A = L U + R that drop all fill, row by row (Saad, Iterative Methods, 2003, algorithm 10.4)."""
    A = sp.csr_array(A, copy=True)
    rows = [dict(zip(A[[i]].indices, A[[i]].data, strict=True)) for i in range(A.shape[0])]
    for row, entries in enumerate(rows):
        for k in sorted(entries):
            if k >= row:
                break
            entries[k] /= rows[k][k]
            for j in entries.keys() & rows[k].keys():
                if j > k:
                    entries[j] -= entries[k] * rows[k][j]
        rows[row] = entries
    i, j = A.nonzero()
    F = sp.csr_array((np.array([rows[a][b] for a, b in zip(i, j, strict=True)]), (i, j)), shape=A.shape)
    return sp.csr_array(sp.tril(F, -1) + sp.eye_array(A.shape[0])), sp.csr_array(sp.triu(F))


def test_an_incomplete_factor_is_kept_by_rows_and_preconditions(rng_of_today):
    A = sordino.poisson(10, 9, 8)
    L, U = ilu0(A)
    lower, upper = sordino.factorized(L, unit_diagonal=True), sordino.factorized(U, lower=False)
    for F, T in ((lower, L), (upper, U)):
        s = F.statistics
        assert s["by_rows"] and s["blocks"] == 0 and s["stored_entries"] == T.nnz
        assert s["longest_chain"] == 10 + 9 + 8 - 2
        assert "by rows in 25 levels" in repr(F)
        for trans in "NTH":
            b = rng_of_today.standard_normal((A.shape[0], 3))
            assert F.backward_error(b, F.solve(b, trans), trans) < 2e-15
            assert F.report["refinements"] == 0
    b = A @ np.ones(A.shape[0])

    def iterations(M):
        count = []
        x, code = sla.cg(A, b, rtol=1e-10, M=M, callback=lambda _: count.append(1))
        assert code == 0 and np.allclose(x, 1)
        return len(count)

    M = sla.LinearOperator(A.shape, lambda r: upper.solve(lower.solve(r)))
    assert iterations(M) < 0.6 * iterations(None)


def test_an_incomplete_factor_of_a_large_grid_takes_no_more_memory_than_its_entries(rng_of_today):
    L = sp.csr_array(sp.tril(sordino.poisson(40, 40, 40)))  # its whole factor would have 1e8 entries
    b = rng_of_today.standard_normal(L.shape[0])
    F = sordino.factorized(L)
    x = F.solve(b)
    assert F.backward_error(b, x) < 2e-15
    assert F.statistics["by_rows"] and F.statistics["memory_bytes"] < 40 * L.nnz
    for options in ({"threads": 1}, {"ranks": 3, "threads": 4}, {"engine": "model", "ranks": 2, "seed": 3}):
        np.testing.assert_array_equal(x, sordino.factorized(L, **options).solve(b))
    F.update(2 * L.data)
    np.testing.assert_array_equal(2 * F.solve(b), x)


def test_factors_of_spilu_are_kept_by_rows_where_they_lack_fill():
    A = sp.csc_matrix(sordino.poisson(14, 14, 14))
    lu = sla.spilu(A, drop_tol=0.01, fill_factor=2, permc_spec="NATURAL")
    F = sordino.factorized_lu(lu)
    assert F.statistics["lower"]["by_rows"] and F.statistics["upper"]["by_rows"]
    b = np.random.default_rng(3).standard_normal(A.shape[0])
    np.testing.assert_allclose(F.solve(b), lu.solve(b), rtol=1e-9, atol=1e-12)


def test_a_whole_factor_is_kept_by_supernodes():
    lu = sla.splu(sp.csc_matrix(sordino.poisson(9, 9, 9)), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0)
    assert not sordino.factorized(lu.L).statistics["by_rows"]
    assert not sordino.factorized(lu.U, lower=False).statistics["by_rows"]


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


def test_late_tasks_change_no_bits(rng_of_today):
    for L in (
        sordino.splu(sordino.poisson(6, 6, 6), "mmd").factors.lower,
        sp.csr_array(sp.tril(sordino.poisson(9, 9, 9))),
    ):
        b = rng_of_today.standard_normal((L.shape[0], 2))
        x = {trans: sordino.factorized(L, width=16).solve(b, trans, 0) for trans in "NT"}
        for _ in range(3):
            seed = int(rng_of_today.integers(1, 2**31))
            F = sordino.factorized(L, width=16, ranks=3, threads=5, seed=seed)
            for trans in "NT":
                np.testing.assert_array_equal(F.solve(b, trans, 0), x[trans])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"blocks": 3},
            "blocks are thread blocks of engine cuda and algorithm ours, and this is engine host",
        ),
        ({"blocks": 3, "engine": "model"}, "and this is engine model and algorithm ours: leave blocks out"),
        ({"blocks": -1}, "blocks is a whole number, at least 0"),
        ({"blocks": 65537}, "blocks are 0 to 65536, not 65537"),
    ],
)
def test_thread_blocks_are_those_of_engine_cuda(options, sentence):
    with pytest.raises(BadArgument, match=sentence):
        sordino.factorized(sp.eye_array(4), **options)
