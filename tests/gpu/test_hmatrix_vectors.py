"""H-matrices and vectors in memory of GPUs, of CuPy and PyTorch. Skipped where there is no GPU, or no such library."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sordino
from sordino import _core

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")


@pytest.fixture(params=["cupy", "torch"])
def library(request: pytest.FixtureRequest) -> SimpleNamespace:
    space = pytest.importorskip(request.param)
    if request.param == "cupy":
        return SimpleNamespace(array=space.asarray, host=lambda a: a.get(), kind=space.ndarray)
    if not space.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return SimpleNamespace(
        array=lambda a: space.from_numpy(np.ascontiguousarray(a)).cuda(),
        host=lambda a: a.cpu().numpy(),
        kind=space.Tensor,
    )


@pytest.fixture(scope="module")
def matrix() -> sordino.HMatrix:
    return sordino.hmatrix(sordino.surfaces.sphere(7, 12), 1e-7)


@pytest.fixture(scope="module")
def x(matrix: sordino.HMatrix) -> np.ndarray:
    return np.random.default_rng(11).standard_normal((matrix.shape[0], 3))


def on_gpu(library: SimpleNamespace, found: Any) -> np.ndarray:
    assert isinstance(found, library.kind) and found.__dlpack_device__()[0] == 2
    return library.host(found)


def check(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())


def test_products_are_where_vectors_are(
    library: SimpleNamespace, matrix: sordino.HMatrix, x: np.ndarray
) -> None:
    for _ in range(2):
        check(on_gpu(library, matrix @ library.array(x[:, 0])), matrix @ x[:, 0])
    check(on_gpu(library, matrix @ library.array(x)), matrix @ x)
    check(on_gpu(library, matrix.matvec(library.array(x[:, 1]))), matrix @ x[:, 1])
    check(on_gpu(library, matrix @ library.array(x + 1j * x[::-1])), matrix @ (x + 1j * x[::-1]))
    check(on_gpu(library, matrix @ library.array(x.astype(np.float32))), matrix @ x.astype(np.float32))


@pytest.mark.parametrize("ranks", [1, 2])
def test_vectors_of_the_cpu_are_multiplied_there_too(
    matrix: sordino.HMatrix, x: np.ndarray, ranks: int
) -> None:
    products = matrix.on("cuda", ranks=ranks)
    assert products.engine == "cuda" and products.ranks == ranks
    check(products @ x, matrix @ x)
    check(products.T @ x, matrix.T @ x)
    for k in range(3):
        np.testing.assert_array_equal((products.H @ x)[:, k], products.T @ x[:, k])


@pytest.mark.parametrize("columns", [2, 3, 4, 5, 8, 19])
@pytest.mark.parametrize("shape", [(3, 1), (5, 7), (9, 12)])
def test_several_vectors_have_the_bits_of_each_alone(shape: tuple[int, int], columns: int) -> None:
    waves = {"kernel": "helmholtz", "wavenumber": 2.0}
    for kernel in ({}, waves):
        H = sordino.hmatrix(sordino.surfaces.sphere(*shape, radius=1.0), 1e-6, **kernel)
        rng = np.random.default_rng([columns, *shape])
        X = rng.standard_normal((H.shape[0], columns)).astype(H.dtype)
        if kernel:
            X += 1j * rng.standard_normal(X.shape)
        for options in (
            {"ranks": 1},
            {"ranks": 2},
            {"ranks": 3, "distribution": "grid"},
            {"ranks": 3, "distribution": "leaves"},
        ):
            products = H.on("cuda", **options)
            Y = products @ X
            check(Y, H @ X)
            for k in range(columns):
                np.testing.assert_array_equal(Y[:, k], products @ X[:, k])


@pytest.mark.parametrize("columns", [2, 3, 8, 11])
def test_several_vectors_on_a_gpu_stay_there(
    library: SimpleNamespace, matrix: sordino.HMatrix, columns: int
) -> None:
    X = np.random.default_rng(14).standard_normal((matrix.shape[0], columns))
    for given in (X, np.asfortranarray(X), X.astype(np.float32)):
        found = on_gpu(library, matrix @ library.array(given))
        check(found, matrix @ given)
        for k in range(columns):
            np.testing.assert_array_equal(
                found[:, k], on_gpu(library, matrix @ library.array(given[:, k].copy()))
            )


def test_threads_multiply_what_comes_from_a_gpu(
    library: SimpleNamespace, matrix: sordino.HMatrix, x: np.ndarray
) -> None:
    check(on_gpu(library, matrix.on("host", ranks=2) @ library.array(x)), matrix @ x)


def test_complex_matrices(library: SimpleNamespace) -> None:
    waves = sordino.hmatrix(sordino.surfaces.sphere(5, 7), 1e-7, kernel="helmholtz", wavenumber=2.0)
    x = np.random.default_rng(12).standard_normal((waves.shape[0], 2)) @ [1, 1j]
    check(on_gpu(library, waves @ library.array(x)), waves @ x)
    products = waves.on("cuda")
    check(on_gpu(library, products.T @ library.array(x)), waves.T @ x)
    check(on_gpu(library, products.H @ library.array(x)), waves.H @ x)
    check(on_gpu(library, products.rmatvec(library.array(x))), waves.H @ x)


@pytest.mark.parametrize("columns", [None, 2])
def test_systems_are_solved_where_b_is(
    library: SimpleNamespace, matrix: sordino.HMatrix, x: np.ndarray, columns: int | None
) -> None:
    b = matrix @ (x[:, 0] if columns is None else x[:, :columns])
    found = sordino.solve(matrix, library.array(b), engine="cuda", rtol=1e-10)
    solved = on_gpu(library, found.x)
    assert found.converged and solved.shape == b.shape
    assert np.linalg.norm(b - matrix @ solved) <= 2e-10 * np.linalg.norm(b)
    again = sordino.solve(matrix, library.array(b), x0=found.x, engine="cuda", rtol=1e-9)
    assert again.iterations == 0


def test_orders_of_boxes_are_made_on_gpus(library: SimpleNamespace) -> None:
    A = sordino.problems.poisson(12, 10, 8)
    b = np.random.default_rng(13).standard_normal(A.shape[0])
    options = {"ranks": 2, "partition": "boxes", "grid": (12, 10, 8), "rtol": 1e-10}
    found = sordino.solve(A, library.array(b), engine="cuda", **options)
    assert found.converged
    assert np.linalg.norm(b - A @ on_gpu(library, found.x)) <= 1.1e-10 * np.linalg.norm(b)


def test_transposed_products_of_an_engine_are_where_vectors_are(
    library: SimpleNamespace, matrix: sordino.HMatrix, x: np.ndarray
) -> None:
    for options in ({"ranks": 1}, {"ranks": 2, "distribution": "grid"}):
        products = matrix.on("cuda", **options)
        check(on_gpu(library, products.T @ library.array(x[:, 0])), matrix.T @ x[:, 0])
        check(on_gpu(library, products.H @ library.array(x)), matrix.T @ x)
        check(on_gpu(library, products.T.T @ library.array(x)), matrix @ x)
        numbers = x + 1j * x[::-1]
        check(on_gpu(library, products.H @ library.array(numbers)), matrix.H @ numbers)


def test_transposed_products_are_of_vectors_on_the_cpu(
    library: SimpleNamespace, matrix: sordino.HMatrix, x: np.ndarray
) -> None:
    for turned in (matrix.T, matrix.H):
        with pytest.raises(sordino.errors.Unsupported, match="hand over a copy in memory of the CPU"):
            turned @ library.array(x[:, 0])


def test_products_of_several_vectors_are_timed(matrix: sordino.HMatrix, x: np.ndarray) -> None:
    products = matrix.on("cuda")
    before, turned = products @ x, products.T @ x
    for columns in (1, 2, 4, 8):
        for transposed in (False, True):
            assert 0 < products.time_product(5, columns=columns, transposed=transposed) < 1
    np.testing.assert_array_equal(products @ x, before)
    np.testing.assert_array_equal(products.T @ x, turned)
    for transposed in (False, True):
        held, stored = sum(products.held_bytes(transposed=transposed)), matrix.statistics["stored_bytes"]
        assert stored <= held < 1.5 * stored
