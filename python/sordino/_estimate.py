"""How much memory a solver will take, before it is set up."""

from __future__ import annotations

from typing import Any

from . import _options
from ._native import core, translated
from ._placement import check_ranks, default_engine, default_ranks, describe
from ._solve import looks, matrix_bytes
from ._system import as_system


def estimate_memory(
    A: Any,
    *,
    M: Any = None,
    callback_every: int = 0,
    callback_x: bool = False,
    machine: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """The bytes that :meth:`sordino.Solver.memory` will report of a solver with these arguments.

    Parameters
    ----------
    A, M, callback_every, callback_x, machine, **options
        As for :class:`sordino.Solver`; above all ``solver``, ``ranks`` and ``engine``. A GPU need not be here. A
        machine, for ``engine="model"``, is checked, and changes no bytes.

    Returns
    -------
    dict
        ``bytes_per_rank``: vectors and stored matrix of every rank, of all processes; ``first_rank``: 0;
        ``matrix_bytes``: each process's own copy of the matrix.

    Raises
    ------
    BadArgument, Unsupported
        For what :class:`sordino.Solver` refuses.

    Notes
    -----
    Within 10 % of what is then held on the engines ``host`` and ``model``; of GPUs without what CUDA itself
    takes. A is not copied if it is canonical CSR. Cost: O(nnz), and a solver of 64 rows.

    Examples
    --------
    >>> sordino.estimate_memory(A, solver="cg", ranks=4)["bytes_per_rank"]      # doctest: +SKIP
    """
    M, options = _options.apart(M, options)
    system = as_system(A, M, own=False)
    checked = _options.check(options)
    if checked.get("engine", "auto") == "auto":
        checked["engine"] = default_engine()
    describe(checked["engine"], machine)
    processes = int(core().mpi()["size"])
    if "ranks" not in checked:
        wanted = default_ranks(checked["engine"], checked.get("devices"), processes)
        checked["ranks"] = max(1, min(wanted, system.n // processes))
    check_ranks(checked["ranks"], processes, system.n)
    given = {**system.extras(), **looks(callback_every, callback_x)}
    with translated():
        held = core().estimate_memory(*system.arrays(), system.n, checked, given)
    return {"bytes_per_rank": list(held), "first_rank": 0, "matrix_bytes": matrix_bytes(system)}
