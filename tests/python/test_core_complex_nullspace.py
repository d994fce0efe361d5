"""Singular complex systems with their nullspaces, beside NumPy's least squares."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
import sordino.linalg

HERMITIAN = ["cg", "prcg", "cgcg", "gropp", "cbcg", "pcg1", "pcg2", "pcg-overlap", "bicgstab"]
TURNS = {"hermitian": np.pi, "symmetric": 0.4, "general": np.pi}  # cocg wants r^T z to stay away from zero


def complex_normal(rng, *shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def singular(kind, seed=0):
    """L B R of two boxes that do not touch, with zero flux through all faces, and diagonals L and R with random phases.

    Returns it, and what it and its conjugate transpose map to zero: any two vectors that span that.
    """
    rng = np.random.default_rng(seed)
    boxes = [sordino.poisson(7, 5, 3, boundary="neumann"), sordino.poisson(5, 4, 2, boundary="neumann")]
    B = sp.block_diag(boxes, format="csr")
    n, turn = B.shape[0], TURNS[kind]
    R, L = (rng.uniform(0.5, 2, n) * np.exp(1j * rng.uniform(-turn, turn, n)) for _ in range(2))
    L = {"hermitian": R.conj(), "symmetric": R, "general": L}[kind]
    A = sp.csr_array(sp.diags_array(L) @ B @ sp.diags_array(R))
    ones = np.repeat(np.eye(2), [box.shape[0] for box in boxes], axis=0)
    right, left = (ones / d[:, None] @ complex_normal(rng, 2, 2) for d in (R, L.conj()))
    return A, right, left


def check(A, b, solution, rtol=1e-10):
    dense = A.toarray()
    wanted = np.linalg.lstsq(dense, b, rcond=1e-10)[0]  # of least norm
    assert solution.converged
    assert np.linalg.norm(solution.x - wanted) < 1e4 * rtol * np.linalg.norm(wanted)
    outside = np.linalg.norm(b - dense @ wanted)
    assert solution.report.outside_norm == pytest.approx(outside, rel=1e-6)
    assert "outside the range of A" in solution.reason


@pytest.mark.parametrize(
    ("kind", "solver"),
    [
        *(("hermitian", name) for name in HERMITIAN),
        ("symmetric", "cocg"),
        ("symmetric", "bicgstab"),
        ("general", "bicgstab"),
    ],
)
def test_least_squares_of_least_norm(kind, solver):
    A, right, left = singular(kind)
    b = complex_normal(np.random.default_rng(1), A.shape[0])
    given = {"nullspace": right} | ({} if kind == "hermitian" else {"left_nullspace": left})
    first = None
    for engine, ranks in (("host", 1), ("host", 2), ("model", 5)):
        found = sordino.solve(A, b, solver=solver, rtol=1e-10, engine=engine, ranks=ranks, **given)
        check(A, b, found)
        assert np.abs(right.conj().T @ found.x).max() < 1e-11 * np.linalg.norm(found.x)
        assert np.abs(right.T @ found.x).max() > 1e-3  # what would vanish without the conjugate
        first = found if first is None else first
        assert np.array_equal(found.x, first.x)


def test_auto_takes_the_method_of_the_symmetry():
    for kind, solver in (("hermitian", "cg"), ("symmetric", "cocg"), ("general", "bicgstab")):
        A, right, left = singular(kind, 2)
        b = complex_normal(np.random.default_rng(3), A.shape[0], 2)
        solution = sordino.Solver(A, nullspace=right, left_nullspace=left, rtol=1e-10, ranks=2).solve(b)
        assert solution.report.options["solver"] == solver
        for k, report in enumerate(solution.reports):
            outside = left @ np.linalg.pinv(left) @ b[:, k]
            assert report.outside_norm == pytest.approx(np.linalg.norm(outside), rel=1e-9)


def test_operators_preconditioners_and_other_orders_of_rows():
    A, right, _ = singular("hermitian", 4)
    n = A.shape[0]
    b = complex_normal(np.random.default_rng(5), n)
    operator = spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=complex)
    check(A, b, sordino.solve(operator, b, nullspace=right, rtol=1e-10, ranks=2))
    factors = spla.splu((A + 1e-13 * sp.eye_array(n)).tocsc())
    M = spla.LinearOperator(A.shape, matvec=factors.solve, dtype=complex)
    found = sordino.solve(A, b, M=M, solver="cg", nullspace=right, rtol=1e-9, ranks=3)
    check(A, b, found, 1e-9)
    assert found.iterations < 10
    small = sp.csr_array(singular("hermitian", 4)[0][:105, :105])  # the first box alone
    null = np.linalg.svd(small.toarray())[2][-1].conj()
    boxes = {"partition": "boxes", "grid": "7,5,3", "ranks": 2}
    check(small, b[:105], sordino.solve(small, b[:105], nullspace=null, rtol=1e-10, **boxes))


def test_the_constant_vector_real_vectors_and_single_precision():
    rng = np.random.default_rng(6)
    A = sp.csr_array(sordino.poisson(6, 5, 3, boundary="neumann") * (1 + 0.5j))
    b = complex_normal(rng, 90)
    for null in ("constant", np.ones(90), 1j * np.ones((90, 1)), np.ones(90, np.float32)):
        check(A, b, sordino.solve(A, b, nullspace=null, rtol=1e-10, ranks=2))
    phases = 1j ** rng.integers(0, 4, 90)  # exact in single precision
    turned = sp.csr_array(
        sp.diags_array(phases.conj()) @ sordino.poisson(6, 5, 3, boundary="neumann") @ sp.diags_array(phases)
    )
    single = sordino.solve(
        turned.astype(np.complex64), b.astype(np.complex64), nullspace=phases.conj(), rtol=1e-5
    )
    assert single.x.dtype == np.complex64 and single.true_residual <= 1e-5
    x, info = sordino.linalg.cg(turned, b, rtol=1e-10, nullspace=phases.conj())
    assert info == 0 and np.allclose(x, np.linalg.pinv(turned.toarray(), rcond=1e-10) @ b)
    general, right, left = singular("general")
    b = complex_normal(rng, general.shape[0])
    null = {"nullspace": right, "left_nullspace": left}
    x, info = sordino.linalg.bicgstab(general, b, rtol=1e-10, M="jacobi", **null)
    assert info == 0 and np.allclose(x, np.linalg.lstsq(general.toarray(), b, rcond=1e-10)[0], atol=1e-6)


def test_first_guess_what_is_consistent_and_what_is_all_outside():
    A, right, _ = singular("hermitian", 7)
    x = complex_normal(np.random.default_rng(8), A.shape[0])
    null = np.linalg.qr(right)[0]
    solution = sordino.solve(A, A @ x, x0=x + 5 * right[:, 0], nullspace=right, rtol=1e-8)
    assert solution.iterations == 0 and "outside" not in solution.reason
    assert np.allclose(solution.x, x - null @ (null.conj().T @ x))
    nothing = sordino.solve(A, right @ [1j, 2.0], nullspace=right)
    assert nothing.converged and not nothing.x.any()


def test_new_values_callbacks_and_memory():
    A, right, left = singular("general", 9)
    b = complex_normal(np.random.default_rng(10), A.shape[0]) + 1e6 * left[:, 0]
    seen = []
    given = {"nullspace": right, "left_nullspace": left}
    with sordino.Solver(A, rtol=1e-9, ranks=2, engine="host", callback_every=1, **given) as solver:
        solution = solver.solve(b, callback=lambda i, r: seen.append(r))
        check(A, b, solution, 1e-9)
        assert np.allclose(seen, solution.history[: len(seen)]) and seen[0] > 1e-3  # of what can be reached
        solver.update_values(2j * A.data)
        check(sp.csr_array(2j * A), b, solver.solve(b), 1e-9)
        with pytest.raises(sordino.BadArgument, match="does not map vector 0"):
            solver.update_values(A.data + 1)
        held = solver.memory()["bytes_per_rank"]
        foretold = sordino.estimate_memory(A, ranks=2, engine="host", callback_every=1, **given)
        assert foretold["bytes_per_rank"] == pytest.approx(held, rel=0.02)


@pytest.mark.parametrize(
    ("kind", "change", "sentence"),
    [
        ("hermitian", lambda r, _: {"nullspace": r.conj()}, "A does not map vector 0"),
        ("hermitian", lambda r, _: {"nullspace": r[:, 0, None] * [1, 1j]}, "vector 1 .* depends"),
        ("hermitian", lambda r, _: {"nullspace": r * np.nan}, "NaN"),
        (
            "symmetric",
            lambda r, _: {"nullspace": r},
            r"not Hermitian.*left_nullspace.*A\^T = A, the conjugate",
        ),
        (
            "symmetric",
            lambda r, _: {"nullspace": r, "left_nullspace": r},
            r"left_nullspace: .*\|\|A\^H n\|\|",
        ),
        (
            "general",
            lambda r, left: {"nullspace": r, "left_nullspace": left.conj()},
            "left_nullspace: the conjugate",
        ),
        ("general", lambda _, left: {"left_nullspace": left}, "without a nullspace"),
    ],
)
def test_refusals(kind, change, sentence):
    A, right, left = singular(kind)
    with pytest.raises(sordino.BadArgument, match=sentence):
        sordino.Solver(A, **change(right, left))


def test_a_singular_matrix_without_its_nullspace_is_told_what_to_say():
    A = sp.csr_array(sordino.poisson(6, 5, 4, boundary="neumann") * (1 + 0.5j))
    b = complex_normal(np.random.default_rng(11), 120)
    with pytest.raises(
        sordino.NotConverged, match="A maps the constant vector to zero: say nullspace='constant'"
    ):
        sordino.solve(A, b, rtol=1e-8, maxiter=300)


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_a_real_matrix_and_a_complex_right_hand_side(scale):
    A = sordino.poisson(6, 5, 4, boundary="neumann", contrast=50.0)
    b = complex_normal(np.random.default_rng(12), 120) + 1j
    solution = sordino.solve(A, b * scale, nullspace="constant", rtol=1e-10, ranks=2)
    assert solution.converged and solution.true_residual <= 1e-10
    assert np.allclose(solution.x / scale, np.linalg.pinv(A.toarray()) @ b, atol=1e-7)
    outside = abs(b.mean()) * np.sqrt(120)
    assert solution.report.outside_norm == pytest.approx(outside * scale, rel=1e-9)
    assert "outside the range of A" in solution.reason
    assert np.allclose(solution.history[-1], solution.true_residual, rtol=1e-2)
    with pytest.raises(sordino.BadArgument, match="nullspace is complex128, and A is real"):
        sordino.Solver(A, nullspace=np.full(120, 1j))


def test_command_line(cli, tmp_path):
    A, right, left = singular("general", 13)
    matrix, files = tmp_path / "A.npz", [tmp_path / "right.npy", tmp_path / "left.npy"]
    sp.save_npz(matrix, sp.csr_matrix(A))
    for file, vectors in zip(files, (right, left), strict=True):
        np.save(file, vectors)
    assert cli("solve", matrix, "--nullspace", files[0], "--left-nullspace", files[1], "--ranks", 2)[0] == 0
    code, _, err = cli("solve", matrix, "--nullspace", files[0])
    assert (code, "give left_nullspace, too" in err) == (2, True)
