"""What docs/multigrid.md says of setups from a grid's fields, against its record."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIELDS = "2026-11-27_multigrid_fields_h200x2.jsonl"
SLABS, RUNS = (f"2026-11-27_multigrid_fields_{name}_h100x4.jsonl" for name in ("slabs", "runs"))
SUITE = "2026-11-27_gpu_suite_slabs_h100x4.jsonl"


def page():
    return (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")


def rows_of(name):
    text = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def at(row):
    return row["given"], row["size"], row["contrast"], row["ranks"]


def of_fields():
    """The rows of the table of fields beside CSR."""
    for row in rows_of(FIELDS):
        assert row["status"] == "converged" and row["true_residual"] <= 1e-8
        figures = (1e3 * row[key] for key in ("setup_s", "setup_cpu_s", "first_solve_s", "solve_s"))
        given = {"fields": "fields on the GPU", "rows": "CSR of the CPU"}[row["given"]]
        yield (
            f"| {row['size']}^3, {row['ranks']} | {row['contrast']:,.0f} | {given} | {row['iterations']} | "
            f"{' | '.join(f'{figure:,.1f}' for figure in figures)} |"
        )


def test_fields_beside_csr():
    text, expected = page(), [*of_fields()]
    assert len(expected) == 12 and [line for line in text.splitlines() if line in expected] == expected
    assert FIELDS in text
    on_one = {at(row)[:3]: row["setup_s"] for row in rows_of(FIELDS) if row["ranks"] == 1}
    gains = [on_one["rows", 256, c] / on_one["fields", 256, c] for c in (1.0, 1000.0)]
    assert f"{min(gains):.0f} to {max(gains):.0f} times shorter at 256^3" in text
    (row,) = (row for row in rows_of(FIELDS) if at(row) == ("fields", 256, 1.0, 1))
    took = {name: f"{1e3 * seconds:.1f}" for name, _, seconds in row["phases"]}
    said = (
        f"levels took {took['coarsen the grid']} ms, the preconditioner's diagonals and bounds "
        f"{took['set up the preconditioner']}, recording and capture {took['record the method']}, "
        f"and the engine's start {took['start the engine']}"
    )
    assert said in text


def test_what_is_said_of_four_gpus():
    name = "2026-11-27_multigrid_fields_h200x4.jsonl"
    found = {at(row)[1:3]: row for row in rows_of(name)}
    one, other = (found[512, contrast] for contrast in (1.0, 1000.0))
    parts = [1e3 * row[key] for row in (one, other) for key in ("setup_s", "first_solve_s")]
    said = "512^3 on four takes {:.0f} + {:.1f} ms from fields, with a contrast of 1,000 {:.0f} + {:.1f}"
    assert said.format(*parts) in page() and name in page()


def of_several_gpus():
    """The rows of the table of one, two and four H100s, before halos were found by runs, and now."""
    before = {at(row): row["setup_s"] for row in rows_of(SLABS)}
    for row in sorted(rows_of(RUNS), key=lambda row: (row["ranks"], row["size"], row["contrast"])):
        assert row["status"] == "converged" and row["true_residual"] <= 1e-8
        then = f"{1e3 * before[at(row)]:.1f}" if at(row) in before else ""
        figures = (1e3 * row[key] for key in ("setup_s", "first_solve_s", "update_s"))
        yield (
            f"| {row['size']}^3, {row['ranks']} | {row['contrast']:,.0f} | {then} | "
            f"{' | '.join(f'{figure:.1f}' for figure in figures)} |"
        )


def of_four_gpus(name):
    """ms by phases of the shortest setup, by size and contrast."""
    return {
        at(row)[1:3]: {phase: 1e3 * seconds for phase, _, seconds in row["phases"]}
        for row in rows_of(name)
        if row["ranks"] == 4
    }


def test_setups_on_several_gpus():
    text, expected = page(), [*of_several_gpus()]
    assert len(expected) == 12 and [line for line in text.splitlines() if line in expected] == expected
    assert SLABS in text and RUNS in text
    then, all_now = of_four_gpus(SLABS)[512, 1.0], of_four_gpus(RUNS)
    now = all_now[512, 1.0]
    for phase, said in (
        ("rehearse", "rehearsals of what is recorded took {:.1f} ms, {:.1f} now"),
        ("store a level's transfers", "a level's transfers {:.1f}, {:.1f} now"),
    ):
        assert said.format(then[phase], now[phase]) in text
    start, memory = now["start the engine"], now["take device memory"]
    assert f"of {start + now['sordino: set up']:.1f} ms, {start:.1f} are the engine's start" in text
    assert f"{now['coarsen the grid']:.1f} levels, whose" in text and f"and {memory:.1f} memory" in text
    both = " and ".join(
        f"{1e3 * row['setup_s']:.1f} + {1e3 * row['first_solve_s']:.1f}"
        for row in rows_of(RUNS)
        if at(row)[1] == 512 and row["ranks"] == 4
    )
    assert f"it is {both} on H100s" in text
    odd, even = (all_now[256, contrast]["take device memory"] for contrast in (1000.0, 1.0))
    assert f"memory takes {odd:.1f} ms on four, with contrast 1 {even:.1f} in as many calls" in text


def test_what_1024_lacked():
    (said,) = (row["1024^3"] for row in rows_of(SUITE) if "1024^3" in row)
    lacked = int(said.split(" lacked ")[1].split(" ")[0].replace(",", ""))
    assert f"{1e-6 * lacked:.0f} MB were missing" in page() and SUITE in page()


def test_what_the_decision_says_of_memory():
    (adr,) = (ROOT / "docs" / "adr").glob("0057-*.md")
    calls = {
        name: [
            (count, seconds)
            for row in rows_of(name)
            if at(row)[1:] == (512, 1.0, 4)
            for phase, count, seconds in row["phases"]
            if phase == "take device memory"
        ]
        for name in (SLABS, RUNS)
    }
    ((then, _),), ((now, seconds),) = calls[SLABS], calls[RUNS]
    text = adr.read_text(encoding="utf-8")
    assert f"the ranks' {now} calls that are left take {1e3 * seconds:.1f} ms" in text
    assert f"they were {then} (" in text and SLABS in text and RUNS in text
