"""cuDSS 0.7 by ctypes: a matrix that it factors on a GPU, and the phases of its solves, timed.

CuPy gives memory, streams and events. Numbers below are those of cuDSS's header; others of the library have other ones.
"""

from __future__ import annotations

import ctypes
import glob
import itertools
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.errors import SordinoError, Unsupported

NAME, CUBLAS = "libcudss.so.0", "libcublas.so.13"
VERSION = (0, 7)
WARM = 2  # solves that do not count

PHASES = {
    "analysis": 3, "factorization": 4, "fwd_perm": 1 << 4, "fwd": 1 << 5, "diag": 1 << 6, "bwd": 1 << 7,
    "bwd_perm": 1 << 8, "solve": 63 << 4,
}  # fmt: skip
KINDS = {"general": 0, "spd": 3}  # cudssMatrixType_t
_STATUS = (
    "success", "not initialized", "allocation failed", "invalid value", "not supported", "execution failed",
    "internal error",
)  # fmt: skip
_REAL64, _INT32 = 1, 10  # cudaDataType_t
_FULL, _BASE_ZERO, _COLUMN_MAJOR = 0, 0, 0
_REFINEMENTS, _PIVOTING, _NO_PIVOTING = 6, 8, 2  # cudssConfigParam_t twice, cudssPivotType_t
_INFO, _ENTRIES, _ROW_ORDER, _USER_ORDER = 0, 1, 4, 9  # cudssDataParam_t
_HANDLE = ctypes.c_void_p


class CudssError(SordinoError):
    """A call that cuDSS could not carry out."""


def load(path: str = "") -> Any:
    """The library: the one at `path`, or the loader's, or one of a wheel.

    Raises
    ------
    Unsupported
        It is not here, cannot be loaded, or is of another version.
    """
    _loaded(CUBLAS)  # which it needs, and the loader does not look for in wheels
    library, why = _loaded(path or NAME)
    if library is None:
        remedy = "install nvidia-cudss-cu13 0.7, or say --library PATH"
        raise Unsupported(f"cuDSS cannot be loaded ({why}): {remedy}")
    if (found := version(library))[:2] != VERSION:
        said, asked = (".".join(map(str, numbers)) for numbers in (found, VERSION))
        raise Unsupported(f"this cuDSS is {said}, and the calls here are those of {asked}")
    return library


def _loaded(name: str) -> tuple[Any, str]:
    """A library as ctypes sees it, or None; and what the loader said first."""
    wheels = [
        found
        for folder in sys.path
        for found in glob.glob(os.path.join(folder or ".", "nvidia", "cu13", "lib", name))
    ]
    said = []
    for path in (name, *wheels):
        try:
            return ctypes.CDLL(path, ctypes.RTLD_GLOBAL), ""
        except OSError as error:
            said.append(str(error))
    return None, said[0]


def version(library: Any) -> tuple[int, ...]:
    """Major, minor and patch."""
    numbers = [ctypes.c_int(0) for _ in range(3)]
    for which, number in enumerate(numbers):
        checked("cudssGetProperty", library.cudssGetProperty(which, ctypes.byref(number)))
    return tuple(number.value for number in numbers)


def checked(call: str, status: int) -> None:
    """Raise CudssError unless it is success."""
    if status:
        said = _STATUS[status] if 0 < status < len(_STATUS) else f"status {status}"
        raise CudssError(f"{call}: {said}")


@dataclass(frozen=True)
class Seconds:
    """Medians of a step: by events on the GPU, one step after the other; by the host's clock, waiting for each."""

    events: float
    called: float


class Factored:
    """A matrix that cuDSS has factored, on the current GPU.

    Parameters
    ----------
    library : ctypes library, of :func:`load`
    cupy : module
    matrix : scipy.sparse.csr_array, float64 with int32 indices, shape (n, n)
        All of its entries, also where it is symmetric.
    kind : {"spd", "general"}
        Cholesky, or LDU without pivoting. Refinement is off.
    order : numpy.ndarray of int32, shape (n,), optional
        Row order[k] is eliminated as the k-th; without it cuDSS finds an order.

    Notes
    -----
    Waits for the GPU. Cost: analysis, on the host, and factorization: ``analysis_s``, ``factorization_s``.
    """

    def __init__(
        self, library: Any, cupy: Any, matrix: Any, kind: str = "spd", order: np.ndarray | None = None
    ) -> None:
        self._library, self._cupy, self.n = library, cupy, matrix.shape[0]
        self._handle, self._config, self._data = _HANDLE(), _HANDLE(), _HANDLE()
        self._A, self._dense = _HANDLE(), dict[int, tuple[Any, Any]]()
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._arrays = [cupy.asarray(part) for part in (matrix.indptr, matrix.indices, matrix.data)]
        self._call("cudssCreate", ctypes.byref(self._handle))
        self._call("cudssSetStream", self._handle, _HANDLE(self._stream.ptr))
        self._call("cudssConfigCreate", ctypes.byref(self._config))
        self._call("cudssDataCreate", self._handle, ctypes.byref(self._data))
        self._call(
            "cudssMatrixCreateCsr", ctypes.byref(self._A), *map(ctypes.c_int64, (self.n, self.n, matrix.nnz)),
            _pointer(self._arrays[0]), None, *map(_pointer, self._arrays[1:]), _INT32, _REAL64, KINDS[kind],
            _FULL, _BASE_ZERO,
        )  # fmt: skip
        for parameter, value in ((_REFINEMENTS, 0), (_PIVOTING, _NO_PIVOTING)):
            word = ctypes.c_int(value)
            self._call("cudssConfigSet", self._config, parameter, ctypes.byref(word), ctypes.c_size_t(4))
        if order is not None:
            words = np.ascontiguousarray(order, np.int32)
            self._call(
                "cudssDataSet", self._handle, self._data, _USER_ORDER, _HANDLE(words.ctypes.data),
                ctypes.c_size_t(words.nbytes),
            )  # fmt: skip
        b, x = (cupy.zeros((self.n, 1), order="F") for _ in range(2))
        self.analysis_s, self.factorization_s = (
            self._seconds_of(phase, x, b) for phase in ("analysis", "factorization")
        )
        if info := self._word(_INFO, ctypes.c_int):
            raise CudssError(f"cuDSS's factorization failed in row {info} of its order")

    def facts(self) -> dict[str, Any]:
        """Entries of the factors, as cuDSS counts them, and what they took to make."""
        entries = self._word(_ENTRIES, ctypes.c_int64)
        return {"entries": entries, "analysis_s": self.analysis_s, "factorization_s": self.factorization_s}

    def order(self) -> np.ndarray:
        """The order of elimination that was taken, shape (n,)."""
        words = np.empty(self.n, np.int32)
        self._get(_ROW_ORDER, _HANDLE(words.ctypes.data), words.nbytes)
        return words

    def times(self, steps: Sequence[str], vectors: Sequence[Any], repeats: int) -> list[Seconds]:
        """Seconds of each step of a solve, whose phases, joined by |, take one vector to the next.

        Parameters
        ----------
        vectors : CuPy arrays, shape (n, k), column-major
            b, what follows each step, and at last x; all but b are written.

        Notes
        -----
        Waits for the GPU. A solve more, into vectors of zeros, comes last: what is found there, is of one whole solve.
        """
        elapsed = self._cupy.cuda.get_elapsed_time
        events = [self._cupy.cuda.Event() for _ in range(len(steps) + 1)]
        flowing, called = [], []
        for _ in range(WARM + repeats):
            events[0].record(self._stream)
            for place, step in enumerate(steps):
                self._execute(step, vectors[place + 1], vectors[place])
                events[place + 1].record(self._stream)
            events[-1].synchronize()
            flowing.append([1e-3 * elapsed(*pair) for pair in itertools.pairwise(events)])
        for _ in range(WARM + repeats):
            called.append(
                [self._seconds_of(step, vectors[k + 1], vectors[k]) for k, step in enumerate(steps)]
            )
        for vector in vectors[1:]:
            vector.fill(0)
        self._cupy.cuda.Device().synchronize()  # zeros come by another stream
        for place, step in enumerate(steps):
            self._execute(step, vectors[place + 1], vectors[place])
        self._stream.synchronize()
        return [Seconds(e, c) for e, c in zip(_medians(flowing), _medians(called), strict=True)]

    def close(self) -> None:
        """Give back what cuDSS holds."""
        for handle in (*(handle for handle, _ in self._dense.values()), self._A):
            self._call("cudssMatrixDestroy", handle)
        self._call("cudssDataDestroy", self._handle, self._data)
        self._call("cudssConfigDestroy", self._config)
        self._call("cudssDestroy", self._handle)

    def _seconds_of(self, step: str, x: Any, b: Any) -> float:
        """Seconds by the host's clock of a step, with a wait for it."""
        self._cupy.cuda.Device().synchronize()
        begun = time.perf_counter()
        self._execute(step, x, b)
        self._stream.synchronize()
        return time.perf_counter() - begun

    def _execute(self, step: str, x: Any, b: Any) -> None:
        phases = sum(PHASES[name] for name in step.split("|"))
        status = self._library.cudssExecute(
            self._handle, phases, self._config, self._data, self._A, self._matrix_of(x), self._matrix_of(b)
        )
        checked(f"cudssExecute, {step}", status)

    def _matrix_of(self, vector: Any) -> Any:
        """cuDSS's name of an array, which is kept alive with it."""
        key = vector.data.ptr
        if key not in self._dense:
            handle, (n, columns) = _HANDLE(), vector.shape
            self._call(
                "cudssMatrixCreateDn", ctypes.byref(handle), *map(ctypes.c_int64, (n, columns, n)), _pointer(vector),
                _REAL64, _COLUMN_MAJOR,
            )  # fmt: skip
            self._dense[key] = (handle, vector)
        return self._dense[key][0]

    def _word(self, parameter: int, kind: Any) -> int:
        word = kind(0)
        self._get(parameter, ctypes.byref(word), ctypes.sizeof(word))
        return int(word.value)

    def _get(self, parameter: int, into: Any, size: int) -> None:
        written = ctypes.c_size_t(0)
        where = (into, ctypes.c_size_t(size), ctypes.byref(written))
        self._call("cudssDataGet", self._handle, self._data, parameter, *where)

    def _call(self, function: str, *arguments: Any) -> None:
        checked(function, getattr(self._library, function)(*arguments))


def _medians(times: Sequence[Sequence[float]]) -> list[float]:
    """Of each step, of the solves that count."""
    return [statistics.median(step) for step in zip(*times[WARM:], strict=True)]


def _pointer(array: Any) -> Any:
    return _HANDLE(array.data.ptr)
