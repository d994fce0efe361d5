"""Where a solve runs, and what is refused or warned of because it would change nothing there."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _options
from sordino._placement import chosen_engine, chosen_ranks


@pytest.mark.parametrize("engine", ["host", "model", "auto"])
def test_a_transport_is_for_gpus(fake_core, laplacian, engine):
    with pytest.raises(sordino.BadArgument, match=r"transport 'nccl' is between GPUs.*take engine 'cuda'"):
        sordino.Solver(laplacian(3), engine=engine, transport="nccl")
    sordino.Solver(laplacian(3), engine=engine, transport="auto")
    fake_core.cuda, fake_core.gpus = True, 2
    sordino.Solver(laplacian(3), transport="nccl")


def test_a_transport_is_refused_wherever_it_comes_from(fake_core, cli, tmp_path):
    assert cli("poisson", 3, 3, 3, "--engine", "model", "--transport", "nccl")[0] == 2
    (tmp_path / "o.json").write_text(json.dumps({"engine": "host", "transport": "nccl"}))
    code, _, err = cli("poisson", 3, 3, 3, "--options", tmp_path / "o.json")
    assert code == 2 and "between GPUs" in err
    fake_core.mpi_size = 2
    with pytest.raises(sordino.BadArgument, match="between GPUs"):
        chosen_engine({"engine": "host", "transport": "mpi"})


def test_a_solver_of_rows_refuses_a_transport_without_gpus():
    for engine in ("host", "model"):
        with pytest.raises(sordino.BadArgument, match="between GPUs"):
            sordino.RowsSolver(None, [0, 1], [0], [4.0], engine=engine, transport="nccl")


def test_devices_ask_for_an_engine_without_a_gpu_being_here(fake_core):
    for devices in ([0, 1, 2, 3], "0-3"):
        options = _options.check({"devices": devices})
        assert chosen_engine(options) == "cuda"
    assert chosen_ranks({"engine": "cuda", "devices": "0,1,2,3"}, 100) == 4
    with pytest.raises(sordino.BadArgument, match="devices are GPUs"):
        chosen_engine({"engine": "host", "devices": "0,1"})


def test_no_ranks_are_as_many_as_there_is_room_for(fake_core):
    """0 is the default that `sordino options` shows, and means the same where it is said."""
    for engine, devices in (("host", None), ("model", None), ("cuda", "0,1,2")):
        asked = {"engine": engine, **({} if devices is None else {"devices": devices})}
        for n in (100, 2):
            assert chosen_ranks({**asked, "ranks": 0}, n) == chosen_ranks(asked, n) >= 1
    with pytest.raises(sordino.BadArgument, match="at least 1, or 0 for as many as fit, not -1"):
        chosen_ranks({"engine": "host", "ranks": -1}, 100)


def test_no_ranks_wherever_ranks_are_an_option(cli, tmp_path):
    A = sordino.poisson(4, 4, 4)
    usual = sordino.solve(A, np.ones(64), engine="model").report.options["ranks"]
    assert sordino.solve(A, np.ones(64), engine="model", ranks=0).report.options["ranks"] == usual == 4
    assert len(sordino.estimate_memory(A, engine="model", ranks=0)["bytes_per_rank"]) == usual
    (tmp_path / "o.json").write_text(json.dumps({"engine": "model", "ranks": 0}))
    for words in (["--options", tmp_path / "o.json"], ["--engine", "model", "--ranks", 0]):
        code, out, err = cli("poisson", 4, 4, 4, *words, "--json")
        assert code == 0, err
        assert json.loads(out)["options"]["ranks"] == usual
    for words in ([], ["--grid", "1,1,1,2"]):
        found = [
            cli("dslash", 4, 4, 4, 4, "--engine", "model", "--iterations", 1, *words, *ranks, "--json")
            for ranks in ([], ["--ranks", 0])
        ]
        assert [code for code, _, _ in found] == [0, 0], found
        assert len({json.loads(out)["ranks"] for _, out, _ in found}) == 1


def test_memory_is_estimated_for_the_devices_that_are_named():
    A = sordino.poisson(8, 8, 8)
    for devices in ([0, 1, 2, 3], "0-3"):
        said = sordino.estimate_memory(A, devices=devices)
        assert said == sordino.estimate_memory(A, engine="cuda", ranks=4)
    assert len(sordino.estimate_memory(A, devices=4)["bytes_per_rank"]) == 1  # the fifth, by itself
    for engine in ("host", "model"):
        with pytest.raises(sordino.BadArgument, match="devices are GPUs, which engine"):
            sordino.estimate_memory(A, engine=engine, devices=[0, 1])


def test_what_changes_nothing_is_warned_of(fake_core, laplacian, caplog, cli):
    with caplog.at_level("WARNING", logger="sordino"):
        sordino.Solver(laplacian(3), engine="model", seed=3)
        assert not caplog.records
        sordino.Solver(laplacian(3), engine="host", seed=3)
    assert [record.message for record in caplog.records] == [
        "option 'seed' is for engine 'model', and changes nothing on engine 'host': leave it out"
    ]
    code, out, err = cli("poisson", 3, 3, 3, "--seed", 3, "--json", "--engine", "host")
    assert code == 0 and json.loads(out)["status"] == "converged"
    assert err.startswith("sordino: option 'seed'") and err.count("\n") == 1


FOR_ANOTHER = (
    ("s", 4, {"solver": "cg"}, {"solver": "cbcg"}, "solver 'cbcg'"),
    ("s", "auto", {"solver": "cg"}, {}, "solver 'cbcg'"),
    ("basis", "monomial", {"solver": "cgcg"}, {"solver": "cbcg"}, "solver 'cbcg'"),
    ("spectrum", "power", {"solver": "bicgstab"}, {"solver": "cbcg"}, "solver 'cbcg'"),
    ("batch", 64, {"solver": "cg"}, {"solver": "auto"}, "solver 'cbcg'"),
    ("restart", 5, {}, {"solver": "gmres"}, "solver 'gmres'"),
    ("omega", 0.5, {}, {"solver": "richardson"}, "solver 'richardson'"),
    ("degree", 2, {}, {"precond": "chebyshev"}, "precond 'chebyshev'"),
    ("smoother", "sor", {"precond": "jacobi"}, {"precond": "mg", "grid": (4, 4, 4)}, "precond 'mg'"),
    ("level_rows", 64, {"precond": "jacobi"}, {"precond": "mg", "grid": (4, 4, 4)}, "precond 'mg'"),
    (
        "tile",
        (2, 2, 2),
        {"precond": "jacobi"},
        {"precond": "block-ilu", "grid": (4, 4, 4)},
        "precond 'block-ilu'",
    ),
)


@pytest.mark.parametrize(("name", "value", "other", "own", "whose"), FOR_ANOTHER)
def test_options_of_another_method_are_warned_of(caplog, name, value, other, own, whose):
    A = sordino.poisson(4, 4, 4)
    with caplog.at_level("WARNING", logger="sordino"):
        sordino.Solver(A, engine="host", ranks=1, **own, **{name: value})
        sordino.Solver(A, engine="host", ranks=1, **other, **{name: sordino._options.specs()[name].default})
        assert not caplog.records
        sordino.Solver(A, engine="host", ranks=1, **other, **{name: value})
    assert caplog.messages == [f"option '{name}' is for {whose}, and changes nothing here"]


def test_auto_heeds_restart_where_it_takes_gmres(caplog):
    ball = sordino.surfaces.sphere(5, 4, radius=1.0, potential=1.0)
    H, C = sordino.hmatrix(ball, 1e-4), sordino.hmatrix(ball, 1e-1)
    with caplog.at_level("WARNING", logger="sordino"):
        with sordino.Solver(H, M=C, restart=2, engine="host", ranks=1) as solver:
            assert solver.solve(np.ones(ball.n), on_failure="return").report.options["solver"] == "gmres"
        assert not caplog.records
        sordino.Solver(H, restart=2, engine="host", ranks=1).close()
    assert caplog.messages == ["option 'restart' is for solver 'gmres', and changes nothing here"]


def test_inner_is_heeded_where_a_coarser_matrix_preconditions(caplog, cli, tmp_path, laplacian):
    ball = sordino.surfaces.sphere(5, 4, radius=1.0, potential=1.0)
    H, C = sordino.hmatrix(ball, 1e-4), sordino.hmatrix(ball, 1e-1)
    told = "option 'inner' is for a coarser H-matrix as M, and changes nothing here"
    with caplog.at_level("WARNING", logger="sordino"):
        sordino.solve(H, np.ones(ball.n), M=C, inner=5, engine="host", ranks=1)
        sordino.solve(H, np.ones(ball.n), inner=20, engine="host", ranks=1)  # as by default
        assert not caplog.records
        sordino.solve(H, np.ones(ball.n), inner=5, engine="host", ranks=1)
        sordino.solve(laplacian(3), np.ones(27), M=lambda r: r, inner=5, engine="host")
    assert caplog.messages == [told, told]
    sp.save_npz(tmp_path / "A.npz", laplacian(3))
    code, _, err = cli("solve", tmp_path / "A.npz", "--engine", "host", "--inner", 5)
    assert (code, err) == (0, f"sordino: {told}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--seed", -1), "seed must be >= 0, not -1"),
        (("--seed", 3, "--maxiter", -5), "maxiter must be >= 0, not -5"),
        (("--batch", -1), "batch must be from 32 to 65536, not -1"),
        (("--batch", 0, "--solver", "cg"), "batch must be from 32 to 65536, not 0"),
        (("--degree", -1), "degree must be from 1 to 64, not -1"),
    ],
)
def test_what_is_refused_is_one_sentence_and_of_its_own_range(cli, words, sentence):
    assert cli("poisson", 4, 4, 4, "--engine", "host", *words) == (2, "", f"sordino: {sentence}\n")


def test_degrees_without_a_tree_and_looks_without_a_callback(caplog):
    A = sordino.poisson(4, 4, 4)
    with caplog.at_level("WARNING", logger="sordino"):
        sordino.Solver(A, engine="host", ranks=2, all_reduce="tree", reduce_degree=3)
        assert not caplog.records
        solver = sordino.Solver(A, engine="host", ranks=2, reduce_degree=3, callback_every=2)
        solver.solve(np.ones(64), callback=lambda iteration, residual: None)
        assert [r.message.split("'")[1] for r in caplog.records] == ["reduce_degree"]
        solver.solve(np.ones(64))
    assert "callback_every" in caplog.messages[-1]
