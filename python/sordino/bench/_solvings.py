"""Ways from a matrix and a right-hand side in the host's memory to a verified x there, each timed in its parts."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix import CsrArrays
from .._solve import Solver
from ..errors import BadArgument
from . import _petsc
from ._peers import tolerance

#: A direct solver fills a matrix of a box beyond so many rows with more than it is worth waiting for.
MOST_DIRECT = 40_000


@dataclass(frozen=True)
class Solved:
    """One solve: seconds of setup and of the rest, with what it says of itself.

    `user` are seconds of the busiest core in both, in which it computed or waited awake: where cores are shared these
    differ less from run to run. None where nobody has counted.
    """

    setup: float
    solve: float
    x: np.ndarray
    iterations: int | None = None
    user: float | None = None


@dataclass(frozen=True)
class Way:
    """Somebody's way; `run` goes it once."""

    package: str
    method: str
    ranks: int
    run: Callable[[], Solved]


def user_seconds() -> float:
    """Of all cores together, by this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def ours(
    rows: CsrArrays,
    b: np.ndarray,
    rtol: float,
    engine: Any,
    ranks: int,
    method: tuple[str, str, str],
    cells: int,
) -> Way:
    """Setup deals the matrix out, and makes levels; the solve deals b out, verifies x and gathers it.

    A method is a solver with a preconditioner, ``mg:w`` with cycle w, ``mg:w:single`` that in single precision, and a
    storage; the grid has `cells` in each direction.
    """
    solver, precond, storage = method
    if precond.count(":") > 2:
        raise BadArgument(
            f"a preconditioner is a name, a cycle and a precision, such as mg:w:single, not {precond!r}"
        )
    word, cycle, precision = [*precond.split(":"), "", ""][:3]
    options: dict[str, Any] = {
        "solver": solver,
        "precond": word,
        "engine": engine,
        "ranks": ranks,
        "rtol": rtol,
        "storage": storage,
    }
    options |= {"cycle": cycle} if cycle else {}
    options |= {"cycle_precision": precision} if precision else {}
    options |= {"grid": (cells,) * 3} if word in ("mg", "block-ilu") else {}

    def run() -> Solved:
        user, begin = user_seconds(), time.perf_counter()
        made = Solver(rows, **options)
        middle = time.perf_counter()
        solution = made.solve(b, on_failure="return")
        end, user = time.perf_counter(), (user_seconds() - user) / ranks
        return Solved(middle - begin, end - middle, solution.x, solution.iterations, user)

    name = f"{solver}, {precond}" if storage == "auto" else f"{solver}, {precond}, {storage}"
    return Way("sordino", name, ranks, run)


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


def pyamg_ways(rows: CsrArrays, b: np.ndarray, rtol: float) -> list[Way]:
    """Smoothed aggregation as PyAMG has it by default, with its CG, on one core; then a product, to verify."""
    import pyamg

    matrix = sp.csr_matrix(rows.matrix())

    def run() -> Solved:
        residuals: list[float] = []
        user, begin = user_seconds(), time.perf_counter()
        levels = pyamg.smoothed_aggregation_solver(matrix)
        middle = time.perf_counter()
        x = levels.solve(b, tol=rtol, accel="cg", maxiter=1000, residuals=residuals)
        np.linalg.norm(b - matrix @ x)
        end, user = time.perf_counter(), user_seconds() - user
        return Solved(middle - begin, end - middle, x, len(residuals) - 1, user)

    return [Way("pyamg", "cg, smoothed aggregation", 1, run)]


_BOOMER = ["-ksp_type", "cg", "-pc_type", "hypre", "-pc_hypre_type", "boomeramg"]
#: What PETSc is asked with: Jacobi as we do, incomplete factors, and algebraic multigrid, its own, and hypre's as it is
#: and with what hypre's manual advises in three dimensions. All end by the true residual.
PETSC = {
    "cg, jacobi": ["-ksp_type", "cg", "-pc_type", "jacobi"],
    "cg, block ICC": ["-ksp_type", "cg", "-pc_type", "bjacobi", "-sub_pc_type", "icc"],
    "cg, gamg": ["-ksp_type", "cg", "-pc_type", "gamg"],
    "cg, boomeramg": _BOOMER,
    "cg, boomeramg for 3-D": [
        *_BOOMER, "-pc_hypre_boomeramg_coarsen_type", "HMIS", "-pc_hypre_boomeramg_interp_type", "ext+i",
        "-pc_hypre_boomeramg_strong_threshold", "0.5", "-pc_hypre_boomeramg_P_max", "4",
        "-pc_hypre_boomeramg_agg_nl", "1",
    ],
}  # fmt: skip


def petsc_ways(problem: _petsc.Problem, rtol: float, processes: int, limit: float) -> list[Way]:
    """Setup is the matrix out of its arrays, and what the preconditioner does; nothing is verified, nor gathered."""

    def run_with(words: list[str]) -> Callable[[], Solved]:
        def run() -> Solved:
            options = [*words, "-ksp_rtol", repr(rtol), "-ksp_norm_type", "unpreconditioned"]
            said = problem.solve(options, processes=processes, limit=limit)[0]
            return _said(said, problem.x())

        return run

    return [Way("petsc", name, processes, run_with(words)) for name, words in PETSC.items()]


def _said(said: dict[str, Any], x: np.ndarray) -> Solved:
    """What a program says of one solve; its user seconds are of the busiest process."""
    user = said["setup_user_s"] + said["user_s"]
    return Solved(said["setup_s"], said["solve_s"], x, said["iterations"], user)


def pfmg_way(
    problem: _petsc.Problem, program: str, rtol: float, processes: int, limit: float, cells: int
) -> Way:
    """hypre's PCG with PFMG on a grid of so many cells in each direction. Setup is the matrix and the levels."""

    def run() -> Solved:
        said = problem.pcg(program, rtol, processes=processes, limit=limit, grid=(cells,) * 3)[0]
        return _said(said, problem.x())

    return Way("hypre", "pcg, pfmg", processes, run)
