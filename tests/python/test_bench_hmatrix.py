"""``sordino bench hmatrix``: what it measures is what the matrices say, and its record names no folder."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino.bench import _hmatrix_runs
from sordino.bench import hmatrix as bench
from sordino.io import OutputFile, write_bem_bb
from sordino.surfaces import sphere


def test_it_measures_each_surface_tolerance_and_way(cli, tmp_path):
    path, record = tmp_path / "ball.pbf", tmp_path / "found.jsonl"
    write_bem_bb(OutputFile(path), sphere(5, 4))
    code, out, err = cli(
        "bench", "hmatrix", path, "sphere:5,6", "--eps", "1e-3,1e-6", "--ways", "aca+,hacapk aca", "--repeats", 1,
        "--threads", 2, "--record", record, "--commit", "abc",
    )  # fmt: skip
    assert (code, err) == (0, "") and "H-matrices, 2 threads" in out and "hacapk aca" in out
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(row["n"], row["eps"], row["way"]) for row in rows] == [
        (n, eps, way) for n in (160, 360) for eps in (1e-3, 1e-6) for way in ("aca+", "hacapk aca")
    ]
    assert not any(str(tmp_path) in line for line in record.read_text().splitlines())
    for row in rows:
        H = sordino.hmatrix(sphere(5, 4 if row["n"] == 160 else 6), row["eps"], **bench.WAYS[row["way"]])
        for name in ("clusters", "low_rank_blocks", "dense_blocks", "nodes", "stored_bytes", "mean_rank"):
            assert row[name] == H.statistics[name]
        assert (
            sorted(row["phases"]) == sorted(H.statistics["phases"])
            and row["phases"]["leaves"] < row["seconds"]
        )
        assert row["first_seconds"] == row["seconds"] == row["seconds_best"] and row["build_gpus"] is None
        seconds = row["seconds"] * 2 / (row["stored_bytes"] / 8)
        assert row["core_seconds_a_value"] == pytest.approx(seconds)
        assert row["product_bytes_a_second"] * row["product_seconds"] == pytest.approx(row["stored_bytes"])
        assert row["build_peak_bytes"] is None or row["build_peak_bytes"] >= 0
        assert min(row["product_of_8_seconds"], row["transposed_product_seconds"]) > 0


@pytest.mark.parametrize("surface", ["sphere:13,20", "pair:6,20"])
def test_a_build_takes_what_is_stored_and_little_more(shell, surface):
    """In a process of its own, on the host, of two threads; a quarter is what it may take."""
    argv = ("--eps", "1e-6", "--ways", "aca+", "--repeats", 1, "--threads", 2, "--json")
    done = shell("bench", "hmatrix", surface, *argv)
    (row,) = json.loads(done.stdout)["measured"]
    if row["build_peak_bytes"] is None:
        pytest.skip("this system does not tell the peak of resident memory")
    assert 1.0 < row["build_peak_bytes"] / row["stored_bytes"] < 1.15


def test_it_prints_json(cli):
    code, out, _ = cli("bench", "hmatrix", "sphere:5,4", "--ways", "full", "--repeats", 1, "--json")
    (row,) = json.loads(out)["measured"]
    assert code == 0 and row["way"] == "full" and row["compression_error"] <= 1e-6


def test_all_rows_are_compared_if_asked_for(cli):
    code, out, _ = cli("bench", "hmatrix", "sphere:5,6", "--ways", "aca", "--repeats", 1, "--exact", "--json")
    (row,) = json.loads(out)["measured"]
    assert code == 0 and row["error_of_estimate"] == 0 and 0 < row["compression_error"] <= 1e-6


def test_an_engine_s_products_and_iterations_are_measured(cli):
    argv = ["--ways", "aca+", "--repeats", 1, "--engine", "host", "--ranks", 2, "--iterations", 40]
    code, out, _ = cli("bench", "hmatrix", "sphere:5,6", *argv)
    assert code == 0 and "products on the host engine" in out and "iteration [ms]" in out
    code, out, _ = cli("bench", "hmatrix", "sphere:5,6", *argv, "--json")
    (row,) = json.loads(out)["measured"]
    assert code == 0 and (row["engine"], row["ranks"], row["solver"]) == ("host", 2, "bicgstab")
    assert row["product_seconds"] > 0 and row["held_bytes"] > 0
    assert row["iteration_seconds"] >= 0  # a difference of two runs, which on a busy machine may vanish
    assert row["product_seconds"] >= row["product_seconds_best"] > 0 and row["iteration_seconds_best"] >= 0
    assert (row["distribution"], row["vectors"], row["gather"]) == ("rows", "auto", "rank")
    assert row["exposed_halo_s"] >= 0 and row["products"] == 2


def test_of_several_builds_the_median_is_told_and_the_phases_of_the_one_in_the_middle(monkeypatch):
    told = iter([3.0, 9.0, 1.0, 7.0])

    class Built:
        def __init__(self):
            seconds = next(told)
            self.statistics = {"seconds": seconds, "phases": {"leaves": seconds}}

    _, found, _ = bench._built(4, Built)
    assert found == {"seconds": 5.0, "seconds_best": 1.0, "phases": {"leaves": 3.0}, "first_seconds": 3.0}


def test_what_ranks_wait_is_that_of_a_long_run_less_that_of_a_short_one():
    def waits(iterations, *seconds):
        return iterations, np.array(seconds)

    short = [waits(5, 1.0, 2.0), waits(5, 9.0, 2.0), waits(5, 1.0, 2.0)]
    long = [waits(25, 1.2, 8.0), waits(25, 1.2, 6.0), waits(25, 1.0, 2.0)]
    assert _hmatrix_runs.exposed([*short, *long]) == pytest.approx((6.0 - 2.0) / 20)
    assert _hmatrix_runs.exposed([waits(4, 2.0, 1.0)]) == pytest.approx(0.5)
    assert _hmatrix_runs.exposed([waits(4, 3.0), waits(8, 1.0)]) == 0  # a busy machine


def test_ranks_wait_for_rows_of_others_and_one_for_nobody(cli):
    argv = ["sphere:5,6", "--ways", "aca+", "--repeats", 1, "--engine", "host", "--iterations", 24, "--json"]
    (alone,) = json.loads(cli("bench", "hmatrix", *argv)[1])["measured"]
    assert alone["exposed_halo_s"] == 0
    H = sordino.hmatrix(sphere(5, 6), 1e-6)
    with sordino.Solver(H, engine="host", ranks=3, solver="bicgstab") as solver:
        solver.solve(np.ones(H.shape[0]))
        waited = solver._native().exposed_halos()
    assert len(waited) == 3 and max(waited) > 0


ON_FOUR_RANKS = ["sphere:5,6", "--ways", "aca+", "--repeats", "1", "--engine", "host", "--ranks", "4"]


def test_ways_to_gather_and_to_keep_vectors_have_a_row_each(cli):
    argv = [*ON_FOUR_RANKS, "--iterations", 8]
    code, out, _ = cli(
        "bench", "hmatrix", *argv, "--vectors", "redundant,hierarchical", "--gather", "2,4", "--json"
    )
    rows = json.loads(out)["measured"]
    assert code == 0 and [(row["vectors"], row["gather"]) for row in rows] == [
        ("redundant", "2"), ("redundant", "4"), ("hierarchical", "2"), ("hierarchical", "4")
    ]  # fmt: skip
    assert len({row["seconds"] for row in rows}) == 1  # one matrix
    assert all(row["product_seconds"] > 0 for row in rows)
    argv[-1] = 4
    code, out, _ = cli(
        "bench", "hmatrix", *argv, "--solver", "gatherbicgstab", "--gather", "1,2", "--distribution", "rows"
    )
    assert code == 0 and "gather" in out and "vectors" not in out


def test_numbers_of_ranks_and_schedules_have_a_row_each(cli):
    argv = [*ON_FOUR_RANKS[:-1], "1,3", "--solver", "gatherbicgstab", "--schedule", "pipe1,pipe2"]
    code, out, _ = cli("bench", "hmatrix", *argv, "--iterations", 8, "--json")
    rows = json.loads(out)["measured"]
    assert code == 0 and [(row["ranks"], row["schedule"]) for row in rows] == [
        (1, "pipe1"), (1, "pipe2"), (3, "pipe1"), (3, "pipe2")
    ]  # fmt: skip
    of_products = [row["product_seconds"] for row in rows]  # of distributed vectors, which have no schedule
    assert of_products[0] == of_products[1] != of_products[2] == of_products[3] > 0
    code, out, _ = cli("bench", "hmatrix", *argv, "--iterations", 4)
    assert code == 0 and "ranks" in out and "schedule" in out and "gather" not in out.splitlines()[1]


@pytest.mark.parametrize("scalars", ["device", "host"])
def test_whole_vectors_and_scalars_are_the_solver_s_options(cli, scalars):
    argv = [*ON_FOUR_RANKS, "--iterations", 12]
    whole = ["--vectors", "hierarchical", "--gather", 2, "--scalars", scalars, "--json"]
    code, out, _ = cli("bench", "hmatrix", *argv, *whole)
    (row,) = json.loads(out)["measured"]
    assert code == 0 and (row["vectors"], row["gather"], row["scalars"]) == ("hierarchical", "2", scalars)
    assert row["product_seconds"] > 0 and row["held_bytes"] > 0


def test_dot_products_that_ranks_share_are_measured(cli, tmp_path):
    record = tmp_path / "dots.jsonl"
    argv = ["--dots", "1,2,4", "--engine", "host", "--repeats", 1, "--iterations", 5]
    code, out, err = cli(
        "bench", "hmatrix", "sphere:5,6", "sphere:5,4", *argv, "--record", record, "--commit", "abc"
    )
    assert (code, err) == (0, "") and "(t,v) and (t,t) of whole vectors" in out
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(row["n"], row["ranks"], row["way"]) for row in rows] == [
        (n, ranks, way) for n in (360, 160) for ranks in (1, 2, 4) for way in ("shared", "repeated")
    ]
    for row in rows:
        assert row["bench"] == "hmatrix-dots" and row["seconds"] > 0 and row["pairs"] == 10
        assert row["bytes_a_second"] * row["seconds"] == pytest.approx(16 * row["n"])


def test_blocks_are_held_to_a_rank_and_a_second_matrix_preconditions(cli):
    argv = ["sphere:5,6", "--ways", "aca+", "--repeats", 1, "--engine", "host", "--iterations", 12, "--json"]
    code, out, _ = cli("bench", "hmatrix", *argv, "--most-rank", 1)
    (row,) = json.loads(out)["measured"]
    assert code == 0 and (row["most_rank"], row["max_rank"], row["mean_rank"]) == (1, 1, 1.0)
    coarse = ["--coarse", "1e-1", "--coarse-rank", 1, "--inner", 3, "--solver", "gmres"]
    code, out, _ = cli("bench", "hmatrix", *argv, *coarse)
    (row,) = json.loads(out)["measured"]
    assert code == 0 and row["most_rank"] is None and row["max_rank"] > 1
    assert (row["coarse"], row["coarse_most_rank"], row["inner"], row["coarse_mean_rank"]) == (0.1, 1, 3, 1.0)
    assert 0 < row["coarse_bytes"] < row["stored_bytes"]


def test_waves_are_measured_as_other_kernels_are(cli):
    argv = [
        "--kernel",
        "helmholtz",
        "--wavenumber",
        2,
        "--ways",
        "aca+",
        "--repeats",
        1,
        "--threads",
        2,
        "--json",
    ]
    code, out, _ = cli("bench", "hmatrix", "sphere:5,4", *argv)
    (row,) = json.loads(out)["measured"]
    assert code == 0 and row["kernel"] == "helmholtz" and row["dense_bytes"] == 16 * row["n"] ** 2
    assert row["core_seconds_a_value"] == pytest.approx(row["seconds"] * 2 / (row["stored_bytes"] / 16))


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--kernel", "helmholtz"], "kernel helmholtz needs a wavenumber"),
        (["--wavenumber", "2"], "wavenumber belongs to kernel helmholtz"),
        (["--engine", "model"], "--engine is host or cuda for a measurement, not 'model'"),
        (["--scalars", "host"], "--scalars and --schedule are a solver's: add --engine host or cuda"),
        (["--dots", "1,2"], "--dots are timed on an engine: add --engine host or cuda"),
        (["--engine", "host", "--dots", "0"], "--dots says how many ranks share, 1 or more, not '0'"),
        (["--engine", "host", "--ranks", "0"], "--ranks and --iterations are at least 1"),
        (["--engine", "host", "--ranks", "2,x"], "--ranks"),
        (["--engine", "host", "--ranks", "1,999"], "--ranks 999: 999 ranks are more than"),
        (
            ["--engine", "host", "--ranks", "1,2", "--columns", "1"],
            "--columns are timed on one number of ranks",
        ),
        (
            ["--engine", "host", "--schedule", "pipe2,pipe1"],
            "--schedule pipe1: schedule 'pipe1' is of solver gather",
        ),
        (["--engine", "cuda", "--ranks", "1,2", "--paper-ways"], "--paper-ways are measured on one GPU"),
        (["--paper-solvers"], "--paper-solvers are solvers: add --engine host or cuda"),
        (
            ["--engine", "host", "--paper-solvers", "--gather", "2"],
            "say themselves what --solver, --vectors, --gather and --schedule are: leave these out",
        ),
        (["--ways", "svd"], "--ways is of aca+, aca, full, hacapk aca+, hacapk aca, not 'svd'"),
        (["--repeats", "0"], "--repeats at least 1"),
        (["--threads", "-1"], "--threads is 0, for as many as there are cores, or more"),
        (["--eps", "1"], "eps is below 1 and at least 1e-13"),
        (["--most-rank", "0"], "most_rank is a whole number, at least 1"),
        (["--coarse-rank", "1"], "--coarse-rank is of a second matrix: say its accuracy, --coarse, too"),
        (["--inner", "3"], "--inner is of a second matrix: say its accuracy, --coarse, too"),
        (["--coarse", "1e-1"], "--engine and --solver gmres"),
        (["--coarse", "1e-1", "--engine", "host"], "--engine and --solver gmres"),
        (["--eps", "x"], "--eps must be a number"),
        (
            ["--gather", "2"],
            "--distribution, --vectors, --gather, --scalars and --schedule are a solver's: add --engine host or cuda",
        ),
        (["--engine", "host", "--gather", "2"], "solver bicgstab does not: use solver gatherbicgstab"),
        (["--engine", "host", "--vectors", "redundant,whole"], "--vectors whole: unknown vectors 'whole'"),
        (
            ["--engine", "host", "--ranks", "4", "--vectors", "auto,hierarchical", "--gather", "2"],
            "--vectors auto --gather 2: gather '2' is of methods that gather whole vectors, which solver bicgstab",
        ),
        (["--build-gpus", "1"], "--build-gpus is at least 1, and of --build cuda"),
        (["--build", "cuda", "--build-gpus", "0"], "--build-gpus is at least 1, and of --build cuda"),
    ],
)
def test_bad_words_get_a_sentence(cli, argv, sentence):
    code, _, err = cli("bench", "hmatrix", "sphere:5,4", *argv)
    assert code == 2 and sentence in err


def test_the_page_of_the_paper_has_the_record_s_figures():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "theory" / "000.md").read_text(encoding="utf-8")
    record = (root / "bench" / "records" / "2026-11-23_hmatrix_by_pieces_2_cores.jsonl").read_text(
        encoding="utf-8"
    )
    rows = [json.loads(line) for line in record.splitlines()]
    for row in rows:
        assert (
            f"| {row['surface']} | {row['eps']:g} | `{row['way']}` | {row['mean_rank']:.1f} | "
            f"{row['stored_bytes'] / 2**20:.1f} | {row['compression_error']:.1e} | {row['seconds']:.2f} | "
            f"{1e9 * row['core_seconds_a_value']:.0f} | {1e3 * row['product_seconds']:.1f} | "
            f"{row['product_bytes_a_second'] / 1e9:.1f} | {1e3 * row['product_of_8_seconds']:.1f} |\n"
        ) in page
    assert len(re.findall(r"^\| input_", page, flags=re.MULTILINE)) == len(rows)
    published = {row["way"]: row for row in rows if row["n"] == 10_400 and row["eps"] == 1e-6}
    for way, stored in (("hacapk aca", 150.71), ("hacapk aca+", 135.71)):
        assert published[way]["stored_bytes"] / 2**20 == pytest.approx(stored, rel=0.01)
        counts = tuple(
            published[way][name] for name in ("clusters", "low_rank_blocks", "dense_blocks", "nodes")
        )
        assert counts == (1823, 8430, 14860, 7763)
    assert all(row["compression_error"] <= row["eps"] for row in rows if not row["way"].startswith("hacapk"))


def test_the_page_has_the_record_s_peaks_of_memory():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "boundary_elements.md").read_text(encoding="utf-8")
    record = root / "bench" / "records" / "2026-11-25_hmatrix_build_memory_2_cores.jsonl"
    small, large = map(json.loads, record.read_text(encoding="utf-8").splitlines())
    times = [f"{row['build_peak_bytes'] / row['stored_bytes']:.2f}" for row in (small, large)]
    sizes = f"{small['n']:,} and {large['n']:,} triangles"
    assert f"{' and '.join(times)} times the bytes stored of {sizes}" in page and record.name in page


def test_the_pages_have_the_record_s_seconds_of_trees_and_products_of_waves():
    root = Path(__file__).parents[2]
    records, adr = root / "bench" / "records", root / "docs" / "adr"
    (row,) = map(
        json.loads, (records / "2026-11-25_hmatrix_trees_2_cores.jsonl").read_text("utf-8").splitlines()
    )
    page = (adr / "0038-a-team-of-threads-computes-a-leaf.md").read_text(encoding="utf-8")
    assert f"take two cores, which others used, too, {row['seconds']:.1f} s" in page and row["n"] == 1_004_400
    waves = map(json.loads, (records / "2026-11-24_hmatrix_waves_h200.jsonl").read_text("utf-8").splitlines())
    small, large = (row for row in waves if row["build"] == "cuda")
    page = (adr / "0037-an-h-matrix-is-two-commands-of-rows.md").read_text(encoding="utf-8")
    for row in (small, large):
        assert f"{1e3 * row['product_seconds']:.3f} ms for " in page
        assert f"{row['stored_bytes'] / 1e9:.3f} GB" in page
    assert f"{large['product_bytes_a_second'] / 4547e9:.2f} of the bandwidth" in page


def test_products_with_several_vectors_and_the_transpose_have_rows_of_their_own(cli, tmp_path):
    record = tmp_path / "found.jsonl"
    code, out, err = cli(
        "bench", "hmatrix", "sphere:5,6", "--ways", "aca+", "--repeats", 1, "--engine", "host", "--ranks", 2,
        "--iterations", 2, "--columns", "1,2,4,8", "--transposed", "--record", record, "--commit", "abc",
    )  # fmt: skip
    assert (code, err) == (0, "") and "Several vectors at once, host engine, 2 ranks" in out
    matrix, *rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(row["transposed"], row["columns"]) for row in rows] == [
        (transposed, columns) for transposed in (False, True) for columns in (1, 2, 4, 8)
    ]
    for row in rows:
        assert row["seconds"] > 0 and row["held_bytes"] > 0
        assert row["seconds_a_vector"] * row["columns"] == pytest.approx(row["seconds"])
        assert row["bytes_a_second"] * row["seconds"] == pytest.approx(matrix["stored_bytes"])
        assert row["copied_bytes"] == (matrix["stored_bytes"] if row["transposed"] else 0)
    assert matrix["bench"] == "hmatrix" and {row["bench"] for row in rows} == {"hmatrix-several-vectors"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--columns", "2"], "--columns are timed on an engine: add --engine host or cuda"),
        (["--engine", "host", "--columns", "1,3"], "--columns is of 1, 2, 4, 8, not '1,3'"),
        (["--engine", "host", "--transposed"], "--transposed is of the products that --columns asks for"),
    ],
)
def test_columns_that_cannot_be_timed(cli, words, said):
    code, _, err = cli("bench", "hmatrix", "sphere:5,4", *words)
    assert code == 2 and said in err
