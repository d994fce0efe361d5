"""``cg`` and ``bicgstab`` with the signature of ``scipy.sparse.linalg``: change the import, keep the script.

What they return is verified: ``info == 0`` says that the residual was recomputed from x and meets the tolerance. What
differs from SciPy is in docs/python.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ._device import host_copy, shape_of
from ._matrix import MOST_ROWS, as_vector
from ._names import missing_method
from ._solution import Solution
from ._solve import Solver
from ._vectors import host_array
from .errors import BadArgument, NotConvergedWarning

__all__ = ["bicgstab", "cg"]

#: What SciPy says with a negative number: that A is not what the method needs, or that the method has broken down.
_NEGATIVE = {"indefinite": -1, "breakdown": -10}
_ASKED_FOR = ("max_iterations", "time_limit", "stopped_by_user")  # ends that say nothing new
_LEAST_RTOL = 1e-300  # stands for 0: iterates to the end, or until nothing changes any more


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[np.ndarray], Any] | None = None,
    nullspace: Any = None,
    left_nullspace: Any = None,
    ranks: int | None = None,
    devices: Any = None,
    engine: str | None = None,
    timeout: float | None = None,
) -> tuple[Any, int]:
    """Conjugate gradients, for a Hermitian positive definite A. A drop-in for ``scipy.sparse.linalg.cg``.

    Parameters
    ----------
    A : sparse array or matrix (SciPy's or CuPy's), dense array, or LinearOperator, shape (n, n), real or complex
        Sparse and dense arrays are distributed over the ranks. Of an operator, each product gathers the vector
        (8 bytes a row), calls ``A.matvec`` once, on a thread of rank 0, and deals the result out.
    b : array_like, shape (n,) or (n, 1), real or complex
        NumPy, or anything in memory of the CPU or (real) of an NVIDIA GPU with ``__dlpack__``.
    x0 : array_like, shape (n,) or (n, 1), or "Mb", optional
        First guess; zero if not given; ``"Mb"`` for ``M @ b``, with M an array, operator or
        function.
    rtol, atol : float
        ``norm(b - A @ x) <= max(rtol * norm(b), atol)``, recomputed from x, is what ``info == 0`` says.
    maxiter : int, optional
        Iterations at most, 1 or more; 10 n if not given.
    M : sparse or dense array, LinearOperator, or function of a vector, optional
        Approximates the inverse of A. A diagonal is fused into the updates, any other matrix is distributed as A
        is, and an operator or function is called as an operator A is.
        Also ``"jacobi"``, the inverse diagonal of A, ``"sqrt-jacobi"``, which scales A by its root on both sides,
        ``"chebyshev"``, a polynomial in A, ``"block-ilu"``, incomplete factors of what each rank has of a matrix
        with few diagonals, ``"ic0"`` and ``"ilu0"``, those of any matrix, and ``"amg"``, a cycle of multigrid
        by aggregates of rows; ``"mg"``, which needs the grid, is for :class:`sordino.Solver`.
    callback : function of xk, optional
        Called after each iteration, on a thread of rank 0, with a copy of x, shape (n,), float64 or complex128;
        what it returns is ignored.
        It costs: x is gathered in every iteration (8 bytes a row) and all ranks wait for the call; on GPUs the
        loop is no graph. A :class:`sordino.Solver` with ``callback_every=m`` calls less often.
    nullspace, left_nullspace : array_like, shape (n,) or (n, k), or "constant", optional
        What a singular A, and its (conjugate) transpose, map to zero, as for :class:`sordino.Solver`.
    ranks, devices, engine, timeout
        Where to solve, as for :class:`sordino.Solver`; by default every GPU, or every core. A function or callback
        that may last longer than 60 s needs ``timeout=0``.

    Returns
    -------
    x : array of the kind and shape of b
        float32 if A and b are, else float64; complex64 or complex128 if one of them is complex. All is computed in
        double precision; x in single precision is verified as it is handed out.
    info : int
        0: verified. Above 0: not converged, the number of iterations. -1: A, or M, is not positive definite.

    Raises
    ------
    BadArgument
        (a ValueError) For shapes that do not go together, NaN or infinity, a complex A that is not Hermitian.

    Warns
    -----
    NotConvergedWarning
        x meets the tolerance in double precision, and misses it in single; ``info`` is then above 0.

    Notes
    -----
    Every call sets up anew. For many right-hand sides, or many values in one pattern, keep a :class:`sordino.Solver`.

    Examples
    --------
    >>> x, info = sordino.linalg.cg(A, b, rtol=1e-8)             # doctest: +SKIP
    """
    null = {"nullspace": nullspace, "left_nullspace": left_nullspace}
    run = {**null, "ranks": ranks, "devices": devices, "engine": engine, "timeout": timeout}
    return _solve("cg", A, b, x0, rtol, atol, maxiter, M, callback, run)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[np.ndarray], Any] | None = None,
    nullspace: Any = None,
    left_nullspace: Any = None,
    ranks: int | None = None,
    devices: Any = None,
    engine: str | None = None,
    timeout: float | None = None,
) -> tuple[Any, int]:
    """BiCGStab, for any square A. A drop-in for ``scipy.sparse.linalg.bicgstab``.

    Parameters, errors and costs are those of :func:`cg`; A and M are applied twice an iteration.

    Returns
    -------
    x : array of the kind and shape of b
    info : int
        0: verified. Above 0: not converged, the number of iterations. -10: the method has broken down, and restarts did
        not help.
    """
    null = {"nullspace": nullspace, "left_nullspace": left_nullspace}
    run = {**null, "ranks": ranks, "devices": devices, "engine": engine, "timeout": timeout}
    return _solve("bicgstab", A, b, x0, rtol, atol, maxiter, M, callback, run)


def _solve(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    M: Any,
    callback: Callable[[np.ndarray], Any] | None,
    run: dict[str, Any],
) -> tuple[Any, int]:
    if maxiter is not None and maxiter < 1:
        raise BadArgument(f"maxiter is at least 1, not {maxiter}: without an iteration nothing is solved")
    shape = shape_of(b, "b")
    solver = Solver(
        A,
        solver=method,
        M="none" if M is None else M,
        callback_every=0 if callback is None else 1,
        callback_x=callback is not None,
        **run,
    )
    n = solver.n
    if shape not in ((n,), (n, 1)):
        raise BadArgument(
            f"b has shape {shape}, and the matrix is {n} x {n}: b is one vector, (n,) or (n, 1)"
        )
    solution = solver.solve(
        b,
        _guess(x0, solver, b),
        on_failure="return",
        rtol=rtol if rtol or atol else _LEAST_RTOL,
        atol=atol,
        maxiter=min(10 * n, MOST_ROWS) if maxiter is None else maxiter,
        callback=None if callback is None else lambda iteration, residual, x: _ignored(callback(x)),
    )
    return solution.x, _info(solution)


def _guess(x0: Any, solver: Solver, b: Any) -> Any:
    if not isinstance(x0, str):
        return x0
    if x0 != "Mb":
        raise BadArgument(f"x0 is a vector, or 'Mb' for M @ b, not {x0!r}")
    return solver._system.precondition(as_vector(host_array(host_copy(b, "b"), "b"), solver.n, "b"))


def _ignored(_returned: Any) -> bool:
    return False


def _info(solution: Solution) -> int:
    if solution.converged:
        return 0
    if solution.status not in _ASKED_FOR:
        warnings.warn(f"{solution.status}: {solution.reason}", NotConvergedWarning, stacklevel=4)
    return _NEGATIVE.get(solution.status, max(1, solution.iterations))


def __getattr__(name: str) -> Any:
    if name == "gmres":
        raise AttributeError(
            "sordino.linalg.gmres is not there: take sordino.solve(A, b, method='gmres', restart=30), whose residual "
            "is the true one"
        )
    missing = missing_method(name)
    raise AttributeError(
        f"sordino.linalg.{missing}" if missing else f"module {__name__!r} has no attribute {name!r}"
    )
