"""``sordino.RowsSolver`` over mpi4py's communicators: what rows_program.py, rows_nullspaces.py and
rows_levels.py say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from sordino._native import core

PROGRAM = Path(__file__).with_name("rows_program.py")
NULLSPACES = Path(__file__).with_name("rows_nullspaces.py")
LEVELS = Path(__file__).with_name("rows_levels.py")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytestmark = pytest.mark.mpi

#: A solver of one process, though mpiexec has started several: MPI is not touched.
ALONE = """
import ctypes, sordino
from pathlib import Path
A = sordino.poisson(5, 4, 3)
with sordino.RowsSolver(None, A.indptr, A.indices, A.data, engine="host") as solver:
    assert solver.solve(A.sum(axis=1)).converged
maps = Path("/proc/self/maps").read_text().split()
flag = ctypes.c_int(-1)
ctypes.CDLL(next(name for name in maps if "libmpi" in name)).MPI_Initialized(ctypes.byref(flag))
print("touched" if flag.value else "well")
"""


@pytest.fixture
def with_mpi4py(mpirun_python):
    """Runs a program in several processes whose mpi4py finds the MPI of the mpiexec that starts them."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install 'sordino[test]'")
    found = mpirun_python(2, "-c", "from mpi4py import MPI; print(MPI.COMM_WORLD.size)")
    if found.returncode != 0 or found.stdout.split() != ["2", "2"]:
        pytest.skip("mpi4py uses another MPI than the mpiexec that is here, or none")
    return mpirun_python


@pytest.mark.parametrize("program", [PROGRAM, NULLSPACES])
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_rows_over_mpi4py(with_mpi4py, processes, program):
    done = with_mpi4py(processes, program)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.split().count("well") == processes


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
def test_multigrid_of_rows_over_mpi4py(with_mpi4py, processes):
    done = with_mpi4py(processes, LEVELS)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.split().count("well") == processes


@pytest.mark.gpu
@pytest.mark.parametrize("processes", [2, 4])
def test_multigrid_of_rows_on_gpus(with_mpi4py, processes, monkeypatch):
    found = core().devices()
    if len(found["devices"]) < processes:
        pytest.skip(f"{processes} GPUs are needed: {found['reason'] or 'there are fewer'}")
    monkeypatch.setenv("SORDINO_TEST_ENGINE", "cuda")
    done = with_mpi4py(processes, LEVELS)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.split().count("well") == processes


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_the_example(with_mpi4py, processes):
    done = with_mpi4py(processes, EXAMPLES / "from_mpi4py.py", 10_000)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"10000 rows in {processes} processes, engine " in done.stdout


@pytest.mark.gpu
def test_the_example_takes_a_gpu_for_each_process_where_there_are_enough(with_mpi4py):
    found = core().devices()
    if len(found["devices"]) < 2:
        pytest.skip(f"two GPUs are needed: {found['reason'] or 'there is one'}")
    done = with_mpi4py(2, EXAMPLES / "from_mpi4py.py", 10_000)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "10000 rows in 2 processes, engine cuda: relative residual" in done.stdout


@pytest.mark.parametrize("processes", [1, 2])
def test_the_example_of_petsc4py(with_mpi4py, processes):
    if importlib.util.find_spec("petsc4py") is None:
        pytest.skip("petsc4py is not installed")
    done = with_mpi4py(processes, EXAMPLES / "from_petsc4py.py")
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"2000 rows in {processes} processes: relative residual" in done.stdout


def test_one_process_alone_does_not_touch_mpi(mpirun_python, tmp_path):
    (tmp_path / "alone.py").write_text(ALONE)
    done = mpirun_python(2, "alone.py")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["well"] * 2
