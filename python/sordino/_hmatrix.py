"""H-matrices: dense matrices of surfaces, compressed, as operators of SciPy and systems of :func:`sordino.solve`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ._hmatrix_accuracy import misses_eps, warn_of_misses
from ._hmatrix_builders import builder, gpus_to_build
from ._hmatrix_memory import check_gpus_to_build, check_memory
from ._hmatrix_options import compression_options, wave_options, whole_number
from ._hmatrix_parts import processes, wanted_part
from ._hmatrix_products import EngineProduct, HMatrixProducts, TakesGpuVectors
from ._native import core, translated
from ._numbers import words
from .errors import BadArgument, Unsupported

#: One leaf: rows and columns from and to, in the matrix's order, and its rank; -1: dense.
BLOCK = np.dtype(
    [(name, np.int64) for name in ("row_begin", "row_end", "column_begin", "column_end", "rank")]
)


def hmatrix(
    surface: Any,
    eps: float = 1e-6,
    *,
    eta: float = 2.0,
    leaf: int = 15,
    compression: str = "aca+",
    recompress: bool = True,
    certify: bool = True,
    most_rank: int | None = None,
    probes: int = 32,
    threads: int | None = None,
    kernel: str = "laplace",
    wavenumber: float | None = None,
    engine: str = "auto",
    devices: Any = None,
    for_ranks: int | None = None,
    distribution: str = "rows",
    beside: HMatrix | None = None,
    progress: Callable[[float], Any] | None = None,
) -> HMatrix:
    """Compress the matrix of a surface: the potential at each triangle's centroid of a unit density on each other one.

    Parameters
    ----------
    surface : object with ``points``, shape (v, 3), and ``triangles``, shape (n, 3)
        Metres, and numbers of points.
    eps : float
        What each block may be off by, relative to its Frobenius norm; so may the whole. At least 1e-13.
    eta : float
        How far blocks must be from each other to be approximated: the smaller of two clusters is at most `eta` times
        as large as their distance.
    leaf : int
        Triangles of a cluster that is not cut further.
    compression : {"aca+", "aca", "full"}
        Adaptive cross approximation with or without rows of reference, or from all entries of each block.
    recompress : bool
        Whether blocks are then cut down to the rank that `eps` needs.
    certify : bool
        Whether entries are compared, all of small blocks and some in each row and column of others, and blocks that
        are off by more done again. Without it and without `recompress`, blocks are those of HACApK.
    most_rank : int, optional
        Terms of a block, the most: where it has them the block may miss `eps`, and the statistics say by how much the
        whole does. 1 is what a preconditioner of very large systems can do with.
    probes : int
        Rows by which the whole is compared with what it stands for, which tells ``statistics["compression_error"]``;
        n or more take all of them, in O(n^2), and tell the error itself. Blocks that these rows show to be off are
        done again. 0: nothing is told.
    threads : int, optional
        As many as there are cores, if not given; at most 32 work, and 32 for each GPU. The values do not depend on it.
    kernel : {"laplace", "helmholtz"}
        Laplace's single layer, constant on triangles, collocated, integrated in closed form; volts per C/m^2. Or
        Helmholtz', the integral of exp(i k r) / (4 pi r) in metres, to a relative 1e-9: the matrix is complex.
    wavenumber : float, for helmholtz
        k in 1/m, at least 0; edges have at most six wavelengths.
    engine : {"auto", "host", "cuda"}
        Who computes the blocks: threads, or the GPUs that this process sees, which have code for
        ``compression="aca+"``; a block that needs more than 128 terms is still left to threads. "auto" takes
        GPUs where there are any for every process, from 20,000 triangles on. What GPUs compute keeps to `eps` as what
        the host does, in other digits, which do not depend on how many GPUs there are.
    devices : str or sequence of int, optional
        GPUs that compute, by their numbers, as for :class:`sordino.Solver`: "0-1", "0,2" or [0, 2]. If not given, one
        for each 4 GB of the matrix, of all that there are. Of several processes each takes its share of them.
    for_ranks : int, optional
        Ranks of each of several MPI processes in the solves that the matrix is for: each process then builds what its
        ranks multiply, and no more, with the bits of the whole. Collective. The matrix is then for these solves and for
        ``H @ x`` by these ranks, collective, too, and not for what needs the whole: ``H.T @ x``, files, nullspaces,
        methods for symmetric matrices. Without it, and in one process, each builds the whole.
    distribution : {"rows", "leaves", "grid"}
        That of these solves.
    beside : HMatrix, optional
        Instead of both: the matrix that this one is to precondition, whose ranks and rows count, if it is in parts.
    progress : function of a number from 0 to 1, optional
        Called some ten times a second. What it raises ends the build.

    Returns
    -------
    HMatrix

    Raises
    ------
    BadArgument
        For an option or a surface that cannot be used, and for a matrix that the memory does not hold, or GPUs that
        have no room to build it in: the sentence says why, and how much it needs.
    Unsupported
        For GPUs whose memory is taken by others meanwhile.
    PeerFailed
        For a process that does not come to build its part.

    Warns
    -----
    CompressionWarning
        Where the estimate is over `eps` even so.

    Notes
    -----
    Cost: one to two entries of the matrix for each value that is stored, O(n log n) in all. Memory: what is stored and
    a sixteenth, and for each thread 1 MiB and one block; of each GPU besides up to three quarters of what is
    free, some 25 GB for the 24.4 GB of a million triangles. The GIL is released. Source: 000, section II.
    """
    options = {
        **compression_options(
            eps, eta=eta, leaf=leaf, compression=compression, recompress=recompress, certify=certify,
            most_rank=most_rank, probes=probes, threads=threads,
        ),
        **wave_options(str(kernel), wavenumber),
    }  # fmt: skip
    points, triangles = arrays_of(surface)
    who = builder(str(engine), options, len(triangles), devices)
    part = wanted_part(for_ranks, distribution, None if beside is None else beside.native.part())
    parts = processes() if part else 1
    gpus = gpus_to_build(len(triangles), options, str(kernel), devices, parts=parts) if who == "cuda" else []
    with translated():
        core().HMatrix.check({**options, "gpus": gpus})
    check_memory(len(triangles), [options], str(kernel), parts, together=bool(part))
    check_gpus_to_build(len(triangles), gpus, together=bool(part) and engine != "host")
    with translated():
        native = core().HMatrix(points, triangles, str(kernel), {**options, "gpus": gpus, **part}, progress)
    warn_of_misses(native.statistics(), options)
    return HMatrix(native, {**options, "kernel": str(kernel), "engine": who}, fingerprint(points, triangles))


#: Rows of a leaf that one rank multiplies: the same, and the rank of the solve.
SHARE = np.dtype([*BLOCK.descr, ("owner", np.int64)])


class HMatrix(TakesGpuVectors):
    """A compressed matrix, shape (n, n): ``H @ x``, ``H.T @ x``, ``H.H @ x``, ``H @ X``; by :func:`sordino.hmatrix`.

    Its ``dtype`` is float64, or complex128 with the kernel helmholtz.

    Products run on the threads of this process, and those with arrays of CuPy, PyTorch and others that are on a GPU run
    on GPUs, which the first one copies the matrix to: as ``H.on("cuda") @ x``. :func:`sordino.solve` and
    :class:`sordino.Solver` distribute its rows over ranks. Vectors are in the order of the surface's triangles. Of
    several vectors at once eight share a pass of threads over the matrix.

    Where several MPI processes hold a part each (`for_ranks`), products are collective: all processes call ``H @ x``,
    each with all of x, and each is given all of the result. They are by the ranks that the parts are for, with the
    bits of a whole matrix on as many ranks of that distribution. Products with the transpose need the whole.

    Attributes
    ----------
    order : ndarray, shape (n,)
        The triangle at each place of the order in which clusters lie beside each other.
    settings : dict
        What it was built with.
    geometry : str
        A fingerprint of the surface that it was built of: SHA-256 of points and triangles.
    """

    def __init__(self, native: Any, settings: dict[str, Any], geometry: str) -> None:
        self.native = native
        self.settings = settings
        self.geometry = geometry
        self.order: np.ndarray = native.order()
        self.order.flags.writeable = False
        super().__init__(np.float64 if native.words() == 1 else np.complex128, (native.size(), native.size()))

    @property
    def statistics(self) -> dict[str, Any]:
        """Of structure, memory, accuracy and time.

        ``clusters``, ``low_rank_blocks``, ``dense_blocks``, ``nodes`` (that are no leaves), ``stored_bytes``,
        ``low_rank_bytes`` and ``dense_bytes`` (of the matrix without compression), ``mean_rank``, ``max_rank``,
        ``redone_blocks`` (that had missed `eps`), ``norm`` (Frobenius), ``compression_error`` (of the whole, relative,
        estimated from 32 of its rows; -1 of a matrix of zeros) and ``error_of_estimate`` (its standard error),
        ``misses_eps`` (whether both together are more than `eps`, with ``certify`` and without a `most_rank` that was
        reached), ``seconds``, and ``phases``, of a build's steps: ``trees``, ``devices`` (GPUs' memory and tables),
        ``leaves`` with, in these, ``waiting`` (for GPUs to compute) and ``fetching`` (values from them), each the mean
        of GPUs, and ``probes`` (rows that are compared, while GPUs give back their memory).
        """
        facts = self.native.statistics()
        dense = self.dtype.itemsize * self.shape[0] ** 2
        return {**facts, "dense_bytes": dense, "misses_eps": misses_eps(facts, self.settings)}

    @property
    def held_bytes(self) -> int:
        """Memory of the values that this process holds; of a part, those of the diagonal's blocks among them."""
        return int(self.native.held_bytes())

    @property
    def is_whole(self) -> bool:
        """Whether this process holds all values; else those that its ranks multiply (`for_ranks`)."""
        return self.native.part() is None

    @property
    def blocks(self) -> np.ndarray:
        """The leaves, structured, with ``row_begin``, ``row_end``, ``column_begin``, ``column_end`` and ``rank``.

        Rows and columns are places in :attr:`order`, the triangle at each place; a dense leaf has rank -1.
        """
        return np.ascontiguousarray(self.native.blocks()).view(BLOCK).reshape(-1)

    def shares(self, ranks: int, distribution: str = "rows") -> np.ndarray:
        """The leaves as ranks share them, structured as :attr:`blocks`, with ``owner``: who multiplies these rows.

        Parameters
        ----------
        ranks : int
            Those of a solve, in all processes together.
        distribution : {"rows", "leaves", "grid"}
            As for :class:`sordino.Solver`. By rows a leaf that ranks cut stands there once for each of them, with the
            rows that are its own; leaves of rank zero are nobody's.
        """
        with translated():
            table = self.native.shares(whole_number(ranks, "ranks", 1), str(distribution))
        return np.ascontiguousarray(table).view(SHARE).reshape(-1)

    def on(self, engine: str = "auto", **options: Any) -> HMatrixProducts:
        """Products by ranks of an engine that hold the matrix, for vectors on the CPU or on GPUs.

        Parameters
        ----------
        engine : {"auto", "host", "cuda"}
            "auto": GPUs, where there are any.
        **options
            ``ranks``, ``devices``, ``transport``, ``distribution`` and ``timeout``, as for :class:`sordino.Solver`.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, shape (n, n)
            ``G @ x`` of shape (n,) or (n, k): arrays of NumPy, or those of CuPy, PyTorch and others on a GPU, where the
            product is, too, with a copy of each that is put in order. Up to 8 columns are multiplied at once.
            ``G.T`` and ``G.H`` multiply there, too, but not of a part. Over several MPI processes this call and the
            products are collective: each process brings all of x, and is given all of ``G @ x``.

        Raises
        ------
        BadArgument
            For an option that is none of these, an engine that is not here, and of a part for ranks or a distribution
            that it was not built for.

        Notes
        -----
        Each rank holds its share of the matrix, and two vectors of its rows, until the operator is dropped; from the
        first product of several columns on, vectors of so many and their terms, and from the first one with the
        transpose on, its share of a transposed copy, whose values the host holds once.
        """
        return HMatrixProducts(self, {"engine": engine, **options})

    def _product_on_gpus(self, x: Any) -> Any:
        return self._on_gpus(x)

    @cached_property
    def _on_gpus(self) -> EngineProduct:
        return EngineProduct(self.native, self.dtype, self.order, {"engine": "cuda"})

    @cached_property
    def _of_parts(self) -> EngineProduct:
        return EngineProduct(self.native, self.dtype, self.order, {"engine": "host"})

    def diagonal(self) -> np.ndarray:
        """The diagonal, shape (n,), in the order of the triangles."""
        return self._back(self.native.diagonal().view(self.dtype))

    def _back(self, values: np.ndarray) -> np.ndarray:
        result = np.empty_like(values)
        result[self.order] = values
        return result

    def _product(self, x: np.ndarray, transposed: bool = False) -> np.ndarray:
        if np.iscomplexobj(x) and self.dtype.kind == "f":
            return self._product(x.real, transposed) + 1j * self._product(x.imag, transposed)
        if not (self.is_whole or transposed):
            return self._of_parts(x)
        ordered = x.reshape(len(x), -1)[self.order]
        with translated():
            product = product_of(self.native, ordered, transposed)
        return self._back(product).reshape(x.shape)

    def _adjoint_product(self, x: np.ndarray) -> np.ndarray:
        return self._product(x.conj(), True).conj()

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._product(x)

    def _rmatvec(self, x: np.ndarray) -> np.ndarray:
        return self._adjoint_product(x)

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        return self._product(X)

    def _rmatmat(self, X: np.ndarray) -> np.ndarray:
        return self._adjoint_product(X)

    def __repr__(self) -> str:
        s = self.statistics
        share = s["stored_bytes"] / s["dense_bytes"]
        return (
            f"<sordino.HMatrix of {self.shape[0]:,} rows, {s['stored_bytes'] / 2**20:,.1f} MiB "
            f"({share:.1%} of the whole), error {s['compression_error']:.1e}>"
        )

    def __reduce__(self) -> Any:
        raise Unsupported("an HMatrix holds memory of the compiled module, and cannot be pickled or copied")


def product_of(native: Any, x: np.ndarray, transposed: bool = False) -> np.ndarray:
    """A x or A^T x of the core's matrix, shape (n, columns), in the order of its tree; numbers are of its kind."""
    kind = np.complex128 if native.words() == 2 else np.float64
    flat: np.ndarray = native.multiply(words(np.ascontiguousarray(x, dtype=kind)), transposed)
    return flat.view(kind).reshape(x.shape)


def arrays_of(surface: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points and triangles of a surface, checked and as the core takes them."""
    return _triples(surface, "points", np.float64), _triples(surface, "triangles", np.int64)


def fingerprint(points: np.ndarray, triangles: np.ndarray) -> str:
    """SHA-256 of what :func:`arrays_of` returns."""
    found = hashlib.sha256(np.array([len(points), len(triangles)], "<i8").tobytes())
    found.update(np.ascontiguousarray(points, "<f8").data)
    found.update(np.ascontiguousarray(triangles, "<i8").data)
    return found.hexdigest()


def _triples(surface: Any, name: str, kind: Any) -> np.ndarray:
    values = np.asarray(getattr(surface, name, None))
    if values.ndim != 2 or values.shape[1] != 3 or values.dtype.kind not in "fiu":
        raise BadArgument(
            f"a surface has {name} of shape (count, 3), and this one's are {values.dtype} of shape {values.shape}"
        )
    if np.dtype(kind).kind == "i" and values.dtype.kind == "f":
        raise BadArgument(f"a surface's {name} are whole numbers, and these are {values.dtype}")
    return np.ascontiguousarray(values, dtype=kind)
