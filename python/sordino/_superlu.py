"""SciPy's SuperLU, asked for factors in an order that is known already."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from .errors import BadArgument

#: Entries on the diagonal are pivots unless they are smaller than that, relative to their column's largest.
_SYMMETRIC_THRESHOLD = 0.01


def superlu(matrix: Any, before: np.ndarray | None, ordering: str, symmetric: bool) -> Any:
    """SciPy's factors of the matrix, rows and columns in the given order.

    Raises
    ------
    BadArgument
        The matrix is singular, cannot be factored, or its factors do not fit into memory.
    """
    columns = sp.csc_array(matrix if before is None else matrix[before][:, before])
    columns.indices, columns.indptr = columns.indices.astype(np.intc), columns.indptr.astype(np.intc)
    words = {"metis": "NATURAL", "natural": "NATURAL", "mmd": "MMD_AT_PLUS_A", "colamd": "COLAMD"}
    more = (
        {"diag_pivot_thresh": _SYMMETRIC_THRESHOLD, "options": {"SymmetricMode": True}} if symmetric else {}
    )
    try:
        return sla.splu(sp.csc_matrix(columns), permc_spec=words[ordering], **more)
    except RuntimeError as error:
        text = str(error).split("\n")[0]
        reason = "is singular" if "singular" in text else f"cannot be factored ({text})"
        raise BadArgument(f"the matrix {reason}: SciPy's splu found no pivot in some column") from None
    except MemoryError:
        raise BadArgument(
            "there is not enough memory on this machine for the factors of this matrix"
        ) from None
