"""Triangular solves by engine cuda beside those of the host. Skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _core

REPORT = _core.devices()
REASON = REPORT["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")


def triangle(n: int, dtype: type, seed: int) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    L = sp.tril(sordino.poisson(n, n, n), format="csr").astype(dtype)
    L.data *= rng.uniform(0.5, 1.5, L.nnz).astype(dtype)
    return sp.csr_array(L)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("ranks", range(1, 1 + min(4, len(REPORT["devices"]))))
def test_gpus_solve_as_the_host_does(dtype: type, ranks: int) -> None:
    L = triangle(9, dtype, 5)
    b = np.random.default_rng(6).standard_normal((L.shape[0], 11)).astype(dtype)
    host, gpu = sordino.factorized(L), sordino.factorized(L, engine="cuda", ranks=ranks)
    close = 1e-4 if dtype is np.float32 else 1e-11
    for trans in ("N", "T", "H"):
        for rhs in (b[:, 0], b[:, :3], b):
            x, y = host.solve(rhs, trans=trans), gpu.solve(rhs, trans=trans)
            assert np.abs(x - y).max() <= close * np.abs(x).max()
            assert np.array_equal(y, gpu.solve(rhs, trans=trans))
            assert np.array_equal(x, y)  # kept by rows
    assert gpu.statistics["by_rows"]
    host.update(2 * L.data)
    gpu.update(2 * L.data)
    assert np.allclose(host.solve(b[:, 0]), gpu.solve(b[:, 0]), rtol=close)


def test_a_system_is_verified_whoever_solves_with_its_factors() -> None:
    A = sordino.poisson(11, 10, 9)
    b = np.random.default_rng(7).standard_normal(A.shape[0])
    F = sordino.splu(A, engine="cuda")
    x = F.solve(b)
    assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)


def test_more_ranks_than_gpus_are_refused() -> None:
    F = sordino.factorized(triangle(8, np.float64, 8), engine="cuda", ranks=len(REPORT["devices"]) + 1)
    with pytest.raises(sordino.SordinoError, match="needs as many GPUs"):
        F.solve(np.ones(512))


LAYOUTS = [(1, 1), (2, 1), (1, 2), (4, 1), (1, 4), (2, 2), (3, 1), (2, 4)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("layout", [g for g in LAYOUTS if g[0] * g[1] <= len(REPORT["devices"])])
def test_the_papers_algorithm_solves_in_all_layouts_and_directions(
    dtype: type, layout: tuple[int, int], rng_of_today: np.random.Generator
) -> None:
    L = sordino.splu(sordino.poisson(9, 8, 7), "mmd").factors.lower.astype(dtype)
    if dtype is np.complex128:
        L.data *= np.exp(1j * rng_of_today.uniform(0, 6, L.nnz))
    b = rng_of_today.standard_normal((L.shape[0], 3)).astype(dtype)
    ours = sordino.factorized(L)
    paper = sordino.factorized(
        L, algorithm="paper", engine="cuda", layout=layout, width=int(rng_of_today.integers(1, 257))
    )
    assert paper.statistics["ranks"] == layout[0] * layout[1]
    close = 1e-4 if dtype is np.float32 else 1e-11
    for values in (L.data, 2 * L.data):
        ours.update(values)
        paper.update(values)
        for trans in ("N", "T", "H"):
            for rhs in (b[:, 0], b):
                x = ours.solve(rhs, trans, 0)
                assert np.abs(paper.solve(rhs, trans, 0) - x).max() <= close * np.abs(x).max()
    assert paper.statistics["memory_bytes"] > 2 * paper.statistics["stored_bytes"]


def test_the_papers_algorithm_solves_whole_systems_and_is_verified() -> None:
    A = sordino.poisson(11, 10, 9)
    b = np.random.default_rng(7).standard_normal(A.shape[0])
    F = sordino.splu(A, algorithm="paper", engine="cuda", layout=(len(REPORT["devices"]), 1))
    for trans in ("N", "T"):
        assert np.linalg.norm(b - A @ F.solve(b, trans)) <= 1e-8 * np.linalg.norm(b)


@pytest.mark.parametrize("side", [0, 1])
def test_a_layout_of_more_ranks_than_gpus_is_refused(side: int) -> None:
    layout = [1, 1]
    layout[side] = len(REPORT["devices"]) + 1
    F = sordino.factorized(triangle(4, np.float64, 8), engine="cuda", algorithm="paper", layout=tuple(layout))
    with pytest.raises(sordino.Unsupported, match="needs as many GPUs"):
        F.solve(np.ones(64))
