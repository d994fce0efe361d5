"""Complex systems: what is computed how, dtype in = dtype out, and everything around a solve."""

from __future__ import annotations

import gc
import json
import logging

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino

SIDE = 18
N = SIDE * SIDE


def laplacian(phases):
    """4 on the diagonal of a grid, and -u, -conj(u) on its links."""
    A = sp.lil_array((N, N), dtype=complex)
    u = iter(np.exp(1j * phases))
    for k in range(N):
        A[k, k] = 4
        for other in ([k + 1] if (k + 1) % SIDE else []) + ([k + SIDE] if k + SIDE < N else []):
            A[k, other] = -next(u)
            A[other, k] = np.conj(A[k, other])
    return A.tocsr()


def hermitian():
    return laplacian(np.random.default_rng(1).uniform(0, 6.3, 2 * N)) + 0.2 * sp.eye_array(N)


def symmetric():
    return sp.csr_array(laplacian(np.zeros(2 * N)) + (0.5j - 0.6) * sp.eye_array(N))


def general():
    return sp.csr_array(hermitian() + (0.4 + 0.3j) * sp.diags_array(np.ones(N - 1), offsets=1, shape=(N, N)))


SYSTEMS = {"hermitian": (hermitian, "cg"), "symmetric": (symmetric, "cocg"), "general": (general, "bicgstab")}


def right_hand_side(seed=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(N) + 1j * rng.standard_normal(N)


def residual(A, b, x):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


def refined(A, b):
    """The solution by a dense factorization, refined with residuals in extended precision."""
    dense = A.toarray()
    wide, x = dense.astype(np.clongdouble), np.linalg.solve(dense, b).astype(np.clongdouble)
    for _ in range(3):
        x = x + np.linalg.solve(dense, (b - wide @ x).astype(complex))
    return x


@pytest.mark.parametrize("name", SYSTEMS)
def test_auto_takes_the_method_of_the_symmetry_and_solves_on_any_number_of_ranks(name):
    make, method = SYSTEMS[name]
    A, b = make(), right_hand_side()
    exact = refined(A, b)
    results = []
    for engine, ranks in (("host", 1), ("host", 3), ("model", 7)):
        found = sordino.solve(A, b, rtol=1e-12, engine=engine, ranks=ranks)
        assert found.report.options["solver"] == method and found.report.options["symmetry"] == name
        assert found.x.dtype == np.complex128 and residual(A, b, found.x) <= 1.01e-12
        assert np.max(np.abs(found.x - exact)) <= 1e-10 * np.max(np.abs(exact))
        results.append(found)
    assert all(np.array_equal(found.x, results[0].x) for found in results)


@pytest.mark.parametrize(("name", "make"), [("cg", hermitian), ("bicgstab", general)])
def test_linalg_is_scipys(name, make):
    A, b = make(), right_hand_side()
    counts = {}
    for library in (sordino.linalg, spla):
        count = counts[library.__name__] = []
        x, info = getattr(library, name)(
            A, b, rtol=1e-10, callback=lambda x, count=count: count.append(x.copy())
        )
        assert info == 0 and residual(A, b, x) <= 1e-9 and x.dtype == np.complex128
        assert count[-1].dtype == np.complex128 and count[-1].shape == (N,)
    ours, theirs = (len(count) for count in counts.values())
    assert abs(ours - theirs) <= (2 if name == "cg" else 6)
    np.testing.assert_allclose(counts["sordino.linalg"][5], counts["scipy.sparse.linalg"][5], rtol=1e-8)


def test_dtype_in_is_dtype_out():
    A, b = hermitian(), right_hand_side()
    real = sp.csr_array(laplacian(np.zeros(2 * N)).real + 0.2 * sp.eye_array(N))
    for matrix, vector, dtype in (
        (A.astype(np.complex64), b.astype(np.complex64), np.complex64),
        (A.astype(np.complex64), b.real.astype(np.float32), np.complex64),
        (real.astype(np.float32), b.astype(np.complex64), np.complex64),
        (A.astype(np.complex64), b, np.complex128),
        (A, b.real, np.complex128),
        (real, b, np.complex128),
        (real, b.real, np.float64),
    ):
        found = sordino.solve(matrix, vector, rtol=1e-5)
        assert found.x.dtype == dtype
        wide = matrix.astype(complex)
        exact = residual(wide, vector.astype(complex), found.x.astype(complex))
        assert exact <= 1e-5 and found.true_residual == pytest.approx(exact, rel=1e-6)
    failed = sordino.solve(A.astype(np.complex64), b.astype(np.complex64), rtol=1e-11, on_failure="return")
    assert failed.status == "stagnated" and "misses it in complex64" in failed.reason


def test_a_real_matrix_and_a_complex_right_hand_side():
    A = sp.csr_array(laplacian(np.zeros(2 * N)).real + 0.05 * sp.eye_array(N))
    b, x0 = right_hand_side(), right_hand_side(5)
    b = b.real + 1e-9j * b.imag  # which needs no relative accuracy of its own
    seen = []
    solver = sordino.Solver(A, ranks=2, callback_every=1, callback_x=True)
    found = solver.solve(b, x0, rtol=1e-8, callback=lambda i, r, x: seen.append((i, r, x)))
    assert residual(A, b, found.x) <= 1e-8 and found.x.dtype == np.complex128
    assert found.true_residual == pytest.approx(residual(A, b, found.x), rel=1e-6)
    assert [i for i, _, _ in seen] == list(range(1, found.iterations + 1)) and len(found.history) == len(seen)
    for _, relative, x in (seen[3], seen[-2]):
        assert relative == pytest.approx(residual(A, b, x), rel=1e-4)
    x, info = sordino.linalg.cg(A, right_hand_side(), x0="Mb", M=sp.diags_array(1 / A.diagonal()), rtol=1e-8)
    assert info == 0 and residual(A, right_hand_side(), x) <= 1e-8
    assert np.array_equal(solver.solve(0 * b).x, np.zeros(N))
    stopped = solver.solve(b, rtol=1e-8, on_failure="return", callback=lambda i, r, x: i == 3)
    assert stopped.status == "stopped_by_user" and stopped.iterations in (3, 4)
    columns = solver.solve(np.stack([b, 1j * b], axis=1), rtol=1e-8)
    assert columns.x.shape == (N, 2) and residual(A, b, columns.x[:, 0]) <= 1e-8


@pytest.mark.parametrize("name", SYSTEMS)
def test_operators_and_preconditioners(name):
    make, method = SYSTEMS[name]
    A, b = make(), right_hand_side()
    diagonal = sp.diags_array(1 / A.diagonal())
    operator = spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=complex)
    scaled = spla.LinearOperator(A.shape, matvec=lambda x: diagonal @ x, dtype=complex)
    rough = sordino.Solver(A, ranks=2, rtol=1e-2).aspreconditioner()
    assert rough.dtype == np.complex128
    reference = sordino.solve(A, b, solver=method, M=diagonal, rtol=1e-10, ranks=2)
    for matrix, M in ((A, scaled), (operator, diagonal), (A, lambda r: diagonal @ r), (operator, None)):
        found = sordino.solve(matrix, b, solver=method, M=M, rtol=1e-10, ranks=3)
        assert residual(A, b, found.x) <= 1.01e-10
        if M is not None:
            assert abs(found.iterations - reference.iterations) <= 2
    if name == "hermitian":
        tight = sordino.Solver(A, ranks=2, rtol=1e-8).aspreconditioner()
        assert sordino.solve(A, b, M=tight, solver="cg", ranks=2, rtol=1e-10).iterations <= 4
    assert sordino.solve(operator, b, symmetry=name, rtol=1e-8).report.options["solver"] == method


def test_a_complex_preconditioner_makes_a_real_system_complex():
    A = sp.csr_array(laplacian(np.zeros(2 * N)).real + 0.2 * sp.eye_array(N))
    M = sp.diags_array(np.full(N, 0.25 + 0.1j))
    assert residual(A, np.ones(N), sordino.solve(A, np.ones(N), M=M, solver="bicgstab", rtol=1e-8).x) <= 1e-8
    with pytest.raises(
        sordino.BadArgument, match="needs a Hermitian preconditioner, and its diagonal is not real at row 0"
    ):
        sordino.Solver(A, M=M, solver="cg")


def test_callbacks_and_first_guesses_are_complex():
    A, b = hermitian(), right_hand_side()
    seen = []
    solver = sordino.Solver(A, ranks=2, callback_every=5, callback_x=True, rtol=1e-10)
    found = solver.solve(b, callback=lambda i, r, x: seen.append((i, r, x.copy())))
    for _, relative, x in seen[:3]:
        assert x.dtype == np.complex128 and relative == pytest.approx(residual(A, b, x), rel=1e-6)
    assert solver.solve(b, x0=found.x).iterations == 0
    assert solver.solve(b, x0=np.zeros(N)).iterations == found.iterations
    assert solver.solve(1e-200 * b).status == "converged"  # scaled and scaled back


def test_new_values():
    A, b = hermitian(), right_hand_side()
    solver = sordino.Solver(A, ranks=2, rtol=1e-10)
    for change in (2.0, 3.0):
        solver.update_values(change * A.data)
        assert residual(change * A, b, solver.solve(b).x) <= 1.01e-10
    solver.update_values(sp.csr_array(A * 0.5))
    assert residual(0.5 * A, b, solver.solve(b).x) <= 1.01e-10
    with pytest.raises(sordino.BadArgument, match="NaN or infinity"):
        solver.update_values(A.data * (1 + 1j * np.nan))
    real = sordino.Solver(sp.csr_array(A.real))
    with pytest.raises(sordino.BadArgument, match="the new matrix is complex"):
        real.update_values(A)


def test_what_cannot_be_used_is_refused():
    A, b = hermitian(), right_hand_side()
    for options, matrix, sentence in (
        (
            {"solver": "cg"},
            symmetric(),
            "needs a Hermitian matrix, and this one is complex symmetric: use cocg",
        ),
        ({"symmetry": "hermitian"}, general(), "neither Hermitian nor symmetric"),
        ({"solver": "pipebicgstab"}, A, "computes with real numbers, and the matrix is complex"),
        ({"symmetry": "Hermitian"}, A, "unknown symmetry 'Hermitian'"),
        ({"symmetry": "hermitian"}, sp.csr_array(general().real), "the matrix is not symmetric"),
    ):
        with pytest.raises((sordino.BadArgument, sordino.Unsupported), match=sentence):
            sordino.Solver(matrix, **options)
    for part in (np.nan, 1j * np.inf):
        wrong = b.copy()
        wrong[7] += part
        with pytest.raises(sordino.BadArgument, match="at position 7"):
            sordino.solve(A, wrong)
    indefinite = sordino.solve(sp.csr_array(A - 4 * sp.eye_array(N)), b, solver="cg", on_failure="return")
    assert indefinite.status == "indefinite"
    assert sordino.solve(A, 0 * b).x.dtype == np.complex128


def test_the_log_says_what_was_found(caplog):
    with caplog.at_level(logging.INFO, logger="sordino"):
        sordino.solve(symmetric(), right_hand_side())
    assert "cocg" in caplog.text and "symmetric" in caplog.text


@pytest.mark.parametrize("name", SYSTEMS)
def test_memory_is_foretold(name):
    A = SYSTEMS[name][0]()
    for ranks in (1, 3):
        said = sordino.estimate_memory(A, ranks=ranks, engine="host", callback_every=4, callback_x=True)
        held = sordino.Solver(A, ranks=ranks, engine="host", callback_every=4, callback_x=True).memory()
        assert said["matrix_bytes"] == held["matrix_bytes"] == 16 * A.nnz + 4 * A.nnz + 8 * (N + 1)
        np.testing.assert_allclose(said["bytes_per_rank"], held["bytes_per_rank"], rtol=0.1)
    gc.collect()


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("kind", ["mtx", "npz", "mat"])
def test_files_and_the_command_line(tmp_path, cli, name, kind):
    import scipy.io

    make, method = SYSTEMS[name]
    A = make()
    path, out = tmp_path / f"A.{kind}", tmp_path / "x.mtx"
    if kind == "mtx":
        scipy.io.mmwrite(path, A, symmetry=name, precision=17)
        assert name in path.read_text().splitlines()[0]
    elif kind == "npz":
        sp.save_npz(path, A)
    else:
        scipy.io.savemat(path, {"A": sp.csc_array(A)})
    code, said, _ = cli("solve", path, "--rtol", "1e-10", "-o", out, "--ranks", "2")
    assert code == 0 and "b = A*1" in said and method in said
    np.testing.assert_allclose(scipy.io.mmread(out).ravel(), np.ones(N), atol=1e-7)
    b = right_hand_side()
    np.save(tmp_path / "b.npy", b)
    code, said, _ = cli(
        "solve", path, "--rhs", tmp_path / "b.npy", "--x0", out, "-o", tmp_path / "y.npy", "--json"
    )
    facts = json.loads(said)
    assert code == 0 and facts["options"]["symmetry"] == name
    assert residual(A, b, np.load(tmp_path / "y.npy")) <= 1e-5
