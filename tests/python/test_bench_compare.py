"""``sordino bench compare``: what has changed between two records, what of it decides, and a word on the load."""

from __future__ import annotations

import json

import pytest


def _record(path, *rows):
    facts = {"date": "today", "commit": "abc", "command": "sordino bench cg", "machine": {"cores": 2}}
    path.write_text("".join(json.dumps({**row, **facts}) + "\n" for row in rows))
    return path


def test_two_records_are_compared(cli, tmp_path):
    def cg(ranks, seconds, iterations=10):
        return {
            "bench": "cg",
            "ranks": ranks,
            "iteration_s": seconds,
            "iterations": iterations,
            "peers": {"cg_s": 1.0},
        }

    before = _record(tmp_path / "a.jsonl", cg(1, 1.0), cg(2, 1.0), cg(8, 1.0))
    after = _record(tmp_path / "b.jsonl", cg(2, 0.5, 12), cg(1, 1.05), cg(4, 1.0))
    code, out, _ = cli("bench", "compare", before, after, "--json")
    found = json.loads(out)
    ratios = {(c["what"], c["figure"]): c["ratio"] for c in found["changes"]}
    assert code == 0 and found["unmatched"] == 2 and found["slower"] == 0
    assert ratios[("ranks 1", "iteration_s")] == 1.05 and ratios[("ranks 2", "iteration_s")] == 0.5
    assert ratios[("ranks 2", "iterations")] == 1.2 and ratios[("ranks 2", "peers cg_s")] == 1.0
    code, out, _ = cli("bench", "compare", before, after, "--within", "1")
    assert code == 4 and "1 slower by more than 1 %" in out and "iteration_s" in out
    code, out, _ = cli("bench", "compare", before, after)
    assert code == 0 and "1.05" not in out and "0.50" in out


def test_only_our_own_times_over_many_repeats_decide(cli, tmp_path):
    def lines(factor):
        spread = {"least": factor, "median": 1.0, "most": factor}
        ours = {"bench": "solution", "package": "sordino", "total_s": spread, "setup_s": {"median": factor}}
        peer = {"bench": "solution", "package": "scipy", "total_s": {"median": factor}}
        cg = {
            "bench": "cg",
            "ranks": 1,
            "iteration_s": 1.0,
            "spmv_s": 1.0,
            "peers": {"iteration_s": {"scipy": factor}},
        }
        single = {"bench": "claims", "package": "sordino", "seconds": factor}
        nccl = {"bench": "comm", "way": "NCCL 2.28", "median_s": factor}
        return ours, peer, {**cg, "ledger": {"exposed_halo_s": factor}}, single, nccl

    before, after = _record(tmp_path / "a.jsonl", *lines(1.0)), _record(tmp_path / "b.jsonl", *lines(2.0))
    code, out, _ = cli("bench", "compare", before, after)
    assert code == 0 and "3 times of ours decide: 0 slower" in out and "8 other times are slower" in out


@pytest.mark.parametrize(
    "line",
    [
        {"bench": "cg", "iteration_s": 1.0},
        {"bench": "cg", "spmv_s": 1.0},
        {"bench": "comm", "way": "in a kernel", "median_s": 1.0},
        {"bench": "comm", "algorithm": "tree", "total_s": 1.0},
        {"bench": "dslash", "hop_s": 1.0},
        {"bench": "petsc", "sordino": {"iteration_s": {"median": 1.0}}},
        {"bench": "solution", "package": "sordino", "total_s": {"median": 1.0}},
        {"bench": "steps", "seconds_a_step": 1.0},
    ],
)
def test_what_decides(cli, tmp_path, line):
    slower = json.loads(json.dumps(line).replace("1.0", "1.5"))
    before, after = _record(tmp_path / "a.jsonl", line), _record(tmp_path / "b.jsonl", slower)
    assert cli("bench", "compare", before, after)[0] == 4
    assert cli("bench", "compare", after, before)[0] == 0


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (0.1, 0.4, ""),
        (0.1, 1.8, "the load was 0.1 before and 1.8 after, on 2 cores"),
        (9.0, 9.1, "the load was 9.0 before and 9.1 after"),
        (None, 9.0, "the load was 9.0 after, on 2 cores"),
        (None, 0.3, ""),
        (None, None, ""),
    ],
)
def test_a_word_on_the_load(cli, tmp_path, then, now, said):
    def lines(load):
        return {"bench": "cg", "iteration_s": 1.0, **({} if load is None else {"load_average": load})}

    before, after = _record(tmp_path / "a.jsonl", lines(then)), _record(tmp_path / "b.jsonl", lines(now))
    code, out, _ = cli("bench", "compare", before, after)
    assert code == 0 and (said in out if said else "the load was" not in out)
    assert json.loads(cli("bench", "compare", before, after, "--json")[1])["load"].startswith(said)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "line 1 is not valid JSON"),
        ("[1]\n", "must hold one JSON object"),
        ("", "is empty"),
        ('{"bench": "comm", "iteration_s": 1.0}', "in common: they differ in bench (cg before, comm after)"),
        ('{"bench": "cg", "ranks": 3}', "they differ in ranks (2 before, 3 after)"),
    ],
)
def test_what_is_no_record(cli, tmp_path, text, sentence):
    good = _record(tmp_path / "good.jsonl", {"bench": "cg", "ranks": 2, "iteration_s": 1.0})
    bad = tmp_path / "bad.jsonl"
    bad.write_text(text)
    code, _, err = cli("bench", "compare", good, bad)
    assert code == 2 and sentence in err


def test_medians_and_the_best_of_several_are_told_apart(cli, tmp_path):
    line = {"bench": "cg", "ranks": 1, "iteration_s": 1.0}
    before, after = (
        _record(tmp_path / "a.jsonl", line),
        _record(tmp_path / "b.jsonl", {**line, "counts": "median"}),
    )
    said = "times of the record after are medians of several runs, and of the other one the best of them"
    assert said in cli("bench", "compare", before, after)[1]
    assert said.replace("after", "before") in cli("bench", "compare", after, before)[1]
    assert json.loads(cli("bench", "compare", after, after, "--json")[1])["counts"] == ""
