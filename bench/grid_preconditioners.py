"""Preconditioners of grids: iterations and seconds of verified solves with cg, by size and contrast.

python bench/grid_preconditioners.py [--sizes 32,64,96] [--contrasts 1,1000] [--engine host] [--ranks 2]
    [--problem ball] [--stencil 7] [--obstacles 0] [--edges 1,1,10] [--grading 1]
    [--preconds jacobi,block-ilu,mg:v,mg:w] [--storage auto] [--library numpy] [--repeats 3] [--record FILE]

Random right-hand sides, to 1e-8; seconds by the wall's clock, and of all cores together, of setup, too. A problem is
a ball of another density, by 7 or 27 points, or `bubbles` or a `free-surface` in a tank, open at the top, with so many
obstacles, or there `layers` of five cells, light and heavy in turn, which no pairs of cells keep apart, or `cells` of a
density each that is drawn, in `open-cells` with zero values on all faces, or `bricks`, finite elements of 27 points
with a coefficient drawn for each, whose edges are as given, in z growing so many times by the grading. Setup is told
apart; `mg:w` is precond mg with cycle w, `mg:v:single` with cycles in single precision, `mg:v:double:sor` with another
smoother, and `mg:f`, which is not symmetric, is taken by fcg. What does not converge is a line, too, with its status.
With cupy or torch as library b and x are on a GPU, and do not travel.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import statistics
import sys
import time
from typing import Any

import numpy as np

import sordino
from sordino.bench import _records
from sordino.problems import OPEN_TANK, brick_matrix, multiphase, pressure_matrix

RTOL = 1e-8
LAYER = 5  # cells
CELLS = {"cells": OPEN_TANK, "open-cells": "dirichlet"}
PROBLEMS = ("ball", "bubbles", "free-surface", "layers", "bricks", *CELLS)


def vector(values: np.ndarray, library: str) -> Any:
    """An array of the library, on a GPU if it is one of those that have such."""
    module = importlib.import_module(library)
    return module.from_numpy(values).cuda() if library == "torch" else module.asarray(values)


def matrix(size: int, contrast: float, given: argparse.Namespace) -> Any:
    """The matrix of a problem on size^3 cells."""
    cells = (size,) * 3
    if given.problem == "ball":
        return sordino.poisson(*cells, stencil=given.stencil, contrast=contrast)
    if given.problem == "layers":
        heavy = np.arange(size) // LAYER % 2 == 1
        density = np.where(heavy, contrast, 1.0)[:, None, None]
        return pressure_matrix(np.broadcast_to(density, cells), boundary=OPEN_TANK)
    if given.problem in CELLS:
        density = contrast ** np.random.default_rng(2).random(cells)
        return pressure_matrix(density, boundary=CELLS[given.problem])
    if given.problem == "bricks":
        bricks = (size + 1,) * 3
        x, y, z = map(float, given.edges.split(","))
        growing = z * np.geomspace(1, given.grading, size + 1)
        return brick_matrix(contrast ** np.random.default_rng(2).random(bricks), spacing=(x, y, growing)).A
    return multiphase(*cells, phases=given.problem, contrast=contrast, obstacles=given.obstacles).A


def measure(size: int, contrast: float, precond: str, given: argparse.Namespace) -> dict[str, Any]:
    """A row: what one preconditioner takes."""
    A = matrix(size, contrast, given)
    b = vector(np.random.default_rng(1).standard_normal(A.shape[0]), given.library)
    word, cycle, precision, smoother = (*precond.split(":"), "", "", "")[:4]
    options = {"engine": given.engine, "ranks": given.ranks, "storage": given.storage, "grid": (size,) * 3}
    begun, cpu_begun = time.perf_counter(), time.process_time()
    options |= {"solver": "fcg" if cycle == "f" else "cg", "precond": word, "cycle": cycle or "v"}
    options |= {"cycle_precision": precision or "double", "smoother": smoother or "chebyshev"}
    with sordino.Solver(A, rtol=RTOL, **options) as solver:
        setup, setup_cpu = time.perf_counter() - begun, time.process_time() - cpu_begun
        held = max(solver.memory()["bytes_per_rank"])
        found, cpu = [], []
        for _ in range(given.repeats + 1):
            before = time.process_time()
            found.append(solver.solve(b, on_failure="return"))
            cpu.append(time.process_time() - before)
    found, cpu = found[1:], cpu[1:]
    return {
        "bench": "grid_preconditioners", "problem": given.problem, "obstacles": given.obstacles, "size": size,
        "stencil": given.stencil, "edges": given.edges, "grading": given.grading,
        "contrast": contrast, "precond": word, "cycle": cycle,
        "precision": precision or "double", "smoother": smoother or "chebyshev",
        "engine": given.engine, "ranks": given.ranks, "storage": given.storage, "library": given.library,
        "rtol": RTOL, "repeats": given.repeats, "status": found[0].status,
        "iterations": found[0].iterations, "true_residual": max(each.true_residual for each in found),
        "setup_s": setup, "solve_s": statistics.median(each.seconds for each in found), "held_bytes": held,
        "cpu_s": statistics.median(cpu), "setup_cpu_s": setup_cpu,
    }  # fmt: skip


def main() -> int:
    """Measure, print a line each, append records; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="32,64,96")
    parser.add_argument("--contrasts", default="1,1000")
    parser.add_argument("--problem", default="ball", choices=PROBLEMS)
    parser.add_argument("--stencil", type=int, default=7, choices=(7, 27), help="of the ball")
    parser.add_argument("--obstacles", type=int, default=0)
    parser.add_argument("--edges", default="1,1,1")
    parser.add_argument("--grading", type=float, default=1.0)
    parser.add_argument("--preconds", default="jacobi,block-ilu,mg:v,mg:w")
    parser.add_argument("--engine", default="host")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--storage", default="auto")
    parser.add_argument("--library", default="numpy", choices=("numpy", "cupy", "torch"))
    parser.add_argument("--repeats", type=int, default=3)
    _records.add_arguments(parser)
    given = parser.parse_args()
    if given.problem in ("ball", "layers", "bricks", *CELLS) and given.obstacles:
        parser.error("obstacles are of bubbles and of a free surface")
    command = shlex.join(["python", *sys.argv])
    for size in map(int, given.sizes.split(",")):
        for contrast in map(float, given.contrasts.split(",")):
            for precond in given.preconds.split(","):
                row = measure(size, contrast, precond, given)
                print(
                    f"{given.problem} {size}^3 contrast {contrast:g} {precond:12} {row['iterations']:5} iterations "
                    f"{row['status']} setup {row['setup_s']:.3f} s solve {row['solve_s']:.4f} s",
                    flush=True,
                )
                if given.record:
                    _records.append(given.record, [row], command, given.commit or _records.commit())
    return 0


if __name__ == "__main__":
    sys.exit(main())
