"""Paper 000, Fig. 7: sizes of the products with a matrix's blocks, in the orders in which batches are cut from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._native import translated

#: What the core calls an order, and what it is in Fig. 7.
ORDERS = {"none": "as stored", "rows": "(a) by rows", "groups": "(b) by groups of 8 rows"}

#: Batches of these are launched one kind after the other: dense blocks and the V of those of low rank, then their U.
KINDS = ("B and V", "U")

#: Products that are launched together, Fig. 9's "vbatch(20K, fixed)".
BATCH = 20_000

#: Products of which a record keeps the least and the most; a batch has a whole number of them.
PART = 4_000


def told(structure: Any, order: str) -> dict[str, Any]:
    """Of each kind: how many products, and of their rows and columns what :func:`_about` says.

    Cost: O(n log n) of n products, which 100,000 triangles have 311,622 of; 64 B each.
    """
    with translated():
        kinds = structure.gemvs(order)
    return {
        kind: {
            "products": len(sizes),
            **_about("rows", sizes[:, 0]),
            **_about("columns", sizes[:, 1]),
        }
        for kind, sizes in zip(KINDS, kinds, strict=True)
    }


def _about(name: str, sizes: np.ndarray) -> dict[str, Any]:
    """The least and the most of each part, and what batches would have, if all were as large as the largest of theirs.

    The latter over what they have: a batch of one size has 1, and its launch no thread block that ends at once.
    """
    parts = np.arange(0, len(sizes), PART)
    batches = np.arange(0, len(sizes), BATCH)
    most = np.maximum.reduceat(sizes, batches)
    return {
        f"{name}_least": np.minimum.reduceat(sizes, parts).tolist(),
        f"{name}_most": np.maximum.reduceat(sizes, parts).tolist(),
        f"{name}_filled": float(most @ np.diff(batches, append=len(sizes)) / sizes.sum()),
    }
