"""cuDSS's solves beside ours on a GPU: the same matrix in the same order, whole, forward and back, in one run.

python bench/beside_cudss.py [MATRIX...] --orders FOLDER [--order metis|own] [--kind spd|general] [--columns 1,32]
    [--repeats 11] [--ours BENCH] [--true MATRIX,...] [--library libcudss.so.0] [--record FILE]
python bench/beside_cudss.py [MATRIX...] --orders FOLDER --make-orders

A matrix is `7:N`, `27:N` or `5:N`, as of bench/true_factors.py, or a file, symmetric positive definite. FOLDER has
METIS's orders, such as metis_7_64.i32 or metis_bcsstk16.i32: 32-bit numbers, the k-th cell of the order, or row of a
file's matrix; --make-orders writes them, with pymetis. Order own is the one that cuDSS finds, which ours is given then,
if it keeps the unknowns of each cell together. BENCH is bench_triangular, compiled with CUDA: it has the structure of
the factor, and invented values. Matrices of --true are factored by SuperLU, too, with pivots on the diagonal, and L and
U solved with by sordino.factorized.

One line of JSON for each matrix and number of right-hand sides; what cuDSS solves is verified, or there are no times.
`*_s` of cuDSS and of invented values are seconds on the GPU, `*called_s` by the host's clock, with a wait for the GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cudss_solver
import numpy as np
from true_factors import matrix_of, name_of

import sordino
from sordino._factoring import factored, prepared
from sordino._ordering import nested_dissection
from sordino.bench import _records
from sordino.bench._timing import timed
from sordino.errors import BadArgument, DeviceError, FileError, SordinoError, Unsupported
from sordino.report.record import json_ready

MATRICES = ("7:40", "7:64", "7:100", "27:40", "27:50", "5:1000")
BENCH_TIMEOUT_S = 100
MOST_ERROR = 1e-12  # backward error that a solution may have
SWEEPS = ("forward_s", "backward_s", "forward_called_s", "backward_called_s")
#: Steps of a solve: permutations joined to sweeps, and by themselves; first without D, then with it.
WAYS = (
    ("fwd_perm|fwd", "bwd|bwd_perm"), ("fwd_perm|fwd", "diag|bwd|bwd_perm"),
    ("fwd_perm", "fwd", "bwd", "bwd_perm"), ("fwd_perm", "fwd", "diag", "bwd", "bwd_perm"),
)  # fmt: skip


def unknowns_of(word: str) -> int:
    """Of each cell of a grid; 1 of a file's rows."""
    return 3 if word.startswith("27:") else 1


def order_path(word: str, folder: str) -> Path:
    """Where METIS's order of a matrix is."""
    name = word.replace(":", "_") if ":" in word else Path(word).stem
    return Path(folder) / f"metis_{name}.i32"


def read_order(path: Path, cells: int) -> np.ndarray:
    """The k-th cell of the order, shape (cells,).

    Raises
    ------
    FileError
        It cannot be read.
    BadArgument
        It has not each cell once.
    """
    try:
        order = np.fromfile(path, np.int32)
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror or error})") from None
    if len(order) != cells or not np.array_equal(np.sort(order), np.arange(cells)):
        raise BadArgument(f"{path} has not each of {cells} cells once")
    return order


def rows_of(order: np.ndarray, unknowns: int) -> np.ndarray:
    """The k-th row, of an order of cells."""
    return np.asarray((order[:, None] * unknowns + np.arange(unknowns)).ravel(), np.int32)


def cells_of(rows: np.ndarray, unknowns: int) -> np.ndarray | None:
    """The k-th cell, of an order of rows; None where it parts the unknowns of a cell."""
    cells = rows.reshape(-1, unknowns) // unknowns
    return np.ascontiguousarray(cells[:, 0], np.int32) if (cells == cells[:, :1]).all() else None


def make_orders(words: Sequence[str], folder: str) -> None:
    """Write METIS's orders of cells, or of a file's rows."""
    for word in words:
        each = unknowns_of(word)
        order = nested_dissection(matrix_of(word)[::each, ::each].tocsr())
        order.astype(np.int32).tofile(order_path(word, folder))


def backward_error(A: Any, x: Any, b: Any) -> float:
    """Of a random sum of all columns, so that each of them counts: the residual beside |A| |x| + |b|, by norms."""
    sums = np.random.default_rng(2).standard_normal(b.shape[1])
    x, b = x.get() @ sums, b.get() @ sums
    size = abs(A).sum(axis=1).max() * abs(x).max() + abs(b).max()
    return float(abs(b - A @ x).max() / size)


def forward_and_back(steps: Sequence[str], seconds: Sequence[cudss_solver.Seconds]) -> dict[str, Any]:
    """The sweeps of a way, D with the way back; and all of its steps."""
    found: dict[str, Any] = {"steps_s": {step: s.events for step, s in zip(steps, seconds, strict=True)}}
    for name, phases in (("forward", ("fwd",)), ("backward", ("diag", "bwd"))):
        parts = [s for step, s in zip(steps, seconds, strict=True) if set(phases) & set(step.split("|"))]
        found[f"{name}_s"], found[f"{name}_called_s"] = (
            sum(getattr(s, clock) for s in parts) for clock in ("events", "called")
        )
    return found


def cudss_times(F: Any, cupy: Any, A: Any, columns: int, repeats: int) -> dict[str, Any]:
    """What cuDSS's solves take: whole; and of the ways by parts that solve A x = b, the least of each sweep."""
    x = np.random.default_rng(1).standard_normal((A.shape[0], columns))
    b = cupy.asarray(np.asfortranarray(A @ x), order="F")
    between = [cupy.zeros(b.shape, order="F") for _ in range(5)]

    def run(steps: Sequence[str]) -> tuple[list[cudss_solver.Seconds], float]:
        vectors = [b, *between[: len(steps)]]
        return F.times(steps, vectors, repeats), backward_error(A, vectors[-1], b)

    (whole,), error = run(["solve"])
    if not error <= MOST_ERROR:
        raise DeviceError(f"cuDSS's solution has a backward error of {error:.1e}: nothing is compared")
    found = {"whole_s": whole.events, "whole_called_s": whole.called, "backward_error": error}
    ways = []
    for joined in (WAYS[:2], WAYS[2:]):
        for steps in joined:
            try:
                seconds, error = run(steps)
            except cudss_solver.CudssError:  # phases that it does not do by themselves
                continue
            if error <= MOST_ERROR:
                ways.append(forward_and_back(steps, seconds) | {"backward_error": error})
                break
    if not ways:
        raise DeviceError("no sequence of cuDSS's phases solves the system: nothing is compared")
    return found | {name: min(way[name] for way in ways) for name in SWEEPS} | {"ways": ways}


def invented(given: argparse.Namespace, word: str, cells: np.ndarray, columns: int) -> dict[str, Any]:
    """Our times with the factor's structure and invented values, forward and back."""
    points, _, side = word.partition(":")
    found: dict[str, Any] = {"values": "invented"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "order.i32"
        cells.tofile(path)
        for direction in ("forward", "backward"):
            words = [f"direction={direction}", f"columns={columns}", f"repeats={given.repeats}"]
            row = last_line([given.ours, points, side, os.fspath(path), *words])
            found[f"{direction}_s"] = row["seconds"]
            found |= {key: row[key] for key in ("entries", "stored_bytes")}
    return found


def last_line(command: Sequence[str]) -> dict[str, Any]:
    """The JSON that a program of ours ends with.

    Raises
    ------
    DeviceError
        It fails, takes too long, or measures nothing.
    """
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=BENCH_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise DeviceError(f"{command[0]} has taken more than {BENCH_TIMEOUT_S} s") from None
    if run.returncode:
        raise DeviceError(f"{command[0]} ended with {run.returncode}: {run.stderr.strip()}")
    row: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    if not row.get("seconds", 0) > 0:
        raise DeviceError(f"{command[0]} has measured nothing: it is to be compiled with CUDA")
    return row


class TrueFactors:
    """L and U of a matrix in an order, by SuperLU with pivots on the diagonal, for solves by us.

    SuperLU brings columns of a subtree together, which changes neither entries nor tree: `matrix` is what L U is of.
    """

    def __init__(self, A: Any, rows: np.ndarray, engine: str = "cuda") -> None:
        ordered = A[rows][:, rows].tocsr()
        self.found = factored(prepared(ordered), "natural")
        f = self.found.factors
        self.on_diagonal = bool(np.array_equal(f.row_order, f.column_order))
        self.matrix = ordered[f.row_order][:, f.column_order].tocsr()
        self.lower, self.upper = (
            sordino.factorized(T, lower, unit, engine=engine, ranks=1)
            for T, lower, unit in ((f.lower, True, f.unit_lower), (f.upper, False, f.unit_upper))
        )

    def times(self, cupy: Any, columns: int, repeats: int) -> dict[str, Any]:
        """By the host's clock, waiting for the GPU; the solution is verified."""
        x = np.random.default_rng(1).standard_normal((self.matrix.shape[0], columns))
        b = cupy.asarray(self.matrix @ x)
        y = self.lower.solve_there(b, "N")
        error = backward_error(self.matrix, self.upper.solve_there(y, "N"), b)
        if not error <= MOST_ERROR:
            raise DeviceError(f"our L and U solve with a backward error of {error:.1e}: nothing is compared")

        def solved(triangle: Any, side: Any) -> None:
            triangle.solve_there(side, "N")  # into the current stream
            cupy.cuda.get_current_stream().synchronize()

        return {
            "values": "true", "entries": self.found.factors.lower.nnz, "pivots_on_diagonal": self.on_diagonal,
            "backward_error": error, "factoring_s": self.found.factoring_seconds,
            "forward_called_s": timed(lambda: solved(self.lower, b), repeats).median,
            "backward_called_s": timed(lambda: solved(self.upper, y), repeats).median,
        }  # fmt: skip


def times_as_fast(theirs: Any, own: Any, clock: str) -> dict[str, float] | None:
    """Their seconds over ours by a clock, `_s` or `_called_s`: forward, back, and both beside their whole solve."""
    if theirs is None or own is None:
        return None
    found = {name: theirs[name + clock] / own[name + clock] for name in ("forward", "backward")}
    return found | {"whole": theirs["whole" + clock] / (own["forward" + clock] + own["backward" + clock])}


def attempt(failed: list[str], work: Callable[..., Any], *arguments: Any) -> Any:
    """What it returns; None where it fails, and `failed` has the sentence: what else was measured is not lost."""
    try:
        return work(*arguments)
    except SordinoError as error:
        failed.append(str(error))
        return None


def measure(word: str, library: Any, cupy: Any, given: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each number of right-hand sides."""
    A, each = matrix_of(word).astype(float), unknowns_of(word)
    A.sort_indices()
    A.indptr, A.indices = A.indptr.astype(np.int32), A.indices.astype(np.int32)
    rows = None
    if given.order == "metis":
        rows = rows_of(read_order(order_path(word, given.orders), A.shape[0] // each), each)
    failed: list[str] = []
    counts = [int(text) for text in given.columns.split(",")]
    F = cudss_solver.Factored(library, cupy, A, given.kind, rows)
    try:
        facts, taken = F.facts(), F.order()
        theirs = [attempt(failed, cudss_times, F, cupy, A, columns, given.repeats) for columns in counts]
    finally:
        F.close()
    rows = taken if rows is None else rows
    cells = cells_of(rows, each) if ":" in word and given.ours else None
    true = attempt(failed, TrueFactors, A, rows) if name_of(word) in given.true.split(",") else None
    found = []
    for columns, their in zip(counts, theirs, strict=True):
        own = exact = None
        if cells is not None:
            own = attempt(failed, invented, given, word, cells, columns)
        if true is not None:
            exact = attempt(failed, true.times, cupy, columns, given.repeats)
        found.append(
            {
                "bench": "beside_cudss", "matrix": name_of(word), "n": A.shape[0], "matrix_entries": A.nnz,
                "order": given.order, "order_kept": bool(np.array_equal(taken, rows)), "kind": given.kind,
                "columns": columns, "repeats": given.repeats, "device": device_name(cupy),
                "version": ".".join(map(str, cudss_solver.version(library))), "cudss": their and facts | their,
                "ours": own, "times_as_fast": times_as_fast(their, own, "_s"),
                "ours_true": exact, "true_times_as_fast": times_as_fast(their, exact, "_called_s"),
                "failed": failed,
            }
        )  # fmt: skip
    return found


def device_name(cupy: Any) -> str:
    """The GPU that is the current one."""
    return str(cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode())


def arguments() -> argparse.Namespace:
    """Those of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("matrices", nargs="*", default=MATRICES)
    parser.add_argument("--orders", default=".", help="the folder of METIS's orders")
    parser.add_argument("--make-orders", action="store_true")
    parser.add_argument("--order", choices=["metis", "own"], default="metis")
    parser.add_argument("--kind", choices=list(cudss_solver.KINDS), default="spd")
    parser.add_argument("--columns", default="1,32", help="numbers of right-hand sides")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--ours", default="", metavar="BENCH", help="bench_triangular, compiled with CUDA")
    parser.add_argument("--true", default="", help="matrices whose true factors are solved with, too")
    parser.add_argument("--library", default="", help="cuDSS, where the loader does not find it")
    _records.add_arguments(parser)
    return parser.parse_args()


def check_files(given: argparse.Namespace) -> None:
    """Refuse what is not there before anything is measured."""
    if given.ours and shutil.which(given.ours) is None:
        raise BadArgument(f"{given.ours} is no program")
    if given.record:
        _records.check(given.record)
    if given.order == "metis":
        for path in (order_path(word, given.orders) for word in given.matrices):
            if not path.is_file():
                raise FileError(f"there is no {path}: --make-orders writes it")


def measure_all(given: argparse.Namespace) -> int:
    """Measure, show and record one matrix after the other; a matrix that fails is said, and does not end the others."""
    check_files(given)
    library = cudss_solver.load(given.library)
    try:
        import cupy
    except ImportError:
        raise Unsupported("CuPy is not here, which gives memory and streams of the GPU") from None
    code = 0
    for word in given.matrices:
        failed: list[str] = []
        rows = attempt(failed, measure, word, library, cupy, given) or []
        for row in rows:
            print(json.dumps(json_ready(row), allow_nan=False), flush=True)
        for sentence in dict.fromkeys(failed + (rows[0]["failed"] if rows else [])):
            print(f"{name_of(word)}: {sentence}", file=sys.stderr)
            code = 4
        if rows and given.record:
            command = shlex.join(["python", "bench/beside_cudss.py", *map(name_of, sys.argv[1:])])
            _records.append(given.record, rows, command, given.commit or _records.commit())
    return code


def main() -> int:
    """Measure, or write orders; return the exit code."""
    given = arguments()
    try:
        if given.make_orders:
            make_orders(given.matrices, given.orders)
            return 0
        return measure_all(given)
    except SordinoError as error:
        print(error, file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
