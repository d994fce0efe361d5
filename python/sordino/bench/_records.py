"""Records of measurements: one JSON object a line, with machine, commit and command."""

from __future__ import annotations

import argparse
import datetime
import json
import os
from typing import Any

from .. import machines
from .._native import core
from ..errors import FileError
from ..io.opening import parse_object, read_text
from ..report.record import json_ready


def commit() -> str:
    """The commit that is measured: the one this module was built from; ``-dirty`` is after it where files differed."""
    return str(core().build_info()["commit"])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--record`` and ``--commit``, which every benchmark takes."""
    parser.add_argument("--record", metavar="FILE", help="append the measurements as JSON lines")
    parser.add_argument(
        "--commit",
        default="",
        metavar="ID",
        help="the commit for the record (default: the one that was built)",
    )


def check(path: str) -> None:
    """Refuse a file that cannot be appended to, before anything is measured."""
    folder = os.path.dirname(path) or "."
    target = path if os.path.exists(path) else folder
    if os.path.isdir(path) or not os.path.isdir(folder) or not os.access(target, os.W_OK):
        raise FileError(f"{path} cannot be written")


def read(path: str) -> list[dict[str, Any]]:
    """The lines of a record.

    Raises
    ------
    FileError
        It cannot be read, or a line is no JSON object.
    """
    lines = []
    for place, text in enumerate(read_text(path).splitlines(), 1):
        if text.strip():
            lines.append(parse_object(text, f"{path}, line {place}", "figures"))
    return lines


def append(path: str, measured: list[dict[str, Any]], command: str, at: str) -> None:
    """Append the measurements.

    Parameters
    ----------
    at : str
        The commit that was measured.
    """
    facts = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": at,
        "command": command.replace(path, os.path.basename(path)),  # where it lay is nobody's business
        "machine": machines.this_machine(),
    }
    lines = [json.dumps(json_ready({**row, **facts}), allow_nan=False) for row in measured]
    try:
        with open(path, "a", encoding="utf-8") as stream:
            stream.write("\n".join([*lines, ""]))
    except OSError as error:
        raise FileError(f"{path} cannot be written ({error.strerror or error})") from None
