"""How the library behaves in a program that is not its own: after forks, beside other threads, and silent."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import sordino

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def system():
    A = sordino.poisson(10, 9, 8)
    return A, A @ np.ones(A.shape[0])


# --- fork -------------------------------------------------------------------------------------------------------------


def in_a_child(job):
    """What `job` returns in a forked process, or its error's name and sentence; neither waits for ever."""

    def work(queue):
        try:
            queue.put(job())
        except sordino.SordinoError as error:
            queue.put((type(error).__name__, str(error)))

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    try:
        return queue.get(timeout=60)
    finally:
        child.join(timeout=60)
        alive = child.is_alive()
        if alive:
            child.kill()
        assert not alive and child.exitcode == 0


@pytest.mark.parametrize("kind", ["Solver", "RowsSolver"])
def test_a_solver_made_before_a_fork_is_refused_in_the_child_and_goes_on_in_the_parent(system, kind):
    A, b = system
    given = (A,) if kind == "Solver" else (None, A.indptr, A.indices, A.data)
    solver = getattr(sordino, kind)(*given, engine="host", ranks=2)
    before = solver.solve(b).x
    refusal = ("Unsupported", "this solver was set up before a fork and works in the parent process only")
    assert in_a_child(lambda: solver.solve(b)) == refusal
    assert in_a_child(lambda: solver.update_values(A.data)) == refusal
    np.testing.assert_array_equal(solver.solve(b).x, before)


def test_a_preconditioner_of_a_solver_made_before_a_fork_is_refused(system):
    A, b = system
    operator = sordino.Solver(A, engine="host", ranks=2).aspreconditioner()
    assert in_a_child(lambda: operator @ b)[0] == "Unsupported"


def test_a_child_makes_solvers_of_its_own_on_the_host(system):
    A, b = system
    solver = sordino.Solver(A, engine="host", ranks=2)
    here = solver.solve(b).x

    def again():
        own = sordino.Solver(A, engine="host", ranks=2)
        return [own.solve(b).x.tobytes(), sordino.solve(A, b, engine="host", ranks=2).x.tobytes()]

    assert in_a_child(again) == [here.tobytes()] * 2  # the ranks' threads of the parent are not missed


@pytest.mark.parametrize("kind", ["Solver", "RowsSolver"])
def test_a_child_may_drop_the_solver_of_its_parent(system, kind):
    A, b = system
    given = (A,) if kind == "Solver" else (None, A.indptr, A.indices, A.data)
    held = [getattr(sordino, kind)(*given, engine="host", ranks=2)]

    def drop():
        own = sordino.Solver(A, engine="host", ranks=2)
        held.clear()  # its ranks' threads are not there to be joined, and others have their stacks
        more = [sordino.Solver(A, engine="host", ranks=2) for _ in range(3)]
        return [solver.solve(b).x.tobytes() for solver in (own, *more)]

    here = held[0].solve(b).x.tobytes()
    assert in_a_child(drop) == [here] * 4
    assert held[0].solve(b).converged


# --- threads ----------------------------------------------------------------------------------------------------------


def test_two_solvers_solve_at_the_same_time_in_two_threads(system):
    """Each waits, in the midst of its solve, until the other one is there: one after the other they never would."""
    A, b = system
    both = threading.Barrier(2, timeout=60)
    met, results = set(), {}

    def work(number):
        def look(iteration, residual):
            if number not in met:
                both.wait()
                met.add(number)

        solver = sordino.Solver(A, engine="host", ranks=2, callback_every=1, solver="cg")
        results[number] = solver.solve((number + 1) * b, callback=look, rtol=1e-10).x

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert met == {0, 1}
    for number in range(2):
        np.testing.assert_allclose(results[number], number + 1, rtol=1e-6)


@pytest.mark.parametrize("kind", ["Solver", "RowsSolver"])
def test_python_goes_on_in_other_threads_while_a_solve_runs(kind):
    A = sordino.poisson(40, 40, 40, contrast=1e8)  # not solved in the time that it has
    b = A @ np.ones(A.shape[0])
    given = (A,) if kind == "Solver" else (None, A.indptr, A.indices, A.data)
    solver = getattr(sordino, kind)(*given, engine="host", ranks=2, solver="cg", precond="none")
    steps, over = [0], threading.Event()

    def count():
        while not over.is_set():
            steps[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = steps[0]
        done = solver.solve(b, rtol=1e-13, maxiter=10**8, time_limit=0.5, on_failure="return")
        during = steps[0] - before
    finally:
        over.set()
        counter.join(timeout=60)
    assert done.status == "time_limit" and during > 1000


# --- silence ----------------------------------------------------------------------------------------------------------

#: A setup, solves that end in every way, refusals and a fault of the ranks. Its own word goes to a file.
SILENT = """
import sys, threading, time
import numpy as np, sordino, sordino.linalg
from pathlib import Path

A = sordino.poisson(8, 8, 8)
b = A @ np.ones(512)
said = []

def refused(job):
    try:
        job()
    except sordino.SordinoError as error:
        said.append(type(error).__name__)

for engine in ("host", "model"):
    solver = sordino.Solver(A.astype(np.float32), engine=engine, ranks=2, trace=True)
    said.append(solver.solve(b).status)
    said.append(solver.solve(b, maxiter=1, on_failure="return").status)
    solver.update_values(A)
    refused(lambda: solver.solve(b * np.nan))
refused(lambda: sordino.Solver(A, ranks=10**6))
refused(lambda: sordino.solve(A, b, solver="magic"))
refused(lambda: sordino.solve(-A, b, solver="cg", precond="none"))
sordino.linalg.cg(A, b)
rows = sordino.RowsSolver(None, A.indptr, A.indices, A.data, ranks=2)
said.append(rows.solve(b).status)
rows.close()
sordino.estimate_memory(A)
release, over = threading.Event(), threading.Event()

def slow(*_):
    release.wait(5)
    over.set()

stuck = sordino.Solver(A, engine="host", ranks=2, timeout=0.3, callback_every=1)
refused(lambda: stuck.solve(b, callback=slow))
release.set()
over.wait(60)
time.sleep(0.5)  # that thread must be out of Python before Python ends
Path(sys.argv[1]).write_text(" ".join(said))
"""


def test_nothing_is_written_to_the_standard_streams(tmp_path):
    script, word = tmp_path / "silent.py", tmp_path / "said"
    script.write_text(SILENT)
    done = subprocess.run(
        [sys.executable, str(script), str(word)], capture_output=True, timeout=120, env=os.environ
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (done.stdout, done.stderr) == (b"", b"")
    said = word.read_text().split()
    assert said.count("converged") == 3 and said.count("max_iterations") == 2
    assert said.count("BadArgument") >= 4 and "PeerFailed" in said and "NotConverged" in said


def test_what_it_says_goes_to_its_logger(system, caplog):
    A, b = system
    with caplog.at_level("INFO", logger="sordino"):
        sordino.solve(A.astype(np.float32), b, ranks=2)
    assert {record.name for record in caplog.records} == {"sordino"}
    assert any("converged after" in record.message for record in caplog.records)
