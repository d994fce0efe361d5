"""``sordino.run``: NumPy arrays between ranks that are threads, and processes."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import sordino

EXAMPLE = Path(__file__).parents[2] / "examples" / "ring.py"


def test_results_come_in_the_order_of_ranks():
    assert sordino.run(5, lambda comm: (comm.rank, comm.size)) == [(rank, 5) for rank in range(5)]


@pytest.mark.parametrize("progress", ["commands", "thread"])
def test_arrays_of_any_shape_and_type_arrive_as_they_were_sent(progress):
    sent = [
        np.arange(12.0).reshape(3, 4).T,
        np.array(7, dtype=np.int8),
        np.zeros((2, 0, 3), dtype=np.complex64),
        np.array([(1, 2.5)], dtype=[("k", "i4"), ("x", "f8")]),
        np.array(["a", "word"]),
    ]

    def job(comm):
        other = 1 - comm.rank
        for array in sent:
            comm.send(array, dest=other)
            comm.send(array, dest=other, tag=9)
        late = [comm.irecv(source=other, tag=9) for _ in sent]
        got = [comm.recv(source=other) for _ in sent]
        return got, [pending.wait() for pending in reversed(late)][::-1]

    for by_turns in sordino.run(2, job, progress=progress):
        for got in by_turns:
            for a, b in zip(got, sent, strict=True):
                assert a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)


def test_what_was_sent_can_be_changed_at_once():
    def job(comm):
        mine = np.ones(3)
        comm.send(mine, dest=comm.rank)
        mine[:] = 5
        return comm.recv(source=comm.rank)

    assert np.array_equal(sordino.run(1, job)[0], np.ones(3))


def test_every_collective():
    def job(comm):
        mine = np.full((2, 2), comm.rank)
        ones = [np.array([comm.rank, q]) for q in range(comm.size)]
        pending = [comm.ibarrier(), comm.iallreduce(mine)]
        assert comm.bcast(mine if comm.rank == 1 else None, root=1)[0, 0] == 1
        assert np.array_equal(comm.allreduce(mine, op="max"), np.full((2, 2), 2))
        total = comm.reduce(mine, root=2)
        gathered = comm.gather(mine, root=0)
        assert (total is None) == (comm.rank != 2) and (gathered is None) == (comm.rank != 0)
        assert total is None or np.array_equal(total, np.full((2, 2), 3))
        assert gathered is None or [a[0, 0] for a in gathered] == [0, 1, 2]
        assert [a[0, 0] for a in comm.allgather(mine)] == [0, 1, 2]
        assert np.array_equal(comm.scatter(ones if comm.rank == 1 else None, root=1), [1, comm.rank])
        assert [list(a) for a in comm.alltoall(ones)] == [[q, comm.rank] for q in range(3)]
        comm.barrier()
        assert np.array_equal(pending[1].wait(), np.full((2, 2), 3))
        pending[0].wait()
        return True

    assert all(sordino.run(3, job))


@pytest.mark.parametrize("degrees", [(2, 2), (2, 4), (3, 4), (4, 3)])
def test_trees_of_an_all_reduce_have_the_degrees_that_are_asked_for(degrees):
    sums = sordino.run(5, lambda comm: comm.allreduce(comm.rank + 1, algorithm="tree", degrees=degrees))
    assert [int(value) for value in sums] == [15] * 5


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("algorithm", ["ordered", "recursive_doubling", "tree", "two_level"])
def test_sums_have_the_type_of_their_terms(dtype, algorithm):
    values = sordino.run(
        3, lambda comm: comm.allreduce(np.array([comm.rank, 40], dtype), algorithm=algorithm)
    )
    for value in values:
        assert value.dtype == np.dtype(dtype)
        assert np.array_equal(value, np.array([3, 120], dtype))


def test_a_test_alone_ends_a_tree():
    def job(comm):
        pending = comm.iallreduce(1.0, algorithm="tree")
        while not pending.test():
            time.sleep(1e-4)
        return float(pending.wait())

    assert sordino.run(4, job) == [4.0] * 4


def test_an_exception_of_a_job_names_its_rank_and_is_the_cause():
    def job(comm):
        if comm.rank == 2:
            raise KeyError("no such thing")
        comm.barrier()

    with pytest.raises(sordino.PeerFailed, match="rank 2: KeyError: 'no such thing'") as caught:
        sordino.run(3, job)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.rank == 2 and caught.value.iteration is None
    assert sordino.run(3, lambda comm: comm.rank) == [0, 1, 2]


def test_errors_of_the_library_keep_their_kind():
    with pytest.raises(sordino.BadArgument, match="rank 0: there is no rank 7 of 2"):
        sordino.run(2, lambda comm: comm.send(1.0, dest=7) if comm.rank == 0 else comm.barrier())
    with pytest.raises(sordino.BadArgument, match=r"different collectives|disagree"):
        sordino.run(2, lambda comm: comm.barrier() if comm.rank else comm.allreduce(1.0))
    with pytest.raises(
        sordino.PeerFailed, match=r"waited 0\.3 s without any progress for data of rank 1"
    ) as caught:
        sordino.run(2, lambda comm: comm.recv(source=1) if comm.rank == 0 else None, timeout=0.3)
    assert (caught.value.rank, caught.value.command, caught.value.seen_epoch) == (0, None, None)


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (lambda comm: comm.send(1.0, dest=0, tag=-1), "tags are 0 to"),
        (lambda comm: comm.allreduce("a"), "arrays of this type are not reduced"),
        (lambda comm: comm.allreduce(np.float16(1)), "arrays of this type are not reduced"),
        (lambda comm: comm.allreduce(1.0, op="mean"), "there is no operation 'mean'"),
        (lambda comm: comm.allreduce(1.0, algorithm="ring"), "there is no all-reduce 'ring'"),
        (lambda comm: comm.allreduce(1.0, algorithm="tree", degrees=(2, 5)), "degree 2, 3 or 4, not 5"),
        (lambda comm: comm.send(np.array([object()]), dest=0), "arrays of Python objects are not sent"),
        (lambda comm: comm.bcast(), "the root passes an array"),
    ],
)
def test_what_cannot_be_is_refused(job, sentence):
    with pytest.raises(sordino.BadArgument, match=sentence):
        sordino.run(1, job)


def test_engines_that_have_no_threads_are_refused():
    with pytest.raises(sordino.BadArgument, match="of engine host or cuda, not 'model'"):
        sordino.run(2, lambda comm: None, engine="model")


def test_a_communicator_ends_with_its_run():
    comm, pending = sordino.run(1, lambda comm: (comm, comm.ibarrier()))[0]
    for late in (comm.barrier, pending.wait, lambda: comm.send(1.0, dest=0)):
        with pytest.raises(sordino.BadArgument, match="the run has ended"):
            late()


def test_dropping_a_pending_is_warned_of():
    def job(comm):
        gc.collect()  # what other tests have left
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            comm.ibarrier()
            gc.collect()
        return [str(warning.message) for warning in caught]

    assert sordino.run(1, job)[0] == ["a communication was started and never waited for"]


def test_waiting_releases_the_interpreter():
    flag = type("Flag", (), {"receiving": False})()

    def job(comm):
        if comm.rank == 0:
            pending = comm.irecv(source=1)
            flag.receiving = True
            return float(pending.wait())
        while not flag.receiving:
            time.sleep(1e-3)
        time.sleep(0.05)
        comm.send(3.0, dest=0)
        return 0.0

    assert sordino.run(2, job) == [3.0, 0.0]


@pytest.mark.parametrize("what", ["comm.barrier()", "math.fsum(range(10))"])
def test_ctrl_c(tmp_path, what):
    program = tmp_path / "p.py"
    program.write_text(
        "import math, sordino\n"
        "def job(comm):\n"
        "    if comm.rank == 0: print('begun', flush=True)\n"
        f"    while comm.rank == 0: {what}\n"
        "    comm.recv(source=0)\n"
        "try:\n"
        "    sordino.run(2, job)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', sordino.run(2, lambda comm: comm.rank))\n"
    )
    process = subprocess.Popen(
        [sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "interrupted [0, 1]\n", err
    assert process.returncode == 0


def test_the_example(tmp_path):
    done = subprocess.run([sys.executable, EXAMPLE, "3", "5"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 tokens went round 5 times\n"
