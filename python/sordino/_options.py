"""Options, derived from the one place where they are typed: the core's table.

Keywords of :class:`sordino.Solver`, flags of the command line, ``sordino options`` and
their checks all come from :func:`specs`. Adding an option to the core's table adds it
everywhere; nothing is stated twice.
"""

from __future__ import annotations

import itertools
import math
import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ._names import of_method, of_option
from ._native import core
from .errors import BadArgument, shown, suggestion

#: Other names under which an option may be given.
ALIASES: dict[str, str] = {"max_iterations": "maxiter", "method": "solver", "M": "precond"}

#: Options that may change from one solve to the next without a new setup.
PER_SOLVE: tuple[str, ...] = ("rtol", "atol", "maxiter", "time_limit")

#: Arguments of :class:`sordino.Solver` that are no options.
AT_SETUP: tuple[str, ...] = (
    "callback_every", "callback_x", "left_nullspace", "machine", "nullspace"
)  # fmt: skip

#: The largest whole number of the core, whose numbers have 32 bits.
_MOST = 2**31 - 1
_MOST_DEVICES = 4096
#: A whole number, or the word for one that is chosen.
NUMBER_OR_AUTO = "int or auto"
#: Options that are cells, or boxes of them, in x, y and z: words such as "8,8,4", which the core reads, or numbers.
_EXTENTS = ("tile", "grid", "boxes")


_WANTED = {
    "bool": "True or False",
    "int": "a whole number",
    "float": "a number",
    NUMBER_OR_AUTO: "a whole number, or 'auto'",
}


@dataclass(frozen=True)
class OptionSpec:
    """One row of the core's table of options."""

    name: str
    type: str
    default: Any
    help: str
    choices: tuple[str, ...] | None
    group: str

    @property
    def flag(self) -> str:
        """The command-line flag: ``--time-limit`` for ``time_limit``."""
        return "--" + self.name.replace("_", "-")


def specs() -> dict[str, OptionSpec]:
    """All options by name, in the core's order."""
    rows = {}
    for row in core().options():
        choices = tuple(row["choices"]) if row.get("choices") else None
        rows[row["name"]] = OptionSpec(
            row["name"], row["type"], row["default"], row["help"], choices, row.get("group", "")
        )
    return rows


def check(given: Mapping[str, Any], *, allowed: Sequence[str] | None = None) -> dict[str, Any]:
    """Check names and types of options; resolve aliases; drop those that are ``None``.

    Parameters
    ----------
    given : mapping of str to object
        Options by name or alias.
    allowed : sequence of str, optional
        Restricts the names, as for the options of a single solve.

    Raises
    ------
    BadArgument
        For an unknown name (with a suggestion), a wrong type, or an option given twice.
    """
    table = specs()
    names = list(table) if allowed is None else [name for name in allowed if name in table]
    checked: dict[str, Any] = {}
    for key, value in given.items():
        name = ALIASES.get(key, key)
        if allowed is not None and name in AT_SETUP:
            raise BadArgument(_fixed(name, names))
        if name not in table:
            near = of_option(key, [*names, *ALIASES])
            raise BadArgument(f"unknown option {shown(key)}{near or '; sordino options lists all of them'}")
        if name not in names:
            raise BadArgument(_fixed(name, names))
        if name in checked:
            raise BadArgument(f"option '{name}' is given twice, once as '{key}'")
        if value is not None:
            checked[name] = coerce(table[name], value)
    return checked


def _fixed(name: str, names: Sequence[str]) -> str:
    return f"option '{name}' is fixed at setup: give it to sordino.Solver; a solve takes {', '.join(names)}"


def apart(M: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A preconditioner as an object, and the options, among which one that is named goes."""
    options = dict(given)
    named = options.get("precond")
    if M is None and named is not None and not isinstance(named, str):
        M = options.pop("precond")
    if isinstance(M, str):
        if named is not None:
            raise BadArgument("option 'precond' is given twice, once as 'M'")
        return None, {**options, "precond": M}
    return M, options


def coerce(spec: OptionSpec, value: Any) -> Any:
    """The value as the option's type, or :class:`BadArgument` with one sentence."""
    if spec.name == "devices":
        return device_list(value)
    if spec.name == "gather" and isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    if spec.name in _EXTENTS and not isinstance(value, str):
        return _extents(spec, value)
    if spec.type == "bool":
        if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
            return bool(value)
    elif spec.type in ("int", NUMBER_OR_AUTO):
        if spec.type == NUMBER_OR_AUTO and isinstance(value, str) and value == "auto":
            return value
        if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            return _of_the_core(spec, int(value))
    elif spec.type == "float":
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            return _no_nan(spec, value)
    elif isinstance(value, str):
        return _choice(spec, value)
    raise BadArgument(f"option '{spec.name}' takes {_WANTED.get(spec.type, 'a word')}, not {shown(value)}")


def parse(spec: OptionSpec, text: str) -> Any:
    """The value that a command-line argument stands for."""
    text = text.strip()
    try:
        if spec.type == "int" or (spec.type == NUMBER_OR_AUTO and text != "auto"):
            return coerce(spec, int(text))
        if spec.type == "float":
            return coerce(spec, float(text))
    except ValueError as error:
        if isinstance(error, BadArgument):
            raise
        raise BadArgument(f"{spec.flag} takes {_WANTED[spec.type]}, not {shown(text)}") from None
    return coerce(spec, text)


def _extents(spec: OptionSpec, value: Any) -> str:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    cells = value if isinstance(value, (list, tuple)) else [value]
    if not cells or not all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in cells):
        raise BadArgument(f"option '{spec.name}' takes whole numbers such as (8, 8, 4), not {shown(value)}")
    return ",".join(str(int(n)) for n in cells)


def _of_the_core(spec: OptionSpec, value: int) -> int:
    if not -_MOST <= value <= _MOST:
        raise BadArgument(f"option '{spec.name}' is at most {_MOST:,}, not {shown(value)}")
    return value


def _no_nan(spec: OptionSpec, given: numbers.Real) -> float:
    try:
        value = float(given)
    except OverflowError:
        raise BadArgument(f"option '{spec.name}' has too many digits: {shown(given)}") from None
    if math.isnan(value):
        raise BadArgument(f"option '{spec.name}' is not a number (NaN)")
    return value


def _choice(spec: OptionSpec, value: str) -> str:
    if spec.choices is None or value in spec.choices:
        return value
    near = (of_method if spec.name == "solver" else suggestion)(value, spec.choices)
    known = near or f"; known: {', '.join(spec.choices)}"
    raise BadArgument(f"unknown {spec.name} {shown(value)}{known}")


def device_list(value: Any) -> str:
    """Normalise ``"0-3,5"``, ``"0,2"`` or ``[0, 2]`` to ``"0,2"``, the form the core takes; ``""`` stands for all."""
    try:
        if isinstance(value, str) and not value.strip():
            return ""
        if isinstance(value, (bytes, bytearray)):  # whose items are numbers, too
            raise TypeError
        if isinstance(value, str):
            ranges = (n for part in value.split(",") for n in _device_range(part))
            numbers_ = list(itertools.islice(ranges, _MOST_DEVICES + 1))
        else:
            items = [value] if isinstance(value, numbers.Integral) else list(value)
            numbers_ = [_device_number(item) for item in items]
    except BadArgument:
        raise
    except (TypeError, ValueError):
        raise BadArgument(f"option 'devices' takes numbers such as 0-3 or 0,2, not {shown(value)}") from None
    if len(numbers_) > _MOST_DEVICES:
        raise BadArgument(f"option 'devices' names more than {_MOST_DEVICES:,} devices: {shown(value)}")
    if not numbers_ or len(set(numbers_)) != len(numbers_):
        raise BadArgument(f"option 'devices' names no device, or one of them twice: {shown(value)}")
    return ",".join(map(str, numbers_))


def _device_range(part: str) -> list[int]:
    first, dash, last = part.partition("-")
    if not dash:
        return [int(first)]
    if int(last) < int(first):
        raise BadArgument(f"option 'devices' counts upwards, as 0-3 does, not {shown(part)}")
    if int(last) - int(first) > _MOST_DEVICES:
        raise ValueError
    return list(range(int(first), int(last) + 1))


def _device_number(item: Any) -> int:
    if not isinstance(item, numbers.Integral) or isinstance(item, bool) or item < 0:
        raise ValueError
    return int(item)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read options from a JSON file such as ``{"solver": "cg", "rtol": 1e-8}``.

    Values are JSON's numbers, words and booleans, or words as on the command line: ``"ranks": "4"``. ``null`` stands
    for the default; ``"machine"`` is the name, the file or the description of a machine. What ``--json`` printed of a
    solve is such a file, too: its options, and the machine that it described.

    Raises
    ------
    BadArgument
        For unreadable JSON, for something else than one object, and as :func:`check`.
    """
    from .io.opening import parse_object, read_text

    given = parse_object(read_text(path), os.fspath(path), "options")
    table = specs()
    if "status" in given and isinstance(given.get("options"), Mapping):
        given = _of_record(given, table)
    machine = given.pop("machine", None)
    if not isinstance(machine, (str, dict, type(None))):
        raise BadArgument(f"'machine' is a name, a .json file or a description, not {shown(machine)}")
    for key, value in given.items():
        spec = table.get(ALIASES.get(key, key))
        if spec is not None and isinstance(value, str):
            given[key] = parse(spec, value)
    return {**check(given), **({} if machine is None else {"machine": machine})}


def _of_record(record: Mapping[str, Any], table: Mapping[str, OptionSpec]) -> dict[str, Any]:
    """What a record's solve was asked: its options, and the machine where that was a described one."""
    asked = {key: value for key, value in record["options"].items() if _could_be_asked(table.get(key), value)}
    machine = record.get("machine")
    if isinstance(machine, Mapping) and "described" in machine:  # --json says what it ran on, too
        machine = machine["described"]
    return asked if machine is None else {**asked, "machine": machine}


def _could_be_asked(spec: OptionSpec | None, value: Any) -> bool:
    """Whether a record's value is one that can be asked for: not what it says of messages that threads have carried."""
    return spec is None or spec.choices is None or value in spec.choices


@cache
def symmetric_methods() -> frozenset[str]:
    """Names of those that are for symmetric matrices."""
    return frozenset(row["name"] for row in core().solvers() if row["requires"] in ("spd", "symmetric"))
