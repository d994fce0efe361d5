"""``sordino bench cg``: microseconds of an iteration of CG, or another method, and of its product, beside others."""

from __future__ import annotations

import itertools
import math
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _options
from .._native import core, translated
from .._placement import default_engine
from ..cli import display
from ..cli.common import Parser, number, whole_number, whole_numbers
from ..cli.processes import say
from ..errors import BadArgument
from ..problems import poisson_rows
from . import _ours, _peers, _records

SUMMARY = "Jacobi-CG and its matrix product on a grid of 7 or 27 points, beside SciPy, CuPy and cuSPARSE"

STORAGES = ("csr", "dia", "symdia", "constant")

#: What a table does not say of a measurement.
USUAL = {"solver": "cg", "precond": "jacobi", "all_reduce": "auto", "storage": "csr", "partition": "blocks"}

#: Options of which several may be given, to be measured in all their combinations.
SEVERAL = ("solver", "precond", "storage", "all_reduce", "partition")

#: Flag, default, what it takes, and what it says.
FLAGS = (
    ("--stencil", "7", "7,27", "points, 7 or 27 or both (default {default})"),
    ("--ranks", "", "N,N", "numbers of ranks, such as 1,2,4 (default 1, or as many as --boxes)"),
    ("--engine", "", "NAME", "host or cuda (default: cuda where it can run)"),
    ("--all-reduce", "auto", "A,B",
     "ways of sums over ranks, as solve takes them; nccl also sends rows by NCCL (default {default})"),
    ("--storage", "auto", "A,B",
     "how entries lie in memory, of auto, csr, dia, symdia, constant (default {default}); records say which"),
    ("--partition", "blocks", "A,B", "what a rank owns, of blocks, boxes, metis; blocks are slabs (default {default})"),
    ("--boxes", "auto", "X,Y,Z", "with --partition boxes: how many in x, y and z (default {default})"),
    ("--solver", "cg", "A,B", "methods (default {default})"),
    ("--precond", "jacobi", "A,B", "preconditioners (default {default})"),
    ("--contrast", "1", "C", "contrast of density (default {default})"),
    ("--iterations", "200", "N", "iterations of a timed run (default {default})"),
    ("--repeats", "3", "N", "the median of so many runs counts (default {default})"),
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    sizes: list[int]
    stencils: list[int]
    ranks: list[int]
    choices: dict[str, list[str]]  # of each of SEVERAL
    boxes: str
    engine: str
    contrast: float
    iterations: int
    repeats: int
    peers: bool


def main(argv: Sequence[str]) -> int:
    """Measure, print tables, append records; return the exit code."""
    given = _parser().read(argv)
    plan = _plan(given)
    if given.record:
        _records.check(given.record)
    at = given.commit or _records.commit()
    floors = _peers.limit_program(given.limit_program) if given.limit_program else {}
    bandwidth = _bandwidth(plan)
    if bandwidth:
        say(f"copy bandwidth here: {bandwidth / 1e9:,.0f} GB/s; floors are")
        for stencil in plan.stencils:
            each = [(kind, product_bytes(kind, stencil)) for kind in _kinds(plan)]
            floors_of = ", ".join(f"{moved} B a row for the product in {kind}" for kind, moved in each)
            say(f"{floors_of}, of {stencil} points")
        say("")
    command = shlex.join(["sordino", "bench", "cg", *argv])
    for size, stencil in itertools.product(plan.sizes, plan.stencils):
        rows = _measure(size, stencil, plan, bandwidth, floors)
        _show(rows)
        if given.record:
            _records.append(given.record, rows, command, at)
    return 0


def _parser() -> Parser:
    parser = Parser("bench cg", SUMMARY)
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=["64,128,256"],
        metavar="N,N",
        help="grids of N^3 cells (default 64,128,256)",
    )
    for flag, default, metavar, said in FLAGS:
        parser.add_argument(flag, default=default, metavar=metavar, help=said.format(default=default))
    parser.add_argument("--no-peers", action="store_true", help="measure Sordino alone")
    parser.add_argument(
        "--limit-program", metavar="FILE", help="a program that prints '64^3 P=1  us/iter 22.10'"
    )
    _records.add_arguments(parser)
    return parser


def _plan(given: Any) -> Plan:
    sizes = whole_numbers(",".join(given.sizes), "--sizes")
    stencils = whole_numbers(given.stencil, "--stencil")
    choices = {name: _words(getattr(given, name), name) for name in SEVERAL}
    boxes = _in_boxes(given.boxes, choices["partition"])
    ranks = whole_numbers(given.ranks, "--ranks") or [boxes or 1]
    iterations, repeats = (
        whole_number(given.iterations, "--iterations"),
        whole_number(given.repeats, "--repeats"),
    )
    if not sizes or min(*sizes, *ranks, iterations, repeats) < 1:
        raise BadArgument("sizes, ranks, iterations and repeats must be at least 1")
    if not stencils or not {7, 27}.issuperset(stencils):
        raise BadArgument(f"--stencil is of 7, 27, not '{given.stencil}'")
    if boxes and set(ranks) != {boxes}:
        raise BadArgument(f"--boxes {given.boxes} are for {boxes} ranks, and --ranks is {given.ranks}")
    engine = given.engine or default_engine()
    if engine not in ("host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for a measurement, not '{engine}'")
    return Plan(
        sizes,
        stencils,
        ranks,
        choices,
        given.boxes,
        engine,
        number(given.contrast, "--contrast"),
        iterations,
        repeats,
        not given.no_peers,
    )


def _words(text: str, name: str) -> list[str]:
    words = [word for word in text.split(",") if word] or ["auto"]
    known = ("auto", *STORAGES) if name == "storage" else _options.specs()[name].choices or ()
    for word in words:
        if word not in known:
            raise BadArgument(f"--{name.replace('_', '-')} is of {', '.join(known)}, not '{word}'")
    return words


def _in_boxes(boxes: str, partitions: list[str]) -> int:
    """How many boxes there are in all; 0: as many as ranks, or none."""
    if boxes == "auto":
        return 0
    if "boxes" not in partitions:
        raise BadArgument("--boxes needs --partition boxes")
    with translated():
        return math.prod(core().extents("boxes", boxes))


def product_bytes(storage: str, stencil: int, *, ones: bool = False) -> int:
    """Bytes that must move for a row in a product, vectors among them: the floor of an iteration is what its commands
    declare.

    `stencil` entries of 8 + 4 and a row's beginning in CSR, 8 each by diagonals, of a half by symmetric ones, and 1
    where rows are kept by kinds. `ones`: a main diagonal by diagonals is not kept (precond sqrt-jacobi).
    """
    kinds = {"csr": 12 * stencil + 4, "dia": 8 * stencil, "symdia": 4 * (stencil + 1), "constant": 1}
    return kinds[storage] + 16 - (8 if ones and storage in ("dia", "symdia") else 0)


def _kinds(plan: Plan) -> list[str]:
    """The storages that may be measured: auto may take any of them but constant."""
    storages = plan.choices["storage"]
    automatic = {"csr", "dia", "symdia"} if "auto" in storages else set()
    return [kind for kind in STORAGES if kind in automatic.union(storages)]


def _bandwidth(plan: Plan) -> float | None:
    if plan.engine == "host":
        return _peers.host_copy_bandwidth(max(plan.ranks))
    return _peers.device_copy_bandwidth() if _peers.cupy_there() else None


def _measure(
    size: int, stencil: int, plan: Plan, bandwidth: float | None, floors: dict[tuple[int, int], float]
) -> list[dict[str, Any]]:
    """One record for each number of ranks; peers use one processor or device, and are measured once.

    Floors of a program that others wrote are of 7 points.
    """
    load = os.getloadavg()[0]
    matrix = poisson_rows(size, size, size, stencil, plan.contrast)
    peers = _measure_peers(matrix, plan)
    found = []
    combinations = itertools.product(*(plan.choices[name] for name in SEVERAL))
    for ranks, words in itertools.product(plan.ranks, combinations):
        given: dict[str, Any] = dict(zip(SEVERAL, words, strict=True))
        way = given.pop("all_reduce")
        boxes = _boxes_of(size, ranks, plan) if given["partition"] == "boxes" else None
        if boxes:
            given["boxes"] = boxes
        if boxes or given["precond"] in ("block-ilu", "mg"):
            given["grid"] = (size, size, size)
        ours = _ours.measure(matrix, plan.engine, ranks, way, given, plan.iterations, plan.repeats)
        moved = product_bytes(ours.storage, stencil, ones=given["precond"] == "sqrt-jacobi")
        # Threads of one processor share its memory; devices have their own.
        total = bandwidth * (ranks if plan.engine == "cuda" else 1) if bandwidth else None
        record = {
            "bench": "cg", "size": size, "stencil": stencil, "rows": matrix.n, "entries": matrix.nnz,
            "contrast": plan.contrast, "engine": plan.engine, "ranks": ranks, "partition": given["partition"],
            "boxes": boxes, "solver": given["solver"], "precond": given["precond"],
            "all_reduce": way, "storage": ours.storage, "vectors": ours.vectors,
            "iterations": plan.iterations, "repeats": plan.repeats, "load_average": load, "bandwidth": bandwidth,
            "counts": "median", "iteration_s": ours.iteration.median, "spmv_s": ours.spmv.median,
            "iteration_best_s": ours.iteration.best, "spmv_best_s": ours.spmv.best,
            "iteration_floor_s": ours.bytes * ranks / total if total else None,
            "spmv_floor_s": moved * matrix.n / total if total else None,
            "held_bytes": ours.held, "limit_program_s": floors.get((size, ranks)) if stencil == 7 else None,
            "peers": peers, "ledger": ours.ledger, "residual": ours.residual,
        }  # fmt: skip
        found.append(record)
    return found


def _boxes_of(size: int, ranks: int, plan: Plan) -> list[int]:
    """How many boxes there are in x, y and z."""
    with translated():
        return core().choose_boxes(size**3, f"{size},{size},{size}", plan.boxes, ranks)[1]


def _measure_peers(matrix: Any, plan: Plan) -> dict[str, dict[str, float]]:
    kind = _peers.Host if plan.engine == "host" else _peers.Device
    if not plan.peers or (plan.engine == "cuda" and not _peers.cupy_there()):
        return {"iteration_s": {}, "spmv_s": {}}
    peer = kind(matrix, plan.iterations, plan.repeats)
    return {"iteration_s": peer.cg(), "spmv_s": peer.spmv()}


def _show(records: list[dict[str, Any]]) -> None:
    names = sorted({name for record in records for part in record["peers"].values() for name in part})
    heads = (
        "what",
        "ranks",
        "us",
        "of its floor",
        "vectors held",
        *[f"{name} us (x ours)" for name in names],
        "limit us (ours x)",
    )
    rows = []
    for record in records:
        for what, key in (("iteration", "iteration_s"), ("product", "spmv_s")):
            ours = record[key]
            floor = record[key.replace("_s", "_floor_s")]
            limit = record["limit_program_s"] if what == "iteration" else None
            special = [record[key] for key, usual in USUAL.items() if record[key] != usual]
            if record["boxes"]:
                special.append(" x ".join(map(str, record["boxes"])))
            name = ", ".join([what, *special])
            row = [name, str(record["ranks"]), _us(ours), f"{ours / floor:.2f} x" if ours and floor else "-"]
            row.append(
                f"{record['held_bytes'] * record['ranks'] / (8 * record['rows']):.1f}"
                if what == "iteration"
                else ""
            )
            row += [_against(record["peers"][key].get(name), ours) for name in names]
            rows.append([*row, f"{_us(limit)} ({ours / limit:.2f})" if limit and ours else "-"])
    first = records[0]
    title = f"{first['size']}^3, {first['stencil']} points, {first['rows']:,} rows, {first['engine']} engine"
    display.show_table(title, heads, rows)


def _against(peer: float | None, ours: float | None) -> str:
    if not peer:
        return "-"
    return f"{_us(peer)} ({peer / ours:.2f})" if ours else _us(peer)


def _us(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e6:,.1f}"
