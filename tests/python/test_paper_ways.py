"""``sordino bench hmatrix --paper-ways`` without a GPU: what it refuses, its rows and its table."""

from __future__ import annotations

import pytest

import sordino
from sordino import _core
from sordino.bench import _paper_ways

OURS = {
    "surface": "ball", "n": 160, "eps": 1e-4, "way": "aca", "stored_bytes": 8_000_000, "product_seconds": 2e-3,
}  # fmt: skip


def figure(**given):
    """One of the core's figures."""
    return {
        "way": "variable batch", "batch": 20000, "sort": "groups", "streams": 1, "gpus": 1, "launches": 3, "samples": 2,
        "seconds": 4e-3, "difference": 1e-15, "held_bytes": 9_000_000, "remark": "", "failure": "",
        **given,
    }  # fmt: skip


class Core:
    """Returns figures, and notes what it was asked for."""

    def __init__(self, *figures):
        self.figures, self.asked = list(figures), []

    def measure_paper_ways(self, native, repeats, cublas, gpus):
        self.asked.append((repeats, cublas, gpus))
        return self.figures


@pytest.fixture
def rows(monkeypatch):
    core = Core(
        figure(),
        figure(batch=0, streams=3, gpus=4, seconds=1e-3),
        figure(
            way="cublas", batch=1, seconds=0, samples=0, launches=0, remark="there is no cuBLAS here: ..."
        ),
        figure(way="fixed batch", batch=5000, seconds=0, failure="the product differs"),
    )
    monkeypatch.setattr(_paper_ways, "core", lambda: core)
    found = _paper_ways.measure(sordino.hmatrix(sordino.surfaces.sphere(5, 4), 1e-4), OURS, 2, "some.so", 4)
    assert core.asked == [(2, "some.so", 4)]
    return found


def test_rows_of_the_record(rows):
    assert [row["bench"] for row in rows] == 4 * ["hmatrix-paper-ways"]
    assert [(row["batch"], row["seconds"], row["times_ours"]) for row in rows] == [
        (20000, 4e-3, 2.0), ("rows", 1e-3, 0.5), (1, None, None), (5000, None, None)
    ]  # fmt: skip
    assert all((row["surface"], row["n"], row["compression"]) == ("ball", 160, "aca") for row in rows)


def test_the_table_has_ours_first_and_says_what_was_not_measured(rows, capsys):
    _paper_ways.show(rows)
    lines = capsys.readouterr().out.splitlines()
    (ours,) = [line for line in lines if "ours, aca" in line]
    assert "2.000" in ours and lines.index(ours) < min(k for k, line in enumerate(lines) if "20,000" in line)
    assert any("20,000" in line and "groups" in line and "4.000" in line and "2.00" in line for line in lines)
    (several,) = [line for line in lines if "1.000" in line and "rows" in line]
    assert several.split()[6:8] == ["3", "4"], "streams, GPUs"
    assert any("there is no cuBLAS here" in line for line in lines)


def test_a_failure_is_an_error_at_the_end(rows):
    with pytest.raises(sordino.DeviceError, match="fixed batch with batches of 5000: the product differs"):
        _paper_ways.raise_first_failure([{"bench": "hmatrix"}, *rows])
    _paper_ways.raise_first_failure(rows[:3])


@pytest.mark.parametrize(
    "argv",
    [
        ["--paper-ways"],
        ["--paper-ways", "--engine", "host"],
        ["--paper-ways", "--engine", "cuda", "--ranks", "2"],
    ],
)
def test_it_takes_one_gpu(cli, argv):
    code, _, err = cli("bench", "hmatrix", "sphere:5,4", *argv)
    assert code == 2
    assert "--paper-ways are measured on one GPU: they take --engine cuda and --ranks 1" in err


@pytest.mark.parametrize(("name", "value"), [("--cublas", "libcublas.so.13"), ("--paper-gpus", "2")])
def test_options_of_the_paper_s_ways(cli, name, value):
    code, _, err = cli("bench", "hmatrix", "sphere:5,4", name, value)
    assert code == 2 and f"{name} belongs to --paper-ways" in err


def test_there_is_a_gpu_at_least(cli):
    code, _, err = cli(
        "bench", "hmatrix", "sphere:5,4", "--paper-ways", "--engine", "cuda", "--paper-gpus", "0"
    )
    assert code == 2 and "--paper-gpus is at least 1, not 0" in err


@pytest.mark.skipif(bool(_core.build_info()["cuda"]), reason="this build has CUDA")
def test_a_build_without_cuda_says_so():
    H = sordino.hmatrix(sordino.surfaces.sphere(5, 4), 1e-4)
    with pytest.raises(sordino.Unsupported, match="the paper's ways cannot be measured"):
        _paper_ways.measure(H, OURS, 1, "")
