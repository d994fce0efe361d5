"""cuSPARSE's SpMV at its best: preprocessed once, captured in a CUDA graph, replayed.

CuPy does not offer the preprocessing step, so the library is called directly; CuPy gives
the memory, the stream and the graph.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import glob
import os
import sys
from typing import Any

from ..log import logger

_INT32, _INT64 = 2, 3  # cusparseIndexType_t
_BASE_ZERO = 0
_REAL64 = 1  # CUDA_R_64F
_NO_TRANSPOSE = 0

#: CUSPARSE_SPMV_CSR_ALG1 and 2; which is faster depends on the matrix.
ALGORITHMS = (2, 3)
_HANDLE = ctypes.c_void_p


def load() -> Any:
    """The library as ctypes sees it, or None (and the log says so)."""
    wheels = [
        found
        for folder in sys.path
        for pattern in ("nvidia/cusparse/lib/libcusparse.so.12", "nvidia/cu1*/lib/libcusparse.so.12")
        for found in glob.glob(os.path.join(folder or ".", pattern))
    ]
    for name in ("libcusparse.so.12", *wheels, "libcusparse.so", ctypes.util.find_library("cusparse")):
        try:
            return ctypes.CDLL(name) if name else None
        except OSError:
            continue
    logger.info("cuSPARSE is not installed here: its SpMV is not measured")
    return None


class Spmv:
    """y = A x by cuSPARSE on the current device.

    Parameters
    ----------
    library : ctypes library
    cupy : module
    matrix : cupyx.scipy.sparse.csr_matrix, float64 with int32 indices
    x, y : cupy.ndarray, shape (n,)
    algorithm : int
        One of :data:`ALGORITHMS`.
    """

    def __init__(self, library: Any, cupy: Any, matrix: Any, x: Any, y: Any, algorithm: int) -> None:
        self._library = library
        self._algorithm = algorithm
        self._one, self._zero = ctypes.c_double(1.0), ctypes.c_double(0.0)
        self._handle, self._matrix, self._x, self._y = _HANDLE(), _HANDLE(), _HANDLE(), _HANDLE()
        n, nnz = matrix.shape[0], matrix.nnz
        self._keep = (matrix, x, y)
        self._call("cusparseCreate", ctypes.byref(self._handle))
        self._call(
            "cusparseCreateCsr", ctypes.byref(self._matrix), *map(ctypes.c_int64, (n, n, nnz)),
            *map(_pointer, (matrix.indptr, matrix.indices, matrix.data)), _INT32, _INT32, _BASE_ZERO, _REAL64,
        )  # fmt: skip
        self._call("cusparseCreateDnVec", ctypes.byref(self._x), ctypes.c_int64(n), _pointer(x), _REAL64)
        self._call("cusparseCreateDnVec", ctypes.byref(self._y), ctypes.c_int64(n), _pointer(y), _REAL64)
        size = ctypes.c_size_t(0)
        self._spmv("cusparseSpMV_bufferSize", ctypes.byref(size))
        self._buffer = cupy.empty(max(1, size.value), dtype=cupy.uint8)
        self.preprocessed = hasattr(library, "cusparseSpMV_preprocess")
        if self.preprocessed:
            self._spmv("cusparseSpMV_preprocess", _pointer(self._buffer))

    def run(self, stream: Any) -> None:
        """Put one product into a CuPy stream."""
        self._call("cusparseSetStream", self._handle, _HANDLE(stream.ptr))
        self._spmv("cusparseSpMV", _pointer(self._buffer))

    def close(self) -> None:
        """Give back what cuSPARSE holds."""
        self._call("cusparseDestroyDnVec", self._x)
        self._call("cusparseDestroyDnVec", self._y)
        self._call("cusparseDestroySpMat", self._matrix)
        self._call("cusparseDestroy", self._handle)

    def _spmv(self, function: str, last: Any) -> None:
        self._call(
            function, self._handle, _NO_TRANSPOSE, ctypes.byref(self._one), self._matrix, self._x,
            ctypes.byref(self._zero), self._y, _REAL64, self._algorithm, last,
        )  # fmt: skip

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(*arguments)
        if status != 0:
            raise RuntimeError(f"{function} returned {status}")


def _pointer(array: Any) -> Any:
    return _HANDLE(array.data.ptr)
