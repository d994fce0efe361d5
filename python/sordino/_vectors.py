"""Vectors of callers: NumPy, anything with ``__array__``, and anything that speaks DLPack; here those of the CPU."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._matrix import as_columns
from .errors import BadArgument, Unsupported

#: DLPack's numbers: main memory, and memory pinned for CUDA or ROCm.
ON_CPU = (1, 3, 11)


class HostVectors:
    """Right-hand sides, or first guesses, in memory of the CPU.

    Parameters
    ----------
    values : array_like, sparse array, or an object with ``__dlpack__``, shape (n,) or (n, k), real or complex
    n : int
    what : str
        What it is, for the error messages: ``"b"``.

    Attributes
    ----------
    columns : list of ndarray, shape (n,), float64, contiguous
    single : bool
        Whether `values` is float32.

    Raises
    ------
    BadArgument
        Another shape or type, NaN or infinity, or it refuses to hand out its data.
    """

    def __init__(self, values: Any, n: int, what: str) -> None:
        array = host_array(values, what)
        self.columns = as_columns(array, n, what)
        self.single = is_single(getattr(array, "dtype", None))
        shape = np.shape(array)
        self._shape = shape if len(shape) == 2 else (n,)
        self._restore = restorer(values)

    def places(self) -> list[Any]:
        """Where the core is to write x, for each column: in memory of its own."""
        return [None] * len(self.columns)

    def rounded(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x in single precision, and that in double."""
        double = np.asarray(x)
        single = double.astype(np.complex64 if double.dtype.kind == "c" else np.float32)
        return single, single.astype(double.dtype)

    def joined(self, parts: list[np.ndarray]) -> Any:
        """x of the kind and shape of `values` from its columns."""
        x = np.asarray(parts[0]) if len(parts) == 1 else np.stack(parts, axis=1)
        return self._restore(x.reshape(self._shape))


def host_array(values: Any, what: str) -> Any:
    """The values where NumPy can see them, without a copy.

    Parameters
    ----------
    values : array_like, sparse array, or an object with ``__dlpack__``
    what : str
        What it is, for the error messages: ``"b"``.

    Raises
    ------
    Unsupported
        It lies in memory of a device, and here only memory of the CPU is taken.
    BadArgument
        It refuses to hand out its data.
    """
    if sp.issparse(values):
        return values.toarray()
    if not speaks_dlpack(values):
        return values
    if int(values.__dlpack_device__()[0]) not in ON_CPU:
        raise Unsupported(
            f"{what} is a {type(values).__name__} in memory of a device; here vectors in memory of the CPU are "
            "taken: hand over a copy there"
        )
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError) as refused:
        text = str(refused).split("\n")[0]
        raise BadArgument(f"{what} does not hand out its data by DLPack ({text})") from None


def restorer(values: Any) -> Callable[[np.ndarray], Any]:
    """A function that makes an array what `values` is: a torch tensor for a torch tensor, NumPy for all else."""
    make = getattr(namespace_of(values), "from_dlpack", None) if speaks_dlpack(values) else None
    return make if make else lambda array: array


def is_single(dtype: Any) -> bool:
    """Whether a dtype is float32 or complex64; of None and of what is no NumPy dtype, no."""
    return isinstance(dtype, np.dtype) and dtype in (np.float32, np.complex64)


def namespace_of(values: Any) -> Any:
    """The module with the functions of an array's library."""
    if hasattr(values, "__array_namespace__"):
        return values.__array_namespace__()
    return sys.modules[type(values).__module__.partition(".")[0]]  # torch, cupy


def speaks_dlpack(values: Any) -> bool:
    """Whether it hands out its data by DLPack; NumPy's own arrays need not."""
    return (
        not isinstance(values, (np.ndarray, np.generic))
        and hasattr(values, "__dlpack__")
        and hasattr(values, "__dlpack_device__")
    )
