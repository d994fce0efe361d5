"""Vectors of callers: NumPy, anything with ``__array__``, and anything on the CPU that speaks DLPack."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .errors import BadArgument, Unsupported

_ON_CPU = (1, 3, 11)  # DLPack's numbers: main memory, and memory pinned for CUDA or ROCm


def host_array(values: Any, what: str) -> Any:
    """The values where NumPy can see them; without a copy where they lie in memory of the CPU.

    Parameters
    ----------
    values : array_like, sparse array, or an object with ``__dlpack__``
    what : str
        What it is, for the error messages: ``"b"``.

    Raises
    ------
    Unsupported
        It lies in memory of a device.
    BadArgument
        It refuses to hand out its data.
    """
    if sp.issparse(values):
        return values.toarray()
    if not _speaks_dlpack(values):
        return values
    device = values.__dlpack_device__()
    if int(device[0]) not in _ON_CPU:
        raise Unsupported(
            f"{what} is a {type(values).__name__} in memory of a device; this version takes vectors in memory "
            "of the CPU: hand over a copy there"
        )
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError) as refused:
        text = str(refused).split("\n")[0]
        raise BadArgument(f"{what} does not hand out its data by DLPack ({text})") from None


def restorer(values: Any) -> Callable[[np.ndarray], Any]:
    """A function that makes an array what `values` is: a torch tensor for a torch tensor, NumPy for all else."""
    if not _speaks_dlpack(values):
        return lambda array: array
    if hasattr(values, "__array_namespace__"):
        namespace = values.__array_namespace__()
    else:  # torch
        namespace = sys.modules[type(values).__module__.partition(".")[0]]
    make = getattr(namespace, "from_dlpack", None)
    return make if make else lambda array: array


def is_single(dtype: Any) -> bool:
    """Whether a dtype is float32 or complex64; of None and of what is no NumPy dtype, no."""
    return isinstance(dtype, np.dtype) and dtype in (np.float32, np.complex64)


def _speaks_dlpack(values: Any) -> bool:
    return (
        not isinstance(values, (np.ndarray, np.generic))
        and hasattr(values, "__dlpack__")
        and hasattr(values, "__dlpack_device__")
    )
