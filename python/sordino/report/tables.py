"""Tables of the page, and the boxes in which wide things scroll."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def table(
    heads: Sequence[str], rows: Sequence[Sequence[object]], *, escaped: bool = False, class_: str = ""
) -> str:
    """A table whose first column names its rows; `escaped`: the cells are HTML already."""
    show = str if escaped else (lambda cell: escape(str(cell)))
    head = "".join(f'<th scope="col">{escape(cell)}</th>' if cell else "<td></td>" for cell in heads)
    body = "".join(
        f'<tr><th scope="row">{show(row[0])}</th>'
        + "".join(f"<td>{show(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<table class="{class_}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def scrolling(content: str, label: str) -> str:
    """A box of its own for what may be wider than the page; the keyboard reaches and scrolls it."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label, quote=True)}">{content}</div>'
