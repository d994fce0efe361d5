"""Ranks that exchange NumPy arrays: :func:`run` and the :class:`Communicator` of a job."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ._native import core, translated
from .errors import BadArgument

T = TypeVar("T")
Array = np.ndarray[Any, Any]


def run(
    ranks: int,
    job: Callable[[Communicator], T],
    *,
    engine: str = "host",
    timeout: float = 60.0,
    progress: str = "commands",
) -> list[T]:
    """Call ``job(comm)`` on each rank, and return what the ranks of this process returned.

    Parameters
    ----------
    ranks : int
        Of this process; each is a thread. Under ``mpirun`` all processes call ``run``, and their
        ranks are numbered over all of them.
    job : function
        Gets the rank's :class:`Communicator`, which ends with the run.
    engine : {"host", "cuda"}
        ``cuda`` gives each rank a GPU; the arrays are NumPy's all the same.
    timeout : float
        Seconds without any rank's progress after which a wait gives up, and says for whom it waited;
        0: never.
    progress : {"commands", "thread"}
        Whether what was started goes on only while its rank communicates, or by a thread of its own.

    Returns
    -------
    list
        [rank] of this process.

    Raises
    ------
    PeerFailed
        An exception of a job: the sentence names its rank, and the exception itself is its cause
        (``__cause__``). All other ranks stop where they communicate next.
    KeyboardInterrupt
        Ctrl-C; ranks stop where they communicate, or at their next line of Python.

    Notes
    -----
    Python runs one rank at a time, but for NumPy and whatever else releases the GIL. Waiting does.
    """
    if engine not in ("host", "cuda"):
        raise BadArgument(f"the ranks of a Python job are threads, of engine host or cuda, not '{engine}'")
    results: dict[int, T] = {}
    failures: list[BaseException] = []

    def call(native: Any) -> None:
        try:
            results[native.rank] = job(Communicator(native))
        except BaseException as failure:
            failures.append(failure)
            raise

    options = {"engine": engine, "ranks": ranks, "timeout": float(timeout), "progress": progress}
    try:
        with translated():
            core().run(call, options)
    except Exception as error:
        cause = failures[0] if failures else None
        raise error from cause
    return [results[rank] for rank in sorted(results)]


class Pending(Generic[T]):
    """A communication under way. It must be waited for, once; dropping it gives a ``ResourceWarning``."""

    def __init__(self, native: Any, finish: Callable[[Any], T]) -> None:
        self._native = native
        self._finish = finish
        self._waited = False

    def test(self) -> bool:
        """Whether :meth:`wait` would return at once. Does not wait; lets all that its rank has started go on."""
        with translated():
            return bool(self._native.test())

    def wait(self) -> T:
        """Wait, with the run's timeout, and return what the blocking form returns."""
        self._waited = True
        with translated():
            return self._finish(self._native.wait())

    def __del__(self) -> None:
        if not getattr(self, "_waited", True):
            warnings.warn("a communication was started and never waited for", ResourceWarning, stacklevel=2)


class Communicator:
    """What one rank says to the others: mpi4py's words, on NumPy arrays of any shape.

    Receivers need not know type and shape. What is sent is copied, and the caller's at once again;
    what is received is the receiver's own. All ranks call the same collectives in the same order;
    each has a form that starts it, ``i...``, and returns a :class:`Pending`. Several may be under
    way, and be waited for in any order.
    """

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def rank(self) -> int:
        """Number of this rank, from 0, over all processes."""
        return int(self._native.rank)

    @property
    def size(self) -> int:
        """Number of ranks of all processes."""
        return int(self._native.size)

    # --- between two ranks ----------------------------------------------------------------------

    def send(self, array: npt.ArrayLike, dest: int, tag: int = 0) -> None:
        """Send to one rank. Does not wait. Messages with one tag arrive in order."""
        with translated():
            self._native.send(_packed(array), dest, tag)

    def recv(self, source: int, tag: int = 0) -> Array:
        """Wait for the next message of one rank."""
        return self.irecv(source, tag).wait()

    def irecv(self, source: int, tag: int = 0) -> Pending[Array]:
        """As :meth:`recv`, later. Messages go to receives in the order in which these were started."""
        return self._start(lambda: self._native.receive(source, tag), _unpacked)

    # --- all ranks --------------------------------------------------------------------------------

    def barrier(self) -> None:
        """Return when all ranks have called it; ceil(log2 P) messages a rank."""
        self.ibarrier().wait()

    def ibarrier(self) -> Pending[None]:
        """As :meth:`barrier`, later."""
        return self._start(self._native.barrier, lambda _: None)

    def bcast(self, array: npt.ArrayLike | None = None, root: int = 0) -> Array:
        """The root's array, on every rank; P - 1 messages, depth log4 P."""
        return self.ibcast(array, root).wait()

    def ibcast(self, array: npt.ArrayLike | None = None, root: int = 0) -> Pending[Array]:
        """As :meth:`bcast`, later."""
        mine = self._of_root(array, root, "an array")
        return self._start(lambda: self._native.broadcast(_packed(mine), root), _unpacked)

    def reduce(self, array: npt.ArrayLike, op: str = "sum", root: int = 0) -> Array | None:
        """All ranks' arrays, added up (or ``op``), on the root; None elsewhere. P - 1 messages, depth log2 P."""
        return self.ireduce(array, op, root).wait()

    def ireduce(self, array: npt.ArrayLike, op: str = "sum", root: int = 0) -> Pending[Array | None]:
        """As :meth:`reduce`, later."""
        mine, is_root = _numbers(array), self.rank == root
        return self._start(
            lambda: self._native.reduce(np.ravel(mine), op, root),
            lambda values: values.reshape(mine.shape) if is_root else None,
        )

    def allreduce(
        self,
        array: npt.ArrayLike,
        op: str = "sum",
        algorithm: str = "automatic",
        degrees: tuple[int, int] = (2, 4),
    ) -> Array:
        """All ranks' arrays, of one shape and type, added up, with the same bits on every rank.

        ``op`` is sum, product, min or max. Integers that overflow wrap around; min and max are NaN
        where any value is. ``algorithm``: those of ``sordino bench comm``; ``degrees``: of the trees that
        reduce and broadcast where it is ``tree``, 2 to 4.
        """
        return self.iallreduce(array, op, algorithm, degrees).wait()

    def iallreduce(
        self,
        array: npt.ArrayLike,
        op: str = "sum",
        algorithm: str = "automatic",
        degrees: tuple[int, int] = (2, 4),
    ) -> Pending[Array]:
        """As :meth:`allreduce`, later."""
        mine = _numbers(array)
        return self._start(
            lambda: self._native.all_reduce(np.ravel(mine), op, algorithm, *degrees),
            lambda values: values.reshape(mine.shape),
        )

    def gather(self, array: npt.ArrayLike, root: int = 0) -> list[Array] | None:
        """[rank] all arrays, on the root; None elsewhere. P - 1 messages, depth 1."""
        return self.igather(array, root).wait()

    def igather(self, array: npt.ArrayLike, root: int = 0) -> Pending[list[Array] | None]:
        """As :meth:`gather`, later."""
        is_root = self.rank == root
        return self._start(
            lambda: self._native.gather(_packed(array), root),
            lambda parts: _all_unpacked(parts) if is_root else None,
        )

    def allgather(self, array: npt.ArrayLike) -> list[Array]:
        """[rank] all arrays, on every rank. P - 1 messages a rank, depth 1."""
        return self.iallgather(array).wait()

    def iallgather(self, array: npt.ArrayLike) -> Pending[list[Array]]:
        """As :meth:`allgather`, later."""
        return self._start(lambda: self._native.all_gather(_packed(array)), _all_unpacked)

    def scatter(self, arrays: Sequence[npt.ArrayLike] | None = None, root: int = 0) -> Array:
        """The array that the root has for this rank, of one for each. P - 1 messages of the root, depth 1."""
        return self.iscatter(arrays, root).wait()

    def iscatter(self, arrays: Sequence[npt.ArrayLike] | None = None, root: int = 0) -> Pending[Array]:
        """As :meth:`scatter`, later."""
        mine = self._of_root(arrays, root, "an array for each rank")
        return self._start(
            lambda: self._native.scatter([_packed(a) for a in mine] if self.rank == root else [], root),
            _unpacked,
        )

    def alltoall(self, arrays: Sequence[npt.ArrayLike]) -> list[Array]:
        """``arrays[q]`` goes to rank q; [q] what rank q had for this one. P - 1 messages a rank, depth 1."""
        return self.ialltoall(arrays).wait()

    def ialltoall(self, arrays: Sequence[npt.ArrayLike]) -> Pending[list[Array]]:
        """As :meth:`alltoall`, later."""
        return self._start(lambda: self._native.all_to_all([_packed(a) for a in arrays]), _all_unpacked)

    # ----------------------------------------------------------------------------------------------

    def _start(self, begin: Callable[[], Any], finish: Callable[[Any], T]) -> Pending[T]:
        with translated():
            return Pending(begin(), finish)

    def _of_root(self, value: Any, root: int, what: str) -> Any:
        """What the root passes; what others pass is not looked at."""
        if self.rank != root:
            return ()
        if value is None:
            raise BadArgument(f"the root passes {what}")
        return value


def _numbers(array: npt.ArrayLike) -> Array:
    """What can be added up, in this machine's byte order."""
    values = np.asarray(array)
    if values.dtype.kind not in "iuf":
        raise BadArgument(f"arrays of this type are not reduced ({values.dtype}): floats and integers are")
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _packed(array: npt.ArrayLike) -> bytes:
    """An array in NumPy's own format, which knows type and shape."""
    stream = io.BytesIO()
    values = np.asarray(array)
    if values.dtype.hasobject:
        raise BadArgument(
            "arrays of Python objects are not sent: only numbers, strings and records of them are"
        )
    np.lib.format.write_array(stream, values, allow_pickle=False)
    return stream.getvalue()


def _unpacked(data: bytes) -> Array:
    return np.lib.format.read_array(io.BytesIO(bytes(data)), allow_pickle=False)


def _all_unpacked(parts: list[bytes]) -> list[Array]:
    return [_unpacked(part) for part in parts]
