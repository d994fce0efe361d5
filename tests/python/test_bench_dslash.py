"""``sordino bench dslash`` on the host."""

from __future__ import annotations

import json

import pytest


def test_dslash_measures_and_records(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    code, out, err = cli(
        "bench", "dslash", "--lattices", "4,4,4,8", "4,4,6,4", "--ranks", "1,2", "--precisions", "double",
        "--engine", "host", "--iterations", 2, "--record", record, "--commit", "abc",
    )  # fmt: skip
    assert code == 0, err
    for part in ("copy bandwidth here", "4 x 4 x 4 x 8 sites, host engine", "of QUDA-count roofline"):
        assert part in out
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(line["lattice"], line["ranks"], line["recon"]) for line in lines] == [
        (lattice, ranks, recon)
        for lattice in ([4, 4, 4, 8], [4, 4, 6, 4])
        for ranks in (1, 2)
        for recon in (12, 18)
    ]
    for line in lines:
        assert line["gflops"] > 0 and line["hop_s"] > 0 and line["hermiticity_error"] < 1e-13
        assert line["of_uncached_roofline"] > line["of_ideal_roofline"] > 0
        assert line["commit"] == "abc" and line["command"].startswith(
            "sordino bench dslash --lattices 4,4,4,8"
        )


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--lattices", "4,4,4"], "four numbers of sites"),
        (["--lattices", "4,4,4,x"], "--lattices must be a whole number"),
        (["--lattices", "3,4,4,4", "--engine", "host"], "even"),
        (["--precisions", "half"], "single and double"),
        (["--recons", "8"], "12 and 18"),
        (["--ranks", "0"], "at least 1"),
        (["--recons", ","], "nothing to measure"),
        (["--iterations", str(2**31)], "below 2^30"),
        (["--engine", "paper"], "--engine is host or cuda for a measurement, or model for a prediction"),
        (["--engine", "host", "--machine", "gmh"], "--machine is for engine model"),
        (["--engine", "model", "--machine", "abacus"], "abacus"),
    ],
)
def test_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", "dslash", *argv)
    assert code == 2 and sentence in err


def test_a_described_machine_predicts_figure_10_of_gmh(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    argv = ["bench", "dslash", "--engine", "model", "--machine", "gmh", "--lattices", "32,32,32,256"]
    argv += [
        "--ranks",
        "1,16,32",
        "--precisions",
        "single",
        "--recons",
        "12",
        "--record",
        record,
        "--commit",
        "a",
    ]
    code, out, err = cli(*argv)
    assert code == 0, err
    assert "32 x 32 x 32 x 256 sites, model engine" in out
    one, sixteen, all_of_them = [json.loads(line) for line in record.read_text().splitlines()]
    assert one["described_machine"] == "gmh" and one["of_ideal_roofline"] is None
    assert 0.9 < one["hop_s"] / (16 * sixteen["hop_s"]) < 1  # flat to 16,
    assert 0.6 < one["hop_s"] / (32 * all_of_them["hop_s"]) < 0.8  # and a drop
    assert one["gflops"] == pytest.approx(1320e-9 * 32**3 * 128 / one["hop_s"])


def test_json_is_all_that_is_printed(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    argv = [
        "bench",
        "dslash",
        "--lattices",
        "4,4,4,8",
        "4,4,6,4",
        "--precisions",
        "double",
        "--iterations",
        2,
    ]
    code, out, err = cli(*argv, "--engine", "host", "--json", "--record", record, "--commit", "abc")
    assert code == 0, err
    found = json.loads(out)
    assert found["bench"] == "dslash"
    shape = [(row["lattice"], row["recon"]) for row in found["measured"]]
    assert shape == [(lattice, recon) for lattice in ([4, 4, 4, 8], [4, 4, 6, 4]) for recon in (12, 18)]
    assert all(row["hop_s"] > 0 and row["bandwidth"] > 0 for row in found["measured"])
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    for line, row in zip(lines, found["measured"], strict=True):
        assert {key: line[key] for key in row} == row


def test_json_has_what_was_measured_before_a_failure(cli):
    # Seven sites in a direction cannot be even and odd: the second lattice is refused.
    argv = ["bench", "dslash", "--lattices", "4,4,4,8", "7,4,4,4", "--precisions", "single", "--recons", "12"]
    code, out, err = cli(*argv, "--engine", "host", "--iterations", 2, "--json")
    assert code == 2 and "even" in err
    assert [row["lattice"] for row in json.loads(out)["measured"]] == [[4, 4, 4, 8]]


def test_json_of_a_described_machine(cli):
    argv = ["bench", "dslash", "--engine", "model", "--machine", "gmh", "--ranks", "1,2", "--recons", "12"]
    code, out, err = cli(*argv, "--json")
    assert code == 0, err
    measured = json.loads(out)["measured"]
    assert [(row["ranks"], row["precision"]) for row in measured] == [
        (ranks, precision) for ranks in (1, 2) for precision in ("single", "double")
    ]
    assert all(row["described_machine"] == "gmh" and row["of_ideal_roofline"] is None for row in measured)
