"""How long an iteration takes on a described machine: the solver's own recording, run on the ``model`` engine.

Time there is virtual. An iteration's is the difference between a short run and a long one, so that setting up, the
first residual and the verification drop out; so is its ledger. The arithmetic is done, on this machine's processor,
because it is cheap for the sizes that are run. A larger box is run scaled: its cross-section is made smaller, and all
bandwidths smaller by the same factor, so that every byte and every flop takes the time that it would have taken, and
latencies, counts of messages and numbers of planes stay what they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import machines
from ._facts import is_hermitian, is_symmetric
from ._matrix import CsrArrays
from ._native import core, translated
from ._solve import Solver
from .errors import BadArgument
from .problems import poisson_rows

#: No tolerance is met before the iterations asked for are done.
NEVER = 1e-300

#: Iterations of the short run and of the long one. Between them lie one residual replacement of a pipelined method,
#: which is due every 50 iterations, and a look that keeps the best x, every 32; neither ends on such a look, where it
#: would be chance whether the best x is the last one. A small system may not last so long.
RUNS = ((14, 62), (4, 12), (1, 3))

#: The command of precond block-ilu, as a ledger has it.
TILE_SOLVES = "Block ILU"

#: What is said of a run that has not gone over to another way of the method.
_AS_IT_BEGAN = "the maximum number of iterations is reached; relative residual"

#: Rows of a box above which it is run scaled.
MOST_ROWS = 1_000_000

#: Entries of a matrix above which its iterations are not counted by a solve, and the seconds that a solve may take.
MOST_ENTRIES, MOST_SECONDS = 20_000_000, 60.0

#: Bytes that an iteration moves for an entry and for a row, by which rows are shared out.
ENTRY_BYTES, ROW_BYTES = 12.0, 88.0

#: Bandwidths and rates of a description: what a scaled run makes smaller.
_RATES = ("memory_bandwidth", "flops", "link_bandwidth", "internode_bandwidth")

#: Of a machine whose messages take no time: waits that are left there do not come from halos.
_INSTANT = {
    **dict.fromkeys(("link_bandwidth", "internode_bandwidth"), 1e30),
    **dict.fromkeys(("link_latency_s", "internode_latency_s", "put_overhead_s"), 0.0),
}

#: Waits of less than this part of an iteration are not told apart.
_WORTH = 0.01

#: What a solve asks from time to time: whether it is to end.
Stop = Callable[[int, float], bool]


@dataclass(frozen=True)
class Box:
    """A Poisson problem by its numbers of cells; nothing is generated before it is needed."""

    cells: tuple[int, int, int]
    stencil: int = 7
    contrast: float = 1.0

    @property
    def n(self) -> int:
        """Rows."""
        return math.prod(self.cells)

    @property
    def entries(self) -> int:
        """Stored entries: neighbours within the box, and the diagonal."""
        if self.stencil == 27:
            return math.prod(3 * count - 2 for count in self.cells)
        return 7 * self.n - 2 * sum(self.n // count for count in self.cells)

    def rows(self) -> CsrArrays:
        """The matrix."""
        return poisson_rows(*self.cells, self.stencil, self.contrast)


@dataclass(frozen=True)
class Subject:
    """What is predicted: a system, and the one that is run for it.

    Attributes
    ----------
    name : str
    n, entries : int
        Of the system.
    run : CsrArrays
        The matrix that is run: the system's own, or that of a narrower box.
    traffic, surface : float
        How many times more bytes the system moves in memory, and between ranks, than what is run.
    whole : Box or CsrArrays
        For a solve that counts iterations.
    rhs : ndarray, shape (n,), or None
        For the same; A*1 if None.
    """

    name: str
    n: int
    entries: int
    run: CsrArrays
    traffic: float
    surface: float
    whole: Box | CsrArrays
    rhs: np.ndarray | None = None

    @property
    def scaled(self) -> bool:
        """Whether something smaller is run."""
        return self.run.n != self.n


@dataclass(frozen=True)
class Iteration:
    """One iteration of one method, as rank 0 of a described machine sees it.

    Attributes
    ----------
    seconds : float
    ledger : dict
        Counts and seconds of an iteration, under the names that a solve's ledger has.
    parts : dict
        Seconds: ``memory`` for its bytes, ``launches`` before commands, ``sums`` of own rows where reductions start,
        ``reductions`` and ``halo`` that nothing hid, ``imbalance``. A halo that another rank waited for, and rank 0 for
        that rank's sum, is of ``halo``. A launch may fly beside a reduction, and flops may outlast bytes: they need
        not add up.
    commands : dict
        Seconds of each kind of command, by its name, without what it waits.
    storage, storage_reason : str
        How the entries of the system, not of a narrower one that is run for it, lie in memory, and why.
    """

    seconds: float
    ledger: dict[str, float]
    parts: dict[str, float] = field(default_factory=dict)
    commands: dict[str, float] = field(default_factory=dict)
    storage: str = ""
    storage_reason: str = ""


def of_matrix(name: str, rows: CsrArrays, rhs: np.ndarray | None = None) -> Subject:
    """A matrix that is there."""
    return Subject(name, rows.n, rows.nnz, rows, 1.0, 1.0, rows, rhs)


def suiting(rows: CsrArrays) -> list[str]:
    """The methods that are right for a matrix, as ``solver="auto"`` looks at it. Cost: O(nnz)."""
    if is_hermitian(rows) and (rows.matrix().diagonal().real > 0).all():
        return ["cg", "cgcg", "prcg"]
    if rows.complex:
        return ["cocg", "bicgstab"] if is_symmetric(rows) else ["bicgstab"]
    return ["bicgstab", "pipebicgstab"]


def of_box(name: str, box: Box, most_rows: int = MOST_ROWS) -> Subject:
    """A Poisson problem; one of more than `most_rows` rows is run on a narrower box."""
    run = narrower(box, most_rows)
    weight = (ENTRY_BYTES * box.entries + ROW_BYTES * box.n) / (ENTRY_BYTES * run.entries + ROW_BYTES * run.n)
    return Subject(name, box.n, box.entries, run.rows(), weight, box.n / run.n, box)


def narrower(box: Box, most_rows: int) -> Box:
    """The box with as many planes, and planes so small that it has about `most_rows` rows; 24 x 24 cells at least."""
    nx, ny, nz = box.cells
    if box.n <= most_rows:
        return box
    factor = math.sqrt(most_rows / box.n)
    fewest = 24
    cells = (min(nx, max(fewest, round(nx * factor))), min(ny, max(fewest, round(ny * factor))), nz)
    return replace(box, cells=cells)


def slower(machine: dict[str, Any], traffic: float, surface: float) -> dict[str, Any]:
    """The machine on which a scaled run takes the time that the whole takes on `machine`."""
    by = {"memory_bandwidth": traffic, "flops": traffic}
    rates = {name: machine[name] / by.get(name, surface) for name in _RATES}
    paces = {
        command: {**pace, "bandwidth": pace["bandwidth"] / traffic}
        for command, pace in machine.get("paces", {}).items()
    }
    return {**machine, **rates, **({"paces": paces} if paces else {})}


def iteration(
    subject: Subject,
    machine: dict[str, Any],
    ranks: int,
    options: dict[str, Any],
    stop: Stop | None = None,
    runs: Sequence[tuple[int, int]] = RUNS,
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
        pair where the system is solved too early.

    Raises
    ------
    BadArgument
        More ranks than rows of what is run; precond block-ilu on a machine without a pace of its solves; a system that
        is solved before iterations can be timed.
    """
    # A thread solves each tile, and smaller boxes have others.
    if options.get("precond") == "block-ilu" and TILE_SOLVES not in machine.get("paces", {}):
        raise BadArgument(
            "precond block-ilu is not predicted: descriptions do not say how tiles share a device"
        )
    if ranks > subject.run.n:
        raise BadArgument(f"{ranks:,} ranks are more than the {subject.run.n:,} rows that are run")
    unit = options.get("precond") == "sqrt-jacobi"
    storage, why = _storage(subject, ranks, str(options.get("storage", "auto")), unit)
    plan = {**options, "storage": storage, "engine": "model", "ranks": ranks, "rtol": NEVER, "atol": 0.0}
    found = _difference(subject, machine, plan, runs, stop)
    late = max(0.0, found.ledger["imbalance_s"])
    uneven = late
    if late > _WORTH * found.seconds and not machines.is_random(machine):  # else two runs are not alike
        alone = _difference(_shared_out_alike(subject), {**machine, **_INSTANT}, plan, runs[-2:], stop)
        uneven = min(late, max(0.0, alone.ledger["imbalance_s"]))
    parts = _parts(found, machine, late - uneven)
    return Iteration(found.seconds, found.ledger, parts, found.commands["seconds"], storage, why)


def _storage(subject: Subject, ranks: int, asked: str, unit: bool) -> tuple[str, str]:
    """What a solver of the whole system takes; what is run for it may be so small that it would take another.

    `unit`: it has a main diagonal of ones, which is not stored.
    """
    if asked != "auto":
        return asked, "asked for"
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


@dataclass(frozen=True)
class _Slope:
    """What an iteration adds: seconds, ledger, and of each kind of command its ``seconds`` and ``bytes``, by name."""

    seconds: float
    ledger: dict[str, float]
    commands: dict[str, dict[str, float]]


def _difference(
    subject: Subject,
    machine: dict[str, Any],
    plan: dict[str, Any],
    runs: Sequence[tuple[int, int]],
    stop: Stop | None,
) -> _Slope:
    """A long run less a short one, over the iterations between them."""
    solver = Solver(subject.run, machine=slower(machine, subject.traffic, subject.surface), **plan)
    b = _uneven(subject.run.n)
    at_once = solver._native().steps()  # iterations
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
        name: (value - few.ledger[name]) / count
        for name, value in many.ledger.items()
        if isinstance(value, (int, float))
    }
    for name, factor in (
        ("memory_bytes", subject.traffic),
        ("flops", subject.traffic),
        ("bytes_sent", subject.surface),
    ):
        ledger[name] *= factor
    commands = {
        "seconds": _of_commands(few.ledger, many.ledger, "seconds", 1 / count),
        "bytes": _of_commands(few.ledger, many.ledger, "bytes", subject.traffic / count),
    }
    return _Slope((many.seconds - few.seconds) / count, ledger, commands)


def _of_commands(few: dict[str, Any], many: dict[str, Any], what: str, factor: float) -> dict[str, float]:
    before = {kernel["name"]: kernel[what] for kernel in few["kernels"]}
    return {
        kernel["name"]: factor * (kernel[what] - before.get(kernel["name"], 0.0))
        for kernel in many["kernels"]
    }


def _parts(found: _Slope, machine: dict[str, Any], halos_elsewhere: float) -> dict[str, float]:
    ledger, usual = found.ledger, machine["memory_bandwidth"]
    paced = sum(  # what commands with a bandwidth of their own take longer or shorter
        found.commands["bytes"].get(name, 0.0) * (1 / pace["bandwidth"] - 1 / usual)
        for name, pace in machine.get("paces", {}).items()
        if pace["bandwidth"] > 0
    )
    return {
        "memory": ledger["memory_bytes"] / usual + paced,
        "launches": ledger["commands"] * machine["launch_s"],
        "sums": ledger["reductions"] * machine["reduction_start_s"],
        "reductions": max(0.0, ledger["exposed_reduction_s"]),
        "halo": max(0.0, ledger["exposed_halo_s"]) + halos_elsewhere,
        "imbalance": max(0.0, ledger["imbalance_s"]) - halos_elsewhere,
    }


def _uneven(n: int) -> np.ndarray:
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
    rows = subject.whole.rows() if isinstance(subject.whole, Box) else subject.whole
    b = rows.product(np.ones(rows.n)) if subject.rhs is None else subject.rhs
    here = {
        key: value
        for key, value in options.items()
        if key not in ("all_reduce", "reduce_degree", "broadcast_degree")
    }
    solver = Solver(rows, **here, engine="host", time_limit=MOST_SECONDS)
    solution = solver.solve(b, on_failure="return")
    if not solution.converged:
        return Count(None, f"not counted: {solution.reason}", solves=solution.status == "time_limit")
    return Count(solution.iterations, "solved here")
