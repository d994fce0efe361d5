"""What H-matrices take, told before they are built."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import _gpu_memory, _memory
from ._hmatrix_parts import gathered
from .errors import BadArgument

#: Bytes of a value, by the kernel.
VALUE_BYTES = {"laplace": 8, "helmholtz": 16}

#: Of what is foretold a matrix has stored this part at least: estimates were 1.01 to 1.60 times too large.
_STORED_AT_LEAST = 1 / 1.6

#: Least tables and vectors of each matrix on a rank of a GPU, for a triangle of the whole, where values have 8 bytes.
#: Records have 167 to 266 (2026-11-23_hmatrix_h200, 2026-11-26_hmatrix_vectors_h200x4), and to 302 with whole vectors.
_BESIDE_VALUES = 160
#: What a GPU that builds has of a triangle: itself and its centroid; and of leaves: 64 bytes, so many of a batch.
_OF_TRIANGLE, _OF_LEAVES, _MOST_OF_LEAVES = 224, 160, 1 << 25


def estimate_bytes(n: int, eps: float, *, kernel: str = "laplace", most_rank: int | None = None) -> int:
    """About the bytes of an H-matrix of n triangles.

    Stored values are 14 + 25 for each digit of eps, times n log2 n, without recompression: HACApK's spheres of 10,400
    to 1,004,400 triangles have 130 to 190 at 1e-6, and 82 to 92 at 1e-3. A digit takes some two terms of a block, which
    `most_rank` limits: with one the paper's sphere of eight million triangles has 20. A dense matrix is the most.
    """
    digits = max(-math.log10(eps), 1.0) if eps > 0 else 16.0
    if most_rank is not None:
        digits = min(digits, most_rank / 2)
    values = min(float(n) ** 2, n * math.log2(max(n, 2)) * (14 + 25 * digits))
    return int(VALUE_BYTES.get(kernel, 8) * values)


def check_memory(
    n: int,
    builds: Sequence[Mapping[str, Any]],
    kernel: str = "laplace",
    parts: int = 1,
    *,
    together: bool = False,
) -> None:
    """Refuse H-matrices of n triangles that a host's memory cannot hold together, before one is built.

    Every process of a run builds its own, or one of `parts`, and those of a host share its memory. A part has all
    blocks on the diagonal.

    Parameters
    ----------
    builds : ``eps`` of each, and ``most_rank`` and ``leaf``, where they are
    together : whether all MPI processes ask: then it is collective, and all refuse, with the same words, or none does

    Raises
    ------
    BadArgument
    """
    needed = 0
    for build in builds:
        whole = _whole(n, build, kernel)
        diagonal = VALUE_BYTES.get(kernel, 8) * n * int(build.get("leaf", 15))
        needed += whole if parts == 1 else min(whole, whole // parts + diagonal)
    rows: list[Any] = [[needed, _memory.available_memory(), _memory.processes_here()]]
    for needed, available, processes in gathered(rows) if together else rows:
        if available is None or needed * processes <= available:
            continue
        each = f" in each of a host's {processes:,} processes" if processes > 1 else ""
        fewer = ", and so do fewer processes" if processes > 1 else ""
        raise BadArgument(
            f"{_need(n, builds)} about {needed:,} bytes{each}, and {available:,} bytes are available: a larger eps "
            f"needs less{fewer}"
        )


def check_gpus(
    n: int,
    builds: Sequence[Mapping[str, Any]],
    gpus: Sequence[int],
    *,
    ranks: int,
    all_ranks: int,
    basis: int = 0,
    kernel: str = "laplace",
) -> None:
    """Refuse H-matrices of n triangles that these GPUs cannot hold together for a solve, before one is built.

    It is the least that they may need: what might fit is tried. Building takes less there, as
    :func:`check_gpus_to_build` has it, and gives it back before. Collective over MPI processes: what those that share
    a GPU need of it counts together, and all refuse, with the same words, or none does.

    Parameters
    ----------
    builds : as for :func:`check_memory`; with ``stored_bytes`` of one that is there
    gpus : those of this process, by number, which its ranks are dealt to in turn
    ranks : those of this process
    all_ranks : those of all, which share the values
    basis : vectors that a method keeps besides, of a rank's rows each

    Raises
    ------
    BadArgument
    """
    value = VALUE_BYTES.get(kernel, 8)
    values = sum(_least(n, build, kernel) for build in builds) + basis * value * n
    each = -(-values // all_ranks) + len(builds) * _BESIDE_VALUES * n * value // 8
    needs = {gpu: each * len(range(place, ranks, len(gpus))) for place, gpu in enumerate(gpus[:ranks])}
    if short := _too_small(gathered(_asked_of(needs))):
        gpu, needed, free = short
        raise BadArgument(
            f"{_need(n, builds)} {needed:,} bytes at least on GPU {gpu}, and {free:,} bytes are free there: a larger "
            "eps needs less, and so do more GPUs"
        )


def check_gpus_to_build(n: int, gpus: Sequence[int], *, together: bool = False) -> None:
    """Refuse GPUs that have no room for what an H-matrix of n triangles is built from.

    That is in a quarter of what is free: workspaces have another one, and two batches of values the rest, which are the
    smaller the less there is.

    Parameters
    ----------
    together : whether all MPI processes build: then it is collective, as :func:`check_gpus`

    Raises
    ------
    BadArgument
    """
    rows = _asked_of(dict.fromkeys(gpus, 4 * (_OF_TRIANGLE * n + min(_OF_LEAVES * n, _MOST_OF_LEAVES))))
    if short := _too_small(gathered(rows) if together else rows):
        gpu, needed, free = short
        raise BadArgument(
            f"to build an H-matrix of {n:,} triangles takes {needed:,} bytes on GPU {gpu} at least, and {free:,} "
            "bytes are free there: engine 'host' takes none"
        )


def _asked_of(needs: Mapping[int, int]) -> list[tuple[str, int, int, int]]:
    """Which GPU it is, its number here, the bytes that this process needs there and those that are free."""
    told = ((gpu, needed, _gpu_memory.free_bytes(gpu)) for gpu, needed in needs.items())
    return [(_gpu_memory.identity(gpu), gpu, needed, free) for gpu, needed, free in told if free is not None]


def _too_small(rows: Sequence[Sequence[Any]]) -> tuple[int, int, int] | None:
    """The first GPU, of the rows of :func:`_asked_of`, that has less than is needed of it in all: number and bytes."""
    for which, gpu, _, free in rows:
        needed = sum(row[2] for row in rows if row[0] == which)
        if needed > free:
            return int(gpu), needed, int(free)
    return None


def _least(n: int, build: Mapping[str, Any], kernel: str) -> int:
    """Bytes that its values have at least."""
    whole = _whole(n, build, kernel)
    return whole if "stored_bytes" in build else int(whole * _STORED_AT_LEAST)


def _whole(n: int, build: Mapping[str, Any], kernel: str) -> int:
    """Bytes of its values: foretold, unless it is there."""
    if "stored_bytes" in build:
        return int(build["stored_bytes"])
    return estimate_bytes(n, build["eps"], kernel=kernel, most_rank=build.get("most_rank"))


def _need(n: int, builds: Sequence[Mapping[str, Any]]) -> str:
    tolerances = " and ".join(f"{build['eps']:g}" for build in builds)
    what, need = ("an H-matrix", "needs") if len(builds) == 1 else (f"{len(builds)} H-matrices", "need")
    return f"{what} of {n:,} triangles with eps {tolerances} {need}"
