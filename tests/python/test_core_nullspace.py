"""Singular systems with their nullspaces, beside NumPy's pseudo-inverse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
import sordino.linalg

RANKS = (1, 2, 3)


def periodic(*extents):
    """The Laplacian on a torus."""
    A = sp.csr_array((1, 1))
    for n in extents:
        line = sp.diags_array(
            [-np.ones(1), -np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1), -np.ones(1)],
            offsets=[1 - n, -1, 0, 1, n - 1],
        )
        A = sp.kron(A, sp.eye_array(n)) + sp.kron(sp.eye_array(A.shape[0]), line)
    return sp.csr_array(A)


def two_components():
    A = sp.block_diag([sordino.poisson(4, 4, 3, boundary="neumann"), periodic(6, 5)], format="csr")
    return A, np.repeat(np.eye(2), [48, 30], axis=0)


def springs(rng, points=40, dimension=3):
    """A free truss: its nullspace is made of translations and rotations."""
    where = rng.standard_normal((points, dimension))
    pairs = [(i, j) for i in range(points) for j in range(i) if rng.random() < 0.4]
    B = np.zeros((len(pairs), dimension * points))
    for row, (i, j) in enumerate(pairs):
        along = (where[i] - where[j]) / np.linalg.norm(where[i] - where[j])
        B[row, dimension * i : dimension * i + dimension] = along
        B[row, dimension * j : dimension * j + dimension] = -along
    moves = [np.tile(np.eye(dimension)[d], points) for d in range(dimension)]
    for d in range(dimension):
        for e in range(d):
            turn = np.zeros_like(where)
            turn[:, d], turn[:, e] = where[:, e], -where[:, d]
            moves.append(turn.reshape(-1))
    return sp.csr_array(B.T @ B), np.stack(moves, axis=1)


def check(A, b, solution, rtol=1e-10):
    wanted = np.linalg.pinv(A.toarray(), rcond=1e-10) @ b
    assert solution.converged
    assert np.linalg.norm(solution.x - wanted) < 1e3 * rtol * np.linalg.norm(wanted)
    outside = b - A @ np.linalg.lstsq(A.toarray(), b, rcond=1e-10)[0]
    assert solution.report.outside_norm == pytest.approx(np.linalg.norm(outside), rel=1e-6)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("solver", ["cg", "cgcg", "prcg", "bicgstab"])
@pytest.mark.parametrize(
    "A", [sordino.poisson(6, 5, 4, boundary="neumann", contrast=100.0), periodic(7, 6, 5)]
)
def test_constant(A, solver, ranks):
    b = np.random.default_rng(1).standard_normal(A.shape[0]) + 0.5
    solution = sordino.solve(A, b, nullspace="constant", solver=solver, rtol=1e-10, ranks=ranks)
    check(A, b, solution)
    assert "outside the range of A" in solution.reason


def test_several_vectors_and_shapes():
    A, N = two_components()
    b = np.random.default_rng(2).standard_normal((A.shape[0], 3))
    solver = sordino.Solver(A, nullspace=N @ [[1.0, 2.0], [1.0, -3.0]], rtol=1e-10, ranks=2)
    together = solver.solve(b)
    for k in range(3):
        check(A, b[:, k], solver.solve(b[:, k]))
        assert np.array_equal(together.x[:, k], solver.solve(b[:, k]).x)


@pytest.mark.parametrize("dimension", [2, 3])
def test_rigid_body_motions(dimension):
    rng = np.random.default_rng(5)
    A, moves = springs(rng, dimension=dimension)
    b = rng.standard_normal(A.shape[0])
    check(A, b, sordino.solve(A, b, nullspace=moves, rtol=1e-10, ranks=3))
    operator = spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float)
    check(A, b, sordino.solve(operator, b, nullspace=moves, solver="cg", rtol=1e-10, ranks=2))


def test_factors_of_a_singular_matrix_precondition():
    A = sordino.poisson(6, 6, 6, boundary="neumann")
    factors = spla.splu((A + 1e-13 * sp.eye_array(216)).tocsc())
    M = spla.LinearOperator(A.shape, matvec=factors.solve, dtype=float)
    b = np.random.default_rng(7).standard_normal(216)
    solution = sordino.solve(A, b, M=M, solver="cg", nullspace="constant", rtol=1e-9, ranks=2)
    check(A, b, solution, 1e-9)
    assert solution.iterations < 10


def test_nonsymmetric():
    L = sordino.poisson(5, 5, 5, boundary="neumann")
    w = 1 + np.random.default_rng(3).random(125)
    A = sp.csr_array(sp.diags_array(w) @ L)
    b = np.random.default_rng(4).standard_normal(125)
    with pytest.raises(sordino.BadArgument, match="left_nullspace"):
        sordino.solve(A, b, nullspace="constant")
    check(A, b, sordino.solve(A, b, nullspace="constant", left_nullspace=1 / w, rtol=1e-10, ranks=2))
    check(A.T.tocsr(), b, sordino.solve(A.T, b, nullspace=1 / w, left_nullspace="constant", rtol=1e-10))


def test_first_guess_and_what_is_consistent_already():
    A = periodic(8, 8)
    x = np.random.default_rng(3).standard_normal(64)
    solution = sordino.solve(A, A @ x, x0=x + 5, nullspace="constant", rtol=1e-8)
    assert solution.iterations == 0
    assert np.allclose(solution.x, x - x.mean())
    assert "outside" not in solution.reason
    nothing = sordino.solve(A, np.ones(64), nullspace=np.ones(64))
    assert nothing.converged
    assert not nothing.x.any()


def test_float32_is_verified_without_the_outside():
    A = periodic(6, 6).astype(np.float32)
    b = (np.random.default_rng(3).standard_normal(36) + 1).astype(np.float32)
    solution = sordino.solve(A, b, nullspace="constant", rtol=1e-5)
    assert solution.x.dtype == np.float32
    assert solution.true_residual <= 1e-5
    assert sordino.solve(A, b, nullspace=np.ones((36, 1)), rtol=1e-5).true_residual <= 1e-5


def test_linalg_takes_it():
    A = periodic(6, 6)
    b = np.random.default_rng(3).standard_normal(36)
    for method in (sordino.linalg.cg, sordino.linalg.bicgstab):
        x, info = method(A, b, rtol=1e-10, nullspace="constant")
        assert info == 0
        assert np.allclose(x, np.linalg.pinv(A.toarray()) @ b)


def test_memory_is_foretold():
    A = sordino.poisson(20, 20, 10, boundary="neumann")
    for null in ({"nullspace": "constant"}, {"nullspace": np.ones(4000), "left_nullspace": "constant"}):
        held = sordino.Solver(A, ranks=2, engine="host", **null).memory()["bytes_per_rank"]
        foretold = sordino.estimate_memory(A, ranks=2, engine="host", **null)["bytes_per_rank"]
        assert foretold == pytest.approx(held, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"nullspace": np.ones(7)}, r"has shape \(7,\)"),
        ({"nullspace": "constnat"}, "did you mean 'constant'"),
        ({"nullspace": np.ones(64) * 1j}, "A is real: give real numbers"),
        ({"nullspace": np.full(64, "a")}, "is to hold numbers"),
        ({"nullspace": np.full(64, np.nan)}, "NaN"),
        ({"nullspace": np.arange(64.0)}, r"\|\|A n\|\| / \(\|\|A\|\| \|\|n\|\|\) = "),
        ({"nullspace": np.ones((64, 2))}, r"vector 1 \(counted from 0\) depends"),
        ({"left_nullspace": np.ones(64)}, "without a nullspace"),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(sordino.BadArgument, match=sentence):
        sordino.Solver(periodic(8, 8), **arguments)


def test_an_operator_that_raises_says_so():
    def product(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        sordino.Solver(spla.LinearOperator((9, 9), matvec=product, dtype=float), nullspace="constant")


def test_command_line(cli, tmp_path):
    code, out, _ = cli("poisson", 8, 8, 8, "--boundary", "neumann", "--rtol", "1e-10", "--json")
    assert code == 0, out
    sp_file, null = tmp_path / "A.npz", tmp_path / "null.npy"
    A, N = two_components()
    sp.save_npz(sp_file, sp.csr_matrix(A))
    np.save(null, N)
    assert cli("solve", sp_file, "--nullspace", null, "--ranks", 2)[0] == 0
    assert cli("solve", sp_file, "--nullspace", null, "--left-nullspace", null)[0] == 0
    code, _, err = cli("solve", sp_file, "--nullspace", "constat")
    assert (code, "did you mean 'constant'" in err) == (2, True)
    np.save(null, N[:9])
    code, _, err = cli("solve", sp_file, "--nullspace", null)
    assert (code, "9 rows" in err) == (2, True)


def test_progress_is_relative_to_what_can_be_reached():
    A = sordino.poisson(12, 12, 12, boundary="neumann", contrast=1e4)
    b = np.random.default_rng(8).standard_normal(A.shape[0]) + 1e6
    seen = []
    solver = sordino.Solver(A, nullspace="constant", solver="cg", rtol=1e-9, ranks=2, callback_every=1)
    solution = solver.solve(b, callback=lambda i, r: seen.append(r))
    assert seen[0] > 1e-3  # relative to b itself it would be a millionth of that
    assert np.allclose(seen, solution.history[: len(seen)])
    assert solution.report.outside_norm == pytest.approx(abs(b.sum()) / np.sqrt(len(b)))
