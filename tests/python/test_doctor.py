"""What doctor finds, on a stand-in that can be any machine."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    from sordino.cli import doctor

    for name, _, _ in doctor.TRAPS:
        monkeypatch.delenv(name, raising=False)


def test_a_machine_without_gpu_and_mpi(cli, fake_core):
    code, out, err = cli("doctor")
    assert code == 0 and err == ""
    for part in (
        "not in this build",
        "engine host",
        "talking through threads",
        "SORDINO_CUDA=1 pip install .",
    ):
        assert part in out


def test_a_machine_with_gpus(cli, fake_core):
    fake_core.cuda, fake_core.gpus = True, 4
    out = cli("doctor")[1]
    for part in ("engine cuda, 4 ranks", "peer memory", "device 3: Fake H200 (9.0), 149 GB of 150 GB free"):
        assert part in out


def test_processes_that_share_gpus_out(cli, fake_core):
    fake_core.cuda, fake_core.gpus, fake_core.mpi_size = True, 4, 2
    assert "2 ranks in each of 2 processes, talking through peer memory, and CUDA IPC" in cli("doctor")[1]
    fake_core.mpi_size = 4
    assert "1 rank in each of 4 processes, talking through CUDA IPC" in cli("doctor")[1]


def test_a_build_with_cuda_where_no_device_can_be_used(cli, fake_core):
    fake_core.cuda = True
    assert "this build has CUDA, but no device can be used: no driver" in cli("doctor")[1]


def test_gpus_that_do_not_reach_each_other(cli, fake_core, monkeypatch):
    fake_core.cuda, fake_core.gpus = True, 2
    seen = fake_core.devices()
    monkeypatch.setattr(fake_core, "devices", lambda: {**seen, "peer_access": [[True, False], [False, True]]})
    out = cli("doctor")[1]
    assert "all reach each other's memory: no" in out and "try --devices" in out


def test_traps_in_the_environment_are_named(cli, fake_core, monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    out = cli("doctor")[1]
    assert (
        "CUDA_LAUNCH_BLOCKING=1 makes every launch wait" in out
        and "CUDA_VISIBLE_DEVICES=0 hides devices" in out
    )


def test_under_mpi(cli, fake_core, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    fake_core.mpi_size = 2
    out = cli("doctor")[1]
    assert (
        "fake MPI; process 0 of 2" in out
        and "in each of 2 processes" in out
        and "MPI between processes" in out
    )


def test_as_json(cli, fake_core):
    found = json.loads(cli("doctor", "--json")[1])
    assert {"machine", "build", "cuda", "mpi", "environment", "extras", "will_run", "advice"} <= set(found)
