"""PETSc's KSP and hypre's PCG in programs of our own, ``bench/petsc/*.c``, which ``bench/petsc/build.sh`` builds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import BadArgument

#: Where build.sh puts it, seen from the source folder.
PROGRAM = "build/bench/petsc_ksp"

#: mpiexec refuses to run as root, or with more processes than cores, unless it is told that this is meant; and BLAS is
#: to start no threads beside the processes. Who waits lets others have the core, as ours do.
_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class PetscError(Exception):
    """A program ended without an answer, for the reason said."""


def find(program: str) -> str | None:
    """The program that was named, or the one that build.sh has built, or None.

    Raises
    ------
    BadArgument
        One was named and is not there.
    """
    found = shutil.which(program or PROGRAM)
    if program and not found:
        raise BadArgument(f"{program} is no program: bench/petsc/build.sh builds it")
    return found


def hypre_beside(program: str, name: str = "hypre_pcg") -> str | None:
    """A program that asks hypre, in the folder of the one that asks PETSc; None: it was not built."""
    return shutil.which(str(Path(program).with_name(name)))


class Problem:
    """A system in a file that the programs read.

    Parameters
    ----------
    program : str
    matrix : scipy.sparse array, shape (n, n)
    b : ndarray, shape (n,)
    """

    def __init__(self, program: str, matrix: Any, b: np.ndarray) -> None:
        rows = sp.csr_array(matrix)
        self._program, self._n = program, rows.shape[0]
        self._folder = tempfile.TemporaryDirectory(prefix="sordino_petsc_")
        with open(Path(self._folder.name, "system"), "wb") as file:
            np.array([self._n, rows.nnz], np.int64).tofile(file)
            rows.indptr.astype(np.int64).tofile(file)
            rows.indices.astype(np.int32).tofile(file)
            rows.data.astype(np.float64).tofile(file)
            np.asarray(b, np.float64).tofile(file)

    def __enter__(self) -> Problem:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def solve(
        self, options: list[str], *, processes: int = 1, repeats: int = 1, limit: float = 600.0
    ) -> list[dict[str, Any]]:
        """What PETSc says of each of so many solves.

        Raises
        ------
        PetscError
            PETSc has refused the system, or not come back within `limit` seconds.
        """
        words = [str(processes), *self._files(), "-repeats", str(repeats), *options]
        return _answers([self._program, *words], limit)

    def pcg(
        self,
        program: str,
        rtol: float,
        *,
        processes: int = 1,
        repeats: int = 1,
        limit: float = 600.0,
        grid: tuple[int, ...] = (),
    ) -> list[dict[str, Any]]:
        """The same of hypre's PCG with its diagonal scaling, or, of a program that takes a grid, with PFMG.

        Raises
        ------
        PetscError
            hypre has failed, or not come back within `limit` seconds.
        """
        words = [str(processes), *self._files(), repr(rtol), str(repeats), *map(str, grid)]
        return _answers([program, *words], limit)

    def _files(self) -> list[str]:
        return [str(Path(self._folder.name, name)) for name in ("system", "x")]

    def x(self) -> np.ndarray:
        """The last solve's x, shape (n,)."""
        return np.fromfile(Path(self._folder.name, "x"), np.float64, self._n)


def _answers(command: list[str], limit: float) -> list[dict[str, Any]]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False,
            env={**os.environ, **_ENVIRONMENT},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PetscError(f"no answer within {limit:g} s") from None
    if done.returncode != 0:
        raise PetscError(_reason(done.stderr + done.stdout))
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _reason(text: str) -> str:
    """The first sentence of what a program says of an error."""
    if said := [line for line in text.splitlines() if line.startswith(("hypre_pcg: ", "hypre_pfmg: "))]:
        return said[0]
    lines = [line.split("PETSC ERROR:")[1].strip() for line in text.splitlines() if "PETSC ERROR:" in line]
    said = [line for line in lines if line and not line.startswith("-")]
    return " ".join(said[:2])[:200] or "the program failed without a word"
