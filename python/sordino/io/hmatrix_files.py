"""H-matrices in files: written whole or not at all, read only for the surface that they were built of."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from .._hmatrix import HMatrix, arrays_of, fingerprint
from .._native import core, translated
from ..errors import BadArgument, FileError, SordinoError
from .opening import check_readable
from .output import OutputFile

FORMAT, VERSION = "sordino H-matrix", 1
SUFFIXES = (".hmatrix",)


def save_hmatrix(output: OutputFile | str | os.PathLike[str], matrix: HMatrix) -> None:
    """Write an H-matrix, with what :func:`load_hmatrix` needs but the surface.

    Parameters
    ----------
    output : OutputFile or path
        Named ``.hmatrix``; a path must not exist.
    matrix : HMatrix

    Raises
    ------
    BadArgument, FileError
        Another ending, a file that exists, a folder that cannot be written to, a matrix of which this process holds
        its part alone.

    Notes
    -----
    A zip archive without compression, of ``about.json`` and two arrays of NumPy's, ``ranks.npy`` of the blocks and
    ``values.npy``, with the archive's check sums. Memory: 1 MiB beside the matrix.
    """
    if not matrix.is_whole:
        raise BadArgument(
            "this process holds its part of the H-matrix alone, and a file is of the whole: build it without for_ranks"
        )
    if not isinstance(output, OutputFile):
        output = OutputFile(
            output, suffixes=SUFFIXES, what="compressed matrix", overwrite="OutputFile(path, force=True)"
        )
    about = {
        "format": FORMAT, "version": VERSION, "geometry": matrix.geometry, "settings": matrix.settings,
        "statistics": matrix.native.statistics(),
    }  # fmt: skip

    def content(stream: IO[bytes]) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("about.json", json.dumps(about))
            with archive.open("ranks.npy", "w") as member:
                np.lib.format.write_array(member, matrix.blocks["rank"].astype("<i4"), allow_pickle=False)
            with archive.open("values.npy", "w", force_zip64=True) as member:
                kind = matrix.dtype.newbyteorder("<")
                shape = (about["statistics"]["stored_bytes"] // kind.itemsize,)
                np.lib.format.write_array_header_1_0(
                    member, {"descr": kind.str, "fortran_order": False, "shape": shape}
                )
                matrix.native.values(lambda values: member.write(values.astype("<f8", copy=False).data))

    output.write(content)


def load_hmatrix(path: str | os.PathLike[str], surface: Any) -> HMatrix:
    """Read an H-matrix that :func:`save_hmatrix` has written.

    Parameters
    ----------
    path : path
    surface : object with ``points`` and ``triangles``
        That which it was built of, to the bit.

    Returns
    -------
    HMatrix
        The same, to the bit, for any number of ranks.

    Raises
    ------
    BadArgument
        For another surface.
    FileError
        No such file, none of an H-matrix, of a later version, damaged or truncated.
    """
    name = check_readable(path)
    points, triangles = arrays_of(surface)
    with _archive(name) as archive:
        about = _about(name, archive)
        if about["geometry"] != fingerprint(points, triangles):
            raise BadArgument(f"{name} is the H-matrix of another surface")
        with archive.open("ranks.npy") as member:
            ranks = np.ascontiguousarray(np.lib.format.read_array(member, allow_pickle=False), dtype=np.int32)
        with archive.open("values.npy") as member:
            if np.lib.format.read_magic(member) != (1, 0):
                raise ValueError
            shape, _, kind = np.lib.format.read_array_header_1_0(member)
            expected = np.dtype("<c16" if about["settings"]["kernel"] == "helmholtz" else "<f8")
            if shape != (about["statistics"]["stored_bytes"] // expected.itemsize,) or kind != expected:
                raise ValueError

            def read(values: np.ndarray) -> None:
                values[:] = np.frombuffer(member.read(values.nbytes), "<f8", count=len(values))

            with translated():
                native = core().HMatrix.stored(
                    points,
                    triangles,
                    about["settings"]["kernel"],
                    about["settings"],
                    ranks,
                    about["statistics"],
                    read,
                )
            if member.read(1):  # the check sum is looked at where the member ends
                raise ValueError
    return HMatrix(native, about["settings"], about["geometry"])


#: What the standard library makes of wrong bytes in an archive: a bit alone calls a member encrypted or compressed.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, ValueError, LookupError, TypeError, EOFError,
)  # fmt: skip


@contextmanager
def _archive(name: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(name) as archive:
            yield archive
    except SordinoError:
        raise
    except _DAMAGE:
        raise FileError(f"{name} is no H-matrix, or is damaged or truncated") from None
    except OSError as error:
        raise FileError(f"{name} cannot be read ({error.strerror or error})") from None


def _about(name: str, archive: zipfile.ZipFile) -> dict[str, Any]:
    about = json.loads(archive.read("about.json"))
    if about["format"] != FORMAT:
        raise ValueError
    if about["version"] > VERSION:
        raise FileError(f"{name} is of version {about['version']}, and this program reads up to {VERSION}")
    return dict(about)
