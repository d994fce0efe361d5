"""Tables that come from the library itself, so that no page repeats what the code says.

```{headers} runtime        every header of src/sordino/runtime, with the first sentence of its comment
```
```{options}                every option of a solve: the table behind `sordino options`
```
```{solvers}                every method
```
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SOURCES = Path(__file__).resolve().parents[2] / "src" / "sordino"
ENDINGS = {".h", ".hpp", ".cuh", ".inl", ".f90"}


def first_sentence(header: Path) -> str:
    """Of the comment that a header begins with."""
    said = []
    for line in header.read_text(encoding="utf-8").splitlines():
        text = re.sub(r"^(//|/\*| \*/?|!)\s?", "", line)
        if text == line or not text.strip():
            break
        said.append(text.strip())
    return re.split(r"(?<=[a-z0-9)\]'])[.](?= |$)", " ".join(said), maxsplit=1)[0]


def cell(text: str) -> str:
    """A text as a cell of a Markdown table."""
    return re.sub(r"([|*<>`\[\]\\_])", r"\\\1", " ".join(text.split()))


def table(heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows])


class Table(SphinxDirective):
    """A Markdown table that `rows` fills."""

    heads: tuple[str, ...] = ()

    def rows(self) -> list[list[str]]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(table(list(self.heads), self.rows()))


class Headers(Table):
    heads = ("header", "what it is")
    required_arguments = 1

    def rows(self) -> list[list[str]]:
        folder = SOURCES / self.arguments[0]
        page = Path(self.env.doc2path(self.env.docname)).parent
        found = []
        for header in sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS):
            self.env.note_dependency(str(header))
            up = "../" * len(page.relative_to(SOURCES.parents[1]).parts)
            link = (
                f"{{download}}`{header.relative_to(folder)} <{up}{header.relative_to(SOURCES.parents[1])}>`"
            )
            found.append([link, cell(first_sentence(header))])
        return found


class Options(Table):
    heads = ("option", "values", "default", "meaning")

    def rows(self) -> list[list[str]]:
        from sordino import _options

        return [
            [
                f"`{spec.name}`",
                cell(", ".join(spec.choices or (spec.type,))),
                cell(str(spec.default)),
                cell(spec.help),
            ]
            for spec in _options.specs().values()
        ]


class Solvers(Table):
    heads = ("solver", "for", "what it is")

    def rows(self) -> list[list[str]]:
        from sordino._native import core

        wanted = {"spd": "symmetric positive definite", "general": "any matrix"}
        return [
            [f"`{one['name']}`", wanted.get(one["requires"], one["requires"]), cell(one["summary"])]
            for one in core().solvers()
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("headers", Headers)
    app.add_directive("options", Options)
    app.add_directive("solvers", Solvers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
