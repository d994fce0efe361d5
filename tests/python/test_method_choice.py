"""What ``solver="auto"`` takes, on the compiled core."""

from __future__ import annotations

import numpy as np
import pytest

import sordino
from sordino import machines
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
