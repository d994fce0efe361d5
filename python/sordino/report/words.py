"""Numbers and ledgers in words, shared by the terminal and the HTML report."""

from __future__ import annotations

import os
from typing import Any

from .. import machines
from .intervals import Interval, common, merged, total
from .record import Report

_PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "\N{GREEK SMALL LETTER MU}"), (1e-9, "n"))
#: With fewer iterations than these, start-up and verification are much of what was counted.
_FEWEST = 10
_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def duration(seconds: float) -> str:
    """``1.25 ms`` for 0.00125."""
    if seconds == 0:
        return "0 s"
    for factor, prefix in _PREFIXES:
        if abs(seconds) >= 0.9995 * factor:
            return (
                f"{seconds / factor:.3g} {prefix}s" if factor < 1 or seconds < 999.5 else f"{seconds:,.0f} s"
            )
    return f"{seconds / 1e-9:.2g} ns"


def quantity(value: float, unit: str) -> str:
    """``49.2 kB`` for 49152 and ``B``."""
    for factor, prefix in _SCALES:
        if abs(value) >= 0.9995 * factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def count(value: float, one: str, many: str | None = None) -> str:
    """``1 message``, ``2 messages``, ``6.5 messages``."""
    shown = f"{value:,.1f}".removesuffix(".0")
    return f"{shown} {one if shown == '1' else many or one + 's'}"


def percent(part: float, whole: float) -> str:
    """``96 %``; never 100 % or 0 % for what is not all or nothing."""
    if whole <= 0:
        return "0 %"
    share = 100 * part / whole
    if 0 < share < 1:
        return "less than 1 %"
    if 99 < share < 100:
        return "more than 99 %"
    return f"{share:.0f} %"


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    text = text.strip()
    return text and text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def taken(solver: str, reason: str) -> str:
    """Which method ``solver="auto"`` has taken, and why; nothing where it was asked for, or nobody has said."""
    return "" if reason in ("", "asked for") else f"The solver is {solver}: {reason}."


def preconditioned(precond: str, reason: str) -> str:
    """Which preconditioner ``precond="auto"`` has taken, and why; nothing where it was asked for, or nobody chose."""
    return "" if reason in ("", "asked for") else f"The preconditioner is {precond}: {reason}."


def at_once(s: int, reason: str) -> str:
    """How many iterations ``s="auto"`` has cbcg take at once, and why; nothing where it was asked for."""
    return "" if reason in ("", "asked for") else f"It takes {count(s, 'iteration')} at once: {reason}."


def stored(name: str, reason: str) -> str:
    """How a matrix lies in memory, and why; nothing where nobody has said why, as of a function."""
    ways = {"csr": "rows", "dia": "diagonals", "symdia": "symmetric diagonals", "constant": "kinds of rows"}
    return f"The matrix is stored by {ways[name]} ({name}): {reason}." if reason else ""


def one_level(report: Report) -> str:
    """That multigrid has no levels to speak of, where that is so."""
    if not report.one_level:
        return ""
    rows = count(int(report.problem["n"]), "row is", "rows are")
    return f"There is one level: {rows} too few to coarsen, and the inverse is used."


def levelled(report: Report) -> str:
    """How often levels of multigrid were made, and why the last time; nothing where the matrix was never another."""
    if report.levels_made < 2 and not report.levels_reused:
        return one_level(report)
    made = "once" if report.levels_made == 1 else f"{report.levels_made:,} times, the last time as"
    reused = f"; new values went through them {count(report.levels_reused, 'time')} since"
    why = "with the solver" if report.levels_made == 1 else report.levels_reason
    return f"The levels were made {made} {why}{reused if report.levels_reused else ''}."


def recovered(report: Report) -> list[str]:
    """What was done where the recurrence led no further, a sentence for each step."""
    return [
        f"{step.kind} after {count(step.iteration, 'iteration')}, at {step.residual:.2e}: {step.why}"
        for step in report.recoveries
    ]


def verdict(report: Report) -> str:
    """One line for a human: what came out, how well, how fast."""
    residual = f"||b - A x|| / ||b|| = {report.true_residual:.2e}"
    work = f"{count(report.iterations, 'iteration')}, {duration(report.seconds)}"
    if report.converged:
        return f"Solved and verified: {residual} after {work}"
    return f"Not solved ({report.status.replace('_', ' ')}): {residual} after {work}"


def ledger_sentences(report: Report, each: str = "iteration") -> list[str]:
    """The ledger, whose counts are those of one rank, as sentences.

    Such as "2 reductions an iteration, 96 % of their time hidden", or, after few iterations, "7 reductions in all".
    `each` is what the report's iterations are.
    """
    ledger, (n, each) = report.ledger, share(report, each)
    said = [_reductions(report, n, each), _messages(report, n, each)]
    time = float(ledger.get("time_s") or report.seconds)
    exposed = float(ledger.get("exposed_reduction_s", 0)) + float(ledger.get("exposed_halo_s", 0))
    if time > 0 and (ledger.get("reductions") or ledger.get("messages")):
        said.append(
            f"{percent(exposed, time)} of the time went into communication that nothing hid"
            f"{': part of it is waiting for a core' if _cores_are_taken(report) else ''}"
        )
    if time > 0 and float(ledger.get("imbalance_s", 0)) > 0.01 * time:
        said.append(
            f"ranks waited {percent(float(ledger['imbalance_s']), time)} of the time for slower ranks"
        )
    if ledger.get("memory_bytes") and time > 0:
        rate = quantity(float(ledger["memory_bytes"]) / time, "B/s")
        moved = quantity(float(ledger["memory_bytes"]) / n, "B")
        said.append(f"{moved} of memory traffic {each}, {rate} a rank")
    return [sentence for sentence in said if sentence]


def _cores_are_taken(report: Report) -> bool:
    """Whether ranks on every core of this machine share it with others, as its load of the last minute says."""
    if report.options.get("engine") != "host" or not hasattr(os, "getloadavg"):
        return False
    ranks = int(report.options.get("ranks") or 1) * int(report.problem.get("processes", 1))
    return ranks >= machines.cores() and os.getloadavg()[0] > (os.cpu_count() or 1)


def share(report: Report, each: str = "iteration") -> tuple[int, str]:
    """By what counts are divided, and what they then are of: iterations, or all, where the start is much of it."""
    if report.iterations < _FEWEST:
        return 1, "in all"
    return report.iterations, f"{'an' if each[0] in 'aeiou' else 'a'} {each}"


def _reductions(report: Report, n: int, each: str) -> str:
    ledger = report.ledger
    total = float(ledger.get("reductions", 0))
    if not total:
        return "no reductions"
    said = f"{count(_per_iteration(total, n), 'reduction')} {each}"
    hidden, exposed = float(ledger.get("hidden_reduction_s", 0)), float(ledger.get("exposed_reduction_s", 0))
    if hidden > 0 or (exposed > 0 and report.options.get("engine") == "model"):
        whose = "its" if said.startswith("1 reduction ") else "their"
        return said + f", {percent(hidden, hidden + exposed)} of {whose} time hidden"
    return said + _hidden(report, "reduction")


def _hidden(report: Report, kind: str) -> str:
    """What part of the time under way the rank of the ledger computed, where the trace has it: it alone knows that."""
    first = min((int(item["rank"]) for item in report.trace), default=0)

    def spans(*kinds: str) -> list[Interval]:
        return merged(
            (float(item["start_s"]), float(item["end_s"]))
            for item in report.trace
            if item["kind"] in kinds and int(item["rank"]) == first
        )

    under_way = spans(kind)
    if not under_way:
        return ""
    busy = common(under_way, spans("compute"))
    hidden = total(busy) - total(common(busy, spans("halo wait", "reduction wait")))
    return f", hidden for {percent(hidden, total(under_way))} of the time under way"


def _messages(report: Report, n: int, each: str) -> str:
    ledger = report.ledger
    messages = float(ledger.get("messages", 0))
    if not messages:
        return "no messages between ranks"
    size = quantity(float(ledger.get("bytes_sent", 0)) / n, "B")
    return (
        f"{count(_per_iteration(messages, n), 'message')} {each} from a rank to others, {size} together"
        f"{_carriers(ledger.get('carried') or {})}{_hidden(report, 'halo')}"
    )


def _carriers(carried: dict[str, Any]) -> str:
    """What brought them; shares of the bytes where several did."""
    total = sum(float(by["bytes"]) for by in carried.values())
    if len(carried) < 2 or not total:
        return "".join(f", by {name}" for name in carried)
    shares = [f"{percent(float(by['bytes']), total)} by {name}" for name, by in carried.items()]
    return ", " + " and ".join(shares)


def _per_iteration(total: float, n: int) -> float:
    """Start-up and verification add a few to the total; without those it is often a whole number."""
    whole, rest = divmod(total, n)
    return whole if whole and rest <= min(8, n / 2) else total / n


def kernel_rows(report: Report) -> list[dict[str, Any]]:
    """The kernels, the longest first: name, calls, seconds, share of all, bytes and flops a second."""
    kernels = report.ledger.get("kernels") or []
    total = sum(float(kernel["seconds"]) for kernel in kernels)
    rows = []
    for kernel in sorted(kernels, key=lambda item: -float(item["seconds"])):
        seconds = float(kernel["seconds"])
        rows.append(
            {
                "name": str(kernel["name"]),
                "calls": int(kernel["calls"]),
                "seconds": seconds,
                "share": seconds / total if total > 0 else 0.0,
                "bandwidth": float(kernel["bytes"]) / seconds if seconds > 0 else 0.0,
                "rate": float(kernel["flops"]) / seconds if seconds > 0 else 0.0,
            }
        )
    return rows
