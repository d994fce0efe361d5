"""Direct solves with triangular factors from Python: sordino.splu, factorized_lu, Factors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import sordino
from sordino import BadArgument, Factors, NotConverged, Unsupported

OPERATIONS = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.conj().T}


def general(rng, n, dtype=float, symmetric=False):
    """Diagonally dominant by rows and columns, so that any order of pivots is a good one."""
    A = sp.random_array((n, n), density=min(1, 4 / n), rng=rng)
    if symmetric:
        A = A + A.T
    A = 0.8 / max(A.sum(0).max(), A.sum(1).max()) * A + sp.diags_array(rng.uniform(1, 2, n))
    if np.issubdtype(dtype, np.complexfloating):
        A = A * np.exp(0.3j)
    return sp.csr_array(A.astype(dtype))


def relative(A, x, b):
    return np.linalg.norm(A @ x - b) / np.linalg.norm(b)


@pytest.mark.parametrize("dtype", [np.float32, float, complex])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("ordering", ["auto", "metis", "mmd", "colamd", "natural"])
def test_direct_solves_are_verified_in_all_ways(ordering, symmetric, dtype, rng_of_today):
    A = general(rng_of_today, 80, dtype, symmetric)
    F = sordino.splu(A, ordering)
    assert F.dtype == dtype
    tolerance = 1e-4 if dtype == np.float32 else 1e-8
    for trans, of in OPERATIONS.items():
        for shape in ((80,), (80, 3)):
            b = of(A) @ rng_of_today.standard_normal(shape)
            x = F.solve(b, trans)
            assert relative(of(A), x, b) <= tolerance
            assert F.report["residuals"][0] <= tolerance
            F.solve(b, trans, refine=2)
            errors = F.report["backward_errors"]
            assert len(errors) == len(F.report["residuals"]) == F.report["refinements"] + 1
            assert errors == sorted(errors, reverse=True)
    if ordering == "auto":
        tried = F.statistics["orderings"]
        assert F.ordering == ("metis" if symmetric else min(tried, key=tried.get))
    assert set(F.seconds) == {"ordering", "factoring", "setup"}


def test_rows_of_any_scale_are_no_trouble(rng_of_today):
    A = sp.diags_array(10.0 ** rng_of_today.uniform(-150, 150, 60)) @ general(rng_of_today, 60)
    F = sordino.splu(A)
    x = F.solve(A @ np.ones(60))
    scale = F.factors.row_scale
    assert np.array_equal(np.frexp(scale)[0], np.full(60, 0.5))  # powers of two: nothing is rounded
    np.testing.assert_allclose(x, 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", [float, complex])
def test_superlu_objects_and_factors_of_others(dtype, rng_of_today):
    n = 50
    A = general(rng_of_today, n, dtype)
    H = sp.csr_array(A @ A.conj().T)
    orders = [rng_of_today.permutation(n) for _ in range(2)]
    scales = [2.0 ** rng_of_today.integers(-9, 9, n) for _ in range(2)]
    B = (sp.diags_array(scales[0]) @ A @ sp.diags_array(scales[1])).tocsc()[orders[0]][:, orders[1]]
    lu = sla.splu(sp.csc_matrix(B), permc_spec="NATURAL")
    rows = orders[0][np.argsort(lu.perm_r)]
    columns = orders[1][np.argsort(lu.perm_c)]
    own = Factors(lu.L, lu.U, True, False, rows, columns, *scales)
    cholesky = Factors(sp.csc_array(np.linalg.cholesky(H.toarray())))
    superlu = sla.splu(sp.csc_matrix(A))
    for factors, matrix in ((own, A), (cholesky, H), (superlu, A)):
        F = sordino.factorized_lu(factors, matrix)
        for trans, of in OPERATIONS.items():
            x = rng_of_today.standard_normal((n, 2))
            b = of(matrix) @ x
            found = F.solve(b, trans)
            np.testing.assert_allclose(found, x, atol=1e-7)
            np.testing.assert_allclose(F.factors.product(x, trans), b, atol=1e-9)
            assert F.backward_error(b, F.solve(b, trans, refine=3), trans) < 1e-13


def test_without_the_matrix_nothing_is_verified_and_it_is_said():
    lu = sla.spilu(sp.csc_matrix(general(np.random.default_rng(3), 40)), drop_tol=0.1)
    F = sordino.factorized_lu(lu)
    F.solve(np.ones(40))
    assert "residuals" not in F.report
    with pytest.raises(BadArgument, match="refinement needs the matrix"):
        F.solve(np.ones(40), refine=1)
    with pytest.raises(BadArgument, match="a backward error needs the matrix"):
        F.backward_error(np.ones(40), np.ones(40))


def test_an_incomplete_factorisation_preconditions_a_solver_of_scipy(laplacian):
    A = laplacian(8)
    F = sordino.factorized_lu(sla.spilu(sp.csc_matrix(A), drop_tol=1e-3))
    M = sla.LinearOperator(A.shape, matvec=F.solve, dtype=float)
    steps = []
    x, code = sla.bicgstab(A, A @ np.ones(512), rtol=1e-10, M=M, callback=steps.append)
    assert code == 0 and len(steps) < 12
    np.testing.assert_allclose(x, 1, rtol=1e-6)


def test_what_is_not_verified_is_raised_returned_or_warned_of():
    A = general(np.random.default_rng(4), 30)
    F = sordino.factorized_lu(sla.splu(sp.csc_matrix(A)), 2 * A)  # the factors of another matrix
    b = np.ones(30)
    with pytest.raises(
        NotConverged, match=r"inaccurate: \|\|b - A x\|\| / \|\|b\|\| is 1\.00e\+00, above 1e-08"
    ) as e:
        F.solve(b)
    np.testing.assert_array_equal(e.value.solution.x, F.solve(b, on_failure="return"))
    with pytest.warns(sordino.NotConvergedWarning, match="inaccurate"):
        F.solve(b, on_failure="warn")
    F.solve(b, rtol=1.5)
    with pytest.raises(BadArgument, match="on_failure is one of"):
        F.solve(b, on_failure="shrug")


def test_bad_matrices_and_factors_get_one_sentence(rng_of_today):
    A = general(rng_of_today, 10)
    eye = sp.eye_array(3)
    for call, sentence in (
        (lambda: sordino.splu(sp.csr_array([[1.0, 1], [1, 1]])), "the matrix is singular"),
        (lambda: sordino.splu(A[:5]), "the matrix is 5 x 10"),
        (lambda: sordino.splu(A, "metsi"), "ordering is one of .*, did you mean 'metis'"),
        (lambda: sordino.splu(A, colour=1), "options of a triangular solve are .*, not colour"),
        (
            lambda: sordino.factorized_lu(A),
            "factors are those of scipy.sparse.linalg.splu .*, not a csr_array",
        ),
        (lambda: sordino.factorized_lu(Factors(eye), A), "the matrix has 10 rows, and its factors 3"),
        (lambda: sordino.factorized_lu(Factors(eye, 0 * eye)), "U: the pivot of row 0"),
        (lambda: Factors(eye, sp.eye_array(4)), "upper is 4 x 4, and lower has 3 rows"),
        (lambda: Factors(np.eye(3)), "lower is a sparse matrix of SciPy, not a ndarray"),
        (lambda: Factors(eye, row_order=[0, 0, 1]), "row_order is no permutation of 0, ..., 2"),
        (lambda: Factors(eye, row_order=[0.5, 1, 2]), "row_order has 3 whole numbers"),
        (lambda: Factors(eye, row_scale=[1, 0, 1]), "row_scale is positive, and entry 1 is 0"),
        (lambda: Factors(eye, row_scale=[1, 1]), "row_scale has 3 real numbers"),
    ):
        with pytest.raises(BadArgument, match=sentence):
            call()


def test_without_pymetis_minimum_degree_is_taken_or_it_is_said_what_to_install(
    monkeypatch, caplog, laplacian
):
    import builtins

    real = builtins.__import__

    def without(name, *more):
        if name == "pymetis":
            raise ImportError
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with caplog.at_level("INFO", "sordino"):
        assert sordino.splu(laplacian(3)).ordering == "mmd"
    assert "ordering='metis' needs pymetis" in caplog.text
    with pytest.raises(Unsupported, match=r"needs pymetis: pip install 'sordino\[metis\]'"):
        sordino.splu(laplacian(3), "metis")


def test_nested_dissection_fills_less_than_the_natural_order(laplacian):
    A = laplacian(10)
    entries = {o: sordino.splu(A, o).statistics["lower"]["entries"] for o in ("metis", "natural")}
    assert entries["metis"] < 0.5 * entries["natural"]
