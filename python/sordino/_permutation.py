"""Vectors in another order of rows, and back, where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._device import Gather


class Permutation:
    """An order of rows: row i of the new one is row ``places[i]`` of the caller's. Vectors are copied, 8 bytes a row.

    On a GPU a copy of the order stays for each library that had vectors there: 8 bytes a row, and as much for the way
    back.
    """

    def __init__(self, places: np.ndarray) -> None:
        self._places = places
        self._gather, self._gather_back = Gather(places), Gather(self.back(np.arange(len(places))))

    def into(self, vectors: Any) -> Any:
        """The caller's rows, shape (..., n), or (n,) on a GPU, in the new order."""
        if not isinstance(vectors, np.ndarray):
            return self._gather(vectors)
        return np.ascontiguousarray(vectors[..., self._places])

    def back(self, x: Any) -> Any:
        """Rows of the new order, shape (n,) or (n, k), in the caller's."""
        if not isinstance(x, np.ndarray):
            return self._gather_back(x)
        returned = np.empty_like(x)
        returned[self._places] = x
        return returned
