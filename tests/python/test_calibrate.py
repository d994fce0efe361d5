"""``sordino calibrate``: what is measured becomes a description that says where each number comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sordino import DeviceError, machines
from sordino.machines import _cached_loops, _calibration

RECORDS = Path(__file__).parents[2] / "bench" / "records"


def _core_is_there() -> bool:
    try:
        from sordino import _core
    except ImportError:
        return False
    return hasattr(_core, "time_traffic")


needs_core = pytest.mark.skipif(not _core_is_there(), reason="sordino._core is not built")


def _figures(name, what):
    lines = (
        json.loads(line) for line in (RECORDS / f"2026-11-21_{name}_h200x4.jsonl").read_text().splitlines()
    )
    return [line for line in lines if line["what"] == what]


def test_the_record_of_four_h200_gives_the_machine_that_comes_along():
    described = machines.load("h200x4")
    found = _calibration.from_figures(
        _figures("overlap", "overlap"), _figures("bench_comm", "put"), described["memory_bandwidth"]
    )
    start, _ = found.pop("reduction_start_s")  # sums of solves end in more: the description has theirs
    assert start == pytest.approx(3.06e-6, rel=0.02) and start < described["reduction_start_s"]
    for name, (value, source) in found.items():
        assert value == pytest.approx(described[name], rel=0.02, abs=2e-8), name
        assert source.startswith("measured: ")


def test_what_sending_adds_is_less_than_the_description_of_h200_has():
    found, source = _calibration.push_of(_figures("overlap", "overlap"))
    assert found["seconds"] == pytest.approx(2.7e-6, rel=0.01)  # beside work of a command of many rows
    assert found["seconds"] < machines.load("h200x4")["push"]["seconds"]  # a command of few rows: cg's, below
    assert source.startswith("measured: ")


def test_the_description_of_h200_sends_as_long_as_cg_s_direction():
    """Of 64^3 on two devices, less half of what all its rows take on one, which sends none."""
    record = RECORDS / "2026-11-23_bench_cg_cgcg_h200x2.jsonl"
    took = {}
    for row in map(json.loads, record.read_text(encoding="utf-8").splitlines()):
        if (row["size"], row["solver"]) == (64, "cg"):
            (kernel,) = (k for k in row["ledger"]["kernels"] if k["name"] == "Direction")
            took[row["ranks"]] = kernel["seconds"] / kernel["calls"]
    push = machines.load("h200x4")["push"]["seconds"]
    assert took[2] - took[1] / 2 == pytest.approx(push, rel=0.02)


def test_loops_without_a_cache_describe_none():
    memory = [(size, 2e-6 + size / 3e12) for size in _cached_loops.SIZES]
    assert _cached_loops.described(memory, 2e-6) == (
        None,
        "not described: loops over few bytes are no faster than over many",
    )
    assert _cached_loops.described([(size, 1e-6) for size in _cached_loops.SIZES], 2e-6)[0] is None


def test_a_cache_that_is_slower_than_the_described_memory_is_none():
    timed = [(size, 2e-6 + size / (3.4e12 if size < 5e7 else 2.5e12)) for size in _cached_loops.SIZES]
    assert _cached_loops.described(timed, 2e-6, 2.6e12)[0]["bandwidth"] == pytest.approx(3.4e12)
    assert _cached_loops.described(timed, 2e-6, 4.2e12) == (
        None,
        "not described: loops over few bytes reach 3,400 GB/s, and memory_bandwidth is 4,200",
    )


@needs_core
def test_the_loops_find_the_cache_of_a_described_machine():
    """Sizes and bandwidths a hundredth of a GPU's, so that a laptop computes the loops."""
    cache = {"bytes": 8e5, "share": 0.5, "bandwidth": 6e10}
    machine = {**machines.load("h200x4"), "memory_bandwidth": 4e10, "flops": 0.0, "cache": cache}
    sizes = tuple(1 << k for k in range(16, 23))
    timed = _cached_loops.times("model", 1, sizes, machine=machine)
    scaled = [(100 * size, 1.69e-6 + 100 * (took - 1.69e-6)) for size, took in timed]
    found, source = _cached_loops.described(scaled, 1.69e-6)
    assert found["bytes"] * found["share"] == pytest.approx(100 * 4e5, rel=0.03)
    assert found["bandwidth"] == pytest.approx(6e10, rel=0.01) and "measured: " in source


def test_a_figure_that_is_missing_is_named():
    overlap = [row for row in _figures("overlap", "overlap") if not row["way"].startswith("halo, no work")]
    with pytest.raises(DeviceError, match="'halo, no work' on 2 devices is missing"):
        _calibration.from_figures(overlap, _figures("bench_comm", "put"), 4e12)


def test_reductions_are_fitted_by_doublings():
    found = _calibration._fitted({2: 3e-6, 4: 5e-6, 8: 7e-6}, "so")
    assert found["reduction_base_s"][0] == pytest.approx(1e-6) and found["reduction_hop_s"][
        0
    ] == pytest.approx(2e-6)
    assert _calibration._fitted({2: 3e-6}, "so")["reduction_hop_s"][0] == 0


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--engine", "model"], "--engine is host or cuda, which can be measured"),
        (["--engine", "cuda"], "engine 'cuda' is not in this build"),
        (["--ranks", "1"], "at least 2 ranks"),
        (["--repeats", "0"], "--repeats must be at least 1"),
        (["--output", "machine.txt"], "a machine is written as .json"),
    ],
)
def test_bad_usage(cli, fake_core, argv, sentence):
    code, out, err = cli("calibrate", *argv)
    assert code == 2 and out == "" and sentence in err


@needs_core
def test_this_machine_is_described_and_predicted(cli, tmp_path):
    path = tmp_path / "here.json"
    code, out, err = cli("calibrate", "--engine", "host", "--ranks", 2, "--repeats", 1, "--output", path)
    assert code == 0, err
    assert "where it comes from" in out and "was written to" in out
    described = machines.load(path)
    assert described["name"] == "here" and set(described["sources"]) == {*machines.FIELDS, "cache"}
    assert described["launch_s"] > 0 and described["link_latency_s"] > 0 and described["memory_bandwidth"] > 0
    assert (
        cli("calibrate", "--engine", "host", "--repeats", 1, "--output", path)[0] == 2
    )  # nothing is overwritten
    code, out, err = cli("predict", "poisson", 8, 8, 8, "--solvers", "cg", "--ranks", 2, "--machine", path)
    assert code == 0 and "here, 2 ranks: cg spends" in out, err
