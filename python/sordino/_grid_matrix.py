"""The matrix of a grid by its fields, where a simulation has them: on the CPU or on a GPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._device import handed, host_copy, is_on_gpu
from ._vectors import host_array
from .errors import BadArgument, Unsupported


class GridMatrix:
    """The symmetric matrix of a grid whose cells are coupled through their faces, as finite volumes have it.

    With ``precond="mg"``, in double and without a nullspace, levels of more than 32,768 cells are made from these
    arrays, and no rows: on GPUs by the first one, where nothing of a large level is copied to the CPU; on the engine
    ``host`` by threads, of copies of arrays that are on a GPU. Everything else makes CSR of them on the CPU first.
    There are no new values: set up another solver.

    Parameters
    ----------
    diagonal : array, shape (nz, ny, nx), float64
        Entry (i, i) of each cell; x fastest.
    x, y, z : array, the same shape, or None
        Entry of a cell and the next one in that direction, as a rule negative. Those of last cells are not read. None
        where a direction has one cell.

    All of NumPy, or all on one GPU, of CuPy, PyTorch or what else speaks DLPack. They are viewed, not copied, and a
    solver holds on to them until it is closed, though it reads them at setup alone: they may change afterwards, but for
    a solver of complex vectors, which multiplies by them.

    Raises
    ------
    BadArgument
        Other shapes or types, or arrays in different places.

    Examples
    --------
    >>> A = sordino.GridMatrix(diagonal, x, y, z)                               # doctest: +SKIP
    >>> with sordino.Solver(A, solver="cg", precond="mg", engine="cuda") as s:  # doctest: +SKIP
    ...     pressure = s.solve(b.ravel(), rtol=1e-8).x.reshape(b.shape)
    """

    dtype = np.dtype(np.float64)

    def __init__(self, diagonal: Any, x: Any = None, y: Any = None, z: Any = None) -> None:
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
        self.shape = (math.prod(shape), math.prod(shape))
        #: Entries of the rows that are made of it: one for each cell, and two for each face between cells.
        self.nnz = self.shape[0] + sum(2 * (self.shape[0] // count) * (count - 1) for count in shape)

    def arrays(self) -> tuple[list[int], list[Any]]:
        """Cells in x, y and z, and the four arrays as the core takes them."""
        return list(self.cells), [None if a is None else handed(a.reshape(-1)) for a in self._arrays]

    def product(self, v: np.ndarray) -> np.ndarray:
        """A v on the CPU, shape (n,)."""
        return np.asarray(self.matrix() @ v)

    def matrix(self) -> sp.csr_array:
        """The same as CSR on the CPU, without zeros."""
        nz, ny, nx = self.cells[::-1]
        fields: list[Any] = [
            None if a is None else np.asarray(host_copy(a, "an array")) for a in self._arrays
        ]
        offsets, diagonals = [0], [fields[0].ravel()]
        for axis, (field, stride) in enumerate(zip(fields[1:], (1, nx, nx * ny), strict=True)):
            if self.cells[axis] == 1:
                continue
            inside = field.copy()
            inside[(slice(None),) * (2 - axis) + (-1,)] = 0  # of last cells
            ahead = inside.ravel()[: nz * ny * nx - stride]
            offsets += [-stride, stride]
            diagonals += [ahead, ahead]
        return sp.csr_array(sp.diags_array(diagonals, offsets=offsets, shape=self.shape, format="csr"))

    def __repr__(self) -> str:
        return f"<sordino.GridMatrix of {' x '.join(map(str, self.cells))} cells>"


def _taken(array: Any, name: str) -> Any:
    if array is None:
        return None
    if not is_on_gpu(array, name):
        array = np.asarray(host_array(array, name))
    kind = str(array.dtype).rpartition(".")[2]
    if kind != "float64":
        raise BadArgument(f"{name} is of {kind}, and a GridMatrix takes float64")
    contiguous, flags = getattr(array, "is_contiguous", None), getattr(array, "flags", None)
    if not (contiguous() if callable(contiguous) else getattr(flags, "c_contiguous", True)):
        raise Unsupported(f"{name} is not contiguous, and a GridMatrix views its arrays: hand over a copy")
    return array


def _place(array: Any, name: str) -> tuple[int, int]:
    if not is_on_gpu(array, name):
        return 1, 0
    kind, device = array.__dlpack_device__()
    return int(kind), int(device)
