"""Schedules of gathers; ``sordino bench hmatrix --paper-solvers``: its runs, pictures and tables of their record."""

from __future__ import annotations

import importlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino import machines
from sordino.bench import _paper_solvers

BENCH = Path(__file__).parents[2] / "bench"
RECORDS = sorted((BENCH / "records").glob("*_hmatrix_solvers_*.jsonl"))


@pytest.mark.parametrize("engine", ["host", "model"])
def test_gathers_that_are_waited_for_at_once_bring_the_same_bits(rng_of_today, engine):
    H = sordino.hmatrix(sordino.surfaces.sphere(5, 8), 1e-6)
    b = rng_of_today.normal(size=H.shape[0])
    options = {"engine": engine, "ranks": 4, "solver": "gatherbicgstab", "rtol": 1e-9}
    if engine == "model":
        options["machine"] = {**machines.load("tsubame-3"), "link_latency_s": 4e-4}
    hides, waits = (sordino.solve(H, b, schedule=way, **options) for way in ("pipe2", "pipe1"))
    assert waits.converged and waits.x.tobytes() == hides.x.tobytes() and waits.iterations == hides.iterations
    assert waits.report.options["schedule"] == "pipe1" and hides.report.options["schedule"] == "pipe2"
    if engine == "model":
        assert waits.ledger["exposed_halo_s"] > hides.ledger["exposed_halo_s"]
    with pytest.raises(
        sordino.BadArgument, match="schedule 'pipe1' is of solver gatherbicgstab, and the solver is"
    ):
        sordino.Solver(H, solver="pipebicgstab", schedule="pipe1")


def test_the_command_line_has_schedules_of_any_matrix(cli, tmp_path):
    argv = ["--solver", "gatherbicgstab", "--engine", "host", "--ranks", 2, "--schedule", "pipe1"]
    np.save(tmp_path / "A.npy", np.diag([4.0, 5, 6, 7]) + 1)
    code, out, _ = cli("solve", tmp_path / "A.npy", *argv, "--json")
    assert code == 0 and json.loads(out)["options"]["schedule"] == "pipe1"


def test_each_way_has_the_layouts_that_ranks_allow():
    found = [(row["ranks"], *_paper_solvers.named(row)) for row in _paper_solvers.runs([1, 2, 4])]
    assert len(found) == len(set(found)) == 5 + 9 + 13
    layouts = {
        ranks: {way: [each[2] for each in found if each[:2] == (ranks, way)] for way in _paper_solvers.WAYS}
        for ranks in (1, 2, 4)
    }
    one, two, three = (["per-gpu", "per-socket", "per-node"][:count] for count in (1, 2, 3))
    assert layouts[1] == {way: one if way != "hierarchical" else [] for way in _paper_solvers.WAYS}
    assert layouts[2]["block"] == two and layouts[4]["pipe1"] == layouts[4]["pipe2"] == three
    assert layouts[2]["hierarchical"] == two[1:] and layouts[4]["hierarchical"] == three[1:]
    assert layouts[4]["bicgstab"] == layouts[4]["pipebicgstab"] == one


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"solver": "gatherbicgstab", "vectors": "auto", "gather": "2"}, ("pipe2", "per-socket")),
        ({"solver": "bicgstab", "vectors": "redundant", "gather": "1"}, ("block", "per-gpu")),
        ({"solver": "bicgstab", "vectors": "redundant", "gather": "3"}, ("", "")),
        ({"solver": "gmres"}, ("", "")),
    ],
)
def test_rows_are_named_by_their_options(row, name):
    assert _paper_solvers.named(row) == name


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What two ranks of this machine take for a small sphere, as if that were each of the paper's matrices."""
    from sordino.bench import hmatrix

    record = tmp_path_factory.mktemp("record") / "2026-11-27_hmatrix_solvers_h200x2.jsonl"
    argv = [
        "sphere:5,6",
        "--ways",
        "aca+",
        "--repeats",
        "1",
        "--engine",
        "host",
        "--ranks",
        "1,2",
        "--iterations",
        "8",
    ]
    assert hmatrix.main([*argv, "--paper-solvers", "--record", str(record), "--commit", "abc"]) == 0
    rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    for row in rows:  # a difference of two runs, which on a busy machine may vanish
        row["iteration_seconds"] = row["iteration_seconds"] or 1e-3
    return rows


@pytest.fixture
def iterations(monkeypatch, tmp_path, measured):
    """`bench/hmatrix_iterations.py`, which draws into an empty folder from these rows."""
    pytest.importorskip("matplotlib", reason="pictures are drawn with matplotlib, the extra `report`")
    monkeypatch.syspath_prepend(os.fspath(BENCH))
    module, drawing = (importlib.import_module(name) for name in ("hmatrix_iterations", "drawing"))
    monkeypatch.setattr(drawing, "PICTURES", tmp_path / "pictures")
    monkeypatch.setattr(drawing, "RECORDS", tmp_path / "records")
    (tmp_path / "records").mkdir()
    rows = [{**row, "n": n} for n in module.MATRICES for row in measured]
    text = "".join(json.dumps(row) + "\n" for row in [*rows, {"bench": "hmatrix-dots", "n": 338_000}])
    (tmp_path / "records" / "2026-11-27_hmatrix_solvers_h200x2.jsonl").write_text(text, encoding="utf-8")
    return module


def test_one_command_measures_all_ways_of_one_matrix(measured):
    assert len(measured) == 5 + 9 and len({row["seconds"] for row in measured}) == 1
    assert all(row["iteration_seconds"] > 0 and row["exposed_halo_s"] >= 0 for row in measured)
    assert (
        len({row["product_seconds"] for row in measured if row["vectors"] != "auto"}) == 2
    )  # of distributed ones


def test_pictures_are_drawn_of_a_record(iterations, tmp_path):
    for draw in iterations.DRAWN:
        draw()
    drawn = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "pictures").glob("*.svg")}
    assert set(drawn) == {draw.__name__ for draw in iterations.DRAWN}
    for name in iterations.MATRICES.values():
        assert f">{name}<" in drawn["hmatrix_gpu_parts"] and f">{name}<" in drawn["hmatrix_gpu_vectors"]
    assert ">338ts<" not in drawn["hmatrix_gpu_layouts"]  # the paper's Fig. 16 has four others
    assert (
        ">128<" in drawn["hmatrix_gpu_layouts"] and ">32<" in drawn["hmatrix_gpu_pipelines"]
    )  # the paper's GPUs


def test_tables_have_the_record_s_figures_and_the_paper_s(iterations, measured, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["hmatrix_iterations.py"])
    assert iterations.main() == 0
    lines = [
        re.split(r" *\| *", line)[1:-1] for line in capsys.readouterr().out.splitlines() if line[:2] == "| "
    ]
    of = {(*_paper_solvers.named(row), row["ranks"]): 1e3 * row["iteration_seconds"] for row in measured}
    block, pipe1, shared = (
        of[key]
        for key in (("block", "per-gpu", 1), ("pipe1", "per-gpu", 1), ("hierarchical", "per-socket", 2))
    )
    (layout,) = [line for line in lines if line[:3] == ["100ts", "block", "per-gpu"]]
    assert layout[3:] == [f"{block:.3f}", f"{of['block', 'per-gpu', 2]:.3f}", "3.7", "3.1", "3.2", "4.3", ""]
    (pipelined,) = [line for line in lines if line[:3] == ["100ts", "1", f"{block:.3f}"]]
    assert pipelined[5:7] == [f"{block / pipe1:.2f}", "0.96"] and pipelined[8] == "0.95"
    (vectors,) = [line for line in lines if line[:3] == ["hum4", "2", "per-socket"]]
    assert vectors[3:] == [f"{of['block', 'per-socket', 2]:.3f}", f"{shared:.3f}", vectors[5], ""]
    (product,) = [
        line for line in lines if line[:2] == ["1ms", "2"] and len(line) == 9 and "/" not in line[2]
    ]
    seconds = {row["ranks"]: row["product_seconds"] for row in measured if row["vectors"] == "redundant"}
    assert product[2] == f"{1e3 * seconds[2]:.3f}" and product[4] == f"{seconds[1] / seconds[2]:.2f}"


def test_without_a_record_nothing_is_printed(iterations, monkeypatch, tmp_path, capsys):
    next((tmp_path / "records").iterdir()).unlink()
    monkeypatch.setattr("sys.argv", ["hmatrix_iterations.py"])
    assert iterations.main() == 1 and "there is no record" in capsys.readouterr().err


@pytest.mark.parametrize("record", RECORDS[-1:], ids=lambda path: path.name)
def test_the_page_of_the_paper_has_the_newest_record_s_tables(record, monkeypatch):
    monkeypatch.syspath_prepend(os.fspath(BENCH))
    pytest.importorskip("matplotlib", reason="pictures are drawn with matplotlib, the extra `report`")
    module = importlib.import_module("hmatrix_iterations")
    page = (BENCH.parent / "docs" / "theory" / "000.md").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    for table in module.TABLES.values():
        assert "\n".join(table(module.found_in(rows))) in page
    assert record.name in page
