"""``tools/with_progress.py``: what a build says is kept, how far it has come is shown, and its end is its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "with_progress.py"
SAID = "Preparing\n  [1/3] Building CXX object CMakeFiles/sordino.dir/src/a.cpp.o\n  [3/3] Linking\nerror: none\n"
BUILD = f"import sys; print({SAID!r}, end='', flush=True); sys.exit(3)"


def test_a_log_has_everything_and_the_status_is_that_of_the_build(tmp_path):
    log = tmp_path / "build.log"
    run = subprocess.run(
        [sys.executable, TOOL, log, "--", sys.executable, "-c", BUILD], capture_output=True, text=True
    )
    assert (run.returncode, run.stdout, run.stderr) == (3, "", "")  # it has not lasted half a minute
    assert log.read_text() == SAID


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_terminal_shows_the_newest_step_in_one_line(tmp_path):
    ours, theirs = os.openpty()
    run = subprocess.run(
        [sys.executable, TOOL, tmp_path / "build.log", "--", sys.executable, "-c", BUILD], stderr=theirs
    )
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert run.returncode == 3 and "\n" not in shown
    assert [part.strip() for part in shown.replace("\033[K", "").split("\r")] == [
        "", "0:00 [1/3] Building CXX object src/a.cpp", "0:00 [3/3] Linking", "",
    ]  # fmt: skip


def test_elsewhere_a_line_is_said_from_time_to_time(tmp_path, capfd):
    code = f"import runpy; tool = runpy.run_path({str(TOOL)!r}); tool['main'].__globals__['LINE_EVERY_S'] = 0.0; "
    code += f"tool['main']({str(tmp_path / 'build.log')!r}, [{sys.executable!r}, '-c', {BUILD!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert capfd.readouterr().err == "  0:00 [1/3] Building CXX object src/a.cpp\n  0:00 [3/3] Linking\n"
