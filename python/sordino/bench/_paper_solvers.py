"""The ways of paper 000 to iterate, and ours beside them: ``sordino bench hmatrix --paper-solvers``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import BadArgument

#: Options of each way: Fig. 2(a) on whole vectors, the same with vector operations that a group shares, Fig. 2(b) with
#: its gathers waited for at once and hidden; and our two methods on distributed vectors.
WAYS: dict[str, dict[str, str]] = {
    "block": {"solver": "bicgstab", "vectors": "redundant"},
    "hierarchical": {"solver": "bicgstab", "vectors": "hierarchical"},
    "pipe1": {"solver": "gatherbicgstab", "schedule": "pipe1"},
    "pipe2": {"solver": "gatherbicgstab", "schedule": "pipe2"},
    "bicgstab": {"solver": "bicgstab"},
    "pipebicgstab": {"solver": "pipebicgstab"},
}

#: Layouts of section VI, and how many GPUs gather as one.
LAYOUTS = {"per-gpu": 1, "per-socket": 2, "per-node": 4}

_CHOSEN = ("solver", "vectors", "gather", "schedule")
_PLAIN = {"vectors": "auto", "gather": "rank", "schedule": "pipe2"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--paper-solvers``."""
    parser.add_argument(
        "--paper-solvers",
        action="store_true",
        help="with --engine: the ways of paper 000 to iterate, in each of its layouts that --ranks allow, and ours",
    )


def asked(given: Any) -> bool:
    """Whether they are asked for.

    Raises
    ------
    BadArgument
        They come with something that they say themselves, or without an engine.
    """
    if not given.paper_solvers:
        return False
    if not given.engine:
        raise BadArgument("--paper-solvers are solvers: add --engine host or cuda")
    if any(getattr(given, name) for name in _CHOSEN):
        raise BadArgument(f"--paper-solvers say themselves what {_flags()} are: leave these out")
    return True


def runs(ranks: Sequence[int]) -> list[dict[str, Any]]:
    """Options of a solver, of each way and layout on each number of ranks; groups have to divide these."""
    return [
        {"ranks": count, **_PLAIN, **words, "gather": "rank" if group == 1 else str(group)}
        for count in ranks
        for way, words in WAYS.items()
        for group in _groups(way)
        if count % group == 0
    ]


def _groups(way: str) -> list[int]:
    if way in ("bicgstab", "pipebicgstab"):  # which gather nothing
        return [1]
    return [group for group in LAYOUTS.values() if group > 1 or way != "hierarchical"]


def named(row: Mapping[str, Any]) -> tuple[str, str]:
    """Way and layout of a row of a record, by its options; ("", "") of one that is none of these.

    Rows of before there was a `schedule` have none.
    """
    options = {**_PLAIN, **row}
    layout = {"1": "per-gpu", "rank": "per-gpu", "2": "per-socket", "4": "per-node"}.get(
        options["gather"], ""
    )
    for way, words in WAYS.items():
        if layout and all({**_PLAIN, **words}[name] == options[name] for name in _CHOSEN if name != "gather"):
            return way, layout
    return "", ""


def _flags() -> str:
    first, *others, last = (f"--{name}" for name in _CHOSEN)
    return f"{', '.join([first, *others])} and {last}"
