"""From a matrix or an operator, and a preconditioner, to what the core is set up with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ._callbacks import Function
from ._device import host_copy
from ._matrix import MOST_ROWS, CsrArrays, as_csr
from ._vectors import is_single
from .errors import BadArgument


@dataclass(frozen=True)
class System:
    """A matrix by its entries (`rows`) or as a function, and a preconditioner that the caller brings (`given`)."""

    n: int
    rows: CsrArrays | None
    single: bool
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def functions(self) -> list[Function]:
        """The functions of the caller's that a solve calls."""
        return [value for value in self.given.values() if isinstance(value, Function)]

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays of CSR that the core views; empty ones of a function."""
        if self.rows is not None:
            return self.rows.arrays()
        return np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)

    def extras(self) -> dict[str, Any]:
        """What the core is given besides, in its terms."""
        return {
            key: value.arrays() if isinstance(value, CsrArrays) else value
            for key, value in self.given.items()
        }

    def multiply(self, x: np.ndarray) -> np.ndarray:
        """A x on this thread, by SciPy or by the caller's function. Shape (n,)."""
        if self.rows is not None:
            return self.rows.product(x)
        return self.given["product"].apply(x)

    def precondition(self, r: np.ndarray) -> np.ndarray:
        """M r on this thread; r itself where the caller brings no M. Shape (n,)."""
        if "diagonal" in self.given:
            return self.given["diagonal"] * r
        if "inverse" in self.given:
            return self.given["inverse"].product(r)
        return self.given["preconditioner"].apply(r) if "preconditioner" in self.given else r


def as_system(A: Any, M: Any = None, *, own: bool = True) -> System:
    """Check a matrix or operator and a preconditioner.

    Parameters
    ----------
    A : sparse or dense array, LinearOperator, or an object with ``shape`` and ``matvec``, shape (n, n)
    M : the same, or a function of a vector; approximates the inverse of A
        A matrix is taken by its entries, everything else is called on whole vectors.
    own : bool
        Whether the result must share no memory with `A`.

    Raises
    ------
    BadArgument
        Not square, complex, of another size than each other, NaN or infinity inside.
    """
    A, M = _matrix_inside(A), _matrix_inside(M)
    A, M = host_copy(A, "the matrix"), host_copy(M, "the preconditioner")
    single = is_single(getattr(A, "dtype", None))
    if _is_operator(A):
        n = _size_of(A, "the operator")
        product = {"product": Function(A.matvec, n, "the operator")}
        return System(n, None, single, {**product, **_preconditioner(M, n)})
    rows = A if isinstance(A, CsrArrays) else as_csr(A, own=own)
    return System(rows.n, rows, single, _preconditioner(M, rows.n))


def _preconditioner(M: Any, n: int) -> dict[str, Any]:
    if M is None:
        return {}
    what = "the preconditioner"
    if hasattr(M, "aspreconditioner"):
        M = M.aspreconditioner()
    if _is_operator(M):
        if tuple(M.shape) != (n, n):
            raise BadArgument(f"{what} is of shape {tuple(M.shape)}, and the matrix is {n} x {n}")
        _size_of(M, what)
        return {"preconditioner": Function(M.matvec, n, what)}
    if callable(M):
        return {"preconditioner": Function(M, n, what)}
    if not sp.issparse(M):
        M = np.asarray(M)
    if tuple(M.shape) != (n, n):
        raise BadArgument(f"{what} is of shape {tuple(M.shape)}, and the matrix is {n} x {n}")
    try:
        rows = as_csr(M, own=True)
    except BadArgument as refused:
        raise BadArgument(f"{what} M: {refused}") from None
    if rows.nnz == n and np.array_equal(rows.indices, np.arange(n)):
        return {"diagonal": rows.data}
    return {"inverse": rows}


def _matrix_inside(A: Any) -> Any:
    """The matrix that ``aslinearoperator`` has wrapped, which can be distributed; else what it was."""
    wraps = isinstance(A, LinearOperator) and type(A).__name__ == "MatrixLinearOperator"
    return getattr(A, "A", A) if wraps else A


def _is_operator(A: Any) -> bool:
    return not sp.issparse(A) and hasattr(A, "matvec") and hasattr(A, "shape")


def _size_of(operator: Any, what: str) -> int:
    rows, columns = operator.shape
    if rows != columns:
        raise BadArgument(f"{what} is {rows} x {columns}, and a system needs a square one")
    if not 0 < rows <= MOST_ROWS:
        raise BadArgument(f"{what} has {rows:,} rows, and this version takes 1 to {MOST_ROWS:,}")
    dtype = getattr(operator, "dtype", None)
    if dtype is not None and np.dtype(dtype).kind not in "fiub":
        raise BadArgument(f"{what} is {dtype}, and this version solves real systems only")
    return int(rows)
