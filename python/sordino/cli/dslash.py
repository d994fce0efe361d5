"""``sordino dslash LX LY LZ LT``: the Wilson operator of lattice QCD, measured, checked and solved."""

from __future__ import annotations

import argparse
import json
import math
import shlex
from collections.abc import Sequence
from typing import Any

from .. import _options, machines
from .._memory import available_memory
from .._native import core, translated
from .._placement import place
from ..errors import BadArgument
from ..report.record import json_ready
from ..report.trace import perfetto
from ..report.words import count, duration, percent, quantity
from . import complain, display, dslash_report, processes
from .common import Parser, number, whole_number

#: Options of a solve that mean something here, and what they mean where that differs.
OPTIONS = {
    "engine": "",
    "ranks": "",
    "devices": "",
    "transport": "",
    "timeout": "",
    "solver": "Krylov method of --solve, for a nonsymmetric matrix (default bicgstab)",
    "rtol": "relative tolerance of --solve: ||b - M x|| <= rtol ||b||, recomputed (default 1e-05)",
    "maxiter": "most iterations of --solve (default 10,000)",
    "check_every": "",
}
#: Largest error of gamma5-hermiticity, relative to the norms of both vectors.
TOLERANCE = {"double": 1e-13, "single": 1e-5}


def main(argv: Sequence[str]) -> int:
    """Measure, check, solve if asked to, and show; return 0, or 3 for what fails its check."""
    given = _parser().read(argv)
    report, trace = dslash_report.outputs(given)
    problem = _problem(given)
    options = {
        name: _options.parse(_options.specs()[name], value)
        for name in OPTIONS
        if (value := getattr(given, name)) is not None
    }
    if problem["grid"] and not options.get("ranks"):
        options["ranks"] = max(1, math.prod(problem["grid"]) // processes.world().size)
    # Else fewer will do, where the lattice cannot be cut for as many.
    problem["ranks_given"] = bool(options.get("ranks"))
    options.setdefault("solver", "bicgstab")  # what auto takes here, whatever the machine
    options, machine = place(options, math.prod(problem["extent"]), given.machine)
    options.update(dslash_report.wanted(given, options["engine"]))
    with translated():
        found = core().dslash(problem, options, machines.numbers(machine) if machine else None)
    spans = found.pop("trace", [])
    facts = _facts(problem, found)
    facts["command"] = shlex.join(["sordino", "dslash", *argv])
    if report:
        report.write(dslash_report.page(facts, spans, options, machine))
    if trace:
        trace.write(perfetto(spans))
    if given.json:
        facts["machine"] = {**machines.this_machine(), "described": machine}
        processes.say(json.dumps(json_ready(facts), allow_nan=False))
    else:
        _show(facts)
        for file in filter(None, (report, trace)):
            processes.say(f"{file.path} was written.")
    return _exit_code(facts)


def _parser() -> Parser:
    parser = Parser(
        "dslash",
        "Apply the Wilson operator M = 1 - kappa D on a lattice of LX x LY x LZ x LT sites: "
        "measure its hopping term D, check that M is gamma5-Hermitian, and solve M x = b.",
    )
    for name in ("lx", "ly", "lz", "lt"):
        parser.add_argument(name, metavar=name.upper(), help=f"sites in {name[1]}, an even number")
    own = parser.add_argument_group("operator")
    own.add_argument("--kappa", default="0.12", metavar="X", help="hopping parameter (default 0.12)")
    own.add_argument(
        "--precision",
        default="double",
        metavar="P",
        help="of spinors and links: double, single (default double)",
    )
    own.add_argument("--recon", default="18", metavar="N", help="reals stored of a link: 18, 12 (default 18)")
    own.add_argument(
        "--links", default="warm", metavar="KIND", help="gauge field: warm, random, unit (default warm)"
    )
    own.add_argument("--seed", default="0", metavar="N", help="of the gauge field and of b (default 0)")
    own.add_argument(
        "--periodic", action="store_true", help="spinors are periodic in t, too (default antiperiodic)"
    )
    own.add_argument("--grid", metavar="X,Y,Z,T", help="ranks in each dimension (default: least surface)")
    own.add_argument(
        "--iterations", default="100", metavar="N", help="pairs of hops to measure (default 100)"
    )
    own.add_argument(
        "--solve", action="store_true", help="solve M x = b for a random b, by way of the even sites"
    )
    run = parser.add_argument_group("run")
    for name, meaning in OPTIONS.items():
        spec = _options.specs()[name]
        choices = f": {', '.join(spec.choices)}" if spec.choices and not meaning else ""
        text = f"{meaning or spec.help}{choices}".replace("%", "%%")
        run.add_argument(spec.flag, dest=name, metavar=name.upper(), help=text)
    run.add_argument("--machine", metavar="NAME|FILE", help="the described machine for --engine model")
    dslash_report.add_arguments(run)
    run.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    return parser


def _problem(given: argparse.Namespace) -> dict[str, Any]:
    """What the core is asked for; refuses what makes no lattice, and what memory cannot hold."""
    extent = [whole_number(getattr(given, name), name.upper()) for name in ("lx", "ly", "lz", "lt")]
    if any(n < 2 or n % 2 for n in extent):
        shown = " x ".join(map(str, extent))
        raise BadArgument(
            f"a lattice needs an even number of sites, at least 2, in each direction, not {shown}"
        )
    recon, iterations = whole_number(given.recon, "--recon"), whole_number(given.iterations, "--iterations")
    kappa, seed = number(given.kappa, "--kappa"), whole_number(given.seed, "--seed")
    if recon not in (18, 12):
        raise BadArgument(f"a link is stored as 18 or 12 reals, not {recon}")
    if not 1 <= iterations < 2**30:
        raise BadArgument(f"--iterations must be at least 1 and below 2^30, not {iterations}")
    if not 0 <= seed < 2**63:
        raise BadArgument(f"--seed must be at least 0 and below 2^63, not {seed}")
    if not math.isfinite(kappa):
        raise BadArgument(f"kappa must be a finite number, not {kappa:g}")
    for name, choices in (("precision", ("double", "single")), ("links", ("warm", "random", "unit"))):
        if getattr(given, name) not in choices:
            raise BadArgument(f"--{name} is {' or '.join(choices)}, not '{getattr(given, name)}'")
    if given.solve and given.precision != "double":
        raise BadArgument("--solve computes in double precision: leave out --precision single")
    grid = [whole_number(word, "--grid") for word in given.grid.split(",")] if given.grid else []
    if grid and (len(grid) != 4 or min(grid) < 1):
        raise BadArgument(f"--grid has four numbers of ranks, for x, y, z and t, not '{given.grid}'")
    _check_memory(extent, recon, given.precision, given.solve, given.engine)
    return {
        "extent": extent,
        "grid": grid,
        "antiperiodic": not given.periodic,
        "precision": given.precision,
        "recon": recon,
        "links": given.links,
        "seed": seed,
        "kappa": kappa,
        "iterations": iterations,
        "solve": given.solve,
    }


def _check_memory(extent: list[int], recon: int, precision: str, solve: bool, engine: str | None) -> None:
    """Twice the links, since they are generated here before they are stored, and some vectors."""
    real = 8 if precision == "double" else 4
    needed = math.prod(extent) * (2 * 4 * recon * real + (6 + 12 * solve) * 24 * real)
    available = available_memory()
    if engine != "cuda" and available is not None and needed > available:
        raise BadArgument(
            f"this lattice needs {needed:,} bytes for its links and spinors, and {available:,} bytes are available"
        )


def _facts(problem: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Everything that was asked and found, and the rates that follow."""
    facts = {**problem, **found}
    rate = found["sites_per_hop"] / found["seconds_per_hop"] if found["seconds_per_hop"] > 0 else 0.0
    facts["gflops"] = 1e-9 * rate * found["flops_per_site"]
    facts["gbytes_uncached"] = 1e-9 * rate * found["bytes_per_site_uncached"]
    facts["gbytes_ideal"] = 1e-9 * rate * found["bytes_per_site_ideal"]
    facts["hermitian"] = found["hermiticity_error"] <= TOLERANCE[problem["precision"]]
    solved = facts.get("solve") or None
    if isinstance(solved, dict):
        facts["solve"] = {name: value for name, value in solved.items() if name not in ("x", "trace")}
    else:
        facts["solve"] = None
    return facts


def _show(facts: dict[str, Any]) -> None:
    shape = " x ".join(map(str, facts["extent"]))
    grid = " x ".join(map(str, facts["grid"]))
    processes.say(
        f"Wilson dslash on {shape} sites, {facts['precision']} precision, {facts['recon']} reals a link, "
        f"{facts['links']} links; {facts['engine']} engine, {count(facts['ranks'], 'rank')} ({grid})\n"
    )
    ledger = facts["ledger"]
    hops = 2 * facts["iterations"]
    rows = [
        ("time of a hop (one parity to the other)", duration(facts["seconds_per_hop"])),
        (f"Gflop/s ({facts['flops_per_site']:g} flops a site)", f"{facts['gflops']:,.2f}"),
        ("GB/s, no spinor from a cache (QUDA's count)", f"{facts['gbytes_uncached']:,.2f}"),
        ("GB/s, each spinor read once", f"{facts['gbytes_ideal']:,.2f}"),
        ("messages a hop, from a rank", f"{ledger['messages'] / hops:g}"),
        ("bytes a hop in them", quantity(ledger["bytes_sent"] / hops, "B")),
        ("time in communication that nothing hid", percent(ledger["exposed_halo_s"], ledger["time_s"])),
        ("error of gamma5-hermiticity", f"{facts['hermiticity_error']:.2e}"),
    ]
    display.show_table("", ("result", ""), rows)
    processes.say(f"M is {'' if facts['hermitian'] else 'NOT '}gamma5-Hermitian to rounding.")
    if facts["solve"]:
        _show_solve(facts["solve"])


def _show_solve(solved: dict[str, Any]) -> None:
    rows = [
        ("status", solved["status"].replace("_", " ")),
        ("iterations", f"{solved['iterations']:,}"),
        ("||b - M x|| / ||b||, recomputed on all sites", f"{solved['true_residual']:.3e}"),
        ("time to solve", duration(solved["seconds"])),
        ("reductions", f"{solved['ledger']['reductions']:,}"),
        ("messages from a rank", f"{solved['ledger']['messages']:,}"),
    ]
    processes.say("")
    display.show_table("", ("even-odd solve", ""), rows)


def _exit_code(facts: dict[str, Any]) -> int:
    if not facts["hermitian"]:
        complain(f"M is not gamma5-Hermitian: the error is {facts['hermiticity_error']:.2e}")
        return 3
    if facts["solve"] and facts["solve"]["status"] != "converged":
        complain(f"not solved: {facts['solve']['reason']}")
        return 3
    return 0
