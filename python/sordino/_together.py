"""Several right-hand sides of an H-matrix at once, a solve for each, which meet in every product with the matrix.

For what no loop takes all columns of (:mod:`sordino._at_once`): complex ones.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cached_property, partial
from typing import Any

import numpy as np

from ._at_once import are_here
from ._callbacks import Function, Relay, heeded
from ._hmatrix_products import OPTIONS, EngineProduct
from ._native import core, translated
from ._numbers import numbers, words
from ._solution import hurried
from ._system import System

#: Columns whose products are one: as many as a product takes.
MOST = 8

_LOOK_EVERY_S = 0.1
_INTERRUPTED = ("interrupted", "interrupted from outside; x is the best that was seen")


class Meeting:
    """Products of several threads with one matrix, each of which waits until all that still take part have come.

    Parameters
    ----------
    multiply : function of a list of vectors
        What a product is, of one vector for each who has come; it is called by the last one.
    members : int
    """

    def __init__(self, multiply: Callable[[list[np.ndarray]], list[np.ndarray]], members: int) -> None:
        self._multiply = multiply
        self._changed = threading.Condition()
        self._there = set(range(members))
        self._brought: dict[int, np.ndarray] = {}
        self._results: dict[int, np.ndarray | BaseException] = {}

    def product(self, member: int, x: np.ndarray) -> np.ndarray:
        """A x of a member's x. What `multiply` raises is raised in each of those who wait for it."""
        with self._changed:
            self._brought[member] = x
            self._multiply_if_all_came()
            while member not in self._results:
                self._changed.wait()
            result = self._results.pop(member)
        if isinstance(result, BaseException):
            raise result
        return result

    def leave(self, member: int) -> None:
        """The others no longer wait for this one."""
        with self._changed:
            self._there.discard(member)
            self._multiply_if_all_came()

    def _multiply_if_all_came(self) -> None:
        if not self._brought or self._brought.keys() != self._there:
            return
        order = sorted(self._brought)
        try:
            products: list[Any] = self._multiply([self._brought[member] for member in order])
        except BaseException as error:  # each of them has to end
            products = [error] * len(order)
        self._brought.clear()
        self._results.update(zip(order, products, strict=True))
        self._changed.notify_all()


class _Column:
    """The solver of one column, whose product is that of a :class:`Meeting`; one rank, on a thread that calls it."""

    def __init__(self, system: System, options: dict[str, Any], diagonal: np.ndarray | None) -> None:
        self._complex = system.complex
        self._product: Callable[[np.ndarray], np.ndarray] = np.copy  # until there is a meeting
        self._function = Function(lambda x: self._product(x), system.n, "the H-matrix", system.complex)
        given = {"product": self._function, **({} if diagonal is None else {"diagonal": words(diagonal)})}
        alone = System(system.n, None, False, system.complex)
        with translated():
            self._core = core().Solver(
                *alone.arrays(), system.n, options, None, given={**given, **alone.extras()}
            )

    def solve(
        self, product: Callable[[np.ndarray], np.ndarray], look: Callable[[int, float], bool],
        b: np.ndarray, x0: np.ndarray | None, overrides: dict[str, Any],
    ) -> dict[str, Any]:  # fmt: skip
        """What the core says of it."""
        self._product = product
        sides = [v if v is None or not self._complex else words(v.astype(np.complex128)) for v in (b, x0)]
        with heeded([self._function]), translated():
            raw = dict(self._core.solve(*sides, options=overrides, progress=look))
        return {**raw, "x": numbers(np.asarray(raw["x"]))} if self._complex else raw


class Together:
    """Solves by ``bicgstab`` with an H-matrix on engine host, up to 8 at once, whose products are one.

    Every column has the recurrence, the restarts and the verified residual that it would have alone: nothing couples
    them but the time at which they multiply. Vectors are in the order of the matrix's tree. Threads: one for each
    column, and the engine's ranks for the product. Memory, from the first solve of several on: ten vectors for each
    column, and what the product of so many takes.

    Parameters
    ----------
    system : System
        With an H-matrix.
    options : dict
        Of the solver, placed.
    """

    def __init__(self, system: System, options: dict[str, Any]) -> None:
        self._system, self._options = system, options
        self._columns: list[_Column] = []

    @staticmethod
    def of(system: System, options: dict[str, Any], others: bool) -> Together | None:
        """None where columns are solved in turn: on other engines, by other methods, with preconditioners that are no
        diagonal, over several processes, and where there are `others` of the options that a solve may have.
        """
        fits = (
            system.given.keys() in ({"hmatrix"}, {"hmatrix", "diagonal"})
            and options["engine"] == "host"
            and options.get("solver", "auto") in ("auto", "bicgstab")
            and options.get("precond", "auto") in ("auto", "jacobi", "none")
        )
        return Together(system, options) if fits and not others and int(core().mpi()["size"]) == 1 else None

    def takes(self, columns: list[Any], starts: list[Any]) -> bool:
        """Whether there are several, in memory of the CPU, and no real and imaginary parts to be solved apart."""
        return len(columns) > 1 and are_here([*columns, *starts], self._system.complex)

    def solve(
        self, relay: Relay | None, columns: list[Any], starts: list[Any], overrides: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """What the core says of each column; ``seconds`` is its share of the time of all.

        `relay` is called on this thread, with what is known of the column whose residual is the largest; if it asks
        to stop, all stop. So they do at Ctrl-C, and others that would follow end as soon as they have begun.
        """
        raws: list[dict[str, Any]] = []
        for first in range(0, len(columns), MOST):
            here = slice(first, first + MOST)
            raws += self._solve_some(relay, columns[here], starts[here], hurried(raws, overrides))
        return raws

    @cached_property
    def _product(self) -> EngineProduct:
        given = {name: self._options[name] for name in OPTIONS if name in self._options}
        native = self._system.given["hmatrix"]
        kind = np.dtype(np.complex128 if self._system.complex else np.float64)
        return EngineProduct(native, kind, np.arange(self._system.n), given)

    @cached_property
    def _precond(self) -> str:
        asked = str(self._options.get("precond", "auto"))
        return "jacobi" if asked == "auto" and "diagonal" not in self._system.given else asked

    def _solver(self, k: int) -> _Column:
        """The k-th column's, which later solves take, too."""
        if k == len(self._columns):
            diagonal = self._system.given.get("diagonal")
            if diagonal is None and self._precond == "jacobi":
                entries = self._system.given["hmatrix"].diagonal()
                diagonal = 1 / (numbers(entries) if self._system.complex else entries)
            taken = {name: value for name, value in self._options.items() if name != "distribution"}
            precond = "auto" if diagonal is not None else "none"
            asked = {**taken, "solver": "bicgstab", "precond": precond, "ranks": 1}
            self._columns.append(_Column(self._system, asked, diagonal))
        return self._columns[k]

    def _multiply(self, vectors: list[np.ndarray]) -> list[np.ndarray]:
        columns: np.ndarray = self._product(np.stack(vectors, axis=1)).T
        return [np.ascontiguousarray(column) for column in columns]

    def _solve_some(
        self, relay: Relay | None, columns: list[Any], starts: list[Any], overrides: dict[str, Any]
    ) -> list[dict[str, Any]]:
        solvers = [self._solver(k) for k in range(len(columns))]
        meeting = Meeting(self._multiply, len(columns))
        watch = _Watch()

        def solve(k: int) -> dict[str, Any]:
            try:
                look = partial(watch.look, k)
                return solvers[k].solve(partial(meeting.product, k), look, columns[k], starts[k], overrides)
            except BaseException:
                watch.stops = True
                raise
            finally:
                watch.forget(k)
                meeting.leave(k)

        begun = time.perf_counter()
        with ThreadPoolExecutor(len(columns), "sordino column") as pool:
            under_way = [pool.submit(solve, k) for k in range(len(columns))]
            interrupted = watch.until_done(under_way, relay)
        seconds = time.perf_counter() - begun
        raws = [future.result() for future in under_way]
        return [self._told(raw, raws, seconds, interrupted) for raw in raws]

    def _told(
        self, raw: dict[str, Any], all_of_them: list[dict[str, Any]], seconds: float, interrupted: bool
    ) -> dict[str, Any]:
        """With what is true of the system as the caller knows it."""
        spent = sum(other["seconds"] for other in all_of_them)
        told = {
            **raw, "seconds": raw["seconds"] * seconds / spent if spent else 0.0, "ranks": self._product.ranks,
        }  # fmt: skip
        if self._precond != "auto":
            told["precond"] = self._precond
        if interrupted and raw["status"] == "stopped_by_user":
            told["status"], told["reason"] = _INTERRUPTED
        return told


class _Watch:
    """Looks at columns that are under way, and stops them."""

    def __init__(self) -> None:
        self.stops = False
        self._seen: dict[int, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def look(self, column: int, iteration: int, residual: float) -> bool:
        """What the core calls on a column's thread; whether it is to stop."""
        with self._lock:
            self._seen[column] = iteration, residual
        return self.stops

    def forget(self, column: int) -> None:
        """It has ended."""
        with self._lock:
            self._seen.pop(column, None)

    def until_done(self, under_way: list[Future[dict[str, Any]]], relay: Relay | None) -> bool:
        """Waits for all of them, and relays what is seen; returns whether Ctrl-C has ended them."""
        interrupted = False
        while True:
            try:
                while wait(under_way, timeout=_LOOK_EVERY_S).not_done:
                    with self._lock:
                        behind = max(self._seen.values(), key=lambda seen: seen[1], default=None)
                    if relay is not None and behind is not None and relay(*behind):
                        self.stops = True
                return interrupted
            except KeyboardInterrupt:
                self.stops = interrupted = True
