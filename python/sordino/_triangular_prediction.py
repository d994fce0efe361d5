"""How long triangular solves take on a described machine, from patterns alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import machines
from ._columns import Columns, kind_of
from ._factors import Factors
from ._native import core, translated
from ._ordering import nested_dissection
from ._triangular_options import checked_options
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
        Others come from factoring (``_factoring.py``).

    Raises
    ------
    Unsupported
        "metis" without pymetis.
    """
    A = sp.csr_array(A)
    if A.shape[0] != A.shape[1]:
        raise BadArgument(f"the matrix is {A.shape[0]} x {A.shape[1]}, and must be square")
    ones = sp.csr_array((np.ones(A.nnz, np.float32), A.indices, A.indptr), shape=A.shape)
    pattern = sp.csr_array(ones + ones.T + sp.eye_array(A.shape[0], dtype=np.float32))
    if ordering != "natural":
        order = nested_dissection(pattern)
        pattern = sp.csr_array(pattern[order][:, order])
    columns = Columns(sp.tril(pattern, format="csc").astype(kind_of(A.dtype)), lower=True)
    words = f"factors of the pattern of A + A^T, ordering {ordering}"
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
        ``stored_entries``, ``stored_bytes``, ``blocks`` and ``by_rows`` (how many are kept so) of all triangles;
        ``widths`` and ``width_reasons`` of those that are not (empty ones unless `width` is 0, by which each chooses
        its own, for one rank); ``predicted``: for each number ``ranks``, ``seconds``, ``speedup`` (over the first
        number), ``messages``, ``message_bytes`` (None where a triangle is kept by rows); ``best``, the fastest number
        of ranks, of equals the least; ``left_out``, the numbers that some triangle has too few blocks for.
    """
    wanted = ranks or [1, 2, 4]
    found = []
    for triangle, ways in sweeps.triangles:
        try:
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
                        wanted,
                        ranks is not None,
                        columns,
                    )
                )
        except BadArgument as wrong:
            if "it is solved by rows" not in str(wrong):
                raise
            found.append(_by_rows(triangle, ways, machine, wanted, columns))
    whole: dict[str, Any] = {
        key: sum(f.get(key, 0) for f in found)
        for key in ("stored_entries", "stored_bytes", "blocks", "by_rows")
    }
    whole["widths"] = [f["width"] for f in found if "width" in f]
    whole["width_reasons"] = [f["width_reason"] for f in found if "width" in f]
    parts = [way for f in found for way in f["predicted"]]
    rows = [
        _added(some) for some in zip(*parts, strict=False)
    ]  # a smaller triangle may have blocks for fewer
    whole["predicted"] = [{**row, "speedup": rows[0]["seconds"] / row["seconds"]} for row in rows]
    whole["best"] = min(rows, key=lambda row: (row["seconds"], row["ranks"]))["ranks"]
    whole["left_out"] = wanted[len(rows) :]
    return whole


def _added(ways: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Ways that follow each other on as many ranks; of what one does not know the sum is None, too."""
    sums: dict[str, Any] = {"ranks": ways[0]["ranks"]}
    for key in ("seconds", "messages", "message_bytes"):
        terms = [way[key] for way in ways]
        sums[key] = None if None in terms else sum(terms)
    return sums


def _by_rows(
    triangle: Columns, ways: list[str], machine: dict[str, Any], ranks: list[int], columns: int
) -> dict[str, Any]:
    """A triangle that is kept by rows, solved on the virtual clock: values play no part, and messages are not counted.

    Cost: a solve for each number of ranks.
    """
    predicted: list[list[dict[str, Any]]] = [[] for _ in ways]
    for number in ranks:
        options = checked_options(engine="model", ranks=number, machine=machine)
        seconds, kept = _clocked(triangle, ways, options, columns)
        for of_way, taken in zip(predicted, seconds, strict=True):
            of_way.append({"ranks": number, "seconds": taken, "messages": None, "message_bytes": None})
    stored = {key: kept[key] for key in ("stored_entries", "stored_bytes")}
    return {**stored, "by_rows": 1, "predicted": predicted}


def _clocked(
    triangle: Columns, ways: list[str], options: dict[str, Any], columns: int
) -> tuple[list[float], dict[str, Any]]:
    """Seconds of each way on the virtual clock, and the statistics; carried out with zeros beside a unit diagonal."""
    values = np.zeros_like(triangle.values)
    seconds = []
    with translated():
        solver = core().Triangle(triangle.begin, triangle.rows, values, True, options)
        for way in ways:
            solver.solve(np.zeros((triangle.n, columns), values.dtype), "N" if way == "forward" else "T")
            statistics = solver.statistics()
            seconds.append(float(statistics["modelled_seconds"]))
    return seconds, statistics


def modelled_plan(
    sweeps: Sweeps, machine: dict[str, Any], ranks: int, width: int = 256, most_tasks: int | None = None
) -> dict[str, Any]:
    """The plan of the first triangle's first way, task by task, as the described machine carries it out.

    Returns
    -------
    dict
        ``seconds``; of blocks ``columns`` (the first), ``widths``, ``fronts`` (rows), ``rows`` (of all), ``owners``;
        of tasks ``kinds``, ``blocks``, ``ranks``, and in seconds when each was ``taken`` by a worker, had its values
        (``ready``), could ``begin`` and came to its ``end``; ``last_needs``: whose result it waited for last, or -1.

    Raises
    ------
    BadArgument
        More ranks than blocks, or more tasks than `most_tasks`.
    """
    triangle, ways = sweeps.triangles[0]
    with translated():
        found: dict[str, Any] = core().modelled_plan(
            triangle.begin,
            triangle.rows,
            ways[0],
            triangle.values.dtype.itemsize,
            width,
            machines.numbers_of_triangular(machine),
            ranks,
        )
    if most_tasks is not None and len(found["end"]) > most_tasks:
        raise BadArgument(
            f"the plan has {len(found['end']):,} tasks, and a picture shows up to {most_tasks:,}: draw a smaller one"
        )
    return found


def shapes_of(ranks: int) -> dict[str, tuple[int, int]]:
    """Paper 004's layouts P x Q of so many ranks, the most even one with P >= Q > 1 among them where there is one."""
    even = max(q for q in range(1, math.isqrt(ranks) + 1) if ranks % q == 0)
    shapes = {"P x 1": (ranks, 1), "1 x P": (1, ranks)}
    return shapes | ({"2-D": (ranks // even, even)} if even > 1 else {})
