"""Ranks that own boxes of a grid: less to send, and nothing else that a caller would notice."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
from sordino import _core

RTOL = 1e-9
GRID = (16, 15, 14)


@pytest.fixture(scope="module")
def system():
    A = sordino.poisson(*GRID, contrast=10.0)
    return A, np.random.default_rng(21).standard_normal(A.shape[0])


def solver_of(A, **options):
    usual = {"rtol": RTOL, "engine": "host", "solver": "cg", "grid": GRID}
    if "M" not in options:
        usual["precond"] = "jacobi"  # which boxes have, too
    return sordino.Solver(A, **{**usual, **options})


def in_boxes(A, **options):
    return solver_of(A, **{"partition": "boxes", "boxes": (1, 2, 3), **options})


def test_sends_the_faces_and_solves_the_same(system):
    A, b = system
    slabs, boxes = solver_of(A, ranks=8).solve(b), in_boxes(A, boxes=(2, 2, 2)).solve(b)
    assert np.linalg.norm(b - A @ boxes.x) <= RTOL * np.linalg.norm(b)
    assert np.allclose(boxes.x, slabs.x, rtol=0, atol=1e-6 * np.abs(slabs.x).max())
    assert abs(boxes.iterations - slabs.iterations) <= 1
    # Rank 0's box has 8 x 7 x 7 cells and three neighbours; products are those of the iterations, and a few more.
    messages, sent = boxes.ledger["messages"], boxes.ledger["bytes_sent"]
    assert messages % 3 == 0
    assert boxes.iterations <= messages // 3 <= boxes.iterations + 5
    assert sent == messages // 3 * 8 * (7 * 7 + 8 * 7 + 8 * 7)
    assert boxes.report.options["partition"] == "boxes"
    assert boxes.report.options["boxes"] == "2,2,2"
    assert boxes.report.storage_reason == slabs.report.storage_reason


@pytest.mark.parametrize("boxes", [(1, 2, 3), "3,2", (5,), "auto"])
@pytest.mark.parametrize("engine", ["host", "model"])
def test_any_shape_on_any_engine(system, boxes, engine):
    A, b = system
    ranks = {"ranks": 7} if boxes == "auto" else {}  # else as many as boxes
    solver = in_boxes(A, boxes=boxes, engine=engine, **ranks)
    assert solver.options["ranks"] == {(1, 2, 3): 6, "3,2": 6, (5,): 5, "auto": 7}[boxes]
    x = solver.solve(b).x
    assert np.linalg.norm(b - A @ x) <= RTOL * np.linalg.norm(b)
    assert np.array_equal(solver.solve(b).x, x)


def test_tiles_in_boxes(system):
    A, b = system
    whole = in_boxes(A, precond="block-ilu").solve(b)
    tiles = in_boxes(A, precond="block-ilu", tile=(4, 3, 2))
    assert np.linalg.norm(b - A @ whole.x) <= RTOL * np.linalg.norm(b)
    assert whole.iterations < tiles.solve(b).iterations < in_boxes(A, precond="jacobi").solve(b).iterations
    options = {"partition": "boxes", "grid": GRID, "boxes": (1, 2, 3), "engine": "host", "solver": "cg"}
    options |= {"precond": "block-ilu", "tile": (4, 3, 2)}
    assert sordino.estimate_memory(A, **options)["bytes_per_rank"] == tiles.memory()["bytes_per_rank"]
    values = A.data.copy()
    values[A.indptr[1000] + np.flatnonzero(A.indices[A.indptr[1000] : A.indptr[1001]] == 1000)] = -1.0
    with pytest.raises(sordino.BadArgument, match="the pivot of row 1000 is not positive"):
        tiles.update_values(values)
    with pytest.raises(sordino.BadArgument, match="tile 4 x 8 x 2 is larger than the smallest box of a rank"):
        in_boxes(A, precond="block-ilu", tile=(4, 8, 2))


@pytest.mark.parametrize("precond", ["none", "jacobi", "chebyshev", "sqrt-jacobi", "block-ilu"])
def test_preconditioners(system, precond):
    A, b = system
    solution = in_boxes(A, precond=precond).solve(b)
    assert np.linalg.norm(b - A @ solution.x) <= RTOL * np.linalg.norm(b)
    few = 1 if precond != "block-ilu" else 6  # whose tiles are others
    assert abs(solution.iterations - solver_of(A, precond=precond, ranks=6).solve(b).iterations) <= few


def test_storages(system):
    A, b = system
    solvers = {storage: in_boxes(A, storage=storage) for storage in ("auto", "dia", "symdia", "csr")}
    bits = {name: solver.solve(b).x.tobytes() for name, solver in solvers.items()}
    assert bits["auto"] == bits["dia"] == bits["symdia"]
    assert np.allclose(np.frombuffer(bits["csr"]), np.frombuffer(bits["dia"]), atol=1e-6)
    held = {name: sum(solver.memory()["bytes_per_rank"]) for name, solver in solvers.items()}
    assert held["symdia"] < held["dia"]
    solvers["symdia"].update_values(4.0 * A.data)
    assert np.array_equal(4.0 * solvers["symdia"].solve(b).x, np.frombuffer(bits["dia"]))
    plain = sordino.poisson(*GRID)
    constant = in_boxes(plain, storage="constant").solve(b).x
    assert np.array_equal(constant, in_boxes(plain, storage="dia").solve(b).x)
    with pytest.raises(sordino.BadArgument, match="storage symdia keeps one entry"):
        in_boxes(sp.csr_array(A + sp.diags_array([0.1 * np.ones(len(b) - 1)], offsets=[1])), storage="symdia")


def test_vectors_values_and_preconditioners_go_there_and_back(system):
    A, b = system
    d = 1 / A.diagonal()
    M = sp.csr_array(sp.diags_array(d) @ (2 * sp.eye_array(len(d)) - A @ sp.diags_array(d)))
    given = {
        "diagonal": sp.diags_array(d),
        "matrix": M,
        "operator": spla.LinearOperator(A.shape, matvec=lambda r: M @ r, dtype=float),
    }
    x = in_boxes(A).solve(b).x
    for name, inverse in given.items():
        assert np.allclose(in_boxes(A, M=inverse).solve(b).x, x, atol=1e-6), name
    solver = in_boxes(A)
    assert solver.solve(b, x0=x).iterations == 0
    B = sp.csr_array(sp.diags_array(1 + 0.5 * np.cos(np.arange(len(b)))) @ A)
    B = sp.csr_array(B + B.T)
    B.sort_indices()
    solver = in_boxes(B, solver="bicgstab")
    solver.update_values(A.data)
    assert np.linalg.norm(b - A @ solver.solve(b).x) <= RTOL * np.linalg.norm(b)


def test_callbacks_and_nullspaces_are_in_the_callers_order(system):
    A, b = system
    seen = []
    in_boxes(A, callback_every=5, callback_x=True).solve(
        b, callback=lambda i, r, x: seen.append((r, np.linalg.norm(b - A @ x) / np.linalg.norm(b)))
    )
    assert seen
    for said, found in seen:
        assert found == pytest.approx(said, rel=1e-6)
    scale = 1 + np.arange(504.0) % 7
    D = sp.diags_array(1 / scale)
    N = sp.csr_array(D @ sordino.poisson(9, 8, 7, boundary="neumann") @ D)  # scale is what it maps to zero
    free = in_boxes(N, grid=(9, 8, 7), nullspace=scale[:, None]).solve(np.arange(504.0))
    assert free.converged
    assert abs(free.x @ scale) < 1e-6 * np.linalg.norm(free.x) * np.linalg.norm(scale)


def test_nonsymmetric_complex_and_long_couplings(system):
    A, b = system
    upper = sp.csr_array(A + sp.diags_array([0.3 * np.ones(len(b) - 500)], offsets=[500]))
    x = in_boxes(upper, solver="bicgstab").solve(b).x
    assert np.linalg.norm(b - upper @ x) <= RTOL * np.linalg.norm(b)
    shifted = sp.csr_array(A + 0.5j * sp.eye_array(len(b)))
    x = in_boxes(shifted, solver="cocg").solve(b + 1j).x
    assert np.linalg.norm(b + 1j - shifted @ x) <= RTOL * np.linalg.norm(b + 1j)


@pytest.mark.parametrize("storage", ["csr", "dia", "symdia"])
@pytest.mark.parametrize("solver", ["cg", "gatherbicgstab"])
def test_memory_is_estimated_as_it_will_be(system, storage, solver):
    A, _ = system
    options = {"partition": "boxes", "grid": GRID, "boxes": (2, 1, 3), "engine": "host"}
    options |= {"solver": solver, "storage": storage}
    estimate = sordino.estimate_memory(A, **options)["bytes_per_rank"]
    assert estimate == sordino.Solver(A, **options).memory()["bytes_per_rank"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"boxes": (1, 2, 3), "ranks": 5}, "boxes 1 x 2 x 3 are 6, and each rank has one: there are 5 ranks"),
        ({"boxes": (2,), "ranks": 1}, "there is 1 rank"),
        ({"boxes": (1, 16), "ranks": 16}, "more in y than grid 16 x 15 x 14 has cells there"),
        ({"boxes": "2x2"}, "boxes is one to three numbers"),
        ({"boxes": (1.5, 2)}, "option 'boxes' takes whole numbers"),
        ({"grid": ""}, "partition 'boxes' cuts a grid: give its cells"),
        ({"grid": (5, 5, 5)}, "does not have as many cells"),
        ({"boxes": "auto", "ranks": 17}, "grid 16 x 15 x 14 cannot be cut into 17 boxes"),
        ({"deterministic": "on"}, "partition='boxes' has another order of rows"),
    ],
)
def test_refusals(system, options, sentence):
    with pytest.raises(sordino.BadArgument, match=sentence):
        in_boxes(system[0], **options)


def test_the_core_takes_a_cell_for_each_row(system):
    A = system[0]
    arrays = (A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data, A.shape[0])
    with pytest.raises(_core.Error, match="there are 3 cells for 3360 rows"):
        _core.Solver(*arrays, {"engine": "host"}, None, {"cells": np.arange(3)})


def test_operators_have_no_rows_to_deal_out(system):
    A = spla.LinearOperator((3360, 3360), matvec=lambda x: x, dtype=float)
    with pytest.raises(sordino.BadArgument, match="given as an operator"):
        in_boxes(A)


def test_a_shape_without_boxes_is_said_to_change_nothing(system, caplog):
    solver_of(system[0], ranks=2, boxes=(1, 2))
    assert "option 'boxes' is for partition 'boxes', and changes nothing here" in caplog.text


def test_command_line(cli, tmp_path):
    boxes = ("--partition", "boxes", "--engine", "host")
    code, out, _ = cli("poisson", 13, 8, 7, "--ranks", 6, *boxes, "--boxes", "1,2,3")
    assert code == 0
    assert "6 ranks" in out
    assert "stored by diagonals (dia)" in out
    code, _, err = cli("poisson", 13, 8, 7, "--ranks", 6, *boxes, "--boxes", "1,2,2")
    assert code == 2
    assert "boxes 1 x 2 x 2 are 4, and each rank has one: there are 6 ranks" in err
    sp.save_npz(tmp_path / "A.npz", sp.csr_matrix(sordino.poisson(9, 8, 7)))
    code, _, err = cli("solve", tmp_path / "A.npz", "--ranks", 2, *boxes)
    assert code == 2
    assert "give its cells in x, y and z (option grid)" in err
    assert cli("solve", tmp_path / "A.npz", "--ranks", 2, "--grid", "9,8,7", *boxes)[0] == 0
