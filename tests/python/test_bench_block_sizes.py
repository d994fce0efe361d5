"""Fig. 7 of paper 000: orders and sizes of products with blocks, and what the record and the page have of them."""

from __future__ import annotations

import numpy as np
import pytest

from sordino import BadArgument, hmatrix
from sordino._charge import as_surface
from sordino._native import translated
from sordino.bench import _block_sizes, _outlines
from sordino.bench._outlines import Structure


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
