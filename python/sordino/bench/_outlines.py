"""H-matrices without values on described machines: what an iteration on one takes, on more ranks than there are here.

Structure and ranks of the blocks are those of the surface, and decide what a product costs; nothing is computed. Of
large surfaces a part of the blocks is compressed, and the others have ranks like theirs.
"""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import machines
from .._charge import as_surface
from .._hmatrix import arrays_of
from .._native import core, translated
from .._predict import Iteration

#: The commands of a product that read the matrix. Sums of rows that ranks compute for one another read vectors alone.
PRODUCT = ("Project", "Strips")

#: HACApK's blocks: crosses as they stop, neither checked nor recompressed.
HACAPK = {"compression": "aca+", "recompress": False, "certify": False, "eta": 2.0, "leaf": 15}

#: Iterations that are timed: nothing is random, and none is like no other.
_TIMED = 8

_building = threading.Lock()


@dataclass(frozen=True)
class Way:
    """A method, or, with `fallen_back`, what it goes over to: of ``gatherbicgstab`` BiCGStab on whole vectors.

    With `at_once` it waits for its gathers before anything else, which ``gatherbicgstab`` can. Its whole vectors come
    once to each `group` of ranks, which hand them on. ``bicgstab`` takes whole `vectors`, too: ``redundant``, or
    ``hierarchical``, whose work the ranks of a group share.
    """

    solver: str
    fallen_back: bool = False
    at_once: bool = False
    distribution: str = "rows"
    group: int = 1
    vectors: str = "auto"


@dataclass(frozen=True)
class Structure:
    """A matrix in words: its surface, its tolerance, of how many blocks one is compressed, terms of a block at most."""

    surface: str
    eps: float
    every: int = 1
    most_rank: int | None = None


@functools.lru_cache(maxsize=3)  # 0.5 to 0.8 KB a row
def _outline(of: Structure) -> Any:
    arrays = arrays_of(as_surface(of.surface))
    most = {} if of.most_rank is None else {"most_rank": of.most_rank}
    with translated():
        return core().HMatrixOutline(*arrays, {"eps": of.eps, "threads": 0, **HACAPK, **most}, of.every)


def outline(of: Structure) -> Any:
    """A matrix without values: its ``statistics()``, and ``iterations()`` on it; a few of them are kept."""
    with _building:
        return _outline(of)


def iteration(structure: Any, way: Way, ranks: int, machine: dict[str, Any]) -> Iteration:
    """One iteration on a checked description, the mean of all ranks.

    Its parts, in seconds: ``product``; ``vectors``, all other commands; ``launches``; ``exchange``, for which sending
    keeps queues busy and which nothing hides; ``reductions`` that nothing hides; ``late``, waits for others that are
    late, or send to this rank last. Its ledger has ``repeated``, bytes of all ranks' products over those that the
    matrix's values take. Of groups that hand rows on, ``exchange`` is what is left of the time, ``late`` in it.
    """
    with translated():
        numbers = machines.numbers(machine)
        ledgers = structure.iterations(
            way.solver, way.fallen_back, way.at_once, ranks, numbers, way.distribution, way.group,
            way.vectors, _TIMED,
        )  # fmt: skip
    moved: dict[str, float] = {}
    for ledger in ledgers:
        for name, count in ledger["command_bytes"].items():
            moved[name] = moved.get(name, 0.0) + count / ranks
    mean = {
        name: float(np.mean([each[name] for each in ledgers]))
        for name in ledgers[0]
        if name != "command_bytes"
    }
    seconds = {name: count / _bandwidth(machine, name) for name, count in moved.items()}
    product = sum(seconds[name] for name in PRODUCT)
    parts = {
        "product": product,
        "vectors": sum(seconds.values()) - product,
        "launches": mean["commands"] * machine["launch_s"],
        "exchange": mean["messages"] * machine["put_overhead_s"] + max(0.0, mean["exposed_halo_s"]),
        "reductions": max(0.0, mean["exposed_reduction_s"]),
        "late": max(0.0, mean["imbalance_s"]),
    }
    if way.group > 1:  # what is handed on waits beside commands that work meanwhile, and is booked as exposed
        worked = sum(parts[name] for name in ("product", "vectors", "launches"))
        parts |= {"exchange": max(0.0, mean["seconds"] - worked), "late": 0.0}
    values = structure.statistics()["stored_values"]
    products = 2  # of all methods here
    repeated = ranks * sum(moved[name] for name in PRODUCT) / (8.0 * products * values)
    return Iteration(mean["seconds"], {**mean, "repeated": repeated}, parts, seconds)


def _bandwidth(machine: dict[str, Any], command: str) -> float:
    pace: dict[str, float] = machine.get("paces", {}).get(command, {})
    return float(pace.get("bandwidth") or machine["memory_bandwidth"])
