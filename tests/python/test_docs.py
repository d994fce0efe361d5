"""What docs/predicting.md tells a reader to type works; boxes and numbers of ranks are made small."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import scipy.io

import sordino
from sordino import cli

PAGE = (Path(__file__).parents[2] / "docs" / "predicting.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("block", BLOCKS)
def test_the_command_lines_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("A.mtx", sordino.poisson(6, 6, 6))
    for line in block.splitlines():
        small = re.sub(r"poisson \d+ \d+ \d+", "poisson 12 12 12", line)
        small = re.sub(r"--ranks [\d,]+", "--ranks 2,8", small)
        assert cli.main(shlex.split(small)[1:]) == 0, line
        assert capsys.readouterr().out
