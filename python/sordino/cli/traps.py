"""What around a process changes what is measured or seen, in one sentence each; asks no device."""

from __future__ import annotations

import os
from typing import Any

#: Variables, the values that bite (None: any), and what they do.
TRAPS: tuple[tuple[str, tuple[str, ...] | None, str], ...] = (
    ("CUDA_LAUNCH_BLOCKING", ("1",), "makes every launch wait: nothing overlaps; unset it"),
    ("CUDA_MODULE_LOADING", ("eager",), "loads every kernel at the start, used or not; unset it"),
    ("CUDA_VISIBLE_DEVICES", None, "hides devices and renumbers the others"),
    (
        "CUDA_DEVICE_MAX_CONNECTIONS",
        ("1",),
        "puts all streams into one queue: ranks that share a GPU may stall; unset it",
    ),
    ("CUDA_FORCE_PTX_JIT", ("1",), "compiles every kernel at the start: the first solve is slow; unset it"),
    (
        "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
        ("1",),
        "writes a device's memory to a file before its failure is reported: that may outlast the timeout",
    ),
    (
        "CUDA_MPS_PIPE_DIRECTORY",
        None,
        "may send work through MPS, where a failing process takes others with it",
    ),
    ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", None, "leaves this process a part of each GPU"),
    (
        "NCCL_P2P_DISABLE",
        ("1",),
        "makes NCCL (--transport nccl, and comparisons) go through host memory",
    ),
    (
        "NCCL_P2P_LEVEL",
        None,
        "decides which GPUs NCCL (--transport nccl, and comparisons) connects directly",
    ),
    ("NCCL_NVLS_ENABLE", ("0",), "slows NCCL (--transport nccl, and comparisons)"),
    ("NCCL_ALGO", None, "decides how NCCL (--transport nccl, and comparisons) adds"),
    ("NCCL_PROTO", None, "decides how NCCL (--transport nccl, and comparisons) sends"),
    ("OMPI_MCA_btl", None, "decides how MPI moves data between processes of engine host"),
    ("OMPI_MCA_pml", None, "decides how MPI moves data between processes of engine host"),
    (
        "OMPI_MCA_mpi_yield_when_idle",
        ("0", "false"),
        "lets MPI spin where processes outnumber cores; unset it",
    ),
    ("OMP_PROC_BIND", ("true", "close", "spread"), "may bind all ranks' threads to one core; unset it"),
)

#: Tools that watch every kernel, and the variables by which they are known. Under them kernels may run one at a time.
TOOLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("compute-sanitizer", ("NV_SANITIZER_INJECTION_PORT_BASE", "NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN")),
    ("Nsight Compute", ("NV_COMPUTE_PROFILER_PERFWORKS_DIR",)),
    ("Nsight Systems", ("NSYS_PROFILING_SESSION_ID",)),
    ("a tool", ("CUDA_INJECTION64_PATH", "CUDA_INJECTION32_PATH")),
)

#: Under these, ranks that wait for each other inside kernels may wait in vain.
ONE_AT_A_TIME = ("compute-sanitizer", "Nsight Compute", "a tool")


def loading() -> str:
    """When the driver loads kernels: "lazy", each at its first launch, the default since CUDA 12.2, or "eager"."""
    return "eager" if os.environ.get("CUDA_MODULE_LOADING", "").lower() == "eager" else "lazy"


def environment() -> list[dict[str, str]]:
    """The variables that are set and bite: name, value, effect."""
    return [
        {"name": name, "value": os.environ[name], "effect": effect}
        for name, bites, effect in TRAPS
        if name in os.environ and (bites is None or os.environ[name].lower() in bites)
    ]


def tool() -> str | None:
    """The tool that watches this process's kernels."""
    return next((name for name, known_by in TOOLS if any(word in os.environ for word in known_by)), None)


def tool_advice(name: str) -> str:
    """What a tool does to a run on GPUs."""
    if name in ONE_AT_A_TIME:
        return (
            f"{name} is injected into CUDA and may run one kernel at a time, so that ranks with a GPU each "
            "wait in vain for each other; '--devices 0 --ranks N' orders N ranks by stream events"
        )
    return f"{name} is injected into CUDA: times are longer than without it"


def slices(devices: list[dict[str, Any]]) -> list[int]:
    """Devices that are a part of a GPU (MIG)."""
    return [number for number, device in enumerate(devices) if " MIG " in f" {device['name']} "]
