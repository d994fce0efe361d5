"""``sordino calibrate``: measure this machine, and write a description that ``predict`` and ``--machine`` take."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from .. import machines
from .._native import core
from .._placement import check_devices, default_engine
from ..errors import BadArgument
from ..io import OutputFile
from ..machines import _calibration
from .common import Parser, whole_number, whole_numbers
from .display import show_table
from .processes import say, world


def main(argv: Sequence[str]) -> int:
    """Measure, show every number with where it comes from, and write the file."""
    parser = Parser("calibrate", "Measure this machine for predict and for --machine; takes a minute or so.")
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host or cuda (default: cuda where it can run)"
    )
    parser.add_argument(
        "--ranks", default="", metavar="N,N", help="on which reductions are timed (default: 2, 4, ... as fit)"
    )
    parser.add_argument("--repeats", default="5", metavar="N", help="the best of so many counts (default 5)")
    parser.add_argument("--output", metavar="FILE", help="write the description as .json")
    parser.add_argument("--force", action="store_true", help="overwrite a file that exists")
    parser.add_argument("--json", action="store_true", help="print the description and nothing else")
    given = parser.read(argv)
    engine = given.engine or default_engine()
    if engine not in ("host", "cuda"):
        raise BadArgument(f"--engine is host or cuda, which can be measured, not '{engine}'")
    if engine == "cuda":
        check_devices()
    if world().size > 1:
        raise BadArgument("calibrate measures one process: start it without a launcher")
    repeats = whole_number(given.repeats, "--repeats")
    if repeats < 1:
        raise BadArgument(f"--repeats must be at least 1, not {repeats}")
    ranks = _ranks(given.ranks, engine)
    output = None
    if given.output:
        output = OutputFile(given.output, force=given.force, suffixes=(".json",), what="machine")
    name = os.path.basename(given.output).removesuffix(".json") if given.output else "here"
    described = _calibration.calibrate(engine, ranks, name, repeats)
    text = json.dumps(described, indent=2, ensure_ascii=False) + "\n"
    if output:
        output.write(text)
    if given.json:
        say(text.rstrip())
        return 0
    rows = [(key, f"{described[key]:.4g}", described["sources"][key]) for key in machines.FIELDS]
    show_table(described["description"], ("number", "value", "where it comes from"), rows, left=3)
    say(f"the description was written to {output.path}" if output else "--output FILE.json keeps it")
    return 0


def _ranks(text: str, engine: str) -> list[int]:
    """Numbers of ranks above 1; none where there is one GPU."""
    there = len(core().devices()["devices"]) if engine == "cuda" else max(2, machines.cores())
    if not text:
        return [2**k for k in range(1, there.bit_length()) if 2**k <= there]
    ranks = whole_numbers(text, "--ranks")
    if not ranks or min(ranks) < 2:
        raise BadArgument("reductions are timed on at least 2 ranks")
    if engine == "cuda" and max(ranks) > there:
        raise BadArgument(f"{max(ranks)} ranks need as many GPUs, and there are {there}")
    return ranks
