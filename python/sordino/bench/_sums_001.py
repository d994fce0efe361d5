"""How long a sum takes on so many ranks: Table V of paper 001 has it on 1,024 alone, and how it grows is assumed.

Laws that were tried, each with Table V's own figure on 1,024 ranks. None was fitted to what it is compared with, but
``late by ranks``, of P-CG on 512 KNLs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import _strong
from ._figures import Rows, crossover, row
from ._printed_001 import CELLS, CROSSOVER, FIG_5, FIG_6, KNL_SUMS, LARGEST


@dataclass(frozen=True)
class Known:
    """Of a machine's sums.

    Attributes
    ----------
    ranks : int
        Of Table V.
    seconds, of_classic : float
        Of one sum there, with those that are late for it: of the method, and of P-CG.
    half_digit : float
        By how much the former may be less, and be printed as it is.
    hop : float
        Seconds for a doubling of ranks, as the machine's description has it.
    """

    ranks: int
    seconds: float
    of_classic: float
    half_digit: float
    hop: float


def doublings(ranks: int) -> int:
    """That make so many ranks of one: the hops of a sum."""
    return (ranks - 1).bit_length()


#: By which power of the ranks P-CG's sums grow on KNLs, where a solve on 512 takes the 151.84 s of Fig. 5.
POWER = 0.37


def _hops(known: Known, ranks: int) -> float:
    return known.seconds * _longer(known, ranks)


def _least_digit(known: Known, ranks: int) -> float:
    return (known.seconds - known.half_digit) * _longer(known, ranks)


def _base_and_hops(known: Known, ranks: int) -> float:
    return known.seconds + known.hop * (doublings(ranks) - doublings(known.ranks))


def _late_by_work(known: Known, ranks: int) -> float:
    sum_itself = min(known.of_classic, known.seconds)
    return sum_itself * _longer(known, ranks) + (known.seconds - sum_itself) * known.ranks / ranks


def _late_by_ranks(known: Known, ranks: int) -> float:
    return known.seconds * (ranks / known.ranks) ** POWER


def _longer(known: Known, ranks: int) -> float:
    return doublings(ranks) / math.log2(known.ranks)


#: Seconds of a sum on so many ranks.
#: ``hops``: each doubling of ranks takes as long. All other figures are of this one.
#: ``least digit``: the same, of the least that Table V prints so.
#: ``base and hops``: a hop is the description's; what Table V has beyond its ten is a base.
#: ``late by work``: a sum takes what P-CG's takes, by hops; what P-CBCG's take beyond are ranks that are late, by a
#: part of the work of a rank, which is less where there are more.
#: ``late by ranks``: late ranks, and messages that meet, grow with a power of their number.
LAWS: dict[str, Callable[[Known, int], float]] = {
    "hops": _hops,
    "least digit": _least_digit,
    "base and hops": _base_and_hops,
    "late by work": _late_by_work,
    "late by ranks": _late_by_ranks,
}

#: Surfaces, of three the one that meets the most, and ranks: the ends of Figs 5 and 6, and where methods may be level.
TRIED: dict[str, tuple[str, tuple[int, ...]]] = {
    "oakforest-pacs": ("none", (512, 2048)),
    "summit": ("line", (480, 1920, 3840, LARGEST, 15_360)),
}
_LAST = {"oakforest-pacs": 2048, "summit": LARGEST}

#: Times as fast as on the fewest ranks, and percent of the time that sums take.
_PRINTED = {
    "oakforest-pacs": {
        solver: (FIG_5["oakforest-pacs", solver][0] / FIG_5["oakforest-pacs", solver][2], KNL_SUMS[solver])
        for solver in ("cg", "cbcg")
    },
    "summit": FIG_6,
}
_NAMES = {"cg": "P-CG", "cbcg": "P-CBCG"}


def cases() -> Iterator[tuple[str, str, int]]:
    """Machine, method and ranks."""
    for name, (_, ranks) in TRIED.items():
        yield from itertools.product((name,), _NAMES, ranks)


def rows(of: Callable[[str, str, str, int], tuple[float, float]]) -> Rows:
    """What each law says beside the paper. `of`: a case's seconds an iteration, and percent of it that sums take."""
    for law, (name, (surface, ranks)) in itertools.product(LAWS, TRIED.items()):
        last = _LAST[name]
        facts = {"law": law, "described_machine": name, "surface": surface}
        run = {"ranks": last, "ranks_run": math.prod(_strong.counts_run(last, CELLS))}
        for solver, papers in _PRINTED[name].items():
            seconds, percent = of(law, name, solver, last)
            gain = of(law, name, solver, ranks[0])[0] / seconds
            for quantity, unit, ours, paper in zip(
                ("speed-up", "sums"), ("times", "%"), (gain, percent), papers, strict=True
            ):
                what = f"{law}: {name}, {_NAMES[solver]}, {last:,} ranks: {quantity}"
                more = {**facts, **run, "solver": solver, "quantity": quantity}
                yield row("Sums, attempts", what, unit, [ours], paper, "compared", **more)
        ratios = [of(law, name, "cbcg", p)[0] / of(law, name, "cg", p)[0] for p in ranks]
        equal = crossover(ranks, ratios)
        if name == "summit" and equal is not None:
            what = f"{law}: {name}: P-CBCG is as fast as P-CG from"
            facts["quantity"] = "crossover"
            yield row("Sums, attempts", what, "ranks", [equal], CROSSOVER, "compared", **facts)
