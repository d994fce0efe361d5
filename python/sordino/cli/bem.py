"""``sordino bem MESH``: the charge on conductors, from a surface in a file or a shape by its name."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import machines
from .._charge import Charge, as_surface, charge_of, right_hand_sides
from .._hmatrix import HMatrix, hmatrix
from .._hmatrix_options import check_builds
from .._hmatrix_parts import part_for
from .._hmatrix_trial import check_gpus_of, try_solver
from .._solution import Solution
from .._solve import Solver
from ..errors import BadArgument, Interrupted
from ..io import OutputFile, load_hmatrix, read_vectors, save_hmatrix, write_vector, write_vtk
from ..io.surfaces import ENDINGS
from ..log import logger
from ..report import html, trace
from ..report.roof import measured_roof
from ..report.words import count
from ..surfaces import Surface
from ..surfaces.words import SHAPES
from . import bem_report, complain, display, monitor, processes
from .common import Parser, add_solve_options, nullspaces, number, output_file, solve_options, whole_number
from .run import as_json, asides, result_rows, show_work

_AXES = "xyz"
#: Flags of a build, and the words that they are; but for the first four they are of a second matrix, too.
_OF_BUILDS = {
    "eps": "eps", "eta": "eta", "leaf": "leaf", "most_rank": "most_rank",
    "compression": "compression", "no_recompress": "recompress", "threads": "threads",
}  # fmt: skip
#: Conductors whose charges are shown one by one.
_MOST_SHOWN = 12


def main(argv: Sequence[str]) -> int:
    """Read, compress, solve, show and write; return the exit code 0 (verified) or 3 (not converged)."""
    given = _parser().read(argv)
    options, settings = solve_options(given), _settings(given)
    outputs = _Outputs(given)
    surface = as_surface(given.mesh, allow_open=given.open)
    potential, field = _potential(given.potential, surface)
    sides = right_hand_sides(surface, potential, field, given.capacitance)
    notes = _notes(surface, given)
    read = _read(given, settings, surface) if given.matrix else None
    coarser = _coarser(settings if read is None else read.settings, settings, given)
    options = nullspaces(options, given, surface.n)
    whole = given.save_matrix or given.matrix  # files are of the whole
    part = {} if whole else part_for(options, surface.n)
    built = [settings] if read is None else []
    check_builds(surface.n, *built, coarse=coarser[0] if coarser else None, in_parts=bool(part))
    held = settings if read is None else {**read.settings, **read.statistics}
    check_gpus_of(try_solver(surface.n, options, coarse=bool(coarser)), surface.n, [held, *coarser])
    if not given.json:
        _announce(surface, settings if read is None else read.settings, notes)
    H = read if read is not None else _compressed(surface, {**settings, **part}, quiet=given.json)
    coarse = _compressed(surface, {**coarser[0], "beside": H}, quiet=given.json) if coarser else None
    outputs.keep(H)
    solution = _solved(H, coarse, sides, options, given, _problem(surface, H.statistics))
    if solution.x is None:  # another process has it
        return 0 if solution.converged else 3
    found = charge_of(surface, H, solution, given.capacitance)
    command = shlex.join(["sordino", "bem", *argv])
    written = outputs.write(found, notes, command)
    if given.json:
        processes.say(as_json(solution.report, notes, command, **bem_report.facts(found)))
        if not solution.converged:
            complain(f"not solved: {solution.whose}{solution.reason}")
    else:
        _show(found, written)
    return 0 if solution.converged else 3


def _parser() -> Parser:
    parser = Parser(
        "bem",
        "Find the charge on conductors at given potentials by boundary elements, whose dense matrix is compressed to "
        "an H-matrix.",
    )
    parser.add_argument(
        "mesh", metavar="MESH|SHAPE",
        help=f"a surface ({', '.join(ENDINGS)}), or {', '.join(SHAPES)} in words: sphere:13,20 or pair:6,30,radius=1",
    )  # fmt: skip
    own = parser.add_argument_group("problem")
    own.add_argument(
        "--potential", metavar="V|V,V,...|x|y|z|field:X,Y,Z|FILE",
        help="volts on all triangles, on each conductor (--potential=-1,1), equal to a coordinate, 0 in a uniform "
        "field in V/m, or by triangles from .npy or .mtx (default: what the mesh brings)",
    )  # fmt: skip
    own.add_argument("--capacitance", action="store_true", help="find the capacitance matrix, too")
    own.add_argument("--open", action="store_true", help="take a surface with a boundary, as a plate has")
    own.add_argument(
        "--vtk", metavar="FILE", help="write charge and potential of the triangles for ParaView (.vtk)"
    )
    shape = parser.add_argument_group("H-matrix")
    shape.add_argument("--eps", metavar="X", help="accuracy of the compression (default 1e-4)")
    shape.add_argument("--eta", metavar="X", help="blocks nearer than that are dense (default 2)")
    shape.add_argument("--leaf", metavar="N", help="triangles of a cluster that is not cut (default 15)")
    shape.add_argument("--compression", metavar="aca+|aca|full", help="method (default aca+)")
    shape.add_argument(
        "--no-recompress", action="store_true", help="keep the ranks that the method has found"
    )
    shape.add_argument(
        "--most-rank",
        metavar="N",
        help="terms of a block, the most, whatever it misses (default: what --eps needs)",
    )
    shape.add_argument(
        "--coarse",
        metavar="X",
        help="accuracy of a second one, whose solutions, by --inner steps, precondition gmres",
    )
    shape.add_argument("--coarse-rank", metavar="N", help="the same as --most-rank, of the second one")
    shape.add_argument(
        "--threads",
        metavar="N",
        help="threads that build it (default: one per core; GPUs help on --engine cuda)",
    )
    shape.add_argument("--save-matrix", metavar="FILE", help="write it, for --matrix (.hmatrix)")
    shape.add_argument("--matrix", metavar="FILE", help="take one that was written, of the same surface")
    add_solve_options(parser)
    return parser


def _settings(given: Namespace) -> dict[str, Any]:
    """The arguments of :func:`sordino.hmatrix`."""
    return {
        "eps": 1e-4 if given.eps is None else number(given.eps, "--eps"),
        "eta": 2.0 if given.eta is None else number(given.eta, "--eta"),
        "leaf": 15 if given.leaf is None else whole_number(given.leaf, "--leaf"),
        "compression": "aca+" if given.compression is None else given.compression,
        "recompress": not given.no_recompress,
        "most_rank": _asked(given.most_rank, "--most-rank"),
        "threads": _asked(given.threads, "--threads"),
        "engine": "host" if given.engine in ("host", "model") else "auto",
    }


def _asked(word: str | None, what: str) -> int | None:
    return None if word is None else whole_number(word, what)


def _potential(word: str | None, surface: Surface) -> tuple[Any, Any]:
    """Potential and field that a word stands for."""
    if word is None:
        return None, None
    if word in _AXES and len(word) == 1:
        return surface.centroids[:, _AXES.index(word)], None
    if word.startswith("field:"):
        return None, [number(part, "--potential") for part in word.removeprefix("field:").split(",")]
    if word.lower().endswith((".npy", ".mtx")):
        return read_vectors(word, surface.n, "potential"), None
    volts = [number(part, "--potential") for part in word.split(",")]
    if len(volts) > 1 and len(volts) != surface.conductor_count:
        raise BadArgument(
            f"--potential has {len(volts)} values, and the surface has {count(surface.conductor_count, 'conductor')}: "
            "one for each is wanted, or one for all"
        )
    return volts[0] if len(volts) == 1 else volts, None


def _notes(surface: Surface, given: Namespace) -> list[str]:
    notes = []
    if given.potential is None and surface.potential is not None:
        low, high = surface.potential.min(), surface.potential.max()
        notes.append(
            f"The potentials are those of {surface.name}: {low:g}"
            + (f" to {high:g} V." if low < high else " V.")
        )
    elif given.potential is None:
        notes.append(
            "No potential was given: the charges are those of each conductor at 1 V, the others at 0 V."
        )
    if len(surface.twins):
        notes.append(
            f"{count(len(surface.twins), 'triangle')} at the place of another one: of the charges there, and of the "
            "conductors that they are of, only the sum is determined."
        )
    return notes


def _problem(surface: Surface, statistics: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": surface.name, "n": surface.n, "nnz": int(statistics["stored_bytes"]) // 8,
        "conductors": surface.conductor_count, "processes": processes.world().size,
    }  # fmt: skip


def _announce(surface: Surface, settings: dict[str, Any], notes: list[str]) -> None:
    processes.say(
        f"{surface.name}: {count(surface.n, 'triangle')}, {count(surface.conductor_count, 'conductor')}; "
        f"H-matrix by {settings['compression']} with eps {settings['eps']:g}"
        + (f", ranks at most {settings['most_rank']}" if settings.get("most_rank") else "")
    )
    for note in notes:
        processes.say(note)
    processes.say("")


def _compressed(surface: Surface, settings: dict[str, Any], *, quiet: bool) -> HMatrix:
    shown = 0
    with display.steps("per cent of the H-matrix", 100, quiet=quiet) as step:

        def tell(share: float) -> None:
            nonlocal shown
            while shown < int(100 * share):
                step()
                shown += 1

        return hmatrix(surface, **settings, progress=tell)


def _coarser(finer: dict[str, Any], settings: dict[str, Any], given: Namespace) -> list[dict[str, Any]]:
    """Of the preconditioner's matrix, if there is one: its clusters are those of the other, perhaps of a file."""
    most_rank = _asked(given.coarse_rank, "--coarse-rank")
    if given.coarse is None:
        for flag, word in (("--coarse-rank", most_rank), ("--inner", given.inner)):
            if word is not None:
                raise BadArgument(f"{flag} is of a second matrix: say its accuracy, --coarse, too")
        return []
    same = {word: finer[word] for word in ("eta", "leaf")}
    return [{**settings, **same, "eps": number(given.coarse, "--coarse"), "most_rank": most_rank}]


def _read(given: Namespace, settings: dict[str, Any], surface: Surface) -> HMatrix:
    """The matrix of a file; with one sentence for what was asked of a build and is not what this one has."""
    read = load_hmatrix(given.matrix, surface)
    if read.settings["kernel"] != "laplace":
        raise BadArgument(f"{given.matrix} is of kernel {read.settings['kernel']}, and charges need laplace")
    unheeded = list(_OF_BUILDS.items())[: 4 if given.coarse else None]
    flags = [
        "--" + flag.replace("_", "-")
        for flag, word in unheeded
        if getattr(given, flag) and settings[word] != read.settings.get(word)
    ]
    if flags:
        are, change, them = ("is", "changes", "it") if len(flags) == 1 else ("are", "change", "them")
        said = " and ".join(filter(None, (", ".join(flags[:-1]), flags[-1])))
        logger.warning(
            f"{said} {are} of a build, and {change} nothing of {given.matrix}, which is built: leave {them} out"
        )
    return read


def _solved(
    H: HMatrix,
    coarse: HMatrix | None,
    sides: np.ndarray,
    options: dict[str, Any],
    given: Namespace,
    problem: dict[str, Any],
) -> Solution:
    """All columns; a Ctrl-C keeps the best so far."""
    solver = Solver(H, M=coarse, **options)
    with monitor.watch(solver.options["rtol"] or 0.0, given.monitor, quiet=given.json) as watched:
        try:
            solution = solver.solve(sides, on_failure="return", callback=watched)
        except Interrupted as interrupted:
            solution = interrupted.solution
    reports = tuple(replace(report, problem={**report.problem, **problem}) for report in solution.reports)
    worst = next(new for new, old in zip(reports, solution.reports, strict=True) if old is solution.report)
    return replace(solution, report=worst, reports=reports)


class _Outputs:
    """The files that a run will write, all checked before the work begins."""

    def __init__(self, given: Namespace) -> None:
        self.charge = output_file(given.output, given, (".npy", ".npz", ".mtx"), "charge")
        self.report = output_file(given.report, given, (".html", ".htm"), "report")
        self.trace = output_file(given.trace, given, (".json",), "trace")
        self.vtk = output_file(given.vtk, given, (".vtk",), "surface")
        self.matrix = output_file(given.save_matrix, given, (".hmatrix",), "compressed matrix")
        self.upwards = "y" if given.mesh.lower().endswith(".obj") else "z"  # as programs that draw write it

    def keep(self, H: HMatrix) -> None:
        """Write the matrix, before a solve that may take long."""
        if self.matrix:
            save_hmatrix(self.matrix, H)

    def write(self, found: Charge, notes: list[str], command: str) -> list[str]:
        """Write them; return a sentence for each."""
        report, said = found.solution.report, []
        if self.matrix:
            said.append(f"the H-matrix was written to {self.matrix.path}")
        if self.charge:
            _write_charge(self.charge, found)
            said.append(f"the charge was written to {self.charge.path}")
        if self.vtk:
            write_vtk(self.vtk, found.surface, bem_report.fields(found))
            said.append(f"the surface was written to {self.vtk.path}, for ParaView")
        if self.report:
            page = html.render(
                report, title=found.surface.name, command=command, notes=[*notes, *asides(report)],
                pictures=bem_report.pictures(found, self.upwards), more=bem_report.sections(found),
                roof=measured_roof(report, machines.this_machine()["devices"]),
            )  # fmt: skip
            self.report.write(page)
            said.append(f"the report was written to {self.report.path}")
        if self.trace:
            self.trace.write(trace.perfetto(report.trace))
            said.append(f"the trace was written to {self.trace.path}; ui.perfetto.dev opens it")
        return said


def _write_charge(output: OutputFile, found: Charge) -> None:
    """C/m^2 of each triangle; as ``.npz`` with the surface and what follows from the charge."""
    if not output.path.lower().endswith(".npz"):
        write_vector(output, found.density)
        return
    surface = found.surface
    arrays = {
        "density": found.density, "charge": found.charge, "dipole": found.dipole, "points": surface.points,
        "triangles": surface.triangles, "conductors": surface.conductors,
    }  # fmt: skip
    if found.capacitance is not None:
        arrays["capacitance"] = found.capacitance
    output.write(lambda stream: np.savez(stream, allow_pickle=False, **arrays))


def _show(found: Charge, written: list[str]) -> None:
    display.show_table("", ("H-matrix", ""), bem_report.matrix_rows(found.H.statistics), left=2)
    display.show_table("", ("result", ""), result_rows(found.solution.report), left=2)
    display.show_table("", bem_report.charge_heads(found), bem_report.charge_rows(found, _MOST_SHOWN))
    if found.capacitance is not None and len(found.capacitance) <= _MOST_SHOWN:
        display.show_table("", *bem_report.capacitance_table(found))
    show_work(found.solution.report, written)
