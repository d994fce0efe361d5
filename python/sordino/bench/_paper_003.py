"""What paper 003 printed of hypre's PCG with offloaded all-reduces, and the same on the described machine ``offload``.

Table I, of 256 ranks, is what bandwidths and paces are calibrated on, for these methods alone. Nothing was fitted to
Figs 10 to 12.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .. import _predict, machines
from . import _held_sums
from ._figures import Figure, Found, Rows, row
from ._weak import subject

SUMMARY = "hypre's PCG three ways on a QDR InfiniBand cluster: Table I, Figs 10, 11 and 12"
DRAWS = 3

#: Table I: 256 ranks of 60^3, both methods.
ITERATIONS = 951

#: Table I, seconds: (operation, the commands that do it, PCG-Algorithm1, PCG-Algorithm2).
TABLE_I: tuple[tuple[str, tuple[str, ...], float, float], ...] = (
    ("matvec", ("SpMV",), 39.72, 40.29),
    ("precond", ("Scaled",), 7.36, 3.60),
    ("axpy and vector scale", ("Advance", "Residual", "Direction"), 4.79, 4.83),
)
INNER_PRODUCTS = (14.14, 9.08)
SOLVER_TIME = (66.78, 59.21)

#: What is calibrated on Table I, column PCG-Algorithm2, beyond ``offload``: bandwidths of Scaled are precond's (two
#: calls), of Advance and Residual axpy's (three calls), of Direction those of axpy and vector scale; Dots as axpy is
#: assumed. Spreads let ranks wait as long in inner products as the table leaves beside the reading of vectors: SpMV's
#: on sdotp (4.80 s), Scaled's on gamma (3.09 s), the others' on iprod (1.19 s). That they are exponential is assumed: a
#: uniform one that is never negative cannot wait longer than its mean, and gamma's does.
CALIBRATED: dict[str, Any] = {
    "paces": {
        "SpMV": {"bandwidth": 0.0, "spread": 0.017},
        "Scaled": {"bandwidth": 2.739e9, "spread": 0.28},
        "Advance": {"bandwidth": 3.831e9, "spread": 0.09},
        "Residual": {"bandwidth": 3.831e9, "spread": 0.09},
        "Direction": {"bandwidth": 2.185e9, "spread": 0.09},
        "Dots": {"bandwidth": 3.831e9, "spread": 0.09},
    },
}

#: PCG-Algorithm1's DiagScale, Fig. 4, which divides by what it finds in the matrix: Table I, its precond and its gamma.
DIAG_SCALE = {"bandwidth": 0.67e9, "spread": 0.205}

#: Section VII-B, Fig. 10, in words: cells along an edge of a rank's box, ranks, by how many percent PCG-Overlap (flat)
#: is faster than PCG-Algorithm2, and than PCG-Algorithm1. Those of 512 ranks of 40^3 follow from the run times 14.2,
#: 12.2 and 11.1 s.
GAINS = {
    (40, 64): (11.5, 20.5),
    (40, 512): (9.0, 21.8),
    (60, 64): (16.1, 21.6),
    (60, 512): (5.7, 13.6),
    (80, 64): (7.0, 21.5),
    (80, 512): (4.5, 13.0),
}

#: Section VII-D, Fig. 12: percent by which 200 us a thousand times a second lengthen PCG-Algorithm2 and PCG-Overlap.
EXTREME = (1000.0, 200e-6)
DEGRADED = {"pcg2": 37.0, "pcg-overlap": 30.0}


@dataclass(frozen=True)
class Attempt:
    """Why ranks wait as long as Table I has it.

    Attributes
    ----------
    spreads : dict
        The random part of commands' times; of those left out there is none.
    noise : (float, float)
        Interruptions a second, and seconds of each; bandwidths are larger by what that takes, so that lines take
        what they take in Table I.
    uneven : float
        The part of the mean by which the slowest rank is slower in all that it does.
    way : str
        How the sums of PCG-Algorithm2 go.
    held : str
        By how much a leader that is away holds up the messages of sums in two levels: by what the ``mean`` leader is
        late, or the ``last``; empty: it does not.
    changes : dict
        Of the description.
    """

    spreads: dict[str, float] = field(default_factory=dict)
    noise: tuple[float, float] = (0.0, 0.0)
    uneven: float = 0.0
    way: str = "two_level"
    held: str = ""
    changes: dict[str, Any] = field(default_factory=dict)


_OF_AXPY = ("Advance", "Residual", "Direction", "Dots")

#: With each the inner products of PCG-Algorithm2 take in all what Table I has for them. Single columns are met so:
#: ``spreads``: all three. All other figures are of this one.
#: ``interruptions``: sdotp. No frequency and length meet the two others: gamma's wait is the longer one, and its line
#: the shorter.
#: ``unlike ranks``: ranks are up to 10 % apart, section VI-D, and with that sdotp comes out; the others by spreads.
#: ``flat sums``: the 250 us of section VII-A for PCG-Algorithm2's sums, too, and spreads for what is left.
#: ``leaders``: iprod, whose 0.8 ms are what leaders take in each sum; spreads for what is left of the others.
ATTEMPTS: dict[str, Attempt] = {
    "spreads": Attempt(spreads={name: pace["spread"] for name, pace in CALIBRATED["paces"].items()}),
    "interruptions": Attempt(noise=(0.55, 4e-3)),
    "unlike ranks": Attempt(spreads={"Scaled": 0.28, **dict.fromkeys(_OF_AXPY, 0.085)}, uneven=0.05),
    "flat sums": Attempt(
        spreads={"SpMV": 0.016, "Scaled": 0.26, **dict.fromkeys(_OF_AXPY, 0.065)}, way="auto"
    ),
    "leaders": Attempt(spreads={"SpMV": 0.0145, "Scaled": 0.23}, changes={"leader_skew_s": 55e-6}),
}

#: Of Fig. 12 also these, which are two of the others where nobody is interrupted. All ranks are told the same: their
#: next sum waits for the last one, and a late node may catch up before it, so that what is right lies between the two.
HELD = {
    f"{of}, held, {whose}": replace(ATTEMPTS[of], held=whose)
    for of in ("spreads", "leaders")
    for whose in ("mean", "last")
}
DISTURBED = ATTEMPTS | HELD

_NAMES = {"pcg1": "PCG-Algorithm1", "pcg2": "PCG-Algorithm2", "pcg-overlap": "PCG-Overlap"}


@dataclass(frozen=True)
class Case:
    """One run: interruptions `hz` times a second for `length` seconds each."""

    solver: str
    ranks: int
    edge: int
    hz: float = 0.0
    length: float = 0.0
    attempt: str = "spreads"


def machine(case: Case, draw: int) -> dict[str, Any]:
    """The cluster as this case meets it."""
    attempt = DISTURBED[case.attempt]
    (hz, length), left = attempt.noise, 1 - attempt.noise[0] * attempt.noise[1]
    paces = {
        name: {"bandwidth": pace["bandwidth"] / left, "spread": attempt.spreads.get(name, 0.0)}
        for name, pace in CALIBRATED["paces"].items()
    }
    described = {**machines.load("offload"), **attempt.changes}
    if attempt.held and case.solver != "pcg-overlap":  # adapters are never away
        described["leader_skew_s"] += held_up(case, draw) / (2 * (described["ranks_per_node"] - 1))
    return {
        **described,
        **CALIBRATED,
        "memory_bandwidth": described["memory_bandwidth"] / left,
        "paces": {**paces, **({"Scaled": DIAG_SCALE} if case.solver == "pcg1" else {})},
        "interruptions": {"hz": case.hz or hz, "seconds": case.length or length, "draws": draw},
    }


def held_up(case: Case, draw: int) -> float:
    """Seconds by which interruptions hold up a sum in two levels."""
    attempt = DISTURBED[case.attempt]
    described = {**machines.load("offload"), **attempt.changes}
    return _held_sums.held_up(described, case.ranks, case.hz, case.length, draw)[attempt.held]


def predict(case: Case, draw: int) -> _predict.Iteration:
    """An iteration. PCG-Overlap's sums are carried on by adapters, flat; the others' are MVAPICH2's, in two levels."""
    attempt = DISTURBED[case.attempt]
    way = "auto" if case.solver == "pcg-overlap" else attempt.way
    options = {"solver": case.solver, "storage": "csr", "all_reduce": way}
    whole = subject(case.ranks, case.edge, attempt.uneven)
    return _predict.iteration(whole, machine(case, draw), case.ranks, options)


# ---- Table I -----------------------------------------------------------------------------------------------------


def _waits(run: _predict.Iteration) -> float:
    """Seconds of an iteration's inner products: the reading of vectors, sums, and the ranks that are late for them."""
    return run.seconds - sum(run.commands.values()) + run.commands["Dots"]


def _table_1(found: Found) -> Rows:
    for column, solver in enumerate(("pcg1", "pcg2")):
        runs = found[Case(solver, 256, 60)]

        def said(what: str, seconds: list[float], paper: float, basis: str) -> dict[str, Any]:
            total = [ITERATIONS * each for each in seconds]
            return row("Table I", f"{_NAMES[solver]}, {what}", "s", total, paper, basis)  # noqa: B023

        for what, commands, *papers in TABLE_I:
            seconds = [sum(run.commands[name] for name in commands) for run in runs]
            yield said(what, seconds, papers[column], "calibrated")
        waits = [_waits(run) for run in runs]
        yield said("inner products, with their waits", waits, INNER_PRODUCTS[column], "calibrated")
        yield said("solver-time", [run.seconds for run in runs], SOLVER_TIME[column], "calibrated")


# ---- Fig. 10 -----------------------------------------------------------------------------------------------------


def _faster(found: Found, than: str, ranks: int, edge: int, attempt: str = "spreads") -> list[float]:
    """By how many percent PCG-Overlap is."""
    cases = (Case(solver, ranks, edge, attempt=attempt) for solver in ("pcg-overlap", than))
    pairs = zip(*(found[case] for case in cases), strict=True)
    return [100 * (1 - ours.seconds / other.seconds) for ours, other in pairs]


def _behind(run: _predict.Iteration) -> float:
    """Percent of an iteration that the lines take behind which PCG-Overlap has its sums."""
    return 100 * (run.commands["Advance"] + run.commands["Scaled"]) / run.seconds


def _fig_10(found: Found) -> Rows:
    for edge in (40, 60, 80):
        for ranks in (64, 128, 256, 512):
            behind = [_behind(run) for run in found[Case("pcg2", ranks, edge)]]
            what = f"{edge}^3, {ranks} ranks: of PCG-Algorithm2, lines that may stand behind sums"
            facts = {"ranks": ranks, "edge": edge}
            yield row("Fig. 10", what, "%", behind, None, "words", quantity="behind sums", **facts)
            for than, paper in zip(("pcg2", "pcg1"), GAINS.get((edge, ranks), (None, None)), strict=True):
                gain = _faster(found, than, ranks, edge)
                what = f"{edge}^3, {ranks} ranks: PCG-Overlap faster than {_NAMES[than]}"
                basis = "words" if paper is None else "compared"
                yield row("Fig. 10", what, "%", gain, paper, basis, quantity="gain", than=than, **facts)


def _fig_10_attempts(found: Found) -> Rows:
    for attempt in ATTEMPTS:
        said = [ITERATIONS * _waits(run) for run in found[Case("pcg2", 256, 60, attempt=attempt)]]
        what = f"{attempt}: Table I, {_NAMES['pcg2']}, inner products, with their waits"
        facts = {"attempt": attempt, "ranks": 256, "edge": 60, "quantity": "inner products"}
        yield row("Fig. 10, attempts", what, "s", said, INNER_PRODUCTS[1], "calibrated", **facts)
        for (edge, ranks), (paper, _) in GAINS.items():
            gain = _faster(found, "pcg2", ranks, edge, attempt)
            what = f"{attempt}: {edge}^3, {ranks} ranks: PCG-Overlap faster than {_NAMES['pcg2']}"
            facts |= {"ranks": ranks, "edge": edge, "quantity": "gain"}
            yield row("Fig. 10, attempts", what, "%", gain, paper, "compared", than="pcg2", **facts)


def _attempted() -> list[Case]:
    cases = [("pcg2", 256, 60), *((s, p, edge) for s in ("pcg2", "pcg-overlap") for edge, p in GAINS)]
    return [Case(*case, attempt=attempt) for attempt in ATTEMPTS for case in cases]


# ---- Fig. 11 -----------------------------------------------------------------------------------------------------


def _shares(run: _predict.Iteration) -> dict[str, float]:
    """Percent of an iteration in the three parts of the paper's bars. Late ranks are waited for where sums are."""
    waitall = run.ledger["exposed_halo_s"]
    compute = sum(run.commands.values())
    return {
        name: 100 * seconds / run.seconds
        for name, seconds in (
            ("Waitall", waitall),
            ("Allreduce", max(0.0, run.seconds - compute - waitall)),
            ("Compute", compute),
        )
    }


def _fig_11(found: Found) -> Rows:
    for edge in (40, 60, 80):
        for solver, name in _NAMES.items():
            shares = [_shares(run) for run in found[Case(solver, 64, edge)]]
            for part in ("Waitall", "Allreduce", "Compute"):
                what = f"{edge}^3, 64 ranks, {name}: {part}"
                facts = {"ranks": 64, "edge": edge, "solver": solver, "quantity": part}
                yield row("Fig. 11", what, "%", [share[part] for share in shares], None, "words", **facts)


# ---- Fig. 12 -----------------------------------------------------------------------------------------------------

_NOISE = [(hz, length) for hz in (20.0, 100.0, 1000.0) for length in (50e-6, 100e-6, 200e-6)]


def _slower(found: Found, solver: str, hz: float, length: float, attempt: str = "spreads") -> list[float]:
    """By how many percent interruptions lengthen an iteration on 256 ranks of 60^3."""
    quiet, loud = (found[Case(solver, 256, 60, *noise, attempt)] for noise in ((0.0, 0.0), (hz, length)))
    return [100 * (a.seconds / b.seconds - 1) for a, b in zip(loud, quiet, strict=True)]


def _fig_12(found: Found) -> Rows:
    for hz, length in _NOISE:
        for solver, paper in DEGRADED.items():
            slower = _slower(found, solver, hz, length)
            known = paper if (hz, length) == EXTREME else None
            what = f"256 ranks of 60^3, {length * 1e6:.0f} us at {hz:.0f} Hz: {_NAMES[solver]} slower"
            facts = {"ranks": 256, "edge": 60, "solver": solver, "hz": hz, "length_s": length}
            yield row("Fig. 12", what, "%", slower, known, "words" if known is None else "compared", **facts)


def _fig_12_attempts(found: Found) -> Rows:
    for attempt in DISTURBED:
        facts = {"attempt": attempt, "ranks": 256, "edge": 60, "hz": EXTREME[0], "length_s": EXTREME[1]}
        for solver, paper in DEGRADED.items():
            slower = _slower(found, solver, *EXTREME, attempt)
            what = f"{attempt}: 256 ranks of 60^3, 200 us at 1000 Hz: {_NAMES[solver]} slower"
            yield row("Fig. 12, attempts", what, "%", slower, paper, "compared", solver=solver, **facts)


def _disturbed() -> list[Case]:
    return [
        Case(s, 256, 60, *noise, a) for a in DISTURBED for s in DEGRADED for noise in ((0.0, 0.0), EXTREME)
    ]


FIGURES = {
    "table1": Figure([Case(solver, 256, 60) for solver in ("pcg1", "pcg2")], _table_1),
    "fig10": Figure(
        [Case(s, p, edge) for s in _NAMES for p in (64, 128, 256, 512) for edge in (40, 60, 80)], _fig_10
    ),
    "fig10_attempts": Figure(_attempted(), _fig_10_attempts),
    "fig11": Figure([Case(solver, 64, edge) for solver in _NAMES for edge in (40, 60, 80)], _fig_11),
    "fig12": Figure([Case(s, 256, 60, *noise) for s in DEGRADED for noise in [(0.0, 0.0), *_NOISE]], _fig_12),
    "fig12_attempts": Figure(_disturbed(), _fig_12_attempts),
}
