"""How things are timed here: the slope between a short run and a long one, the best of several."""

from __future__ import annotations

import time
from collections.abc import Callable

#: A timer of a run of so many iterations: returns the iterations done and the seconds they took.
Run = Callable[[int], "tuple[int, float]"]


def per_iteration(run: Run, iterations: int, repeats: int) -> float:
    """Seconds of one iteration, without what a run costs once.

    Parameters
    ----------
    run : function
        Does a given number of iterations and returns (done, seconds).
    iterations : int
        Of the long run; the short one does a quarter.
    repeats : int
        The best of so many, for both.

    Notes
    -----
    Set-up, the first residual, verification and transfers cancel out of the difference.
    """
    run(max(1, iterations // 4))  # first touch, caches, clocks
    short = min((run(max(1, iterations // 4)) for _ in range(repeats)), key=lambda pair: pair[1])
    long = min((run(iterations) for _ in range(repeats)), key=lambda pair: pair[1])
    if long[0] <= short[0]:
        return long[1] / max(long[0], 1)
    return max(0.0, long[1] - short[1]) / (long[0] - short[0])


def best(work: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest of several calls, after one that does not count."""
    work()
    fastest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest
