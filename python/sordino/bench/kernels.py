"""``sordino bench kernels``: each kernel of a method against its roofline, as paper 001's Table III has them."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _options
from .._matrix import CsrArrays
from .._placement import default_engine
from .._solve import Solver
from ..cli import display
from ..cli.common import Parser, number, whole_number, whole_numbers
from ..cli.processes import say
from ..errors import BadArgument
from ..problems import poisson_rows
from . import _peers, _records
from ._ours import NEVER
from ._timing import Seconds

SUMMARY = "each kernel of a method against its roofline, operations / peak + bytes / bandwidth"

#: Kernels that take a smaller part of the time are recorded and not shown.
SHOWN = 0.003


def main(argv: Sequence[str]) -> int:
    """Measure, print a table for each method, append records; return the exit code."""
    given = _parser().read(argv)
    cells = whole_numbers(given.size, "--size")
    if len(cells) != 3 or min(cells) < 1:
        raise BadArgument(f"--size is X,Y,Z, three whole numbers of at least 1, not '{given.size}'")
    iterations, repeats = (
        whole_number(getattr(given, word), f"--{word}") for word in ("iterations", "repeats")
    )
    if min(iterations, repeats) < 1:
        raise BadArgument("iterations and repeats must be at least 1")
    engine = given.engine or default_engine()
    if engine not in ("host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for a measurement, not '{engine}'")
    if engine == "cuda" and not _peers.cupy_there():
        raise BadArgument(
            "the roofline of a GPU is measured through CuPy, which cannot be used here: install it"
        )
    if given.record:
        _records.check(given.record)
    nx, ny, nz = cells
    matrix = poisson_rows(nx, ny, nz, 7, number(given.contrast, "--contrast"))
    roof = measured_roof(engine)
    say(
        f"copy bandwidth here: {roof['bandwidth'] / 1e9:,.0f} GB/s; peak: {roof['flops'] / 1e12:,.2f} TFLOP/s\n"
    )
    measured = []
    for solver, precond, storage in itertools.product(
        _words(given.solver, "solver"), _words(given.precond, "precond"), _words(given.storage, "storage")
    ):
        options: dict[str, Any] = {"solver": solver, "precond": precond, "storage": storage}
        if solver == "cbcg":
            options["s"] = whole_number(given.s, "--s")
        if precond == "block-ilu":
            options |= {"grid": tuple(cells), "tile": given.tile}
        row = {
            "bench": "kernels", "cells": cells, "contrast": number(given.contrast, "--contrast"), "engine": engine,
            "iterations": iterations, "repeats": repeats, "counts": "median", "load_average": os.getloadavg()[0],
            **options, **roof,
            "kernels": measure(matrix, {**options, "engine": engine}, iterations, repeats, roof),
        }  # fmt: skip
        _show(row)
        measured.append(row)
    if given.record:
        command = shlex.join(["sordino", "bench", "kernels", *argv])
        _records.append(given.record, measured, command, given.commit or _records.commit())
    return 0


def _parser() -> Parser:
    parser = Parser("bench kernels", SUMMARY)
    takes = (
        ("--size", "256,128,512", "X,Y,Z", "cells of the box"),
        ("--solver", "cg,cbcg", "A,B", "methods"),
        ("--precond", "jacobi", "A,B", "preconditioners"),
        ("--storage", "dia", "A,B", "how entries lie in memory"),
        ("--s", "12", "N", "iterations that cbcg takes at once"),
        ("--tile", "auto", "X,Y,Z", "of block-ilu"),
        ("--contrast", "1000", "C", "contrast of density"),
        ("--iterations", "48", "N", "iterations of a timed run"),
        ("--repeats", "3", "N", "for each kernel the median of so many runs counts"),
    )
    for flag, default, metavar, said in takes:
        parser.add_argument(flag, default=default, metavar=metavar, help=f"{said} (default {default})")
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host or cuda (default: cuda where it can run)"
    )
    _records.add_arguments(parser)
    return parser


def _words(text: str, name: str) -> list[str]:
    words = [word for word in text.split(",") if word]
    known = _options.specs()[name].choices or ()
    for word in words:
        if word not in known:
            raise BadArgument(f"--{name} is of {', '.join(known)}, not '{word}'")
    return words


def measured_roof(engine: str) -> dict[str, float]:
    """Bytes a second of a copy, read and written, and operations a second of a product of dense matrices."""
    if engine == "host":
        return {"bandwidth": _peers.host_copy_bandwidth(1), "flops": _peers.host_peak()}
    return {"bandwidth": _peers.device_copy_bandwidth(), "flops": _peers.device_peak()}


def measure(
    matrix: CsrArrays, options: dict[str, Any], iterations: int, repeats: int, roof: dict[str, float]
) -> list[dict[str, Any]]:
    """Time each kernel of a method on one rank.

    Returns
    -------
    list of dict
        Most time first: ``name``, ``calls``; of a call ``seconds``, the median of the runs, ``best_s``, and ``bytes``
        and ``flops`` as the commands declare them, every array once; ``roofline_s``, flops / peak + bytes / bandwidth;
        ``share`` of the time of all.
    """
    solver = Solver(matrix, maxiter=iterations, rtol=NEVER, ranks=1, time_commands=True, **options)
    b = matrix.product(np.ones(matrix.n))
    runs: dict[str, list[dict[str, Any]]] = {}
    for _ in range(repeats):
        for kernel in solver.solve(b, on_failure="return").ledger["kernels"]:
            if kernel["calls"] > 0:
                runs.setdefault(kernel["name"], []).append(kernel)
    found = [_of_a_call(kernel) for kernel in runs.values()]
    whole = sum(k["seconds"] * k["calls"] for k in found)
    for kernel in found:
        kernel["roofline_s"] = kernel["flops"] / roof["flops"] + kernel["bytes"] / roof["bandwidth"]
        kernel["share"] = kernel["seconds"] * kernel["calls"] / whole if whole else 0.0
    return sorted(found, key=lambda k: -k["share"])


def _of_a_call(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """A kernel's call, by the median of runs that call it as often; as often as in the first."""
    first = runs[0]
    seconds = Seconds.of([run["seconds"] / run["calls"] for run in runs])
    return {
        "name": first["name"], "calls": first["calls"], "seconds": seconds.median, "best_s": seconds.best,
        **{key: first[key] / first["calls"] for key in ("bytes", "flops")},
    }  # fmt: skip


def _show(row: dict[str, Any]) -> None:
    n = float(np.prod(row["cells"]))
    heads = ("kernel", "calls", "of the time", "us", "B a row", "flop a row", "GB/s", "of its roofline")
    rows = [
        [
            k["name"], str(k["calls"]), f"{k['share']:.1%}", f"{k['seconds'] * 1e6:,.1f}", f"{k['bytes'] / n:.1f}",
            f"{k['flops'] / n:.1f}", f"{k['bytes'] / k['seconds'] / 1e9:,.0f}", f"{k['roofline_s'] / k['seconds']:.2f}",
        ]
        for k in row["kernels"]
        if k["share"] >= SHOWN and k["seconds"] > 0
    ]  # fmt: skip
    words = [f"{row['solver']} with {row['precond']}", f"storage {row['storage']}", f"{row['engine']} engine"]
    display.show_table(", ".join(words), heads, rows)
