"""``sordino trsv --beside``: SciPy's time with the same triangles, and after how many solves the setup is repaid."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from .._factors import with_unit_diagonal
from .._lu import FactorizedLU
from .trsv_system import System

#: Solves that are timed, behind one that is not.
REPEATS = 3


@dataclass(frozen=True)
class Beside:
    """Seconds of ``scipy.sparse.linalg.spsolve_triangular``, and of our own setup and solve."""

    seconds: float
    setup_seconds: float
    solve_seconds: float

    @property
    def repaid_after(self) -> int | None:
        """Solves after which setup and solves together have taken less time than SciPy's; None: never."""
        gain = self.seconds - self.solve_seconds
        return max(1, math.ceil(self.setup_seconds / gain)) if gain > 0 else None

    @property
    def words(self) -> str:
        """Of the row of a table."""
        after = self.repaid_after
        return "never: SciPy's take no longer" if after is None else f"{after:,} solve{'s'[: after > 1]}"


def beside(system: System, b: np.ndarray, trans: str, setup_seconds: float, solve_seconds: float) -> Beside:
    """Time SciPy's substitution with a system's triangles on one core; b of shape (n, k). Cost: four such solves."""
    triangles = _triangles(system, trans)
    seconds = []
    for _ in range(1 + REPEATS):
        start, x = time.perf_counter(), b
        for triangle, lower in triangles:
            x = sla.spsolve_triangular(triangle, x, lower=lower)
        seconds.append(time.perf_counter() - start)
    return Beside(statistics.median(seconds[1:]), setup_seconds, solve_seconds)


def _triangles(system: System, trans: str) -> list[tuple[Any, bool]]:
    """Rows of each triangle in the order in which they are solved with, and whether it is a lower one."""
    if isinstance(system.solver, FactorizedLU):
        factors = system.solver.factors
        L = with_unit_diagonal(factors.lower, factors.unit_lower)
        U = L.conj().T if factors.upper is None else with_unit_diagonal(factors.upper, factors.unit_upper)
        both = [(L, True), (U, False)]
    else:
        both = [(system.triangle, system.solver.lower)]
    if trans != "N":
        both = [(T.T if trans == "T" else T.conj().T, not lower) for T, lower in reversed(both)]
    return [(sp.csr_array(T), lower) for T, lower in both]
