"""``sordino bench steps``: time steps with new values and new right-hand sides; memory must stay flat."""

from __future__ import annotations

import itertools
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._native import core
from .._placement import default_engine
from .._solve import Solver
from ..cli import display
from ..cli.common import Parser, number, whole_number, whole_numbers
from ..cli.processes import say
from ..errors import BadArgument
from ..problems import multiphase, poisson, pressure_steps
from ..report.record import json_ready
from ..report.words import count
from . import _held, _records

SUMMARY = "time steps with changing values: each is verified, memory stays flat, nothing is allocated or captured anew"

#: What may come on top, in bytes or blocks, of what is held after SETTLED steps: the interpreter's pages and caches.
#: What the GPUs hold must not grow at all after the first step, nor may threads come.
SETTLED = 20
MAY_GROW = {"resident": 2 << 20, "heap": 16 << 10, "blocks": 300}
EXACT = ("device_allocations", "device_free", "threads")

#: Levels of phases that lie elsewhere have other sizes, and other numbers: where they are made anew, this share of what
#: the solver holds, and of the pieces that it has, may come on top. A set of levels that stays is more with each.
OTHER_LEVELS = 1 / 8

#: A matrix with the values that it has at first, and of each step values and right-hand side, which may use the last x.
Steps = tuple[Any, Iterator[tuple[np.ndarray, np.ndarray]]]

#: A step is verified where the residual, recomputed with NumPy, is over what was asked by rounding at most.
ROUNDING = 1e-6


def main(argv: Sequence[str]) -> int:
    """Make the steps, print a table, append a record; return 0, or 4 if something grew or a step is not verified."""
    parser = _parser()
    given = parser.read(argv)
    steps, ranks = (whole_number(getattr(given, word), f"--{word}") for word in ("steps", "ranks"))
    cells = whole_numbers(given.size, "--size")
    cells = 3 * cells if len(cells) == 1 else cells
    if steps <= SETTLED or len(cells) != 3 or min(*cells, ranks) < 1:
        raise BadArgument(
            f"steps must be more than {SETTLED}, ranks and sizes, of which there are one or three, at least 1"
        )
    engine = given.engine or default_engine()
    if engine not in ("host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for a measurement, not '{engine}'")
    if given.problem not in PROBLEMS:
        raise BadArgument(f"--problem is {' or '.join(PROBLEMS)}, not '{given.problem}'")
    if given.record:
        _records.check(given.record)
    options = {"solver": given.solver, "precond": given.precond, "rtol": number(given.rtol, "--rtol")}
    contrast = number(given.contrast, "--contrast")
    row = measure(steps, cells, given.problem, contrast, {**options, "engine": engine, "ranks": ranks})
    say(json.dumps(json_ready(row), allow_nan=False)) if given.json else _show(row)
    if given.record:
        command = shlex.join(["sordino", "bench", "steps", *argv])
        _records.append(given.record, [row], command, given.commit or _records.commit())
    return 0 if row["flat"] and row["verified"] == steps else 4


def _parser() -> Parser:
    parser = Parser("bench steps", SUMMARY)
    parser.add_argument("--steps", default="1000", metavar="N", help="how many (default 1000)")
    parser.add_argument(
        "--size", default="24", metavar="N", help="a box of N^3 cells, or of NX,NY,NZ (default 24)"
    )
    parser.add_argument(
        "--problem", default="heat", metavar="NAME", help="heat, or bubbles that rise (default heat)"
    )
    parser.add_argument(
        "--contrast", default="1000", metavar="X", help="of bubbles and liquid (default 1000)"
    )
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host or cuda (default: cuda where it can run)"
    )
    parser.add_argument("--ranks", default="2", metavar="N", help="ranks (default 2)")
    parser.add_argument("--solver", default="cg", metavar="NAME", help="method (default cg)")
    parser.add_argument("--precond", default="jacobi", metavar="NAME", help="preconditioner (default jacobi)")
    parser.add_argument("--rtol", default="1e-8", metavar="X", help="of each step (default 1e-8)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _records.add_arguments(parser)
    return parser


# ---- problems ----------------------------------------------------------------------------------------------------


def _heat(cells: Sequence[int], contrast: float, x: np.ndarray) -> Steps:
    """Implicit steps of heat flow with a width and a source of their own: (1 + tau A) x' = x + tau f."""
    grid = poisson(*cells)
    n = grid.shape[0]
    diagonal = np.repeat(np.arange(n), np.diff(grid.indptr)) == grid.indices
    values, b, places = grid.data + diagonal, np.ones(n), np.arange(n, dtype=float)

    def systems() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for k in itertools.count():
            tau = 10.0 + 9.0 * np.sin(0.37 * k)
            np.multiply(grid.data, tau, out=values)
            np.add(values, diagonal, out=values)
            np.multiply(places, 0.01 + 1e-5 * k, out=b)
            np.sin(b, out=b)
            np.multiply(b, tau, out=b)
            np.add(b, x, out=b)
            yield values, b

    return grid, systems()


def _bubbles(cells: Sequence[int], contrast: float, x: np.ndarray) -> Steps:
    """The pressure of bubbles that rise in a tank, open at the top: densities move, half a cell a step at most."""
    problem = multiphase(*cells, contrast=contrast)
    return problem.A, pressure_steps(problem)


PROBLEMS: dict[str, Callable[[Sequence[int], float, np.ndarray], Steps]] = {
    "heat": _heat,
    "bubbles": _bubbles,
}


# ---- what is measured --------------------------------------------------------------------------------------------


def measure(
    steps: int, cells: Sequence[int], problem: str, contrast: float, options: dict[str, Any]
) -> dict[str, Any]:
    """Time steps of a problem, each with new values, a new right-hand side, and the last x as the guess.

    Returns
    -------
    dict
        ``held``: of each quantity the sample after the first step, after :data:`SETTLED` and after the last one,
        by how much it grew after that, and the last step at which it did; ``flat``: whether all is as it must be;
        ``each``: of all steps ``iterations``, ``status``, ``residual``, recomputed with NumPy, ``update_s`` and
        ``solve_s``, and with multigrid ``levels_made``; ``verified``: how many are converged, and truly so;
        ``levels_made``, ``levels_reason``: how often levels were made, and why the last time.
    """
    x = np.zeros(int(np.prod(cells)))
    A, systems = PROBLEMS[problem](cells, contrast, x)
    solver = Solver(A, grid=tuple(cells), **options)
    probes = _probes(solver, options)
    # of all steps, before the first sample: what is measured must not grow by being measured
    samples = {name: np.full(steps, np.nan) for name in probes}
    each = {name: np.zeros(steps) for name in ("residual", "update_s", "solve_s")}
    status, iterations, made, seconds = [""] * steps, *np.zeros((2, steps), dtype=int), 0.0
    for k in range(steps):
        begin = time.perf_counter()
        values, b = next(systems)
        there = time.perf_counter()
        solver.update_values(values)
        updated = time.perf_counter()
        solution = solver.solve(b, x0=x, on_failure="return")
        end = time.perf_counter()
        x[:], status[k], iterations[k] = solution.x, sys.intern(solution.status), solution.iterations
        made[k] = solution.report.levels_made
        seconds += end - begin
        each["update_s"][k], each["solve_s"][k] = updated - there, end - updated
        each["residual"][k] = _residual(A, values, b, x)
        for name, probe in probes.items():
            samples[name][k] = probe()
    bytes_held = sum(solver.memory()["bytes_per_rank"]) if made[-1] > 1 else 0
    held = {name: summed_up(name, sample, bytes_held) for name, sample in samples.items()}
    true = (each["residual"] <= options["rtol"] * (1 + ROUNDING)) & (np.array(status) == "converged")
    lists = {name: [float(f"{value:.4g}") for value in found] for name, found in each.items()}
    levels = (
        {"levels_made": int(made[-1]), "levels_reason": solution.report.levels_reason} if made.any() else {}
    )
    return {
        "bench": "steps", "problem": problem, "contrast": contrast if problem == "bubbles" else None, "steps": steps,
        "size": cells[0] if len(set(cells)) == 1 else None, "cells": list(cells), "rows": len(x), **options,
        "iterations": int(iterations.sum()), "seconds_a_step": seconds / steps, "held": held,
        "flat": all(part["flat"] for part in held.values()), "verified": int(true.sum()), **levels,
        "each": {
            "status": status, "iterations": iterations.tolist(), **lists,
            **({"levels_made": made.tolist()} if levels else {}),
        },
    }  # fmt: skip


def _probes(solver: Solver, options: dict[str, Any]) -> dict[str, Callable[[], float]]:
    """What is looked at after each step."""
    probes = {
        "resident": _held.resident,
        "heap": _held.heap(),
        "blocks": _held.blocks,
        "threads": _held.threads,
    }
    if options["engine"] == "cuda":
        probes["device_free"] = _held.device_free(_devices(options["ranks"]))
        probes["device_allocations"] = lambda: float(sum(solver.memory()["device_allocations"]))
    return probes


def _residual(A: Any, values: np.ndarray, b: np.ndarray, x: np.ndarray) -> float:
    """``norm(b - A x) / norm(b)`` with these values in A's pattern, which has an entry in each row.

    Not a product of SciPy's: each makes a name, some hundred of which Python keeps, and counts among its blocks.
    """
    left = b - np.add.reduceat(values * x[A.indices], A.indptr[:-1])
    return float(np.linalg.norm(left) / np.linalg.norm(b))


def _devices(ranks: int) -> list[int]:
    return list(range(min(ranks, len(core().devices()["devices"]))))


def summed_up(name: str, samples: np.ndarray, of_others: int = 0) -> dict[str, Any]:
    """What became of a quantity, and whether it is flat; NaN, which nobody could tell, is.

    `of_others` are the bytes that a solver holds which has made levels anew, else 0.
    """
    may_grow = float(MAY_GROW.get(name, 0))
    if of_others and name not in ("threads", "blocks"):
        may_grow += OTHER_LEVELS * (samples[0] if name == "device_allocations" else of_others)
    after = samples[1:] if name in EXACT else samples[SETTLED:]
    start = samples[0] if name in EXACT else samples[SETTLED - 1]
    grown = float(start - after.min()) if name == "device_free" else float(after.max() - start)
    changes = np.flatnonzero(np.diff(samples) < 0 if name == "device_free" else np.diff(samples) > 0) + 1
    return {
        "first": float(samples[0]), "settled": float(samples[SETTLED - 1]), "last": float(samples[-1]),
        "grown": grown, "last_growth_at_step": int(changes[-1]) if len(changes) else 0,
        "may_grow": may_grow, "flat": not grown > may_grow,
    }  # fmt: skip


def _levels(row: dict[str, Any]) -> str:
    """How often levels were made, and why the last time; nothing without any, and of one time no reason."""
    made = row.get("levels_made", 0)
    why = f", the last time as {row['levels_reason']}" if made > 1 else ""
    return f"; levels made {count(made, 'time')}{why}" if made else ""


def _show(row: dict[str, Any]) -> None:
    heads = (
        "held",
        "after step 1",
        f"after step {SETTLED}",
        "after the last",
        "grown",
        "may grow",
        "last at",
        "flat",
    )
    lines = []
    for name, part in row["held"].items():
        numbers = [part["first"], part["settled"], part["last"], part["grown"], part["may_grow"]]
        last = ["-" if part["last_growth_at_step"] == 0 else f"step {part['last_growth_at_step'] + 1}"]
        flat = "yes" if part["flat"] else "NO"
        lines.append([name.replace("_", " "), *(f"{value:,.0f}" for value in numbers), *last, flat])
    cells = " x ".join(map(str, row["cells"]))
    display.show_table(
        f"{row['steps']:,} steps of {row['problem']} on {cells} cells by {row['solver']} with {row['precond']}, "
        f"{row['ranks']} ranks, engine {row['engine']}: {row['seconds_a_step'] * 1e3:.2f} ms a step, "
        f"{row['iterations'] / row['steps']:.1f} iterations; {row['verified']:,} converged, and truly so{_levels(row)}",
        heads,
        lines,
    )
