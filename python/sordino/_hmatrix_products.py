"""Products with H-matrices that an engine holds: on GPUs, and for vectors there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from . import _options
from ._device import handed, is_complex_array, is_on_gpu, taken
from ._libraries import library_of
from ._native import core, translated
from ._numbers import words
from ._permutation import Permutation
from ._placement import place
from .errors import BadArgument, Unsupported

if TYPE_CHECKING:
    from ._hmatrix import HMatrix

#: Options that say where products are computed.
OPTIONS = ("engine", "ranks", "devices", "transport", "distribution", "timeout")


class TakesGpuVectors(LinearOperator):  # type: ignore[misc]  # SciPy has no types
    """An operator of SciPy, which takes arrays that NumPy sees, and arrays on GPUs besides.

    Its transpose and its adjoint take the first kind alone, unless it says how they multiply arrays on GPUs.

    Raises
    ------
    Unsupported
        In products of those with an array on a GPU.
    """

    def _product_on_gpus(self, x: Any) -> Any:
        """A x, for x of shape (n,) or (n, k) on a GPU."""
        raise NotImplementedError

    def _turned_on_gpus(self, x: Any, *, conjugated: bool) -> Any:
        """A^T x, or A^H x, of x on a GPU."""
        raise Unsupported(
            f"x is a {type(x).__name__} on a GPU, and products with the transpose are by threads of this process: "
            'hand over a copy in memory of the CPU, or take the products of .on("cuda")'
        )

    def dot(self, x: Any) -> Any:
        """A x, as ``@`` has it: of one vector or several, on the CPU or on a GPU."""
        return self._product_on_gpus(x) if is_on_gpu(x, "x") else super().dot(x)

    def matvec(self, x: Any) -> Any:
        """A x of one vector."""
        return self._product_on_gpus(x) if is_on_gpu(x, "x") else super().matvec(x)

    def matmat(self, X: Any) -> Any:
        """A X of several vectors."""
        return self._product_on_gpus(X) if is_on_gpu(X, "X") else super().matmat(X)

    def rmatvec(self, x: Any) -> Any:
        """A^H x of one vector."""
        return self._turned_on_gpus(x, conjugated=True) if is_on_gpu(x, "x") else super().rmatvec(x)

    def rmatmat(self, X: Any) -> Any:
        """A^H X of several vectors."""
        return self._turned_on_gpus(X, conjugated=True) if is_on_gpu(X, "X") else super().rmatmat(X)

    def _transpose(self) -> LinearOperator:
        return _Turned(self, conjugated=False)

    def _adjoint(self) -> LinearOperator:
        return _Turned(self, conjugated=True)


class _Turned(TakesGpuVectors):
    """The transpose of an operator, or its adjoint, by what the operator does with its adjoint."""

    def __init__(self, of: TakesGpuVectors, *, conjugated: bool) -> None:
        self._of, self._conjugated = of, conjugated
        super().__init__(of.dtype, of.shape[::-1])

    def _product_on_gpus(self, x: Any) -> Any:
        return self._of._turned_on_gpus(x, conjugated=self._conjugated)

    def _turned_on_gpus(self, x: Any, *, conjugated: bool) -> Any:
        return self._of @ x if conjugated == self._conjugated else _conj(self._of @ _conj(x))

    def _by(self, product: Any, x: np.ndarray) -> np.ndarray:
        return product(x) if self._conjugated else np.conj(product(np.conj(x)))

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._by(self._of.rmatvec, x)

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        return self._by(self._of.rmatmat, X)

    def _rmatvec(self, x: np.ndarray) -> np.ndarray:
        return self._by(self._of.matvec, x)

    def _rmatmat(self, X: np.ndarray) -> np.ndarray:
        return self._by(self._of.matmat, X)


def _conj(values: Any) -> Any:
    return values.conj() if is_complex_array(values) else values


class EngineProduct:
    """y = A x, or A^T x, by an engine that holds an H-matrix.

    Of the core's matrix, its dtype and order, and where to compute. For the transpose a transposed copy of the matrix
    is made on the host, and the engine holds that. Of a part of a matrix, which one of several MPI processes holds,
    ranks and distribution are those that it was built for, where nobody gives them.

    Collective over MPI processes: to make it, to multiply and to time.

    Raises
    ------
    BadArgument
        For an option that says something else, or an engine that is not here; of a part for other ranks or another
        distribution than its own, and for its transpose.
    """

    def __init__(
        self,
        native: Any,
        dtype: np.dtype,
        order: np.ndarray,
        given: dict[str, Any],
        *,
        transposed: bool = False,
    ) -> None:
        part = native.part() or {}
        options = _options.check(
            {**{name: part[name] for name in ("ranks", "distribution") if part}, **given}
        )
        for name in sorted(options.keys() - set(OPTIONS)):
            raise BadArgument(f"option '{name}' is of solves: products take {', '.join(OPTIONS)}")
        placed, described = place(options, len(order), None)
        if described is not None:
            raise BadArgument(
                "products are on engine host or cuda, and engine model is for solves: take one of those"
            )
        self._dtype = dtype
        self._permutation = Permutation(order)
        with translated():
            self._native = core().HMatrixProducts(native, placed, transposed)
        self.n = len(order)
        self.engine: str = placed["engine"]
        self.ranks: int = self._native.ranks()
        self.most: int = self._native.most_columns()

    def time(self, pairs: int, columns: int) -> float:
        """Seconds of a product with so many vectors, which stay where they are."""
        with translated():
            return float(self._native.time_product(pairs, columns))

    def held_bytes(self) -> list[int]:
        """Of the matrix, by ranks of this process."""
        return list(self._native.held_bytes())

    def __call__(self, x: Any) -> Any:
        """Of x, shape (n,) or (n, k), where x is: the matrix is read once for up to 8 columns.

        Each column has the bits that it has alone. Memory for several: two copies of up to 8 of them, where x is.
        """
        if is_complex_array(x) and self._dtype.kind == "f":
            return self(x.real) + 1j * self(x.imag)
        vectors = taken(x, self.n, "x", self._dtype.kind == "c")
        columns = vectors.columns
        if len(columns) == 1 or self.most == 1:
            places = vectors.places()
            return vectors.joined([self._column(c, p) for c, p in zip(columns, places, strict=True)])
        parts = []
        for first in range(0, len(columns), self.most):
            parts += self._some(columns[first : first + self.most])
        return vectors.joined(parts)

    def _some(self, columns: list[Any]) -> list[Any]:
        """Of several vectors at once, which lie interleaved for that; columns of zeros make them 2, 4 or 8."""
        width = 1 << (len(columns) - 1).bit_length()
        if isinstance(columns[0], np.ndarray):
            x, y = (np.zeros((self.n, width), self._dtype) for _ in "xy")
            self._beside(columns, x)
            flat = [words(rows.reshape(-1)) for rows in (x, y)]
        else:
            library = library_of(columns[0])
            with library.there():
                x, y = (library.empty((self.n, width)) for _ in "xy")
                x[:, len(columns) :] = 0
                self._beside(columns, x)
            flat = [rows.reshape(-1) for rows in (x, y)]
        with translated():
            self._native.multiply(*map(handed, flat), width)
        y = self._permutation.back(y)
        return [y[:, k] for k in range(len(columns))]

    def _beside(self, columns: list[Any], x: Any) -> None:
        """Vectors in the order of the matrix's tree, as the first columns of x."""
        for k, column in enumerate(columns):
            x[:, k] = self._permutation.into(column)

    def _column(self, x: Any, place: Any) -> Any:
        """Of one vector: into `place`, if it is on a GPU, and then into a copy in order."""
        if place is None:
            x, y = (
                words(self._permutation.into(x.astype(self._dtype, copy=False))),
                np.empty(self.n, self._dtype),
            )
            place = words(y)
        else:
            x, y = self._permutation.into(x), place
        with translated():
            self._native.multiply(handed(x), handed(place), 1)
        return self._permutation.back(y)


class HMatrixProducts(TakesGpuVectors):
    """``H @ x`` and ``H @ X`` by ranks of an engine, shape (n, n); made by :meth:`HMatrix.on`.

    Vectors are of NumPy, or arrays of CuPy, PyTorch and others on a GPU, where the product is, too. Up to 8
    columns are multiplied at once, with the bits of each alone. The first product with the transpose or the
    adjoint makes a transposed copy of the matrix, for the host and for the engine's ranks: as many bytes again.

    Under ``mpiexec`` all processes make it, multiply and time together: each brings all of x, and is given all of y.

    Attributes
    ----------
    engine : str
    ranks : int
    """

    def __init__(self, H: HMatrix, given: dict[str, Any]) -> None:
        self._H, self._given = H, dict(given)
        self._product = EngineProduct(H.native, H.dtype, H.order, given)
        self.engine, self.ranks = self._product.engine, self._product.ranks
        super().__init__(H.dtype, H.shape)

    def time_product(self, pairs: int = 50, *, columns: int = 1, transposed: bool = False) -> float:
        """Seconds of one product with `columns` vectors at once, 1, 2, 4 or 8 but no more than :meth:`most_columns`.

        With its exchange, replayed ``2 * pairs`` times as in a solve. Vectors, of ones at first, stay on the engine.
        """
        return self._side(transposed).time(pairs, columns)

    def most_columns(self, *, transposed: bool = False) -> int:
        """Vectors that a product takes at once: 8, or fewer where rows of terms are too many to be numbered."""
        return self._side(transposed).most

    def held_bytes(self, *, transposed: bool = False) -> list[int]:
        """Bytes of the matrix, or of its transpose, that each rank of this process holds on its engine, no vectors.

        Ranks of the host hold tables, and view the values. The transpose is in the host's memory besides, in
        ``stored_bytes`` of :attr:`HMatrix.statistics`.
        """
        return self._side(transposed).held_bytes()

    def _side(self, transposed: bool) -> EngineProduct:
        return self._turned if transposed else self._product

    def _product_on_gpus(self, x: Any) -> Any:
        return self._product(x)

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._product(x)

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        return self._product(X)

    @cached_property
    def _turned(self) -> EngineProduct:
        H = self._H
        return EngineProduct(H.native, H.dtype, H.order, self._given, transposed=True)

    def _turned_on_gpus(self, x: Any, *, conjugated: bool) -> Any:
        return _conj(self._turned(_conj(x))) if conjugated else self._turned(x)

    def _rmatvec(self, x: Any) -> Any:
        return self._turned_on_gpus(x, conjugated=True)

    def _rmatmat(self, X: Any) -> Any:
        return self._turned_on_gpus(X, conjugated=True)

    def __reduce__(self) -> Any:
        raise Unsupported("products on an engine hold its threads or GPUs, and cannot be pickled or copied")

    def __repr__(self) -> str:
        return f"<sordino products with {self._H!r} on engine {self.engine}, ranks {self.ranks}>"
