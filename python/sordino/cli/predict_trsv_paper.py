"""``sordino predict trsv --algorithm paper``: Algorithm 2 of paper 004 for a factor, layout by layout."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from .. import _paper_prediction
from .._factoring import Choice
from .._triangular_options import MOST_RANKS
from .._triangular_prediction import Sweeps
from ..errors import BadArgument, SordinoError
from ..report.record import json_ready
from ..report.words import count, duration
from . import display
from .processes import say


def check(given: Namespace, columns: int) -> None:
    """Refuse what is of our own plan."""
    if columns != 1:
        raise BadArgument(f"the paper's model is of one right-hand side: leave out --nrhs {columns}")
    for name in ("plan", "plot", "measured"):
        if getattr(given, name) is not None:
            raise BadArgument(f"--{name} draws predictions of our own algorithm: leave out --algorithm paper")


def layouts_of(given: Namespace, ranks: list[int] | None) -> list[tuple[int, int]]:
    """Those of --layout, or all of these numbers of ranks."""
    if given.layout is None:
        return _paper_prediction.layouts_of(list(_paper_prediction.RANKS) if ranks is None else ranks)
    if ranks is not None:
        raise BadArgument("--layout names layouts, and --ranks all of some numbers of ranks: leave one out")
    found = []
    for word in given.layout.lower().split(","):
        try:
            rows, columns = (int(part) for part in word.split("x"))
        except ValueError:
            rows, columns = 0, 0
        if rows < 1 or columns < 1 or rows * columns > MOST_RANKS:
            raise BadArgument(
                f"--layout is PxQ of at most {MOST_RANKS} ranks, with commas between, such as 2x1,2x3, not {word!r}"
            )
        found.append((rows, columns))
    return list(dict.fromkeys(found))


def predict(
    given: Namespace,
    name: str,
    sweeps: Sweeps,
    choice: Choice,
    machine: dict[str, Any],
    ranks: list[int] | None,
    width: int | None,
) -> None:
    """Print a table and a sentence, or one JSON object."""
    named = ranks is not None or given.layout is not None
    layouts = layouts_of(given, ranks)
    try:
        found = _paper_prediction.by_critical_path(sweeps, machine, layouts, width, named)
    except SordinoError as wrong:
        raise type(wrong)(f"{name}: {wrong}") from None
    if given.json:
        facts = {"name": name, "n": sweeps.rows, "machine": machine["name"], "what": sweeps.words}
        more = {"algorithm": "paper", "trans": given.trans, **choice.facts}
        say(json.dumps(json_ready({**facts, **more, **found}), allow_nan=False))
        return
    say(
        f"{name}: {sweeps.rows:,} rows, {sweeps.words}, {count(found['block_columns'], 'block column')}; "
        f"Algorithm 2 of paper 004 on machine {machine['name']}"
    )
    table = [
        (
            row["layout"],
            f"{row['levels']:,}",
            f"{row['broadcasts']:,}",
            f"{row['reductions']:,}",
            f"{row['messages']:,}",
            duration(row["computing"]),
            duration(row["communicating"]),
            duration(row["seconds"]),
            duration(row["by_steps"]),
        )
        for row in found["layouts"]
    ]
    heads = (
        "layout",
        "levels",
        "broadcasts",
        "reductions",
        "critical messages",
        "computing",
        "messages",
        "a solve",
        "by steps",
    )
    display.show_table("", heads, table, left=1)
    best = found["best"]
    say(
        f"{machine['name']}: {best['layout']} is the fastest layout, {count(best['ranks'], 'rank')}, with "
        f"{duration(best['seconds'])}, by the formula of its critical path, which no measurement of ours has "
        "calibrated."
    )
    best = found["best_by_steps"]
    say(
        f"By the steps of Algorithm 1, timed on an H200, it is {best['layout']}, {count(best['ranks'], 'rank')}, with "
        f"{duration(best['by_steps'])}."
    )
