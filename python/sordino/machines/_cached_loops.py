"""The last cache before a device's memory, from loops over more and more bytes.

A loop is a product with a diagonal matrix, as a solve has it: entries, x and y, 8 B a row of each, and each product's
y is the next one's x. Entries and y are the first to leave a cache (ADR 45), so a part ``clamp(3 C / W - 2, 0, 1)`` of
the W bytes of a loop is found in a cache of C bytes: what the model engine says of the same loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._solve import Solver

#: Bytes that a product with a diagonal matrix moves for a row.
ROW_BYTES = 24
#: Bytes of loops.
SIZES = tuple(1 << k for k in range(20, 31))
#: Loops of less are not asked for a bandwidth: what a command takes to begin and to end rules there.
LEAST = 4 << 20
#: A cache that is not faster than the memory by this factor is none.
FASTER = 1.1


def times(engine: Any, repeats: int, sizes: Sequence[int] = SIZES, **options: Any) -> list[tuple[int, float]]:
    """Bytes of each loop's command, and the least seconds of it, of `repeats`, on one rank."""
    return [(ROW_BYTES * (size // ROW_BYTES), _product(engine, size, repeats, options)) for size in sizes]


def _product(engine: Any, size: int, repeats: int, options: dict[str, Any]) -> float:
    diagonal = sp.diags_array(np.full(size // ROW_BYTES, 1.0), format="csr")
    placed: dict[str, Any] = {"engine": engine, "ranks": 1, "storage": "dia", "precond": "none", **options}
    with Solver(diagonal, solver="cg", **placed) as solver:
        pairs = max(2, min(100, (1 << 32) // size))
        return min(solver.time_product(pairs) for _ in range(repeats))


def described(
    timed: list[tuple[int, float]], launch: float, described_memory: float = 0
) -> tuple[dict[str, float] | None, str]:
    """A description's ``cache`` and where it comes from; None if the loops show none.

    The bandwidth is that of the fastest loop, the memory's here that of the largest one: loops of a product with a
    diagonal may fall short of both, and then the description's memory is the faster one, and they show nothing that
    a prediction could use. The size is that with which
    loops take what they took, by least squares of relative errors over sizes 2 % apart. How its halves share it is in
    the size.
    """
    moved = np.array([float(size) for size, _ in timed])
    seconds = np.array([took - launch for _, took in timed])
    streams = (moved >= LEAST) & (seconds > 0)
    if not streams.any() or not seconds[-1] > 0:
        return None, "not described: loops took no longer than launches"
    bandwidth, memory = float(np.max(moved[streams] / seconds[streams])), float(moved[-1] / seconds[-1])
    if bandwidth < FASTER * memory:
        return None, "not described: loops over few bytes are no faster than over many"
    if bandwidth < FASTER * described_memory:
        return None, (
            f"not described: loops over few bytes reach {bandwidth / 1e9:,.0f} GB/s, and memory_bandwidth is "
            f"{described_memory / 1e9:,.0f}"
        )
    sizes = float(moved[streams][0]) * 1.02 ** np.arange(350)
    sizes = sizes[sizes < moved[-1]]
    part = np.clip(3 * sizes[:, None] / moved[streams] - 2, 0, 1)
    expected = moved[streams] * (part / bandwidth + (1 - part) / memory)
    errors = np.sum((expected / seconds[streams] - 1) ** 2, axis=1)
    size = float(sizes[int(np.argmin(errors))])
    rates = ", ".join(
        f"{b / 1e6:,.0f} MB {b / s / 1e9:,.0f}" for b, s in zip(moved, seconds, strict=True) if s > 0
    )
    return (
        {"bytes": size, "share": 1.0, "bandwidth": bandwidth},
        f"measured: products with a diagonal matrix, less launch_s, GB/s: {rates}; its halves are in the size",
    )
