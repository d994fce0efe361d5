"""Solving with the compiled core: right answers on any number of ranks, the same bits, honest statuses."""

from __future__ import annotations

import resource
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
from sordino._native import core

RANKS = (1, 2, 3, 4, 7)
COUNTS = ("commands", "reductions", "reduced_values", "messages", "bytes_sent", "memory_bytes", "flops")


def methods(requires):
    """Of real matrices; those for complex symmetric ones are for positive definite ones there."""
    kinds = {"general": "general", "spd": "spd", "symmetric": "spd"}
    return [row["name"] for row in core().solvers() if kinds[row["requires"]] == requires]


def test_which_matrices_a_method_takes_is_said():
    kinds = {row["name"]: row["requires"] for row in core().solvers()}
    assert (kinds["cg"], kinds["cocg"], kinds["bicgstab"]) == ("spd", "symmetric", "general")


def spd(n, seed):
    """A sparse SPD matrix whose condition number is some hundreds."""
    rng = np.random.default_rng(seed)
    half = sp.random_array((n, n), density=6 / n, rng=rng)
    return sp.csr_array(half @ half.T + sp.diags_array(rng.uniform(0.1, 3, n)))


def convection(n, speed):
    """Upwind convection-diffusion on an n x n grid: not symmetric, diagonally dominant."""
    line = sp.diags_array(
        [-(1 + speed) * np.ones(n - 1), (2 + speed) * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]
    )
    eye = sp.eye_array(n)
    return sp.csr_array(sp.kron(line, eye) + sp.kron(eye, line))


SYSTEMS = {
    "spd": (lambda: spd(300, 1), "spd"),
    "poisson 27": (lambda: sordino.poisson(8, 7, 6, stencil=27), "spd"),
    "contrast": (lambda: sordino.poisson(8, 8, 8, contrast=1000.0), "spd"),
    "convection": (lambda: convection(18, 3.0), "general"),
}


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_solutions_agree_with_a_direct_solver(name, ranks):
    build, kind = SYSTEMS[name]
    A = build()
    b = np.random.default_rng(2).standard_normal(A.shape[0])
    exact = spla.spsolve(A.tocsc(), b)
    for method in methods(kind):
        solution = sordino.solve(A, b, solver=method, rtol=1e-10, ranks=ranks, engine="host")
        assert np.linalg.norm(b - A @ solution.x) <= 1e-10 * np.linalg.norm(b)
        assert np.linalg.norm(solution.x - exact) <= 1e-6 * np.linalg.norm(exact), method


@pytest.mark.parametrize("name", ["contrast", "convection"])
def test_histories_are_equal_to_the_bit_on_all_ranks_and_engines(name):
    build, kind = SYSTEMS[name]
    A = build()
    b = A @ np.ones(A.shape[0])
    for method in methods(kind):
        runs = [
            sordino.solve(A, b, solver=method, rtol=1e-9, ranks=ranks, engine=engine, on_failure="return")
            for engine in ("host", "model")
            for ranks in (1, 2, 3, 4)
        ]
        for run in runs[1:]:
            assert run.history.tobytes() == runs[0].history.tobytes(), method
            assert run.x.tobytes() == runs[0].x.tobytes(), method


def test_ledgers_are_equal_on_host_and_model():
    A = sordino.poisson(10, 9, 8)
    b = A @ np.ones(A.shape[0])
    for method in methods("spd"):
        ledgers = [sordino.solve(A, b, solver=method, ranks=3, engine=e).ledger for e in ("host", "model")]
        assert {key: ledgers[0][key] for key in COUNTS} == {key: ledgers[1][key] for key in COUNTS}


@pytest.mark.slow
def test_poisson_64_takes_91_iterations():
    A = sordino.poisson(64, 64, 64, stencil=27)
    b = A @ np.ones(A.shape[0])
    solution = sordino.solve(A, b, solver="cg", precond="jacobi", rtol=1e-8, ranks=2, engine="host")
    assert abs(solution.iterations - 91) <= 1
    assert np.linalg.norm(b - A @ solution.x) <= 1e-8 * np.linalg.norm(b)


def test_what_is_reported_is_what_numpy_finds():
    A = SYSTEMS["spd"][0]()
    b = np.ones(300)
    solution = sordino.solve(A, b, rtol=1e-7, ranks=2)
    residual = np.linalg.norm(b - A @ solution.x)
    assert solution.residual_norm == pytest.approx(residual, rel=1e-3)
    assert solution.true_residual == pytest.approx(residual / np.linalg.norm(b), rel=1e-3)
    assert solution.iterations > 0 and solution.seconds > 0 and solution.reason
    assert len(solution.history) in (solution.iterations, solution.iterations + 1)


def test_converged_is_never_said_of_a_wrong_x():
    rng = np.random.default_rng(7)
    for trial in range(60):
        n = int(rng.integers(2, 40))
        A = sp.csr_array(rng.standard_normal((n, n)) * 10.0 ** rng.integers(-12, 12, (n, n)))
        b = rng.standard_normal(n) * 10.0 ** rng.integers(-12, 12)
        for method in ("cg", "bicgstab"):
            try:
                solution = sordino.solve(
                    A,
                    b,
                    solver=method,
                    rtol=1e-9,
                    ranks=int(rng.integers(1, 3)),
                    maxiter=200,
                    on_failure="return",
                )
            except sordino.BadArgument:
                continue
            if solution.converged:
                assert np.linalg.norm(b - A @ solution.x) <= 1.0001e-9 * np.linalg.norm(b), trial
            assert np.isfinite(solution.x).all()


def test_many_solves_with_changing_values_allocate_nothing():
    A = sordino.poisson(12, 12, 12)
    n = A.shape[0]
    rng = np.random.default_rng(3)
    solver = sordino.Solver(A, rtol=1e-8, ranks=2, engine="host")
    before = None
    for step in range(200):
        scale = rng.uniform(0.5, 2.0)
        solver.update_values(scale * A.data)
        x = solver.solve(scale * (A @ np.full(n, float(step + 1)))).x
        np.testing.assert_allclose(x, step + 1, rtol=1e-5)
        if step == 50:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000  # kB


def test_changes_of_the_callers_matrix_do_not_reach_the_solver():
    A = sordino.poisson(6, 6, 6)
    b = A @ np.ones(216)
    solver = sordino.Solver(A, rtol=1e-10, engine="host")
    A.data[:] = 0
    np.testing.assert_allclose(solver.solve(b).x, 1, rtol=1e-7)


def test_honest_statuses():
    indefinite = sp.csr_array(np.array([[4.0, 1, 0], [1, -3, 1], [0, 1, 5]]))
    b = np.ones(3)
    for method in methods("spd"):
        solution = sordino.solve(
            indefinite, b, solver=method, precond="none", on_failure="return", rtol=1e-12
        )
        assert solution.status in ("indefinite", "breakdown") and np.isfinite(solution.x).all()
    A = sordino.poisson(10, 10, 10)
    b = A @ np.ones(1000)
    assert sordino.solve(A, b, maxiter=3, on_failure="return").status == "max_iterations"
    with pytest.raises(sordino.NotConverged, match="max_iterations"):
        sordino.solve(A, b, maxiter=3)


def test_special_right_hand_sides_and_guesses():
    A = sordino.poisson(5, 5, 5)
    zero = sordino.solve(A, np.zeros(125))
    assert zero.converged and not zero.x.any()
    zero = sordino.solve(A, np.zeros(125), x0=np.ones(125))
    assert zero.converged and not zero.x.any()
    exact = sordino.solve(A, A @ np.ones(125), x0=np.ones(125), rtol=1e-12)
    assert exact.converged and exact.iterations == 0


@pytest.mark.parametrize("scale", [1e-290, 1e-200, 1e-150, 1e150, 1e200, 1e290])
def test_right_hand_sides_whose_squares_leave_the_range_are_no_false_success(scale):
    A = sordino.poisson(5, 5, 5)
    solution = sordino.solve(A, scale * (A @ np.ones(125)), rtol=1e-9, on_failure="return")
    if solution.converged:
        np.testing.assert_allclose(solution.x / scale, 1, rtol=1e-6)


def test_the_smallest_systems():
    np.testing.assert_allclose(sordino.solve(sp.csr_array([[4.0]]), [2.0]).x, [0.5])
    A = sp.csr_array([[2.0, -1.0], [-1.0, 2.0]])
    for ranks in (1, 2):
        np.testing.assert_allclose(sordino.solve(A, [1.0, 1.0], ranks=ranks, rtol=1e-12).x, [1, 1], rtol=1e-9)


def test_a_zero_diagonal_is_refused_by_jacobi():
    A = sp.csr_array([[0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(sordino.BadArgument, match=r"^[^\n]*diagonal[^\n]*$"):
        sordino.solve(A, np.ones(2), precond="jacobi")


def test_a_callback_stops_a_solve_and_its_error_comes_out():
    A = sordino.poisson(40, 40, 40, contrast=1e6)
    b = A @ np.ones(A.shape[0])
    stopped = sordino.solve(A, b, rtol=1e-13, precond="none", callback=lambda *_: True, on_failure="return")
    assert stopped.status == "stopped_by_user" and np.isfinite(stopped.x).all()

    def broken(*_):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        sordino.solve(A, b, rtol=1e-13, precond="none", callback=broken)


def test_a_time_limit():
    A = sordino.poisson(40, 40, 40, contrast=1e6)
    b = A @ np.ones(A.shape[0])
    limited = sordino.solve(A, b, rtol=1e-13, precond="none", time_limit=0.2, on_failure="return")
    assert limited.status == "time_limit" and limited.seconds < 5


def test_several_solvers_in_several_threads():
    A = sordino.poisson(12, 12, 12)
    b = A @ np.ones(A.shape[0])
    results = {}

    def work(number):
        results[number] = sordino.solve(A, (number + 1) * b, rtol=1e-9, ranks=2, engine="host").x

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    for number in range(4):
        np.testing.assert_allclose(results[number], number + 1, rtol=1e-6)


def test_described_machines_run_on_the_model_engine():
    from sordino import machines

    A = sordino.poisson(8, 8, 8)
    b = A @ np.ones(512)
    for name in machines.names():
        solution = sordino.solve(A, b, engine="model", machine=name, ranks=8, rtol=1e-8)
        assert solution.converged and solution.report.machine["name"] == name
    slow = {**machines.load("h200x4"), "reduction_base_s": 1e-3}
    assert sordino.solve(A, b, engine="model", machine=slow, ranks=8, rtol=1e-8).seconds > 1e-3


def test_the_interface_that_this_package_relies_on():
    assert {"solver", "precond", "rtol", "atol", "maxiter", "engine", "ranks", "trace"} <= set(
        row["name"] for row in core().options()
    )
    assert {"version", "commit", "cuda", "mpi", "compiler"} <= set(core().build_info())
    assert {"devices", "peer_access", "reason"} <= set(core().devices())
    solution = sordino.solve(sordino.poisson(4, 4, 4), np.ones(64), trace=True, ranks=2)
    assert {"rank", "queue", "name", "kind", "start_s", "end_s"} <= set(solution.report.trace[0])
    assert {*COUNTS, "kernels", "time_s"} <= set(solution.ledger)


def test_what_one_solve_is_refused_the_next_one_does_not_inherit():
    A = spd(60, 5)
    b = np.ones(60)
    solver = sordino.Solver(A, engine="host", ranks=2)
    with pytest.raises(sordino.BadArgument):
        solver.solve(b, rtol=-1.0)
    assert solver.solve(b).status == "converged"


def test_refused_values_leave_the_old_ones():
    A = sp.diags_array(np.arange(1.0, 31.0), format="csr")
    solver = sordino.Solver(A, engine="host", ranks=2, precond="jacobi")
    with pytest.raises(sordino.BadArgument):
        solver.update_values(np.zeros(30))
    np.testing.assert_allclose(solver.solve(np.ones(30), rtol=1e-10).x, 1 / np.arange(1.0, 31.0))


def test_refused_factors_leave_the_old_ones():
    A = sordino.poisson(12, 10, 8, contrast=100)
    b = np.random.default_rng(7).standard_normal(A.shape[0])
    solver = sordino.Solver(
        A, engine="host", ranks=2, solver="cg", precond="block-ilu", grid=(12, 10, 8), tile=(4, 5, 4)
    )
    before = solver.solve(b)
    refused = A.data * 3.0
    refused[A.indptr[-2] : A.indptr[-1]][A.indices[A.indptr[-2] : A.indptr[-1]] == A.shape[0] - 1] *= -1
    with pytest.raises(sordino.BadArgument, match="the pivot of row 959 is not positive"):
        solver.update_values(refused)
    assert np.array_equal(solver.solve(b).x, before.x)


def test_a_look_that_outlives_its_solver_does_no_harm():
    over = threading.Event()

    def slow(iteration, residual, x=None):
        over.wait(5)
        return True

    solver = sordino.Solver(spd(60, 6), engine="host", ranks=2, timeout=0.3, callback_every=1)
    with pytest.raises(sordino.SordinoError):
        solver.solve(np.ones(60), callback=slow)
    del solver
    over.set()
