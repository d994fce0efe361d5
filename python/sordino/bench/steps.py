"""``sordino bench steps``: time steps with new values and new right-hand sides; memory must stay flat."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._native import core
from .._placement import default_engine
from .._solve import Solver
from ..cli import display
from ..cli.common import Parser, number, whole_number
from ..cli.processes import say
from ..errors import BadArgument
from ..problems import poisson
from ..report.record import json_ready
from . import _held, _records

SUMMARY = (
    "time steps with changing values: memory stays flat, and nothing is allocated or captured after the first"
)

#: What may come on top, in bytes or blocks, of what is held after SETTLED steps: the interpreter's pages and caches.
#: What the GPUs hold must not grow at all after the first step, nor may threads come.
SETTLED = 20
MAY_GROW = {"resident": 2 << 20, "heap": 16 << 10, "blocks": 300}
EXACT = ("device_allocations", "device_free", "threads")


def main(argv: Sequence[str]) -> int:
    """Make the steps, print a table, append a record; return 0, or 4 if something grew."""
    parser = Parser("bench steps", SUMMARY)
    parser.add_argument("--steps", default="1000", metavar="N", help="how many (default 1000)")
    parser.add_argument("--size", default="24", metavar="N", help="a box of N^3 cells (default 24)")
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host or cuda (default: cuda where it can run)"
    )
    parser.add_argument("--ranks", default="2", metavar="N", help="ranks (default 2)")
    parser.add_argument("--solver", default="cg", metavar="NAME", help="method (default cg)")
    parser.add_argument("--rtol", default="1e-8", metavar="X", help="of each step (default 1e-8)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _records.add_arguments(parser)
    given = parser.read(argv)
    steps, size, ranks = (
        whole_number(getattr(given, word), f"--{word}") for word in ("steps", "size", "ranks")
    )
    if steps <= SETTLED or min(size, ranks) < 1:
        raise BadArgument(f"steps must be more than {SETTLED}, size and ranks at least 1")
    engine = given.engine or default_engine()
    if engine not in ("host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for a measurement, not '{engine}'")
    if given.record:
        _records.check(given.record)
    options = {"solver": given.solver, "rtol": number(given.rtol, "--rtol"), "engine": engine, "ranks": ranks}
    row = measure(steps, size, options)
    say(json.dumps(json_ready(row), allow_nan=False)) if given.json else _show(row)
    if given.record:
        command = shlex.join(["sordino", "bench", "steps", *argv])
        _records.append(given.record, [row], command, given.commit or _records.commit())
    return 0 if row["flat"] else 4


def measure(steps: int, size: int, options: dict[str, Any]) -> dict[str, Any]:
    """Implicit steps of heat flow with a width and a source of their own: (1 + tau A) x' = x + tau f.

    Returns
    -------
    dict
        ``held``: of each quantity the sample after the first step, after :data:`SETTLED` and after the last one,
        by how much it grew after that, and the last step at which it did; ``flat``: whether all is as it must be.
    """
    grid = poisson(size, size, size)
    n = grid.shape[0]
    diagonal = np.repeat(np.arange(n), np.diff(grid.indptr)) == grid.indices
    values, b, x, places = grid.data + diagonal, np.ones(n), np.zeros(n), np.arange(n, dtype=float)
    solver = Solver(grid, precond="jacobi", **options)
    probes = {
        "resident": _held.resident,
        "heap": _held.heap(),
        "blocks": _held.blocks,
        "threads": _held.threads,
    }
    if options["engine"] == "cuda":
        probes["device_free"] = _held.device_free(_devices(options["ranks"]))
        probes["device_allocations"] = lambda: float(sum(solver.memory()["device_allocations"]))
    samples = {name: np.full(steps, np.nan) for name in probes}
    iterations, seconds = 0, 0.0
    for k in range(steps):
        begin = time.perf_counter()
        tau = 10.0 + 9.0 * np.sin(0.37 * k)
        np.multiply(grid.data, tau, out=values)
        values += diagonal
        solver.update_values(values)
        np.multiply(places, 0.01 + 1e-5 * k, out=b)
        np.sin(b, out=b)
        b *= tau
        b += x
        solution = solver.solve(b, x0=x)
        x[:] = solution.x
        iterations += solution.iterations
        seconds += time.perf_counter() - begin
        for name, probe in probes.items():
            samples[name][k] = probe()
    held = {name: summed_up(name, sample) for name, sample in samples.items()}
    return {
        "bench": "steps", "steps": steps, "size": size, "rows": n, **options, "iterations": iterations,
        "seconds_a_step": seconds / steps, "held": held, "flat": all(part["flat"] for part in held.values()),
    }  # fmt: skip


def _devices(ranks: int) -> list[int]:
    return list(range(min(ranks, len(core().devices()["devices"]))))


def summed_up(name: str, samples: np.ndarray) -> dict[str, Any]:
    """What became of a quantity, and whether it is flat; NaN, which nobody could tell, is."""
    after = samples[1:] if name in EXACT else samples[SETTLED:]
    start = samples[0] if name in EXACT else samples[SETTLED - 1]
    grown = float(start - after.min()) if name == "device_free" else float(after.max() - start)
    changes = np.flatnonzero(np.diff(samples) < 0 if name == "device_free" else np.diff(samples) > 0) + 1
    return {
        "first": float(samples[0]), "settled": float(samples[SETTLED - 1]), "last": float(samples[-1]),
        "grown": grown, "last_growth_at_step": int(changes[-1]) if len(changes) else 0,
        "flat": not grown > MAY_GROW.get(name, 0),
    }  # fmt: skip


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
    cells = []
    for name, part in row["held"].items():
        numbers = [part["first"], part["settled"], part["last"], part["grown"], MAY_GROW.get(name, 0)]
        last = ["-" if part["last_growth_at_step"] == 0 else f"step {part['last_growth_at_step'] + 1}"]
        flat = "yes" if part["flat"] else "NO"
        cells.append([name.replace("_", " "), *(f"{value:,.0f}" for value in numbers), *last, flat])
    display.show_table(
        f"{row['steps']:,} steps of {row['size']}^3 by {row['solver']}, {row['ranks']} ranks, engine {row['engine']}: "
        f"{row['seconds_a_step'] * 1e3:.2f} ms a step, {row['iterations'] / row['steps']:.1f} iterations",
        heads,
        cells,
    )
