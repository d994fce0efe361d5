"""Widths of the blocks of triangular factors: setups and solves of a host, and predictions of a described machine.

python bench/trsv_widths.py [--problems poisson:40,A.mtx] [--machine h200x4] [--repeats 7] [--record FILE]

A problem is `poisson:N`, of N^3 cells, or a file; the factors are those of `sordino.splu`. Seconds are processor time
of one thread, medians of setups and of solves forward and back together; widths take turns.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
import time
from typing import Any

import numpy as np

import sordino
from sordino import machines
from sordino._columns import Columns
from sordino._triangular_prediction import Sweeps, predicted
from sordino.bench import _records

WIDTHS = (32, 64, 128, 256)


def problem(word: str) -> Any:
    """The matrix of a word."""
    if word.startswith("poisson:"):
        return sordino.poisson(*3 * [int(word.split(":")[1])])
    return sordino.read_matrix(word).matrix


def seconds_of(call: Any) -> tuple[float, Any]:
    """Processor seconds of a call, and what it returns."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def measured(L: Any, lower: bool, repeats: int) -> dict[int, tuple[float, float]]:
    """Of each width the seconds of a setup, and of a solve forward and one back."""
    b = np.random.default_rng(0).standard_normal(L.shape[0])
    setups: dict[int, list[float]] = {width: [] for width in WIDTHS}
    solves: dict[int, list[float]] = {width: [] for width in WIDTHS}
    for _ in range(repeats):
        for width in WIDTHS:
            taken, F = seconds_of(
                lambda width=width: sordino.factorized(L, lower, lower, width=width, threads=1)
            )
            setups[width].append(taken)
            for turn in range(4):
                both = sum(seconds_of(lambda trans=trans, F=F: F.solve(b, trans, 0))[0] for trans in "NT")
                solves[width] += [both] if turn else []  # the first one plans
    return {width: (statistics.median(setups[width]), statistics.median(solves[width])) for width in WIDTHS}


def chosen(L: Any, lower: bool, machine: str, repeats: int) -> dict[str, Any]:
    """What `width="auto"` takes on a described machine, and the processor seconds of a setup with it and without."""
    options = {"engine": "model", "machine": machine, "ranks": 1, "threads": 1}
    words = ("auto", 256)
    setups: dict[Any, list[float]] = {width: [] for width in words}
    for _ in range(repeats):
        for width in words:
            taken, F = seconds_of(
                lambda width=width: sordino.factorized(L, lower, lower, width=width, **options)
            )
            setups[width].append(taken)
            if width == "auto":
                width_taken = F.statistics["width"]
    return {
        "taken": width_taken,
        "auto_setup_s": statistics.median(setups["auto"]),
        "setup_s": statistics.median(setups[256]),
    }


def main() -> None:
    """Measure, and write a line for each triangle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default="poisson:20")
    parser.add_argument("--machine", default="h200x4")
    parser.add_argument("--repeats", type=int, default=7)
    _records.add_arguments(parser)
    given = parser.parse_args()
    described = machines.load(given.machine)
    for word in given.problems.split(","):
        factors = sordino.splu(problem(word)).factors
        for name, lower, T in (("L", True, factors.lower), ("U", False, factors.upper)):
            sweeps = Sweeps([(Columns(T, lower=lower), ["forward", "backward"])], name)
            of_widths = measured(T, lower, given.repeats)
            row = {
                "bench": "trsv widths",
                "problem": os.path.basename(word),
                "factor": name,
                "entries": int(T.nnz),
                "widths": list(of_widths),
                "host_setup_s": [setup for setup, _ in of_widths.values()],
                "host_both_ways_s": [both for _, both in of_widths.values()],
                "predicted_both_ways_s": [
                    predicted(sweeps, described, [1], width=width)["predicted"][0]["seconds"]
                    for width in WIDTHS
                ],
                **chosen(T, lower, given.machine, given.repeats),
                "described": given.machine,
                "seconds": "processor time, one thread, medians",
            }
            print(row, flush=True)
            if given.record:
                command = shlex.join(["python", *sys.argv])
                _records.append(given.record, [row], command, given.commit or _records.commit())


if __name__ == "__main__":
    main()
