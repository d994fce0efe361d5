"""Solving from Python: :func:`solve` for one system, :class:`Solver` for many with the same matrix."""

from __future__ import annotations

import numbers
import os
import threading
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from . import _options, machines
from ._callbacks import Callback, Relay
from ._device import GpuVectors, handed, host_copy, taken
from ._matrix import CsrArrays, all_finite, as_csr
from ._native import core, translated
from ._placement import place
from ._solution import Solution, check_on_failure, deliver, in_single
from ._system import System, as_system
from ._vectors import HostVectors
from .errors import BadArgument, Unsupported
from .log import logger
from .report.record import Report


class Solver:
    """A system set up once and solved many times.

    Parameters
    ----------
    A : sparse matrix or array of SciPy or CuPy, dense array, or LinearOperator, shape (n, n), real
        A matrix is copied, one on a GPU to the CPU, where its rows are dealt out: later changes to A do not reach
        the solver; :meth:`update_values` does. A LinearOperator works with ``solver="cg"`` and ``"bicgstab"`` (the
        default for it) on any number of ranks: for each product the vector is gathered, `matvec` is called once,
        on a thread of rank 0, and the result is dealt out.
    M : str, sparse or dense array, LinearOperator or function of a vector, optional
        The preconditioner: ``"jacobi"``, ``"none"`` (the option `precond`), or an approximation of the
        inverse of A. One that is diagonal is fused into the solver's updates; any other one works with
        ``cg`` (once an iteration) and ``bicgstab`` (twice): a matrix is distributed, operators and functions
        are called as a LinearOperator A is.
    callback_every : int
        0: callbacks are called some ten times a second, at no cost to the iteration. m: after every m-th
        iteration, on a thread of rank 0, for which all ranks wait; on GPUs the loop is then no graph.
        Iterations are counted anew after restarts and residual replacements.
    callback_x : bool
        Whether the callback also gets a copy of x, shape (n,), which is gathered for it: 8 bytes a row every
        m iterations, and 16 n bytes of memory on rank 0. Needs `callback_every`.
    machine : str, path or dict, optional
        The described machine, for ``engine="model"``.
    **options
        ``solver`` (or ``method``), ``precond``, ``rtol``, ``atol``, ``maxiter``,
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

    def __init__(
        self,
        A: Any,
        *,
        M: Any = None,
        callback_every: int = 0,
        callback_x: bool = False,
        machine: Any = None,
        **options: Any,
    ) -> None:
        M, options = _options.apart(M, options)
        system = as_system(A, M)
        self.n = system.n
        self.nnz = system.rows.nnz if system.rows else 0
        self._system = system  # the core views its arrays
        self._looks = looks(callback_every, callback_x)
        self._options, self._machine = place(_options.check(options), system.n, machine)
        self._single = system.single and int(core().mpi()["size"]) == 1
        self._process = os.getpid()
        self._lock = threading.Lock()
        numbers = machines.numbers(self._machine) if self._machine else None
        with translated():
            given = {**system.extras(), **self._looks}
            self._core = core().Solver(
                *system.arrays(), system.n, self._options, numbers, **({"given": given} if given else {})
            )

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
            NumPy, or anything in memory of the CPU or of an NVIDIA GPU with ``__dlpack__``, such as a torch
            tensor or a CuPy array. Columns are solved one after the other, and options such as ``time_limit``
            are for each. From a GPU, ranks on GPUs copy their rows directly; work of the library's current
            stream is waited for, and x is complete, in memory of its allocator, when this returns.
        x0 : array_like, shape (n,) or (n, k), optional
            First guess, one for all columns or one for each; zero if not given. Of any kind, as b.
        on_failure : {"raise", "warn", "return"}
            What happens when the solve ends without a verified solution.
        callback : function of (iteration, relative residual[, x]), optional
            Called as often as `callback_every` of the solver says, by default some ten times a second from
            this thread; returning True stops the solve at the next iteration. The residual is that of the
            recurrence; methods that hide or merge their reductions know that of the iteration before.
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
        check_on_failure(on_failure)
        self._check_process()
        overrides = _options.check(options, allowed=_options.PER_SOLVE)
        vectors = taken(b, self.n, "b")
        columns = vectors.columns
        starts = [None] if x0 is None else taken(x0, self.n, "x0").columns
        if len(starts) not in (1, len(columns)):
            raise BadArgument(f"x0 has {len(starts)} columns, and b has {len(columns)}")
        starts = starts * len(columns) if len(starts) == 1 else starts
        raws = [
            self._solve_column(column, start, callback, overrides, place)
            for column, start, place in zip(columns, starts, vectors.places(), strict=True)
        ]
        if self._single and vectors.single:
            raws = [self._rounded(raw, c, vectors, overrides) for raw, c in zip(raws, columns, strict=True)]
        solution = self._solution(raws, vectors, overrides)
        return deliver(solution, on_failure)

    def update_values(self, values: Any) -> None:
        """Give the matrix new values in the same pattern; nothing is set up or allocated anew.

        Parameters
        ----------
        values : array_like, shape (nnz,), or sparse matrix, shape (n, n)
            In the order of ``A.data``, if A was CSR with sorted columns and no duplicates;
            otherwise a matrix with the same pattern. Those on a GPU are copied to the CPU first.

        Raises
        ------
        BadArgument
            Another pattern or length, NaN or infinity, or bare values whose order is not known.
        """
        self._check_process()
        held = self._system.rows
        if held is None:
            raise BadArgument("the matrix is given as an operator, which has no values to update")
        data = self._values_of(values, held)
        with self._lock, translated():
            before = held.data.copy()  # ranks of the host view what is held
            np.copyto(held.data, data)
            try:
                self._core.update_values(held.data)
            except BaseException:
                np.copyto(held.data, before)
                raise

    def aspreconditioner(self, **options: Any) -> LinearOperator:
        """An operator whose product with r is one approximate solve of A z = r.

        Parameters
        ----------
        **options
            ``rtol``, ``atol``, ``maxiter``, ``time_limit`` of these solves; the solver's own where not given.
            What a solve has reached when it ends is taken, converged or not.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, shape (n, n)
            For SciPy's methods, and as `M` of another solver. A Krylov method that stops early is not the
            same linear operator for every r: where that disturbs the outer method, ask for a smaller ``rtol``.

        Raises
        ------
        Unsupported
            Over several MPI processes.
        """
        if int(core().mpi()["size"]) > 1:
            raise Unsupported(
                "a solver over several MPI processes cannot be a preconditioner: every process would have to call it"
            )
        settings = _options.check(options, allowed=_options.PER_SOLVE)
        return LinearOperator(
            (self.n, self.n),
            matvec=lambda r: self.solve(r, on_failure="return", **settings).x,
            dtype=np.float64,
        )

    def time_product(self, pairs: int = 50) -> float:
        """Seconds of one product y = A x with its halo, replayed ``2 * pairs`` times as in a solve."""
        self._check_process()
        with self._lock, translated():
            return float(self._core.time_product(pairs))

    def memory(self) -> dict[str, Any]:
        """Bytes held.

        Returns
        -------
        dict
            ``bytes_per_rank``, a list: vectors and the stored matrix where each rank of this process
            computes; ``first_rank``, of this process; ``matrix_bytes``: this process's copy of the matrix, from
            which ranks of the host read its values. :func:`sordino.estimate_memory` foretells them.
        """
        with translated():
            return {**self._core.memory(), "matrix_bytes": matrix_bytes(self._system)}

    def __repr__(self) -> str:
        engine, ranks = self._options["engine"], self._options["ranks"]
        return f"<sordino.Solver of {self.n:,} rows, {self.nnz:,} entries, engine {engine}, {ranks} ranks>"

    def _values_of(self, values: Any, held: CsrArrays) -> np.ndarray:
        values = host_copy(values, "the new values")
        if sp.issparse(values):
            rows = as_csr(values)
            if not rows.same_pattern(held):
                raise BadArgument("the new matrix has another pattern than the one that was set up")
            return rows.data
        if not held.order_kept:
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
        self, b: Any, x0: Any, callback: Callback | None, overrides: dict[str, Any], place: Any = None
    ) -> dict[str, Any]:
        """One solve; x is a new array of NumPy's, or where there is a `place` for it, that."""
        relay = Relay(callback, bool(self._looks.get("look_x")))
        calls = {} if callback is None else {"look" if self._looks else "progress": relay}
        vectors = {"x": handed(place)} if place is not None else {}
        functions = self._system.functions
        with self._lock:
            for function in functions:
                function.kept = None
            with translated():
                raw = dict(self._core.solve(handed(b), handed(x0), options=overrides, **calls, **vectors))
            for function in functions:
                function.settle()
        relay.settle(raw)
        if place is not None and raw["x"] is not None:
            raw["x"] = place
        return raw

    def _rounded(
        self, raw: dict[str, Any], b: Any, vectors: HostVectors | GpuVectors, overrides: dict[str, Any]
    ) -> dict[str, Any]:
        """A result in float32, of which only that is said which is true of it. Cost: one more product."""
        x, in_double = vectors.rounded(raw["x"])
        norm, residual = self._norms(b, in_double, overrides)
        return in_single(raw, x, norm, residual, {**self.options, **overrides})

    def _norms(self, b: Any, x: Any, overrides: dict[str, Any]) -> tuple[float, float]:
        """``||b||`` and ``||b - A x||``; on GPUs x, which is written again, is a first guess that is good enough."""
        if isinstance(b, np.ndarray):
            return float(np.linalg.norm(b)), float(np.linalg.norm(b - self._system.multiply(x)))
        check = self._solve_column(b, x, None, {**overrides, "atol": 1e300}, x)
        residual, relative = check["residual_norm"], check["true_residual"]
        return residual / relative if relative else 0.0, residual

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise Unsupported("this solver was set up before a fork and works in the parent process only")

    def _solution(
        self, raws: list[dict[str, Any]], vectors: HostVectors | GpuVectors, overrides: dict[str, Any]
    ) -> Solution:
        reports = tuple(self._report(raw, overrides) for raw in raws)
        worst = max(reports, key=lambda report: report.iterations)
        worst = next((report for report in reports if not report.converged), worst)
        parts = [raw["x"] for raw in raws]
        if any(part is None for part in parts):
            return Solution(None, worst, reports)
        return Solution(vectors.joined(parts), worst, reports)

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
    check_on_failure(on_failure)
    solver = Solver(A, **options)
    return solver.solve(b, x0, on_failure=on_failure, callback=callback)


def matrix_bytes(system: System) -> int:
    """What the arrays of CSR take, of A and of an M that is a matrix."""
    held = (system.rows, system.given.get("inverse"))
    return sum(array.nbytes for rows in held if rows is not None for array in rows.arrays())


def looks(every: Any, with_x: Any) -> dict[str, Any]:
    """What the core is told of a callback that is to be called after certain iterations."""
    if not isinstance(every, numbers.Integral) or isinstance(every, bool) or every < 0:
        raise BadArgument(f"callback_every is a number of iterations, or 0, not {every!r}")
    if with_x and not every:
        raise BadArgument(
            "callback_x needs callback_every: x is gathered at iterations that are known beforehand"
        )
    return {"look_every": int(every), "look_x": bool(with_x)} if every else {}
