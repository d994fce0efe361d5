"""GMRES of complex systems beside NumPy and SciPy: sparse ones, and Helmholtz' H-matrix near a resonance."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import gmres

import sordino
from sordino import BadArgument, Unsupported

#: The single layer of a sphere of radius 1 has no inverse where j_0(k) = 0, at k = pi; of these triangles, whose sphere
#: is a little smaller, beside that.
NEAR = {"kernel": "helmholtz", "wavenumber": 1.01 * np.pi}


@pytest.fixture(scope="module")
def ball():
    return sordino.surfaces.sphere(5, 7, radius=1.0)


@pytest.fixture(scope="module")
def waves(ball):
    return sordino.hmatrix(ball, 1e-8, leaf=10, **NEAR)


def numbers(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def scattered(rng, n, shift=3):
    """No symmetry; eigenvalues around `shift`, of which those around 3 are beyond 0, too."""
    A = sp.random_array((n, n), density=6 / n, rng=rng).astype(complex)
    A.data[:] = numbers(rng, len(A.data))
    return (A + sp.diags_array(numbers(rng, n) + shift)).tocsr()


def smallest(A, b, m, steps):
    """Residual norms of GMRES(m), relative to b: what is left of r beside the images of a basis, by QR."""
    told, r = [], b.copy()
    while len(told) < steps:
        basis, images, begin = [r / np.linalg.norm(r)], [], r
        for _ in range(min(m, steps - len(told))):
            w = A @ basis[-1]
            images.append(w)
            Q, _ = np.linalg.qr(np.stack(images, axis=1))
            r = begin - Q @ (Q.conj().T @ begin)
            told.append(np.linalg.norm(r) / np.linalg.norm(b))
            for _ in range(2):
                w = w - np.stack(basis, axis=1) @ (np.stack(basis, axis=1).conj().T @ w)
            basis.append(w / np.linalg.norm(w))
    return np.array(told)


def history(A, b, m, steps, engine="host", ranks=1, **words):
    found = sordino.solve(
        A, b, solver="gmres", precond="none", restart=m, maxiter=steps, rtol=1e-14, engine=engine, ranks=ranks,
        on_failure="return", **words,
    )  # fmt: skip
    assert found.iterations == steps == len(found.report.history)
    return np.array(found.report.history), found.x


@pytest.mark.parametrize("m", [1, 2, 3, 6, 7, 17, 30])
def test_after_each_step_the_residual_is_the_smallest_of_its_space(waves, rng_of_today, m):
    for A in (scattered(rng_of_today, 150), waves):
        b = numbers(rng_of_today, A.shape[0])
        told, x = history(A, b, m, 30)
        assert told == pytest.approx(smallest(A, b, m, 30), rel=1e-5)
        assert np.linalg.norm(b - A @ x) / np.linalg.norm(b) == pytest.approx(told[-1], rel=1e-5)


@pytest.mark.parametrize("cycles", [1, 3])
def test_cycles_find_what_scipy_s_find(waves, rng_of_today, cycles):
    m, b = 12, numbers(rng_of_today, waves.shape[0])
    expected, _ = gmres(waves, b, restart=m, maxiter=cycles, **tolerance(0.0))
    _, x = history(waves, b, m, m * cycles)
    assert np.linalg.norm(x - expected) <= 1e-9 * np.linalg.norm(expected)


def tolerance(value):
    """SciPy's word for it, which changed in 1.14."""
    return {"rtol" if "rtol" in gmres.__code__.co_varnames else "tol": value}


@pytest.mark.parametrize("precond", ["none", "jacobi", "block-jacobi"])
def test_a_system_near_a_resonance_is_solved_with_the_same_bits_on_any_number_of_ranks(
    waves, rng_of_today, precond
):
    b = numbers(rng_of_today, waves.shape[0])
    condition = np.linalg.cond(waves @ np.eye(waves.shape[0]))
    assert condition > 300
    first = None
    for engine, ranks in (("host", 1), ("host", 2), ("host", 3), ("model", 2)):
        found = sordino.solve(
            waves, b, solver="gmres", precond=precond, rtol=1e-9, engine=engine, ranks=ranks
        )
        assert found.converged and found.report.options["solver"] == "gmres"
        assert np.linalg.norm(b - waves @ found.x) <= 1.01e-9 * np.linalg.norm(b)
        first = found if first is None else first
        assert found.iterations == first.iterations
        assert precond == "block-jacobi" or found.x.tobytes() == first.x.tobytes()


def test_inner_steps_with_a_coarser_matrix_precondition_it(ball, waves, rng_of_today):
    b = numbers(rng_of_today, waves.shape[0])
    coarse = sordino.hmatrix(ball, 1e-1, leaf=10, **NEAR)
    jacobi = sordino.solve(waves, b, solver="gmres", precond="jacobi", rtol=1e-9)
    first = None
    for engine, ranks in (("host", 1), ("host", 2), ("host", 3), ("model", 2)):
        found = sordino.solve(waves, b, M=coarse, inner=8, rtol=1e-9, engine=engine, ranks=ranks)
        assert found.report.options["solver"] == "gmres" and found.iterations < jacobi.iterations / 2
        assert np.linalg.norm(b - waves @ found.x) <= 1.01e-9 * np.linalg.norm(b)
        first = found.x if first is None else first
        assert found.x.tobytes() == first.tobytes()
    for how in ("leaves", "grid"):
        found = sordino.solve(
            waves, b, M=coarse, inner=8, rtol=1e-9, engine="host", ranks=4, distribution=how
        )
        assert np.linalg.norm(b - waves @ found.x) <= 1.01e-9 * np.linalg.norm(b)


def steps_of_bicgstab(A, d, b, steps):
    """van der Vorst's of complex numbers, preconditioned from the right by a diagonal d, from x = 0."""
    x, r, p = np.zeros_like(b), b.copy(), b.copy()
    for _ in range(steps):
        v, rho = A @ (d * p), np.vdot(b, r)
        alpha = rho / np.vdot(b, v)
        s = r - alpha * v
        t = A @ (d * s)
        omega = np.vdot(t, s) / np.vdot(t, t)
        x += d * (alpha * p + omega * s)
        r = s - omega * t
        p = r + np.vdot(b, r) / rho * alpha / omega * (p - omega * v)
    return x


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_inner_steps_are_those_of_bicgstab(ball, waves, rng_of_today, steps):
    coarse = sordino.hmatrix(ball, 1e-2, leaf=10, **NEAR)
    b = numbers(rng_of_today, waves.shape[0])
    for ranks in (1, 3):
        found = sordino.solve(
            waves, b, M=coarse, inner=steps, maxiter=1, engine="host", ranks=ranks, on_failure="return"
        )
        z = steps_of_bicgstab(coarse, 1 / coarse.diagonal(), b, steps)
        w = waves @ z  # x is the multiple of z whose residual is the smallest
        expected = np.vdot(w, b) / np.vdot(w, w) * z
        assert np.linalg.norm(found.x - expected) <= 1e-8 * np.linalg.norm(expected)


def test_many_inner_steps_with_the_matrix_itself_solve_it(waves, rng_of_today):
    b = numbers(rng_of_today, waves.shape[0])
    found = sordino.solve(waves, b, M=waves, inner=64, rtol=1e-6, engine="host", ranks=1)
    assert found.iterations <= 3


def test_flexible_with_functions_that_change(rng_of_today):
    A = scattered(rng_of_today, 200, 9)
    b, calls = numbers(rng_of_today, 200), []

    def M(r):
        calls.append(1)
        return r / (A.diagonal() + (0.1j if len(calls) % 2 else 0))

    found = sordino.solve(A, b, M=M, solver="gmres", rtol=1e-10, engine="host", ranks=2)
    assert np.linalg.norm(b - A @ found.x) <= 1.01e-10 * np.linalg.norm(b)


def test_real_numbers_as_complex_ones_take_the_same_steps(rng_of_today):
    A = scattered(rng_of_today, 150).real.tocsr()
    b = rng_of_today.normal(size=150)
    real, _ = history(A, b, 9, 25)
    told, _ = history(A.astype(complex), b + 0j, 9, 25)
    assert told == pytest.approx(real, rel=1e-7)


def test_what_does_not_go_is_refused(ball, waves):
    with pytest.raises(
        BadArgument, match="restart must be from 1 to 30 where the entries are complex, not 31"
    ):
        sordino.Solver(waves, solver="gmres", restart=31)
    real = sordino.hmatrix(ball, 1e-1, leaf=10)
    with pytest.raises(
        Unsupported, match="the matrix is complex, and an H-matrix as the preconditioner must be, too"
    ):
        sordino.Solver(waves, M=real)
    with pytest.raises(Unsupported, match="the H-matrix is real, and its preconditioner must be, too"):
        sordino.Solver(real, M=waves)
