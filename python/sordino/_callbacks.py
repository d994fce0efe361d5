"""What stands between the core and Python functions of callers: nothing that they raise unwinds through the core."""

from __future__ import annotations

import inspect
import numbers
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._numbers import is_complex, words
from .errors import BadArgument, SordinoError, shown

#: Called with the iteration and the relative residual, and with x where it was asked for.
Callback = Callable[..., "bool | None"]


class Function:
    """y = F x for the core, by a function of a vector; called on a thread of the core, one call at a time.

    Attributes
    ----------
    hermitian : bool or None
        Whether it is; None where nobody knows.
    kept : BaseException or None
        What the function raised. From then on every result is NaN, which ends the solve.
    """

    def __init__(self, call: Callable[[np.ndarray], Any], n: int, what: str, complex: bool = False) -> None:
        self._call = call
        self._n = n
        self._what = what
        self._type: Any = np.complex128 if complex else np.float64
        self.kept: BaseException | None = None
        self.hermitian: bool | None = None

    def __call__(self, x: np.ndarray, y: np.ndarray) -> None:
        """Fills `y`; both live for the call alone."""
        try:
            y[:] = np.nan if self.kept else words(self.apply(x.copy().view(self._type)))
        except BaseException as error:  # anything at all must not unwind through the core
            self.kept = error
            y.fill(np.nan)

    def between(self, before: Callable[[Any], Any], after: Callable[[Any], Any]) -> Function:
        """The same function, of vectors in another order."""
        return Function(
            lambda x: after(self.apply(before(x))), self._n, self._what, is_complex(np.dtype(self._type))
        )

    def apply(self, x: np.ndarray) -> np.ndarray:
        """F x, shape (n,), of the system's type, or :class:`BadArgument` where the function returns something else."""
        result = np.asarray(self._call(x))
        kinds, wanted = ("fiubc", "numbers") if is_complex(np.dtype(self._type)) else ("fiub", "real numbers")
        if result.dtype.kind not in kinds or result.size != self._n or result.ndim > 2:
            raise BadArgument(
                f"{self._what} returned {result.dtype} of shape {result.shape}, "
                f"and is to return {self._n:,} {wanted}"
            )
        return np.ascontiguousarray(result.reshape(-1), dtype=self._type)

    def settle(self) -> None:
        """Raise what the function raised, once."""
        kept, self.kept = self.kept, None
        if kept is not None:
            raise kept


def checked_callback(callback: Callback | None, with_x: bool) -> Callback | None:
    """The callback, if it can be called with what it will be called with."""
    if callback is not None and not callable(callback):
        raise BadArgument(f"callback is a function of (iteration, residual[, x]), not {shown(callback)}")
    try:
        signature = inspect.signature(callback) if callback is not None else None
    except (TypeError, ValueError):  # of what is not written in Python
        return callback
    seen = ("iteration", "residual", "x")[: 3 if with_x else 2]
    try:
        if signature is not None:
            signature.bind(*seen)
    except TypeError:
        raise BadArgument(
            f"the callback is called with ({', '.join(seen)}), and takes {signature}"
            + ("" if with_x else ": with x where callback_every and callback_x ask for it")
        ) from None
    return callback


@contextmanager
def heeded(functions: Sequence[Function]) -> Iterator[None]:
    """What a function raises while the core calls it comes out, rather than what the core says of its NaN."""
    for function in functions:
        function.kept = None
    try:
        yield
    except SordinoError:
        for function in functions:
            function.settle()
        raise
    for function in functions:
        function.settle()


class Relay:
    """A callback of one solve: an exception stops the solve and is raised afterwards."""

    def __init__(self, callback: Callback | None, with_x: bool = False, complex: bool = False) -> None:
        self._callback = callback
        self._with_x = with_x
        self._type: Any = np.complex128 if complex else np.float64
        self._stopped = False
        self._kept: BaseException | None = None
        self.thread: int | None = None  # on which the callback is under way

    def __call__(self, iteration: int, residual: float, x: np.ndarray | None = None) -> bool:
        assert self._callback is not None
        if self._stopped:  # the core ends with the next iteration, and may look once more
            return True
        try:
            self.thread = threading.get_ident()
            seen = (x.copy().view(self._type),) if self._with_x and x is not None else ()
            self._stopped = bool(self._callback(iteration, residual, *seen))
        except BaseException as error:  # anything at all must not unwind through the core
            self._kept = error
            self._stopped = True
        finally:
            self.thread = None
        return self._stopped

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


class Turn:
    """One solve of a solver at a time.

    Attributes
    ----------
    relay : Relay or None
        Of the solve under way, or of the last one.
    """

    def __init__(self) -> None:
        self.relay: Relay | None = None
        self._lock = threading.Lock()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One thread at a time; a callback that asks the solver that waits for it would wait for ever."""
        if self.relay is not None and self.relay.thread == threading.get_ident():
            raise BadArgument(
                "a callback cannot use the solver that calls it: return True to end the solve first"
            )
        with self._lock:
            yield


def looks(every: Any, with_x: Any) -> dict[str, Any]:
    """What the core is told of a callback that is to be called after certain iterations."""
    if not isinstance(every, numbers.Integral) or isinstance(every, bool) or every < 0:
        raise BadArgument(f"callback_every is a number of iterations, or 0, not {every!r}")
    if with_x and not every:
        raise BadArgument(
            "callback_x needs callback_every: x is gathered at iterations that are known beforehand"
        )
    return {"look_every": int(every), "look_x": bool(with_x)} if every else {}
