"""The command line as a process of its own, on the compiled core."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sordino
from sordino._native import core

REAL = "%%MatrixMarket matrix coordinate real general\n"
GOOD = REAL + "3 3 5\n1 1 4\n2 2 4\n3 3 4\n1 2 -1\n2 1 -1\n"


@pytest.fixture
def files(tmp_path):
    """Good and bad files in the folder where the shell runs."""
    texts = {
        "good.mtx": GOOD,
        "cut.mtx": GOOD[:-8],
        "header.mtx": GOOD.replace("coordinate", "coordinates"),
        "range.mtx": GOOD.replace("3 3 4\n", "3 7 4\n"),
        "nan.mtx": GOOD.replace("2 2 4", "2 2 nan"),
        "inf.mtx": GOOD.replace("2 2 4", "2 2 inf"),
        "wide.mtx": REAL + "2 3 2\n1 1 1\n2 2 1\n",
        "zerodiagonal.mtx": REAL + "2 2 3\n1 2 1\n2 1 1\n2 2 1\n",
        "emptyrow.mtx": REAL + "2 2 1\n1 1 1\n",
        "empty.mtx": REAL + "0 0 0\n",
        "complex.mtx": REAL.replace("real", "complex") + "2 2 2\n1 1 1 1\n2 2 1\n",
        "hermitian.mtx": REAL.replace("general", "hermitian") + "1 1 1\n1 1 1\n",
        "indefinite.mtx": REAL.replace("general", "symmetric")
        + "3 3 5\n1 1 4\n2 1 1\n2 2 -3\n3 2 1\n3 3 5\n",
        "precious.npy": "precious",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "garbage.mtx").write_bytes(np.random.default_rng(0).bytes(5000))
    (tmp_path / "halfgarbage.mtx").write_bytes(GOOD[:-20].encode() + np.random.default_rng(0).bytes(5000))
    sp.save_npz(tmp_path / "nan.npz", sp.csr_array(np.diag([1.0, np.nan])))
    outside = sp.dia_array((np.ones((2, 3)), (0, 3)), shape=(3, 3))
    sp.save_npz(tmp_path / "outside.npz", outside)
    np.save(tmp_path / "short.npy", np.ones(2))
    np.save(tmp_path / "nan.npy", np.array([1, np.nan, 1]))
    np.save(tmp_path / "complex.npy", np.array([1, 1j * np.nan, 1]))
    return tmp_path


BAD = [
    ("missing.mtx", "no such file"),
    ("cut.mtx", "truncated"),
    ("garbage.mtx", "not a Matrix Market file"),
    ("halfgarbage.mtx", "halfgarbage.mtx has"),
    ("header.mtx", "malformed header"),
    ("range.mtx", "out of bounds"),
    ("nan.mtx", "NaN or infinity among its numbers"),
    ("inf.mtx", "NaN or infinity among its numbers"),
    ("nan.npz", "holds nan in row 1, column 1 (counted from 0)"),
    ("outside.npz", "has a diagonal at offset 3, which is outside of its 3 x 3 cells"),
    ("wide.mtx", "2 x 3"),
    ("zerodiagonal.mtx --precond jacobi", "diagonal"),
    ("emptyrow.mtx", "row 1 (counted from 0) of the matrix has no entries"),
    ("empty.mtx", "empty"),
    ("complex.mtx", "8 numbers are promised by its header, 7 are there"),
    ("hermitian.mtx", "it is called hermitian, and real instead of complex"),
    (".", "is a folder"),
    ("good.mtx --rhs missing.npy", "no such file"),
    ("good.mtx --rhs short.npy", "has shape (2,), and the matrix has 3 rows"),
    ("good.mtx --rhs nan.npy", "holds nan at position 1"),
    ("good.mtx --rhs complex.npy", "holds (nan+nanj) at position 1"),
    ("good.mtx --x0 nan.npy", "holds nan at position 1"),
    ("good.mtx --x0 short.npy", "has shape (2,)"),
    ("good.mtx --s 0", "s must be auto, or from 1 to 16, not 0"),
    ("good.mtx --s many", "--s takes a whole number, or 'auto', not 'many'"),
    ("good.mtx --ranks -1", "at least 1, or 0 for as many as fit, not -1"),
    ("good.mtx --ranks 4", "4 ranks are more than the matrix has rows (3)"),
    ("good.mtx --engine hots", "did you mean 'host'?"),
    ("good.mtx --solver minres", "unknown solver 'minres'"),
    ("good.mtx --precond jakobi", "did you mean 'jacobi'?"),
    ("good.mtx --rtool 1e-8", "did you mean '--rtol'?"),
    ("good.mtx --rtol -1", "rtol"),
    ("good.mtx --rtol inf", "rtol"),
    ("good.mtx --maxiter -5", "maxiter"),
    ("good.mtx --output precious.npy", "exists already"),
    ("good.mtx --output missing/x.npy", "no folder"),
    ("good.mtx --output /proc/x.npy", "cannot be written"),
    ("good.mtx --output .", "folder"),
    ("good.mtx --report precious.npy", "written as .html"),
    ("good.mtx --engine model --machine zuse", "unknown machine"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[arguments for arguments, _ in BAD])
def test_bad_input_is_one_sentence_and_exit_code_2(shell, files, arguments, sentence):
    before = {name: (files / name).read_bytes() for name in os.listdir(files)}
    done = shell("solve", *arguments.split())
    assert done.returncode == 2 and done.stdout == "", done.stderr
    assert sentence in done.stderr and re.fullmatch(r"sordino: [^\n]+\n", done.stderr)
    assert {name: (files / name).read_bytes() for name in os.listdir(files)} == before


@pytest.mark.skipif(bool(core().devices()["devices"]), reason="there is a GPU here")
def test_the_cuda_engine_without_a_gpu(shell, files):
    done = shell("solve", "good.mtx", "--engine", "cuda")
    assert done.returncode == 2 and re.fullmatch(r"sordino: engine 'cuda'[^\n]+\n", done.stderr)


def test_a_problem_too_large_says_needed_and_available_bytes(shell, files):
    done = shell("poisson", 3000, 3000, 3000, "--stencil", 27)
    assert done.returncode == 2
    assert re.fullmatch(r"sordino: [^\n]*needs [\d,]+ bytes[^\n]*[\d,]+ bytes are available\n", done.stderr)


def test_an_indefinite_matrix_is_exit_code_3_and_the_best_x_is_kept(shell, files):
    done = shell(
        "solve", "indefinite.mtx", "--solver", "cg", "--precond", "none", "--output", "x.npy", "--json"
    )
    found = json.loads(done.stdout)
    assert done.returncode == 3 and found["status"] in ("indefinite", "breakdown")
    assert np.isfinite(np.load(files / "x.npy")).all()
    assert done.stderr.startswith("sordino: not solved: ") and "Traceback" not in done.stderr


def test_a_solved_system(shell, files):
    done = shell("solve", "good.mtx", "--json", "--output", "x.mtx", "--ranks", 2, "--rtol", 1e-10)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    for key in (
        "status",
        "iterations",
        "true_residual",
        "seconds",
        "history",
        "recoveries",
        "ledger",
        "machine",
        "options",
    ):
        assert key in found
    assert found["status"] == "converged" and found["true_residual"] <= 1e-10
    np.testing.assert_allclose(scipy.io.mmread(files / "x.mtx").ravel(), 1, rtol=1e-8)


def test_force_overwrites(shell, files):
    assert shell("solve", "good.mtx", "--output", "precious.npy", "--force").returncode == 0
    assert np.load(files / "precious.npy").shape == (3,)


def test_poisson_with_report_and_trace(shell, tmp_path):
    done = shell("poisson", 12, 11, 10, "--ranks", 4, "--report", "r.html", "--trace", "t.json")
    assert done.returncode == 0, done.stderr
    assert "Solved and verified" in done.stdout and "4 ranks" in done.stdout and "b = A*1" in done.stdout
    text = (tmp_path / "r.html").read_text()
    for part in (
        "Solved and verified",
        "Convergence",
        "Timeline",
        "Kernels",
        "rank 3",
        "reductions an iteration",
    ):
        assert part in text
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1, 2, 3}


def test_matrices_on_one_and_four_ranks_give_the_same_bits(shell, tmp_path):
    sp.save_npz(tmp_path / "a.npz", sordino.poisson(9, 8, 7, contrast=50.0))
    runs = [shell("solve", "a.npz", "--json", "--ranks", ranks, "--rtol", 1e-9) for ranks in (1, 4)]
    histories = [json.loads(run.stdout)["history"] for run in runs]
    assert histories[0] == histories[1]


def test_doctor_and_options_say_what_is_there(shell):
    assert "A solve without further options will run on" in shell("doctor").stdout
    found = json.loads(shell("doctor", "--json").stdout)
    assert found["will_run"]["ranks"] >= 1
    listed = json.loads(shell("options", "--json").stdout)
    assert {row["name"] for row in listed["solvers"]} >= {"cg", "bicgstab"}


@pytest.mark.slow
def test_bench_cg_runs_on_the_host(shell, tmp_path):
    done = shell(
        "bench", "cg", "--sizes", 24, "--ranks", "1,2", "--engine", "host", "--iterations", 40, "--repeats", 2,
        "--record", "r.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [row["ranks"] for row in rows] == [1, 2]
    # The slope between two short runs may be anything on a busy machine: only that it was measured is asked.
    assert all(row["iteration_s"] is not None and row["spmv_s"] > 0 for row in rows)
