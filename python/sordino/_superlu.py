"""SciPy's SuperLU, asked for factors in an order that is known already."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from .errors import BadArgument

#: Entries on the diagonal are pivots unless they are smaller than that, relative to their column's largest.
_SYMMETRIC_THRESHOLD = 0.01

_LITTLE_MORE = 1.001  # than the other entries of a column, so that the last pivot is not zero


def superlu(matrix: Any, before: np.ndarray | None, ordering: str, symmetric: bool) -> Any:
    """SciPy's factors of the matrix, rows and columns in the given order.

    Raises
    ------
    BadArgument
        The matrix is singular, cannot be factored, or its factors do not fit into memory.
    """
    words = {"metis": "NATURAL", "natural": "NATURAL", "mmd": "MMD_AT_PLUS_A", "colamd": "COLAMD"}
    more = (
        {"diag_pivot_thresh": _SYMMETRIC_THRESHOLD, "options": {"SymmetricMode": True}} if symmetric else {}
    )
    return _factored(matrix if before is None else matrix[before][:, before], words[ordering], more)


def superlu_without_pivoting(matrix: Any) -> Any:
    """SciPy's factors of the matrix in the order that it has: its diagonal has the pivots.

    Raises
    ------
    BadArgument
        As :func:`superlu`; a pivot that is zero.
    """
    lu = _factored(matrix, "NATURAL", {"diag_pivot_thresh": 0.0})
    places = np.arange(matrix.shape[0])
    if not (np.array_equal(lu.perm_r, places) and np.array_equal(lu.perm_c, places)):
        raise BadArgument(
            "a pivot of the matrix that was set up is zero with the new values: factor them with splu anew"
        )
    return lu


def structure_without_pivoting(matrix: Any) -> Any:
    """SciPy's factors of an M-matrix with the pattern of the matrix and a diagonal, in the order that it has.

    Elimination subtracts numbers of one sign from its entries, so that nothing cancels: there is an entry wherever
    other values can leave one, as long as nothing underflows. SciPy does not store zeros that they leave.
    """
    pattern = sp.csc_array(matrix)
    off = sp.csc_array((-np.ones(pattern.nnz), pattern.indices, pattern.indptr), shape=pattern.shape)
    off = off - sp.diags_array(off.diagonal())
    diagonal = np.maximum(-_LITTLE_MORE * np.asarray(off.sum(axis=0)).ravel(), 1.0)
    return _factored(off + sp.diags_array(diagonal), "NATURAL", {"diag_pivot_thresh": 0.0})


def _factored(matrix: Any, order: str, options: dict[str, Any]) -> Any:
    columns = sp.csc_array(matrix)
    columns.indices, columns.indptr = columns.indices.astype(np.intc), columns.indptr.astype(np.intc)
    try:
        return sla.splu(sp.csc_matrix(columns), permc_spec=order, **options)
    except RuntimeError as error:
        text = str(error).split("\n")[0]
        reason = "is singular" if "singular" in text else f"cannot be factored ({text})"
        raise BadArgument(f"the matrix {reason}: SciPy's splu found no pivot in some column") from None
    except MemoryError:
        raise BadArgument(
            "there is not enough memory on this machine for the factors of this matrix"
        ) from None
