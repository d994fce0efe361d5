"""Levels of multigrid over time steps: how often they were made, and whether solves still take what they took then."""

from __future__ import annotations

from typing import Any

import numpy as np

from .report.words import count

#: What has levels that are set up with the solver, and chooses aggregates by the entries, all or where phases meet.
LEVELLED = ("mg", "amg")

#: Rows of a system that is inverted instead of coarsened, whatever it is: `few_cells` and `few_rows` of the core.
FEW_ROWS = 64

#: Clearly more iterations than usual: so many times, and so many, at least.
TIMES_MORE, MORE = 1.5, 5

#: Of so many solves with new levels the one that takes the fewest iterations a digit says what is usual.
FIRST = 3

#: New levels with which a solve takes this share of what it took with the old ones have changed nothing.
ALIKE = 0.75

_ENDED_BY_ITSELF = ("converged", "max_iterations", "stagnated", "diverged", "breakdown", "indefinite")


class Levels:
    """What solves have taken since a solver's levels were made.

    Aggregates of ``precond="amg"``, and of ``"mg"`` where phases meet, stay when the matrix gets new values, and
    fit these the less, the further phases have moved. Iterations are compared by the digits that they gain, as
    tolerances and first guesses differ. What
    is decided is the same in all processes, whose solves have the same history.

    Attributes
    ----------
    made : int
        How often levels were made; 0 where no solve has had any.
    reused : int
        How often the matrix has got new values since.
    why : str
        Why levels were made the last time, as half a sentence.
    worn : str
        Why new ones are due with the next values, as half a sentence; empty while these are good.
    """

    def __init__(self) -> None:
        self.made, self.reused, self.why, self.worn = 1, 0, "set up with the solver", ""
        self._storage = ""
        self._forget()

    def _forget(self, before: float = np.inf) -> None:
        self._solves, self._usual = 0, 0.0  # the latter in iterations a digit
        self._before = before  # that of the solve for which these levels were made
        self._due = np.inf  # that of the one for which new ones are due

    def note(self, raw: dict[str, Any]) -> None:
        """Look at a solve that has ended."""
        self._note_storage(str(raw.get("storage", "")))
        history = np.asarray(raw["history"], dtype=float)
        mine = raw.get("precond") in LEVELLED
        if not mine or raw["status"] not in _ENDED_BY_ITSELF or len(history) < 2:
            return
        steps, digits = len(history) - 1, _digits(history)
        rate = steps / digits if raw["status"] == "converged" and digits else np.inf
        usual = self._usual * digits
        self._solves += 1
        first = self._solves <= FIRST and rate < np.inf
        if first and not self.reused and rate >= ALIKE * self._before:  # with levels of these very values
            self._usual, self._solves = max(self._usual, rate), FIRST
        elif self._usual and self.reused and steps > TIMES_MORE * usual and steps >= usual + MORE:
            self._due = rate
            self.worn = (
                f"a solve took {count(raw['iterations'], 'iteration')}, where the first ones with the levels before "
                f"took {usual:.0f} for as many digits"
            )
        elif first:
            self._usual = min(self._usual or rate, rate)

    def _note_storage(self, storage: str) -> None:
        """The core sets itself up anew, levels included, where values do not lie as the ones before did."""
        if self._storage and storage != self._storage:
            self.renew(f"the matrix is stored as {storage}, which was {self._storage}")
        self._storage = storage

    def update(self) -> None:
        """The matrix has got new values, and so have these levels."""
        self.reused += 1

    def renew(self, why: str) -> None:
        """The levels were made anew."""
        self.made, self.reused, self.why, self.worn, self._storage = self.made + 1, 0, why, "", ""
        self._forget(self._due)

    def told(self, raw: dict[str, Any], n: int) -> dict[str, Any]:
        """What the core has said of a solve of n rows, with what is to be said of its levels."""
        if raw.get("precond") not in LEVELLED:
            return raw
        said = {"levels_made": self.made, "levels_reused": self.reused, "levels_reason": self.why}
        return {**raw, **said, "one_level": n <= FEW_ROWS}


def _digits(history: np.ndarray) -> float:
    """Decimal digits that a solve has gained, 0 at least, whatever its residuals are."""
    with np.errstate(all="ignore"):
        gained = np.log10(history[0]) - np.log10(history[-1])
    return max(float(np.nan_to_num(gained, nan=0.0, posinf=300.0, neginf=0.0)), 0.0)
