"""What the commands share: a parser whose errors are sentences, and the options of a solve."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from .. import _options, machines
from .._matrix import CsrArrays, as_csr
from .._placement import default_engine
from ..errors import BadArgument, suggestion
from ..io import MatrixFile, OutputFile, read_vectors
from ..log import logger
from . import processes

#: Options of the core that the command line gives another form: ``--trace FILE`` asks for the trace.
OTHER_FORM = ("trace",)

#: Words that begin as numbers below 0 do, such as -4,4,4: values, that what they are given to refuses, and no options.
_BELOW_ZERO = re.compile(r"^-\.?\d")

_CROWD = 32  # ranks a core of engine host, above which a user is warned


class Parser(argparse.ArgumentParser):
    """An argument parser that raises :class:`BadArgument` instead of leaving the program."""

    def __init__(self, command: str, summary: str, **more: Any) -> None:
        super().__init__(prog=f"sordino {command}", description=summary, allow_abbrev=False, **more)
        self._negative_number_matcher = _BELOW_ZERO  # as argparse has it from Python 3.14 on

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments with one sentence."""
        raise BadArgument(f"{message} ('{self.prog} --help' says more)")

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse; an unknown option is refused with a suggestion."""
        given, extra = self.parse_known_args(list(argv))
        if not extra:
            return given
        strange = extra[0].split("=")[0]
        if strange.startswith("-") and not _BELOW_ZERO.match(strange):
            # Dashes are most of what '--rhs' has in common with '--s'.
            words = [name for name in self._option_string_actions if len(name.lstrip("-")) > 1]
            near = suggestion(strange, words)
            raise BadArgument(f"unknown option '{strange}'{near or f' ({self.prog} --help lists all)'}")
        raise BadArgument(f"'{strange}' is one argument too many ('{self.prog} --help' says more)")


def add_solve_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of all options in the core's table, and those for files."""
    for spec in _options.specs().values():
        if spec.name not in OTHER_FORM:
            _add_option(parser, spec)
    files = parser.add_argument_group("files")
    files.add_argument(
        "--options",
        metavar="FILE",
        help="options from a JSON file, or those of a solve from what --json printed; flags override them",
    )
    files.add_argument(
        "--machine",
        metavar="NAME|FILE",
        help="the described machine for --engine model; what --solver auto goes by",
    )
    files.add_argument(
        "--left-nullspace",
        metavar="FILE",
        help="what the transpose of A, the conjugate one of a complex A, maps to zero, where A is not symmetric, or "
        "not Hermitian: as --nullspace",
    )
    files.add_argument("-o", "--output", metavar="FILE", help="write x as .npy or .mtx, whichever it ends in")
    files.add_argument(
        "--report",
        metavar="FILE",
        help="write an HTML report: convergence, timeline, roofline, ledger, pictures",
    )
    files.add_argument("--trace", metavar="FILE", help="write a trace that Perfetto opens (.json)")
    files.add_argument("--force", action="store_true", help="overwrite files that exist")
    add_monitor(parser)
    files.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def add_monitor(parser: argparse.ArgumentParser) -> None:
    """``--monitor``, which is no option of the core: it only looks."""
    parser.add_argument(
        "--monitor",
        action="store_true",
        help="show iteration, residual, rate and time left while it solves, on a terminal or as lines elsewhere",
    )


def _add_option(parser: argparse.ArgumentParser, spec: _options.OptionSpec) -> None:
    flags = [spec.flag]
    flags += [
        "--" + other.replace("_", "-")
        for other, name in _options.ALIASES.items()
        if name == spec.name and "_" in other
    ]
    text = spec.help
    if spec.choices:
        text += f": {', '.join(spec.choices)}"
    if spec.name == "nullspace":
        text += ", or a file of vectors, .npy or .mtx"
    if spec.default not in (None, "", False):
        text += f" (default {spec.default})"
    text = text.replace("%", "%%")
    if spec.type == "bool":
        parser.add_argument(
            *flags, dest=spec.name, action=argparse.BooleanOptionalAction, default=None, help=text
        )
        return
    metavar = {"int": "N", "float": "X", _options.NUMBER_OR_AUTO: "N|auto"}.get(spec.type, spec.name.upper())
    metavar = words_for(spec) if spec.name == "nullspace" else metavar
    parser.add_argument(*flags, dest=spec.name, metavar=metavar, help=text)


def words_for(spec: _options.OptionSpec) -> str:
    """What a flag takes, where that is one of some words: ``none|constant|FILE``."""
    return "|".join([*(spec.choices or ()), *(["FILE"] if spec.name == "nullspace" else [])])


def solve_options(given: argparse.Namespace) -> dict[str, Any]:
    """Options of a parsed command line over those of ``--options FILE``, checked and typed, and the machine."""
    options = _options.load(given.options) if given.options else {}
    if given.machine is not None:
        options["machine"] = given.machine
    elif given.engine not in (None, "model"):  # the file's machine is for the file's engine
        options.pop("machine", None)
    for spec in _options.specs().values():
        value = getattr(given, spec.name, None)
        if spec.name in OTHER_FORM or value is None:
            continue
        if spec.name == "nullspace" and _names_file(value):
            options[spec.name] = value
            continue
        options[spec.name] = _options.parse(spec, value) if isinstance(value, str) else value
    if given.report or given.trace:
        options["trace"] = True
    if given.report and "time_commands" in _options.specs():
        options.setdefault("time_commands", True)
    return options


def warn_of_a_crowd(options: dict[str, Any], n: int) -> None:
    """Far more ranks than cores take turns, and each turn is a wait of all others; n: rows, and ranks at most."""
    ranks, here = options.get("ranks", 1), machines.cores()
    engine = "cuda" if options.get("devices") else options.get("engine", "auto")
    if not _CROWD * here < ranks <= n or (default_engine() if engine == "auto" else engine) != "host":
        return
    logger.warning(
        "%s ranks take turns on the %d core%s here, which may take minutes: --ranks %d is faster, and "
        "--engine model says how long they would take on a described machine",
        f"{ranks:,}",
        here,
        "" if here == 1 else "s",
        here,
    )


def _names_file(word: str) -> bool:
    return word.lower().endswith((".npy", ".mtx", ".mtx.gz"))


def nullspaces(options: dict[str, Any], given: argparse.Namespace, n: int) -> dict[str, Any]:
    """The options with the vectors of ``--nullspace`` and ``--left-nullspace`` in place of their files."""
    read = dict(options)
    for name, word in (("nullspace", options.get("nullspace")), ("left_nullspace", given.left_nullspace)):
        if isinstance(word, str):
            read[name] = read_vectors(word, n, name) if _names_file(word) else word
    return read


def output_file(
    path: str | None, given: argparse.Namespace, suffixes: tuple[str, ...], what: str
) -> OutputFile | None:
    """A file to be written, checked before the work begins; None where none is asked for, or not of this process."""
    if not path or processes.index() != 0:
        return None
    return OutputFile(path, force=given.force, suffixes=suffixes, what=what)


def rows_of(read: MatrixFile) -> CsrArrays:
    """The matrix of a file; what is wrong with it is said with the file's name."""
    try:
        return as_csr(read.matrix)
    except BadArgument as wrong:
        raise BadArgument(f"{read.name}: {wrong}") from None


def whole_number(text: str, what: str) -> int:
    """An argument that must be a whole number."""
    try:
        return int(text)
    except ValueError:
        raise BadArgument(f"{what} must be a whole number, not '{text}'") from None


def whole_numbers(text: str, what: str) -> list[int]:
    """Those of a list with commas, as all lists of the command line are; none of an empty one."""
    return [whole_number(word, what) for word in text.split(",") if word]


def numbers(text: str, what: str) -> list[float]:
    """Those of a list with commas."""
    return [number(word, what) for word in text.split(",") if word]


def number(text: str, what: str) -> float:
    """An argument that must be a number."""
    try:
        return float(text)
    except ValueError:
        raise BadArgument(f"{what} must be a number, not '{text}'") from None
