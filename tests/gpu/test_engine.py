"""The cuda engine against the host engine, through Python. Skipped, with the reason, where there is no GPU."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _core
from sordino.bench._comm_cuda import TITLES

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(_core.devices()["devices"])
METHODS = [entry["name"] for entry in _core.solvers()]
COUNTS = (
    "commands",
    "reductions",
    "reduced_values",
    "messages",
    "bytes_sent",
    "memory_bytes",
    "flops",
)


def poisson(*size: int, stencil: int = 7, contrast: float = 1.0) -> sp.csr_matrix:
    indptr, indices, data = _core.poisson(*size, stencil, contrast)
    return sp.csr_matrix((data, indices, indptr))


def solve(A: sp.csr_matrix, b: np.ndarray, **options: object) -> sordino.Solution:
    return sordino.Solver(A, rtol=1e-8, timeout=20.0, **options).solve(b, on_failure="return")


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_does_what_the_host_does(method: str, ranks: int) -> None:
    A = poisson(19, 17, 23, contrast=100.0)
    b = A @ np.ones(A.shape[0])
    ours, host = (solve(A, b, solver=method, engine=engine, ranks=ranks) for engine in ("cuda", "host"))
    assert ours.status == host.status == "converged"
    residual = np.linalg.norm(b - A @ ours.x) / np.linalg.norm(b)
    assert residual <= 1.0000001e-8
    assert abs(ours.iterations - host.iterations) <= 1
    if ours.iterations == host.iterations:
        assert [ours.ledger[k] for k in COUNTS] == [host.ledger[k] for k in COUNTS]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("method", METHODS)
def test_deterministic_solves_have_the_bits_of_the_host(
    method: str, ranks: int, rng_of_today: np.random.Generator
) -> None:
    rng = rng_of_today
    A = poisson(*rng.integers(9, 25, 3).tolist(), stencil=27, contrast=1e4)
    b = rng.standard_normal(A.shape[0])
    ours = solve(A, b, solver=method, engine="cuda", ranks=ranks, deterministic="on")
    host = solve(A, b, solver=method, engine="host", ranks=2)
    assert np.array_equal(ours.history, host.history)
    assert np.array_equal(ours.x, host.x)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("method", ["cg", "cgcg", "prcg", "gropp", "pcg-overlap", "bicgstab"])
@pytest.mark.parametrize("storage", ["csr", "dia", "symdia"])
def test_a_scaled_system_has_the_bits_of_the_host(storage: str, method: str, ranks: int) -> None:
    A = poisson(21, 18, 24, contrast=1e3)
    b = np.random.default_rng(6).standard_normal(A.shape[0])
    ours, host = (
        solve(
            A,
            b,
            solver=method,
            precond="sqrt-jacobi",
            storage=storage,
            engine=engine,
            ranks=ranks,
            deterministic="on",
        )
        for engine in ("cuda", "host")
    )
    assert ours.status == host.status == "converged"
    assert np.array_equal(ours.history, host.history) and np.array_equal(ours.x, host.x)
    assert [ours.ledger[k] for k in COUNTS] == [host.ledger[k] for k in COUNTS]


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("method", ["cg", "gropp", "bicgstab"])
def test_a_polynomial_takes_the_iterations_and_the_messages_of_the_host(method: str, ranks: int) -> None:
    A = poisson(21, 18, 24, contrast=1e3)
    b = np.random.default_rng(5).standard_normal(A.shape[0])
    for degree in (1, 4):
        ours, host = (
            solve(
                A,
                b,
                solver=method,
                precond="chebyshev",
                degree=degree,
                engine=engine,
                ranks=ranks,
                deterministic="on",
            )
            for engine in ("cuda", "host")
        )
        assert ours.status == host.status == "converged"
        assert np.array_equal(ours.history, host.history) and np.array_equal(ours.x, host.x)
        assert [ours.ledger[k] for k in COUNTS] == [host.ledger[k] for k in COUNTS]


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("method", ["cg", "gropp", "bicgstab"])
def test_tiles_take_the_iterations_and_the_messages_of_the_host(method: str, ranks: int) -> None:
    grid = (21, 18, 24)
    for stencil, tile in ((7, "4,4,4"), (27, "8,3,2")):
        A = poisson(*grid, stencil=stencil, contrast=1e3)
        b = np.random.default_rng(5).standard_normal(A.shape[0])
        tiles = {"precond": "block-ilu", "tile": tile, "grid": grid, "deterministic": "on"}
        ours, host = (solve(A, b, solver=method, engine=e, ranks=ranks, **tiles) for e in ("cuda", "host"))
        assert ours.status == host.status == "converged"
        assert np.array_equal(ours.history, host.history) and np.array_equal(ours.x, host.x)
        assert [ours.ledger[k] for k in COUNTS] == [host.ledger[k] for k in COUNTS]


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_ranks_whose_rows_are_of_unlike_lengths_record_the_same(method: str, ranks: int) -> None:
    """A tridiagonal part, one of uneven rows and one of long rows: each rank has its own layout, with its own lanes."""
    rng = np.random.default_rng(3)
    n = 900
    even = sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    uneven, long = (sp.random_array((n, n), density=d, rng=rng) for d in (0.004, 0.06))
    parts = [even, *((R + R.T + sp.diags_array(abs(R + R.T).sum(1) + 1)).tocsr() for R in (uneven, long))]
    A = sp.block_diag(parts[:ranks], format="lil")
    for i in range(1, ranks):  # and neighbours
        A[i * n - 1, i * n] = A[i * n, i * n - 1] = -0.05
    A = A.tocsr()
    b = rng.standard_normal(A.shape[0])
    ours, host = (solve(A, b, solver=method, engine=engine, ranks=ranks) for engine in ("cuda", "host"))
    assert ours.status == host.status == "converged"
    assert np.linalg.norm(b - A @ ours.x) <= 1.0000001e-8 * np.linalg.norm(b)
    assert abs(ours.iterations - host.iterations) <= 2


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_nonsymmetric_solves_take_the_iterations_of_the_host(ranks: int) -> None:
    """Long, uneven rows and a spectrum that makes BiCGStab wander: other last bits would be many other iterations."""
    rng = np.random.default_rng(11)
    n = 2395
    A = sp.random(n, n, 0.002, random_state=rng, format="lil")
    A[::97, :] = 0.01 * rng.random((len(range(0, n, 97)), n))
    A = (A.tocsr() + sp.diags(0.02 + rng.random(n))).tocsr()
    b = rng.standard_normal(n)
    for method in ("bicgstab", "pipebicgstab"):
        ours, host = (
            solve(A, b, solver=method, engine=engine, ranks=ranks, maxiter=3000)
            for engine in ("cuda", "host")
        )
        assert ours.status == host.status
        assert abs(ours.iterations - host.iterations) <= 1


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_27_points_take_91_iterations(ranks: int) -> None:
    A = poisson(64, 64, 64, stencil=27)
    assert (
        abs(solve(A, A @ np.ones(A.shape[0]), solver="cg", engine="cuda", ranks=ranks).iterations - 91) <= 1
    )


@pytest.mark.parametrize("method", ["cg", "prcg"])
def test_the_same_solve_twice_gives_the_same_bits(method: str) -> None:
    A = poisson(20, 20, 20)
    b = np.random.default_rng(3).standard_normal(A.shape[0])
    s = sordino.Solver(A, rtol=1e-8, solver=method, engine="cuda", ranks=min(4, DEVICES))
    first, second = s.solve(b), s.solve(b)
    assert np.array_equal(first.x, second.x) and np.array_equal(first.history, second.history)


def test_a_thousand_small_solves_on_four_ranks() -> None:
    rng = np.random.default_rng(7)
    A = poisson(12, 11, 10, contrast=10.0)
    s = sordino.Solver(A, rtol=1e-8, solver="cg", engine="cuda", ranks=4, timeout=20.0)
    for k in range(1000):
        if k % 3 == 0:
            factor = 1 + rng.random()
            s.update_values(A.data * factor)
        b = rng.standard_normal(A.shape[0])
        x = s.solve(b).x
        assert np.linalg.norm(b - factor * (A @ x)) <= 1.000001e-8 * np.linalg.norm(b)
        if k == 20:  # graphs are made in the first solves
            held = s.memory()
    assert s.memory() == held


@pytest.mark.parametrize("kind", ["uneven", "dense rows", "diagonal", "tiny"])
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_matrices_that_need_every_layout(kind: str, ranks: int) -> None:
    rng = np.random.default_rng(5)
    n = {"tiny": 4}.get(kind, 3001)
    if kind == "diagonal":
        A = sp.diags(1 + rng.random(n)).tocsr()
    else:
        A = sp.random(n, n, 0.002, random_state=rng, format="lil")
        if kind == "dense rows":
            A[::500, :] = rng.random((len(range(0, n, 500)), n))
        if kind == "uneven":
            A[: n // 3] = sp.random(n // 3, n, 0.02, random_state=rng, format="lil")
        A = A.tocsr()
        A = (A + sp.diags(1 + np.asarray(abs(A).sum(axis=1)).ravel())).tocsr()
    b = A @ np.ones(n)
    assert np.abs(solve(A, b, solver="bicgstab", engine="cuda", ranks=ranks).x - 1).max() < 1e-5


def test_every_measurement_of_communication_has_its_title() -> None:
    assert set(TITLES) == set(_core.comm_measurements())


@pytest.mark.skipif(DEVICES < 2, reason="messages take two GPUs")
def test_messages_are_timed_over_the_transports_that_are_asked_for() -> None:
    command = [sys.executable, "-m", "sordino", "bench", "comm", "--engine", "cuda", "--ranks", "2"]
    command += ["--what", "messages,broadcast", "--transport", "host,auto", "--epochs", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["measured"]
    patterns = ("to and fro", "one way", "both ways at once", "to all, and a sum that says so")
    sizes = [8 << 3 * k for k in range(8)] + [64 << 20]
    by_host = [(f"{pattern}, by host memory", size) for pattern in patterns for size in sizes]
    found = [(row["way"], row["bytes"]) for row in rows]
    assert found[: len(by_host)] == by_host and len(found) == 2 * len(by_host)
    straight = "peer memory" if _core.devices()["peer_access"][0][1] else "host memory"
    assert all(way.endswith(f", by {straight}") for way, _ in found[len(by_host) :])
    assert all(row["median_s"] > 0 and row["processes"] == 1 for row in rows)


def test_a_device_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(sordino.SordinoError, match="device"):
        sordino.Solver(poisson(8, 8, 8), engine="cuda", devices="63")


def test_a_matrix_too_large_for_the_device_is_one_sentence_and_exit_code_2() -> None:
    cupy = pytest.importorskip("cupy")
    available, _ = cupy.cuda.runtime.memGetInfo()
    filler = cupy.cuda.memory.alloc(available - (1 << 30))
    command = [sys.executable, "-m", "sordino", "poisson", "160", "160", "160", "--stencil", "27"]
    done = subprocess.run(
        [*command, "--engine", "cuda", "--ranks", "1", "--devices", "0"], capture_output=True, text=True
    )
    del filler
    assert done.returncode == 2, done.stderr
    sentence = done.stderr.strip().splitlines()
    assert len(sentence) == 1 and "too little memory for" in sentence[0]
    needed, available = (int(n) for n in re.findall(r"(\d+) bytes needed, (\d+) available", sentence[0])[0])
    assert needed > available > 0


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_a_time_limit_ends_every_method_on_all_ranks(method: str, ranks: int) -> None:
    """Requests to stop travel with reductions or gathered rows, and all ranks must leave in the same iteration."""
    A = poisson(40, 40, 40, contrast=1e5)
    s = sordino.Solver(
        A,
        solver=method,
        engine="cuda",
        ranks=ranks,
        rtol=1e-250,
        maxiter=10**6,
        time_limit=0.05,
        timeout=20.0,
    )
    for _ in range(20):
        assert s.solve(np.ones(A.shape[0]), on_failure="return").status in (
            "time_limit",
            "stagnated",
            "breakdown",
        )
