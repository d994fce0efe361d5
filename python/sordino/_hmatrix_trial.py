"""What is asked of a solve with an H-matrix, looked at before the matrix is built."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import scipy.sparse as sp

from . import _nullspace, _options
from ._hmatrix import HMatrix, hmatrix
from ._hmatrix_builders import gpus_of_ranks
from ._hmatrix_memory import check_gpus
from ._hmatrix_parts import processes
from ._placement import place
from ._solve import Solver
from .log import logger
from .surfaces import sphere


def try_solver(
    n: int, options: Mapping[str, Any], *, coarse: bool = False, kernel: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Let a solver refuse what it is asked for before the matrix of n triangles is built: by one of a small sphere.

    Parameters
    ----------
    options : mapping
        What :class:`sordino.Solver` is to be given, but for the matrix.
    coarse : bool
        Whether a second H-matrix is to precondition.
    kernel : mapping, optional
        Its name, and the wavenumber of one that has any; Laplace's, if not given.

    Returns
    -------
    dict
        The options, checked, with the ``engine`` and the ``ranks`` that they mean for n triangles.

    Raises
    ------
    BadArgument, Unsupported
        As the solver of the large matrix would. What depends on its values, such as a nullspace that is none, is for
        that one.

    Notes
    -----
    Collective over MPI processes. Cost: a matrix of 40 triangles, or of as many as there are ranks, and a solver of it:
    milliseconds on a host. What would be warned of is left to the solver that then solves.
    """
    M, given = _options.apart(options.get("M"), {name: options[name] for name in options if name != "M"})
    null, left = given.pop("nullspace", None), given.pop("left_nullspace", None)
    words = dict(kernel or {})
    with _in_silence():
        _nullspace.apart(null, left, {}, n, words.get("kernel") == "helmholtz")
        asked = {name: value for name, value in given.items() if name not in _options.AT_SETUP}
        placed, _ = place(_options.check(asked), n, given.get("machine"))
        H = _small(placed["ranks"] * processes(), words)
        stand_in = H if coarse else _stand_in(M, H)
        Solver(H, M=stand_in, **{**given, "ranks": placed["ranks"]}).close()
    return placed


def check_gpus_of(
    placed: Mapping[str, Any], n: int, builds: Sequence[Mapping[str, Any]], kernel: str = "laplace"
) -> None:
    """Refuse matrices of n triangles that the GPUs which are to solve do not hold; other engines have none.

    Parameters
    ----------
    placed : mapping
        As :func:`try_solver` returns it.
    builds : as for :func:`sordino._hmatrix_memory.check_gpus`; a second one preconditions

    Raises
    ------
    BadArgument
    """
    if placed["engine"] != "cuda":
        return
    ranks = placed["ranks"]
    check_gpus(
        n, builds, gpus_of_ranks(placed.get("devices") or None, ranks), ranks=ranks, all_ranks=ranks * processes(),
        basis=_basis(placed, len(builds) > 1), kernel=kernel,
    )  # fmt: skip


def _basis(options: Mapping[str, Any], coarse: bool) -> int:
    """Vectors that gmres keeps: those of its basis, and twice as many with a preconditioner that changes."""
    solver = options.get("solver", "auto")
    if not (solver == "gmres" or (solver == "auto" and coarse)):
        return 0
    return (2 if coarse else 1) * int(options.get("restart", _options.specs()["restart"].default))


def _small(ranks: int, words: Mapping[str, Any]) -> HMatrix:
    """Of a sphere of 10 M^2 triangles, which are small beside wavelengths."""
    M = max(2, math.isqrt(max(ranks - 1, 0) // 10) + 1)
    return hmatrix(sphere(5, M, radius=1e-6), 1e-2, engine="host", threads=1, **words)


def _stand_in(M: Any, H: HMatrix) -> Any:
    """A preconditioner of the kind of the caller's, of the size of H."""
    if M is None:
        return None
    if isinstance(M, HMatrix):
        return H
    if callable(M) or hasattr(M, "matvec"):
        return lambda r: r
    return sp.identity(H.shape[0], format="csr")


@contextmanager
def _in_silence() -> Iterator[None]:
    told, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = told
