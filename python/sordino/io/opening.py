"""Opening files for reading, with one sentence for whatever is wrong with them."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from ..errors import FileError

GZIP_MAGIC = b"\x1f\x8b"

#: What deflate can reach at most; bounds what a compressed file may hold.
GZIP_MAX_RATIO = 1032


def check_readable(path: str | os.PathLike[str]) -> str:
    """Return the path as text if it names a readable file.

    Raises
    ------
    FileError
        When it is missing, a folder, empty or not permitted.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise FileError(f"{name}: there is no such file")
    if os.path.isdir(name):
        raise FileError(f"{name} is a folder, not a file")
    try:
        with open(name, "rb") as stream:
            if not stream.read(1):
                raise FileError(f"{name} is empty")
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{name} cannot be read ({error.strerror or error})") from None
    return name


@contextmanager
def opened(name: str) -> Iterator[IO[bytes]]:
    """Open a file, decompressing gzip, which is recognised by its first bytes."""
    try:
        with open(name, "rb") as raw:
            compressed = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            if not compressed:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw, mode="rb") as stream:
                yield cast("IO[bytes]", stream)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise FileError(f"{name} is a damaged or truncated gzip file") from None
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{name} cannot be read ({error.strerror or error})") from None


def head(name: str, count: int = 64) -> bytes:
    """The first bytes of a file, decompressed; enough to recognise its kind."""
    with opened(name) as stream:
        return stream.read(count)


def read_text(path: str | os.PathLike[str], limit: int = 1 << 24) -> str:
    """The text of a small UTF-8 file (options, machine descriptions)."""
    name = check_readable(path)
    with opened(name) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise FileError(f"{name} is too large for a text file of settings")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{name} is not a text file") from None
