"""Fixtures of the Python tests."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

HERE = Path(__file__).parent


def _load(name):
    spec = importlib.util.spec_from_file_location(f"sordino_tests_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


fake = _load("fake_core")
bem_reference = _load("bem_reference")
cudss_stand_in = _load("cudss_stand_in")


@pytest.fixture
def fake_core(monkeypatch):
    """The package on a stand-in for the compiled module; returns it, to describe another machine."""
    from sordino import _native

    stand_in = fake.FakeCore()
    monkeypatch.setattr(_native, "_loaded", stand_in)
    for name in ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return stand_in


@pytest.fixture
def cli(capsys):
    """Run the command line in this process: returns (exit code, standard output, standard error)."""
    from sordino.cli import main

    def run(*argv):
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def recorded():
    """Rows of a figure of ``sordino bench papers``, in the newest record of a paper that has it."""

    def rows_of(figure, paper):
        for record in sorted(
            (HERE.parents[1] / "bench" / "records").glob(f"*_papers_{paper}.jsonl"), reverse=True
        ):
            rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
            if found := [row for row in rows if row["figure"] == figure]:
                return found
        raise AssertionError(f"no record has {figure}")

    return rows_of


@pytest.fixture
def shell(tmp_path):
    """Run ``sordino`` as a process of its own, in an empty folder."""

    def run(*argv, timeout=120, env=None):
        return subprocess.run(
            [sys.executable, "-m", "sordino", *map(str, argv)],
            capture_output=True, text=True, timeout=timeout, cwd=tmp_path, env={**os.environ, **(env or {})},
        )  # fmt: skip

    return run


#: As root, or with more processes than cores, Open MPI wants to be told that this is meant.
MEANT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
#: A line and its end are two writes where PYTHONUNBUFFERED is set, and another process may write between them.
IN_ONE_PIECE = {"PYTHONUNBUFFERED": ""}


def launcher():
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec") or shutil.which("mpirun")


def has_children(pid):
    """Whether processes that this one has started still run; True where the system does not say."""
    try:
        tasks = [*Path(f"/proc/{pid}/task").iterdir()]
        children = [child for task in tasks for child in (task / "children").read_text().split()]
        states = [Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] for child in children]
    except OSError:
        return True
    return any(state != "Z" for state in states)  # of those that have ended and are not waited for


def launched(command, *, again=4, **options):
    """As subprocess.run, for two minutes. A launcher that stays though all its processes have ended is started
    again: Open MPI's may wait for itself when one of them has failed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, **options) as process:
        looks_alone = 0
        for _ in range(24):
            try:
                out, error = process.communicate(timeout=5)
                return subprocess.CompletedProcess(command, process.returncode, out, error)
            except subprocess.TimeoutExpired:
                looks_alone = 0 if has_children(process.pid) else looks_alone + 1
            if looks_alone == 2 and again:
                break
        process.kill()
        out, error = process.communicate()
    if looks_alone == 2 and again:
        return launched(command, again=again - 1, **options)
    raise subprocess.TimeoutExpired(command, 120, out, error)


@pytest.fixture
def mpirun_python(tmp_path):
    from sordino._native import core

    if not core().build_info()["mpi"]:
        pytest.skip("this build has no MPI")
    if not launcher():
        pytest.skip("there is no mpiexec here")

    def run(processes, *argv):
        command = [launcher(), "-n", str(processes), sys.executable, *map(str, argv)]
        return launched(command, cwd=tmp_path, env={**os.environ, **MEANT, **IN_ONE_PIECE})

    return run


@pytest.fixture
def laplacian():
    """Builds a 7-point matrix n x n x n by SciPy alone."""

    def build(n):
        line = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
        eye = sp.eye_array(n)
        matrix = (
            sp.kron(sp.kron(line, eye), eye)
            + sp.kron(sp.kron(eye, line), eye)
            + sp.kron(sp.kron(eye, eye), line)
        )
        return sp.csr_array(matrix)

    return build
