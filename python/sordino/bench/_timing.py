"""How things are timed here: the slope between a short run and a long one, by medians of several or by the fastest."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: A timer of a run of so many iterations: returns the iterations done and the seconds they took.
Run = Callable[[int], "tuple[int, float]"]


@dataclass(frozen=True)
class Seconds:
    """What something took, several times."""

    median: float
    best: float

    @staticmethod
    def of(times: Sequence[float]) -> Seconds:
        """Of one time for each turn."""
        return Seconds(statistics.median(times), min(times))


def per_iteration(run: Run, iterations: int, repeats: int) -> Seconds:
    """Seconds of one iteration, without what a run costs once.

    Parameters
    ----------
    run : function
        Does a given number of iterations and returns (done, seconds).
    iterations : int
        Of the long run; the short one does a quarter.
    repeats : int
        Turns of both.

    Returns
    -------
    Seconds
        The slope between the medians of both, and between the fastest of both.

    Notes
    -----
    Set-up, the first residual, verification and transfers cancel out of the difference.
    """
    run(max(1, iterations // 4))  # first touch, caches, clocks
    short = [run(max(1, iterations // 4)) for _ in range(repeats)]
    long = [run(iterations) for _ in range(repeats)]
    return Seconds(_slope(_middle(short), _middle(long)), _slope(_fastest(short), _fastest(long)))


def _fastest(runs: Sequence[tuple[int, float]]) -> tuple[float, float]:
    return min(runs, key=lambda pair: pair[1])


def _middle(runs: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Iterations done and seconds of the run in the middle; of two, what lies between them."""
    ordered = sorted(runs, key=lambda pair: pair[1])
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return (low[0] + high[0]) / 2, (low[1] + high[1]) / 2


def _slope(short: tuple[float, float], long: tuple[float, float]) -> float:
    if long[0] <= short[0]:
        return long[1] / max(long[0], 1)
    return max(0.0, long[1] - short[1]) / (long[0] - short[0])


def timed(work: Callable[[], object], repeats: int) -> Seconds:
    """Seconds of a call, of several after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return Seconds.of(times)
