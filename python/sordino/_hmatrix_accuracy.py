"""Whether an H-matrix keeps to its eps, as the estimate says that ends its build."""

from __future__ import annotations

import warnings
from typing import Any

from ._solution import callers_level
from .errors import CompressionWarning


def misses_eps(statistics: dict[str, Any], settings: dict[str, Any]) -> bool:
    """Whether the estimate with its standard error is over eps, which nobody has waived.

    It is waived by ``certify=False``, and by `most_rank` where a block has so many terms. Without probes it is unknown.
    """
    waived = not settings["certify"] or statistics["max_rank"] >= settings.get("most_rank", float("inf"))
    return not waived and statistics["compression_error"] + statistics["error_of_estimate"] > settings["eps"]


def warn_of_misses(statistics: dict[str, Any], settings: dict[str, Any]) -> None:
    """Say it to whoever has asked for the matrix, where it is so."""
    if misses_eps(statistics, settings):
        warnings.warn(
            f"the H-matrix is off by {statistics['compression_error']:.2g} +- {statistics['error_of_estimate']:.1g} "
            f"of its norm, where eps is {settings['eps']:g}, though {statistics['redone_blocks']:,} blocks were done "
            "again: compression='full' takes each block from all its entries",
            CompressionWarning,
            stacklevel=callers_level(),
        )
