"""Complex systems on GPUs, beside the host engine: every method, every layout. Skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
from sordino import _core

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(_core.devices()["devices"])
SIDE = 60
N = SIDE * SIDE
RNG = np.random.default_rng(7)


def grid(phases: np.ndarray, diagonal: complex) -> sp.csr_array:
    """`diagonal`, and -u, -conj(u) on the links of a grid: even rows, stored in slices."""
    u = -np.exp(1j * phases)
    across = np.where(np.arange(1, N) % SIDE, u[: N - 1], 0)
    upper = sp.diags_array([across, u[: N - SIDE]], offsets=[1, SIDE], shape=(N, N))
    A = sp.csr_array(upper + upper.conj().T + diagonal * sp.eye_array(N))
    A.eliminate_zeros()
    return A


def with_full_rows(A: sp.csr_array, every: int) -> sp.csr_array:
    """Every so many rows of A are full ones: a few threads, or a warp, compute a row. No symmetry is left."""
    full = sp.lil_array((N, N), dtype=complex)
    for row in range(0, N, every):
        full[row, :] = (RNG.standard_normal(N) + 1j * RNG.standard_normal(N)) * 1e-3
    return sp.csr_array(A + full.tocsr() + (every < 100) * sp.csr_array(4 * sp.eye_array(N)))


PHASES = RNG.uniform(0, 6.3, N)
B = RNG.standard_normal(N) + 1j * RNG.standard_normal(N)
HERMITIAN = grid(PHASES, 4.1)
SYMMETRIC = grid(np.zeros(N), 3.6 + 0.5j)
CASES = {
    "cg": (HERMITIAN, "cg"),
    "cgcg": (HERMITIAN, "cgcg"),
    "prcg": (HERMITIAN, "prcg"),
    "cocg": (SYMMETRIC, "cocg"),
    "bicgstab": (sp.csr_array(HERMITIAN + sp.diags_array([np.full(N - 1, 0.3j)], offsets=[1])), "bicgstab"),
    "a few threads a row": (with_full_rows(HERMITIAN, 600), "bicgstab"),
    "a warp a row": (with_full_rows(HERMITIAN, 50), "bicgstab"),
}


def residual(A: sp.csr_array, x: np.ndarray) -> float:
    return float(np.linalg.norm(B - A @ x) / np.linalg.norm(B))


def ranks_here() -> list[int]:
    return [ranks for ranks in (1, 2, 4) if ranks <= max(DEVICES, 2)]  # ranks may share a GPU


@pytest.mark.parametrize("precond", ["none", "jacobi"])
@pytest.mark.parametrize("name", CASES)
def test_methods_and_layouts(name: str, precond: str) -> None:
    A, method = CASES[name]
    settings = {"solver": method, "precond": precond, "rtol": 1e-9, "timeout": 20.0}
    host = sordino.solve(A, B, engine="host", ranks=2, **settings)
    sliced = name in ("cg", "cgcg", "prcg", "cocg", "bicgstab")
    for ranks in ranks_here():
        for deterministic in ("on", "off"):
            made = sordino.Solver(A, engine="cuda", ranks=ranks, deterministic=deterministic, **settings)
            for _ in range(2):
                found = made.solve(B)
                assert residual(A, found.x) <= 1.01e-9, (ranks, deterministic)
                if deterministic == "on" and sliced:
                    assert found.history.tobytes() == host.history.tobytes(), ranks
                    assert found.x.tobytes() == host.x.tobytes(), ranks
            made.update_values(2 * A.data)
            assert residual(2 * A, made.solve(B).x) <= 1.01e-9


@pytest.mark.parametrize("method", ["cg", "bicgstab"])
def test_the_estimate_of_memory_is_within_a_tenth(method: str) -> None:
    matrix = sordino.poisson(80, 80, 80).astype(
        complex
    )  # beside which what a rank holds in any case is little
    for ranks in ranks_here():
        settings = {"solver": method, "engine": "cuda", "ranks": ranks}
        said = sordino.estimate_memory(matrix, **settings)["bytes_per_rank"]
        np.testing.assert_allclose(
            sordino.Solver(matrix, **settings).memory()["bytes_per_rank"], said, rtol=0.1
        )


@pytest.mark.parametrize(
    ("matrix", "method"), [(HERMITIAN, "cg"), (SYMMETRIC, "cocg"), (SYMMETRIC, "bicgstab")]
)
@pytest.mark.parametrize("kind", ["function", "matrix", "both functions"])
def test_operators_and_preconditioners(matrix: sp.csr_array, method: str, kind: str) -> None:
    d = 1 / matrix.diagonal()
    inverse = sp.csr_array(2 * sp.diags_array(d) - sp.diags_array(d) @ matrix @ sp.diags_array(d))
    operator = spla.LinearOperator(matrix.shape, matvec=lambda x: matrix @ x, dtype=complex)
    A = operator if kind == "both functions" else matrix
    M = (
        inverse
        if kind == "matrix"
        else spla.LinearOperator(matrix.shape, matvec=lambda r: d * r, dtype=complex)
    )
    host = sordino.solve(A, B, M=M, solver=method, engine="host", ranks=2, rtol=1e-9)
    for ranks in ranks_here():
        for deterministic in ("on", "off"):
            found = sordino.solve(
                A, B, M=M, solver=method, engine="cuda", ranks=ranks, rtol=1e-9, deterministic=deterministic
            )
            assert residual(matrix, found.x) <= 1.01e-9, (ranks, deterministic)
            if deterministic == "on":
                assert found.history.tobytes() == host.history.tobytes(), ranks


def test_callbacks_see_complex_numbers() -> None:
    seen = []
    made = sordino.Solver(
        HERMITIAN, engine="cuda", ranks=min(2, max(DEVICES, 1)), callback_every=7, callback_x=True
    )
    made.solve(B, rtol=1e-9, callback=lambda i, r, x: seen.append((r, x.copy())))
    assert seen and all(abs(residual(HERMITIAN, x) - r) <= 1e-5 * r for r, x in seen[:3])
