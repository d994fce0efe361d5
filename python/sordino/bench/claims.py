"""``sordino bench claims``: what solvers claim to have solved, against the residual recomputed from their x."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..cli import display
from ..cli.common import Parser, number, whole_number
from ..cli.processes import say
from ..errors import BadArgument
from ..report.record import json_ready
from . import _claimants, _judge, _petsc, _records, _systems

SUMMARY = (
    "who claims to have solved what: success against the recomputed residual, beside SciPy, PETSc and CuPy"
)


def main(argv: Sequence[str]) -> int:
    """Ask everybody about every system; return 0, or 4 if a claim of Sordino's is false."""
    given = _parser().read(argv)
    rtol, limit, jobs = (
        number(given.rtol, "--rtol"),
        number(given.time_limit, "--time-limit"),
        whole_number(given.jobs, "--jobs"),
    )
    if not 0 < rtol < 1 or limit <= 0 or jobs < 1:
        raise BadArgument("--rtol lies between 0 and 1, and --time-limit and --jobs above 0")
    if given.record:
        _records.check(given.record)
    _petsc.find(given.petsc)
    packages, missing = _packages(given.packages, given.petsc)
    entries = _chosen(given.only, given.real)
    measured = []
    pairs = [(package, method) for package in packages for method in _claimants.METHODS[package]]
    with ThreadPoolExecutor(jobs) as pool:
        asked = [pool.submit(_ask, pair, entries, given, rtol, limit) for pair in pairs]
        for pair, rows in zip(pairs, asked, strict=True):
            measured += rows.result()
            _progress(f"{' '.join(pair)}: {len(entries)} systems asked")
    if given.json:
        found = {"bench": "claims", "absent": missing, "measured": measured}
        say(json.dumps(json_ready(found), allow_nan=False))
    else:
        _show(measured, missing, rtol, _left_out(given.real))
    if given.record:
        command = shlex.join(["sordino", "bench", "claims", *argv])
        for folder in (given.real, given.petsc):
            command = command.replace(folder, Path(folder).name) if folder else command
        _records.append(given.record, measured, command, given.commit or _records.commit())
    return 4 if any(row["false"] and row["package"] == "sordino" for row in measured) else 0


def _parser() -> Parser:
    parser = Parser("bench claims", SUMMARY)
    parser.add_argument("--rtol", default="1e-8", metavar="X", help="what all are asked for (default 1e-8)")
    parser.add_argument(
        "--packages",
        default="",
        metavar="A,B",
        help=f"of {', '.join(_claimants.METHODS)} (default: all there are)",
    )
    parser.add_argument(
        "--only", default="", metavar="WORD", help="systems with this word in their name or kind"
    )
    parser.add_argument(
        "--real", default="", metavar="DIR", help="a folder with bcsstk16.mtx and other real systems"
    )
    parser.add_argument(
        "--petsc", default="", metavar="FILE", help=f"the program that asks PETSc (default {_petsc.PROGRAM})"
    )
    parser.add_argument("--time-limit", default="10", metavar="X", help="seconds for an answer (default 10)")
    parser.add_argument(
        "--jobs", default="1", metavar="N", help="solvers that are asked beside each other (default 1)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    _records.add_arguments(parser)
    return parser


def _packages(words: str, program: str) -> tuple[list[str], dict[str, str]]:
    """Those that can be asked, and why the others cannot."""
    wanted = [word for word in words.split(",") if word] or list(_claimants.METHODS)
    for word in wanted:
        if word not in _claimants.METHODS:
            raise BadArgument(f"--packages is of {', '.join(_claimants.METHODS)}, not '{word}'")
    missing = {word: _claimants.absent(word, program) for word in wanted}
    return [word for word in wanted if not missing[word]], {word: why for word, why in missing.items() if why}


def _chosen(word: str, folder: str) -> list[_systems.Entry]:
    if folder and not Path(folder).is_dir():
        raise BadArgument(f"{folder} is no folder")
    entries = [entry for entry in _systems.known(folder) if word in entry.name or word in entry.kind]
    if not entries:
        raise BadArgument(f"no system has '{word}' in its name or kind")
    return entries


def _ask(
    pair: tuple[str, str], entries: list[_systems.Entry], given: Any, rtol: float, limit: float
) -> list[dict[str, Any]]:
    """One row a system, of one solver."""
    worker = _claimants.Worker(*pair, given.real, given.petsc, rtol, limit)
    rows = []
    try:
        for entry in entries:
            begin = time.perf_counter()
            answer = worker.ask(entry.name)
            rows.append(row(entry, pair, answer, rtol, time.perf_counter() - begin))
            _progress(f"{' '.join(pair)}: {entry.name}: {answer.said}", passing=True)
    finally:
        worker.close()
    return rows


def row(
    entry: _systems.Entry, pair: tuple[str, str], answer: _claimants.Answer, rtol: float, seconds: float
) -> dict[str, Any]:
    """The record of an answer, with the judgement."""
    matrix, b = entry.build()
    found = _judge.residual(matrix, b, answer.x)
    own = found if answer.own_residual is None else answer.own_residual
    return {
        "bench": "claims", "system": entry.name, "kind": entry.kind, "n": matrix.shape[0], "nnz": int(matrix.nnz),
        "package": pair[0], "method": pair[1], "rtol": rtol, "claimed": answer.claimed, "said": answer.said,
        "residual": found, "own_residual": own, "false": _judge.is_false(answer.claimed, found, rtol),
        "false_in_own_norm": _judge.is_false(answer.claimed, own, rtol), "seconds": seconds,
    }  # fmt: skip


def _progress(text: str, *, passing: bool = False) -> None:
    if passing and not sys.stderr.isatty():
        return
    sys.stderr.write(f"\r{text[:78]:<78}" if passing else f"\r{text:<78}\n")
    sys.stderr.flush()


def _left_out(folder: str) -> list[str]:
    return [name for name, _ in _systems.REAL if not (folder and Path(folder, name).is_file())]


def _show(measured: list[dict[str, Any]], missing: dict[str, str], rtol: float, left_out: list[str]) -> None:
    pairs = list(dict.fromkeys((row["package"], row["method"]) for row in measured))
    systems = len({row["system"] for row in measured})
    cells = []
    for pair in pairs:
        mine = [row for row in measured if (row["package"], row["method"]) == pair]
        claims = [row for row in mine if row["claimed"]]
        false = [row for row in claims if row["false"]]
        own = sum(row["false_in_own_norm"] for row in claims)
        worst = max((row["residual"] for row in false), default=None)
        shown = [
            " ".join(pair),
            len(mine),
            len(claims),
            len(false),
            own,
            "-" if worst is None else f"{worst:.1e}",
        ]
        cells.append([str(cell) for cell in shown])
    heads = ("solver", "systems", "claimed", "false", "false in its own norm", "worst residual")
    display.show_table(
        f"Claims of success on {systems} systems, each asked for {rtol:g} at its defaults", heads, cells
    )
    say(
        f"false: ||b - Ax||/||b||, recomputed from x in extended precision, is over {_judge.MARGIN:g} x what was "
        "asked; its own norm: PETSc's documents the preconditioned residual\n"
    )
    lies = [row for row in measured if row["false"]]
    lines = [
        [
            row["system"],
            row["kind"],
            f"{row['package']} {row['method']}",
            row["said"],
            f"{row['residual']:.1e}",
        ]
        for row in sorted(lies, key=lambda row: (row["kind"], row["system"]))
    ]
    display.show_table("False claims", ("system", "kind", "solver", "it said", "residual"), lines, left=4)
    for package, why in missing.items():
        say(f"{package} is absent: {why}")
    if left_out:
        say(f"left out, as --real does not have them: {', '.join(left_out)}")
