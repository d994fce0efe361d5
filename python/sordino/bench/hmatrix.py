"""``sordino bench hmatrix``: H-matrices of surfaces: what they store, how accurate they are, how fast they are."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._charge import as_surface
from .._hmatrix import HMatrix, hmatrix
from .._hmatrix_memory import check_memory
from .._memory import peak_of
from .._solve import Solver
from ..cli import display
from ..cli.common import Parser, number, whole_number
from ..cli.processes import say
from ..errors import BadArgument
from ..report.record import json_ready
from ..surfaces import Surface
from . import _paper_batches, _paper_ways, _records, _several_vectors, _shared_dots, _timing
from ._ours import NEVER

SUMMARY = (
    "H-matrices of surfaces: bytes, errors, time to build, products; with --engine, iterations of a solver"
)

#: Ways to compress: our own, and those of HACApK, without a check and recompression.
WAYS: dict[str, dict[str, Any]] = {
    "aca+": {"compression": "aca+"},
    "aca": {"compression": "aca"},
    "full": {"compression": "full"},
    "hacapk aca+": {"compression": "aca+", "recompress": False, "certify": False},
    "hacapk aca": {"compression": "aca", "recompress": False, "certify": False},
}


def main(argv: Sequence[str]) -> int:
    """Build, multiply, show and record; return 0."""
    given = _parser().read(argv)
    ways = [word for word in given.ways.split(",") if word]
    unknown = [word for word in ways if word not in WAYS]
    if unknown or not ways:
        raise BadArgument(f"--ways is of {', '.join(WAYS)}, not '{','.join(unknown)}'")
    threads, repeats = whole_number(given.threads, "--threads"), whole_number(given.repeats, "--repeats")
    if threads < 0 or repeats < 1:
        raise BadArgument("--threads is 0, for as many as there are cores, or more, and --repeats at least 1")
    tolerances = [number(word, "--eps") for word in given.eps.split(",")]
    surfaces = [as_surface(text) for text in given.surface]
    if given.record:
        _records.check(given.record)
    ranks, iterations = whole_number(given.ranks, "--ranks"), whole_number(given.iterations, "--iterations")
    if ranks < 1 or iterations < 1:
        raise BadArgument("--ranks and --iterations are at least 1")
    if given.engine not in ("", "host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for a measurement, not '{given.engine}'")
    _paper_ways.check(given, ranks)
    _paper_batches.check(given, ranks)
    cublas = given.cublas if given.paper_ways else None
    widths = _several_vectors.asked(given)
    runs = _runs(given, ranks)
    if given.build not in ("host", "cuda"):
        raise BadArgument(f"--build is host or cuda, not '{given.build}'")
    how: dict[str, Any] = {"engine": given.build, "kernel": given.kernel}
    if given.wavenumber:
        how["wavenumber"] = number(given.wavenumber, "--wavenumber")
    if given.most_rank:
        how["most_rank"] = whole_number(given.most_rank, "--most-rank")
    coarse = _coarse(given, how, runs is not None)
    if given.exact:
        how["probes"] = max(s.n for s in surfaces)
    cores = threads or (os.cpu_count() or 1)
    sharing = _shared_dots.asked(given)
    if sharing:
        rows = _shared_dots.measure(surfaces, sharing, given.engine, 2 * iterations, repeats)
        return _told(given, argv, rows)
    rows = [
        row
        for surface in surfaces
        for eps in tolerances
        for way in ways
        for row in measure(
            surface,
            eps,
            way,
            cores,
            repeats,
            runs,
            iterations,
            how,
            cublas,
            coarse,
            widths,
            given.transposed,
            given.paper_batches,
        )
    ]
    _told(given, argv, rows)
    _paper_ways.raise_first_failure(rows)
    return 0


def _told(given: argparse.Namespace, argv: Sequence[str], rows: list[dict[str, Any]]) -> int:
    """Show rows, and record them if asked; 0."""
    if given.json:
        say(json.dumps(json_ready({"bench": "hmatrix", "measured": rows}), allow_nan=False))
    elif rows[0]["bench"] == _shared_dots.BENCH:
        _shared_dots.show(rows)
    else:
        _show(rows)
    if given.record:
        command = shlex.join(["sordino", "bench", "hmatrix", *(_bare(word) for word in argv)])
        _records.append(given.record, rows, command, given.commit or _records.commit())
    return 0


def _runs(given: argparse.Namespace, ranks: int) -> dict[str, Any] | None:
    """Options of the solver; None: there is none."""
    asked = {name: getattr(given, name) for name in ("vectors", "gather", "scalars") if getattr(given, name)}
    if not given.engine:
        if asked:
            raise BadArgument(f"--{next(iter(asked))} is of a solver: add --engine host or cuda")
        return None
    return {"engine": given.engine, "ranks": ranks, "solver": given.solver, **asked}


def measure(
    surface: Surface,
    eps: float,
    way: str,
    threads: int,
    repeats: int,
    runs: dict[str, Any] | None,
    iterations: int,
    how: dict[str, Any],
    cublas: str | None = None,
    coarse: dict[str, Any] | None = None,
    widths: Sequence[int] = (),
    transposed: bool = False,
    batches: bool = False,
) -> list[dict[str, Any]]:
    """One matrix: its statistics, core seconds for each stored value, seconds of products; the best of several.

    With `runs`, options of a solver, products and iterations are those of its engine; without, products are those of
    threads of this process. `how`: further words for :func:`sordino.hmatrix`, with `engine`, who builds.
    `cublas`: which one the paper's ways take, for which a row each follows; None: they are not measured. `coarse`:
    words for a second matrix, which then preconditions the solver, and ``inner``. `widths`: numbers of vectors whose
    products are measured on the engine, a row each; `transposed`: those with the transpose, too. `batches`: those of
    the paper's Fig. 8 follow.
    """
    by_threads = how["engine"] == "host"
    if coarse is not None:
        check_memory(surface.n, [{"eps": eps, **how}, coarse], how["kernel"])
    times = 1 if runs and by_threads else repeats
    H, times_of_best, peak = _built(times, lambda: hmatrix(surface, eps, threads=threads, **WAYS[way], **how))
    seconds = times_of_best["seconds"]
    facts = {**H.statistics, **times_of_best, "build_peak_bytes": peak}
    values = facts["stored_bytes"] / H.dtype.itemsize
    M, told = _preconditioner(surface, coarse, threads, way)
    timed = engine_times(H, runs, repeats, iterations, M, told) if runs else host_times(H, repeats)
    ours = {
        "bench": "hmatrix", "surface": surface.name, "n": surface.n, "eps": eps, "way": way, "threads": threads,
        "build": how["engine"], "kernel": how["kernel"], "most_rank": how.get("most_rank"),
        **{name: facts[name] for name in facts if name != "norm"},
        **({"core_seconds_a_value": seconds * threads / values} if by_threads else {}), **timed,
        "product_bytes_a_second": facts["stored_bytes"] / timed["product_seconds"],
    }  # fmt: skip
    several: dict[str, Any] = {"transposed": transposed, "repeats": repeats, "pairs": 2 * iterations}
    return [
        ours,
        *(_several_vectors.measure(H, ours, list(widths), **several) if widths else []),
        *([] if cublas is None else _paper_ways.measure(H, ours, repeats, cublas)),
        *(_paper_batches.measure(H, ours, repeats) if batches else []),
    ]


def _built(times: int, build: Callable[[], HMatrix]) -> tuple[HMatrix, dict[str, Any], int | None]:
    """The last one, `seconds` and `phases` of the fastest of several, of which one is held, since two may be more than
    the memory has, with `first_seconds`, and the resident memory that the first one's build takes at most, where the
    system tells.
    """
    H, peak = peak_of(build)
    told = [H.statistics]
    for _ in range(times - 1):
        del H
        H = build()
        told.append(H.statistics)
    best = min(told, key=lambda facts: facts["seconds"])
    return (
        H,
        {"seconds": best["seconds"], "phases": best["phases"], "first_seconds": told[0]["seconds"]},
        peak,
    )


def host_times(H: HMatrix, repeats: int) -> dict[str, Any]:
    """Products with one vector, with 8, and of the transpose, on threads of this process."""
    x = np.sin(1.0 + np.arange(8 * H.shape[0])).reshape(-1, 8)
    one, eight, transposed = (
        _timing.timed(work, 5 * repeats).best
        for work in (lambda: H @ x[:, 0], lambda: H @ x, lambda: H.T @ x[:, 0])
    )
    return {
        "product_seconds": one, "product_of_8_seconds": eight, "transposed_product_seconds": transposed,
    }  # fmt: skip


def _preconditioner(
    surface: Surface, coarse: dict[str, Any] | None, threads: int, way: str
) -> tuple[HMatrix | None, dict[str, Any]]:
    """The second matrix, and what is told of it."""
    if coarse is None:
        return None, {}
    words = {name: coarse[name] for name in coarse if name != "inner"}
    M = hmatrix(surface, threads=threads, **{**WAYS[way], **words})
    s = M.statistics
    return M, {
        "coarse": words["eps"], "coarse_most_rank": words.get("most_rank"), "inner": coarse["inner"],
        "coarse_bytes": s["stored_bytes"], "coarse_mean_rank": s["mean_rank"], "coarse_seconds": s["seconds"],
    }  # fmt: skip


def engine_times(
    H: HMatrix,
    runs: dict[str, Any],
    repeats: int,
    iterations: int,
    M: HMatrix | None,
    told: dict[str, Any],
) -> dict[str, Any]:
    """Products one after the other, and what an iteration costs beyond what a solve costs once.

    `M` preconditions it, and `told` is what a row says of that. ``setup_seconds`` are those from the matrix to a solver
    that is ready: on GPUs most of them are the values' way there. Products that gather whole vectors are part of an
    iteration; ``product_seconds`` are then those of the same matrix between vectors of which a rank has its rows.
    """
    b = np.random.default_rng(1).standard_normal(H.shape[0])
    inner = {} if M is None else {"M": M, "inner": told["inner"]}
    seconds_to_share: list[float] = []
    with Solver(H, maxiter=iterations, rtol=NEVER, **runs, **inner) as solver:

        def run(count: int) -> tuple[int, float]:
            solution = solver.solve(b, on_failure="return", maxiter=count)
            seconds_to_share.append(solution.report.setup_seconds)
            return solution.iterations, solution.seconds

        seconds = _timing.per_iteration(run, iterations, repeats).best
        gathers = runs.get("vectors", "auto") != "auto" or runs["solver"] == "gatherbicgstab"
        products = [] if gathers else [solver.time_product(2 * iterations) for _ in range(repeats)]
        held = max(solver.memory()["bytes_per_rank"])
    if gathers:
        on_ranks = H.on(runs["engine"], ranks=runs["ranks"])
        products = [on_ranks.time_product(2 * iterations) for _ in range(repeats)]
    return {
        **runs, "iterations": iterations, "product_seconds": statistics.median(products), "iteration_seconds": seconds,
        "held_bytes": held, "setup_seconds": seconds_to_share[0], **told,
    }  # fmt: skip


def _coarse(given: argparse.Namespace, how: dict[str, Any], solves: bool) -> dict[str, Any] | None:
    """Words for a second matrix, and the steps with it."""
    if not given.coarse:
        if given.coarse_rank:
            raise BadArgument("--coarse-rank is of a second matrix: say its accuracy, --coarse, too")
        return None
    if not solves or given.solver != "gmres":
        raise BadArgument(
            "--coarse preconditions a solver that takes any preconditioner: --engine and --solver gmres"
        )
    words = {name: how[name] for name in how if name not in ("probes", "most_rank")}
    words["eps"], words["inner"] = number(given.coarse, "--coarse"), whole_number(given.inner, "--inner")
    if given.coarse_rank:
        words["most_rank"] = whole_number(given.coarse_rank, "--coarse-rank")
    return words


def _bare(word: str) -> str:
    """Where a surface lies is nobody's business."""
    return os.path.basename(word) if os.path.exists(word) else word


def _parser() -> Parser:
    parser = Parser("bench hmatrix", SUMMARY)
    parser.add_argument("surface", nargs="+", metavar="MESH|SHAPE", help="as for sordino bem")
    parser.add_argument("--eps", default="1e-6", metavar="X,Y", help="accuracies (default 1e-6)")
    parser.add_argument("--ways", default=",".join(WAYS), metavar="A,B", help="of these (default all)")
    parser.add_argument("--threads", default="0", metavar="N", help="0: as many as there are cores (default)")
    parser.add_argument(
        "--build", default="host", metavar="NAME", help="who computes blocks: host (default) or cuda"
    )
    parser.add_argument(
        "--kernel",
        default="laplace",
        metavar="NAME",
        help="laplace (default), or helmholtz with --wavenumber",
    )
    parser.add_argument("--wavenumber", default="", metavar="K", help="of helmholtz, in 1/m")
    parser.add_argument(
        "--most-rank", default="", metavar="N", help="terms of a block, the most, whatever it misses"
    )
    parser.add_argument("--repeats", default="3", metavar="N", help="the best of so many (default 3)")
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host or cuda: measure a solver's products there"
    )
    parser.add_argument("--ranks", default="1", metavar="N", help="with --engine (default 1)")
    parser.add_argument(
        "--solver", default="bicgstab", metavar="NAME", help="with --engine (default bicgstab)"
    )
    for name in ("vectors", "gather", "scalars"):
        parser.add_argument(
            f"--{name}", default="", metavar="WORD", help="with --engine: the solver's option"
        )
    parser.add_argument("--iterations", default="20", metavar="N", help="with --engine (default 20)")
    parser.add_argument(
        "--coarse",
        default="",
        metavar="X",
        help="accuracy of a second one, which preconditions --solver gmres",
    )
    parser.add_argument("--coarse-rank", default="", metavar="N", help="terms of its blocks, the most")
    parser.add_argument(
        "--inner", default="20", metavar="N", help="steps of BiCGStab with the second one (default 20)"
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="compare all rows with the dense matrix: O(n^2), and part of the build's time",
    )
    _several_vectors.add_arguments(parser)
    _shared_dots.add_arguments(parser)
    _paper_ways.add_arguments(parser)
    _paper_batches.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _records.add_arguments(parser)
    return parser


def _core_nanoseconds(row: dict[str, Any]) -> str:
    """Of a stored value; GPUs that build have no cores to count."""
    return f"{1e9 * row['core_seconds_a_value']:.0f}" if "core_seconds_a_value" in row else ""


def _peak(row: dict[str, Any]) -> str:
    """Of the host's memory; not every system tells."""
    return "" if row["build_peak_bytes"] is None else f"{row['build_peak_bytes'] / 2**20:.1f}"


def _show(measured: Sequence[dict[str, Any]]) -> None:
    rows = [row for row in measured if row["bench"] == "hmatrix"]
    papers = [row for row in measured if row["bench"] == _paper_ways.BENCH]
    last = (
        ("iteration [ms]", "to set up [ms]")
        if "iteration_seconds" in rows[0]
        else ("of 8 [ms]", "transposed [ms]")
    )
    heads = (
        "surface", "eps", "way", "low rank", "dense", "rank", "MiB", "to build [MiB]", "||A - H|| / ||H||", "redone",
        "build [s]", "core ns a value", "product [ms]", "GB/s", *last,
    )  # fmt: skip
    seconds = [
        k
        for k in ("product_of_8_seconds", "transposed_product_seconds", "iteration_seconds", "setup_seconds")
        if k in rows[0]
    ]
    cells = [
        [
            row["surface"], f"{row['eps']:g}", row["way"], f"{row['low_rank_blocks']:,}", f"{row['dense_blocks']:,}",
            f"{row['mean_rank']:.1f}", f"{row['stored_bytes'] / 2**20:.1f}", _peak(row),
            f"{row['compression_error']:.1e}",
            f"{row['redone_blocks']:,}", f"{row['seconds']:.2f}", _core_nanoseconds(row),
            f"{row['product_seconds'] * 1e3:.3f}", f"{row['product_bytes_a_second'] / 1e9:,.2f}",
            *(f"{row[k] * 1e3:.3f}" for k in seconds),
        ]
        for row in rows
    ]  # fmt: skip
    where = f"{rows[0]['engine']} engine" if "engine" in rows[0] else "host"
    display.show_table(f"H-matrices, {rows[0]['threads']} threads, products on the {where}", heads, cells)
    if several := [row for row in measured if row["bench"] == _several_vectors.BENCH]:
        _several_vectors.show(several)
    if papers:
        _paper_ways.show(papers)
    if batches := [row for row in measured if row["bench"] == _paper_batches.BENCH]:
        _paper_batches.show(batches)
