"""What stands beside others, on GPUs: time steps that allocate and capture nothing, and CuPy's claims."""

from __future__ import annotations

import json

import pytest

from sordino import _core
from sordino.bench import _peers
from sordino.cli import main

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(_core.devices()["devices"])


@pytest.mark.parametrize("ranks", [1, min(2, DEVICES)])
@pytest.mark.parametrize("solver", ["cg", "prcg"])
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
    held = json.loads(capsys.readouterr().out)["held"]
    assert held["device_allocations"]["first"] > 0 and held["device_free"]["first"] > 0
    if solver == "cg":
        assert code == 0, held
    else:  # some ways through it are first gone, and recorded, in a later step
        assert all(part["flat"] for name, part in held.items() if not name.startswith("device")), held
        assert held["device_allocations"]["last_growth_at_step"] <= 20, held


@pytest.mark.skipif(not _peers.cupy_there(), reason="CuPy is not installed")
def test_cupy_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["bench", "claims", "--packages", "cupyx,sordino", "--only", "easy", "--json"])
    rows = json.loads(capsys.readouterr().out)["measured"]
    assert code == 0
    for package in ("cupyx", "sordino"):
        assert any(row["claimed"] for row in rows if row["package"] == package), package
