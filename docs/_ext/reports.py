"""Whole reports for the page that explains them, written by the library when the site is built: reports/NAME.html."""

from __future__ import annotations

import contextlib
import io
import logging
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

#: Virtual time on a described machine: the same bytes wherever the site is built.
RUN = "poisson 32 32 32 --engine model --machine summit --ranks 4 --rtol 1e-8"
REPORTS = {"cg": "--solver cg", "prcg": "--solver prcg"}


def write_reports(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    from sordino import cli

    folder = Path(app.outdir) / "reports"
    folder.mkdir(exist_ok=True)
    logging.getLogger("sordino").setLevel(logging.WARNING)
    for name, options in REPORTS.items():
        command = f"{RUN} {options} --report {folder / name}.html --force".split()
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = cli.main(command)
        if code:
            raise ExtensionError(f"the report {name} was not written: {said.getvalue().strip()}")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_reports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
