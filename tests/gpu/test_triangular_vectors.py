"""Triangular solves of arrays on GPUs, which stay there. Skipped where there is no GPU, or no such library."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
from sordino import _core, _device

REPORT = _core.devices()
REASON = REPORT["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(REPORT["devices"])
SEED = int(os.environ.get("SORDINO_TEST_SEED") or time.time_ns()) % 2**31  # said where a test fails


def triangle(kind: str, dtype: type, lower: bool) -> sp.csr_array:
    """By blocks, as a factor is; or by rows, as one is without its fill."""
    A = sordino.poisson(11, 10, 9)
    L = spla.splu(A.tocsc()).L if kind == "blocks" else sp.tril(A)
    L = sp.csr_array(L).astype(dtype)
    rng = np.random.default_rng(SEED)
    L.data = (L.data * rng.uniform(0.5, 1.5, L.nnz)).astype(dtype)
    if dtype is np.complex128:
        L.data += 0.1j * L.data
    return sp.csr_array(L if lower else L.T)


def vectors(n: int, columns: int | None, dtype: type) -> np.ndarray:
    rng = np.random.default_rng(SEED + 1)
    shape = (n,) if columns is None else (n, columns)
    b = rng.standard_normal(shape)
    return (b + 1j * rng.standard_normal(shape) if dtype is np.complex128 else b).astype(dtype)


@pytest.fixture
def stays(monkeypatch):
    """Nothing is copied to the CPU."""

    def refused(values, what):
        raise AssertionError(f"{what} was copied to the CPU")

    monkeypatch.setattr(_device, "host_copy", refused)


@pytest.mark.parametrize("ranks", range(1, 1 + min(2, DEVICES)))
@pytest.mark.parametrize("kind", ["blocks", "rows"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("lower", [True, False])
def test_x_has_the_bits_that_it_has_on_the_host(there, stays, ranks, kind, dtype, lower) -> None:
    F = sordino.factorized(triangle(kind, dtype, lower), lower, engine="cuda", ranks=ranks)
    assert F.statistics["by_rows"] == (kind == "rows")
    for columns in (None, 1, 3, 11):
        b = vectors(F.shape[0], columns, dtype)
        for trans in "NTH":
            for device in range(DEVICES if ranks > 1 else 1):
                x = F.solve(there.array(b, device), trans=trans, refine=0)
                assert there.device(x) == device and there.host(x).dtype == dtype
                wanted = F.solve(b, trans=trans, refine=0)
                assert there.host(x).shape == b.shape and np.array_equal(there.host(x), wanted), SEED
    assert F.report["seconds"] > 0


def test_other_types_and_orders(there, stays) -> None:
    F = sordino.factorized(triangle("blocks", np.complex128, False), False, engine="cuda", ranks=1)
    b = vectors(F.shape[0], 4, np.float64)
    for given in (b, b.astype(np.float32)):
        wanted = F.solve(given, trans="H")
        for array in (there.array(given), there.array(np.ascontiguousarray(given.T)).T):
            assert np.array_equal(there.host(F.solve(array, trans="H")), wanted)
        assert np.array_equal(
            there.host(F.solve(there.array(given)[:, 1], trans="H")), F.solve(given[:, 1], trans="H")
        )


def test_work_on_its_way_is_waited_for(there, stays) -> None:
    F = sordino.factorized(triangle("blocks", np.float64, True), engine="cuda", ranks=1)
    b = vectors(F.shape[0], None, np.float64)
    wanted = F.solve(b)
    with there.side_stream():
        assert np.array_equal(there.host(F.solve(there.late(b))), wanted)


def test_what_cannot_stay_is_copied(there) -> None:
    L = triangle("blocks", np.float64, True)
    b = vectors(L.shape[0], None, np.complex128)
    gpu, host = sordino.factorized(L, engine="cuda", ranks=1), sordino.factorized(L)
    for F, given, steps in ((gpu, b, 0), (gpu, b, 1), (host, b.real.copy(), 0)):
        assert np.array_equal(
            there.host(F.solve(there.array(given), refine=steps)), F.solve(given, refine=steps)
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("lower", [True, False])
def test_solves_that_want_refinement_are_refined_where_b_is(there, stays, dtype, lower) -> None:
    """Of a triangle like Kahan's, whose inverse grows by a factor of 2.3 from row to row."""
    n = 18 if dtype is np.float32 else 36
    L = (np.tril(-np.ones((n, n)), -1) + 0.75 * np.eye(n)).astype(dtype)
    T = L if lower else L.T.copy()
    F = sordino.factorized(sp.csc_array(T), lower, engine="cuda", ranks=1)  # dense ones are taken as float64
    good = 16 * float(np.finfo(dtype).eps) / 2
    for trans, of in (("N", T), ("T", T.T), ("H", T.conj().T)):
        for columns in (None, 3):
            b = of @ (np.ones(n) if columns is None else np.arange(1.0, 3 * n + 1).reshape(n, 3))
            b = b.astype(dtype)
            plain = there.host(F.solve(there.array(b), trans=trans, refine=0))
            x = F.solve(there.array(b), trans=trans)
            errors = F.report["backward_errors"]
            assert F.report["refinements"] >= 1 and errors[0] > errors[-1] <= good
            assert there.device(x) == 0 and there.host(x).dtype == dtype and there.host(x).shape == b.shape
            assert good >= F.backward_error(b, there.host(x), trans)
            assert dtype is np.float32 or F.backward_error(b, plain, trans) > good
            F.solve(there.array(b), trans=trans, refine=2)
            assert F.report["backward_errors"][-1] <= good


@pytest.mark.parametrize("kind", ["blocks", "rows"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bits", [-1, 0])
def test_every_nan_and_infinity_of_b_is_found_in_x(there, stays, kind, dtype, bits) -> None:
    """A NaN of set bits is what an empty place holds: it must not be waited for. Each row alone, in both directions."""
    F = sordino.factorized(triangle(kind, dtype, True), engine="cuda", ranks=1, timeout=5)
    whole = np.array([bits]).astype(np.int32 if dtype is np.float32 else np.int64).view(dtype)[0]
    b = vectors(F.shape[0], None, dtype)
    for bad in (whole,) if bits else (np.nan, np.inf, -np.inf):
        for row in (0, 1, F.shape[0] // 2, F.shape[0] - 1):
            for trans in "NT":
                spoilt = b.copy()
                spoilt[row] = bad
                with pytest.raises(sordino.BadArgument, match="b holds NaN or infinity"):
                    F.solve(there.array(spoilt), trans=trans)


def test_bad_vectors_are_refused(there) -> None:
    F = sordino.factorized(triangle("blocks", np.float64, True), engine="cuda", ranks=1)
    b = vectors(F.shape[0], None, np.float64)
    for bad in (np.nan, np.inf):
        with pytest.raises(sordino.BadArgument, match="b holds NaN or infinity"):
            F.solve(there.array(np.where(np.arange(len(b)) == 17, bad, b)))
    with pytest.raises(sordino.BadArgument, match=r"b has shape \(17,\)"):
        F.solve(there.array(b[:17]))
    F.update(F.columns.values * 1e-200)
    with pytest.raises(sordino.NotConverged, match="overflows") as seen:
        F.solve(there.array(1e200 * b))
    assert there.host(seen.value.solution.x).shape == b.shape


def test_vectors_on_gpus_want_engine_cuda() -> None:
    core = sordino.factorized(triangle("rows", np.float64, True))._native
    pytest.importorskip("cupy")
    import cupy

    b = cupy.ones((990, 1))
    with pytest.raises(Exception, match="by engine cuda, and by our own algorithm"):
        core.solve_there(_device.handed(b), _device.handed(b), "N", _device.LEGACY_DEFAULT_STREAM, True)


@pytest.mark.parametrize("ranks", range(1, 1 + min(2, DEVICES)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("symmetric", [True, False])
def test_systems_are_solved_and_verified_where_b_is(there, stays, ranks, dtype, symmetric) -> None:
    A = sp.csr_array(sordino.poisson(8, 9, 10).astype(dtype))
    if not symmetric:
        A = sp.csr_array(
            A
            + sp.diags_array(
                np.full(A.shape[0] - 7, 0.3 + (0.2j if dtype is np.complex128 else 0)), offsets=7
            )
        )
        A = sp.csr_array(sp.diags_array(np.geomspace(1e-3, 1e3, A.shape[0])) @ A).astype(dtype)
    F = sordino.splu(A, engine="cuda", ranks=ranks)
    rtol = 1e-4 if dtype is np.float32 else 1e-8
    for columns in (None, 4):
        b = vectors(A.shape[0], columns, dtype)
        for trans, matrix in (("N", A), ("T", A.T), ("H", A.conj().T)):
            given = there.array(b)
            x = F.solve(given, trans=trans)
            assert there.device(x) == 0 and there.host(x).dtype == dtype and there.host(x).shape == b.shape
            off = np.linalg.norm(b - matrix @ there.host(x).astype(np.complex128), axis=0)
            assert (off <= 1.001 * rtol * np.linalg.norm(b, axis=0)).all(), SEED
            assert F.report["residuals"][-1] <= rtol
            assert np.array_equal(there.host(given), b)  # left as it was


def test_factors_of_cholesky_and_unverified_ones(there, stays) -> None:
    A = sordino.poisson(8, 9, 10)
    b = vectors(A.shape[0], 3, np.float64)
    L = sp.csr_array(np.linalg.cholesky(A.toarray()))
    F = sordino.factorized_lu(sordino.Factors(lower=L, upper=None), engine="cuda", ranks=1)
    for trans in "NTH":
        assert np.abs(A @ there.host(F.solve(there.array(b), trans=trans)) - b).max() < 1e-10
    verified = sordino.factorized_lu(sordino.Factors(lower=L, upper=None), 1.001 * A, engine="cuda", ranks=1)
    with pytest.raises(sordino.NotConverged, match=r"\|\|b - A x\|\| / \|\|b\|\| is"):
        verified.solve(there.array(b), refine=0)
    assert (
        there.host(verified.solve(there.array(b))).shape == b.shape
    )  # refined, by steps with factors of another matrix


def test_a_matrix_that_changes_the_kind_of_numbers_is_solved_for_on_the_cpu(there) -> None:
    A = sordino.poisson(8, 9, 10)
    F = sordino.splu(A, engine="cuda", ranks=1)
    b = vectors(A.shape[0], None, np.complex128)
    x = there.host(F.solve(there.array(b)))
    assert np.linalg.norm(A @ x - b) <= 1e-8 * np.linalg.norm(b)
