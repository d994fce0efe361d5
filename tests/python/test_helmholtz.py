"""Complex H-matrices from Python: Helmholtz' single layer beside what is known of spheres; products, systems, files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as special
from scipy.sparse.linalg import LinearOperator, gmres

import sordino
from sordino.io import load_hmatrix, save_hmatrix

EPS, K = 1e-7, 2.3


@pytest.fixture(scope="module")
def surface():
    return sordino.surfaces.sphere(5, 7, radius=1.0)


@pytest.fixture(scope="module")
def exact(surface):
    """All entries: clusters of this size are not cut."""
    whole = sordino.hmatrix(surface, EPS, leaf=surface.n, kernel="helmholtz", wavenumber=K)
    assert whole.statistics["low_rank_blocks"] == 0
    return whole @ np.eye(surface.n)


@pytest.fixture(scope="module")
def matrix(surface):
    return sordino.hmatrix(surface, EPS, leaf=10, kernel="helmholtz", wavenumber=K)


def _numbers(rng, shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def test_entries_are_potentials_of_points_where_triangles_are_far(surface, exact):
    corners = surface.points[surface.triangles]
    centroids = corners.mean(axis=1)
    areas = 0.5 * np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    r = np.linalg.norm(centroids[:, None] - centroids, axis=2)
    far = r > 1.5
    points = np.exp(1j * K * r[far]) / (4 * np.pi * r[far])
    assert np.abs(exact[far] / (np.broadcast_to(areas, r.shape)[far] * points) - 1).max() < 0.02
    assert np.abs((exact / areas - (exact / areas).T)[far] / points).max() < 0.02  # reciprocity, to O(h^2)


@pytest.mark.parametrize("eps", [1e-2, 1e-4, 1e-6, 1e-8])
def test_the_error_is_below_eps(surface, exact, eps):
    matrix = sordino.hmatrix(surface, eps, kernel="helmholtz", wavenumber=K)
    error = np.linalg.norm(matrix @ np.eye(surface.n) - exact) / np.linalg.norm(exact)
    s = matrix.statistics
    assert 1e-3 * eps < error <= eps
    assert s["compression_error"] == pytest.approx(error, abs=0.2 * error + 4 * s["error_of_estimate"])
    assert s["norm"] == pytest.approx(np.linalg.norm(exact), rel=1e-2 if eps > 1e-3 else 1e-6)
    assert s["dense_bytes"] == 16 * surface.n**2
    values = np.where(
        matrix.blocks["rank"] < 0,
        np.prod(
            [matrix.blocks[f"{side}_end"] - matrix.blocks[f"{side}_begin"] for side in ("row", "column")],
            axis=0,
        ),
        sum(matrix.blocks[f"{side}_end"] - matrix.blocks[f"{side}_begin"] for side in ("row", "column"))
        * matrix.blocks["rank"],
    )
    assert s["stored_bytes"] == 16 * values.sum()


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_spherical_harmonics_are_its_eigenvectors_to_h_squared(degree):
    radius, k, errors = 1.5, 1.7, []
    j, y = special.spherical_jn(degree, k * radius), special.spherical_yn(degree, k * radius)
    eigenvalue = 1j * k * radius**2 * j * (j + 1j * y)
    for rings in (5, 10):
        ball = sordino.surfaces.sphere(4, rings, radius=radius)
        centroids = ball.points[ball.triangles].mean(axis=1)
        x, _, z = (centroids / np.linalg.norm(centroids, axis=1)[:, None]).T
        harmonic = special.eval_legendre(degree, 0.6 * x + 0.8 * z)
        potential = sordino.hmatrix(ball, 1e-5, kernel="helmholtz", wavenumber=k) @ harmonic
        errors.append(
            np.linalg.norm(potential - eigenvalue * harmonic) / np.linalg.norm(eigenvalue * harmonic)
        )
    assert errors[1] < 0.35 * errors[0] and errors[1] < 0.03


def test_it_is_an_operator_of_scipy(matrix, exact, rng_of_today):
    assert isinstance(matrix, LinearOperator) and matrix.dtype == np.complex128
    X = _numbers(rng_of_today, (matrix.shape[0], 11))
    size = np.linalg.norm(exact) * np.linalg.norm(X)
    for operator, dense in ((matrix, exact), (matrix.T, exact.T), (matrix.H, exact.conj().T)):
        assert np.linalg.norm(operator @ X - dense @ X) <= EPS * size
        assert np.linalg.norm(operator @ X[:, 0] - dense @ X[:, 0]) <= EPS * size
        assert np.linalg.norm(operator @ X.real - dense @ X.real) <= EPS * size
        assert (operator @ X.astype(np.complex64)).dtype == np.complex128
    assert matrix.diagonal() == pytest.approx(np.diag(exact), rel=1e-12)
    x, info = gmres(matrix, X[:, 2], rtol=1e-8)
    assert info == 0 and np.linalg.norm(matrix @ x - X[:, 2]) <= 1e-7 * np.linalg.norm(X[:, 2])


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_systems_are_solved(matrix, exact, rng_of_today, ranks):
    b = _numbers(rng_of_today, (matrix.shape[0], 2))
    solution = sordino.solve(matrix, b, ranks=ranks, rtol=1e-9)
    assert solution.converged and solution.x.dtype == np.complex128
    assert np.linalg.norm(matrix @ solution.x - b) <= 1.01e-9 * np.linalg.norm(b)
    direct = np.linalg.solve(exact, b)
    assert np.linalg.norm(solution.x - direct) <= 1e-4 * np.linalg.norm(direct)
    alone = sordino.solve(matrix, b[:, 0].real, ranks=ranks, rtol=1e-9)
    assert alone.converged and np.linalg.norm(matrix @ alone.x - b[:, 0].real) <= 1.01e-9 * np.linalg.norm(
        b[:, 0].real
    )


def test_callers_bring_preconditioners_first_guesses_and_looks(matrix, rng_of_today):
    b = _numbers(rng_of_today, matrix.shape[0])
    jacobi = sordino.solve(matrix, b, precond="jacobi", rtol=1e-9)
    for M in (np.diag(1 / matrix.diagonal()), lambda r: r / matrix.diagonal()):
        given = sordino.solve(matrix, b, M=M, rtol=1e-9)
        # quotients for products are other digits, which BiCGStab soon turns into other steps
        assert abs(given.iterations - jacobi.iterations) <= 0.3 * jacobi.iterations
        assert np.allclose(given.x, jacobi.x, rtol=1e-5, atol=1e-6)
    assert sordino.solve(matrix, b, x0=jacobi.x, rtol=1e-8).iterations == 0
    seen = []
    solver = sordino.Solver(matrix, callback_every=1, callback_x=True)
    solver.solve(b, callback=lambda iteration, residual, x: seen.append((residual, x)), rtol=1e-6)
    assert seen
    for residual, x in seen:
        assert np.linalg.norm(b - matrix @ x) <= 1.5 * residual * np.linalg.norm(b) + 1e-12


def test_k_zero_is_laplace_s_kernel(surface):
    still = sordino.hmatrix(surface, EPS, kernel="helmholtz", wavenumber=0)
    volts = sordino.hmatrix(surface, EPS)
    x = np.ones(surface.n)
    assert still @ x == pytest.approx(8.8541878188e-12 * (volts @ x), rel=3 * EPS)
    assert not (still @ x).imag.any()


def test_it_is_saved_and_comes_back_to_the_bit(matrix, surface, tmp_path):
    save_hmatrix(tmp_path / "waves.hmatrix", matrix)
    again = load_hmatrix(tmp_path / "waves.hmatrix", surface)
    X = _numbers(np.random.default_rng(1), (surface.n, 3))
    assert (again @ X).tobytes() == (matrix @ X).tobytes() and again.dtype == matrix.dtype
    assert (again.H @ X).tobytes() == (matrix.H @ X).tobytes()
    assert again.statistics == matrix.statistics and again.settings == matrix.settings
    assert again.settings["wavenumber"] == K
    values = np.load(tmp_path / "waves.hmatrix")["values.npy"]
    assert values.dtype == np.complex128 and values.nbytes == matrix.statistics["stored_bytes"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kernel": "helmholtz"}, "kernel helmholtz needs a wavenumber"),
        ({"kernel": "helmholtz", "wavenumber": -1}, "wavenumber is a finite number, at least 0"),
        ({"kernel": "helmholtz", "wavenumber": np.inf}, "wavenumber is a finite number, at least 0"),
        ({"kernel": "helmholtz", "wavenumber": np.nan}, "wavenumber is a finite number, at least 0"),
        ({"kernel": "helmholtz", "wavenumber": "long"}, "wavenumber is a number, not 'long'"),
        ({"kernel": "helmholtz", "wavenumber": 1e4}, "more than six wavelengths"),
        ({"wavenumber": 1.0}, "wavenumber belongs to kernel helmholtz, and this one is laplace"),
    ],
)
def test_bad_wavenumbers_get_a_sentence(surface, settings, sentence):
    with pytest.raises(sordino.BadArgument, match=sentence):
        sordino.hmatrix(surface, **settings)


def test_what_complex_systems_do_not_have_is_refused(matrix):
    b = np.ones(matrix.shape[0], complex)
    with pytest.raises(sordino.Unsupported, match="pipebicgstab computes with real numbers"):
        sordino.solve(matrix, b, solver="pipebicgstab")
    with pytest.raises(sordino.BadArgument, match="nullspace: A does not map vector 0"):
        sordino.solve(matrix, b, nullspace="constant")
    with pytest.raises(sordino.BadArgument, match="diagonal is not real"):
        sordino.solve(matrix, b, solver="cg", precond="jacobi")


def test_the_command_solves_laplace_s_systems_alone(cli, matrix, surface, tmp_path):
    save_hmatrix(tmp_path / "waves.hmatrix", matrix)
    code, _, err = cli("bem", "sphere:5,7,radius=1", "--matrix", str(tmp_path / "waves.hmatrix"))
    assert code == 2 and "waves.hmatrix is of kernel helmholtz, and charges need laplace" in err
