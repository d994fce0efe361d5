"""Solving from Python: :class:`Solver`, for many systems with the same matrix."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from . import _nullspace, _options, _order
from ._advice import Suitability, require_hermitian_preconditioner
from ._at_once import AtOnce
from ._callbacks import Callback, Relay, checked_callback, heeded, looks
from ._core_solver import CoreSolver
from ._device import GpuVectors, handed, is_complex_array, taken
from ._matrix import new_values
from ._native import core, translated
from ._numbers import RealSystem, holds_complex, numbers, solve_by_parts, words
from ._placement import place, reckoned_with, warn_of_unheeded
from ._solution import Solution, check_on_failure, collected, deliver, in_single, in_turn, reported
from ._system import as_system, entries_of, in_rows, matrix_bytes, with_fields
from ._together import Together
from ._vectors import HostVectors
from .errors import BadArgument, Unsupported
from .log import logger

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import PerSolve, SolverOptions


class Solver:
    """A system set up once and solved many times.

    Parameters
    ----------
    A : sparse matrix or array of SciPy or CuPy, dense array, or LinearOperator, shape (n, n), real or complex
        A matrix is copied, one on a GPU to the CPU, where its rows are dealt out: later changes to A do not reach
        the solver; :meth:`update_values` does. A LinearOperator works with ``solver="cg"`` and ``"bicgstab"`` (the
        default for it) on any number of ranks: for each product the vector is gathered, `matvec` is called once,
        on a thread of rank 0, and the result is dealt out.
    M : str, sparse or dense array, LinearOperator, function of a vector or hierarchy, optional
        The preconditioner: a word of the option `precond` (``"jacobi"``, ``"block-ilu"``, ``"ic0"``, ...), or
        an approximation of the inverse of A. One that is diagonal is fused into the solver's updates; any other
        one works with methods of conjugate gradients, ``gmres`` and ``bicgstab`` (twice an iteration), one that changes
        with ``fcg`` and ``gmres``: a matrix is
        distributed, functions are called as a LinearOperator A is; of a coarser :class:`HMatrix`, ``gmres`` takes
        `inner` steps of BiCGStab; of ``levels`` with ``A`` and ``P``, one cycle with Chebyshev polynomials is taken; a
        :class:`FactorizedTriangle` L is L^-1, ``L.cholesky()`` (L L^H)^-1, and the pair ``(L, U)`` (L U)^-1.
    nullspace : array_like, shape (n,) or (n, k), or "constant", optional
        What a singular A maps to zero, by columns of any basis. b is then projected onto the range of A, x is
        orthogonal to the nullspace, and what is verified is ``||P b - A x|| <= max(rtol ||P b||, atol)``:
        ``report.outside_norm`` and the reason say how much of b was taken away. Refused if A does not map it to
        zero. Cost: k or 2 k vectors of memory where the ranks compute and in each process, O(k nnz) at setup, a
        few reductions a solve, none an iteration (one for every 4 vectors and each use of an `M` that is no
        diagonal); of a complex A twice the vectors. Complex ones are for a complex A; P projects with V V^H.
    left_nullspace : array_like or "constant", optional
        What the transpose of A maps to zero, the conjugate transpose of a complex A, where that is something else:
        where A is not symmetric, or not Hermitian.
    callback_every : int
        0: callbacks are called some ten times a second, at no cost to the iteration. m: after every m-th
        iteration, on a thread of rank 0, for which all ranks wait; on GPUs the loop is then no graph.
        Iterations are counted anew after restarts and residual replacements.
    callback_x : bool
        Whether the callback also gets a copy of x, shape (n,), which is gathered for it: 8 bytes a row every
        m iterations, and 16 n bytes of memory on rank 0. Needs `callback_every`.
    machine : str, path or dict, optional
        The described machine of ``engine="model"``; on other engines what ``solver="auto"`` goes by.
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
    with new right-hand sides or new values allocate nothing, but where :meth:`update_values` says
    so. The GIL is released while solving; one solver may be used from several threads, one solve at
    a time. Under MPI every process calls with the same matrix and right-hand side.

    Examples
    --------
    >>> with sordino.Solver(A, solver="cg", precond="jacobi") as s:    # doctest: +SKIP
    ...     x = s.solve(b, rtol=1e-8).x
    """

    def __init__(
        self,
        A: Any,
        *,
        M: Any = None,
        nullspace: Any = None,
        left_nullspace: Any = None,
        callback_every: int = 0,
        callback_x: bool = False,
        machine: Any = None,
        **options: Unpack[SolverOptions],
    ) -> None:
        M, asked = _options.apart(M, options)
        system = as_system(A, M)
        self.n = system.n
        self.nnz = entries_of(system)
        self._looks = looks(callback_every, callback_x)
        self._null, asked = _nullspace.apart(nullspace, left_nullspace, asked, system.n, system.complex)
        self._options, self._machine = place(_options.check(asked), system.n, machine)
        system, self._order = _order.ordered(system, self._options)
        self._system = system  # the core views its arrays
        self._null = {name: self._order.into(vectors) for name, vectors in self._null.items()}
        self._single = system.single and int(core().mpi()["size"]) == 1
        described = reckoned_with(self._options, machine)
        given = {**system.extras(), **_nullspace.in_words(self._null), **self._order.given, **self._looks}
        self._held = CoreSolver(system, self._order, self._options, described, given)
        native = self._held.native()
        require_hermitian_preconditioner(system, native.method())
        warn_of_unheeded(self._options, native.method(), coarse="coarse" in system.given)
        self._suits = Suitability(system, self._order.places, self.options["solver"], native.method())
        others = bool(self._looks) or _nullspace.named(self._null, self._options)
        self._together = AtOnce.of(native, system) or Together.of(system, self._options, others)

    @property
    def options(self) -> dict[str, Any]:
        """All options in force, defaults included."""
        return {name: spec.default for name, spec in _options.specs().items()} | self._options

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
        **options: Unpack[PerSolve],
    ) -> Solution:
        """Solve A x = b.

        Parameters
        ----------
        b : array_like, shape (n,) or (n, k), real or complex
            NumPy, or anything of the CPU or an NVIDIA GPU with ``__dlpack__`` (torch, CuPy). Columns are solved in
            turn, those of an H-matrix, from the CPU, 8 at once (complex ones on engine host); options such as
            ``time_limit`` are for each. So are real and imaginary part, if the matrix is real. From a GPU, ranks on
            GPUs copy their rows; work of the library's current stream is waited for, and x is complete on return.
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
        self._native()
        overrides = _options.check(options, allowed=_options.PER_SOLVE)
        as_numbers = self._system.complex or is_complex_array(b) or is_complex_array(x0)
        vectors = taken(b, self.n, "b", as_numbers)
        columns = [self._order.into(column) for column in vectors.columns]
        guesses = [None] if x0 is None else taken(x0, self.n, "x0", as_numbers).columns
        starts = [self._order.into(guess) for guess in guesses]
        if len(starts) not in (1, len(columns)):
            raise BadArgument(f"x0 has {len(starts)} columns, and b has {len(columns)}")
        starts = starts * len(columns) if len(starts) == 1 else starts
        callback = self._order.seen(checked_callback(callback, bool(self._looks.get("look_x"))))
        if self._together is not None and self._together.takes(columns, starts):
            raws = self._solve_together(self._together, callback, columns, starts, overrides)
        else:
            one = partial(self._solve_column, callback)
            raws = in_turn(one, columns, starts, vectors.places(), overrides)
        if self._single and vectors.single:
            raws = [self._rounded(raw, c, vectors, overrides) for raw, c in zip(raws, columns, strict=True)]
        solution = self._solution(raws, vectors, overrides)
        return deliver(solution, on_failure)

    def update_values(self, values: Any) -> None:
        """Give the matrix new values in the same pattern; nothing is set up or allocated anew, but once, as ``dia``,
        what ``storage="auto"`` stored as ``symdia``, if the new values are not symmetric bit by bit, and with
        ``precond="amg"`` or ``"mg"`` all, if a solve since the last setup took clearly more iterations than the first
        ones (half as many again, and 5): aggregates are of the entries. ``report.levels_reason`` says so.

        Parameters
        ----------
        values : array_like, shape (nnz,), sparse matrix, shape (n, n), or GridMatrix
            In the order of ``A.data``, if A was CSR with sorted columns and no duplicates;
            otherwise a matrix with the same pattern. Those on a GPU are copied to the CPU first. Of a GridMatrix
            another one of as many cells, on the CPU or a GPU, whose levels are made where it lies.

        Raises
        ------
        BadArgument
            Another pattern or length, NaN or infinity, bare values in an unknown order, or not as ``storage`` needs.

        Warns
        -----
        AsymmetryWarning
            The method needs a symmetric matrix, and this one no longer is.
        """
        self._native()
        if system := with_fields(self._system, values):
            with self._held.turn.alone():
                self._held.update_fields(system)
                self._system = system
            self._suits.forget()
            return
        held = self._system.rows
        assert held is not None
        data = self._order.values(new_values(in_rows(values), self._order.rows or held))
        with self._held.turn.alone():
            self._held.update(held, data)
        self._suits.look(held)

    def aspreconditioner(self, **options: Unpack[PerSolve]) -> LinearOperator:
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
        kind = np.complex128 if self._system.complex else np.float64
        return LinearOperator(
            (self.n, self.n), dtype=kind, matvec=lambda r: self.solve(r, on_failure="return", **settings).x
        )

    def time_product(self, pairs: int = 50) -> float:
        """Seconds of one product y = A x with its halo, replayed ``2 * pairs`` times as in a solve."""
        self._native()
        with self._held.turn.alone(), translated():
            return float(self._native().time_product(pairs))

    def memory(self) -> dict[str, Any]:
        """Bytes held.

        Returns
        -------
        dict
            ``bytes_per_rank``, a list: vectors and the stored matrix where each rank of this process
            computes; ``first_rank``, of this process; ``matrix_bytes``: this process's copy of the matrix, from
            which ranks of the host read its values, or that made of a grid's fields.
            :func:`sordino.estimate_memory` foretells them.
            ``device_allocations``, a list: pieces of device and pinned memory, graphs and events made for
            each rank so far, which later solves and new values leave as they are; 0 on the host.
        """
        with translated():
            held = self._native().memory()
        held["matrix_bytes"] += matrix_bytes(self._system)
        return held

    def close(self) -> None:
        """Give back the matrix, the vectors and the engine with its threads or GPUs, once a solve under way has ended.

        Closing again is allowed; solves and new values are then refused. A solver that is dropped is closed, too.
        """
        if not self._held.is_of_this_process:
            return  # threads and devices are those of the process that made it
        with self._held.turn.alone():
            self._held.close()
            self._together = None
            self._system = replace(self._system, rows=None, given={})
            self._null, self._order = {}, _order.Order()

    def __enter__(self) -> Solver:
        self._native()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._held.closed:
            return "<sordino.Solver, closed>"
        options = self.options
        ranks = f"{options['ranks']} rank{'' if options['ranks'] == 1 else 's'}"
        entries = f"{self.nnz:,} entries" if self._system.rows else self._system.stands_as
        return (
            f"<sordino.Solver of {self.n:,} rows, {entries}; solver {options['solver']}, "
            f"engine {options['engine']}, {ranks}>"
        )

    def __reduce__(self) -> Any:
        raise Unsupported(
            "a Solver holds threads, memory of devices and views of arrays, and cannot be pickled or copied: "
            "set one up in each process; solutions and errors can be pickled"
        )

    def _solve_column(
        self, callback: Callback | None, b: Any, x0: Any, overrides: dict[str, Any], place: Any = None
    ) -> dict[str, Any]:
        """One solve; x is a new array of NumPy's, or where there is a `place` for it, that."""
        if not (self._system.complex or holds_complex(b) or holds_complex(x0)):
            return self._solve_words(b, x0, callback, overrides, place)
        if self._system.complex:
            b, x0 = (None if v is None else v.astype(np.complex128, copy=False) for v in (b, x0))
            raw = self._solve_words(words(b), None if x0 is None else words(x0), callback, overrides)
            return {**raw, "x": None if raw["x"] is None else numbers(np.asarray(raw["x"]))}
        asked = {name: self.options[name] for name in ("rtol", "atol")}
        real = RealSystem(self._solve_words, self._system.multiply, self._reach)
        return solve_by_parts(real, b, x0, callback, {**asked, **overrides})

    def _solve_together(self, solver: AtOnce | Together, callback: Callback | None, *sides: Any) -> list[Any]:
        relay = Relay(callback)
        with self._held.turn.alone():
            self._held.turn.relay = relay
            raws = solver.solve(relay if callback else None, *sides)
        for raw in raws:
            relay.settle(raw)
        return raws

    def _solve_words(
        self, b: Any, x0: Any, callback: Callback | None, overrides: dict[str, Any], place: Any = None
    ) -> dict[str, Any]:
        if self._looks and callback is None:
            logger.warning(
                "option 'callback_every' has every rank wait for a callback, and this solve has none"
            )
        relay = Relay(callback, bool(self._looks.get("look_x")), self._system.complex)
        calls = {} if callback is None else {"look" if self._looks else "progress": relay}
        vectors = {"x": handed(place)} if place is not None else {}
        with self._held.turn.alone(), heeded(self._system.functions), translated():
            self._held.turn.relay = relay
            raw = dict(self._native().solve(handed(b), handed(x0), options=overrides, **calls, **vectors))
            self._held.levels.note(raw)
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

    def _reach(self, v: np.ndarray) -> np.ndarray:
        """What of v is in the range of A, as far as a nullspace says."""
        return _nullspace.taken_out(v, self._null, self.options.get("nullspace"))

    def _norms(self, b: Any, x: Any, overrides: dict[str, Any]) -> tuple[float, float]:
        """``||b||`` and ``||b - A x||``; on GPUs x, which is written again, is a first guess that is good enough."""
        if isinstance(b, np.ndarray):
            left = b - self._system.multiply(x)
            return float(np.linalg.norm(self._reach(b))), float(np.linalg.norm(self._reach(left)))
        check = self._solve_column(None, b, x, {**overrides, "atol": 1e300}, x)
        residual, relative = check["residual_norm"], check["true_residual"]
        return residual / relative if relative else 0.0, residual

    def _native(self) -> Any:
        return self._held.native()

    def _solution(
        self, raws: list[dict[str, Any]], vectors: HostVectors | GpuVectors, overrides: dict[str, Any]
    ) -> Solution:
        null = partial(_nullspace.vectors, self._null, self.options, self.n)
        raws = [self._suits.advised(self._held.told(raw, self._system), self._system, null) for raw in raws]
        asked, problem = {**self.options, **overrides}, {"n": self.n, "nnz": self.nnz}
        reports = tuple(reported(raw, asked, problem, self._machine) for raw in raws)
        return collected([self._order.back(raw["x"]) for raw in raws], reports, vectors.joined)
