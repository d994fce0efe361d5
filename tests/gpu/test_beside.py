"""What stands beside others, on GPUs: time steps that allocate and capture nothing, and CuPy's claims."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest

from sordino import NotConverged, Solver, _core
from sordino.bench import _peers
from sordino.cli import main
from sordino.problems import poisson

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(_core.devices()["devices"])


@pytest.mark.parametrize("ranks", [1, min(2, DEVICES)])
@pytest.mark.parametrize("solver", ["cg", "prcg", "pcg2", "pipebicgstab"])
def test_time_steps_allocate_and_capture_nothing(
    capsys: pytest.CaptureFixture[str], solver: str, ranks: int
) -> None:
    argv = [
        "--steps",
        "200",
        "--size",
        "12",
        "--solver",
        solver,
        "--ranks",
        str(ranks),
        "--engine",
        "cuda",
        "--json",
    ]
    code = main(["bench", "steps", *argv])
    row = json.loads(capsys.readouterr().out)
    held = row["held"]
    assert held["device_allocations"]["first"] > 0 and held["device_free"]["first"] > 0
    assert {name: part for name, part in held.items() if not part["flat"]} == {}
    assert row["verified"] == 200 and code == 0


@pytest.mark.parametrize("solver", ["cg", "prcg", "pcg2", "pipebicgstab"])
def test_ways_that_are_seldom_gone_were_captured_at_setup(solver: str) -> None:
    grid = poisson(12, 12, 12)
    kept = Solver(grid, solver=solver, precond="none", engine="cuda", ranks=1, replace_every=3)
    b = np.sin(np.arange(grid.shape[0]))

    def go(rtol: float, maxiter: int) -> list[int]:
        with contextlib.suppress(NotConverged):
            kept.solve(b, rtol=rtol, maxiter=maxiter)
        return kept.memory()["device_allocations"]

    first = go(1e-8, 2)  # too short for a graph
    for rtol, maxiter in [(1e-14, 3), (1e-14, 10), (1e-2, 500), (1e-4, 500), (1e-8, 500), (1e-17, 500)]:
        assert go(rtol, maxiter) == first, (rtol, maxiter)
    kept.update_values(grid.data * np.where(np.arange(len(grid.data)) % 2, 1.0, -1.0))  # what it is not for
    assert go(1e-8, 500) == first


@pytest.mark.skipif(not _peers.cupy_there(), reason="CuPy is not installed")
def test_cupy_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["bench", "claims", "--packages", "cupyx,sordino", "--only", "easy", "--json"])
    rows = json.loads(capsys.readouterr().out)["measured"]
    assert code == 0
    for package in ("cupyx", "sordino"):
        assert any(row["claimed"] for row in rows if row["package"] == package), package
