"""What papers of ``sordino bench papers`` have in common: figures, their cases, and rows beside printed numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

#: What was predicted of a case, an iteration or what else a paper's module makes, once for each draw of random numbers.
Found = dict[Any, list[Any]]
Rows = Iterator[dict[str, Any]]


@dataclass(frozen=True)
class Figure:
    """What a paper shows in one place: the cases to be run, and what is said of them."""

    cases: Sequence[Hashable]
    rows: Callable[[Found], Rows]


def row(
    figure: str, what: str, unit: str, ours: list[float], paper: float | None, basis: str, **facts: Any
) -> dict[str, Any]:
    """A figure of ours, by draws, beside the paper's.

    `basis`: ``compared``, ``calibrated``, or ``words`` where the paper's text has no number. `facts`: of the case.
    """
    mean = fmean(ours)
    return {
        "figure": figure, "what": what, "unit": unit, "ours": mean, "least": min(ours), "most": max(ours),
        "paper": paper, "difference": None if paper is None else mean - paper, "basis": basis,
        **facts,
    }  # fmt: skip


def crossover(ranks: Sequence[int], ratios: Sequence[float]) -> float | None:
    """Where ratios come down to 1, on a logarithmic axis; None if they are above 1 on all numbers of ranks."""
    for (p, high), (q, low) in itertools.pairwise(zip(ranks, ratios, strict=True)):
        if high > 1 >= low:
            return p * (q / p) ** ((high - 1) / (high - low))
    return float(ranks[0]) if ratios[0] <= 1 else None
