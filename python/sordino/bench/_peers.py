"""What others need for the same work, in the same run: SciPy on the host, CuPy and cuSPARSE on a GPU.

Seconds are medians, as ours are. Bandwidths and peaks are of the fastest run: what the machine can do.
"""

from __future__ import annotations

import concurrent.futures
import re
import subprocess
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from .._matrix import CsrArrays
from ..errors import BadArgument
from ..log import logger
from . import _cusparse
from ._timing import Seconds, per_iteration, timed

_LINE = re.compile(r"(\d+)\^3 P=(\d+)\s+us/iter\s+([0-9.]+)")


class Host:
    """SciPy on this machine's processor."""

    name = "scipy"

    def __init__(self, rows: CsrArrays, iterations: int, repeats: int) -> None:
        self._matrix = rows.matrix()
        self._ones = np.ones(rows.n)
        self._iterations, self._repeats = iterations, repeats

    def spmv(self) -> dict[str, float]:
        """Seconds of a product."""
        return {"scipy": timed(lambda: self._matrix @ self._ones, 5 * self._repeats).median}

    def cg(self) -> dict[str, float]:
        """Seconds of an iteration of Jacobi-CG."""
        b = self._matrix @ self._ones
        inverse = sp.dia_array((1.0 / self._matrix.diagonal()[None, :], [0]), shape=self._matrix.shape)

        def run(count: int) -> tuple[int, float]:
            done = [0]
            start = time.perf_counter()
            spla.cg(
                self._matrix, b, M=inverse, maxiter=count, callback=lambda _: _count(done), **_tight(spla.cg)
            )
            return done[0], time.perf_counter() - start

        return {"scipy": per_iteration(run, self._iterations, self._repeats).median}


class Device:
    """CuPy's ``cg`` and cuSPARSE's SpMV on one GPU."""

    name = "cupyx"

    def __init__(self, rows: CsrArrays, iterations: int, repeats: int) -> None:
        import cupy
        import cupyx.scipy.sparse

        self._cupy = cupy
        indptr = cupy.asarray(rows.indptr.astype(np.int32))
        arrays = (cupy.asarray(rows.data), cupy.asarray(rows.indices.astype(np.int32, copy=False)), indptr)
        self._matrix = cupyx.scipy.sparse.csr_matrix(arrays, shape=(rows.n, rows.n))
        self._diagonal = cupy.asarray(rows.matrix().diagonal())
        self._ones = cupy.ones(rows.n)
        self._iterations, self._repeats = iterations, repeats

    def spmv(self) -> dict[str, float]:
        """Seconds of a product: through CuPy, and by cuSPARSE preprocessed and replayed from a graph."""
        found = {"cupyx": self._timed(lambda: self._matrix @ self._ones)}
        library = _cusparse.load()
        if library is not None:
            found["cusparse"] = min(self._replayed(library, algorithm) for algorithm in _cusparse.ALGORITHMS)
        return found

    def _replayed(self, library: Any, algorithm: int) -> float:
        """Seconds of a product of cuSPARSE, replayed from a graph."""
        cupy, count = self._cupy, 20
        product = _cusparse.Spmv(
            library, cupy, self._matrix, self._ones, cupy.empty_like(self._ones), algorithm
        )
        stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()
        with stream:
            product.run(stream)
            stream.synchronize()
            stream.begin_capture()
            for _ in range(count):
                product.run(stream)
            graph = stream.end_capture()
            graph.upload(stream)
            seconds = self._timed(lambda: graph.launch(stream)) / count
        stream.synchronize()
        product.close()
        return seconds

    def cg(self) -> dict[str, float]:
        """Seconds of an iteration of Jacobi-CG."""
        import cupyx.scipy.sparse.linalg as linalg

        inverse = 1.0 / self._diagonal
        shape = self._matrix.shape
        jacobi = linalg.LinearOperator(shape, matvec=lambda r: inverse * r.ravel(), dtype=np.float64)
        b = self._matrix @ self._ones

        def run(count: int) -> tuple[int, float]:
            self._cupy.cuda.Device().synchronize()
            start = time.perf_counter()
            linalg.cg(self._matrix, b, M=jacobi, maxiter=count, **_tight(linalg.cg))
            self._cupy.cuda.Device().synchronize()
            return count, time.perf_counter() - start

        return {"cupyx": per_iteration(run, self._iterations, self._repeats).median}

    def _timed(self, work: Any) -> float:
        """Device seconds of one call, the median of several batches."""
        cupy, batch = self._cupy, 10
        work()
        times = []
        for _ in range(self._repeats + 2):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            for _ in range(batch):
                work()
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(start, end) * 1e-3 / batch)
        return Seconds.of(times).median


def cupy_there() -> bool:
    """Whether CuPy can use a device; the log says why not."""
    try:
        import cupy

        cupy.zeros(1)
    except Exception as error:  # an import error, or any of CUDA's
        logger.info("CuPy cannot be used (%s): its figures are left out", str(error).split("\n")[0])
        return False
    return True


def host_copy_bandwidth(threads: int, size: int = 1 << 27) -> float:
    """Bytes per second, read and written, of copies by so many threads."""
    pairs = [(np.ones(size // 8 // threads), np.empty(size // 8 // threads)) for _ in range(threads)]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        seconds = timed(lambda: list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs)), 5).best
    return 2.0 * sum(source.nbytes for source, _ in pairs) / seconds


def device_copy_bandwidth(size: int = 1 << 31) -> float:
    """Bytes per second, read and written, of a copy within one device's memory."""
    import cupy

    source, target = cupy.zeros(size // 8), cupy.empty(size // 8)

    def copy() -> None:
        cupy.copyto(target, source)
        cupy.cuda.Device().synchronize()

    return 2.0 * size / timed(copy, 10).best


def device_peak(size: int = 8192) -> float:
    """Operations a second of a product of dense matrices in double precision, on one device."""
    import cupy

    a, b = cupy.ones((size, size)), cupy.ones((size, size))
    c = cupy.empty((size, size))

    def multiply() -> None:
        cupy.matmul(a, b, out=c)
        cupy.cuda.Device().synchronize()

    return 2.0 * size**3 / timed(multiply, 3).best


def host_peak(size: int = 1024) -> float:
    """The same of this machine's processor, with the threads that NumPy takes."""
    a, b = np.ones((size, size)), np.ones((size, size))
    return 2.0 * size**3 / timed(lambda: a @ b, 3).best


def limit_program(path: str) -> dict[tuple[int, int], float]:
    """Run an external floor such as ``cg_limit`` and return seconds an iteration by (size, devices).

    Raises
    ------
    BadArgument
        When it cannot be run or prints nothing of the form ``64^3 P=1  us/iter 22.10``.
    """
    try:
        done = subprocess.run([path], capture_output=True, text=True, timeout=600, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise BadArgument(f"the limit program {path} could not be run ({error})") from None
    found = {(int(m[1]), int(m[2])): float(m[3]) * 1e-6 for m in _LINE.finditer(done.stdout)}
    if not found:
        raise BadArgument(f"the limit program {path} printed no line such as '64^3 P=1  us/iter 22.10'")
    return found


def _count(done: list[int]) -> None:
    done[0] += 1


def _tight(solver: Any) -> dict[str, float]:
    """A tolerance that is never met."""
    return tolerance(solver, 1e-300)


def tolerance(solver: Any, rtol: float) -> dict[str, float]:
    """The relative tolerance by the name that this version of a solver has for it."""
    code = getattr(solver, "__wrapped__", solver).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {"rtol" if "rtol" in names else "tol": rtol}
