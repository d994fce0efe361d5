"""Fixtures of the tests on GPUs: libraries whose arrays lie there."""

from __future__ import annotations

import numpy as np
import pytest


class Cupy:
    """What the tests do with CuPy."""

    def __init__(self):
        self.library = pytest.importorskip("cupy")

    def array(self, values, device=0):
        with self.library.cuda.Device(device):
            return self.library.asarray(values)

    def host(self, array):
        assert isinstance(array, self.library.ndarray)
        return array.get()

    def device(self, array):
        return array.device.id

    def current(self):
        return self.library.cuda.runtime.getDevice()

    def on(self, device):
        return self.library.cuda.Device(device)

    def side_stream(self):
        return self.library.cuda.Stream(non_blocking=True)

    def late(self, values):
        """NaN until the current stream has done some 50 ms of other work."""
        cupy = self.library
        source, target = cupy.asarray(values), cupy.full(values.shape, cupy.nan)
        cupy.cuda.runtime.deviceSynchronize()
        busy = cupy.ones(1 << 24)
        for _ in range(600):
            busy *= 0.999
        target[...] = source + 0 * busy[0]
        return target


class Torch:
    """What the tests do with PyTorch."""

    def __init__(self):
        self.library = pytest.importorskip("torch")
        if not self.library.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA")

    def array(self, values, device=0):
        return self.library.from_numpy(np.ascontiguousarray(values)).to(f"cuda:{device}")

    def host(self, array):
        assert isinstance(array, self.library.Tensor) and array.is_cuda
        return array.cpu().numpy()

    def device(self, array):
        return array.device.index

    def current(self):
        return self.library.cuda.current_device()

    def on(self, device):
        return self.library.cuda.device(device)

    def side_stream(self):
        return self.library.cuda.stream(self.library.cuda.Stream())

    def late(self, values):
        """NaN until the current stream has done some 50 ms of other work."""
        torch = self.library
        source, target = (
            self.array(values),
            torch.full(values.shape, np.nan, dtype=torch.float64, device="cuda:0"),
        )
        torch.cuda.synchronize()
        torch.cuda._sleep(100_000_000)  # cycles
        target.copy_(source)
        return target


@pytest.fixture(params=[Cupy, Torch], ids=["cupy", "torch"])
def there(request):
    """What the tests do with a library; skipped where it is not there."""
    return request.param()
