"""``sordino bench``: timing by slopes, floors, records; peers are exercised on the host."""

from __future__ import annotations

import json
import stat
import subprocess

import pytest

from sordino.bench import _ours, _peers, _records, _timing, cg, kernels


def test_what_a_run_costs_once_cancels():
    found = _timing.per_iteration(lambda count: (count, 0.5 + 1e-3 * count), 100, 2)
    assert (found.median, found.best) == pytest.approx((1e-3, 1e-3))
    assert _timing.per_iteration(lambda count: (3, 0.3), 100, 2).median == pytest.approx(0.1)


@pytest.mark.parametrize(("late", "median"), [((0, 0, 1, 9, 0), 1e-3), ((0, 0, 9, 9, 0), 1e-3 + 9 / 75)])
def test_the_median_of_runs_counts_and_the_fastest_is_told_beside_it(late, median):
    """Of five long runs one, or three at once, may be late."""
    delays = iter(late if median == 1e-3 else (9, 0, 9, 9, 0))

    def run(count):
        return count, 0.5 + 1e-3 * count + (next(delays) if count == 100 else 0.0)

    found = _timing.per_iteration(run, 100, 5)
    assert (found.median, found.best) == pytest.approx((median, 1e-3))
    assert _timing.Seconds.of([4.0, 1.0, 2.0]) == _timing.Seconds(2.0, 1.0)
    assert _timing.timed(lambda: None, 3).best >= 0


def test_cg_measures_and_records(cli, fake_core, tmp_path):
    record = tmp_path / "r.jsonl"
    code, out, err = cli(
        "bench", "cg", "--sizes", "6,8", "--ranks", "1,2", "--engine", "host", "--iterations", 8,
        "--repeats", 1, "--record", record, "--commit", "abc",
    )  # fmt: skip
    assert code == 0, err
    for part in (
        "copy bandwidth here",
        "6^3, 7 points, 216 rows, host engine",
        "scipy us (x ours)",
        "iteration",
        "product",
    ):
        assert part in out
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(line["size"], line["ranks"]) for line in lines] == [(6, 1), (6, 2), (8, 1), (8, 2)]
    for key in ("date", "machine", "command", "iteration_s", "iteration_floor_s", "bandwidth", "peers"):
        assert all(key in line for line in lines)
    assert lines[0]["commit"] == "abc" and lines[0]["peers"]["iteration_s"]["scipy"] > 0
    assert lines[0]["command"].startswith("sordino bench cg --sizes 6,8")
    assert all(line["load_average"] >= 0 and line["counts"] == "median" for line in lines)
    assert all(
        line[f"{what}_s"] == line[f"{what}_best_s"] for line in lines for what in ("iteration", "spmv")
    )


def test_cg_reports_medians_with_the_fastest_beside_them(cli, fake_core, tmp_path, monkeypatch):
    seconds = iter((3e-3, 1e-3, 2e-3))
    monkeypatch.setattr(_ours, "per_iteration", lambda run, *_: run(4) and _timing.Seconds(5e-3, 4e-3))
    monkeypatch.setattr(_ours.Solver, "time_product", lambda *_: next(seconds))
    record = tmp_path / "r.jsonl"
    argv = ("--sizes", "6", "--engine", "host", "--iterations", 4, "--repeats", 3, "--no-peers")
    code, out, err = cli("bench", "cg", *argv, "--record", record)
    assert code == 0, err
    line = json.loads(record.read_text())
    assert (line["iteration_s"], line["iteration_best_s"]) == (5e-3, 4e-3)
    assert (line["spmv_s"], line["spmv_best_s"]) == (2e-3, 1e-3)
    assert "5,000.0" in out and "2,000.0" in out


@pytest.mark.parametrize("sizes", [["4,5"], ["4", "5"], ["4,", "5"]])
def test_lists_have_commas_and_sizes_may_have_spaces(cli, fake_core, sizes):
    code, out, err = cli(
        "bench", "cg", "--sizes", *sizes, "--engine", "host", "--iterations", 2, "--repeats", 1, "--no-peers"
    )
    assert code == 0, err
    assert "4^3, 7 points, 64 rows" in out and "5^3, 7 points, 125 rows" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--stencil", "7,9"], "--stencil is of 7, 27, not '7,9'"),
        (["--stencil", ""], "--stencil is of 7, 27, not ''"),
        (["--partition", "slabs"], "--partition is of blocks, boxes, metis, not 'slabs'"),
        (["--storage", "csr,coo"], "--storage is of auto, csr, dia, symdia, constant, not 'coo'"),
        (["--sizes", "0"], "must be at least 1"),
        (["--sizes", "x"], "--sizes must be a whole number"),
        (["--engine", "model"], "--engine is host or cuda for a measurement"),
        (["--engine", "cuda", "--sizes", "4", "--no-peers"], "not in this build"),
        (["--record", "/nowhere/r.jsonl"], "cannot be written"),
        (["--limit-program", "/nowhere/p"], "could not be run"),
    ],
)
def test_bad_usage(cli, fake_core, argv, sentence):
    code, _, err = cli("bench", "cg", *argv)
    assert code == 2 and sentence in err


def test_the_limit_program_is_read(tmp_path):
    program = tmp_path / "limit"
    program.write_text("#!/bin/sh\necho '64^3 P=1  us/iter 22.10  floor(160 B/row at 4.3 TB/s) 9.75'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert _peers.limit_program(str(program)) == {(64, 1): pytest.approx(22.1e-6)}


def test_records_append(tmp_path, fake_core):
    path = tmp_path / "r.jsonl"
    for _ in range(2):
        _records.append(str(path), [{"a": float("nan")}], "command", "commit")
    assert [json.loads(line)["a"] for line in path.read_text().splitlines()] == [None, None]


def test_a_record_names_what_was_built_wherever_it_is_measured(cli, fake_core, tmp_path, monkeypatch):
    """Not what git says in the folder of the caller, which may be another repository."""
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=False)
    for commit, words in (("fa4e123", []), ("abc", ["--commit", "abc"])):
        words = [
            "--sizes",
            4,
            "--engine",
            "host",
            "--iterations",
            2,
            "--no-peers",
            "--record",
            f"{commit}.jsonl",
            *words,
        ]
        assert cli("bench", "cg", *words)[0] == 0
        assert json.loads((tmp_path / f"{commit}.jsonl").read_text())["commit"] == commit


def test_benchmarks_are_listed(cli):
    code, out, _ = cli("bench", "--help")
    assert code == 0 and "cg" in out and "_peers" not in out


def test_floors_are_told_of_the_storages_that_may_be_measured(cli, fake_core):
    for storage, kinds in (("auto", ["csr", "dia", "symdia"]), ("constant", ["constant"])):
        _, out, _ = cli(
            "bench", "cg", "--sizes", "6", "--engine", "host", "--iterations", 8, "--repeats", 1, "--no-peers",
            "--storage", storage,
        )  # fmt: skip
        told = [k for k in ("csr", "dia", "symdia", "constant") if f"B a row for the product in {k}" in out]
        assert told == kinds


@pytest.mark.parametrize(("stencil", "bytes_"), [(7, (104, 72, 48, 17)), (27, (344, 232, 128, 17))])
def test_a_product_moves_its_entries_and_two_vectors(stencil, bytes_):
    assert tuple(cg.product_bytes(kind, stencil) for kind in cg.STORAGES) == bytes_
    kept = tuple(cg.product_bytes(kind, stencil, ones=True) for kind in cg.STORAGES)
    assert kept == (bytes_[0], bytes_[1] - 8, bytes_[2] - 8, bytes_[3])


def measured(cli, record, *words):
    few = ("--engine", "host", "--iterations", 8, "--repeats", 1, "--storage", "symdia", "--no-peers")
    code, out, err = cli("bench", "cg", "--sizes", "8", *few, "--record", record, *words)
    assert code == 0, err
    return out, [json.loads(line) for line in record.read_text().splitlines()]


def test_both_stencils_are_measured_in_one_call(cli, tmp_path):
    program = tmp_path / "limit"
    program.write_text("#!/bin/sh\necho '8^3 P=1  us/iter 22.10'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    words = ("--stencil", "7,27", "--limit-program", program)
    out, lines = measured(cli, tmp_path / "r.jsonl", *words)
    assert [(line["stencil"], line["entries"]) for line in lines] == [(7, 512 + 6 * 7 * 64), (27, 22**3)]
    assert [line["limit_program_s"] for line in lines] == [pytest.approx(22.1e-6), None]
    floor = {line["stencil"]: line["spmv_floor_s"] for line in lines}
    assert floor[27] == pytest.approx(128 / 48 * floor[7], rel=1e-12)
    assert "8^3, 7 points, 512 rows" in out and "8^3, 27 points, 512 rows" in out
    for said in (
        "48 B a row for the product in symdia, of 7",
        "128 B a row for the product in symdia, of 27",
    ):
        assert said in out


def test_boxes_are_measured_beside_slabs(cli, tmp_path):
    words = ("--partition", "blocks,boxes", "--boxes", "1,2,2", "--stencil", "27")
    out, (slabs, boxes) = measured(cli, tmp_path / "r.jsonl", *words)
    assert (slabs["partition"], slabs["boxes"]) == ("blocks", None)
    assert (boxes["partition"], boxes["boxes"]) == ("boxes", [1, 2, 2])
    assert slabs["ranks"] == boxes["ranks"] == 4  # as many as boxes
    assert "iteration, symdia, boxes, 1 x 2 x 2" in out
    exchanges = slabs["ledger"]["messages"]  # the first slab has one neighbour, and the first box three
    assert boxes["ledger"]["messages"] == 3 * exchanges
    assert boxes["ledger"]["bytes_sent"] == exchanges * 8 * (8 * 4 + 8 * 4 + 8)


def test_boxes_are_cut_where_fewest_cells_are_if_nobody_says(cli, tmp_path):
    words = ("--partition", "boxes", "--ranks", "1,2,8", "--precond", "jacobi,block-ilu")
    out, lines = measured(cli, tmp_path / "r.jsonl", *words)
    assert [line["boxes"] for line in lines[::2]] == [[1, 1, 1], [1, 1, 2], [2, 2, 2]]
    assert "iteration, block-ilu, symdia, boxes, 2 x 2 x 2" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--boxes", "1,2,2"], "--boxes needs --partition boxes"),
        (
            ["--partition", "boxes", "--boxes", "1,2,2", "--ranks", "2,4"],
            "1,2,2 are for 4 ranks, and --ranks is 2,4",
        ),
        (["--partition", "boxes", "--boxes", "1,x"], "boxes"),
        (["--partition", "boxes", "--boxes", "16,1,1", "--sizes", "8"], "boxes"),
    ],
)
def test_boxes_that_do_not_fit_are_refused(cli, argv, sentence):
    code, _, err = cli("bench", "cg", "--engine", "host", "--no-peers", *argv)
    assert code == 2 and sentence in err and err.count("\n") == 1


def test_methods_and_preconditioners_are_measured_in_all_combinations(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    code, out, err = cli(
        "bench", "cg", "--sizes", "8", "--engine", "host", "--iterations", 8, "--repeats", 1, "--no-peers",
        "--solver", "cg,pipebicgstab", "--precond", "jacobi,block-ilu", "--storage", "symdia", "--record", record,
    )  # fmt: skip
    assert code == 2 and "diagonal" in err  # pipebicgstab takes no other
    code, out, err = cli(
        "bench", "cg", "--sizes", "8", "--engine", "host", "--iterations", 8, "--repeats", 1, "--no-peers",
        "--solver", "cg,prcg", "--precond", "jacobi,sqrt-jacobi", "--storage", "symdia", "--record", record,
    )  # fmt: skip
    assert code == 0, err
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(line["solver"], line["precond"]) for line in lines] == [
        ("cg", "jacobi"), ("cg", "sqrt-jacobi"), ("prcg", "jacobi"), ("prcg", "sqrt-jacobi"),
    ]  # fmt: skip
    assert "iteration, prcg, sqrt-jacobi, symdia" in out
    scaled, jacobi = (next(x for x in lines if x["precond"] == p) for p in ("sqrt-jacobi", "jacobi"))
    assert scaled["spmv_floor_s"] == pytest.approx(40 / 48 * jacobi["spmv_floor_s"], rel=1e-12)
    assert scaled["iteration_floor_s"] < jacobi["iteration_floor_s"]
    # 4 diagonals or 3, x, b, r, p and A p; on the host where entries go, too, and a scaled copy of them
    assert all(8 <= line["held_bytes"] / (8 * 8**3) <= 26 for line in lines)


def test_a_kernels_call_takes_the_median_of_runs():
    """A run counts whole, however often it calls the kernel."""
    runs = [
        {
            "name": "SpMV",
            "calls": calls,
            "seconds": calls * each,
            "bytes": calls * 72.0,
            "flops": calls * 14.0,
        }
        for calls, each in ((10, 5e-6), (12, 2e-6), (10, 3e-6))
    ]
    found = kernels._of_a_call(runs)
    assert found == pytest.approx(
        {"name": "SpMV", "calls": 10, "seconds": 3e-6, "best_s": 2e-6, "bytes": 72.0, "flops": 14.0}
    )


def test_kernels_are_held_against_their_roofline(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    code, out, err = cli(
        "bench", "kernels", "--size", "10,8,12", "--engine", "host", "--iterations", 12, "--repeats", 3,
        "--precond", "jacobi,block-ilu", "--tile", "5,4,3", "--s", 4, "--record", record,
    )  # fmt: skip
    assert code == 0, err
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(x["solver"], x["precond"]) for x in lines] == [
        ("cg", "jacobi"), ("cg", "block-ilu"), ("cbcg", "jacobi"), ("cbcg", "block-ilu"),
    ]  # fmt: skip
    for line in lines:
        assert line["counts"] == "median"
        assert sum(k["share"] for k in line["kernels"]) == pytest.approx(1)
        for k in line["kernels"]:
            roofline = k["flops"] / line["flops"] + k["bytes"] / line["bandwidth"]
            assert k["roofline_s"] == pytest.approx(roofline) and k["seconds"] >= k["best_s"] > 0
    product = next(k for k in lines[0]["kernels"] if k["name"] == "SpMV")
    assert product["bytes"] == pytest.approx(72 * 960) and product["calls"] >= 12
    assert "cbcg with block-ilu, storage dia, host engine" in out and "of its roofline" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--size", "8,8"], "--size is X,Y,Z"),
        (["--solver", "cg,fast"], "--solver is of"),
        (["--repeats", "0"], "must be at least 1"),
        (["--engine", "model"], "--engine is host or cuda"),
    ],
)
def test_kernels_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", "kernels", *argv)
    assert code == 2 and sentence in err
