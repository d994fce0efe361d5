"""Names that people bring from elsewhere: what is here in their place."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import suggestion

#: Methods of other libraries that are here under another name.
_SAME = {
    "pcg": "cg",
    "bicg-stab": "bicgstab",
    "pbicgstab": "bicgstab",
    "bcgs": "bicgstab",
    "pipebcgs": "pipebicgstab",
    "fgmres": "gmres",
}

#: Methods that are not here: for which matrices, and what takes their place.
_GENERAL = "{} is not there: take bicgstab or gmres, if need be with an incomplete factorisation as M (docs/from_petsc)"
_SYMMETRIC = "{} is not there: take cg for a positive definite matrix, bicgstab for an indefinite one (docs/from_petsc)"
_MISSING = {
    **dict.fromkeys(("lgmres", "gcrotmk", "qmr", "tfqmr", "bicg", "cgs"), _GENERAL),
    **dict.fromkeys(("minres", "symmlq"), _SYMMETRIC),
}


def missing_method(word: str) -> str:
    """A sentence on a method of other libraries that is not here; empty for any other word."""
    name = word.lower()
    return _MISSING.get(name, "").format(name)


def of_method(word: str, known: Iterable[str]) -> str:
    """What follows ``unknown solver 'pcg'``: ``", did you mean 'cg'?"``, or what takes its place; or nothing."""
    name, known = word.lower(), list(known)
    if missing := missing_method(word):
        return f": {missing}"
    same = _SAME.get(name, name)
    return f", did you mean '{same}'?" if same in known else suggestion(name, known)


def of_option(word: str, known: Iterable[str]) -> str:
    """``", did you mean 'precond'?"`` for ``preconditioner``, which begins with it, or for what is near."""
    begins = [name for name in known if len(name) > 3 and word.startswith(name)]
    return f", did you mean '{max(begins, key=len)}'?" if begins else suggestion(word, known)
