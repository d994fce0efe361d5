"""What Sordino raises.

Broken contracts (a bad argument, an unreadable file, a missing device, a failed peer)
are exceptions with one sentence. Numerical outcomes are values: a
:class:`~sordino.Solution` with a status, which :class:`NotConverged` carries when the
caller wants an exception.
"""

# ruff: noqa: N818  the names say what happened: NotConverged, PeerFailed

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._direct import DirectSolution
    from ._solution import Solution


class SordinoError(Exception):
    """Base of all errors of this library; ``code`` names the kind.

    After a fault of ranks every rank and process raises the same sentence with the same
    attributes; ``None`` stands for what is not known, or has no meaning for this error.

    Attributes
    ----------
    rank : int or None
        Who failed, gave up waiting or is lost (of several, the first).
    command : str or None
        The recorded command in which that happened.
    iteration : int or None
        The iteration of the command's loop, from 0.
    expected_epoch : int or None
        The epoch that was waited for: how many signals of this kind had to have come.
    seen_epoch : int or None
        The last one that had come by then; of sums, whose places take turns, often the last but one.
    """

    code = "error"
    exit_code = 4
    rank: int | None = None
    command: str | None = None
    iteration: int | None = None
    expected_epoch: int | None = None
    seen_epoch: int | None = None


class BadArgument(SordinoError, ValueError):
    """An argument, an option or a matrix that cannot be used; the sentence says why."""

    code = "bad_argument"
    exit_code = 2


class FileError(SordinoError, OSError):
    """A file that cannot be read or written."""

    code = "io"
    exit_code = 2


class Unsupported(SordinoError, NotImplementedError):
    """Something that this build or this version cannot do."""

    code = "unsupported"
    exit_code = 2


class DeviceError(SordinoError, RuntimeError):
    """A device or its driver failed; ``rank``, ``command`` and ``iteration`` say where, if that is known."""

    code = "device"
    exit_code = 4


class PeerFailed(SordinoError, RuntimeError):
    """Another rank failed; the sentence is the cause that it named, the same on every rank.

    ``rank``, ``command``, ``iteration``, ``expected_epoch`` and ``seen_epoch`` are that cause as
    values, the same on every rank, too: see :class:`SordinoError`.
    """

    code = "peer_failed"
    exit_code = 4


class NotConverged(SordinoError, ArithmeticError):
    """A solve that ended without a verified solution.

    Attributes
    ----------
    solution : Solution or DirectSolution
        The best x found, with ``status`` and ``reason``, and of an iterative solve ``report``.
    """

    code = "not_converged"
    exit_code = 3

    def __init__(self, solution: Solution | DirectSolution) -> None:
        super().__init__(f"{solution.whose}{solution.status}: {solution.reason}")
        self.solution = solution

    def __reduce__(self) -> tuple[type[NotConverged], tuple[Solution | DirectSolution]]:
        return type(self), (self.solution,)  # it travels between processes with what it carries


class NotConvergedWarning(RuntimeWarning):
    """Given instead of :class:`NotConverged` with ``on_failure="warn"``."""


class AsymmetryWarning(RuntimeWarning):
    """A matrix is not symmetric, and the method that it is given to needs that."""


class TinyPivotWarning(RuntimeWarning):
    """A pivot of a triangle is so small beside its row or column that it may stand for zero; the row is named."""


class CompressionWarning(RuntimeWarning):
    """An H-matrix is off by more than its eps, or may be, as its estimate says after all that was done again."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a solve, which has ended at the next iteration, on all ranks alike.

    It is raised whatever ``on_failure`` says, so that a loop over solves ends, too.

    Attributes
    ----------
    solution : Solution
        The best x so far, with status ``interrupted``; columns whose turn had not come are as first guessed.
    """

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.reason)
        self.solution = solution

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Solution]]:
        return type(self), (self.solution,)


_BY_CODE: dict[str, type[SordinoError]] = {
    kind.code: kind for kind in (BadArgument, FileError, Unsupported, DeviceError, PeerFailed)
}


def from_code(code: str, sentence: str) -> SordinoError:
    """The exception for a code of the core, with its sentence."""
    return _BY_CODE.get(code, SordinoError)(sentence)


def from_core(raised: BaseException) -> SordinoError:
    """The exception for an error of the core, with what that knows of its cause."""
    error = from_code(getattr(raised, "code", ""), str(raised))
    for name in ("rank", "command", "iteration", "expected_epoch", "seen_epoch"):
        setattr(error, name, getattr(raised, name, None))
    return error


def shown(value: object, most: int = 60) -> str:
    """A value of the user's as a sentence can quote it: on one line, printable, cut where it is long."""
    try:
        text = " ".join(repr(value).split())
    except (
        ValueError,
        RecursionError,
    ):  # Python writes out neither thousands of digits nor depths of nesting
        text = f"a value of {most} characters and more"
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= most else text[: most - 3] + "..."


def suggestion(word: str, known: Iterable[str]) -> str:
    """``", did you mean 'rtol'?"`` for the nearest known word, or an empty string."""
    if len(word) > 60:
        return ""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f", did you mean '{near[0]}'?" if near else ""
