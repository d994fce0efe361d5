"""Algorithm 2 of paper 004 about a factor of a user's: layouts, their messages and the best one."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sordino
from sordino import _paper_prediction, _triangular_prediction, machines
from sordino._paper_prediction import by_critical_path, layouts_of


def of_dense(n, trans="N", lower=True):
    T = np.tril(np.ones((n, n)))
    return _triangular_prediction.of_triangle(sp.csr_array(T if lower else T.T), lower, trans)


def test_a_dense_triangle_of_four_block_columns_is_as_by_hand():
    """As the core's own test: ten blocks of 100 x 100, four thread blocks with 5.2 GB/s each."""
    found = by_critical_path(of_dense(400), machines.load("summit"), [(1, 1), (2, 1), (1, 2)], width=100)
    one, rows, columns = found["layouts"]
    block = 8e4 / 5.2e9
    assert found["block_columns"] == 4 and (one["levels"], rows["levels"], columns["levels"]) == (1, 2, 3)
    assert one["seconds"] == pytest.approx(10 * block / 4) and one["messages"] == 0
    assert (rows["broadcasts"], rows["reductions"]) == (3, 0)
    assert (columns["broadcasts"], columns["reductions"]) == (0, 3)
    assert found["best"] == one
    for row in found["layouts"]:
        assert row["seconds"] == pytest.approx(row["computing"] + row["communicating"])


def test_both_ways_of_a_factor_are_added_and_a_transposed_dense_triangle_is_the_same():
    machine, layouts = machines.load("cluster"), [(1, 1), (2, 2)]
    forward = by_critical_path(of_dense(400), machine, layouts, width=100)
    for other in (of_dense(400, "T"), of_dense(400, "N", lower=False)):
        back = by_critical_path(other, machine, layouts, width=100)
        assert [row["seconds"] for row in back["layouts"]] == pytest.approx(
            [row["seconds"] for row in forward["layouts"]]
        )
    L = sordino.Factors(sp.csr_array(np.tril(np.ones((400, 400)))))
    both = by_critical_path(_triangular_prediction.of_factors(L, "N"), machine, layouts, width=100)
    for row, one in zip(both["layouts"], forward["layouts"], strict=True):
        assert row["seconds"] == pytest.approx(2 * one["seconds"])
        assert row["broadcasts"] == 2 * one["broadcasts"] and row["messages"] == 2 * one["messages"]


def test_the_machine_decides():
    sweeps = of_dense(1200)
    free = {
        **machines.load("cluster"),
        "link_latency_s": 1e-12,
        "link_bandwidth": 1e15,
        "put_overhead_s": 1e-12,
    }
    dear = {**free, "link_latency_s": 1e-2}
    layouts = layouts_of([1, 2, 4])
    assert by_critical_path(sweeps, dear, layouts)["best"]["ranks"] == 1
    assert by_critical_path(sweeps, free, layouts)["best"]["ranks"] > 1


def test_layouts_of_ranks_are_the_papers_shapes():
    assert layouts_of([1, 6]) == [(1, 1), (6, 1), (1, 6), (3, 2)]
    assert layouts_of([7]) == [(7, 1), (1, 7)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("A.mtx", sordino.poisson(8, 8, 8))
    scipy.io.mmwrite("two.mtx", sp.csr_array([[1.0, 0], [1, 1]]))


def test_the_command_prints_a_row_for_each_layout_and_names_the_best(cli, files):
    run = ["predict", "trsv", "A.mtx", "--factor", "--algorithm", "paper", "--machine", "summit"]
    code, out, _ = cli(*run, "--layouts")
    assert code == 0 and "Algorithm 2 of paper 004 on machine summit" in out
    for word in ("levels", "broadcasts", "reductions", "1x18", "6x3", "is the fastest layout", "by steps"):
        assert word in out
    found = json.loads(cli(*run, "--json")[1])
    layouts = [f"{p}x{q}" for p, q in layouts_of(list(_paper_prediction.RANKS))]
    assert [row["layout"] for row in found["layouts"]] == layouts
    assert found["best"]["seconds"] == min(row["seconds"] for row in found["layouts"])
    best = found["best_by_steps"]
    assert best["by_steps"] == min(row["by_steps"] for row in found["layouts"]) > 0
    assert f"By the steps of Algorithm 1, timed on an H200, it is {best['layout']}" in out
    named = json.loads(cli(*run, "--layout", "2x3,1x4,2x3", "--json")[1])
    assert [row["layout"] for row in named["layouts"]] == ["2x3", "1x4"]
    (six,) = (row for row in found["layouts"] if row["layout"] == "6x1")
    assert six == json.loads(cli(*run, "--ranks", "6", "--json")[1])["layouts"][0]


def test_layouts_that_nobody_named_are_left_out_where_a_triangle_has_too_few_block_columns(cli, files):
    code, out, _ = cli("predict", "trsv", "two.mtx", "--algorithm", "paper", "--width", "1", "--json")
    assert code == 0 and [row["layout"] for row in json.loads(out)["layouts"]] == ["1x1", "2x1", "1x2"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--algorithm theirs", "--algorithm is ours or paper, not 'theirs'"),
        ("--layout 2x1", "--layout names layouts of --algorithm paper, and this is algorithm ours"),
        ("--algorithm paper --layout 2x", "--layout is PxQ of at most 32 ranks"),
        ("--algorithm paper --layout 6x6", "--layout is PxQ of at most 32 ranks"),
        ("--algorithm paper --layout 2x1 --ranks 2", "leave one out"),
        ("--algorithm paper --nrhs 2", "the paper's model is of one right-hand side: leave out --nrhs 2"),
        ("--algorithm paper --plan p.svg", "--plan draws predictions of our own algorithm"),
        ("--algorithm paper --layout 4x1 --width 1", "more ranks, 4, than the triangle has block columns, 2"),
    ],
)
def test_what_cannot_be_meant_gets_one_sentence(cli, files, words, sentence):
    code, out, err = cli("predict", "trsv", "two.mtx", *words.split())
    assert code == 2 and out == "" and sentence in err and err.count("\n") == 1


def test_steps_are_of_the_values_that_there_are(cli, files):
    machine, layouts = machines.load("laptop"), [(1, 1), (1, 2)]
    L = sp.csr_array(np.tril(np.ones((400, 400))))
    for kind in (np.float32, np.float64, np.complex128):
        sweeps = _triangular_prediction.of_triangle(L.astype(kind), True, "N")
        found = {
            row["layout"]: row["by_steps"] for row in by_critical_path(sweeps, machine, layouts)["layouts"]
        }
        for layout, said in zip(layouts, ("1x1", "1x2"), strict=True):
            F = sordino.factorized(
                L.astype(kind), algorithm="paper", engine="model", layout=layout, machine="laptop"
            )
            F.solve(np.ones(400, kind))
            assert F.statistics["modelled_seconds"] == pytest.approx(found[said], rel=1e-12)


def test_layouts_beside_widths_that_are_chosen_have_the_papers(cli, files):
    words = ("predict", "trsv", "A.mtx", "--factor", "--ranks", "1,2", "--layouts", "--json")
    chosen, said = (json.loads(cli(*words, "--width", width)[1])["layouts"] for width in ("auto", "128"))
    assert chosen == said


def test_a_memory_that_is_far_too_slow_takes_no_longer_to_predict():
    slow = {**machines.load("laptop"), "memory_bandwidth": 1e2}
    slow["triangular"] = {**slow.get("triangular", {}), "bandwidth": 1e2}
    (row,) = by_critical_path(of_dense(600), slow, [(1, 1)])["layouts"]
    assert row["by_steps"] == pytest.approx(8 * 600 * 601 / 2 / 1e2, rel=0.3)
