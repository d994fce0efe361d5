"""What is seen of a solve while it goes on."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest

from sordino.cli import display, monitor

#: Takes some seconds on one core: the callback is called ten times a second.
LONG = (
    "poisson",
    "56",
    "56",
    "56",
    "--contrast",
    "1000",
    "--ranks",
    "1",
    "--engine",
    "host",
    "--rtol",
    "1e-9",
    "--precond",
    "jacobi",
)


def looks(samples, rtol=1e-8):
    seen = monitor.Looks(rtol)
    for iteration, residual, now in samples:
        seen.add(iteration, residual, now)
    return seen


def falling(decades_a_second, seconds, rate=100):
    return [
        (int(rate * t), 10 ** (-decades_a_second * t), t)
        for t in (0.1 * k for k in range(1, 10 * seconds + 1))
    ]


def test_rate_and_time_left_follow_from_the_last_moments():
    seen = looks(falling(0.5, 4))  # at 1e-2 after 4 s: 6 decades are missing, at half a decade a second
    assert seen.rate() == pytest.approx(100, rel=0.05)
    assert seen.seconds_left() == pytest.approx(12, rel=0.01)
    assert seen.way() == pytest.approx(0.25)
    said = ", ".join(seen.words())
    assert re.fullmatch(r"iteration 400, residual 1.0e-02, 100 iterations/s, about 12 s left", said), said


def test_no_time_is_foretold_where_nothing_falls_or_little_is_known():
    assert looks(falling(0.5, 4)[:3]).seconds_left() is None
    assert looks([(i, 1e-3, 0.1 * i) for i in range(1, 50)]).seconds_left() is None
    assert looks([(i, 10 ** (0.1 * i), 0.1 * i) for i in range(1, 50)]).seconds_left() is None
    assert looks(falling(0.5, 4), rtol=0.0).seconds_left() is None
    odd = looks([(1, float("nan"), 0.1), (2, 0.0, 0.2), (3, float("inf"), 0.3)])
    assert odd.seconds_left() is None and odd.rate() is None and odd.way() == 0.0
    assert odd.words() == ["iteration 3", "residual inf"]


def test_a_long_solve_keeps_a_short_curve():
    seen = looks([(i, 10 ** (-i * 1e-4), 0.1 * i) for i in range(1, 20_000)])
    assert 100 < len(seen.curve) <= 400
    assert len(monitor.curve(seen.curve, 40)) <= 40
    assert monitor.curve([0.0, -1.0, -2.0], 10) == "█▅▁" and monitor.curve([], 10) == ""


def test_nothing_is_shown_unless_it_is_asked_for_or_a_terminal_sees_it(monkeypatch, capsys):
    with monitor.watch(1e-8, False, quiet=False) as callback:
        assert callback is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with monitor.watch(1e-8, False, quiet=True) as callback:
        assert callback is None
    assert capsys.readouterr().err == ""


def test_without_rich_a_terminal_shows_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(display, "rich_module", lambda name: None)
    monkeypatch.setattr(monitor, "rich_module", lambda name: None)
    with monitor.watch(1e-8, False, quiet=False) as callback:
        assert callback(10, 1e-3) is False
    shown = capsys.readouterr().err
    assert "\riteration 10, residual 1.0e-03" in shown and shown.endswith("\r\033[K")


def test_with_rich_odd_residuals_are_shown_too(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for asked in (False, True):
        with monitor.watch(1e-8, asked, quiet=False) as callback:
            assert callback(10, 1e-3) is False and callback(20, float("nan")) is False
    assert "iteration 20" in capsys.readouterr().err


def test_lines_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(monitor, "_LINE_EVERY_S", 0.0)
    with monitor.watch(1e-8, True, quiet=True) as callback:
        for iteration in (10, 20):
            assert callback(iteration, 1e-3) is False
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines[:2]] == ["sordino: iteration 10", "sordino: iteration 20"]
    assert lines[-1].startswith("sordino: the solve ended after ") and "\033" not in "".join(lines)


def test_monitor_and_json_do_not_mix_streams(shell):
    done = shell("poisson", 12, 12, 12, "--json", "--monitor")
    assert done.returncode == 0 and json.loads(done.stdout)["status"] == "converged"
    lines = done.stderr.splitlines()
    assert all(line.startswith("sordino: ") for line in lines) and "the solve ended" in lines[-1]


def on_a_terminal(*argv, seconds=60.0, columns=100):
    """Run ``sordino`` with a terminal of its own; returns the exit code and all that it showed."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "30"}
    with subprocess.Popen(
        [sys.executable, "-m", "sordino", *argv],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
    ) as program:
        os.close(follower)
        shown, until = b"", time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([leader], [], [], 0.2)[0]:
                try:
                    read = os.read(leader, 1 << 16)
                except OSError:  # the program has closed its end
                    break
                if not read:
                    break
                shown += read
        else:
            program.kill()
        code = program.wait(10)
    os.close(leader)
    return code, shown.decode("utf-8", "replace")


@pytest.mark.parametrize("asked", [True, False])
def test_on_a_terminal(asked):
    pytest.importorskip("rich")
    code, shown = on_a_terminal(*LONG, *(["--monitor"] if asked else []))
    assert code == 0 and "Solved and verified" in shown
    live = shown[: shown.index("status")]
    numbers = [int(found.replace(",", "")) for found in re.findall(r"iteration ([\d,]+)", live)]
    assert numbers and numbers == sorted(numbers)
    frames = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", live)
    assert not re.search("━[▁-█]", frames), "the bar and the curve are lines of their own"
    assert ("▁" in live or "█" in live) == asked, "the residual's curve is for those who asked"


@pytest.mark.parametrize("rich", [True, False])
def test_steps_are_counted_on_a_terminal_only(capsys, monkeypatch, rich):
    if rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setattr(display, "rich_module", lambda name: None)

    def shown(terminal, quiet=False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
        with display.steps("predicting", 3, quiet=quiet) as step:
            step()
            step()
        out, err = capsys.readouterr()
        assert out == ""
        return err

    assert shown(False) == "" and shown(True, quiet=True) == ""
    said = shown(True)
    assert "predicting" in said and re.search("2(/| of )3", said)
    assert said.endswith(("\033[K", "\033[2K")), "nothing of it stays"
