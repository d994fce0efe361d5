"""Solve a problem for the command line: check outputs, set up, solve, show, write."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import machines
from .._advice import on_the_command_line
from .._facts import maps_ones_to_zero
from .._matrix import CsrArrays
from .._placement import default_ranks
from .._solution import Solution
from .._solve import Solver
from ..errors import Interrupted
from ..io import write_vector
from ..io.output import RESULT_SUFFIXES
from ..report import html, pictures, trace
from ..report.record import Report, json_ready
from ..report.roof import measured_roof
from ..report.words import (
    at_once,
    count,
    duration,
    kernel_rows,
    ledger_sentences,
    levelled,
    preconditioned,
    recovered,
    sentence,
    stored,
    taken,
    verdict,
)
from . import complain, display, monitor, processes
from .common import nullspaces, output_file


@dataclass
class Problem:
    """A system to be solved, and what a user should know of it.

    Attributes
    ----------
    name : str
    rows : CsrArrays or None
        The matrix; given up after setup.
    b, x0 : ndarray, shape (n,), or None
        Without b, A*1 is used.
    notes : list of str
    exact : float or None
        The value of all entries of x, where that is known.
    shape : (nx, ny, nz) or None
        The grid, whose cells are the unknowns, x fastest; a report then shows fields instead of the matrix' pattern.
    coefficient : bool
        Whether the matrix' diagonal is a field worth a picture.
    nullspace : "constant", or ndarray of shape (n,) or (n, k), or None
        What A is known to map to zero; it takes the place of the option.
    pictures : list of Picture
        For the report.
    """

    name: str
    rows: CsrArrays | None
    b: np.ndarray | None = None
    x0: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    exact: float | None = None
    shape: tuple[int, int, int] | None = None
    coefficient: bool = False
    nullspace: Any = None
    pictures: list[pictures.Picture] = field(default_factory=list)


class Outputs:
    """The files that a run will write, all checked before the work begins."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.x = output_file(given.output, given, RESULT_SUFFIXES, "solution")
        self.report = output_file(given.report, given, (".html", ".htm"), "report")
        self.trace = output_file(given.trace, given, (".json",), "trace")

    def write(self, solution: Solution, problem: Problem, command: str) -> list[str]:
        """Write them; return a sentence for each."""
        said = []
        report = solution.report
        if self.x and solution.x is not None:
            write_vector(self.x, solution.x)
            kind = (
                "the solution"
                if solution.converged
                else "the best x so far, which does not meet the tolerance,"
            )
            said.append(f"{kind} was written to {self.x.path}")
        if self.report:
            _picture_solution(problem, solution)
            self.report.write(
                html.render(
                    report,
                    title=problem.name,
                    command=command,
                    notes=[*problem.notes, *asides(report)],
                    pictures=problem.pictures,
                    roof=measured_roof(report, machines.this_machine()["devices"]),
                )
            )
            said.append(f"the report was written to {self.report.path}")
        if self.trace:
            self.trace.write(trace.perfetto(report.trace))
            said.append(f"the trace was written to {self.trace.path}; ui.perfetto.dev opens it")
        return said


def solve_problem(
    given: argparse.Namespace, options: dict[str, Any], argv: list[str], load: Callable[[], Problem]
) -> int:
    """Do all of it; return the exit code 0 (verified) or 3 (not converged)."""
    outputs = Outputs(given)
    world = processes.world()
    problem = load()
    solver, b = _set_up(problem, given, options)
    if not given.json:
        _announce(problem, solver, world)
    with monitor.watch(solver.options["rtol"] or 0.0, given.monitor, quiet=given.json) as watched:
        try:
            solution = solver.solve(b, problem.x0, on_failure="return", callback=watched)
        except Interrupted as interrupted:
            solution = interrupted.solution
    facts = {**solution.report.problem, "name": problem.name, "processes": world.size}
    reason = on_the_command_line(solution.reason)
    solution = replace(solution, report=replace(solution.report, problem=facts, reason=reason))
    command = shlex.join(["sordino", *argv])
    written = outputs.write(solution, problem, command)
    if given.json:
        processes.say(as_json(solution.report, problem.notes, command))
        if not solution.converged:
            complain(f"not solved: {solution.reason}")
    else:
        _show(solution, problem, written)
    return 0 if solution.converged else 3


def _set_up(
    problem: Problem, given: argparse.Namespace, options: dict[str, Any]
) -> tuple[Solver, np.ndarray]:
    rows = problem.rows
    assert rows is not None
    told = problem.nullspace is not None or options.get("nullspace", "none") != "none"
    if problem.b is None and (told or maps_ones_to_zero(rows)):
        problem.b = rows.product(np.arange(1, rows.n + 1) / rows.n)
        problem.notes.append("No right-hand side was given: b = A*z with z_i = i/n.")
        if not told:
            problem.notes.append("A maps the constant vector to zero: --nullspace constant says so.")
    elif problem.b is None:
        problem.b = rows.product(np.ones(rows.n))
        problem.exact = 1.0
        problem.notes.append("No right-hand side was given: b = A*1.")
    if given.report and processes.index() == 0:
        _picture_system(problem, rows)
    if problem.nullspace is not None:
        options = {**options, "nullspace": problem.nullspace}
    solver = Solver(rows, **nullspaces(options, given, rows.n))
    problem.rows = None  # the ranks hold it now
    return solver, problem.b


def asides(report: Report) -> list[str]:
    """What must be known of the times in a report."""
    engine, here = report.options.get("engine"), machines.cores()
    several = int(report.problem.get("processes", 1))
    ranks = int(report.options.get("ranks") or 1) * several
    if engine == "host" and ranks > here:
        return [f"{ranks} ranks took turns on {count(here, 'core')}: part of their waits is for a core."]
    alone = engine == "cuda" and several == 1  # processes share no GPU
    gpus = default_ranks("cuda", report.options.get("devices")) if alone else ranks
    if ranks > gpus:
        turns = f"{ranks} ranks took turns on {count(gpus, 'GPU')}"
        return [f"{turns}: these are no waits, and nothing is said of what was hidden."]
    return []


def _picture_system(problem: Problem, rows: CsrArrays) -> None:
    """Pictures of the matrix, while it is still here."""
    if problem.shape is None:
        problem.pictures.append(pictures.sparsity(rows))
    elif problem.coefficient:
        what = "The diagonal of the matrix, which follows the coefficient,"
        diagonal = rows.matrix().diagonal()
        problem.pictures.append(pictures.field_slice(diagonal, problem.shape, "Coefficient", what))


def _picture_solution(problem: Problem, solution: Solution) -> None:
    """The solution, or its error where the solution is known: that has structure where a constant has none."""
    if problem.shape is None or solution.x is None:
        return
    if problem.exact is None:
        shown, heading, what = solution.x, "Solution", "x"
    else:
        shown, heading = solution.x - problem.exact, "Error of the solution"
        what = f"x - {problem.exact:g}, what the solve has left of the error,"
    problem.pictures.append(pictures.field_slice(shown, problem.shape, heading, what))


def _announce(problem: Problem, solver: Solver, world: processes.World) -> None:
    options = solver.options
    where = f"{options['engine']} engine, {world.ranks(options['ranks'])}"
    if solver.machine:
        where += f" on the described machine {solver.machine['name']}"
    processes.say(f"{problem.name}: {solver.n:,} unknowns, {solver.nnz:,} stored entries; {where}")
    for note in problem.notes:
        processes.say(note)
    processes.say("")


def _kernels(report: Report) -> list[tuple[str, ...]]:
    """Rows of the table of kernels, where the engine was asked to time them; those below 1 % are left out."""
    return [
        (
            row["name"],
            f"{row['calls']:,}",
            duration(row["seconds"]),
            f"{100 * row['share']:.0f} %",
            f"{row['bandwidth'] / 1e9:,.1f}",
            f"{row['rate'] / 1e9:,.1f}",
        )
        for row in kernel_rows(report)
        if row["share"] >= 0.01
    ]


def _method(options: dict[str, Any]) -> str:
    return f"{options['solver']}, preconditioner {options.get('precond') or 'none'}, rtol {options['rtol']:g}"


def _show(solution: Solution, problem: Problem, written: list[str]) -> None:
    rows = result_rows(solution.report)
    if problem.exact is not None and solution.x is not None:
        error = float(np.max(np.abs(solution.x - problem.exact)))
        rows.insert(4, (f"largest error (x = {problem.exact:g} is exact)", f"{error:.3e}"))
    display.show_table("", ("result", ""), rows, left=2)
    show_work(solution.report, written)


def result_rows(report: Report) -> list[tuple[str, str]]:
    """How a solve ended, as rows of a table."""
    return [
        ("status", report.status.replace("_", " ")),
        ("solver", _method(report.options)),
        ("iterations", f"{report.iterations:,}"),
        ("||b - A x|| / ||b||, recomputed", f"{report.true_residual:.3e}"),
        ("time to solve", duration(report.seconds)),
        ("time to set up", duration(report.setup_seconds)),
    ]


def show_work(report: Report, written: list[str]) -> None:
    """The kernels and the ledger, the verdict, and what was written."""
    display.show_table("", ("kernel", "calls", "time", "share", "GB/s", "GFLOP/s"), _kernels(report))
    method = taken(report.options["solver"], report.solver_reason)
    precond = preconditioned(report.options.get("precond", ""), report.precond_reason)
    steps = at_once(report.options.get("s", 1), report.s_reason)
    lies = stored(report.options.get("storage", ""), report.storage_reason)
    for said in filter(
        None, (*ledger_sentences(report), *recovered(report), method, precond, steps, lies, levelled(report))
    ):
        processes.say(f"- {said}")
    processes.say(f"\n{verdict(report)}.")
    for said in (report.reason, *written):
        if said:
            processes.say(sentence(said))


def as_json(report: Report, notes: list[str], command: str, **more: Any) -> str:
    """The report as ``--json`` prints it, with what else the command has found."""
    machine = {**machines.this_machine(), "described": report.machine}
    facts = {**report.to_dict(), "machine": machine, "notes": notes, "command": command, **more}
    return json.dumps(json_ready(facts), allow_nan=False)
