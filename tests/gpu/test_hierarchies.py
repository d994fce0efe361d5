"""Hierarchies of algebraic multigrid as M on GPUs beside the host. Skipped where there is no GPU."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _core

REPORT = _core.devices()
REASON = REPORT["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(REPORT["devices"])


def hierarchy(A: sp.csr_array, least: int = 200) -> SimpleNamespace:
    """Smoothed aggregation of four rows that follow each other: levels with A and P, as PyAMG's."""
    levels = [SimpleNamespace(A=A)]
    while levels[-1].A.shape[0] > least:
        A = levels[-1].A
        n = A.shape[0]
        tentative = sp.csr_array((np.ones(n), (np.arange(n), np.arange(n) // 4)))
        P = tentative - 0.3 * sp.diags_array(1 / A.diagonal()) @ (A @ tentative)
        levels[-1].P = sp.csr_array(P)
        levels.append(SimpleNamespace(A=sp.csr_array(P.T @ A @ P)))
    return SimpleNamespace(levels=levels)


@pytest.mark.parametrize("ranks", range(1, 1 + min(4, DEVICES)))
@pytest.mark.parametrize("cycle", ["v", "w"])
@pytest.mark.parametrize("solver", ["cg", "gropp", "bicgstab"])
def test_gpus_take_the_hosts_iterations(solver, cycle, ranks) -> None:
    A = sp.csr_array(sordino.poisson(23, 21, 19, contrast=10.0))
    b = np.random.default_rng(7).standard_normal(A.shape[0])
    options = {"solver": solver, "cycle": cycle, "ranks": ranks, "rtol": 1e-8, "timeout": 20.0}
    found = [sordino.solve(A, b, M=hierarchy(A), engine=engine, **options) for engine in ("host", "cuda")]
    for each in found:
        assert np.linalg.norm(b - A @ each.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    assert abs(found[0].iterations - found[1].iterations) <= 1


@pytest.mark.parametrize("ranks", range(1, 1 + min(2, DEVICES)))
def test_new_values_keep_the_coarse_levels(ranks) -> None:
    A = sp.csr_array(sordino.poisson(40, 40, 40))
    b = np.random.default_rng(8).standard_normal(A.shape[0])
    with sordino.Solver(A, M=hierarchy(A), solver="cg", rtol=1e-8, engine="cuda", ranks=ranks) as solver:
        first = solver.solve(b)
        solver.update_values(2 * A.data)
        again = solver.solve(b)
    assert np.linalg.norm(b - 2 * (A @ again.x)) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    assert abs(first.iterations - again.iterations) <= 1
