"""Which of several MPI processes this is: process 0 alone prints."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .._native import core
from ..errors import BadArgument

_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")


@dataclass(frozen=True)
class World:
    """The processes of this run."""

    rank: int
    size: int

    def ranks(self, per_process: int) -> str:
        """``4 ranks``, or ``2 processes x 2 ranks = 4 ranks``."""
        if self.size == 1:
            return f"{per_process} rank{'s' if per_process != 1 else ''}"
        each = f"{per_process} rank{'s' if per_process != 1 else ''}"
        return f"{self.size} processes x {each} = {self.size * per_process} ranks"


def index() -> int:
    """This process's number by the launcher's environment, without starting MPI; 0 without a launcher."""
    return _from_environment(_RANK, 0)


def say(text: str) -> None:
    """Print on standard output, in process 0 only."""
    if index() == 0:
        print(text, flush=True)


def world() -> World:
    """The processes as the core sees them; starts MPI where a launcher started this program.

    Raises
    ------
    BadArgument
        Launched as several processes, but this build has no MPI (each would solve alone).
    """
    seen = core().mpi()
    launched = _from_environment(_SIZE, 1)
    if launched > 1 and int(seen["size"]) != launched:
        why = seen.get("reason") or "it is not in this build"
        raise BadArgument(f"launched as {launched} processes, but MPI cannot be used here: {why}")
    return World(int(seen["rank"]), int(seen["size"]))


def _from_environment(names: tuple[str, ...], otherwise: int) -> int:
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return otherwise
