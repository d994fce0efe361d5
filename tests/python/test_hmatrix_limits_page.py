"""docs/hmatrix_limits.md has the figures of its records, and says of each whether it meets what was asked."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "hmatrix_limits.md"
#: GB/s at which an H200 reads (2026-11-23_panels_alone_h200), and core-seconds that HACApK takes for a stored value.
READ, HACAPK = 4547e9, 4.8e-7
SMALL, LARGE = 101_250, 1_004_400

#: Which record a figure is from: newer ones go here, and running this file prints the table.
ONE_GPU = "2026-11-26_hmatrix_vectors_h200x4"
NEWEST = "2026-11-26_hmatrix_trees_h200x4"  # of 1,004,400 triangles
FOUR_SMALL = "2026-11-26_hmatrix_h200x4"
FOUR_LARGE = "2026-11-26_hmatrix_vectors_h200x4"
PROGRAM, BESIDE_PROGRAM = "2026-11-24_hmatvec_limit_h200", "2026-11-24_hmatrix_build_h200"
PAPER_WAYS = "2026-11-23_hmatrix_paper_ways_h200"
BUILT_BY_ONE = "2026-11-26_hmatrix_staged_h200x2"
BUILT_BY_FOUR = "2026-11-26_hmatrix_vectors_h200x4"
ON_HOST = "2026-11-23_hmatrix_by_pieces_2_cores"
MEMORY_ON_HOST = "2026-11-25_hmatrix_build_memory_2_cores"
BY_ITSELF = "2026-11-26_hmatrix_build_h100x2"


def rows(record):
    text = (ROOT / "bench" / "records" / f"{record}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def row(record, n, ranks=1, **wanted):
    """Of bicgstab on distributed vectors with scalars on the device, as it is if nobody says otherwise."""
    usual = {"solver": "bicgstab", "vectors": "auto", "gather": "rank", "scalars": "device", "way": "aca+"}
    wanted = {**usual, "n": n, "ranks": ranks, **wanted}
    found = [r for r in rows(record) if all(r.get(key, value) == value for key, value in wanted.items())
             and "iteration_seconds" in r]  # fmt: skip
    assert len(found) == 1, (record, n, ranks, len(found))
    return found[0]


def part_of_reading(found):
    return found["stored_bytes"] / found["product_seconds"] / READ


def over_the_program(n):
    (alone,) = (r["product_ms"] for r in rows(PROGRAM) if r["n"] == n)
    return 1e3 * row(BESIDE_PROGRAM, n)["product_seconds"] / alone


def over_the_papers_best(n):
    ways = [r for r in rows(PAPER_WAYS) if r["n"] == n]
    ours = next(r["product_seconds"] for r in ways if "product_seconds" in r)
    return min(r["seconds"] for r in ways if str(r["way"]).startswith("variable") and r.get("seconds")) / ours


def four_over_one(record, n):
    one, four = (row(record, n, ranks)["iteration_seconds"] for ranks in (1, 4))
    return one / four


def most_exposed():
    """Of an iteration on four GPUs, with any method and layout of vectors."""
    return max(
        r["products"] * r["exposed_halo_s"] / r["iteration_seconds"]
        for r in rows(FOUR_LARGE)
        if r.get("ranks") == 4 and r.get("n") == LARGE and "iteration_seconds" in r
    )


def builds(record, n, gpus):
    """Medians of runs: a command builds once for all of its rows."""
    return sorted({r["seconds"] for r in rows(record) if r.get("n") == n and r.get("build_gpus") == gpus})


def peak(record, n, **wanted):
    (found,) = {
        r["build_peak_bytes"] / r["stored_bytes"]
        for r in rows(record)
        if r.get("n") == n and "build_peak_bytes" in r and all(r.get(k) == v for k, v in wanted.items())
    }
    return found


def table():
    """What was asked, of which kind and how much, the figure, its digits, and its record."""
    small, large, four = row(ONE_GPU, SMALL), row(NEWEST, LARGE), row(NEWEST, LARGE, 4)
    on_host = next(r for r in rows(ON_HOST) if r["n"] == 10_400 and r["eps"] == 1e-6 and r["way"] == "aca+")
    by_four = max(
        r["build_peak_bytes"] / r["stored_bytes"]
        for r in rows(BUILT_BY_FOUR)
        if r.get("n") == LARGE and r.get("build_gpus") == 4
    )
    most, least, memory_on_host = "at most", "at least", peak(MEMORY_ON_HOST, 10_400)
    by_itself = peak(BY_ITSELF, SMALL, build_gpus=1)
    over_hacapk = "build on two threads of a host, 10,400, core time a value over HACApK's"
    return [
        ("product, 101,250 triangles, ms", most, 0.60, 1e3 * small["product_seconds"], 3, ONE_GPU),
        ("the same, of 4,547 GB/s", least, 0.80, part_of_reading(small), 4, ONE_GPU),
        ("product, 1,004,400 triangles, ms", most, 7.7, 1e3 * large["product_seconds"], 3, NEWEST),
        ("the same, of 4,547 GB/s", least, 0.80, part_of_reading(large), 4, NEWEST),
        ("product over a program of warps, 101,250", most, 0.72, over_the_program(SMALL), 2, PROGRAM),
        ("product over a program of warps, 1,004,400", most, 0.72, over_the_program(LARGE), 2, PROGRAM),
        ("times as fast as the paper's best way, 101,250", least, 2, over_the_papers_best(SMALL), 2, PAPER_WAYS),
        ("iteration of `bicgstab`, 101,250, ms", most, 1.5, 1e3 * small["iteration_seconds"], 2, ONE_GPU),
        ("iteration of `bicgstab`, 1,004,400, ms", most, 17, 1e3 * large["iteration_seconds"], 2, NEWEST),
        ("iteration on one GPU over four, 101,250", least, 2.5, four_over_one(FOUR_SMALL, SMALL), 2, FOUR_SMALL),
        ("iteration on one GPU over four, 1,004,400", least, 3.4, four_over_one(FOUR_LARGE, LARGE), 2, FOUR_LARGE),
        ("exchange that shows, of an iteration on four, 1,004,400", most, 0.08, most_exposed(), 3, FOUR_LARGE),
        ("build on one GPU, 1,004,400, s", most, 4, row(BUILT_BY_ONE, LARGE)["seconds"], 2, BUILT_BY_ONE),
        ("build on four, 1,004,400, s", most, 1.3, four["seconds"], 3, NEWEST),
        (over_hacapk, most, 1.3, on_host["core_seconds_a_value"] / HACAPK, 2, ON_HOST),
        ("memory of a build over what it stores: host, 10,400", most, 1.25, memory_on_host, 2, MEMORY_ON_HOST),
        ("one GPU, 1,004,400", most, 1.25, peak(BUILT_BY_ONE, LARGE, ranks=1), 2, BUILT_BY_ONE),
        ("four GPUs, 1,004,400", most, 1.25, by_four, 2, BUILT_BY_FOUR),
        ("as many GPUs as it takes by itself, one (an H100), 101,250", most, 1.25, by_itself, 2, BY_ITSELF),
        ("four GPUs that are named, 101,250", most, 1.25, peak(BUILT_BY_FOUR, SMALL, build_gpus=4), 2, BUILT_BY_FOUR),
    ]  # fmt: skip


def lines():
    for what, bound, asked, found, digits, record in table():
        met = found <= asked if bound == "at most" else found >= asked
        yield f"| {what} | {bound} {asked:g} | {found:.{digits}f} | {'met' if met else 'missed'} | `{record}` |"


def text():
    return PAGE.read_text(encoding="utf-8")


def test_the_table_is_that_of_the_records():
    expected = [*lines()]
    assert [line for line in text().splitlines() if line.endswith("` |")] == expected
    told = sum("| missed |" in line for line in expected)
    assert f"{len(expected) - told} of {len(expected)} are met" in text()


def test_what_other_runs_say_of_the_large_product():
    page, here = text(), row(ONE_GPU, LARGE)
    assert f"in one it took {1e3 * here['product_seconds']:.2f}, {part_of_reading(here):.4f}" in page
    others = ("2026-11-23_hmatrix_h200", "2026-11-24_hmatrix_build_h200", "2026-11-26_hmatrix_h200x4",
              "2026-11-26_hmatrix_staged_h200x2", NEWEST)  # fmt: skip
    runs = [row(record, LARGE) for record in others]
    times, parts = (sorted(1e3 * r["product_seconds"] for r in runs), sorted(map(part_of_reading, runs)))
    assert (
        f"In five runs of six it took {times[0]:.2f} to {times[-1]:.2f} ms, {parts[0]:.3f} to {parts[-1]:.3f}"
        in page
    )
    assert all(f"`{record}`" in page for record in others)
    alone = [r for r in rows("2026-11-23_panels_alone_h200") if r["program"] == "panels" and r["n"] == LARGE]
    assert f"reads at {max(r['of_4547'] for r in alone):.2f}" in page


def test_what_a_build_on_four_takes():
    page, times = text(), builds(BUILT_BY_FOUR, LARGE, 4)
    middle = statistics.median(times)
    newest, solvers = (
        row(NEWEST, LARGE, 4)["seconds"],
        row("2026-11-26_hmatrix_solvers_h200x4", LARGE, 4)["seconds"],
    )
    whole = row("2026-11-26_hmatrix_whole_h200x4", LARGE, 4)["seconds"]
    assert (
        f"misses it by {newest - 1.3:.2f} s; two other runs of that day took {whole:.2f} and {solvers:.2f}"
        in page
    )
    assert f"it took {times[0]:.2f} to {times[-1]:.2f}, {middle:.3f} in the middle of five runs" in page
    phases = next(r["phases"] for r in rows(BUILT_BY_FOUR) if r.get("seconds") == middle and "phases" in r)
    told = ("leaves", "waiting", "fetching", "trees", "devices", "probes")
    assert (
        "{:.2f} s are leaves, in which threads wait for GPUs for {:.2f} and fetch values for {:.2f}; trees take "
        "{:.2f}, GPUs' memory and tables {:.2f}, and rows that are compared {:.2f}"
    ).format(*(phases[name] for name in told)) in page
    before = row("2026-11-26_hmatrix_h200x4", LARGE, 4)["seconds"]
    (staged,) = (r["seconds"] for r in rows("2026-11-26_hmatrix_build_h200x4"))
    assert f"from {before:.2f} s to {staged:.2f}" in page
    trees = row("2026-11-26_hmatrix_trees_h200x4", LARGE, 4)
    here = trees["phases"]
    assert f"take {here['trees']:.2f} s, as on 64 cores" in page
    assert f"left {here['probes']:.2f} s at the end" in page and f"{trees['seconds']:.2f} in all" in page
    assert f"leaves took {here['leaves']:.2f} instead of 1.04" in page
    ahead, behind = (
        statistics.median(
            r["seconds"]
            for r in rows("2026-11-26_hmatrix_ahead_h200")
            if r["ahead"] == is_ahead and not r["first"]
        )
        for is_ahead in (True, False)
    )
    assert f"saves {behind - ahead:.1f} of {behind:.1f} s with 64 rows" in page
    one, two = (row(BY_ITSELF, LARGE, gpus)["seconds"] for gpus in (1, 2))
    assert f"H100s take {one:.2f} s, one alone, and two {two:.2f}" in page


def test_what_memory_small_matrices_take_on_many_gpus():
    page = text()
    found = next(r for r in rows(BUILT_BY_FOUR) if r.get("n") == SMALL and "build_peak_bytes" in r)
    more = 1e-9 * (found["build_peak_bytes"] - found["stored_bytes"])
    assert f"{more:.2f} GB more than the {1e-9 * found['stored_bytes']:.2f} that are stored" in page
    before = peak("2026-11-26_hmatrix_h200x4", SMALL, ranks=1)
    assert f"it was {before:.2f} times" in page
    one, two = (peak(BY_ITSELF, SMALL, build_gpus=gpus) for gpus in (1, 2))
    assert f"one takes {one:.2f} times what it stores, and two {two:.2f}" in page
    saved = 1e-9 * 3 * 24 * 2 * 2**20  # the buffers of three of four GPUs
    shared = 1 + (more - saved) / (1e-9 * found["stored_bytes"])
    assert f"{saved:.2f} GB less, {shared:.2f} times in all" in page


def over_a_gigabyte(n):
    (alone,) = (r for r in rows(PROGRAM) if r["n"] == n)
    return over_the_program(n) * alone["stored_gigabytes"] / (1e-9 * row(BESIDE_PROGRAM, n)["stored_bytes"])


def test_what_is_said_beside_the_table():
    page = text()
    small_one, large_one = (over_a_gigabyte(n) for n in (SMALL, LARGE))
    assert f"for each GB it takes {small_one:.2f} and {large_one:.2f} of the program's time" in page
    assert f"{row(ONE_GPU, LARGE)['stored_bytes'] / 8e9:.2f} billion values" in page
    thin = [
        r["seconds"]
        for r in rows("2026-11-26_hmatrix_thin_2_cores")
        if r.get("seconds") and r["way"] == "aca+"
    ]
    assert f"takes {100 * (thin[1] / thin[0] - 1):.0f} % longer since" in page
    exact = peak(MEMORY_ON_HOST, 21_600)
    assert f"21,600 triangles {exact:.2f} times" in page
    assert f"The sphere of 10,400 triangles is {over_the_papers_best(10_400):.2f} times as fast" in page
    small = row("2026-11-23_hmatrix_h200", 10_400)
    assert f"reads at {part_of_reading(small):.2f} of the bandwidth" in page
    (four,) = rows("2026-11-27_hmatrix_build_h100x4")
    phases = four["phases"]
    said = f"four {four['seconds']:.2f}, of which threads wait for GPUs for {phases['waiting']:.2f} "
    said += f"and fetch values for {phases['fetching']:.2f} (`2026-11-27_hmatrix_build_h100x4`)"
    assert said in page
    on_figure = rows("2026-11-26_hmatrix_paper_ways_hum2_h100")
    best = min(r["seconds"] for r in on_figure if str(r["way"]).startswith("variable"))
    assert f"{best / on_figure[0]['product_seconds']:.2f} on an H100" in page


if __name__ == "__main__":
    print(*lines(), sep="\n")
