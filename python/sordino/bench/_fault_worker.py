"""One process of ``sordino bench faults``: its trials, one JSON line each in a file of its own."""

from __future__ import annotations

import faulthandler
import json
import os
import random
import sys
from typing import Any

from .._native import core

#: The file in which a process that is killed says when.
LAST_WORD = "killed.txt"


def trials(
    kind: str, seed: int, count: int, ranks: int, timeout: float, engine: str, devices: str
) -> list[dict[str, Any]]:
    """What every trial does, the same in all processes."""
    draw = random.Random(seed)
    methods = [entry["name"] for entry in core().solvers()]
    total = ranks * int(core().mpi()["size"])
    return [
        {
            "kind": kind, "culprit": draw.randrange(total), "when": draw.random(), "method": draw.choice(methods),
            "ranks": ranks, "timeout": timeout, "progress_thread": draw.random() < 0.5,
            "engine": engine, "devices": devices,
        }
        for _ in range(count)
    ]  # fmt: skip


def main(argv: list[str]) -> None:
    """``KIND SEED COUNT RANKS TIMEOUT ENGINE DEVICES FOLDER LIMIT``."""
    kind, seed, count, ranks, timeout, engine, devices, folder, limit = argv
    # A launcher that is stopped leaves its processes behind: one that hangs ends itself, and says where it was.
    faulthandler.dump_traceback_later(float(limit), exit=True)
    todo = trials(kind, int(seed), int(count), int(ranks), float(timeout), engine, devices)
    process = core().mpi()["rank"]
    with open(os.path.join(folder, f"{process}.jsonl"), "a", encoding="utf-8") as stream:
        for number, trial in enumerate(todo):
            outcome = core().fault_trial(**trial, last_word=os.path.join(folder, LAST_WORD))
            stream.write(json.dumps({"number": number, **trial, **outcome}) + "\n")
            stream.flush()
    if kind == "killed":
        os._exit(0)  # MPI cannot be finalised without the process that is gone


if __name__ == "__main__":
    main(sys.argv[1:])
