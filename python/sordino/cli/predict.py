"""``sordino predict``: which method is the fastest on a described machine, how fast, and why."""

from __future__ import annotations

import itertools
import json
import math
import shlex
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from .. import _options, _predict, _predict_levels, _predict_words, _subject, machines
from .._box import Box
from .._matrix import as_vector
from .._names import of_method
from .._native import core, translated
from .._placement import check_unheeded, of_another, unheeded
from ..bench import _records
from ..errors import BadArgument
from ..io import read_matrix, read_vector
from ..log import logger
from ..report.record import json_ready
from ..report.words import count, duration
from . import display, predict_trsv
from .box import add_box_options, box_of
from .common import Parser, number, rows_of, whole_number, whole_numbers
from .processes import say

#: Predictions at once, and entries of their matrices together: each has a copy, for which there must be memory.
_MOST_AT_ONCE, _MOST_ENTRIES = 8, 60_000_000

#: Pairs of ranks together: the bottom solve of multigrid's levels goes from all to all, some kB each.
_MOST_PAIRS = 2_000_000

#: What is compared around cycles of levels, if nothing is said: one and two sums that wait, and two that do not; and
#: around those that are not symmetric.
_LEVELLED = ["cg", "gropp", "cbcg"]
_AROUND_F = ["fcg", "gmres"]
_FEW_AT_ONCE = 4

#: Options of a solve that a prediction passes on.
PASSED = (
    "precond",
    "degree",
    "cycle",
    "level_rows",
    "smoother",
    "cycle_precision",
    "s",
    "basis",
    "spectrum",
    "batch",
    "restart",
    "storage",
    "partition",
    "grid",
    "boxes",
    "all_reduce",
    "reduce_degree",
    "broadcast_degree",
    "replace_every",
    "check_every",
)


@dataclass(frozen=True)
class Plan:
    """What is predicted."""

    solvers: list[str]
    machines: list[dict[str, Any]]
    ranks: list[int]
    options: dict[str, Any]
    rtol: float
    iterations: int | None


def main(argv: Sequence[str]) -> int:
    """Predict, print a table and a sentence for each number of ranks or one JSON object, append records."""
    if argv and argv[0] == "trsv":
        return predict_trsv.main(argv[1:])
    given = _parser().read(argv)
    plan = _plan(given)
    if given.record:
        _records.check(given.record)
    subject = _subject_of(given)
    plan = _with_levels(plan, subject)
    check_unheeded(plan.options)
    _warn_of_unheeded(plan)
    autos = _taken(subject, plan, quiet=given.json) if plan.solvers == ["auto"] else {}
    if autos:  # those that suit it, and those that are taken
        known = dict.fromkeys([*_subject.suiting(subject.run), *(solver for solver, _ in autos.values())])
        plan = replace(plan, solvers=list(known))
    counts, found_of = _predicted(subject, plan, quiet=given.json)
    rows: list[dict[str, Any]] = []
    verdicts: list[dict[str, Any]] = []
    for place, (machine, of_machine) in enumerate(zip(plan.machines, found_of, strict=True)):
        found = [
            list(_rows(subject, plan, machine, ranks, counts, of_ranks))
            for ranks, of_ranks in zip(plan.ranks, of_machine, strict=True)
        ]
        judged = [
            {
                **_predict_words.verdict(part),
                "hosts": machines.hosts(machine, ranks),
                "auto": autos.get((place, ranks)),
            }
            for ranks, part in zip(plan.ranks, found, strict=True)
        ]
        if not given.json:
            _show(subject, machine, [row for part in found for row in part], judged)
        rows += [row for part in found for row in part]
        verdicts += judged
    if given.json:
        shown = [{key: value for key, value in row.items() if key != "iteration"} for row in rows]
        whole = {
            "problem": subject.name,
            "rows": subject.n,
            "entries": subject.entries,
            "scaled": subject.scaled,
        }
        say(json.dumps(json_ready({**whole, "predicted": shown, "verdicts": verdicts}), allow_nan=False))
    if given.record:
        facts = [{key: value for key, value in row.items() if key != "iteration"} for row in rows]
        command = shlex.join(["sordino", "predict", *argv])
        _records.append(given.record, facts, command, given.commit or _records.commit())
    return 0


def _parser() -> Parser:
    parser = Parser(
        "predict",
        "Predict an iteration and a whole solve on described machines: which method is the fastest, and why.",
    )
    parser.add_argument(
        "problem",
        nargs="+",
        metavar="PROBLEM",
        help="poisson NX NY NZ, a matrix in a file, as solve takes it, or trsv FILE (see trsv --help)",
    )
    add_box_options(parser)
    parser.add_argument("--rhs", metavar="FILE", help="right-hand side of a matrix in a file, .npy or .mtx")
    parser.add_argument(
        "--solvers",
        "--solver",
        default="auto",
        metavar="A,B",
        help="methods to compare (default %(default)s: those for such a matrix, and what solver auto takes there)",
    )
    parser.add_argument(
        "--machine",
        default=machines.DEFAULT,
        metavar="A,B",
        help=f"of {', '.join(machines.names())}, or .json files, as calibrate writes them (default %(default)s)",
    )
    parser.add_argument(
        "--ranks", default="", metavar="N,N", help="devices (default 1,2,4, or as many as --boxes says)"
    )
    parser.add_argument(
        "--rtol", default="1e-5", metavar="X", help="tolerance of the whole solve (default 1e-5)"
    )
    parser.add_argument(
        "--iterations",
        default="",
        metavar="N",
        help="of the whole solve (default: counted by a solve, if it is small)",
    )
    for name, spec in _options.specs().items():
        if name in PASSED:
            known = f": {', '.join(spec.choices)}" if spec.choices else ""
            parser.add_argument(
                spec.flag, dest=name, metavar=name.upper(), help=f"{spec.help}{known}".replace("%", "%%")
            )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    _records.add_arguments(parser)
    return parser


def _plan(given: Any) -> Plan:
    known = ["auto", *(row["name"] for row in core().solvers())]
    solvers = [word for word in given.solvers.split(",") if word]
    for name in solvers:
        if name not in known:
            near = of_method(name, known) or f"; known: {', '.join(known)}"
            raise BadArgument(f"unknown solver '{name}'{near}")
    ranks = whole_numbers(given.ranks or _default_ranks(getattr(given, "boxes", None)), "--ranks")
    if "auto" in solvers and len(solvers) > 1:
        raise BadArgument("--solvers is auto, or names of methods, not both")
    if not solvers or not ranks or min(ranks) < 1:
        raise BadArgument("predict needs a solver and numbers of ranks of at least 1")
    iterations = whole_number(given.iterations, "--iterations") if given.iterations else None
    if iterations is not None and iterations < 1:
        raise BadArgument(f"--iterations must be at least 1, not {iterations}")
    rtol = number(given.rtol, "--rtol")
    if not 0 < rtol < 1:
        raise BadArgument(f"--rtol is between 0 and 1, not {given.rtol}")
    specs = _options.specs()
    options = {
        name: _options.parse(specs[name], getattr(given, name))
        for name in PASSED
        if name in specs and getattr(given, name) is not None
    }
    described = [machines.load(word) for word in given.machine.split(",") if word]
    if not described:
        raise BadArgument("predict needs a machine")
    return Plan(list(dict.fromkeys(solvers)), described, ranks, options, rtol, iterations)


def _with_levels(plan: Plan, subject: _subject.Subject) -> Plan:
    """The plan for a preconditioner that has levels: the methods that take such, and the grid of a box."""
    precond = plan.options.get("precond")
    if precond not in _predict_levels.WITH_LEVELS:
        return plan
    options = dict(plan.options)
    if isinstance(subject.whole, Box) and precond == "mg":
        grid = _predict_levels.grid_of(subject.whole)
        if options.setdefault("grid", grid) not in (grid, list(subject.whole.cells)):
            raise BadArgument(f"grid is that of the problem, {grid}: leave it out")
    compared = _AROUND_F if options.get("cycle") == "f" else _LEVELLED
    if options.get("cycle_precision", "double") != "double":  # gropp adds up what it rounds
        compared = [name for name in compared if name != "gropp"]
    solvers = compared if plan.solvers == ["auto"] else plan.solvers
    if "cbcg" in solvers:  # a solve ends in a dozen iterations
        options.setdefault("s", _FEW_AT_ONCE)
    return replace(plan, options=options, solvers=solvers)


def _default_ranks(boxes: str | None) -> str:
    if boxes in (None, "auto"):
        return "1,2,4"
    with translated():
        return str(math.prod(core().extents("boxes", boxes)))


def _options_of(plan: Plan, solver: str) -> dict[str, Any]:
    """Options of a solve with this method, without those of the others."""
    options = {**plan.options, "solver": solver}
    return {name: value for name, value in options.items() if name not in unheeded(options)}


def _warn_of_unheeded(plan: Plan) -> None:
    """One sentence for each option that no method heeds."""
    for name in plan.options:
        if not any(name in _options_of(plan, solver) for solver in plan.solvers):
            logger.warning("%s", of_another(name))


def _subject_of(given: Any) -> _subject.Subject:
    if given.problem[0] == "poisson":
        return _box(given)
    if len(given.problem) > 1:
        raise BadArgument(
            f"'{given.problem[1]}' is one argument too many: predict takes poisson NX NY NZ, or a file"
        )
    read = read_matrix(given.problem[0])
    rows = rows_of(read)
    if given.rhs:
        return _subject.of_matrix(read.name, rows, read_vector(given.rhs, rows.n, "right-hand side"))
    rhs = (
        None if read.rhs is None else as_vector(read.rhs[:, 0], rows.n, f"the right-hand side in {read.name}")
    )
    return _subject.of_matrix(read.name, rows, rhs)


def _box(given: Any) -> _subject.Subject:
    if len(given.problem) != 4:
        raise BadArgument("poisson takes three numbers of cells: NX NY NZ")
    if given.rhs:
        raise BadArgument("--rhs is for a matrix in a file; poisson has b = A*1")
    box = box_of(given, given.problem[1:])
    make = _predict_levels.of_large_box if given.precond in _predict_levels.WITH_LEVELS else _subject.of_box
    return make(box.name, box)


def _taken(subject: _subject.Subject, plan: Plan, *, quiet: bool) -> dict[tuple[int, int], tuple[str, str]]:
    """What ``solver="auto"`` takes, and why, by number of the machine and ranks."""
    taken = {}
    cells = list(itertools.product(enumerate(plan.machines), plan.ranks))
    with display.steps("choosing", len(cells), quiet=quiet) as step:
        for (place, machine), ranks in cells:
            options = _options_of(plan, "auto")
            taken[place, ranks] = _predict.automatic(subject, machine, ranks, options, plan.rtol)
            step()
    return taken


def _predicted(
    subject: _subject.Subject, plan: Plan, *, quiet: bool
) -> tuple[dict[str, _predict.Count], list[list[list[_predict.Iteration]]]]:
    """Iterations to the tolerance by solver, and predictions ``[machine][ranks][solver]``, several at a time."""
    ended = threading.Event()
    cells = list(itertools.product(plan.machines, plan.ranks, plan.solvers))
    workers = max(1, min(machines.cores(), _MOST_AT_ONCE, _MOST_ENTRIES // subject.run.nnz))
    if plan.options.get("precond") in _predict_levels.WITH_LEVELS:
        workers = max(1, min(workers, _MOST_PAIRS // max(plan.ranks) ** 2))
    with display.steps("predicting", len(plan.solvers) + len(cells), quiet=quiet) as step:

        def stop(_iteration: int, _residual: float) -> bool:
            return ended.is_set()

        def counted_of(solver: str) -> _predict.Count:
            counted = _predict.count(
                subject, {**_options_of(plan, solver), "rtol": plan.rtol}, plan.iterations
            )
            step()
            return counted

        def predict(cell: tuple[dict[str, Any], int, str]) -> _predict.Iteration:
            machine, ranks, solver = cell
            found = _predict_levels.iteration(subject, machine, ranks, _options_of(plan, solver), stop)
            step()
            return found

        counts = {solver: counted_of(solver) for solver in plan.solvers}  # on all cores, one after the other
        pool = ThreadPoolExecutor(workers)
        try:
            found = pool.map(predict, cells)
            nested = [[[next(found) for _ in plan.solvers] for _ in plan.ranks] for _ in plan.machines]
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)
    return counts, nested


def _rows(
    subject: _subject.Subject,
    plan: Plan,
    machine: dict[str, Any],
    ranks: int,
    counts: dict[str, _predict.Count],
    predicted: list[_predict.Iteration],
) -> Iterator[dict[str, Any]]:
    """One row for each method."""
    for solver, found in zip(plan.solvers, predicted, strict=True):
        counted = counts[solver]
        total = counted.iterations * found.seconds if counted.iterations is not None else None
        yield {
            "bench": "predict", "problem": subject.name, "rows": subject.n, "entries": subject.entries,
            "rows_run": found.rows_run, "described_machine": machine["name"], "numbers": machines.numbers(machine),
            "ranks": ranks, "solver": solver, "storage": found.storage,
            "storage_reason": found.storage_reason, "options": plan.options, "rtol": plan.rtol,
            "iteration_s": found.seconds, "parts": found.parts, "ledger": found.ledger,
            "iterations": counted.iterations, "iterations_from": counted.source, "solves": counted.solves,
            "total_s": total, "levels": [level.facts() for level in found.levels],
            "iteration": found,
        }  # fmt: skip


def _show(
    subject: _subject.Subject,
    machine: dict[str, Any],
    rows: list[dict[str, Any]],
    verdicts: list[dict[str, Any]],
) -> None:
    heads = (
        "solver", "iterations", "ranks", "\N{GREEK SMALL LETTER MU}s an iteration", "memory", "launches", "own sums",
        "reductions exposed", "halo exposed", "waits", "total",
    )  # fmt: skip
    names = ("memory", "launches", "sums", "reductions", "halo", "imbalance")
    cells = []
    for row in rows:
        source = row["iterations_from"].partition(":")[0]  # why there is no number stands below the table
        iterations = f"{row['iterations']:,} ({source})" if row["iterations"] else source
        parts = [f"{row['parts'][name] * 1e6:,.1f}" for name in names]
        total = duration(row["total_s"]) if row["total_s"] is not None else "-"
        cells.append(
            [
                row["solver"],
                iterations,
                f"{row['ranks']:,}",
                f"{row['iteration_s'] * 1e6:,.1f}",
                *parts,
                total,
            ]
        )
    title = f"{subject.name}: {subject.n:,} rows, {subject.entries:,} entries; described machine {machine['name']}"
    run = sorted({row["rows_run"] for row in rows})
    if run[0] < subject.n:
        title += f"; run scaled, with {' to '.join(f'{n:,}' for n in run[:: max(1, len(run) - 1)])} rows"
    display.show_table(title, heads, cells, left=2)
    if any(row["levels"] for row in rows):
        display.show_table("Of these, \N{GREEK SMALL LETTER MU}s", *_predict_words.by_level(rows), left=1)
    for said in _predict_words.storages(rows):
        say(said)
    untold = {row["solver"]: row["iterations_from"] for row in rows if not row["iterations"]}
    for solver, source in untold.items():
        say(f"{solver}: {source}.")
    for verdict in verdicts:
        say(verdict["why"])
        if verdict["auto"]:
            solver, reason = verdict["auto"]
            say(f"solver auto takes {solver} on {count(verdict['ranks'], 'rank')}: {reason}.")
        if verdict["hosts"] > 1:
            say(machines.said_of_hosts(machine, verdict["ranks"]))
    say("")
