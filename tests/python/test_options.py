"""Options come from one table: names, types and suggestions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sordino import BadArgument, FileError, _options


def test_every_row_of_the_table_is_an_option(fake_core):
    assert list(_options.specs()) == [row["name"] for row in fake_core.options()]
    assert _options.specs()["time_limit"].flag == "--time-limit"


def test_other_names_are_those_that_the_core_takes_from_c():
    source = (Path(__file__).resolve().parents[2] / "src/sordino/api/options.cpp").read_text()
    assert dict(re.findall(r'\{"(\w+)", "(\w+)"\}', source)) == _options.ALIASES


def test_values_keep_or_get_their_type(fake_core):
    given = {
        "rtol": np.float64(1e-8),
        "ranks": np.int32(3),
        "deterministic": np.True_,
        "solver": "cg",
        "atol": 1,
    }
    checked = _options.check(given)
    assert checked == {"rtol": 1e-8, "ranks": 3, "deterministic": True, "solver": "cg", "atol": 1.0}
    assert [type(checked[name]) for name in ("rtol", "ranks", "deterministic", "atol")] == [
        float,
        int,
        bool,
        float,
    ]


def test_none_means_the_default(fake_core):
    assert _options.check({"rtol": None, "devices": None}) == {}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"rtoll": 1e-8}, "unknown option 'rtoll', did you mean 'rtol'?"),
        ({"max_iteration": 3}, "did you mean 'max_iterations'?"),
        ({"colour": "red"}, "unknown option 'colour'; sordino options lists all of them"),
        ({"solver": "bicgstap"}, "unknown solver 'bicgstap', did you mean 'bicgstab'?"),
        ({"solver": "pcg"}, "unknown solver 'pcg', did you mean 'cg'?"),
        ({"solver": "CG"}, "unknown solver 'CG', did you mean 'cg'?"),
        ({"solver": "FGMRES"}, "unknown solver 'FGMRES', did you mean 'gmres'?"),
        (
            {"solver": "LGMRES"},
            "unknown solver 'LGMRES': lgmres is not there: take bicgstab or gmres, if need be with an",
        ),
        ({"solver": "minres"}, "minres is not there: take cg for a positive definite matrix"),
        ({"preconditioner": "jacobi"}, "unknown option 'preconditioner', did you mean 'precond'?"),
        ({"engine": "abacus"}, "unknown engine 'abacus'; known: auto, host, cuda, model"),
        ({"ranks": 2.5}, "option 'ranks' takes a whole number, not 2.5"),
        ({"maxiter": 10**12}, "option 'maxiter' is at most 2,147,483,647, not 1000000000000"),
        ({"report": "r.html"}, "unknown option 'report'; sordino options lists all of them"),
        ({"ranks": True}, "option 'ranks' takes a whole number"),
        ({"rtol": "small"}, "option 'rtol' takes a number, not 'small'"),
        ({"rtol": float("nan")}, "option 'rtol' is not a number"),
        ({"deterministic": 1}, "takes True or False"),
        ({"solver": 3}, "option 'solver' takes a word"),
        ({"solver": "cg", "method": "cg"}, "option 'solver' is given twice, once as 'method'"),
        ({"devices": "0,0"}, "names no device, or one of them twice"),
        ({"devices": "3-0"}, "counts upwards, as 0-3 does, not '3-0'"),
        ({"devices": b"0"}, "takes numbers such as 0-3"),
        ({"devices": []}, "names no device"),
        ({"devices": "gpu"}, "takes numbers such as 0-3"),
        ({"devices": [-1]}, "takes numbers such as 0-3"),
        ({"devices": "0-999999999"}, "takes numbers such as 0-3"),
    ],
)
def test_what_cannot_be_used_is_refused_with_one_sentence(fake_core, given, sentence):
    with pytest.raises(BadArgument, match=r"^[^\n]*$") as refused:
        _options.check(given)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("given", ["0-2", "0,1,2", " 0-1, 2", [0, 1, 2], (0, 1, 2), np.arange(3), range(3)])
def test_devices_have_one_form(fake_core, given):
    assert _options.check({"devices": given}) == {"devices": "0,1,2"}


def test_a_list_and_ranges_of_devices_go_together(fake_core):
    assert _options.check({"devices": "0-3,5"}) == {"devices": "0,1,2,3,5"}
    assert _options.check({"devices": 2}) == {"devices": "2"}
    assert _options.check({"devices": ""}) == {"devices": ""}


def test_aliases_stand_for_their_option(fake_core):
    assert _options.check({"max_iterations": 7, "method": "cg", "M": "none"}) == {
        "maxiter": 7,
        "solver": "cg",
        "precond": "none",
    }


def test_a_solve_takes_only_what_may_change(fake_core):
    with pytest.raises(BadArgument, match="option 'solver' is fixed at setup"):
        _options.check({"solver": "cg"}, allowed=_options.PER_SOLVE)


def test_a_file_of_options(fake_core, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"solver": "prcg", "rtol": 1e-9}))
    assert _options.load(str(path)) == {"solver": "prcg", "rtol": 1e-9}


def test_a_file_of_options_may_name_a_machine(fake_core, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"engine": "model", "machine": "summit"}))
    assert _options.load(path) == {"engine": "model", "machine": "summit"}
    record = {
        "status": "converged",
        "options": {"engine": "model"},
        "machine": {"cores": 2, "described": None},
    }
    path.write_text(json.dumps(record))
    assert _options.load(path) == {"engine": "model"}
    path.write_text(json.dumps({"machine": 7}))
    with pytest.raises(BadArgument, match=r"'machine' is a name, a \.json file or a description, not 7"):
        _options.load(path)


@pytest.mark.parametrize("text", ["{", "[1]", '{"solverr": "cg"}', '{"rtol": "x"}', "[" * 100000])
def test_a_bad_file_of_options(fake_core, tmp_path, text):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(BadArgument, match=r"^[^\n]*$"):
        _options.load(str(path))


def test_a_missing_or_binary_file_of_options(fake_core, tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        _options.load(str(tmp_path / "none.json"))
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(FileError, match="not a text file"):
        _options.load(str(tmp_path / "binary.json"))
