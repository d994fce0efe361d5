"""What a matrix says of its solve: facts that an iteration does not see, and what to do about them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ._facts import is_asymmetric_hmatrix, is_symmetric, looks_asymmetric, maps_ones_to_zero
from ._matrix import CsrArrays
from ._options import symmetric_methods
from ._solution import callers_level
from ._system import System
from .errors import AsymmetryWarning

_OTHER_METHOD = "; use bicgstab"  # the core's advice where a matrix seems indefinite


class Suitability:
    """Whether a matrix, and new values of it, suit the method that is asked for.

    Cost: that of a sample; of an H-matrix, with a method that needs symmetry, a pass over it.

    Parameters
    ----------
    system : System
    method : str
        What was asked for.
    taken : str
        What the core has taken: of "auto" after a look at all entries.
    """

    def __init__(self, system: System, method: str, taken: str) -> None:
        rows = system.rows
        self._method = method
        self._known: dict[str, bool] = {}  # of the values as they are
        self._needs_symmetry = rows is not None and not rows.complex and taken in symmetric_methods()
        if rows is not None and method != "auto":
            self.look(rows)
        elif rows is None and (matrix := system.given.get("hmatrix")) and method in symmetric_methods():
            self._look_at_hmatrix(matrix)

    def look(self, rows: CsrArrays) -> None:
        """Warn of what a sample of new entries shows."""
        self._known = {}
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

    def advised(self, raw: dict[str, Any], rows: CsrArrays | None, singular: bool) -> dict[str, Any]:
        """What the core has said, with a sentence more where the matrix explains the failure.

        Cost: O(nnz) for the first failure with given values.

        Parameters
        ----------
        raw : dict
            The core's words on a solve.
        rows : CsrArrays or None
            The matrix; None of an operator.
        singular : bool
            Whether a nullspace was given.
        """
        if raw["status"] in ("converged", "interrupted", "stopped_by_user", "time_limit") or rows is None:
            return raw
        found = ""
        if not singular and self._is(maps_ones_to_zero, rows):
            found = "A maps the constant vector to zero: say nullspace='constant'"
            raw = {**raw, "reason": raw["reason"].replace(_OTHER_METHOD, "")}
        elif (
            raw.get("solver") in symmetric_methods()
            and not rows.complex
            and raw.get("storage") != "symdia"  # which holds no other
            and not self._is(is_symmetric, rows)
        ):
            found = f"the matrix is not symmetric, which solver {raw['solver']} needs: use bicgstab"
        return {**raw, "reason": f"{raw['reason']}; {found}"} if found else raw

    def _is(self, fact: Callable[[CsrArrays], bool], rows: CsrArrays) -> bool:
        if fact.__name__ not in self._known:
            self._known[fact.__name__] = fact(rows)
        return self._known[fact.__name__]
