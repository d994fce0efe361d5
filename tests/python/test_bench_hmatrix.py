"""``sordino bench hmatrix``: what it measures is what the matrices say, and its record names no folder."""

from __future__ import annotations

import json

import pytest

import sordino
from sordino.bench import hmatrix as bench
from sordino.io import OutputFile, write_bem_bb
from sordino.surfaces import sphere


def test_it_measures_each_surface_tolerance_and_way(cli, tmp_path):
    path, record = tmp_path / "ball.pbf", tmp_path / "found.jsonl"
    write_bem_bb(OutputFile(path), sphere(5, 4))
    code, out, err = cli(
        "bench", "hmatrix", path, "sphere:5,6", "--eps", "1e-3,1e-6", "--ways", "aca+,hacapk aca", "--repeats", 1,
        "--threads", 2, "--record", record, "--commit", "abc",
    )  # fmt: skip
    assert (code, err) == (0, "") and "H-matrices, 2 threads" in out and "hacapk aca" in out
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(row["n"], row["eps"], row["way"]) for row in rows] == [
        (n, eps, way) for n in (160, 360) for eps in (1e-3, 1e-6) for way in ("aca+", "hacapk aca")
    ]
    assert not any(str(tmp_path) in line for line in record.read_text().splitlines())
    for row in rows:
        H = sordino.hmatrix(sphere(5, 4 if row["n"] == 160 else 6), row["eps"], **bench.WAYS[row["way"]])
        for name in ("clusters", "low_rank_blocks", "dense_blocks", "nodes", "stored_bytes", "mean_rank"):
            assert row[name] == H.statistics[name]
        seconds = row["seconds"] * 2 / (row["stored_bytes"] / 8)
        assert row["core_seconds_a_value"] == pytest.approx(seconds)
        assert row["product_bytes_a_second"] * row["product_seconds"] == pytest.approx(row["stored_bytes"])
        assert min(row["product_of_8_seconds"], row["transposed_product_seconds"]) > 0


def test_it_prints_json(cli):
    code, out, _ = cli("bench", "hmatrix", "sphere:5,4", "--ways", "full", "--repeats", 1, "--json")
    (row,) = json.loads(out)["measured"]
    assert code == 0 and row["way"] == "full" and row["compression_error"] <= 1e-6


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--ways", "svd"], "--ways is of aca+, aca, full, hacapk aca+, hacapk aca, not 'svd'"),
        (["--repeats", "0"], "--repeats at least 1"),
        (["--threads", "-1"], "--threads is 0, for as many as there are cores, or more"),
        (["--eps", "1"], "eps is above 0 and below 1"),
        (["--eps", "x"], "--eps must be a number"),
    ],
)
def test_bad_words_get_a_sentence(cli, argv, sentence):
    code, _, err = cli("bench", "hmatrix", "sphere:5,4", *argv)
    assert code == 2 and sentence in err
