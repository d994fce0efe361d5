"""The command line on a stand-in for the core: what is printed where, exit codes, files."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sordino
from sordino._native import core
from sordino.cli import display

pytestmark = pytest.mark.usefixtures("fake_core")


@pytest.fixture
def folder(tmp_path, monkeypatch, laplacian):
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("a.mtx", laplacian(5), precision=17)
    np.save("b.npy", np.arange(125.0))
    return tmp_path


def refused(result, sentence, code=2):
    status, out, err = result
    assert status == code and sentence in err
    assert out == "" or code == 4  # what is solved has been announced before a rank fails
    assert re.fullmatch(r"sordino: [^\n]*\n", err)


def test_solve_says_what_it_did(cli, folder):
    code, out, err = cli("solve", "a.mtx", "--rtol", "1e-9", "--ranks", "2")
    assert code == 0 and err == ""
    for part in (
        "a.mtx: 125 unknowns",
        "host engine, 2 ranks",
        "b = A*1",
        "Solved and verified",
        "17 reductions in all",
    ):
        assert part in out


def test_poisson_solves_and_writes_everything(cli, folder):
    code, out, _ = cli(
        "poisson", 6, 5, 4, "--output", "x.npy", "--report", "r.html", "--trace", "t.json", "--rtol", "1e-9"
    )
    assert code == 0 and "Poisson 6 x 5 x 4, 7-point stencil" in out
    np.testing.assert_allclose(np.load("x.npy"), 1, rtol=1e-6)
    assert "sordino poisson 6 5 4 --output x.npy" in (folder / "r.html").read_text()
    assert json.loads((folder / "t.json").read_text())["traceEvents"]
    assert sorted(os.listdir()) == ["a.mtx", "b.npy", "r.html", "t.json", "x.npy"]


def test_json_is_one_object_with_the_promised_keys(cli, folder):
    code, out, err = cli("solve", "a.mtx", "--rhs", "b.npy", "--json", "--solver", "cg")
    found = json.loads(out)
    assert code == 0 and err == ""
    assert {
        "status",
        "iterations",
        "true_residual",
        "seconds",
        "history",
        "recoveries",
        "ledger",
        "machine",
        "options",
    } <= set(found)
    assert found["options"]["solver"] == "cg" and len(found["history"]) == found["iterations"]
    assert found["machine"]["cores"] >= 1


def test_a_right_hand_side_and_a_first_guess(cli, folder, laplacian):
    assert cli("solve", "a.mtx", "--rhs", "b.npy", "--rtol", "1e-12", "-o", "x.mtx")[0] == 0
    x = scipy.io.mmread("x.mtx").ravel()
    np.testing.assert_allclose(laplacian(5) @ x, np.arange(125.0), atol=1e-8)
    code, out, _ = cli("solve", "a.mtx", "--rhs", "b.npy", "--x0", "x.mtx", "--json")
    assert code == 0 and json.loads(out)["iterations"] == 0


def test_not_converged_is_exit_code_3_and_keeps_the_best_x(cli, folder):
    code, out, err = cli("solve", "a.mtx", "--max-iterations", "2", "--output", "x.npy")
    assert code == 3 and "Not solved (max iterations)" in out and "does not meet the tolerance" in out
    assert np.load("x.npy").shape == (125,)
    code, out, err = cli("solve", "a.mtx", "--maxiter", "2", "--json")
    assert (
        code == 3 and json.loads(out)["status"] == "max_iterations" and err.startswith("sordino: not solved")
    )


def test_failures_of_devices_and_ranks_are_exit_code_4(cli, folder, fake_core):
    fake_core.fail = fake_core.Error("peer_failed", "rank 1 failed in the halo exchange: out of luck")
    refused(cli("solve", "a.mtx"), "rank 1 failed in the halo exchange", code=4)
    fake_core.fail = fake_core.Error("device", "device 0:\n fell off the bus")
    refused(cli("solve", "a.mtx", "--output", "x.npy"), "device 0: fell off the bus", code=4)
    assert not os.path.exists("x.npy")


def test_what_should_not_happen_is_still_one_sentence(cli, folder, fake_core):
    fake_core.fail = RuntimeError("odd")
    refused(cli("solve", "a.mtx"), "this should not happen (RuntimeError: odd)", code=4)


def test_options_from_a_file_come_after_flags(cli, folder):
    (folder / "run.json").write_text(json.dumps({"solver": "prcg", "rtol": 1e-3, "max_iterations": "500"}))
    _, out, _ = cli("solve", "a.mtx", "--options", "run.json", "--rtol", "1e-7", "--json")
    options = json.loads(out)["options"]
    assert (options["solver"], options["rtol"], options["maxiter"]) == ("prcg", 1e-7, 500)


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["solv"], "unknown command 'solv', did you mean 'solve'?"),
        (["fly"], "unknown command 'fly'; known: solve"),
        (["solve"], "the following arguments are required: FILE"),
        (["solve", "a.mtx", "b.mtx"], "'b.mtx' is one argument too many"),
        (["solve", "a.mtx", "--rtoll", "1"], "unknown option '--rtoll', did you mean '--rtol'?"),
        (["solve", "a.mtx", "--rtol=x"], "--rtol takes a number, not 'x'"),
        (["solve", "a.mtx", "--rtol"], "argument --rtol: expected one argument"),
        (["solve", "a.mtx", "--ranks", "2.5"], "--ranks takes a whole number, not '2.5'"),
        (["solve", "a.mtx", "--ranks", "-1"], "or 0 for as many as fit, not -1"),
        (["solve", "a.mtx", "--ranks", "126"], "126 ranks are more than the matrix has rows (125)"),
        (["solve", "a.mtx", "--engine", "cud"], "unknown engine 'cud', did you mean 'cuda'?"),
        (["solve", "a.mtx", "--engine", "cuda"], "engine 'cuda' is not in this build"),
        (["solve", "a.mtx", "--solver", "bicgstap"], "did you mean 'bicgstab'?"),
        (["solve", "a.mtx", "--solver", "cg", "--machine", "laptop"], "or for solver 'auto' to go by"),
        (["solve", "a.mtx", "--rt", "1"], "unknown option '--rt'"),
        (["solve", "none.mtx"], "there is no such file"),
        (["solve", "b.npy"], "b.npy: the matrix must be a SciPy sparse matrix or a 2-d array"),
        (["solve", "a.mtx", "--solver", "CG"], "unknown solver 'CG', did you mean 'cg'?"),
        (["solve", "a.mtx", "--solver", "lgmres"], "lgmres is not there: take bicgstab or gmres"),
        (["solve", "a.mtx", "--rhs", "none.npy"], "there is no such file"),
        (["solve", "a.mtx", "--output", "b.npy"], "exists already"),
        (["solve", "a.mtx", "--output", "none/x.npy"], "there is no folder"),
        (["solve", "a.mtx", "--output", "x.dat"], "written as .npy or .mtx"),
        (["solve", "a.mtx", "--report", "b.npy"], "a report is written as .html"),
        (["solve", "a.mtx", "--options", "none.json"], "there is no such file"),
        (["poisson", "4", "4"], "required: NZ"),
        (["poisson", "4", "4", "four"], "NZ must be a whole number, not 'four'"),
        (["poisson", "4", "4", "-4"], "at least one cell"),
        (["poisson", "4", "4", "4", "--stencil", "9"], "7 or 27 points"),
        (["poisson", "4", "4", "4", "--contrast", "-1"], "a number above 0"),
        (["poisson", "99999", "99999", "99999"], "bytes are available"),
        (["bench", "gc"], "unknown benchmark 'gc'"),
        (["doctor", "--jsn"], "unknown option '--jsn', did you mean '--json'?"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(cli, folder, argv, sentence):
    before = {name: (folder / name).read_bytes() for name in os.listdir()}
    refused(cli(*argv), sentence)
    assert {name: (folder / name).read_bytes() for name in os.listdir()} == before


def test_a_bad_file_of_options_is_one_line_too(cli, folder):
    (folder / "run.json").write_text('{"rt\\nol": 1}')
    refused(cli("solve", "a.mtx", "--options", "run.json"), "unknown option 'rt\\nol', did you mean 'rtol'?")


def test_help_and_version(cli, capsys):
    for argv in ([], ["--help"], ["--version"]):
        code, out, _ = cli(*argv)
        assert code == (0 if argv else 2) and "sordino" in out
    assert out == f"sordino {sordino.__version__} ({core().build_info()['commit']})\n"
    with pytest.raises(SystemExit) as left:
        cli("solve", "--help")
    text = capsys.readouterr().out
    assert left.value.code == 0
    for flag in ("--max-iterations", "--time-limit", "--no-deterministic", "--rhs", "--report", "100 %"):
        assert flag in text


def test_options_are_listed(cli):
    code, out, _ = cli("options")
    assert code == 0
    for part in (
        "--replace-every" if "--replace-every" in out else "--rtol",
        "cg|prcg",
        "h200x4",
        "any matrix",
    ):
        assert part in out
    found = json.loads(cli("options", "--json")[1])
    assert {"options", "solvers", "preconditioners", "machines", "aliases"} <= set(found)
    options = {option["name"]: option for option in found["options"]}
    assert options["maxiter"] == {
        "name": "maxiter", "type": "int", "default": 10000, "choices": None, "help": "iterations at most",
        "group": "solve", "flag": "--maxiter", "aliases": ["max_iterations"], "per_solve": True,
    }  # fmt: skip
    assert (
        options["engine"]["choices"] == ["auto", "host", "cuda", "model"]
        and not options["engine"]["per_solve"]
    )
    assert (
        out.index("Options: solve") < out.index("--rtol") < out.index("Options: run") < out.index("--ranks")
    )


def test_only_process_0_prints(cli, folder, fake_core, monkeypatch):
    fake_core.mpi_size = 2
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    code, out, _ = cli("solve", "a.mtx", "--ranks", "2")
    assert code == 0 and "2 processes x 2 ranks = 4 ranks" in out
    fake_core.mpi_rank = 1
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    assert cli("solve", "a.mtx", "--ranks", "2", "--output", "x.npy") == (0, "", "")
    assert cli("solve", "a.mtx", "--rtoll", "2") == (2, "", "")
    assert not os.path.exists("x.npy")
    code, _, err = cli("solve", "none.mtx")
    assert code == 2 and err.startswith("sordino: process 1: ")


def test_several_processes_without_mpi_are_refused(cli, folder, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    refused(cli("solve", "a.mtx"), "launched as 2 processes, but MPI cannot be used here")


def test_the_matrix_is_read_in_other_formats(cli, folder, laplacian):
    sp.save_npz("a.npz", laplacian(5))
    np.save("a.npy", laplacian(5).toarray())
    assert cli("solve", "a.npz")[0] == cli("solve", "a.npy")[0] == 0


def test_a_pattern_is_announced(cli, folder):
    (folder / "p.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n")
    assert "every entry is taken as 1" in cli("solve", "p.mtx")[1]


def test_plain_tables_line_up():
    table = display.plain_table("", ("kernel", "GB/s"), [("apply", "12.0"), ("a longer name", "1,234.5")])
    assert len({len(line) for line in table.splitlines() if line}) == 1


def test_a_table_wider_than_the_terminal_is_not_folded(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for columns in ("200", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        display.show_table("", ("what", "us"), [("pieces to all, and the kernels that write them", "12.0")])
        shown = capsys.readouterr().out
        assert "pieces to all, and the kernels that write them" in shown
        assert ("─" in shown) == (columns == "200")


def test_a_record_of_a_described_machine_runs_on_it_again(cli, folder):
    model = ("--engine", "model", "--ranks", "4")
    (folder / "rm.json").write_text(cli("poisson", 8, 8, 8, *model, "--machine", "summit", "--json")[1])

    def described(*more):
        code, out, err = cli("poisson", 8, 8, 8, "--options", "rm.json", "--json", *more)
        assert code == 0, err
        return (json.loads(out)["machine"]["described"] or {}).get("name")

    assert described() == "summit"
    assert described("--machine", "laptop") == "laptop"
    assert described("--engine", "host") is None


def test_far_more_ranks_than_cores_are_warned_of(cli, fake_core, monkeypatch):
    from sordino import machines

    monkeypatch.setattr(machines, "cores", lambda: 2)
    warning = "ranks take turns on the 2 cores here, which may take minutes: --ranks 2 is faster"
    assert f"65 {warning}" in cli("poisson", 5, 5, 5, "--ranks", 65)[2]
    assert warning not in cli("poisson", 5, 5, 5, "--ranks", 64)[2]
    assert warning not in cli("poisson", 5, 5, 5, "--ranks", 65, "--engine", "model")[2]


def test_options_and_help_say_the_same_of_a_nullspace(cli, fake_core):
    from sordino import _options
    from sordino.cli.common import words_for

    spec = _options.OptionSpec(
        "nullspace", "str", "none", "what A maps to zero", ("none", "constant"), "solve"
    )
    assert words_for(spec) == "none|constant|FILE"
