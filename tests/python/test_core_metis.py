"""Rows in METIS's order: less to send, and nothing else that a caller would notice."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino

RTOL = 1e-9


@pytest.fixture(scope="module")
def shuffled():
    """A 3-D Poisson matrix whose rows are in no order at all, and a right-hand side."""
    pytest.importorskip("pymetis")
    rng = np.random.default_rng(11)
    A = sordino.poisson(16, 15, 14, contrast=10.0)
    order = rng.permutation(A.shape[0])
    shuffled = sp.csr_array(A[order][:, order])
    shuffled.sort_indices()
    return shuffled, rng.standard_normal(A.shape[0])


def solver_of(A, **options):
    return sordino.Solver(A, **{"rtol": RTOL, "engine": "host", "solver": "cg", **options})


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_sends_several_times_less(shuffled, ranks):
    A, b = shuffled
    blocks = solver_of(A, ranks=ranks).solve(b)
    metis = solver_of(A, ranks=ranks, partition="metis").solve(b)
    assert np.linalg.norm(b - A @ metis.x) <= RTOL * np.linalg.norm(b)
    per_iteration = [s.ledger["bytes_sent"] / s.iterations for s in (blocks, metis)]
    assert 3 * per_iteration[1] < per_iteration[0]
    assert metis.report.options["partition"] == "metis"
    again = solver_of(A, ranks=ranks, partition="metis").solve(b)
    assert np.array_equal(again.x, metis.x)


def test_one_rank_is_left_alone(shuffled):
    A, b = shuffled
    assert np.array_equal(
        solver_of(A, ranks=1, partition="metis").solve(b).x, solver_of(A, ranks=1).solve(b).x
    )


def test_vectors_values_and_guesses_go_there_and_back(shuffled):
    A, b = shuffled
    solver = solver_of(A, ranks=3, partition="metis")
    x = solver.solve(b).x
    assert solver.solve(b, x0=x).iterations == 0
    together = solver.solve(np.stack([b, 2 * b], axis=1), x0=x).x
    assert np.allclose(together, np.stack([x, 2 * x], axis=1), atol=1e-6)
    D = sp.diags_array(1 + 0.5 * np.cos(np.arange(len(b))))
    B = sp.csr_array(D @ A @ D)
    B.sort_indices()
    for new in (B.data, B):
        solver.update_values(new)
        assert np.linalg.norm(b - B @ solver.solve(b).x) <= RTOL * np.linalg.norm(b)
    with pytest.raises(sordino.BadArgument, match="another pattern"):
        solver.update_values(sp.eye_array(A.shape[0], format="csr"))


def test_callbacks_see_the_callers_order(shuffled):
    A, b = shuffled
    seen = []
    solver = solver_of(A, ranks=2, partition="metis", callback_every=5, callback_x=True)
    solver.solve(b, callback=lambda i, r, x: seen.append((r, np.linalg.norm(b - A @ x) / np.linalg.norm(b))))
    assert seen
    for said, found in seen:
        assert found == pytest.approx(said, rel=1e-6)


def test_preconditioners_of_every_kind(shuffled):
    A, b = shuffled
    d = 1 / A.diagonal()
    M = sp.csr_array(sp.diags_array(d) @ (2 * sp.eye_array(len(d)) - A @ sp.diags_array(d)))
    kinds = {
        "diagonal": sp.diags_array(d),
        "matrix": M,
        "operator": spla.LinearOperator(A.shape, matvec=lambda r: M @ r, dtype=float),
    }
    iterations = {}
    for name, given in kinds.items():
        solution = solver_of(A, M=given, ranks=2, partition="metis").solve(b)
        assert np.linalg.norm(b - A @ solution.x) <= RTOL * np.linalg.norm(b)
        iterations[name] = solution.iterations
    assert abs(iterations["matrix"] - iterations["operator"]) <= 1
    assert iterations["matrix"] < iterations["diagonal"]


def test_nonsymmetric_pattern_nullspace_and_float32(shuffled):
    A, b = shuffled
    upper = sp.csr_array(A + sp.diags_array([0.3 * np.ones(len(b) - 5)], offsets=[5]))
    assert solver_of(upper, solver="bicgstab", ranks=2, partition="metis").solve(b).converged
    N = sordino.poisson(9, 8, 7, boundary="neumann")
    null = np.ones((504, 1))
    free = solver_of(N, nullspace=null, ranks=3, partition="metis").solve(np.arange(504.0))
    assert free.converged
    assert abs(free.x.mean()) < 1e-8
    single = solver_of(A.astype(np.float32), ranks=2, partition="metis", rtol=1e-4).solve(
        b.astype(np.float32)
    )
    assert np.linalg.norm(b - A @ single.x) <= 2e-4 * np.linalg.norm(b)


def test_refusals(shuffled):
    A, _ = shuffled
    with pytest.raises(sordino.BadArgument, match="deterministic='on'"):
        solver_of(A, ranks=2, partition="metis", deterministic="on")
    with pytest.raises(sordino.BadArgument, match="given as an operator"):
        solver_of(
            spla.aslinearoperator(spla.LinearOperator((9, 9), matvec=lambda x: x)), ranks=2, partition="metis"
        )
    with pytest.raises(sordino.BadArgument, match="unknown partition"):
        solver_of(A, partition="scotch")


def test_a_rank_that_metis_leaves_without_rows_is_named(monkeypatch):
    pymetis = pytest.importorskip("pymetis")
    monkeypatch.setattr(pymetis, "part_graph", lambda ranks, *_, **__: (0, [0, 2, 2, 0]))
    with pytest.raises(sordino.BadArgument, match="rank 1 of 3 without rows"):
        solver_of(sp.eye_array(4, format="csr"), ranks=3, partition="metis")


def test_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(sordino.Unsupported, match=r"pip install 'sordino\[metis\]'"):
        solver_of(sordino.poisson(5, 5, 5), ranks=2, partition="metis")


def test_command_line(shuffled, cli, tmp_path):
    A, _ = shuffled
    sp.save_npz(tmp_path / "A.npz", sp.csr_matrix(A))
    code, out, _ = cli("solve", tmp_path / "A.npz", "--partition", "metis", "--ranks", 2, "--engine", "host")
    assert code == 0
    assert "x = 1 is exact" in out
