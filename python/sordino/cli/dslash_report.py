"""The report of ``sordino dslash``: how fast a hop is, what limits it, and a look at the gauge field."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import machines
from .._native import core
from ..io import OutputFile
from ..report import html
from ..report.kernels import kernel_section
from ..report.pictures import Picture, map_of
from ..report.record import Report
from ..report.roof import measured_roof
from ..report.words import duration, sentence
from .common import output_file


def add_arguments(parser: Any) -> None:
    """``--report``, ``--trace`` and ``--force``."""
    parser.add_argument(
        "--report", metavar="FILE", help="write an HTML report with timeline, roofline, plaquette"
    )
    parser.add_argument(
        "--trace", metavar="FILE", help="write a trace of the hops that Perfetto opens (.json)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")


def outputs(given: argparse.Namespace) -> tuple[OutputFile | None, OutputFile | None]:
    """The files of the report and of the trace, checked before the work begins; of process 0 only."""

    report = output_file(given.report, given, (".html", ".htm"), "report")
    return report, output_file(given.trace, given, (".json",), "trace")


def wanted(given: argparse.Namespace, engine: str) -> dict[str, bool]:
    """Options, the same in all processes, that record what is to be shown.

    On GPUs a hop is one command, in which some blocks wait while others compute: no span says what of it was hidden.
    """
    if not (given.trace or (given.report and engine != "cuda")):
        return {}
    return {"trace": True, "time_commands": True}


def page(
    facts: dict[str, Any],
    spans: list[dict[str, Any]],
    options: dict[str, Any],
    machine: dict[str, Any] | None,
) -> str:
    """The page, from what was found, what the ranks did, the options in force and the described machine."""
    hops = _hops(facts, spans, options, machine)
    shape = " x ".join(map(str, facts["extent"]))
    title = f"Wilson dslash on {shape} sites"
    good = facts["hermitian"] and (not facts["solve"] or facts["solve"]["status"] == "converged")
    sections = [
        html.header(_eyebrow(facts), title, _status(facts), good, _said(facts), _tiles(facts)),
        html.convergence_section(_solve(facts, options)) if facts["solve"] else "",
        html.problem_section([_plaquette(facts)]),
        html.timeline_section(hops),
        html.ledger_section(hops, "hop"),
        html.section(
            "Kernels", kernel_section(hops, measured_roof(hops, machines.this_machine()["devices"]))
        ),
        html.run_section(hops, facts["command"]),
    ]
    return html.page(f"{title}: {_status(facts)}", sections)


def _eyebrow(facts: dict[str, Any]) -> str:
    return f"{facts['precision']} precision, {facts['recon']} reals a link, {facts['links']} links"


def _status(facts: dict[str, Any]) -> str:
    if not facts["hermitian"]:
        return "M is not gamma5-Hermitian"
    if not facts["solve"]:
        return "Measured, and gamma5-Hermitian to rounding"
    solved = facts["solve"]["status"]
    return "Solved and verified" if solved == "converged" else f"Not solved: {solved.replace('_', ' ')}"


def _said(facts: dict[str, Any]) -> Sequence[str]:
    hermitian = f"The error of gamma5-hermiticity is {facts['hermiticity_error']:.1e} of the vectors' norms."
    return [sentence(facts["solve"]["reason"]), hermitian] if facts["solve"] else [hermitian]


def _tiles(facts: dict[str, Any]) -> dict[str, str]:
    tiles = {
        "time of a hop": duration(facts["seconds_per_hop"]),
        "Gflop/s": f"{facts['gflops']:,.1f}",
        "GB/s, QUDA's count": f"{facts['gbytes_uncached']:,.1f}",
        "GB/s, each spinor once": f"{facts['gbytes_ideal']:,.1f}",
        "engine": str(facts["engine"]),
        "ranks": f"{facts['ranks']} ({' x '.join(map(str, facts['grid']))})",
    }
    if not facts["solve"]:
        return {**tiles, "kappa": f"{facts['kappa']:g}", "pairs of hops": f"{facts['iterations']:,}"}
    solved = facts["solve"]
    return {
        **tiles,
        "iterations": f"{solved['iterations']:,}",
        "true residual": f"{solved['true_residual']:.2e}",
    }


def _hops(
    facts: dict[str, Any],
    spans: list[dict[str, Any]],
    options: dict[str, Any],
    machine: dict[str, Any] | None,
) -> Report:
    """The measured hops as a report whose iterations are hops."""
    count = 2 * facts["iterations"]
    ledger = dict(facts["ledger"])
    if not any(kernel["seconds"] for kernel in ledger["kernels"]):
        ledger["kernels"] = [_whole_hop(facts, count)]
    return Report(
        status="converged" if facts["hermitian"] else "breakdown",
        reason="",
        iterations=count,
        true_residual=0.0,
        residual_norm=0.0,
        seconds=facts["seconds_per_hop"] * count,
        setup_seconds=0.0,
        history=np.zeros(0),
        ledger=ledger,
        trace=spans,
        options={
            **options,
            "engine": facts["engine"],
            "ranks": facts["ranks"],
            "transport": facts["transport"],
        },
        machine=machine,
    )


def _whole_hop(facts: dict[str, Any], count: int) -> dict[str, Any]:
    """A rank's part of all hops as one kernel, communication included, each spinor counted once."""
    sites = facts["sites_per_hop"] / facts["ranks"] * count
    return {
        "name": "hop",
        "calls": count,
        "seconds": facts["seconds_per_hop"] * count,
        "bytes": facts["bytes_per_site_ideal"] * sites,
        "flops": facts["flops_per_site"] * sites,
    }


def _solve(facts: dict[str, Any], options: dict[str, Any]) -> Report:
    return Report.from_core(facts["solve"], options={"rtol": options.get("rtol", 1e-5)})


def _plaquette(facts: dict[str, Any]) -> Picture:
    """Re tr P / 3 in the middle layer: a field that was read or made wrongly is seen at once."""
    lx, ly, lz, lt = facts["extent"]
    values = np.asarray(core().plaquettes({**facts, "solve": False})).reshape(ly, lx)
    caption = (
        f"Re tr P / 3, the mean of six planes, at z = {lz // 2} of {lz} and t = {lt // 2} of {lt}: "
        f"{values.mean():.4f} on average. It is 1 for unit links, and near 0 for independent ones."
    )
    return map_of(values, "Plaquette", caption)
