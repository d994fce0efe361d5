"""What doctor finds, on a stand-in that can be any machine."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    from sordino.cli import traps

    for name in (
        *(name for name, _, _ in traps.TRAPS),
        *(name for _, names in traps.TOOLS for name in names),
    ):
        monkeypatch.delenv(name, raising=False)


def test_a_machine_without_gpu_and_mpi(cli, fake_core):
    code, out, err = cli("doctor")
    assert code == 0 and err == ""
    assert out.startswith("Sordino ") and " (fa4e123), built by fake 1.0, in Python " in out
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
    for part in (
        "engine cuda, 4 ranks, talking through peer memory\n",
        "device 3: Fake H200 (9.0), 150 GB",
        "all reach each other's memory: yes; with native atomics, which Sordino does without: yes",
        "engine cuda, a GPU each: peer memory, written by kernels",
        "engine cuda, ranks that share a GPU: its memory, ordered by stream events",
        "engine host, one process: threads",
    ):
        assert part in out
    assert "CUDA IPC" not in out and "staged" not in out  # this build has no MPI


def test_one_gpu_has_no_peers(cli, fake_core):
    fake_core.cuda, fake_core.gpus = True, 1
    out = cli("doctor")[1]
    assert "1 rank, talking through one device" in out and "stream events" in out
    assert "a GPU each" not in out and "all reach" not in out


def test_native_atomics_are_told_apart_from_access(cli, fake_core, monkeypatch):
    fake_core.cuda, fake_core.gpus = True, 2
    seen = fake_core.devices()
    monkeypatch.setattr(fake_core, "devices", lambda: {**seen, "peer_atomics": [[True, False], [True, True]]})
    out = cli("doctor")[1]
    assert "all reach each other's memory: yes; with native atomics, which Sordino does without: no" in out


def test_processes_that_share_gpus_out(cli, fake_core):
    fake_core.cuda, fake_core.gpus, fake_core.mpi_size = True, 4, 2
    assert "2 ranks in each of 2 processes, talking through peer memory and CUDA IPC" in cli("doctor")[1]
    fake_core.mpi_size = 4
    out = cli("doctor")[1]
    assert "1 rank in each of 4 processes, talking through CUDA IPC\n" in out
    assert "engine cuda, processes of one host: peer memory, mapped by CUDA IPC" in out
    assert "engine host, processes: MPI, staged through host memory" in out


def test_a_build_with_cuda_where_no_device_can_be_used(cli, fake_core):
    fake_core.cuda = True
    assert "this build has CUDA, but no device can be used: no driver" in cli("doctor")[1]


def test_gpus_that_do_not_reach_each_other(cli, fake_core, monkeypatch):
    fake_core.cuda, fake_core.gpus = True, 2
    seen = fake_core.devices()
    monkeypatch.setattr(fake_core, "devices", lambda: {**seen, "peer_access": [[True, False], [False, True]]})
    out = cli("doctor")[1]
    assert "all reach each other's memory: no" in out and "native atomics" not in out
    assert "talking through host memory" in out
    assert "engine cuda, a GPU each: through host memory: no peer access between 0 and 1" in out
    assert "they send through host memory, which is slow; choose others by --devices" in out


def test_many_gpus_that_do_not_reach_each_other_are_not_all_listed(cli, fake_core, monkeypatch):
    fake_core.cuda, fake_core.gpus = True, 8
    alone = [[i == j for j in range(8)] for i in range(8)]
    seen = fake_core.devices()
    monkeypatch.setattr(fake_core, "devices", lambda: {**seen, "peer_access": alone})
    assert "between 0 and 1, 0 and 2, 1 and 2, 0 and 3, others" in cli("doctor")[1]


def test_a_slice_of_a_gpu_is_said_to_be_one(cli, fake_core, monkeypatch):
    fake_core.cuda, fake_core.gpus = True, 1
    seen = fake_core.devices()
    part = {**seen["devices"][0], "name": "NVIDIA H200 MIG 1g.18gb"}
    monkeypatch.setattr(fake_core, "devices", lambda: {**seen, "devices": [part]})
    assert "device 0: a part of a GPU (MIG)" in cli("doctor")[1]
    monkeypatch.setattr(fake_core, "devices", lambda: seen)
    assert "MIG" not in cli("doctor")[1]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("NV_SANITIZER_INJECTION_PORT_BASE", "49152", "compute-sanitizer is injected into CUDA and may run one kernel"),
        ("CUDA_INJECTION64_PATH", "/x/tool.so", "a tool is injected into CUDA and may run one kernel"),
        ("NSYS_PROFILING_SESSION_ID", "1", "Nsight Systems is injected into CUDA: times are longer"),
    ],
)  # fmt: skip
def test_a_tool_that_watches_kernels_is_named(cli, fake_core, monkeypatch, name, value, said):
    fake_core.cuda, fake_core.gpus = True, 2
    assert "injected" not in cli("doctor")[1]
    monkeypatch.setenv(name, value)
    out = cli("doctor")[1]
    assert said in out
    assert json.loads(cli("doctor", "--json")[1])["tool"] == said.split(" is ")[0]


def test_processes_that_are_bound_to_fewer_cores_than_ranks(cli, fake_core, monkeypatch):
    from sordino import machines

    fake_core.cuda, fake_core.gpus, fake_core.mpi_size = True, 4, 2
    monkeypatch.setattr(machines, "cores", lambda: 1)
    assert "may use 1 core(s) for 2 ranks: start it with 'mpirun --bind-to none'" in cli("doctor")[1]
    monkeypatch.setattr(machines, "cores", lambda: 8)
    assert "--bind-to" not in cli("doctor")[1]


def test_traps_in_the_environment_are_named(cli, fake_core, monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    out = cli("doctor")[1]
    assert (
        "CUDA_LAUNCH_BLOCKING=1 makes every launch wait" in out
        and "CUDA_VISIBLE_DEVICES=0 hides devices" in out
    )


@pytest.mark.parametrize(
    ("name", "biting", "harmless"),
    [
        ("CUDA_MODULE_LOADING", "EAGER", "LAZY"),
        ("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1", "0"),
        ("NCCL_P2P_DISABLE", "1", "0"),
        ("NCCL_NVLS_ENABLE", "0", "1"),
        ("OMPI_MCA_btl", "tcp,self", None),
        ("OMPI_MCA_mpi_yield_when_idle", "0", "1"),
    ],
)
def test_only_values_that_bite_are_traps(cli, fake_core, monkeypatch, name, biting, harmless):
    monkeypatch.setenv(name, biting)
    assert f"- {name}={biting} " in cli("doctor")[1]
    if harmless:
        monkeypatch.setenv(name, harmless)
        assert name not in cli("doctor")[1]


def test_under_mpi(cli, fake_core, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    fake_core.mpi_size = 2
    out = cli("doctor")[1]
    assert (
        "fake MPI; process 0 of 2" in out
        and "in each of 2 processes" in out
        and "MPI between processes" in out
    )


@pytest.mark.parametrize(("aware", "word"), [(True, "yes"), (False, "no"), (None, "known under mpirun")])
def test_whether_mpi_takes_memory_of_gpus(cli, fake_core, aware, word):
    fake_core.cuda, fake_core.gpus, fake_core.mpi_size, fake_core.mpi_gpu_aware = True, 2, 2, aware
    out = cli("doctor")[1]
    assert f"process 0 of 2; GPU-aware: {word}; MPI_THREAD_MULTIPLE, and used\n" in out
    path = "MPI, from GPU to GPU" if aware else "MPI, staged through host memory"
    assert f"engine cuda, several hosts: {path}\n" in out


@pytest.mark.parametrize(("serialized", "said"), [(True, "one call at a time"), (False, "and used")])
def test_how_threads_call_mpi(cli, fake_core, serialized, said):
    fake_core.mpi_size, fake_core.mpi_serialized = 2, serialized
    assert f"; MPI_THREAD_MULTIPLE, {said}\n" in cli("doctor")[1]


def test_as_json(cli, fake_core):
    found = json.loads(cli("doctor", "--json")[1])
    parts = {
        "machine",
        "build",
        "cuda",
        "mpi",
        "environment",
        "tool",
        "extras",
        "paths",
        "will_run",
        "advice",
    }
    assert parts <= set(found)
    assert found["paths"] == [
        {"ranks": "engine host, one process", "path": "threads: each writes into the others' memory"}
    ]
    assert found["tool"] is None


def test_nvshmem_is_named_with_its_version(cli, fake_core, monkeypatch, tmp_path):
    from sordino import _wheels

    fake_core.cuda, fake_core.gpus, fake_core.mpi_size = True, 2, 2
    monkeypatch.setattr("sordino.cli.doctor.nvshmem_version", lambda: "3.4.5")
    out = cli("doctor")[1]
    assert "NVSHMEM     3.4.5\n" in out
    assert (
        "engine cuda, --transport nvshmem: memory of NVSHMEM 3.4.5, and its messages; a process a GPU" in out
    )
    assert json.loads(cli("doctor", "--json")[1])["cuda"]["nvshmem"] == "3.4.5"
    monkeypatch.setattr("sordino.cli.doctor.nvshmem_version", lambda: None)
    out = cli("doctor")[1]
    assert "NVSHMEM     not found; for --transport nvshmem: pip install nvidia-nvshmem-cu13" in out
    assert "engine cuda, --transport nvshmem" not in out
    monkeypatch.setenv(_wheels.NVSHMEM_WORD, str(tmp_path / "missing.so"))
    assert _wheels.nvshmem_version() is None


def test_nccl_and_when_kernels_are_loaded_are_said(cli, fake_core, monkeypatch):
    fake_core.cuda, fake_core.gpus = True, 2
    monkeypatch.setattr("sordino.cli.doctor.has_nccl", lambda: True)
    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    out = cli("doctor")[1]
    assert "engine cuda, --transport nccl: NCCL's messages, between launches" in out
    assert "kernels are loaded when they are first used (lazy)" in out
    monkeypatch.setattr("sordino.cli.doctor.has_nccl", lambda: False)
    monkeypatch.setenv("CUDA_MODULE_LOADING", "EAGER")
    out = cli("doctor")[1]
    assert "--transport nccl" not in out
    assert "kernels are loaded all at the start (eager)" in out
    assert "CUDA_MODULE_LOADING=EAGER loads every kernel at the start" in out
