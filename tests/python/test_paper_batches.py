"""``sordino bench hmatrix --paper-batches`` without a GPU: what it refuses, its rows and its table."""

from __future__ import annotations

import pytest

import sordino
from sordino import _core
from sordino.bench import _paper_batches

OURS = {"surface": "ball", "n": 160, "eps": 1e-4, "way": "aca", "stored_bytes": 8_000_000}


def batch(**given):
    """One of the core's batches."""
    return {
        "sort": "groups", "batch": 20000, "phase": 0, "products": 20000, "rows": (1, 8), "columns": (16, 64),
        "values": 10**6, "seconds": 1e-3, **given,
    }  # fmt: skip


class Core:
    """Returns batches."""

    def measure_paper_batches(self, native, repeats):
        assert repeats == 2
        return [
            batch(),
            batch(products=5000, values=4 * 10**6, rows=(9, 40)),
            batch(phase=1, products=7, seconds=2e-3),
            batch(sort="rows", batch=-1, products=500, rows=(3, 3)),
            batch(sort="rows", batch=-1, products=199, values=3 * 10**6),
            batch(batch=0, products=3),
        ]


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(_paper_batches, "core", Core)
    return _paper_batches.measure(sordino.hmatrix(sordino.surfaces.sphere(5, 4), 1e-4), OURS, 2)


def test_rows_have_the_batches_of_an_order_and_a_kind_in_turn(rows):
    assert [(row["sort"], row["batch"], row["kind"], row["launches"]) for row in rows] == [
        ("groups", 20000, "B and V", 2), ("groups", 20000, "U", 1), ("rows", "size", "B and V", 2),
        ("groups", "rows", "B and V", 1),
    ]  # fmt: skip
    assert all(
        (row["bench"], row["surface"], row["n"]) == ("hmatrix-paper-batches", "ball", 160) for row in rows
    )
    first, _, sizes, _ = rows
    assert (
        first["products"] == [20000, 5000] and first["rows_least"] == [1, 9] and first["rows_most"] == [8, 40]
    )
    assert first["gflops"] == pytest.approx([2.0, 8.0]) and first["all_gflops"] == pytest.approx(5.0)
    assert first["seconds"] == pytest.approx(2e-3)
    assert sizes["products"] == [500], "short launches bound nothing"
    assert sizes["all_gflops"] == pytest.approx(4.0), "and are part of the whole"


def test_the_table_has_a_line_for_each(rows, capsys):
    _paper_batches.show(rows)
    lines = capsys.readouterr().out.splitlines()
    assert any("20,000" in line and "B and V" in line and "2.000" in line and "5.0" in line for line in lines)
    assert sum("groups" in line for line in lines) == 3


@pytest.mark.parametrize("argv", [[], ["--engine", "host"], ["--engine", "cuda", "--ranks", "2"]])
def test_it_takes_one_gpu(cli, argv):
    code, _, err = cli("bench", "hmatrix", "sphere:5,4", "--paper-batches", *argv)
    assert code == 2
    assert "--paper-batches are measured on one GPU: they take --engine cuda and --ranks 1" in err


@pytest.mark.skipif(bool(_core.build_info()["cuda"]), reason="this build has CUDA")
def test_a_build_without_cuda_says_so():
    H = sordino.hmatrix(sordino.surfaces.sphere(5, 4), 1e-4)
    with pytest.raises(sordino.Unsupported, match="the paper's ways cannot be measured"):
        _paper_batches.measure(H, OURS, 1)
