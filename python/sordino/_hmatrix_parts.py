"""What each of several MPI processes builds of an H-matrix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _options
from ._comm import run
from ._native import core, translated
from ._placement import chosen_engine, chosen_ranks
from .errors import BadArgument

_PLACES = ("engine", "ranks", "devices", "transport", "distribution", "solver")


def processes() -> int:
    """Of this run."""
    return int(core().mpi()["size"])


def gathered(rows: list[Any]) -> list[Any]:
    """Those of all processes, of the first one first. Collective; rows are of what JSON has."""
    if processes() == 1:
        return rows
    told = np.frombuffer(json.dumps(rows).encode(), np.uint8)
    (all_told,) = run(1, lambda comm: comm.allgather(told))
    return [row for one in all_told for row in json.loads(one.tobytes())]


def wanted_part(
    for_ranks: int | None, distribution: str, beside: Mapping[str, Any] | None
) -> dict[str, dict[str, Any]]:
    """The core's option that says which part this process builds; none for the whole.

    `beside`: what part another matrix is, or None.

    Raises
    ------
    BadArgument
        For ranks that are none, and a distribution without them.
    """
    if beside is not None:
        if for_ranks is not None:
            raise BadArgument("beside says what the matrix is for, and for_ranks does, too: choose one")
        return {"part": dict(beside)}
    if for_ranks is None:
        if distribution != "rows":
            raise BadArgument("distribution is of the part that a process builds: say for_ranks, too")
        return {}
    if not isinstance(for_ranks, int) or isinstance(for_ranks, bool) or for_ranks < 1:
        raise BadArgument(f"for_ranks is a whole number, at least 1, not {for_ranks!r}")
    return (
        {"part": {"ranks": for_ranks, "distribution": str(distribution), "cuts": []}}
        if processes() > 1
        else {}
    )


def part_for(options: Mapping[str, Any], n: int) -> dict[str, Any]:
    """Words for :func:`sordino.hmatrix` that build what solves with these options multiply; none where that is all.

    A nullspace is looked at, and symmetry, with products of the whole; on engine ``model`` each process is alone.
    """
    given = _options.check({name: options[name] for name in _PLACES if name in options})
    nullspaces = [options.get(name) for name in ("nullspace", "left_nullspace")]
    has_nullspace = any(
        space is not None and not (isinstance(space, str) and space == "none") for space in nullspaces
    )
    if processes() == 1 or has_nullspace or given.get("solver", "auto") in _options.symmetric_methods():
        return {}
    with translated():
        engine = chosen_engine(given)
        if engine == "model":
            return {}
        ranks = chosen_ranks({**given, "engine": engine}, n)
    return {"for_ranks": ranks, "distribution": str(given.get("distribution", "rows"))}
