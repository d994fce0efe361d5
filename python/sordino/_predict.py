"""How long an iteration takes on a described machine: the solver's own recording, run on the ``model`` engine.

Time there is virtual. An iteration's is the difference between a short run and a long one, so that setting up, the
first residual and the verification drop out; so is its ledger. The arithmetic is done, on this machine's processor,
because it is cheap for the sizes that are run. A larger box is run scaled: its cross-section is made smaller, and all
bandwidths smaller by the same factor, so that every byte and every flop takes the time that it would have taken, and
latencies, counts of messages and numbers of planes stay what they are. Boxes of ranks are made smaller in all
directions (:mod:`sordino._predict_boxes`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import machines
from ._box import Box, Made
from ._native import core, translated
from ._predict_boxes import in_boxes
from ._solve import Solver
from ._subject import MOST_ROWS, Subject, of_box
from .errors import BadArgument
from .report.levels import Level

#: No tolerance is met before the iterations asked for are done.
NEVER = 1e-300

#: Iterations of the short run and of the long one. Between them lie one residual replacement of a pipelined method,
#: which is due every 50 iterations, and a look that keeps the best x, every 32; neither ends on such a look, where it
#: would be chance whether the best x is the last one. A small system may not last so long.
RUNS = ((14, 62), (4, 12), (1, 3))

#: Rounds between the first two, at least, of a method that takes several iterations at once and replaces no residuals.
_ROUNDS = 12

#: The command of precond block-ilu, as a ledger has it.
TILE_SOLVES = "Block ILU"

#: What is said of a run that has not gone over to another way of the method.
_AS_IT_BEGAN = "the maximum number of iterations is reached; relative residual"

#: Entries of a matrix above which its iterations are not counted by a solve, and the seconds that a solve may take.
MOST_ENTRIES, MOST_SECONDS = 20_000_000, 60.0

#: Options that change how long an iteration takes on many ranks, and not how many there are.
_OF_MANY_RANKS = ("all_reduce", "reduce_degree", "broadcast_degree", "partition", "boxes")

#: Bandwidths and rates of a description: what a scaled run makes smaller.
_RATES = ("memory_bandwidth", "flops", "link_bandwidth", "internode_bandwidth")

#: Of a machine whose messages take no time: waits that are left there do not come from halos.
_INSTANT = {
    **dict.fromkeys(("link_bandwidth", "internode_bandwidth"), 1e30),
    **dict.fromkeys(("link_latency_s", "internode_latency_s", "put_overhead_s"), 0.0),
    "push": {"seconds": 0.0},
}

#: Waits of less than this part of an iteration are not told apart.
_WORTH = 0.01

#: What a solve asks from time to time: whether it is to end.
Stop = Callable[[int, float], bool]


@dataclass(frozen=True)
class Iteration:
    """One iteration of one method, as rank 0 of a described machine sees it.

    Attributes
    ----------
    seconds : float
    ledger : dict
        Counts and seconds of an iteration, under the names that a solve's ledger has.
    parts : dict
        Seconds: ``memory`` for its bytes, wherever they are, ``launches`` before commands, ``sums`` of own rows
        where reductions start, ``reductions`` and ``halo`` that nothing hid, ``imbalance``. A halo that another
        rank waited for, and rank 0 for that rank's sum, is of ``halo``. A launch may fly beside a reduction, and
        flops may outlast bytes: they need not add up.
    commands : dict
        Seconds of each kind of command, by its name, without what it waits.
    storage, storage_reason : str
        How the entries of the system, not of a narrower one that is run for it, lie in memory, and why.
    rows_run : int
        Of what is run.
    levels : tuple of Level
        Of preconditioners that have such, the finest first, and at last what is around the cycles.
    """

    seconds: float
    ledger: dict[str, float]
    parts: dict[str, float] = field(default_factory=dict)
    commands: dict[str, float] = field(default_factory=dict)
    storage: str = ""
    storage_reason: str = ""
    rows_run: int = 0
    levels: tuple[Level, ...] = ()


def slower(machine: dict[str, Any], traffic: float, surface: float) -> dict[str, Any]:
    """The machine on which a scaled run takes the time that the whole takes on `machine`."""
    by = {"memory_bandwidth": traffic, "flops": traffic}
    rates = {name: machine[name] / by.get(name, surface) for name in _RATES}
    paces = {
        command: {**pace, "bandwidth": pace["bandwidth"] / traffic}
        for command, pace in machine.get("paces", {}).items()
    }
    scaled: dict[str, Any] = {"paces": paces} if paces else {}
    if cache := machine.get("cache"):  # as much of what is run fits as of the whole
        by_traffic = {key: cache[key] / traffic for key in ("bytes", "bandwidth")}
        scaled["cache"] = {**cache, **by_traffic}
    if late := machine.get("late_blocks"):
        scaled["late_blocks"] = {**late, "rows": late["rows"] / traffic}
    return {**machine, **rates, **scaled}


def iteration(
    subject: Subject,
    machine: dict[str, Any],
    ranks: int,
    options: dict[str, Any],
    stop: Stop | None = None,
    runs: Sequence[tuple[int, int]] | None = None,
) -> Iteration:
    """Predict one iteration.

    Parameters
    ----------
    subject : Subject
    machine : dict
        A checked description.
    ranks : int
    options : dict
        ``solver`` and other options of a solve; those of placing are set here.
    stop : function of (int, float), optional
        Asked some ten times a second whether to give up.
    runs : sequence of (int, int), optional
        Iterations of the short run and of the long one, or, of methods that take several at once, such rounds; the next
        pair where the system is solved too early. Without them :data:`RUNS`, and fewer rounds than these.

    Raises
    ------
    BadArgument
        More ranks than rows of what is run; preconds ic0, ilu0, mg and amg; precond block-ilu on a machine without a
        pace of its solves; partition metis, and storage by diagonals in boxes, of what is run scaled; a system
        that is solved before iterations can be timed.
    """
    _require_predictable(machine, options)
    subject, plan, stored = _as_run(subject, ranks, options)
    found = _difference(subject, machine, plan, runs, stop)
    late = max(0.0, found.ledger["imbalance_s"])
    uneven = late
    if late > _WORTH * found.seconds and not machines.is_random(machine):  # else two runs are not alike
        alike = _shared_out_alike(subject) if plan.get("partition") != "boxes" else subject
        alone = _difference(alike, {**machine, **_INSTANT}, plan, (runs or RUNS)[-2:], stop)
        uneven = min(late, max(0.0, alone.ledger["imbalance_s"]))
    parts = _parts(found, machine, late - uneven, subject.n / ranks)
    seconds, how = found.commands["seconds"], stored or found.stored
    return Iteration(found.seconds, found.ledger, parts, seconds, *how, rows_run=subject.run.n)


def _require_predictable(machine: dict[str, Any], options: dict[str, Any]) -> None:
    """Refuse preconditioners whose commands a description does not know, or a smaller system does not have."""
    precond = options.get("precond")
    # A thread solves each tile, and smaller boxes have others.
    if precond == "block-ilu" and TILE_SOLVES not in machine.get("paces", {}):
        raise BadArgument(
            "precond block-ilu is not predicted: descriptions do not say how tiles share a device"
        )
    if precond in ("ic0", "ilu0"):
        raise BadArgument(
            f"precond {precond} is not predicted: descriptions do not say how long its rows wait for each other"
        )
    if precond in ("mg", "amg"):
        raise BadArgument(f"precond {precond} is predicted level by level: sordino._predict_levels")


def automatic(
    subject: Subject, machine: dict[str, Any], ranks: int, options: dict[str, Any], rtol: float
) -> tuple[str, str]:
    """The method that ``solver="auto"`` takes on so many ranks of a machine, and why. Cost: a set-up on all of them."""
    _require_predictable(machine, options)
    subject, plan, _ = _as_run(subject, ranks, options)
    plan = {**plan, "solver": "auto", "rtol": rtol}
    report = (
        _set_up(subject, machine, plan).solve(uneven(subject.run.n), maxiter=1, on_failure="return").report
    )
    return str(report.options["solver"]), report.solver_reason


def _as_run(
    subject: Subject, ranks: int, options: dict[str, Any]
) -> tuple[Subject, dict[str, Any], tuple[str, str] | None]:
    """What is run, the options of its solver, and how the whole is stored, and why, where what is run need not say."""
    if options.get("partition") == "metis" and subject.scaled:
        raise BadArgument(
            f"partition metis is predicted up to {MOST_ROWS:,} rows: larger ones are run scaled, and cut elsewhere"
        )
    stored = None
    if options.get("partition") == "boxes":
        subject, options = in_boxes(subject, ranks, options)
        stored = _by_rows(options) if subject.run.n < subject.n else None
    if ranks > subject.run.n:
        raise BadArgument(f"{ranks:,} ranks are more than the {subject.run.n:,} rows that are run")
    plan = {**options, "engine": "model", "ranks": ranks, "rtol": NEVER, "atol": 0.0}
    if plan.get("partition", "blocks") == "blocks":
        stored = storage_of(subject, ranks, options)
    return subject, {**plan, "storage": stored[0]} if stored else plan, stored


def _by_rows(options: dict[str, Any]) -> tuple[str, str]:
    """How boxes are run that are smaller than those of the whole: short lines take more bytes a row by diagonals."""
    if options.get("storage", "auto") not in ("auto", "csr"):
        raise BadArgument(
            f"boxes of more than {MOST_ROWS:,} cells in all are predicted by rows: leave storage "
            f"'{options['storage']}' out, or give fewer cells"
        )
    return "csr", "larger boxes are run scaled, and by rows"


def storage_of(subject: Subject, ranks: int, options: dict[str, Any]) -> tuple[str, str]:
    """What a solver of the whole system takes; what is run for it may be so small that it would take another."""
    asked = str(options.get("storage", "auto"))
    if asked != "auto":
        return asked, "asked for"
    unit = options.get("precond") == "sqrt-jacobi"  # a main diagonal of ones is not stored
    given = {"words": 2} if subject.run.complex else {}
    rows = math.ceil(subject.n / ranks)
    with translated():
        return core().automatic_storage(*subject.run.arrays(), subject.run.n, rows, unit, given)


def _shared_out_alike(subject: Subject) -> Subject:
    """A narrower box, if it is a large one: who has more rows than others is the same."""
    few = MOST_ROWS // 8
    return (
        of_box(subject.name, subject.whole, few)
        if isinstance(subject.whole, Box) and subject.run.n > few
        else subject
    )


def _slowed(machine: dict[str, Any], subject: Subject) -> dict[str, Any]:
    return slower(machine, subject.traffic, subject.surface)


@dataclass(frozen=True)
class _Slope:
    """What an iteration adds: seconds, ledger, and of each kind of command its ``seconds`` and ``bytes``, by name."""

    seconds: float
    ledger: dict[str, float]
    commands: dict[str, dict[str, float]]
    stored: tuple[str, str]  # how, and why


def _difference(
    subject: Subject,
    machine: dict[str, Any],
    plan: dict[str, Any],
    runs: Sequence[tuple[int, int]] | None,
    stop: Stop | None,
) -> _Slope:
    """A long run less a short one, over the iterations between them."""
    solver = _set_up(subject, machine, plan)
    b = uneven(subject.run.n)
    at_once = solver._native().steps()  # iterations
    if runs is None:  # jitter is averaged over as many rounds as there is time for
        shorter = at_once > 1 and not machines.is_random(machine)
        runs = [_rounds(at_once, plan), *RUNS[1:]] if shorter else RUNS
    for short, long in ((at_once * few, at_once * many) for few, many in runs):
        few, many = (
            solver.solve(b, maxiter=count, on_failure="return", callback=stop) for count in (short, long)
        )
        if (few.iterations, many.iterations) == (short, long) and many.reason.startswith(_AS_IT_BEGAN):
            break
    else:
        raise BadArgument(
            f"{plan['solver']} ends after {many.iterations} iterations ({many.reason}), too few to be timed: "
            "give a larger matrix of this kind"
        )
    count = long - short
    ledger = {
        name: (value - few.ledger.get(name, 0.0)) / count
        for name, value in many.ledger.items()
        if isinstance(value, (int, float))
    }
    for name, factor in (
        ("memory_bytes", subject.traffic),
        ("cached_bytes", subject.traffic),
        ("flops", subject.traffic),
        ("bytes_sent", subject.surface),
    ):
        if name in ledger:
            ledger[name] *= factor
    commands = {
        "seconds": _of_commands(few.ledger, many.ledger, "seconds", 1 / count),
        "bytes": _of_commands(few.ledger, many.ledger, "bytes", subject.traffic / count),
    }
    stored = (many.report.options["storage"], many.report.storage_reason)
    return _Slope((many.seconds - few.seconds) / count, ledger, commands, stored)


def _set_up(subject: Subject, machine: dict[str, Any], plan: dict[str, Any]) -> Solver:
    """A solver of what is run; that its solves end unsolved, as is meant, has no cause that is worth a look."""
    solver = Solver(subject.run, machine=_slowed(machine, subject), nullspace=subject.nullspace, **plan)
    solver._suits.advises = False
    return solver


def _rounds(at_once: int, plan: dict[str, Any]) -> tuple[int, int]:
    """Rounds of the short run and of the long one, of a method that takes `at_once` iterations in a round.

    A look, which keeps the best x, takes time of its own, and is due after every `look` rounds. Between the two runs
    lie whole numbers of these, :data:`_ROUNDS` at least, so that an iteration has its share of a look; both end one
    round after a look. Where looks are so rare that the long run would be longer than the longest of :data:`RUNS`,
    these are taken: at most two looks lie between them, and many iterations share these.
    """
    look = math.ceil(int(plan.get("check_every", 32)) / at_once)
    short = look + 1
    long = short + look * math.ceil(_ROUNDS / look)
    return (short, long) if long <= RUNS[0][1] else RUNS[0]


def _of_commands(few: dict[str, Any], many: dict[str, Any], what: str, factor: float) -> dict[str, float]:
    before = {kernel["name"]: kernel[what] for kernel in few["kernels"]}
    return {
        kernel["name"]: factor * (kernel[what] - before.get(kernel["name"], 0.0))
        for kernel in many["kernels"]
    }


def _parts(found: _Slope, machine: dict[str, Any], halos_elsewhere: float, rows: float) -> dict[str, float]:
    ledger, usual = found.ledger, machine["memory_bandwidth"]
    late = machine.get("late_blocks", {"rows": 0.0, "seconds": 0.0})
    paced = sum(  # what commands with a bandwidth of their own take longer or shorter
        found.commands["bytes"].get(name, 0.0) * (1 / pace["bandwidth"] - 1 / usual)
        for name, pace in machine.get("paces", {}).items()
        if pace["bandwidth"] > 0
    )
    if (cached := ledger.get("cached_bytes", 0.0)) > 0:
        paced += cached * (1 / machine["cache"]["bandwidth"] - 1 / usual)
    return {
        "memory": ledger["memory_bytes"] / usual + paced,
        "launches": ledger["commands"] * (machine["launch_s"] + late["seconds"] * (rows > late["rows"])),
        "sums": ledger["reductions"] * machine["reduction_start_s"],
        "reductions": max(0.0, ledger["exposed_reduction_s"]),
        "halo": max(0.0, ledger["exposed_halo_s"]) + halos_elsewhere,
        "imbalance": max(0.0, ledger["imbalance_s"]) - halos_elsewhere,
    }


def uneven(n: int) -> np.ndarray:
    """A right-hand side without a pattern that ends a method early.

    It is rough, so that residuals fall at once: a run that has to go back to its best x ends with a product more.
    """
    return ((np.arange(n, dtype=np.int64) * 2654435761) % 1001 - 500) / 500.0


@dataclass(frozen=True)
class Count:
    """Iterations to the tolerance, and where the number comes from; None where nobody knows."""

    iterations: int | None
    source: str
    solves: bool = True  # False: it did not, here


def count(subject: Subject, options: dict[str, Any], given: int | None) -> Count:
    """Iterations to the tolerance: those given, or those of a solve of the same system on this machine."""
    if given is not None:
        return Count(given, "given")
    if subject.entries > MOST_ENTRIES:
        return Count(None, f"not counted: a solve of {subject.entries:,} entries takes too long here")
    whole = subject.whole
    made = whole.made() if isinstance(whole, Box) else Made(whole, subject.rhs)
    b = made.product() if made.rhs is None else made.rhs
    here = {key: value for key, value in options.items() if key not in _OF_MANY_RANKS}
    solver = Solver(made.rows, **here, nullspace=made.nullspace, engine="host", time_limit=MOST_SECONDS)
    solution = solver.solve(b, on_failure="return")
    if not solution.converged:
        return Count(None, f"not counted: {solution.reason}", solves=solution.status == "time_limit")
    return Count(solution.iterations, "solved here")
