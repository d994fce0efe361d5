"""Matrices by diagonals: the bits of those by rows with every method, fewer bytes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
from sordino._native import core
from sordino.report.html import render

SPD = [row["name"] for row in core().solvers() if row["requires"] != "general"]
GENERAL = [row["name"] for row in core().solvers() if row["requires"] == "general"]


#: Those that hold a symmetric stencil with few different rows.
STORAGES = ("csr", "dia", "symdia", "constant")


def convection(n):
    """Upwind convection-diffusion on an n x n grid: five diagonals, not symmetric."""
    line = sp.diags_array([-3 * np.ones(n - 1), 4 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    eye = sp.eye_array(n)
    return sp.csr_array(sp.kron(line, eye) + sp.kron(eye, line))


def same(runs):
    for run in runs[1:]:
        assert run.converged and run.x.tobytes() == runs[0].x.tobytes()
        assert run.history.tobytes() == runs[0].history.tobytes()


@pytest.mark.parametrize("engine", ["host", "model"])
@pytest.mark.parametrize("method", SPD + GENERAL)
def test_every_storage_has_the_same_bits(method, engine):
    A = sordino.poisson(9, 8, 7, contrast=100.0) if method in SPD else convection(20)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    storages = ["csr", "auto", "dia", "constant", *(["symdia"] if method in SPD else [])]
    same(
        [
            sordino.solve(A, b, solver=method, rtol=1e-9, engine=engine, ranks=ranks, storage=storage)
            for storage in storages
            for ranks in (1, 3)
        ]
    )


def test_a_polynomial_and_nullspaces_by_diagonals():
    A = sordino.poisson(8, 8, 8)
    b = np.random.default_rng(2).standard_normal(512)
    same([sordino.solve(A, b, precond="chebyshev", solver="cg", ranks=2, storage=s) for s in STORAGES])
    closed = sp.csr_array(A - sp.diags_array(A @ np.ones(512)))
    same([sordino.solve(closed, b, nullspace="constant", ranks=2, storage=s) for s in STORAGES])


@pytest.mark.parametrize("ranks", [1, 2])
def test_fewer_bytes_are_moved_and_said(ranks):
    A = sordino.poisson(24, 24, 24)
    n, b = A.shape[0], np.ones(24**3)
    runs = {s: sordino.solve(A, b, solver="cg", ranks=ranks, storage=s) for s in STORAGES}
    # of rank 0, for a row of its own
    moved = {s: run.ledger["memory_bytes"] / run.iterations / (n / ranks) for s, run in runs.items()}
    assert 30 < moved["csr"] - moved["dia"] < 34  # 12 B for 6.75 entries and 4 for a row; 8 B for 7 entries
    assert (
        20 < moved["dia"] - moved["symdia"] < 28
    )  # 3 of 7 diagonals, less what a slice keeps of others' rows
    assert 50 < moved["dia"] - moved["constant"] < 58  # a byte for 7 entries
    assert runs["csr"].ledger["messages"] == runs["symdia"].ledger["messages"]
    assert runs["csr"].ledger["bytes_sent"] == runs["symdia"].ledger["bytes_sent"]


def test_the_described_machine_is_faster_with_fewer_bytes():
    A = sordino.poisson(24, 24, 24)
    seconds = [
        sordino.solve(
            A, np.ones(24**3), solver="cg", engine="model", machine="h200x4", ranks=2, storage=s
        ).seconds
        for s in STORAGES
    ]
    assert seconds[0] > seconds[1] > seconds[2] > seconds[3]


@pytest.mark.parametrize("engine", ["host", "model"])
def test_auto_takes_diagonals_where_they_are_filled_and_says_why(engine):
    A, b = sordino.poisson(9, 8, 7), np.ones(504)
    report = sordino.solve(A, b, engine=engine, ranks=2).report
    assert report.options["storage"] == "dia"
    assert "its 7 diagonals take" in report.storage_reason
    assert "The matrix is stored by diagonals (dia): its 7 diagonals" in render(report)
    periodic = sp.lil_array(A)
    periodic[0, 503] = periodic[503, 0] = -1e-3
    report = sordino.solve(sp.csr_array(periodic), b, engine=engine, ranks=2).report
    assert report.options["storage"] == "csr"
    assert "column - row = -503 has 1 entries in 504 rows" in report.storage_reason
    asked = sordino.solve(A, b, engine=engine, ranks=2, storage="csr").report
    assert (asked.options["storage"], asked.storage_reason) == ("csr", "asked for")


def test_a_function_has_no_storage():
    A = sordino.poisson(4, 4, 4)
    product = spla.LinearOperator((64, 64), matvec=lambda x: A @ x, dtype=float)
    report = sordino.solve(product, np.ones(64), solver="cg").report
    assert (report.options["storage"], report.storage_reason) == ("auto", "")


@pytest.mark.parametrize("method", ["cg", "auto"])  # auto has looked at all entries before
def test_new_values_that_are_not_symmetric_are_stored_anew(method):
    A = sordino.poisson(62, 62, 62, stencil=27)  # 51 MB by diagonals
    b = np.ones(A.shape[0])
    with sordino.Solver(A, solver=method, rtol=1e-3, ranks=1) as solver:
        assert solver.solve(b).report.options["storage"] == "symdia"
        foretold = sordino.estimate_memory(A, solver="cg", ranks=1)["bytes_per_rank"]
        np.testing.assert_allclose(solver.memory()["bytes_per_rank"], foretold, rtol=0.1)
        solver.update_values(2 * A)
        assert solver.solve(b).report.options["storage"] == "symdia"
        skewed = A.copy()
        skewed.data[1] *= 1 + 1e-15
        for _ in range(2):
            solver.update_values(skewed)
            again = solver.solve(b)
            assert again.report.options["storage"] == "dia"
            by_rows = sordino.solve(skewed, b, solver="cg", rtol=1e-3, ranks=1, storage="csr")
            assert again.x.tobytes() == by_rows.x.tobytes()


def test_new_values_are_held_to_the_storage():
    A = sordino.poisson(6, 6, 6)
    b = np.ones(216)
    with sordino.Solver(A, storage="symdia", ranks=2, rtol=1e-9) as solver:
        scaled = 2.0 * A
        solver.update_values(scaled)
        assert solver.solve(b).x.tobytes() == sordino.solve(scaled, b, rtol=1e-9).x.tobytes()
        skewed = scaled.copy()
        skewed.data[1] *= 1 + 1e-12
        with pytest.raises(sordino.BadArgument, match=r"row 0 and column 1 they differ: use storage dia"):
            solver.update_values(skewed)
        assert solver.solve(b).converged


def test_new_values_are_held_to_as_many_kinds_of_rows_as_a_byte_tells_apart():
    A = sordino.poisson(9, 8, 7, contrast=100.0)
    b = np.ones(A.shape[0])
    with sordino.Solver(A, storage="constant", ranks=2, rtol=1e-9) as solver:
        kinds = np.random.default_rng(4).integers(1, 4, A.shape[0])
        shifted = sp.csr_array(A + sp.diags_array(kinds.astype(float)))
        assert shifted.nnz == A.nnz
        solver.update_values(shifted)
        first = solver.solve(b)
        assert first.x.tobytes() == sordino.solve(shifted, b, rtol=1e-9).x.tobytes()
        different = sp.csr_array(A + sp.diags_array(np.arange(1.0, 505.0)))
        with pytest.raises(sordino.BadArgument, match=r"at most 256 different rows, and this one has more"):
            solver.update_values(different)
        assert solver.solve(b).x.tobytes() == first.x.tobytes()


def test_a_report_says_that_rows_are_kept_by_kinds():
    report = sordino.solve(sordino.poisson(9, 8, 7), np.ones(504), storage="constant").report
    assert (report.options["storage"], report.storage_reason) == ("constant", "asked for")
    assert "The matrix is stored by kinds of rows (constant): asked for." in render(report)


@pytest.mark.parametrize("options", [{}, {"solver": "prcg"}, {"solver": "gatherbicgstab"}])
@pytest.mark.parametrize("storage", ["auto", "dia", "symdia", "constant"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_the_estimate_of_memory_is_within_a_tenth(options, storage, ranks):
    A = sordino.poisson(20, 20, 20)
    estimated = sordino.estimate_memory(A, ranks=ranks, storage=storage, **options)
    held = sordino.Solver(A, ranks=ranks, storage=storage, **options).memory()
    assert estimated["matrix_bytes"] == held["matrix_bytes"]
    np.testing.assert_allclose(estimated["bytes_per_rank"], held["bytes_per_rank"], rtol=0.1)


def test_what_cannot_be_stored_by_diagonals_is_refused_in_one_sentence(shell, tmp_path):
    rng = np.random.default_rng(3)
    scattered = sp.csr_array(sp.random_array((200, 200), density=0.1, rng=rng) + sp.eye_array(200))
    with pytest.raises(sordino.BadArgument, match="at most 27 of them, and this one has more"):
        sordino.solve(scattered, np.ones(200), storage="dia")
    A = sordino.poisson(4, 4, 4)
    with pytest.raises(sordino.BadArgument, match="storage 'dia' needs the entries of the matrix"):
        sordino.solve(spla.LinearOperator((64, 64), matvec=lambda x: A @ x), np.ones(64), storage="dia")
    with pytest.raises(sordino.SordinoError, match="storage dia holds real numbers: use storage csr"):
        sordino.solve(sp.csr_array(A + 0.1j * sp.eye_array(64)), np.ones(64), storage="dia")
    with pytest.raises(sordino.BadArgument, match="at most 256 different rows, and this one has more: use"):
        sordino.solve(sp.diags_array(np.arange(1.0, 258.0)), np.ones(257), storage="constant")
    with pytest.raises(sordino.BadArgument, match="unknown storage 'ellpack'"):
        sordino.solve(A, np.ones(64), storage="ellpack")
    sp.save_npz(tmp_path / "a.npz", scattered)
    for storage in ("symdia", "constant"):
        run = shell("solve", str(tmp_path / "a.npz"), "--storage", storage)
        assert run.returncode == 2 and run.stderr.count("\n") == 1 and "use storage csr" in run.stderr
