"""cuSPARSE's SpMV at its best, preprocessed once, captured in a CUDA graph, replayed; and its SpSV, analysed once.

CuPy offers neither the preprocessing step nor SpSV, so the library is called directly; CuPy gives
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
_FILL_MODE, _DIAGONAL = 0, 1  # cusparseSpMatAttribute_t: lower or upper, non-unit or unit
_SPSV_DEFAULT = 0

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
    logger.info("cuSPARSE is not installed here: it is not measured")
    return None


class _Routine:
    """A matrix, an x and a y as cuSPARSE knows them, on the current device.

    Parameters
    ----------
    library : ctypes library
    cupy : module
    matrix : cupyx.scipy.sparse.csr_matrix, float64 with int32 indices
    x, y : cupy.ndarray, shape (n,)
    """

    def __init__(self, library: Any, cupy: Any, matrix: Any, x: Any, y: Any) -> None:
        self._library, self._cupy = library, cupy
        self._one = ctypes.c_double(1.0)
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

    def run(self, stream: Any) -> None:
        """Put one y of x into a CuPy stream."""
        self._call("cusparseSetStream", self._handle, _HANDLE(stream.ptr))
        self._enqueue()

    def close(self) -> None:
        """Give back what cuSPARSE holds."""
        self._call("cusparseDestroyDnVec", self._x)
        self._call("cusparseDestroyDnVec", self._y)
        self._call("cusparseDestroySpMat", self._matrix)
        self._call("cusparseDestroy", self._handle)

    def _enqueue(self) -> None:
        raise NotImplementedError

    def _buffer_of(self, size: ctypes.c_size_t) -> Any:
        return self._cupy.empty(max(1, size.value), dtype=self._cupy.uint8)

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(*arguments)
        if status != 0:
            raise RuntimeError(f"{function} returned {status}")


class Spmv(_Routine):
    """y = A x by one of :data:`ALGORITHMS`, preprocessed where the library can."""

    def __init__(self, library: Any, cupy: Any, matrix: Any, x: Any, y: Any, algorithm: int) -> None:
        super().__init__(library, cupy, matrix, x, y)
        self._algorithm, self._zero = algorithm, ctypes.c_double(0.0)
        size = ctypes.c_size_t(0)
        self._spmv("cusparseSpMV_bufferSize", ctypes.byref(size))
        self._buffer = self._buffer_of(size)
        self.preprocessed = hasattr(library, "cusparseSpMV_preprocess")
        if self.preprocessed:
            self._spmv("cusparseSpMV_preprocess", _pointer(self._buffer))

    def _enqueue(self) -> None:
        self._spmv("cusparseSpMV", _pointer(self._buffer))

    def _spmv(self, function: str, last: Any) -> None:
        self._call(
            function, self._handle, _NO_TRANSPOSE, ctypes.byref(self._one), self._matrix, self._x,
            ctypes.byref(self._zero), self._y, _REAL64, self._algorithm, last,
        )  # fmt: skip


class Spsv(_Routine):
    """y of A y = x, where A is triangular; analysed when this is made, on the default stream, by values and pattern.

    Parameters
    ----------
    lower, unit : bool
        Which triangle, and whether its diagonal is 1, whatever is stored there.
    """

    def __init__(
        self, library: Any, cupy: Any, matrix: Any, x: Any, y: Any, *, lower: bool, unit: bool
    ) -> None:
        super().__init__(library, cupy, matrix, x, y)
        for attribute, value in ((_FILL_MODE, not lower), (_DIAGONAL, unit)):
            word = ctypes.c_int(value)
            self._call(
                "cusparseSpMatSetAttribute", self._matrix, attribute, ctypes.byref(word),
                ctypes.c_size_t(ctypes.sizeof(word)),
            )  # fmt: skip
        self._analysis = _HANDLE()
        self._call("cusparseSpSV_createDescr", ctypes.byref(self._analysis))
        size = ctypes.c_size_t(0)
        self._spsv("cusparseSpSV_bufferSize", ctypes.byref(size))
        self._buffer = self._buffer_of(size)  # which solves read
        self._spsv("cusparseSpSV_analysis", _pointer(self._buffer))

    def close(self) -> None:
        self._call("cusparseSpSV_destroyDescr", self._analysis)
        super().close()

    def _enqueue(self) -> None:
        self._spsv("cusparseSpSV_solve")

    def _spsv(self, function: str, *last: Any) -> None:
        self._call(
            function, self._handle, _NO_TRANSPOSE, ctypes.byref(self._one), self._matrix, self._x, self._y, _REAL64,
            _SPSV_DEFAULT, self._analysis, *last,
        )  # fmt: skip


def _pointer(array: Any) -> Any:
    return _HANDLE(array.data.ptr)
