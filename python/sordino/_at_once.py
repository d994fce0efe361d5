"""Several right-hand sides at once, by one solver of the core that reads the matrix once for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._callbacks import Relay
from ._native import core, translated
from ._numbers import is_complex
from ._solution import hurried
from ._system import System


def are_here(vectors: list[Any], complex: bool) -> bool:
    """Whether all that are not None are in memory of the CPU, and none is complex where the system is real."""
    return all(
        v is None or (isinstance(v, np.ndarray) and (complex or not is_complex(v.dtype))) for v in vectors
    )


class AtOnce:
    """Solves by ``bicgstab`` with a real H-matrix, up to 8 at once, in one loop of the core on any engine.

    A column whose recurrence has ended stays as it is while the others go on, and each is verified, restarted and
    told by itself.

    Parameters
    ----------
    native : the core's solver
    most : int
        Columns that it takes at once.
    """

    def __init__(self, native: Any, most: int) -> None:
        self._native, self._most = native, most

    @staticmethod
    def of(native: Any, system: System) -> AtOnce | None:
        """None where columns are solved in turn, or each by a thread: of complex matrices, by other methods, with
        preconditioners that are no diagonal, over several processes, and where a nullspace or looks at x are asked for.
        """
        if "hmatrix" not in system.given or int(core().mpi()["size"]) > 1:
            return None
        most = int(native.columns_at_once())
        return AtOnce(native, most) if most > 1 else None

    def takes(self, columns: list[Any], starts: list[Any]) -> bool:
        """Whether there are several, real, and in memory of the CPU."""
        return len(columns) > 1 and are_here([*columns, *starts], complex=False)

    def solve(
        self, relay: Relay | None, columns: list[Any], starts: list[Any], overrides: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """What the core says of each column; ``seconds`` is its share of the time of all.

        `relay` is called on this thread, with what is known of the column whose residual is the largest; if it asks
        to stop, all stop. So they do at Ctrl-C, and others that would follow end as soon as they have begun.
        """
        raws: list[dict[str, Any]] = []
        for first in range(0, len(columns), self._most):
            here = slice(first, first + self._most)
            with translated():
                raws += self._native.solve_columns(
                    columns[here], starts[here], progress=relay, options=hurried(raws, overrides)
                )
        return raws
