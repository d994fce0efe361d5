"""``sordino bench tiles``: Table I of paper 001, block-ilu's iterations and seconds by the shape of its tiles."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._matrix import CsrArrays, as_csr
from .._placement import default_engine
from .._solve import Solver
from ..cli import display
from ..cli.box import edges_of
from ..cli.common import Parser, number, whole_number, whole_numbers
from ..cli.processes import say
from ..errors import BadArgument
from ..problems import CUBE, Edges, multiphase
from ..report.record import json_ready
from . import _records
from ._timing import Seconds

SUMMARY = (
    "iterations and seconds of precond block-ilu by the shape of its tiles, beside others and Table I of 001"
)

Tile = tuple[int, int, int]

#: Table I, cases 2 to 9, 256 x 128 x 512 cells on a V100: iterations, seconds with vectors in the order xyz, and zyx.
#: Its seconds belong to no other table of the paper, so ratios alone can be compared.
PAPER: dict[Tile, tuple[int, float, float]] = {
    (16, 32, 4): (142, 17.49, 9.45),
    (16, 16, 4): (145, 38.62, 7.64),
    (8, 8, 16): (156, 13.04, 39.44),
    (16, 16, 1): (161, 48.69, 7.27),
    (8, 8, 1): (174, 47.34, 6.87),
    (4, 4, 4): (185, 22.83, 22.83),
    (2, 4, 64): (210, 8.70, 80.67),
    (1, 8, 8): (263, 10.79, 69.13),
}
#: Case 1, of 14 threads of a CPU: so many layers of 512 are a tile. Its seconds are another machine's.
SLAB, LAYERS, SLAB_ITERATIONS = 36, 512, 106

#: What block-ilu has to be faster than.
BESIDE = ("jacobi", "sqrt-jacobi", "chebyshev")

#: What ratios are of: what ``tile=auto`` is on GPUs.
BASE: Tile = (4, 4, 4)


def main(argv: Sequence[str]) -> int:
    """Solve once a turn with each shape, print a table, append records; return 0, or 3 if one does not converge."""
    given = _parser().read(argv)
    size = whole_numbers(given.size, "--size")
    repeats, ranks = whole_number(given.repeats, "--repeats"), whole_number(given.ranks, "--ranks")
    contrast, rtol = number(given.contrast, "--contrast"), number(given.rtol, "--rtol")
    if len(size) != 3 or min(*size, repeats, ranks) < 1 or not 0 < rtol < 1:
        raise BadArgument(
            "--size is three numbers from 1 on, --repeats and --ranks are at least 1, and --rtol between 0 and 1"
        )
    engine = given.engine or default_engine()
    if engine not in ("host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for a measurement, not '{engine}'")
    tiles = [_tile(word) for word in given.tiles.split(",")] if given.tiles else shapes(size, engine)
    others = [word for word in given.beside.split(",") if word]
    if wrong := next((word for word in others if word not in BESIDE), None):
        raise BadArgument(f"--beside is some of {', '.join(BESIDE)}, not '{wrong}'")
    for tile in tiles:
        if any(cells > along for cells, along in zip(tile, size, strict=True)):
            raise BadArgument(f"tile {_shown(tile)} is larger than the grid, {_shown(size)} cells")
    if given.record:
        _records.check(given.record)
    edges, seed = edges_of(given.spacing), whole_number(given.seed, "--seed")
    problem = multiphase(*size, contrast=contrast, seed=seed, spacing=edges)
    rows = as_csr(problem.A)
    facts = {
        "bench": "tiles", "size": size, "spacing": edges, "seed": seed, "contrast": contrast, "rtol": rtol,
        "engine": engine, "ranks": ranks, "repeats": repeats, "counts": "median", "load_average": os.getloadavg()[0],
    }  # fmt: skip
    options: dict[str, Any] = {"engine": engine, "ranks": ranks, "rtol": rtol}
    with display.steps("solving", len(tiles) + len(others), quiet=given.json) as step:
        found, beside = [], []
        for tile in tiles:
            solved = measure(
                rows, problem.b, repeats, precond="block-ilu", tile=tile, grid=tuple(size), **options
            )
            found.append(facts | of_shape(size, tile, edges) | solved)
            step()
        for precond in others:
            beside.append(facts | measure(rows, problem.b, repeats, precond=precond, **options))
            step()
    if given.json:
        said = {"bench": "tiles", "measured": found, "beside": beside, "fit": fit(found)}
        say(json.dumps(json_ready(said), allow_nan=False))
    else:
        _show(found)
        _show_beside(found, beside)
    if given.record:
        command = shlex.join(["sordino", "bench", "tiles", *argv])
        _records.append(given.record, found + beside, command, given.commit or _records.commit())
    return 0 if all(row["converged"] for row in found + beside) else 3


def _parser() -> Parser:
    parser = Parser("bench tiles", SUMMARY)
    parser.add_argument(
        "--size",
        default="64,32,128",
        metavar="X,Y,Z",
        help="cells (default 64,32,128; the paper: 256,128,512)",
    )
    parser.add_argument(
        "--tiles",
        default="",
        metavar="8x8x1,4x4x4",
        help="shapes (default: the paper's; slabs on host alone)",
    )
    parser.add_argument(
        "--beside",
        default="jacobi,sqrt-jacobi",
        metavar="A,B",
        help=f"other preconditioners, of {', '.join(BESIDE)} (default jacobi,sqrt-jacobi)",
    )
    parser.add_argument("--contrast", default="1000", metavar="C", help="contrast of density (default 1000)")
    parser.add_argument("--seed", default="0", metavar="N", help="for the bubbles (default 0)")
    parser.add_argument("--spacing", metavar="X,Y,Z", help="edges of a cell in x, y and z (default 1,1,1)")
    parser.add_argument("--rtol", default="1e-8", metavar="X", help="as the paper's (default 1e-8)")
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host or cuda (default: cuda where it can run)"
    )
    parser.add_argument(
        "--ranks", default="1", metavar="N", help="that share the tiles: threads, or GPUs (default 1)"
    )
    parser.add_argument(
        "--repeats", default="3", metavar="N", help="solves, the median of which counts (default 3)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _records.add_arguments(parser)
    return parser


def shapes(size: Sequence[int], engine: str) -> list[Tile]:
    """The paper's; its slabs, in proportion, on the host alone: a GPU has no thread that one suits."""
    slab = (size[0], size[1], max(1, round(size[2] * SLAB / LAYERS)))
    return [*([slab] if engine == "host" else []), *PAPER]


def _tile(word: str) -> Tile:
    sides = word.split("x")
    if len(sides) != 3 or not all(side.isdecimal() and int(side) > 0 for side in sides):
        raise BadArgument(f"--tiles has shapes such as 8x8x1, not '{word}'")
    return int(sides[0]), int(sides[1]), int(sides[2])


def measure(rows: CsrArrays, b: np.ndarray, repeats: int, **options: Any) -> dict[str, Any]:
    """One preconditioner: iterations of cg, and the median of its solves' seconds, without setup."""
    with Solver(rows, solver="cg", maxiter=rows.n, **options) as solver:
        solved = [solver.solve(b, on_failure="return") for _ in range(repeats)]
    seconds, first = Seconds.of([one.seconds for one in solved]), solved[0]
    return {
        "precond": options["precond"], "iterations": first.iterations, "seconds": seconds.median,
        "best_s": seconds.best, "converged": all(one.converged for one in solved),
        "true_residual": max(one.true_residual for one in solved),
    }  # fmt: skip


def of_shape(size: Sequence[int], tile: Tile, edges: Edges) -> dict[str, Any]:
    """What is known of a shape before anything is solved, the paper's figures among it."""
    paper, t1, t2 = PAPER.get(tile, (None, None, None))
    slab = tile == shapes(size, "host")[0]
    return {
        "tile": tile, "cut": cut(size, tile, edges),
        "paper": SLAB_ITERATIONS if slab else paper, "paper_t1": t1, "paper_t2": t2,
    }  # fmt: skip


def cut(size: Sequence[int], tile: Sequence[int], edges: Edges = CUBE) -> float:
    """Which part of the grid's couplings, those of neighbouring cells, is between cells of two tiles.

    Each counts as it weighs in a fluid of one density: by the edge of a cell along it, to the power of -2.
    """
    weights = [1 / (along * edge**2) for along, edge in zip(size, edges, strict=True)]
    lost = sum(w * (-(-n // cells) - 1) for w, n, cells in zip(weights, size, tile, strict=True))
    return lost / (sum(w * (n - 1) for w, n in zip(weights, size, strict=True)) or 1.0)


def fit(found: Sequence[dict[str, Any]]) -> dict[str, float] | None:
    """Iterations as a + b times the part of couplings that is cut, by least squares; of fewer than three shapes none.

    Returns
    -------
    dict
        ``whole``, a; ``slope``, b; ``worst``, the largest difference to an iteration count, relative to it.
    """
    if len({row["cut"] for row in found}) < 3:
        return None
    cuts, counts = (np.array([row[key] for row in found], float) for key in ("cut", "iterations"))
    slope, whole = np.polyfit(cuts, counts, 1)
    return {"whole": whole, "slope": slope, "worst": float(abs((whole + slope * cuts) / counts - 1).max())}


def _shown(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


def _show(found: list[dict[str, Any]]) -> None:
    base = next((row for row in found if tuple(row["tile"]) == BASE), None)

    def ratio(row: dict[str, Any], key: str) -> str:
        return f"{row[key] / base[key]:.2f}" if base and row[key] else "-"

    heads = (
        "tile",
        "cut %",
        "iterations",
        "ratio",
        "paper",
        "ms each",
        "seconds",
        "ratio",
        "paper t1",
        "paper t2",
    )
    cells = [
        [
            _shown(row["tile"]), f"{100 * row['cut']:.1f}",
            str(row["iterations"]) + ("" if row["converged"] else " MISSED"),
            ratio(row, "iterations"), ratio(row, "paper"),
            f"{1e3 * row['seconds'] / max(row['iterations'], 1):.3f}", f"{row['seconds']:.3f}",
            *(ratio(row, key) for key in ("seconds", "paper_t1", "paper_t2")),
        ]
        for row in found
    ]  # fmt: skip
    first = found[0]
    edges = f" of {' x '.join(f'{edge:g}' for edge in first['spacing'])}" if first["spacing"] != CUBE else ""
    grid = f"{_shown(first['size'])} cells{edges}, contrast {first['contrast']:g}"
    where = f"engine {first['engine']}, ranks {first['ranks']}"
    title = f"{grid}, to {first['rtol']:g}, {where}; ratios to {_shown(BASE)}"
    display.show_table(title, heads, cells)
    line = fit(found)
    if line:
        said = f"{line['whole']:.0f} + {line['slope']:.0f} times the part cut"
        say(f"iterations = {said}, within {100 * line['worst']:.0f} %")


def _show_beside(found: list[dict[str, Any]], beside: list[dict[str, Any]]) -> None:
    best = min((row for row in found if row["converged"]), key=lambda row: row["seconds"], default=None)
    for row in beside:
        said = f"{row['precond']}: {row['iterations']} iterations, {row['seconds']:.3f} s"
        if not row["converged"]:
            say(said + ", MISSED")
        elif best:
            say(
                f"{said}; tiles of {_shown(best['tile'])} take {best['seconds'] / row['seconds']:.2f} times that"
            )
