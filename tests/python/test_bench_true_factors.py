"""bench/true_factors.py on hosts, its calls of cuSPARSE on a stand-in, and what a page says of what it measured."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import sordino
from sordino.bench import _cusparse

ROOT = Path(__file__).parents[2]
RECORD = "2026-11-26_true_factors_2_cores.jsonl"


@pytest.fixture
def bench(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(os.fspath(ROOT / "bench"))
    return importlib.import_module("true_factors")


def unsymmetric(n):
    """A matrix that is factored with row interchanges."""
    A = sp.random_array((n, n), density=0.05, rng=np.random.default_rng(2)) + sp.diags_array(np.full(n, 0.1))
    return sp.csr_array(A)


# ---- on the host -------------------------------------------------------------------------------------------------


def test_factors_of_files_and_of_grids_on_the_host(bench, monkeypatch, tmp_path, capsys):
    scipy.io.mmwrite(tmp_path / "u.mtx", unsymmetric(60))
    record = tmp_path / "r.jsonl"
    words = [os.fspath(tmp_path / "u.mtx"), "7:6", "27:3", "ilu0:6"]
    given = ["--ranks", "1,2", "--repeats", "1", "--record", os.fspath(record), "--commit", "abc"]
    monkeypatch.setattr(sys, "argv", ["true_factors.py", *words, *given])
    assert bench.main() == 0
    rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    keys = [(row["matrix"], row["triangle"], row["ranks"]) for row in rows]
    assert keys == [(m, t, r) for m in ("u.mtx", "7:6", "27:3", "ilu0:6") for t in "LU" for r in (1, 2)]
    assert {row["matrix"]: row["n"] for row in rows} == {"u.mtx": 60, "7:6": 216, "27:3": 81, "ilu0:6": 216}
    for row in rows:
        own, scipys = row["ours"], row["scipy"]
        assert row["spsv"] is None and row["engine"] == "host" and os.fspath(tmp_path) not in row["command"]
        assert own["by_rows"] == row["matrix"].startswith("ilu0")
        assert own["setup_s"] == pytest.approx(sum(own["setup"].values())) and min(own["setup"].values()) >= 0
        assert max(own["backward_error"], scipys["backward_error"]) < 1e-14
        assert own["call_backward_error"] < 1e-14 and own["refined"] in (True, False)
        assert row["repaid_after"] == {"scipy": bench.repaid_after(own, scipys)}
    table = capsys.readouterr().out.splitlines()
    assert table[4] == bench.HEAD and len(table) == 5 + len(rows)
    assert table[5].startswith(f"u.mtx, L, 1 | {rows[0]['entries']:,}, ") and "| - |" in table[5]


def test_when_setup_is_repaid(bench):
    own = {"solve_s": 1.0, "setup_s": 12.5}
    assert bench.repaid_after(own, {"solve_s": 2.0, "setup_s": 10.0}) == 3
    assert bench.repaid_after(own, {"solve_s": 2.0, "setup_s": 13.0}) == 0  # ours is set up sooner
    assert bench.repaid_after(own, {"solve_s": 1.0, "setup_s": 10.0}) is None
    assert bench.repaid_after(own | {"call_s": 1.5}, {"solve_s": 2.0, "setup_s": 10.0}, "call_s") == 5


# ---- SpSV on a stand-in ------------------------------------------------------------------------------------------


class There:
    """A vector of NumPy that has what CuPy's have."""

    def __init__(self, values):
        self.values = np.ascontiguousarray(values)
        self.data = SimpleNamespace(ptr=self.values.ctypes.data)

    def get(self):
        return self.values.copy()


class Library:
    """cuSPARSE's SpSV in memory of the CPU; counts what is made and what is given back."""

    def __init__(self):
        self.things, self.held, self.analysed, self.solved = {}, 0, set(), 0

    def _made(self, out, thing=None):
        self.held += 1
        out._obj.value = len(self.things) + 1
        self.things[out._obj.value] = thing
        return 0

    def __getattr__(self, name):
        if "Destroy" in name or "destroy" in name:
            self.held -= 1
        else:
            assert name == "cusparseSetStream"
        return lambda *arguments: 0

    def cusparseCreate(self, out):
        return self._made(out)

    def cusparseSpSV_createDescr(self, out):
        return self._made(out)

    def cusparseCreateCsr(self, out, rows, columns, entries, *others):
        kinds = (
            (ctypes.c_int, rows.value + 1),
            (ctypes.c_int, entries.value),
            (ctypes.c_double, entries.value),
        )
        begin, places, values = (_array(p, *kind) for p, kind in zip(others, kinds, strict=False))
        assert others[3:] == (2, 2, 0, 1) and rows.value == columns.value
        matrix = sp.csr_array((values, places, begin), shape=(rows.value, rows.value))
        return self._made(out, SimpleNamespace(matrix=matrix, said={}))

    def cusparseCreateDnVec(self, out, n, pointer, kind):
        assert kind == 1
        return self._made(out, _array(pointer, ctypes.c_double, n.value))

    def cusparseSpMatSetAttribute(self, matrix, attribute, word, size):
        assert size.value == 4
        self.things[matrix.value].said[attribute] = word._obj.value
        return 0

    def cusparseSpSV_bufferSize(self, *arguments):
        arguments[-1]._obj.value = 24
        return 0

    def cusparseSpSV_analysis(self, *arguments):
        assert len(arguments) == 10 and arguments[9].value
        self.analysed.add(arguments[8].value)
        return 0

    def cusparseSpSV_solve(self, handle, operation, one, matrix, b, x, kind, algorithm, analysis):
        assert (operation, one._obj.value, kind, algorithm) == (
            0,
            1.0,
            1,
            0,
        ) and analysis.value in self.analysed
        held = self.things[matrix.value]
        lower, unit = held.said[0] == 0, held.said[1] == 1
        b, x = self.things[b.value], self.things[x.value]
        x[:] = sla.spsolve_triangular(held.matrix, b, lower=lower, unit_diagonal=unit)
        self.solved += 1
        return 0


def _array(pointer, kind, length):
    return np.ctypeslib.as_array((kind * length).from_address(pointer.value))


@pytest.fixture
def library(monkeypatch):
    """A stand-in for cuSPARSE, and one for CuPy in the modules that are imported."""
    null = SimpleNamespace(ptr=0, synchronize=lambda: None)
    cupy, sparse = ModuleType("cupy"), ModuleType("cupyx.scipy.sparse")
    cupy.asarray, cupy.uint8, cupy.cuda = There, np.uint8, SimpleNamespace(Stream=SimpleNamespace(null=null))
    cupy.empty = lambda n, dtype=float: There(np.empty(n, dtype))
    sparse.csr_matrix = lambda parts, shape: SimpleNamespace(
        data=parts[0], indices=parts[1], indptr=parts[2], shape=shape, nnz=len(parts[0].values)
    )
    outer, scipys = ModuleType("cupyx"), ModuleType("cupyx.scipy")
    outer.scipy, scipys.sparse = scipys, sparse
    for module in (cupy, outer, scipys, sparse):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    made = Library()
    monkeypatch.setattr(_cusparse, "load", lambda: made)
    return made


@pytest.mark.parametrize("word", ["u.mtx", "ilu0:5"])
def test_spsv_is_told_which_triangle_it_has(bench, library, tmp_path, monkeypatch, word):
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("u.mtx", unsymmetric(60))
    _, triangles = bench.factored(word, "auto")
    for T in triangles:
        F = sordino.factorized(T.given, T.lower, T.unit)
        found = bench.spsv(T, F, 2)
        assert found["backward_error"] < 1e-14 and found["setup_s"] == sum(found["setup"].values())
    assert len(library.analysed) == 2 and library.solved == 6 and library.held == 0


def test_spsv_is_left_out_where_it_is_not(bench, library, monkeypatch):
    _, (T, _) = bench.factored("7:4", "natural")
    F = sordino.factorized(T.given, T.lower, T.unit)
    monkeypatch.setattr(_cusparse, "load", lambda: None)
    assert bench.spsv(T, F, 1) is None
    monkeypatch.setitem(sys.modules, "cupy", None)  # importing it fails
    assert bench.spsv(T, F, 1) is None


# ---- on the page -------------------------------------------------------------------------------------------------

NAMES = {
    "ScaleMicrogrid_Jacobian_N1000_01.mtx": "micro-grid",
    **{f"7:{n}": f"7 points, {n}^3" for n in (20, 30, 40)},
    **{f"27:{n}": f"27 points, {n}^3" for n in (12, 16, 20)},
    **{f"ilu0:{n}": f"ILU(0) of 7 points, {n}^3" for n in (64, 128)},
}


def recorded():
    text = (ROOT / "bench" / "records" / RECORD).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def table(rows):
    """The page's lines of a record's rows."""
    for row in rows:
        own, scipys = row["ours"], row["scipy"]
        called = f"{1e3 * own['call_s']:.3f}{', refined' if own['refined'] else ''}"
        times = [f"{1e3 * own['solve_s']:.3f}", called, f"{1e3 * scipys['solve_s']:.2f}"]
        after = [row[key]["scipy"] for key in ("repaid_after", "repaid_after_calls")]
        cells = [
            NAMES.get(row["matrix"], row["matrix"].removesuffix(".mtx")),
            row["triangle"], f"{row['entries']:,}", f"{own['longest_chain']:,}", *times, f"{own['setup_s']:.3f}",
            ", ".join("never" if count is None else f"{count:,}" for count in after),
            f"{own['backward_error']:.1e}, {scipys['backward_error']:.1e}",
        ]  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def test_the_page_has_the_records_figures():
    page = (ROOT / "docs" / "triangular_limits.md").read_text(encoding="utf-8")
    rows, expected = recorded(), [*table(recorded())]
    assert len(expected) == 26 and [line for line in page.splitlines() if line in expected] == expected
    assert RECORD in page and {row["ours"]["threads"] for row in rows} == {1}
    refined = [row for row in rows if row["ours"]["refined"]]
    more = [row["ours"]["call_s"] / row["ours"]["solve_s"] for row in refined]
    said = f"{len(refined)} of the {len(rows)} triangles are refined when they are called by themselves, which takes"
    assert f"{said} {min(more):.0f} to {max(more):.0f} times as long" in page
    solves, calls = ([row[k]["scipy"] for row in rows] for k in ("repaid_after", "repaid_after_calls"))
    met = sum(count <= 20 for count in solves)
    assert f"repaid after {min(solves)} to {max(solves)} solves, of {met} triangles within 20" in page
    assert f"calls never repay it for {calls.count(None)}" in page
    assert max(row["ours"]["call_backward_error"] for row in rows) < 16 * 2**-53
    worst = max(row["ours"]["backward_error"] for row in rows)
    assert f"{worst:.1e} without refinement" in page


if __name__ == "__main__":
    print(*table(recorded()), sep="\n")
