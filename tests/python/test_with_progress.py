"""``tools/with_progress.py``: what a build says is kept, how far it has come is shown, and its end is its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "with_progress.py"
SAID = "Preparing\n  [1/3] Building CXX object CMakeFiles/sordino.dir/src/a.cpp.o\n  [3/3] Linking\nerror: none\n"
BUILD = f"import sys; print({SAID!r}, end='', flush=True); sys.exit(3)"

PASSED = r"\d:\d\d"  # minutes and seconds, of which a busy machine may take some


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
    parts = [part.strip() for part in shown.replace("\033[K", "").split("\r")]
    assert parts[0] == parts[3] == "" and len(parts) == 4
    assert re.fullmatch(rf"{PASSED} \[1/3\] Building CXX object src/a\.cpp", parts[1])
    assert re.fullmatch(rf"{PASSED} \[3/3\] Linking", parts[2])


def test_elsewhere_a_line_is_said_from_time_to_time(tmp_path, capfd):
    code = f"import runpy; tool = runpy.run_path({str(TOOL)!r}); tool['main'].__globals__['LINE_EVERY_S'] = 0.0; "
    code += f"tool['main']({str(tmp_path / 'build.log')!r}, [{sys.executable!r}, '-c', {BUILD!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)
    said = rf"  {PASSED} \[1/3\] Building CXX object src/a\.cpp\n  {PASSED} \[3/3\] Linking\n"
    assert re.fullmatch(said, capfd.readouterr().err)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a group of processes")
def test_after_an_interrupt_what_a_child_still_says_is_logged(tmp_path):
    """And more of it than a pipe holds, at which a child would wait for ever."""
    child = (
        "import signal, sys, time\n"
        "def leave(*_):\n"
        "    for _ in range(20_000): print('x' * 40)\n"
        "    print('last words', flush=True)\n"
        "    sys.exit(4)\n"
        "signal.signal(signal.SIGINT, leave)\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)\n"
    )
    log = tmp_path / "build.log"
    run = subprocess.Popen(
        [sys.executable, TOOL, log, "--", sys.executable, "-c", child], start_new_session=True
    )
    try:
        deadline = time.monotonic() + 60
        while not (log.exists() and "ready" in log.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGINT)
        assert run.wait(timeout=60) == 4
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
    assert log.read_text().splitlines()[-1] == "last words"
