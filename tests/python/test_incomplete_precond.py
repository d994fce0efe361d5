"""Preconds ic0 and ilu0 from Python and the command line: SciPy's factors, iterations, what is refused, memory."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino


def scattered(rng, n, *, symmetric):
    """Entries anywhere, in far more diagonals than block-ilu takes, and a dominant diagonal."""
    A = sp.csr_array(np.where(rng.random((n, n)) < 7 / n, rng.standard_normal((n, n)), 0.0))
    A = (A + A.T if symmetric else A).tocsr()
    A.setdiag(0)
    return sp.csr_array(A + sp.diags_array(np.asarray(abs(A).sum(axis=1)).ravel() + 0.5))


def blocks_of(A, ranks):
    """The diagonal blocks of ranks that have as many rows each."""
    cuts = np.linspace(0, A.shape[0], ranks + 1).astype(int)
    return [A[a:b, a:b] for a, b in itertools.pairwise(cuts)]


def first_step(A, b, **options):
    """One iteration of cg from zero goes along M^-1 b."""
    plan = {"solver": "cg", "maxiter": 1, "check_every": 1, "on_failure": "return", "engine": "host"}
    return sordino.solve(A, b, **plan, **options).x


@pytest.mark.parametrize("n", [1, 2, 33, 400])
def test_m_is_the_product_of_the_factors_that_ic0_returns(rng_of_today, n):
    rng = rng_of_today
    A, b = scattered(rng, n, symmetric=True), rng.standard_normal(n)
    direction = sordino.ic0(A).solve(b)
    step = (b @ direction) / (direction @ (A @ direction))
    np.testing.assert_allclose(
        first_step(A, b, precond="ic0", ranks=1), step * direction, rtol=1e-9, atol=1e-12
    )


def test_ranks_factorize_their_own_rows(rng_of_today):
    """Rows that are alike are dealt out evenly, and the factors of a tridiagonal block have no fill."""
    n, ranks = 512, 4
    A = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")
    b = rng_of_today.standard_normal(n)
    direction = spla.spsolve(sp.block_diag(blocks_of(A, ranks), format="csc"), b)
    step = (b @ direction) / (direction @ (A @ direction))
    np.testing.assert_allclose(
        first_step(A, b, precond="ic0", ranks=ranks), step * direction, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    ("solver", "precond"), [("cg", "ic0"), ("bicgstab", "ilu0"), ("gmres", "ilu0"), ("richardson", "ilu0")]
)
@pytest.mark.parametrize("ranks", [1, 3])
def test_iterations_are_those_of_the_same_factors_on_the_host(rng_of_today, solver, precond, ranks):
    rng = rng_of_today
    A, b = scattered(rng, 600, symmetric=precond == "ic0"), rng.standard_normal(600)
    options = {"solver": solver, "rtol": 1e-9, "engine": "host"}
    found = sordino.solve(A, b, precond=precond, ranks=ranks, **options)
    assert np.linalg.norm(b - A @ found.x) <= 1e-9 * np.linalg.norm(b) * (1 + 1e-9)
    if ranks == 1:
        factors = sordino.ic0(A) if precond == "ic0" else sordino.ilu0(A)
        outside = sordino.solve(A, b, M=factors.solve, ranks=1, **options)
        assert abs(found.iterations - outside.iterations) <= 1


def test_new_values_are_factorized_and_refused_ones_leave_the_old(rng_of_today):
    rng = rng_of_today
    A, b = scattered(rng, 200, symmetric=True), rng.standard_normal(200)
    solver = sordino.Solver(A, solver="cg", precond="ic0", engine="host", ranks=2)
    solver.update_values(3 * A.data)
    x = solver.solve(b, rtol=1e-10).x
    np.testing.assert_allclose(A @ x, b / 3, rtol=1e-6, atol=1e-8)
    with pytest.raises(sordino.BadArgument, match="ic0: the pivot of row 0 is not positive"):
        solver.update_values(-A.data)
    np.testing.assert_array_equal(solver.solve(b, rtol=1e-10).x, x)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"precond": "ilu0", "solver": "cg"},
            "precond ilu0 is not symmetric, which solver cg needs: use precond ic0",
        ),
        (
            {"precond": "ic0", "solver": "pipebicgstab"},
            "solver pipebicgstab takes no preconditioner but a diagonal",
        ),
        ({"precond": "ic0", "partition": "metis"}, "changes their order: use partition blocks"),
        ({"precond": "ic0", "deterministic": "on"}, "precond ic0 depends on it"),
    ],
)
def test_what_does_not_fit_is_refused(options, sentence):
    A = sordino.poisson(6, 6, 6)
    with pytest.raises((sordino.BadArgument, sordino.Unsupported), match=sentence):
        sordino.solve(A, np.ones(216), engine="host", ranks=2, **options)


def test_complex_matrices_and_rows_without_a_pivot_are_refused():
    A = sp.csr_array(np.array([[2.0, 1, 0], [1, 0, 1], [0, 1, 3]]))
    A.eliminate_zeros()
    with pytest.raises(sordino.BadArgument, match="ic0: the pivot of row 1 is not positive"):
        sordino.solve(
            A - sp.csr_array(np.diag([0, 0.5, 0])), np.ones(3), solver="cg", precond="ic0", engine="host"
        )
    with pytest.raises(sordino.Unsupported, match="precond ic0 is for real matrices"):
        sordino.solve(A * 1j, np.ones(3), precond="ic0", engine="host")


def test_memory_counts_the_factors():
    A = sordino.poisson(16, 16, 16)
    options = {"solver": "cg", "engine": "host", "ranks": 1}
    told = [sordino.estimate_memory(A, precond=p, **options)["bytes_per_rank"][0] for p in ("ic0", "none")]
    assert told[0] - told[1] >= 12 * (A.nnz + A.shape[0]) // 2
    with sordino.Solver(A, precond="ic0", **options) as solver:
        np.testing.assert_allclose(solver.memory()["bytes_per_rank"], told[0], rtol=0.1)
    options["engine"] = "cuda"  # whether there is one or not
    told = [sordino.estimate_memory(A, precond=p, **options)["bytes_per_rank"][0] for p in ("ic0", "none")]
    assert told[0] - told[1] >= 12 * (A.nnz - A.shape[0]) + 64 * A.shape[0]


def test_the_command_line_takes_them(cli, tmp_path):
    sp.save_npz(tmp_path / "A.npz", sordino.poisson(8, 8, 8))
    options = ["--solver", "cg", "--precond", "ic0", "--engine", "host", "--ranks", 2, "--json"]
    code, out, _ = cli("solve", tmp_path / "A.npz", *options)
    assert code == 0 and json.loads(out)["status"] == "converged"
    code, _, err = cli("predict", "poisson", 4, 4, 4, "--solvers", "cg", "--precond", "ic0")
    assert code == 2 and "precond ic0 is not predicted" in err


@pytest.mark.parametrize(("precond", "solver"), [("ic0", "cg"), ("ilu0", "bicgstab")])
def test_rows_of_one_process_are_factorized_as_a_whole_matrix_is(precond, solver):
    A = sp.csr_array(sordino.poisson(9, 8, 7, contrast=50))
    b = A @ np.linspace(1, 2, A.shape[0])
    options = {"solver": solver, "precond": precond, "engine": "host", "ranks": 2, "rtol": 1e-10}
    with sordino.RowsSolver(None, A, **options) as rows:
        found = rows.solve(b)
        assert found.iterations == sordino.Solver(A, **options).solve(b).iterations
        rows.update_values(2 * A.data)
        assert np.allclose(rows.solve(b).x, found.x / 2)
        negative = A.copy()
        negative.setdiag(0)
        with pytest.raises(sordino.BadArgument, match=f"{precond}: the pivot of row 0 is "):
            rows.update_values(negative.data)


@pytest.mark.parametrize(
    "solver", [sordino.Solver, lambda A, **options: sordino.RowsSolver(None, A, **options)]
)
def test_new_values_that_are_not_symmetric_are_refused_with_ic0(solver):
    A = sp.csr_array(sordino.poisson(6, 5, 4))
    b = A @ np.linspace(1, 2, A.shape[0])
    with solver(A, solver="bicgstab", precond="ic0", engine="host", ranks=2, rtol=1e-10) as made:
        found = made.solve(b)
        other = A.copy()
        other.data[1] *= 1.5
        with pytest.raises(
            sordino.BadArgument, match="precond ic0 needs a symmetric matrix, and this one is not"
        ):
            made.update_values(other.data)
        assert np.array_equal(made.solve(b).x, found.x)  # the values before stay
