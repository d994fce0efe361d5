"""Predictions of multigrid: an iteration with its cycle, level by level, on many ranks of a described machine.

What is small enough is run as it is on the ``model`` engine, and its trace says what each level takes
(:mod:`sordino.report.levels`). Of a larger grid two recordings are run, and their levels put together:

* the coarse levels, with the bottom solve, as the cycle of the whole grid has them on all ranks: that of the grid that
  the first coarsenings lead to;
* the levels above, and what is around the cycle, on a few ranks, whose neighbours are as near as anybody's: in a box
  with a smaller cross-section on a machine with bandwidths smaller by the same factor, where each of these levels keeps
  its share. A sum is as slow there as over all ranks.

This holds since only coarse levels on fewer ranks and the sums reach beyond a rank's neighbours: what is run on few
ranks are levels that all ranks share.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from . import _predict
from ._box import Box
from ._predict import NEVER, Iteration, Stop
from ._solve import Solver
from ._subject import MOST_ROWS, Subject, of_box, of_matrix, weight
from .errors import BadArgument
from .report.levels import AROUND, Level, by_level

#: Preconditioners that have levels.
WITH_LEVELS = ("mg", "amg")

#: Cells along an edge of a box in place of a large one whose own are not needed yet.
_CORNER = 16

#: Of many ranks the model engine traces so many.
_TRACED = 8

#: Iterations that are run, and of methods that take several at once two rounds, if that is more. The system is then not
#: solved as far as it can be, where methods begin again.
_ITERATIONS, _ROUNDS = 8, 2


def iteration(
    subject: Subject,
    machine: dict[str, Any],
    ranks: int,
    options: dict[str, Any],
    stop: Stop | None = None,
    most_rows: int = MOST_ROWS,
) -> Iteration:
    """As :func:`sordino._predict.iteration`, also with preconds mg and amg: then with what each level takes.

    Raises
    ------
    BadArgument
        Of these a box of more than `most_rows` cells that has no levels to be put together by, or with precond amg,
        whose levels depend on the entries; ways of sums of one's own on such; a cycle of a single level.
    """
    precond = options.get("precond")
    if precond not in WITH_LEVELS:
        return _predict.iteration(subject, machine, ranks, options, stop)
    whole = subject.whole
    if not isinstance(whole, Box) or whole.n <= most_rows:
        run = of_box(subject.name, whole, whole.n) if isinstance(whole, Box) else subject
        found, how = _run(run, machine, ranks, options, stop)
        return _put_together(found, machine, how, run.run.n)
    if precond == "amg":
        raise BadArgument(
            f"precond amg is predicted up to {most_rows:,} rows: what is run in place of larger ones has other levels"
        )
    if len(set(whole.spacing)) > 1:
        raise BadArgument(
            f"precond mg is predicted up to {most_rows:,} rows of cells that are no cubes, which it pairs in some "
            "directions first"
        )
    if options.get("all_reduce", "auto") != "auto":
        raise BadArgument(
            f"with precond mg, all_reduce is predicted up to {most_rows:,} cells: larger grids are run on fewer "
            "ranks, too"
        )
    above = _levels_above(whole, ranks, most_rows, _level_rows(machine, options))
    coarse = replace(whole, cells=_coarse(whole.cells, above))
    by_diagonals = {**options, "storage": "dia"}  # as levels below the first one lie
    below, _ = _run(of_box(subject.name, coarse, coarse.n), machine, ranks, by_diagonals, stop)
    few = min(ranks, _TRACED)
    fine = _narrow(subject, whole, above, few * (whole.cells[2] // ranks), most_rows)
    how = _predict.storage_of(replace(fine, n=subject.n), ranks, options)
    all_share = {**options, "storage": how[0], "level_rows": 0}
    found, _ = _run(fine, _with_sums_of(machine, few, ranks), few, all_share, stop)
    levels = [*found[:above], *(replace(level, place=level.place + above) for level in below[:-1]), found[-1]]
    return _put_together(levels, machine, how, coarse.n + fine.run.n)


def of_large_box(name: str, box: Box, most_rows: int = MOST_ROWS) -> Subject:
    """The subject of a box; of a large one little is made before it is known what is run for it."""
    if box.n <= most_rows:
        return of_box(name, box)
    x, y, z = (min(count, _CORNER) for count in box.cells)
    corner = replace(box, cells=(x, y, z))
    rows = corner.made().rows
    return Subject(name, box.n, box.entries * rows.nnz // corner.entries, rows, 1.0, 1.0, box)


def grid_of(box: Box) -> str:
    """Its cells, as option grid has them."""
    return ",".join(map(str, box.cells))


def _level_rows(machine: dict[str, Any], options: dict[str, Any]) -> int:
    """What option level_rows is where nobody says it (``grid_choice.cpp``)."""
    given = options.get("level_rows", "auto")
    return (16384 if machine["launch_s"] >= 1e-6 else 512) if given == "auto" else int(given)


def _most_owners(rows: int, ranks: int, level_rows: int) -> int:
    """How many ranks share a level of so many rows (``LevelRanks::most_owners``)."""
    owners, few = 1, level_rows
    while few > 0 and rows > few and owners < ranks:
        owners, few = owners * 64, few * 8
    return min(owners, ranks) if few > 0 else ranks


def _levels_above(whole: Box, ranks: int, most_rows: int, level_rows: int) -> int:
    """Levels that are run in a narrower box: so many that the next one is small enough to be run on all ranks.

    Or fewer, where not all ranks share that.
    """
    nz = whole.cells[2]
    depth = nz // ranks
    above = next(
        k for k in range(64) if math.prod(_coarse(whole.cells, k)) <= most_rows or 2 ** (k + 1) > depth
    )
    while above > 0 and _most_owners(math.prod(_coarse(whole.cells, above)), ranks, level_rows) < ranks:
        above -= 1
    if above == 0:
        raise BadArgument(
            f"with precond mg, more than {most_rows:,} cells are predicted where all ranks share the first levels: "
            "give fewer ranks, or a smaller level_rows"
        )
    if nz % ranks != 0 or depth % 2 ** (above + 1) != 0:
        raise BadArgument(
            f"with precond mg, more than {most_rows:,} cells are predicted where each rank has as many layers, which "
            f"can be halved {above + 1} times: give a multiple of {ranks * 2 ** (above + 1):,} cells in z, not {nz:,}"
        )
    return above


def _coarse(cells: tuple[int, int, int], times: int) -> tuple[int, int, int]:
    x, y, z = (-(-count // 2**times) for count in cells)
    return x, y, z


def _narrow(subject: Subject, whole: Box, above: int, nz: int, most_rows: int) -> Subject:
    """The whole with so many layers, each of fewer cells, in which cells can be paired as often as levels are above."""
    nx, ny, _ = whole.cells
    unit = 2 ** (above + 1)
    by = min(1.0, math.sqrt(most_rows / (nx * ny * nz)))
    x, y = (min(count, max(unit, round(count * by / unit) * unit)) for count in (nx, ny))
    box = replace(whole, cells=(x, y, nz))
    made = box.made()
    narrow = of_matrix(subject.name, made.rows)
    heavier = weight(subject.entries / subject.n, 1) / weight(made.rows.nnz / made.rows.n, 1)
    share = nx * ny / (x * y)
    return replace(narrow, traffic=heavier * share, surface=share, whole=box, nullspace=made.nullspace)


def _with_sums_of(machine: dict[str, Any], few: int, ranks: int) -> dict[str, Any]:
    """The machine on which a sum over few ranks takes what it takes over all of them."""
    doublings = math.ceil(math.log2(ranks)) - math.ceil(math.log2(few))
    more = machine["reduction_hop_s"] * doublings
    return {**machine, "reduction_base_s": machine["reduction_base_s"] + more}


def _run(
    subject: Subject, machine: dict[str, Any], ranks: int, options: dict[str, Any], stop: Stop | None
) -> tuple[list[Level], tuple[str, str]]:
    """Levels of what is run, by a rank whose neighbours are as far as anybody's; how its matrix is stored, and why."""
    slowed = _predict.slower(machine, subject.traffic, subject.surface)
    grid = (
        {"grid": grid_of(subject.whole)}
        if isinstance(subject.whole, Box) and options["precond"] == "mg"
        else {}
    )
    plan = {**options, **grid, "engine": "model", "ranks": ranks, "rtol": NEVER, "atol": 0.0, "trace": True}
    solver = Solver(subject.run, machine=slowed, nullspace=subject.nullspace, **plan)
    solver._suits.advises = False
    at_once = solver._native().steps()
    count = at_once * max(_ROUNDS, _ITERATIONS // at_once)
    b = _predict.uneven(subject.run.n)
    report = solver.solve(b, maxiter=count, on_failure="return", callback=stop).report
    if report.recoveries:
        raise BadArgument(
            f"{options['solver']} begins again within {count} iterations, since the system is solved as far as can be: "
            "give a smaller s, or a larger grid"
        )
    levels = by_level(report.trace, _watched(machine, ranks), at_once)
    if len(levels) < 2:
        raise BadArgument(
            f"precond {options['precond']} has a single level here, or a round of {options['solver']} is longer than "
            "a trace: give more cells on each rank, or a smaller s"
        )
    return levels, (report.options["storage"], report.storage_reason)


def _watched(machine: dict[str, Any], ranks: int) -> int:
    """The last rank of the first node, if there is another one among those traced, else one in the middle.

    Corrections of levels that live on rank 0 come there first, and it waits for its neighbour, whom they reach last:
    so its coarse levels hold that delay, which a rank of the second node has made good a level above.
    """
    node = int(machine["ranks_per_node"])
    return node - 1 if 0 < node < min(ranks, _TRACED) else min(ranks, _TRACED) // 2


def _put_together(
    levels: list[Level], machine: dict[str, Any], how: tuple[str, str], rows_run: int
) -> Iteration:
    sums = sum(level.sums for level in levels)
    own = sums * machine["reduction_start_s"]
    parts = {
        "memory": sum(level.work_s for level in levels) - own,
        "launches": sum(level.launch_s for level in levels),
        "sums": own,
        "reductions": sum(level.reduction_wait_s for level in levels),
        "halo": sum(level.halo_wait_s for level in levels),
        "imbalance": 0.0,
    }
    ledger = {"commands": sum(level.commands for level in levels), "reductions": sums}
    seconds = sum(level.seconds for level in levels)
    return Iteration(seconds, ledger, parts, {}, *how, rows_run=rows_run, levels=tuple(levels))


def shares(levels: tuple[Level, ...]) -> dict[str, float]:
    """Seconds of an iteration: ``finest`` level, ``others``, ``bottom`` solve, ``around`` the cycle."""
    cycle = [level for level in levels if level.place != AROUND]
    return {
        "finest": cycle[0].seconds,
        "others": sum(level.seconds for level in cycle[1:-1]),
        "bottom": cycle[-1].seconds,
        "around": levels[-1].seconds,
    }
