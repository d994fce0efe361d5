"""How much memory a solver will take, before it is set up."""

from __future__ import annotations

from typing import Any

from . import _nullspace, _options, _order
from ._callbacks import looks
from ._native import core, translated
from ._numbers import words
from ._placement import chosen_engine, chosen_ranks, describe, reckoned_with
from ._system import as_system, matrix_bytes


def estimate_memory(
    A: Any,
    *,
    M: Any = None,
    nullspace: Any = None,
    left_nullspace: Any = None,
    callback_every: int = 0,
    callback_x: bool = False,
    machine: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """The bytes that :meth:`sordino.Solver.memory` will report of a solver with these arguments.

    Parameters
    ----------
    A, M, nullspace, left_nullspace, callback_every, callback_x, machine, **options
        As for :class:`sordino.Solver`; above all ``solver``, ``ranks``, ``engine`` and ``devices``. GPUs need not
        be here: a list of devices says how many there are to be. ``machine`` is what ``solver="auto"`` goes
        by, and else changes no bytes; ``partition="metis"`` is taken as blocks, whose vectors need a little more
        room for what others send.

    Returns
    -------
    dict
        ``bytes_per_rank``: vectors and stored matrix of every rank, of all processes; ``first_rank``: 0;
        ``matrix_bytes``: each process's own copy of the matrix.

    Raises
    ------
    BadArgument, Unsupported
        For what :class:`sordino.Solver` refuses, and for H-matrices.

    Notes
    -----
    Within 10 % of what is then held on the engines ``host`` and ``model``; of GPUs without what CUDA itself
    takes, and of a grid's fields without what setup gives back. A is not copied if it is canonical CSR; rows are made
    of fields. Cost: O(nnz), and a solver of 64 rows.

    Examples
    --------
    >>> sordino.estimate_memory(A, solver="cg", ranks=4)["bytes_per_rank"]      # doctest: +SKIP
    """
    M, options = _options.apart(M, options)
    system = as_system(A, M, own=False)
    null, options = _nullspace.apart(nullspace, left_nullspace, options, system.n, system.complex)
    checked = _options.check(options)
    if checked.get("partition") == "metis":
        checked["partition"] = "blocks"
    checked["engine"] = chosen_engine(checked)
    describe(checked, machine)
    described = reckoned_with(checked, machine)
    checked["ranks"] = chosen_ranks(checked, system.n)
    system, order = _order.ordered(system, checked)
    null = {name: words(order.into(vectors)) for name, vectors in null.items()}
    given = {**system.extras(), **null, **order.given, **looks(callback_every, callback_x)}
    with translated():
        held = core().estimate_memory(*system.arrays(), system.n, checked, given, described)
    return {"bytes_per_rank": list(held), "first_rank": 0, "matrix_bytes": matrix_bytes(system)}
