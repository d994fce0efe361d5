"""Nullspaces, METIS's order and lists of devices on GPUs, beside the host engine. Skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
from sordino import _core

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(_core.devices()["devices"])
#: richardson goes on for ever without a cycle, which needs a grid (test_multigrid.py).
METHODS = [entry["name"] for entry in _core.solvers() if entry["name"] != "richardson"]


def ranks_here() -> list[int]:
    return [ranks for ranks in (1, 2, 4) if ranks <= max(DEVICES, 2)]  # ranks may share a GPU


@pytest.mark.parametrize("method", METHODS)
def test_a_neumann_problem_has_the_bits_of_the_host(method: str) -> None:
    A = sordino.poisson(17, 16, 15, boundary="neumann", contrast=10.0)
    b = np.random.default_rng(1).standard_normal(A.shape[0]) + 0.3
    settings = {"nullspace": "constant", "solver": method, "rtol": 1e-10}
    host = sordino.solve(A, b, engine="host", ranks=2, **settings)
    for ranks in ranks_here():
        found = sordino.solve(A, b, engine="cuda", ranks=ranks, deterministic="on", timeout=20.0, **settings)
        assert found.x.tobytes() == host.x.tobytes(), ranks
        assert found.report.outside_norm == host.report.outside_norm
        fast = sordino.solve(A, b, engine="cuda", ranks=ranks, timeout=20.0, **settings)
        assert abs(fast.x.mean()) < 1e-12 * np.linalg.norm(fast.x)
        r = b - A @ fast.x
        assert np.linalg.norm(r - r.mean()) <= 1.1e-10 * np.linalg.norm(b)


@pytest.mark.parametrize("k", [2, 4, 6])
def test_several_vectors_and_a_preconditioner_of_ones_own(k: int) -> None:
    parts = [sordino.poisson(5 + i, 4, 3, boundary="neumann") for i in range(k)]
    A = sp.block_diag(parts, format="csr")
    N = sp.block_diag([np.ones((p.shape[0], 1)) for p in parts]).toarray() @ np.vander(np.arange(1.0, k + 1))
    b = np.random.default_rng(k).standard_normal(A.shape[0])
    d = 1 / A.diagonal()
    M = spla.LinearOperator(A.shape, matvec=lambda r: d * r, dtype=float)
    for given in (None, M):
        host = sordino.solve(A, b, M=given, nullspace=N, solver="cg", engine="host", ranks=2, rtol=1e-9)
        for ranks in ranks_here():
            found = sordino.solve(
                A,
                b,
                M=given,
                nullspace=N,
                solver="cg",
                engine="cuda",
                ranks=ranks,
                deterministic="on",
                rtol=1e-9,
            )
            assert found.x.tobytes() == host.x.tobytes(), ranks


@pytest.mark.parametrize("method", ["cg", "prcg", "cgcg", "gropp", "cbcg", "bicgstab"])
def test_a_complex_nullspace_has_the_bits_of_the_host(method: str) -> None:
    rng = np.random.default_rng(3)
    B = sp.block_diag([sordino.poisson(9, 7, 5, boundary="neumann")] * 2, format="csr")
    phases = np.exp(1j * rng.uniform(-np.pi, np.pi, B.shape[0]))
    A = sp.csr_array(sp.diags_array(phases.conj()) @ B @ sp.diags_array(phases))
    N = np.kron(np.eye(2), np.ones((315, 1))) * phases.conj()[:, None]
    b = rng.standard_normal(630) + 1j * rng.standard_normal(630)
    settings = {"nullspace": N, "solver": method, "rtol": 1e-10}
    host = sordino.solve(A, b, engine="host", ranks=2, **settings)
    for ranks in ranks_here():
        found = sordino.solve(A, b, engine="cuda", ranks=ranks, deterministic="on", timeout=20.0, **settings)
        assert found.x.tobytes() == host.x.tobytes(), ranks
        assert found.report.outside_norm == host.report.outside_norm
        assert np.abs(N.conj().T @ found.x).max() < 1e-10 * np.linalg.norm(found.x)


@pytest.mark.skipif(DEVICES < 2, reason="needs two GPUs")
def test_metis_sends_several_times_less() -> None:
    pytest.importorskip("pymetis")
    A = sordino.poisson(40, 40, 40)
    order = np.random.default_rng(2).permutation(A.shape[0])
    A = sp.csr_array(A[order][:, order])
    b = np.ones(A.shape[0])
    sent = {}
    for partition in ("blocks", "metis"):
        made = sordino.Solver(A, solver="cg", engine="cuda", ranks=2, partition=partition, rtol=1e-8)
        found = made.solve(b)
        assert np.linalg.norm(b - A @ found.x) <= 1.01e-8 * np.linalg.norm(b)
        sent[partition] = found.ledger["bytes_sent"] / found.iterations
    assert 5 * sent["metis"] < sent["blocks"]


@pytest.mark.parametrize("storage", ["auto", "symdia", "constant", "csr"])
@pytest.mark.parametrize("stencil", [7, 27])
@pytest.mark.parametrize("precond", ["jacobi", "sqrt-jacobi", "block-ilu"])
def test_boxes_of_a_grid_on_ranks_of_gpus(storage: str, stencil: int, precond: str) -> None:
    A = sordino.poisson(33, 20, 17, stencil=stencil)
    b = np.random.default_rng(3).standard_normal(A.shape[0])
    boxes = {"partition": "boxes", "grid": (33, 20, 17), "boxes": (2, 1, 3), "tile": (4, 4, 2)}
    options = {"solver": "cg", "rtol": 1e-9, "precond": precond, **boxes}
    found, wanted = (sordino.solve(A, b, engine=e, storage=storage, **options) for e in ("cuda", "host"))
    assert np.linalg.norm(b - A @ found.x) <= 1.01e-9 * np.linalg.norm(b)
    assert np.allclose(found.x, wanted.x, rtol=0, atol=1e-6 * np.abs(wanted.x).max())
    assert abs(found.iterations - wanted.iterations) <= 1
    if storage != "csr":
        assert found.x.tobytes() == sordino.solve(A, b, engine="cuda", storage="dia", **options).x.tobytes()


@pytest.mark.skipif(DEVICES < 2, reason="needs two GPUs")
def test_devices_by_list() -> None:
    A = sordino.poisson(16, 16, 16)
    for devices, ranks in (([1], 1), ("0-1", 2), ([1, 0], 2), ("1", 1)):
        solver = sordino.Solver(A, devices=devices, engine="cuda")
        assert solver.options["ranks"] == ranks
        assert solver.solve(np.ones(A.shape[0])).converged


def test_devices_that_are_not_there() -> None:
    A = sordino.poisson(4, 4, 4)
    with pytest.raises(sordino.BadArgument, match=f"there is no device {DEVICES}: {DEVICES} can be used"):
        sordino.Solver(A, devices=[DEVICES], engine="cuda")
