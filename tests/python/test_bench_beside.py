"""``sordino bench petsc``, ``solution``, ``steps`` and ``compare`` on tiny systems; PETSc where it was built."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from sordino.bench import _petsc, petsc, steps

PROGRAM = os.environ.get("SORDINO_PETSC", "") or str(Path(__file__).parents[2] / _petsc.PROGRAM)
needs_petsc = pytest.mark.skipif(
    not os.access(PROGRAM, os.X_OK),
    reason="PETSc is absent: bench/petsc/build.sh was not run (or set SORDINO_PETSC)",
)


@needs_petsc
def test_beside_petsc(cli, tmp_path):
    record = tmp_path / "petsc.jsonl"
    code, out, err = cli(
        "bench", "petsc", "--size", 8, "--ranks", "1,2", "--rounds", 2, "--solves", 2, "--within", 1e9,
        "--program", PROGRAM, "--record", record, "--commit", "abc",
    )  # fmt: skip
    assert code == 0, err
    assert "PETSc at its best" in out
    for row, ranks in zip(map(json.loads, record.read_text().splitlines()), (1, 2), strict=True):
        assert row["ranks"] == ranks and row["nnz"] == (3 * 8 - 2) ** 3
        assert row["sordino"]["iterations"] == row["petsc"]["true norm"]["iterations"]
        assert all(part["true_residual"] <= 2e-8 for part in (row["sordino"], *row["petsc"].values()))
        assert row["ratio"]["of_medians"] > 0 and str(tmp_path) not in row["command"]


@needs_petsc
def test_petsc_says_what_it_refuses():
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    options = ["-ksp_type", "gmres", "-pc_type", "ilu"]
    refused = pytest.raises(_petsc.PetscError, match="diagonal")
    with _petsc.Problem(PROGRAM, matrix, np.ones(2)) as problem, refused:
        problem.solve(options)


def test_without_petsc_a_sentence_says_what_to_do(cli, monkeypatch):
    monkeypatch.setattr(_petsc, "PROGRAM", "nowhere/petsc_ksp")
    code, _, err = cli("bench", "petsc")
    assert code == 2 and "bench/petsc/build.sh" in err


def test_the_ratio_is_of_the_same_turns():
    def runs(*seconds):
        return [{"solve_s": value} for value in seconds]

    ratio = petsc._ratio(runs(1.0, 3.0, 4.0, 8.0), runs(2.0, 2.0, 3.0, 3.0), 2)
    assert ratio["of_fastest"] == 0.5 and ratio["of_medians"] == pytest.approx(1.4)
    assert ratio["of_turns_median"] == pytest.approx(1.5)  # of 1 and 2


def test_times_to_a_solution(cli, tmp_path):
    record = tmp_path / "solution.jsonl"
    peers = ["--petsc", PROGRAM] if os.access(PROGRAM, os.X_OK) else []
    code, out, err = cli(
        "bench", "solution", "--sizes", "6,7", "--ranks", "1,2", "--solvers", "cg,prcg", "--engine", "host",
        "--repeats", 2, "--record", record, "--commit", "abc", *peers,
    )  # fmt: skip
    assert code == 0, err
    assert "scipy splu" in out and ("petsc cg, gamg" in out) == bool(peers)
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    ours = [row for row in rows if row["package"] == "sordino"]
    assert [(row["size"], row["ranks"]) for row in ours] == 2 * [(6, 1), (6, 2)] + 2 * [(7, 1), (7, 2)]
    assert all(row["verified"] for row in rows)
    for row in rows:
        assert row["total_s"]["least"] >= row["setup_s"]["least"] + row["solve_s"]["least"] > 0
    assert ours[1]["speedup"] == pytest.approx(ours[0]["total_s"]["median"] / ours[1]["total_s"]["median"])


def test_steps_are_flat(cli, tmp_path):
    record = tmp_path / "steps.jsonl"
    code, out, err = cli(
        "bench", "steps", "--steps", 60, "--size", 6, "--engine", "host", "--record", record, "--commit", "a"
    )
    row = json.loads(record.read_text())
    assert code == 0, out + err
    assert (
        row["flat"]
        and row["iterations"] >= 60
        and set(row["held"]) == {"resident", "heap", "blocks", "threads"}
    )


@pytest.mark.parametrize(
    ("name", "slope", "flat"),
    [("heap", 0, True), ("heap", 100, False), ("blocks", 1, False), ("device_allocations", 0.01, False),
     ("device_free", -1, False), ("device_free", 0, True), ("threads", 0, True), ("resident", 10, True)],
)  # fmt: skip
def test_what_grows_is_not_flat(name, slope, flat):
    samples = 1e6 + slope * np.arange(1000.0)
    part = steps.summed_up(name, samples)
    assert part["flat"] == flat
    assert part["last_growth_at_step"] == (999 if slope else 0)


def test_growth_at_the_beginning_is_setup():
    early = np.where(np.arange(1000) < 10, 0.0, 1e9)
    assert steps.summed_up("heap", early)["flat"] and not steps.summed_up("device_allocations", early)["flat"]


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


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["steps", "--steps", "5"], "steps must be more than"),
        (["steps", "--engine", "model"], "--engine is host or cuda"),
        (["solution", "--ranks", "0"], "must be at least 1"),
        (["solution", "--petsc", "/nowhere/p"], "is no program"),
        (["petsc", "--rtol", "0"], "--rtol between 0 and 1"),
        (["compare", "/nowhere/a", "/nowhere/b"], "/nowhere/a"),
    ],
)
def test_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", *argv)
    assert code == 2 and sentence in err


PAGE = (Path(__file__).parents[2] / "docs" / "peers.md").read_text(encoding="utf-8")
SMALL = {
    "claims": ["--only", "odd", "--packages", "sordino"],
    "solution": ["--sizes", "5", "--repeats", "1", "--no-peers"],
    "steps": ["--steps", "30", "--size", "5"],
}


@pytest.mark.parametrize("line", re.findall(r"^sordino bench .*$", PAGE, flags=re.MULTILINE))
def test_what_the_page_tells_to_type(cli, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FOLDER").mkdir()
    words = shlex.split(line, comments=True)[1:]
    if "cuda" in words:
        words[words.index("cuda")] = "host"
    code, out, err = cli(*words, *SMALL[words[1]])
    assert code == 0, out + err
    assert ("--record" in words) == any(path.suffix == ".jsonl" for path in tmp_path.iterdir())


def test_the_figures_of_the_page_are_in_its_records():
    records = Path(__file__).parents[2] / "bench" / "records"
    for name in re.findall(r"`(2026[^`]*jsonl)`", PAGE):
        assert (records / name).is_file(), name
    lines = [json.loads(line) for line in (records / "2026-11-22_claims_host.jsonl").read_text().splitlines()]
    told_of = re.findall(r"^\| (\w+) `(\w+)` \| (.*) \|$", PAGE, flags=re.MULTILINE)
    assert len(told_of) == 6
    for package, method, words in told_of:
        mine = [
            r
            for r in lines
            if (r["package"], r["method"].upper()) == (package.lower(), method.removeprefix("KSP").upper())
        ]
        told = [int(word) for word in re.findall(r"\d+", words)[:3]]
        assert told == [sum(row[key] for row in mine) for key in ("claimed", "false", "false_in_own_norm")], (
            method
        )
