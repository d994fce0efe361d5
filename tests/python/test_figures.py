"""The pictures that `bench/figures.py` draws from records can be drawn from those that there are."""

from __future__ import annotations

import importlib
import inspect
import json
import os
from pathlib import Path

import pytest

matplotlib = pytest.importorskip(
    "matplotlib", reason="pictures are drawn with matplotlib, the extra `report`"
)

BENCH = Path(__file__).parents[2] / "bench"
PAIR = ("sqrt-jacobi", "symdia")


@pytest.fixture
def figures(monkeypatch, tmp_path):
    """`bench/figures.py`, which draws into an empty folder."""
    monkeypatch.syspath_prepend(os.fspath(BENCH))
    monkeypatch.setattr(importlib.import_module("drawing"), "PICTURES", tmp_path / "pictures")
    return importlib.import_module("figures")


def _kept(figures, monkeypatch, folder, **records):
    """Lines as records of that name of one day, and no others, but for predictions."""
    drawing = importlib.import_module("drawing")
    kept = folder / "records"
    kept.mkdir()
    (predictions,) = drawing.RECORDS.glob("*_predictions_late_blocks_h200.jsonl")
    (kept / predictions.name).write_text(predictions.read_text(encoding="utf-8"), encoding="utf-8")
    for name, lines in records.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (kept / f"2026-11-27_{name}_h200x4.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.setattr(drawing, "RECORDS", kept)
    return importlib.import_module("solver_figures")


def _line(size, ranks, seconds, **changed):
    return {
        "bench": "cg", "solver": "cg", "engine": "cuda", "counts": "median", "precond": PAIR[0], "storage": PAIR[1],
        "size": size, "ranks": ranks, "iteration_s": seconds, "limit_program_s": None, "vectors": "cupy",
        "date": "2026-11-27T02:00:00+00:00", **changed,
    }  # fmt: skip


def test_every_picture_of_records_is_drawn_and_is_the_committed_one(figures, tmp_path):
    """A picture that lacks its record is left out without a word, which is no help here: each is looked for.

    What is drawn is compared byte by byte, by the matplotlib that drew the committed ones: another one may place labels
    elsewhere.
    """
    failed = {}
    for draw in figures.RECORDED:
        try:
            draw()
        except Exception as error:  # of whatever kind: all of them are to be named at once
            failed[draw.__name__] = repr(error)
    assert not failed
    drawn = {picture.stem: picture.read_bytes() for picture in (tmp_path / "pictures").glob("*.svg")}
    assert set(drawn) == {draw.__name__ for draw in figures.RECORDED}
    committed = {name: (BENCH.parent / "docs" / "pictures" / f"{name}.svg").read_bytes() for name in drawn}
    drawer = f"Matplotlib v{matplotlib.__version__},".encode()
    stale = [name for name, svg in committed.items() if drawer in svg and svg != drawn[name]]
    assert not stale, "python bench/figures.py NAME draws it"


def test_what_is_run_to_be_drawn_reads_no_record(figures):
    assert not [draw.__name__ for draw in figures.RUN if "rows_of" in inspect.getsource(draw)]
    assert not {draw.__name__ for draw in figures.RUN} & {draw.__name__ for draw in figures.RECORDED}


def test_a_record_is_named_by_all_of_its_name(figures, monkeypatch, tmp_path):
    _kept(figures, monkeypatch, tmp_path, predictions=[{"a": 1}], triangular_predictions=[{"a": 2}])
    drawing = importlib.import_module("drawing")
    assert drawing.rows_of("predictions", "h200x4") == [{"a": 1}]
    assert drawing.rows_of("none_of_them", "h200x4") == []


def test_strong_scaling_is_of_the_newest_record_that_has_medians(figures, monkeypatch, tmp_path):
    """Neither the last name, nor what is newer and no median, on a GPU, or by cg with one of the two pairs."""
    before = {"date": "2026-11-27T01:00:00+00:00"}
    after = {"date": "2026-11-27T03:00:00+00:00"}
    solver_figures = _kept(
        figures, monkeypatch, tmp_path,
        bench_cg_odd_rows=[_line(64, 1, 9.0, **before), {"bench": "cg_limit", "size": 64, "ranks": 1}],
        bench_cg_cupy=[
            _line(64, 1, 4e-6, limit_program_s=5e-6), _line(64, 4, 2e-6), _line(128, 4, 9.0, precond="jacobi"),
            _line(512, 4, 8e-6, precond="jacobi", storage="dia", limit_program_s=7e-6),
            _line(64, 1, 9.0, solver="cgcg"), _line(64, 2, 9.0, solver="cgcg"), _line(100, 1, 9.0),
            {"bench": "cg_limit", "size": 64, "ranks": 1, "us_an_iteration": 9.0},
            {"bench": "cg_limit", "size": 64, "ranks": 2, "us_an_iteration": 3.0},
        ],
        bench_cg_zeroes=[
            {"bench": "cg", "size": 512, "ranks": 1, "precond": PAIR[0], "storage": PAIR[1], **after},
            _line(64, 1, 9.0, engine="host", **after), _line(64, 1, 9.0, counts="best", **after),
        ],
    )  # fmt: skip
    found = solver_figures.scaling_of(PAIR)
    assert set(found) == {(64, "measured"), (64, "predicted"), (64, "cg_limit")}
    assert found[64, "measured"] == {1: 4e-6, 4: 2e-6}
    assert found[64, "cg_limit"] == {1: 5e-6, 2: pytest.approx(3e-6)}
    assert found[64, "predicted"] == pytest.approx({1: 17.0e-6, 2: 17.9e-6, 4: 17.9e-6}, rel=5e-3)
    other = solver_figures.scaling_of(("jacobi", "dia"))
    assert (other[512, "measured"], other[512, "cg_limit"]) == ({4: 8e-6}, {4: 7e-6})
    assert set(other) == {(512, "measured"), (512, "predicted"), (512, "cg_limit")}
    solver_figures.strong_scaling()
    assert (tmp_path / "pictures" / "strong_scaling.svg").is_file()


def test_predictions_are_those_of_before_the_measurement(figures, monkeypatch, tmp_path):
    solver_figures = _kept(figures, monkeypatch, tmp_path)
    found = solver_figures.predictions_of_cg("2026-11-27")
    assert {row["solver"] for row in found} == {"cg"} and len(found) == 24
    assert solver_figures.predictions_of_cg("2026-11-26T10:04:10+00:00") == []


def test_the_committed_records_have_what_strong_scaling_shows(figures):
    solver_figures = importlib.import_module("solver_figures")
    for pair in (PAIR, ("jacobi", "dia")):
        found = solver_figures.scaling_of(pair)
        for size in (64, 128, 256):
            assert {1, 4} <= set(found[size, "measured"]) <= {1, 2, 4} == set(found[size, "predicted"])
            assert set(found[size, "measured"]) <= set(found[size, "cg_limit"])
