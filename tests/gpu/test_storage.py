"""Matrices by diagonals on GPUs: the bits of sliced rows, with every method, on every number of devices."""

from __future__ import annotations

import numpy as np
import pytest

import sordino
from sordino import _core

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(_core.devices()["devices"])
METHODS = [row["name"] for row in _core.solvers()]


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_every_storage_has_the_same_bits(method: str, ranks: int) -> None:
    if ranks > DEVICES:
        pytest.skip(f"{ranks} GPUs are asked for")
    A = sordino.poisson(17, 16, 15, contrast=100.0)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    runs = [
        sordino.solve(A, b, solver=method, rtol=1e-9, engine="cuda", ranks=ranks, storage=storage)
        for storage in ("csr", "auto", "dia", "symdia", "constant")
    ]
    for run in runs:
        assert run.converged and np.linalg.norm(b - A @ run.x) <= 1.1e-9 * np.linalg.norm(b)
        assert run.x.tobytes() == runs[0].x.tobytes() and run.iterations == runs[0].iterations


@pytest.mark.parametrize("storage", ["dia", "symdia", "constant"])
def test_the_order_of_the_other_engines_by_diagonals(storage: str) -> None:
    A = sordino.poisson(12, 11, 10, stencil=27)
    b = np.ones(A.shape[0])
    x = {
        sordino.solve(
            A, b, engine="cuda", ranks=ranks, deterministic="on", storage=stored, solver="cg"
        ).x.tobytes()
        for ranks in (1, 2, 4)
        if ranks <= DEVICES
        for stored in ("csr", storage)
    }
    assert len(x) == 1


@pytest.mark.parametrize("storage", ["auto", "dia", "symdia", "constant"])
def test_new_values_and_the_estimate_of_memory(storage: str) -> None:
    A = sordino.poisson(40, 40, 40)
    b = np.ones(A.shape[0])
    estimated = sordino.estimate_memory(A, engine="cuda", ranks=1, storage=storage, solver="cg")
    with sordino.Solver(A, engine="cuda", ranks=1, storage=storage, solver="cg", rtol=1e-9) as solver:
        held = solver.memory()["bytes_per_rank"]
        np.testing.assert_allclose(estimated["bytes_per_rank"], held, rtol=0.1)
        solver.update_values(3.0 * A)
        x = solver.solve(b).x
    assert np.linalg.norm(b - 3.0 * (A @ x)) <= 1.1e-9 * np.linalg.norm(b)
