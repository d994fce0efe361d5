"""From a matrix or an operator, and a preconditioner, to what the core is set up with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ._callbacks import Function
from ._device import host_copy
from ._grid_matrix import GridMatrix
from ._hierarchy import Hierarchy, as_hierarchy, is_hierarchy
from ._hmatrix import HMatrix, product_of
from ._matrix import MOST_ROWS, CsrArrays, as_csr
from ._numbers import is_complex, words
from ._triangular import FactorizedTriangle
from ._triangular_pair import TrianglePair, holds_triangles, pair_of
from ._vectors import is_single
from .errors import BadArgument, Unsupported

#: Rows of a grid's fields that are made to say why a solve has failed.
_MOST_EXPLAINED = 1 << 23


@dataclass(frozen=True)
class System:
    """A matrix by its entries (`rows`), as a function or an H-matrix, and a preconditioner that the caller brings.

    Rows may have been made of the `fields` of a grid, because of what `why_rows` says.
    """

    n: int
    rows: CsrArrays | None
    single: bool
    complex: bool = False
    given: dict[str, Any] = field(default_factory=dict)
    fields: GridMatrix | None = None
    why_rows: str = ""

    @property
    def stands_as(self) -> str:
        """What goes on after "the matrix is", where its entries are not known."""
        if "grid_matrix" in self.given:
            return "given by the fields of a grid"
        return "an H-matrix" if "hmatrix" in self.given else "given as an operator"

    @property
    def functions(self) -> list[Function]:
        """The functions of the caller's that a solve calls."""
        return [value for value in self.given.values() if isinstance(value, Function)]

    @property
    def facts(self) -> dict[str, str]:
        """What is to be said of its setup, where the core knows nothing of it."""
        made = f"rows are made of the grid's fields on the CPU, as {self.why_rows}"
        return {"setup_reason": made} if self.why_rows else {}

    def by_rows(self, why: str) -> System:
        """Of a grid's fields the same by rows."""
        fields: GridMatrix = self.given["grid_matrix"]
        given = {name: value for name, value in self.given.items() if name != "grid_matrix"}
        return replace(self, rows=fields.rows(), given=given, fields=fields, why_rows=why)

    def entries(self) -> CsrArrays | None:
        """The rows, to say why a solve or a setup has failed; None of a function, and of a large grid's fields."""
        fields = self.given.get("grid_matrix")
        if isinstance(fields, GridMatrix) and self.n <= _MOST_EXPLAINED:
            return as_csr(fields.matrix())  # without zeros, which connect nothing
        return self.rows

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays of CSR that the core views; empty ones of a function."""
        if self.rows is not None:
            return self.rows.arrays()
        return np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)

    def extras(self) -> dict[str, Any]:
        """What the core is given besides, in its terms."""
        given = {
            key: value.arrays()
            if isinstance(value, (CsrArrays, Hierarchy, GridMatrix))
            else words(value)
            if isinstance(value, np.ndarray)
            else value
            for key, value in self.given.items()
        }
        return {**given, "words": 2} if self.complex else given

    def multiply(self, x: np.ndarray) -> np.ndarray:
        """A x, shape (n,), by SciPy, the caller's function or an H-matrix, whose order x is in."""
        if is_complex(x.dtype) and not self.complex:
            return self.multiply(x.real.copy()) + 1j * self.multiply(x.imag.copy())
        if self.rows is not None:
            return self.rows.product(x)
        if "hmatrix" in self.given:
            return product_of(self.given["hmatrix"], x[:, None])[:, 0]
        if "grid_matrix" in self.given:
            return self.given["grid_matrix"].product(x)
        return self.given["product"].apply(x)

    def precondition(self, r: np.ndarray) -> np.ndarray:
        """M r on this thread; r itself where the caller brings no M. Shape (n,)."""
        if is_complex(r.dtype) and not self.complex:
            return self.precondition(r.real.copy()) + 1j * self.precondition(r.imag.copy())
        if "diagonal" in self.given:
            return self.given["diagonal"] * r
        if "inverse" in self.given:
            return self.given["inverse"].product(r)
        if "hierarchy" in self.given:
            raise BadArgument("a hierarchy is applied inside solves alone: give x0 as a vector")
        return self.given["preconditioner"].apply(r) if "preconditioner" in self.given else r


def as_system(A: Any, M: Any = None, *, own: bool = True) -> System:
    """Check a matrix or operator and a preconditioner.

    Parameters
    ----------
    A : sparse or dense array, LinearOperator, or an object with ``shape`` and ``matvec``, shape (n, n)
    M : the same, or a function of a vector; approximates the inverse of A; or a hierarchy as PyAMG makes it
        A matrix is taken by its entries, a hierarchy by its levels', everything else is called on whole vectors; of a
        pair of triangles, (L, U), both are solved with.
    own : bool
        Whether the result must share no memory with `A`.

    Raises
    ------
    BadArgument
        Not square, of another size than each other, NaN or infinity inside.
    """
    M = pair_of(M) if holds_triangles(M) else M
    A, M = _matrix_inside(A), _matrix_inside(M)
    M = M.matrix() if isinstance(M, GridMatrix) else M
    if hasattr(M, "aspreconditioner") and not is_hierarchy(M):
        M = M.aspreconditioner()
    A, M = host_copy(A, "the matrix"), host_copy(M, "the preconditioner")
    single = is_single(getattr(A, "dtype", None))
    given: dict[str, Any]
    if isinstance(A, HMatrix):
        n, rows, numbers, given = A.shape[0], None, is_complex(A.dtype), {"hmatrix": A.native}
        if _holds_complex(M) and not numbers:
            raise Unsupported("the H-matrix is real, and its preconditioner must be, too")
    elif isinstance(A, GridMatrix):
        system = System(A.shape[0], None, False, given={"grid_matrix": A})
        if M is None:
            return system
        made = system.by_rows("the caller brings a preconditioner")
        with_M = as_system(made.rows, M, own=False)
        return replace(with_M, fields=made.fields, why_rows=made.why_rows)
    elif _is_operator(A):
        n, rows = _size_of(A, "the operator"), None
        numbers = _holds_complex(A) or _holds_complex(M)
        given = {"product": Function(A.matvec, n, "the operator", numbers)}
    else:
        rows = A if isinstance(A, CsrArrays) else as_csr(A, own=own)
        numbers = rows.complex or _holds_complex(M)
        rows = rows.as_complex() if numbers else rows
        n, given = rows.n, {}
    if is_hierarchy(M):
        if rows is None:
            kind = "an H-matrix" if isinstance(A, HMatrix) else "given as an operator"
            raise BadArgument(f"a hierarchy of multigrid needs the entries of the matrix, which is {kind}")
        return System(n, rows, single, numbers, {**given, "hierarchy": as_hierarchy(M, rows)})
    return System(n, rows, single, numbers, {**given, **_preconditioner(M, n, numbers)})


def with_fields(system: System, values: Any) -> System | None:
    """The system with new fields of its grid; None of a matrix by its rows, or of which rows were made.

    Raises
    ------
    BadArgument
        Where values and matrix are not given in the same way, or of other grids.
    """
    fields = system.given.get("grid_matrix", system.fields)
    if fields is None and system.rows is None:
        raise BadArgument(f"the matrix is {system.stands_as}, which has no values to update")
    if not isinstance(values, GridMatrix):
        if fields is None:
            return None
        raise BadArgument(f"the matrix is {system.stands_as}: give update_values another GridMatrix")
    if fields is None:
        raise BadArgument("the matrix is given by its rows, of which a GridMatrix has no values")
    if (values.cells, values.periodic) != (fields.cells, fields.periodic):
        raise BadArgument(f"the new values are {values!r}, and the matrix is {fields!r}")
    return None if system.fields else replace(system, given={**system.given, "grid_matrix": values})


def in_rows(values: Any) -> Any:
    """New values of rows: those of a grid's fields as a matrix, those on a GPU as a copy."""
    return values.rows().matrix() if isinstance(values, GridMatrix) else host_copy(values, "the new values")


def entries_of(system: System) -> int:
    """How many the matrix stores, as it is given or made of a grid's fields; 0 of functions and H-matrices."""
    known = system.rows or system.given.get("grid_matrix")
    return known.nnz if known else 0


def matrix_bytes(system: System) -> int:
    """What the arrays of CSR take, of A and of an M that is a matrix, or a hierarchy of them."""
    held = (system.rows, system.given.get("inverse"))
    below = system.given.get("hierarchy")
    own = sum(array.nbytes for rows in held if rows is not None for array in rows.arrays())
    return own + (below.nbytes if below else 0)


def _holds_complex(M: Any) -> bool:
    if hasattr(M, "matvec") or sp.issparse(M) or isinstance(M, np.ndarray):
        dtype = getattr(M, "dtype", None)
        return dtype is not None and is_complex(np.dtype(dtype))
    return isinstance(M, (list, tuple)) and is_complex(np.asarray(M).dtype)


def _preconditioner(M: Any, n: int, numbers: bool) -> dict[str, Any]:
    """`numbers`: whether the system is complex, and the preconditioner is to be so, too."""
    if M is None:
        return {}
    what = "the preconditioner"
    if isinstance(M, HMatrix):
        if M.shape != (n, n):
            raise BadArgument(f"{what} is of shape {M.shape}, and the matrix is {n} x {n}")
        if numbers and not is_complex(M.dtype):
            raise Unsupported(f"the matrix is complex, and an H-matrix as {what} must be, too")
        return {"coarse": M.native}
    if _is_operator(M):
        if tuple(M.shape) != (n, n):
            raise BadArgument(f"{what} is of shape {tuple(M.shape)}, and the matrix is {n} x {n}")
        _size_of(M, what)
        function = Function(M.matvec, n, what, numbers)
        function.hermitian = M.hermitian if isinstance(M, (FactorizedTriangle, TrianglePair)) else None
        return {"preconditioner": function}
    if callable(M):
        return {"preconditioner": Function(M, n, what, numbers)}
    if not sp.issparse(M):
        M = np.asarray(M)
    if tuple(M.shape) != (n, n):
        way = "; give a diagonal as scipy.sparse.diags_array(M)" if tuple(M.shape) == (n,) else ""
        raise BadArgument(f"{what} is of shape {tuple(M.shape)}, and the matrix is {n} x {n}{way}")
    try:
        rows = as_csr(M, own=True)
    except BadArgument as refused:
        raise BadArgument(f"{what} M: {refused}") from None
    rows = rows.as_complex() if numbers else rows
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
    if dtype is not None and np.dtype(dtype).kind not in "fiubc":
        raise BadArgument(f"{what} is {dtype}, not of numbers")
    return int(rows)
