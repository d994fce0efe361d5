"""A little SVG: enough for axes, lines and bars, coloured by the page's style sheet.

Written by hand so that a report needs nothing installed, follows the reader's light or
dark setting, and prints as vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True)
class Canvas:
    """How large a picture is, in the pixels in which its letters are measured."""

    width: float
    height: float


def at_both_widths(draw: Callable[[Canvas], str], height: float, phone_height: float) -> str:
    """A picture twice: for a desk (and paper) and for a phone, of which the style sheet shows one.

    Shrinking one picture would shrink its letters.
    """
    desk, phone = draw(Canvas(920.0, height)), draw(Canvas(343.0, phone_height))
    return f'<div class="at-desk">{desk}</div><div class="at-phone">{phone}</div>'


def power_of_ten(exponent: float) -> str:
    """``10⁻⁵``, and ``1`` for 10⁰."""
    whole = round(exponent)
    return "1" if whole == 0 else f"10{str(whole).translate(_SUPERSCRIPTS)}"


def element(tag: str, content: str = "", **attributes: object) -> str:
    """One element; ``class_`` and ``text_anchor`` become ``class`` and ``text-anchor``."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value), quote=True)}"'
        for key, value in attributes.items()
    )
    return f"<{tag}{shown}>{content}</{tag}>" if content else f"<{tag}{shown}/>"


def _number(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(x: float, y: float, content: str, **attributes: object) -> str:
    """A line of text at (x, y)."""
    return element("text", escape(content), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def polyline(points: Sequence[tuple[float, float]], class_: str) -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return element("polyline", points=path, class_=class_)


def drawing(width: float, height: float, content: str, label: str, class_: str) -> str:
    """The whole picture, as wide as its container, with a name for screen readers."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" class="{class_}" role="img" '
        f'aria-label="{escape(label, quote=True)}" xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )


def nice_step(span: float, most: int) -> float:
    """The smallest of 1, 2, 5 x 10^k that divides a span into at most so many parts."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    for factor in (1, 2, 5, 10):
        if span / (factor * power) <= most:
            return factor * power
    return 10 * power


def ticks(low: float, high: float, most: int, least_step: float = 0.0) -> list[float]:
    """Round numbers from low to high."""
    step = max(nice_step(high - low, most), least_step)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]
