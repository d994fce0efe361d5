"""Descriptions of machines are data, and checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sordino import BadArgument, FileError, machines


@pytest.mark.parametrize("name", machines.names())
def test_the_machines_that_come_along_are_whole_and_say_their_sources(name):
    described = machines.load(name)
    assert described["name"] == name and described["description"]
    for field in machines.FIELDS:
        assert field in described["sources"], field


def test_known_names():
    assert {"abci", "cluster", "h200x4", "laptop", "oakforest-pacs", "summit"} <= set(machines.names())


def test_the_page_names_all_of_them():
    page = Path(__file__).parents[2] / "docs" / "predicting.md"
    _, _, section = page.read_text(encoding="utf-8").partition("\n## Machines\n")
    told = section.partition("\n## ")[0]
    assert [
        name for name in machines.names() if f"`{name}`" not in told and not name.startswith("h100x")
    ] == []


@pytest.mark.parametrize("devices", [1, 2, 4, 8, 16])
def test_a_host_with_any_number_of_h200(devices):
    described, four = machines.load(f"h200x{devices}"), machines.load("h200x4")
    assert described["name"] == f"h200x{devices}" and described["ranks_per_node"] == devices
    assert machines.hosts(described, devices) == 1
    same = [field for field in machines.FIELDS if field != "ranks_per_node"]
    assert [described[field] for field in same] == [four[field] for field in same]
    assert ("as on a host of four H200" in described["sources"]["link_latency_s"]) == (devices != 4)
    assert machines.load(described) == described


def test_a_machine_from_a_file_and_from_a_dictionary(tmp_path):
    described = machines.load("laptop")
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({key: described[key] for key in machines.FIELDS}))
    assert machines.load(path)["name"] == "mine"
    assert machines.load(described) == described


def test_paces_and_interruptions_are_whole_and_go_to_the_core():
    described = machines.load(
        changed(paces={"Dots": {"spread": 0.5}}, interruptions={"hz": 20, "seconds": 1e-4})
    )
    assert described["paces"] == {"Dots": {"bandwidth": 0.0, "spread": 0.5}}
    assert described["interruptions"] == {"hz": 20.0, "seconds": 1e-4, "draws": 0}
    given = machines.numbers(described)
    assert given["paces"] == described["paces"] and given["interruptions"] == described["interruptions"]
    assert "paces" not in machines.numbers(machines.load("laptop"))


def test_a_cache_and_a_push_are_whole_and_go_to_the_core():
    described = machines.load(changed(cache={"bytes": 1e6, "bandwidth": 1e12}, push={"seconds": 1e-6}))
    assert described["cache"] == {"bytes": 1e6, "share": 1.0, "bandwidth": 1e12}
    given = machines.numbers(described)
    assert given["cache"] == described["cache"] and given["push"] == {"seconds": 1e-6}
    late = {"rows": 1e5, "seconds": 1e-6}
    assert machines.numbers(machines.load(changed(late_blocks=late)))["late_blocks"] == late
    assert all("cache" not in machines.load(name) for name in ("abci", "cluster", "laptop", "summit"))


def changed(**fields):
    described = {**machines.load("laptop"), **fields}
    return {key: value for key, value in described.items() if value is not None}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("h200", "unknown machine 'h200', did you mean 'h200x4'?"),
        (
            "zuse",
            "unknown machine 'zuse'; known: abci, cluster, gmh, h100x2, h200x4, laptop, oakforest-pacs, offload, "
            "reedbush-h, summit, tsubame-3, h200xN",
        ),
        (changed(launch_s=None), "lacks the field 'launch_s'"),
        (changed(lunch_s=1.0), "unknown field 'lunch_s', did you mean 'launch_s'?"),
        (changed(launch_s="fast"), "'launch_s' must be a number, not 'fast'"),
        (changed(launch_s=True), "'launch_s' must be a number"),
        (changed(launch_s=float("nan")), "'launch_s' must be a number"),
        (changed(launch_s=-1), "'launch_s' must be at least 0"),
        (changed(memory_bandwidth=0), "'memory_bandwidth' must be above 0"),
        (changed(ranks_per_node=2.5), "'ranks_per_node' must be a whole number"),
        (changed(pace={}), "unknown field 'pace', did you mean 'paces'?"),
        (changed(paces=[]), "'paces' must be a JSON object, not []"),
        (changed(paces={"Dots": 1.0}), "the pace of 'Dots' must be a JSON object, not 1.0"),
        (changed(paces={"Dots": {"speed": 1.0}}), "the pace of 'Dots' has an unknown field 'speed'"),
        (changed(paces={"Dots": {"bandwidth": -1}}), "'bandwidth' must be at least 0, not -1"),
        (
            changed(paces={"Dots": {"spread": 1.5}}),
            "the spread of 'Dots' is a part of its time, from 0 to 1, not 1.5",
        ),
        (
            changed(cache={"bytes": 1e6}),
            "a 'cache' has 'bytes' and a 'bandwidth' above 0, and a 'share' above 0",
        ),
        (changed(cache={"bytes": 1e6, "bandwidth": 1e12, "share": 1.5}), "above 0 and at most 1"),
        (changed(cache={"size": 1e6}), "'cache' has an unknown field 'size'"),
        (changed(push={"seconds": -1}), "'seconds' must be at least 0, not -1"),
        (changed(interruptions=3), "'interruptions' must be a JSON object, not 3"),
        (changed(interruptions={"hertz": 3}), "interruptions has an unknown field 'hertz'"),
        (changed(interruptions={"hz": 1000, "draws": 0.5}), "'draws' must be a whole number, not 0.5"),
        (changed(interruptions={"hz": 1000, "seconds": 1e-3}), "leave a rank no time"),
        (changed(interruptions={"hz": 1e19, "seconds": 1e-20}), "at most 1,000,000 a second, not 1e+19"),
    ],
)
def test_a_bad_description_gets_one_sentence(given, sentence):
    with pytest.raises(BadArgument, match=r"^[^\n]*$") as refused:
        machines.load(given)
    assert sentence in str(refused.value)


def test_bad_files(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        machines.load(tmp_path / "none.json")
    for text, sentence in (("{", "not valid JSON"), ("[]", "must hold one JSON object")):
        (tmp_path / "m.json").write_text(text)
        with pytest.raises(BadArgument, match=sentence):
            machines.load(tmp_path / "m.json")
