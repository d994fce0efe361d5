"""Triangular solves of arrays on GPUs, without a GPU: NumPy's stand for them, solved for by the host's threads."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import sordino
from sordino import _device, _libraries, _lu, _triangular, _triangular_arrays

N = 36
SEED = int(os.environ.get("SORDINO_TEST_SEED") or time.time_ns()) % 2**31  # said where a test fails


class OnGpu(_libraries.Numpy):
    """NumPy, said to be on a GPU; `looked_at`: how often it was asked for NaN. `current`: its stream."""

    on_gpu = True
    looked_at = 0
    current = 4711

    def stream(self):
        return OnGpu.current

    def rows(self, values, dtype):
        return np.ascontiguousarray(values, dtype=dtype)

    def finite(self, values):
        OnGpu.looked_at += 1
        return super().finite(values)


class Native:
    """A triangle of the core; its solves of arrays that stay are the host's, and all others are refused.

    `waited`: of each solve whether it was waited for; `settled`: how often all were.
    """

    def __init__(self, native):
        self.native, self.waited, self.settled = native, [], 0

    def __getattr__(self, name):
        if name in ("solve", "refine"):
            raise AssertionError("solved on the CPU")
        return getattr(self.native, name)

    def solve_there(self, b, x, way, stream, waits):
        assert stream == OnGpu.current
        x[...] = self.native.solve(b, way)
        self.waited.append(waits)
        return bool(not waits or np.isfinite(x).all())

    def settle(self):
        self.settled += 1


@pytest.fixture(autouse=True)
def arrays_are_on_a_gpu(monkeypatch):
    monkeypatch.setattr(OnGpu, "looked_at", 0)
    monkeypatch.setattr(_triangular_arrays, "is_on_gpu", lambda values, what: True)
    for module in (_device, _triangular, _triangular_arrays):
        monkeypatch.setattr(module, "library_of", lambda values: OnGpu())
    monkeypatch.setattr(_triangular, "capsule_of", lambda values, stream: values)


def on_gpu(matrix, lower=True, unit=False):
    F = sordino.factorized(matrix, lower, unit)
    F.solves_on_gpus, F._native = True, Native(F._native)
    return F


def kahan(dtype=float, n=N):
    """Its inverse grows by a factor of 2.3 from row to row."""
    below = np.tril(-np.ones((n, n)), -1) * (1 + 0.01j if dtype is complex else 1)
    return (below + 0.75 * np.eye(n)).astype(dtype)


def rounding(dtype):
    return float(np.finfo(dtype).eps) / 2


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, float, complex])
@pytest.mark.parametrize("trans", ["N", "T", "H"])
def test_solves_that_want_refinement_are_refined_where_b_is(lower, dtype, trans):
    L = kahan(dtype, 18 if dtype is np.float32 else N)
    T = L if lower else L.T
    F = on_gpu(sp.csr_array(T), lower)
    of = {"N": T, "T": T.T, "H": T.conj().T}[trans]
    ones, rising = np.ones(len(T)), np.arange(1.0, len(T) + 1)
    for b in (of @ ones, of @ np.stack([rising, ones, rising], axis=1)):
        b = b.astype(dtype)
        plain = F.solve(b, trans, refine=0)
        assert F.report["refinements"] == 0 and "backward_errors" not in F.report
        x = F.solve(b, trans)
        assert x.shape == b.shape and x.dtype == F.dtype
        errors = F.report["backward_errors"]
        assert F.report["refinements"] == len(errors) - 1 >= 1
        good = 16 * rounding(dtype)
        assert errors[0] > errors[-1] <= good >= F.backward_error(b, x, trans)
        assert dtype is np.float32 or min(errors[0], F.backward_error(b, plain, trans)) > good


def test_a_unit_diagonal_is_refined_with_ones():
    L = kahan()
    F = on_gpu(sp.csr_array(L - np.tril(L, -1) * 0.5 + 7 * np.eye(N)), unit=True)
    meant = np.tril(L, -1) * 0.5 + np.eye(N)
    b = meant @ np.ones(N)
    x = F.solve(b, refine=2)
    assert np.abs(b - meant @ x).max() <= 1e-14 and F.report["backward_errors"][-1] <= 16 * rounding(float)


def test_new_values_are_refined_with_new_values():
    F = on_gpu(sp.csr_array(kahan()))
    b = kahan() @ np.ones(N)
    F.solve(b, refine=1)
    F.update(F.columns.values * 3)
    assert F.backward_error(b, F.solve(b, refine=1)) <= 16 * rounding(float)
    assert F.report["refinements"] == 1 and F.report["backward_errors"][-1] <= 16 * rounding(float)


def test_where_a_library_has_no_sparse_matrices_refined_solves_go_by_way_of_the_cpu(monkeypatch):
    monkeypatch.setattr(OnGpu, "has_matrices", False)
    F = on_gpu(sp.csr_array(kahan()))
    F.solve(np.ones(N), refine=0)
    with pytest.raises(AssertionError, match="solved on the CPU"):
        F.solve(np.ones(N))


def test_nothing_is_looked_at_unless_the_solve_has_seen_what_is_not_finite():
    F = on_gpu(sp.eye_array(N, format="csr") * 1e-200)
    F.solve(np.ones(N))
    assert OnGpu.looked_at == 0 and F._native.waited == [True]
    F.solve(np.ones(N), refine=1)  # x of the last step, which no single solve has seen
    assert OnGpu.looked_at == 1 and F._native.settled == 1 and not any(F._native.waited[1:])
    for bad in (np.nan, -np.inf):
        for refine in (0, 1):
            with pytest.raises(sordino.BadArgument, match="b holds NaN or infinity"):
                F.solve(np.where(np.arange(N) == 17, bad, 1.0), refine=refine)
    with pytest.raises(sordino.NotConverged, match="overflows") as seen:
        F.solve(np.full(N, 1e200))
    assert np.isinf(seen.value.solution.x).all()


def test_a_solve_among_others_is_not_waited_for(monkeypatch):
    F = on_gpu(sp.csr_array(kahan()))
    b = kahan() @ np.ones((N, 2))
    wanted = F.solve(b, refine=0)
    assert np.array_equal(F.solve_there(b, "N"), wanted) and F._native.waited == [True, False]
    monkeypatch.setattr(
        OnGpu, "stream", lambda self: None
    )  # a library that has none to show: it would not know when
    monkeypatch.setattr(OnGpu, "current", _device.LEGACY_DEFAULT_STREAM)
    assert np.array_equal(F.solve_there(b, "N"), wanted) and F._native.waited[-1]


@pytest.mark.parametrize("verified", [True, False])
def test_systems_are_waited_for_once_and_b_is_looked_at_where_x_is_not_finite(monkeypatch, verified):
    monkeypatch.setattr(_lu, "is_on_gpu", lambda values, what: True)
    monkeypatch.setattr(_lu, "library_of", lambda values: OnGpu())
    A = sp.csc_array(kahan() + kahan().T + 20 * np.eye(N))
    F = sordino.factorized_lu(sla.splu(A), A if verified else None)
    natives = [Native(t._native) for t in F._triangles.parts.values()]
    for triangle, native in zip(F._triangles.parts.values(), natives, strict=True):
        triangle.solves_on_gpus, triangle._native = True, native
    x = np.random.default_rng(SEED).standard_normal((N, 2))
    for trans in "NT":
        assert np.abs(F.solve(A @ x, trans) - x).max() < 1e-12, SEED
    assert OnGpu.looked_at == (0 if verified else 2)  # at x; residuals say it else
    assert all(native.settled == 2 and not any(native.waited) for native in natives)
    for bad in (np.nan, np.inf):
        spoilt = A @ x
        spoilt[SEED % N, 1] = bad
        with pytest.raises(sordino.BadArgument, match="b holds NaN or infinity"):
            F.solve(spoilt)
    with pytest.raises(sordino.NotConverged):
        F.solve(np.full(N, 1e308))


def test_a_sum_that_overflows_is_no_infinity():
    for dtype in (np.float32, float, complex):
        largest = np.finfo(dtype).max
        assert OnGpu().finite(np.full((3, 2), largest, dtype))
        for bad in (np.inf, -np.inf, np.nan):
            values = np.full((3, 2), largest, dtype)
            values[1, 1] = bad
            assert not OnGpu().finite(values)
            values[0, 0] = -bad  # as if they cancelled
            assert not OnGpu().finite(values)
