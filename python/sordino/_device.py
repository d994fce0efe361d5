"""Vectors in memory of an NVIDIA GPU: taken by DLPack, given back in memory of their library's own.

What the core is handed is on its way in the library's current stream; with ``__dlpack__(stream=1)`` the library makes
the legacy default stream wait for it, and for that one the core waits. x is complete when the core returns. Triangular
solves go into the library's own stream, where it says which that is.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ._libraries import Library, library_of
from ._matrix import check_type
from ._native import core
from ._vectors import ON_CPU, HostVectors, host_array, speaks_dlpack
from .errors import BadArgument, Unsupported

_CUDA, _MANAGED = 2, 13  # DLPack's numbers
LEGACY_DEFAULT_STREAM = 1


def taken(values: Any, n: int, what: str, as_numbers: bool = False) -> HostVectors | GpuVectors:
    """Vectors of a caller's as the core takes them, checked; `what` is for the error messages.

    With `as_numbers` they are of a system with complex numbers, which those of a GPU are copied to the CPU for.
    """
    if not is_on_gpu(values, what):
        return HostVectors(values, n, what)
    return CopiedVectors(values, n, what) if as_numbers else GpuVectors(values, n, what)


def is_complex_array(values: Any) -> bool:
    """Whether it holds complex numbers: an array of any library, or what NumPy makes one of."""
    if speaks_dlpack(values):
        return str(getattr(values, "dtype", "")).rpartition(".")[2].startswith("complex")  # torch.complex128
    return bool(np.iscomplexobj(values))


def shape_of(values: Any, what: str) -> tuple[int, ...]:
    """The shape of an array of a GPU or of the CPU."""
    if is_on_gpu(values, what):
        return tuple(int(length) for length in values.shape)
    return np.shape(host_array(values, what))


def is_on_gpu(values: Any, what: str) -> bool:
    """Whether it is an array in memory of an NVIDIA GPU.

    Raises
    ------
    Unsupported
        It is in memory that is neither a GPU's nor the CPU's, or of a GPU in a build without CUDA.
    """
    if not speaks_dlpack(values):
        return False
    kind = int(values.__dlpack_device__()[0])
    if kind in ON_CPU:
        return False
    name = f"{what} is a {type(values).__name__} in"
    if kind == _MANAGED:
        raise Unsupported(
            f"{name} managed memory, whose pages move by themselves: hand over memory of one GPU, or of the CPU"
        )
    if kind != _CUDA:
        raise Unsupported(
            f"{name} memory of a device that is neither the CPU nor an NVIDIA GPU: hand over a copy there"
        )
    if not core().build_info()["cuda"]:
        raise Unsupported(
            f"{name} memory of a GPU, and this build of Sordino has no CUDA: hand over a copy in memory of the CPU"
        )
    return True


class Gather:
    """vector[places], of vectors on GPUs: `places` are copied to a library's memory there once, 8 bytes a row."""

    def __init__(self, places: np.ndarray) -> None:
        self._places = places
        self._there: dict[tuple[str, str], Any] = {}

    def __call__(self, vector: Any) -> Any:
        """A new array beside `vector`, shape (n,) or (n, k), by rows."""
        library = library_of(vector)
        where = (type(vector).__module__, str(library.device))
        with library.there():
            if where not in self._there:
                self._there[where] = library.given(self._places)
            return library.gathered(vector, self._there[where])


def dtype_of(values: Any, what: str) -> np.dtype:
    """NumPy's name for the type of an array's entries."""
    name = str(values.dtype).rpartition(".")[2]  # torch.float64
    try:
        return np.dtype(name)
    except TypeError:
        raise BadArgument(f"{what} holds {name}, not real numbers") from None


def host_copy(values: Any, what: str) -> Any:
    """A matrix or array of a GPU in memory of the CPU; all else as it is. Cost: one copy of what it holds."""
    if type(values).__module__.startswith("cupyx.scipy.sparse") and hasattr(values, "get"):
        return values.get()
    if not is_on_gpu(values, what):
        return values
    library = library_of(values)
    with library.there():
        return library.host(values)


def handed(vector: Any) -> Any:
    """A vector as the core takes it: of the CPU as it is, of a GPU as a capsule, ordered behind its library's work."""
    if vector is None or isinstance(vector, np.ndarray):
        return vector
    with library_of(vector).there():
        return capsule_of(vector, LEGACY_DEFAULT_STREAM)


def capsule_of(vector: Any, stream: int) -> Any:
    """An array of the current GPU as a capsule, for use in a stream, which its library makes wait for its own."""
    try:
        return vector.__dlpack__(stream=stream)
    except (BufferError, RuntimeError, TypeError, ValueError) as refused:
        text = str(refused).split("\n")[0]
        raise BadArgument(
            f"a {type(vector).__name__} does not hand out its data by DLPack ({text})"
        ) from None


class CopiedVectors(HostVectors):
    """Vectors in memory of a GPU that are solved for in memory of the CPU; x goes back to that GPU.

    Cost: one copy of each vector to the CPU, and one of x to the GPU.
    """

    def __init__(self, values: Any, n: int, what: str) -> None:
        super().__init__(host_copy(values, what), n, what)
        self._library = library_of(values)

    def joined(self, parts: list[np.ndarray]) -> Any:
        """x, in memory of the library's own, of the shape of `values` from its columns."""
        with self._library.there():
            return self._library.given(super().joined(parts))


class GpuVectors:
    """Right-hand sides, or first guesses, in memory of a GPU.

    Parameters
    ----------
    values : array of CuPy, PyTorch or another library of the array API, shape (n,) or (n, k), real
    n : int
    what : str
        What it is, for the error messages.

    Attributes
    ----------
    columns : list of arrays, shape (n,), float64
        Without a copy where they lie without gaps and are float64 already.
    single : bool
        Whether `values` is float32.
    """

    def __init__(self, values: Any, n: int, what: str) -> None:
        self.shape = tuple(int(length) for length in values.shape)
        if len(self.shape) not in (1, 2) or self.shape[0] != n or 0 in self.shape:
            raise BadArgument(f"{what} has shape {self.shape}, and the matrix has {n:,} rows")
        dtype = dtype_of(values, what)
        check_type(dtype, what)
        self.single = dtype == np.float32
        self._library = library = library_of(values)
        parts = [values] if len(self.shape) == 1 else [values[:, k] for k in range(self.shape[1])]
        with library.there():
            self.columns = [library.doubles(part) for part in parts]
        self._all: Any = None
        self._places: list[Any] = []

    def places(self) -> list[Any]:
        """Where the core is to write x, one array for each column."""
        with self._library.there():
            self._all = self._library.empty((len(self.columns), self.shape[0]))
        self._places = [self._all[k] for k in range(len(self.columns))]
        return list(self._places)

    def rounded(self, x: Any) -> tuple[Any, Any]:
        """x in float32, and that in float64."""
        with self._library.there():
            single = self._library.singles(x)
            return single, self._library.doubles(single)

    def joined(self, parts: list[Any]) -> Any:
        """x of the shape of `values` from its columns, without gaps; copied if they are not its places."""
        if len(self.shape) == 1:
            return parts[0]
        with self._library.there():
            there = len(self._places) == len(parts) and all(map(operator.is_, parts, self._places))
            return (self._all if there else self._library.space.stack(parts)).T


def numbers_by_rows(B: Any, n: int, dtype: np.dtype, library: Library) -> Any:
    """B on a GPU as numbers of `dtype`, shape (n, k), row by row without gaps: copied where it is not so.

    `library` is B's, and its GPU the current one. NaN and infinity are not looked for: who asks for X finds them there.

    Raises
    ------
    BadArgument
        Another shape, or no numbers.
    """
    shape = tuple(int(length) for length in B.shape)
    if len(shape) not in (1, 2) or shape[0] != n or 0 in shape:
        raise BadArgument(f"b has shape {shape}, and the matrix has {n:,} rows")
    if (kind := dtype_of(B, "b")).kind not in "fiubc":
        raise BadArgument(f"b holds {kind}, not numbers")
    return library.rows(B.reshape(n, -1), dtype)
