"""Several processes: ``mpirun -n 2 sordino ... --ranks 2`` is four ranks, and gives the bits of one process."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytestmark = pytest.mark.mpi


@pytest.fixture
def mpirun(mpirun_python):
    return lambda processes, *argv: mpirun_python(processes, "-m", "sordino", *argv)


GRID = ("poisson", 10, 10, 10, "--contrast", 100, "--precond", "jacobi", "--rtol", 1e-9)


def test_a_singular_system_has_the_same_bits_over_processes(mpirun, tmp_path):
    grid = ("poisson", 8, 7, 6, "--boundary", "neumann", "--rtol", 1e-10, "--output")
    assert mpirun(1, *grid, "one.npy", "--ranks", 4).returncode == 0
    assert mpirun(2, *grid, "two.npy", "--ranks", 2).returncode == 0
    one, two = (np.load(tmp_path / name) for name in ("one.npy", "two.npy"))
    assert np.array_equal(one, two)
    assert abs(one.mean()) < 1e-12 * np.abs(one).max()


METIS = """
import numpy as np, scipy.sparse as sp, sordino
A = sordino.poisson(9, 8, 7)
mixed = np.random.default_rng(1).permutation(A.shape[0])
A, b = sp.csr_array(A[mixed][:, mixed]), np.ones(A.shape[0])
for partition in ("blocks", "metis"):
    s = sordino.solve(A, b, solver="cg", engine="host", ranks=2, partition=partition, rtol=1e-9)
    if s.x is not None:
        assert np.linalg.norm(b - A @ s.x) <= 1e-9 * np.linalg.norm(b)
        print(s.ledger["bytes_sent"] / s.iterations)
"""


def test_metis_over_processes(mpirun_python):
    pytest.importorskip("pymetis")
    done = mpirun_python(2, "-c", METIS)
    assert done.returncode == 0, done.stderr
    blocks, metis = map(float, done.stdout.split())
    assert 2 * metis < blocks


BOXES = """
import sys, numpy as np, sordino
A = sordino.poisson(11, 8, 9, contrast=10.0)
b = np.random.default_rng(5).standard_normal(A.shape[0])
s = sordino.Solver(A, solver="cg", engine="host", partition="boxes", grid=(11, 8, 9), boxes=(1, 2, 2), rtol=1e-9)
assert s.options["ranks"] == int(sys.argv[1])
x = s.solve(b).x
if x is not None:
    assert np.linalg.norm(b - A @ x) <= 1e-9 * np.linalg.norm(b)
    print(x.tobytes().hex())
"""


def test_boxes_have_the_same_bits_in_every_layout_of_processes(mpirun_python):
    bits = set()
    for processes in (1, 2, 4):
        done = mpirun_python(processes, "-c", BOXES, 4 // processes)
        assert done.returncode == 0, done.stderr
        bits.add(done.stdout)
    assert len(bits) == 1


FAILING = """
import numpy as np, pymetis, sordino
def broken(*args, **kwargs): raise MemoryError("no room")
pymetis.part_graph = broken
try:
    sordino.solve(sordino.poisson(6, 6, 6), np.ones(216), engine="host", ranks=2, partition="metis", timeout=20)
except sordino.Unsupported as error:
    print(f"[{error}]")
"""


def test_what_metis_raises_in_one_process_is_raised_in_all(mpirun_python):
    pytest.importorskip("pymetis")
    done = mpirun_python(2, "-c", FAILING)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[METIS failed in the first process: MemoryError: no room]") == 2


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
    done = mpirun(2, *GRID, "--ranks", -1)
    assert done.returncode == 2
    assert done.stderr.count("the number of ranks must be at least 1, or 0 for as many as fit, not -1") == 1
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
