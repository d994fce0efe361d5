"""``sordino options``: all options of a solve, with solvers, preconditioners and machines."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .. import _options, machines
from .._native import core
from ..report.record import json_ready
from .common import OTHER_FORM, Parser, words_for
from .display import show_table
from .processes import say


def main(argv: Sequence[str]) -> int:
    """Print the tables, or the same as one JSON object."""
    parser = Parser("options", "List the options that solve, poisson and sordino.Solver take.")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    given = parser.read(argv)
    table = _options.specs()
    if given.json:
        say(json.dumps(json_ready(_everything(table)), allow_nan=False))
        return 0
    for group in dict.fromkeys(spec.group for spec in table.values()):
        members = [spec for spec in table.values() if spec.group == group]
        rows = [(spec.flag, _value(spec), _default(spec.default), spec.help) for spec in members]
        show_table(f"Options: {group}", ("flag", "value", "default", "meaning"), rows, left=4)
    show_table("Solvers", ("name", "for", "summary"), [_solver(row) for row in core().solvers()], left=3)
    preconditioners = [(row["name"], row["summary"]) for row in core().preconditioners()]
    show_table("Preconditioners", ("name", "summary"), preconditioners, left=2)
    described = [(name, machines.load(name).get("description", "")) for name in machines.names()]
    show_table("Machines for --engine model", ("name", "description"), described, left=2)
    return 0


def _everything(table: dict[str, _options.OptionSpec]) -> dict[str, object]:
    return {
        "options": [_described(spec) for spec in table.values()],
        "aliases": _options.ALIASES,
        "solvers": core().solvers(),
        "preconditioners": core().preconditioners(),
        "machines": {name: machines.load(name) for name in machines.names()},
    }


def _described(spec: _options.OptionSpec) -> dict[str, object]:
    """All that is known of an option; ``per_solve``: whether it may change without another setup."""
    keys = ("name", "type", "default", "choices", "help", "group", "flag")
    return {
        **{key: getattr(spec, key) for key in keys},
        "aliases": sorted(other for other, name in _options.ALIASES.items() if name == spec.name),
        "per_solve": spec.name in _options.PER_SOLVE,
    }


def _value(spec: _options.OptionSpec) -> str:
    if spec.name in OTHER_FORM:
        return "FILE"
    return words_for(spec) if spec.choices else spec.type


def _default(value: object) -> str:
    if value is None or value == "":
        return "-"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _solver(row: dict[str, str]) -> tuple[str, str, str]:
    kinds = {
        "spd": "symmetric positive definite",
        "symmetric": "complex symmetric, or real and positive definite",
        "positive": "a positive diagonal",
        "general": "any matrix",
    }
    return row["name"], kinds.get(row["requires"], row["requires"]), row["summary"]
