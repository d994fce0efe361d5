"""The cuda engine over several MPI processes, from the command line; where GPUs, MPI and a launcher are there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sordino import _core

DEVICES = len(_core.devices()["devices"])
BESIDE = Path(sys.executable).with_name("mpiexec")
LAUNCHER = str(BESIDE) if BESIDE.exists() else shutil.which("mpiexec") or shutil.which("mpirun")
#: As root, or with more processes than cores, Open MPI wants to be told that this is meant.
MEANT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
GRID = ("poisson", "30", "31", "32", "--contrast", "100", "--rtol", "1e-9", "--engine", "cuda")

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(DEVICES < 2, reason=f"several processes need several GPUs, and here are {DEVICES}"),
    pytest.mark.skipif(not _core.build_info()["mpi"], reason="this build has no MPI"),
    pytest.mark.skipif(not LAUNCHER, reason="there is no mpiexec here"),
]


def sordino(processes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    launch = [LAUNCHER, "-n", str(processes)] if processes > 1 else []
    return subprocess.run(
        [*launch, sys.executable, "-m", "sordino", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **MEANT},
    )


@pytest.mark.parametrize(("processes", "ranks"), [(2, 1), (2, 2), (4, 1)])
@pytest.mark.parametrize("method", ["cg", "prcg", "bicgstab"])
def test_every_layout_has_the_bits_of_one_process(processes: int, ranks: int, method: str) -> None:
    if processes * ranks > DEVICES:
        pytest.skip(f"{processes} processes of {ranks} need more than {DEVICES} GPUs")
    command = (*GRID, "--solver", method, "--deterministic", "on", "--json", "--ranks")
    alone = sordino(1, *command, str(processes * ranks))
    together = sordino(processes, *command, str(ranks))
    assert together.returncode == 0, together.stdout + together.stderr
    ours, one = json.loads(together.stdout), json.loads(alone.stdout)
    assert ours["status"] == "converged"
    assert ours["history"] == one["history"] and ours["iterations"] == one["iterations"]


@pytest.mark.parametrize(("processes", "ranks"), [(2, 1), (2, 2), (4, 1)])
def test_gathers_by_groups_have_the_bits_of_one_process(processes: int, ranks: int) -> None:
    if processes * ranks > DEVICES:
        pytest.skip(f"{processes} processes of {ranks} need more than {DEVICES} GPUs")
    words = ("bem", "pair:6,15", "--rtol", "1e-9", "--engine", "cuda", "--solver", "gatherbicgstab", "--json")
    alone = sordino(1, *words, "--ranks", str(processes * ranks))
    assert alone.returncode == 0, alone.stdout + alone.stderr
    for gather in ("rank", "2", "node"):
        together = sordino(processes, *words, "--ranks", str(ranks), "--gather", gather)
        assert together.returncode == 0, together.stdout + together.stderr
        ours, one = json.loads(together.stdout), json.loads(alone.stdout)
        assert ours["history"] == one["history"] and ours["status"] == "converged"


def test_processes_share_the_devices_out_by_themselves() -> None:
    done = sordino(2, *GRID, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["status"] == "converged"


def test_processes_on_one_gpu_are_refused_with_one_sentence() -> None:
    done = sordino(2, *GRID, "--ranks", "1", "--devices", "0")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "in different processes and on the same GPU" in done.stderr


def test_doctor_says_what_carries_data_between_processes() -> None:
    done = sordino(2, "doctor")
    assert done.returncode == 0 and "CUDA IPC" in done.stdout
