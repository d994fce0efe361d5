"""Products of an engine with several vectors at once and with the transpose: ``sordino bench hmatrix --columns``."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from typing import Any

from .._hmatrix import HMatrix
from ..cli import display
from ..cli.common import whole_number
from ..errors import BadArgument

#: What a row of the record is of.
BENCH = "hmatrix-several-vectors"

#: Vectors that a product takes at once.
WIDTHS = (1, 2, 4, 8)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--columns`` and ``--transposed``."""
    parser.add_argument(
        "--columns",
        default="",
        metavar="A,B",
        help=f"with --engine: products with so many vectors at once, of {', '.join(map(str, WIDTHS))}",
    )
    parser.add_argument(
        "--transposed",
        action="store_true",
        help="--columns: with the transpose, too, of which host and engine then hold a copy",
    )


def asked(given: Any, ranks: Sequence[int]) -> list[int]:
    """The numbers of vectors; none are asked for: empty.

    Raises
    ------
    BadArgument
    """
    widths = [whole_number(word, "--columns") for word in given.columns.split(",") if word]
    if given.transposed and not widths:
        raise BadArgument("--transposed is of the products that --columns asks for: add --columns 1,2,4,8")
    if widths and not given.engine:
        raise BadArgument("--columns are timed on an engine: add --engine host or cuda")
    if widths and len(ranks) > 1:
        raise BadArgument(f"--columns are timed on one number of ranks, and --ranks are {given.ranks}")
    if any(width not in WIDTHS for width in widths):
        raise BadArgument(f"--columns is of {', '.join(map(str, WIDTHS))}, not '{given.columns}'")
    return widths


def measure(
    H: HMatrix, ours: dict[str, Any], widths: list[int], *, transposed: bool, repeats: int, pairs: int
) -> list[dict[str, Any]]:
    """A row for each number of vectors, of products with the matrix, then with the transpose.

    Parameters
    ----------
    H : HMatrix
    ours : dict
        The row of the matrix, with engine and ranks.
    widths : list of int
        Those that are more than the matrix's terms leave numbers for are left out.
    transposed : bool
        Whether the transpose is multiplied, too; its copy then stays until all is measured.
    repeats : int
        Samples that a median is of.
    pairs : int
        Products of a sample, halved.

    Notes
    -----
    `seconds` are of a product with all of its vectors, which stay where they are; `bytes_a_second` is of the matrix's
    values, which it reads once. `held_bytes` is of the rank that holds most of this matrix on its engine; on hosts
    these are tables, and a transposed matrix is held once, `copied_bytes`, by the process.
    """
    same = {
        key: ours[key] for key in ("surface", "n", "eps", "way", "kernel", "engine", "ranks", "stored_bytes")
    }
    products = H.on(ours["engine"], ranks=ours["ranks"])
    rows = []
    for turned in (False, True) if transposed else (False,):
        for width in widths:
            if width > products.most_columns(transposed=turned):
                continue
            seconds = statistics.median(
                products.time_product(pairs, columns=width, transposed=turned) for _ in range(repeats)
            )
            rows.append(
                {
                    "bench": BENCH, **same, "transposed": turned, "columns": width, "seconds": seconds,
                    "seconds_a_vector": seconds / width, "bytes_a_second": ours["stored_bytes"] / seconds,
                    "held_bytes": max(products.held_bytes(transposed=turned)),
                    "copied_bytes": ours["stored_bytes"] if turned else 0,
                }
            )  # fmt: skip
    return rows


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print them as a table."""
    heads = (
        "surface", "eps", "way", "matrix", "vectors", "ms", "ms a vector", "GB/s of values", "held, MiB",
        "copy in the host's memory, MiB",
    )  # fmt: skip
    cells = [
        [
            row["surface"], f"{row['eps']:g}", row["way"], "transposed" if row["transposed"] else "as it is",
            str(row["columns"]), f"{row['seconds'] * 1e3:.3f}", f"{row['seconds_a_vector'] * 1e3:.3f}",
            f"{row['bytes_a_second'] / 1e9:,.2f}", f"{row['held_bytes'] / 2**20:,.1f}",
            f"{row['copied_bytes'] / 2**20:,.1f}",
        ]
        for row in rows
    ]  # fmt: skip
    where = f"{rows[0]['engine']} engine, {rows[0]['ranks']} rank{'' if rows[0]['ranks'] == 1 else 's'}"
    display.show_table(f"Several vectors at once, {where}", heads, cells)
