"""Hierarchies of algebraic multigrid as M: against the same cycle in NumPy, PyAMG's iterations, what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sordino

OPTIONS = {"solver": "cg", "rtol": 1e-8, "engine": "host"}


def plane(n: int, seed: int = 0) -> sp.csr_array:
    """Five points of n x n cells with random conductivities, rows scattered."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(n * n).reshape(n, n)
    pairs = np.concatenate(
        [
            np.stack([number[1:].ravel(), number[:-1].ravel()]),
            np.stack([number[:, 1:].ravel(), number[:, :-1].ravel()]),
        ],
        axis=1,
    )
    weights = rng.uniform(1, 10, pairs.shape[1])
    coupled = sp.coo_array((weights, tuple(pairs)), shape=(n * n, n * n)).tocsr()
    coupled = coupled + coupled.T
    return sp.csr_array(sp.diags_array(coupled.sum(axis=1) + 0.01) - coupled)


def aggregates(A: sp.csr_array) -> sp.csr_array:
    """Each row that no aggregate has, and its neighbours that none has either, shape (n, aggregates)."""
    of = np.full(A.shape[0], -1)
    count = 0
    for i in range(A.shape[0]):
        around = A.indices[A.indptr[i] : A.indptr[i + 1]]
        if of[around].max() < 0:
            of[around] = count
            count += 1
    for i in np.flatnonzero(of < 0):
        around = A.indices[A.indptr[i] : A.indptr[i + 1]]
        of[i] = of[around].max()
    return sp.csr_array((np.ones(len(of)), (np.arange(len(of)), of)), shape=(len(of), count))


def hierarchy(A: sp.csr_array, least: int = 64) -> SimpleNamespace:
    """Smoothed aggregation: levels with A, P and R, as PyAMG's."""
    levels = [SimpleNamespace(A=A)]
    while levels[-1].A.shape[0] > least:
        A = levels[-1].A
        tentative = aggregates(A)
        P = tentative - 2 / 3 * sp.diags_array(1 / (A.diagonal() * 2)) @ (A @ tentative)
        levels[-1].P, levels[-1].R = sp.csr_array(P), sp.csr_array(P.T)
        levels.append(SimpleNamespace(A=sp.csr_array(P.T @ A @ P)))
    return SimpleNamespace(levels=levels, aspreconditioner=lambda: pytest.fail("its levels are there"))


def bound(A: sp.csr_array) -> float:
    """What the core takes for the largest eigenvalue of D^-1 A."""
    S = 1 / np.sqrt(A.diagonal())
    rows = float(np.max(np.abs(A).sum(axis=1) / A.diagonal()))
    state, v = 1, np.empty(A.shape[0])
    for i in range(len(v)):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        v[i] = (state >> 11) * 2.0**-52 - 1
    v /= np.linalg.norm(v)
    before, beta, lanczos = 0 * v, 0.0, np.zeros((15, 15))
    for k in range(15):
        w = S * (A @ (S * v)) - beta * before
        lanczos[k, k] = v @ w
        w -= lanczos[k, k] * v
        before, beta = v, float(np.linalg.norm(w))
        v = w / beta
        if k < 14:
            lanczos[k, k + 1] = lanczos[k + 1, k] = beta
    return min(rows, 1.1 * float(np.linalg.eigvalsh(lanczos)[-1]))


def polynomial(A: sp.csr_array, most: float, r: np.ndarray, terms: int) -> tuple[np.ndarray, np.ndarray]:
    """Chebyshev's method on the upper nine tenths (Saad 2003, algorithm 12.1), and what its iterate before z left."""
    theta, delta = 0.55 * most, 0.45 * most
    sigma = theta / delta
    rho, d = 1 / sigma, r / A.diagonal() / theta
    z, left = d, r
    for _ in range(terms - 1):
        rho, old = 1 / (2 * sigma - rho), rho
        left = r - A @ z
        d = rho * old * d + 2 * rho / delta * left / A.diagonal()
        z = z + d
    return z, left


def cycled(levels: list, bounds: list[float], r: np.ndarray, twice: bool) -> np.ndarray:
    A = levels[0].A
    if len(levels) == 1:
        return np.linalg.solve(A.toarray(), r)
    P = levels[0].P
    x, left = polynomial(A, bounds[0], r, 4)
    below = P.T @ left
    e = cycled(levels[1:], bounds[1:], below, twice)
    if twice and len(levels) > 2:
        e = e + cycled(levels[1:], bounds[1:], below - levels[1].A @ e, twice)
    x = x + P @ e
    return x + polynomial(A, bounds[0], r - A @ x, 3)[0]


def steps_of_cg(A: sp.csr_array, b: np.ndarray, M, steps: int) -> np.ndarray:
    x, r = 0 * b, b
    z = p = M(r)
    for _ in range(steps):
        alpha = (r @ z) / (p @ (A @ p))
        x, new = x + alpha * p, r - alpha * (A @ p)
        z_new = M(new)
        p = z_new + (new @ z_new) / (r @ z) * p
        r, z = new, z_new
    return x


@pytest.mark.parametrize("cycle", ["v", "w"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_the_same_cycle_as_in_numpy(cycle, ranks) -> None:
    A = plane(40)
    ml = hierarchy(A, 20)
    levels = ml.levels[: 1 + next(k for k, level in enumerate(ml.levels) if level.A.shape[0] <= 64)]
    bounds = [bound(level.A) for level in levels[:-1]]
    b = np.random.default_rng(3).standard_normal(A.shape[0])
    want = steps_of_cg(A, b, lambda r: cycled(levels, bounds, r, cycle == "w"), 4)
    options = {**OPTIONS, "rtol": 1e-14, "ranks": ranks, "cycle": cycle}
    with sordino.Solver(A, M=ml, **options) as solver:
        found = solver.solve(b, maxiter=4, on_failure="return")
    assert found.iterations == 4
    assert np.linalg.norm(found.x - want) <= 1e-11 * np.linalg.norm(want)


def test_few_iterations_in_any_order_of_rows() -> None:
    A = plane(60)
    ml, b = hierarchy(A), np.ones(A.shape[0])
    few = [
        sordino.solve(A, b, M=ml, ranks=ranks, partition=partition, **OPTIONS)
        for ranks, partition in ((1, "blocks"), (3, "blocks"), (3, "metis"))
    ]
    plain = sordino.solve(A, b, ranks=1, precond="jacobi", **OPTIONS)
    for found in few:
        assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
        assert found.iterations < plain.iterations / 4
        assert abs(found.iterations - few[0].iterations) <= 1
    x, info = sordino.linalg.cg(A, b, rtol=1e-8, M=ml, ranks=2)
    assert info == 0 and np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)


def test_the_model_has_the_hosts_bits_and_memory_is_foretold() -> None:
    A = plane(30)
    ml, b = hierarchy(A), np.ones(A.shape[0])
    options = {**OPTIONS, "ranks": 3}
    with sordino.Solver(A, M=ml, **options) as solver:
        x, held = solver.solve(b).x, solver.memory()
    told = sordino.estimate_memory(A, M=ml, **options)
    assert told["bytes_per_rank"] == held["bytes_per_rank"] and told["matrix_bytes"] == held["matrix_bytes"]
    modelled = sordino.solve(A, b, M=ml, **{**options, "engine": "model", "seed": 5})
    assert np.array_equal(modelled.x, x)


def test_levels_are_copied_and_block_matrices_taken() -> None:
    A = plane(30)
    ml, b = hierarchy(A), np.ones(A.shape[0])
    few = sordino.solve(A, b, M=ml, ranks=2, **OPTIONS).iterations
    blocks = SimpleNamespace(levels=[SimpleNamespace(**vars(level)) for level in ml.levels])
    blocks.levels[0].A = sp.bsr_matrix(A, blocksize=(2, 2))
    blocks.levels[0].P = sp.bsr_matrix(ml.levels[0].P)
    with sordino.Solver(A, M=blocks, ranks=2, **OPTIONS) as solver:
        for level in blocks.levels[1:]:
            level.A.data[:] = np.nan
        assert solver.solve(b).iterations == few


def test_several_processes_solve_as_one(mpirun_python, tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import numpy as np, sordino\n"
        "from test_hierarchies import OPTIONS, hierarchy, plane\n"
        "A = plane(30)\n"
        "found = sordino.solve(A, np.ones(900), M=hierarchy(A), ranks=1, **OPTIONS)\n"
        "if found.x is not None:\n"
        "    np.save('x.npy', found.x)\n"
    )
    done = mpirun_python(2, program)
    assert done.returncode == 0, done.stderr
    A = plane(30)
    one = sordino.solve(A, np.ones(900), M=hierarchy(A), ranks=2, **OPTIONS)
    assert np.linalg.norm(np.load(tmp_path / "x.npy") - one.x) <= 1e-12 * np.linalg.norm(one.x)


def test_new_values_keep_the_coarse_levels() -> None:
    A = plane(30)
    b = np.ones(A.shape[0])
    with sordino.Solver(A, M=hierarchy(A), ranks=2, **OPTIONS) as solver:
        few = solver.solve(b).iterations
        solver.update_values(A.data * 100)
        assert solver.solve(b).converged
        solver.update_values(A.data)
        assert solver.solve(b).iterations == few


def test_a_singular_system_with_its_nullspace() -> None:
    A = plane(40)
    A = sp.csr_array(A - 0.01 * sp.eye_array(A.shape[0]))
    b = np.random.default_rng(5).standard_normal(A.shape[0])
    b -= b.mean()
    for ranks in (1, 3):
        found = sordino.solve(A, b, M=hierarchy(A), ranks=ranks, nullspace="constant", **OPTIONS)
        assert np.linalg.norm(b - A @ found.x) <= 1.01e-8 * np.linalg.norm(b)
        assert found.iterations <= 30


def refused(A, ml, sentence: str, error=sordino.BadArgument, **options) -> None:
    with pytest.raises(error, match=sentence):
        sordino.Solver(A, M=ml, **{**OPTIONS, "ranks": 1, **options})


def test_what_cannot_be_used_is_refused() -> None:
    A, other = plane(20), plane(20, seed=1)
    refused(plane(21), hierarchy(A), "of a matrix of shape .400, 400., and this one is 441 x 441")
    refused(other, hierarchy(A), "of a matrix with other values than this one: set it up anew")
    ml = hierarchy(A)
    ml.levels[0].R = 2 * ml.levels[0].R
    refused(A, ml, "R of level 0 of the hierarchy is not the transpose of P.*aspreconditioner")
    refused(A, ml, "R of level 0 of the hierarchy is not the transpose of P", solver="bicgstab")
    ml = hierarchy(A)
    ml.levels[0].P.data[5] = ml.levels[0].R.data[5] = np.nan
    del ml.levels[0].R
    refused(A, ml, "the P of level 0 of the hierarchy holds a NaN or Inf")
    ml = hierarchy(A)
    ml.levels[1].A.data[0] = np.inf
    refused(A, ml, "level 1 of the hierarchy: .*inf")
    ml = hierarchy(A)
    ml.levels[0].P = ml.levels[0].P[:, :-1]
    del ml.levels[0].R
    refused(A, ml, "the levels do not chain")
    skew = A + 0.1 * sp.triu(A, 1)
    refused(sp.csr_array(skew), hierarchy(sp.csr_array(skew)), "symmetric")
    large = plane(50)
    refused(large, SimpleNamespace(levels=[SimpleNamespace(A=large)]), "has 2500 rows, more than 2048")
    refused(1j * A, hierarchy(A), "for real matrices", sordino.Unsupported)
    refused(sp.linalg.aslinearoperator(A) * 1, hierarchy(A), "needs the entries of the matrix")
    refused(
        A, hierarchy(A), "takes no preconditioner but a diagonal", sordino.Unsupported, solver="pipebicgstab"
    )
    with pytest.raises(sordino.BadArgument, match="give x0 as a vector"):
        sordino.linalg.cg(A, np.ones(400), x0="Mb", M=hierarchy(A))


@pytest.mark.parametrize("way", ["smoothed_aggregation_solver", "ruge_stuben_solver"])
def test_as_few_iterations_as_pyamg(way) -> None:
    pyamg = pytest.importorskip("pyamg")
    A = sp.csr_matrix(sordino.poisson(24, 24, 24))
    b = np.random.default_rng(8).standard_normal(A.shape[0])
    ml = getattr(pyamg, way)(A)
    residuals: list[float] = []
    ml.solve(b, tol=1e-8, accel="cg", residuals=residuals)
    found = sordino.solve(A, b, M=ml, ranks=2, **OPTIONS)
    assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    assert found.iterations <= len(residuals) + 1
    with sordino.Solver(
        A, M=ml.aspreconditioner(), ranks=2, **OPTIONS
    ) as solver:  # its own cycle, as a function
        assert solver.solve(b).converged
