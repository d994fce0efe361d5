"""What each process of test_rows_mpi.py runs for algebraic multigrid, on engine host, or that of SORDINO_TEST_ENGINE.

It says "well" in the end."""

import os

import numpy as np
import scipy.sparse as sp
from rows_program import COMM, QUICK, mine, said, whole

import sordino
from sordino.problems import multiphase, pressure_steps

RNG = np.random.default_rng(int(os.environ.get("SORDINO_TEST_SEED", "0")))  # the same in all processes
ENGINE = os.environ.get("SORDINO_TEST_ENGINE", "host")
AMG = {**QUICK, "engine": ENGINE, "precond": "amg", "rtol": 1e-8}


def alone(A, b, **options):
    """Iterations of one process that has all rows, of one rank; the first one's, told to all."""
    wanted = {**AMG, **options}
    counts = [sordino.RowsSolver(None, A, **wanted).solve(b).iterations if COMM.rank == 0 else 0]
    return COMM.bcast(counts)[0]


def solved(solver, A, b, here):
    """A solution by all processes that is one of the whole system."""
    done = solver.solve(b[here])
    assert done.converged and done.report.options["precond"] == "amg"
    assert np.linalg.norm(b - A @ whole(done.x)) <= 1.01e-8 * np.linalg.norm(b)
    assert len(set(COMM.allgather(done.iterations))) == 1
    return done


def shuffled(A):
    order = RNG.permutation(A.shape[0])
    B = sp.csr_array(A[order][:, order])
    B.sort_indices()
    return B


def iterations():
    """Near those of one process, whatever the phases, the cycle, the ranks, and the order of rows."""
    bubbles = sp.csr_array(multiphase(12, 13, 11, contrast=1e6, seed=3).A)
    for A in (sp.csr_array(sordino.poisson(11, 12, 13, contrast=100.0)), bubbles, shuffled(bubbles)):
        b = RNG.standard_normal(A.shape[0])
        rows, here = mine(A)
        for options in (
            {},
            {"cycle": "w"},
            {"cycle": "f"},
            {"level_rows": 0},
            {"ranks": 2 if ENGINE == "host" else 1},
        ):
            most = alone(A, b, **{**options, "ranks": 1})
            with sordino.RowsSolver(COMM, rows, **{**AMG, **options}) as solver:
                done = solved(solver, A, b, here)
                assert done.iterations <= 1.25 * most + 2, (done.iterations, most, options)
                assert done.report.options["solver"] == ("fcg" if "f" in options.values() else "cg")
        with sordino.RowsSolver(COMM, rows, **{**AMG, **options}) as again:
            np.testing.assert_array_equal(again.solve(b[here]).x, done.x)


def few_rows():
    """A system that is too small to coarsen, and one of which some process has a row alone."""
    for n in (2 * COMM.size + 1, 90):
        A = sp.csr_array(sordino.poisson(n, 1, 1))
        b = RNG.standard_normal(n)
        first = n - COMM.size + COMM.rank if COMM.rank else 0
        here = slice(first, n - COMM.size + COMM.rank + 1)
        with sordino.RowsSolver(COMM, sp.csr_array(A[here]), **AMG) as solver:
            done = solved(solver, A, b, here)
            assert done.report.one_level == (n <= 64) and done.iterations <= 12


def solid_cells():
    """The rows of one process are coupled with nobody: it owns nothing of the levels below."""
    A = sp.csr_array(sordino.poisson(12, 11, 10, contrast=10.0))
    here = mine(A)[1]
    firsts = COMM.allgather((here.start, here.stop))
    solid = np.zeros(A.shape[0], dtype=bool)
    for first, end in {firsts[-1], firsts[len(firsts) // 2]} if COMM.size > 1 else ():
        solid[first:end] = True
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    A.data[(solid[row] | solid[A.indices]) & (row != A.indices)] = 0
    b = RNG.standard_normal(A.shape[0])
    rows, here = mine(A)
    for options in ({}, {"level_rows": 0}, {"level_rows": 0, "cycle": "w"}):
        with sordino.RowsSolver(COMM, rows, **{**AMG, **options}) as solver:
            assert solved(solver, A, b, here).iterations <= 20


def new_values():
    """Along the same aggregates; refused ones change nothing."""
    A = sp.csr_array(multiphase(12, 11, 13, contrast=1e3, seed=4).A)
    b = RNG.standard_normal(A.shape[0])
    rows, here = mine(A)
    with sordino.RowsSolver(COMM, rows, **AMG) as solver:
        done = solved(solver, A, b, here)
        solver.update_values(4 * rows.data)
        np.testing.assert_array_equal(4 * solver.solve(b[here]).x, done.x)  # a power of four rounds nothing
        bad = rows.data.copy()
        if COMM.rank == COMM.size - 1:
            bad[-1] = -1.0
        sentence = said(lambda: solver.update_values(bad))
        assert f"the diagonal of row {A.shape[0] - 1} is not positive" in sentence
        np.testing.assert_array_equal(4 * solver.solve(b[here]).x, done.x)
        report = solver.solve(b[here]).report
        assert (report.levels_made, report.levels_reused) == (1, 1)


def phases_move():
    """Levels are made anew where they are worn, in all processes at once."""
    rising = multiphase(16, 16, 16, contrast=1e6, seed=1)
    A = sp.csr_array(rising.A)
    rows, here = mine(A)
    first, end = A.indptr[here.start], A.indptr[here.stop]
    with sordino.RowsSolver(COMM, rows, **{**AMG, "solver": "cg"}) as solver:
        for values, b in pressure_steps(rising, 12):
            solver.update_values(values[first:end])
            now = sp.csr_array((values, A.indices, A.indptr), shape=A.shape)
            report = solved(solver, now, b, here).report
            assert len(set(COMM.allgather((report.levels_made, report.levels_reason)))) == 1
        assert report.levels_made > 1 and report.iterations <= 40
        assert "where the first ones with the levels before took" in report.levels_reason
        said(lambda: solver.update_values(values[first:end] if COMM.rank else values[first:end][:-1]))
        assert solver.solve(b[here]).converged


def closed_boxes():
    """A singular system, with its nullspace."""
    A = sp.csr_array(sordino.poisson(13, 12, 11, boundary="neumann", contrast=50.0))
    b = RNG.standard_normal(A.shape[0])
    b -= b.mean()
    rows, here = mine(A)
    most = alone(A, b, nullspace="constant")
    with sordino.RowsSolver(COMM, rows, nullspace="constant", **AMG) as solver:
        done = solved(solver, A, b, here)
        assert done.iterations <= 1.25 * most + 2 and abs(whole(done.x).mean()) < 1e-8


def refusals():
    """All say the same."""
    A = sp.csr_array(sordino.poisson(9, 8, 7))
    rows, here = mine(A)

    def refused(matrix=rows, **options):
        return said(lambda: sordino.RowsSolver(COMM, matrix, **{**AMG, **options}))

    assert "cycle f is not symmetric, which solver cg needs" in refused(solver="cg", cycle="f")
    assert "precond amg computes in double" in refused(cycle_precision="single")
    assert "precond amg is smoothed by polynomials" in refused(smoother="sor")
    assert "precond mg is not supported here" in refused(precond="mg", grid="9,8,7")
    skewed = rows.copy()
    if COMM.rank == COMM.size - 1:
        skewed.data[0] *= 1.5 if skewed.indices[0] != here.start else 1
        skewed.data[1] *= 1.5
    assert "precond amg needs a symmetric positive definite matrix, and this one is not symmetric" in refused(
        skewed, solver="gmres"
    )
    negative = rows.copy()
    if COMM.rank == COMM.size - 1:
        negative.data[-1] = -1.0
    who = f"process {COMM.size - 1}: " if COMM.size > 1 else ""
    assert (
        f"{who}precond amg needs a symmetric positive definite matrix, and the diagonal of row 503"
        in refused(negative, solver="gmres")
    )
    alike = sp.csr_array(sp.eye_array(3000))
    assert "precond amg adds up rows that are strongly coupled" in refused(mine(alike)[0], solver="cg")


if __name__ == "__main__":
    for part in (iterations, few_rows, solid_cells, new_values, phases_move, closed_boxes, refusals):
        print(part.__name__, flush=True)
        part()
    COMM.Barrier()
    print("well", flush=True)
