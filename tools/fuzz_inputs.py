"""Inputs for tools/fuzz_readers.py: small valid files of every kind that Sordino reads, most of them damaged.

An input is a function of its random numbers alone, so that a seed, a kind and an index name it for ever.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from random import Random
from typing import Any

from fuzz_binary import factors, matlab, numpy_files
from fuzz_damage import Input, as_file
from fuzz_surfaces import bem_bb, gmsh

from sordino import _options, machines


def _value(random: Random, field: str) -> str:
    if field == "pattern":
        return ""
    if field == "integer":
        return f" {random.choice((-9, -1, 1, 2, 30))}"
    words = [
        random.choice(("%.17g", "%g", "%.3e", "%+.1E")) % random.uniform(-10, 10)
        for _ in range(1 + (field == "complex"))
    ]
    return " " + " ".join(words)


def matrix_market(random: Random) -> Input:
    """Array and coordinate files of every field and symmetry; one in eight is read as a vector of length 3."""
    layout, n = random.choice(("coordinate", "coordinate", "array")), random.randint(1, 5)
    field = random.choice(("real", "real", "integer", "complex", "pattern"))
    symmetry = random.choice(("general", "general", "symmetric", "skew-symmetric", "hermitian"))
    banner = f"%%MatrixMarket matrix {layout} {field} {symmetry}\n% a comment\n"
    known = (symmetry != "hermitian" or field == "complex") and not (layout == "array" and field == "pattern")
    if random.random() < 0.125:
        body = "".join(_value(random, field).strip() + "\n" for _ in range(3))
        text = f"%%MatrixMarket matrix array {field} general\n3 1\n{body}"
        return as_file(random, text, ".mtx", use="vector", good=field != "pattern")
    low = 1 if symmetry == "skew-symmetric" else 0
    places = [(i, j) for j in range(n) for i in range(n) if symmetry == "general" or i >= j + low]
    if layout == "array":
        body = f"{n} {n}\n" + "".join(_value(random, field).strip() + "\n" for _ in places)
    else:
        kept = [(i, j) for i, j in places if i == j or random.random() < 0.5]
        body = f"{n} {n} {len(kept)}\n" + "".join(
            f"{i + 1} {j + 1}{_value(random, field)}\n" for i, j in kept
        )
    return as_file(random, banner + body, ".mtx", good=known and low == 0)


def _fields(random: Random, words: list[str], width: int, per_line: int) -> list[str]:
    cells = [word.rjust(width) for word in words]
    return ["".join(cells[at : at + per_line]) for at in range(0, len(cells), per_line)]


def harwell_boeing(random: Random) -> Input:
    """Assembled files of every symmetry with and without values and right-hand sides, in several formats."""
    n, sort, symmetry = random.randint(1, 6), random.choice("RRRCP"), random.choice("UUSHZ")
    low = {"U": -n, "Z": 1}.get(symmetry, 0)
    columns = [[i for i in range(n) if i - j >= low and (i == j or random.random() < 0.5)] for j in range(n)]
    entries, parts = sum(map(len, columns)), 2 if sort == "C" else 1
    whole, per_whole = random.choice((("(16I5)", 16), ("(10I5)", 10), ("(3I5)", 3)))
    form, pattern, per_line = random.choice(
        (
            ("(4E20.12)", "%20.12E", 4),
            ("(1P,3E20.12)", "%20.12E", 3),
            ("(2D20.10)", "%20.10E", 2),
            ("(5F20.4)", "%20.4f", 5),
        )
    )

    def numbers(count: int) -> list[str]:
        words = [pattern % random.uniform(-10, 10) for _ in range(count)]
        return _fields(
            random, [word.replace("E", "D") if "D" in form else word for word in words], 20, per_line
        )

    pointers = [str(1 + sum(map(len, columns[:j]))) for j in range(n + 1)]
    blocks = [
        _fields(random, pointers, 5, per_whole),
        _fields(random, [str(i + 1) for column in columns for i in column], 5, per_whole),
        [] if sort == "P" else numbers(entries * parts),
    ]
    sides = random.choice((0, 0, 1, 2))
    blocks.append(numbers(n * sides * parts) if sides else [])
    lengths = [len(block) for block in blocks]
    lines = [
        "A title".ljust(72) + "KEY".ljust(8),
        "".join(f"{count:14d}" for count in (sum(lengths), *lengths)),
    ]
    lines.append(f"{sort}{symmetry}A".ljust(14) + "".join(f"{count:14d}" for count in (n, n, entries, 0)))
    lines.append(whole.ljust(16) * 2 + form.ljust(20) * 2)
    if sides:
        lines.append(random.choice(("F", "F", "FGX", "M")).ljust(14) + f"{sides:14d}{0:14d}")
    good = sort != "C" and symmetry != "Z" and entries > 0
    return as_file(
        random, "\n".join([*lines, *(line for block in blocks for line in block), ""]), ".rua", good=good
    )


# ---- JSON ------------------------------------------------------------------------------------------------------------
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 3, 2.5, 1e300, -0.0, 10**30, -(10**400), 10**5000, 2**31, 2**63),
    *(float("nan"), float("inf"), "", "x", "12", "1e-8", "nan", "0-3", "0,2", "3-0", "0-", "-", ",", "0-999999999"),
    *("9" * 5000, "0" * 5000 + "1", "\u0663", "auto", "on", "Auto ", "a\nb", "\x1b[31m", "\ud800", "x" * 5000),
    *("\u2028", "\x00", "0-4096," * 30 + "1", [], {}, [[]], [None], [0, 1], [0, 0], [-1], [2.5], ["0"]),
    *(list(range(3000)), {"a": None}, {"": {"b": [1]}}),
)  # fmt: skip


def _as_json(random: Random, pairs: list[tuple[str, Any]]) -> str:
    """An object of pairs, whose names may repeat."""
    indent = random.choice((", ", ",\n  "))
    return "{" + indent.join(f"{json.dumps(key)}: {_number_text(value)}" for key, value in pairs) + "}"


def _number_text(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= 10**4000:
        return "-" * (value < 0) + "1" + "0" * 5000  # Python would not convert it
    return json.dumps(value)


def _pairs_damaged(random: Random, pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    pairs = list(pairs)
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(pairs))
        key, value = pairs[at]
        way = random.randrange(7)
        if way <= 2:
            pairs[at] = (key, random.choice(VALUES))
        elif way == 3:
            cut = random.randrange(len(key) + 1)
            strange = random.choice(("", "x", "\n", "\u00e9", "_", "\ud800"))
            pairs[at] = (key[:cut] + strange + key[cut + 1 :], value)
        elif way == 4:
            pairs.insert(
                random.randrange(len(pairs)), (key, random.choice((value, None, random.choice(VALUES))))
            )
        elif way == 5:
            pairs[at] = (
                random.choice(("", "k" * 4000, "max_iterations", "M", "method", "name", "sources", "\r\n")),
                value,
            )
        elif len(pairs) > 1:
            del pairs[at]
    return pairs


def _json_file(random: Random, pairs: list[tuple[str, Any]], use: str) -> Input:
    if random.random() < 0.025:
        return Input(_as_json(random, pairs).encode(), ".json", use, True)
    if random.random() < 0.7:
        pairs = _pairs_damaged(random, pairs)
    text = _as_json(random, pairs)
    if random.random() < 0.05:
        depth = random.choice((3, 500, 20_000))
        text = random.choice(("[" * depth, '{"rtol":' * depth, "[" * depth + "]" * depth))
    made = as_file(random, text, ".json", use=use, good=False)
    prefix = random.choice((b"\xef\xbb\xbf", b"\xff\xfe")) if random.random() < 0.03 else b""
    return Input(prefix + made.content, ".json", use, False)


def options(random: Random) -> Input:
    """Files for ``--options``: some options with values of their type, most of them damaged."""
    table = _known_options()
    pairs = [
        (spec.name, _sensible(random, spec))
        for spec in random.sample(table, random.randint(1, min(6, len(table))))
    ]
    return _json_file(random, pairs, "options")


@functools.cache
def _known_options() -> list[_options.OptionSpec]:
    return list(_options.specs().values())


def _sensible(random: Random, spec: _options.OptionSpec) -> Any:
    if spec.name == "devices":
        return random.choice(("0-3", "0,2", [0, 1], 5))
    if spec.type == "bool":
        return random.choice((True, False))
    if spec.type == _options.NUMBER_OR_AUTO:
        return random.choice(("auto", random.randint(0, 100), str(random.randint(0, 100))))
    if spec.type == "int":
        return random.choice((random.randint(0, 100), str(random.randint(0, 100))))
    if spec.type == "float":
        return random.choice((1e-8, 10, "1e-6"))
    return random.choice(spec.choices or ("word",))


def machine(random: Random) -> Input:
    """Descriptions of machines for ``--machine``."""
    described = _described(random.choice(("laptop", "h200x4", "summit")))
    pairs = [(key, value) for key, value in described.items() if key != "sources" or random.random() < 0.3]
    random.shuffle(pairs)
    return _json_file(random, pairs, "machine")


@functools.cache
def _described(name: str) -> dict[str, Any]:
    return machines.load(name)


#: Every kind, and its share of the inputs in thousandths.
KINDS: dict[str, tuple[Callable[[Random], Input], int]] = {
    "matrix_market": (matrix_market, 280),
    "harwell_boeing": (harwell_boeing, 260),
    "options": (options, 200),
    "machine": (machine, 80),
    "numpy": (numpy_files, 40),
    "matlab": (matlab, 20),
    "factors": (factors, 20),
    "bem_bb": (bem_bb, 50),
    "gmsh": (gmsh, 50),
}
