"""What each process of test_rows_mpi.py runs. It says which part it is at, and "well" in the end."""

import numpy as np
import scipy.sparse as sp
from mpi4py import MPI

import sordino

COMM = MPI.COMM_WORLD
QUICK = {"engine": "host", "rtol": 1e-10, "timeout": 30.0, "ranks": 1}


def cuts(n, comm):
    """Uneven on purpose: process p has about p + 1 parts."""
    p = np.arange(comm.size + 1)
    return n * p * (p + 1) // (comm.size * (comm.size + 1))


def mine(A, comm=COMM):
    """This process's rows, and which they are."""
    first, end = cuts(A.shape[0], comm)[comm.rank : comm.rank + 2]
    return sp.csr_array(A[first:end]), slice(first, end)


def arrays(rows, bits=64):
    kind = np.int64 if bits == 64 else np.int32
    return rows.indptr.astype(kind), rows.indices.astype(kind), rows.data


def said(job, comm=COMM):
    """The sentence that a call is refused with, the same in all processes."""
    try:
        job()
        sentence = "accepted"
    except sordino.SordinoError as error:
        sentence = f"{type(error).__name__}: {error}"
    sentences = comm.allgather(sentence)
    assert set(sentences) == {sentence}, sentences
    return sentence


def whole(x, comm=COMM):
    return np.concatenate(comm.allgather(x))


def system():
    A = sp.csr_array(sordino.poisson(9, 8, 7, contrast=10.0))
    return A, A @ np.linspace(1, 2, A.shape[0])


def solves():
    A, b = system()
    rows, here = mine(A)
    for bits in (32, 64):
        for first in (None, int(here.start)):
            with sordino.RowsSolver(COMM, *arrays(rows, bits), first, **QUICK) as solver:
                assert (solver.n, solver.rows, solver.first_row) == (A.shape[0], rows.shape[0], here.start)
                assert solver.ranks == COMM.size and solver.nnz == rows.nnz
                done = solver.solve(b[here])
                assert done.converged and done.report.options["solver"] == "cg"
                assert done.x.shape == (rows.shape[0],) and len(set(COMM.allgather(done.iterations))) == 1
                assert np.linalg.norm(b - A @ whole(done.x)) <= 1.01e-10 * np.linalg.norm(b)
                np.testing.assert_array_equal(solver.solve(b[here]).x, done.x)
                # a first guess in one process alone: zero in the others
                near = solver.solve(b[here], np.ones(solver.rows) if COMM.rank == 0 else None)
                np.testing.assert_allclose(near.x, done.x, rtol=1e-7)
                solver.update_values(2 * rows.data)
                np.testing.assert_allclose(solver.solve(b[here]).x, done.x / 2, rtol=1e-12)
                few = solver.solve(b[here], maxiter=2, on_failure="return")
                assert few.status == "max_iterations" and few.iterations == 2
                assert said(lambda: solver.solve(b[here], maxiter=2)).startswith(
                    "NotConverged: max_iterations"
                )
                assert solver.solve(b[here]).converged
            assert said(lambda: solver.solve(b[here])) == "BadArgument: this solver has been closed"


def matrices():
    """A SciPy matrix of this process's rows in place of three arrays."""
    A, b = system()
    rows, here = mine(A)
    expected = sordino.RowsSolver(COMM, *arrays(rows), **QUICK).solve(b[here]).x
    for kind in (sp.csr_array, sp.csr_matrix):
        with sordino.RowsSolver(COMM, kind(rows), first_row=int(here.start), **QUICK) as solver:
            np.testing.assert_array_equal(solver.solve(b[here].astype(np.float32)).x.dtype, np.float64)
            np.testing.assert_array_equal(solver.solve(b[here]).x, expected)
    last = COMM.size - 1
    spoilt = COMM.rank == last
    who = f"BadArgument: process {last}: " if COMM.size > 1 else "BadArgument: "
    assert said(lambda: sordino.RowsSolver(COMM, rows.tocsc() if spoilt else rows, **QUICK)) == (
        who + "the rows are a SciPy matrix in csc form, and CSR is needed: use tocsr()"
    )
    assert said(lambda: sordino.RowsSolver(COMM, rows.indptr if spoilt else rows, **QUICK)) == (
        who + "rows are three arrays, indptr, indices and data, or one SciPy matrix in CSR form"
    )
    if COMM.size > 1:  # the whole of it in every process
        assert f"its rows have {A.shape[0]} columns, and all processes together have" in said(
            lambda: sordino.RowsSolver(COMM, A, **QUICK)
        )


def ranks():
    """Several ranks a process, another number in each."""
    A, b = system()
    rows, here = mine(A)
    solver = sordino.RowsSolver(COMM, *arrays(rows), **{**QUICK, "ranks": 1 + COMM.rank % 2})
    assert solver.ranks == COMM.allreduce(1 + COMM.rank % 2)
    assert np.linalg.norm(b - A @ whole(solver.solve(b[here]).x)) <= 1.01e-10 * np.linalg.norm(b)
    solver.close()
    solver.close()


def refusals():
    """Of the last process, and of its sentence all others."""
    A, b = system()
    rows, here = mine(A)
    last = COMM.size - 1
    spoilt = COMM.rank == last
    who = f"process {last}: " if COMM.size > 1 else ""

    def made(change, **options):
        given = [array.copy() for array in arrays(rows)]
        first = [None]
        if spoilt:
            change(given, first)
        return said(
            lambda: sordino.RowsSolver(COMM, *given, first[0], **{**QUICK, **(options if spoilt else {})})
        )

    def put(which, where, value):
        def change(given, first):
            given[which][where] = value

        return change

    def instead(which, value):
        def change(given, first):
            given[which] = value

        return change

    def start(value):
        def change(given, first):
            first[0] = value

        return change

    n = A.shape[0]
    for change, sentence in (
        (put(1, -1, n), f"column index {n} in row {n - 1} is out of range (n = {n})"),
        (put(1, 0, -1), "column number -1 is out of range: a matrix has fewer than 2^31 rows"),
        (put(1, 0, 2**40), f"column number {2**40} is out of range: a matrix has fewer than 2^31 rows"),
        (put(0, 1, 10**6), "indptr decreases at position 2"),
        (put(0, 0, 1), "indptr must begin with 0, not with 1"),
        (put(0, -1, len(rows.indices) + 1), f"indptr ends with {rows.nnz + 1:,}, and there are "
         f"{rows.nnz:,} indices and {rows.nnz:,} values"),
        (put(2, 0, np.nan), f"the matrix holds a NaN or Inf at row {here.start}, column {rows.indices[0]}"),
        (instead(0, np.zeros(1, np.int64)), "there are no rows here, and every process must hold one at least"),
        (instead(1, np.zeros(3)), "indices must be a 1-d array of integers, not float64 of shape (3,)"),
        (instead(2, "no"), "data must be a 1-d array of real numbers, not <U2 of shape ()"),
        (instead(2, rows.data * 1j), "data is complex, and a RowsSolver solves real systems only"),
        (start(-3), "first_row is the number of a row, counted from 0, not -3"),
    ):  # fmt: skip
        if spoilt:
            COMM.bcast(sentence, root=last)
        else:
            sentence = COMM.bcast(None, root=last)
        heard = made(change)
        assert heard == "BadArgument: " + who + sentence, (heard, sentence)
    assert "and " + str(here.start if spoilt else "") in made(start(int(here.start) + 1))
    assert made(lambda *_: None, solver="magic").startswith(f"BadArgument: {who}unknown solver 'magic'")
    assert made(lambda *_: None, colour=1).startswith(f"BadArgument: {who}unknown option 'colour'")
    assert made(lambda *_: None, devices="zero").startswith(
        f"BadArgument: {who}option 'devices' takes numbers"
    )
    if COMM.size > 1:
        assert made(lambda *_: None, rtol=1e-3).startswith(
            "BadArgument: the processes give different options"
        )
        assert "gatherbicgstab keeps whole vectors" in said(
            lambda: sordino.RowsSolver(COMM, *arrays(rows), **{**QUICK, "solver": "gatherbicgstab"})
        )

    solver = sordino.RowsSolver(COMM, *arrays(rows), **QUICK)
    good = solver.solve(b[here]).x
    bad = b[here].copy()
    bad[0] = np.nan
    size = len(bad)
    for value, sentence in (
        (bad, "b holds nan at position 0 (counted from 0)"),
        (bad[1:], f"b has shape ({size - 1},), and this process has {size:,} rows"),
        (None, "b has shape (), and this process has"),
        (bad * 1j, "b is complex"),
    ):
        heard = said(lambda value=value: solver.solve(value if spoilt else b[here]))
        assert heard.startswith(f"BadArgument: {who}"), heard
        if spoilt:
            assert sentence in heard, heard
    assert "on_failure is one of" in said(
        lambda: solver.solve(b[here], on_failure="shout" if spoilt else "raise")
    )
    assert "unknown option" in said(lambda: solver.solve(b[here], **({"colour": 1} if spoilt else {})))
    if COMM.size > 1:
        assert "different options" in said(lambda: solver.solve(b[here], rtol=1e-3 if spoilt else 1e-4))
    assert "the array of new values has 1 values" in said(
        lambda: solver.update_values([1.0] if spoilt else rows.data)
    )
    assert "holds a NaN or Inf" in said(
        lambda: solver.update_values(rows.data * np.nan if spoilt else rows.data)
    )
    np.testing.assert_array_equal(solver.solve(b[here]).x, good)


def parts():
    """A communicator of every second process, one of this process alone, and what is none."""
    half = COMM.Split(COMM.rank % 2, COMM.rank)
    A, b = system()
    for comm in (half, MPI.COMM_SELF, half.Dup()):
        rows, here = mine(A, comm)
        with sordino.RowsSolver(comm, *arrays(rows), **QUICK) as solver:
            assert solver.ranks >= comm.size
            assert np.linalg.norm(b - A @ whole(solver.solve(b[here]).x, comm)) <= 1.01e-10 * np.linalg.norm(
                b
            )
    rows = arrays(A)
    assert "the communicator is MPI_COMM_NULL" in said(lambda: sordino.RowsSolver(MPI.COMM_NULL, *rows))
    assert "not a int" in said(lambda: sordino.RowsSolver(3, *rows))
    if COMM.size > 1:
        other = half.Create_intercomm(0, COMM, 1 - COMM.rank % 2)
        assert "is an intercommunicator" in said(lambda: sordino.RowsSolver(other, *rows))
    if COMM.rank == 0:  # None: nobody else takes part
        assert sordino.RowsSolver(None, *rows, **QUICK).solve(b).converged
    COMM.Barrier()


def left():
    """A solver that nobody closes does not outlive MPI."""
    A, b = system()
    rows, here = mine(A)
    for progress in ("commands", "thread"):
        globals()["kept_" + progress] = solver = sordino.RowsSolver(
            COMM, *arrays(rows), progress=progress, **QUICK
        )
        assert solver.solve(b[here]).converged


def one_each():
    """Ranks that nobody asked for, also where the communicator has one process."""
    A, _ = system()
    rows, _ = mine(A)
    for comm, own in ((COMM, rows), (MPI.COMM_SELF, A)):
        with sordino.RowsSolver(comm, own, engine="host") as solver:
            assert solver.ranks == comm.size


def nonsymmetric():
    """Why cg fails, as far as the last process's rows show it."""
    A, b = system()
    A = A.copy()
    A.data[A.indptr[-2]] *= 1.5
    rows, here = mine(A)
    with sordino.RowsSolver(COMM, rows, **{**QUICK, "solver": "cg", "maxiter": 2}) as solver:
        done = solver.solve(b[here], on_failure="return")
    assert done.report.reason.endswith(
        "; the matrix is not symmetric, which solver cg needs: use bicgstab"
    ), done.report.reason


def missing():
    """Who waits in vain for another process to come is told so in time, when it makes a solver and when it solves."""
    if COMM.size == 1:
        return
    A, b = system()
    rows, here = mine(A)
    late = COMM.rank == COMM.size - 1
    own = COMM.Dup()

    def given_up(job):
        if late:
            return ""
        try:
            job()
        except sordino.PeerFailed as error:
            return str(error)
        return "accepted"

    sentence = given_up(lambda: sordino.RowsSolver(own, rows, **{**QUICK, "timeout": 1.0}))
    assert late or f"process {COMM.rank} waited 1 s for " in sentence, sentence
    assert late or " to enter RowsSolver: " in sentence, sentence
    COMM.Barrier()
    if late:
        own.Ibarrier().Wait()  # what the others have left under way there
    COMM.Barrier()
    with sordino.RowsSolver(COMM, rows, **{**QUICK, "timeout": 3.0}) as solver:
        sentence = given_up(lambda: solver.solve(b[here]))
        expected = f"process {COMM.rank} waited 3 s for process {COMM.size - 1} to enter solve: it has failed"
        assert late or expected in sentence, sentence
        COMM.Barrier()


def interrupted():
    """Ctrl-C in one process ends the solve in all, who agree on why."""
    import os
    import signal
    import threading

    A = sp.csr_array(sordino.poisson(40, 40, 40, contrast=1e8))
    b = A @ np.ones(A.shape[0])
    rows, here = mine(A)
    solver = sordino.RowsSolver(COMM, *arrays(rows), solver="cg", precond="none", **QUICK)
    if COMM.rank == COMM.size - 1:
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    endless = {"rtol": 1e-13, "maxiter": 10**8, "on_failure": "return"}
    try:
        status = solver.solve(b[here], time_limit=60, **endless).status
    except sordino.Interrupted as error:
        status = error.solution.status
    assert COMM.allgather(status) == ["interrupted"] * COMM.size
    done = solver.solve(b[here], time_limit=0.3, **endless)
    assert COMM.allgather(done.status) == ["time_limit"] * COMM.size
    assert done.report.reason.startswith("stopped on request: the time limit is reached"), done.report.reason
    assert solver.solve(b[here], rtol=1e-1).converged


def machines():
    """What auto goes by is described to all alike, and all take the same method."""
    A = sp.csr_array(sordino.poisson(8, 8, 40))
    rows, here = mine(A)
    b = A @ np.ones(A.shape[0])
    for described, taken in ((None, "cg"), ("oakforest-pacs", "cgcg" if COMM.size == 1 else "cbcg")):
        with sordino.RowsSolver(COMM, rows, machine=described, **{**QUICK, "rtol": 1e-8}) as solver:
            done = solver.solve(b[here])
            assert COMM.allgather(done.report.options["solver"]) == [taken] * COMM.size
            assert len(set(COMM.allgather(done.report.solver_reason))) == 1
            assert np.abs(done.x - 1).max() < 1e-5
    if COMM.size > 1:
        mixed = "summit" if COMM.rank else "laptop"
        assert "the processes describe different machines" in said(
            lambda: sordino.RowsSolver(COMM, rows, machine=mixed, **QUICK)
        )


def incomplete():
    """Each rank factorizes its rows; a pivot that one process refuses is refused by all, and the old factors stay."""
    A, b = system()
    rows, here = mine(A)
    for precond, solver in (("ic0", "cg"), ("ilu0", "bicgstab"), ("ilu0", "gmres")):
        with sordino.RowsSolver(COMM, rows, solver=solver, **QUICK) as jacobi:
            most = jacobi.solve(b[here]).iterations
        with sordino.RowsSolver(COMM, rows, solver=solver, precond=precond, **QUICK) as factors:
            found = factors.solve(b[here])
            assert found.converged and found.iterations < most
            assert found.report.options["precond"] == precond
            bad = rows.copy()
            bad.data[bad.indices == A.shape[0] - 1] = 0  # its row and its column: ic0 asks for symmetry first
            if COMM.rank == COMM.size - 1:
                bad[-1] *= 0
            sentence = said(lambda f=factors, v=bad.data: f.update_values(v))
            assert sentence.startswith(f"BadArgument: {precond}: the pivot of row {A.shape[0] - 1} is "), (
                sentence
            )
            assert np.array_equal(factors.solve(b[here]).x, found.x)
    assert "precond ilu0 is not symmetric, which solver cg needs" in said(
        lambda: sordino.RowsSolver(COMM, rows, solver="cg", precond="ilu0", **QUICK)
    )


if __name__ == "__main__":
    assert MPI.Query_thread() >= MPI.THREAD_SERIALIZED
    for part in (
        solves,
        matrices,
        ranks,
        refusals,
        parts,
        one_each,
        machines,
        incomplete,
        nonsymmetric,
        missing,
        interrupted,
        left,
    ):
        print(part.__name__, flush=True)
        part()
    assert not MPI.Is_finalized()  # that is mpi4py's
    COMM.Barrier()
    print("well", flush=True)
