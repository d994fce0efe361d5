"""``sordino bench faults``: injected faults in solves: do all survivors say the same in time?"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import queue
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import _options, _placement
from .._native import core
from ..cli import display
from ..cli.common import Parser, number, whole_number
from ..cli.processes import say
from ..errors import BadArgument, Unsupported
from ..report.record import json_ready
from . import _records
from ._fault_worker import LAST_WORD

SUMMARY = "injected faults: whether all survivors end with the same cause, and how late"

#: A lost signal, a rank that comes back after the timeout, one that throws, one without memory, a device whose kernel
#: fails, a process that dies.
KINDS = ("dropped", "late", "throws", "memory", "device", "killed")

#: After these a process is of no use, so that each trial has its own.
LAST = ("device", "killed")

#: These may be missed by nobody, as a lost signal of a rank whose values all have; the solve was verified.
QUIET = ("dropped", "late")

#: After so many seconds beyond the timeout a fault counts as reported too late, and a process as hanging.
LATE, HANGS = 2.0, 60.0


def main(argv: Sequence[str]) -> int:
    """Run the campaign, print a table, append a record; return 0, or 4 if a fault was not reported as it must be."""
    parser = Parser("bench faults", SUMMARY)
    add_arguments(parser)
    given = parser.read(argv)
    campaign = campaign_of(given)
    if given.record:
        _records.check(given.record)
    rows = [_summary(campaign, kind, _outcomes(campaign, kind)) for kind in campaign["kinds"]]
    if given.json:
        say(json.dumps(json_ready({"bench": "faults", "measured": rows}), allow_nan=False))
    else:
        _show(campaign, rows)
    if given.record:
        command = shlex.join(["sordino", "bench", "faults", *argv])
        _records.append(given.record, rows, command, given.commit or _records.commit())
    return 0 if all(row["as_it_must_be"] == row["trials"] for row in rows) else 4


def add_arguments(parser: Parser) -> None:
    """What a campaign is asked for."""
    parser.add_argument("--kinds", default="", metavar="A,B", help=f"of {', '.join(KINDS)} (default: all)")
    parser.add_argument("--trials", default="200", metavar="N", help="of each kind (default 200)")
    parser.add_argument(
        "--processes", default="1", metavar="N", help="1, or more over MPI, started here (default 1)"
    )
    parser.add_argument("--engine", default="host", metavar="NAME", help="host or cuda (default host)")
    parser.add_argument(
        "--ranks", default="", metavar="N", help="of a process (default 3, over MPI 2; cuda: 2, over MPI 1)"
    )
    parser.add_argument("--devices", default="", metavar="0-3", help="cuda: which (default: all there are)")
    parser.add_argument("--timeout", default="0.5", metavar="X", help="of a wait, in seconds (default 0.5)")
    parser.add_argument("--seed", default="1", metavar="N", help="of where and when (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _records.add_arguments(parser)


def campaign_of(given: Any) -> dict[str, Any]:
    """The campaign that is asked for; what cannot be is refused with one sentence."""
    processes, engine = whole_number(given.processes, "--processes"), given.engine
    if engine not in ("host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for injected faults, not '{engine}'")
    possible = [
        kind
        for kind in KINDS
        if (processes > 1 or kind != "killed") and (engine == "cuda" or kind != "device")
    ]
    kinds = [word for word in given.kinds.split(",") if word] or possible
    for kind in kinds:
        if kind not in possible:
            raise BadArgument(
                f"faults of {processes} process(es) on engine {engine} are {', '.join(possible)}, not '{kind}'"
            )
    ranks = {("host", True): 3, ("host", False): 2, ("cuda", True): 2, ("cuda", False): 1}
    campaign = {
        "kinds": kinds,
        "engine": engine,
        "processes": processes,
        "ranks": whole_number(given.ranks or str(ranks[engine, processes == 1]), "--ranks"),
        "trials": whole_number(given.trials, "--trials"),
        "timeout": number(given.timeout, "--timeout"),
        "seed": whole_number(given.seed, "--seed"),
    }
    if min(campaign["trials"], campaign["ranks"], processes) < 1 or campaign["timeout"] <= 0:
        raise BadArgument("trials, ranks and processes must be at least 1, and the timeout above 0")
    if campaign["ranks"] * processes < 2:
        raise BadArgument("a fault needs a survivor: 2 ranks at least")
    if processes > 1 and not (core().build_info()["mpi"] and _launcher()):
        raise Unsupported("several processes need a build with MPI, and mpiexec")
    campaign["lanes"] = _lanes(campaign, given.devices)
    return campaign


def _lanes(campaign: dict[str, Any], devices: str) -> list[str]:
    """The devices of each trial of those that run beside each other. Threads of the host have none."""
    if campaign["engine"] == "host":
        if devices:
            raise BadArgument("--devices is for engine cuda")
        return [""] * (os.cpu_count() or 1)
    chosen = _options.device_list(devices) if devices else None
    _placement.check_devices(chosen)
    numbers = chosen.split(",") if chosen else [str(d) for d in range(len(core().devices()["devices"]))]
    needed = campaign["ranks"] * campaign["processes"]
    if len(numbers) >= needed:
        return [",".join(numbers[k : k + needed]) for k in range(0, len(numbers) - needed + 1, needed)]
    if campaign["processes"] > 1:
        raise Unsupported(
            f"{campaign['processes']} processes of {campaign['ranks']} need {needed} GPUs, and here are {len(numbers)}"
        )
    return [",".join(numbers)]  # whose ranks share them


def _launcher() -> str | None:
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def _outcomes(campaign: dict[str, Any], kind: str) -> list[list[dict[str, Any]]]:
    """[trial] what each surviving process says."""
    lanes: queue.SimpleQueue[str] = queue.SimpleQueue()
    for lane in campaign["lanes"]:
        lanes.put(lane)
    trials = campaign["trials"]
    if kind in LAST:
        shares = [1] * trials
    else:  # on the host one trial after the other: they take all cores
        beside = 1 if campaign["engine"] == "host" else min(trials, len(campaign["lanes"]))
        shares = [trials // beside + (k < trials % beside) for k in range(beside)]

    def run(seed: int, count: int) -> list[list[dict[str, Any]]]:
        lane = lanes.get()
        try:
            return _trials(campaign, kind, lane, seed, count)
        finally:
            lanes.put(lane)

    seeds = range(campaign["seed"], campaign["seed"] + len(shares))
    with concurrent.futures.ThreadPoolExecutor(len(campaign["lanes"])) as pool:
        return [outcomes for part in pool.map(run, seeds, shares) for outcomes in part]


def _trials(
    campaign: dict[str, Any], kind: str, devices: str, seed: int, count: int
) -> list[list[dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        limit = HANGS + count * (campaign["timeout"] + LATE + 1)
        words = [kind, seed, count, campaign["ranks"], campaign["timeout"], campaign["engine"], devices]
        words += [folder, limit]
        command = [sys.executable, "-m", "sordino.bench._fault_worker", *map(str, words)]
        if campaign["processes"] > 1:
            launch = [str(_launcher()), "--continuous", "--bind-to", "none"]
            command = [*launch, "-n", str(campaign["processes"]), *command]
        with contextlib.suppress(subprocess.TimeoutExpired):  # what is missing then counts as a hang
            ended = subprocess.run(command, timeout=limit + 10, capture_output=True, check=False, text=True)
            if not any(Path(folder).glob("*.jsonl")):  # as where a launcher has too few slots
                sys.stderr.write(
                    "nobody began: " + " ".join(ended.stderr.replace("-", "").split())[:200] + "\n"
                )
            elif ended.returncode != 0 and kind not in LAST:
                sys.stderr.write(f"{kind}: " + " ".join(ended.stderr.split())[-400:] + "\n")
        by_trial: list[list[dict[str, Any]]] = [[] for _ in range(count)]
        word = Path(folder, LAST_WORD)
        killed_s = float(word.read_text(encoding="utf-8")) if word.exists() else None
        for path in sorted(Path(folder).glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                outcome = json.loads(line)
                outcome["fault_s"] = killed_s or outcome["fault_s"]
                by_trial[outcome["number"]].append(outcome)
    return by_trial


def _summary(campaign: dict[str, Any], kind: str, by_trial: list[list[dict[str, Any]]]) -> dict[str, Any]:
    survivors = campaign["processes"] - (kind == "killed")
    delays, named, same, complete, good, missed_by_nobody = [], 0, 0, 0, 0, 0
    odd: list[list[dict[str, Any]]] = []  # trials that were not as they must be
    for trial, outcomes in enumerate(by_trial):
        if len(outcomes) != survivors:  # somebody hung, or nobody was killed
            odd.append(_show_odd(kind, trial, outcomes))
            continue
        complete += 1
        if kind in QUIET and all(outcome["status"] == "converged" for outcome in outcomes):
            missed_by_nobody += 1
            continue
        causes = {outcome["cause"] for outcome in outcomes}
        said = outcomes[0]["said"]
        agrees = (
            len(causes) == 1
            and all(outcome["said"] == said for outcome in outcomes)
            and said["rank"] is not None
        )
        delay = _delay(campaign, kind, outcomes)
        same += agrees
        named += said["seen_epoch"] is not None
        delays.append(delay)
        good += agrees and delay < LATE
        if not (agrees and delay < LATE):
            odd.append(_show_odd(kind, trial, outcomes))
    return {
        "bench": "faults", "engine": campaign["engine"],
        "transport": next((outcome["transport"] for outcomes in by_trial for outcome in outcomes), None),
        "kind": kind, "trials": len(by_trial), "processes": campaign["processes"],
        "ranks_of_a_process": campaign["ranks"],
        "timeout_s": campaign["timeout"], "seed": campaign["seed"], "ended": complete, "same_cause": same,
        "missed_by_nobody": missed_by_nobody,
        "with_epochs": named, "as_it_must_be": good + missed_by_nobody, "most_delay_s": max(delays, default=None),
        "odd": odd,
    }  # fmt: skip


def _show_odd(kind: str, trial: int, outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Say on stderr what the processes of a trial that was not as it must be have left, and return it."""
    said = [json.dumps(outcome) for outcome in outcomes] or ["nobody left a word"]
    sys.stderr.write("\n  ".join([f"{kind}, trial {trial}:", *said]) + "\n")
    return [{"trial": trial, **outcome} for outcome in outcomes] or [{"trial": trial}]


def _delay(campaign: dict[str, Any], kind: str, outcomes: list[dict[str, Any]]) -> float:
    """Seconds from when the fault had to be known to the end of the last survivor."""
    begins = [outcome["fault_s"] for outcome in outcomes if outcome["fault_s"] is not None]
    begin = begins[0] if begins else min(outcome["begin_s"] for outcome in outcomes)
    waits = campaign["timeout"] if kind in ("dropped", "late", "killed") else 0.0
    return max(outcome["end_s"] for outcome in outcomes) - begin - waits


def _show(campaign: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    heads = (
        "fault",
        "trials",
        "all ended",
        "same cause",
        "not missed",
        "with epochs",
        "as it must be",
        "latest s",
    )
    keys = ("trials", "ended", "same_cause", "missed_by_nobody", "with_epochs", "as_it_must_be")
    cells = []
    for row in rows:
        latest = "-" if row["most_delay_s"] is None else f"{row['most_delay_s']:.3f}"
        cells.append([row["kind"], *(str(row[key]) for key in keys), latest])
    where = (
        f"engine {campaign['engine']}, {campaign['processes']} x {campaign['ranks']} ranks, "
        f"timeout {campaign['timeout']} s"
    )
    display.show_table(
        f"Injected faults, {where}; 'latest': after the timeout, where one is waited for", heads, cells
    )
