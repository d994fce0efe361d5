"""For programs that run on MPI already: :class:`RowsSolver`, to which each process hands the rows that it has."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from . import _nullspace, _options
from ._core_rows import CoreRows, Refused
from ._matrix import MOST_ROWS, as_vector
from ._native import core, translated
from ._placement import check_transport, describe, reckoned_with
from ._solution import Solution, check_on_failure, deliver
from ._vectors import host_array, restorer
from .errors import BadArgument, SordinoError, Unsupported
from .log import logger
from .report.record import Report

T = TypeVar("T")


class RowsSolver:
    """A solver whose rows stay with the processes that have them: each passes its own, and keeps them.

    Process p of `comm` holds consecutive rows of A, one at least, and the same entries of b and x; the rows of
    process p + 1 follow on those of process p. No process ever has all of A, b or x.

    Parameters
    ----------
    comm : mpi4py or petsc4py communicator, or None
        Its processes; a duplicate of it carries the messages. MPI must be running with ``MPI_THREAD_SERIALIZED``
        at least, as mpi4py starts it, and is neither initialised nor finalised here. None: this process alone,
        which has all rows; MPI is then not touched.
    indptr : array_like of integers, shape (rows + 1,), or SciPy matrix in CSR form, shape (rows, n)
        From 0 to the number of entries. int64 is viewed without a copy. Of a matrix, which has this process's rows
        and the columns of the whole, the three arrays are taken.
    indices : array_like of integers, shape (entries,)
        Column numbers in the whole matrix, which has fewer than 2^31 rows; increasing within a row. int32 is
        viewed without a copy, int64 is narrowed.
    data : array_like of real numbers, shape (entries,)
        Copied, as float64.
    first_row : int, optional
        Number of the first of these rows in the whole matrix. By default they follow on those of the processes
        before.
    nullspace, left_nullspace : array_like, shape (rows,) or (rows, k), or "constant", optional
        As of :class:`sordino.Solver`: of each vector the entries of this process, as many vectors in all processes.
        What vectors others have is looked at by an engine of its own at setup and at new values, which lays out the
        rows for a while.
    machine : str, path or dict, optional
        A described machine, the same in all processes: what ``solver="auto"`` goes by, and, in one process, what
        ``engine="model"`` runs on.
    **options
        Those of :class:`sordino.Solver`, the same in all processes but for ``ranks`` (of each process; one,
        unless said otherwise, if there are several) and ``devices``. ``engine="model"`` and the solver
        ``gatherbicgstab`` are for one process; ``precond="mg"`` and what needs the whole diagonal are refused.

    Raises
    ------
    BadArgument, Unsupported
        What one process refuses, all refuse, with the same sentence, which names the process. Of `comm` alone
        each process judges for itself.
    PeerFailed
        A process has not come within `timeout` seconds.

    Notes
    -----
    Collective: all processes make the same calls in the same order, and wait for each other. Arrays that are
    viewed must stay as they are while the solver lives.

    Setup is O(entries) and O(processes) numbers, and 12 bytes an entry besides what is viewed. While a method
    runs, other threads of a process make no MPI calls unless MPI grants ``MPI_THREAD_MULTIPLE``. The GIL is
    released. Close solvers, or drop them, before MPI is finalised; those that are left at the end of the
    program are closed in time.

    Examples
    --------
    >>> from mpi4py import MPI                                                    # doctest: +SKIP
    >>> with sordino.RowsSolver(MPI.COMM_WORLD, indptr, indices, data) as solver:  # doctest: +SKIP
    ...     x = solver.solve(b).x
    """

    def __init__(
        self,
        comm: Any,
        indptr: npt.ArrayLike | sp.csr_array | sp.csr_matrix,
        indices: npt.ArrayLike | None = None,
        data: npt.ArrayLike | None = None,
        first_row: int | None = None,
        machine: Any = None,
        nullspace: Any = None,
        left_nullspace: Any = None,
        **options: Any,
    ) -> None:
        foreign = _foreign(comm)
        arrays, no_arrays = _judged(lambda: _rows(indptr, indices, data))
        self._rows = len(arrays[0]) - 1 if arrays else 0
        null, no_null = _judged(lambda: _nullspace.apart(nullspace, left_nullspace, options, self._rows))
        given, settings = null or ({}, options)
        asked, refused = _judged(lambda: _asked(settings, machine))
        checked, self._machine, described = asked or ({}, None, None)
        first, no_row = _judged(lambda: _first(first_row))
        self._options = checked
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._nnz = len(arrays[1]) if arrays else 0
        start, columns = -1 if first is None else first, _columns(indptr)
        unusable = refused or no_arrays or no_row or no_null

        def make(values: np.ndarray | None, refused: Refused | None) -> Any:
            taken = arrays if values is None or arrays is None else (*arrays[:2], values)
            no = refused or unusable
            return core().RowsSolver(foreign, taken, start, checked, no, columns, described, given)

        self._held = CoreRows(make, self._nnz)
        # One that is left at the end of the program goes before mpi4py finalises MPI there.
        self._closing = weakref.finalize(self, self._held.close)

    def close(self) -> None:
        """End the solver: its threads, its memory, its duplicate of the communicator. Every process comes here, but
        they do not wait for each other. Closing again is allowed; all else then raises BadArgument."""
        with self._lock:
            self._closing()

    def __enter__(self) -> RowsSolver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n(self) -> int:
        """Rows of the whole matrix."""
        return int(self._native().n)

    @property
    def rows(self) -> int:
        """Rows of this process."""
        return self._rows

    @property
    def nnz(self) -> int:
        """Stored entries of this process."""
        return self._nnz

    @property
    def first_row(self) -> int:
        """Number of the first row of this process in the whole matrix."""
        return int(self._native().first_row)

    @property
    def ranks(self) -> int:
        """Ranks of all processes."""
        return int(self._native().ranks)

    @property
    def options(self) -> dict[str, Any]:
        """All options in force, defaults included."""
        defaults = {name: spec.default for name, spec in _options.specs().items()}
        return {**defaults, **self._options}

    def solve(self, b: Any, x0: Any = None, *, on_failure: str = "raise", **options: Any) -> Solution:
        """Solve A x = b. Collective.

        Parameters
        ----------
        b : array_like, shape (rows,)
            The entries of this process. NumPy, or anything in memory of the CPU with ``__dlpack__``; float64 is
            viewed without a copy.
        x0 : array_like, shape (rows,), optional
            First guess; zero in the processes that give none.
        on_failure : {"raise", "warn", "return"}
            What happens when the solve ends without a verified solution: in all processes alike.
        **options
            ``rtol``, ``atol``, ``maxiter``, ``time_limit`` for this solve only, the same in all processes.

        Returns
        -------
        Solution
            Its ``x`` has shape (rows,), the entries of this process, in float64 also where b is float32. The same
            distribution of rows gives the same bits. Counts and times are those of the first rank of this process.

        Raises
        ------
        NotConverged
            With ``on_failure="raise"``; carries the solution. Ctrl-C in one process ends the solve in all of
            them as ``interrupted``; in Python that raises :class:`~sordino.Interrupted` in each.
        BadArgument
            Of what one process refuses; the solver goes on.
        DeviceError, PeerFailed
            The solver is spoilt: close it.
        """
        self._native()
        given, refused = _judged(lambda: self._vectors(b, x0))
        overrides, no_options = _judged(lambda: _per_solve(options, on_failure))
        right, start = given or (None, None)
        with self._lock, translated():
            # The one that is there now: another thread's new values may have made it anew.
            raw = dict(self._native().solve(right, start, overrides or {}, refused or no_options))
        self._held.levels.note(raw)
        report = self._report(raw, overrides or {})
        return deliver(Solution(restorer(b)(raw["x"]), report, (report,)), on_failure)

    def update_values(self, values: npt.ArrayLike) -> None:
        """Give the matrix new values in the same pattern; nothing is set up anew, but with ``precond="amg"`` all, as
        by :meth:`sordino.Solver.update_values`, where levels are worn: the new ones come before the old ones go.
        Collective.

        Parameters
        ----------
        values : array_like of real numbers, shape (entries of this process,)
            In the order of `data`. Copied.

        Raises
        ------
        BadArgument
            In all processes, with the same sentence; the old values stay.
        """
        self._native()
        data, refused = _judged(lambda: self._new_values(values))
        with self._lock:
            self._held.update(data, refused)

    def __repr__(self) -> str:
        if not self._closing.alive:
            return "<sordino.RowsSolver, closed>"
        last = self.first_row + self.rows - 1
        return f"<sordino.RowsSolver of {self.n:,} rows, {self.first_row:,} to {last:,} here, {self.ranks} ranks>"

    def _native(self) -> Any:
        if os.getpid() != self._process:
            raise Unsupported("this solver was set up before a fork and works in the parent process only")
        if not self._closing.alive:
            raise BadArgument("this solver has been closed")
        return self._held.native

    def _vectors(self, b: Any, x0: Any) -> tuple[np.ndarray, np.ndarray | None]:
        return self._vector(b, "b"), None if x0 is None else self._vector(x0, "x0")

    def _new_values(self, values: Any) -> np.ndarray:
        data = _real(values, "the array of new values")
        if len(data) != self._nnz:
            raise BadArgument(f"the array of new values has {len(data)} values, and {self._nnz} are expected")
        return data

    def _vector(self, values: Any, what: str) -> np.ndarray:
        values = host_array(values, what)
        if np.shape(values) != (self._rows,):
            raise BadArgument(
                f"{what} has shape {np.shape(values)}, and this process has {self._rows:,} rows"
            )
        if np.iscomplexobj(values):
            raise BadArgument(f"{what} is complex, and a RowsSolver solves real systems only")
        return as_vector(values, self._rows, what)

    def _report(self, raw: dict[str, Any], overrides: dict[str, Any]) -> Report:
        names = ("solver", "s", "precond", "storage", "engine", "ranks")
        chosen = {name: raw[name] for name in names if name in raw}
        report = Report.from_core(
            self._held.levels.told(raw, self.n),
            options={**self.options, **overrides, **chosen},
            problem={"n": self.n, "rows": self._rows, "nnz": self._nnz},
            machine=self._machine,
        )
        logger.info("%s after %d iterations: %s", report.status, report.iterations, report.reason)
        return report


def _judged(job: Callable[[], T]) -> tuple[T | None, Refused | None]:
    """What `job` returns, or what it refuses, for all processes to hear."""
    try:
        return job(), None
    except SordinoError as error:
        return None, (error.code, str(error))
    except Exception as error:
        return None, (
            "bad_argument",
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
        )


def _asked(
    options: dict[str, Any], machine: Any
) -> tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any] | None]:
    """Checked options, the machine of the ``model`` engine, and the numbers of what ``solver="auto"`` goes by."""
    checked = _options.check(options)
    engine = checked.get("engine", "auto")
    if engine == "auto" and not core().devices()["devices"]:
        engine = "host"
    if engine not in ("auto", "cuda"):
        check_transport(engine, checked.get("transport", "auto"))
    placed = {**checked, "engine": engine}
    return checked, describe(placed, machine), reckoned_with(placed, machine)


def _per_solve(options: dict[str, Any], on_failure: str) -> dict[str, Any]:
    check_on_failure(on_failure)
    return _options.check(options, allowed=_options.PER_SOLVE)


def _first(first_row: Any) -> int:
    """-1 stands for: after those of the processes before."""
    if first_row is None:
        return -1
    if isinstance(first_row, bool) or not isinstance(first_row, (int, np.integer)) or first_row < 0:
        raise BadArgument(f"first_row is the number of a row, counted from 0, not {first_row!r}")
    return int(first_row)


def _rows(indptr: Any, indices: Any, data: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays as the core views them. Whether they are rows of a usable matrix is judged there."""
    if sp.issparse(indptr):
        indptr, indices, data = _of_matrix(indptr, indices, data)
    elif indices is None or data is None:
        raise BadArgument("rows are three arrays, indptr, indices and data, or one SciPy matrix in CSR form")
    starts, columns = _whole(indptr, "indptr").astype(np.int64, copy=False), _whole(indices, "indices")
    values = _real(data, "data")
    if len(starts) < 2:
        raise BadArgument("there are no rows here, and every process must hold one at least")
    if starts[0] != 0:
        raise BadArgument(f"indptr must begin with 0, not with {starts[0]}")
    falls = np.flatnonzero(starts[1:] < starts[:-1])
    if falls.size:
        raise BadArgument(f"indptr decreases at position {falls[0] + 1}")
    if not starts[-1] == len(columns) == len(values):
        raise BadArgument(
            f"indptr ends with {starts[-1]:,}, and there are {len(columns):,} indices and {len(values):,} values"
        )
    if columns.dtype != np.int32:
        low, high = int(columns.min(initial=0)), int(columns.max(initial=0))
        if low < 0 or high >= MOST_ROWS:
            wrong = low if low < 0 else high
            raise BadArgument(f"column number {wrong} is out of range: a matrix has fewer than 2^31 rows")
    return np.ascontiguousarray(starts), np.ascontiguousarray(columns, dtype=np.int32), values


def _of_matrix(rows: Any, indices: Any, data: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if indices is not None or data is not None:
        raise BadArgument("rows are one SciPy matrix, or three arrays, and not a matrix and arrays")
    if rows.format != "csr":
        raise BadArgument(
            f"the rows are a SciPy matrix in {rows.format} form, and CSR is needed: use tocsr()"
        )
    return rows.indptr, rows.indices, rows.data


def _columns(rows: Any) -> int:
    """Of a matrix; -1 where rows are arrays, which do not say."""
    return int(rows.shape[1]) if sp.issparse(rows) else -1


def _whole(values: Any, what: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise BadArgument(f"{what} must be a 1-d array of integers, not {array.dtype} of shape {array.shape}")
    return array


def _real(values: Any, what: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise BadArgument(f"{what} is complex, and a RowsSolver solves real systems only")
    if array.dtype.kind not in "fiub" or array.ndim != 1:
        raise BadArgument(
            f"{what} must be a 1-d array of real numbers, not {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array, dtype=np.float64)


def _foreign(comm: Any) -> dict[str, Any] | None:
    """Where the handle of an mpi4py communicator lies, and that of its world; None of None."""
    if comm is None:
        return None
    if hasattr(comm, "tompi4py"):  # petsc4py's
        try:
            comm = comm.tompi4py()
        except ImportError as missing:
            raise Unsupported(f"a communicator of petsc4py comes by way of mpi4py ({missing})") from None
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(comm, mpi.Comm):
        raise BadArgument(
            f"comm is a communicator of mpi4py or petsc4py, or None, not a {type(comm).__name__}"
        )
    return {
        "handle": mpi._addressof(comm),
        "bytes": mpi._sizeof(comm),
        "world": mpi._addressof(mpi.COMM_WORLD),
        "library": mpi.Get_library_version(),
        "comm": comm,  # which lives as long as its address is used
    }
