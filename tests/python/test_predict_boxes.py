"""``sordino predict`` of ranks that own boxes of a grid, and of the problems that ``sordino poisson`` makes."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from sordino import BadArgument, _predict, _predict_boxes, machines
from sordino._box import Box
from sordino._subject import of_box

pytest.importorskip("sordino._core")


@pytest.mark.parametrize(
    ("cells", "ranks", "machine", "most", "problem"),
    [
        ((64, 64, 64), 8, {}, 30_000, {}),
        ((64, 64, 64), 8, {"link_bandwidth": 1e9, "internode_bandwidth": 1e9}, 30_000, {}),
        ((72, 72, 72), 27, {"memory_bandwidth": 2e11, "internode_latency_s": 9e-6}, 27_000, {}),
        ((60, 60, 60), 27, {}, 27_000, {"stencil": 27}),
        ((64, 60, 50), 12, {}, 30_000, {"boundary": "neumann"}),
    ],
)
def test_smaller_boxes_of_ranks_take_as_long_as_the_whole(cells, ranks, machine, most, problem, monkeypatch):
    described = {**machines.load("cluster"), **machine}
    box = Box(cells, **problem)
    found = []
    for limit in (box.n, most):
        monkeypatch.setattr(_predict, "in_boxes", partial(_predict_boxes.in_boxes, most_rows=limit))
        options = {"solver": "cg", "partition": "boxes", "storage": "csr"}
        found.append(_predict.iteration(of_box("", box), described, ranks, options, runs=_predict.RUNS[1:]))
    whole, scaled = found
    assert scaled.rows_run < 0.2 * whole.rows_run
    assert scaled.seconds == pytest.approx(whole.seconds, rel=0.03)
    assert scaled.parts["halo"] == pytest.approx(whole.parts["halo"], abs=0.02 * whole.seconds)
    for name, within in (("memory_bytes", 0.08), ("messages", 0.02), ("bytes_sent", 0.05)):
        assert scaled.ledger[name] == pytest.approx(whole.ledger[name], rel=within)


def test_boxes_are_predicted_to_send_less_than_slabs(cli):
    def predicted(*more):
        code, out, err = cli(
            "predict", "poisson", 24, 24, 24, "--solvers", "cg", "--iterations", 10, "--json", *more
        )
        assert code == 0, err
        return json.loads(out)["predicted"]

    slabs = predicted("--ranks", 8)[0]
    auto, given = (
        predicted("--partition", "boxes", "--boxes", b, "--ranks", 8)[0] for b in ("auto", "2,2,2")
    )
    assert auto["iteration_s"] == given["iteration_s"]
    # Rank 0 sends one plane of its slab, and three quarters of a plane of its box.
    assert given["ledger"]["bytes_sent"] == pytest.approx(0.75 * slabs["ledger"]["bytes_sent"], rel=0.01)
    assert given["storage"] == "dia" and given["storage_reason"].startswith("its 7 diagonals take")
    (alone,) = predicted("--partition", "boxes", "--boxes", "1,2,3")
    assert alone["ranks"] == 6, "as many as boxes"


def test_boxes_that_cannot_be_predicted_say_so(cli, tmp_path, laplacian):
    grid = ("predict", "poisson", 12, 12, 12, "--solvers", "cg", "--partition", "boxes", "--iterations", 9)
    for more, sentence in (
        (
            ("--boxes", "1,2,2", "--ranks", 6),
            "boxes 1 x 2 x 2 are 4, and each rank has one: there are 6 ranks",
        ),
        (("--grid", "6,12,24", "--ranks", 4), "grid is that of the problem, 12 x 12 x 12: leave it out"),
    ):
        code, out, err = cli(*grid, *more)
        assert code == 2 and out == "" and sentence in err
    sp.save_npz(tmp_path / "a.npz", laplacian(8))
    file = ("predict", tmp_path / "a.npz", "--solvers", "cg", "--partition", "boxes", "--ranks", 8)
    assert "give its cells in x, y and z (option grid)" in cli(*file)[2]
    assert cli(*file, "--grid", "8,8,8")[0] == 0
    large = of_box("", Box((128, 128, 128)), 20_000)
    with pytest.raises(BadArgument, match="partition metis is predicted up to 1,000,000 rows"):
        _predict.iteration(large, machines.load("laptop"), 4, {"solver": "cg", "partition": "metis"})
    in_boxes = {"solver": "cg", "partition": "boxes"}
    assert _predict.iteration(large, machines.load("laptop"), 4, in_boxes).storage == "csr"
    with pytest.raises(BadArgument, match="boxes of more than 1,000,000 cells in all are predicted by rows"):
        _predict.iteration(large, machines.load("laptop"), 4, {**in_boxes, "storage": "dia"})
    closed = Box((16, 16, 16), phases="bubbles", contrast=10.0, boundary="neumann", obstacles=2)
    with pytest.raises(BadArgument, match="a tank that is closed on all sides"):
        _predict_boxes.loosened(closed.made(), closed.cells, [2, 2, 2], [2, 2, 2])


@pytest.mark.parametrize(
    "problem",
    [
        ("--bc", "neumann"),
        ("--phases", "bubbles", "--obstacles", 2),
        ("--phases", "free-surface", "--bc", "neumann", "--obstacles", 1),
    ],
)
def test_generated_problems_are_those_of_poisson(cli, problem):
    cells = (12, 12, 16)
    code, out, err = cli(
        "poisson", *cells, *problem, "--solver", "cg", "--precond", "jacobi", "--engine", "host", "--json"
    )
    assert code == 0, err
    solved = json.loads(out)
    for partition in ("blocks", "boxes"):
        words = ("--solvers", "cg", "--ranks", 4, "--partition", partition, "--json")
        code, out, err = cli("predict", "poisson", *cells, *problem, *words)
        assert code == 0, err
        found = json.loads(out)
        (row,) = found["predicted"]
        assert found["problem"] == solved["problem"]["name"] and found["entries"] == solved["problem"]["nnz"]
        assert row["iterations"] == pytest.approx(solved["iterations"], abs=2)


def test_a_nullspace_is_projected_in_what_is_predicted():
    box = Box((12, 12, 12), boundary="neumann")
    found = _predict.iteration(of_box("", box), machines.load("laptop"), 2, {"solver": "cg"})
    regular = _predict.iteration(of_box("", Box((12, 12, 12))), machines.load("laptop"), 2, {"solver": "cg"})
    assert box.made().nullspace == "constant"
    assert found.ledger["reductions"] == pytest.approx(regular.ledger["reductions"], rel=0.1)
    loose = _predict_boxes.loosened(box.made(), box.cells, [2, 2, 1], [3, 3, 3]).matrix()
    assert loose.nnz < box.entries and abs(loose @ np.ones(box.n)).max() < 1e-12
    assert abs(loose - loose.T).max() == 0
