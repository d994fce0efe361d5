"""How long a solver takes to set up, and what that costs all cores: no solves.

python bench/setup.py [--sizes 64,128] [--preconds jacobi,sqrt-jacobi,mg] [--given scipy,arrays] [--storage auto]
    [--engine host] [--ranks 2] [--repeats 3] [--record FILE]

Poisson's equation with a ball of another density on cubes. Given as a SciPy matrix, which is checked and copied, or as
the arrays that the core views. The least of the repeats counts: wall-clock seconds, and seconds of all threads of the
process, which other programs on the machine change less. The first line of a size is the matrix itself.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable
from typing import Any

import sordino
from sordino.bench import _records
from sordino.problems import poisson_rows

CONTRAST = 1000.0


def least(job: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Wall-clock seconds and seconds of all threads; of each the least. What `job` makes is dropped untimed."""
    walls, works = [], []
    for _ in range(repeats):
        begun, worked = time.perf_counter(), time.process_time()
        made = job()
        walls.append(time.perf_counter() - begun)
        works.append(time.process_time() - worked)
        del made
    return min(walls), min(works)


def measure(size: int, given: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of a size."""
    shape = (size, size, size)
    facts = {"bench": "setup", "size": size, "contrast": CONTRAST, "repeats": given.repeats}
    engine = {"engine": given.engine, "ranks": given.ranks, "storage": given.storage}
    rows = []

    def tell(what: str, job: Callable[[], Any], **more: Any) -> None:
        wall, work = least(job, given.repeats)
        rows.append({**facts, **more, "what": what, "seconds": wall, "core_seconds": work})
        print(f"{size}^3 {what:24} {wall:8.3f} s, of all threads {work:8.3f} s", flush=True)

    tell("matrix", lambda: poisson_rows(*shape, 7, CONTRAST))
    held = poisson_rows(*shape, 7, CONTRAST)
    for kind in given.given.split(","):
        A = held.matrix() if kind == "scipy" else held
        for precond in given.preconds.split(","):
            grid = {"grid": shape} if precond == "mg" else {}
            tell(
                f"{kind} {precond}",
                lambda A=A, options={"precond": precond, **engine, **grid}: sordino.Solver(
                    A, solver="cg", **options
                ),
                given=kind, precond=precond, **engine,
            )  # fmt: skip
    return rows


def main() -> int:
    """Measure, print a line each, append records; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="64,128")
    parser.add_argument("--preconds", default="jacobi,sqrt-jacobi,mg")
    parser.add_argument("--given", default="scipy,arrays")
    parser.add_argument("--storage", default="auto")
    parser.add_argument("--engine", default="host")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    _records.add_arguments(parser)
    given = parser.parse_args()
    command = shlex.join(["python", *sys.argv])
    for size in map(int, given.sizes.split(",")):
        rows = measure(size, given)
        if given.record:
            _records.append(given.record, rows, command, given.commit or _records.commit())
    return 0


if __name__ == "__main__":
    sys.exit(main())
