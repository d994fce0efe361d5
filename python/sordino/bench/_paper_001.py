"""What paper 001 printed of JUPITER's P-CG and P-CBCG on three machines, and the same on their descriptions.

Table V, of 1,024 ranks without overlap, is what kernels, halos and sums are calibrated on, each machine and method by
its own column. Nothing was fitted to overlapped totals, nor to Figs 5 and 6.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _predict, machines
from .._box import Box
from .._subject import Subject, of_box
from . import _strong, _sums_001
from ._figures import Figure, Found, Rows, crossover, row
from ._printed_001 import (
    CELLS,
    CROSSOVER,
    FIG_5,
    FIG_6,
    ITERATIONS,
    KNL_SUMS,
    LARGEST,
    LEDGER,
    OVERLAPPED,
    RANKS,
    TABLE_3,
    TABLE_V,
)

SUMMARY = "P-CG and P-CBCG of JUPITER on ABCI, Summit and Oakforest-PACS: Table V, Figs 5 and 6"
DRAWS = 1  # nothing is random

#: The commands that do what a row of Table V names. P-CG's solve of blocks and its line 6 are one command of ``cg``
#: with a diagonal preconditioner, which has the paper's two sums. The recurrence of P-CBCG is a part of the paper's
#: SpMV (Table III), whose time the product has whole here.
COMMANDS: dict[str, dict[str, tuple[str, ...]]] = {
    "cg": {"Precon": ("Residual",), "SpMV": ("SpMV",), "AXPY": ("Direction",)},
    "cbcg": {
        "Precon": (_predict.TILE_SOLVES,),
        "SpMV": ("SpMV",),
        "Matrix": ("Upper products", "Products", "Add batches", "Step", "Directions"),
    },
}

#: Commands that take a launch: the recurrence, and those of s by s numbers, whose bytes do not grow with the cells.
_FREE = ("Next", "Factor", "Keep", "Solve")
_AT_ONCE = 1e30
_USUAL = {"bandwidth": 0.0, "spread": 0.0}

#: A machine whose seconds are operations, or bytes.
_CELLS_ALONE = (24, 24, 24)
_COUNTING = {
    "flops": {"flops": 1.0, "launch_s": 0.0, "memory_bandwidth": _AT_ONCE},
    "memory_bytes": {"flops": 0.0, "launch_s": 0.0, "memory_bandwidth": 1.0},
}

#: Section III: lines that may stand beside a halo, AXPY's before it and the product's behind it.
HIDING = {"cg": ("SpMV", "AXPY"), "cbcg": ("SpMV",)}

OPTIONS: dict[str, dict[str, Any]] = {
    "cg": {"solver": "cg", "precond": "jacobi", "storage": "csr"},
    "cbcg": {"solver": "cbcg", "precond": "block-ilu", "storage": "csr", "s": 12},
}
#: Iterations, or rounds of twelve, of a short run and of a long one: more would solve what is run.
RUNS = {"cg": ((4, 12),), "cbcg": ((1, 3), (1, 2))}
#: Sums an iteration: two, or two a round of s.
SUMS = {"cg": 2.0, "cbcg": 2.0 / 12}
NAMES = {"cg": "P-CG", "cbcg": "P-CBCG"}

#: Cells of a surface at a face across x, y and z. The paper does not print them. A product needs one; Fig. 3 keeps
#: accesses along x coalesced, for which the 16 numbers of a line of 128 bytes are assumed, or a warp's 32. KNLs do
#: not overlap (section V-C).
SURFACES: dict[str, tuple[int, int, int] | None] = {
    "none": None, "cell": (1, 1, 1), "line": (16, 1, 1), "warp": (32, 1, 1),
}  # fmt: skip
_SAID = {
    "none": "without overlap", "cell": "surfaces of 1 cell", "line": "of 16 cells in x", "warp": "of 32 cells in x",
}  # fmt: skip

#: The last two are ours alone.
FIG_6_RANKS = (480, 960, 1920, 3840, LARGEST, 15_360, 30_720)


@dataclass(frozen=True)
class Case:
    """One run."""

    machine: str
    solver: str
    ranks: int
    surface: str = "none"


@dataclass(frozen=True)
class Alone:
    """A ledger: 24^3 cells on one rank, by diagonals, with the paper's tiles (Table I, case 6) for both methods.

    Where it `counts`, the seconds of a command are its operations or bytes for a cell.
    """

    solver: str
    counts: str = ""


def machine(case: Case) -> dict[str, Any]:
    """A described machine as the method meets it, calibrated on its column of Table V.

    A halo's bandwidth is what its row leaves for the faces that leave a node, of the ranks that send the most; a sum
    takes a hop for each doubling of ranks, which is assumed.
    """
    described, column = machines.load(case.machine), TABLE_V[case.machine, case.solver]
    across_x, across_y, across_z = _strong.faces(RANKS, CELLS)
    near = across_z if described["ranks_per_node"] > 1 else 0.0  # of the two along which ranks are numbered
    leaving = 8 * (2 * (across_x + across_y + across_z) - near)
    moved = _bytes(case.solver, case.ranks, ranks_run(case.ranks), case.surface)
    paces = {command: {"bandwidth": _AT_ONCE, "spread": 0.0} for command in _FREE}
    for what, commands in COMMANDS[case.solver].items():
        a_cell = 1e-3 * column[what] * RANKS / math.prod(CELLS)
        bandwidth = sum(moved[command] for command in commands) / a_cell
        paces |= {command: {"bandwidth": bandwidth, "spread": 0.0} for command in commands}
    return {
        **described,
        "internode_bandwidth": leaving / (1e-3 * column["Halo"]),
        "reduction_base_s": 0.0,
        "reduction_hop_s": 1e-3 * column["Reduce"] / SUMS[case.solver] / math.log2(RANKS),
        "paces": paces,
    }


@functools.cache
def _bytes(solver: str, ranks: int, run: int, surface: str) -> dict[str, float]:
    """That commands move for a cell in an iteration: their seconds where a second moves a byte.

    On the `run` boxes that are run: P-CBCG writes tables of products for each block of rows, and few ranks have many.
    """
    described = {
        **machines.load("summit"),
        "flops": 0.0, "launch_s": 0.0, "memory_bandwidth": 1.0, "paces": {_predict.TILE_SOLVES: _USUAL},
    }  # fmt: skip
    subject = _strong.subject(ranks, CELLS, SURFACES[surface])
    found = _run(subject, described, run, OPTIONS[solver])
    return {command: seconds * ranks / math.prod(CELLS) for command, seconds in found.commands.items()}


def predict(case: Case | Alone, draw: int, law: str = "hops") -> _predict.Iteration:
    """An iteration of a case, whose sums grow by a law; nothing in it is random."""
    if isinstance(case, Alone):
        tiles = {"precond": "block-ilu", "tile": "8,8,1", "grid": "24,24,24"}
        options = {**OPTIONS[case.solver], **tiles, "storage": "dia"}
        box = of_box("", Box(_CELLS_ALONE))
        described = {**machines.load("summit"), "paces": {_predict.TILE_SOLVES: _USUAL}}
        return _run(box, described | _COUNTING.get(case.counts, {}), 1, options)
    subject = _strong.subject(case.ranks, CELLS, SURFACES[case.surface])
    described, run = machine(case), ranks_run(case.ranks)
    seconds = _sums_001.LAWS[law](_known(case), case.ranks)
    described["reduction_hop_s"] = seconds / _sums_001.doublings(run)
    return _run(subject, described, run, OPTIONS[case.solver])


def ranks_run(ranks: int) -> int:
    """Of so many ranks: those that are run, all of which are alike."""
    return math.prod(_strong.counts_run(ranks, CELLS))


def _known(case: Case) -> _sums_001.Known:
    """What Table V and the description say of a case's sums."""
    ours, classic = (
        1e-3 * TABLE_V[case.machine, solver]["Reduce"] / SUMS[solver] for solver in (case.solver, "cg")
    )
    half_digit = 0.5e-5 / SUMS[case.solver]
    return _sums_001.Known(RANKS, ours, classic, half_digit, machines.load(case.machine)["reduction_hop_s"])


def _ranks(ranks: int) -> str:
    """As a table says it."""
    run = ranks_run(ranks)
    return f"{ranks:,} ranks" if run == ranks else f"{ranks:,} ranks ({run} run)"


def _run(
    subject: Subject, described: dict[str, Any], ranks: int, options: dict[str, Any]
) -> _predict.Iteration:
    return _predict.iteration(subject, described, ranks, options, runs=RUNS[options["solver"]])


def sums(run: _predict.Iteration) -> float:
    """Seconds that an iteration waits for sums, and for those that are late."""
    return run.parts["reductions"] + run.parts["imbalance"]


def surfaces(name: str) -> Sequence[str]:
    """How a machine's solver overlaps."""
    return ("none",) if name == "oakforest-pacs" else ("cell", "line", "warp")


# ---- Table V -----------------------------------------------------------------------------------------------------


def _table_5(found: Found) -> Rows:
    for (name, solver), column in TABLE_V.items():
        said = f"{name}, {NAMES[solver]}"
        facts = {"described_machine": name, "solver": solver, "ranks": RANKS, "ranks_run": ranks_run(RANKS)}
        [alone] = found[Case(name, solver, RANKS)]
        ours = {"Reduce": sums(alone), "Halo": alone.parts["halo"]}
        for what, commands in COMMANDS[solver].items():
            ours[what] = sum(alone.commands[command] for command in commands)
        ours["total"], paper = alone.seconds, {**column, "total": sum(column.values())}
        for what, seconds in ours.items():
            yield row(
                "Table V", f"{said}: {what}", "ms", [1e3 * seconds], paper[what], "calibrated",
                **facts, quantity=what, surface="none",
            )  # fmt: skip
        if (name, solver) not in OVERLAPPED:
            continue
        hideable = min(ours["Halo"], sum(ours[what] for what in HIDING[solver]))
        for surface in surfaces(name):
            [run] = found[Case(name, solver, RANKS, surface)]
            compared = {
                "total": ("ms", 1e3 * run.seconds),
                "hidden": ("%", 100 * (alone.seconds - run.seconds) / hideable),
            }
            total, part = OVERLAPPED[name, solver]
            for (what, (unit, value)), paper_s in zip(compared.items(), (total, 100 * part), strict=True):
                yield row(
                    "Table V", f"{said}, {_SAID[surface]}: {what}", unit, [value], paper_s, "compared",
                    **facts, quantity=what, surface=surface,
                )  # fmt: skip


# ---- Fig. 5 ------------------------------------------------------------------------------------------------------


def _fig_5(found: Found) -> Rows:
    for (name, solver), printed in FIG_5.items():
        for surface in surfaces(name):
            said = f"{name}, {NAMES[solver]}, {_SAID[surface]}"
            facts = {"described_machine": name, "solver": solver, "surface": surface}
            runs = {p: found[Case(name, solver, p, surface)][0] for p in (512, 1024, 2048)}
            gain = runs[512].seconds / runs[2048].seconds
            yield row(
                "Fig. 5", f"{said}: 512 to {_ranks(2048)}", "times", [gain], printed[0] / printed[2], "compared",
                **facts, quantity="speed-up", ranks_run=ranks_run(2048),
            )  # fmt: skip
            part = 100 * sums(runs[2048]) / runs[2048].seconds
            paper = KNL_SUMS[solver] if name == "oakforest-pacs" else None
            yield row(
                "Fig. 5", f"{said}, {_ranks(2048)}: sums", "%", [part], paper,
                "words" if paper is None else "compared", **facts, quantity="sums", ranks=2048,
                ranks_run=ranks_run(2048),
            )  # fmt: skip
            for (p, run), seconds in zip(runs.items(), printed, strict=True):
                if solver == "cg":  # of P-CBCG iterations are not printed
                    yield row(
                        "Fig. 5", f"{said}, {_ranks(p)}: a solve", "s", [ITERATIONS[name] * run.seconds], seconds,
                        "compared", **facts, quantity="seconds", ranks=p, ranks_run=ranks_run(p),
                    )  # fmt: skip


# ---- Fig. 6 ------------------------------------------------------------------------------------------------------


def _fig_6(found: Found) -> Rows:
    for surface in surfaces("summit"):
        said = _SAID[surface]
        runs = {
            (solver, p): found[Case("summit", solver, p, surface)][0]
            for solver, p in itertools.product(FIG_6, FIG_6_RANKS)
        }
        for solver, (times, percent) in FIG_6.items():
            facts = {"solver": solver, "surface": surface}
            for p in FIG_6_RANKS[1:]:
                gain = runs[solver, FIG_6_RANKS[0]].seconds / runs[solver, p].seconds
                what = f"{NAMES[solver]}, {said}: 480 to {_ranks(p)}"
                yield _on(p, what, "times", gain, times, "speed-up", **facts)
                part = 100 * sums(runs[solver, p]) / runs[solver, p].seconds
                what = f"{NAMES[solver]}, {said}, {_ranks(p)}: sums"
                yield _on(p, what, "%", part, percent, "sums", **facts)
        ratios = [runs["cbcg", p].seconds / runs["cg", p].seconds for p in FIG_6_RANKS]
        for p, ratio in zip(FIG_6_RANKS, ratios, strict=True):
            what = f"{said}, {_ranks(p)}: P-CBCG over P-CG"
            yield row(
                "Fig. 6", what, "times", [ratio], None, "words",
                quantity="ratio", ranks=p, ranks_run=ranks_run(p), surface=surface,
            )  # fmt: skip
        equal = crossover(FIG_6_RANKS, ratios)
        if equal is not None:
            what = f"{said}: P-CBCG is as fast as P-CG from"
            yield row(
                "Fig. 6", what, "ranks", [equal], CROSSOVER, "compared", quantity="crossover", surface=surface
            )


def _on(
    ranks: int, what: str, unit: str, ours: float, printed: float, quantity: str, **facts: Any
) -> dict[str, Any]:
    """A row of Fig. 6, of which the paper's text has the numbers of its largest run."""
    paper, basis = (printed, "compared") if ranks == LARGEST else (None, "words")
    facts |= {"quantity": quantity, "ranks": ranks, "ranks_run": ranks_run(ranks)}
    return row("Fig. 6", what, unit, [ours], paper, basis, **facts)


# ---- how sums grow -----------------------------------------------------------------------------------------------


def _sums_attempts(found: Found) -> Rows:
    def of(law: str, name: str, solver: str, ranks: int) -> tuple[float, float]:
        case = _tried(name, solver, ranks)
        [run] = found[case]
        known = _known(case)
        by_hops, by_law = (SUMS[solver] * _sums_001.LAWS[each](known, ranks) for each in ("hops", law))
        seconds = run.seconds + by_law - by_hops  # nothing hides a sum
        return seconds, 100 * (sums(run) + by_law - by_hops) / seconds

    return _sums_001.rows(of)


def _tried(name: str, solver: str, ranks: int) -> Case:
    return Case(name, solver, ranks, _sums_001.TRIED[name][0])


# ---- the ledger --------------------------------------------------------------------------------------------------


def _ledger(found: Found) -> Rows:
    [classic], [by_steps] = (found[Alone(solver)] for solver in ("cg", "cbcg"))
    for what, paper in LEDGER.items():
        said = {"flops": "operations", "memory_bytes": "bytes"}[what]
        ratio = by_steps.ledger[what] / classic.ledger[what]
        yield row(
            "Ledger", f"{said} of P-CBCG over those of P-CG", "times", [ratio], paper, "compared", quantity=what,
        )  # fmt: skip
        more = TABLE_3[what] - _of_system(found, what)
        theirs = [run.ledger[what] / math.prod(_CELLS_ALONE) + more for run in (classic, by_steps)]
        yield row(
            "Ledger", f"{said}, with the paper's for the product and the preconditioner", "times",
            [theirs[1] / theirs[0]], paper, "explained", quantity=what,
        )  # fmt: skip


def _of_system(found: Found, what: str) -> float:
    """What the product and the preconditioner take for a cell: P-CBCG's, whose tiles return no sums as P-CG's do."""
    [counted] = found[Alone("cbcg", what)]
    return sum(counted.commands[command] for command in ("SpMV", _predict.TILE_SOLVES)) / math.prod(
        _CELLS_ALONE
    )


def _cases(columns: Sequence[tuple[str, str]], ranks: Sequence[int], *more: str) -> list[Case]:
    return [
        Case(name, solver, p, surface)
        for (name, solver), p in itertools.product(columns, ranks)
        for surface in dict.fromkeys((*more, *surfaces(name)))
    ]


FIGURES = {
    "table5": Figure(_cases(list(TABLE_V), (RANKS,), "none"), _table_5),
    "fig5": Figure(_cases(list(FIG_5), (512, 1024, 2048)), _fig_5),
    "fig6": Figure(_cases([("summit", solver) for solver in FIG_6], FIG_6_RANKS), _fig_6),
    "sums_attempts": Figure([_tried(*case) for case in _sums_001.cases()], _sums_attempts),
    "ledger": Figure([Alone("cg"), Alone("cbcg"), *(Alone("cbcg", counts) for counts in LEDGER)], _ledger),
}
