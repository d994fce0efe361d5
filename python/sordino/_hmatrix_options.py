"""Words for building an H-matrix, as the core takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._hmatrix_memory import check_memory
from ._hmatrix_parts import processes
from ._native import core, translated
from .errors import BadArgument


def check_builds(
    n: int, *asked: dict[str, Any], coarse: dict[str, Any] | None = None, in_parts: bool = False
) -> None:
    """Refuse what :func:`sordino.hmatrix` is asked for by these words, of n triangles, if the memory does not hold it.

    `coarse`: the words of a preconditioner's matrix. `in_parts`: each process builds its part of them. Collective over
    MPI processes: all refuse, or none does.

    Raises
    ------
    BadArgument
        For words that cannot be used, too.
    """
    builds = [_checked(word) for word in asked]
    if coarse is not None:
        try:
            builds.append(_checked(coarse))
        except BadArgument as wrong:
            raise BadArgument(f"coarse: {wrong}") from None
    check_memory(n, builds, parts=processes() if in_parts else 1, together=True)


def _checked(words: dict[str, Any]) -> dict[str, Any]:
    """The core's options, which it takes."""
    options = compression_options(**{name: words[name] for name in words if name != "engine"})
    with translated():
        core().HMatrix.check(options)
    return options


def compression_options(
    eps: float = 1e-6,
    *,
    eta: float = 2.0,
    leaf: int = 15,
    compression: str = "aca+",
    recompress: bool = True,
    certify: bool = True,
    most_rank: int | None = None,
    probes: int = 32,
    threads: int | None = None,
) -> dict[str, Any]:
    """The core's options of a build."""
    return {
        "eps": number(eps, "eps"),
        "eta": number(eta, "eta"),
        "leaf": whole_number(leaf, "leaf", 1),
        "compression": str(compression),
        "recompress": bool(recompress),
        "certify": bool(certify),
        "probes": whole_number(probes, "probes", 0),
        **({} if most_rank is None else {"most_rank": whole_number(most_rank, "most_rank", 1)}),
        "threads": 0 if threads is None else whole_number(threads, "threads", 1),
    }


def wave_options(kernel: str, wavenumber: Any) -> dict[str, float]:
    """What the kernel is told of waves."""
    if kernel == "helmholtz" and wavenumber is None:
        raise BadArgument("kernel helmholtz needs a wavenumber, in 1/m")
    if kernel != "helmholtz" and wavenumber is not None:
        raise BadArgument(f"wavenumber belongs to kernel helmholtz, and this one is {kernel}")
    return {} if wavenumber is None else {"wavenumber": number(wavenumber, "wavenumber")}


def number(value: Any, name: str) -> float:
    """The value as a float, or a sentence that names it."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadArgument(f"{name} is a number, not {value!r}") from None


def whole_number(value: Any, name: str, least: int) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value < 2**31:
        raise BadArgument(f"{name} is a whole number, at least {least}, not {value!r}")
    return int(value)
