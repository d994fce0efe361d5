"""A short round of tools/fuzz_readers.py over damaged files; that it notices what it must not let pass."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import warnings
from pathlib import Path

import pytest

from sordino import FileError

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture(scope="module")
def fuzz():
    sys.path.insert(0, str(TOOLS))
    yield importlib.import_module("fuzz_readers")
    sys.path.remove(str(TOOLS))


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("matrix_market", 600),
        ("harwell_boeing", 600),
        ("options", 600),
        ("machine", 300),
        ("numpy", 300),
        ("matlab", 300),
        ("factors", 300),
        ("bem_bb", 600),
        ("gmsh", 600),
    ],
)
def test_a_short_round(fuzz, kind, count):
    row, found = fuzz.run(7, kind, count, batch=200)
    assert found == []
    assert row["accepted"] + row["refused"] == count and min(row["accepted"], row["refused"]) > 0


def test_an_input_is_named_by_seed_kind_and_index(fuzz):
    assert fuzz.made(3, "options", 5) == fuzz.made(3, "options", 5) != fuzz.made(4, "options", 5)


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("a.mtx is empty", ""),
        ("", "no sentence"),
        ("one\ntwo", "line break"),
        ("x" * 301, "301 characters"),
        ("'NoneType' object is not subscriptable", "NoneType"),
        ("a.mtx does not fit into the memory of this machine", "memory"),
    ],
)
def test_what_is_no_sentence(fuzz, sentence, wrong):
    said = fuzz.complaint(sentence)
    assert wrong in said and bool(said) == bool(wrong)


def test_whatever_is_no_refusal_is_a_finding(fuzz, tmp_path, monkeypatch):
    name = str(tmp_path / "a.mtx")

    def warn(path):
        warnings.warn("careless", stacklevel=1)

    def fail(path):
        raise FileError("a.mtx is empty")

    def compute(path):
        sum(range(10**6))

    assert fuzz.judge(lambda path: None, name, valid=False) == (True, "")
    assert fuzz.judge(fail, name, valid=False) == (False, "")
    assert fuzz.judge(fail, name, valid=True)[1].startswith("a sound file is refused")
    assert fuzz.judge(warn, name, valid=False)[1] == "a warning: careless"
    assert fuzz.judge(lambda path: [][0], name, valid=False)[1].startswith("IndexError")
    monkeypatch.setattr(fuzz, "SECONDS", 1e-6)
    assert "processor time" in fuzz.judge(compute, name, valid=False)[1]


@pytest.mark.parametrize("end", ["dies", "hangs"])
def test_a_reader_that_dies_or_hangs_costs_one_input(fuzz, monkeypatch, end):
    def read(path):
        if os.path.getsize(path) % 7 == 0:
            os.kill(os.getpid(), signal.SIGKILL) if end == "dies" else fuzz.time.sleep(60)

    monkeypatch.setitem(fuzz.USES, "machine", read)
    monkeypatch.setattr(fuzz, "HANG", 0.2)
    sizes = [len(fuzz.made(1, "machine", index).content) for index in range(12)]
    bad = [index for index, size in enumerate(sizes) if size % 7 == 0]
    row, found = fuzz.run(1, "machine", 12)
    assert [index for index, _ in found] == bad and 0 < len(bad) < 12
    assert all(("SIGKILL" if end == "dies" else "no end") in said for _, said in found)
    assert row["accepted"] == 12 - len(bad)
