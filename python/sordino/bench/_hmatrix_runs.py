"""What solvers of an H-matrix take on an engine: ``sordino bench hmatrix --engine``."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._hmatrix import HMatrix
from .._hmatrix_trial import check_gpus_of, try_solver
from .._solve import Solver
from ..cli.common import number, whole_number
from ..errors import BadArgument, Unsupported
from . import _paper_solvers, _timing
from ._ours import NEVER

#: Options of a solver that may be lists, and what each is where nobody says.
LISTS = {
    "distribution": "rows", "vectors": "auto", "gather": "rank", "scalars": "device", "schedule": "pipe2"
}  # fmt: skip
#: What else tells runs from each other.
APART = ("ranks", "solver", *LISTS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--engine``, and what belongs to it."""
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host or cuda: measure a solver's products there"
    )
    parser.add_argument(
        "--ranks", default="1", metavar="A,B", help="with --engine: a row for each number (default 1)"
    )
    parser.add_argument("--solver", default="", metavar="NAME", help="with --engine (default bicgstab)")
    parser.add_argument("--iterations", default="20", metavar="N", help="with --engine (default 20)")
    for name, default in LISTS.items():
        parser.add_argument(
            f"--{name}",
            default="",
            metavar="A,B",
            help=f"with --engine: as for sordino bem, a row for each (default {default})",
        )
    parser.add_argument(
        "--coarse",
        default="",
        metavar="X",
        help="accuracy of a second one, which preconditions --solver gmres",
    )
    parser.add_argument("--coarse-rank", default="", metavar="N", help="terms of its blocks, the most")
    parser.add_argument(
        "--inner", default="", metavar="N", help="steps of BiCGStab with the second one (default 20)"
    )


def ranks_of(given: argparse.Namespace) -> list[int]:
    """The numbers of ranks.

    Raises
    ------
    BadArgument
    """
    counts = [whole_number(word, "--ranks") for word in given.ranks.split(",")]
    if min(counts) < 1 or whole_number(given.iterations, "--iterations") < 1:
        raise BadArgument("--ranks and --iterations are at least 1")
    return counts


def asked(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Options of a solver, of each combination of the lists; empty: without an engine.

    Raises
    ------
    BadArgument
    """
    if given.engine not in ("", "host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for a measurement, not '{given.engine}'")
    ranks = ranks_of(given)
    words = {name: [w for w in getattr(given, name).split(",") if w] for name in LISTS}
    papers = _paper_solvers.asked(given)
    if not given.engine:
        if any(words.values()):
            *flags, last = (f"--{name}" for name in LISTS)
            raise BadArgument(f"{', '.join(flags)} and {last} are a solver's: add --engine host or cuda")
        return []
    same = {"engine": given.engine, "solver": given.solver or "bicgstab"}
    each = [
        {**same, "ranks": count, **dict(zip(LISTS, choice, strict=True))}
        for count in ranks
        for choice in itertools.product(*(words[name] or [LISTS[name]] for name in LISTS))
    ]
    if not papers:
        return each
    ways = _paper_solvers.runs(ranks)
    return [{**run, **way} for run in each for way in ways if run["ranks"] == way["ranks"]]


def coarse(given: argparse.Namespace, how: dict[str, Any], solves: bool) -> dict[str, Any] | None:
    """Words for a second matrix, and the steps with it."""
    if not given.coarse:
        for flag, word in (("--coarse-rank", given.coarse_rank), ("--inner", given.inner)):
            if word:
                raise BadArgument(f"{flag} is of a second matrix: say its accuracy, --coarse, too")
        return None
    if not solves or given.solver != "gmres":
        raise BadArgument(
            "--coarse preconditions a solver that takes any preconditioner: --engine and --solver gmres"
        )
    words = {name: how[name] for name in how if name not in ("probes", "most_rank")}
    words["eps"], words["inner"] = (
        number(given.coarse, "--coarse"),
        whole_number(given.inner or "20", "--inner"),
    )
    if given.coarse_rank:
        words["most_rank"] = whole_number(given.coarse_rank, "--coarse-rank")
    return words


def try_each(
    runs: Sequence[dict[str, Any]],
    sizes: Sequence[int],
    builds: Sequence[dict[str, Any]],
    coarse: dict[str, Any] | None,
    kernel: dict[str, Any],
) -> None:
    """Let solvers, and GPUs that are too small, refuse before a matrix is built; of several runs it is said which.

    Parameters
    ----------
    runs : as :func:`asked` returns them
    sizes : triangles of each surface
    builds : words for :func:`sordino.hmatrix`, of each matrix in turn
    coarse : as :func:`coarse` returns it
    kernel : its name, and the wavenumber of one that has any
    """
    inner = {} if coarse is None else {"inner": coarse["inner"]}
    for run in runs:
        try:
            placed = try_solver(min(sizes), {**run, **inner}, coarse=coarse is not None, kernel=kernel)
            for n, build in itertools.product(sizes, builds):
                check_gpus_of(placed, n, [build, *([] if coarse is None else [coarse])], kernel["kernel"])
        except (BadArgument, Unsupported) as refused:
            if len(runs) == 1:
                raise
            raise type(refused)(f"{_which(run, runs)}: {refused}") from None


def _which(run: dict[str, Any], runs: Sequence[dict[str, Any]]) -> str:
    """The flags by which a run differs from others, or from what is usual."""
    usual = {name: {LISTS[name]} if name in LISTS else {run[name]} for name in APART}
    names = [name for name in APART if {other[name] for other in runs} != usual[name]]
    return " ".join(f"--{name} {run[name]}" for name in names)


def times_of_each(
    H: HMatrix,
    runs: Sequence[dict[str, Any]],
    repeats: int,
    iterations: int,
    M: HMatrix | None,
    told: dict[str, Any],
) -> list[dict[str, Any]]:
    """Products one after the other, and what an iteration costs beyond what a solve costs once: a row for each run.

    Parameters
    ----------
    runs : sequence of dict
        Options of solvers, which rows have, too.
    repeats : int
        Samples that medians are of; ``..._best`` are the least.
    M : HMatrix, optional
        It preconditions, and `told` is what rows say of that.

    Notes
    -----
    ``setup_seconds`` are those from the matrix to a solver that is ready: on GPUs most of them are the values' way
    there. ``exposed_halo_s`` is what the rank that waits most waits for rows of others, for each of an iteration's
    products with H (``products``), between a short run and a long one; that ranks have unlike work, and send late, is
    part of it, and with M what its products wait. Products of solvers on whole vectors are timed on distributed ones,
    once for each number of ranks and distribution.
    """
    distributed: dict[tuple[Any, ...], _timing.Seconds] = {}

    def of_distributed(run: dict[str, Any]) -> _timing.Seconds:
        where = {name: run[name] for name in ("ranks", "distribution")}
        key = tuple(where.values())
        if key not in distributed:
            G = H.on(run["engine"], **where)
            distributed[key] = _timing.Seconds.of([G.time_product(2 * iterations) for _ in range(repeats)])
        return distributed[key]

    return [_times(H, run, repeats, iterations, M, told, of_distributed) for run in runs]


def _times(
    H: HMatrix,
    run: dict[str, Any],
    repeats: int,
    iterations: int,
    M: HMatrix | None,
    told: dict[str, Any],
    of_distributed: Callable[[dict[str, Any]], _timing.Seconds],
) -> dict[str, Any]:
    b = np.random.default_rng(1).standard_normal(H.shape[0])
    inner = {} if M is None else {"M": M, "inner": told["inner"]}
    setup: list[float] = []
    methods: list[str] = []
    waits: list[tuple[int, np.ndarray]] = []
    product = None
    with Solver(H, maxiter=iterations, rtol=NEVER, **run, **inner) as solver:

        def solve(count: int) -> tuple[int, float]:
            before = np.array(solver._native().exposed_halos())
            solution = solver.solve(b, on_failure="return", maxiter=count)
            waits.append((solution.iterations, np.array(solver._native().exposed_halos()) - before))
            setup.append(solution.report.setup_seconds)
            methods.append(solution.report.options["solver"])
            return solution.iterations, solution.seconds

        iteration = _timing.per_iteration(solve, iterations, repeats)
        held = max(solver.memory()["bytes_per_rank"])
        if methods[0] != "gatherbicgstab" and run["vectors"] == "auto":
            product = _timing.Seconds.of([solver.time_product(2 * iterations) for _ in range(repeats)])
    product = product or of_distributed(run)  # when the solver's share is given back
    products = 2 if "bicgstab" in methods[0] else 1
    return {
        **run, "iterations": iterations, "product_seconds": product.median, "product_seconds_best": product.best,
        "iteration_seconds": iteration.median, "iteration_seconds_best": iteration.best,
        "exposed_halo_s": exposed(waits[1:]) / products, "products": products,
        "held_bytes": held, "setup_seconds": setup[0], **told,
    }  # fmt: skip


def exposed(waits: Sequence[tuple[int, np.ndarray]]) -> float:
    """Seconds of an iteration that the rank waits which waits most, between the medians of short runs and of long ones.

    `waits`: iterations of each run, and seconds of each rank.
    """
    few, many = min(done for done, _ in waits), max(done for done, _ in waits)

    def middle(count: int) -> np.ndarray:
        return np.median([seconds for done, seconds in waits if done == count], axis=0)

    a_run = middle(many) / max(many, 1) if many == few else (middle(many) - middle(few)) / (many - few)
    return max(0.0, float(a_run.max()))
