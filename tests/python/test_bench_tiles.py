"""``sordino bench tiles``: what a scan of tile shapes says, the couplings it counts, and its record."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from sordino.bench import tiles
from sordino.problems import pressure_matrix


def _core_is_there() -> bool:
    try:
        from sordino import _core
    except ImportError:
        return False
    return hasattr(_core, "Solver")


needs_core = pytest.mark.skipif(not _core_is_there(), reason="sordino._core is not built")


@pytest.mark.parametrize("tile", [(3, 2, 5), (4, 4, 1), (6, 5, 7), (1, 1, 1)])
@pytest.mark.parametrize("edges", [(1, 1, 1), (1, 1, 2), (0.5, 2, 3)])
def test_couplings_between_tiles_are_counted_by_their_weights(tile, edges):
    size = (6, 5, 7)
    matrix = pressure_matrix(np.ones(size[::-1]), spacing=edges).tocoo()
    place = np.stack(np.unravel_index(np.arange(matrix.shape[0]), size, order="F"))
    owner = place // np.array(tile)[:, None]
    pairs = matrix.row != matrix.col
    between = (owner[:, matrix.row[pairs]] != owner[:, matrix.col[pairs]]).any(axis=0)
    weights = matrix.data[pairs]
    assert tiles.cut(size, tile, edges) == pytest.approx(weights[between].sum() / weights.sum())
    assert edges != (1, 1, 1) or tiles.cut(size, tile) == pytest.approx(between.mean())


def test_a_line_is_fitted_to_three_shapes_or_more():
    found = [{"cut": c, "iterations": 100 + 200 * c} for c in (0.1, 0.2, 0.4)]
    assert tiles.fit(found) == pytest.approx({"whole": 100, "slope": 200, "worst": 0})
    found[0]["iterations"] = 130
    assert tiles.fit(found)["worst"] > 0.03
    assert tiles.fit(found[:2]) is None and tiles.fit([found[0]] * 3) is None


def test_the_paper_s_slabs_keep_their_proportion_and_are_not_for_gpus():
    assert tiles.shapes((256, 128, 512), "host")[0] == (256, 128, 36)
    assert tiles.shapes((64, 32, 128), "host")[0] == (64, 32, 9)
    assert tiles.shapes((64, 32, 128), "cuda") == list(tiles.PAPER) and len(tiles.PAPER) == 8


def test_the_median_of_solves_counts_and_none_may_miss(monkeypatch):
    ends = iter([(3.0, True, 1e-9), (1.0, True, 2e-9), (2.0, False, 3e-9)])

    class Scripted:
        def __init__(self, *_, **__):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def solve(self, *_, **__):
            seconds, converged, residual = next(ends)
            return SimpleNamespace(seconds=seconds, converged=converged, true_residual=residual, iterations=7)

    monkeypatch.setattr(tiles, "Solver", Scripted)
    found = tiles.measure(SimpleNamespace(n=1), np.ones(1), 3, precond="jacobi")
    assert (found["seconds"], found["best_s"], found["iterations"]) == (2.0, 1.0, 7)
    assert (found["converged"], found["true_residual"]) == (False, 3e-9)


@needs_core
def test_a_scan_is_printed_and_recorded(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    argv = ("bench", "tiles", "--size", "16,16,16", "--engine", "host", "--repeats", 1)
    shapes = ("--tiles", "16x16x16,4x4x4,8x8x1")
    code, out, err = cli(*argv, *shapes, "--record", record, "--commit", "abc")
    assert code == 0, err
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    lines, beside = lines[:3], lines[3:]
    assert [line["tile"] for line in lines] == [[16, 16, 16], [4, 4, 4], [8, 8, 1]]
    assert [line["precond"] for line in beside] == ["jacobi", "sqrt-jacobi"] and "tile" not in beside[0]
    assert [line["paper"] for line in lines] == [None, 185, 174]
    whole, cubes, flat = (line["iterations"] for line in lines)
    assert whole < cubes < flat and all(line["true_residual"] <= 1.000001e-8 for line in lines)
    [said] = [line for line in out.splitlines() if line.startswith("8 x 8 x 1")]
    assert f"{flat / cubes:.2f}" in said and f"{174 / 185:.2f}" in said and f"{6.87 / 22.83:.2f}" in said
    assert "times the part cut, within" in out
    assert min(line["iterations"] for line in beside) > flat
    fastest = min(line["seconds"] for line in lines) / beside[0]["seconds"]
    assert f"jacobi: {beside[0]['iterations']} iterations" in out and f"take {fastest:.2f} times that" in out
    code, out, err = cli(*argv, "--tiles", "4x4x4", "--json")
    assert code == 0, err
    shown = json.loads(out)
    assert shown["measured"][0]["iterations"] == cubes and shown["fit"] is None


@needs_core
def test_cells_may_be_longer_in_a_direction(cli, tmp_path):
    """Tiles that are flat in z then cut the weak couplings, and take fewer iterations than cubes."""
    record = tmp_path / "r.jsonl"
    argv = ("--size", "16,16,16", "--tiles", "4x4x4,8x8x1,1x8x8", "--beside", "", "--repeats", 1)
    code, out, err = cli(
        "bench", "tiles", *argv, "--engine", "host", "--spacing", "1,1,4", "--record", record
    )
    assert code == 0, err
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert all((line["spacing"], line["seed"]) == ([1, 1, 4], 0) for line in lines)
    cubes, flat, upright = (line["iterations"] for line in lines)
    assert flat < cubes < upright
    assert lines[1]["cut"] < lines[0]["cut"] < lines[2]["cut"]
    assert "16 x 16 x 16 cells of 1 x 1 x 4, contrast 1000" in out


@needs_core
def test_ranks_share_tiles_and_change_no_iteration(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    argv = ("--size", "8,8,16", "--tiles", "8x8x3,4x4x4", "--beside", "", "--engine", "host", "--repeats", 1)
    for ranks in (1, 4):
        code, out, err = cli("bench", "tiles", *argv, "--ranks", ranks, "--record", record)
        assert code == 0, err
        assert f"engine host, ranks {ranks}; ratios" in out
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["ranks"] for line in lines] == [1, 1, 4, 4]
    assert [line["iterations"] for line in lines[:2]] == [line["iterations"] for line in lines[2:]]
    code, _, err = cli("bench", "tiles", *argv, "--ranks", 5)  # four layers of 4 x 4 x 4
    assert code == 2 and "tile 4 x 4 x 4 is larger than 8 x 8 x 3 cells: each of 5 ranks" in err


@needs_core
def test_what_does_not_converge_is_said(cli):
    argv = ("--size", "6,6,6", "--tiles", "2x2x2", "--rtol", "1e-30", "--engine", "host", "--repeats", 1)
    code, out, _ = cli("bench", "tiles", *argv)
    assert code == 3 and "MISSED" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--size", "8,8"], "--size is three numbers from 1 on"),
        (["--size", "8,8,0"], "--size is three numbers from 1 on"),
        (["--rtol", "2"], "--rtol between 0 and 1"),
        (["--ranks", "0"], "--repeats and --ranks are at least 1"),
        (["--tiles", "8x8"], "--tiles has shapes such as 8x8x1, not '8x8'"),
        (["--tiles", "8x0x1"], "--tiles has shapes such as 8x8x1, not '8x0x1'"),
        (["--beside", "jacobi,ilu"], "--beside is some of jacobi, sqrt-jacobi, chebyshev, not 'ilu'"),
        (["--size", "8,8,8"], "tile 16 x 32 x 4 is larger than the grid, 8 x 8 x 8 cells"),
        (["--engine", "model"], "--engine is host or cuda for a measurement, not 'model'"),
        (["--spacing", "1,1"], "the spacing is three edges of a cell, in x, y and z"),
        (["--spacing", "1,1,0"], "numbers from 1e-09 to 1e+09, not [1.0, 1.0, 0.0]"),
        (["--record", "/nowhere/r.jsonl"], "cannot be written"),
    ],
)
def test_bad_usage(cli, fake_core, argv, sentence):
    code, out, err = cli("bench", "tiles", *argv)
    assert code == 2 and out == "" and sentence in err
