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
        (["--engine", "model"], "--engine is host or cuda"),
    ],
)
def test_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", "dslash", *argv)
    assert code == 2 and sentence in err
