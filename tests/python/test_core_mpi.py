"""Several processes: ``mpirun -n 2 sordino ... --ranks 2`` is four ranks, and gives the bits of one process."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.mpi


@pytest.fixture
def mpirun(mpirun_python):
    return lambda processes, *argv: mpirun_python(processes, "-m", "sordino", *argv)


GRID = ("poisson", 10, 10, 10, "--contrast", 100, "--rtol", 1e-9)


def test_two_processes_of_two_ranks_say_so(mpirun):
    done = mpirun(2, *GRID, "--ranks", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2 processes x 2 ranks = 4 ranks") == 1
    assert done.stdout.count("Solved and verified") == 1


@pytest.mark.parametrize(("processes", "ranks"), [(2, 2), (4, 1), (2, 1)])
def test_every_layout_gives_the_same_bits(mpirun, shell, processes, ranks):
    alone = json.loads(shell(*GRID, "--ranks", 4, "--json").stdout)
    together = json.loads(mpirun(processes, *GRID, "--ranks", ranks, "--json").stdout)
    assert together["history"] == alone["history"] and together["iterations"] == alone["iterations"]


def test_output_is_written_once_and_whole(mpirun, tmp_path):
    import numpy as np

    done = mpirun(2, *GRID, "--ranks", 1, "--output", "x.npy", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), 1, rtol=1e-4)
    assert "2 x 1" in (tmp_path / "r.html").read_text()


def test_bad_usage_ends_all_processes(mpirun):
    done = mpirun(2, *GRID, "--ranks", 0)
    assert done.returncode == 2
    assert done.stderr.count("the number of ranks must be at least 1, not 0") == 1
    done = mpirun(2, "poisson", 1, 1, 3, "--ranks", 2)
    assert done.returncode == 2
    assert "4 ranks are more than the matrix has rows (3)" in done.stderr


def test_a_dslash_of_two_processes_is_that_of_one(mpirun, shell):
    lattice = ("dslash", 4, 4, 8, 8, "--iterations", 3, "--solve", "--rtol", 1e-8, "--json")
    alone = json.loads(shell(*lattice, "--ranks", 4).stdout)
    done = mpirun(2, *lattice, "--ranks", 2)
    assert done.returncode == 0, done.stderr
    together = json.loads(done.stdout)
    assert together["ranks"] == 4 and together["grid"] == alone["grid"] and together["hermitian"]
    assert together["transport"] == "threads and mpi"
    assert together["hermiticity_error"] == pytest.approx(alone["hermiticity_error"], rel=1, abs=1e-15)
    assert together["solve"]["history"] == alone["solve"]["history"]
    assert together["solve"]["true_residual"] == pytest.approx(alone["solve"]["true_residual"], rel=1e-6)
    asked = mpirun(2, *lattice, "--grid", "1,1,2,2")
    assert asked.returncode == 0 and json.loads(asked.stdout)["ranks"] == 4


def test_more_processes_in_doctor(mpirun):
    done = mpirun(2, "doctor")
    assert done.returncode == 0 and "process 0 of 2; GPU-aware: " in done.stdout
    assert sum(line.startswith("Processor") for line in done.stdout.splitlines()) == 1  # one process tells


#: What each process prints: its number, status, iterations, calls of its product and of its callback, what x is.
FUNCTIONS = """
import numpy as np, scipy.sparse.linalg as spla, sordino
from sordino._native import core
A = sordino.poisson(9, 8, 7, contrast=100.0)
b, calls, seen = A @ np.linspace(0, 1, 504), [], []
def product(x):
    calls.append(1)
    return A @ x
def preconditioner(r):
    return r / A.diagonal()
operator = spla.LinearOperator(A.shape, matvec=product, dtype=float)
s = sordino.Solver(operator, M=preconditioner, solver="cg", ranks=2, engine="host", callback_every=1, callback_x=True)
done = s.solve(b, rtol=1e-8, callback=lambda i, r, x: seen.append(x))
told = "none" if done.x is None else hash(done.x.tobytes()) == hash(seen[-1].tobytes())
print(core().mpi()["rank"], done.status, done.iterations, len(calls), len(seen), told, flush=True)
"""


def test_functions_are_called_in_the_first_process_alone(mpirun_python, tmp_path):
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    done = mpirun_python(2, "functions.py")
    assert done.returncode == 0, done.stderr
    first, second = sorted(done.stdout.splitlines())
    _, status, iterations, calls, seen, told = first.split()
    assert status == "converged" and told == "True"
    assert int(calls) == int(iterations) + 2 and int(seen) == int(iterations)
    assert second.split() == ["1", "converged", iterations, "0", "0", "none"]
