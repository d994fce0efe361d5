"""How long triangular solves take on a described machine, from patterns alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import machines
from ._columns import Columns, kind_of
from ._factors import Factors
from ._native import core, translated
from ._ordering import nested_dissection
from .errors import BadArgument


@dataclass(frozen=True)
class Sweeps:
    """Triangles by columns, and the ways in which one solve goes through each.

    Attributes
    ----------
    triangles : list of (Columns, list of "forward" or "backward")
    words : str
        What it is.
    filled : bool
        Its elimination's fill belongs to it.
    """

    triangles: list[tuple[Columns, list[str]]]
    words: str
    filled: bool = False

    @property
    def rows(self) -> int:
        return self.triangles[0][0].n

    @property
    def entries(self) -> int:
        """That were given, or that the matrix has beside its diagonal on one side."""
        return sum(len(columns.rows) for columns, _ in self.triangles)


def of_triangle(L: Any, lower: bool, trans: str) -> Sweeps:
    """A triangle, L or its transpose."""
    return Sweeps(
        [(Columns(L, lower=lower), [_way(lower, trans)])], f"{'lower' if lower else 'upper'} triangle"
    )


def of_factors(factors: Factors, trans: str) -> Sweeps:
    """Factors that are there: both triangles."""
    lower = Columns(factors.lower, lower=True)
    if factors.upper is None:
        return Sweeps([(lower, ["forward", "backward"])], "factors L of L L^H")
    upper = Columns(factors.upper, lower=False)
    both = [(lower, [_way(True, trans)]), (upper, [_way(False, trans)])]
    return Sweeps(both, "factors L and U")


def of_matrix(A: Any, ordering: str = "metis") -> Sweeps:
    """A matrix whose factors elimination finds with pivots on the diagonal: the pattern of A + A^T.

    Parameters
    ----------
    ordering : {"metis", "natural"}

    Raises
    ------
    BadArgument
        Another ordering: its order comes from factoring.
    Unsupported
        "metis" without pymetis.
    """
    if ordering not in ("auto", "metis", "natural"):
        raise BadArgument(
            f"a prediction orders by metis or natural, and {ordering} needs a factorisation: predict the file that "
            "'sordino trsv --factor --save-factors' writes"
        )
    A = sp.csr_array(A)
    if A.shape[0] != A.shape[1]:
        raise BadArgument(f"the matrix is {A.shape[0]} x {A.shape[1]}, and must be square")
    ones = sp.csr_array((np.ones(A.nnz, np.float32), A.indices, A.indptr), shape=A.shape)
    pattern = sp.csr_array(ones + ones.T + sp.eye_array(A.shape[0], dtype=np.float32))
    if ordering != "natural":
        order = nested_dissection(pattern)
        pattern = sp.csr_array(pattern[order][:, order])
    columns = Columns(sp.tril(pattern, format="csc").astype(kind_of(A.dtype)), lower=True)
    words = f"factors of the pattern of A + A^T, ordering {'natural' if ordering == 'natural' else 'metis'}"
    return Sweeps([(columns, ["forward", "backward"])], words, filled=True)


def _way(lower: bool, trans: str) -> str:
    return "forward" if lower == (trans == "N") else "backward"


def predicted(
    sweeps: Sweeps, machine: dict[str, Any], ranks: list[int] | None, columns: int = 1, width: int = 256
) -> dict[str, Any]:
    """What one solve takes on each number of ranks, by default 1, 2 and 4 as far as there are blocks; the fastest.

    Returns
    -------
    dict
        ``stored_entries``, ``stored_bytes`` and ``blocks`` of all triangles; ``predicted``: for each number ``ranks``,
        ``seconds``, ``speedup`` (over the first number), ``messages``, ``message_bytes``; ``best``, the fastest
        number of ranks, of equals the least.
    """
    found = []
    for triangle, ways in sweeps.triangles:
        with translated():
            found.append(
                core().predicted_triangle(
                    triangle.begin,
                    triangle.rows,
                    ways,
                    triangle.values.dtype.itemsize,
                    sweeps.filled,
                    width,
                    machines.numbers_of_triangular(machine),
                    ranks or [1, 2, 4],
                    ranks is not None,
                    columns,
                )
            )
    whole: dict[str, Any] = {
        key: sum(f[key] for f in found) for key in ("stored_entries", "stored_bytes", "blocks")
    }
    parts = [way for f in found for way in f["predicted"]]
    rows = [
        {
            "ranks": some[0]["ranks"],
            **{key: sum(way[key] for way in some) for key in ("seconds", "messages", "message_bytes")},
        }
        for some in zip(*parts, strict=False)  # a smaller triangle may have blocks for fewer
    ]
    whole["predicted"] = [{**row, "speedup": rows[0]["seconds"] / row["seconds"]} for row in rows]
    whole["best"] = min(rows, key=lambda row: (row["seconds"], row["ranks"]))["ranks"]
    return whole
