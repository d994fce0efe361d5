"""Solving one system from Python: :func:`solve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._callbacks import Callback
from ._solution import Solution, check_on_failure
from ._solve import Solver

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import OnceOptions


def solve(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    on_failure: str = "raise",
    callback: Callback | None = None,
    **options: Unpack[OnceOptions],
) -> Solution:
    """Set up and solve one system A x = b.

    Parameters
    ----------
    A : sparse or dense array, or LinearOperator, shape (n, n), real or complex
    b : array_like, shape (n,) or (n, k)
    x0 : array_like, shape (n,) or (n, k), optional
        First guess; zero if not given.
    on_failure : {"raise", "warn", "return"}
        What happens when the solve ends without a verified solution.
    callback : function of (iteration, relative residual[, x]), optional
        Returning True stops the solve.
    **options
        ``M``, ``nullspace``, ``left_nullspace``, ``callback_every``, ``callback_x`` and ``machine`` of
        :class:`Solver`, and all that ``sordino options`` lists, above all ``solver``, ``rtol`` (1e-5), ``atol`` (0),
        ``maxiter``, ``time_limit`` (seconds), ``engine``, ``ranks`` and ``devices``.

    Returns
    -------
    Solution
        Its ``x`` is verified: ``||b - A x|| <= max(rtol ||b||, atol)`` was recomputed.

    Raises
    ------
    NotConverged
        With ``on_failure="raise"``; carries the solution with the best x.
    BadArgument, Unsupported, DeviceError, PeerFailed

    Notes
    -----
    Returns when x is there. Setup costs O(nnz) and as much memory as :func:`estimate_memory` says; for many
    right-hand sides, or new values in one pattern, keep a :class:`Solver`.

    Examples
    --------
    >>> import sordino
    >>> A = sordino.poisson(16, 16, 16)                              # doctest: +SKIP
    >>> sordino.solve(A, A @ numpy.ones(4096), rtol=1e-8).status     # doctest: +SKIP
    'converged'
    """
    check_on_failure(on_failure)
    solver = Solver(A, **options)
    return solver.solve(b, x0, on_failure=on_failure, callback=callback)
