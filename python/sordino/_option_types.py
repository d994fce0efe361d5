"""Options by name and type, for editors and type checkers; :mod:`sordino._options` checks them when a program runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypedDict


class PerSolve(TypedDict, total=False):
    """Options that a single solve may change."""

    rtol: SupportsFloat
    atol: SupportsFloat
    maxiter: SupportsIndex
    max_iterations: SupportsIndex
    time_limit: SupportsFloat


class SolverOptions(PerSolve, total=False):
    """All that ``sordino options`` lists; preconditioners and nullspaces are arguments of their own."""

    solver: str  # the core's list: a new method takes no line here
    method: str
    precond: Any  # or what `M` takes
    degree: SupportsIndex
    cycle: Literal["v", "f", "w"]
    level_rows: SupportsIndex | Literal["auto"]
    smoother: Literal["chebyshev", "sor", "block-ilu"]
    cycle_precision: Literal["double", "single", "half"]
    tile: str | SupportsIndex | Sequence[SupportsIndex]
    grid: str | SupportsIndex | Sequence[SupportsIndex]
    s: SupportsIndex | Literal["auto"]
    basis: Literal["chebyshev", "monomial"]
    spectrum: Literal["ritz", "power"]
    batch: SupportsIndex
    restart: SupportsIndex
    omega: SupportsFloat
    inner: SupportsIndex
    symmetry: Literal["auto", "hermitian", "symmetric", "general"]
    storage: Literal["auto", "csr", "dia", "symdia", "constant"]
    check_every: SupportsIndex
    replace_every: SupportsIndex
    engine: Literal["auto", "host", "cuda", "model"]
    ranks: SupportsIndex
    devices: str | SupportsIndex | Sequence[SupportsIndex]
    partition: Literal["blocks", "boxes", "metis"]
    boxes: str | SupportsIndex | Sequence[SupportsIndex]
    distribution: Literal["rows", "leaves", "grid"]
    gather: str | SupportsIndex
    vectors: Literal["auto", "redundant", "hierarchical"]
    scalars: Literal["device", "host"]
    schedule: Literal["pipe2", "pipe1"]
    transport: Literal["auto", "memory", "host", "nccl", "nvshmem", "mpi", "mpi-staged", "mpi-direct"]
    deterministic: Literal["auto", "on", "off"] | bool
    all_reduce: Literal[
        "auto", "fastest", "ordered", "recursive_doubling", "tree", "two_level", "mpi", "nccl"
    ]
    reduce_degree: SupportsIndex
    broadcast_degree: SupportsIndex
    progress: Literal["commands", "thread"]
    timeout: SupportsFloat
    seed: SupportsIndex
    trace: bool
    time_commands: bool


class OnceOptions(SolverOptions, total=False):
    """Those, and the arguments of a solver that is set up for one solve."""

    M: Any
    nullspace: Any
    left_nullspace: Any
    callback_every: int
    callback_x: bool
    machine: Any
