"""What is refused is refused with a sentence that says what to do next."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sordino
from sordino import machines
from sordino.cli import doctor


def test_a_word_that_is_far_from_all_others_gets_no_suggestion(cli):
    code, _, err = cli("poisson", 8, 8, 8, "--rhs", "b.npy")
    assert code == 2 and "unknown option '--rhs' (sordino poisson --help lists all)" in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_behind_the_output_is_one_sentence():

    for command in ("poisson 8 8 8 --engine host --json", "options"):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "sordino", *command.split()],
                stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
            )  # fmt: skip
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert "the output cannot be written (No space left on device): make room" in done.stderr


def test_a_file_of_matlab_4_is_to_be_saved_again(cli, tmp_path):
    scipy.io.savemat(tmp_path / "old.mat", {"A": np.eye(3)}, format="4")
    code, _, err = cli("solve", tmp_path / "old.mat")
    assert code == 2 and "version 5 to 7" in err and "save it with save(..., '-v7')" in err


def test_a_matrix_that_is_solved_at_once_is_too_small_to_be_predicted(cli, tmp_path):
    scipy.io.mmwrite(tmp_path / "a.mtx", 2 * sp.eye_array(5).tocoo())
    code, _, err = cli("predict", tmp_path / "a.mtx", "--ranks", "2")
    assert code == 2 and "too few to be timed: give a larger matrix" in err


def test_why_a_method_has_no_number_stands_below_the_table(cli, tmp_path):
    A = sp.diags_array([np.full(49, -1.0), np.full(50, 4.0), np.full(49, -2.0)], offsets=[-1, 0, 1])
    scipy.io.mmwrite(tmp_path / "a.mtx", A.tocoo())
    code, out, _ = cli("predict", "--solvers", "cg,bicgstab", tmp_path / "a.mtx", "--ranks", "2")
    assert code == 0 and "\ncg: not counted: " in out and "not symmetric" in out
    assert max(len(line) for line in out.splitlines() if line.startswith(("solver", "cg  "))) < 140


def test_ranks_of_several_hosts_are_told_as_such(cli):
    argv = ("predict", "poisson", 8, 8, 8, "--solvers", "cg", "--iterations", 50)
    code, out, _ = cli(*argv, "--ranks", "4,8")
    assert code == 0 and "4 ranks are" not in out
    assert (
        "8 ranks are 2 hosts of h200x4, which has 4 ranks a host; the link between them is assumed.\n" in out
    )
    _, out, _ = cli(*argv, "--ranks", "4,8", "--json")
    assert [verdict["hosts"] for verdict in json.loads(out)["verdicts"]] == [1, 2]
    one_host = {**machines.load("h200x4"), "ranks_per_node": 0}
    assert machines.hosts(one_host, 1000) == 1


def test_a_diagonal_as_a_vector_and_half_a_nullspace():
    A = sordino.poisson(4, 4, 4)
    with pytest.raises(sordino.BadArgument, match=r"give a diagonal as scipy\.sparse\.diags_array\(M\)"):
        sordino.solve(A, np.ones(64), M=np.ones(64))
    with pytest.raises(sordino.BadArgument, match="give what A itself maps to zero as nullspace, too"):
        sordino.solve(A, np.ones(64), left_nullspace=np.ones(64))


def test_what_help_says_of_cocg_and_of_files_of_nullspaces(cli, shell):
    _, out, _ = cli("options")
    (row,) = [line for line in out.splitlines() if line.strip().startswith("cocg ")]
    assert "complex symmetric" in row
    assert "--nullspace none|constant|FILE" in shell("solve", "--help").stdout


def test_doctor_names_no_package_that_nothing_imports():
    assert "matplotlib" not in doctor.EXTRAS and "trimesh" not in doctor.EXTRAS
