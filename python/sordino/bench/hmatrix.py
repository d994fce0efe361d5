"""``sordino bench hmatrix``: H-matrices of surfaces: what they store, how accurate they are, how fast they are."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._charge import as_surface
from .._hmatrix import HMatrix, hmatrix
from .._hmatrix_builders import gpus_to_build
from .._hmatrix_memory import check_memory
from .._memory import peak_of
from ..cli import display
from ..cli.common import Parser, number, whole_number
from ..cli.processes import say
from ..errors import BadArgument
from ..report.record import json_ready
from ..surfaces import Surface
from . import (
    _hmatrix_runs,
    _paper_batches,
    _paper_solvers,
    _paper_ways,
    _records,
    _several_vectors,
    _shared_dots,
    _timing,
)

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

#: Columns behind that of products, in milliseconds, of rows that have them.
SECONDS = {
    "product_of_8_seconds": "of 8 [ms]",
    "transposed_product_seconds": "transposed [ms]",
    "iteration_seconds": "iteration [ms]",
    "exposed_halo_s": "waits a product [ms]",
    "setup_seconds": "to set up [ms]",
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
    runs, iterations = _hmatrix_runs.asked(given), whole_number(given.iterations, "--iterations")
    ranks = _hmatrix_runs.ranks_of(given)
    papers = _paper_ways.asked(given, ranks)
    _paper_batches.check(given, ranks)
    widths = _several_vectors.asked(given, ranks)
    if given.build not in ("host", "cuda"):
        raise BadArgument(f"--build is host or cuda, not '{given.build}'")
    kernel: dict[str, Any] = {"kernel": given.kernel}
    if given.wavenumber:
        kernel["wavenumber"] = number(given.wavenumber, "--wavenumber")
    how: dict[str, Any] = {"engine": given.build, **kernel, **_build_gpus(given)}
    if given.most_rank:
        how["most_rank"] = whole_number(given.most_rank, "--most-rank")
    coarse = _hmatrix_runs.coarse(given, how, bool(runs))
    if given.exact:
        how["probes"] = max(s.n for s in surfaces)
    builds = [{**how, "eps": eps} for eps in tolerances]
    _hmatrix_runs.try_each(runs, [s.n for s in surfaces], builds, coarse, kernel)
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
            papers,
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


def measure(
    surface: Surface,
    eps: float,
    way: str,
    threads: int,
    repeats: int,
    runs: Sequence[dict[str, Any]],
    iterations: int,
    how: dict[str, Any],
    papers: dict[str, Any] | None = None,
    coarse: dict[str, Any] | None = None,
    widths: Sequence[int] = (),
    transposed: bool = False,
    batches: bool = False,
) -> list[dict[str, Any]]:
    """One matrix: its statistics, core seconds for each stored value, seconds of products; medians, and the least.

    With `runs`, each of them options of a solver and a row, products and iterations are those of its engine; without,
    products are those of threads of this process. `how`: further words for :func:`sordino.hmatrix`, with `engine`, who
    builds. `papers`: words for the paper's ways, of which a row each follows; None: they are not measured. `coarse`:
    words for a second matrix, which then preconditions the solver, and ``inner``. `widths`: numbers of vectors whose
    products are measured on the engine, a row each; `transposed`: those with the transpose, too. `batches`: those of
    the paper's Fig. 8 follow.
    """
    by_threads = how["engine"] == "host"
    if coarse is not None:
        check_memory(surface.n, [{"eps": eps, **how}, coarse], how["kernel"])
    times = 1 if runs and by_threads else repeats
    H, times_of_builds, peak = _built(
        times, lambda: hmatrix(surface, eps, threads=threads, **WAYS[way], **how)
    )
    seconds = times_of_builds["seconds"]
    facts = {**H.statistics, **times_of_builds, "build_peak_bytes": peak}
    values = facts["stored_bytes"] / H.dtype.itemsize
    words = {"eps": eps, **how}
    gpus = [] if by_threads else gpus_to_build(surface.n, words, how["kernel"], how.get("devices"))
    M, told = _preconditioner(surface, coarse, threads, way)
    timed = _hmatrix_runs.times_of_each(H, runs, repeats, iterations, M, told) or [host_times(H, repeats)]
    same = {
        "bench": "hmatrix", "surface": surface.name, "n": surface.n, "eps": eps, "way": way, "threads": threads,
        "build": how["engine"], "build_gpus": len(gpus) or None,
        "kernel": how["kernel"], "most_rank": how.get("most_rank"),
        **{name: facts[name] for name in facts if name != "norm"},
        **({"core_seconds_a_value": seconds * threads / values} if by_threads else {}),
    }  # fmt: skip
    rows = [
        {**same, **each, "product_bytes_a_second": facts["stored_bytes"] / each["product_seconds"]}
        for each in timed
    ]
    ours = rows[0]
    several: dict[str, Any] = {"transposed": transposed, "repeats": repeats, "pairs": 2 * iterations}
    return [
        *rows,
        *(_several_vectors.measure(H, ours, list(widths), **several) if widths else []),
        *([] if papers is None else _paper_ways.measure(H, ours, repeats, **papers)),
        *(_paper_batches.measure(H, ours, repeats) if batches else []),
    ]


def _built(times: int, build: Callable[[], HMatrix]) -> tuple[HMatrix, dict[str, Any], int | None]:
    """The last one; `seconds`, the median of several, and `seconds_best`, with the `phases` of the one in the middle,
    of an even number the faster one, and `first_seconds`; and the resident memory that the first one's build takes at
    most, where the system tells. One is held at a time, since two may be more than the memory has.
    """
    H, peak = peak_of(build)
    told = [H.statistics]
    for _ in range(times - 1):
        del H
        H = build()
        told.append(H.statistics)
    seconds = _timing.Seconds.of([facts["seconds"] for facts in told])
    middle = sorted(told, key=lambda facts: facts["seconds"])[(times - 1) // 2]
    found = {"seconds": seconds.median, "seconds_best": seconds.best, "phases": middle["phases"]}
    return H, {**found, "first_seconds": told[0]["seconds"]}, peak


def host_times(H: HMatrix, repeats: int) -> dict[str, Any]:
    """Products with one vector, with 8, and of the transpose, on threads of this process."""
    x = np.sin(1.0 + np.arange(8 * H.shape[0])).reshape(-1, 8)
    works: dict[str, Callable[[], object]] = {
        "product_seconds": lambda: H @ x[:, 0],
        "product_of_8_seconds": lambda: H @ x,
        "transposed_product_seconds": lambda: H.T @ x[:, 0],
    }
    timed = {name: _timing.timed(work, 5 * repeats) for name, work in works.items()}
    return {
        key: value
        for name, seconds in timed.items()
        for key, value in ((name, seconds.median), (f"{name}_best", seconds.best))
    }


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


def _build_gpus(given: argparse.Namespace) -> dict[str, Any]:
    """The first so many GPUs, if somebody says how many."""
    if not given.build_gpus:
        return {}
    count = whole_number(given.build_gpus, "--build-gpus")
    if given.build != "cuda" or count < 1:
        raise BadArgument("--build-gpus is at least 1, and of --build cuda")
    return {"devices": list(range(count))}


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
        "--build-gpus",
        default="",
        metavar="N",
        help="of --build cuda: so many GPUs (default: one for each 4 GB, of all there are)",
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
    parser.add_argument("--repeats", default="3", metavar="N", help="medians of so many (default 3)")
    _hmatrix_runs.add_arguments(parser)
    _paper_solvers.add_arguments(parser)
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
    last = {name: head for name, head in SECONDS.items() if name in rows[0]}
    runs = [name for name in _hmatrix_runs.APART if len({row.get(name) for row in rows}) > 1]
    heads = (
        "surface", "eps", "way", *runs, "low rank", "dense", "rank", "MiB", "to build [MiB]", "||A - H|| / ||H||",
        "redone", "build [s]", "core ns a value", "product [ms]", "GB/s", *last.values(),
    )  # fmt: skip
    cells = [
        [
            row["surface"], f"{row['eps']:g}", row["way"], *(str(row[k]) for k in runs),
            f"{row['low_rank_blocks']:,}", f"{row['dense_blocks']:,}",
            f"{row['mean_rank']:.1f}", f"{row['stored_bytes'] / 2**20:.1f}", _peak(row),
            f"{row['compression_error']:.1e}{' > eps' if row['misses_eps'] else ''}",
            f"{row['redone_blocks']:,}", f"{row['seconds']:.2f}", _core_nanoseconds(row),
            f"{row['product_seconds'] * 1e3:.3f}", f"{row['product_bytes_a_second'] / 1e9:,.2f}",
            *(f"{row[k] * 1e3:.3f}" for k in last),
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
