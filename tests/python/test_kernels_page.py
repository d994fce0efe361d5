"""What the pages say of kernels, tiles and peers is in the records that they name."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CELLS = 256 * 128 * 512


def _lines(name, bench):
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    return [line for line in map(json.loads, lines) if line["bench"] == bench]


def _table(page, head):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    (rows,) = re.findall(rf"^\| {re.escape(head)}.*\n\|[-|]+\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows.splitlines()]


def test_rooflines_of_the_paper_s_kernels():
    runs = {
        (line["solver"], line.get("tile")): line
        for line in _lines("2026-11-23_kernels_h200.jsonl", "kernels")
    }
    for label, *told in _table("theory/001.md", "kernel, one H200"):
        name, of, tile = re.fullmatch(r"`([\w ]+)`(.*?)(?:, (\d+ x \d+ x \d+))?", label).groups()
        shape = tile.replace(" x ", ",") if tile else "4,4,4"
        run = runs["cg", shape] if tile or "P-CG" in of else runs["cbcg", None]
        (kernel,) = (k for k in run["kernels"] if k["name"] == name)
        moved, done = kernel["bytes"] / CELLS, kernel["flops"] / CELLS
        part = kernel["roofline_s"] / kernel["seconds"]
        assert told == [f"{1e6 * kernel['seconds']:,.1f}", f"{moved:.1f}", f"{done:.1f}", f"{part:.2f}"], (
            label
        )


@pytest.mark.parametrize(
    ("record", "cells"), [("kernels_h200", "128 x 64 x 256"), ("tiles_h200", "256 x 128 x 512")]
)
def test_seconds_of_tiles_on_a_gpu(record, cells):
    runs = _lines(f"2026-11-23_{record}.jsonl", "tiles")
    table = _table("theory/001.md", f"tile, one H200, {cells}")
    assert len(table) == len(runs)
    for (label, _, *told), run in zip(table, runs, strict=True):
        said = " x ".join(map(str, run["tile"])) if "tile" in run else f"`{run['precond']}` instead"
        each = 1e3 * run["seconds"] / run["iterations"]
        assert [label, *told] == [said, f"{run['iterations']:,}", f"{each:.3f}", f"{run['seconds']:.3f}"]
    best = min(run["seconds"] for run in runs if "tile" in run)
    page = (ROOT / "docs" / "theory" / "001.md").read_text(encoding="utf-8")
    jacobi, scaled = (run["seconds"] for run in runs if "tile" not in run)
    assert (
        f"{best / jacobi:.2f} times Jacobi's time, and {best / scaled:.2f} times that of sqrt-jacobi" in page
    )


@pytest.mark.parametrize(
    ("size", "storage", "told"),
    [
        (256, "symdia", "take {ours:.1f} us at 256^3, {part:.2f} of the program's {limit:.1f}"),
        (256, "dia", "all diagonals with jacobi {ours:.1f}, {part:.2f} of it"),
        (64, "symdia", "they take {ours:.1f} and"),
        (64, "dia", "and {ours:.1f} us, the program {limit:.1f}"),
    ],
)
def test_iterations_beside_the_program(size, storage, told):
    runs = _lines("2026-11-23_kernels_h200.jsonl", "cg")
    (run,) = (run for run in runs if (run["size"], run["storage"]) == (size, storage))
    ours, limit = 1e6 * run["iteration_s"], 1e6 * run["limit_program_s"]
    page = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
    assert told.format(ours=ours, limit=limit, part=ours / limit) in page


def test_overlapping_methods_of_others_on_two_cores():
    runs = {line["ranks"]: line for line in _lines("2026-11-23_beside_petsc_2_cores.jsonl", "petsc")}
    table = _table("peers.md", "medians of 5 turns")
    for label, *told in table:
        package, _, method = label.partition(", ")
        way = method.strip("`").replace("cg`, ", "")
        parts = [
            run["petsc"][way] if package == "PETSc" else run[package.lower()]
            for _, run in sorted(runs.items())
        ]
        assert told == [f"{1e3 * part['iteration_s']['median']:.2f}" for part in parts], label
    ours, *others = ([float(cell) for cell in told] for _, *told in table)
    assert all(ours[i] <= min(other[i] for other in others) for i in range(2))
    page = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    ratios = [runs[ranks]["ratio"]["of_medians"] for ranks in (1, 2)]
    assert f"takes {ratios[0]:.2f} x and {ratios[1]:.2f} x the time of the best of them" in page
