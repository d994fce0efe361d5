"""Several potentials of one surface: seconds of their solves at once, and of one after the other.

python bench/several_potentials.py [SURFACE] [--eps 1e-6] [--rtol 1e-8] [--columns 2,4,8] [--ranks N]
    [--engine host|cuda|model] [--machine NAME] [--record FILE]

A column is the potential of a point charge outside of the surface, at a place of its own. On engine model seconds are
those of the described machine.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from typing import Any

import numpy as np

import sordino
from sordino.bench import _records

REPEATS = 3


def potentials(surface: sordino.surfaces.Surface, count: int) -> np.ndarray:
    """Shape (n, count): those of charges at random places, half a radius to two away from the surface's sphere."""
    rng = np.random.default_rng(1)
    middle = surface.centroids.mean(axis=0)
    radius = np.linalg.norm(surface.centroids - middle, axis=1).max()
    away = rng.standard_normal((count, 3))
    places = middle + away / np.linalg.norm(away, axis=1)[:, None] * radius * rng.uniform(1.5, 3, (count, 1))
    return radius / np.linalg.norm(surface.centroids[:, None] - places, axis=2)


def repeats(engine: str) -> int:
    """A virtual clock says the same each time."""
    return 1 if engine == "model" else REPEATS


def best(work: Any, engine: str) -> float:
    """Seconds, the least of several after one more that takes what later ones have; `work` returns solutions."""
    work()
    seconds = []
    for _ in range(repeats(engine)):
        begun = time.perf_counter()
        solutions = work()
        taken = time.perf_counter() - begun
        seconds.append(sum(s.seconds for s in solutions) if engine == "model" else taken)
    return min(seconds)


def measure(
    surface: sordino.surfaces.Surface, eps: float, rtol: float, counts: list[int], ranks: int, engine: str,
    machine: str | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """A row for each number of columns."""
    H = sordino.hmatrix(surface, eps)
    rows = []
    with sordino.Solver(H, engine=engine, machine=machine, ranks=ranks, rtol=rtol) as solver:
        for count in counts:
            B = potentials(surface, count)
            at_once = solver.solve(B)
            in_turn = [solver.solve(b) for b in B.T]
            seconds = best(lambda B=B: [solver.solve(B)], engine)
            turns = best(lambda B=B: [solver.solve(b) for b in B.T], engine)
            rows.append(
                {
                    "bench": "several_potentials", "surface": surface.name, "n": surface.n, "eps": eps, "rtol": rtol,
                    "stored_bytes": H.statistics["stored_bytes"], "engine": engine, "ranks": ranks, "columns": count,
                    "repeats": repeats(engine), **({"described": machine} if machine else {}),
                    "iterations": [report.iterations for report in at_once.reports],
                    "iterations_in_turn": [solution.iterations for solution in in_turn],
                    "largest_residual": max(report.true_residual for report in at_once.reports),
                    "seconds": seconds, "seconds_in_turn": turns,
                }
            )  # fmt: skip
    return rows


def main() -> None:
    """Measure, show and record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("surface", nargs="?", default="sphere:13,20")
    parser.add_argument("--eps", type=float, default=1e-6)
    parser.add_argument("--rtol", type=float, default=1e-8)
    parser.add_argument("--columns", default="2,4,8")
    parser.add_argument("--ranks", type=int, default=None, help="2 on engine host, else 1")
    parser.add_argument("--engine", choices=["host", "cuda", "model"], default="host")
    parser.add_argument("--machine", default=None, help="the described one of engine model")
    _records.add_arguments(parser)
    given = parser.parse_args()
    surface = sordino.surfaces.from_words(given.surface)
    counts = [int(word) for word in given.columns.split(",")]
    ranks = given.ranks or (2 if given.engine == "host" else 1)
    rows = measure(surface, given.eps, given.rtol, counts, ranks, given.engine, given.machine)
    for row in rows:
        gain = row["seconds_in_turn"] / row["seconds"]
        print(
            f"{row['columns']} at once {row['seconds']:.4f} s, in turn {row['seconds_in_turn']:.4f} s: {gain:.2f} x"
        )
    if given.record:
        words = [word for word in sys.argv[1:]]
        command = shlex.join(["python", "bench/several_potentials.py", *words])
        _records.append(given.record, rows, command, given.commit or _records.commit())


if __name__ == "__main__":
    main()
