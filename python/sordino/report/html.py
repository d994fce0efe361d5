"""The report as one HTML page that needs no network and nothing installed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

from . import convergence, timeline
from .kernels import kernel_section
from .levels import AROUND, by_level
from .pictures import Picture
from .record import Report
from .roof import Roof, roof_of
from .tables import scrolling, table
from .words import (
    at_once,
    count,
    duration,
    ledger_sentences,
    levelled,
    percent,
    preconditioned,
    quantity,
    recovered,
    sentence,
    share,
    stored,
    taken,
)

_TIMES = {
    "time_s": "time",
    "exposed_reduction_s": "reductions, exposed",
    "hidden_reduction_s": "reductions, hidden",
    "exposed_halo_s": "halos, exposed",
    "imbalance_s": "imbalance",
}
#: Left out where they are 0: real machines do not measure these times, and most solves copy nothing.
_IF_ANY = ("hidden_reduction_s", "imbalance_s", "copied_bytes")
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


def render(
    report: Report,
    *,
    title: str = "",
    command: str = "",
    notes: Sequence[str] = (),
    pictures: Sequence[Picture] = (),
    more: Sequence[str] = (),
    roof: Roof | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    report : Report
    title : str
        What was solved; made from the report's problem if empty.
    command : str
        The command line, to repeat the run.
    notes : sequence of str
        What the user was told, such as that no right-hand side was given.
    pictures : sequence of Picture
        Of the problem: a slice of a field, the pattern of a matrix.
    more : sequence of str
        Sections of the problem's own, of :func:`section`, behind its pictures.
    roof : Roof, optional
        What the machine could do at most; that of the described machine if not given.
    """
    title = title or str(report.problem.get("name") or f"A system of {report.problem.get('n', 0):,} unknowns")
    sections = (
        _header(report, title, notes),
        convergence_section(report),
        problem_section(pictures),
        *more,
        timeline_section(report),
        levels_section(report),
        ledger_section(report),
        section("Kernels", kernel_section(report, roof or roof_of(report))),
        run_section(report, command),
    )
    return page(f"{title}: {report.status}", sections)


def page(title: str, sections: Sequence[str]) -> str:
    """The whole page around its sections."""
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body><main>{''.join(sections)}<footer>Written by Sordino. A result is called converged "
        "only after its residual was recomputed from x.</footer></main></body></html>\n"
    )


def _header(report: Report, title: str, notes: Sequence[str]) -> str:
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
    said = [sentence(report.reason), *notes]
    return header(_method(report), title, status, report.converged, said, facts)


def header(
    eyebrow: str, title: str, status: str, good: bool, said: Sequence[str], facts: dict[str, str]
) -> str:
    """What was done, how it ended, some sentences, and tiles with the facts that one looks for first."""
    tiles = "".join(
        f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in facts.items()
    )
    return (
        f'<header><p class="eyebrow">{escape(eyebrow)}</p><h1>{escape(title)}</h1>'
        f'<p class="status {"good" if good else "bad"}">{escape(status)}</p>'
        + "".join(f'<p class="reason">{escape(line)}</p>' for line in said if line)
        + f'</header><dl class="facts">{tiles}</dl>'
    )


def _method(report: Report) -> str:
    solver, precond = report.options.get("solver", "solver"), report.options.get("precond", "none")
    return f"{solver} with {'no' if precond in (None, 'none') else precond} preconditioner"


def _ranks(report: Report) -> str:
    ranks, processes = report.options.get("ranks"), int(report.problem.get("processes", 1))
    return f"{processes} x {ranks}" if processes > 1 else str(ranks)


def section(heading: str, content: str) -> str:
    """A heading with what belongs below it; nothing where there is nothing."""
    return f"<section><h2>{escape(heading)}</h2>{content}</section>" if content else ""


def convergence_section(report: Report) -> str:
    """The residual over the iterations, and what was recomputed at the end."""
    picture = convergence.plot(report)
    if not picture:
        return ""
    mood = "good" if report.converged else "bad"
    recoveries = '<li><i class="mark"></i>recovery, as told below</li>' if report.recoveries else ""
    legend = (
        '<ul class="legend"><li><i class="line"></i>relative residual of the recurrence</li>'
        f'<li><i class="dot {mood}"></i>residual recomputed from x: {report.true_residual:.2e}</li>'
        f"{recoveries}</ul>"
    )
    steps = "".join(f"<li>{escape(sentence(said))}</li>" for said in recovered(report))
    return section("Convergence", picture + legend + (steps and f'<ul class="words">{steps}</ul>'))


def problem_section(pictures: Sequence[Picture]) -> str:
    """The problem's own pictures."""
    figures = "".join(
        f"<figure>{picture.drawing}<figcaption><h3>{escape(picture.heading)}</h3>{escape(picture.caption)}"
        "</figcaption></figure>"
        for picture in pictures
    )
    return section("The problem", figures and f'<div class="figures of-{len(pictures)}">{figures}</div>')


def timeline_section(report: Report) -> str:
    """What ranks did and waited for in a part of the run, with a legend of what occurs."""
    drawn = timeline.draw(report)
    if drawn is None:
        return ""
    legend = "".join(
        f'<li><i class="k-{kind}"></i>{escape(timeline.KINDS[kind])}</li>' for kind in drawn.kinds
    )
    return section(
        "Timeline",
        f'<p class="caption">{escape(drawn.caption)}</p>{scrolling(drawn.picture, "timeline")}'
        f'<ul class="legend">{legend}</ul>',
    )


def levels_section(report: Report) -> str:
    """Where the time of an iteration with a multigrid cycle goes, by a rank in the middle of those that are traced."""
    ranks = sorted({int(span["rank"]) for span in report.trace})
    at_once = int(report.options.get("s", 1)) if report.options.get("solver") == "cbcg" else 1
    rank = ranks[len(ranks) // 2] if ranks else 0
    levels = by_level(report.trace, rank, at_once)
    if len(levels) < 2:
        return ""
    whole = sum(level.seconds for level in levels)
    rows = [
        (
            "around the cycle" if level.place == AROUND else f"{level.place}",
            f"{level.commands:.1f}".removesuffix(".0"),
            *map(
                duration,
                (level.seconds, level.halo_wait_s, level.hidden_halo_s, level.reduction_wait_s,
                 level.hidden_reduction_s),
            ),
            percent(level.seconds, whole),
        )
        for level in levels
    ]  # fmt: skip
    heads = ("level", "commands", "time", "halos exposed", "hidden", "sums exposed",
             "hidden", "of the time")  # fmt: skip
    said = f"An average iteration of rank {rank}, of those that are traced."
    return section(
        "Levels",
        f'<p class="caption">{escape(said)}</p>{scrolling(table(heads, rows), "levels of the cycle")}',
    )


def ledger_section(report: Report, each: str = "iteration") -> str:
    """The ledger in words and as a table; `each` is what the report's iterations are."""
    words = "".join(f"<li>{escape(said)}</li>" for said in ledger_sentences(report, each))
    n, head = share(report, each)
    rows: list[tuple[str, ...]] = []
    for key, label in {**_COUNTS, **_TIMES}.items():
        if key not in report.ledger:
            continue
        value = float(report.ledger[key])
        if value == 0 and key in _IF_ANY:
            continue
        shown = duration(value) if key in _TIMES else _whole(key, value)
        part = duration(value / n) if key in _TIMES else _whole(key, value / n)
        rows.append((label, shown, part) if n > 1 else (label, shown))
    counts = table(("", "in all", head) if n > 1 else ("", head), rows)
    caption = '<p class="caption">Of one rank, from the first command to the last.</p>'
    return section("Communication and work", f'<ul class="words">{words}</ul>{caption}{counts}')


def _whole(key: str, value: float) -> str:
    if "bytes" in key:
        return quantity(value, "B")
    return quantity(value, "flop") if key == "flops" else f"{value:,.1f}".removesuffix(".0")


def run_section(report: Report, command: str) -> str:
    """How to do it again: the command, the described machine, the options."""
    said = _machine(report.machine) if report.machine else ""
    for why in (
        taken(report.options.get("solver", ""), report.solver_reason),
        preconditioned(report.options.get("precond", ""), report.precond_reason),
        at_once(report.options.get("s", 1), report.s_reason),
        stored(report.options.get("storage", ""), report.storage_reason),
        levelled(report),
    ):
        said += f"<p>{escape(why)}</p>" if why else ""
    return command_section(command, said, report.options)


def command_section(command: str, said: str, options: dict[str, Any]) -> str:
    """The command, what is said of the run, as HTML, and all options in force."""
    line = f'<pre class="command">{escape(command)}</pre>' if command else ""
    rows = table(("option", "value"), [(key, str(value)) for key, value in options.items()], class_="pairs")
    label = count(len(options), "option")
    return section(
        "This run", f"{line}{said}<details><summary>All {label} in force</summary>{rows}</details>"
    )


def _machine(machine: dict[str, Any]) -> str:
    """The described machine: its name and numbers, each with where it comes from."""
    sources = machine.get("sources") or {}
    rows = [
        (key, f"{value:g}", str(sources.get(key, "")))
        for key, value in machine.items()
        if isinstance(value, (int, float))
    ]
    shown = scrolling(
        table(("in SI units", "", "where it comes from"), rows, class_="pairs"), "numbers of the machine"
    )
    description = escape(sentence(str(machine.get("description", ""))))
    name = escape(str(machine.get("name", "")))
    return (
        f"<p>Times are those of the described machine <b>{name}</b>. {description}</p>"
        f"<details><summary>Its {len(rows)} numbers</summary>{shown}</details>"
    )
