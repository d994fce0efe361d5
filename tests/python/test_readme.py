"""What README.md tells a newcomer to do works: Python runs, command lines are understood."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sordino import cli

ROOT = Path(__file__).parents[2]


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_python_of_the_readme_runs() -> None:
    names: dict[str, object] = {}
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), names)
    assert names["second"].status == "converged"  # type: ignore[attr-defined]


def test_the_cpp_of_the_readme_is_a_program_that_is_built_and_run() -> None:
    program = [line.strip() for line in (ROOT / "examples" / "readme.cpp").read_text().splitlines()]
    (code,) = blocks("cpp")
    lines = [line for line in code.splitlines() if line]
    assert len(lines) >= 8
    at = [program.index(line) for line in lines]
    assert at == sorted(at)


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
