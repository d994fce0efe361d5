"""The matrix of a grid by its fields, where a simulation has them: on the CPU or on a GPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._device import handed, is_on_gpu
from ._matrix import CsrArrays
from ._native import core, translated
from ._vectors import host_array
from .errors import BadArgument, Unsupported

_KINDS = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)),
)


class GridMatrix:
    """The symmetric matrix of a grid whose cells are coupled through their faces, as finite volumes have it.

    With ``precond="mg"``, in double and without vectors as a nullspace, levels of more than 32,768 cells are made from
    these arrays, and no rows: on GPUs, each its own layers, where nothing of a large level is copied to the CPU; on the
    engine ``host`` by threads, of copies of arrays that are on a GPU. On GPUs ``precond="auto"``, with ``cg`` or
    ``solver="auto"``, is that, too, unless `mg` refuses the matrix. Everything else, and a periodic grid, makes CSR
    of them on the CPU first: ``report.setup_reason`` says which it was, and why. Another one of as many cells, of a
    later time step, goes to :meth:`sordino.Solver.update_values`.

    Parameters
    ----------
    diagonal : array, shape (nz, ny, nx), real
        Entry (i, i) of each cell; x fastest.
    x, y, z : array, the same shape, or None
        Entry of a cell and the next one in that direction, as a rule negative. Those of last cells are not read, but
        where the grid is periodic: there they are of the last cell and the first one. None where a direction has one
        cell.
    periodic : str
        The directions across whose ends cells are coupled: "", "x", "yz", ... Of three cells at least.

    Raises
    ------
    BadArgument
        Other shapes or types, arrays in different places, or fewer than three cells in a periodic direction.

    Notes
    -----
    Arrays are all of NumPy, or all on one GPU, of CuPy, PyTorch or what else speaks DLPack. Those of float64 in C's
    order are viewed, others copied to such where they lie, and a solver holds on to them until it is closed or has got
    others, though it reads them then alone: they may change afterwards, but for a solver of complex vectors, which
    multiplies by them.

    Examples
    --------
    >>> A = sordino.GridMatrix(diagonal, x, y, z)                               # doctest: +SKIP
    >>> with sordino.Solver(A, solver="cg", precond="mg", engine="cuda") as s:  # doctest: +SKIP
    ...     pressure = s.solve(b.ravel(), rtol=1e-8).x.reshape(b.shape)
    ...     s.update_values(sordino.GridMatrix(*fields_of_the_next_step))
    """

    dtype = np.dtype(np.float64)

    def __init__(
        self, diagonal: Any, x: Any = None, y: Any = None, z: Any = None, *, periodic: str = ""
    ) -> None:
        names = ("the diagonal", "x", "y", "z")
        arrays = [_taken(array, name) for array, name in zip((diagonal, x, y, z), names, strict=True)]
        if arrays[0] is None:
            raise BadArgument("a GridMatrix needs its diagonal")
        shape = tuple(int(length) for length in arrays[0].shape)
        if len(shape) != 3 or min(shape) < 1:
            raise BadArgument(f"the diagonal must be of shape (nz, ny, nx), not {shape}")
        places = set()
        for array, name, cells in zip(arrays, names, (1, *shape[::-1]), strict=True):
            if array is None:
                if cells > 1:
                    raise BadArgument(f"{name} is missing, and there are {cells} cells in that direction")
                continue
            if tuple(array.shape) != shape:
                raise BadArgument(f"{name} is of shape {tuple(array.shape)}, and the diagonal of {shape}")
            places.add(_place(array, name))
        if len(places) > 1:
            raise BadArgument("arrays of a GridMatrix must all be on the CPU, or all on one GPU")
        self._arrays = arrays
        self.cells = shape[::-1]
        self.periodic = _directions(periodic, self.cells)
        self.shape = (math.prod(shape), math.prod(shape))
        #: Entries of the rows that are made of it: one for each cell, and two for each face between cells.
        self.nnz = self.shape[0] + sum(
            2 * (self.shape[0] // count) * (count - (axis not in self.periodic))
            for axis, count in zip("xyz", self.cells, strict=True)
        )

    def arrays(self) -> tuple[list[int], list[Any], list[bool]]:
        """Cells in x, y and z, the four arrays as the core takes them, and which directions are periodic."""
        arrays = [None if a is None else handed(a.reshape(-1)) for a in self._arrays]
        return list(self.cells), arrays, [axis in self.periodic for axis in "xyz"]

    def product(self, v: np.ndarray) -> np.ndarray:
        """A v on the CPU, shape (n,)."""
        return self.rows().product(v)

    def rows(self) -> CsrArrays:
        """The same as rows on the CPU, with an entry for each face between cells, whatever its value."""
        with translated():
            indptr, indices, data = core().grid_rows(self.arrays(), self.shape[0])
        return CsrArrays(indptr, indices, data, self.shape[0], order_kept=True)

    def matrix(self) -> Any:
        """The same as CSR on the CPU, without zeros: a scipy.sparse.csr_array."""
        found = self.rows().matrix()
        found.eliminate_zeros()
        return found

    def __repr__(self) -> str:
        periodic = f", periodic in {' and '.join(self.periodic)}" if self.periodic else ""
        return f"<sordino.GridMatrix of {' x '.join(map(str, self.cells))} cells{periodic}>"


def _directions(periodic: str, cells: tuple[int, ...]) -> str:
    """Of "xyz" those that are named, in this order."""
    if not isinstance(periodic, str) or set(periodic) - set("xyz"):
        raise BadArgument(f"periodic names directions of x, y and z, as 'xy', and not {periodic!r}")
    for axis, count in zip("xyz", cells, strict=True):
        if axis in periodic and count < 3:
            raise BadArgument(
                f"a grid of {count} cells in {axis} is too thin to be periodic there: it takes three"
            )
    return "".join(axis for axis in "xyz" if axis in periodic)


def _taken(array: Any, name: str) -> Any:
    """In double, its elements in C's order, where it lies."""
    if array is None:
        return None
    there = is_on_gpu(array, name)
    if not there:
        array = np.asarray(host_array(array, name))
    kind = str(array.dtype).rpartition(".")[2]
    if kind not in _KINDS:
        raise BadArgument(f"{name} is of {kind}, and a GridMatrix takes real numbers")
    if not there:
        return np.ascontiguousarray(array, dtype=np.float64)
    if kind != "float64":
        array = array.double() if hasattr(array, "double") else array.astype(np.float64)
    contiguous, flags = getattr(array, "is_contiguous", None), getattr(array, "flags", None)
    if contiguous() if callable(contiguous) else getattr(flags, "c_contiguous", True):
        return array
    copied = getattr(array, "contiguous", None) or getattr(array, "copy", None)
    if copied is None:
        raise Unsupported(f"{name} is not contiguous, and its library has no copies of it: hand one over")
    return copied()


def _place(array: Any, name: str) -> tuple[int, int]:
    if not is_on_gpu(array, name):
        return 1, 0
    kind, device = array.__dlpack_device__()
    return int(kind), int(device)
