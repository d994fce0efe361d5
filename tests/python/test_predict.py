"""``sordino predict``: the recordings of solvers on described machines; scaling; who wins and why."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import BadArgument, _predict, _predict_words, machines
from sordino._box import Box
from sordino._matrix import as_csr
from sordino._subject import narrower, of_box, suiting

RECORDS = Path(__file__).parents[2] / "bench" / "records"


def _core_is_there() -> bool:
    try:
        from sordino import _core
    except ImportError:
        return False
    return hasattr(_core, "Solver")


needs_core = pytest.mark.skipif(not _core_is_there(), reason="sordino._core is not built")


def test_boxes_know_their_entries():
    for stencil in (7, 27):
        box = Box((5, 4, 3), stencil)
        assert box.n == 60
        points = np.array([(x, y, z) for z in range(3) for y in range(4) for x in range(5)])
        apart = abs(points[:, None] - points[None])
        near = apart.max(axis=2) <= 1 if stencil == 27 else apart.sum(axis=2) <= 1
        assert box.entries == np.count_nonzero(near)


def test_a_narrower_box_keeps_its_planes():
    box = Box((512, 512, 512))
    narrow = narrower(box, 1_000_000)
    assert narrow.cells[2] == 512 and 900_000 < narrow.n < 1_100_000
    assert narrower(box, box.n) is box
    assert min(narrower(box, 1).cells) == 24


def test_a_slower_machine_is_slower_in_what_is_scaled_only():
    fast = machines.load("h200x4")
    slow = _predict.slower(fast, 2.0, 4.0)
    assert slow["memory_bandwidth"] == fast["memory_bandwidth"] / 2
    assert slow["link_bandwidth"] == fast["link_bandwidth"] / 4
    assert slow["launch_s"] == fast["launch_s"] and slow["reduction_base_s"] == fast["reduction_base_s"]
    assert "paces" not in slow
    paced = _predict.slower({**fast, "paces": {"Dots": {"bandwidth": 6.0, "spread": 0.1}}}, 2.0, 4.0)
    assert paced["paces"] == {"Dots": {"bandwidth": 3.0, "spread": 0.1}}
    crowded = _predict.slower({**fast, "late_blocks": {"rows": 1000.0, "seconds": 1e-6}}, 2.0, 4.0)
    assert crowded["late_blocks"] == {"rows": 500.0, "seconds": 1e-6}


@needs_core
def test_commands_of_many_rows_begin_later():
    """Each of them, and it is said where launches are told."""
    rows = 12**3
    machine = {**machines.load("h200x4"), "late_blocks": {"rows": rows / 2 - 1, "seconds": 1e-6}}
    options = {"solver": "cg", "precond": "jacobi", "storage": "dia"}
    crowded = _predict.iteration(of_box("", Box((12, 12, 12))), machine, 2, options)
    machine["late_blocks"]["rows"] = rows / 2
    free = _predict.iteration(of_box("", Box((12, 12, 12))), machine, 2, options)
    commands = free.ledger["commands"]
    assert crowded.parts["launches"] - free.parts["launches"] == pytest.approx(1e-6 * commands)
    assert 1e-6 < crowded.seconds - free.seconds <= 1.01e-6 * commands  # a launch may fly beside a sum


def test_reasons_name_the_largest_difference_first():
    def took(seconds, **parts):
        every = dict.fromkeys(("memory", "launches", "sums", "reductions", "halo", "imbalance"), 0.0)
        return _predict.Iteration(seconds, {}, {**every, **parts})

    ours, theirs = took(5e-6, memory=4e-6), took(9e-6, memory=3e-6, reductions=6e-6)
    said = _predict_words.why(ours, theirs)
    assert said == (
        "has less of exposed reductions (0 s, not 6 μs), and has more of memory traffic (4 μs, not 3 μs)"
    )
    assert _predict_words.why(ours, theirs, (10, 20)).startswith(
        "takes fewer iterations (10, not 20), and has less of"
    )
    assert "memory traffic 4 μs of 5 μs an iteration" in _predict_words.where_time_goes(ours)


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["poisson", "8", "8"], "poisson takes three numbers of cells"),
        (["poisson", "8", "8", "0"], "at least one cell in each direction"),
        (["poisson", "8", "8", "8", "--solvers", "cgg"], "unknown solver 'cgg', did you mean 'cg'?"),
        (["poisson", "8", "8", "8", "--solver", "PCG"], "unknown solver 'PCG', did you mean 'cg'?"),
        (["poisson", "8", "8", "8", "--solver", "lgmres"], "lgmres is not there: take bicgstab or gmres"),
        (["poisson", "8", "8", "8", "--ranks", "0"], "numbers of ranks of at least 1"),
        (["poisson", "8", "8", "8", "--machine", "h200"], "did you mean 'h200x4'?"),
        (["poisson", "8", "8", "8", "--iterations", "0"], "--iterations must be at least 1"),
        (["poisson", "8", "8", "8", "--rtol", "2"], "--rtol is between 0 and 1"),
        (["poisson", "8", "8", "8", "--rhs", "b.npy"], "--rhs is for a matrix in a file"),
        (["poisson", "8", "8", "8", "--record", "/nowhere/r.jsonl"], "cannot be written"),
        (
            ["poisson", "8", "8", "8", "--obstacles", "2"],
            "--obstacles needs --phases bubbles or free-surface",
        ),
        (
            ["poisson", "8", "8", "8", "--phases", "bubbles", "--stencil", "27"],
            "a stencil of 7 points, not 27",
        ),
        (["missing.mtx"], "no such file"),
        (["a.mtx", "b.mtx"], "'b.mtx' is one argument too many"),
    ],
)
def test_bad_usage(cli, fake_core, argv, sentence):
    code, out, err = cli("predict", *argv)
    assert code == 2 and out == "" and sentence in err


@needs_core
def test_a_table_reasons_and_records(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    grid = ["poisson", 12, 12, 12, "--solvers", "cg,prcg", "--ranks", "1,4"]
    code, out, err = cli("predict", *grid, "--record", record, "--commit", "abc")
    assert code == 0, err
    for part in (
        "1,728 rows",
        "machine h200x4",
        "(solved here)",
        "h200x4, 4 ranks: prcg wins with",
        "own sums of reductions",
    ):
        assert part in out
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(line["ranks"], line["solver"]) for line in lines] == [
        (1, "cg"),
        (1, "prcg"),
        (4, "cg"),
        (4, "prcg"),
    ]
    assert all(line["total_s"] == pytest.approx(line["iterations"] * line["iteration_s"]) for line in lines)
    assert lines[0]["commit"] == "abc" and lines[0]["numbers"]["launch_s"] > 0


@needs_core
def test_json_of_a_matrix_file_on_a_described_machine(cli, tmp_path, laplacian):
    described = {**machines.load("laptop"), "reduction_base_s": 1.0}
    (tmp_path / "slow.json").write_text(json.dumps(described))
    sp.save_npz(tmp_path / "a.npz", laplacian(8))
    code, out, err = cli(
        "predict", tmp_path / "a.npz", "--solvers", "cg,cgcg", "--ranks", "2", "--machine", tmp_path / "slow.json",
        "--iterations", 20, "--json",
    )  # fmt: skip
    assert code == 0, err
    found = json.loads(out)
    cg, cgcg = found["predicted"]
    # Two reductions of a second, or one, and nothing that comes near; a restart may add some.
    assert cg["iteration_s"] == pytest.approx(2, rel=0.05) and cgcg["iteration_s"] == pytest.approx(
        1, rel=0.05
    )
    assert cg["ledger"]["reductions"] == pytest.approx(2, rel=0.05)
    assert cgcg["ledger"]["reductions"] == pytest.approx(1, rel=0.05)
    assert (cg["iterations"], cg["iterations_from"]) == (20, "given") and cg["total_s"] == 20 * cg[
        "iteration_s"
    ]
    (verdict,) = found["verdicts"]
    assert verdict["winner"] == "cgcg" and "has less of exposed reductions" in verdict["why"]


@needs_core
def test_a_way_of_all_reduces_is_passed_on(cli):
    def seconds(way):
        code, out, err = cli(
            "predict", "poisson", 8, 8, 8, "--ranks", 8, "--machine", "cluster", "--all-reduce", way, "--iterations", 1,
            "--json",
        )  # fmt: skip
        assert code == 0, err
        return json.loads(out)["predicted"][0]["iteration_s"]

    assert seconds("tree") > seconds("recursive_doubling")


@needs_core
def test_commands_with_a_bandwidth_of_their_own_take_their_own_time():
    machine = {**machines.load("laptop"), "ranks_per_node": 0}
    box = of_box("", Box((12, 12, 12)))
    usual = _predict.iteration(box, machine, 1, {"solver": "pcg2"})
    name = next(name for name in usual.commands if name.endswith("Scaled"))
    slow = {**machine, "paces": {name: {"bandwidth": machine["memory_bandwidth"] / 4, "spread": 0.0}}}
    found = _predict.iteration(box, slow, 1, {"solver": "pcg2"})
    work = 2 * 3 * 8 * box.n / machine["memory_bandwidth"]  # two calls of three vectors
    assert found.commands[name] - usual.commands[name] == pytest.approx(3 * work)
    assert found.seconds - usual.seconds == pytest.approx(3 * work)
    assert found.parts["memory"] - usual.parts["memory"] == pytest.approx(3 * work)


@needs_core
def test_a_scaled_run_takes_as_long_as_the_whole():
    machine = machines.load("h200x4")
    box = Box((96, 96, 48))
    whole, scaled = (of_box("", box, most) for most in (box.n, 60_000))
    assert scaled.scaled and not whole.scaled
    for ranks in (1, 4):
        times = [_predict.iteration(subject, machine, ranks, {"solver": "cg"}) for subject in (whole, scaled)]
        assert times[1].seconds == pytest.approx(times[0].seconds, rel=0.05)
        assert times[1].ledger["memory_bytes"] == pytest.approx(times[0].ledger["memory_bytes"], rel=0.05)
        assert times[1].ledger["messages"] == pytest.approx(times[0].ledger["messages"], rel=0.03)


@needs_core
def test_halos_of_others_are_no_waits_for_slower_ranks():
    machine = {**machines.load("summit"), "internode_bandwidth": 1e9}
    box = of_box("", Box((24, 24, 84)))  # 840 blocks of equal weight, 70 a rank
    found = _predict.iteration(box, machine, 12, {"solver": "cg"})
    assert found.ledger["imbalance_s"] > 0.05 * found.seconds, "ranks at the border of nodes are late"
    assert found.parts["imbalance"] < 0.2 * found.ledger["imbalance_s"]
    waits = sum(found.ledger[name] for name in ("exposed_halo_s", "imbalance_s"))
    assert found.parts["halo"] + found.parts["imbalance"] == pytest.approx(waits)


@needs_core
def test_ranks_that_are_late_by_themselves_are_waited_for():
    machine = {**machines.load("h200x4"), "jitter_s": 2e-5}
    found = _predict.iteration(of_box("", Box((12, 12, 12))), machine, 8, {"solver": "cg"})
    assert found.parts["imbalance"] > 0.05 * found.seconds
    assert found.parts["imbalance"] > 0.5 * found.ledger["imbalance_s"]


@needs_core
def test_predictions_at_once_are_those_of_one_after_the_other(cli, monkeypatch):
    machine = ("--machine", "cluster,summit", "--ranks", "1,3,8", "--json")
    argv = ("predict", "poisson", 10, 10, 10, "--solvers", "cg,cgcg,prcg", *machine)

    def predicted(cores):
        monkeypatch.setattr(machines, "cores", lambda: cores)
        code, out, err = cli(*argv)
        assert code == 0 and err == ""
        return json.loads(out)["predicted"]

    alone = predicted(1)
    assert len(alone) == 18 and predicted(6) == alone
    assert [(row["described_machine"], row["ranks"], row["solver"]) for row in alone[:4]] == [
        ("cluster", 1, "cg"), ("cluster", 1, "cgcg"), ("cluster", 1, "prcg"), ("cluster", 3, "cg"),
    ]  # fmt: skip


@needs_core
def test_a_failed_prediction_ends_those_under_way(cli):
    code, out, err = cli("predict", "poisson", 4, 4, 4, "--ranks", "2,65", "--solvers", "cg,prcg")
    assert code == 2 and out == "" and "65 ranks are more than the 64 rows" in err
    code, out, err = cli("predict", "poisson", 4, 4, 4, "--solvers", "cg", "--precond", "block-ilu")
    assert code == 2 and out == "" and "precond block-ilu is not predicted" in err


@needs_core
def test_a_method_that_takes_several_iterations_at_once_is_timed_in_whole_rounds_of_one_way():
    box = of_box("", Box((12, 12, 12)))
    for s in (3, 12):  # to 1e-300 both would go over to cg: that is not what is asked for
        found = _predict.iteration(box, machines.load("laptop"), 2, {"solver": "cbcg", "s": s})
        # one more where the long run's last x is not its best one, whose residual is then computed
        assert found.ledger["reductions"] == pytest.approx(2 / s, rel=0.05)


@needs_core
def test_what_is_too_small_or_too_large_says_so():
    machine = machines.load("laptop")
    tiny = of_box("", Box((1, 1, 1)))
    with pytest.raises(BadArgument, match="2 ranks are more than the 1 rows"):
        _predict.iteration(tiny, machine, 2, {"solver": "cg"})
    with pytest.raises(BadArgument, match=r"cg ends after .* too few to be timed"):
        _predict.iteration(tiny, machine, 1, {"solver": "cg"})
    large = of_box("", Box((512, 512, 512)), 20_000)
    counted = _predict.count(large, {"solver": "cg", "rtol": 1e-5}, None)
    assert counted.iterations is None and "takes too long here" in counted.source
    failed = _predict.count(tiny, {"solver": "cg", "rtol": 1e-5, "precond": "none"}, 7)
    assert (failed.iterations, failed.source) == (7, "given")


@needs_core
def test_predictions_are_within_a_fifth_of_what_h200s_took():
    measured: dict[tuple[int, int], list[float]] = {}
    for line in (RECORDS / "2026-11-21_bench_cg_h200x4.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["ranks"] in (1, 4) and row["size"] < 256:
            measured.setdefault((row["size"], row["ranks"]), []).append(row["iteration_s"])
    assert len(measured) == 4
    for (size, ranks), seconds in measured.items():
        subject = of_box("", Box((size, size, size)), 300_000)
        found = _predict.iteration(
            subject, machines.load("h200x4"), ranks, {"solver": "cg", "precond": "jacobi", "storage": "csr"}
        )
        assert found.seconds == pytest.approx(float(np.median(seconds)), rel=0.2)


@needs_core
def test_predictions_by_diagonals_are_within_a_fifth_of_what_h200s_took():
    lines = [
        json.loads(line) for line in (RECORDS / "2026-11-22_storage_h200x4.jsonl").read_text().splitlines()
    ]
    measured = {
        (row["size"], row["ranks"], row["storage"]): row["iteration_s"]
        for row in lines
        if row["commit"] == "b641a8b"
    }
    for size, ranks, storage in ((64, 1, "dia"), (64, 4, "dia"), (128, 1, "symdia"), (128, 4, "dia")):
        subject = of_box("", Box((size, size, size)), 300_000)
        found = _predict.iteration(
            subject, machines.load("h200x4"), ranks, {"solver": "cg", "precond": "jacobi"}
        )
        assert found.storage == storage
        assert found.seconds == pytest.approx(measured[size, ranks, storage], rel=0.2)


@needs_core
@pytest.mark.parametrize("contrast", [1.0, 1e4])
def test_sqrt_jacobi_is_predicted_to_read_24_bytes_a_row_less_and_to_take_their_time_less(contrast):
    subject = of_box("", Box((128, 128, 128), contrast=contrast), 100_000)
    found = {
        precond: _predict.iteration(
            subject,
            machines.load("h200x4"),
            1,
            {"solver": "cg", "precond": precond, "storage": "symdia", "check_every": 10_000},
        )
        for precond in ("jacobi", "sqrt-jacobi")
    }
    less = found["jacobi"].ledger["memory_bytes"] - found["sqrt-jacobi"].ledger["memory_bytes"]
    assert less / subject.n == pytest.approx(24, abs=1.0)  # what is left is of looks at the residual
    assert 0.75 < found["sqrt-jacobi"].seconds / found["jacobi"].seconds < 0.9


@needs_core
def test_a_scaled_run_is_stored_as_the_whole_would_be():
    subject = of_box("", Box((64, 64, 512)), 1)
    assert subject.run.n * 56 < 50e6 < subject.n * 56
    assert _predict.iteration(subject, machines.load("h200x4"), 1, {"solver": "cg"}).storage == "symdia"
    assert (
        sordino.Solver(subject.run, ranks=1, solver="cg")
        .solve(np.ones(subject.run.n))
        .report.options["storage"]
        == "dia"
    )


@needs_core
def test_rows_kept_once_are_predicted_with_their_byte_each():
    subject = of_box("", Box((32, 32, 32)), 300_000)
    found = {
        s: _predict.iteration(subject, machines.load("h200x4"), 2, {"solver": "cg", "storage": s})
        for s in ("symdia", "constant")
    }
    assert found["constant"].storage == "constant"
    assert found["constant"].seconds < found["symdia"].seconds
    saved = found["symdia"].ledger["memory_bytes"] - found["constant"].ledger["memory_bytes"]
    assert saved / (32**3 / 2) == pytest.approx(31, abs=3)  # 4 diagonals of 8 B, but for the byte


def test_methods_that_suit_a_matrix_are_compared() -> None:
    real = sordino.poisson(4, 4, 4)
    skew = sp.csr_array(real + sp.diags_array([np.ones(63)], offsets=[1]))
    damped = sp.csr_array(real + 1j * sp.eye_array(64))
    phased = sp.csr_array(damped + sp.diags_array([np.full(63, 1j)], offsets=[1]))
    for matrix, methods in (
        (real, ["cg", "cgcg", "prcg"]),
        (real.astype(complex), ["cg", "cgcg", "prcg"]),
        (skew, ["bicgstab", "pipebicgstab"]),
        (-1 * real, ["bicgstab", "pipebicgstab"]),
        (damped, ["cocg", "bicgstab"]),
        (phased, ["bicgstab"]),
    ):
        assert suiting(as_csr(sp.csr_array(matrix))) == methods
