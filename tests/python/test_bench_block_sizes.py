"""Fig. 7 of paper 000: orders and sizes of products with blocks, and what the record and the page have of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sordino import BadArgument, hmatrix
from sordino._charge import as_surface
from sordino._native import translated
from sordino.bench import _block_sizes, _outlines, _paper_000
from sordino.bench._outlines import Structure
from sordino.bench._paper_000 import Sorted

ROOT = Path(__file__).parents[2]


class Told:
    """A structure with these products, [products][2] of each kind."""

    def __init__(self, *kinds):
        self.kinds = [np.array(kind) for kind in kinds]

    def gemvs(self, order):
        assert order == "rows"
        return self.kinds


def test_parts_have_the_least_and_the_most_and_batches_are_filled_up(monkeypatch):
    monkeypatch.setattr(_block_sizes, "BATCH", 4)
    monkeypatch.setattr(_block_sizes, "PART", 2)
    found = _block_sizes.told(Told([[1, 9], [2, 3], [2, 5], [4, 1], [5, 7]], [[3, 3]]), "rows")
    assert found["B and V"] == {
        "products": 5,
        "rows_least": [1, 2, 5], "rows_most": [2, 4, 5], "rows_filled": (4 * 4 + 5) / 14,
        "columns_least": [3, 1, 7], "columns_most": [9, 5, 7], "columns_filled": (4 * 9 + 7) / 25,
    }  # fmt: skip
    assert found["U"]["rows_filled"] == found["U"]["columns_filled"] == 1


def test_orders_are_those_of_the_figure():
    """Beside blocks that have their values, sorted here."""
    surface = "sphere:6,10"
    blocks = hmatrix(as_surface(surface), 1e-5, **_outlines.HACAPK, probes=0).blocks
    rows, columns = (blocks[f"{side}_end"] - blocks[f"{side}_begin"] for side in ("row", "column"))
    dense = blocks["rank"] < 0
    stored = [
        np.column_stack([np.where(dense, rows, blocks["rank"]), columns]),
        np.column_stack([rows, blocks["rank"]])[~dense],
    ]
    structure = _outlines.outline(Structure(surface, 1e-5))
    for kind, sizes in enumerate(stored):
        rows, columns = sizes.T
        assert np.array_equal(structure.gemvs("none")[kind], sizes)
        assert np.array_equal(structure.gemvs("rows")[kind], sizes[np.argsort(rows, kind="stable")])
        by_groups = np.lexsort([columns, (rows - 1) // 8])  # stable; the last key counts first
        assert np.array_equal(structure.gemvs("groups")[kind], sizes[by_groups])
    with (
        pytest.raises(BadArgument, match="there is no order 'size': there are none, rows, groups"),
        translated(),
    ):
        structure.gemvs("size")


# ---- the record and the page -------------------------------------------------------------------------------------


def _recorded():
    lines = (
        (ROOT / "bench" / "records" / "2026-11-24_papers_000.jsonl").read_text(encoding="utf-8").splitlines()
    )
    rows = [row for row in map(json.loads, lines) if row["figure"] == "Fig. 7"]
    return {(row["matrix"], row["order"], row["kind"]): row for row in rows}


def test_the_record_is_what_is_computed():
    recorded = _recorded()
    for order in _block_sizes.ORDERS:
        for kind, sizes in _paper_000.predict(Sorted("10ts", order), 0).ledger.items():
            row = recorded["10ts", order, kind]
            assert row["products"] == sizes["products"] and row["ours"] == row["rows_filled"]
            for name in ("rows", "columns"):
                assert sizes[f"{name}_filled"] == pytest.approx(row[f"{name}_filled"])
                for which in ("least", "most"):
                    assert sizes[f"{name}_{which}"] == row[f"{name}_{which}"]


def test_the_page_has_the_record_s_sizes():
    page = (ROOT / "docs" / "theory" / "000.md").read_text(encoding="utf-8")
    recorded = _recorded()
    for order, called in _block_sizes.ORDERS.items():
        cells = [
            f"{recorded['100ts', order, kind][f'{name}_filled']:.2f}"
            for kind in _block_sizes.KINDS
            for name in ("rows", "columns")
        ]
        assert f"| 100ts | {called} | {' | '.join(cells)} |\n" in page
    by_rows = [recorded["100ts", "rows", kind] for kind in _block_sizes.KINDS]
    assert "{:,} products with B and V, {:,} with U".format(*(row["products"] for row in by_rows)) in page
    for row in by_rows:
        parts = _block_sizes.BATCH // row["part"]
        begins = range(0, len(row["rows_most"]), parts)
        ends = [(row["rows_least"][k], max(row["rows_most"][k : k + parts])) for k in begins]
        widths = [most - least for least, most in ends]
        assert widths[-1] == max(widths), "rows of the last batch differ most"
        assert f"{ends[-1][0]:,} to {ends[-1][1]:,} rows" in page
        assert f"at most {max(widths[:-1])} rows" in page
    small = [recorded["10ts", "groups", kind]["products"] for kind in _block_sizes.KINDS]
    assert "`10ts` has {:,} and {:,} products".format(*small) in page
    columns = [recorded["10ts", order, "B and V"]["columns_filled"] for order in ("rows", "groups")]
    assert "columns from\n{:.2f} to {:.2f} only".format(*columns) in page
