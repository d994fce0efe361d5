"""Batches of products with single blocks on a GPU, one by one, as in paper 000's Fig. 8: ``--paper-batches``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .._hmatrix import HMatrix
from .._native import core, translated
from ..cli import display
from ..errors import BadArgument

#: What a row of the record is of.
BENCH = "hmatrix-paper-batches"
#: What the core calls a batch of products that have the same rows and columns.
_ONE_SIZE = -1
#: Products of one size below which a launch is too short to bound anything.
FEW = 200
#: Gflop/s of a value: a product and a sum.
_FLOPS = 2e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--paper-batches``."""
    parser.add_argument(
        "--paper-batches",
        action="store_true",
        help="with --engine cuda on one GPU: time each batch of paper 000's Fig. 8 by itself",
    )


def check(given: Any, ranks: Sequence[int]) -> None:
    """Refuse words that do not go together, before anything is built."""
    if given.paper_batches and (given.engine != "cuda" or list(ranks) != [1]):
        raise BadArgument("--paper-batches are measured on one GPU: they take --engine cuda and --ranks 1")


def measure(H: HMatrix, ours: dict[str, Any], repeats: int) -> list[dict[str, Any]]:
    """Each batch on the first GPU, as rows of a record: one for each order and kind of products.

    Parameters
    ----------
    H : HMatrix
    ours : dict
        The row of our product with the same matrix.
    repeats : int
        Samples that a median is of.

    Notes
    -----
    `batch` is the products of a batch, "rows" where it is a range of rows, or "size" where all have the same rows and
    columns, by a kernel of fixed sizes. `products`, `rows_least` and so on, and `gflops`, have an entry for each batch,
    in their order; of one size only for batches of 200 products or more. `seconds` are those of all batches, launched
    one by one. Cost: seconds. Source: 000, Fig. 8.
    """
    with translated():
        found = core().measure_paper_batches(H.native, repeats)
    same = {key: ours[key] for key in ("surface", "n", "eps", "stored_bytes")}
    series: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for batch in found:
        series.setdefault((batch["sort"], batch["batch"], batch["phase"]), []).append(batch)
    return [
        {"bench": BENCH, **same, "compression": ours["way"], **_row(key, batches)}
        for key, batches in series.items()
    ]


def _row(key: tuple[Any, ...], batches: Sequence[dict[str, Any]]) -> dict[str, Any]:
    sort, count, phase = key
    shown = [b for b in batches if count != _ONE_SIZE or b["products"] >= FEW]
    seconds = sum(b["seconds"] for b in batches)
    return {
        "sort": sort, "batch": {0: "rows", _ONE_SIZE: "size"}.get(count, count), "kind": ("B and V", "U")[phase],
        "launches": len(batches), "seconds": seconds,
        "all_gflops": _FLOPS * sum(b["values"] for b in batches) / seconds,
        "products": [b["products"] for b in shown],
        **{
            f"{side}_{end}": [b[side][place] for b in shown]
            for side in ("rows", "columns")
            for place, end in enumerate(("least", "most"))
        },
        "gflops": [_FLOPS * b["values"] / b["seconds"] for b in shown],
    }  # fmt: skip


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print them as a table."""
    heads = ("surface", "eps", "products", "sort", "batch", "launches", "ms", "Gflop/s", "least", "most")
    cells = [
        [
            row["surface"], f"{row['eps']:g}", row["kind"], row["sort"],
            f"{row['batch']:,}" if isinstance(row["batch"], int) else row["batch"], f"{row['launches']:,}",
            f"{row['seconds'] * 1e3:.3f}", f"{row['all_gflops']:,.1f}",
            *(f"{end(row['gflops']):,.1f}" if row["gflops"] else "-" for end in (min, max)),
        ]
        for row in rows
    ]  # fmt: skip
    display.show_table("Batches of paper 000's Fig. 8, each by itself", heads, cells)
