"""The picture of a plan: each task on a described machine, the critical path, and the command that draws it."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from sordino import BadArgument, _triangular_prediction, machines
from sordino.report import plan_picture


@pytest.fixture
def sweeps(laplacian):
    return _triangular_prediction.of_matrix(laplacian(10), "natural")


def plan_of(sweeps, ranks=2, workers=3, width=16):
    machine = machines.load("h200x4")
    machine["triangular"] |= {"workers": workers}
    return _triangular_prediction.modelled_plan(sweeps, machine, ranks, width)


def test_the_critical_path_ends_last_and_each_task_waits_for_the_one_before(sweeps):
    found = plan_of(sweeps)
    path = plan_picture.critical_path(found)
    assert found["end"][path[-1]] == found["seconds"] == found["end"].max()
    assert len(path) > 3 and found["last_needs"][path[0]] == -1
    for before, task in itertools.pairwise(path):
        assert found["last_needs"][task] == before
        assert before < task and found["end"][before] < found["begin"][task]


def test_a_worker_has_one_task_at_a_time_and_no_rank_more_workers_than_it_has(sweeps):
    found = plan_of(sweeps)
    lane = plan_picture.lanes(found)
    for one in range(lane.max() + 1):
        tasks = np.flatnonzero(lane == one)
        tasks = tasks[np.argsort(found["taken"][tasks], kind="stable")]
        assert len(set(found["ranks"][tasks])) == 1
        assert np.all(found["end"][tasks[:-1]] <= found["taken"][tasks[1:]])
    assert lane.max() + 1 == 2 * 3


def test_blocks_are_those_of_the_triangle(sweeps):
    found = plan_of(sweeps)
    assert found["widths"].sum() == 1000 and found["fronts"].sum() == len(found["rows"])
    assert set(found["owners"]) == {0, 1} == set(found["ranks"])
    assert found["widths"].max() <= 16


def test_the_seconds_are_those_that_are_predicted(sweeps):
    machine = machines.load("h100x2")
    rows = _triangular_prediction.predicted(sweeps, machine, [2])["predicted"]
    both = sum(
        _triangular_prediction.modelled_plan(
            _triangular_prediction.Sweeps([(sweeps.triangles[0][0], [way])], "", True), machine, 2
        )["seconds"]
        for way in ("forward", "backward")
    )
    assert rows[0]["seconds"] == pytest.approx(both, rel=1e-12)


def test_what_is_too_large_to_be_seen_or_has_too_few_blocks_is_refused(sweeps):
    machine = machines.load("h200x4")
    with pytest.raises(BadArgument, match=r"tasks, and a picture shows up to 3"):
        _triangular_prediction.modelled_plan(sweeps, machine, 1, 16, most_tasks=3)
    small = _triangular_prediction.of_triangle(sp.eye_array(2).tocsr(), True, "N")
    with pytest.raises(BadArgument, match="there are more ranks, 9, than the triangle has blocks, 2"):
        _triangular_prediction.modelled_plan(small, machine, 9)


def test_the_command_draws_it(cli, tmp_path, monkeypatch, laplacian):
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("A.mtx", sp.coo_array(laplacian(6)))
    words = ("predict", "trsv", "A.mtx", "--factor", "--ordering", "natural", "--ranks", "2", "--width", "8")
    code, out, _ = cli(*words, "--plan", "p.svg")
    assert code == 0 and "Drawn in p.svg." in out
    root = ElementTree.fromstring((tmp_path / "p.svg").read_text(encoding="utf-8"))
    label = root.attrib["aria-label"]
    assert (
        "A.mtx: the plan of a solve forward, on machine h200x4" in label and "on the critical path" in label
    )
    code, _, err = cli(*words, "--plan", "p.svg", "--json")
    assert code == 2 and "p.svg exists already" in err
    code, out, _ = cli(*words, "--plan", "p.svg", "--force", "--json")
    assert code == 0 and json.loads(out)["best"] == 2


def test_one_block_is_a_picture_too():
    found = plan_of(_triangular_prediction.of_triangle(sp.eye_array(1).tocsr(), True, "N"), ranks=1)
    assert plan_picture.critical_path(found) == [0]
    ElementTree.fromstring(plan_picture.drawing(found, "one & only"))
