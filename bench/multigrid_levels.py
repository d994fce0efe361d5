"""Time by level of multigrid-preconditioned solves, with hidden and exposed communication, from their traces.

python bench/multigrid_levels.py [--sizes 64,128] [--contrast 1] [--precond mg:v] [--solver cg] [--engine host]
    [--machine NAME] [--ranks 2] [--library numpy] [--repeats 3] [--record FILE]

Random right-hand sides, to 1e-8. Seconds of a solve are the median of untraced ones; the levels are those of a solve
with a trace, by each rank that has one. With cupy or torch as library b and x are on a GPU. Of one rank the cycle's
kernels on the two finest levels stand beside their rooflines, operations / peak + bytes / bandwidth of a copy.
"""

from __future__ import annotations

import argparse
import math
import shlex
import statistics
import sys
from typing import Any

import numpy as np
from grid_preconditioners import RTOL, vector

import sordino
from sordino.bench import _records
from sordino.bench.kernels import measured_roof
from sordino.report.levels import by_level, cells_of, small_share, work_of_commands

#: Of the finest levels, whose kernels stand beside their rooflines.
FINEST = 2


def beside_rooflines(
    trace: Any, kernels: list[dict[str, Any]], cells: list[tuple[int, int, int]], roof: dict[str, float]
) -> list[dict[str, Any]]:
    """Each kernel of a cycle on the finest levels: the median of its calls, its bytes and its roofline.

    `kernels` are a whole solve's on one rank, by name over all levels: each has as many bytes a cell on all of them.
    """
    by_name = {kernel["name"]: kernel for kernel in kernels}
    work = work_of_commands(trace, 0)
    count = [math.prod(level) for level in cells]
    around = by_name["SpMV"]["calls"] - sum(len(calls) for (_, name), calls in work.items() if name == "SpMV")
    rows = []
    for (place, name), calls in sorted(work.items()):
        if place >= FINEST or name not in by_name:
            continue
        visited = sum(len(of) * count[at] for (at, other), of in work.items() if other == name)
        visited += around * count[0] if name == "SpMV" else 0
        of_a_call = {key: by_name[name][key] * count[place] / visited for key in ("bytes", "flops")}
        seconds = statistics.median(calls)
        roofline = of_a_call["flops"] / roof["flops"] + of_a_call["bytes"] / roof["bandwidth"]
        rows.append(
            {"level": place, "name": name, "seconds": seconds, "roofline_s": roofline, "calls": len(calls)}
            | of_a_call
        )
    return rows


def measure(size: int, ranks: int, given: argparse.Namespace) -> dict[str, Any]:
    """A row: seconds of a solve, and the levels of each rank's average iteration."""
    cells = (size,) * 3
    A = sordino.poisson(*cells, contrast=given.contrast)
    b = vector(np.random.default_rng(1).standard_normal(A.shape[0]), given.library)
    precond, _, cycle = given.precond.partition(":")
    options = {
        "solver": given.solver,
        "precond": precond,
        "cycle": cycle or "v",
        "engine": given.engine,
        "rtol": RTOL,
    }
    options |= {"machine": given.machine} if given.machine else {}
    options |= {"grid": cells} if precond == "mg" else {}
    with sordino.Solver(A, ranks=ranks, **options) as solver:
        found = [solver.solve(b) for _ in range(given.repeats + 1)][1:]
    with sordino.Solver(A, ranks=ranks, trace=True, time_commands=True, **options) as solver:
        solver.solve(b)
        traced = solver.solve(b)
    trace = traced.report.trace
    levels = {rank: by_level(trace, rank) for rank in sorted({int(span["rank"]) for span in trace})}
    middle = levels[len(levels) // 2]
    roof = measured_roof(given.engine) if ranks == 1 and given.engine in ("host", "cuda") else {}
    grids = cells_of(cells, len(middle) - 1)
    kernels = beside_rooflines(trace, traced.ledger["kernels"], grids, roof) if roof and middle else []
    return {
        "bench": "multigrid_levels", "size": size, "contrast": given.contrast, **options, "ranks": ranks,
        "library": given.library, "repeats": given.repeats, "iterations": found[0].iterations,
        "true_residual": max(each.true_residual for each in found),
        "solve_s": statistics.median(each.seconds for each in found),
        "cells": grids, **roof, "kernels": kernels, "below_32": small_share(middle, cells) if middle else None,
        "levels": {str(rank): [level.facts() for level in of] for rank, of in levels.items()},
    }  # fmt: skip


def main() -> int:
    """Measure, print a table each, append records; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="64,128")
    parser.add_argument("--contrast", type=float, default=1.0)
    parser.add_argument("--precond", default="mg:v")
    parser.add_argument("--solver", default="cg")
    parser.add_argument("--engine", default="host")
    parser.add_argument("--machine", default="")
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--library", default="numpy", choices=("numpy", "cupy", "torch"))
    parser.add_argument("--repeats", type=int, default=3)
    _records.add_arguments(parser)
    given = parser.parse_args()
    command = shlex.join(["python", *sys.argv])
    for size in map(int, given.sizes.split(",")):
        for ranks in map(int, given.ranks.split(",")):
            row = measure(size, ranks, given)
            print(
                f"{size}^3 on {ranks}: {row['iterations']} iterations, {row['solve_s']:.4f} s, "
                f"below 32^3 {row['below_32']:.2f}"
            )
            middle = list(row["levels"].values())[len(row["levels"]) // 2]
            for level in middle:
                taken = {key[:-2]: f"{1e6 * value:.1f}" for key, value in level.items() if key.endswith("_s")}
                print(
                    f"  level {level['place']:2}, {level['commands']:5.1f} commands, us: {taken}", flush=True
                )
            for kernel in row["kernels"]:
                part = kernel["roofline_s"] / kernel["seconds"] if kernel["seconds"] else 0.0
                print(
                    f"  level {kernel['level']} {kernel['name']}: {1e6 * kernel['seconds']:.1f} us, "
                    f"{part:.2f} of its roofline",
                    flush=True,
                )
            if given.record:
                _records.append(given.record, [row], command, given.commit or _records.commit())
    return 0


if __name__ == "__main__":
    sys.exit(main())
