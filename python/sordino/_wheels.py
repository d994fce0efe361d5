"""Libraries of NVIDIA's that wheels bring into a Python environment, where the loader does not look by itself."""

from __future__ import annotations

import ctypes
import glob
import os
import sysconfig

NVSHMEM = "libnvshmem_host.so.3"
NVSHMEM_WORD = "SORDINO_NVSHMEM"  # names another


def library(package: str, name: str) -> str:
    """The library `name` of the wheel nvidia-<package>, or "" for the loader's own search."""
    folders = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    found = [
        path for folder in folders for path in glob.glob(os.path.join(folder, "nvidia", package, "lib", name))
    ]
    return found[0] if found else ""


def show_nvshmem() -> None:
    """Tell the core, which looks into the environment, where a wheel has NVSHMEM; what the user has said stays."""
    if path := library("nvshmem", NVSHMEM):
        os.environ.setdefault(NVSHMEM_WORD, path)


def has_nccl() -> bool:
    """Whether an NCCL is where the core would look for it."""
    name = "libnccl.so.2"
    try:
        ctypes.CDLL(library("nccl", name) or name)
    except OSError:
        return False
    return True


def nvshmem_version() -> str | None:
    """The version of the NVSHMEM that the core would find; None where there is none. Loads it, and starts nothing."""
    path = os.environ.get(NVSHMEM_WORD) or library("nvshmem", NVSHMEM) or NVSHMEM
    numbers = [ctypes.c_int(0) for _ in range(3)]
    try:
        ctypes.CDLL(path).nvshmemx_vendor_get_version_info(*map(ctypes.byref, numbers))
    except (OSError, AttributeError):
        return None
    return ".".join(str(number.value) for number in numbers)
