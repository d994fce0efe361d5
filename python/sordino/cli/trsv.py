"""``sordino trsv FILE``: a triangular system, or any system by its triangular factors, solved and verified."""

from __future__ import annotations

import statistics
import warnings
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._direct import check_trans
from .._lu import RTOL, FactorizedLU
from .._ordering import ORDERINGS
from .._triangular_options import ALGORITHMS, ENGINES
from ..errors import BadArgument, TinyPivotWarning
from ..io import save_factors, write_vector
from ..io.output import RESULT_SUFFIXES, OutputFile
from ..report.words import sentence
from . import complain, processes, trsv_page
from .common import Parser, number, output_file, whole_number
from .trsv_beside import beside
from .trsv_report import Found, announce, as_json, setup_seconds, show
from .trsv_system import System, right_hand_sides, system_of


@dataclass(frozen=True)
class Wanted:
    """How it is to be solved: steps of refinement, repetitions, and what is called verified."""

    refine: int | str
    repeat: int
    rtol: float | None

    @classmethod
    def of(cls, given: Namespace) -> Wanted:
        """What a command line says."""
        repeat = whole_number(given.repeat, "--repeat")
        if repeat < 0:
            raise BadArgument(f"--repeat is at least 0, not {repeat}")
        return cls(
            given.refine if given.refine == "auto" else whole_number(given.refine, "--refine"),
            repeat,
            None if given.rtol is None else number(given.rtol, "--rtol"),
        )


def main(argv: Sequence[str]) -> int:
    """Read, set up, solve, verify, show and write; return the exit code 0 (verified) or 3 (not verified)."""
    given = _parser().read(argv)
    check_trans(given.trans)
    wanted = Wanted.of(given)
    if given.save_factors and not given.factor:
        raise BadArgument("--save-factors writes what --factor has found: give that, too")
    if given.beside and given.engine == "model":
        raise BadArgument("--beside compares times, and engine model tells those of another machine")
    if given.report:
        trsv_page.check(given)
    x_file, factor_file, plans_file, report_file = _outputs(given)
    options = _options(given)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")  # each triangle's, also the second time
        system = system_of(given, options)
    for warning in told:
        if issubclass(warning.category, TinyPivotWarning):
            system.notes.append(sentence(str(warning.message)))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    b = right_hand_sides(system, given)
    if not given.json:
        announce(system, given.engine)
    if factor_file and isinstance(system.solver, FactorizedLU):
        save_factors(factor_file, system.solver.factors)
    found = _solved(system, b, given.trans, wanted)
    if given.beside:
        found.beside = beside(system, b, given.trans, setup_seconds(system), found.solve_seconds)
    written = _write(found, system, x_file, {"factors": factor_file, "plans": plans_file})
    if report_file:
        report_file.write(trsv_page.page(system, found, given, options, argv))
        written.append(f"the report was written to {report_file.path}")
    if plans_file:  # last: what cannot be saved leaves the solution
        system.solver.save_plans(plans_file)
    if given.json:
        processes.say(as_json(system, found, given, options, argv))
        if not found.verified:
            complain(f"not verified: {found.reason}")
    else:
        show(system, found, written)
    return 0 if found.verified else 3


def _outputs(given: Namespace) -> tuple[OutputFile | None, ...]:
    """Files for the solution, factors and plans, which the first process writes."""
    if processes.index() > 0:
        return None, None, None, None
    return (
        output_file(given.output, given, RESULT_SUFFIXES, "solution"),
        output_file(given.save_factors, given, (".npz",), "factor"),
        output_file(given.save_plans, given, (".npz",), "plan"),
        output_file(given.report, given, (".html", ".htm"), "report"),
    )


def _parser() -> Parser:
    parser = Parser(
        "trsv",
        "Solve a sparse triangular system, or with --factor any square one by its triangular factors; without --rhs, "
        "b = A*1.",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a matrix (.mtx, .mtx.gz, Harwell-Boeing, SciPy .npz, .mat, dense .npy), or factors (.npz)",
    )
    own = parser.add_argument_group("problem")
    own.add_argument("--factor", action="store_true", help="factor the matrix first, by SciPy's SuperLU")
    own.add_argument(
        "--ordering", default="auto", metavar="|".join(ORDERINGS), help="of --factor (default auto)"
    )
    own.add_argument("--matrix", metavar="FILE", help="what the factors are of, to verify, and refine, with")
    own.add_argument("--upper", action="store_true", help="the triangle is an upper one")
    own.add_argument("--unit", action="store_true", help="its diagonal is 1, whatever is stored there")
    own.add_argument("--trans", default="N", metavar="N|T|H", help="solve with A, A^T or A^H (default N)")
    own.add_argument("--rhs", metavar="FILE", help="right-hand sides, .npy or .mtx")
    own.add_argument("--nrhs", metavar="K", help="make so many right-hand sides (default 1)")
    own.add_argument(
        "--refine", default="auto", metavar="N|auto", help="most steps of refinement (default auto)"
    )
    own.add_argument("--rtol", metavar="X", help="||b - A x|| / ||b|| that is verified (default 1e-08)")
    run = parser.add_argument_group("run")
    run.add_argument("--engine", default="host", metavar="|".join(ENGINES), help="who solves (default host)")
    run.add_argument("--devices", default="", metavar="LIST", help="GPUs of engine cuda, such as 0-3 or 0,2")
    run.add_argument(
        "--blocks",
        default="0",
        metavar="N",
        help="thread blocks on each GPU of engine cuda (default 0: as many as it has room for)",
    )
    run.add_argument(
        "--machine",
        metavar="NAME|FILE",
        help="the machine of engine model (default h200x4), or by which engine cuda chooses ranks",
    )
    run.add_argument(
        "--seed",
        default="0",
        metavar="N",
        help="others than 0 delay tasks, and messages of engine model, at random (default 0)",
    )
    run.add_argument(
        "--ranks",
        default="auto",
        metavar="N|auto",
        help="that share the blocks (default auto: of engines cuda and model as predicted, else one)",
    )
    run.add_argument(
        "--algorithm",
        default="ours",
        metavar="|".join(ALGORITHMS),
        help="ours, or that of paper 004 (default ours)",
    )
    run.add_argument(
        "--layout", default="", metavar="PxQ", help="of algorithm paper: its ranks (default Nx1)"
    )
    run.add_argument("--threads", metavar="N", help="of engine host (default: one per core)")
    run.add_argument(
        "--width",
        metavar="N|auto",
        help="most columns of a block, or auto: by prediction (default 256, of algorithm paper 128)",
    )
    run.add_argument(
        "--timeout", default="60", metavar="S", help="most seconds without progress (default 60)"
    )
    run.add_argument(
        "--repeat", default="0", metavar="N", help="solve N times more, and tell the median (default 0)"
    )
    run.add_argument(
        "--beside",
        action="store_true",
        help="time SciPy's spsolve_triangular, too: after how many solves is the setup repaid?",
    )
    files = parser.add_argument_group("files")
    files.add_argument("-o", "--output", metavar="FILE", help="write x as .npy or .mtx, whichever it ends in")
    files.add_argument(
        "--report", metavar="FILE", help="write an HTML report: factor, plan, critical path, bytes, accuracy"
    )
    files.add_argument("--save-factors", metavar="FILE", help="write what --factor has found (.npz)")
    files.add_argument("--plans", metavar="FILE", help="take plans that --save-plans has written (.npz)")
    files.add_argument("--save-plans", metavar="FILE", help="write the plans of this solve (.npz)")
    files.add_argument("--force", action="store_true", help="overwrite files that exist")
    files.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    return parser


def _options(given: Namespace) -> dict[str, Any]:
    return {
        "engine": given.engine,
        "devices": given.devices,
        "blocks": whole_number(given.blocks, "--blocks"),
        "ranks": given.ranks if given.ranks == "auto" else whole_number(given.ranks, "--ranks"),
        "threads": None if given.threads is None else whole_number(given.threads, "--threads"),
        "width": given.width if given.width in (None, "auto") else whole_number(given.width, "--width"),
        "algorithm": given.algorithm,
        "layout": given.layout,
        "timeout": number(given.timeout, "--timeout"),
        "machine": given.machine,
        "seed": whole_number(given.seed, "--seed"),
        "plans": given.plans,
    }


def _solved(system: System, b: np.ndarray, trans: str, wanted: Wanted) -> Found:
    solver, seconds = system.solver, []
    more: dict[str, Any] = {"on_failure": "return"} if isinstance(solver, FactorizedLU) else {}
    for _ in range(1 + wanted.repeat):
        x = np.asarray(solver.solve(b, trans, wanted.refine, **more))
        seconds.append(float(solver.report["seconds"]))
    single = solver.dtype == np.float32
    left, norm = np.linalg.norm(b - system.multiply(x), axis=0), np.linalg.norm(b, axis=0)
    residual = float(np.max(np.divide(left, norm, out=np.where(left > 0, np.inf, 0.0), where=norm > 0)))
    return Found(
        x,
        residual,
        None if system.backward_error is None else system.backward_error(b, x),
        RTOL["single" if single else "double"] if wanted.rtol is None else wanted.rtol,
        int(solver.report["refinements"]),
        statistics.median(seconds[1:] or seconds),
        seconds[0],
    )


def _write(
    found: Found, system: System, x_file: OutputFile | None, others: dict[str, OutputFile | None]
) -> list[str]:
    said = [f"the {what} were written to {file.path}" for what, file in others.items() if file]
    if x_file:
        write_vector(x_file, found.x[:, 0] if found.x.shape[1] == 1 else found.x)
        kind = "the solution" if found.verified else "the solution, which is not verified,"
        said.append(f"{kind} was written to {x_file.path}")
    return said
