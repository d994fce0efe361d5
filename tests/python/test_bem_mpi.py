"""H-matrices over several processes: each builds the matrix, ranks of all share it, and the first one writes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sordino
from sordino.io import load_hmatrix
from sordino.surfaces import pair

pytestmark = pytest.mark.mpi

PAIR = ("bem", "pair:6,5", "--eps", 1e-6, "--rtol", 1e-9, "--engine", "host", "--json")
RANKS = 4


@pytest.fixture
def mpirun(mpirun_python):
    def run(processes, *argv):
        done = mpirun_python(processes, "-m", "sordino", *argv, "--ranks", RANKS // processes)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("distribution", ["rows", "leaves", "grid"])
def test_every_layout_of_processes_finds_the_same_charge_to_the_bit(mpirun, tmp_path, distribution):
    found = {}
    for processes in (1, 2, 4):
        file = f"{processes}.npy"
        told = mpirun(
            processes,
            *PAIR,
            "--distribution",
            distribution,
            "--output",
            file,
            "--report",
            "r.html",
            "--force",
        )
        assert told["problem"]["processes"] == processes and told["status"] == "converged"
        assert f"{processes} x {RANKS // processes}" in (tmp_path / "r.html").read_text() or processes == 1
        assert f"of 4 ranks multiplies which block, by {distribution}" in (tmp_path / "r.html").read_text()
        found[processes] = np.load(tmp_path / file), told["history"], told["ledger"]["messages"]
    alone = found[1]
    exact = sordino.bem(pair(6, 5), eps=1e-9, rtol=1e-10).density
    assert np.linalg.norm(alone[0] - exact) <= 1e-4 * np.linalg.norm(exact)
    for density, history, messages in found.values():
        assert np.array_equal(density, alone[0]) and history == alone[1] and messages == alone[2]


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_matrix_is_written_once_and_taken_by_another_number_of_processes(mpirun, tmp_path, processes):
    written = mpirun(processes, *PAIR, "--save-matrix", "pair.hmatrix", "--output", "built.npy")
    H, here = load_hmatrix(tmp_path / "pair.hmatrix", pair(6, 5)), sordino.hmatrix(pair(6, 5), 1e-6)
    assert np.array_equal(H @ np.ones(600), here @ np.ones(600))
    again = mpirun(4 // processes, *PAIR, "--matrix", "pair.hmatrix", "--output", "read.npy")
    assert again["history"] == written["history"] and again["stored_bytes"] == H.statistics["stored_bytes"]
    assert np.array_equal(np.load(tmp_path / "built.npy"), np.load(tmp_path / "read.npy"))


#: Of each preconditioner and distribution the iterations and the bits of x, where it is.
PROGRAM = """
import sys, numpy as np, sordino
from sordino._memory import processes_here
ball, ranks = sordino.surfaces.sphere(6, 6), 4 // int(sys.argv[1])
assert processes_here() == int(sys.argv[1])
H, coarse = sordino.hmatrix(ball, 1e-6), sordino.hmatrix(ball, 1e-1)
waves = sordino.hmatrix(ball, 1e-6, kernel="helmholtz", wavenumber=0.2)
b = np.random.default_rng(5).standard_normal((H.shape[0], 2))
for A, options in (
    (H, {"M": coarse}), (H, {"precond": "block-jacobi"}), (H, {"M": coarse, "distribution": "grid"}),
    (H, {"solver": "pipebicgstab", "distribution": "leaves"}), (waves, {}), (waves, {"distribution": "grid"}),
):
    for column in b.T:  # one process alone would solve for both at once, with the bits of one rank
        found = sordino.solve(A, column, engine="host", ranks=ranks, rtol=1e-9, **options)
        if found.x is not None:
            assert np.linalg.norm(column - A @ found.x) <= 1.01e-9 * np.linalg.norm(column)
            print(found.iterations, found.x.tobytes().hex())
try:
    H.on("host")
except sordino.errors.Unsupported as error:
    assert int(sys.argv[1]) > 1 and "process" in str(error), error
else:
    assert int(sys.argv[1]) == 1
"""


def test_coarse_matrices_blocks_and_waves_over_processes(mpirun_python):
    said = set()
    for processes in (1, 2, 4):
        done = mpirun_python(processes, "-c", PROGRAM, processes)
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1 and len(said.pop().splitlines()) == 12


SMALL = """
from sordino import _memory
from sordino.cli import main
_memory.available_memory = lambda: 4_000_000
raise SystemExit(main(["bem", "pair:6,5", "--eps", "1e-6", "--ranks", "1"]))
"""


def test_what_the_memory_of_a_host_does_not_hold_in_all_its_processes_is_refused(mpirun_python):
    assert mpirun_python(1, "-c", SMALL).returncode == 0
    done = mpirun_python(2, "-c", SMALL)
    assert done.returncode == 2
    assert (
        "2,880,000 bytes in each of this host's 2 processes, and 4,000,000 bytes are available" in done.stderr
    )
