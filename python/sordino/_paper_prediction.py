"""What paper 004's layouts P x Q take with factors of a user's: by Algorithm 2, and by Algorithm 1's steps on GPUs."""

from __future__ import annotations

from typing import Any

from . import machines
from ._native import core, translated
from ._triangular_options import WIDTHS
from ._triangular_prediction import Sweeps, shapes_of

#: As Table 2 has them, and 4.
RANKS = (1, 2, 4, 6, 12, 18)


def layouts_of(ranks: list[int]) -> list[tuple[int, int]]:
    """All that the paper compares of these numbers of ranks, each once: P x 1, 1 x P, and the most even one."""
    return list(dict.fromkeys(layout for number in ranks for layout in shapes_of(number).values()))


def by_critical_path(
    sweeps: Sweeps,
    machine: dict[str, Any],
    layouts: list[tuple[int, int]],
    width: int | None = None,
    named: bool = True,
) -> dict[str, Any]:
    """What one solve takes in these layouts, by Algorithm 2 as corrected, and step by step: nothing is carried out.

    Parameters
    ----------
    machine : dict
        Of summit, as it is described here, the paper's bandwidths and messages, of which L_g and the shape of the
        curves are assumed; of others those that follow from memory, links and 132 multiprocessors a GPU.
    layouts : list of (P, Q)
    width : int, optional
        Most columns of a block; the paper's 128, if not given.
    named : bool
        Layouts with more ranks than block columns are refused, else left out.

    Returns
    -------
    dict
        ``block_columns`` of all triangles; ``layouts``: of each, with both triangles one after the other, ``layout``
        such as ``"2x1"``, ``ranks``, ``levels``, ``broadcasts`` and ``reductions`` (messages of all ranks),
        ``messages`` (of the rank that takes longest), ``seconds``, of these ``computing`` and ``communicating``,
        ``refined`` (whether the first result was too good to be true), and ``by_steps``, seconds of Algorithm 1's steps
        on this machine's GPUs; ``best`` and ``best_by_steps``: the fastest, of equals with the fewest ranks.

    Raises
    ------
    BadArgument
        More ranks than block columns.

    Notes
    -----
    There is one right-hand side, and but for ``by_steps`` values are doubles: that is what the paper's model knows. A
    triangle that is solved with transposed has the blocks of algorithm paper, with all rows of a block row. Steps are
    those of ``trsv/paper_steps.hpp``, whose seconds were fitted on an H200, for whatever machine. Cost: blocks, a
    little more than linear, for each layout; memory: 23 bytes for each rank and block column.
    """
    rows, columns = _predicted(sweeps, machine, layouts, width, named)
    return {
        "block_columns": columns,
        "layouts": rows,
        "best": _least(rows, "seconds"),
        "best_by_steps": _least(rows, "by_steps"),
    }


def predicted_layouts(
    sweeps: Sweeps, machine: dict[str, Any], ranks: list[int], columns: int = 1, width: int | None = None
) -> list[dict[str, Any]]:
    """What one solve by paper 004's Algorithm 1 takes in its layouts of so many ranks, by its steps.

    Parameters
    ----------
    columns : int
        Right-hand sides, one after the other.
    width : int, optional
        The paper's 128 columns a block, if not given.

    Returns
    -------
    list of dict
        ``shape`` (a key of ``shapes_of``), ``layout`` such as ``"2x1"``, ``ranks`` and ``seconds``, which
        ``engine="model"`` takes as well. One rank is one layout of two shapes.
    """
    rows, _ = _predicted(sweeps, machine, layouts_of(ranks), width, named=True)
    seconds = {row["layout"]: columns * row["by_steps"] for row in rows}
    return [
        {"shape": shape, "layout": name, "ranks": number, "seconds": seconds[name]}
        for number in ranks
        for shape, (P, Q) in shapes_of(number).items()
        for name in [f"{P}x{Q}"]
    ]


def best_layout(layouts: list[dict[str, Any]]) -> dict[str, Any]:
    """The fastest of :func:`predicted_layouts`, of equals with fewest ranks: ``layout``, ``ranks``, ``seconds``."""
    best = _least(layouts, "seconds")
    return {key: best[key] for key in ("layout", "ranks", "seconds")}


def _least(rows: list[dict[str, Any]], key: str) -> dict[str, Any]:
    return min(rows, key=lambda row: (row[key], row["ranks"]))


def _predicted(
    sweeps: Sweeps, machine: dict[str, Any], layouts: list[tuple[int, int]], width: int | None, named: bool
) -> tuple[list[dict[str, Any]], int]:
    """A row of each layout, both triangles one after the other, and how many block columns they have."""
    found, columns = [], 0
    for triangle, ways in sweeps.triangles:
        with translated():
            one = core().paper_trsv_layouts(
                triangle.begin,
                triangle.rows,
                ways,
                WIDTHS["paper"] if width is None else width,
                machine == machines.load("summit"),
                machines.numbers_of_triangular(machine),
                layouts,
                named,
                triangle.values.itemsize,
            )
        columns += one["block_columns"]
        found += one["predicted"]
    return [_added(ways) for ways in zip(*(_by_layout(way, found) for way in found), strict=True)], columns


def _by_layout(way: list[dict[str, Any]], all_ways: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Of one way the layouts that all have: a smaller triangle may have block columns for fewer ranks."""
    common = set.intersection(*({(row["rows"], row["columns"]) for row in of} for of in all_ways))
    return [row for row in way if (row["rows"], row["columns"]) in common]


def _added(ways: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Ways that follow each other in one layout."""
    first = ways[0]
    sums = (
        "levels",
        "broadcasts",
        "reductions",
        "messages",
        "seconds",
        "computing",
        "communicating",
        "by_steps",
    )
    return {
        "layout": f"{first['rows']}x{first['columns']}",
        "ranks": first["rows"] * first["columns"],
        **{name: sum(way[name] for way in ways) for name in sums},
        "refined": any(way["refined"] for way in ways),
    }
