"""``sordino trsv FILE``: a triangular system, or any system by its triangular factors, solved and verified."""

from __future__ import annotations

import json
import shlex
import statistics
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import machines
from .._factors import Factors, with_unit_diagonal
from .._lu import RTOL, FactorizedLU, factorized_lu, splu
from .._matrix import as_sparse
from .._ordering import ORDERINGS
from .._triangular import FactorizedTriangle, check_trans, factorized
from .._triangular_options import ENGINES
from ..errors import BadArgument, SordinoError
from ..io import load_factors, read_matrix, read_vectors, save_factors, write_vector
from ..io.numpy_files import member_names
from ..io.output import RESULT_SUFFIXES, OutputFile
from ..report.record import json_ready
from ..report.words import count, duration, quantity, sentence
from . import complain, display, processes
from .common import Parser, number, output_file, whole_number


@dataclass
class System:
    """What is solved with, and what its solutions are verified by.

    Attributes
    ----------
    solver : FactorizedTriangle or FactorizedLU
    multiply : function of an array, shape (n, k)
        The matrix, transposed as it is asked for, times that.
    backward_error : function of b and x, or None
    words : str
        What it is, for the first line.
    """

    name: str
    solver: FactorizedTriangle | FactorizedLU
    multiply: Callable[[np.ndarray], np.ndarray]
    backward_error: Callable[[np.ndarray, np.ndarray], float] | None
    words: str
    notes: list[str] = field(default_factory=list)
    rhs: np.ndarray | None = None


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


@dataclass
class Found:
    """How it ended."""

    x: np.ndarray
    residual: float
    backward_error: float | None
    rtol: float
    refinements: int
    solve_seconds: float
    first_seconds: float

    @property
    def verified(self) -> bool:
        """Whether the recomputed residual meets the tolerance."""
        return self.residual <= self.rtol

    @property
    def reason(self) -> str:
        relation = "at most" if self.verified else "above"
        return f"||b - A x|| / ||b|| = {self.residual:.2e} is {relation} {self.rtol:g}"


def main(argv: Sequence[str]) -> int:
    """Read, set up, solve, verify, show and write; return the exit code 0 (verified) or 3 (not verified)."""
    given = _parser().read(argv)
    check_trans(given.trans)
    wanted = Wanted.of(given)
    x_file = output_file(given.output, given, RESULT_SUFFIXES, "solution")
    factor_file = output_file(given.save_factors, given, (".npz",), "factor")
    if factor_file and not given.factor:
        raise BadArgument("--save-factors writes what --factor has found: give that, too")
    system = _system(given, wanted)
    b = _right_hand_sides(system, given)
    if not given.json:
        _announce(system, given.engine)
    if factor_file and isinstance(system.solver, FactorizedLU):
        save_factors(factor_file, system.solver.factors)
    found = _solved(system, b, given.trans, wanted)
    written = _write(found, system, x_file, factor_file)
    if given.json:
        processes.say(_as_json(system, found, given, argv))
        if not found.verified:
            complain(f"not verified: {found.reason}")
    else:
        _show(system, found, written)
    return 0 if found.verified else 3


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
        "--machine", metavar="NAME|FILE", help="the described machine of engine model (default h200x4)"
    )
    run.add_argument(
        "--seed", default="0", metavar="N", help="of engine model: 0 is in order of time (default 0)"
    )
    run.add_argument("--ranks", default="auto", metavar="N|auto", help="that share the blocks (default auto)")
    run.add_argument("--threads", metavar="N", help="of engine host (default: one per core)")
    run.add_argument("--width", default="256", metavar="N", help="most columns of a block (default 256)")
    run.add_argument(
        "--timeout", default="60", metavar="S", help="most seconds without progress (default 60)"
    )
    run.add_argument(
        "--repeat", default="0", metavar="N", help="solve N times more, and tell the median (default 0)"
    )
    files = parser.add_argument_group("files")
    files.add_argument("-o", "--output", metavar="FILE", help="write x as .npy or .mtx, whichever it ends in")
    files.add_argument("--save-factors", metavar="FILE", help="write what --factor has found (.npz)")
    files.add_argument("--force", action="store_true", help="overwrite files that exist")
    files.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    return parser


def _options(given: Namespace) -> dict[str, Any]:
    return {
        "engine": given.engine,
        "devices": given.devices,
        "ranks": given.ranks if given.ranks == "auto" else whole_number(given.ranks, "--ranks"),
        "threads": None if given.threads is None else whole_number(given.threads, "--threads"),
        "width": whole_number(given.width, "--width"),
        "timeout": number(given.timeout, "--timeout"),
        "machine": given.machine,
        "seed": whole_number(given.seed, "--seed"),
    }


def _system(given: Namespace, wanted: Wanted) -> System:
    options = _options(given)
    if is_of_factors_file(given.file):
        if given.factor or given.upper or given.unit:
            raise BadArgument(f"{given.file} holds factors: leave out --factor, --upper and --unit")
        if wanted.refine not in (0, "auto"):
            raise BadArgument("--refine needs the matrix, and this file has its factors only")
        return _of_factors(given, load_factors(given.file), options)
    read = read_matrix(given.file)
    if given.factor and (given.upper or given.unit):
        raise BadArgument(
            "--upper and --unit are of a triangle, and --factor is for any matrix: leave one out"
        )
    try:
        system = _factored(read.name, read.matrix, given, options) if given.factor else None
        system = system or _triangle(read.name, read.matrix, given, options)
    except SordinoError as wrong:
        raise type(wrong)(f"{read.name}: {wrong}") from None
    system.notes[:0] = read.notes
    system.rhs = read.rhs
    return system


def is_of_factors_file(path: str) -> bool:
    """Whether a file holds factors, by the names of its members; damaged ones are for their reader to refuse."""
    return {"format", "lower_indptr"} <= member_names(path)


def _of_factors(given: Namespace, factors: Factors, options: dict[str, Any]) -> System:
    solver = factorized_lu(factors, **options)
    kind = "L and U" if factors.upper is not None else "L of L L^H"
    notes = ["The residual is that of the matrix that the factors multiply to."]
    return System(
        given.file, solver, lambda x: factors.product(x, given.trans), None, f"factors {kind}", notes
    )


def _factored(name: str, matrix: Any, given: Namespace, options: dict[str, Any]) -> System:
    solver = splu(matrix, given.ordering, **options)
    A = solver.matrix
    return System(
        name,
        solver,
        lambda x: _product(A, x, given.trans),
        lambda b, x: solver.backward_error(b, x, given.trans),
        f"{A.nnz:,} entries; factored by SciPy's SuperLU, ordering {solver.ordering}",
    )


def _triangle(name: str, matrix: Any, given: Namespace, options: dict[str, Any]) -> System:
    try:
        solver = factorized(matrix, lower=not given.upper, unit_diagonal=given.unit, **options)
    except BadArgument as wrong:
        if "not lower triangular" in str(wrong) or "not upper triangular" in str(wrong):
            raise BadArgument(f"{wrong}: --factor factors a matrix first") from None
        raise
    L = with_unit_diagonal(as_sparse(matrix).tocsr(), given.unit)
    kind = f"{'upper' if given.upper else 'lower'} triangle{', unit diagonal' if given.unit else ''}"
    return System(
        name,
        solver,
        lambda x: _product(L, x, given.trans),
        lambda b, x: solver.backward_error(b, x, given.trans),
        f"{L.nnz:,} entries; {kind}",
    )


def _product(A: Any, x: np.ndarray, trans: str) -> np.ndarray:
    if trans == "N":
        return np.asarray(A @ x)
    return np.asarray(A.T @ x if trans == "T" else (A.T @ x.conj()).conj())


def _right_hand_sides(system: System, given: Namespace) -> np.ndarray:
    """Shape (n, k)."""
    n, letter = system.solver.shape[0], {"N": "A", "T": "A^T", "H": "A^H"}[given.trans]
    if given.rhs:
        if given.nrhs:
            raise BadArgument("--rhs brings right-hand sides, and --nrhs makes some: leave one out")
        return read_vectors(given.rhs, n, "right-hand side")
    if given.nrhs is None and system.rhs is not None:
        system.notes.append(f"b is what {system.name} brings.")
        return np.asarray(system.rhs)
    columns = 1 if given.nrhs is None else whole_number(given.nrhs, "--nrhs")
    if columns < 1:
        raise BadArgument(f"--nrhs is at least 1, not {columns}")
    if columns == 1:
        system.notes.append(f"No right-hand side was given: b = {letter}*1.")
        return system.multiply(np.ones((n, 1)))
    system.notes.append(f"No right-hand sides were given: B = {letter}*X, X drawn from [1, 2) by seed 0.")
    return system.multiply(np.random.default_rng(0).uniform(1, 2, (n, columns)))


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
    found: Found, system: System, x_file: OutputFile | None, factor_file: OutputFile | None
) -> list[str]:
    said = []
    if factor_file:
        said.append(f"the factors were written to {factor_file.path}")
    if x_file:
        write_vector(x_file, found.x[:, 0] if found.x.shape[1] == 1 else found.x)
        kind = "the solution" if found.verified else "the solution, which is not verified,"
        said.append(f"{kind} was written to {x_file.path}")
    return said


def _parts(system: System) -> dict[str, dict[str, Any]]:
    """Statistics of each triangle."""
    if isinstance(system.solver, FactorizedTriangle):
        return {"triangle": system.solver.statistics}
    s = system.solver.statistics
    return {name: s[part] for name, part in (("L", "lower"), ("U", "upper")) if s[part]}


def _seconds(system: System) -> dict[str, float]:
    """Of what comes before a solve."""
    if isinstance(system.solver, FactorizedLU):
        return dict(system.solver.seconds)
    return {"setup": float(system.solver.statistics["setup_seconds"])}


def _announce(system: System, engine: str) -> None:
    first = next(iter(_parts(system).values()))
    where = [f"{engine} engine", count(first["ranks"], "rank")]
    where += [count(first["threads"], "thread")] if engine == "host" else []
    processes.say(f"{system.name}: {system.solver.shape[0]:,} rows, {system.words}; {', '.join(where)}")
    for note in system.notes:
        processes.say(note)
    processes.say("")


def _show(system: System, found: Found, written: list[str]) -> None:
    rows = [
        ("status", "verified" if found.verified else "not verified"),
        ("||b - A x|| / ||b||, recomputed", f"{found.residual:.3e}"),
    ]
    if found.backward_error is not None:
        rows.append(("componentwise backward error", f"{found.backward_error:.3e}"))
    rows += [
        ("right-hand sides", f"{found.x.shape[1]:,}"),
        ("steps of refinement", f"{found.refinements:,}"),
        ("time to solve", duration(found.solve_seconds)),
    ]
    words = {"ordering": "order", "factoring": "factor", "setup": "set up the triangles"}
    rows += [(f"time to {words[name]}", duration(seconds)) for name, seconds in _seconds(system).items()]
    modelled = sum(s["modelled_seconds"] for s in _parts(system).values())
    if modelled > 0:
        rows.append(("on the described machine, a solve", duration(modelled)))
    display.show_table("", ("result", ""), rows, left=2)
    table = [
        (
            name,
            f"{s['entries']:,}",
            f"{s['stored_entries']:,}",
            quantity(s["stored_bytes"], "B"),
            quantity(s["memory_bytes"], "B"),
            "none: by rows" if s["by_rows"] else f"{s['blocks']:,}",
            f"{s['longest_chain']:,}",
            f"{max(s['forward_tasks'], s['backward_tasks']):,}",
        )
        for name, s in _parts(system).items()
    ]
    heads = ("factor", "entries", "with zeros", "values", "memory", "blocks", "longest chain", "tasks")
    display.show_table("", heads, table)
    state = "Solved and verified" if found.verified else "Not verified"
    processes.say(f"{state}: {found.reason}.")
    for said in written:
        processes.say(sentence(said))


def _as_json(system: System, found: Found, given: Namespace, argv: Sequence[str]) -> str:
    facts = {
        "name": system.name,
        "n": system.solver.shape[0],
        "status": "verified" if found.verified else "not_verified",
        "reason": found.reason,
        "residual": found.residual,
        "backward_error": found.backward_error,
        "refinements": found.refinements,
        "right_hand_sides": found.x.shape[1],
        "setup_seconds": sum(_seconds(system).values()),
        "solve_seconds": found.solve_seconds,
        "first_solve_seconds": found.first_seconds,
        "seconds": _seconds(system),
        "statistics": _parts(system),
        "ordering": getattr(system.solver, "ordering", None),
        "options": {**_options(given), "trans": given.trans, "rtol": found.rtol},
        "machine": machines.this_machine(),
        "notes": system.notes,
        "command": shlex.join(["sordino", "trsv", *argv]),
    }
    return json.dumps(json_ready(facts), allow_nan=False)
