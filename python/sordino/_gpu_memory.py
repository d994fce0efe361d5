"""What memory GPUs have free, asked of the driver, without help of other packages."""

from __future__ import annotations

import ctypes
import socket
from functools import cache
from typing import Any


def free_bytes(number: int) -> int | None:
    """Bytes that are free on a GPU, by the number that the core knows it by; None where the driver does not tell.

    Cost: where nobody has used the GPU yet, what CUDA takes to begin there, in time and memory, which stays.
    """
    free, total, left = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_void_p()
    try:
        driver = _driver()
        _must(driver.cuCtxPushCurrent_v2(_context(number)))
        try:
            _must(driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
        finally:
            _must(driver.cuCtxPopCurrent_v2(ctypes.byref(left)))
    except (OSError, AttributeError):  # no driver, another one, or a GPU that does not answer
        return None
    return free.value


def identity(number: int) -> str:
    """A word for a GPU that all processes which share it have for it, whatever number it has there."""
    uuid, device = (ctypes.c_ubyte * 16)(), ctypes.c_int()
    try:
        _must(_driver().cuDeviceGet(ctypes.byref(device), number))
        _must(_driver().cuDeviceGetUuid_v2(ctypes.byref(uuid), device))
    except (OSError, AttributeError):  # as above
        return f"{socket.gethostname()} {number}"
    return bytes(uuid).hex()


@cache
def _driver() -> Any:
    driver = ctypes.CDLL("libcuda.so.1")
    _must(driver.cuInit(0))
    return driver


@cache
def _context(number: int) -> ctypes.c_void_p:
    """The one that CUDA's runtime has, too."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _must(_driver().cuDeviceGet(ctypes.byref(device), number))
    _must(_driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return context


def _must(code: int) -> None:
    if code != 0:
        raise OSError(f"the CUDA driver refuses to tell of a GPU (error {code})")
