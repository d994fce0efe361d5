"""What each process of test_rows_mpi.py runs for nullspaces. It says "well" in the end."""

import numpy as np
import scipy.sparse as sp
from rows_program import COMM, QUICK, mine, said, whole

import sordino


def nullspaces():
    """Vectors of which each process has its rows, beside a dense solution."""
    rng = np.random.default_rng(5)
    boxes = [sordino.poisson(7, 5, 3, boundary="neumann"), sordino.poisson(5, 4, 2, boundary="neumann")]
    B = sp.block_diag(boxes, format="csr")
    n, weight = B.shape[0], 1 + rng.random(B.shape[0])
    right = np.repeat(np.eye(2), [box.shape[0] for box in boxes], axis=0) @ rng.standard_normal((2, 2))
    A = sp.csr_array(sp.diags_array(weight) @ B)
    A.sort_indices()
    left = right / weight[:, None]
    b = rng.standard_normal(n)
    for matrix, null in ((B, {"nullspace": right}), (A, {"nullspace": right, "left_nullspace": left})):
        rows, here = mine(matrix)
        x = np.linalg.pinv(matrix.toarray(), rcond=1e-10) @ b
        given = {name: vectors[here] for name, vectors in null.items()}
        with sordino.RowsSolver(COMM, rows, **QUICK, **given) as solver:
            for factor in (1, 2):
                solver.update_values(factor * rows.data)
                done = solver.solve(b[here])
                assert np.linalg.norm(factor * whole(done.x) - x) < 1e-6 * np.linalg.norm(x)
                outside = np.linalg.norm(b - matrix @ x)
                assert abs(done.report.outside_norm - outside) < 1e-9 * outside
            assert "nullspace: A does not map vector 0" in said(
                lambda s=solver, r=rows: s.update_values(r.data + 1)
            )
            assert solver.solve(b[here]).converged

    def refused(**null):
        vectors = {name: v[here] for name, v in null.items()}
        return said(lambda: sordino.RowsSolver(COMM, rows, **QUICK, **vectors))

    assert "nullspace: A does not map vector 1" in refused(nullspace=np.stack([right[:, 0], weight], axis=1))
    assert "vector 1 (counted from 0) depends" in refused(nullspace=right[:, [0, 0]])
    assert "A is not symmetric" in refused(nullspace=right)
    assert "left_nullspace: the transpose of A" in refused(nullspace=right, left_nullspace=right)
    spoilt = {"nullspace": right[here][:-1] if COMM.rank == COMM.size - 1 else right[here]}
    assert "nullspace has shape" in said(lambda: sordino.RowsSolver(COMM, rows, **QUICK, **spoilt))
    if COMM.size > 1:
        fewer = {"nullspace": right[here][:, : 1 + (COMM.rank > 0)]}
        assert "different numbers of vectors" in said(
            lambda: sordino.RowsSolver(COMM, rows, **QUICK, **fewer)
        )


if __name__ == "__main__":
    nullspaces()
    COMM.Barrier()
    print("well", flush=True)
