"""What solutions leave of a system, how wrong that is, and refinement: on the CPU, or in memory of a GPU's library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._libraries import Library


@dataclass(frozen=True)
class Quality:
    """How good an X was before the first step of refinement and after each that was kept.

    Attributes
    ----------
    residuals : list of float
        The largest of the columns' ``||b - A x||_2 / ||b||_2``.
    errors : list of float
        Componentwise backward errors; empty where no steps were allowed.
    """

    residuals: list[float]
    errors: list[float]

    @property
    def steps(self) -> int:
        return len(self.residuals) - 1


class Residuals:
    """Of systems with A, A^T or A^H, in memory of one library, on one device; vectors have shape (n, k).

    Parameters
    ----------
    matrix : SciPy sparse array, shape (n, n)
        A. Products with it are of double precision; A and its sizes, |A|, are copied to the library when they are first
        needed: 12 to 16 bytes an entry each, and again for A^T.
    library : Library
        One with sparse matrices.
    dtype : dtype
        Of solutions.
    """

    def __init__(self, matrix: Any, library: Library, dtype: np.dtype) -> None:
        self._library, self._dtype, self._matrix = library, dtype, matrix
        self._products: dict[bool, Any] = {}  # by whether A is transposed
        self._sizes: dict[bool, Any] = {}  # |A|, alike
        self._turned: Any = None  # A^T, in memory of the CPU

    def refined(
        self,
        b: Any,
        x: Any,
        trans: str,
        solve: Callable[[Any], Any],
        *,
        steps: int,
        rtol: float = np.inf,
        exact: float = 0.0,
    ) -> tuple[Any, Quality]:
        """X after at most so many steps, until it is verified and as exact as it should be; and how good it was.

        Parameters
        ----------
        solve : function
            X of another B, in the same way.
        rtol : float
            Residuals that verify X: ``||b - A x||_2 / ||b||_2``, the largest of all columns.
        exact : float
            Componentwise backward errors with which X is left as it is.

        Notes
        -----
        A step is kept that lessens the backward error, or the residual of an X that is not verified. Cost: one product
        with A; where steps are allowed one with |A|, and for each step both, and a solve. One step is enough nearly
        always (Skeel, Mathematics of Computation 35, 1980).
        """
        left = self.left(b, x, trans)
        found = Quality([self.relative(left, b)], [])
        if not steps:
            return x, found
        found.errors.append(self.backward_error(left, b, x, trans))
        while found.steps < steps and (found.residuals[-1] > rtol or found.errors[-1] > exact):
            better = x + solve(left)
            left = self.left(b, better, trans)
            residual = self.relative(left, b)
            error = self.backward_error(left, b, better, trans)
            verifies = found.residuals[-1] > rtol and residual < found.residuals[-1]
            if not (verifies or error < found.errors[-1]):
                break
            x = better
            found.residuals.append(residual)
            found.errors.append(error)
        return x, found

    def relative(self, left: Any, b: Any) -> float:
        """The largest of the columns' ``||left||_2 / ||b||_2``, whatever their sizes; infinite of NaN."""
        b = self._library.widened(b, np.result_type(self._matrix.dtype, self._dtype, np.float64))
        worst = 0.0
        with np.errstate(all="ignore"):
            for k, pair in enumerate(zip(self._library.norms(left), self._library.norms(b), strict=True)):
                off, norm = pair if all(map(_is_of_usual_size, pair)) else self._scaled(left[:, k], b[:, k])
                share = 0.0 if off == 0 else float(off / norm) if norm else np.inf
                worst = max(worst, share if share == share else np.inf)
        return worst

    def _scaled(self, left: Any, b: Any) -> tuple[float, float]:
        """The norms of two columns over the largest entry of b, if that is not 0: no square overflows or vanishes."""
        largest = float(self._library.space.abs(b).max())
        if not largest:
            return float(self._library.space.abs(left).max()), 0.0
        off, norm = (float(self._library.norms((v / largest)[:, None])[0]) for v in (left, b))
        return off, norm

    def backward_error(self, left: Any, b: Any, x: Any, trans: str) -> float:
        """The largest of ``|left| / (|A| |x| + |b|)``, entry by entry, where left is b - A x; infinite of NaN."""
        space, transposed = self._library.space, trans != "N"
        if transposed not in self._sizes:
            A = self._transposed() if transposed else self._matrix
            sizes = sp.csr_array((np.abs(A.data), A.indices, A.indptr), shape=A.shape)
            self._sizes[transposed] = self._library.matrix(sizes, np.dtype(np.float64))
        wide = self._library.widened(x, np.result_type(self._matrix.dtype, self._dtype, np.float64))
        with np.errstate(all="ignore"):
            off = space.abs(left)
            size = self._sizes[transposed] @ space.abs(wide) + space.abs(b)
            share = off / size * (size / size)  # NaN where the size is 0, or overflows
            worst = float(space.where(off == 0, off, share).max())
        return worst if worst == worst else np.inf

    def left(self, b: Any, x: Any, trans: str) -> Any:
        """b - A x, in double precision."""
        library = self._library
        wide = library.widened(x, np.result_type(self._matrix.dtype, self._dtype, np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            if trans == "H":
                return b - library.conjugated(self._product(True) @ library.conjugated(wide))
            return b - self._product(trans == "T") @ wide

    def _product(self, transposed: bool) -> Any:
        if transposed not in self._products:
            A = self._transposed() if transposed else self._matrix
            self._products[transposed] = self._library.matrix(
                A, np.result_type(A.dtype, self._dtype, np.float64)
            )
        return self._products[transposed]

    def _transposed(self) -> Any:
        if self._turned is None:
            self._turned = self._matrix.T.tocsr()
        return self._turned


def _is_of_usual_size(norm: float) -> bool:
    """Whether its square, and those of what matters beside it, are no other numbers than they should be."""
    return 1e-140 < norm < 1e140
