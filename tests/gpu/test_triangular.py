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


def ranks_of(layout: str) -> int:
    return int(np.prod([int(k) for k in layout.split("x")]))


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


@pytest.mark.parametrize("blocks", [1, 2, 7, 1000])  # the last ones of 1000 wait for a place
def test_bits_do_not_depend_on_thread_blocks(blocks: int, rng_of_today: np.random.Generator) -> None:
    L = sordino.splu(sordino.poisson(9, 8, 7), "mmd").factors.lower
    for triangular in (L, triangle(9, np.float64, 5)):  # by blocks, and by rows
        b = rng_of_today.standard_normal((triangular.shape[0], 3))
        full = sordino.factorized(triangular, width=16, engine="cuda", ranks=1)
        few = sordino.factorized(triangular, width=16, engine="cuda", ranks=1, blocks=blocks)
        for trans in ("N", "T"):
            assert np.array_equal(few.solve(b, trans, 0), full.solve(b, trans, 0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize(
    "layout", [k for k in ("1x1", "2x1", "1x2", "2x2") if ranks_of(k) <= len(REPORT["devices"])]
)
def test_the_papers_algorithm_solves_as_ours_does(dtype: type, layout: str) -> None:
    A = sordino.poisson(9, 8, 7)
    L = sordino.splu(A, "mmd").factors.lower.astype(dtype)
    b = np.random.default_rng(11).standard_normal((L.shape[0], 3)).astype(dtype)
    ours = sordino.factorized(L)
    paper = sordino.factorized(L, engine="cuda", algorithm="paper", layout=layout)
    close = 1e-4 if dtype is np.float32 else 1e-11
    for scale in (1, 2):
        paper.update(scale * L)
        for trans in ("N", "T", "H"):
            x = ours.solve(b, trans, 0)
            assert np.abs(scale * paper.solve(b, trans, 0) - x).max() <= close * np.abs(x).max()
    assert paper.statistics["ranks"] == ranks_of(layout)
    with pytest.raises(sordino.SordinoError, match="needs as many GPUs"):
        sordino.factorized(L, engine="cuda", algorithm="paper", layout="4x8").solve(b)


def test_more_ranks_than_gpus_are_refused() -> None:
    F = sordino.factorized(triangle(8, np.float64, 8), engine="cuda", ranks=len(REPORT["devices"]) + 1)
    with pytest.raises(sordino.SordinoError, match="needs as many GPUs"):
        F.solve(np.ones(512))


def test_the_width_is_chosen_by_what_is_most_like_these_gpus() -> None:
    L = sordino.splu(sordino.poisson(12, 11, 10), "mmd").factors.lower
    b = np.random.default_rng(8).standard_normal(L.shape[0])
    for options in ({}, {"ranks": 1}, {"machine": "h100x2"}):
        F = sordino.factorized(L, width="auto", engine="cuda", **options)
        s = F.statistics
        assert s["width"] in (32, 64, 128, 256) and s["width_reason"].startswith(f"width {s['width']}: ")
        assert F.backward_error(b, F.solve(b)) < 2e-15


@pytest.mark.parametrize("trans", ["N", "T"])
def test_a_triangle_with_a_tiny_pivot_is_substituted_on_gpus_too(trans: str) -> None:
    rng = np.random.default_rng(9)
    T = np.tril(rng.uniform(-1, 1, (80, 80)), -1) + np.diag(rng.uniform(9, 18, 80))
    F = sordino.factorized(sp.csr_array(T), engine="cuda", ranks=1)
    b = T[:, 3].copy() if trans == "N" else T[70].copy()
    assert not F.statistics["by_rows"] and F.backward_error(b, F.solve(b, trans), trans) < 1e-12
    T[40, 40] = 1e-25
    b = T[:, 3].copy() if trans == "N" else T[70].copy()
    with pytest.warns(sordino.TinyPivotWarning, match="the pivot of row 40 is tiny"):
        F.update(sp.csr_array(T))
    assert F.statistics["by_rows"]
    assert F.backward_error(b, F.solve(b, trans), trans) < 2e-15
    host = sordino.factorized(sp.csr_array(T), engine="model", ranks=1)
    np.testing.assert_array_equal(F.solve(b, trans), host.solve(b, trans))
