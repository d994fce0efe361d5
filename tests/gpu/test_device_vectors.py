"""Arrays of CuPy and PyTorch on GPUs, through Python. Skipped where there is no GPU, or no such library."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
from sordino import _core

REASON = _core.devices()["reason"]
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU"),
    pytest.mark.skipif(not _core.build_info()["cuda"], reason="this build has no CUDA"),
]
DEVICES = len(_core.devices()["devices"])
TWO_GPUS = pytest.mark.skipif(DEVICES < 2, reason=f"two GPUs are needed, and here are {DEVICES}")
SEED = int(os.environ.get("SORDINO_TEST_SEED") or time.time_ns()) % 2**31  # said where a test fails


def system(*size: int, columns: int | None = None):
    A = sordino.poisson(*size, contrast=10.0)
    shape = A.shape[0] if columns is None else (A.shape[0], columns)
    return A, np.random.default_rng(SEED).standard_normal(shape)


def solver(A, ranks=1, **options):
    return sordino.Solver(
        A, engine=options.pop("engine", "cuda"), ranks=ranks, timeout=20.0, **{"rtol": 1e-9, **options}
    )


def assert_solved(A, x, b, rtol=1e-9):
    assert (np.linalg.norm(b - A @ x, axis=0) <= 1.0001 * rtol * np.linalg.norm(b, axis=0)).all(), SEED


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("size", [(3, 1, 1), (13, 11, 7), (41, 37, 43)])
def test_x_is_of_the_kind_of_b_with_the_bits_of_the_host(there, ranks, size) -> None:
    A, b = system(*size)
    made = solver(A, ranks)
    found, host = made.solve(there.array(b)), made.solve(b)
    assert there.device(found.x) == 0 and there.host(found.x).dtype == np.float64
    assert there.host(found.x).tobytes() == host.x.tobytes()
    assert_solved(A, there.host(found.x), b)
    if len(b) < 5000:
        expected = spla.spsolve(A.tocsc(), b)
        np.testing.assert_allclose(there.host(found.x), expected, rtol=1e-5, atol=1e-7 * abs(expected).max())
    again = made.solve(there.array(b), found.x)
    assert again.iterations <= 1
    assert made.solve(b, found.x).x.dtype == np.float64  # b decides what x is


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("columns", [1, 3])
def test_columns(there, columns, order) -> None:
    A, b = system(12, 9, 10, columns=columns)
    given = there.array(b) if order == "C" else there.array(np.ascontiguousarray(b.T)).T
    found = solver(A, 2).solve(given)
    assert there.host(found.x).shape == b.shape and len(found.reports) == columns
    assert_solved(A, there.host(found.x), b)


def test_gaps_and_float32(there) -> None:
    A, wide = system(8, 9, 10, columns=5)
    made = solver(A, 2)
    assert_solved(A, there.host(made.solve(there.array(wide)[:, 3]).x), wide[:, 3])
    b = wide[:, 0].astype(np.float32)
    assert there.host(made.solve(there.array(b)).x).dtype == np.float64  # A is
    single = solver(A.astype(np.float32), 2, rtol=1e-5)
    for given in (b, wide.astype(np.float32)):
        found, host = single.solve(there.array(given)), single.solve(given)
        x = there.host(found.x)
        assert x.dtype == np.float32 and x.shape == given.shape
        assert found.true_residual == pytest.approx(host.true_residual, rel=0.01) and found.converged
    missed = single.solve(there.array(b), rtol=1e-10, on_failure="return")
    assert missed.status == "stagnated" and "in float32" in missed.reason


def test_work_of_the_current_stream_is_waited_for(there) -> None:
    A, b = system(20, 21, 22)
    made = solver(A, 2)
    expected = made.solve(b).x
    for _ in range(3):
        with there.side_stream():
            x = made.solve(there.late(b)).x
            assert (there.host(x) == expected).all()
    assert (there.host(made.solve(there.late(b)).x) == expected).all()  # and of the default one
    with there.side_stream():
        late = there.late(b)
        assert made.solve(late, late + 0 * late, maxiter=1, on_failure="return").iterations == 1


@TWO_GPUS
def test_b_on_another_gpu_than_the_ranks(there) -> None:
    A, b = system(17, 16, 15)
    for devices in ("0", "1"):
        made = solver(A, 1, devices=devices)
        expected = made.solve(b).x
        for device in (0, 1):
            for current in (0, 1):
                with there.on(current):
                    x = made.solve(there.array(b, device)).x
                    assert there.current() == current and there.device(x) == device
                assert there.host(x).tobytes() == expected.tobytes()


def test_the_current_device_stays_what_it_was(there) -> None:
    A, b = system(9, 8, 7)
    for device in range(DEVICES):
        with there.on(device):
            made = solver(A, max(2, DEVICES))
            for where in range(DEVICES):
                made.solve(there.array(b, where))
                made.update_values(there.array(A.data, where))
                with pytest.raises(sordino.BadArgument):
                    made.solve(there.array(b * np.nan, where))
                assert there.current() == device
            del made
            assert there.current() == device


def test_complex_vectors_come_back_to_their_gpu(there) -> None:
    A, _ = system(7, 8, 9)
    random = np.random.default_rng(SEED)
    b = random.standard_normal(A.shape[0]) + 1j * random.standard_normal(A.shape[0])
    upper = sp.triu(A, 1) * np.exp(0.3j)
    hermitian = sp.csr_array(upper + upper.conj().T + sp.diags_array(A.diagonal()))
    for matrix in (A, hermitian):
        x = solver(matrix, 1).solve(there.array(b)).x
        assert there.device(x) == 0
        assert_solved(matrix, there.host(x), b)
    single = sordino.solve(hermitian.astype(np.complex64), there.array(b.astype(np.complex64)), rtol=1e-4)
    assert there.host(single.x).dtype == np.complex64


def test_what_cannot_be_used_is_refused_with_a_sentence(there) -> None:
    A, b = system(7, 8, 9)
    made = solver(A, 2)
    spoiled = b.copy()
    spoiled[101] = np.nan
    with pytest.raises(sordino.BadArgument, match="the right-hand side holds a NaN or Inf at row 101"):
        made.solve(there.array(spoiled))
    with pytest.raises(sordino.BadArgument, match="x0 holds a NaN or Inf at row 101"):
        made.solve(there.array(b), there.array(spoiled))
    with pytest.raises(sordino.BadArgument, match=r"b has shape \(3,\)"):
        made.solve(there.array(b[:3]))
    with pytest.raises(sordino.BadArgument, match="NaN"):
        made.update_values(there.array(np.full(A.nnz, np.nan)))
    assert_solved(A, there.host(made.solve(there.array(b)).x), b)


def test_ranks_of_the_host_and_linalg(there) -> None:
    A, b = system(9, 9, 9)
    for engine in ("host", "cuda"):
        made = solver(A, 2, engine=engine)
        assert there.host(made.solve(there.array(b)).x).tobytes() == made.solve(b).x.tobytes()
        x, info = sordino.linalg.cg(
            A, there.array(b), rtol=1e-9, M=sp.diags_array(1 / A.diagonal()), engine=engine
        )
        assert info == 0
        assert_solved(A, there.host(x), b)
    tiny = solver(A, 1).solve(there.array(1e-200 * b))  # scaled by way of the host
    assert_solved(A, 1e200 * there.host(tiny.x), b)
    assert not there.host(solver(A, 1).solve(there.array(0 * b)).x).any()


def test_values_of_a_gpu_and_a_callback(there) -> None:
    A, b = system(16, 15, 14)
    made = solver(A, 2, callback_every=5, callback_x=True)
    made.update_values(there.array(2 * A.data))
    seen = []
    x = there.host(made.solve(there.array(b), callback=lambda i, r, xk: seen.append((i, r, xk))).x)
    assert_solved(2 * A, x, b)
    i, residual, xk = seen[0]
    assert i == 5 and np.linalg.norm(b - 2 * A @ xk) / np.linalg.norm(b) == pytest.approx(residual, rel=1e-6)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_of_cupy(form) -> None:
    cupy = pytest.importorskip("cupy")
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    A, b = system(11, 12, 13)
    there = getattr(sparse, f"{form}_matrix")(sparse.csr_matrix(A))
    x, info = sordino.linalg.cg(there, cupy.asarray(b), rtol=1e-9, M="jacobi", engine="cuda", ranks=2)
    assert info == 0 and isinstance(x, cupy.ndarray)
    assert_solved(A, x.get(), b)
    theirs = there @ x  # x is an array like any other
    assert float(cupy.linalg.norm(cupy.asarray(b) - theirs)) <= 1e-8 * np.linalg.norm(b)
    made = solver(there, 2)
    made.update_values(sparse.csr_matrix(3 * A))
    assert_solved(3 * A, made.solve(cupy.asarray(b)).x.get(), b)
    approximate = sparse.diags([cupy.asarray(1 / A.diagonal())], [0])
    assert sordino.solve(A, b, M=approximate, engine="cuda", ranks=2).converged


def test_memory_is_of_the_librarys_allocator() -> None:
    cupy = pytest.importorskip("cupy")
    A, b = system(30, 30, 30)
    made, given = solver(A, 1), cupy.asarray(b)
    made.solve(given)
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        x = made.solve(given).x
        assert pool.used_bytes() == 8 * 27_000 // 512 * 512 + (
            512 if 8 * 27_000 % 512 else 0
        )  # x, and b is not copied
        del x
        assert pool.used_bytes() == 0


def test_managed_memory_is_refused() -> None:
    cupy = pytest.importorskip("cupy")
    A, b = system(5, 6, 7)
    with (
        cupy.cuda.using_allocator(cupy.cuda.malloc_managed),
        pytest.raises(sordino.Unsupported, match="managed"),
    ):
        solver(A, 1).solve(cupy.asarray(b))
