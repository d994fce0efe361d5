"""The report as one HTML page that needs no network and nothing installed."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import Any

from . import convergence, timeline
from .record import Report
from .words import count, duration, kernel_rows, ledger_sentences, quantity, sentence

_TIMES = {
    "time_s": "time",
    "exposed_reduction_s": "reductions, exposed",
    "hidden_reduction_s": "reductions, hidden",
    "exposed_halo_s": "halos, exposed",
    "imbalance_s": "imbalance",
}
_COUNTS = {
    "commands": "commands",
    "reductions": "reductions",
    "reduced_values": "values reduced",
    "messages": "messages",
    "bytes_sent": "bytes sent",
    "copied_bytes": "bytes copied from and to the caller's memory",
    "memory_bytes": "bytes of memory traffic",
    "flops": "floating-point operations",
}


def render(report: Report, *, title: str = "", command: str = "", notes: tuple[str, ...] = ()) -> str:
    """Return the page.

    Parameters
    ----------
    report : Report
    title : str
        What was solved; made from the report's problem if empty.
    command : str
        The command line, to repeat the run.
    notes : tuple of str
        What the user was told, such as that no right-hand side was given.
    """
    title = title or str(report.problem.get("name") or f"A system of {report.problem.get('n', 0):,} unknowns")
    sections = (
        _header(report, title, notes),
        _convergence(report),
        _timeline(report),
        _ledger(report),
        _kernels(report),
        _run(report, command),
    )
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}: {escape(report.status)}</title><style>{style}</style></head>"
        f"<body><main>{''.join(sections)}<footer>Written by Sordino. A result is called converged "
        "only after its residual was recomputed from x.</footer></main></body></html>\n"
    )


def _header(report: Report, title: str, notes: tuple[str, ...]) -> str:
    mood = "good" if report.converged else "bad"
    status = "Solved and verified" if report.converged else f"Not solved: {report.status.replace('_', ' ')}"
    facts = {
        "unknowns": f"{report.problem.get('n', 0):,}",
        "stored entries": f"{report.problem.get('nnz', 0):,}",
        "iterations": f"{report.iterations:,}",
        "true residual": f"{report.true_residual:.2e}",
        "time to solve": duration(report.seconds),
        "setup": duration(report.setup_seconds),
        "engine": str(report.options.get("engine", "")),
        "ranks": _ranks(report),
    }
    tiles = "".join(
        f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in facts.items()
    )
    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f'<header><p class="eyebrow">{escape(_method(report))}</p><h1>{escape(title)}</h1>'
        f'<p class="status {mood}">{escape(status)}</p>'
        f'<p class="reason">{escape(sentence(report.reason))}</p>{said}</header>'
        f'<dl class="facts">{tiles}</dl>'
    )


def _method(report: Report) -> str:
    solver, precond = report.options.get("solver", "solver"), report.options.get("precond", "none")
    return f"{solver} with {'no' if precond in (None, 'none') else precond} preconditioner"


def _ranks(report: Report) -> str:
    ranks, processes = report.options.get("ranks"), int(report.problem.get("processes", 1))
    return f"{processes} x {ranks}" if processes > 1 else str(ranks)


def _section(heading: str, content: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>{content}</section>" if content else ""


def _convergence(report: Report) -> str:
    picture = convergence.plot(report)
    if not picture:
        return ""
    mood = "good" if report.converged else "bad"
    legend = (
        '<ul class="legend"><li><i class="line"></i>relative residual of the recurrence</li>'
        f'<li><i class="dot {mood}"></i>residual recomputed from x: {report.true_residual:.2e}</li></ul>'
    )
    return _section("Convergence", picture + legend)


def _timeline(report: Report) -> str:
    drawn = timeline.draw(report)
    if drawn is None:
        return ""
    legend = "".join(
        f'<li><i class="k-{kind}"></i>{escape(timeline.KINDS[kind])}</li>' for kind in drawn.kinds
    )
    return _section(
        "Timeline",
        f'<p class="caption">{escape(drawn.caption)}</p><div class="scroll">{drawn.picture}</div>'
        f'<ul class="legend">{legend}</ul>',
    )


def _ledger(report: Report) -> str:
    words = "".join(f"<li>{escape(said)}</li>" for said in ledger_sentences(report))
    rows = []
    for key, label in {**_COUNTS, **_TIMES}.items():
        if key not in report.ledger:
            continue
        value = float(report.ledger[key])
        shown = duration(value) if key in _TIMES else _whole(key, value)
        each = value / max(report.iterations, 1)
        rows.append((label, shown, duration(each) if key in _TIMES else _whole(key, each)))
    table = _table(("", "in all", "an iteration"), rows)
    return _section("Communication and work", f'<ul class="words">{words}</ul>{table}')


def _whole(key: str, value: float) -> str:
    if "bytes" in key:
        return quantity(value, "B")
    return quantity(value, "flop") if key == "flops" else f"{value:,.1f}".removesuffix(".0")


def _kernels(report: Report) -> str:
    rows = [
        (
            escape(row["name"]),
            f"{row['calls']:,}",
            duration(row["seconds"]),
            f'<span class="share" style="width:{80 * row["share"]:.0f}px"></span>{100 * row["share"]:.0f} %',
            f"{row['bandwidth'] / 1e9:,.1f}",
            f"{row['rate'] / 1e9:,.1f}",
        )
        for row in kernel_rows(report)
        if row["seconds"] > 0
    ]
    if not rows:
        return ""
    table = _table(("kernel", "calls", "time", "share", "GB/s", "GFLOP/s"), rows, escaped=True, class_="wide")
    return _section("Kernels", f'<div class="scroll">{table}</div>')


def _run(report: Report, command: str) -> str:
    pairs: list[tuple[str, str]] = [("command", command)] if command else []
    if report.machine:
        pairs += [(key, str(value)) for key, value in report.machine.items() if not isinstance(value, dict)]
    facts = _table(("", ""), pairs, class_="pairs") if pairs else ""
    options = _table(("", ""), [(key, str(value)) for key, value in report.options.items()], class_="pairs")
    label = count(len(report.options), "option")
    return _section("This run", f"{facts}<details><summary>All {label} in force</summary>{options}</details>")


def _table(heads: tuple[str, ...], rows: list[Any], *, escaped: bool = False, class_: str = "") -> str:
    show = str if escaped else (lambda cell: escape(str(cell)))
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads) if any(heads) else ""
    body = "".join("<tr>" + "".join(f"<td>{show(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<table class="{class_}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
