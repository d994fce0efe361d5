"""Reports for the page that explains them, written by the library when the site is built.

reports/NAME.html is a whole report; reports/NAME.svg its timeline alone.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

#: Virtual time on a described machine: the same times wherever the site is built.
RUN = "poisson 64 64 64 --stencil 27 --engine model --machine summit --ranks 4 --rtol 1e-8"
REPORTS = {"cg": "--solver cg", "prcg": "--solver prcg"}


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """A report shows its command: file names in it must not be those of the machine that builds the site."""
    before = Path.cwd()
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def write_report(name: str, options: str) -> None:
    from sordino import cli

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = cli.main(f"{RUN} {options} --report {name}.html --force".split())
    if code:
        raise ExtensionError(f"the report {name} was not written: {said.getvalue().strip()}")


def write_timeline(name: str) -> None:
    """The picture alone; a report's style sheet colours it there, too."""
    page = Path(f"{name}.html").read_text(encoding="utf-8")
    (style,) = re.findall(r"<style>(.*?)</style>", page, flags=re.S)
    (picture,) = re.findall(r'<svg [^>]*class="timeline".*?</svg>', page, flags=re.S)
    begin, rest = picture.split(">", 1)
    Path(f"{name}.svg").write_text(f"{begin}><style><![CDATA[{style}]]></style>{rest}", encoding="utf-8")


def write_reports(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    logging.getLogger("sordino").setLevel(logging.WARNING)
    with inside(Path(app.outdir) / "reports"):
        for name, options in REPORTS.items():
            write_report(name, options)
            write_timeline(name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_reports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
