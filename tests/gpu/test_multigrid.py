"""Precond mg on GPUs beside the host. Skipped where there is no GPU."""

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
SOLVERS = ("cg", "cgcg", "prcg", "gropp", "pcg1", "pcg2", "pcg-overlap", "cbcg", "bicgstab", "gmres")


def solved(A, b, grid, **options):
    found = sordino.solve(A, b, precond="mg", grid=grid, rtol=1e-8, timeout=20.0, **options)
    assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    return found


@pytest.mark.parametrize("ranks", range(1, 1 + min(4, DEVICES)))
@pytest.mark.parametrize("cycle", ["v", "w"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_gpus_take_the_hosts_iterations(solver, cycle, ranks) -> None:
    grid = (24, 20, 32)
    A = sordino.poisson(*grid, contrast=100.0)
    b = np.random.default_rng(5).standard_normal(A.shape[0])
    options = {"solver": solver, "cycle": cycle, "ranks": ranks}
    host, gpu = (solved(A, b, grid, engine=engine, **options) for engine in ("host", "cuda"))
    at_once = 12 if solver == "cbcg" else 1
    assert abs(host.iterations - gpu.iterations) <= at_once


@pytest.mark.parametrize("ranks", range(1, 1 + min(2, DEVICES)))
def test_obstacles_nullspaces_and_new_values(ranks) -> None:
    grid = (20, 24, 28)
    p = multiphase(*grid, contrast=100.0, obstacles=3, boundary="neumann", seed=3)
    options = {
        "solver": "cg",
        "engine": "cuda",
        "ranks": ranks,
        "grid": grid,
        "nullspace": p.nullspace,
        "rtol": 1e-8,
    }
    with sordino.Solver(p.A, precond="mg", **options) as solver:
        first = solver.solve(p.b)
        assert first.converged
        solver.update_values(3 * p.A.data)
        again = solver.solve(p.b)
        assert again.converged and abs(again.iterations - first.iterations) <= 1


@pytest.mark.parametrize("ranks", range(1, 1 + min(4, DEVICES)))
@pytest.mark.parametrize("boundary", ["dirichlet", "neumann"])
def test_cycles_by_themselves(boundary, ranks) -> None:
    grid = (17, 16, 20)
    A = sordino.poisson(*grid, boundary=boundary, contrast=10.0)
    b = np.random.default_rng(11).standard_normal(A.shape[0])
    b -= b.mean()
    options = {
        "solver": "richardson",
        "ranks": ranks,
        "nullspace": "constant" if boundary == "neumann" else "none",
    }
    host, gpu = (solved(A, b, grid, engine=engine, **options) for engine in ("host", "cuda"))
    assert abs(host.iterations - gpu.iterations) <= 1


def test_awkward_grids() -> None:
    for grid in ((1, 1, 1), (97, 1, 1), (31, 29, 1), (13, 11, 17), (2, 2, 64)):
        A = sordino.poisson(*grid)
        solved(A, np.random.default_rng(5).standard_normal(A.shape[0]), grid, engine="cuda", ranks=1)


@pytest.mark.parametrize("ranks", range(2, 1 + min(4, DEVICES)))
@pytest.mark.parametrize("cycle", ["v", "w", "f"])
@pytest.mark.parametrize("level_rows", [0, 500, 16384])
def test_levels_on_fewer_gpus_take_the_iterations_of_one(level_rows, cycle, ranks) -> None:
    """Some GPUs own nothing of coarse levels; layers of the second grid are odd, or one for each GPU."""
    options = {"solver": "fcg" if cycle == "f" else "cg", "cycle": cycle, "level_rows": level_rows}
    for grid in ((24, 20, 32), (20, 24, 4 * ranks + 1), (30, 31, ranks)):
        A = sordino.poisson(*grid, contrast=10.0)
        b = np.random.default_rng(7).standard_normal(A.shape[0])
        alone = solved(A, b, grid, engine="host", ranks=1, **options)
        found = solved(A, b, grid, engine="cuda", ranks=ranks, **options)
        assert found.iterations <= alone.iterations + 1


@pytest.mark.parametrize("ranks", range(1, 1 + min(4, DEVICES)))
@pytest.mark.parametrize("precision", ["single", "half"])
@pytest.mark.parametrize("solver", ["cg", "fcg", "cbcg", "bicgstab", "gmres"])
def test_cycles_in_lower_precision_take_the_iterations_of_those_in_double(solver, precision, ranks) -> None:
    for grid in ((24, 20, 32), (13, 11, 31)):  # the second one's ranks have odd numbers of rows
        A = sordino.poisson(*grid, contrast=100.0)
        b = np.random.default_rng(6).standard_normal(A.shape[0])
        options = {"solver": solver, "ranks": ranks, "engine": "cuda"}
        lower = solved(A, b, grid, cycle_precision=precision, **options)
        host = solved(A, b, grid, cycle_precision=precision, **options | {"engine": "host"})
        double = solved(A, b, grid, **options)
        at_once = 24 if solver == "cbcg" else 1  # two of its steps
        assert abs(lower.iterations - double.iterations) <= at_once
        assert abs(lower.iterations - host.iterations) <= at_once


@pytest.mark.parametrize("precision", ["single", "half"])
@pytest.mark.parametrize("storage", ["csr", "dia", "symdia"])
@pytest.mark.parametrize("stencil", [7, 27])
def test_lower_precision_of_any_storage_and_size(precision, storage, stencil) -> None:
    grid = (17, 20, 24)
    A = sordino.poisson(*grid, stencil=stencil, contrast=1e3)
    b = np.random.default_rng(7).standard_normal(A.shape[0])
    options = {"engine": "cuda", "ranks": min(2, DEVICES), "storage": storage, "cycle_precision": precision}
    plain = solved(A, b, grid, **options)
    for of_A, of_b in ((1e-30, 1e40), (1e40, 1e-30)):
        assert abs(solved(of_A * A, of_b * b, grid, **options).iterations - plain.iterations) <= 1
    with sordino.Solver(A, precond="mg", solver="cg", grid=grid, rtol=1e-8, **options) as solver:
        solver.update_values(1e-20 * A.data)
        assert abs(solver.solve(b).iterations - plain.iterations) <= 1


@pytest.mark.parametrize("ranks", range(1, 1 + min(4, DEVICES)))
@pytest.mark.parametrize("smoother", ["sor", "block-ilu"])
@pytest.mark.parametrize("cycle", ["v", "w", "f"])
def test_other_smoothers_take_the_hosts_iterations(cycle, smoother, ranks) -> None:
    """Layers of the second grid are odd, lines of cells, too; the third one's coarse levels lie on one GPU."""
    options = {
        "solver": "fcg" if cycle == "f" else "cg",
        "cycle": cycle,
        "smoother": smoother,
        "ranks": ranks,
    }
    for grid, level_rows in (((24, 20, 32), 0), ((13, 11, 31), 0), ((32, 30, 40), 16384)):
        A = sordino.poisson(*grid, contrast=100.0)
        b = np.random.default_rng(9).standard_normal(A.shape[0])
        options["level_rows"] = level_rows
        host, gpu = (solved(A, b, grid, engine=engine, **options) for engine in ("host", "cuda"))
        assert abs(host.iterations - gpu.iterations) <= 1


@pytest.mark.parametrize("smoother", ["sor", "block-ilu"])
def test_other_smoothers_of_obstacles_nullspaces_and_new_values(smoother) -> None:
    grid = (20, 24, 28)
    p = multiphase(*grid, contrast=100.0, obstacles=3, boundary="neumann", seed=3)
    options = {"engine": "cuda", "ranks": min(2, DEVICES), "nullspace": p.nullspace, "smoother": smoother}
    with sordino.Solver(p.A, precond="mg", solver="cg", grid=grid, rtol=1e-8, **options) as solver:
        first = solver.solve(p.b)
        assert first.converged
        solver.update_values(3 * p.A.data)
        again = solver.solve(p.b)
        assert again.converged and abs(again.iterations - first.iterations) <= 1


def test_tiles_smooth_27_points() -> None:
    grid = (20, 17, 24)
    A = sordino.poisson(*grid, stencil=27)
    b = np.random.default_rng(10).standard_normal(A.shape[0])
    options = {"smoother": "block-ilu", "ranks": min(2, DEVICES), "solver": "cg"}
    host, gpu = (solved(A, b, grid, engine=engine, **options) for engine in ("host", "cuda"))
    assert abs(host.iterations - gpu.iterations) <= 1
