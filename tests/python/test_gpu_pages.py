"""What the pages say of GPUs, of predictions for them, and of AmgX, is in the records that they name."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _lines(name):
    text = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def _by_diagonals() -> dict[tuple[int, str, str], dict]:
    lines = _lines("2026-11-23_bench_cg_h200.jsonl")
    return {
        (r["size"], r["precond"], r["storage"]): r
        for r in lines
        if r["bench"] == "cg"
        and r["commit"] == "8f83600"
        and r["solver"] == "cg"
        and r["precond"] != "block-ilu"
    }


def test_what_storage_gains_on_gpus_is_in_the_documentation():
    lines = [r for r in _lines("2026-11-22_storage_h200x4.jsonl") if r["commit"] == "b641a8b"]
    page = _page("choosing.md")
    for ranks, label in ((1, "1 GPU"), (4, "4 GPUs")):
        (told,) = (line for line in page.splitlines() if line.startswith(f"| {label} |"))
        for size, cell in zip((64, 128, 256), told.split("|")[2:5], strict=True):
            for storage, figure in zip(("csr", "dia", "symdia"), cell.split("/"), strict=True):
                found = [r for r in lines if (r["ranks"], r["size"], r["storage"]) == (ranks, size, storage)]
                assert (figure.strip() == "-") == (not found)
                assert not found or f"{1e6 * found[0]['iteration_s']:.1f}" == figure.strip()


def test_what_a_unit_diagonal_gains_on_a_gpu_is_in_the_documentation():
    measured = _by_diagonals()
    page = _page("choosing.md")

    def told(label):
        (line,) = (line for line in page.splitlines() if line.startswith(f"| {label} | "))
        return [cell.strip() for cell in line.split("|")[2:5]]

    for size, jacobi, scaled, program, cupy in zip(
        (64, 128, 256), *map(told, ("jacobi", "sqrt-jacobi", "the program", "CuPy, by rows")), strict=True
    ):
        for precond, cell in (("jacobi", jacobi), ("sqrt-jacobi", scaled)):
            seconds = [measured[size, precond, storage]["iteration_s"] for storage in ("dia", "symdia")]
            assert cell == " / ".join(f"{1e6 * x:.1f}" for x in seconds)
        one = measured[size, "jacobi", "dia"]
        assert program == f"{1e6 * one['limit_program_s']:.1f} / -"
        assert cupy == f"{1e6 * one['peers']['iteration_s']['cupyx']:,.1f}"


def test_predictions_by_diagonals_were_as_they_are_told():
    predicted = {
        (round(r["rows"] ** (1 / 3)), r["options"]["precond"], r["options"]["storage"]): r["iteration_s"]
        for r in _lines("2026-11-23_predictions_h200x2.jsonl")
        if r["ranks"] == 1
    }
    page = _page("predicting.md")
    ratios = []
    for key, line in _by_diagonals().items():
        assert f"{1e6 * predicted[key]:.1f} / {1e6 * line['iteration_s']:.1f}" in page, key
        ratios.append(predicted[key] / line["iteration_s"])
    assert f"{min(ratios):.2f} to {max(ratios):.2f}. The kernels of vectors" in page and len(ratios) == 12


def test_predictions_of_two_gpus_and_of_the_largest_grid_are_told_as_they_were():
    measured = [
        r
        for name in ("2026-11-23_bench_cg_cgcg_h200x2.jsonl", "2026-11-24_bench_cg_512_h200.jsonl")
        for r in _lines(name)
        if r["solver"] == "cg" and (r["ranks"] == 2 or r["size"] == 512)
    ]
    page = _page("predicting.md")
    assert len(measured) == 3
    for r in measured:
        key = (r["size"], r["ranks"], r["precond"], r["storage"])
        (predicted,) = (
            p["iteration_s"]
            for p in _lines("2026-11-23_predictions_h200x2.jsonl")
            if (round(p["rows"] ** (1 / 3)), p["ranks"], *p["options"].values()) == key
        )
        digits = ",.0f" if r["size"] == 512 else ".1f"
        shown = [f"{1e6 * seconds:{digits}}" for seconds in (predicted, r["iteration_s"])]
        words = [f"{key[0]}^3", str(key[1]), f"`{key[2]}`, `{key[3]}`", *shown]
        assert f"| {' | '.join(words)} | {predicted / r['iteration_s']:.2f} |" in page, key
    commands = sum(k["seconds"] / k["calls"] for k in measured[-1]["ledger"]["kernels"] if k["calls"] >= 20)
    assert f"add up to {1e6 * commands:,.0f} us, {predicted / commands:.2f} instead of" in page


def test_predictions_on_four_gpus_were_as_they_are_told():
    measured = {(r["size"], r["ranks"]): r["iteration_s"] for r in _lines("2026-11-22_bench_cg_h200x4.jsonl")}
    predicted = {
        (round(r["rows"] ** (1 / 3)), r["ranks"]): r["iteration_s"]
        for r in _lines("2026-11-22_predictions_h200x4.jsonl")
    }
    page = _page("predicting.md")
    ratios = []
    for key, seconds in measured.items():
        assert f"{1e6 * predicted[key]:.1f} / {1e6 * seconds:.1f}" in page, key
        ratios.append(predicted[key] / seconds)
    assert f"{min(ratios):.2f} to {max(ratios):.2f}" in page and len(ratios) == 8


def test_the_kernels_reach_what_is_told_of_the_roofline():
    page = _page("predicting.md")
    page = " ".join(page.split())
    lines = _lines("2026-11-23_kernels_h200.jsonl")
    reached: dict[str, list[float]] = {}
    for table in (line for line in lines if line["bench"] == "kernels"):
        for kernel in table["kernels"]:
            reached.setdefault(kernel["name"], []).append(kernel["roofline_s"] / kernel["seconds"])
    shown = ("SpMV", "Direction", "ResidualAlone", "Next", "Products", "Step", "Directions")
    parts = [part for name in shown for part in reached[name]]
    assert f"All but two reach {min(parts):.2f} to {max(parts):.2f} of it." in page
    tiles = reached["Block ILU"]
    assert f"`block-ilu` reaches {min(tiles):.2f} to {max(tiles):.2f}" in page
    (row,) = (r for r in lines if r["bench"] == "cg" and r["storage"] == "symdia" and r["size"] == 256)
    (product,) = (k for k in row["ledger"]["kernels"] if k["name"] == "SpMV")
    part = (product["flops"] / table["flops"] + product["bytes"] / row["bandwidth"]) / product["seconds"]
    told = f"(hollow: 256^3, `sqrt-jacobi`) {part:.2f} in that record, and took 171 us instead of "
    assert f"{told}{1e6 * product['seconds'] / product['calls']:.0f} when" in page
    (small,) = (r for r in _lines("2026-11-22_bench_cg_h200x4.jsonl") if (r["ranks"], r["size"]) == (1, 64))
    of_copy = [
        k["bytes"] / k["seconds"] / small["bandwidth"] for k in small["ledger"]["kernels"] if k["calls"] > 80
    ]
    assert (
        f"by rows reach {100 * min(of_copy):.0f} to {100 * max(of_copy):.0f} % of the" in page
        and len(of_copy) == 3
    )


def test_the_memory_of_cg_is_told_as_it_was_held():
    (largest,) = _lines("2026-11-24_bench_cg_512_h200.jsonl")
    vectors = largest["held_bytes"] / (8 * largest["rows"])
    page = _page("python.md")
    assert f"take {largest['held_bytes'] / 1e9:.1f} GB of an H200, {vectors:.1f} vectors' worth" in page


def test_times_beside_amgx_are_those_of_the_records():
    ours = [r for r in _lines("2026-11-23_bench_cg_cgcg_h200.jsonl") if r["commit"] == "3508aea"]
    ours += [r for r in _lines("2026-11-23_kernels_h200.jsonl") if r["bench"] == "cg" and r["size"] == 256]
    amgx = {r["size"]: r["iteration_s"] for r in _lines("2026-11-21_amgx_h200.jsonl")}
    (table,) = re.findall(
        r"^\| one H200 \| 64\^3 .*\n\|[-|]+\n((?:\|.*\n)+)", _page("peers.md"), flags=re.MULTILINE
    )
    first, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert first[1:] == [f"{1e6 * seconds:,.0f}" for seconds in amgx.values()]
    for label, *cells in rows:
        words = re.findall(r"`(\S+)`", label)
        for (size, theirs), cell in zip(amgx.items(), cells, strict=True):
            found = [
                r["iteration_s"]
                for r in ours
                if r["size"] == size and [r["solver"], r["precond"], r["storage"]] == words
            ]
            told = f"{1e6 * found[0]:.1f} ({theirs / found[0]:.1f})" if found else "-"
            assert cell == told, (label, size)
