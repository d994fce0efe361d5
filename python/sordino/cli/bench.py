"""``sordino bench NAME``: measurements, each a module of :mod:`sordino.bench`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

from .. import bench
from ..errors import BadArgument, suggestion
from .processes import say


def names() -> list[str]:
    """The benchmarks: the modules of ``sordino.bench`` that have a ``SUMMARY``."""
    return sorted(
        entry.name for entry in pkgutil.iter_modules(bench.__path__) if not entry.name.startswith("_")
    )


def main(argv: Sequence[str]) -> int:
    """Run one benchmark, or list them."""
    if not argv or argv[0] in ("-h", "--help"):
        rows = [
            f"  {name:<10}{importlib.import_module(f'{bench.__name__}.{name}').SUMMARY}" for name in names()
        ]
        say("usage: sordino bench NAME ...\n\n" + "\n".join(rows))
        return 0 if argv else 2
    if argv[0] not in names():
        near = suggestion(argv[0], names()) or f"; known: {', '.join(names())}"
        raise BadArgument(f"unknown benchmark '{argv[0]}'{near}")
    return int(importlib.import_module(f"{bench.__name__}.{argv[0]}").main(argv[1:]))
