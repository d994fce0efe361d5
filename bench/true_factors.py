"""True factors: seconds of a solve with L, and with U, by us, cuSPARSE's SpSV and SciPy, and when setup is repaid.

python bench/true_factors.py [MATRIX...] [--engine host|cuda] [--ranks 1,2,4] [--threads N] [--ordering auto]
    [--repeats 20] [--record FILE]

A matrix is a file, or `7:N`, N^3 cells of 7 points, `27:N`, of 27 points and three unknowns a cell, `5:N`, N^2 cells,
or `ilu0:N`, whose factors are those of ILU(0) of `7:N`. All others are factored by sordino.splu, on the host. On engine
cuda vectors are CuPy's and stay on the GPU; SpSV has its analysis beforehand, and is left out without CuPy or cuSPARSE.
Each time is the median of calls by the host's clock, b = T x with random x: one call, of ours or of SpSV's, and a wait
for CuPy's stream, which either is put into. Of a solve x is a new array with us, and SpSV writes to one that is there.
Setup has what is paid once: ours with its plan, its trial of refinement and the way to the GPU, SpSV's with its
analysis and its way to the GPU.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from grid_preconditioners import vector

import sordino
import sordino.io
from sordino._factors import with_unit_diagonal
from sordino.bench import _cusparse, _records
from sordino.bench._timing import timed

MATRICES = ("7:20", "27:8", "ilu0:32")
SCIPY_REPEATS = 3  # at most: it is slow
HEAD = "matrix, triangle, ranks | entries, chain | ours, called, SpSV, SciPy ms | SpSV / ours | setup, its s | repaid"


@dataclass(frozen=True)
class Triangle:
    """L or U of a factorisation: as it was given, by rows with the diagonal that is meant, and b with x of b = T x."""

    name: str
    given: Any
    unit: bool
    rows: Any
    b: np.ndarray

    @property
    def lower(self) -> bool:
        return self.name == "L"


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one call, and what it returns."""
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def name_of(word: str) -> str:
    """A matrix' name in records: a file's is without its folder."""
    return word.rpartition("/")[2]


def matrix_of(word: str) -> Any:
    """The matrix of a word of the command line."""
    kind, _, side = word.partition(":")
    if kind not in ("5", "7", "27", "ilu0") or not side.isdigit():
        return sp.csr_array(sordino.io.read_matrix(word).matrix)
    cells = (int(side), int(side), 1 if kind == "5" else int(side))
    if kind != "27":
        return sordino.poisson(*cells)
    coupled = np.eye(3) + 0.25
    return sp.csr_array(sp.kron(sordino.poisson(*cells, stencil=27), coupled))


def factored(word: str, ordering: str) -> tuple[dict[str, Any], list[Triangle]]:
    """What a row says of the matrix and its factorisation, and both triangles."""
    A = matrix_of(word)
    whole = not word.startswith("ilu0:")
    F = sordino.splu(A, ordering=ordering) if whole else sordino.ilu0(A)
    facts = {
        "matrix": name_of(word), "n": A.shape[0], "matrix_entries": A.nnz,
        "ordering": F.ordering or "natural", "factoring_s": F.seconds["factoring"],
    }  # fmt: skip
    f, rng = F.factors, np.random.default_rng(1)
    triangles = []
    for name, given, unit in (("L", f.lower, f.unit_lower), ("U", f.upper, f.unit_upper)):
        rows = sp.csr_array(with_unit_diagonal(given, unit))
        rows.sort_indices()
        triangles.append(Triangle(name, given, unit, rows, rows @ rng.standard_normal(F.shape[0])))
    return facts, triangles


def there(F: Any, b: Any) -> Callable[[], Any]:
    """A solve of b on a GPU, which is waited for as SpSV's is."""
    import cupy

    stream = cupy.cuda.Stream.null

    def run() -> Any:
        x = F.solve_there(b, "N")
        stream.synchronize()
        return x

    return run


def ours(T: Triangle, ranks: int, given: argparse.Namespace) -> tuple[dict[str, Any], Any]:
    """What we take, and the triangle that is set up.

    `solve_s` is of what FactorizedLU.solve, which knows its matrix, does with a triangle; `call_s` of the `solve` of a
    FactorizedTriangle, which looks for NaN in b and x, and refines, on the host, where its trial has found it wanted.
    """
    options = {"engine": given.engine, "ranks": ranks, "threads": given.threads}
    made_s, F = seconds_of(lambda: sordino.factorized(T.given, T.lower, T.unit, **options))
    b = vector(T.b[:, None], "cupy" if given.engine == "cuda" else "numpy")
    run = there(F, b) if given.engine == "cuda" else (lambda: F.solve_columns(b, "N")[0])
    first_s, x = seconds_of(run)
    trial_s, wanted = seconds_of(lambda: F.wants_steps("N", "auto"))
    solve_s = timed(run, given.repeats).median
    s = F.statistics
    setup = {
        "by_columns_s": made_s - s["setup_seconds"], "symbolic_s": s["symbolic_seconds"],
        "inverses_s": s["setup_seconds"] - s["symbolic_seconds"], "plan_s": s["plan_seconds"],
        "upload_s": max(0.0, first_s - s["plan_seconds"] - solve_s), "trial_s": trial_s,
    }  # fmt: skip
    found = {
        "solve_s": solve_s, "call_s": timed(lambda: F.solve(b[:, 0]), given.repeats).median, "refined": wanted,
        "backward_error": error_of(T, F, x[:, 0]), "call_backward_error": error_of(T, F, F.solve(b[:, 0])),
        "setup_s": sum(setup.values()), "setup": setup,
        **{fact: s[fact] for fact in ("by_rows", "stored_entries", "stored_bytes", "longest_chain", "threads")},
    }  # fmt: skip
    return found, F


def spsv(T: Triangle, F: Any, repeats: int) -> dict[str, Any] | None:
    """What cuSPARSE takes; None where it or CuPy is not here."""
    try:
        import cupy
        import cupyx.scipy.sparse
    except ImportError:
        return None
    library = _cusparse.load()
    if library is None:
        return None
    b, x, stream = cupy.asarray(T.b), cupy.empty(len(T.b)), cupy.cuda.Stream.null

    def upload() -> Any:
        parts = (T.rows.data, T.rows.indices.astype(np.int32), T.rows.indptr.astype(np.int32))
        rows = cupyx.scipy.sparse.csr_matrix(tuple(map(cupy.asarray, parts)), shape=T.rows.shape)
        stream.synchronize()
        return rows

    def analysis() -> _cusparse.Spsv:
        solver = _cusparse.Spsv(library, cupy, rows, b, x, lower=T.lower, unit=T.unit)
        stream.synchronize()
        return solver

    def run() -> None:
        solver.run(stream)
        stream.synchronize()

    upload_s, rows = seconds_of(upload)
    analysis_s, solver = seconds_of(analysis)
    solve_s = timed(run, repeats).median
    solver.close()
    return {
        "solve_s": solve_s, "backward_error": error_of(T, F, x), "setup_s": upload_s + analysis_s,
        "setup": {"upload_s": upload_s, "analysis_s": analysis_s},
    }  # fmt: skip


def scipys(T: Triangle, F: Any, repeats: int) -> dict[str, Any]:
    """What SciPy's spsolve_triangular takes, on one core of the host."""

    def run() -> np.ndarray:
        return sla.spsolve_triangular(T.rows, T.b, lower=T.lower)

    solve_s = timed(run, min(repeats, SCIPY_REPEATS)).median
    return {"solve_s": solve_s, "backward_error": error_of(T, F, run()), "setup_s": 0.0}


def error_of(T: Triangle, F: Any, x: Any) -> float | None:
    """The componentwise backward error of an x of NumPy or CuPy; None where it is not finite."""
    x = x if isinstance(x, np.ndarray) else x.get()
    return F.backward_error(T.b, x) if np.isfinite(x).all() else None


def repaid_after(own: dict[str, Any], other: dict[str, Any], which: str = "solve_s") -> int | None:
    """Solves, or calls, after which our setup and they have taken no longer than the other's; None: never."""
    gain = other["solve_s"] - own[which]
    return max(0, math.ceil((own["setup_s"] - other["setup_s"]) / gain)) if gain > 0 else None


def measure(word: str, given: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each triangle and number of ranks."""
    facts, triangles = factored(word, given.ordering)
    rows = []
    for T in triangles:
        others: dict[str, Any] = {}
        for ranks in map(int, given.ranks.split(",")):
            own, F = ours(T, ranks, given)
            if not others:
                theirs = spsv(T, F, given.repeats) if given.engine == "cuda" else None
                others = {"spsv": theirs, "scipy": scipys(T, F, given.repeats)}
            rows.append(
                {
                    "bench": "true_factors", **facts, "triangle": T.name, "entries": T.rows.nnz, "engine": given.engine,
                    "ranks": ranks, "repeats": given.repeats, "ours": own, **others,
                    "repaid_after": {name: repaid_after(own, it) for name, it in others.items() if it},
                    "repaid_after_calls": {
                        name: repaid_after(own, it, "call_s") for name, it in others.items() if it
                    },
                }
            )  # fmt: skip
    return rows


def line(row: dict[str, Any]) -> str:
    """A row of the table, with an r where calls refine; repaid after solves, and calls, by SciPy without SpSV."""
    own, theirs = row["ours"], row["spsv"]
    times, setup = "-", f"{own['setup_s']:.3f}, -"
    if theirs:
        times = f"{theirs['solve_s'] / own['solve_s']:.2f}"
        setup = f"{own['setup_s']:.3f}, {theirs['setup_s']:.3f}"
    called = f"{1e3 * own['call_s']:.3f}{'r' if own['refined'] else ''}"
    others = [f"{1e3 * other['solve_s']:.3f}" if other else "-" for other in (theirs, row["scipy"])]
    beside = "spsv" if theirs else "scipy"
    after = [row[key][beside] for key in ("repaid_after", "repaid_after_calls")]
    cells = [
        f"{row['matrix']}, {row['triangle']}, {row['ranks']}", f"{row['entries']:,}, {own['longest_chain']:,}",
        ", ".join([f"{1e3 * own['solve_s']:.3f}", called, *others]), times, setup,
        ", ".join("never" if count is None else f"{count:,}" for count in after),
    ]  # fmt: skip
    return " | ".join(cells)


def main() -> int:
    """Measure, show, append records; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("matrices", nargs="*", default=MATRICES)
    parser.add_argument("--engine", choices=["host", "cuda"], default="host")
    parser.add_argument("--ranks", default="1")
    parser.add_argument(
        "--threads", type=int, default=None, help="of the host: as many as cores, if not given"
    )
    parser.add_argument("--ordering", default="auto", help="as sordino.splu has it; METIS wants pymetis")
    parser.add_argument("--repeats", type=int, default=20)
    _records.add_arguments(parser)
    given = parser.parse_args()
    measure("7:4", given)  # libraries and kernels are loaded by it
    words = [name_of(word) if word in given.matrices else word for word in sys.argv[1:]]
    lines: list[str] = []
    for word in given.matrices:
        begun = time.perf_counter()
        rows = measure(word, given)
        told, taken = rows[0], time.perf_counter() - begun
        print(
            f"{told['matrix']}: {told['n']:,} rows, order {told['ordering']}, factored in {told['factoring_s']:.2f} s, "
            f"all in {taken:.1f} s", flush=True,
        )  # fmt: skip
        lines += map(line, rows)
        if given.record:
            command = shlex.join(["python", "bench/true_factors.py", *words])
            _records.append(given.record, rows, command, given.commit or _records.commit())
    print(HEAD, *lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
