"""One plan carried out by the ranks of several processes: ``engine="processes"``."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io

import sordino
from sordino import BadArgument

pytestmark = pytest.mark.mpi

SOLVE = """
import sys, numpy as np, sordino
ranks = int(sys.argv[1])
L = sordino.splu(sordino.poisson(8, 8, 8), ordering="mmd").factors.lower
for kind in (float, np.float32, complex):
    F = sordino.factorized(L.astype(kind), engine="processes", ranks=ranks, timeout=20, seed=int(sys.argv[2]))
    G = sordino.factorized(L.astype(kind), ranks=ranks, threads=ranks)
    rng = np.random.default_rng(3)
    for columns in (1, 3, 2):
        B = rng.standard_normal((L.shape[0], columns)).astype(kind)
        for trans in "NTH":
            x, y = F.solve(B, trans), G.solve(B, trans)
            assert np.array_equal(x, y), (kind, columns, trans, np.abs(x - y).max())
    F.update((2 * L).astype(kind)), G.update((2 * L).astype(kind))
    assert np.array_equal(F.solve(B), G.solve(B))
print(f"same {F.statistics['ranks']}\\n", end="", flush=True)  # in one piece: others print beside it
"""


@pytest.mark.parametrize(("processes", "ranks", "seed"), [(1, 3, 0), (2, 1, 5), (2, 2, 0), (3, 1, 6)])
def test_every_process_gets_the_bits_of_one(mpirun_python, processes, ranks, seed):
    done = mpirun_python(processes, "-c", SOLVE, ranks, seed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:processes] == [f"same {processes * ranks}"] * processes


DIFFERENT = """
import sys, os, numpy as np, sordino
mine = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0")))
L = sordino.splu(sordino.poisson(6, 6, 6), ordering="mmd").factors.lower
try:
    if sys.argv[1] == "width":
        sordino.factorized(L, engine="processes", width=16 + mine, timeout=20)
    elif sys.argv[1] == "ranks":
        sordino.factorized(L, engine="processes", ranks=20, timeout=20)
    elif mine == 1:
        L.data[5] = np.inf
        sordino.factorized(L, engine="processes", timeout=20)
    else:
        sordino.factorized(L, engine="processes", timeout=5)
except sordino.SordinoError as error:
    print(f"[{type(error).__name__}: {error}]")
    if sys.argv[1] == "values":  # MPI waits forever for who leaves before it begins, unless the launcher sees it fail
        sys.exit(2)
"""


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("width", "processes that solve together have different triangles or options"),
        ("ranks", "1 to 32 ranks, and 40 of all processes were asked for"),
    ],
)
def test_what_one_process_refuses_all_refuse(mpirun_python, what, sentence):
    done = mpirun_python(2, "-c", DIFFERENT, what)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(sentence) == 2, done.stdout


DYING = """
import sys, os, threading, time, numpy as np, sordino
mine = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0")))
L = sordino.splu(sordino.poisson(8, 8, 8), ordering="mmd").factors.lower
F = sordino.factorized(L, engine="processes", timeout=3)
b = np.ones(L.shape[0])
F.solve(b)
if mine == 1:
    if sys.argv[1] == "dies":
        os._exit(7)
    if sys.argv[1] == "raises":
        raise ValueError("mine alone")
    time.sleep(60)
try:
    F.solve(b)
except sordino.SordinoError as error:
    print(f"[{type(error).__name__}: {error}]", flush=True)
    os._exit(5)
"""


@pytest.mark.parametrize("how", ["dies", "raises", "stays away"])
def test_a_process_that_does_not_take_part_ends_all(mpirun_python, how):
    done = mpirun_python(2, "-c", DYING, how)
    assert done.returncode != 0
    if how == "stays away":
        assert "[PeerFailed: " in done.stdout and done.stdout.count("\n") == 1


UPDATING = """
import sys, os, time, numpy as np, sordino
mine = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0")))
L = sordino.splu(sordino.poisson(6, 6, 6), ordering="mmd").factors.lower
F = sordino.factorized(L, engine="processes", timeout=2)
b = np.ones(L.shape[0])
x = F.solve(b)
new = 2 * L.tocsc()
if mine == 1:
    if sys.argv[1] == "stays away":
        time.sleep(60)
    if sys.argv[1] == "zero":
        new.data[new.indptr[7]] = 0  # a pivot
    if sys.argv[1] == "inf":
        new.data[new.indptr[7]] = np.inf
try:
    F.update(new)
except sordino.SordinoError as error:
    print(f"[{type(error).__name__}: {error}]", flush=True)
    if sys.argv[1] != "zero":
        os._exit(5)
assert np.array_equal(F.solve(b), x)
"""


def test_new_values_are_taken_by_all_processes_or_by_none(mpirun_python):
    done = mpirun_python(2, "-c", UPDATING, "zero")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[BadArgument: process 1: the pivot of row 7 is zero") == 2, done.stdout


@pytest.mark.parametrize("how", ["stays away", "inf"])
def test_a_process_that_does_not_take_part_in_an_update_ends_the_others(mpirun_python, how):
    done = mpirun_python(2, "-c", UPDATING, how)
    assert done.returncode != 0
    if how == "stays away":
        assert "[PeerFailed: process 0 waited 2 s for process 1 to enter update: " in done.stdout, done.stdout


def test_what_is_refused_before_the_processes_meet_ends_all(mpirun_python):
    done = mpirun_python(2, "-c", DIFFERENT, "values")
    assert done.returncode != 0
    assert done.stdout.count("[BadArgument: the triangle holds inf") == 1, done.stdout


def test_the_command_solves_together_and_writes_once(mpirun_python, shell, tmp_path):
    scipy.io.mmwrite(tmp_path / "A.mtx", sordino.poisson(8, 8, 8))
    command = ("trsv", "A.mtx", "--factor", "--ordering", "mmd", "--output")
    alone = shell(*command, "one.npy", "--ranks", 2)
    assert alone.returncode == 0, alone.stderr
    done = mpirun_python(
        2, "-m", "sordino", *command, "two.npy", "--engine", "processes", "--save-plans", "p.npz"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Solved and verified") == 1 and "2 ranks" in done.stdout
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy"))
    again = mpirun_python(
        2, "-m", "sordino", *command, "three.npy", "--engine", "processes", "--plans", "p.npz"
    )
    assert again.returncode == 0, again.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), np.load(tmp_path / "three.npy"))


BY_ROWS = """
import numpy as np, scipy.sparse as sp, sordino
rng = np.random.default_rng(5)
grid = sp.csc_matrix(sp.tril(sordino.poisson(12, 11, 10)))
for kind in (float, np.float32, complex):
    for lower, T in ((True, grid.astype(kind)), (False, grid.T.astype(kind).tocsc())):
        F = sordino.factorized(T, lower=lower, engine="processes", ranks=2, timeout=20, seed=3)
        G = sordino.factorized(T, lower=lower)
        assert F.statistics["by_rows"]
        for columns in (1, 9):
            B = rng.standard_normal((T.shape[0], columns)).astype(kind)
            for trans in "NTH":
                assert np.array_equal(F.solve(B, trans), G.solve(B, trans)), (kind, lower, columns, trans)
        F.update(3 * T), G.update(3 * T)
        assert np.array_equal(F.solve(B), G.solve(B))
A = sordino.poisson(9, 8, 7)
K = sordino.ilu0(A, engine="processes", timeout=20)
assert np.array_equal(K.solve(np.ones(A.shape[0])), sordino.ilu0(A).solve(np.ones(A.shape[0])))
print(f"same {F.statistics['ranks']}\\n", end="", flush=True)
"""


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_triangles_by_rows_are_shared_too(mpirun_python, processes):
    done = mpirun_python(processes, "-c", BY_ROWS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:processes] == [f"same {2 * processes}"] * processes


def test_an_engine_that_is_none_is_refused():
    with pytest.raises(BadArgument, match="engine is host, processes, cuda or model"):
        sordino.factorized(np.eye(3), engine="mpi")


LOST = """
import numpy as np, os, scipy.sparse as sp, sordino
mine = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0")))
rng = np.random.default_rng(9)
T = np.tril(rng.uniform(-1, 1, (80, 80)), -1) + np.diag(rng.uniform(9, 18, 80))
F = sordino.factorized(sp.csr_array(T), engine="processes", width=16, timeout=20)
b = np.ones(80)
F.solve(b)
assert not F.statistics["by_rows"]
S = T.copy()
S[41, 41] = 1e-25  # not the first of its block, of which there are five with 16 columns each
F.update(sp.csr_array(S))
assert F.statistics["by_rows"]
new = sordino.factorized(sp.csr_array(S), engine="processes", width=16, timeout=20)
x = F.solve(b)
assert np.array_equal(x, new.solve(b)) and F.backward_error(b, x) < 1e-15
one = sordino.factorized(sp.csr_array(T), engine="processes", width=16, timeout=20)
one.update(sp.csr_array(S if mine == 1 else T))  # that values are the same nobody looks at: but the plan must be
print(f"by rows {one.statistics['by_rows']}\\n", end="", flush=True)
"""


def test_inverses_that_lose_all_digits_give_way_to_rows_in_all_processes(mpirun_python):
    done = mpirun_python(2, "-c", LOST)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("by rows True") == 2, done.stdout
