"""Pivots that may stand for zero: which one is said, and solves are as good as substitution."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import scipy.io
import scipy.linalg as la
import scipy.sparse as sp

import sordino
from sordino import TinyPivotWarning


def dense(n=60, seed=11):
    rng = np.random.default_rng(seed)
    return np.tril(rng.uniform(-1, 1, (n, n)), -1) + np.diag(rng.uniform(1, 2, n) * np.sqrt(n))


@pytest.mark.parametrize("lower", [True, False])
def test_the_warning_names_the_row_and_whether_row_or_column_has_the_larger_entry(lower):
    T = dense()
    T[30, 30], T[50, 30], T[40, 40] = 1e-17, 8.0, 1e-16
    said = (
        f"the pivot of row 30 is tiny, 1e-17 beside 8 in its {'column' if lower else 'row'}, "
        "as 1 more are beside theirs (rows are counted from 0): the triangle may be singular"
    )
    with pytest.warns(TinyPivotWarning, match=re.escape(said)) as told:
        F = sordino.factorized(T if lower else T.T, lower=lower)
    assert len(told) == 1 and told[0].filename == __file__
    assert F.statistics["tiny_pivots"] == 2


@pytest.mark.parametrize("trans", ["N", "T"])
def test_solves_are_those_of_substitution_for_each_column_of_the_triangle(trans):
    T = dense()
    M = T if trans == "N" else T.T
    T[[20, 41], [20, 41]] = 1e-25, -1e-19
    with pytest.warns(TinyPivotWarning, match="row 20"):
        F = sordino.factorized(T)
    assert F.statistics["by_rows"] and F.statistics["growth"] == 1
    for b in [*M.T, M @ np.ones(60)]:
        assert F.backward_error(b, F.solve(b, trans), trans) < 2e-15


def test_new_values_may_bring_one_and_take_it_away(recwarn):
    T = dense()
    F = sordino.factorized(T)
    assert not recwarn and not F.statistics["by_rows"]
    S = T.copy()
    S[20, 20] = 1e-30
    with pytest.warns(TinyPivotWarning, match="row 20"):
        F.update(sp.csr_array(S))
    b = S[:, 3].copy()
    assert F.backward_error(b, F.solve(b)) < 2e-15
    F.update(sp.csr_array(T))
    assert F.statistics["tiny_pivots"] == 0
    np.testing.assert_allclose(F.solve(b), la.solve_triangular(T, b, lower=True))


def test_of_factors_the_sentence_says_which_triangle_and_a_singular_matrix_is_seen():
    A = sordino.poisson(8, 8, 8)
    A = sp.csr_array(A - sp.diags_array(np.asarray(A.sum(axis=1)).ravel()))  # rows add up to zero
    with pytest.warns(TinyPivotWarning, match=r"^U: the pivot of row 511 is tiny, .* in its column"):
        F = sordino.splu(A)
    assert not F.statistics["upper"]["by_rows"]  # nothing comes behind the last pivot
    b = A @ np.random.default_rng(1).standard_normal(512)
    assert np.linalg.norm(b - A @ F.solve(b)) <= 1e-8 * np.linalg.norm(b)


def test_small_pivots_that_stand_alone_and_unit_diagonals_are_not_tiny(recwarn):
    sordino.factorized(sp.diags_array([1e-200, 1.0]))
    T = dense()
    T[30, 30] = 1e-30
    F = sordino.factorized(T, unit_diagonal=True)
    assert F.statistics["tiny_pivots"] == 0 and not recwarn


def test_the_command_line_has_it_as_a_note(cli, tmp_path):
    T = dense(20)
    T[7, 7] = 1e-22
    scipy.io.mmwrite(tmp_path / "L.mtx", sp.csr_array(T))
    code, out, err = cli("trsv", str(tmp_path / "L.mtx"))
    assert code == 0 and "The pivot of row 7 is tiny, 1e-22 beside " in out and err == ""
    code, out, _ = cli("trsv", str(tmp_path / "L.mtx"), "--json")
    assert json.loads(out)["notes"][0].startswith("The pivot of row 7 is tiny")
