"""Libraries of arrays: how each makes and changes what lies on a device, or on the CPU."""

from __future__ import annotations

import cmath
import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ._vectors import namespace_of
from .errors import Unsupported


class Library:
    """How arrays of a library are made and changed on a device. Here it is the array API's way, on a GPU."""

    on_gpu = True
    has_matrices = False  # sparse ones

    def __init__(self, values: Any) -> None:
        self.space = namespace_of(values)
        self.device = values.device

    @property
    def name(self) -> str:
        """Of the library and its device."""
        return f"{type(self).__name__} {self.device}"

    def there(self) -> AbstractContextManager[Any]:
        """While it lasts, that GPU is the library's current one."""
        return nullcontext()

    def stream(self) -> int | None:
        """The current stream of that GPU, which is the current one: its address, 1 of the legacy default stream; None
        where the library does not say.
        """
        return None

    def doubles(self, values: Any) -> Any:
        """The same without gaps, in float64; itself where it is so."""
        dense = getattr(values, "strides", None) in (None, (8,))
        if dense and values.dtype == self.space.float64:
            return values
        return self.space.asarray(values, dtype=self.space.float64, copy=True)

    def singles(self, values: Any) -> Any:
        """The same in float32."""
        return self.space.astype(values, self.space.float32)

    def empty(self, shape: tuple[int, ...]) -> Any:
        """A new array in float64, of the library's allocator."""
        return self.space.empty(shape, dtype=self.space.float64, device=self.device)

    def rows(self, values: Any, dtype: np.dtype) -> Any:
        """The same without gaps, row by row, in that type; itself where it is so."""
        return self.space.asarray(values, dtype=getattr(self.space, dtype.name), copy=True)

    def like(self, values: Any) -> Any:
        """A new array of that shape and type, of the library's allocator."""
        return self.space.empty_like(values)

    def conjugated(self, values: Any) -> Any:
        """The conjugated numbers, a new array."""
        return self.space.conj(values)

    def widened(self, values: Any, dtype: np.dtype) -> Any:
        """The same in `dtype`, which is of double precision."""
        return self.rows(values, dtype)

    def typed(self, values: Any, like: Any) -> Any:
        """The same in the type of `like`; itself where it is so."""
        return self.space.astype(values, like.dtype, copy=False)

    def norms(self, values: Any) -> np.ndarray:
        """The 2-norm of each column, on the CPU."""
        return self.host(self.space.linalg.vector_norm(values, axis=0))

    def matrix(self, A: Any, dtype: np.dtype) -> Any:
        """A copy of a SciPy sparse matrix, in compressed rows, that is multiplied by ``@``."""
        raise Unsupported(f"{type(self).__name__} has no sparse matrices here: see has_matrices")

    def finite(self, values: Any) -> bool:
        """Whether no value is NaN or infinite. Waits for the GPU; a sum, and where that overflows another pass."""
        with np.errstate(all="ignore"):
            if cmath.isfinite(complex(self.space.sum(values))):  # NaN and infinity stay in a sum
                return True
        return bool(self.space.all(self.space.isfinite(values)))

    def host(self, values: Any) -> np.ndarray:
        """A copy in memory of the CPU."""
        return np.asarray(values)

    def given(self, values: np.ndarray) -> Any:
        """A copy in memory of the GPU."""
        return self.space.asarray(values, device=self.device)

    def gathered(self, values: Any, places: Any) -> Any:
        """values[places], a new array; `places` are the library's own."""
        return self.space.take(values, places, axis=0)


class Numpy(Library):
    """NumPy, on the CPU."""

    on_gpu = False
    has_matrices = True

    def __init__(self) -> None:
        self.space, self.device = np, "cpu"

    def widened(self, values: Any, dtype: np.dtype) -> Any:
        return values.astype(np.result_type(values.dtype, np.float64))

    def typed(self, values: Any, like: Any) -> Any:
        return values.astype(like.dtype, copy=False)

    def norms(self, values: Any) -> np.ndarray:
        return np.array([np.linalg.norm(column) for column in values.T])

    def matrix(self, A: Any, dtype: np.dtype) -> Any:
        return A

    def given(self, values: np.ndarray) -> Any:
        return values


class Cupy(Library):
    """CuPy, whose devices are context managers."""

    has_matrices = True

    def there(self) -> AbstractContextManager[Any]:
        return self.device

    def stream(self) -> int | None:
        return self.space.cuda.get_current_stream().ptr or 1

    def doubles(self, values: Any) -> Any:
        return self.space.ascontiguousarray(values, dtype=self.space.float64)

    def rows(self, values: Any, dtype: np.dtype) -> Any:
        return self.space.ascontiguousarray(values, dtype=dtype)

    def typed(self, values: Any, like: Any) -> Any:
        return values.astype(like.dtype, copy=False)

    def norms(self, values: Any) -> np.ndarray:
        found: np.ndarray = self.space.linalg.norm(values, axis=0).get()
        return found

    def matrix(self, A: Any, dtype: np.dtype) -> Any:
        import cupyx.scipy.sparse

        return cupyx.scipy.sparse.csr_matrix(A.astype(dtype))

    def singles(self, values: Any) -> Any:
        return values.astype(self.space.float32)

    def empty(self, shape: tuple[int, ...]) -> Any:
        return self.space.empty(shape, dtype=self.space.float64)

    def host(self, values: Any) -> np.ndarray:
        return values.get()

    def given(self, values: np.ndarray) -> Any:
        return self.space.asarray(values)


class Torch(Library):
    """PyTorch."""

    has_matrices = True

    def there(self) -> AbstractContextManager[Any]:
        return self.space.cuda.device(self.device)

    def stream(self) -> int | None:
        return self.space.cuda.current_stream().cuda_stream or 1

    def doubles(self, values: Any) -> Any:
        return values.to(self.space.float64).contiguous()

    def rows(self, values: Any, dtype: np.dtype) -> Any:
        return values.to(getattr(self.space, dtype.name)).resolve_conj().contiguous()

    def typed(self, values: Any, like: Any) -> Any:
        return values.to(like.dtype)

    def norms(self, values: Any) -> np.ndarray:
        return self.host(self.space.linalg.vector_norm(values, dim=0))

    def matrix(self, A: Any, dtype: np.dtype) -> Any:
        parts = (self.given(part) for part in (A.indptr, A.indices, A.data.astype(dtype)))
        with warnings.catch_warnings():  # torch says once that these are new, and that it does not check them
            warnings.simplefilter("ignore")
            return self.space.sparse_csr_tensor(*parts, size=A.shape)

    def conjugated(self, values: Any) -> Any:
        return self.space.conj(values).resolve_conj()

    def singles(self, values: Any) -> Any:
        return values.to(self.space.float32)

    def host(self, values: Any) -> np.ndarray:
        return values.resolve_conj().cpu().numpy()

    def given(self, values: np.ndarray) -> Any:
        writable = values if values.flags.writeable else values.copy()  # others torch takes with a warning
        return self.space.as_tensor(writable, device=self.device)

    def gathered(self, values: Any, places: Any) -> Any:
        return values[places]


def library_of(values: Any) -> Library:
    """The library of an array on a GPU."""
    name = type(values).__module__.partition(".")[0]
    return {"cupy": Cupy, "torch": Torch}.get(name, Library)(values)
