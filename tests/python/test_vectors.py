"""Vectors that are not NumPy's: anything on the CPU that speaks DLPack comes back as what it was."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import sordino
from sordino import _device, _vectors


class Tensor:
    """A vector of another library: DLPack and the array API, and nothing that NumPy would find by itself."""

    def __init__(self, values, device=(1, 0)):
        self.values = np.asarray(values)
        self.device = device

    def __dlpack__(self, **request):
        if self.device[0] == 99:
            raise BufferError("this tensor requires a gradient\nand more")
        return self.values.__dlpack__(**request)

    def __dlpack_device__(self):
        return self.device

    def __array_namespace__(self, api_version=None):
        return Library

    @property
    def shape(self):
        return self.values.shape


class Library:
    @staticmethod
    def from_dlpack(array):
        return Tensor(np.from_dlpack(array))


@pytest.fixture
def system(fake_core, laplacian):
    matrix = laplacian(6)
    return matrix, matrix @ np.ones(216)


def test_a_tensor_for_a_tensor(system):
    A, b = system
    for given in (b, b[:, None], np.stack([b, 2 * b], axis=1)):
        solution = sordino.solve(A, Tensor(given), rtol=1e-10)
        assert isinstance(solution.x, Tensor) and solution.x.shape == given.shape
        np.testing.assert_array_equal(solution.x.values, sordino.solve(A, given, rtol=1e-10).x)
    assert sordino.solve(A, Tensor(b), Tensor(np.ones(216))).iterations == 0
    assert isinstance(sordino.solve(A, b, Tensor(np.ones(216))).x, np.ndarray)
    x, info = sordino.linalg.cg(A, Tensor(b[:, None]))
    assert isinstance(x, Tensor) and x.shape == (216, 1) and info == 0


def test_float32_in_float32_out(system):
    A, b = system
    single = sordino.solve(A.astype(np.float32), Tensor(b.astype(np.float32)), rtol=1e-4)
    assert single.x.values.dtype == np.float32 and single.converged
    assert sordino.solve(A, Tensor(b.astype(np.float32)), rtol=1e-4).x.values.dtype == np.float64
    assert sordino.solve(A.astype(np.float32), b, rtol=1e-4).x.dtype == np.float64


def test_no_copy_on_the_way_in():
    values = np.arange(5.0)
    assert np.shares_memory(_vectors.host_array(Tensor(values), "b"), values)


def test_what_does_not_come_over_is_refused_with_one_sentence(system, monkeypatch):
    A, b = system
    for kind, where in (
        (2, "a GPU, and this build .* no CUDA"),
        (13, "managed"),
        (10, "neither the CPU nor"),
    ):
        with pytest.raises(sordino.Unsupported, match=f"b is a Tensor in .*{where}"):
            sordino.solve(A, Tensor(b, device=(kind, 0)))
    with pytest.raises(sordino.Unsupported, match="x0 is a Tensor in memory of a GPU"):
        sordino.solve(A, b, Tensor(b, device=(2, 0)))
    with pytest.raises(sordino.Unsupported, match="the matrix is a Tensor in memory of a GPU"):
        sordino.solve(Tensor(np.eye(3), device=(2, 0)), np.ones(3))
    with pytest.raises(sordino.Unsupported, match="v is a Tensor in memory of a device; here"):
        _vectors.host_array(Tensor(b, device=(2, 0)), "v")
    for module in (_device, _vectors):
        monkeypatch.setattr(module, "ON_CPU", (1, 99))
    with pytest.raises(
        sordino.BadArgument, match=r"^x0 does not hand out .* \(this tensor requires a gradient\)$"
    ):
        sordino.solve(A, b, Tensor(b, device=(99, 0)))
    with pytest.raises(sordino.BadArgument, match="complex"):
        sordino.solve(A, Tensor(1j * b))
    with pytest.raises(sordino.BadArgument, match="b holds nan at position 3"):
        b[3] = np.nan
        sordino.solve(A, Tensor(b))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch(system):
    import torch

    A, b = system
    x = sordino.solve(A, torch.from_numpy(b), rtol=1e-10).x
    assert isinstance(x, torch.Tensor) and x.dtype == torch.float64
    np.testing.assert_allclose(x.numpy(), 1, rtol=1e-8)
    with pytest.raises(sordino.BadArgument, match="does not hand out its data"):
        sordino.solve(A, torch.from_numpy(b).requires_grad_())
