"""Those who claim to have solved a system: each solver at its defaults, asked for the same rtol, in its own process.

A process, so that one which does not come back can be ended, and so that a crash is an answer like another.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from . import _petsc, _systems
from ._peers import cupy_there, tolerance


@dataclass(frozen=True)
class Answer:
    """What a solver says of a system. `own_residual`: in the norm that it documents, where that is another."""

    claimed: bool
    said: str
    x: np.ndarray | None = None
    own_residual: float | None = None


Claimant = Callable[[Any, np.ndarray, float], Answer]

#: What PETSc takes for convergence whatever b is, as it documents.
_PETSC_ATOL = 1e-50

#: Packages, and the methods of each that are asked.
METHODS = {
    "scipy": ("cg", "bicgstab", "gmres"),
    "petsc": ("cg", "bcgs", "gmres"),
    "cupyx": ("cg", "cgs", "gmres"),
    "sordino": ("linalg.cg", "linalg.bicgstab", "solve"),
}


def absent(package: str, program: str) -> str:
    """Why a package cannot be asked here, or nothing."""
    if package == "petsc" and not _petsc.find(program):
        return "bench/petsc/build.sh was not run"
    if package == "cupyx" and not cupy_there():
        return "CuPy is not installed, or there is no GPU"
    return ""


def claimant(package: str, method: str, program: str = "", limit: float = 600.0) -> Claimant:
    """The function that asks one solver."""
    if package == "petsc":
        return lambda matrix, b, rtol: _petsc_answer(
            _petsc.find(program) or "", method, matrix, b, rtol, limit
        )
    return {"scipy": _scipy, "cupyx": _cupyx, "sordino": _sordino}[package](method)


def _scipy(method: str) -> Claimant:
    import scipy.sparse.linalg as linalg

    solver = getattr(linalg, method)

    def ask(matrix: Any, b: np.ndarray, rtol: float) -> Answer:
        x, info = solver(matrix, b, **tolerance(solver, rtol))
        return Answer(info == 0, f"info={info}", x)

    return ask


def _cupyx(method: str) -> Claimant:
    import cupy
    import cupyx.scipy.sparse as sparse
    import cupyx.scipy.sparse.linalg as linalg

    solver = getattr(linalg, method)

    def ask(matrix: Any, b: np.ndarray, rtol: float) -> Answer:
        x, info = solver(sparse.csr_matrix(matrix), cupy.asarray(b), **tolerance(solver, rtol))
        return Answer(int(info) == 0, f"info={int(info)}", cupy.asnumpy(x))

    return ask


def _sordino(method: str) -> Claimant:
    import sordino

    def solve(matrix: Any, b: np.ndarray, rtol: float) -> Answer:
        solution = sordino.solve(matrix, b, rtol=rtol, on_failure="return")
        return Answer(solution.converged, solution.status, solution.x)

    def linalg(matrix: Any, b: np.ndarray, rtol: float) -> Answer:
        x, info = getattr(sordino.linalg, method.removeprefix("linalg."))(matrix, b, rtol=rtol)
        return Answer(info == 0, f"info={info}", x)

    return solve if method == "solve" else linalg


def _petsc_answer(program: str, method: str, matrix: Any, b: np.ndarray, rtol: float, limit: float) -> Answer:
    with _petsc.Problem(program, matrix, b) as problem:
        try:
            said = problem.solve(["-ksp_type", method, "-ksp_rtol", repr(rtol)], limit=limit)[-1]
        except _petsc.PetscError as none:
            return Answer(False, str(none))
        of_b, own = map(float, said["own_norms"])
        return Answer(said["converged"], said["reason"], problem.x(), own / max(of_b, _PETSC_ATOL / rtol))


class Worker:
    """A process that asks one solver about one system after the other.

    Parameters
    ----------
    package, method : str
    folder : str
        Of the real systems.
    program : str
        Of PETSc.
    rtol, limit : float
        What is asked, and the seconds after which a solver is given up.
    """

    def __init__(
        self, package: str, method: str, folder: str, program: str, rtol: float, limit: float
    ) -> None:
        self._words = (package, method, folder, program, rtol, limit)
        self._limit = limit
        self._process: Any = None
        self._pipe: Any = None

    def ask(self, name: str) -> Answer:
        """The answer about the system of this name; what is no answer is a claim of nothing."""
        if self._process is None:
            self._start()
        self._pipe.send(name)
        with contextlib.suppress(EOFError, ConnectionError):
            if self._pipe.poll(self._limit + 1.0):
                found: Answer = self._pipe.recv()
                return found
            self.close()
            return Answer(False, f"no answer within {self._limit:g} s")
        self.close()
        return Answer(False, "its process has died")

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, *self._words), daemon=True)
        self._process.start()
        theirs.close()
        if not self._pipe.poll(120.0) or self._pipe.recv() != "ready":
            raise RuntimeError(f"{self._words[0]} could not be loaded within 120 s")

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None


def _serve(
    pipe: Connection, package: str, method: str, folder: str, program: str, rtol: float, limit: float
) -> None:
    """What the process does: systems by their names come in, answers go out."""
    warnings.simplefilter("ignore")
    ask = claimant(package, method, program, limit)
    entries = {entry.name: entry for entry in _systems.known(folder)}
    pipe.send("ready")
    with contextlib.suppress(EOFError):
        while True:
            matrix, b = entries[pipe.recv()].build()
            pipe.send(answered(ask, matrix, b, rtol))


def answered(ask: Claimant, matrix: Any, b: np.ndarray, rtol: float) -> Answer:
    """The answer, where one that is refused, or ends in an exception, is a claim of nothing."""
    try:
        with np.errstate(all="ignore"):
            return ask(matrix, b, rtol)
    except Exception as error:  # whatever a library raises
        return Answer(
            False, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]
        )
