"""How long interrupted ranks hold up a sum in two levels whose messages their processors carry, unlike adapters.

The model engine's sums go on by themselves (docs/predicting.md). Here the same messages are played, leaders' alone: all
parts of their nodes are there when the last rank begins, and who has a result and is away takes note late there, too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_PLAYS = 1000


class _Leader:
    """A processor that is taken away at random, as ``model::Processor`` is; when a sum begins it may be away."""

    def __init__(self, random: np.random.Generator, hz: float, length: float) -> None:
        self._random, self._length = random, length
        self._gap = 1 / hz - length if hz > 0 else math.inf
        away = random.random() < hz * length
        self._next = -length * random.random() if away else self._gap_drawn()
        self.now = 0.0

    def _gap_drawn(self) -> float:
        return self._gap * self._random.exponential() if self._gap < math.inf else math.inf

    def does(self, work: float, comes: float = 0.0) -> None:
        """So many seconds of work on what comes at that time."""
        self.now = max(self.now, comes)
        while self._next < self.now + work:
            if self._next + self._length > self.now:
                work -= max(0.0, self._next - self.now)
                self.now = self._next + self._length
            self._next += self._length + self._gap_drawn()
        self.now += work


@functools.cache
def _ends(
    leaders: int, others: int, hz: float, length: float, costs: tuple[float, ...], seed: int
) -> dict[str, float]:
    """Seconds until a leader has told its node, and until the last has, in the mean over all plays."""
    overhead, far, skew = costs
    random = np.random.default_rng([seed, leaders])
    ends = []
    for _ in range(_PLAYS if hz > 0 else 1):
        team = [_Leader(random, hz, length) for _ in range(leaders)]
        steps = [1 << k for k in range((leaders - 1).bit_length())]
        for leader in team:
            leader.does(skew * others)
        for step in steps:  # a tree of degree 2, up and down
            for place in range(step, leaders, 2 * step):
                team[place].does(overhead)
                team[place - step].does(0.0, team[place].now + far)
        for step in reversed(steps):
            for place in range(step, leaders, 2 * step):
                team[place - step].does(overhead)
                team[place].does(0.0, team[place - step].now + far)
        for leader in team:
            leader.does((skew + overhead) * others)
        ends.append([leader.now for leader in team])
    return {"mean": float(np.mean(ends)), "last": float(np.max(ends, axis=1).mean())}


def held_up(machine: Mapping[str, Any], ranks: int, hz: float, length: float, seed: int) -> dict[str, float]:
    """Seconds by which a sum takes longer where leaders are away `hz` times a second: for one, and for the last.

    Parameters
    ----------
    machine : mapping
        A description.
    ranks : int
        Whole nodes.
    hz, length : float
        How often, and for how many seconds each.
    seed : int
        Of the means over a thousand plays.
    """
    node = machine["ranks_per_node"]
    costs = (machine["put_overhead_s"], machine["internode_latency_s"], machine["leader_skew_s"])
    quiet, loud = (
        _ends(ranks // node, node - 1, *noise, costs, seed) for noise in ((0.0, 0.0), (hz, length))
    )
    return {whose: loud[whose] - quiet[whose] for whose in loud}
