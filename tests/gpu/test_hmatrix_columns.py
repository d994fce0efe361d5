"""Several right-hand sides of an H-matrix at once on GPUs, beside each alone. Skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _core
from sordino._at_once import AtOnce

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(_core.devices()["devices"])


@pytest.fixture(scope="module")
def matrix() -> sordino.HMatrix:
    return sordino.hmatrix(sordino.surfaces.sphere(7, 12), 1e-7)


@pytest.fixture(scope="module")
def sides(matrix: sordino.HMatrix) -> np.ndarray:
    return np.random.default_rng(31).standard_normal((matrix.shape[0], 10))


def relative(matrix: sordino.HMatrix, B: np.ndarray, X: np.ndarray) -> np.ndarray:
    return np.linalg.norm(B - matrix @ X, axis=0) / np.linalg.norm(B, axis=0)


@pytest.mark.parametrize("ranks", [r for r in (1, 2, 3) if r <= max(DEVICES, 2)])
@pytest.mark.parametrize("columns", [2, 3, 5, 8, 10])
def test_columns_are_solved_at_once_as_each_is_alone(
    matrix: sordino.HMatrix, sides: np.ndarray, columns: int, ranks: int
) -> None:
    B = sides[:, :columns]
    with sordino.Solver(matrix, engine="cuda", ranks=ranks, solver="bicgstab", rtol=1e-9) as solver:
        assert isinstance(solver._together, AtOnce)
        found = solver.solve(B)
        alone = [solver.solve(b) for b in B.T]
        again = solver.solve(B)
    assert relative(matrix, B, found.x).max() <= 1.1e-9
    assert np.array_equal(found.x, again.x)
    for k, (report, one) in enumerate(zip(found.reports, alone, strict=True)):
        assert report.converged and len(report.history) == report.iterations
        assert abs(report.iterations - one.iterations) <= 1 + one.iterations // 10
        np.testing.assert_allclose(found.x[:, k], one.x, atol=1e-5 * np.abs(one.x).max())


@pytest.mark.parametrize("how", [{"precond": "none"}, {"M": "a diagonal"}, {"deterministic": "on"}])
def test_preconditioners_and_orders(matrix: sordino.HMatrix, sides: np.ndarray, how: dict) -> None:
    if "M" in how:
        how = {"M": sp.diags_array(1 / matrix.diagonal())}
    found = sordino.solve(matrix, sides[:, :3], engine="cuda", ranks=1, solver="bicgstab", rtol=1e-9, **how)
    assert found.converged and relative(matrix, sides[:, :3], found.x).max() <= 1.1e-9


@pytest.mark.parametrize("distribution", ["leaves", "grid"])
def test_ranks_share_leaves(matrix: sordino.HMatrix, sides: np.ndarray, distribution: str) -> None:
    options = {"ranks": 2, "distribution": distribution, "solver": "bicgstab", "rtol": 1e-9}
    found = sordino.solve(matrix, sides[:, :4], engine="cuda", **options)
    assert found.converged and relative(matrix, sides[:, :4], found.x).max() <= 1.1e-9


def test_a_column_has_its_bits_whatever_stands_beside_it(matrix: sordino.HMatrix, sides: np.ndarray) -> None:
    B, other = sides[:, :4].copy(), sides[:, 4:8].copy()
    other[:, 2] = B[:, 2]
    other[:, 0] = 0  # is solved at once
    other[:, 1] = matrix @ np.ones(len(other))
    with sordino.Solver(matrix, engine="cuda", ranks=1, solver="bicgstab", rtol=1e-9) as solver:
        found, beside = solver.solve(B), solver.solve(other)
    np.testing.assert_array_equal(found.x[:, 2], beside.x[:, 2])
    np.testing.assert_array_equal(found.reports[2].history, beside.reports[2].history)
    assert beside.reports[0].iterations == 0 and not beside.x[:, 0].any()


def test_columns_end_by_themselves(matrix: sordino.HMatrix, sides: np.ndarray) -> None:
    B = sides[:, :3].copy()
    B[:, 1] = 0
    options = {"engine": "cuda", "ranks": 1, "solver": "bicgstab", "on_failure": "return"}
    few = sordino.solve(matrix, B, rtol=1e-12, maxiter=2, **options)
    assert [report.status for report in few.reports] == ["max_iterations", "converged", "max_iterations"]
    assert np.isfinite(few.x).all() and [report.iterations for report in few.reports] == [2, 0, 2]
    assert (relative(matrix, B[:, ::2], few.x[:, ::2]) <= 1).all()
    late = sordino.solve(matrix, B, rtol=1e-300, maxiter=10**8, time_limit=1e-6, **options)
    assert [report.status for report in late.reports] == ["time_limit", "converged", "time_limit"]


def test_capacitances_are_those_of_the_host() -> None:
    surface = sordino.surfaces.spheres(2, 1, 1, m0=6, M=4, radius=0.25, spacing=1.0, potentials=(3.0, -2.0))
    found = sordino.bem(surface, eps=1e-6, capacitance=True, engine="cuda", ranks=1, rtol=1e-8)
    host = sordino.bem(surface, eps=1e-6, capacitance=True, engine="host", ranks=1, rtol=1e-8)
    np.testing.assert_allclose(found.capacitance, host.capacitance, rtol=1e-6)
