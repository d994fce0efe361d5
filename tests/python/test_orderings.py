"""Orderings of a factorisation: which one is taken, that predictions take the same, and what trying others costs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import sordino
from sordino import BadArgument, _factoring, _ordering

ROOT = Path(__file__).parents[2]


def one_sided(shape, seed=3):
    """A grid's matrix that lacks some entries above its diagonal, so that its pattern is not symmetric."""
    A = sp.coo_array(sordino.poisson(*shape))
    kept = (A.row >= A.col) | (np.random.default_rng(seed).random(A.nnz) < 0.7)
    return sp.csr_array((A.data[kept], (A.row[kept], A.col[kept])), shape=A.shape)


def modelled(A, ordering):
    """Seconds of a solve on one GPU of the machine that orderings are compared on."""
    F = sordino.splu(A, ordering, engine="model", machine="h200x4", ranks=1)
    F.solve(np.ones(A.shape[0]), refine=0, on_failure="return")
    return F, sum(F.statistics[part]["modelled_seconds"] for part in ("lower", "upper"))


def nearly_triangular():
    """Its own order fills nothing below the diagonal."""
    return sp.csr_array(
        sp.triu(sp.random_array((800, 800), density=0.01, rng=np.random.default_rng(1))) + sp.eye_array(800)
    )


@pytest.mark.parametrize(
    ("A", "taken"),
    [(one_sided((20, 20, 1)), "metis"), (nearly_triangular(), "natural")],
    ids=["grid", "triangle"],
)
def test_the_ordering_whose_solves_are_predicted_to_be_the_fastest_is_taken(A, taken):
    F = sordino.splu(A)
    assert F.ordering == taken
    tried = F.statistics["orderings"]
    assert set(tried) == {"colamd", "metis", "natural"}
    for name, seconds in tried.items():
        assert seconds == pytest.approx(modelled(A, name)[1], rel=1e-12)
    assert F.ordering == min(tried, key=tried.get)
    assert F.statistics["ordering_reason"].startswith("a solve is predicted to take ")
    assert "on one GPU of h200x4, " in F.statistics["ordering_reason"]
    named = sordino.splu(A, F.ordering)
    assert named.statistics["ordering_reason"] == "it was asked for" and named.statistics["orderings"] == {}
    for name in ("row_order", "column_order"):
        np.testing.assert_array_equal(getattr(F.factors, name), getattr(named.factors, name))
    np.testing.assert_allclose(F.solve(A @ np.ones(A.shape[0])), 1, rtol=1e-10)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("A.mtx", sp.coo_matrix(one_sided((20, 20, 1))))
    scipy.io.mmwrite("S.mtx", sp.coo_matrix(sordino.poisson(9, 8, 7)))
    saddle = sp.block_array([[sordino.poisson(8, 8, 1), sp.eye_array(64)], [sp.eye_array(64), None]])
    scipy.io.mmwrite("zeros.mtx", sp.coo_matrix(saddle))  # on its diagonal: pivots cannot stay there


@pytest.mark.parametrize("trans", ["N", "T"])
@pytest.mark.parametrize(
    "words",
    ["A.mtx", "zeros.mtx", *(f"A.mtx --ordering {o}" for o in ("metis", "mmd", "colamd", "natural"))],
)
def test_predictions_are_of_the_factors_that_solves_take(cli, files, words, trans):
    more = (*words.split(), "--factor", "--trans", trans, "--json")
    code, out, err = cli("predict", "trsv", *more, "--machine", "laptop", "--ranks", "1,2")
    assert code == 0, err
    foretold = json.loads(out)
    for row in foretold["predicted"]:
        model = ("--engine", "model", "--machine", "laptop", "--ranks", row["ranks"])
        code, out, err = cli("trsv", *more, *model, "--refine", "0", "--rtol", "1e-6")
        assert code == 0, err
        facts = json.loads(out)
        seconds = sum(part["modelled_seconds"] for part in facts["statistics"].values())
        assert row["seconds"] == pytest.approx(seconds, rel=1e-12)
        for name in ("ordering", "ordering_reason", "orderings"):
            assert facts[name] == foretold[name]
    assert "factors L and U of SciPy's SuperLU, ordering " in foretold["what"]


def test_both_commands_say_which_ordering_and_why(cli, files):
    sentences = []
    for command in ("trsv", "predict trsv"):
        code, out, _ = cli(*command.split(), "A.mtx", "--factor")
        assert code == 0
        sentences += [line for line in out.splitlines() if line.startswith("Ordering ")]
    assert len(sentences) == 2 and sentences[0] == sentences[1]
    assert sentences[0].startswith("Ordering metis: a solve is predicted to take ")
    for command in ("trsv", "predict trsv"):
        assert "Ordering metis: the pattern is symmetric.\n" in cli(*command.split(), "S.mtx", "--factor")[1]


def test_a_symmetric_pattern_without_zeros_on_the_diagonal_is_predicted_without_factoring(
    cli, files, monkeypatch
):
    real, factored = _factoring.superlu, []
    monkeypatch.setattr(_factoring, "superlu", lambda *given: factored.append(given[2]) or real(*given))
    for ordering in ("auto", "metis", "natural"):
        assert cli("predict", "trsv", "S.mtx", "--factor", "--ordering", ordering)[0] == 0
    assert factored == []
    for words in ("S.mtx --ordering mmd", "S.mtx --ordering colamd", "zeros.mtx", "A.mtx"):
        assert cli("predict", "trsv", *words.split(), "--factor")[0] == 0
    assert factored == ["mmd", "colamd", "metis", "colamd", "metis", "natural"]


def test_row_merging_bounds_any_choice_of_pivots(rng_of_today):
    for density in (0.02, 0.1):
        A = sp.csr_array(sp.random_array((60, 60), density=density, rng=rng_of_today) + sp.eye_array(60))
        most = _ordering.most_multiplications(A, np.inf)
        for _ in range(5):  # other values, other pivots
            B = A.copy()
            B.data = rng_of_today.standard_normal(B.nnz)
            lu = sla.splu(sp.csc_matrix(B), permc_spec="NATURAL")
            L, U = sp.csc_array(lu.L), sp.csr_array(lu.U)
            assert (np.diff(L.indptr) - 1) @ np.diff(U.indptr) <= most
        assert _ordering.most_multiplications(A, most) == most
        assert _ordering.most_multiplications(A, most - 1) == np.inf
    full = sp.csr_array(np.ones((9, 9)))
    assert _ordering.most_multiplications(full, np.inf) == sum(k * (k + 1) for k in range(9))
    assert _ordering.most_multiplications(sp.csr_array(sp.eye_array(9)), 0) == 0


def test_what_may_be_dear_or_fails_is_not_taken_and_it_is_said(monkeypatch):
    A = one_sided((20, 20, 1))
    real = _factoring._in_order

    def fails(matrix, before, ordering, symmetric=False):
        if ordering != "colamd":
            raise BadArgument("the matrix is singular")
        return real(matrix, before, ordering, symmetric)

    with monkeypatch.context() as patched:
        patched.setattr(_factoring, "_in_order", fails)
        F = sordino.splu(A)
        assert F.ordering == "colamd"
        for name in ("metis", "natural"):
            assert f"{name} was tried: the matrix is singular" in F.statistics["ordering_reason"]
    monkeypatch.setattr(_factoring, "_MOST", 1e3)
    F = sordino.splu(A)
    assert F.ordering == "colamd" and set(F.statistics["orderings"]) == {"colamd"}
    for name in ("metis", "natural"):
        sentence = f"{name} may take above 1,000 multiplications, and was not tried"
        assert sentence in F.statistics["ordering_reason"]


def test_other_factorisations_may_take_ten_times_the_first_one(monkeypatch):
    full = sordino.splu(np.ones((9, 9)) + np.eye(9)).factors
    taken = sum(k * (k + 1) for k in range(9))
    assert _factoring._limit(full) == _factoring._CHEAP
    monkeypatch.setattr(_factoring, "_CHEAP", 1.0)
    assert _factoring._limit(full) == 10 * taken
    monkeypatch.setattr(_factoring, "_MOST", 20.0)
    assert _factoring._limit(full) == 20


def test_without_pymetis_the_other_orderings_are_tried(monkeypatch):
    missing = "ordering='metis' needs pymetis: pip install 'sordino[metis]'"
    monkeypatch.setattr(_factoring, "without_metis", lambda: missing)
    F = sordino.splu(one_sided((20, 20, 1)))
    assert set(F.statistics["orderings"]) == {"colamd", "natural"}
    assert F.statistics["ordering_reason"].endswith(f"; {missing}")


def test_recorded_orderings_are_on_the_pages():
    record = "2026-11-26_trsv_orderings_2_cores.jsonl"
    text = (ROOT / "bench" / "records" / record).read_text(encoding="utf-8")
    rows = {(row["matrix"], row["ordering"]): row for row in map(json.loads, text.splitlines())}
    solves, predicting = (
        (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        for page in ("triangular_solves", "predicting")
    )
    assert record in solves and record in predicting
    for matrix in ("micro-grid", "bayer10"):
        orders = [rows[matrix, name] for name in ("colamd", "metis", "natural")]
        us = [f"{1e6 * row['seconds']:,.0f}{'' if row['tried'] else ', not tried'}" for row in orders]
        (taken,) = (f"`{row['ordering']}`" for row in orders if row["taken"])
        alone = f"{1e6 * rows[matrix, 'metis']['pattern_alone_seconds']:.0f}"
        cells = [matrix, format(orders[0]["n"], ","), *us, taken, alone]
        assert f"| {' | '.join(cells)} |" in solves
    big, small = (
        (row["pattern_alone_seconds"], row["seconds"])
        for row in (rows["big.rua", "metis"], rows["bcsstk16", "metis"])
    )
    said = [f"{1e6 * seconds:.0f}" for seconds in (*big, *small)]
    assert (
        "of big.rua {} us are predicted, and SuperLU's factors take {} on the same clock; of bcsstk16 {} and {} "
        "(".format(*said)
        in predicting
    )
