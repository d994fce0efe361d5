"""Preconds ic0 and ilu0 on GPUs beside the host: iterations, bits, new values, stops. Skipped where there is no GPU."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _core

REPORT = _core.devices()
REASON = REPORT["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
RANKS = [ranks for ranks in (1, 2, 4) if ranks <= len(REPORT["devices"])]

PAIRS = [
    ("cg", "ic0"),
    ("fcg", "ic0"),
    ("gropp", "ic0"),
    ("bicgstab", "ilu0"),
    ("gmres", "ilu0"),
    ("fcg", "ilu0"),
]


def scattered(rng, n):
    """Symmetric, entries anywhere, and a dominant diagonal."""
    A = sp.random_array((n, n), density=7 / n, rng=rng, data_sampler=rng.standard_normal)
    A = sp.csr_array(A + A.T)
    A.setdiag(0)
    return sp.csr_array(A + sp.diags_array(np.asarray(abs(A).sum(axis=1)).ravel() + 0.01))


def matrices(rng):
    yield "7 points", sordino.poisson(24, 20, 28, contrast=1000.0)
    yield "27 points", sordino.poisson(13, 17, 15, stencil=27)
    yield "scattered", scattered(rng, 3000)
    yield "chain", sp.diags_array([-1.0, 2.01, -1.0], offsets=[-1, 0, 1], shape=(5000, 5000), format="csr")


def solved(A, b, **options):
    found = sordino.solve(A, b, rtol=1e-9, timeout=20.0, **options)
    assert np.linalg.norm(b - A @ found.x) <= 1e-9 * np.linalg.norm(b) * (1 + 1e-9)
    return found


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(("solver", "precond"), PAIRS)
def test_gpus_take_the_hosts_iterations(solver, precond, ranks) -> None:
    rng = np.random.default_rng(71)
    for name, A in matrices(rng):
        b = rng.standard_normal(A.shape[0])
        options = {"solver": solver, "precond": precond, "ranks": ranks}
        host, gpu = (solved(A, b, engine=engine, **options) for engine in ("host", "cuda"))
        # Sums are added in another order, on which bicgstab's iterations hang most.
        most = max(2, host.iterations // 20) if solver == "bicgstab" else max(1, host.iterations // 50)
        assert abs(host.iterations - gpu.iterations) <= most, name


@pytest.mark.parametrize(("solver", "precond"), PAIRS)
def test_one_gpu_has_the_hosts_bits_where_sums_are_ordered(solver, precond) -> None:
    rng = np.random.default_rng(72)
    for name, A in matrices(rng):
        b = rng.standard_normal(A.shape[0])
        options = {"solver": solver, "precond": precond, "ranks": 1, "deterministic": "on"}
        host, gpu = (solved(A, b, engine=engine, **options) for engine in ("host", "cuda"))
        assert host.iterations == gpu.iterations, name
        np.testing.assert_array_equal(host.x, gpu.x, err_msg=name)


@pytest.mark.parametrize("ranks", RANKS)
def test_new_values_are_factorized_and_refused_ones_leave_the_old(ranks) -> None:
    rng = np.random.default_rng(73)
    A, b = scattered(rng, 2000), rng.standard_normal(2000)
    with sordino.Solver(A, solver="cg", precond="ic0", engine="cuda", ranks=ranks, timeout=20.0) as solver:
        first = solver.solve(b, rtol=1e-10)
        solver.update_values(3 * A.data)
        again = solver.solve(b, rtol=1e-10)
        np.testing.assert_allclose(A @ again.x, b / 3, rtol=1e-6, atol=1e-8)
        assert abs(first.iterations - again.iterations) <= 1
        with pytest.raises(sordino.BadArgument, match="ic0: the pivot of row 0 is not positive"):
            solver.update_values(-A.data)
        assert solver.solve(b, rtol=1e-10).iterations == again.iterations


@pytest.mark.parametrize("ranks", RANKS)
def test_a_solve_that_is_stopped_leaves_the_factors_as_they_were(ranks) -> None:
    A = sordino.poisson(32, 32, 32)
    b = np.random.default_rng(74).standard_normal(A.shape[0])
    options = {"precond": "ilu0", "engine": "cuda", "ranks": ranks, "timeout": 20.0}
    with sordino.Solver(A, solver="richardson", omega=1e-9, **options) as slow:  # never there
        for _ in range(3):
            begin = time.monotonic()
            stopped = slow.solve(b, maxiter=10**8, time_limit=0.2, on_failure="return")
            assert stopped.status == "time_limit" and time.monotonic() - begin < 10
            few = slow.solve(b, maxiter=40, on_failure="return")
            assert few.iterations == 40
            wanted = sordino.solve(
                A, b, solver="richardson", omega=1e-9, precond="ilu0", engine="host", ranks=ranks,
                maxiter=40, on_failure="return",
            )  # fmt: skip
            np.testing.assert_allclose(few.x, wanted.x, rtol=1e-12)


def test_memory_is_foretold() -> None:
    A = sordino.poisson(30, 30, 30)
    for solver, precond in (("cg", "ic0"), ("bicgstab", "ilu0")):
        options = {"solver": solver, "precond": precond, "engine": "cuda", "ranks": 1}
        told = sordino.estimate_memory(A, **options)["bytes_per_rank"]
        with sordino.Solver(A, **options) as s:
            np.testing.assert_allclose(s.memory()["bytes_per_rank"], told, rtol=0.1)


def test_awkward_systems() -> None:
    rng = np.random.default_rng(75)
    arrow = sp.lil_array(sp.eye_array(400) * 50.0)
    arrow[-1, :-1] = arrow[:-1, -1] = 1.0
    arrow[-1, -1] = 500.0
    for A in (sp.csr_array([[4.0]]), sp.csr_array(sp.eye_array(77) * 2.0), sp.csr_array(arrow)):
        for solver, precond in (("cg", "ic0"), ("gmres", "ilu0")):
            solved(A, rng.standard_normal(A.shape[0]), solver=solver, precond=precond, engine="cuda", ranks=1)


def test_what_does_not_fit_is_refused() -> None:
    A = sordino.poisson(6, 6, 6)
    for options, sentence in (
        ({"precond": "ilu0", "solver": "cg"}, "precond ilu0 is not symmetric"),
        (
            {"precond": "ic0", "solver": "cg", "partition": "metis", "ranks": 2},
            "changes their order: use partition blocks",
        ),
    ):
        with pytest.raises((sordino.BadArgument, sordino.Unsupported), match=sentence):
            sordino.solve(A, np.ones(216), engine="cuda", **options)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(("solver", "precond"), [("cg", "ic0"), ("bicgstab", "ilu0")])
def test_rows_of_a_process_are_factorized_on_gpus_as_a_whole_matrix_is(solver, precond, ranks) -> None:
    rng = np.random.default_rng()
    A = sp.csr_array(sordino.poisson(17, 13, 19, contrast=100.0))
    options = {"solver": solver, "precond": precond, "ranks": ranks, "engine": "cuda", "rtol": 1e-9}
    b = rng.standard_normal(A.shape[0])
    with sordino.RowsSolver(None, A, timeout=20.0, **options) as rows:
        found = rows.solve(b)
        assert np.linalg.norm(b - A @ found.x) <= 1e-9 * np.linalg.norm(b) * (1 + 1e-9)
        # Blocks of rows need not be those of a Solver, on which the factors of several ranks hang.
        whole = solved(A, b, **{k: v for k, v in options.items() if k != "rtol"}).iterations
        assert abs(found.iterations - whole) <= max(2, whole // 5)
        rows.update_values(3 * A.data)
        assert np.linalg.norm(b - 3 * (A @ rows.solve(b).x)) <= 1e-9 * np.linalg.norm(b) * (1 + 1e-9)
