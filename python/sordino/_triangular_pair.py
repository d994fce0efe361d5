"""Triangles as preconditioners: one behind the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._triangular import FactorizedTriangle
from .errors import BadArgument

_OTHER_WAY = {"N": "H", "H": "N"}


class TrianglePair:
    """The inverse of a product of two triangles, as an operator: ``M=`` of :class:`sordino.Solver` and of SciPy.

    Attributes
    ----------
    shape, dtype : as of the triangles
    hermitian : bool or None
        Whether the product is; None where that is not known.
    """

    def __init__(self, steps: list[tuple[FactorizedTriangle, str]], hermitian: bool | None) -> None:
        self._steps, self.hermitian = steps, hermitian
        self.shape = steps[0][0].shape
        self.dtype = np.result_type(*(triangle.dtype for triangle, _ in steps))

    def matvec(self, b: Any) -> Any:
        """Both triangles solved with, not verified; shapes and errors as of :meth:`FactorizedTriangle.solve`."""
        for triangle, trans in self._steps:
            b = triangle.solve(b, trans)
        return b

    def rmatvec(self, b: Any) -> Any:
        """The same of the conjugate transpose."""
        for triangle, trans in reversed(self._steps):
            b = triangle.solve(b, _OTHER_WAY[trans])
        return b


def cholesky_of(triangle: FactorizedTriangle) -> TrianglePair:
    """The inverse of L L^H, or of an upper triangle U of U^H U."""
    first = "N" if triangle.lower else "H"
    return TrianglePair([(triangle, first), (triangle, _OTHER_WAY[first])], hermitian=True)


def pair_of(triangles: tuple[Any, ...]) -> TrianglePair:
    """The inverse of L U, or of U L: of the product in the order that is given.

    Raises
    ------
    BadArgument
        Not two triangles, or of unlike sizes.
    """
    if len(triangles) != 2 or not all(isinstance(T, FactorizedTriangle) for T in triangles):
        raise BadArgument(
            "a preconditioner of triangles is a pair of them, (L, U), as sordino.factorized makes them"
        )
    first, second = triangles
    if first.shape != second.shape:
        raise BadArgument(
            f"the triangles of the preconditioner have {first.shape[0]:,} and {second.shape[0]:,} rows"
        )
    return TrianglePair([(first, "N"), (second, "N")], hermitian=None)


def holds_triangles(M: Any) -> bool:
    """Whether it is a pair of triangles, or was meant as one."""
    return isinstance(M, tuple) and any(isinstance(T, FactorizedTriangle) for T in M)
