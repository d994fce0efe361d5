"""Triangular solves of right-hand sides on GPUs, which stay there, and are refined there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._device import is_complex_array, is_on_gpu, numbers_by_rows
from ._factors import with_unit_diagonal
from ._libraries import Library, library_of
from ._residuals import Residuals
from .errors import BadArgument

if TYPE_CHECKING:
    from ._triangular import FactorizedTriangle


def stays(F: FactorizedTriangle, B: Any, trans: str, refine: int | str) -> bool:
    """Whether X is computed on GPUs for B on one of them: refined only where its library has sparse matrices."""
    if not F.solves_on_gpus or not is_on_gpu(B, "b"):
        return False
    if is_complex_array(B) and F.dtype.kind == "f":
        return False
    return not F.wants_steps(trans, refine) or library_of(B).has_matrices


def solved_there(
    F: FactorizedTriangle, B: Any, trans: str, refine: int | str
) -> tuple[Any, list[float], bool]:
    """X beside B, the backward errors of refining, and whether X is finite.

    Raises
    ------
    BadArgument
        Another shape, no numbers, NaN or infinity inside.

    Notes
    -----
    Each x is a sum with a multiple of its own b, which is not zero: where X is finite, so is B. So X alone is looked
    at, by the solve itself where it is not refined, and B only to say whose fault it is. The GPU is waited for once.
    Each step of refinement costs a solve and a product with T and with |T|.
    """
    steps, library = F.steps(trans, refine), library_of(B)
    with library.there():
        b = numbers_by_rows(B, F.shape[0], F.dtype, library)
        x, finite = F.put_there(b, trans, library, waits=not steps)
        errors: list[float] = []
        if steps:
            x, found = _residuals(F, library).refined(
                b, x, trans, lambda left: F.solve_there(left, trans), steps=steps
            )
            errors = found.errors
            F.settle()
            finite = library.finite(x)
        if not finite and not library.finite(b):
            raise BadArgument("b holds NaN or infinity")
        return x.reshape(B.shape), errors, finite


def _residuals(F: FactorizedTriangle, library: Library) -> Residuals:
    """With what the triangle means, in memory of a library; copied there with the first step of refinement."""
    known = F.residuals  # an update takes another one
    if library.name not in known:
        matrix = with_unit_diagonal(F.columns.matrix(), F.unit_diagonal)
        known[library.name] = Residuals(matrix.tocsr(), library, F.dtype)
    return known[library.name]
