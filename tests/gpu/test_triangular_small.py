"""Solves of small triangles with vectors on a GPU, in streams of their library's. Skipped where there is no GPU."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _core

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
SEED = int(os.environ.get("SORDINO_TEST_SEED") or time.time_ns()) % 2**31  # said where a test fails


def triangle(rng: np.random.Generator, kind: str, dtype: type, lower: bool) -> sp.csr_array:
    """By blocks, as a factor is, or by rows, as one is without its fill; of a few hundred rows."""
    A = sordino.poisson(*(int(side) for side in rng.integers(5, 9, 3)))
    L = sordino.splu(A, "mmd").factors.lower if kind == "blocks" else sp.tril(A)
    L = sp.csr_array(L).astype(dtype)
    L.data = (L.data * rng.uniform(0.5, 1.5, L.nnz)).astype(dtype)
    if dtype is np.complex128:
        L.data += 0.1j * L.data
    return sp.csr_array(L if lower else L.T)


def vectors(rng: np.random.Generator, n: int, columns: int | None, dtype: type) -> np.ndarray:
    shape = (n,) if columns is None else (n, columns)
    b = rng.standard_normal(shape)
    return (b + 1j * rng.standard_normal(shape) if dtype is np.complex128 else b).astype(dtype)


@pytest.mark.parametrize("kind", ["blocks", "rows"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("lower", [True, False])
def test_all_numbers_of_columns_in_all_directions(there, kind, dtype, lower) -> None:
    rng = np.random.default_rng(SEED)
    T = triangle(rng, kind, dtype, lower)
    F, host = (sordino.factorized(T, lower, engine=engine, ranks=1) for engine in ("cuda", "host"))
    close = 1e-4 if dtype is np.float32 else 1e-11
    for columns in (None, *range(1, 10)):
        b = vectors(rng, T.shape[0], columns, dtype)
        given = there.array(b)
        for trans in "NTH":
            x = there.host(F.solve(given, trans, 0))
            assert x.shape == b.shape and x.dtype == dtype
            assert np.array_equal(x, F.solve(b, trans, 0)), SEED
            wanted = host.solve(b, trans, 0)
            assert np.abs(x - wanted).max() <= close * np.abs(wanted).max(), SEED
        assert np.array_equal(there.host(given), b)  # left as it was


@pytest.mark.parametrize("kind", ["blocks", "rows"])
def test_solves_are_in_the_order_of_the_librarys_stream(there, kind) -> None:
    rng = np.random.default_rng(SEED)
    T = triangle(rng, kind, np.float64, True)
    F = sordino.factorized(T, engine="cuda", ranks=1)
    b = vectors(rng, T.shape[0], None, np.float64)
    once = F.solve(b, refine=0)
    thrice = F.solve(F.solve(once, refine=0), refine=0)
    for _ in range(3):
        with there.side_stream():
            x = there.late(b).reshape(-1, 1)
            for _ in range(3):
                x = F.solve_there(x, "N")
            assert np.array_equal(there.host(x)[:, 0], thrice), SEED
        with there.side_stream():  # another one, while nobody has waited for the first
            y = F.solve_there(there.array(b).reshape(-1, 1), "N")
            assert np.array_equal(there.host(y)[:, 0], once), SEED
    F.settle()


def test_new_values_and_other_numbers_of_columns_wait_for_solves(there) -> None:
    rng = np.random.default_rng(SEED)
    T = triangle(rng, "blocks", np.float64, True)
    F = sordino.factorized(T, engine="cuda", ranks=1)
    b = vectors(rng, T.shape[0], 8, np.float64)
    wanted = F.solve(b, refine=0)
    F = sordino.factorized(T, engine="cuda", ranks=1)
    given = there.array(b)
    with there.side_stream():
        few = F.solve_there(there.late(b[:, 0].copy()).reshape(-1, 1), "N")
        many = F.solve_there(given, "N")  # for which memory is made anew
        F.update(T.data * 2)
        half = F.solve_there(given, "N")
        del F
        assert np.abs(there.host(few)[:, 0] - wanted[:, 0]).max() <= 1e-11 * np.abs(wanted).max()
        assert np.array_equal(there.host(many), wanted)
        assert np.array_equal(2 * there.host(half), wanted)


@pytest.mark.parametrize("kind", ["blocks", "rows"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_what_is_not_finite_is_told_and_does_not_stick(there, kind, dtype) -> None:
    rng = np.random.default_rng(SEED)
    T = triangle(rng, kind, dtype, True)
    F = sordino.factorized(T, engine="cuda", ranks=1, timeout=5)
    for columns in (1, 5, 9):
        good = vectors(rng, T.shape[0], columns, dtype)
        for bad in (np.nan, np.inf, -np.inf):
            spoilt = good.copy()
            spoilt[rng.integers(T.shape[0]), rng.integers(columns)] = bad
            for trans in "NTH":
                with pytest.raises(sordino.BadArgument, match="b holds NaN or infinity"):
                    F.solve(there.array(spoilt), trans, 0)
                F.solve_there(there.array(spoilt), trans)  # in which nobody is interested
                x = there.host(F.solve(there.array(good), trans, 0))
                assert np.isfinite(x).all(), SEED


def test_systems_of_small_factors_tell_nan_of_b(there) -> None:
    rng = np.random.default_rng(SEED)
    A = sp.csr_array(sordino.poisson(6, 5, 4))
    verified = sordino.splu(A, engine="cuda", ranks=1)
    plain = sordino.factorized_lu(verified.factors, engine="cuda", ranks=1)
    b = vectors(rng, A.shape[0], 2, np.float64)
    for F in (verified, plain):
        for bad in (np.nan, np.inf):
            spoilt = b.copy()
            spoilt[rng.integers(A.shape[0]), 1] = bad
            for trans in "NT":
                with pytest.raises(sordino.BadArgument, match="b holds NaN or infinity"):
                    F.solve(there.array(spoilt), trans)
        assert np.abs(A @ there.host(F.solve(there.array(b))) - b).max() < 1e-10


def test_a_stream_that_is_captured_is_refused() -> None:
    cupy = pytest.importorskip("cupy")
    rng = np.random.default_rng(SEED)
    T = triangle(rng, "blocks", np.float64, True)
    F = sordino.factorized(T, engine="cuda", ranks=1)
    b = cupy.asarray(vectors(rng, T.shape[0], 1, np.float64))
    wanted = F.solve(b, refine=0)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        try:
            with pytest.raises(sordino.Unsupported, match="this stream is captured into a graph"):
                F.solve_there(b, "N")
        finally:
            stream.end_capture()
    assert cupy.array_equal(F.solve(b, refine=0), wanted)
