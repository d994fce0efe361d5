"""Precond amg on GPUs beside the host. Skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest

import sordino
from sordino import _core
from sordino.problems import multiphase

REPORT = _core.devices()
REASON = REPORT["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(REPORT["devices"])


def solved(A, b, **options):
    found = sordino.solve(A, b, precond="amg", rtol=1e-8, timeout=20.0, **options)
    assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    return found


@pytest.mark.parametrize("ranks", range(1, 1 + min(4, DEVICES)))
@pytest.mark.parametrize("cycle", ["v", "w"])
@pytest.mark.parametrize("solver", ["cg", "gropp", "cbcg", "bicgstab", "gmres"])
def test_gpus_take_the_hosts_iterations(solver, cycle, ranks) -> None:
    A = sordino.poisson(23, 21, 32, contrast=100.0)
    b = np.random.default_rng(5).standard_normal(A.shape[0])
    options = {"solver": solver, "cycle": cycle, "ranks": ranks}
    host, gpu = (solved(A, b, engine=engine, **options) for engine in ("host", "cuda"))
    at_once = 12 if solver == "cbcg" else 1
    assert abs(host.iterations - gpu.iterations) <= at_once


@pytest.mark.parametrize("ranks", range(1, 1 + min(2, DEVICES)))
def test_few_iterations_where_bubbles_rise_in_what_is_a_million_times_as_dense(ranks) -> None:
    p = multiphase(32, 32, 32, contrast=1e6)
    assert solved(p.A, p.b, solver="cg", engine="cuda", ranks=ranks).iterations <= 30


@pytest.mark.parametrize("ranks", range(1, 1 + min(2, DEVICES)))
def test_obstacles_nullspaces_and_new_values(ranks) -> None:
    p = multiphase(20, 24, 28, contrast=100.0, obstacles=3, boundary="neumann", seed=3)
    options = {"solver": "cg", "engine": "cuda", "ranks": ranks, "nullspace": p.nullspace, "rtol": 1e-8}
    with sordino.Solver(p.A, precond="amg", **options) as solver:
        first = solver.solve(p.b)
        assert first.converged
        solver.update_values(3 * p.A.data)
        again = solver.solve(p.b)
        assert again.converged and abs(again.iterations - first.iterations) <= 1


def test_small_and_thin_systems() -> None:
    for grid in ((1, 1, 1), (97, 1, 1), (31, 29, 1), (2, 2, 64)):
        A = sordino.poisson(*grid)
        solved(A, np.random.default_rng(5).standard_normal(A.shape[0]), solver="cg", engine="cuda", ranks=1)


def test_memory_is_foretold() -> None:
    A = sordino.poisson(24, 24, 24, contrast=100.0)
    options = {"precond": "amg", "solver": "cg", "engine": "cuda", "ranks": 1}
    with sordino.Solver(A, **options) as solver:
        held = solver.memory()["bytes_per_rank"]
    told = sordino.estimate_memory(A, **options)["bytes_per_rank"]
    np.testing.assert_allclose(told, held, rtol=0.1)  # a GPU's arrays begin at rounded addresses
