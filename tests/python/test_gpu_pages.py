"""What the pages say of GPUs, of predictions for them, and of AmgX, is in the records that they name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _lines(name):
    text = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def _table(page, head):
    """The rows below a line of heads that begins so, as cells."""
    (rows,) = re.findall(rf"^\| {re.escape(head)}.*\n\|[-|]+\n((?:\|.*\n)+)", _page(page), flags=re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows.splitlines()]


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


#: What `cg` is timed with by each storage.
PRECONDS = {"dia": "jacobi", "symdia": "sqrt-jacobi"}
ON_FOUR_H200 = "2026-11-26_bench_cg_h200x4.jsonl"
ODD_ROWS = "2026-11-26_bench_cg_odd_rows_h200x4.jsonl"


def _medians(name, solver="cg"):
    """Microseconds of an iteration by size, storage and GPUs."""
    return {
        (r["size"], r["storage"], r["ranks"]): 1e6 * r["iteration_s"]
        for r in _lines(name)
        if r["bench"] == "cg" and r["solver"] == solver and r["counts"] == "median"
    }


def _of_the_program(name):
    """Microseconds of an iteration of cg_limit by size and GPUs."""
    return {(r["size"], r["ranks"]): r["us_an_iteration"] for r in _lines(name) if r["bench"] == "cg_limit"}


def _predicted_with_a_cache():
    return {
        (round(r["rows"] ** (1 / 3)), r["options"]["storage"], r["ranks"]): 1e6 * r["iteration_s"]
        for r in _lines("2026-11-26_predictions_h100_h200.jsonl")
        if r["described_machine"] == "h200x4"
    }


def _cases():
    return [(size, storage) for size in (64, 128, 256) for storage in PRECONDS]


def test_two_h200_stand_beside_their_predictions():
    measured, predicted = _medians("2026-11-26_bench_cg_h200x2.jsonl"), _predicted_with_a_cache()
    ratios = []
    for size, storage in _cases():
        row = f"| {size}^3 | `{PRECONDS[storage]}`, `{storage}` |"
        for ranks in (1, 2):
            told, taken = predicted[size, storage, ranks], measured[size, storage, ranks]
            ratios.append(told / taken)
            row += f" {told:.1f} | {taken:.1f} | {ratios[-1]:.2f} |"
        assert row in _page("predicting.md")
    assert sum(abs(ratio - 1) <= 0.15 for ratio in ratios) == 10 and len(ratios) == 12 and max(ratios) < 1


def test_four_h200_stand_beside_their_predictions_and_the_program():
    measured, predicted = _medians(ON_FOUR_H200), _predicted_with_a_cache()
    program, off = _of_the_program(ON_FOUR_H200), {1: 0, 2: 0, 4: 0}
    table = _table("predicting.md", "grid | preconditioner, storage | 1 GPU | | 2 | | 4 | | `cg_limit`")
    for (grid, words, *told, limit), (size, storage) in zip(table, _cases(), strict=True):
        assert (grid, words) == (f"{size}^3", f"`{PRECONDS[storage]}`, `{storage}`")
        for ranks, *cells in zip(off, told[::2], told[1::2], strict=True):
            taken = measured[size, storage, ranks]
            ratio = predicted[size, storage, ranks] / taken
            assert cells == [f"{taken:.1f}", f"{ratio:.2f}"], (size, storage, ranks)
            off[ranks] += abs(ratio - 1) > 0.15
        assert float(limit) == pytest.approx(program[size, 4], abs=0.0501)
    assert off == {1: 0, 2: 0, 4: 3}
    assert "all of one and two GPUs are within 15 %" in _page("predicting.md")
    assert "On four three are not." in _page("predicting.md")


def test_what_is_told_beside_the_table_of_four_h200():
    page, predicted, before = _page("predicting.md"), _predicted_with_a_cache(), _medians(ODD_ROWS)
    program, one_sum = _of_the_program(ODD_ROWS), _medians(ON_FOUR_H200, "cgcg")
    large = {
        (r["storage"], r["ranks"]): 1e6 * r["iteration_s"]
        for r in _lines("2026-11-26_bench_cg_512_odd_rows_h200x4.jsonl")
    }
    cases = [("symdia", 1), ("symdia", 4), ("dia", 4)]
    one, four, full = (f"{large[case]:,.0f}" for case in cases)
    told = [f"{predicted[(512, *case)]:,.0f}" for case in cases]
    case = (128, "symdia", 2)
    for sentence in (
        f"before, `symdia` on two was at {predicted[case] / before[case]:.2f} at 128^3",
        f"{one} us on one and {four} on four by `symdia`, {full} on four by `dia`, of {told[0]}, {told[1]} and "
        f"{told[2]} predicted; `cg_limit` takes {program[512, 1]:,.0f} and {program[512, 4]:,.0f}.",
        f"{one_sum[64, 'symdia', 4]:.1f} us at 64^3 and {one_sum[128, 'symdia', 4]:.1f} at 128^3 by `symdia`, "
        f"{one_sum[64, 'dia', 4]:.1f} at 64^3 by `dia`.",
    ):
        assert sentence in page


def test_the_commands_of_cg_on_four_h200_take_what_is_told():
    (run,) = (
        r
        for r in _lines(ON_FOUR_H200)
        if [r.get(key) for key in ("solver", "size", "storage", "ranks")] == ["cg", 256, "symdia", 4]
    )
    commands = sum(1e6 * k["seconds"] / k["calls"] for k in run["ledger"]["kernels"] if k["calls"] > 100)
    traced = [
        sum(r[f"{name}_us"] for name in ("direction", "spmv", "residual"))
        for r in _traced(256, "at multiples of 32")
    ]
    told = f"add up to {commands:.1f} us, and the slowest of traced solves to {max(traced):.0f};"
    assert f"by `symdia` the commands of one rank {told}" in _page("predicting.md")


def _traced(size, begin, devices="0,1,2,3"):
    """Of a traced solve by `symdia`: a line for each rank."""
    return [
        r
        for r in _lines("2026-11-26_aligned_rows_h200x4.jsonl")
        if (r["size"], r["storage"], r["devices"]) == (size, "symdia", devices)
        and r["blocks_begin"].startswith(begin)
    ]


ADR_49 = "adr/0049-large-blocks-begin-at-whole-warps.md"


def test_the_decision_on_aligned_rows_has_the_traced_solves():
    ways = [(size, begin) for size in (256, 208) for begin in ("at any row", "at multiples of 32")]
    for (label, *told), (size, begin) in zip(_table(ADR_49, "| rank 0 | 1 | 2 | 3"), ways, strict=True):
        assert label.endswith(begin) and (f"{size}^3" in label) == (begin == "at any row")
        assert told == [f"{r['direction_us']:.1f}" for r in _traced(size, begin)], label
    first = _traced(256, "at any row")
    waits = sorted(r["wait_for_wp_us"] for r in first)
    iteration = _medians(ODD_ROWS)[256, "symdia", 4]
    assert f"{waits[-1] - waits[0]:.0f} us of an iteration of {iteration:.0f} at 256^3" in _page(ADR_49)
    for devices in ("1,0,3,2", "0,2,1,3"):  # which GPU a rank has makes no difference
        for one, other in zip(first, _traced(256, "at any row", devices), strict=True):
            assert one["direction_us"] == pytest.approx(other["direction_us"], abs=0.4)


def test_blocks_that_stand_aside_made_no_difference():
    """As decision 49 says: none, half or twice as many, for twice or three times as long."""
    lines = [r for r in _lines("2026-11-26_dealing_stamps_h200x4.jsonl") if r["ranks"] == 4]
    for size in (64, 128, 208, 256):
        taken = {(r["aside"], r["in_flight_kib"]): r["iteration_us"] for r in lines if r["size"] == size}
        asked = {(0.0, 192), (1.0, 192), (2.0, 192), (3.0, 192), (100.0, 96), (100.0, 192), (100.0, 384)}
        assert set(taken) == asked
        assert max(taken.values()) < 1.03 * min(taken.values()), size


def test_short_commands_reach_what_is_told_of_the_bandwidth():
    (small,) = (r for r in _lines("2026-11-22_bench_cg_h200x4.jsonl") if (r["ranks"], r["size"]) == (1, 64))
    of_copy = [
        k["bytes"] / k["seconds"] / small["bandwidth"] for k in small["ledger"]["kernels"] if k["calls"] > 80
    ]
    told = f"by rows reach {100 * min(of_copy):.0f} to {100 * max(of_copy):.0f} % of the bandwidth of a copy"
    assert told in _page("predicting.md") and len(of_copy) == 3


def test_the_memory_of_cg_is_told_as_it_was_held():
    (largest,) = _lines("2026-11-24_bench_cg_512_h200.jsonl")
    vectors = largest["held_bytes"] / (8 * largest["rows"])
    page = _page("python.md")
    assert f"take {largest['held_bytes'] / 1e9:.1f} GB of an H200, {vectors:.1f} vectors' worth" in page


def _of_limits():
    """Name and lines of the record that docs/limits.md is made of."""
    name, *_ = re.findall(r"`bench/records/(\S+bench_cg\S+\.jsonl)`", _page("limits.md"))
    return name, [r for r in _lines(name) if r["bench"] == "cg" and r["counts"] == "median"]


def test_times_beside_amgx_are_those_of_limits():
    name, ours = _of_limits()
    amgx = {r["size"]: r["iteration_s"] for r in _lines("2026-11-21_amgx_h200.jsonl")}
    assert f"are those of [limits](limits.md), one run of all sizes\n(`{name}`)" in _page("peers.md")
    first, *rows = _table("peers.md", "one H200 | 64^3 ")
    assert first[1:] == [f"{1e6 * seconds:,.0f}" for seconds in amgx.values()]
    for label, *cells in rows:
        words = re.findall(r"`(\S+)`", label)
        for (size, theirs), cell in zip(amgx.items(), cells, strict=True):
            (found,) = (
                r["iteration_s"]
                for r in ours
                if (r["size"], r["ranks"]) == (size, 1) and [r["solver"], r["precond"], r["storage"]] == words
            )
            assert cell == f"{1e6 * found:.1f} ({theirs / found:.2f})", (label, size)


def test_choosing_says_of_cgcg_what_limits_does():
    us = {
        (r["size"], r["solver"]): f"{1e6 * r['iteration_s']:.1f}"
        for r in _of_limits()[1]
        if (r["ranks"], r["storage"]) == (1, "symdia")
    }
    told = f"takes {us[64, 'cgcg']} us at 64^3, and one of `cg` {us[64, 'cg']}"
    told += "".join(f"; at {n}^3 {us[n, 'cgcg']} and {us[n, 'cg']}" for n in (128, 256))
    assert told in _page("choosing.md")


def test_constant_coefficients_on_a_gpu_are_told_as_measured():
    runs = {
        (r["storage"], r["size"]): r
        for r in _lines("2026-11-26_bench_cg_constant_stencils_h200.jsonl")
        if (r["solver"], r["precond"], r["ranks"], r["counts"]) == ("cg", "jacobi", 1, "median")
    }
    for label, moved, *cells in _table("choosing.md", "kept | B a row | 64^3"):
        of = [runs[label.strip("`"), size] for size in (64, 128, 256)]
        (product,) = (k for k in of[-1]["ledger"]["kernels"] if k["name"] == "SpMV")
        assert moved == f"{product['bytes'] / product['calls'] / of[-1]['rows']:.0f}"
        assert cells == [f"{1e6 * r['iteration_s']:.1f} ({1e6 * r['spmv_s']:.1f})" for r in of], label
    large = runs["constant", 256]
    took, floor = 1e6 * large["spmv_s"], 1e6 * large["spmv_floor_s"]
    assert f"takes {took:.1f} us for bytes that take {floor:.1f}" in _page("choosing.md")
    adr = " ".join(_page("adr/0032-rows-that-are-alike-are-kept-once.md").split())

    def listed(storage, key):
        least, middle, most = (f"{1e6 * runs[storage, size][key]:.1f}" for size in (64, 128, 256))
        return f"{least}, {middle} and {most}"

    assert f"takes {listed('constant', 'spmv_s')} us at 64^3, 128^3 and 256^3" in adr
    assert f"its bytes take {listed('constant', 'spmv_floor_s')}, and" in adr
    assert f"by symmetric diagonals {listed('symdia', 'spmv_s')}:" in adr
    ratios = [runs["constant", n]["spmv_s"] / runs["symdia", n]["spmv_s"] for n in (128, 256)]
    assert ratios == [pytest.approx(0.54, abs=0.02), pytest.approx(0.78, abs=0.02)]  # half, a fifth less
    before = {
        r["size"]: r for r in _lines("2026-11-26_bench_cg_constant_h200.jsonl") if r["storage"] == "constant"
    }
    assert (
        "{:.1f} and {:.1f} us at 128^3 and 256^3 with `dia`'s".format(
            *(1e6 * before[n]["spmv_s"] for n in (128, 256))
        )
        in adr
    )


def test_27_points_and_boxes_on_gpus_are_told_as_measured():
    rows = _lines("2026-11-26_bench_cg_27_h200.jsonl")
    of = {(r["storage"], r["size"]): r for r in rows if r["precond"] == "jacobi"}

    def us(key, size, name):
        return f"{1e6 * of[key, size][name]:,.1f}"

    page = _page("adr/0023-stencils-are-stored-by-diagonals.md")
    assert (
        f"of 128^3 takes {us('dia', 128, 'spmv_s')} us by diagonals and {us('symdia', 128, 'spmv_s')} by"
        in page
    )
    assert f"of 256^3 {us('dia', 256, 'spmv_s')} and {us('symdia', 256, 'spmv_s')}, which" in page
    parts = [of[key, 256]["spmv_s"] / of[key, 256]["spmv_floor_s"] for key in ("dia", "symdia")]
    assert "are {:.2f} and {:.2f} times what the bytes".format(*parts) in page
    peers = of["dia", 256]["peers"]
    assert (
        f"{1e6 * of['dia', 128]['peers']['spmv_s']['cusparse']:,.1f} and {1e6 * peers['spmv_s']['cusparse']:,.1f}."
        in page
    )
    told = (
        f"takes {us('dia', 256, 'iteration_s')} and {us('symdia', 256, 'iteration_s')} us at 256^3, CuPy's "
    )
    assert f"{told}{1e6 * peers['iteration_s']['cupyx']:,.1f}." in page
    times = [f"{1e6 * r['iteration_s']:.1f}" for r in _lines("2026-11-26_boxes_h200x4.jsonl")]
    page = _page("adr/0035-boxes-keep-the-diagonals-of-the-grid.md")
    assert "slabs {}, boxes of 1 x 2 x 2 {}; with 27 points {} and {}.".format(*times) in page


def test_incomplete_factors_take_what_choosing_says():
    name = "2026-11-27_incomplete_h200.jsonl"
    of_ilu0, of_ic0, spsv = _lines(name)
    assert (of_ilu0["kind"], of_ic0["kind"]) == ("ilu0", "ic0")
    assert of_ilu0["n"] == of_ic0["n"] == spsv["n"] == 128**3
    assert f"{of_ilu0['ms']:.3f}" == f"{of_ic0['ms']:.3f}"
    assert all(0.9 < row["setup_seconds"] < 1.2 for row in (of_ilu0, of_ic0))
    page = _page("choosing.md")
    assert f"of 7 points and 128^3 cells it takes {of_ilu0['ms']:.3f} ms on an H200, both ways" in page
    assert (
        f"SpSV takes {1e3 * spsv['seconds']:.3f} for the way forward alone (`bench/records/{name}`)" in page
    )
