"""The two triangles of factors, set up for solves; what they refuse says which of them it is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ._columns import Columns
from ._factors import Factors
from ._triangular import FactorizedTriangle
from .errors import BadArgument, PeerFailed, SordinoError

_T = TypeVar("_T")


@dataclass(frozen=True)
class Renewal:
    """Factors that take the place of others.

    Attributes
    ----------
    factors : Factors
    matrix : scipy.sparse.csr_array or None
        What they are of, by which solves are verified.
    structure : function that returns Factors, or None
        None: they have the patterns of the old ones. Else they are of the same elimination, what they do not store is
        zero, and what is returned has an entry wherever that can leave one.
    """

    factors: Factors
    matrix: Any
    structure: Callable[[], Factors] | None = None


class Triangles:
    """L and U, or Cholesky's L alone.

    Attributes
    ----------
    lower : FactorizedTriangle
    upper : FactorizedTriangle or None
    """

    def __init__(self, factors: Factors, options: dict[str, Any]) -> None:
        self._units = factors.unit_lower, factors.unit_upper
        self._options = options | {"plans": None}  # what is taken from a file is not kept twice
        self._set_up(_columns_of(factors, options["threads"]), options)

    def _set_up(self, parts: dict[str, Columns], options: dict[str, Any]) -> None:
        """Both at the same time, unless threads are counted, or processes wait for one another in an order."""

        def make(name: str) -> FactorizedTriangle:
            unit = self._units[name == "U"]
            return _named(name, lambda: FactorizedTriangle(parts[name], unit=unit, options=options))

        if options["threads"] == 0 and options["engine"] != "processes":
            with ThreadPoolExecutor(len(parts)) as pool:
                made = dict(zip(parts, pool.map(make, parts), strict=True))  # of both errors that of L
        else:
            made = {name: make(name) for name in parts}
        for name, triangle in made.items():
            triangle.look_at_pivots(f"{name}: ")
        self.lower, self.upper = made["L"], made.get("U")

    @property
    def parts(self) -> dict[str, FactorizedTriangle]:
        """By their names, L first."""
        return {"L": self.lower} | ({"U": self.upper} if self.upper else {})

    @property
    def dtype(self) -> np.dtype:
        """In which both are solved with."""
        return np.result_type(*(t.dtype for t in self.parts.values()))

    def settle(self) -> None:
        """Wait for all solves on GPUs; raise what one of them has failed of."""
        with contextlib.ExitStack() as all_of_them:
            for triangle in reversed(self.parts.values()):
                all_of_them.callback(triangle.settle)

    def plans(self) -> dict[str, dict[str, np.ndarray]]:
        """What files of plans hold, by ``lower`` and ``upper``."""
        kinds = {"L": "lower", "U": "upper"}
        return {kinds[name]: _named(name, t.plans) for name, t in self.parts.items()}

    def renew(self, new: Renewal) -> None:
        """New values in both triangles, or in none.

        Raises
        ------
        BadArgument
            Other patterns or kinds of factors; a pivot that is zero; NaN or infinity.
        PeerFailed
            Of engine processes: another one did not come.
        """
        units = new.factors.unit_lower, new.factors.unit_upper
        parts = self.parts
        if ("U" in parts) != (new.factors.upper is not None) or any(
            units[name == "U"] != self._units[name == "U"] for name in parts
        ):
            raise BadArgument(
                "the new factors are of another kind than those that were set up: both are L and U, or L of L L^H, "
                "with the same unit diagonals"
            )
        columns = _columns_of(new.factors, self._options["threads"])
        if new.structure is None:
            strict = {n: _named(n, partial(t.columns.new_values, columns[n])) for n, t in parts.items()}
            self._take(strict)
            return
        values = {name: t.columns.spread(columns[name]) for name, t in parts.items()}
        if all(v is not None for v in values.values()):
            self._take(values)
            return
        whole = _columns_of(new.structure(), self._options["threads"])
        joined = {name: t.columns.joined(whole[name].joined(columns[name])) for name, t in parts.items()}
        self._set_up(joined, self._options)

    def _take(self, values: dict[str, Any]) -> None:
        """Values that are checked, but for pivots."""
        kept = {name: t.columns.values for name, t in self.parts.items()}
        begun: list[str] = []
        try:
            for name, triangle in self.parts.items():
                begun.append(name)
                _named(name, partial(triangle.take, values[name]))
                triangle.look_at_pivots(f"{name}: ")
        except PeerFailed:
            raise
        except BaseException as wrong:  # Ctrl-C, too: both triangles are of one matrix
            if isinstance(wrong, SordinoError):
                begun.pop()  # who refuses has its old values
            for name in begun:
                self.parts[name].take(kept[name])
            raise


def _columns_of(factors: Factors, threads: int) -> dict[str, Columns]:
    given = {"L": factors.lower} | ({} if factors.upper is None else {"U": factors.upper})
    return {
        name: _named(name, partial(Columns, T, lower=name == "L", threads=threads))
        for name, T in given.items()
    }


def _named(name: str, make: Callable[[], _T]) -> _T:
    """What `make` returns; what it refuses says of which triangle it is."""
    try:
        return make()
    except SordinoError as wrong:
        raise type(wrong)(f"{name}: {wrong}") from None
