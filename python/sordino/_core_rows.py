"""What the core holds for a :class:`RowsSolver`: its own one, made again where new values have worn out its levels."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ._levels import Levels
from ._native import translated

#: Code and sentence of what this process refuses, and all are to refuse with it.
Refused = tuple[str, str]


class CoreRows:
    """The core's solver of rows that processes bring. Collective, but for :meth:`close`.

    Parameters
    ----------
    make : function of (values or None, refused or None)
        Sets up a solver of the core, of the first values or of new ones.
    entries : int
        Of this process.

    Attributes
    ----------
    native
        The core's own one.
    levels : Levels
    """

    def __init__(self, make: Callable[[np.ndarray | None, Refused | None], Any], entries: int) -> None:
        self._make, self._entries, self._process = make, entries, os.getpid()
        self.levels = Levels()
        with translated():
            self.native = make(None, None)

    def update(self, values: np.ndarray | None, refused: Refused | None) -> None:
        """New values; where levels are worn, with new levels: the old ones go when the new ones are there.

        Where they are refused, all is as before. Whether levels are worn is the same in all processes.
        """
        with translated():
            if not self.levels.worn:
                self.native.update_values(values, self._entries, refused)
                return self.levels.update()
            before, self.native = self.native, self._make(values, refused)
            before.close()
        self.levels.renew(self.levels.worn)

    def close(self) -> None:
        """Give back all that the core holds."""
        if os.getpid() == self._process:  # the ranks of a solver are threads of the process that made it
            self.native.close()
