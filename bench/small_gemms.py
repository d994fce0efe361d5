"""Tables of P-CBCG by cuBLAS: Q' (A S) of tall vectors as batches of small products, beside commands of ours.

python bench/small_gemms.py [--size 256,128,512] [--s 12] [--batches 64,128,256,512,1024]
    [--ours 128,256,512,1024,2048] [--repeats 7] [--record FILE]

Paper 001 cuts n rows into batches of so many, multiplies all at once, and adds their results (section IV-C: 128 rows).
One product of all rows, and S B of the directions, are measured beside. Ours are the commands of `cbcg` that make the
same table and add up what batches leave, by a solve with times of commands. Needs a GPU and CuPy. Medians.
"""

from __future__ import annotations

import argparse
import math
import shlex
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import sordino
from sordino.bench import _records
from sordino.problems import poisson_rows

ADDED = 16  #: Sums of batches that one of our commands adds up.


def median(job: Callable[[], None], repeats: int) -> float:
    """Seconds of the job on the GPU, the first one apart."""
    import cupy

    job()
    taken = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        job()
        end.record()
        end.synchronize()
        taken.append(1e-3 * cupy.cuda.get_elapsed_time(begin, end))
    return statistics.median(taken)


def by_cublas(n: int, s: int, batches: list[int], repeats: int) -> list[dict[str, Any]]:
    """Rows of cuBLAS: tables by batches and at once, and directions. Vectors lie one behind the other."""
    import cupy
    from cupy_backends.cuda.libs import cublas

    handle = cupy.cuda.device.get_cublas_handle()
    q, w = (cupy.random.standard_normal((s, n)) for _ in range(2))
    exact = q @ w.T
    one, zero = np.ones(1), np.zeros(1)
    rows = []

    def told(what: str, seconds: float, moved: float, **facts: Any) -> None:
        rows.append({"what": what, "by": "cublas", "seconds": seconds, "least_bytes": moved, **facts})

    for batch in batches:
        count = n // batch
        parts, table = cupy.empty((count, s, s)), cupy.empty((s, s))

        def tables(batch: int = batch, count: int = count, parts: Any = parts, table: Any = table) -> None:
            cublas.dgemmStridedBatched(
                handle, cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, s, s, batch, one.ctypes.data, w.data.ptr, n, batch,
                q.data.ptr, n, batch, zero.ctypes.data, parts.data.ptr, s, s * s, count,
            )  # fmt: skip
            parts.sum(axis=0, out=table)

        seconds = median(tables, repeats)
        off = float(abs(table - exact).max() / abs(exact).max()) if n % batch == 0 else math.nan
        told("table", seconds, 16.0 * s * n, batch=batch, difference=off)
    out = cupy.empty((s, s))
    told("table", median(lambda: cupy.matmul(q, w.T, out=out), repeats), 16.0 * s * n, batch=n)
    b, made = cupy.random.standard_normal((s, s)), cupy.empty((s, n))
    told("directions", median(lambda: cupy.matmul(b, q, out=made), repeats), 16.0 * s * n)
    return rows


def by_commands(matrix: Any, b: np.ndarray, s: int, batch: int) -> list[dict[str, Any]]:
    """Rows of ours: the commands that make each of the two tables of a round, and its directions."""
    options = {
        "solver": "cbcg",
        "precond": "jacobi",
        "storage": "dia",
        "s": s,
        "batch": batch,
        "engine": "cuda",
    }
    with sordino.Solver(matrix, maxiter=4 * s, rtol=1e-300, time_commands=True, **options) as solver:
        ledger = solver.solve(b, on_failure="return").ledger
    each = {k["name"]: k["seconds"] / k["calls"] for k in ledger["kernels"] if k["calls"]}
    least = 16.0 * s * matrix.n
    added = each["Add batches"]
    table = each["Products"] + math.ceil(s * s / ADDED) * added
    symmetric = each["Upper products"] + math.ceil(s * (s + 3) / 2 / ADDED) * added
    return [
        {"what": what, "by": "sordino", "batch": batch, "seconds": seconds, "least_bytes": moved}
        for what, seconds, moved in (
            ("table", table, least),
            ("symmetric table", symmetric, least),
            ("directions and their products", each["Directions"], 3 * least),
        )
    ]


def main() -> int:
    """Measure, print a line each, append records; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="256,128,512")
    parser.add_argument("--s", type=int, default=12)
    parser.add_argument("--batches", default="64,128,256,512,1024")
    parser.add_argument("--ours", default="128,256,512,1024,2048", help="batches of `cbcg`")
    parser.add_argument("--repeats", type=int, default=7)
    _records.add_arguments(parser)
    given = parser.parse_args()
    cells, batches, ours = (
        [int(word) for word in words.split(",")] for words in (given.size, given.batches, given.ours)
    )
    if given.record:
        _records.check(given.record)
    matrix = poisson_rows(*cells, 7, 1000.0)
    b = np.random.default_rng(0).standard_normal(matrix.n)
    found = [row for batch in ours for row in by_commands(matrix, b, given.s, batch)]
    found += by_cublas(math.prod(cells), given.s, batches, given.repeats)
    for row in found:
        row |= {"bench": "small_gemms", "cells": cells, "s": given.s}
        facts = f"{row.get('batch', ''):>9} rows" if "batch" in row else " " * 14
        rate = row["least_bytes"] / row["seconds"] / 1e9
        print(
            f"{row['by']:8} {row['what']:30} {facts} {1e6 * row['seconds']:9.1f} us {rate:7.0f} GB/s",
            flush=True,
        )
    if given.record:
        command = shlex.join(["python", "bench/small_gemms.py", *sys.argv[1:]])
        _records.append(given.record, found, command, given.commit or _records.commit())
    return 0


if __name__ == "__main__":
    sys.exit(main())
