"""What the decisions on cbcg and block-ilu say of trials and of their commands is in the records that they name."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _lines(name, bench):
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    return [line for line in map(json.loads, lines) if line["bench"] == bench]


def test_trials_of_steps_and_products_of_cbcg_are_told_as_recorded():
    text = (ROOT / "docs" / "adr" / "0028-wide-reductions-travel-together.md").read_text(encoding="utf-8")
    rows = _lines("2026-11-26_cbcg_trials_h200.jsonl", "cbcg trials")
    us = {
        (r["way"], r["at_once"], r["resident_blocks"]): f"{1e6 * r['seconds']:,.0f}"
        for r in rows
        if r["what"] == "Step"
    }
    branch = [us["a branch before each load", 1, blocks] for blocks in (4, 3)]
    assert "took {} us with four blocks a multiprocessor and {} with three".format(*branch) in text
    several = [us["loads at once", k, 3] for k in (4, 2, 6)] + [us["two rows a thread", 2, 3]]
    assert "four loads at once {}, with two {}, with six {}, two rows a thread {} (".format(*several) in text
    (first,) = (r["seconds"] for r in rows if r.get("batch") == 1024)
    assert f"took\n{1e3 * first:.2f} ms for the products alone" in text


def test_what_tiles_that_return_sums_take_is_told_as_recorded():
    name = "0029-a-tile-is-factorized-by-diagonals-and-solved-by-one-thread.md"
    text = (ROOT / "docs" / "adr" / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.match(r"\| (\d+ x|64\^3).*\| (free|fixed) \|", line)]
    rows = _lines("2026-11-26_block_ilu_sums_h200.jsonl", "block-ilu sums")
    assert len(lines) == 9
    for line in lines:
        case, order, *told = (cell.strip() for cell in line.strip("|").split("|"))
        cells, tile = case.replace("64^3", "64 x 64 x 64").split(", ")
        of = {
            r["way"]: r
            for r in rows
            if (r["cells"], r["tile"], r["order"])
            == ([int(n) for n in cells.split(" x ")], [int(n) for n in tile.split(" x ")], order)
        }
        for said, row in zip(
            told, (of[way] for way in ("three sums", "two, by a command", "two, returned")), strict=True
        ):
            shown, *commands = (float(n.replace(",", "")) for n in re.findall(r"[\d.,]+", said))
            assert shown == pytest.approx(1e6 * row["iteration_s"], abs=0.51), line
            took = [1e6 * row["kernels"][k]["seconds"] for k in ("Block ILU", "Dots") if k in row["kernels"]]
            assert commands == pytest.approx(took, abs=0.51), line


def test_what_a_round_of_cbcg_is_made_of_is_told_as_recorded():
    text = (ROOT / "docs" / "adr" / "0028-wide-reductions-travel-together.md").read_text(encoding="utf-8")
    (row,) = (
        r
        for r in _lines("2026-11-26_bench_cg_stencils_h200x4.jsonl", "cg")
        if (r["solver"], r["ranks"]) == ("cbcg", 4)
    )
    of = {k["name"]: k for k in row["ledger"]["kernels"] if k["calls"]}
    rounds = of["Products"]["calls"]

    def each(*names):
        return sum(1e6 * of[name]["seconds"] / of[name]["calls"] for name in names)

    def all_of(name):
        return 1e6 * of[name]["seconds"] / rounds

    tables = each("Products", "Upper products", "Directions")
    assert f"on four, {12e6 * row['iteration_s']:.0f} us, are products with A {all_of('SpMV'):.0f},\n" in text
    assert f"the basis {all_of('Next'):.0f}, the factorization in one thread {each('Factor'):.0f}, " in text
    assert f"add up batches {all_of('Add batches'):.0f} and keep sums {all_of('Keep'):.0f}, " in text
    assert f"directions {tables:.0f}, the solve {each('Solve'):.0f}, the step {each('Step'):.0f}, " in text


def test_where_cbcg_does_not_pay_is_told_beside_the_methods():
    page = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
    us = {
        (r["solver"], r["ranks"]): f"{1e6 * r['iteration_s']:.1f}"
        for r in _lines("2026-11-26_bench_cg_stencils_h200x4.jsonl", "cg")
        if (r["size"], r["stencil"], r["storage"]) == (64, 7, "dia")
    }
    for solver, told in (
        ("cbcg", "it takes {}, {} and {} us an iteration"),
        ("cg", "and `cg` {}, {} and {}, for"),
    ):
        assert told.format(*(us[solver, ranks] for ranks in (1, 2, 4))) in page


def test_what_was_tried_for_looks_at_residuals_is_told_as_recorded():
    page = " ".join((ROOT / "docs" / "theory" / "001.md").read_text(encoding="utf-8").split())
    rows = _lines("2026-11-26_looks_h100.jsonl", "looks")
    part = {
        (r["kernel"][:5], r["way"].split(" r")[0], r["rows_at_once"]): f"{r['of_roofline']:.2f}" for r in rows
    }
    assert len(part) == len(rows) == 18

    def of(way, at_once):
        return tuple(part[kernel, way, at_once] for kernel in ("Norms", "Resid"))

    assert "the loops as they are reach {} and {}:".format(*of("divided", 1)) in page
    assert "a reciprocal that is multiplied by ({} and {}, for".format(*of("times a", 1)) in page
    assert "two steps of Newton ({} and {})".format(*of("times an approximate", 1)) in page
    two, four = of("divided", 2), of("divided", 4)
    assert f"two and four rows at once ({two[0]} and {four[0]}; {two[1]} and {four[1]})" in page
