"""What ``solver="auto"`` takes, on the compiled core."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _predict, machines
from sordino._box import Box
from sordino._predict import RUNS, iteration
from sordino._subject import of_box

pytest.importorskip("sordino._core")

#: Machines, cells and ranks: from waits alone to bytes alone.
PLACES = [
    ("summit", (24, 24, 48), 12),
    ("summit", (56, 56, 56), 2),
    ("abci", (16, 16, 64), 16),
    ("abci", (48, 48, 48), 3),
    ("oakforest-pacs", (24, 24, 24), 4),
    ("oakforest-pacs", (16, 16, 64), 16),
    ("h200x4", (24, 24, 24), 4),
    ("h200x8", (16, 16, 64), 8),
    ("h200x2", (64, 64, 64), 2),
    ("cluster", (32, 32, 32), 8),
    ("offload", (24, 24, 48), 8),
    ("laptop", (40, 40, 40), 4),
]
ALIKE = ("cg", "cgcg", "gropp", "prcg")


@pytest.mark.parametrize(("machine", "cells", "ranks"), PLACES)
def test_what_auto_takes_is_predicted_to_be_at_most_a_tenth_slower_than_the_best(machine, cells, ranks):
    box = of_box("box", Box(cells))
    taken = sordino.Solver(box.run, engine="model", machine=machine, ranks=ranks)
    report = taken.solve(np.ones(box.n), maxiter=1, on_failure="return").report
    described = machines.load(machine)
    seconds = {
        solver: iteration(box, described, ranks, {"solver": solver}, runs=RUNS[1:]).seconds
        for solver in {*ALIKE, report.options["solver"]}
    }
    assert seconds[report.options["solver"]] <= 1.1 * min(seconds[solver] for solver in ALIKE), (
        report.solver_reason,
        seconds,
    )


def test_places_tell_methods_apart():
    """Else a choice that is always the same would pass the test above."""
    taken = set()
    for machine, cells, ranks in PLACES:
        solver = sordino.Solver(of_box("box", Box(cells)).run, engine="model", machine=machine, ranks=ranks)
        taken.add(solver.solve(np.ones(solver.n), maxiter=1, on_failure="return").report.options["solver"])
    assert len(taken) >= 3, taken


def test_report_says_which_method_auto_took_and_why(tmp_path):
    A = sordino.poisson(16, 16, 16)
    solution = sordino.solve(A, np.ones(A.shape[0]), engine="model", machine="oakforest-pacs", ranks=4)
    report = solution.report
    assert report.options["solver"] == "cbcg"
    assert "an iteration on 4 ranks of the described machine, and cg" in report.solver_reason
    page = tmp_path / "report.html"
    report.save_html(page)
    assert f"The solver is cbcg: {report.solver_reason}." in page.read_text()


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_asked_for_is_not_explained(ranks):
    A = sordino.poisson(8, 8, 8)
    report = sordino.solve(A, np.ones(A.shape[0]), solver="cgcg", engine="host", ranks=ranks).report
    assert (report.options["solver"], report.solver_reason) == ("cgcg", "asked for")


def test_on_the_host_auto_goes_by_a_description_if_there_is_one():
    A = sordino.poisson(8, 8, 24)
    b = np.ones(A.shape[0])
    unknown = sordino.solve(A, b, engine="host", ranks=2).report
    assert (unknown.options["solver"], unknown.machine) == ("cg", None)
    assert unknown.solver_reason == "nobody has described this machine"
    known = sordino.solve(A, b, engine="host", ranks=2, machine="oakforest-pacs").report
    assert (known.options["solver"], known.machine) == ("cbcg", None)
    estimated = sordino.estimate_memory(A, engine="host", ranks=2, machine="oakforest-pacs")["bytes_per_rank"]
    assert estimated > sordino.estimate_memory(A, engine="host", ranks=2)["bytes_per_rank"]


def test_a_machine_for_a_method_that_is_asked_for_is_refused_on_a_real_engine():
    A = sordino.poisson(4, 4, 4)
    with pytest.raises(sordino.BadArgument, match="or for solver 'auto' to go by"):
        sordino.Solver(A, engine="host", solver="cg", machine="laptop")


def test_command_line_says_what_auto_took(cli):
    words = ["--engine", "model", "--machine", "oakforest-pacs", "--ranks", "4"]
    status, out, err = cli("poisson", "8", "8", "32", *words)
    assert (status, err) == (0, "")
    assert "The solver is cbcg: it takes" in " ".join(out.split())
    assert "The solver is" not in cli("poisson", "8", "8", "32", *words, "--solver", "cg")[1]


def rows_of(A, **options):
    return sordino.RowsSolver(None, A, **{"ranks": 4, **options})


def test_rows_of_a_caller_are_solved_by_what_a_solver_takes():
    A = sordino.poisson(16, 16, 64)
    b = np.ones(A.shape[0])
    taken = set()
    for machine in ("oakforest-pacs", "summit", "laptop"):
        options = {"ranks": 8, "machine": machine, "storage": "csr"}
        whole = sordino.solve(A, b, engine="host", **options).report
        report = rows_of(A, engine="host", **options).solve(b).report
        assert report.options["solver"] == whole.options["solver"]
        assert report.solver_reason == whole.solver_reason and report.machine is None
        taken.add(report.options["solver"])
    assert len(taken) > 1, taken


def test_rows_of_a_caller_stay_with_cg_where_nobody_has_described_the_machine():
    A = sordino.poisson(8, 8, 24)
    b = np.ones(A.shape[0])
    for options, reason in (
        ({}, "nobody has described this machine"),
        ({"machine": "oakforest-pacs", "rtol": 1e-11}, "others lose digits, and rtol is below 1e-10"),
        ({"solver": "cg"}, "asked for"),
    ):
        report = rows_of(A, engine="host", **options).solve(b).report
        assert (report.options["solver"], report.solver_reason) == ("cg", reason)
    skew = sp.csr_array(A + sp.diags_array([np.full(A.shape[0] - 1, 0.1)], offsets=[1]))
    report = rows_of(skew, engine="host", machine="oakforest-pacs").solve(b).report
    assert (report.options["solver"], report.solver_reason) == ("bicgstab", "the matrix is not symmetric")
    with pytest.raises(sordino.BadArgument, match="or for solver 'auto' to go by"):
        rows_of(A, engine="host", solver="cg", machine="laptop")


def test_rows_of_a_caller_on_the_model_run_on_the_machine_that_decides():
    A = sordino.poisson(8, 8, 24)
    report = rows_of(A, engine="model", machine="oakforest-pacs").solve(np.ones(A.shape[0])).report
    assert report.options["solver"] == "cbcg" and report.machine["name"] == "oakforest-pacs"
    fast = rows_of(A, engine="model").solve(np.ones(A.shape[0])).report
    assert fast.machine["name"] == machines.DEFAULT and fast.seconds < report.seconds


def test_predict_says_what_auto_takes_and_counts_it_in(cli):
    words = ("--machine", "oakforest-pacs,h200x4", "--ranks", "1,4", "--iterations", 9)
    code, out, err = cli("predict", "poisson", 16, 16, 16, *words, "--json")
    assert code == 0, err
    found = json.loads(out)
    taken = {(v["machine"], v["ranks"]): v["auto"] for v in found["verdicts"]}
    described = machines.load("oakforest-pacs")
    solver = sordino.Solver(
        sordino.poisson(16, 16, 16), engine="model", machine=described, ranks=4, rtol=1e-5
    )
    report = solver.solve(np.ones(4096), maxiter=1, on_failure="return").report
    assert taken["oakforest-pacs", 4] == ["cbcg", report.solver_reason]
    for machine in ("oakforest-pacs", "h200x4"):
        assert taken[machine, 1][0] == "cgcg"
        assert "an iteration on 1 rank of the described machine" in taken[machine, 1][1]
    assert {row["solver"] for row in found["predicted"]} == {"cg", "cgcg", "prcg", "cbcg"}
    (row,) = (
        row
        for row in found["predicted"]
        if (row["solver"], row["ranks"], row["described_machine"]) == ("cbcg", 4, "oakforest-pacs")
    )
    assert told(report.solver_reason) == pytest.approx(row["iteration_s"], rel=0.05)
    code, out, err = cli("predict", "poisson", 16, 16, 16, *words)
    assert code == 0 and "solver auto takes cbcg on 4 ranks: it takes" in out
    code, out, err = cli("predict", "poisson", 16, 16, 16, *words, "--solver", "cg")
    assert code == 0 and "solver auto" not in out


def told(reason):
    """The seconds of "it takes 69.6 us an iteration"."""
    number, unit = reason.split()[2:4]
    return float(number) * {"us": 1e-6, "ms": 1e-3}[unit]


def test_predict_of_a_scaled_box_says_what_auto_takes_of_the_whole():
    box, described = Box((48, 48, 48)), machines.load("summit")
    found = [_predict.automatic(of_box("", box, most), described, 12, {}, 1e-5) for most in (box.n, 30_000)]
    assert found[0][0] == found[1][0] != "cg"
    assert told(found[0][1]) == pytest.approx(told(found[1][1]), rel=0.02)


def test_doctor_says_what_auto_takes_here(cli):
    code, out, err = cli("doctor", "--solver", "auto", "--json")
    assert code == 0, err
    found = json.loads(out)
    ranks = found["will_run"]["ranks"]
    assert (found["solver"]["taken"], found["solver"]["why"]) == ("cg", "nobody has described this machine")
    code, out, err = cli("doctor", "--solver", "auto", "--machine", "oakforest-pacs")
    taken = "cbcg for Poisson 32 x 32 x 32: it takes" if ranks > 1 else "cg for Poisson"
    assert code == 0 and f"Solver auto takes {taken}" in out
    code, out, err = cli("doctor", "--machine", "summit")
    assert code == 2 and "--machine is what --solver auto goes by" in err
    assert "Solver auto" not in cli("doctor")[1]


CBCG = {"solver": "cbcg", "s": "auto", "engine": "model", "ranks": 4}


def test_s_auto_goes_by_the_machine_and_the_report_says_why(tmp_path):
    A = sordino.poisson(16, 16, 16)
    b = np.ones(A.shape[0])
    slow = sordino.solve(A, b, machine="oakforest-pacs", **CBCG).report
    quick = sordino.solve(A, b, machine={**machines.load("laptop"), "reduction_base_s": 0.0}, **CBCG).report
    assert 1 <= quick.options["s"] < slow.options["s"] <= 12
    assert (
        slow.s_reason.startswith("an iteration takes ")
        and "4 ranks of the described machine" in slow.s_reason
    )
    page = tmp_path / "report.html"
    slow.save_html(page)
    assert f"It takes {slow.options['s']} iterations at once: {slow.s_reason}." in page.read_text()
    asked = sordino.solve(A, b, **{**CBCG, "s": slow.options["s"]}, machine="oakforest-pacs").report
    assert asked.s_reason == "asked for" and asked.ledger["reductions"] == slow.ledger["reductions"]


def test_s_auto_takes_the_papers_where_nobody_has_described_the_machine():
    A = sordino.poisson(8, 8, 8)
    b = np.ones(A.shape[0])
    for basis, s in (("chebyshev", 12), ("monomial", 3)):
        report = sordino.solve(A, b, solver="cbcg", s="auto", basis=basis, engine="host", ranks=2).report
        assert (report.options["s"], report.s_reason) == (s, "nobody has described this machine")
    other = sordino.solve(A, b, solver="cg", s="auto", engine="host", ranks=2).report
    assert (other.options["s"], other.s_reason) == ("auto", "")


def test_a_machine_may_be_described_for_s_alone():
    A = sordino.poisson(8, 8, 24)
    b = np.ones(A.shape[0])
    options = {"solver": "cbcg", "engine": "host", "ranks": 4, "machine": "oakforest-pacs"}
    report = sordino.solve(A, b, s="auto", **options).report
    assert (report.machine, report.s_reason[:18]) == (None, "an iteration takes")
    with pytest.raises(sordino.BadArgument, match="or for solver 'auto' to go by, or s 'auto' of cbcg"):
        sordino.solve(A, b, s=4, **options)
    rows = rows_of(A, s="auto", **options).solve(b).report
    assert (rows.options["s"], rows.s_reason) == (report.options["s"], report.s_reason)


def test_s_is_a_number_or_auto_and_nothing_else():
    A = sordino.poisson(4, 4, 4)
    for wrong in ("12", "many", 2.5, True):
        with pytest.raises(sordino.BadArgument, match="option 's' takes a whole number, or 'auto', not"):
            sordino.Solver(A, solver="cbcg", s=wrong)
    with pytest.raises(sordino.BadArgument, match="s must be auto, or from 1 to 16, not 0"):
        sordino.Solver(A, solver="cbcg", s=0)


def test_command_line_and_files_take_s_auto(cli, tmp_path):
    words = ["--engine", "model", "--machine", "oakforest-pacs", "--ranks", "4", "--solver", "cbcg"]
    status, out, err = cli("poisson", "8", "8", "32", *words, "--s", "auto")
    assert (status, err) == (0, "")
    assert "It takes 12 iterations at once: an iteration takes" in " ".join(out.split())
    assert "at once" not in cli("poisson", "8", "8", "32", *words, "--s", "4")[1]
    file = tmp_path / "options.json"
    file.write_text(json.dumps({"s": "auto"}))
    facts = json.loads(cli("poisson", "8", "8", "32", *words, "--options", str(file), "--json")[1])
    assert facts["options"]["s"] == 12 and facts["s_reason"].startswith("an iteration takes")
