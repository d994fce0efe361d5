"""Operators, preconditioners and callbacks of Python's in a Solver, solvers as preconditioners, and memory foretold."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
from sordino._native import core


@pytest.fixture
def system():
    A = sordino.poisson(9, 8, 7, contrast=100.0)
    return A, np.random.default_rng(3).standard_normal(A.shape[0])


def operator_of(A):
    return spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float)


def residual(A, b, x):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_an_operator_is_called_once_an_application_and_its_errors_come_out(system, ranks):
    A, b = system
    threads, calls = set(), [0]

    def product(x):
        calls[0] += 1
        threads.add(threading.get_ident())
        x[:] = 2 * x  # a copy is the caller's own
        return A @ (x / 2)

    operator = spla.LinearOperator(A.shape, matvec=product, dtype=float)
    solver = sordino.Solver(operator, solver="cg", ranks=ranks)
    first = solver.solve(b, rtol=1e-8)
    assert first.converged and residual(A, b, first.x) <= 1e-8
    assert calls[0] == first.iterations + 2 and len(threads) == 1

    class MineError(Exception):
        pass

    broken = [True]

    def fails(x):
        if broken[0] and calls[0] > 5:
            raise MineError("out of ink")
        calls[0] += 1
        return A @ x

    calls[0] = 0
    solver = sordino.Solver(spla.LinearOperator(A.shape, matvec=fails, dtype=float), solver="cg", ranks=ranks)
    with pytest.raises(MineError, match="out of ink"):
        solver.solve(b)
    broken[0] = False  # and the solver can be used again
    assert solver.solve(b, rtol=1e-8).x.tobytes() == first.x.tobytes()


def test_functions_that_return_something_else_are_refused(system):
    A, b = system
    for M in (lambda r: r[:-1], lambda r: "ink", lambda r: 1j * r, lambda r: None):
        with pytest.raises(
            sordino.BadArgument, match=r"the preconditioner returned .* is to return 504 real numbers"
        ):
            sordino.linalg.cg(A, b, M=M, ranks=2)


def test_what_functions_do_not_go_with(system):
    A, b = system
    operator = operator_of(A)
    with pytest.raises(sordino.Unsupported, match="pipebicgstab needs the entries of the matrix"):
        sordino.solve(operator, b, solver="pipebicgstab")
    with pytest.raises(sordino.Unsupported, match="pipebicgstab takes no preconditioner but a diagonal"):
        sordino.solve(A, b, solver="pipebicgstab", M=lambda r: r)
    with pytest.raises(sordino.BadArgument, match="jacobi needs the entries"):
        sordino.solve(operator, b, M="jacobi")
    with pytest.raises(sordino.BadArgument, match="given twice"):
        sordino.Solver(A, M="jacobi", precond="none")
    with pytest.raises(sordino.BadArgument, match="no values to update"):
        sordino.Solver(operator).update_values(A)
    assert sordino.solve(A, b, precond=sp.diags_array(1 / A.diagonal()), solver="prcg").converged


@pytest.mark.parametrize("solver", ["cg", "cgcg", "prcg", "bicgstab", "pipebicgstab", "gatherbicgstab"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_callbacks_every_m_iterations(system, solver, ranks):
    A, b = system
    seen = []
    made = sordino.Solver(A, solver=solver, ranks=ranks, callback_every=4, callback_x=True)
    done = made.solve(b, rtol=1e-8, callback=lambda it, res, x: seen.append((it, res, x)))
    assert done.converged and done.iterations // 4 - 1 <= len(seen) <= done.iterations // 4 + 1
    assert [it for it, _, _ in seen[:3]] == [4, 8, 12]
    lag = (
        0 if solver in ("cg", "bicgstab") else 1
    )  # the residual that is known is that of the iteration before
    for it, res, x in seen[:3]:
        assert res == pytest.approx(done.history[it - 1 - lag], rel=1e-12)
        assert residual(A, b, x) == pytest.approx(done.history[it - 1], rel=1e-6)
    stops = []
    stopped = made.solve(
        b, rtol=1e-8, on_failure="return", callback=lambda it, *_: stops.append(it) or it >= 8
    )
    assert stopped.status == "stopped_by_user" and stops == [4, 8]
    assert 8 <= stopped.iterations <= 10 and np.isfinite(stopped.x).all()
    assert made.solve(b, rtol=1e-8).x.tobytes() == done.x.tobytes()


def test_callbacks_of_a_method_that_takes_several_iterations_at_once(system):
    A, b = system
    seen = []
    made = sordino.Solver(A, solver="cbcg", s=4, ranks=2, callback_every=5, callback_x=True)
    done = made.solve(b, rtol=1e-8, callback=lambda it, res, x: seen.append((it, residual(A, b, x))))
    assert done.converged and done.iterations % 4 == 0 and len(done.history) == done.iterations
    assert [it for it, _ in seen[:2]] == [8, 16]  # rounded up to whole rounds
    for it, res in seen:
        assert res == pytest.approx(done.history[it - 1], rel=1e-6)


def test_callbacks_every_m_iterations_without_x(system):
    A, b = system
    seen = []
    assert sordino.solve(
        A, b, solver="cg", callback_every=1, callback=lambda *what: seen.append(what)
    ).converged
    assert [what[0] for what in seen] == list(range(1, len(seen) + 1)) and len(seen[0]) == 2
    for wrong in (-1, 2.5, True, "often"):
        with pytest.raises(sordino.BadArgument, match="callback_every is a number of iterations"):
            sordino.Solver(A, callback_every=wrong)
    with pytest.raises(sordino.BadArgument, match="callback_x needs callback_every"):
        sordino.Solver(A, callback_x=True)


def test_a_solver_is_a_preconditioner_of_scipys_methods_and_of_another_solver(system):
    A, b = system
    coarse = sordino.Solver(A, solver="cg", ranks=2)
    M = coarse.aspreconditioner(rtol=1e-3)
    assert M.shape == A.shape and M.dtype == np.float64
    assert residual(A, b, M @ b) <= 1e-3
    counts = {}
    for label, given in (("none", None), ("ours", M)):
        count = []
        _, info = spla.cg(A, b, rtol=1e-8, M=given, callback=count.append)
        assert info == 0
        counts[label] = len(count)
    assert counts["ours"] < counts["none"] / 3
    assert sordino.solve(A, b, solver="bicgstab", M=M, ranks=2, rtol=1e-8).iterations <= counts["ours"] + 1
    assert sordino.solve(A, b, solver="cg", M=coarse, ranks=2, rtol=1e-8).converged
    few = coarse.aspreconditioner(maxiter=2)
    assert np.isfinite(few @ b).all() and residual(A, b, few @ b) > 1e-3
    with pytest.raises(sordino.BadArgument, match="fixed at setup"):
        coarse.aspreconditioner(engine="host")


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_the_estimate_of_memory_is_within_a_tenth(ranks):
    A, thin = sordino.poisson(14, 13, 12, stencil=27), sordino.poisson(60, 60, 1)
    operator = operator_of(A)
    cases = [(matrix, {"solver": row["name"]}) for row in core().solvers() for matrix in (A, thin)]
    cases += [
        (A, {"M": lambda r: r, "solver": "cg"}),
        (operator, {}),
        (A, {"callback_every": 2, "callback_x": True}),
    ]
    cases += [(A, {"engine": "model"}), (A, {"M": A + 0.1 * sp.eye_array(A.shape[0]), "solver": "bicgstab"})]
    for matrix, options in cases:
        estimated = sordino.estimate_memory(matrix, ranks=ranks, **options)
        held = sordino.Solver(matrix, ranks=ranks, **options).memory()
        assert held.pop("device_allocations") == [0] * ranks  # on the host
        assert estimated.keys() == held.keys() and estimated["matrix_bytes"] == held["matrix_bytes"]
        assert len(estimated["bytes_per_rank"]) == ranks
        np.testing.assert_allclose(estimated["bytes_per_rank"], held["bytes_per_rank"], rtol=0.1)
    with pytest.raises(sordino.BadArgument, match="ranks are more than the matrix has rows"):
        sordino.estimate_memory(A, ranks=10**6)
    with pytest.raises(sordino.BadArgument, match="engine 'host' runs on the one that is here"):
        sordino.estimate_memory(A, engine="host", solver="cg", machine="h200x4")
    with pytest.raises(sordino.SordinoError, match="abacus"):
        sordino.estimate_memory(A, engine="model", machine="abacus")
    described = {"engine": "model", "machine": "h200x4", "ranks": 4}
    assert sordino.estimate_memory(A, **described) == sordino.estimate_memory(A, engine="model", ranks=4)


def test_an_estimate_for_gpus_that_are_not_here():
    A = sordino.poisson(20, 20, 20)
    on_gpus = sordino.estimate_memory(A, engine="cuda", ranks=4, solver="cg")["bytes_per_rank"]
    assert len(on_gpus) == 4 and min(on_gpus) > 12 * A.nnz / 4


def test_m_is_given_no_infinite_numbers_where_p_meets_none_of_its_product():
    A = sp.diags_array(np.resize([1.0, -1.0], 40)).tocsr()
    b = np.zeros(40)
    b[:2] = 1

    def M(r):
        assert np.isfinite(r).all()
        return r

    solver = sordino.Solver(
        A, M=spla.LinearOperator(A.shape, matvec=M, dtype=float), solver="cg", symmetry="hermitian"
    )
    assert solver.solve(b, on_failure="return").status == "indefinite"
