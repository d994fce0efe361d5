"""The ways of paper 000 to multiply an H-matrix on GPUs, beside ours: ``sordino bench hmatrix --paper-ways``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .._hmatrix import HMatrix
from .._native import core, translated
from .._wheels import library
from ..cli import display
from ..cli.common import whole_number
from ..errors import BadArgument, DeviceError

#: What a row of the record is of.
BENCH = "hmatrix-paper-ways"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--paper-ways``, and the options that only that one has."""
    parser.add_argument(
        "--paper-ways",
        action="store_true",
        help="with --engine cuda on one GPU: measure the ways of paper 000 as well, block by block and in batches",
    )
    parser.add_argument(
        "--cublas", default="", metavar="FILE", help="--paper-ways: a libcublas.so (default: looked for)"
    )
    parser.add_argument(
        "--paper-gpus",
        default="1",
        metavar="G",
        help="--paper-ways: batches dealt to the first G GPUs in turn as well, by this process (default: 1)",
    )


def asked(given: Any, ranks: Sequence[int]) -> dict[str, Any] | None:
    """Words for :func:`measure`; None: nobody asks. Refuses what does not go together, before anything is built."""
    gpus = whole_number(given.paper_gpus, "--paper-gpus")
    if gpus < 1:
        raise BadArgument(f"--paper-gpus is at least 1, not {gpus}")
    if given.paper_ways and (given.engine != "cuda" or list(ranks) != [1]):
        raise BadArgument("--paper-ways are measured on one GPU: they take --engine cuda and --ranks 1")
    for name, value in (("--cublas", given.cublas), ("--paper-gpus", gpus > 1)):
        if value and not given.paper_ways:
            raise BadArgument(f"{name} belongs to --paper-ways")
    return {"cublas": given.cublas, "gpus": gpus} if given.paper_ways else None


def measure(
    H: HMatrix, ours: dict[str, Any], repeats: int, cublas: str = "", gpus: int = 1
) -> list[dict[str, Any]]:
    """Each way on the first GPU, as rows of a record.

    Parameters
    ----------
    H : HMatrix
    ours : dict
        The row of our product with the same matrix.
    repeats : int
        Samples that a median is of.
    cublas : str
        A library; "": the one of this environment's wheels, or the loader's.
    gpus : int
        More than one: batches of variable sizes are also dealt to the first of so many, with `streams` on each.

    Notes
    -----
    `seconds` are of a product with x and y on the GPU, by launches; None where a `remark` says why there is none, or a
    `failure` what went wrong. `batch` is the products of a batch, or "rows" where a batch is a range of rows. Cost:
    seconds, minutes of a million triangles. Source: 000, section V, Figs 8 and 9, and for several GPUs section VI-A.
    """
    chosen = cublas or library("cu13", "libcublas.so.13") or library("cublas", "libcublas.so.12")
    with translated():
        found = core().measure_paper_ways(H.native, repeats, chosen, gpus)
    same = {key: ours[key] for key in ("surface", "n", "eps", "stored_bytes")}
    return [
        {
            "bench": BENCH, **same, "compression": ours["way"], **way, "batch": way["batch"] or "rows",
            "seconds": way["seconds"] or None, "our_seconds": ours["product_seconds"],
            "times_ours": way["seconds"] / ours["product_seconds"] if way["seconds"] else None,
        }
        for way in found
    ]  # fmt: skip


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print them as a table, ours first."""
    heads = (
        "surface",
        "eps",
        "way",
        "batch",
        "sort",
        "streams",
        "GPUs",
        "launches",
        "ms",
        "times ours",
        "GB/s",
        "",
    )
    cells: list[list[str]] = []
    before: tuple[Any, ...] = ()
    for row in rows:
        matrix = (row["surface"], f"{row['eps']:g}")
        if (*matrix, row["compression"]) != before:
            before = (*matrix, row["compression"])
            cells.append(
                [*matrix, f"ours, {row['compression']}", "", "", "", "1", "", *_speed(row, "our_seconds"), ""]
            )
        batch = f"{row['batch']:,}" if isinstance(row["batch"], int) else row["batch"]
        speed = _speed(row, "seconds") if row["seconds"] else ["-", "-", "-"]
        cells.append(
            [
                *matrix, row["way"], batch, row["sort"], str(row["streams"]), str(row["gpus"]),
                f"{row['launches']:,}", *speed, row["failure"] or row["remark"],
            ]
        )  # fmt: skip
    display.show_table("The ways of paper 000 to multiply on GPUs", heads, cells)


def raise_first_failure(rows: Sequence[dict[str, Any]]) -> None:
    """A way that failed does not keep the others from being measured and recorded; then it is an error."""
    for row in rows:
        if row.get("failure"):
            raise DeviceError(f"{row['way']} with batches of {row['batch']}: {row['failure']}")


def _speed(row: dict[str, Any], key: str) -> list[str]:
    return [
        f"{row[key] * 1e3:.3f}", f"{row[key] / row['our_seconds']:.2f}",
        f"{row['stored_bytes'] / row[key] / 1e9:,.1f}",
    ]  # fmt: skip
