"""Where a solve runs: engine, ranks, devices and machine, when the caller leaves them open."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import machines
from ._native import core, translated
from ._options import specs
from .errors import BadArgument
from .log import logger

#: Options that one method or preconditioner alone heeds: which option says so, and by which of its words. ``auto`` may
#: take cbcg on some machine, gmres where a coarser H-matrix preconditions, and mg on a host. M is no word, but what the
#: caller brings.
_HEEDED_BY = {
    **dict.fromkeys(("s", "basis", "spectrum", "batch"), ("solver", ("cbcg", "auto"))),
    "restart": ("solver", ("gmres",)),
    "omega": ("solver", ("richardson",)),
    "degree": ("precond", ("chebyshev",)),
    "tile": ("precond", ("block-ilu",)),
    **dict.fromkeys(("level_rows", "smoother"), ("precond", ("mg", "auto"))),
    "inner": ("M", ("a coarser H-matrix",)),
}


def place(options: dict[str, Any], n: int, machine: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Fill in engine and ranks, and check them against what is there.

    Parameters
    ----------
    options : dict
        Checked options; not changed.
    n : int
        Rows of the matrix.
    machine : str, path, dict or None
        A machine for the ``model`` engine, and for ``solver="auto"`` on every other.

    Returns
    -------
    options : dict
        With ``engine`` and ``ranks`` set.
    machine : dict or None
        The checked description for the ``model`` engine.

    Raises
    ------
    BadArgument
        The ``cuda`` engine, which a list of devices asks for, too, without a device; ranks below 0 or more
        than rows, a device that is not there, a list of devices or a transport for another engine, a machine for
        a real engine and a method that is asked for.
    """
    placed = dict(options)
    engine = placed["engine"] = chosen_engine(placed)
    described = describe(placed, machine)
    if engine == "cuda":
        check_devices(placed.get("devices"))
    placed["ranks"] = chosen_ranks(placed, n)
    return placed, described


def chosen_engine(options: Mapping[str, Any]) -> str:
    """The engine that these options ask for, here or on a machine with GPUs; what is for GPUs is refused elsewhere."""
    engine, devices = str(options.get("engine", "auto")), options.get("devices")
    if engine == "auto":
        engine = "cuda" if devices else default_engine()
    if engine != "cuda" and devices:
        raise BadArgument(
            f"devices are GPUs, which engine '{engine}' does not use: leave devices out, or take engine 'cuda'"
        )
    check_transport(engine, options.get("transport", "auto"))
    return engine


def check_transport(engine: str, transport: str) -> None:
    """Refuse a transport, which is between GPUs, for an engine that has its own way."""
    if engine != "cuda" and transport != "auto":
        raise BadArgument(
            f"transport '{transport}' is between GPUs, which engine '{engine}' does not use: "
            "leave transport out, or take engine 'cuda'"
        )


def chosen_ranks(options: Mapping[str, Any], n: int) -> int:
    """Ranks of this process, the engine being chosen: those asked for, or, for 0, as many as there is room for."""
    processes = int(core().mpi()["size"])
    if asked := int(options.get("ranks", 0)) or _ranks_of_boxes(options, processes):
        check_ranks(asked, processes, n)
        return asked
    wanted = default_ranks(options["engine"], options.get("devices"), processes)
    return max(1, min(wanted, n // processes))


def _ranks_of_boxes(options: Mapping[str, Any], processes: int) -> int:
    """Of each process, if there are so many boxes in all that each of its ranks has one; 0: nobody says."""
    boxes = str(options.get("boxes", "auto"))
    if options.get("partition") != "boxes" or boxes == "auto":
        return 0
    with translated():
        return math.prod(core().extents("boxes", boxes)) // processes


def unheeded(options: Mapping[str, Any], method: str | None = None, coarse: bool = False) -> list[str]:
    """Options that are not as by default, and that are of another method or preconditioner than these.

    `method`: the one that was taken, where that is known; `coarse`: whether a coarser H-matrix preconditions.
    """
    table = specs()
    changed = [name for name in _HEEDED_BY if name in options and options[name] != table[name].default]
    return [name for name in changed if not _heeds(options, method, coarse, *_HEEDED_BY[name])]


def _heeds(
    options: Mapping[str, Any], method: str | None, coarse: bool, decides: str, words: tuple[str, ...]
) -> bool:
    if decides == "M":
        return coarse
    return options.get(decides, "auto") in words or (decides == "solver" and method in words)


def check_unheeded(options: Mapping[str, Any]) -> None:
    """Let the core refuse values out of range of options that :func:`unheeded` may drop, each by itself.

    Cost: a solver of one row for each of them.

    Raises
    ------
    BadArgument
    """
    row = np.array([0, 1]), np.array([0], np.int32), np.array([1.0]), 1
    for name in [name for name in _HEEDED_BY if name in options]:
        with translated():
            core().Solver(*row, {"engine": "host", "ranks": 1, name: options[name]}, None)


def of_another(name: str) -> str:
    """One sentence for an option that is :func:`unheeded`."""
    decides, words = _HEEDED_BY[name]
    whose = f"{words[0]} as {decides}" if decides == "M" else f"{decides} '{words[0]}'"
    return f"option '{name}' is for {whose}, and changes nothing here"


def warn_of_unheeded(options: Mapping[str, Any], method: str, coarse: bool = False) -> None:
    """One sentence for what was asked for and changes nothing.

    The engine is chosen, the options are checked, `method` is what is taken; `coarse` as for :func:`unheeded`.
    """
    for name in unheeded(options, method, coarse):
        logger.warning("%s", of_another(name))
    if options.get("seed") and options["engine"] != "model":
        logger.warning(
            "option 'seed' is for engine 'model', and changes nothing on engine '%s': leave it out",
            options["engine"],
        )
    if options.get("boxes", "auto") != "auto" and options.get("partition") != "boxes":
        logger.warning("option 'boxes' is for partition 'boxes', and changes nothing here")
    trees = options.get("all_reduce", "auto") in ("tree", "two_level", "fastest")
    defaults = {"reduce_degree": 2, "broadcast_degree": 4}
    for name in [name for name, value in defaults.items() if options.get(name, value) != value and not trees]:
        logger.warning("option '%s' is for all_reduce 'tree' and 'two_level', and changes nothing here", name)


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


def describe(options: Mapping[str, Any], machine: Any) -> dict[str, Any] | None:
    """The checked description for the ``model`` engine, None for one that is real; the engine is chosen."""
    engine = options["engine"]
    if engine == "model":
        if machine is None:
            logger.info("no machine is named: the model engine describes %s", machines.DEFAULT)
        return machines.load(machines.DEFAULT if machine is None else machine)
    if machine is not None and not _chooses(options):
        raise BadArgument(
            "a machine is described for engine 'model', or for solver 'auto' to go by, or s 'auto' of cbcg: "
            f"engine '{engine}' runs on the one that is here"
        )
    return None


def reckoned_with(options: Mapping[str, Any], machine: Any) -> dict[str, Any] | None:
    """What ``auto`` of solver and s goes by, as numbers for the core; None where nobody has described what is here.

    It is the machine that is given, and of the ``model`` engine what it runs on.
    """
    if machine is None and options["engine"] == "model":
        machine = machines.DEFAULT
    return None if machine is None else machines.numbers(machines.load(machine))


def _chooses(options: Mapping[str, Any]) -> bool:
    solver = options.get("solver", "auto")
    return solver == "auto" or (solver == "cbcg" and options.get("s") == "auto")


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
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            among = f" of those that CUDA_VISIBLE_DEVICES={visible} shows" if visible else ""
            raise BadArgument(f"there is no device {number}: {count} can be used here{among}, counted from 0")


def check_ranks(ranks: int, processes: int, n: int) -> None:
    """Refuse fewer ranks than one, and more of them than rows."""
    if ranks < 1:
        raise BadArgument(f"the number of ranks must be at least 1, or 0 for as many as fit, not {ranks}")
    if ranks * processes > n:
        raise BadArgument(f"{ranks * processes:,} ranks are more than the matrix has rows ({n:,})")
