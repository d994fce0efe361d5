"""``sordino bench solution``: seconds from a matrix to a verified x, setup, scatter and gather included."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shlex
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._matrix import CsrArrays
from .._placement import default_engine
from ..cli import display
from ..cli.common import Parser, number, whole_number, whole_numbers
from ..cli.processes import say
from ..errors import BadArgument
from ..problems import poisson_rows
from ..report.record import json_ready
from . import _judge, _peers, _petsc, _records, _solvings

SUMMARY = "seconds from a matrix to a verified solution, by ranks, beside SciPy, PyAMG, PETSc, hypre and CuPy"


def main(argv: Sequence[str]) -> int:
    """Measure in turns, print a table, append records; return 0, or 3 if a solution of Sordino's is not verified."""
    given = _parser().read(argv)
    sizes, ranks = (whole_numbers(getattr(given, word), f"--{word}") or [0] for word in ("sizes", "ranks"))
    stencil, repeats = (whole_number(getattr(given, word), f"--{word}") for word in ("stencil", "repeats"))
    rtol, limit = number(given.rtol, "--rtol"), number(given.time_limit, "--time-limit")
    if min(*sizes, *ranks, repeats) < 1 or not 0 < rtol < 1 or limit <= 0:
        raise BadArgument("sizes, ranks and repeats must be at least 1, and --rtol between 0 and 1")
    engine = given.engine or default_engine()
    if engine not in ("host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for a measurement, not '{engine}'")
    if given.record:
        _records.check(given.record)
    program = None if given.no_peers else _petsc.find(given.petsc)
    if not given.no_peers and not program:
        say("petsc is absent: bench/petsc/build.sh was not run")
    command = shlex.join(["sordino", "bench", "solution", *argv])
    command = command.replace(given.petsc, Path(given.petsc).name) if given.petsc else command
    measured = []
    for size in sizes:
        rows = poisson_rows(size, size, size, stencil, number(given.contrast, "--contrast"))
        b = rows.product(np.ones(rows.n))
        facts = {
            "bench": "solution",
            "size": size,
            "stencil": stencil,
            "contrast": given.contrast,
            "engine": engine,
        }
        facts |= {
            "rows": rows.n,
            "nnz": rows.nnz,
            "rtol": rtol,
            "repeats": repeats,
            "load_average": os.getloadavg()[0],
        }
        with contextlib.ExitStack() as stack:
            ways = [
                _solvings.ours(rows, b, rtol, engine, count, (solver, precond, storage), size)
                for solver in given.solvers.split(",")
                for precond in given.preconds.split(",")
                for storage in given.storages.split(",")
                for count in ranks
            ]
            if not given.no_peers:
                ways += _peer_ways(rows, b, rtol, engine, ranks, program, stack, limit)
            if given.ways:
                ways = [way for way in ways if way.package == "sordino" or _named(way, given.ways)]
            found = [facts | row for row in measure(rows, b, rtol, ways, repeats)]
        if not given.json:
            _show(found)
        if given.record:
            _records.append(given.record, found, command, given.commit or _records.commit())
        measured += found
    if given.json:
        say(json.dumps(json_ready({"bench": "solution", "measured": measured}), allow_nan=False))
    return 0 if all(row["verified"] for row in measured if row["package"] == "sordino") else 3


def _parser() -> Parser:
    parser = Parser("bench solution", SUMMARY)
    parser.add_argument("--sizes", default="32,64", metavar="N,N", help="boxes of N^3 cells (default 32,64)")
    parser.add_argument("--stencil", default="7", metavar="N", help="7 or 27 points (default 7)")
    parser.add_argument("--contrast", default="1", metavar="C", help="contrast of density (default 1)")
    parser.add_argument("--ranks", default="1,2", metavar="N,N", help="numbers of ranks (default 1,2)")
    parser.add_argument("--solvers", default="cg", metavar="A,B", help="methods of Sordino (default cg)")
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host or cuda (default: cuda where it can run)"
    )
    parser.add_argument("--rtol", default="1e-8", metavar="X", help="of the true residual (default 1e-8)")
    parser.add_argument("--repeats", default="5", metavar="N", help="turns of all (default 5)")
    parser.add_argument(
        "--preconds",
        default="jacobi",
        metavar="A,B",
        help="of Sordino; mg:w is mg with cycle w, mg:w:single that in single precision (default jacobi)",
    )
    parser.add_argument(
        "--storages", default="auto", metavar="A,B", help="of Sordino's matrices (default auto)"
    )
    parser.add_argument(
        "--ways",
        default="",
        metavar="A,B",
        help="of peers, those whose names have one of these words (default all)",
    )
    parser.add_argument("--no-peers", action="store_true", help="measure Sordino alone")
    parser.add_argument(
        "--petsc", default="", metavar="FILE", help=f"the program that asks PETSc (default {_petsc.PROGRAM})"
    )
    parser.add_argument(
        "--time-limit", default="300", metavar="X", help="seconds for a run of PETSc (default 300)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    _records.add_arguments(parser)
    return parser


def _peer_ways(
    rows: CsrArrays,
    b: np.ndarray,
    rtol: float,
    engine: str,
    ranks: list[int],
    program: str | None,
    stack: contextlib.ExitStack,
    limit: float,
) -> list[_solvings.Way]:
    """Of SciPy, of PyAMG where it is, of CuPy where there is a GPU, and of PETSc and hypre on as many cores, or on all
    of them beside GPUs."""
    ways = _solvings.scipy_ways(rows, b, rtol)
    if importlib.util.find_spec("pyamg"):
        ways += _solvings.pyamg_ways(rows, b, rtol)
    if engine == "cuda" and _peers.cupy_there():
        ways += _solvings.cupyx_ways(rows, b, rtol)
    if program:
        problem = stack.enter_context(_petsc.Problem(program, rows.matrix(), b))
        for processes in ranks if engine == "host" else [min(16, os.cpu_count() or 1)]:
            ways += _solvings.petsc_ways(problem, rtol, processes, limit)
            cells = round(rows.n ** (1 / 3))
            if (pfmg := _petsc.hypre_beside(program, "hypre_pfmg")) and cells % processes == 0:
                ways.append(_solvings.pfmg_way(problem, pfmg, rtol, processes, limit, cells))
    return ways


def _named(way: _solvings.Way, words: str) -> bool:
    return any(word in f"{way.package} {way.method}" for word in words.split(","))


def measure(
    rows: CsrArrays, b: np.ndarray, rtol: float, ways: list[_solvings.Way], repeats: int
) -> list[dict[str, Any]]:
    """One row for each way. All are gone once before, which does not count, and then in turns."""
    solved: dict[int, list[_solvings.Solved]] = {k: [] for k in range(len(ways))}
    failed: dict[int, str] = {}
    for turn in range(repeats + 1):
        for k, way in enumerate(ways):
            if k in failed:
                continue
            try:
                solved[k] += [way.run()] if turn else [way.run()][:0]
            except (_petsc.PetscError, MemoryError) as error:
                failed[k] = str(error)
                sys.stderr.write(f"{way.package} {way.method}: {error}\n")
    matrix = rows.matrix()
    found = [
        _row(way, solved[k], _judge.residual(matrix, b, solved[k][-1].x), rtol)
        for k, way in enumerate(ways)
        if k not in failed
    ]
    one = {(r["package"], r["method"]): r["total_s"]["median"] for r in reversed(found) if r["ranks"] == 1}
    for row in found:
        alone = one.get((row["package"], row["method"]))
        row["speedup"] = alone / row["total_s"]["median"] if alone else None
    return found


def _row(way: _solvings.Way, solved: list[_solvings.Solved], residual: float, rtol: float) -> dict[str, Any]:
    def spread(values: list[Any]) -> dict[str, float]:
        return {"least": min(values), "median": statistics.median(values), "most": max(values)}

    return {
        "package": way.package, "method": way.method, "ranks": way.ranks, "iterations": solved[-1].iterations,
        "setup_s": spread([one.setup for one in solved]), "solve_s": spread([one.solve for one in solved]),
        "total_s": spread([one.setup + one.solve for one in solved]), "true_residual": residual,
        "verified": residual <= 1.000001 * rtol,
        "user_s": spread([one.user for one in solved]) if solved[-1].user is not None else None,
    }  # fmt: skip


def _show(found: list[dict[str, Any]]) -> None:
    heads = (
        "solver",
        "ranks",
        "iterations",
        "setup s",
        "solve s",
        "total s",
        "fastest",
        "speed-up",
        "true residual",
    )
    cells = []
    for row in found:
        iterations = "-" if row["iterations"] is None else str(row["iterations"])
        seconds = [f"{row[name]['median']:.4f}" for name in ("setup_s", "solve_s", "total_s")]
        speedup = "-" if row["speedup"] is None else f"{row['speedup']:.2f}"
        residual = f"{row['true_residual']:.1e}" + ("" if row["verified"] else " MISSED")
        last = [f"{row['total_s']['least']:.4f}", speedup, residual]
        cells.append([f"{row['package']} {row['method']}", str(row["ranks"]), iterations, *seconds, *last])
    first = found[0]
    title = (
        f"{first['size']}^3, {first['stencil']} points, to {first['rtol']:g}, engine {first['engine']}; "
        f"medians of {first['repeats']} turns"
    )
    display.show_table(title, heads, cells)
