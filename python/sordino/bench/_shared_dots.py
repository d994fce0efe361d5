"""Dot products of whole vectors that ranks share, as in paper 000's Fig. 17(a): ``sordino bench hmatrix --dots``."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from typing import Any

from .. import _options
from .._native import core, translated
from .._placement import place
from ..cli import display
from ..cli.common import whole_number
from ..errors import BadArgument
from ..surfaces import Surface

#: What a row of the record is of.
BENCH = "hmatrix-dots"
#: Bytes of a row of two vectors.
_ROW = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--dots``."""
    parser.add_argument(
        "--dots",
        default="",
        metavar="A,B",
        help="with --engine, and no matrix: dot products of two vectors of so many rows as the surface has triangles, "
        "shared by so many ranks, and repeated by each",
    )


def asked(given: Any) -> list[int]:
    """The numbers of ranks; none are asked for: empty.

    Raises
    ------
    BadArgument
    """
    ranks = [whole_number(word, "--dots") for word in given.dots.split(",") if word]
    if ranks and not given.engine:
        raise BadArgument("--dots are timed on an engine: add --engine host or cuda")
    if any(count < 1 for count in ranks):
        raise BadArgument(f"--dots says how many ranks share, 1 or more, not '{given.dots}'")
    return ranks


def measure(
    surfaces: Sequence[Surface], ranks: Sequence[int], engine: str, pairs: int, repeats: int
) -> list[dict[str, Any]]:
    """A row for each surface, number of ranks, way and order of sums.

    Parameters
    ----------
    surfaces : sequence of Surface
        Of which only the number of triangles counts.
    ranks : sequence of int
    engine : str
    pairs : int
        Of (t, v) and (t, t), replayed one after the other, after as many to warm up.
    repeats : int
        Runs that a median is of.

    Notes
    -----
    `seconds` are of a pair, with the command that waits for it. `way` is "shared", each rank adding up its rows and all
    of them the sums of their blocks, or "repeated", each rank adding up all rows. `bytes_a_second` are 16 for each row,
    whoever reads them. `deterministic` is the order of the host's sums, which has no other. Cost: seconds. Source: 000,
    Fig. 17(a).
    """
    orders = ("on", "off") if engine == "cuda" else ("on",)
    return [
        _row(surface, count, engine, order, way, pairs, repeats)
        for surface in surfaces
        for count in ranks
        for order in orders
        for way in ("shared", "repeated")
    ]


def _row(
    surface: Surface, ranks: int, engine: str, order: str, way: str, pairs: int, repeats: int
) -> dict[str, Any]:
    words = {"engine": engine, "ranks": ranks, **({"deterministic": order} if engine == "cuda" else {})}
    placed, _ = place(_options.check(words), surface.n, None)
    with translated():
        seconds = statistics.median(
            core().time_dots(placed, surface.n, way == "shared", pairs) for _ in range(repeats)
        )
    return {
        "bench": BENCH, "surface": surface.name, "n": surface.n, "engine": engine, "ranks": ranks,
        "deterministic": order, "way": way, "pairs": pairs, "seconds": seconds,
        "bytes_a_second": _ROW * surface.n / seconds,
    }  # fmt: skip


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print them as a table."""
    cells = [
        [
            row["surface"], f"{row['n']:,}", str(row["ranks"]), row["deterministic"], row["way"],
            f"{row['seconds'] * 1e6:,.1f}", f"{row['bytes_a_second'] / 1e9:,.1f}",
        ]
        for row in rows
    ]  # fmt: skip
    heads = ("surface", "rows", "ranks", "deterministic", "way", "us", "GB/s")
    display.show_table(f"(t,v) and (t,t) of whole vectors, {rows[0]['engine']} engine", heads, cells)
