"""Real matrices, where their folder lies beside the checkout: right answers or honest statuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import sordino

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "matrices"
HONEST = {"max_iterations", "breakdown", "stagnated", "diverged"}

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="no folder ../shared/data/matrices beside the checkout"
)


def system(name):
    from sordino._matrix import as_csr

    A = as_csr(sordino.read_matrix(FOLDER / name).matrix).matrix()
    return A, A @ np.ones(A.shape[0])


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_bcsstk16(ranks):
    A, b = system("bcsstk16.mtx")
    solution = sordino.solve(A, b, solver="cg", precond="jacobi", rtol=1e-8, ranks=ranks, engine="host")
    direct = spla.spsolve(A.tocsc(), b)
    assert np.linalg.norm(b - A @ solution.x) <= 1e-8 * np.linalg.norm(b)
    assert np.linalg.norm(A @ (solution.x - direct)) <= 2e-8 * np.linalg.norm(b)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("name", ["add20.mtx", "bayer10.mtx", "ScaleMicrogrid_Jacobian_N1000_01.mtx"])
def test_unsymmetric_matrices_are_solved_or_said_not_to_be(name, ranks):
    A, b = system(name)
    jacobi = "jacobi" if A.diagonal().all() else "none"
    solution = sordino.solve(
        A,
        b,
        solver="bicgstab",
        precond=jacobi,
        rtol=1e-8,
        maxiter=2000,
        ranks=ranks,
        engine="host",
        on_failure="return",
    )
    residual = np.linalg.norm(b - A @ solution.x) / np.linalg.norm(b)
    assert np.isfinite(solution.x).all()
    assert residual == pytest.approx(solution.true_residual, rel=1e-2, abs=1e-14)
    if solution.converged:
        assert residual <= 1e-8 * (1 + 1e-6)
    else:
        assert solution.status in HONEST and solution.reason


def test_add20_is_solved():
    A, b = system("add20.mtx")
    solution = sordino.solve(A, b, solver="bicgstab", rtol=1e-8, ranks=4, engine="host")
    assert np.linalg.norm(A @ (solution.x - spla.spsolve(A.tocsc(), b))) <= 2e-8 * np.linalg.norm(b)
