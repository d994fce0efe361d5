"""``sordino bench hmatrix``: what H-matrices of surfaces store, how accurate they are, and how fast they are built."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._charge import as_surface
from .._hmatrix import hmatrix
from ..cli import display
from ..cli.common import Parser, number, whole_number
from ..cli.processes import say
from ..errors import BadArgument
from ..report.record import json_ready
from ..surfaces import Surface
from . import _records, _timing

SUMMARY = "H-matrices of surfaces: bytes, errors, time to build, products with 1 and 8 vectors"

#: Ways to compress: our own, and those of HACApK, without a check and recompression.
WAYS: dict[str, dict[str, Any]] = {
    "aca+": {"compression": "aca+"},
    "aca": {"compression": "aca"},
    "full": {"compression": "full"},
    "hacapk aca+": {"compression": "aca+", "recompress": False, "certify": False},
    "hacapk aca": {"compression": "aca", "recompress": False, "certify": False},
}


def main(argv: Sequence[str]) -> int:
    """Build, multiply, show and record; return 0."""
    given = _parser().read(argv)
    ways = [word for word in given.ways.split(",") if word]
    unknown = [word for word in ways if word not in WAYS]
    if unknown or not ways:
        raise BadArgument(f"--ways is of {', '.join(WAYS)}, not '{','.join(unknown)}'")
    threads, repeats = whole_number(given.threads, "--threads"), whole_number(given.repeats, "--repeats")
    if threads < 0 or repeats < 1:
        raise BadArgument("--threads is 0, for as many as there are cores, or more, and --repeats at least 1")
    tolerances = [number(word, "--eps") for word in given.eps.split(",")]
    surfaces = [as_surface(text) for text in given.surface]
    if given.record:
        _records.check(given.record)
    rows = [
        measure(surface, eps, way, threads or (os.cpu_count() or 1), repeats)
        for surface in surfaces
        for eps in tolerances
        for way in ways
    ]
    say(
        json.dumps(json_ready({"bench": "hmatrix", "measured": rows}), allow_nan=False)
    ) if given.json else _show(rows)
    if given.record:
        command = shlex.join(["sordino", "bench", "hmatrix", *(_bare(word) for word in argv)])
        _records.append(given.record, rows, command, given.commit or _records.commit())
    return 0


def measure(surface: Surface, eps: float, way: str, threads: int, repeats: int) -> dict[str, Any]:
    """One matrix: its statistics, core seconds for each stored value, seconds of products; the best of several."""
    built = [hmatrix(surface, eps, threads=threads, **WAYS[way]) for _ in range(repeats)]
    H = min(built, key=lambda matrix: matrix.statistics["seconds"])
    facts = H.statistics
    x = np.sin(1.0 + np.arange(8 * H.shape[0])).reshape(-1, 8)
    one, eight, transposed = (
        _timing.best(work, 5 * repeats)
        for work in (lambda: H @ x[:, 0], lambda: H @ x, lambda: H.T @ x[:, 0])
    )
    return {
        "bench": "hmatrix", "surface": surface.name, "n": surface.n, "eps": eps, "way": way, "threads": threads,
        **{name: facts[name] for name in facts if name != "norm"},
        "core_seconds_a_value": facts["seconds"] * threads / (facts["stored_bytes"] / 8),
        "product_seconds": one, "product_of_8_seconds": eight, "transposed_product_seconds": transposed,
        "product_bytes_a_second": facts["stored_bytes"] / one,
    }  # fmt: skip


def _bare(word: str) -> str:
    """Where a surface lies is nobody's business."""
    return os.path.basename(word) if os.path.exists(word) else word


def _parser() -> Parser:
    parser = Parser("bench hmatrix", SUMMARY)
    parser.add_argument("surface", nargs="+", metavar="MESH|SHAPE", help="as for sordino bem")
    parser.add_argument("--eps", default="1e-6", metavar="X,Y", help="accuracies (default 1e-6)")
    parser.add_argument("--ways", default=",".join(WAYS), metavar="A,B", help="of these (default all)")
    parser.add_argument("--threads", default="0", metavar="N", help="0: as many as there are cores (default)")
    parser.add_argument("--repeats", default="3", metavar="N", help="the best of so many (default 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _records.add_arguments(parser)
    return parser


def _show(rows: Sequence[dict[str, Any]]) -> None:
    heads = (
        "surface", "eps", "way", "low rank", "dense", "rank", "MiB", "||A - H|| / ||H||", "redone", "build [s]",
        "core ns a value", "product [ms]", "GB/s", "of 8 [ms]", "transposed [ms]",
    )  # fmt: skip
    cells = [
        [
            row["surface"], f"{row['eps']:g}", row["way"], f"{row['low_rank_blocks']:,}", f"{row['dense_blocks']:,}",
            f"{row['mean_rank']:.1f}", f"{row['stored_bytes'] / 2**20:.1f}", f"{row['compression_error']:.1e}",
            f"{row['redone_blocks']:,}", f"{row['seconds']:.2f}", f"{row['core_seconds_a_value'] * 1e9:.0f}",
            f"{row['product_seconds'] * 1e3:.2f}", f"{row['product_bytes_a_second'] / 1e9:.2f}",
            f"{row['product_of_8_seconds'] * 1e3:.2f}", f"{row['transposed_product_seconds'] * 1e3:.2f}",
        ]
        for row in rows
    ]  # fmt: skip
    display.show_table(f"H-matrices, {rows[0]['threads']} threads", heads, cells)
