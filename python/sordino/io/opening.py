"""Opening files for reading, with one sentence for whatever is wrong with them."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from ..errors import BadArgument, FileError, shown

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


def parse_object(text: str, where: str, what: str) -> dict[str, Any]:
    """The one JSON object that a text must be.

    Parameters
    ----------
    where, what : str
        The text's source, and what its object holds, for the error messages: ``"options"``.

    Raises
    ------
    BadArgument
        For something else than JSON, or than one object, and for a name that an object has twice.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                raise BadArgument(f"{where} gives {shown(key)} twice")
            made[key] = value
        return made

    try:
        found = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise BadArgument(f"{where} is not valid JSON ({error})") from None
    except RecursionError:
        raise BadArgument(f"{where} is not valid JSON (its brackets are nested too deeply)") from None
    except BadArgument:
        raise
    except ValueError:  # of Python, for thousands of digits
        raise BadArgument(f"{where} has a number with too many digits") from None
    if not isinstance(found, dict):
        raise BadArgument(f"{where} must hold one JSON object of {what}")
    return found
