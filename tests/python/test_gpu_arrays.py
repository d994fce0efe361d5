"""Arrays of a GPU's library, without a GPU: a stand-in that says it is on one, and hands out memory of the CPU.

What it shows is how such arrays are taken and given back: ordered behind their library's work, in its memory, and
without copies.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _device, _libraries, _native

N = 210
A = sordino.poisson(7, 6, 5)
B = np.random.default_rng(8).standard_normal(N)


class Array:
    """An array of a library of the array API that NumPy cannot see into."""

    log: list = []  # noqa: RUF012

    def __init__(self, values):
        self._values = values

    shape = property(lambda self: self._values.shape)
    strides = property(lambda self: self._values.strides)
    dtype = property(lambda self: self._values.dtype)
    device = "gpu:0"
    T = property(lambda self: Array(self._values.T))

    def __getitem__(self, place):
        return Array(self._values[place])

    def __array__(self, *_, **__):
        raise TypeError("copy it to the CPU first")

    def __array_namespace__(self, api_version=None):
        return Space

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None):
        Array.log.append(("stream", stream))
        return self._values.__dlpack__()


class Space:
    float64, float32 = np.dtype(np.float64), np.dtype(np.float32)

    @staticmethod
    def asarray(values, dtype=None, copy=None, device=None):
        Array.log.append(("copy", values.shape))
        return Array(np.array(getattr(values, "_values", values), dtype=dtype, copy=copy))

    @staticmethod
    def astype(values, dtype):
        return Array(values._values.astype(dtype))

    @staticmethod
    def empty(shape, dtype, device):
        Array.log.append(("empty", shape))
        return Array(np.full(shape, np.nan, dtype))

    @staticmethod
    def stack(parts):
        return Array(np.stack([part._values for part in parts]))


@pytest.fixture(autouse=True)
def build_with_cuda(monkeypatch):
    info = {**_native.core().build_info(), "cuda": True}

    class Core:
        def __getattr__(self, name):
            return getattr(_native.core(), name)

        def build_info(self):
            return info

    monkeypatch.setattr(_device, "core", Core)
    monkeypatch.setattr(Array, "log", [])


def solver(matrix=A, **options):
    return sordino.Solver(matrix, engine="host", ranks=2, rtol=1e-10, **options)


def test_b_is_not_copied_and_x_is_the_librarys_own():
    found = solver().solve(Array(B))
    assert isinstance(found.x, Array) and found.x.shape == (N,)
    np.testing.assert_array_equal(found.x._values, solver().solve(B).x)
    assert Array.log == [("empty", (1, N)), ("stream", 1), ("stream", 1)]  # x, and b: no copy


@pytest.mark.parametrize("columns", [1, 3])
def test_columns(columns):
    many = np.random.default_rng(columns).standard_normal((N, columns))
    found = solver().solve(Array(many), Array(many[:, :1]))
    assert isinstance(found.x, Array) and found.x.shape == (N, columns)
    np.testing.assert_array_equal(found.x._values, solver().solve(many, many[:, 0]).x)
    assert [what for what, _ in Array.log].count("empty") == 1


@pytest.mark.parametrize("shape", [(N,), (N, 2)])
def test_float32_is_verified_as_it_is_handed_out(shape):
    b = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    single = sordino.Solver(A.astype(np.float32), engine="host", ranks=1, rtol=1e-5)
    there, here = single.solve(Array(b)), single.solve(b)
    assert there.x.dtype == np.float32 and there.x.shape == shape
    np.testing.assert_array_equal(there.x._values, here.x)
    assert there.true_residual == pytest.approx(here.true_residual, rel=1e-6)
    assert there.residual_norm == pytest.approx(here.residual_norm, rel=1e-6)
    missed = single.solve(Array(b), rtol=1e-9, on_failure="return")
    assert missed.status == "stagnated" and "misses it in float32" in missed.reason
    assert single.solve(Array(0 * b)).converged


def test_gaps_are_copied_out_of():
    wide = np.random.default_rng(6).standard_normal(2 * N)
    found = solver().solve(Array(wide[::2]))
    np.testing.assert_array_equal(found.x._values, solver().solve(wide[::2]).x)
    assert ("copy", (N,)) in Array.log


def test_guesses_of_either_kind_and_linalg():
    x, info = sordino.linalg.cg(A, Array(B[:, None]), Array(B), engine="host")
    assert info == 0 and isinstance(x, Array) and x.shape == (N, 1)
    start = solver().solve(B).x
    assert solver().solve(Array(B), start, rtol=1e-8).iterations == 0
    back = solver().solve(B, Array(start), rtol=1e-8)
    assert back.iterations == 0 and isinstance(back.x, np.ndarray)


class Copyable(Array):
    """An array that can be copied to the CPU."""

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype or self._values.dtype)


@pytest.mark.parametrize("shape", [(N,), (N, 2)])
@pytest.mark.parametrize("single", [False, True])
def test_complex_vectors_are_copied_to_the_cpu_and_back(shape, single):
    random = np.random.default_rng(9)
    b = random.standard_normal(shape) + 1j * random.standard_normal(shape)
    phases = sp.triu(A, 1) * np.exp(0.3j)
    hermitian = sp.csr_array(phases + phases.conj().T + sp.diags_array(A.diagonal()))
    if single:
        b, hermitian = b.astype(np.complex64), hermitian.astype(np.complex64)
    here = solver(hermitian, solver="cg").solve(b, rtol=1e-5)
    found = solver(hermitian, solver="cg").solve(Copyable(b), rtol=1e-5)
    assert isinstance(found.x, Array) and found.x.dtype == b.dtype and found.x.shape == shape
    np.testing.assert_array_equal(found.x._values, here.x)
    again = solver(hermitian, solver="cg").solve(b, Copyable(here.x), rtol=1e-4)
    assert again.iterations == 0 and isinstance(again.x, np.ndarray)


@pytest.mark.parametrize("guess", [[0.5j] * N, np.full(N, 0.5j), None])
def test_a_real_matrix_and_complex_vectors(guess):
    b = B if guess is not None else B * (2 - 1j)
    found = solver().solve(Copyable(b), guess)
    assert isinstance(found.x, Array)
    np.testing.assert_allclose(A @ found.x._values, b, atol=1e-9)


def test_what_cannot_be_used_is_refused_with_a_sentence():
    with pytest.raises(sordino.BadArgument, match=r"b has shape \(3,\), and the matrix has 210 rows"):
        solver().solve(Array(np.ones(3)))
    spoiled = B.copy()
    spoiled[17] = np.nan
    with pytest.raises(sordino.BadArgument, match="the right-hand side holds a NaN or Inf at row 17"):
        solver().solve(Array(spoiled))
    with pytest.raises(sordino.BadArgument, match="x0 holds a NaN"):
        solver().solve(B, Array(spoiled))

    class Refuses(Array):
        def __dlpack__(self, **_):
            raise BufferError("it requires a gradient\nand more")

    with pytest.raises(
        sordino.BadArgument, match=r"a Refuses does not hand out .* \(it requires a gradient\)$"
    ):
        solver().solve(Refuses(B))


def test_values_and_matrices_come_to_the_cpu(monkeypatch):
    monkeypatch.setattr(_libraries.Library, "host", lambda self, values: values._values)
    made = solver()
    made.update_values(Array(2 * A.data))
    np.testing.assert_allclose(made.solve(B).x, solver(2 * A).solve(B).x, rtol=1e-9)
    assert solver(Array(A.toarray())).solve(B).converged

    class CupySparse(sp.csr_array):
        def get(self):
            return sp.csr_array(self)

    CupySparse.__module__ = "cupyx.scipy.sparse._csr"
    assert solver(CupySparse(A)).solve(B).converged


def test_transposed_products_say_that_they_are_of_vectors_on_the_cpu():
    H = sordino.hmatrix(sordino.surfaces.sphere(3, 2))
    x = np.random.default_rng(9).standard_normal((H.shape[0], 2))
    for product in (
        lambda x: H.T @ x,
        lambda x: H.H @ x,
        lambda x: H.T.matmat(x),
        lambda x: H.H.matvec(x[:, 0]),
        lambda x: H.rmatvec(x[:, 0]),
        lambda x: H.rmatmat(x),
    ):
        assert np.isfinite(product(x)).all()
        with pytest.raises(
            sordino.errors.Unsupported,
            match="is a Array on a GPU, and products with the transpose are by threads of this process: hand over "
            "a copy in memory of the CPU",
        ):
            product(Array(x))


def test_transposes_and_adjoints_of_complex_matrices_are_what_they_are():
    H = sordino.hmatrix(sordino.surfaces.sphere(3, 2), kernel="helmholtz", wavenumber=2.0)
    A, x = H @ np.eye(H.shape[0]), np.random.default_rng(9).standard_normal((H.shape[0], 2)) + 1j
    for turned, matrix in (
        (H.T, A.T), (H.H, A.conj().T), (H.T.T, A), (H.H.H, A), (H.T.H, A.conj()), (H.H.T, A.conj()),
    ):  # fmt: skip
        np.testing.assert_allclose(turned @ x, matrix @ x, rtol=1e-10)
        np.testing.assert_allclose(turned @ x[:, 0], matrix @ x[:, 0], rtol=1e-10)
        assert turned.shape == H.shape and turned.dtype == H.dtype
