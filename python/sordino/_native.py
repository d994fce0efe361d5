"""The one door to the compiled module ``sordino._core``.

Everything else asks :func:`core` for it, so that a missing or broken build gives one
sentence instead of a traceback of imports, and so that errors of the core become the
exception classes of :mod:`sordino.errors` in one place.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from . import _wheels
from .errors import SordinoError, Unsupported, from_code, from_core

_loaded: ModuleType | None = None


def core() -> ModuleType:
    """Return the compiled module, loading it on the first call.

    Raises
    ------
    Unsupported
        When it is not there or cannot be loaded; the sentence says what to do.
    """
    global _loaded
    if _loaded is None:
        _wheels.show_nvshmem()
        _wheels.load_mpi()
        try:
            _loaded = importlib.import_module("sordino._core")
        except ImportError as cause:
            raise Unsupported(
                f"the compiled part of Sordino cannot be loaded ({cause}); "
                "build it with 'pip install .' in the source folder"
            ) from cause
    return _loaded


@contextmanager
def translated() -> Iterator[None]:
    """Turn ``_core.Error`` into the matching :class:`~sordino.errors.SordinoError`."""
    error_type = core().Error
    try:
        yield
    except SordinoError:
        raise
    except error_type as error:
        raise from_core(error) from None
    except MemoryError:
        raise from_code(
            "bad_argument", "there is not enough memory on this machine for this problem"
        ) from None
