"""Solving from Python: :func:`solve` for one system, :class:`Solver` for many with the same matrix."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _options, machines
from ._matrix import CsrArrays, all_finite, as_columns, as_csr
from ._native import core, translated
from ._placement import place
from .errors import BadArgument, NotConverged, NotConvergedWarning, Unsupported, suggestion
from .log import logger
from .report.record import Report

Callback = Callable[[int, float], "bool | None"]
_ON_FAILURE = ("raise", "warn", "return")


@dataclass(frozen=True)
class Solution:
    """What a solve found.

    Attributes
    ----------
    x : ndarray, shape (n,) or (n, k) as b was; None on MPI processes other than the first
        The solution if `converged`, else the best x that was seen.
    report : Report
        Status, history, ledger and trace; the properties below are short cuts into it. Of several columns, that of the
        first which did not converge, or else of the one with most iterations.
    reports : tuple of Report
        One for each column of b.
    """

    x: np.ndarray | None
    report: Report
    reports: tuple[Report, ...]

    @property
    def status(self) -> str:
        """``converged``, or why the solve ended: ``max_iterations``, ``breakdown``, ..."""
        return self.report.status

    @property
    def reason(self) -> str:
        """The status as a sentence."""
        return self.report.reason

    @property
    def converged(self) -> bool:
        """Whether the recomputed residual ``||b - A x||`` meets the tolerance."""
        return self.report.converged

    @property
    def iterations(self) -> int:
        """Iterations done."""
        return self.report.iterations

    @property
    def true_residual(self) -> float:
        """``||b - A x|| / ||b||``, recomputed from x."""
        return self.report.true_residual

    @property
    def residual_norm(self) -> float:
        """``||b - A x||``, recomputed from x."""
        return self.report.residual_norm

    @property
    def history(self) -> np.ndarray:
        """Relative residual of the recurrence after each iteration."""
        return self.report.history

    @property
    def seconds(self) -> float:
        """Time of the solve, without setup."""
        return self.report.seconds

    @property
    def ledger(self) -> dict[str, Any]:
        """Counts and times of communication and kernels."""
        return self.report.ledger

    def __repr__(self) -> str:
        return (
            f"Solution(status={self.status!r}, iterations={self.iterations}, "
            f"true_residual={self.true_residual:.3g}, seconds={self.seconds:.3g})"
        )


class Solver:
    """A system set up once and solved many times.

    Parameters
    ----------
    A : SciPy sparse matrix or array, or dense array, shape (n, n), real
        Copied: later changes to A do not reach the solver; :meth:`update_values` does.
    machine : str, path or dict, optional
        The described machine, for ``engine="model"``.
    **options
        ``solver`` (or ``method``), ``precond`` (or ``M``), ``rtol``, ``atol``, ``maxiter``,
        ``engine``, ``ranks``, ``devices`` and the others that ``sordino options`` lists.

    Raises
    ------
    BadArgument
        For a matrix or an option that cannot be used; the sentence says why.

    Notes
    -----
    Setup partitions the rows, builds halos and records the iteration: O(nnz). Later solves
    with new right-hand sides or new values allocate nothing. The GIL is released while
    solving; one solver may be used from several threads, one solve at a time. Under MPI every
    process calls with the same matrix and right-hand side.

    Examples
    --------
    >>> s = sordino.Solver(A, solver="cg", precond="jacobi")       # doctest: +SKIP
    >>> x = s.solve(b, rtol=1e-8).x                                 # doctest: +SKIP
    """

    def __init__(self, A: Any, *, machine: Any = None, **options: Any) -> None:
        rows = A if isinstance(A, CsrArrays) else as_csr(A, own=True)
        self.n = rows.n
        self.nnz = rows.nnz
        self._rows = rows  # the core views these arrays
        self._options, self._machine = place(_options.check(options), rows.n, machine)
        self._process = os.getpid()
        self._lock = threading.Lock()
        numbers = machines.numbers(self._machine) if self._machine else None
        with translated():
            self._core = core().Solver(rows.indptr, rows.indices, rows.data, rows.n, self._options, numbers)

    @property
    def options(self) -> dict[str, Any]:
        """All options in force, defaults included."""
        defaults = {name: spec.default for name, spec in _options.specs().items()}
        return {**defaults, **self._options}

    @property
    def machine(self) -> dict[str, Any] | None:
        """The described machine of the ``model`` engine, else None."""
        return self._machine

    def solve(
        self,
        b: Any,
        x0: Any = None,
        *,
        on_failure: str = "raise",
        callback: Callback | None = None,
        **options: Any,
    ) -> Solution:
        """Solve A x = b.

        Parameters
        ----------
        b : array_like, shape (n,) or (n, k)
            Columns are solved one after the other, and options such as ``time_limit`` are for each.
        x0 : array_like, shape (n,) or (n, k), optional
            First guess, one for all columns or one for each; zero if not given.
        on_failure : {"raise", "warn", "return"}
            What happens when the solve ends without a verified solution.
        callback : function of (iteration, relative residual), optional
            Called some ten times a second from this thread; returning True stops the solve.
        **options
            ``rtol``, ``atol``, ``maxiter``, ``time_limit`` for this solve only.

        Returns
        -------
        Solution

        Raises
        ------
        NotConverged
            With ``on_failure="raise"``; carries the solution.
        BadArgument, DeviceError, PeerFailed
        """
        _check_on_failure(on_failure)
        self._check_process()
        overrides = _options.check(options, allowed=_options.PER_SOLVE)
        columns = as_columns(b, self.n, "b")
        starts = [None] if x0 is None else as_columns(x0, self.n, "x0")
        if len(starts) not in (1, len(columns)):
            raise BadArgument(f"x0 has {len(starts)} columns, and b has {len(columns)}")
        starts = starts * len(columns) if len(starts) == 1 else starts
        raws = [self._solve_column(*pair, callback, overrides) for pair in zip(columns, starts, strict=True)]
        shape = np.shape(b)
        return _deliver(self._solution(raws, shape if len(shape) == 2 else (self.n,), overrides), on_failure)

    def update_values(self, values: Any) -> None:
        """Give the matrix new values in the same pattern; nothing is set up or allocated anew.

        Parameters
        ----------
        values : array_like, shape (nnz,), or sparse matrix, shape (n, n)
            In the order of ``A.data``, if A was CSR with sorted columns and no duplicates;
            otherwise a matrix with the same pattern.

        Raises
        ------
        BadArgument
            Another pattern or length, NaN or infinity, or bare values whose order is not known.
        """
        self._check_process()
        data = self._values_of(values)
        with self._lock, translated():
            np.copyto(self._rows.data, data)
            self._core.update_values(self._rows.data)

    def time_product(self, pairs: int = 50) -> float:
        """Seconds of one product y = A x with its halo, replayed ``2 * pairs`` times as in a solve."""
        with self._lock, translated():
            return float(self._core.time_product(pairs))

    def memory(self) -> dict[str, Any]:
        """Bytes that each rank holds."""
        with translated():
            return dict(self._core.memory())

    def __repr__(self) -> str:
        engine, ranks = self._options["engine"], self._options["ranks"]
        return f"<sordino.Solver of {self.n:,} rows, {self.nnz:,} entries, engine {engine}, {ranks} ranks>"

    def _values_of(self, values: Any) -> np.ndarray:
        if sp.issparse(values):
            rows = as_csr(values)
            if not rows.same_pattern(self._rows):
                raise BadArgument("the new matrix has another pattern than the one that was set up")
            return rows.data
        if not self._rows.order_kept:
            raise BadArgument(
                "the order of bare values is known only for a CSR matrix with sorted columns and no "
                "duplicates: give update_values the matrix itself"
            )
        data = np.asarray(values)
        if data.dtype.kind not in "fiub" or data.shape != (self.nnz,):
            raise BadArgument(
                f"the new values must be {self.nnz:,} real numbers, not {data.dtype} of shape {data.shape}"
            )
        data = np.ascontiguousarray(data, dtype=np.float64)
        if not all_finite(data):
            raise BadArgument("the new values hold NaN or infinity")
        return data

    def _solve_column(
        self, b: np.ndarray, x0: np.ndarray | None, callback: Callback | None, overrides: dict[str, Any]
    ) -> dict[str, Any]:
        relay = _Relay(callback)
        with self._lock, translated():
            raw = dict(self._core.solve(b, x0, relay if callback else None, overrides))
        relay.settle(raw)
        return raw

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise Unsupported("this solver was set up before a fork and works in the parent process only")

    def _solution(
        self, raws: list[dict[str, Any]], shape: tuple[int, ...], overrides: dict[str, Any]
    ) -> Solution:
        reports = tuple(self._report(raw, overrides) for raw in raws)
        worst = max(reports, key=lambda report: report.iterations)
        worst = next((report for report in reports if not report.converged), worst)
        parts = [raw["x"] for raw in raws]
        if any(part is None for part in parts):
            return Solution(None, worst, reports)
        x = np.asarray(parts[0]) if len(parts) == 1 else np.stack(parts, axis=1)
        return Solution(x.reshape(shape), worst, reports)

    def _report(self, raw: dict[str, Any], overrides: dict[str, Any]) -> Report:
        chosen = {key: raw[key] for key in ("solver", "precond", "engine", "transport") if key in raw}
        report = Report.from_core(
            raw,
            options={**self.options, **overrides, **chosen},
            problem={"n": self.n, "nnz": self.nnz},
            machine=self._machine,
        )
        logger.info(
            "%s after %d iterations in %.3g s: %s",
            report.status,
            report.iterations,
            report.seconds,
            report.reason,
        )
        return report


def solve(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    machine: Any = None,
    on_failure: str = "raise",
    callback: Callback | None = None,
    **options: Any,
) -> Solution:
    """Set up and solve one system A x = b.

    Parameters and errors are those of :class:`Solver` and :meth:`Solver.solve`.

    Returns
    -------
    Solution
        Its ``x`` is verified: ``||b - A x|| <= max(rtol ||b||, atol)`` was recomputed.

    Examples
    --------
    >>> import sordino
    >>> A = sordino.poisson(16, 16, 16)                              # doctest: +SKIP
    >>> sordino.solve(A, A @ numpy.ones(4096), rtol=1e-8).status     # doctest: +SKIP
    'converged'
    """
    _check_on_failure(on_failure)
    solver = Solver(A, machine=machine, **options)
    return solver.solve(b, x0, on_failure=on_failure, callback=callback)


class _Relay:
    """Stands between the core and a callback: an exception stops the solve and is raised afterwards."""

    def __init__(self, callback: Callback | None) -> None:
        self._callback = callback
        self._kept: BaseException | None = None

    def __call__(self, iteration: int, residual: float) -> bool:
        assert self._callback is not None
        try:
            return bool(self._callback(iteration, residual))
        except BaseException as error:  # anything at all must not unwind through the core
            self._kept = error
            return True

    def settle(self, raw: dict[str, Any]) -> None:
        """Raise what the callback raised; Ctrl-C inside it ends the solve as Ctrl-C outside does."""
        if isinstance(self._kept, KeyboardInterrupt):
            if raw["status"] == "stopped_by_user":
                raw["status"], raw["reason"] = (
                    "interrupted",
                    "interrupted from outside; x is the best that was seen",
                )
        elif self._kept is not None:
            raise self._kept


def _check_on_failure(on_failure: str) -> None:
    if on_failure not in _ON_FAILURE:
        near = suggestion(str(on_failure), _ON_FAILURE)
        raise BadArgument(f"on_failure is one of {', '.join(_ON_FAILURE)}, not {on_failure!r}{near}")


def _deliver(solution: Solution, on_failure: str) -> Solution:
    if solution.converged or on_failure == "return":
        return solution
    if on_failure == "warn":
        warnings.warn(f"{solution.status}: {solution.reason}", NotConvergedWarning, stacklevel=3)
        return solution
    raise NotConverged(solution)
