"""Shapes by words: ``sphere:13,20,radius=1``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from ..errors import BadArgument, suggestion
from ..report.words import count
from .figure import figure
from .shapes import pair, plate, sphere, spheres
from .surface import Surface

#: Shapes by their names. Arguments without a default are numbers in their order, the others go by name.
SHAPES: dict[str, Callable[..., Surface]] = {
    "sphere": sphere,
    "pair": pair,
    "spheres": spheres,
    "figure": figure,
    "plate": plate,
}
#: What a command line can say of a shape besides.
_NAMED = ("radius", "distance", "spacing", "side", "m0", "M")


def is_shape(text: str) -> bool:
    """Whether a text is meant as a shape, though perhaps one that there is not, and not as the name of a file.

    Those of surfaces have an ending, which begins with a letter.
    """
    words = re.fullmatch(r"\w+(:[\w=,.+-]*)?", text) and not re.search(r"\.[^\W\d]\w*$", text)
    return text.partition(":")[0] in SHAPES or bool(words)


def from_words(text: str) -> Surface:
    """The surface that words describe: ``sphere:13,20``, ``pair:6,30,distance=2``, ``spheres:2,2,2``, ``figure:2``.

    Raises
    ------
    BadArgument
        For a shape or an argument that is not known, and as the shapes do.
    """
    name, _, rest = text.partition(":")
    if name not in SHAPES:
        near = suggestion(name, SHAPES) or f"; known: {', '.join(SHAPES)}"
        raise BadArgument(f"unknown shape '{name}'{near}")
    make = SHAPES[name]
    parameters = inspect.signature(make).parameters.values()
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in _NAMED]
    numbers: list[int] = []
    options: dict[str, Any] = {}
    for word in filter(None, rest.split(",")):
        key, equals, value = word.partition("=")
        if not equals and not options:
            numbers.append(_number(key, text, int))
        elif equals and key in named:
            options[key] = _number(value, text, int if key in ("m0", "M") else float)
        else:
            raise BadArgument(f"shape '{text}': '{word}' is unknown; {_usage(name, positional, named)}")
    least = sum(p.default is p.empty for p in parameters)
    if not least <= len(numbers) <= len(positional):
        raise BadArgument(
            f"shape '{text}' has {count(len(numbers), 'number')}; {_usage(name, positional, named)}"
        )
    return make(*numbers, **options)


def _number(word: str, text: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(word)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise BadArgument(f"shape '{text}': '{word}' is not {what}") from None


def _usage(name: str, positional: list[str], named: list[str]) -> str:
    return f"it is {name}:{','.join(positional)}{''.join(f'[,{key}=...]' for key in named)}"
