"""``sordino bench faults``: each kind of fault, injected a few times on threads."""

from __future__ import annotations

import json

import pytest

import sordino
from sordino._native import core


@pytest.mark.parametrize("kind", ["dropped", "late", "throws", "memory"])
def test_a_fault_in_the_middle_of_a_solve_is_named(kind):
    found = core().fault_trial(kind, 1, 0.4, "cg", 3, 0.3, False)
    said = found["said"]
    where = f"rank {said['rank']}: command {said['command']}, iteration {said['iteration']}: "
    assert found["cause"].startswith(where)
    epochs = f", epoch {said['expected_epoch']} (seen {said['seen_epoch']})"
    assert (epochs in found["cause"]) == (said["seen_epoch"] is not None) == (kind in ("dropped", "late"))
    if kind in ("throws", "memory"):
        assert (said["rank"], said["command"], said["iteration"]) == (1, found["command"], found["iteration"])
    assert found["fault_s"] is not None and found["begin_s"] <= found["fault_s"] <= found["end_s"]


def test_a_trial_that_cannot_be_is_refused():
    with pytest.raises(core().Error, match="a device can fail on engine cuda only"):
        core().fault_trial("device", 1, 0.4, "cg", 3, 0.3, False)
    with pytest.raises(core().Error, match="there is no fault 'flood'"):
        core().fault_trial("flood", 1, 0.4, "cg", 3, 0.3, False)
    if not core().devices()["devices"]:
        with pytest.raises(core().Error, match="cuda engine") as raised:
            core().fault_trial("throws", 1, 0.4, "cg", 2, 0.3, False, engine="cuda")
        assert raised.value.code == "unsupported"


def test_the_campaign_counts(cli, tmp_path):
    record = tmp_path / "r.jsonl"
    code, out, err = cli(
        "bench", "faults", "--kinds", "throws", "--trials", "3", "--record", record, "--commit", "a"
    )
    assert code == 0, err
    row = json.loads(record.read_text())
    assert row["kind"] == "throws" and row["trials"] == row["ended"] == row["same_cause"] == 3
    assert "throws" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--kinds", "killed"], "not 'killed'"),
        (["--ranks", "1"], "a fault needs a survivor"),
        (["--timeout", "0"], "the timeout above 0"),
    ],
)
def test_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", "faults", *argv)
    assert code == 2 and sentence in err


@pytest.fixture
def campaign(fake_core):
    """Reads a command line on a machine that has GPUs, by its word."""
    from sordino.bench import faults
    from sordino.cli.common import Parser

    def read(argv, gpus=4, mpi=1):
        fake_core.cuda, fake_core.gpus, fake_core.mpi_size = gpus > 0, gpus, mpi
        parser = Parser("bench faults", "")
        faults.add_arguments(parser)
        return faults.campaign_of(parser.read(argv))

    return read


def test_trials_on_gpus_run_beside_each_other(campaign):
    assert campaign(["--engine", "cuda"])["lanes"] == ["0,1", "2,3"]
    assert campaign(["--engine", "cuda", "--ranks", "3"])["lanes"] == ["0,1,2"]
    assert campaign(["--engine", "cuda", "--devices", "1-3"])["lanes"] == ["1,2"]
    assert campaign(["--engine", "cuda"], gpus=1)["lanes"] == ["0"]  # shared by its ranks
    assert "killed" not in campaign(["--engine", "cuda"])["kinds"]
    assert "device" in campaign(["--engine", "cuda"])["kinds"]
    assert "device" not in campaign([])["kinds"]


def test_trials_are_dealt_out_to_the_gpus(campaign, monkeypatch):
    from sordino.bench import faults

    asked = []
    monkeypatch.setattr(
        faults, "_trials", lambda c, kind, *rest: asked.append((kind, *rest)) or [[]] * rest[-1]
    )
    on_gpus = campaign(["--engine", "cuda", "--trials", "5", "--seed", "7"])
    for kind in ("throws", "device"):
        assert len(faults._outcomes(on_gpus, kind)) == 5
    throws = sorted(rest for kind, *rest in asked if kind == "throws")
    assert [rest[1:] for rest in sorted(throws, key=lambda r: r[1])] == [[7, 3], [8, 2]]
    assert sorted(rest[1:] for kind, *rest in asked if kind == "device") == [[7 + k, 1] for k in range(5)]


def _said(**more):
    return {"rank": 1, "command": "Dot", "iteration": 3, "expected_epoch": None, "seen_epoch": None, **more}


def _outcome(**more):
    return {"status": "", "cause": "rank 1: an injected failure", "fault_s": 5.0, "begin_s": 4.0, "end_s": 5.1,
            "transport": "peer memory", "said": _said(), **more}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "outcome", "good"),
    [
        ("throws", {}, 1),
        ("throws", {"end_s": 9.0}, 0),  # too late
        ("throws", {"cause": "", "status": "converged", "said": _said(rank=None)}, 0),  # nobody threw
        ("dropped", {"cause": "", "status": "converged"}, 1),  # nobody waited for it
        ("device", {"cause": "the GPU is tired", "said": _said(rank=None)}, 0),  # nobody is named
    ],
)
def test_what_counts_as_reported(campaign, kind, outcome, good):
    from sordino.bench import faults

    row = faults._summary(campaign(["--engine", "cuda"]), kind, [[_outcome(**outcome)]])
    assert row["as_it_must_be"] == good and row["transport"] == "peer memory" and row["engine"] == "cuda"
    assert [kept["trial"] for trial in row["odd"] for kept in trial] == ([] if good else [0])
    assert all(outcome.items() <= kept.items() for trial in row["odd"] for kept in trial)


def test_survivors_say_the_same_as_values(campaign):
    from sordino.bench import faults

    read = campaign(["--engine", "cuda"])
    for other, good in ((_said(seen_epoch=4), 1), (_said(seen_epoch=5), 0)):
        outcomes = [_outcome(said=_said(seen_epoch=4)), _outcome(said=other)]
        row = faults._summary({**read, "processes": 2}, "late", [outcomes])
        assert row["same_cause"] == good and row["with_epochs"] == 1


@pytest.mark.parametrize(
    ("argv", "gpus", "sentence"),
    [
        (["--engine", "cuda"], 0, "is not in this build"),
        (["--engine", "cuda", "--devices", "7"], 4, "there is no device 7"),
        (["--engine", "cuda", "--kinds", "killed"], 4, "on engine cuda are dropped, late, throws, memory, device, not"),
        (["--engine", "model"], 4, "--engine is host or cuda"),
        (["--kinds", "device"], 4, "not 'device'"),
        (["--devices", "0"], 4, "--devices is for engine cuda"),
    ],
)  # fmt: skip
def test_bad_usage_of_gpus(cli, fake_core, argv, gpus, sentence):
    fake_core.cuda, fake_core.gpus = gpus > 0, gpus
    code, out, err = cli("bench", "faults", *argv)
    assert code == 2 and sentence in err and len(err.strip().splitlines()) == 1 and not out


def test_where_cuda_is_built_but_no_gpu_is_there(cli, fake_core):
    fake_core.cuda = True
    code, _, err = cli("bench", "faults", "--engine", "cuda")
    assert code == 2 and "needs a GPU, and none can be used here: no driver" in err


def test_processes_without_a_gpu_each(campaign, monkeypatch):
    from sordino.bench import faults

    monkeypatch.setattr(faults, "_launcher", lambda: "mpiexec")
    with pytest.raises(sordino.Unsupported, match="2 processes of 3 need 6 GPUs, and here are 4"):
        campaign(["--engine", "cuda", "--processes", "2", "--ranks", "3"], mpi=2)
    with_mpi = campaign(["--engine", "cuda", "--processes", "2"], mpi=2)
    assert with_mpi["lanes"] == ["0,1", "2,3"] and with_mpi["kinds"][-2:] == ["device", "killed"]
