"""bench/beside_cudss.py without a GPU: matrices, orders, sentences; its calls of cuDSS on a stand-in."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.io
import scipy.linalg as la
import scipy.sparse as sp

import sordino

ROOT = Path(__file__).parents[2]
stand_in = sys.modules["sordino_tests_cudss_stand_in"]


@pytest.fixture
def rng():
    return np.random.default_rng(int(os.environ.get("SORDINO_TEST_SEED", "1")))


@pytest.fixture
def bench(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(os.fspath(ROOT / "bench"))
    return importlib.import_module("beside_cudss")


def definite(n, rng):
    """A random symmetric positive definite matrix."""
    A = sp.random_array((n, n), density=0.1, rng=rng)
    return sp.csr_array(A + A.T + sp.diags_array(np.full(n, 2.0 + abs(A + A.T).sum(axis=1).max())))


def given_for(**words):
    usual = {
        "orders": ".", "order": "metis", "kind": "spd", "columns": "1,3", "repeats": 2, "ours": "", "true": "",
        "library": "", "record": "", "commit": "abc",
    }  # fmt: skip
    return argparse.Namespace(**(usual | words))


# ---- matrices and orders -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "n", "most"), [("7:4", 64, 7), ("27:3", 81, 81), ("5:9", 81, 5)])
def test_grids_are_definite_and_have_the_stencil_s_pattern(bench, word, n, most):
    A = bench.matrix_of(word)
    assert A.shape == (n, n) and np.diff(A.indptr).max() == most
    assert (A != A.T).nnz == 0 and la.eigvalsh(A.toarray())[0] > 0
    each = bench.unknowns_of(word)
    side = int(word.partition(":")[2])
    cells = np.arange(n // each)
    x, y, z = cells % side, cells // side % side, cells // side**2
    apart = np.abs([axis[:, None] - axis for axis in (x, y, z)])
    near = apart.max(axis=0) <= 1 if each == 3 else apart.sum(axis=0) <= 1
    assert np.array_equal(A.toarray() != 0, np.kron(near, np.ones((each, each))) > 0)


@pytest.mark.parametrize("each", [1, 3])
def test_rows_of_an_order_of_cells_and_back(bench, rng, each):
    order = rng.permutation(17).astype(np.int32)
    rows = bench.rows_of(order, each)
    assert rows.dtype == np.int32 and np.array_equal(np.sort(rows), np.arange(17 * each))
    place = 5
    assert np.array_equal(rows[each * place : each * (place + 1)], each * order[place] + np.arange(each))
    assert np.array_equal(bench.cells_of(rows, each), order)


def test_an_order_that_parts_a_cell_is_none_of_cells(bench):
    rows = bench.rows_of(np.arange(4, dtype=np.int32), 3)
    rows[[2, 3]] = rows[[3, 2]]
    assert bench.cells_of(rows, 3) is None


def test_orders_are_read_and_refused(bench, tmp_path, rng):
    path = tmp_path / "o.i32"
    order = rng.permutation(30).astype(np.int32)
    order.tofile(path)
    assert np.array_equal(bench.read_order(path, 30), order)
    order[0] = order[1]
    order.tofile(path)
    for cells in (30, 29, 31):
        with pytest.raises(sordino.errors.BadArgument, match=f"each of {cells} cells once"):
            bench.read_order(path, cells)
    with pytest.raises(sordino.errors.FileError, match="cannot be read"):
        bench.read_order(tmp_path / "none.i32", 30)


def test_orders_are_written_by_metis(bench, tmp_path, monkeypatch, rng):
    pytest.importorskip("pymetis")
    scipy.io.mmwrite(tmp_path / "a.mtx", definite(40, rng))
    words = ["27:4", "5:7", os.fspath(tmp_path / "a.mtx")]
    monkeypatch.setattr(sys, "argv", ["b.py", *words, "--make-orders", "--orders", os.fspath(tmp_path)])
    assert bench.main() == 0
    for name, cells in (("metis_27_4.i32", 64), ("metis_5_7.i32", 49), ("metis_a.i32", 40)):
        assert len(bench.read_order(tmp_path / name, cells)) == cells
    assert [bench.order_path(word, os.fspath(tmp_path)).exists() for word in words] == [True] * 3


# ---- sentences ---------------------------------------------------------------------------------------------------


def run(bench, monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["beside_cudss.py", *words])
    code = bench.main()
    out, err = capsys.readouterr()
    return code, out, err


def test_without_the_library_it_says_so(bench, monkeypatch, capsys):
    words = ("7:4", "--order", "own", "--library", "/nowhere/libcudss.so.0")
    code, out, err = run(bench, monkeypatch, capsys, *words)
    assert code == 2 and not out and err.count("\n") == 1
    assert err.startswith("cuDSS cannot be loaded (/nowhere/libcudss.so.0: ") and "nvidia-cudss-cu13" in err


def test_another_version_is_refused(bench, monkeypatch, capsys):
    monkeypatch.setattr(bench.cudss_solver, "_loaded", lambda name: (stand_in.Cudss(version=(1, 0, 3)), ""))
    code, _, err = run(bench, monkeypatch, capsys, "7:4", "--order", "own")
    assert code == 2 and err == "this cuDSS is 1.0.3, and the calls here are those of 0.7\n"


def test_files_that_lack_are_named(bench, monkeypatch, capsys, tmp_path):
    code, _, err = run(bench, monkeypatch, capsys, "7:4", "--orders", os.fspath(tmp_path))
    assert code == 2 and err == f"there is no {tmp_path / 'metis_7_4.i32'}: --make-orders writes it\n"
    code, _, err = run(bench, monkeypatch, capsys, "7:4", "--order", "own", "--ours", "/nowhere/bench")
    assert code == 2 and err == "/nowhere/bench is no program\n"


PROGRAM = """#!/bin/sh
echo '{"points": 7'
case "$*" in *columns=3*) echo wrong >&2; exit 1;; *columns=5*) echo '{"points": 7}'; exit 0;; esac
echo '{"seconds": 2e-3, "entries": 7, "stored_bytes": 64, "said": "'"$1 $2 $4 $5 $6"'"}'
"""


def test_our_program_s_last_line_is_read(bench, tmp_path):
    program = tmp_path / "bench_triangular"
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    given = given_for(ours=os.fspath(program), repeats=11)
    cells = np.arange(8, dtype=np.int32)
    expected = {"values": "invented", "forward_s": 2e-3, "backward_s": 2e-3, "entries": 7, "stored_bytes": 64}
    assert bench.invented(given, "7:2", cells, 1) == expected
    words = ("direction=forward", "columns=1", "repeats=11")
    row = bench.last_line([os.fspath(program), "7", "2", "order", *words])
    assert row["said"] == " ".join(["7 2", *words])
    with pytest.raises(sordino.errors.DeviceError, match="ended with 1: wrong"):
        bench.invented(given, "7:2", cells, 3)
    with pytest.raises(sordino.errors.DeviceError, match="compiled with CUDA"):
        bench.invented(given, "7:2", cells, 5)


# ---- cuDSS on a stand-in -----------------------------------------------------------------------------------------


@pytest.fixture
def on(bench, monkeypatch, tmp_path):
    """Run the script's measurements on a stand-in; returns (exit code, rows)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", stand_in.cupy())

    def run_on(library, capsys, *words):
        monkeypatch.setattr(bench.cudss_solver, "_loaded", lambda name: (library, ""))
        code, out, err = run(bench, monkeypatch, capsys, *words, "--repeats", "2", "--columns", "1,3")
        return code, [json.loads(line) for line in out.splitlines()], err

    return run_on


@pytest.mark.parametrize("kind", ["spd", "general"])
def test_solves_in_the_given_order_are_verified_and_timed(on, capsys, rng, kind):
    library, A = stand_in.Cudss(), definite(30, rng)
    scipy.io.mmwrite("a.mtx", A)
    order = rng.permutation(30).astype(np.int32)
    order.tofile("metis_a.i32")
    code, rows, err = on(library, capsys, "a.mtx", "--kind", kind, "--record", "r.jsonl", "--commit", "abc")
    assert code == 0 and not err and [row["columns"] for row in rows] == [1, 3]
    assert np.array_equal(library.order, order) and library.held == 0
    assert library.said == {6: 0, 8: 2}  # no refinement, no pivoting
    for row in rows:
        their = row["cudss"]
        assert row["order_kept"] is True and row["version"] == "0.7.1"
        assert row["ours"] is row["ours_true"] is None
        assert their["entries"] > 30 and their["backward_error"] < 1e-14 and row["failed"] == []
        assert their["whole_s"] == pytest.approx(1e-3)  # a stand-in's step is a millisecond
        assert their["forward_s"] == pytest.approx(1e-3)
        assert their["backward_s"] == pytest.approx(1e-3)
        steps = [list(way["steps_s"]) for way in their["ways"]]
        diag = ["diag"] if kind == "general" else []
        assert steps == [
            ["fwd_perm|fwd", "|".join([*diag, "bwd", "bwd_perm"])],
            ["fwd_perm", "fwd", *diag, "bwd", "bwd_perm"],
        ]
        assert all(way["backward_error"] < 1e-14 for way in their["ways"])
    recorded = [json.loads(line) for line in Path("r.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["matrix"] for row in recorded] == ["a.mtx"] * 2 and recorded[0]["commit"] == "abc"


def test_its_own_order_is_read_back(on, capsys):
    library = stand_in.Cudss()
    code, rows, _ = on(library, capsys, "27:2", "--order", "own")
    assert code == 0 and all(row["order"] == "own" and row["order_kept"] for row in rows)


@pytest.mark.parametrize("wrong", ["fwd", "bwd", "fwd_perm", "bwd_perm"])
def test_a_phase_that_does_nothing_is_not_taken_for_a_fast_one(on, capsys, wrong, rng):
    scipy.io.mmwrite("a.mtx", definite(20, rng))
    code, rows, err = on(stand_in.Cudss(wrong=wrong), capsys, "a.mtx", "--order", "own")
    assert code == 4 and "nothing is compared" in err
    assert [row["cudss"] for row in rows] == [None, None] and all(row["failed"] for row in rows)


def test_phases_that_are_not_done_alone_are_left_out(on, capsys):
    code, rows, _ = on(stand_in.Cudss(alone=False), capsys, "7:3", "--order", "own")
    assert code == 0
    for row in rows:
        assert [list(way["steps_s"]) for way in row["cudss"]["ways"]] == [["fwd_perm|fwd", "bwd|bwd_perm"]]


def test_a_matrix_that_is_not_definite_does_not_end_the_others(on, capsys):
    library = stand_in.Cudss(failing={8: 5})
    code, rows, err = on(library, capsys, "7:2", "7:3", "--order", "own")
    assert code == 4 and err == "7:2: cuDSS's factorization failed in row 5 of its order\n"
    assert {row["matrix"] for row in rows} == {"7:3"}


def test_ours_stands_beside_it(on, capsys, tmp_path):
    program = tmp_path / "bench_triangular"
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    code, rows, err = on(stand_in.Cudss(), capsys, "7:3", "--order", "own", "--ours", os.fspath(program))
    one, three = rows
    assert one["times_as_fast"] == pytest.approx({"forward": 0.5, "backward": 0.5, "whole": 0.25})
    assert three["ours"] is None and three["times_as_fast"] is None  # that program fails with three
    assert code == 4
    assert re.fullmatch(r"7:3: .*bench_triangular ended with 1: wrong\n", err)


# ---- true factors ------------------------------------------------------------------------------------------------


def test_true_factors_keep_the_order_s_entries(bench, rng):
    A = bench.matrix_of("7:5").astype(float)
    rows = rng.permutation(A.shape[0]).astype(np.int32)
    true = bench.TrueFactors(A, rows, engine="host")
    factor = la.cholesky(A[rows][:, rows].toarray(), lower=True)
    assert true.on_diagonal and true.found.factors.lower.nnz == (abs(factor) > 1e-14).sum()
    b = rng.standard_normal(A.shape[0])
    x = true.upper.solve(true.lower.solve(b))
    assert np.allclose(true.matrix @ x, b, rtol=0, atol=1e-12 * abs(b).max())


def test_true_factors_are_verified_and_timed(bench, rng):
    A = bench.matrix_of("7:4").astype(float)
    true = bench.TrueFactors(A, np.arange(64, dtype=np.int32), engine="host")

    def beside(F):
        return SimpleNamespace(
            solve_there=lambda b, trans: stand_in.There(F.solve_columns(b.get(), trans)[0])
        )

    true.lower, true.upper = map(beside, (true.lower, true.upper))
    found = true.times(stand_in.cupy(), 3, 2)
    assert found["backward_error"] < 1e-14 and min(found["forward_called_s"], found["backward_called_s"]) > 0
    true.upper = SimpleNamespace(solve_there=lambda b, trans: b)
    with pytest.raises(sordino.errors.DeviceError, match="nothing is compared"):
        true.times(stand_in.cupy(), 3, 2)


def test_solves_by_true_factors_are_waited_for(bench):
    A = bench.matrix_of("7:4").astype(float)
    true = bench.TrueFactors(A, np.arange(64, dtype=np.int32), engine="host")
    events = []

    def beside(F, name):
        def solve_there(b, trans):
            events.append(name)
            return stand_in.There(F.solve_columns(b.get(), trans)[0])

        return SimpleNamespace(solve_there=solve_there)

    true.lower, true.upper = beside(true.lower, "forward"), beside(true.upper, "backward")
    cupy = stand_in.cupy()
    cupy.cuda.get_current_stream = lambda: SimpleNamespace(synchronize=lambda: events.append("wait"))
    true.times(cupy, 3, 2)
    timed = events[2:]  # behind the solves that are verified
    assert set(timed[0::2]) == {"forward", "backward"} and set(timed[1::2]) == {"wait"}
    assert len(timed) % 2 == 0


def test_cudss_is_given_back_whatever_fails(bench, monkeypatch):
    closed = []

    class Factored:
        def __init__(self, *given):
            pass

        def facts(self):
            raise RuntimeError("of facts")

        def close(self):
            closed.append(self)

    monkeypatch.setattr(bench.cudss_solver, "Factored", Factored)
    with pytest.raises(RuntimeError, match="of facts"):
        bench.measure("7:3", None, stand_in.cupy(), given_for(order="own"))
    assert len(closed) == 1


def test_times_as_fast_are_theirs_over_ours(bench):
    theirs = {"forward_s": 6.0, "backward_s": 4.0, "whole_s": 12.0}
    own = {"forward_s": 2.0, "backward_s": 4.0}
    assert bench.times_as_fast(theirs, own, "_s") == {"forward": 3.0, "backward": 1.0, "whole": 2.0}
    assert bench.times_as_fast(None, own, "_s") is None and bench.times_as_fast(theirs, None, "_s") is None


def test_a_backward_error_sees_each_column(bench, rng):
    A = definite(25, rng)
    x = rng.standard_normal((25, 4))
    b = A @ x
    assert bench.backward_error(A, stand_in.There(x), stand_in.There(b)) < 1e-15
    x[3, 2] += 1e-6
    assert bench.backward_error(A, stand_in.There(x), stand_in.There(b)) > 1e-9
    x[3, 2] = np.nan
    assert not bench.backward_error(A, stand_in.There(x), stand_in.There(b)) <= bench.MOST_ERROR
