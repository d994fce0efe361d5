"""An unstructured Poisson problem: our algebraic multigrid beside PyAMG's smoothed aggregation, verified to 1e-8.

python bench/unstructured.py [--rows 1001000] [--ways amg:v,amg:w,pyamg] [--engine host] [--ranks 2] [--library numpy]
    [--repeats 3] [--record FILE]

Linear finite elements on a Delaunay triangulation of points drawn at random in a square, zero on its hull; rows in the
order in which points were drawn, or, with --order sorted, along a curve through the square. PyAMG's way needs PyAMG,
and has one core; its setup and ours are told apart from the solve. Random right-hand sides. With cupy or torch as
library b and x of our solves are on a GPU, and do not travel.
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
import scipy.sparse as sp
from grid_preconditioners import vector
from hierarchies import RTOL, of_pyamg
from scipy.spatial import Delaunay

import sordino
from sordino.bench import _records

SEED, STRIPES = 1, 512


def unstructured(rows: int, order: str) -> sp.csr_array:
    """The stiffness matrix of points inside, of which there are about so many; some GB at a million."""
    points = np.random.default_rng(SEED).uniform(size=(rows, 2))
    if order == "sorted":
        stripe = (STRIPES * points[:, 0]).astype(int)
        along = np.where(stripe % 2 == 0, points[:, 1], -points[:, 1])
        points = points[np.lexsort((along, stripe))]
    mesh = Delaunay(points)
    corners = points[mesh.simplices]  # (triangles, 3, 2)
    edges = np.roll(corners, -1, axis=1) - np.roll(corners, 1, axis=1)  # opposite to each corner
    twice_area = np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    values = np.einsum("tik,tjk->tij", edges, edges) / (2 * twice_area)[:, None, None]
    where = (
        np.broadcast_to(mesh.simplices[:, :, None], values.shape),
        np.broadcast_to(mesh.simplices[:, None, :], values.shape),
    )
    A = sp.csr_array(sp.coo_array((values.ravel(), (where[0].ravel(), where[1].ravel()))))
    inside = np.setdiff1d(np.arange(len(points)), mesh.convex_hull)
    A = sp.csr_array(A[inside][:, inside])
    return sp.csr_array((A + A.T) / 2)  # bit by bit


def ours(A: Any, b: Any, way: str, given: argparse.Namespace) -> dict[str, Any]:
    """Setup and verified solves, after a first one, with a preconditioner of ours."""
    precond, _, cycle = way.partition(":")
    options = {
        "solver": "cg",
        "rtol": RTOL,
        "engine": given.engine,
        "ranks": given.ranks,
        "cycle": cycle or "v",
    }
    begun = time.perf_counter()
    with sordino.Solver(A, precond=precond, **options) as solver:
        setup = time.perf_counter() - begun
        found = [solver.solve(b, on_failure="return") for _ in range(given.repeats + 1)][1:]
    return {
        "engine": given.engine, "ranks": given.ranks, "library": given.library, "status": found[0].status,
        "iterations": found[0].iterations, "true_residual": max(each.true_residual for each in found),
        "setup_s": setup, "solve_s": statistics.median(each.seconds for each in found),
    }  # fmt: skip


def theirs(A: Any, b: np.ndarray, repeats: int) -> dict[str, Any]:
    """PyAMG's smoothed aggregation with its CG, on one core."""
    import pyamg

    begun = time.perf_counter()
    made = pyamg.smoothed_aggregation_solver(sp.csr_matrix(A))
    setup = time.perf_counter() - begun
    return {"pyamg": pyamg.__version__, "ranks": 1, **of_pyamg(A, b, made, repeats), "setup_s": setup}


def main() -> int:
    """Measure, print a line each, append records; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_001_000)
    parser.add_argument("--order", default="drawn", choices=("drawn", "sorted"))
    parser.add_argument("--ways", default="amg:v,amg:w,pyamg")
    parser.add_argument("--engine", default="host")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--library", default="numpy", choices=("numpy", "cupy", "torch"))
    parser.add_argument("--repeats", type=int, default=3)
    _records.add_arguments(parser)
    given = parser.parse_args()
    A = unstructured(given.rows, given.order)
    b = np.random.default_rng(SEED).standard_normal(A.shape[0])
    there = vector(b, given.library)
    for way in given.ways.split(","):
        found = theirs(A, b, given.repeats) if way == "pyamg" else ours(A, there, way, given)
        row = {
            "bench": "unstructured", "order": given.order, "n": A.shape[0], "nnz": int(A.nnz), "rtol": RTOL,
            "repeats": given.repeats, "way": way, **found, "load_average": os.getloadavg()[0],
        }  # fmt: skip
        print(f"{A.shape[0]:,} rows {way:8} {found}", flush=True)
        if given.record:
            _records.append(
                given.record, [row], shlex.join(["python", *sys.argv]), given.commit or _records.commit()
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
