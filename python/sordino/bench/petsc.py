"""``sordino bench petsc``: Jacobi-CG beside PETSc's and hypre's, the same system on as many ranks, in turns."""

from __future__ import annotations

import json
import os
import resource
import shlex
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._solve import Solver
from ..cli import display
from ..cli.common import Parser, number, whole_number, whole_numbers
from ..cli.processes import say
from ..errors import BadArgument, Unsupported
from ..problems import poisson_rows
from ..report.record import json_ready
from . import _judge, _petsc, _records

SUMMARY = "Jacobi-CG beside PETSc's and hypre's on the host, run in turns"

#: PETSc's methods, and by what norm they end. With a constant diagonal, as here, all are the true one, relative to b's.
VARIANTS = {
    "default": ["-ksp_type", "cg"],
    "natural norm": ["-ksp_type", "cg", "-ksp_norm_type", "natural"],
    "true norm": ["-ksp_type", "cg", "-ksp_norm_type", "unpreconditioned"],
    "groppcg": ["-ksp_type", "groppcg"],
    "pipecg": ["-ksp_type", "pipecg"],
}

#: hypre's, where it was found; it ends by the true residual.
HYPRE = "hypre pcg"

#: Seconds until a run of PETSc's is given up.
LIMIT = 300.0


def main(argv: Sequence[str]) -> int:
    """Measure in turns, print a table, append a record; return 0, or 4 if Sordino takes more than --within."""
    given = _parser().read(argv)
    size, stencil, rounds, solves = (
        whole_number(getattr(given, word), f"--{word}") for word in ("size", "stencil", "rounds", "solves")
    )
    ranks = whole_numbers(given.ranks, "--ranks")
    rtol, within = number(given.rtol, "--rtol"), number(given.within, "--within")
    if not ranks or min(size, rounds, solves, *ranks) < 1 or not 0 < rtol < 1:
        raise BadArgument("size, rounds, solves and ranks must be at least 1, and --rtol between 0 and 1")
    program = _petsc.find(given.program)
    if not program:
        raise Unsupported(
            "PETSc is absent: bench/petsc/build.sh builds what asks it, or says what to install"
        )
    if given.record:
        _records.check(given.record)
    measured = [measure(program, size, stencil, count, rtol, rounds, solves) for count in ranks]
    if given.json:
        say(json.dumps(json_ready({"bench": "petsc", "measured": measured}), allow_nan=False))
    else:
        for row in measured:
            _show(row)
    if given.record:
        command = shlex.join(["sordino", "bench", "petsc", *argv])
        command = command.replace(given.program, Path(given.program).name) if given.program else command
        _records.append(given.record, measured, command, given.commit or _records.commit())
    return 0 if all(row["ratio"]["of_medians"] <= within for row in measured) else 4


def _parser() -> Parser:
    parser = Parser("bench petsc", SUMMARY)
    parser.add_argument("--size", default="64", metavar="N", help="a box of N^3 cells (default 64)")
    parser.add_argument("--stencil", default="27", metavar="N", help="7 or 27 points (default 27)")
    parser.add_argument(
        "--ranks", default="2", metavar="N,N", help="ranks, and processes of PETSc (default 2)"
    )
    parser.add_argument("--rtol", default="1e-8", metavar="X", help="of the true residual (default 1e-8)")
    parser.add_argument("--rounds", default="10", metavar="N", help="turns of both (default 10)")
    parser.add_argument(
        "--solves", default="3", metavar="N", help="solves in a turn; the first is left out (default 3)"
    )
    parser.add_argument(
        "--within", default="1.2", metavar="X", help="of the best one's time, at most (default 1.2)"
    )
    parser.add_argument(
        "--program", default="", metavar="FILE", help=f"that asks PETSc (default {_petsc.PROGRAM})"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _records.add_arguments(parser)
    return parser


def measure(
    program: str, size: int, stencil: int, ranks: int, rtol: float, rounds: int, solves: int
) -> dict[str, Any]:
    """One record: seconds and iterations of both, and their ratio.

    Notes
    -----
    Each turn is some solves of ours, then as many of each variant of PETSc's, and of hypre's. Ours end with a
    recomputed residual, theirs do not, and it is not taken off. User seconds are of the busiest process, waiting
    for others included.
    """
    rows = poisson_rows(size, size, size, stencil, 1.0)
    b = rows.product(np.ones(rows.n))
    begin = time.perf_counter()
    solver = Solver(rows, solver="cg", precond="jacobi", engine="host", ranks=ranks, rtol=rtol)
    setup = time.perf_counter() - begin
    hypre = _petsc.hypre_beside(program)
    others = [*VARIANTS, *([HYPRE] if hypre else [])]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in ("sordino", *others)}
    matrix = rows.matrix()
    true = {}
    with _petsc.Problem(program, matrix, b) as problem:
        for _ in range(rounds):
            for k in range(solves + 1):
                user, begin = _user_seconds(), time.perf_counter()
                solution = solver.solve(b)
                seconds = time.perf_counter() - begin
                run = {"solve_s": seconds, "user_s": (_user_seconds() - user) / ranks, "setup_s": setup}
                if k:
                    runs["sordino"].append({**run, "iterations": solution.iterations})
            true["sordino"] = _judge.residual(matrix, b, solution.x)
            for name in others:
                turn: dict[str, Any] = {"processes": ranks, "repeats": solves + 1, "limit": LIMIT}
                if hypre and name == HYPRE:
                    said = problem.pcg(hypre, rtol, **turn)
                else:
                    options = ["-pc_type", "jacobi", "-ksp_rtol", repr(rtol), *VARIANTS[name]]
                    said = problem.solve(options, **turn)
                runs[name] += said[1:]
                true[name] = _judge.residual(matrix, b, problem.x())
    parts = {name: {**_summary(part), "true_residual": true[name]} for name, part in runs.items()}
    best, petsc_best = (_fastest(parts, names) for names in (others, list(VARIANTS)))
    return {
        "bench": "petsc", "size": size, "stencil": stencil, "ranks": ranks, "rows": rows.n, "nnz": rows.nnz,
        "rtol": rtol, "rounds": rounds, "solves": solves, "sordino": parts.pop("sordino"),
        "hypre": parts.pop(HYPRE, None), "petsc": parts, "petsc_best": petsc_best, "best": best,
        "load_average": os.getloadavg()[0], "ratio": _ratio(runs["sordino"], runs[best], solves),
    }  # fmt: skip


def _fastest(parts: dict[str, dict[str, Any]], names: list[str]) -> str:
    """By a whole solve: iterations of pipelined methods may be more."""
    return min(names, key=lambda name: float(parts[name]["solve_s"]["median"]))


def _user_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def _summary(runs: list[dict[str, float]]) -> dict[str, Any]:
    return {
        "iterations": int(runs[-1]["iterations"]),
        "setup_s": statistics.median(run["setup_s"] for run in runs),
        "solve_s": _spread([run["solve_s"] for run in runs]),
        "iteration_s": _spread([run["solve_s"] / run["iterations"] for run in runs]),
        "iteration_user_s": _spread([run["user_s"] / run["iterations"] for run in runs]),
    }


def _spread(values: list[float]) -> dict[str, float]:
    low, middle, high = np.percentile(values, [25, 50, 75])
    return {
        "least": min(values),
        "quarter": float(low),
        "median": float(middle),
        "three_quarters": float(high),
    }


def _ratio(ours: list[dict[str, float]], theirs: list[dict[str, float]], solves: int) -> dict[str, float]:
    """Ours over theirs of a whole solve: of medians, of the fastest, and of turns that stood side by side."""
    a, b = (np.array([run["solve_s"] for run in runs]) for runs in (ours, theirs))
    turns = np.median(a.reshape(-1, solves), axis=1) / np.median(b.reshape(-1, solves), axis=1)
    low, high = np.percentile(turns, [25, 75])
    return {
        "of_medians": float(np.median(a) / np.median(b)), "of_fastest": float(a.min() / b.min()),
        "of_turns_quarter": float(low), "of_turns_median": float(np.median(turns)),
        "of_turns_three_quarters": float(high),
    }  # fmt: skip


def _show(row: dict[str, Any]) -> None:
    heads = (
        "solver",
        "iterations",
        "setup s",
        "solve s",
        "ms an iteration",
        "fastest",
        "user ms",
        "true residual",
    )
    cells = []
    others = {f"petsc, {k}": v for k, v in row["petsc"].items()}
    if row["hypre"]:
        others[HYPRE] = row["hypre"]
    for name, part in {"sordino": row["sordino"], **others}.items():
        each, user = part["iteration_s"], part["iteration_user_s"]
        numbers = [
            f"{part['setup_s']:.3f}",
            f"{part['solve_s']['median']:.3f}",
            f"{each['median'] * 1e3:.3f}",
        ]
        numbers += [
            f"{each['least'] * 1e3:.3f}",
            f"{user['median'] * 1e3:.3f}",
            f"{part['true_residual']:.1e}",
        ]
        cells.append([name, str(part["iterations"]), *numbers])
    ranks = f"{row['ranks']} rank{'s' * (row['ranks'] > 1)}"
    title = (
        f"Jacobi-CG on {row['size']}^3, {row['stencil']} points, {ranks}, to {row['rtol']:g}; medians of "
        f"{row['rounds']} turns of {row['solves']} solves"
    )
    display.show_table(title, heads, cells)
    ratio = row["ratio"]
    low, high = ratio["of_turns_quarter"], ratio["of_turns_three_quarters"]
    best = HYPRE if row["best"] == HYPRE else f"PETSc at its best ({row['best']})"
    say(
        f"Sordino's solve takes {ratio['of_medians']:.2f} x that of {best}; turn by "
        f"turn {low:.2f} to {high:.2f}, the fastest {ratio['of_fastest']:.2f}"
    )
