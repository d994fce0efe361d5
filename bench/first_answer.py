"""From nothing to a verified answer: the seconds of `git clone` and `make demo` in a folder that then goes.

python bench/first_answer.py [REPOSITORY] [--record bench/records/FILE.jsonl]     the default is the clone this lies in

pip's cache and ccache are left out, as a new user has none; what PyPI gives comes over this machine's network.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def timed(command: list[str], folder: str, environment: dict[str, str]) -> tuple[float, str]:
    """Seconds of a command, which must succeed, and what it prints."""
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:2])} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - begin, done.stdout


def measure(repository: str) -> dict[str, object]:
    """One row; the load is what other programs do meanwhile."""
    with tempfile.TemporaryDirectory(prefix="first_answer_") as folder:
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CCACHE", "CMAKE", "PYTHON"))
        }
        clean |= {"PIP_NO_CACHE_DIR": "1", "CCACHE_DISABLE": "1"}
        load = os.getloadavg()[0]
        clone, _ = timed(["git", "clone", "--quiet", repository, "sordino"], folder, clean)
        demo, said = timed(["make", "demo"], str(Path(folder, "sordino")), clean)
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=Path(folder, "sordino"),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        if "converged" not in said or not Path(folder, "sordino", "report.html").exists():
            sys.exit(f"make demo ended well, but shows no answer:\n{said[-2000:]}")
        again, _ = timed(["make", "demo"], str(Path(folder, "sordino")), clean)
    return {
        "bench": "first_answer", "clone_s": clone, "demo_s": demo, "total_s": clone + demo, "demo_again_s": again,
        "cores": os.cpu_count(), "load_before": load, "compiler": _version("c++"), "python": sys.version.split()[0],
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": commit,
        "command": "python bench/first_answer.py",
    }  # fmt: skip


def _version(program: str) -> str:
    path = shutil.which(program)
    if not path:
        return "unknown"
    return subprocess.run(
        [path, "-dumpfullversion"], capture_output=True, text=True, check=False
    ).stdout.strip()


def main() -> None:
    """Measure, print, append."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repository", nargs="?", default=str(ROOT))
    parser.add_argument("--record", metavar="FILE", help="append the measurement as a JSON line")
    given = parser.parse_args()
    row = measure(given.repository)
    print(f"git clone {row['clone_s']:.1f} s, make demo {row['demo_s']:.0f} s (again: {row['demo_again_s']:.1f} s), "
          f"{row['cores']} cores, load of others {row['load_before']:.1f}")  # fmt: skip
    if given.record:
        with open(given.record, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
