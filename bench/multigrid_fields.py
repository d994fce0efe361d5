"""Setup, solve and new values of ``precond="mg"`` from the fields of a grid, by phases.

python bench/multigrid_fields.py [--sizes 64] [--contrasts 1,1000] [--engine host] [--ranks 1] [--library numpy]
    [--given fields,rows] [--repeats 3] [--record FILE]

The pressure of a ball of another density, 7 points, walls half a cell away, random b, to 1e-8. Given as a GridMatrix
in memory of the library, or as CSR of the CPU. A line each of the medians: setup and first solve, which records and
captures, the solves behind it, and new values, of the ball a twentieth of the box further on; then what setup and
first solve did, by the names of the core's ranges, and what new values did, of the repeat with the least setup. Ranges
inside others count in both; "take memory for a setup", "free memory of a setup" and "take device memory" say how often
the driver was asked.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import sordino
from sordino import _core
from sordino.bench import _records

RTOL = 1e-8
TIMES = ("setup_s", "setup_cpu_s", "first_solve_s", "solve_s", "update_s")


def fields(size: int, contrast: float, xp: Any, moved: float = 0.0) -> sordino.GridMatrix:
    """A ball whose coefficient is `contrast`, by faces: harmonic means. `moved` in x, by parts of the box."""
    places = (xp.arange(size) + 0.5) / size - 0.5
    x = places - moved
    radius = places[:, None, None] ** 2 + places[None, :, None] ** 2 + x[None, None, :] ** 2
    k = xp.where(radius < 0.3**2, contrast, 1.0)
    diagonal = xp.zeros_like(k)
    ahead = []
    for axis in (2, 1, 0):  # x, y, z
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        before, behind = tuple(low), tuple(high)
        coupling = 2 * k[before] * k[behind] / (k[before] + k[behind])
        entries = xp.zeros_like(k)
        entries[before] = -coupling
        diagonal[before] += coupling
        diagonal[behind] += coupling
        for end in (0, -1):
            wall = [slice(None)] * 3
            wall[axis] = end
            diagonal[tuple(wall)] += 2 * k[tuple(wall)]
        ahead.append(entries)
    return sordino.GridMatrix(diagonal, *ahead)


def worst(statuses: Sequence[str]) -> str:
    """The first that is no success."""
    return next((status for status in statuses if status != "converged"), "converged")


def once(A: Any, later: Any, b: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Seconds of a setup, its first solve, a second one and new values, and of the phases of all but the second one."""
    _core.time_ranges()
    begun, worked = time.perf_counter(), time.process_time()
    with sordino.Solver(A, **options) as solver:
        setup, setup_cpu = time.perf_counter() - begun, time.process_time() - worked
        begun = time.perf_counter()
        first = solver.solve(b, on_failure="return")
        first_solve = time.perf_counter() - begun
        phases = _core.timed_ranges()
        begun = time.perf_counter()
        again = solver.solve(b, on_failure="return")
        second_solve = time.perf_counter() - begun
        _core.time_ranges()
        begun = time.perf_counter()
        solver.update_values(later)
        update = time.perf_counter() - begun
        of_update = _core.timed_ranges()
        last = solver.solve(b, on_failure="return")
    return {
        "setup_s": setup, "setup_cpu_s": setup_cpu, "first_solve_s": first_solve, "solve_s": second_solve,
        "update_s": update, "iterations": again.iterations, "iterations_later": last.iterations,
        "status": worst((first.status, again.status, last.status)),
        "true_residual": max(each.true_residual for each in (first, again, last)),
        "phases": phases, "phases_of_update": of_update,
    }  # fmt: skip


def measure(size: int, contrast: float, kind: str, given: argparse.Namespace) -> dict[str, Any]:
    """The row of one problem."""
    xp = importlib.import_module(given.library)
    A, later = fields(size, contrast, xp), fields(size, contrast, xp, 0.05)
    b = xp.random.default_rng(1).standard_normal(size**3)
    options = {"solver": "cg", "precond": "mg", "engine": given.engine, "ranks": given.ranks, "rtol": RTOL}
    if kind == "rows":
        A, later = A.matrix(), later.matrix()
        options["grid"] = (size,) * 3
    if given.library == "cupy":
        xp.cuda.runtime.deviceSynchronize()
    found = [once(A, later, b, options) for _ in range(given.repeats)]
    row = {
        "bench": "multigrid_fields", "given": kind, "size": size, "contrast": contrast, "engine": given.engine,
        "ranks": given.ranks, "library": given.library, "rtol": RTOL, "repeats": given.repeats,
        "status": worst([each["status"] for each in found]), "iterations": found[0]["iterations"],
        "iterations_later": found[0]["iterations_later"],
        "true_residual": max(each["true_residual"] for each in found),
    }  # fmt: skip
    quickest = min(found, key=lambda each: each["setup_s"])
    row |= {name: quickest[name] for name in ("phases", "phases_of_update")}
    for name in TIMES:
        row[name] = statistics.median(each[name] for each in found)
    return row


def main() -> int:
    """Measure, print, append records; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="64")
    parser.add_argument("--contrasts", default="1,1000")
    parser.add_argument("--given", default="fields,rows")
    parser.add_argument("--engine", default="host")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--library", default="numpy", choices=("numpy", "cupy"))
    parser.add_argument("--repeats", type=int, default=3)
    _records.add_arguments(parser)
    given = parser.parse_args()
    command = shlex.join(["python", *sys.argv])
    for size in map(int, given.sizes.split(",")):
        for contrast in map(float, given.contrasts.split(",")):
            for kind in given.given.split(","):
                row = measure(size, contrast, kind, given)
                milliseconds = {name.removesuffix("_s"): 1e3 * row[name] for name in TIMES}
                print(
                    f"{size}^3 contrast {contrast:g} by {kind}: {row['status']} in {row['iterations']}; "
                    + ", ".join(f"{name} {value:.2f} ms" for name, value in milliseconds.items()),
                    flush=True,
                )
                for title, of in (("phases", "setup and first solve"), ("phases_of_update", "new values")):
                    print(f"  {of}:")
                    for name, count, seconds in row[title]:
                        print(f"    {1e3 * seconds:9.2f} ms  {name} ({count})", flush=True)
                if given.record:
                    _records.append(given.record, [row], command, given.commit or _records.commit())
    return 0


if __name__ == "__main__":
    sys.exit(main())
