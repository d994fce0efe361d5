"""Damaged files against every reader of Sordino: each must end in a result or in one sentence.

    python tools/fuzz_readers.py [--count 1000000] [--seed 1] [--kinds options,machine] [--record FILE]
    python tools/fuzz_readers.py --only harwell_boeing:4711 --keep bad.rua

An input is named by seed, kind and index, and is the same on every machine with the same versions of Python and NumPy.
Readers run in a child process; one that dies, or that comes to no end, costs its input and is a finding. So is an
exception that is none of Sordino's, a sentence that is not one, a warning, a sound file that is refused, and time or
memory out of proportion. One JSON line for each kind; exit code 1 with findings.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # matrices of five rows need no more

import sordino
from sordino import SordinoError, _matrix, _options, machines
from sordino.bench import _records

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_inputs import KINDS, Input

LONGEST = 300  # characters of a sentence, without the folder
SECONDS = 2.0  # of processor time for an input of some kilobytes
HANG = 60.0  # seconds without progress after which a child is ended
MEMORY = 256 << 20  # bytes by which one input may raise the peak of its process
CEILING = 8 << 30  # bytes of address space beyond which nothing is granted
#: Words that belong to programmers, and never to the reader of a sentence.
INTERNALS = (
    "NoneType",
    "Traceback",
    "<class",
    "object at 0x",
    "ndarray",
    "np.str_",
    "np.bytes_",
    "numpy.",
    "codec",
    "errno",
)


# ---- one input -------------------------------------------------------------------------------------------------------
def _matrix_file(path: str) -> None:
    read = sordino.read_matrix(path)
    rows = _matrix.as_csr(read.matrix)
    if read.rhs is not None:
        _matrix.as_columns(read.rhs, rows.n, "the right-hand side")


USES: dict[str, Callable[[str], Any]] = {
    "matrix": _matrix_file,
    "vector": lambda path: sordino.read_vector(path, 3, "right-hand side"),
    "options": _options.load,
    "machine": machines.load,
    "surface": sordino.read_surface,
    "factors": sordino.io.load_factors,
}


def complaint(sentence: str) -> str:
    """What is wrong with a sentence for a user; empty if nothing is."""
    if not sentence:
        return "no sentence"
    if len(sentence) > LONGEST:
        return f"a sentence of {len(sentence)} characters"
    if not sentence.isprintable():
        return "a sentence with a line break or a control character"
    found = next((word for word in INTERNALS if word in sentence), None)
    if found:
        return f"a sentence that says {found}"
    return "memory was asked for before it was needed" if "the memory of" in sentence else ""


def judge(read: Callable[[str], Any], path: str, *, valid: bool) -> tuple[bool, str]:
    """Read a file: whether it was accepted, and what is wrong with how it ended (empty: nothing)."""
    began, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wrong, accepted = "", False
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            read(path)
            accepted = True
        except SordinoError as error:
            sentence = str(error).replace(os.path.dirname(path) + os.sep, "")
            wrong = complaint(sentence) and f"{complaint(sentence)}: {sentence[:400]!r}"
            if valid:
                wrong = f"a sound file is refused: {sentence}"
        except Exception as error:
            wrong = f"{type(error).__name__}: {str(error)[:300]}"
    if warned:
        wrong = wrong or f"a warning: {warned[0].message}"
    if time.process_time() - began > SECONDS:
        wrong = wrong or f"{time.process_time() - began:.1f} s of processor time"
    risen = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
    if risen > MEMORY:
        wrong = wrong or f"{risen >> 20} MiB of memory"
    return accepted, wrong


def made(seed: int, kind: str, index: int) -> Input:
    """The input of this name."""
    return KINDS[kind][0](Random(f"{seed}/{kind}/{index}"))


# ---- many inputs, in a child that may die ----------------------------------------------------------------------------
class Tally:
    """Counts that a child shares with its parent: the index at work, accepted, refused."""

    def __init__(self) -> None:
        self._shared = memoryview(mmap.mmap(-1, 24)).cast("q")

    def __getitem__(self, at: int) -> int:
        return self._shared[at]

    def __setitem__(self, at: int, value: int) -> None:
        self._shared[at] = value


def _child(seed: int, kind: str, first: int, end: int, folder: str, tally: Tally, findings: int) -> None:
    """Judge inputs; findings go through the pipe, as lines of index and sentence."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (CEILING, limit))
    for index in range(first, end):
        tally[0] = index
        subject = made(seed, kind, index)
        path = os.path.join(folder, "f" + subject.suffix)
        with open(path, "wb") as stream:
            stream.write(subject.content)
        accepted, wrong = judge(USES[subject.use], path, valid=subject.valid)
        tally[1 if accepted else 2] += 1
        if wrong:
            os.write(findings, (json.dumps([index, wrong])[:4000] + "\n").encode())
    tally[0] = end


def _ended(child: int, tally: Tally) -> str:
    """Wait for a child: empty if it ended well, else what happened to it."""
    at, since = tally[0], time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if os.WIFSIGNALED(status):
                return f"the process died by {signal.Signals(os.WTERMSIG(status)).name}"
            return f"the process ended with {os.WEXITSTATUS(status)}" if status else ""
        if tally[0] != at:
            at, since = tally[0], time.monotonic()
        elif time.monotonic() - since > HANG:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"no end after {HANG:.0f} s"
        time.sleep(0.05)


def run(
    seed: int, kind: str, count: int, *, batch: int = 2000
) -> tuple[dict[str, Any], list[tuple[int, str]]]:
    """Judge the first `count` inputs of a kind: what a record says of it, and the findings as (index, sentence)."""
    found: list[tuple[int, str]] = []
    tally, began, index = Tally(), time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        while index < count:
            tally[0] = index
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    _child(seed, kind, index, min(index + batch, count), folder, tally, log.fileno())
                    status = 0
                except Exception:
                    traceback.print_exc()
                finally:
                    os._exit(status)
            end = _ended(child, tally)
            if end:
                found.append((tally[0], end))
            index = tally[0] + (1 if end else 0)
        log.seek(0)
        found += [(at, said) for at, said in map(json.loads, log.read().decode().splitlines())]
    seconds = round(time.monotonic() - began, 1)
    row = {"kind": kind, "inputs": count, "accepted": tally[1], "refused": tally[2], "findings": len(found)}
    return {"bench": "fuzz", **row, "seed": seed, "seconds": seconds}, sorted(found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1_000_000, help="inputs of all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--only", metavar="KIND:INDEX", help="judge this one input in this process")
    parser.add_argument("--keep", metavar="FILE", help="with --only: write the input")
    parser.add_argument("--show", type=int, default=20, help="findings of a kind to show")
    _records.add_arguments(parser)
    return parser.parse_args()


def _one(given: argparse.Namespace) -> int:
    kind, _, index = given.only.partition(":")
    subject = made(given.seed, kind, int(index))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(given.keep or Path(folder) / ("f" + subject.suffix))
        path.write_bytes(subject.content)
        print(subject.content[:3000])
        accepted, wrong = judge(USES[subject.use], str(path), valid=subject.valid)
    print("accepted" if accepted else "refused", wrong)
    return 1 if wrong else 0


def main() -> int:
    given = _arguments()
    if given.only:
        return _one(given)
    kinds = given.kinds.split(",")
    for kind in kinds:
        if kind not in KINDS:
            sys.exit(f"unknown kind '{kind}'; known: {', '.join(KINDS)}")
    if given.record:
        _records.check(given.record)
    at = given.commit or _records.commit()
    command = f"python tools/fuzz_readers.py --count {given.count} --seed {given.seed} --kinds {given.kinds}"
    shares, bad = sum(KINDS[kind][1] for kind in kinds), 0
    for kind in kinds:
        row, found = run(given.seed, kind, max(1, given.count * KINDS[kind][1] // shares))
        bad += len(found)
        print(json.dumps(row), flush=True)
        for index, said in found[: given.show]:
            print(f"  {kind}:{index} {said}", flush=True)
        if given.record:
            _records.append(given.record, [row], command, at)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
