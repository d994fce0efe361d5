"""Ways from a matrix and a right-hand side in the host's memory to a verified x there, each timed in its parts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix import CsrArrays
from .._solve import Solver
from . import _petsc
from ._peers import tolerance

#: A direct solver fills a matrix of a box beyond so many rows with more than it is worth waiting for.
MOST_DIRECT = 40_000


@dataclass(frozen=True)
class Solved:
    """One solve: seconds of setup and of the rest, with what it says of itself."""

    setup: float
    solve: float
    x: np.ndarray
    iterations: int | None = None


@dataclass(frozen=True)
class Way:
    """Somebody's way; `run` goes it once."""

    package: str
    method: str
    ranks: int
    run: Callable[[], Solved]


def ours(rows: CsrArrays, b: np.ndarray, rtol: float, engine: Any, ranks: int, solver: str) -> Way:
    """Setup deals the matrix out; the solve deals b out, verifies x and gathers it."""

    def run() -> Solved:
        begin = time.perf_counter()
        made = Solver(rows, solver=solver, precond="jacobi", engine=engine, ranks=ranks, rtol=rtol)
        middle = time.perf_counter()
        solution = made.solve(b, on_failure="return")
        return Solved(middle - begin, time.perf_counter() - middle, solution.x, solution.iterations)

    return Way("sordino", f"{solver}, jacobi", ranks, run)


def scipy_ways(rows: CsrArrays, b: np.ndarray, rtol: float) -> list[Way]:
    """CG without and with Jacobi, and the direct solver where that is to be thought of; then a product, to verify."""
    import scipy.sparse.linalg as linalg

    matrix = rows.matrix()

    def by_cg(jacobi: bool) -> Callable[[], Solved]:
        def run() -> Solved:
            counted: list[None] = []
            begin = time.perf_counter()
            inverse = sp.diags_array(1.0 / matrix.diagonal()) if jacobi else None
            middle = time.perf_counter()
            x, _ = linalg.cg(
                matrix, b, M=inverse, callback=lambda _: counted.append(None), **tolerance(linalg.cg, rtol)
            )
            np.linalg.norm(b - matrix @ x)
            return Solved(middle - begin, time.perf_counter() - middle, x, len(counted))

        return run

    def directly() -> Solved:
        begin = time.perf_counter()
        factors = linalg.splu(matrix.tocsc())
        middle = time.perf_counter()
        x = factors.solve(b)
        np.linalg.norm(b - matrix @ x)
        return Solved(middle - begin, time.perf_counter() - middle, x)

    ways = [Way("scipy", "cg", 1, by_cg(False)), Way("scipy", "cg, jacobi", 1, by_cg(True))]
    return [*ways, Way("scipy", "splu", 1, directly)] if rows.n <= MOST_DIRECT else ways


def cupyx_ways(rows: CsrArrays, b: np.ndarray, rtol: float) -> list[Way]:
    """CG without and with Jacobi on one GPU. Setup brings matrix and vector there; the solve verifies and fetches x."""
    import cupy
    import cupyx.scipy.sparse as sparse
    import cupyx.scipy.sparse.linalg as linalg

    def by_cg(jacobi: bool) -> Callable[[], Solved]:
        def run() -> Solved:
            counted: list[None] = []
            cupy.cuda.Device().synchronize()
            begin = time.perf_counter()
            columns, starts = cupy.asarray(rows.indices), cupy.asarray(rows.indptr.astype(np.int32))
            matrix = sparse.csr_matrix((cupy.asarray(rows.data), columns, starts), shape=(rows.n, rows.n))
            right = cupy.asarray(b)
            inverse = 1.0 / matrix.diagonal() if jacobi else None
            operator = (
                linalg.LinearOperator(matrix.shape, matvec=lambda r: inverse * r.ravel(), dtype=np.float64)
                if jacobi
                else None
            )
            cupy.cuda.Device().synchronize()
            middle = time.perf_counter()
            x, _ = linalg.cg(
                matrix,
                right,
                M=operator,
                callback=lambda _: counted.append(None),
                **tolerance(linalg.cg, rtol),
            )
            float(cupy.linalg.norm(right - matrix @ x))
            found = cupy.asnumpy(x)
            return Solved(middle - begin, time.perf_counter() - middle, found, len(counted))

        return run

    return [Way("cupyx", "cg", 1, by_cg(False)), Way("cupyx", "cg, jacobi", 1, by_cg(True))]


#: What PETSc is asked with: Jacobi as we do, incomplete factors, and algebraic multigrid. All end by the true residual.
PETSC = {
    "cg, jacobi": ["-ksp_type", "cg", "-pc_type", "jacobi"],
    "cg, block ICC": ["-ksp_type", "cg", "-pc_type", "bjacobi", "-sub_pc_type", "icc"],
    "cg, gamg": ["-ksp_type", "cg", "-pc_type", "gamg"],
}


def petsc_ways(problem: _petsc.Problem, rtol: float, processes: int, limit: float) -> list[Way]:
    """Setup is the matrix out of its arrays, and what the preconditioner does; nothing is verified, nor gathered."""

    def run_with(words: list[str]) -> Callable[[], Solved]:
        def run() -> Solved:
            options = [*words, "-ksp_rtol", repr(rtol), "-ksp_norm_type", "unpreconditioned"]
            said = problem.solve(options, processes=processes, limit=limit)[0]
            return Solved(said["setup_s"], said["solve_s"], problem.x(), said["iterations"])

        return run

    return [Way("petsc", name, processes, run_with(words)) for name, words in PETSC.items()]
