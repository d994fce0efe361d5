"""``sordino bench cg``: microseconds of an iteration of CG, or another method, and of its product, beside others."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _options
from .._placement import default_engine
from ..cli import display
from ..cli.common import Parser, number, whole_number, whole_numbers
from ..cli.processes import say
from ..errors import BadArgument
from ..problems import poisson_rows
from . import _ours, _peers, _records

SUMMARY = "Jacobi-CG and its matrix product on a 7-point grid, beside SciPy, CuPy and cuSPARSE"

#: Bytes that must move for a row of a 7-point matrix in a product: 7 x (8 + 4) + 4 + 8 + 8 in CSR, 7 x 8 or 4 x 8
#: with its vectors by diagonals, and 1 with them where rows are kept by kinds. The floor of an iteration is what its
#: commands declare.
PRODUCT_BYTES = {"csr": 104, "dia": 72, "symdia": 48, "constant": 17}

#: A main diagonal of ones is not kept (precond sqrt-jacobi).
DIAGONAL_BYTES = {"dia": 8, "symdia": 8}

#: What a table does not say of a measurement.
USUAL = {"solver": "cg", "precond": "jacobi", "all_reduce": "auto", "storage": "csr"}

#: Options of which several may be given, to be measured in all their combinations.
SEVERAL = ("solver", "precond", "storage", "all_reduce")


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    sizes: list[int]
    ranks: list[int]
    choices: dict[str, list[str]]  # of each of SEVERAL
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
        say(
            f"copy bandwidth here: {bandwidth / 1e9:,.0f} GB/s; floors are "
            + ", ".join(f"{PRODUCT_BYTES[s]} B a row for the product in {s}" for s in _kinds(plan))
            + "\n"
        )
    command = shlex.join(["sordino", "bench", "cg", *argv])
    measured = []
    for size in plan.sizes:
        rows = [*_measure(size, plan, bandwidth, floors)]
        _show(size, rows)
        measured += rows
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
    parser.add_argument(
        "--ranks", default="", metavar="N,N", help="numbers of ranks, such as 1,2,4 (default 1)"
    )
    parser.add_argument(
        "--engine", default="", metavar="NAME", help="host or cuda (default: cuda where it can run)"
    )
    parser.add_argument(
        "--all-reduce",
        default="auto",
        metavar="A,B",
        help="ways of sums over ranks, as solve takes them; nccl also sends rows by NCCL (default auto)",
    )
    parser.add_argument(
        "--storage",
        default="auto",
        metavar="A,B",
        help="how entries lie in memory, of auto, csr, dia, symdia, constant (default auto); records say which",
    )
    parser.add_argument("--solver", default="cg", metavar="A,B", help="methods (default cg)")
    parser.add_argument("--precond", default="jacobi", metavar="A,B", help="preconditioners (default jacobi)")
    parser.add_argument("--contrast", default="1", metavar="C", help="contrast of density (default 1)")
    parser.add_argument(
        "--iterations", default="200", metavar="N", help="iterations of a timed run (default 200)"
    )
    parser.add_argument(
        "--repeats", default="3", metavar="N", help="the median of so many runs counts (default 3)"
    )
    parser.add_argument("--no-peers", action="store_true", help="measure Sordino alone")
    parser.add_argument(
        "--limit-program", metavar="FILE", help="a program that prints '64^3 P=1  us/iter 22.10'"
    )
    _records.add_arguments(parser)
    return parser


def _plan(given: Any) -> Plan:
    sizes = whole_numbers(",".join(given.sizes), "--sizes")
    ranks = whole_numbers(given.ranks, "--ranks") or [1]
    iterations, repeats = (
        whole_number(given.iterations, "--iterations"),
        whole_number(given.repeats, "--repeats"),
    )
    if not sizes or min(*sizes, *ranks, iterations, repeats) < 1:
        raise BadArgument("sizes, ranks, iterations and repeats must be at least 1")
    choices = {name: _words(getattr(given, name), name) for name in SEVERAL}
    engine = given.engine or default_engine()
    if engine not in ("host", "cuda"):
        raise BadArgument(f"--engine is host or cuda for a measurement, not '{engine}'")
    return Plan(
        sizes,
        ranks,
        choices,
        engine,
        number(given.contrast, "--contrast"),
        iterations,
        repeats,
        not given.no_peers,
    )


def _words(text: str, name: str) -> list[str]:
    words = [word for word in text.split(",") if word] or ["auto"]
    known = ("auto", *PRODUCT_BYTES) if name == "storage" else _options.specs()[name].choices or ()
    for word in words:
        if word not in known:
            raise BadArgument(f"--{name.replace('_', '-')} is of {', '.join(known)}, not '{word}'")
    return words


def _kinds(plan: Plan) -> list[str]:
    """The storages that may be measured: auto may take any of them but constant."""
    storages = plan.choices["storage"]
    automatic = {"csr", "dia", "symdia"} if "auto" in storages else set()
    return [kind for kind in PRODUCT_BYTES if kind in automatic.union(storages)]


def _bandwidth(plan: Plan) -> float | None:
    if plan.engine == "host":
        return _peers.host_copy_bandwidth(max(plan.ranks))
    return _peers.device_copy_bandwidth() if _peers.cupy_there() else None


def _measure(
    size: int, plan: Plan, bandwidth: float | None, floors: dict[tuple[int, int], float]
) -> list[dict[str, Any]]:
    """One record for each number of ranks; peers use one processor or device, and are measured once."""
    load = os.getloadavg()[0]
    matrix = poisson_rows(size, size, size, 7, plan.contrast)
    peers = _measure_peers(matrix, plan)
    found = []
    combinations = itertools.product(*(plan.choices[name] for name in SEVERAL))
    for ranks, words in itertools.product(plan.ranks, combinations):
        given: dict[str, Any] = dict(zip(SEVERAL, words, strict=True))
        way = given.pop("all_reduce")
        if given["precond"] in ("block-ilu", "mg"):
            given["grid"] = (size, size, size)
        ours = _ours.measure(matrix, plan.engine, ranks, way, given, plan.iterations, plan.repeats)
        product_bytes = PRODUCT_BYTES[ours.storage]
        if given["precond"] == "sqrt-jacobi":
            product_bytes -= DIAGONAL_BYTES.get(ours.storage, 0)
        # Threads of one processor share its memory; devices have their own.
        total = bandwidth * (ranks if plan.engine == "cuda" else 1) if bandwidth else None
        record = {
            "bench": "cg", "size": size, "rows": matrix.n, "entries": matrix.nnz, "contrast": plan.contrast,
            "engine": plan.engine, "ranks": ranks, "solver": given["solver"], "precond": given["precond"],
            "all_reduce": way, "storage": ours.storage, "vectors": ours.vectors,
            "iterations": plan.iterations, "repeats": plan.repeats, "load_average": load, "bandwidth": bandwidth,
            "counts": "median", "iteration_s": ours.iteration.median, "spmv_s": ours.spmv.median,
            "iteration_best_s": ours.iteration.best, "spmv_best_s": ours.spmv.best,
            "iteration_floor_s": ours.bytes * ranks / total if total else None,
            "spmv_floor_s": product_bytes * matrix.n / total if total else None,
            "held_bytes": ours.held, "limit_program_s": floors.get((size, ranks)),
            "peers": peers, "ledger": ours.ledger, "residual": ours.residual,
        }  # fmt: skip
        found.append(record)
    return found


def _measure_peers(matrix: Any, plan: Plan) -> dict[str, dict[str, float]]:
    kind = _peers.Host if plan.engine == "host" else _peers.Device
    if not plan.peers or (plan.engine == "cuda" and not _peers.cupy_there()):
        return {"iteration_s": {}, "spmv_s": {}}
    peer = kind(matrix, plan.iterations, plan.repeats)
    return {"iteration_s": peer.cg(), "spmv_s": peer.spmv()}


def _show(size: int, records: list[dict[str, Any]]) -> None:
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
            name = ", ".join([what, *special])
            row = [name, str(record["ranks"]), _us(ours), f"{ours / floor:.2f} x" if ours and floor else "-"]
            row.append(
                f"{record['held_bytes'] * record['ranks'] / (8 * record['rows']):.1f}"
                if what == "iteration"
                else ""
            )
            row += [_against(record["peers"][key].get(name), ours) for name in names]
            rows.append([*row, f"{_us(limit)} ({ours / limit:.2f})" if limit and ours else "-"])
    display.show_table(f"{size}^3, {records[0]['rows']:,} rows, {records[0]['engine']} engine", heads, rows)


def _against(peer: float | None, ours: float | None) -> str:
    if not peer:
        return "-"
    return f"{_us(peer)} ({peer / ours:.2f})" if ours else _us(peer)


def _us(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e6:,.1f}"
