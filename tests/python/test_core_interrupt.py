"""Ctrl-C: status ``interrupted``, the best x, no orphan and no half-written file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

#: Long enough to be interrupted on any machine: no preconditioner at a contrast of 1e8.
LONG = ["poisson", "64", "64", "64", "--contrast", "1e8", "--precond", "none", "--solver", "cg",
        "--rtol", "1e-13", "--max-iterations", "100000000", "--engine", "host"]  # fmt: skip


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "sordino", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
    )  # fmt: skip


def test_ctrl_c_while_solving(tmp_path):
    process = start(tmp_path, *LONG, "--output", "x.npy", "--ranks", "2")
    assert "unknowns" in process.stdout.readline()
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 3, err
    assert "interrupted" in out and "Traceback" not in err
    assert np.isfinite(np.load(tmp_path / "x.npy")).all()
    assert os.listdir(tmp_path) == ["x.npy"]


@pytest.mark.parametrize("engine", ["host", "model"])
def test_ctrl_c_while_dslash_is_measured(tmp_path, engine):
    argv = ["dslash", "8", "8", "8", "8", "--engine", engine, "--ranks", "2", "--iterations", "100000000"]
    process = start(tmp_path, *argv)
    time.sleep(3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 3 and not out, err
    assert "interrupted" in err


def test_ctrl_c_with_json(tmp_path):
    process = start(tmp_path, *LONG, "--json", "--ranks", "2")
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 3, err
    if out:  # else it came before the solve began
        assert json.loads(out)["status"] == "interrupted"


def test_ctrl_c_before_the_solve_writes_nothing(tmp_path):
    (tmp_path / "big.mtx").write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n")
    process = start(tmp_path, "solve", "big.mtx", "--output", "x.npy")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


SOLVES = {
    "linalg": "sordino.linalg.cg(A, b, rtol=1e-13, maxiter=10**8)",
    "once": "sordino.solve(A, b, on_failure='warn', **long)",
    "columns": "sordino.solve(A, numpy.stack([b, b, b], 1), on_failure='return', **long)",
}


@pytest.mark.parametrize("how", SOLVES)
def test_ctrl_c_ends_a_loop_over_solves(tmp_path, how):
    program = tmp_path / "p.py"
    program.write_text(
        "import os, signal, threading, numpy, sordino\n"
        "A = sordino.poisson(48, 48, 48, contrast=1e8); b = A @ numpy.ones(A.shape[0])\n"
        "long = dict(solver='cg', precond='none', rtol=1e-13, maxiter=10**8)\n"
        "sordino.solve(A, b, rtol=1e-2)\n"
        "threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        f"    while True: {SOLVES[how]}\n"
        "except sordino.Interrupted as stopped:\n"
        "    x = stopped.solution.x\n"
        "    print(numpy.isfinite(x).all(), x.shape, [r.status for r in stopped.solution.reports])\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    shape = "(110592, 3)" if how == "columns" else "(110592,)"
    assert done.stdout.startswith(f"True {shape} ["), done.stderr
    assert done.stdout.count("'interrupted'") == 1
    assert done.stdout.count("time_limit") == (2 if how == "columns" else 0)


@pytest.mark.parametrize("engine", ["host", "model"])
def test_a_python_program_can_be_interrupted_and_solve_again(tmp_path, engine):
    program = tmp_path / "p.py"
    program.write_text(
        "import os, signal, threading, numpy, sordino\n"
        "A = sordino.poisson(48, 48, 48, contrast=1e8); b = A @ numpy.ones(A.shape[0])\n"
        f"s = sordino.Solver(A, precond='none', solver='cg', engine='{engine}', ranks=2, maxiter=10**8)\n"
        "threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    s.solve(b, rtol=1e-13, on_failure='return')\n"
        "except KeyboardInterrupt as stopped:\n"
        "    print(stopped.solution.status)\n"
        "print(s.solve(b, rtol=1e-2, on_failure='return').status)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["interrupted", "converged"], done.stderr
