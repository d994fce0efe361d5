"""What README.md and docs/python.md tell a newcomer to do works: Python runs, command lines are understood."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sordino import cli

ROOT = Path(__file__).parents[2]


def blocks(language: str, page: str = "README.md") -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_python_of_the_readme_runs() -> None:
    names: dict[str, object] = {}
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), names)
    assert names["second"].status == "converged"  # type: ignore[attr-defined]


def test_the_examples_of_the_python_page_run_from_top_to_bottom() -> None:
    names: dict[str, object] = {}
    examples = blocks("python", "docs/python.md")
    assert len(examples) >= 7
    for number, code in enumerate(examples):
        exec(compile(code, f"docs/python.md, example {number}", "exec"), names)
    assert names["solution"].converged and names["info"] == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "line",
    [
        line.split("#")[0].strip()
        for block in blocks("sh")
        for line in block.splitlines()
        if line.startswith("sordino ") and "A.mtx" not in line
    ],
)
def test_the_command_lines_of_the_readme_run(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = re.sub(r"poisson \d+ \d+ \d+", "poisson 8 8 8", line)
    assert cli.main(shlex.split(small)[1:]) == 0
    assert capsys.readouterr().out
