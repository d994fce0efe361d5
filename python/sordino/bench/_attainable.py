"""The accuracy that methods attain: the least true residual of a run, and that of a solve which asks for too much."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import Solver
from ..cli import display
from ..cli.processes import say
from . import _judge, _pressures

#: Asked for where the run itself is looked at: nothing meets it, so that nothing restarts before rounding has the word.
_NEVER = 1e-100
#: Asked for where the solve is looked at: less than the unit of rounding.
TOO_MUCH = 1e-16
#: Methods that compute their residuals anew every some iterations.
_REPLACING = ("pipebicgstab", "gatherbicgstab")
_MOST = 6000
_EVERY = 4
#: What a recurrence promises, over the least true residual, where it no longer says anything of x.
_OUT_OF_TOUCH = 1e-3


def variants(methods: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
    """Names and options: each method with Jacobi, and those that replace residuals also without that."""
    found: list[tuple[str, dict[str, Any]]] = []
    for method in methods:
        options = {"solver": method, "precond": "jacobi"}
        found.append((method, options))
        if method in _REPLACING:
            found.append((f"{method}, never replaced", {**options, "replace_every": _MOST + 1}))
    return found


def attained(system: _pressures.System, options: dict[str, Any]) -> dict[str, Any]:
    """What one variant attains.

    Returns
    -------
    dict
        ``run``: the least true residual of the x of one run of the loop, before it restarts, by ``run_iterations``;
        ``solve``, ``status``, ``iterations``: the true residual of what a solve hands out that asks for
        :data:`TOO_MUCH`.
    """
    run = run_of(system, options)
    solution = Solver(system.A, **options, maxiter=_MOST).solve(system.b, rtol=TOO_MUCH, on_failure="return")
    return {
        "run": run.least, "run_iterations": run.at, "solve": _judge.residual(system.A, system.judged(), solution.x),
        "status": solution.status, "iterations": solution.iterations,
    }  # fmt: skip


class Run:
    """Looks at the x of a run, until its recurrence has lost touch with it or it no longer comes nearer.

    Attributes
    ----------
    points : list of (int, float)
        Iterations, and the true residuals of x behind them.
    least, at : float, int
        The least of them, and its iteration.
    """

    def __init__(self, system: _pressures.System) -> None:
        self._system = system
        self.points: list[tuple[int, float]] = []
        self.least, self.at = math.inf, 0

    def look(self, iteration: int, promised: float, x: np.ndarray) -> bool:
        """The callback; True ends the solve."""
        true = _judge.residual(self._system.A, self._system.judged(), x)
        self.points.append((iteration, true))
        if true < self.least:
            self.least, self.at = true, iteration
        return promised < _OUT_OF_TOUCH * self.least or iteration > 3 * self.at + 1000


def run_of(system: _pressures.System, options: dict[str, Any]) -> Run:
    """One run of a method's loop, as it goes on without restarts."""
    run = Run(system)
    solver = Solver(system.A, **options, maxiter=_MOST, callback_every=_EVERY, callback_x=True)
    solver.solve(system.b, rtol=_NEVER, on_failure="return", callback=run.look)
    return run


def show(rows: list[dict[str, Any]]) -> None:
    """A table of the residuals, a column for each problem."""
    if not rows:
        return
    names = list(rows[0]["attained"])
    for key, title in (
        ("run", "Least true residual of a run"),
        ("solve", f"True residual of what a solve hands out that asks for {TOO_MUCH:g}"),
    ):
        heads = ("method", *[f"({k})" for k in range(1, len(rows) + 1)])
        display.show_table(
            title, heads, [(name, *[f"{r['attained'][name][key]:.1e}" for r in rows]) for name in names]
        )
    for k, row in enumerate(rows, 1):
        say(f"({k}) {row['problem']}")
