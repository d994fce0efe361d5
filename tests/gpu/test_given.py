"""Operators, preconditioners and callbacks of Python on GPUs, beside the host engine. Skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
from sordino import _core

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(_core.devices()["devices"])
A = sordino.poisson(14, 13, 12, contrast=100.0)
B = np.random.default_rng(3).standard_normal(A.shape[0])
D = 1 / A.diagonal()
OPERATOR = spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float)


def ranks_here() -> list[int]:
    return [ranks for ranks in (1, 2, 4) if ranks <= max(DEVICES, 2)]  # ranks may share a GPU


@pytest.mark.parametrize("solver", ["cg", "bicgstab"])
@pytest.mark.parametrize(
    ("matrix", "M"),
    [(OPERATOR, None), (OPERATOR, lambda r: D * r), (A, lambda r: D * r), (A, sp.diags_array(D))],
    ids=["A", "A and M", "M", "diagonal"],
)
def test_functions_give_the_bits_of_the_host(solver, matrix, M) -> None:
    host = sordino.Solver(matrix, M=M, solver=solver, engine="host", ranks=2).solve(B, rtol=1e-9)
    for ranks in ranks_here():
        made = sordino.Solver(
            matrix, M=M, solver=solver, engine="cuda", ranks=ranks, deterministic="on", timeout=20.0
        )
        for _ in range(2):
            found = made.solve(B, rtol=1e-9)
            assert found.history.tobytes() == host.history.tobytes(), ranks
            assert found.x.tobytes() == host.x.tobytes(), ranks
        fast = sordino.Solver(matrix, M=M, solver=solver, engine="cuda", ranks=ranks, deterministic="off")
        assert fast.solve(B, rtol=1e-9).true_residual <= 1e-9


@pytest.mark.parametrize(
    "solver", ["cg", "cgcg", "prcg", "gropp", "bicgstab", "pipebicgstab", "gatherbicgstab"]
)
def test_callbacks_see_x(solver) -> None:
    for ranks in ranks_here():
        for every in (1, 5):
            made = sordino.Solver(
                A,
                solver=solver,
                engine="cuda",
                ranks=ranks,
                callback_every=every,
                callback_x=True,
                timeout=20.0,
            )
            seen = []
            done = made.solve(B, rtol=1e-8, callback=lambda it, _, x, seen=seen: seen.append((it, x)))
            assert done.converged and abs(len(seen) - done.iterations // every) <= 1
            for it, x in seen[:4]:
                residual = np.linalg.norm(B - A @ x) / np.linalg.norm(B)
                assert residual == pytest.approx(done.history[it - 1], rel=1e-6)
            stopped = made.solve(B, rtol=1e-8, on_failure="return", callback=lambda it, *_: it >= 5)
            assert stopped.status == "stopped_by_user" and stopped.iterations < done.iterations


def test_what_a_function_raises_comes_out_and_the_solver_goes_on() -> None:
    broken = [True]

    def product(x):
        if broken[0]:
            raise ZeroDivisionError("mine")
        return A @ x

    operator = spla.LinearOperator(A.shape, matvec=product, dtype=float)
    solver = sordino.Solver(operator, solver="cg", engine="cuda", ranks=min(2, max(ranks_here())))
    with pytest.raises(ZeroDivisionError, match="mine"):
        solver.solve(B)
    broken[0] = False
    assert solver.solve(B, rtol=1e-8).converged


@pytest.mark.parametrize("solver", ["cg", "pipebicgstab"])
def test_the_estimate_of_memory_is_within_a_tenth(solver) -> None:
    matrix = sordino.poisson(96, 96, 96)
    for ranks in ranks_here():
        estimated = sordino.estimate_memory(matrix, solver=solver, engine="cuda", ranks=ranks)[
            "bytes_per_rank"
        ]
        held = sordino.Solver(matrix, solver=solver, engine="cuda", ranks=ranks).memory()["bytes_per_rank"]
        np.testing.assert_allclose(estimated, held, rtol=0.1)
