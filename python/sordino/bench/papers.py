"""``sordino bench papers``: what the papers printed of large machines, and what the model engine says of the same runs.

A paper is a module beside this one with a ``SUMMARY``, ``DRAWS`` of random times (1 where nothing is random),
``FIGURES`` (each its cases and what is said of them) and ``predict`` (a case, and which draw of random times).
"""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

from .. import machines
from ..cli import display
from ..cli.common import Parser, whole_number
from ..cli.processes import say
from ..errors import BadArgument, suggestion
from ..report.record import json_ready
from . import _paper_000, _paper_001, _paper_003, _paper_004, _records

SUMMARY = "tables and figures of the papers on described machines, beside what they printed"

PAPERS: dict[str, ModuleType] = {
    "000": _paper_000,
    "001": _paper_001,
    "003": _paper_003,
    "004": _paper_004,
}


def main(argv: Sequence[str]) -> int:
    """Predict, print a table for each figure or one JSON object, append a record; return the exit code."""
    parser = Parser("bench papers", SUMMARY)
    about = "; ".join(f"{name}: {paper.SUMMARY}" for name, paper in PAPERS.items())
    parser.add_argument("--what", default="003", metavar="PAPER", help=f"{about} (default 003)")
    parser.add_argument("--figures", default="", metavar="A,B", help="of the paper (default: all)")
    parser.add_argument(
        "--draws", default="", metavar="N", help="of random times, of which the mean counts (default 3)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    _records.add_arguments(parser)
    given = parser.read(argv)
    paper = PAPERS[_known(given.what, list(PAPERS), "paper")]
    asked = [word for word in given.figures.split(",") if word]
    if given.figures and not asked:
        raise BadArgument("--figures names none")
    figures = [_known(word, list(paper.FIGURES), "figure") for word in asked] or list(paper.FIGURES)
    draws = whole_number(given.draws, "--draws") if given.draws else paper.DRAWS
    if draws < 1:
        raise BadArgument(f"--draws must be at least 1, not {draws}")
    if draws > 1 and paper.DRAWS == 1:
        raise BadArgument(f"--draws must be 1: nothing is random in what is run of paper {given.what}")
    if given.record:
        _records.check(given.record)
    rows = [
        {"bench": "papers", "paper_of": given.what, "engine": "model", "draws": draws, **row}
        for row in compared(paper, figures, draws, quiet=given.json)
    ]
    if given.json:
        say(json.dumps(json_ready({"bench": "papers", "rows": rows}), allow_nan=False))
    else:
        _show(rows)
    if given.record:
        command = shlex.join(["sordino", "bench", "papers", *argv])
        _records.append(given.record, rows, command, given.commit or _records.commit())
    return 0


def compared(paper: ModuleType, figures: Sequence[str], draws: int, *, quiet: bool) -> list[dict[str, Any]]:
    """The rows of the figures: ours, the paper's, and the difference. Several cases are run at once."""
    chosen = [paper.FIGURES[name] for name in figures]
    cases = list(dict.fromkeys(case for figure in chosen for case in figure.cases))
    runs = list(itertools.product(cases, range(draws)))
    found: dict[Any, list[Any]] = {case: [] for case in cases}
    with (
        display.steps("predicting", len(runs), quiet=quiet) as step,
        ThreadPoolExecutor(machines.cores()) as pool,
    ):
        for (case, _), iteration in zip(runs, pool.map(lambda run: paper.predict(*run), runs), strict=True):
            found[case].append(iteration)
            step()
    return [row for figure in chosen for row in figure.rows(found)]


def _known(word: str, known: list[str], what: str) -> str:
    if word not in known:
        near = suggestion(word, known) or f"; known: {', '.join(known)}"
        raise BadArgument(f"unknown {what} '{word}'{near}")
    return word


def _show(rows: list[dict[str, Any]]) -> None:
    heads = ("", "", "the paper", "ours", "from", "to", "difference", "")
    for figure, of_figure in itertools.groupby(rows, lambda row: row["figure"]):
        cells = [
            [
                row["what"],
                row["unit"],
                "-" if row["paper"] is None else f"{row['paper']:.2f}",
                *(f"{row[key]:.2f}" for key in ("ours", "least", "most")),
                "-" if row["difference"] is None else f"{row['difference']:+.2f}",
                row["basis"],
            ]
            for row in of_figure
        ]
        display.show_table(figure, heads, cells, left=2)
