"""Where a solve runs: engine, ranks, devices and machine, when the caller leaves them open."""

from __future__ import annotations

from typing import Any

from . import machines
from ._native import core
from .errors import BadArgument
from .log import logger


def place(options: dict[str, Any], n: int, machine: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Fill in engine and ranks, and check them against what is there.

    Parameters
    ----------
    options : dict
        Checked options; not changed.
    n : int
        Rows of the matrix.
    machine : str, path, dict or None
        A machine for the ``model`` engine.

    Returns
    -------
    options : dict
        With ``engine`` and ``ranks`` set.
    machine : dict or None
        The checked description for the ``model`` engine.

    Raises
    ------
    BadArgument
        The ``cuda`` engine without a device, ranks below 1 or more than rows, a device
        that is not there, a machine for an engine that is real.
    """
    placed = dict(options)
    engine = placed.get("engine", "auto")
    if engine == "auto":
        engine = placed["engine"] = default_engine()
    described = describe(engine, machine)
    if engine == "cuda":
        check_devices(placed.get("devices"))
    processes = int(core().mpi()["size"])
    if "ranks" in placed:
        check_ranks(placed["ranks"], processes, n)
    else:
        placed["ranks"] = max(1, min(default_ranks(engine, placed.get("devices"), processes), n // processes))
    return placed, described


def default_engine() -> str:
    """``cuda`` where the build allows it and there is a device for each process, else ``host``."""
    if core().build_info().get("cuda") and len(core().devices()["devices"]) >= int(core().mpi()["size"]):
        return "cuda"
    return "host"


def default_ranks(engine: str, devices: str | None = None, processes: int = 1) -> int:
    """Ranks per process: one for each device in its share, or for each core that it may use."""
    if engine == "cuda":
        seen = len(devices.split(",")) if devices else len(core().devices()["devices"])
        return max(1, seen // processes)
    if engine == "model":
        return 4
    return max(1, machines.cores() // processes)


def describe(engine: str, machine: Any) -> dict[str, Any] | None:
    """The checked description for the ``model`` engine, None for one that is real, which takes no machine."""
    if engine == "model":
        if machine is None:
            logger.info("no machine is named: the model engine describes %s", machines.DEFAULT)
        return machines.load(machines.DEFAULT if machine is None else machine)
    if machine is not None:
        raise BadArgument(
            f"a machine is described for engine 'model' only; engine '{engine}' runs on the one that is here"
        )
    return None


def check_devices(devices: str | None = None) -> None:
    """Refuse the ``cuda`` engine with one sentence where it cannot run, or not on these devices."""
    if not core().build_info().get("cuda"):
        raise BadArgument(
            "engine 'cuda' is not in this build; build Sordino where nvcc is found, "
            "or with 'SORDINO_CUDA=1 pip install .'"
        )
    found = core().devices()
    count = len(found["devices"])
    if count == 0:
        raise BadArgument(f"engine 'cuda' needs a GPU, and none can be used here: {found['reason']}")
    for number in map(int, devices.split(",") if devices else ()):
        if number >= count:
            raise BadArgument(f"there is no device {number}: {count} can be used here, counted from 0")


def check_ranks(ranks: int, processes: int, n: int) -> None:
    """Refuse no ranks, and more of them than rows."""
    if ranks < 1:
        raise BadArgument(f"the number of ranks must be at least 1, not {ranks}")
    if ranks * processes > n:
        raise BadArgument(f"{ranks * processes:,} ranks are more than the matrix has rows ({n:,})")
