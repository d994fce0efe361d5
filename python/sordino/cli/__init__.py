"""The command ``sordino``: one file for each sub-command, and what they share in ``common``.

Exit codes: 0 converged (verified) or done, 2 bad input or usage, 3 not converged,
4 a device or a rank failed. Errors are one sentence on standard error.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from .. import errors
from ..errors import BadArgument, SordinoError, suggestion
from ..log import logger
from . import processes

#: Sub-commands; each is a module here with ``main(argv) -> exit code``.
COMMANDS: dict[str, str] = {
    "solve": "solve the system of a matrix in a file",
    "poisson": "solve a Poisson problem on a box",
    "bem": "find the charge on conductors by boundary elements",
    "trsv": "solve a triangular system, or any by its triangular factors",
    "dslash": "measure, check and solve the Wilson operator of lattice QCD",
    "predict": "say which method is the fastest on a described machine, how fast, and why",
    "calibrate": "measure this machine, and describe it in a file",
    "bench": "measure, beside other libraries where they are installed",
    "options": "list all options of a solve",
    "doctor": "say what was found on this machine, what will run, and what is missing",
}

#: Other names of sub-commands.
ALIASES = {"model": "predict"}

#: What standard output answers where there is no more room; of files that have a name, others say it.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with _warnings_told():
            code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except SordinoError as error:
        complain(str(error), local=error.code in ("io", "device"))
        if (
            processes.index() > 0
        ):  # mpiexec ends all others when one has ended, and the first one is to be heard
            time.sleep(1)
        return error.exit_code
    except KeyboardInterrupt:
        complain("interrupted; nothing was written")
        return 3
    except BrokenPipeError:  # the reader of our output went away, as head does
        _drop_output()
        return 0
    except Exception as error:
        if os.environ.get("SORDINO_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            _drop_output()
            complain(f"the output cannot be written ({error.strerror}): make room, or send it elsewhere")
            return 2
        complain(
            f"this should not happen ({type(error).__name__}: {error}); "
            "SORDINO_TRACEBACK=1 in the environment shows where",
            local=True,
        )
        return 4


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        processes.say(_usage())
        return 0 if arguments else 2
    name, rest = arguments[0], arguments[1:]
    if name == "--version":
        from .. import __version__
        from .._native import core

        processes.say(f"sordino {__version__} ({core().build_info()['commit']})")
        return 0
    name = ALIASES.get(name, name)
    if name not in COMMANDS:
        near = suggestion(name, COMMANDS) or f"; known: {', '.join(COMMANDS)}"
        raise BadArgument(f"unknown command '{name}'{near}")
    return int(importlib.import_module(f"{__name__}.{name}").main(rest))


def _drop_output() -> None:
    """What is left to be printed goes nowhere, for Python to end in peace."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _Teller(logging.Handler):
    """Says what the library warns of as the command line says all else."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


@contextlib.contextmanager
def _warnings_told() -> Iterator[None]:
    """Say what the library logs and warns of in a line each, without the place in a program that called it."""
    teller, usual = _Teller(logging.WARNING), warnings.formatwarning

    def as_line(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> str:
        if category.__module__ != errors.__name__:
            return usual(message, category, *place, **more)
        return _line(str(message)) if processes.index() == 0 else ""

    logger.addHandler(teller)
    warnings.formatwarning = as_line
    try:
        yield
    finally:
        warnings.formatwarning = usual
        logger.removeHandler(teller)


def _usage() -> str:
    rows = "\n".join(f"  {name:<10}{summary}" for name, summary in COMMANDS.items())
    return (
        "usage: sordino COMMAND ...\n\nLinear solvers for many GPUs, with verified results.\n\n"
        f"{rows}\n\n'sordino COMMAND --help' says more; 'sordino --version' says which."
    )


def complain(sentence: str, *, local: bool = False) -> None:
    """Print one line on standard error; under MPI only process 0 does, unless it is a local matter."""
    if processes.index() == 0:
        who = ""
    elif local:
        who = f"process {processes.index()}: "
    else:
        return
    print(_line(sentence, who), end="", file=sys.stderr, flush=True)


def _line(sentence: str, who: str = "") -> str:
    return f"sordino: {who}{' '.join(sentence.split())}\n"
