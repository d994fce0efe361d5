"""Writing results: checked before the work begins, whole or not at all, nothing overwritten unasked."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from typing import IO

import numpy as np

from ..errors import BadArgument, FileError


class OutputFile:
    """A file to be written later.

    The constructor finds out everything that can go wrong, before hours of work are
    spent; :meth:`write` puts the content under a temporary name and renames it, so that
    other readers and an interrupted run see the old file or the new one, never half of one.

    Parameters
    ----------
    path : path
    force : bool
        Whether an existing file may be replaced.
    suffixes : tuple of str
        The endings that are known; any, if empty.
    what : str
        What is written, for the error messages.

    Raises
    ------
    BadArgument, FileError
        For an unknown ending, an existing file without `force`, a path that cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        suffixes: tuple[str, ...] = (),
        what: str = "file",
        overwrite: str = "--force",
    ) -> None:
        self.path = os.fspath(path)
        self.force = force
        self.folder = os.path.dirname(self.path) or "."
        if os.path.isdir(self.path):
            raise FileError(f"{self.path} is a folder; give the name of a file to write")
        if suffixes and not self.path.lower().endswith(suffixes):
            raise BadArgument(f"{self.path}: a {what} is written as {' or '.join(suffixes)}")
        if os.path.exists(self.path) and not force:
            raise FileError(f"{self.path} exists already; give {overwrite} to overwrite it")
        self._try_folder()

    def _try_folder(self) -> None:
        if not os.path.isdir(self.folder):
            raise FileError(f"{self.path} cannot be written: there is no folder {self.folder}")
        try:
            probe, handle = self._temporary()
            os.close(handle)
            os.unlink(probe)
        except OSError as error:
            raise FileError(f"{self.path} cannot be written ({error.strerror or error})") from None

    def _temporary(self) -> tuple[str, int]:
        path = os.path.join(self.folder, f".sordino-{secrets.token_hex(6)}.tmp")
        return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)

    def write(self, content: Callable[[IO[bytes]], None] | bytes | str) -> None:
        """Write the whole content, given as text, as bytes, or by a function of the open file."""
        temporary = ""
        try:
            temporary, handle = self._temporary()
            with os.fdopen(handle, "wb") as stream:
                if callable(content):
                    content(stream)
                else:
                    stream.write(content.encode() if isinstance(content, str) else content)
                stream.flush()
                os.fsync(stream.fileno())
            self._place(temporary)
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"{self.path} cannot be written ({error.strerror or error})") from None
        finally:
            if temporary and os.path.exists(temporary):
                os.unlink(temporary)

    def _place(self, temporary: str) -> None:
        if self.force:
            os.replace(temporary, self.path)
            return
        try:
            os.link(temporary, self.path)
        except FileExistsError:
            raise FileError(f"{self.path} appeared meanwhile and is left as it is") from None
        except OSError:  # a file system without hard links
            os.replace(temporary, self.path)


RESULT_SUFFIXES = (".npy", ".mtx")


def write_vector(output: OutputFile, x: np.ndarray) -> None:
    """Write a vector, or several as columns, as ``.npy`` or as a Matrix Market array, told by the file's ending.

    Parameters
    ----------
    output : OutputFile
    x : ndarray, shape (n,) or (n, k), real or complex

    Notes
    -----
    Matrix Market is written with 17 digits, so that the numbers come back to the bit; columns follow one another.
    """
    if output.path.lower().endswith(".npy"):
        output.write(lambda stream: np.save(stream, x, allow_pickle=False))
        return

    def text(stream: IO[bytes]) -> None:
        columns = x.shape[1] if x.ndim == 2 else 1
        field = "complex" if np.iscomplexobj(x) else "real"
        stream.write(f"%%MatrixMarket matrix array {field} general\n{len(x)} {columns}\n".encode())
        values = x.reshape(-1, order="F")
        parts = np.stack([values.real, values.imag], axis=1) if field == "complex" else values
        np.savetxt(stream, parts, fmt="%.17g")

    output.write(text)
