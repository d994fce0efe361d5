"""Reports: words, pictures, one self-contained page, and the trace."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import sordino
from sordino.report import convergence, html, svg, timeline, words
from sordino.report.record import json_ready


@pytest.fixture
def report(fake_core, laplacian):
    A = laplacian(6)
    return sordino.solve(A, A @ np.ones(216), rtol=1e-9, ranks=2, trace=True, time_commands=True).report


class Page(HTMLParser):
    """Checks that elements nest, and collects tags, texts and addresses."""

    VOID = ("meta", "br", "hr", "img", "link", "input")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.links = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [
            value
            for key, value in attrs
            if key in ("src", "href", "xlink:href", "action")
            and not value.startswith("data:image/png;base64,")
        ]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_is_whole_and_needs_no_network(report):
    text = html.render(report, title="A problem", command="sordino poisson 6 6 6", notes=("b = A*1",))
    page = Page(text)
    assert page.links == [] and "@import" not in text and "url(" not in text and "script" not in page.tags
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    said = " ".join(page.texts)
    for part in (
        "A problem", "Solved and verified", "Convergence", "Timeline", "Communication and work", "Kernels",
        "2 reductions an iteration, 96 % of their time hidden", "apply <A> & dot", "waiting for a reduction (exposed)",
        "sordino poisson 6 6 6", "b = A*1", "GB/s",
    ):  # fmt: skip
        assert part in said, part
    assert page.tags.count("svg") == 5  # convergence and roofline at both widths, and the timeline
    for part in (
        "viewport",
        "prefers-color-scheme: dark",
        "@media print",
        "@media screen and (max-width: 600px)",
    ):
        assert part in text


def test_names_cannot_break_the_page(report):
    text = html.render(report, title="<script>alert(1)</script>", command="a && b <c>")
    assert "<script" not in text and "&lt;script&gt;" in text


def test_a_failed_solve_says_so_at_the_top(fake_core, laplacian):
    A = laplacian(6)
    failed = sordino.solve(A, A @ np.ones(216), rtol=1e-12, maxiter=3, on_failure="return").report
    said = " ".join(Page(html.render(failed)).texts)
    assert "Not solved: max iterations" in said and "Timeline" not in said


@pytest.mark.parametrize(
    "history", [[], [0.0], [1.0], [np.nan, np.inf], [1.0, 0.0, 1e-300, np.nan], np.ones(5000)]
)
def test_odd_histories_draw_something_or_nothing(report, history):
    from dataclasses import replace

    odd = replace(
        report, history=np.asarray(history, dtype=float), iterations=len(history), true_residual=0.0
    )
    Page(html.render(odd))
    assert convergence.plot(odd).count("<polyline") in (0, 2)  # at both widths


def test_recoveries_are_marked_at_their_iterations_and_told(report):
    from dataclasses import replace

    steps = tuple(
        sordino.Recovery(k, kind, "it had <parted>", 1e-7)
        for k, kind in ((3, "smaller s"), (7, "classic CG"))
    )
    text = html.render(replace(report, recoveries=steps))
    said = " ".join(Page(text).texts)
    assert text.count('class="recovery"') == 2 * len(steps)  # at both widths
    assert (
        "Classic CG after 7 iterations, at 1.00e-07: it had <parted>." in said
        and "recovery, as told below" in said
    )
    places = [float(x) for x in re.findall(r'<line x1="([\d.]+)"[^>]*class="recovery"', text)][: len(steps)]
    last = len(report.history)
    assert places[1] - places[0] == pytest.approx(4 / last * (920 - 14 - 46), abs=0.1)
    without = html.render(report)
    assert 'class="recovery"' not in without and "as told below" not in without


def test_long_runs_stay_small(report):
    from dataclasses import replace

    keys = ("rank", "queue", "name", "kind", "start_s", "end_s")
    spans = [dict(zip(keys, (r, 0, "k", "compute", i * 1e-5, i * 1e-5 + 9e-6), strict=True))
             for r in range(64) for i in range(500)]  # fmt: skip
    long = replace(report, history=np.logspace(0, -9, 100000), iterations=100000, seconds=0.005, trace=spans)
    text = html.render(long)
    assert len(text) < 400_000
    assert "8 of 64 ranks" in text


def test_waits_and_work_are_told_apart():
    kinds = {
        "compute": "compute", "halo wait": "halo_wait", "reduction wait": "reduction_wait",
        "reduction": "reduction", "halo": "halo", "launch": "launch", "tea": "other",
    }  # fmt: skip
    assert {kind: timeline.classify(kind) for kind in kinds} == kinds


def test_durations_and_quantities():
    assert [words.duration(t) for t in (0, 2.5e-9, 1.25e-6, 0.00125, 0.99999, 61.25, 123456)] == [
        "0 s", "2.5 ns", "1.25 μs", "1.25 ms", "1 s", "61.2 s", "123,456 s",
    ]  # fmt: skip
    assert words.quantity(49152, "B") == "49.2 kB" and words.quantity(0, "B") == "0 B"
    assert words.count(1, "message") == "1 message" and words.count(2.25, "message") == "2.2 messages"
    assert words.percent(0.999, 1) == "more than 99 %" and words.percent(0.001, 1) == "less than 1 %"
    assert words.percent(1, 1) == "100 %" and words.percent(0, 0) == "0 %"


def test_a_few_iterations_are_told_in_all(report):
    def told(iterations):
        ledger = {**report.ledger, "reductions": 6 if iterations == 1 else 2 * iterations + 4}
        short = replace(report, iterations=iterations, ledger=ledger)
        return " ".join(words.ledger_sentences(short)), html.ledger_section(short)

    for said in told(1):
        assert "in all" in said and "an iteration" not in said
    assert told(1)[0].startswith("6 reductions in all")
    for said in told(10):
        assert "an iteration" in said
    assert told(10)[0].startswith("2 reductions an iteration")


def test_who_carried_the_messages():
    some = {"messages": 1, "bytes": 300}
    assert words._carriers({}) == "" and words._carriers({"mpi": some}) == ", by mpi"
    both = {"peer memory": some, "mpi": {"messages": 9, "bytes": 100}}
    assert words._carriers(both) == ", 75 % by peer memory and 25 % by mpi"


def test_ticks_are_round_and_few():
    assert svg.ticks(0, 91, 6, 1) == [0, 20, 40, 60, 80]
    assert svg.ticks(-8, 0, 6, 1) == [-8, -6, -4, -2, 0]
    assert all(len(svg.ticks(0, span, 6)) <= 7 for span in np.logspace(-9, 9, 50))


def test_json_is_strict():
    value = {"a": np.float64("nan"), "b": np.arange(2), "c": (np.inf, np.int64(3), np.True_), 4: None}
    assert json.loads(json.dumps(json_ready(value), allow_nan=False)) == {
        "a": None, "b": [0, 1], "c": [None, 3, True], "4": None,
    }  # fmt: skip


def test_a_report_is_shown_in_a_few_lines(report):
    assert len(repr(report)) < 200 and repr(report).startswith(f"Report(status={report.status!r}")
    shown = replace(report, reason="a < b", status="diverged")._repr_html_()
    assert "Not solved (diverged)" in shown and "A &lt; b." in shown and len(shown) < 1500
    assert "reductions" in shown


def test_waits_for_a_core_are_named_where_others_want_it(report, monkeypatch):
    monkeypatch.setattr(words.machines, "cores", lambda: 2)
    monkeypatch.setattr(words.os, "cpu_count", lambda: 2)
    ledger = {**report.ledger, "exposed_halo_s": 0.5 * report.seconds, "time_s": report.seconds}

    def said(load, **options):
        monkeypatch.setattr(words.os, "getloadavg", lambda: (load, 0.0, 0.0))
        asked = {"engine": "host", "ranks": 2, **options}
        return "part of it is waiting for a core" in " ".join(
            words.ledger_sentences(replace(report, ledger=ledger, options=asked))
        )

    assert said(3.0) and not said(2.0)
    assert not said(3.0, ranks=1) and not said(3.0, engine="model") and not said(3.0, engine="cuda")
