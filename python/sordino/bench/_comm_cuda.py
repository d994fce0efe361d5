"""What messages between GPUs cost, from inside kernels: the part of ``sordino bench comm`` for engine cuda.

Under an MPI launcher the processes measure together what goes between them; ``--ranks`` are then the GPUs of
all of them.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any

from .._native import core, translated
from .._options import specs
from .._wheels import library
from ..cli import display
from ..cli.common import whole_number, whole_numbers
from ..cli.processes import world
from ..errors import BadArgument, DeviceError, PeerFailed, SordinoError, suggestion

#: What each measurement is, and what it is to reach; the keys are the core's names.
TITLES = {
    "all-reduce": "all-reduce inside one kernel, each needing the one before",
    "tail-to-head": "reduction from one kernel's tail to the next one's head, in a replayed graph",
    "ping-pong": "a value from kernel to kernel",
    "litmus": "16-byte packets seen half written",
    "put": "large messages from one GPU to another",
    "all-gather": "all-gather; bytes are those of the gathered whole",
    "nccl-all-reduce": "NCCL's all-reduce, each needing the one before",
    "scopes": "put and signal by one thread, warp or block",
    "host": "between host and device",
    "messages": "messages of the engine's programs, and the kernels that write and read them; GB/s in one direction",
    "broadcast": "one rank's rows to all, by the engine's programs; the next one when all have read",
    "exchange-paths": "exchange paths of the paper on HACApK, and ours; bytes and GB/s are those of the whole vector",
    "events": "a step of a chain of kernels and exchanges, by events and by synchronisations",
    "overlap": "communication behind work: an iteration of a loop on the engine",
    "collectors": "who adds up the sums of a kernel's blocks: an iteration of a loop, and when what happens in it",
    "loops": "ways to run a loop: an iteration of conjugate gradients on a cube; bytes are those of a halo",
    "device-tasks": "a caller's kernel among a loop's commands: an iteration on one GPU",
}


def add_arguments(parser: argparse.ArgumentParser, host_kinds: Sequence[str]) -> None:
    """What to measure, of `host_kinds` or, on engine cuda, of others; and the options that only that one has."""
    parser.add_argument(
        "--what",
        default="",
        metavar="A,B",
        help=f"{', '.join(host_kinds)} (the first is the default); cuda: of {', '.join(TITLES)} (default: all)",
    )
    parser.add_argument(
        "--epochs", default="", metavar="N", help="cuda: samples of each (default: enough for a steady p99)"
    )
    parser.add_argument("--devices", default="", metavar="0-3", help="cuda: which (default: all there are)")
    parser.add_argument(
        "--transport",
        default="",
        metavar="A,B",
        help="cuda: what carries messages, as of a solve, one after the other (default auto); "
        "for measurements that take any way",
    )
    parser.add_argument(
        "--nccl",
        default="",
        metavar="FILE",
        help="cuda: a libnccl.so.2 to compare with (default: looked for)",
    )


def measure(given: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of each measurement, and show its table.

    One that fails does not keep the others from being made; the first failure is raised at the end.
    """
    processes = world().size
    transports = _transports(given.transport, processes)
    wanted = _wanted(given.what, transports, processes)
    ranks = _ranks(given.ranks, processes)
    epochs = whole_number(given.epochs, "--epochs") if given.epochs else 0
    if not 0 <= epochs < 2**31:
        raise BadArgument("epochs must be from 0 to 2^31")
    # Without NVLink's multicast, which our own kernels do not use either.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    failures: list[SordinoError] = []
    nccl = given.nccl or library("nccl", "libnccl.so.2")
    # A core without CUDA says so.
    for transport, name in itertools.product(transports, wanted or ["all-reduce"]):
        try:
            with translated():
                found = core().measure_comm(name, given.devices, ranks, epochs, nccl, transport)
        except (DeviceError, PeerFailed) as error:
            if processes > 1:  # the others may be anywhere
                raise
            failures.append(error)
            if not given.json:
                display.show_table(TITLES.get(name, name), ("failed",), [[str(error)]])
            continue
        rows = [{"bench": "comm", "engine": "cuda", "processes": processes, **row} for row in found]
        if not given.json:
            _show(name, rows)
        yield rows
    if failures:
        raise failures[0]


def _transports(text: str, processes: int) -> list[str]:
    """What carries messages: of the choices of a solve."""
    choices = specs()["transport"].choices or ()
    words = [word for word in text.split(",") if word]
    for word in words:
        if word not in choices:
            near = suggestion(word, choices) or f"; known: {', '.join(choices)}"
            raise BadArgument(f"unknown transport '{word}'{near}")
        if word.startswith("mpi") and processes == 1:
            raise BadArgument(f"--transport {word} is between processes: start several, as in mpiexec -n 2")
    return words or ["auto"]


def _wanted(text: str, transports: list[str], processes: int) -> list[str]:
    """The measurements named, or all that can be made here over these transports."""
    chosen = transports != ["auto"]
    possible = core().comm_measurements(False)
    by_any_way = core().comm_measurements(True)
    words = [word for word in text.split(",") if word]
    for word in words:
        if possible and word not in possible:
            near = suggestion(word, possible) or f"; known: {', '.join(possible)}"
            where = " between processes" if processes > 1 and word in TITLES else ""
            raise BadArgument(f"unknown measurement '{word}'{where}{near}")
        if possible and chosen and word not in by_any_way:
            raise BadArgument(
                f"'{word}' has its own ways between GPUs; --transport is for {' and '.join(by_any_way)}"
            )
    return words or (by_any_way if chosen else possible)


def _ranks(text: str, processes: int) -> list[int]:
    """The numbers of GPUs, of all processes together."""
    ranks = whole_numbers(text or "1,2,4", "--ranks")
    if not ranks or min(ranks) < 1:
        raise BadArgument("ranks must be at least 1")
    if text and any(number % processes for number in ranks):
        raise BadArgument(
            f"--ranks {text}: on engine cuda these are the GPUs of all processes, equally many in each of {processes}"
        )
    return [number for number in ranks if number % processes == 0]


def _show(name: str, rows: list[dict[str, Any]]) -> None:
    def number(value: float, scale: float, digits: int) -> str:
        return f"{value * scale:,.{digits}f}" if value else "-"

    cells = [
        [
            row["way"], str(row["ranks"]), f"{row['bytes']:,}", number(row["median_s"], 1e6, 2),
            number(row["p99_s"], 1e6, 2), number(row["bytes_per_s"], 1e-9, 1), f"{row['samples']:,}",
            (f"{row['violations']} violations, " if row["violations"] >= 0 else "") + row["remark"],
        ]
        for row in rows
    ]  # fmt: skip
    heads = ("", "ranks", "bytes", "median us", "p99 us", "GB/s", "samples", "")
    display.show_table(TITLES.get(name, name), heads, cells)
