"""Runs a command that builds, with all that it says in a file, and shows on standard error how far it has come.

    python tools/with_progress.py build.log -- pip install .

On a terminal one line has the newest of Ninja's steps, ``[12/367] Building CXX object ...``; elsewhere a line says so
every half a minute. Returns what the command returns. Standard library only, as tools/make_venv.py.
"""

import re
import shutil
import subprocess
import sys
import time
from typing import BinaryIO

STEP = re.compile(r"\[\d+/\d+\] .*")
LINE_EVERY_S = 30.0


def shorter(step: str) -> str:
    """Without the folders in which CMake keeps objects: what is compiled is the end of the line."""
    return re.sub(r"\S*CMakeFiles/\S+?\.dir/", "", step).removesuffix(".o")


class Progress:
    """What is seen of the steps."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._start = self._told = time.monotonic()

    def show(self, step: str) -> None:
        now = time.monotonic()
        passed = f"{int(now - self._start) // 60}:{int(now - self._start) % 60:02d}"
        if self._terminal:
            line = f"  {passed} {shorter(step)}"[: shutil.get_terminal_size().columns - 1]
            print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)
        elif now - self._told >= LINE_EVERY_S:
            self._told = now
            print(f"  {passed} {shorter(step)}", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def follow(said: BinaryIO, log: BinaryIO, progress: Progress) -> None:
    """Keep what is said, and show how far it has come, until its end."""
    for line in said:
        log.write(line)
        log.flush()
        if step := STEP.search(line.decode(errors="replace")):
            progress.show(step.group())


def main(log: str, command: list[str]) -> int:
    progress = Progress()
    with open(log, "wb") as file:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        while True:
            try:
                follow(run.stdout, file, progress)
                break
            except KeyboardInterrupt:  # the command was sent it, too, and may have last words
                continue
        progress.end()
        return run.wait()


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[2] != "--":
        sys.exit(f"usage: {sys.argv[0]} LOG -- COMMAND ...")
    sys.exit(main(sys.argv[1], sys.argv[3:]))
