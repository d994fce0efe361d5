"""What a matrix says of its solve: facts that an iteration does not see, and what to do about them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._facts import closed_parts, is_asymmetric_hmatrix, is_symmetric, looks_asymmetric
from ._matrix import CsrArrays
from ._options import symmetric_methods
from ._order import Order
from ._solution import callers_level
from ._system import System
from .errors import AsymmetryWarning, BadArgument, Unsupported

_NOT_MAPPED = "does not map vector"  # the core's, where a nullspace is none
_OTHER_METHOD = "; use bicgstab"  # the core's advice where a matrix seems indefinite

#: Of parts of a matrix, how many are named one by one.
_NAMED = 4

#: What to say of a nullspace, in Python and on the command line.
_SPELLINGS = (
    ("say nullspace='constant'", "say --nullspace constant"),
    ("give it as nullspace", "give it as --nullspace FILE, .npy or .mtx"),
    ("give them as nullspace", "give them, by columns, as --nullspace FILE, .npy or .mtx"),
)


def on_the_command_line(reason: str) -> str:
    """What a solve has said, with its advice as the command line takes it."""
    for in_python, there in _SPELLINGS:
        reason = reason.replace(in_python, there)
    return reason


def _places(parts: list[tuple[int, int]]) -> str:
    """How many rows parts have, and where they begin: of the first ones, and of the others together."""
    named = [f"{rows:,} from row {first:,} on" for rows, first in parts[:_NAMED]]
    if others := parts[_NAMED:]:
        named.append(f"at most {max(rows for rows, _ in others):,} in each of {len(others):,} more")
    return ", ".join(named)


def _of_parts(parts: list[tuple[int, int]], n: int, given: int, known: int) -> str:
    """What A maps to zero, and what to do: of its n rows closed parts have so many, from a first one on.

    Of these vectors' dimensions a nullspace of `given` ones spans `known`.
    """
    also, too = (" also", ", too") if given else ("", "")
    sizes = [rows for rows, _ in parts]
    if sizes[0] == n:
        # The word would stand in place of what is given.
        advice = f"{_SPELLINGS[1][0]}{too}" if given else _SPELLINGS[0][0]
        return f"A{also} maps the constant vector to zero: {advice}"
    if len(sizes) > 1:
        spanned = f", and the nullspace that is given has {known:,} of their dimensions" if given else ""
        return (
            f"A maps {len(sizes):,} vectors to zero, each 1 in connected rows that add up to zero "
            f"({_places(parts)}) and 0 in all others{spanned}: {_SPELLINGS[2][0]}"
        )
    from_first = f" from row {parts[0][1]:,} on, each of which adds up"
    rows = f"{sizes[0]:,} connected rows{from_first}" if sizes[0] > 1 else "a row that adds up"
    return (
        f"A{also} maps to zero the vector that is 1 in {rows} to zero, and 0 in the other {n - sizes[0]:,}: "
        f"{_SPELLINGS[1][0]}{too}"
    )


@contextmanager
def parts_named(system: System, options: dict[str, Any], order: Order) -> Iterator[None]:
    """A setup whose matrix does not map the constant vector to zero, though it is said to, tells what it maps there.

    Cost: nothing, but that of :func:`closed_parts` where it is refused.
    """
    try:
        yield
    except BadArgument as error:
        wanted = options.get("nullspace") == "constant" and _NOT_MAPPED in str(error)
        rows = system.entries() if wanted else None
        if rows is None:
            raise
        parts, _ = closed_parts(rows, np.zeros((0, rows.n)), order.places)
        if not parts:
            raise
        raise BadArgument(f"{error}; {_of_parts(parts, rows.n, 0, 0)}") from None


def require_hermitian_preconditioner(system: System, method: str) -> None:
    """Refuse a preconditioner that is known not to be symmetric where a method needs that; one that varies it may be.

    Raises
    ------
    Unsupported
    """
    M = system.given.get("preconditioner")
    if M is None or M.hermitian is not False or method not in symmetric_methods() or method == "fcg":
        return
    raise Unsupported(
        f"M is one triangle, which is not symmetric, and solver {method} needs that: give M=F.cholesky(), which is "
        "L L^H, or solver fcg, bicgstab or gmres"
    )


class Suitability:
    """Whether a matrix, and new values of it, suit the method that is asked for.

    Cost: that of a sample; of an H-matrix, with a method that needs symmetry, a pass over it.

    Parameters
    ----------
    system : System
    places : ndarray, shape (n,), or None
        What the caller calls each of its rows, if not by its number.
    method : str
        What was asked for.
    taken : str
        What the core has taken: of "auto" after a look at all entries.

    Attributes
    ----------
    advises : bool
        Whether failed solves are explained.
    """

    def __init__(self, system: System, places: np.ndarray | None, method: str, taken: str) -> None:
        rows, self._places = system.rows, places
        self.advises = True
        self._method = method
        self._known: dict[str, Any] = {}  # of the values as they are
        self._needs_symmetry = rows is not None and not rows.complex and taken in symmetric_methods()
        if rows is not None and method != "auto":
            self.look(rows)
        elif rows is None and (matrix := system.given.get("hmatrix")) and method in symmetric_methods():
            self._look_at_hmatrix(matrix)

    def forget(self) -> None:
        """What was found of values that are no longer there."""
        self._known = {}

    def look(self, rows: CsrArrays) -> None:
        """Warn of what a sample of new entries shows."""
        self.forget()
        if self._needs_symmetry and looks_asymmetric(rows):
            chosen = self._method == "auto"
            taken = "the solver that was chosen for the first values" if chosen else f"solver {self._method}"
            self._warn(taken)

    def _look_at_hmatrix(self, matrix: Any) -> None:
        if is_asymmetric_hmatrix(matrix):
            self._warn(f"solver {self._method}")

    @staticmethod
    def _warn(taken: str) -> None:
        warnings.warn(
            f"the matrix is not symmetric, which {taken} needs: set up a solver with solver='bicgstab'",
            AsymmetryWarning,
            stacklevel=callers_level(),
        )

    def advised(self, raw: dict[str, Any], system: System, null: Callable[[], np.ndarray]) -> dict[str, Any]:
        """What the core has said, with a sentence more where the matrix explains the failure.

        Cost: that of :func:`closed_parts` for the first failure with given values.

        Parameters
        ----------
        raw : dict
            The core's words on a solve.
        system : System
        null : function
            Returns the nullspace that was given, shape (k, n), without rows where none was.
        """
        meant = raw["status"] in ("converged", "interrupted", "stopped_by_user", "time_limit")
        rows = None if meant or not self.advises else system.entries()
        if rows is None:
            return raw
        found, vectors = "", null()
        parts, known = self._look_once(closed_parts, rows, vectors, self._places)
        if len(parts) > known:
            found = _of_parts(parts, rows.n, len(vectors), known)
            raw = {**raw, "reason": raw["reason"].replace(_OTHER_METHOD, "")}
        elif (
            raw.get("solver") in symmetric_methods()
            and not rows.complex
            and raw.get("storage") != "symdia"  # which holds no other
            and not self._look_once(is_symmetric, rows)
        ):
            found = f"the matrix is not symmetric, which solver {raw['solver']} needs: use bicgstab"
        return {**raw, "reason": f"{raw['reason']}; {found}"} if found else raw

    def _look_once(self, fact: Callable[..., Any], *given: Any) -> Any:
        if fact.__name__ not in self._known:
            self._known[fact.__name__] = fact(*given)
        return self._known[fact.__name__]
