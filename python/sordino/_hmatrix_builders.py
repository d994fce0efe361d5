"""Who computes the blocks of an H-matrix: threads, or which GPUs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ._hmatrix_memory import estimate_bytes
from ._native import core
from ._options import device_list
from ._placement import check_devices, default_engine
from .errors import BadArgument

#: Triangles from which on GPUs are faster than threads that begin at once.
LEAST_FOR_GPUS = 20_000

#: Bytes of an H-matrix that one GPU builds alone.
BYTES_OF_A_GPU = 4e9


def builder(engine: str, options: dict[str, Any], n: int, devices: Any) -> str:
    """The engine that computes blocks."""
    if engine not in ("auto", "host", "cuda"):
        raise BadArgument(f"engine is auto, host or cuda for who builds an H-matrix, not '{engine}'")
    if devices is not None and engine == "auto":
        engine = "cuda"
    if devices is not None and engine == "host":
        raise BadArgument("devices are GPUs, and engine 'host' builds without: leave devices out")
    if engine == "cuda":
        check_devices(None if devices is None else device_list(devices))
    if engine != "auto":
        return engine
    for_gpus = options["compression"] == "aca+" and n >= LEAST_FOR_GPUS
    return default_engine() if for_gpus else "host"


def gpus_of(devices: Any = None) -> list[int]:
    """This process's GPUs, by their numbers: its share of `devices`, or of all."""
    numbers, world = _numbers_of(devices), core().mpi()
    return [numbers[k] for k in _share(len(numbers), int(world["rank"]), int(world["size"]))]


def gpus_of_ranks(devices: Any, ranks: int) -> list[int]:
    """GPUs that so many ranks of this process, as of each, solve on, of `devices` or of all: as engine cuda deals them.

    Where all ranks have one each they are dealt in the order of ranks; else those of a process take its GPUs in turn.
    """
    numbers, world = _numbers_of(devices), core().mpi()
    if len(numbers) < ranks * int(world["size"]):
        return numbers[:ranks]
    return numbers[ranks * int(world["rank"]) :][:ranks]


def gpus_to_build(
    n: int, options: Mapping[str, Any], kernel: str, devices: Any = None, *, parts: int = 1
) -> list[int]:
    """This process's GPUs that compute blocks: those of `devices`, or by itself one for each 4 GB of its matrix, or of
    its one of `parts`.

    Each takes of the host what hardly depends on the matrix, and a small one is not done sooner by more of them.
    """
    gpus = gpus_of(devices)
    if devices is not None:
        return gpus
    foretold = estimate_bytes(
        n, float(options["eps"]), kernel=kernel, most_rank=options.get("most_rank")
    ) // parts  # fmt: skip
    return gpus[: max(1, math.ceil(foretold / BYTES_OF_A_GPU))]


def _numbers_of(devices: Any) -> list[int]:
    """Those that are listed, or all that are seen."""
    listed = "" if devices is None else device_list(devices)
    return list(map(int, listed.split(","))) if listed else list(range(len(core().devices()["devices"])))


def _share(seen: int, process: int, processes: int) -> list[int]:
    """Of the GPUs that are seen as many as others get; of too few one, in turn."""
    if seen < processes:
        return [process % seen]
    return list(range(process * seen // processes, (process + 1) * seen // processes))
