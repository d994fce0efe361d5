"""What the core holds for a :class:`Solver`: its own one, made again where new values have worn out its levels."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ._advice import parts_named
from ._callbacks import Turn, heeded
from ._levels import Levels
from ._matrix import CsrArrays
from ._native import core, translated
from ._numbers import words
from ._order import Order
from ._system import System
from .errors import BadArgument, Unsupported


class CoreSolver:
    """The core's solver of a system, for one process, and for one caller at a time, whose turn it is.

    Parameters
    ----------
    system : System
        Whose arrays the core views.
    order : Order
    options, machine : dict
        In the core's terms; `machine` may be None.
    given : dict
        What it is given besides.

    Attributes
    ----------
    turn : Turn
    levels : Levels
    """

    def __init__(
        self,
        system: System,
        order: Order,
        options: dict[str, Any],
        machine: dict[str, Any] | None,
        given: dict[str, Any],
    ) -> None:
        self.turn, self.levels = Turn(), Levels()
        self._process = os.getpid()
        self._given = given
        self._system: System | None = system  # with the last fields of its grid

        def make() -> Any:
            more = {"given": self._given} if self._given else {}
            with heeded(system.functions), parts_named(self._system or system, options, order), translated():
                return core().Solver(*system.arrays(), system.n, options, machine, **more)

        self._make: Callable[[], Any] | None = make
        self._native: Any = make()

    @property
    def closed(self) -> bool:
        """Whether it has been given back."""
        return self._make is None

    @property
    def is_of_this_process(self) -> bool:
        """Whether the process is the one that made it, whose threads and devices it has."""
        return os.getpid() == self._process

    def native(self) -> Any:
        """The core's own one, or :class:`SordinoError` where it is not to be had."""
        if not self.is_of_this_process:
            raise Unsupported("this solver was set up before a fork and works in the parent process only")
        if self.closed:
            raise BadArgument("this solver has been closed: set up another one")
        if self._native is None:
            raise Unsupported("the solver could not be set up with the last values: set up another one")
        return self._native

    def update(self, held: CsrArrays, data: np.ndarray) -> None:
        """New values, shape (nnz,), of the rows that are held; where levels are worn, with new levels.

        Where they are refused, both are as before. The old levels go before the new ones come.
        """
        before = held.data.copy()  # ranks of the host view what is held
        np.copyto(held.data, data)
        try:
            self._hand_on(held)
        except BaseException as error:
            np.copyto(held.data, before)
            if isinstance(error, BadArgument):  # factors may have been made of what was refused
                self._hand_on(held)
                if self.levels.worn:
                    self.levels.renew(self.levels.worn)
            raise
        self._count()

    def update_fields(self, system: System) -> None:
        """New fields of the matrix's grid; where levels are worn, with new levels. Refused ones change nothing.

        The caller may have overwritten the old fields: so the old levels stay until the new ones are there.
        """
        before = self._given, self._system
        arrays = system.given["grid_matrix"].arrays()
        self._given, self._system = {**self._given, "grid_matrix": arrays}, system
        try:
            if self.levels.worn:
                self._replace()
            else:
                with translated():
                    self.native().update_fields(arrays)
        except BaseException:
            self._given, self._system = before
            raise
        self._count()

    def _count(self) -> None:
        if self.levels.worn:
            self.levels.renew(self.levels.worn)
        else:
            self.levels.update()

    def _hand_on(self, held: CsrArrays) -> None:
        if not self.levels.worn:
            with translated():
                return self.native().update_values(words(held.data))
        self._renew()

    def _replace(self) -> None:
        """By another one, which is made first if there is room for both."""
        assert self._make is not None
        try:
            self._native = self._make()
        except Unsupported:
            self._renew()

    def _renew(self) -> None:
        assert self._make is not None
        self._native = None
        self._native = self._make()

    def told(self, raw: dict[str, Any], system: System) -> dict[str, Any]:
        """What the core has said of a solve, with what is to be said of levels and setup."""
        return {**self.levels.told(raw, system.n), **system.facts}

    def close(self) -> None:
        """Give back all that the core holds."""
        self._native = self._make = self._system = None
        self._given = {}
