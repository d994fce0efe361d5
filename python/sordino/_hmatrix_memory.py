"""What H-matrices take, told before they are built."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import _memory
from .errors import BadArgument

#: Bytes of a value, by the kernel.
VALUE_BYTES = {"laplace": 8, "helmholtz": 16}


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
    n: int, builds: Sequence[Mapping[str, Any]], kernel: str = "laplace", parts: int = 1
) -> None:
    """Refuse H-matrices of n triangles that this host's memory cannot hold together, before one is built.

    Every process of a run builds its own, or one of `parts`, and those of this host share its memory. A part has all
    blocks on the diagonal.

    Parameters
    ----------
    builds : ``eps`` of each, and ``most_rank`` and ``leaf``, where they are

    Raises
    ------
    BadArgument
    """
    needed = 0
    for build in builds:
        whole = estimate_bytes(n, build["eps"], kernel=kernel, most_rank=build.get("most_rank"))
        diagonal = VALUE_BYTES.get(kernel, 8) * n * int(build.get("leaf", 15))
        needed += whole if parts == 1 else min(whole, whole // parts + diagonal)
    available, processes = _memory.available_memory(), _memory.processes_here()
    if available is None or needed * processes <= available:
        return
    what = "an H-matrix" if len(builds) == 1 else f"{len(builds)} H-matrices"
    need = "needs" if len(builds) == 1 else "need"
    tolerances = " and ".join(f"{build['eps']:g}" for build in builds)
    each = f" in each of this host's {processes:,} processes" if processes > 1 else ""
    fewer = ", and so do fewer processes" if processes > 1 else ""
    raise BadArgument(
        f"{what} of {n:,} triangles with eps {tolerances} {need} about {needed:,} bytes{each}, and {available:,} bytes "
        f"are available: a larger eps needs less{fewer}"
    )
