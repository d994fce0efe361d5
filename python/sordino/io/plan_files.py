"""Plans of triangular solves in files: NumPy's ``.npz``, versioned, with a checksum, written whole or not at all."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from ..errors import BadArgument, FileError
from . import numpy_files
from .factor_files import checksum
from .opening import check_readable
from .output import OutputFile

FORMAT, VERSION = "sordino plans", 2
SUFFIXES = (".npz",)
ANEW = "make new plans, and save them"


def plan_file(path: OutputFile | str | os.PathLike[str], force: bool = False) -> OutputFile:
    """A file of plans to be written later; refuses what cannot be written."""
    if isinstance(path, OutputFile):
        return path
    return OutputFile(path, force=force, suffixes=SUFFIXES, what="plan", overwrite="force=True")


def write_plans(output: OutputFile, triangles: dict[str, Any]) -> None:
    """Write what the core says of the plans of triangles, named ``lower`` and ``upper``."""
    arrays = {"format": np.array(FORMAT), "version": np.array(VERSION)}
    for kind, triangle in triangles.items():
        arrays |= {f"{kind}_{name}": array for name, array in triangle.items()}
    arrays["checksum"] = np.array(checksum(arrays))

    def content(stream: IO[bytes]) -> None:
        np.savez(stream, allow_pickle=False, **arrays)

    output.write(content)


class PlanFile:
    """A file that :func:`write_plans` has written, read and verified.

    Raises
    ------
    FileError
        No such file, none of plans, of another version, damaged or truncated.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = name = check_readable(path)
        arrays = numpy_files.read_arrays(name, "plans")
        if "format" not in arrays or numpy_files.word(arrays["format"]) != FORMAT:
            raise FileError(f"{name} does not hold plans as save_plans writes them: {ANEW}")
        version = arrays.get("version", np.array(""))
        if version.size != 1 or version.dtype.kind not in "iu" or int(version.item()) != VERSION:
            said = numpy_files.word(version) or "that it does not name"
            raise FileError(f"{name} is of version {said}, and this program reads {VERSION}: {ANEW}")
        told = arrays.pop("checksum", np.array(""))
        if numpy_files.word(told) != checksum(arrays):
            raise FileError(f"{name} is damaged: its checksum is another one: {ANEW}")
        self._arrays = arrays

    def of(self, kind: str) -> dict[str, np.ndarray]:
        """The arrays of the ``lower`` or ``upper`` triangle, as the core takes them."""
        found = {
            name.removeprefix(f"{kind}_"): array
            for name, array in self._arrays.items()
            if name.startswith(f"{kind}_")
        }
        if not found:
            raise BadArgument(f"{self.name} has no plans of a triangle that is {kind}: {ANEW}")
        return found
