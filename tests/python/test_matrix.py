"""What a caller may hand over as a matrix or a vector, and what is refused."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import scipy.sparse as sp

from sordino import BadArgument
from sordino._matrix import all_finite, as_columns, as_csr, as_vector

RNG = np.random.default_rng(1)


def random_matrix(n=40, density=0.1):
    return sp.csr_array(sp.random_array((n, n), density=density, rng=RNG) + sp.eye_array(n))


@pytest.mark.parametrize(
    "kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dense", "csr_matrix", "int32", "bool"]
)
def test_every_format_gives_the_same_rows(kind):
    matrix = random_matrix()
    if kind == "int32":
        matrix = sp.csr_array((matrix * 10).astype(np.int32))
    elif kind == "bool":
        matrix = matrix.astype(bool)
    given = {"dense": matrix.toarray, "csr_matrix": lambda: sp.csr_matrix(matrix)}.get(
        kind, lambda: matrix if kind in ("int32", "bool") else matrix.asformat(kind)
    )()
    rows = as_csr(given)
    assert rows.indptr.dtype == np.int64 and rows.indices.dtype == np.int32 and rows.data.dtype == np.float64
    np.testing.assert_array_equal(rows.matrix().toarray(), matrix.toarray().astype(float))


def test_canonical_csr_is_not_copied():
    matrix = random_matrix()
    matrix.sort_indices()
    rows = as_csr(matrix)
    assert rows.order_kept and np.shares_memory(rows.data, matrix.data)


def test_duplicates_are_summed_and_columns_sorted_and_the_caller_keeps_his():
    matrix = sp.csr_array(
        (np.array([1.0, 2.0, 4.0, 8.0]), np.array([1, 0, 1, 1]), np.array([0, 3, 4])), shape=(2, 2)
    )
    rows = as_csr(matrix)
    np.testing.assert_array_equal(rows.data, [2.0, 5.0, 8.0])
    np.testing.assert_array_equal(rows.indices, [0, 1, 1])
    assert not rows.order_kept
    np.testing.assert_array_equal(matrix.data, [1.0, 2.0, 4.0, 8.0])


def test_flags_that_lie_about_order_are_not_believed():
    matrix = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    rows = as_csr(matrix)
    np.testing.assert_array_equal(rows.indices, [0, 1, 1])
    np.testing.assert_array_equal(rows.data, [2.0, 1.0, 3.0])


def test_explicit_zeros_stay():
    rows = as_csr(sp.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2)))
    assert rows.nnz == 2


def test_float32_is_widened_and_the_log_says_so(caplog):
    with caplog.at_level(logging.INFO, logger="sordino"):
        rows = as_csr(sp.eye_array(3, dtype=np.float32))
    assert rows.data.dtype == np.float64
    assert "float32: converted to float64" in caplog.text


def bad(kind):
    eye = sp.csr_array(sp.eye_array(3))
    if kind == "nan":
        eye.data[1] = np.nan
    elif kind == "inf":
        eye.data[2] = np.inf
    elif kind == "column out of range":
        eye.indices[1] = 7
    elif kind == "negative column":
        eye.indices[1] = -1
    return eye


def diagonals(*offsets, values=2.0):
    return sp.dia_array((np.full((len(offsets), 4), values), offsets), shape=(4, 4))


def test_diagonals_at_the_corners_and_empty_ones_outside_are_taken():
    rows = as_csr(diagonals(-3, 0, 3))
    np.testing.assert_array_equal(rows.matrix().toarray(), diagonals(-3, 0, 3).toarray())
    assert rows.nnz == 6
    outside = sp.dia_array((np.array([[2.0] * 4, [0.0] * 4]), (0, 9)), shape=(4, 4))
    assert as_csr(outside).nnz == 4


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (lambda: bad("nan"), "the matrix holds nan in row 1, column 1 (counted from 0)"),
        (lambda: bad("inf"), "the matrix holds inf in row 2"),
        (lambda: bad("column out of range"), "not a valid CSR matrix"),
        (lambda: bad("negative column"), "not a valid CSR matrix"),
        (lambda: sp.csr_array((3, 4)), "the matrix is 3 x 4, and a system needs a square one"),
        (lambda: sp.csr_array((0, 0)), "the matrix is empty"),
        (lambda: np.zeros((0, 0)), "the matrix is empty"),
        (lambda: sp.csr_array((3, 3)), "row 0 (counted from 0) of the matrix has no entries"),
        (
            lambda: sp.csr_array(np.diag([1.0, 0.0, 2.0])),
            "row 1 (counted from 0) of the matrix has no entries",
        ),
        (lambda: sp.csr_array(np.array([[1.0, 1], [0, 0]])), "row 1 (counted from 0)"),
        (lambda: sp.diags_array([1, 1j, complex(0, np.inf)]), "the matrix holds"),
        (lambda: diagonals(0, 4), "has a diagonal at offset 4, which is outside of its 4 x 4 cells"),
        (lambda: diagonals(0, -7), "has a diagonal at offset -7, which is outside of its 4 x 4 cells"),
        (lambda: np.eye(2) * np.nan, "NaN or infinity"),
        (lambda: "a word", "must be a SciPy sparse matrix or a 2-d array of numbers, not a str"),
        (lambda: None, "not a NoneType"),
        (lambda: np.ones(3), "not an array with 1 dimension"),
        (lambda: np.ones((2, 2, 2)), "not an array with 3 dimensions"),
        (lambda: [[1, 2], [3]], "must be a SciPy sparse matrix"),
        (lambda: np.array([["a", "b"], ["c", "d"]]), "not numbers"),
        (lambda: np.array([[1, 2], [3, 4]], dtype="datetime64[s]"), "not numbers"),
        (lambda: sp.coo_array(([1.0], ([0], [0])), shape=(10**9, 10**9)), "rows without entries"),
    ],
)
def test_a_matrix_that_cannot_be_used_is_refused_with_one_sentence(given, sentence):
    with pytest.raises(BadArgument, match=r"^[^\n]*$") as refused:
        as_csr(given())
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        np.ones(4),
        [1, 1, 1, 1],
        np.ones((4, 1)),
        np.ones(4, dtype=np.float32),
        np.ones(8)[::2],
        sp.csr_array(np.ones((4, 1))),
    ],
)
def test_vectors(given):
    vector = as_vector(given, 4, "b")
    assert vector.shape == (4,) and vector.dtype == np.float64 and vector.flags.c_contiguous


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (np.ones(3), "b has shape (3,), and the matrix has 4 rows"),
        (np.ones((4, 2)), "b has 2 columns"),
        (np.float64(1.0), "b has shape ()"),
        (np.array([1, 2, np.nan, 4]), "b holds nan at position 2"),
        (np.array([1, 2, 3, -np.inf]), "b holds -inf at position 3"),
        (np.array([1, 1j, np.inf * 1j, 0]), "at position 2"),
        (["a", "b", "c", "d"], "not numbers"),
        (np.array([None] * 4), "not numbers"),
        ([[1, 2], [3]], "b is not an array of numbers"),
    ],
)
def test_a_vector_that_cannot_be_used_is_refused_with_one_sentence(given, sentence):
    with pytest.raises(BadArgument, match=r"^[^\n]*$") as refused:
        as_vector(given, 4, "b")
    assert sentence in str(refused.value)


def test_finite_sums_that_overflow_are_no_false_alarm():
    assert all_finite(np.full(10, 1e308))
    assert not all_finite(np.array([1.0, np.inf, -np.inf]))
    assert all_finite(np.empty(0))


def test_patterns_are_told_apart():
    matrix = random_matrix()
    same = matrix.copy()
    same.data = RNG.random(same.nnz)
    assert as_csr(matrix).same_pattern(as_csr(same))
    other = sp.csr_array(matrix + sp.csr_array(([1.0], ([0], [39])), shape=(40, 40)))
    assert not as_csr(matrix).same_pattern(as_csr(other))


def test_what_is_owned_shares_nothing():
    matrix = random_matrix()
    matrix.sort_indices()
    rows = as_csr(matrix, own=True)
    for ours in (rows.data, rows.indices, rows.indptr):
        assert not any(
            np.shares_memory(ours, theirs) for theirs in (matrix.data, matrix.indices, matrix.indptr)
        )


@pytest.mark.parametrize("row", [np.ones((1, 5)), np.asmatrix(np.ones(5)), sp.csr_array(np.ones((1, 5)))])
def test_a_row_is_no_vector(row):
    for take in (as_vector, as_columns):
        with pytest.raises(
            BadArgument,
            match=r"b has shape \(1, 5\), and the matrix has 5 rows: a vector is \(5,\) or \(5, 1\)",
        ):
            take(row, 5, "b")
    column = row.T
    np.testing.assert_array_equal(as_vector(column, 5, "b"), np.ones(5))
    assert as_vector(np.ones((1, 1)), 1, "b").shape == (1,)


def test_masked_entries_are_nobodys():
    masked = np.ma.array(np.ones(4), mask=[0, 0, 1, 0])
    for take in (as_vector, as_columns):
        with pytest.raises(BadArgument, match="b has masked entries"):
            take(masked, 4, "b")
    with pytest.raises(BadArgument, match="b has masked entries"):
        as_columns(np.ma.array(np.ones((4, 2)), mask=np.eye(4, 2)), 4, "b")
    with pytest.raises(BadArgument, match="the matrix has masked entries"):
        as_csr(np.ma.array(np.eye(3), mask=np.eye(3)))
    np.testing.assert_array_equal(as_vector(np.ma.array(np.ones(4)), 4, "b"), np.ones(4))


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize("integers", [np.int32, np.int64])
def test_what_the_core_takes_as_it_is_is_what_the_longer_way_makes_of_it(integers, kind, own):
    matrix = random_matrix(n=70_000, density=3e-5).astype(kind)  # for several threads
    matrix.sort_indices()
    matrix.indptr, matrix.indices = matrix.indptr.astype(integers), matrix.indices.astype(integers)
    direct = as_csr(matrix, own=own)
    longer = as_csr(matrix.tocoo(), own=own)
    assert direct.order_kept and not longer.order_kept
    assert direct.same_pattern(longer)
    np.testing.assert_array_equal(direct.data, longer.data)
    for array, theirs, dtype in (
        (direct.indptr, matrix.indptr, np.int64),
        (direct.indices, matrix.indices, np.int32),
        (direct.data, matrix.data, kind),
    ):
        assert array.dtype == dtype
        assert np.shares_memory(array, theirs) == (not own and theirs.dtype == dtype)


@pytest.mark.parametrize(
    ("row", "breaks", "sentence"),
    [
        (row, breaks, sentence)
        for row in (0, 40_000, 69_999)
        for breaks, sentence in (
            ("nan", "the matrix holds nan in row {row}, column"),
            ("column", "not a valid CSR matrix"),
            ("start", "its index pointers fall"),
        )
    ],
)
def test_one_bad_entry_of_many_is_found_and_told_by_its_row(row, breaks, sentence):
    matrix = sp.csr_array(sp.eye_array(70_000) + sp.eye_array(70_000, k=1))
    if breaks == "nan":
        matrix.data[matrix.indptr[row]] = np.nan
    elif breaks == "column":
        matrix.indices[matrix.indptr[row]] = -1
    else:
        matrix.indptr[max(row, 1)] = matrix.indptr[max(row, 1) + 1] + 1
    with pytest.raises(BadArgument) as refused:
        as_csr(matrix, own=True)
    assert sentence.format(row=row) in str(refused.value)


def test_unsorted_rows_far_from_the_first_are_sorted():
    matrix = sp.csr_array(sp.eye_array(70_000) + sp.eye_array(70_000, k=1))
    at = matrix.indptr[50_000]
    matrix.indices[at : at + 2] = matrix.indices[at : at + 2][::-1].copy()
    matrix.data[at : at + 2] = [3.0, 4.0]
    rows = as_csr(matrix)
    assert not rows.order_kept
    np.testing.assert_array_equal(rows.indices[at : at + 2], [50_000, 50_001])
    np.testing.assert_array_equal(rows.data[at : at + 2], [4.0, 3.0])
