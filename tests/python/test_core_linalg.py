"""sordino.linalg beside scipy.sparse.linalg, on the same systems: answers, info, callbacks, shapes, types, refusals."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino
import sordino.linalg

PAIRS = {"cg": (sordino.linalg.cg, spla.cg), "bicgstab": (sordino.linalg.bicgstab, spla.bicgstab)}
RANKS = (1, 2, 3)


def poisson():
    return sordino.poisson(9, 8, 7, contrast=100.0)


def convection(n=16, speed=3.0):
    line = sp.diags_array(
        [-(1 + speed) * np.ones(n - 1), (2 + speed) * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]
    )
    eye = sp.eye_array(n)
    return sp.csr_array(sp.kron(line, eye) + sp.kron(eye, line))


SYSTEMS = {"cg": poisson, "bicgstab": convection}


def system(name):
    A = SYSTEMS[name]()
    return A, np.random.default_rng(3).standard_normal(A.shape[0])


def ways_to_give(A):
    """The same matrix in every form that SciPy takes."""
    return {
        "csr": A,
        "csc": A.tocsc(),
        "coo": A.tocoo(),
        "spmatrix": sp.csr_matrix(A),
        "dense": A.toarray(),
        "wrapped": spla.aslinearoperator(A),
        "operator": spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=A.dtype),
    }


def inverses(A):
    """The inverse diagonal of A in every form that a preconditioner may have."""
    d = 1 / A.diagonal()
    return {
        "sparse diagonal": sp.diags_array(d),
        "dense diagonal": np.diag(d),
        "operator": spla.LinearOperator(A.shape, matvec=lambda r: d * r.reshape(-1), dtype=float),
        "wrapped": spla.aslinearoperator(sp.diags_array(d, format="csr")),
    }


def neumann(A):
    """Two terms of the series of the inverse of A: no diagonal."""
    D = sp.diags_array(1 / A.diagonal())
    return sp.csr_array(2 * D - D @ A @ D)


def residual(A, b, x):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


@pytest.mark.parametrize("name", PAIRS)
def test_the_signature_begins_as_scipys(name):
    ours, theirs = (inspect.signature(function).parameters for function in PAIRS[name])
    for key, parameter in theirs.items():
        assert ours[key].kind == parameter.kind and ours[key].default == parameter.default, key
    assert all(p.kind == p.KEYWORD_ONLY for key, p in ours.items() if key not in theirs)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", PAIRS)
def test_every_form_of_a_matrix_solves_as_with_scipy(name, ranks):
    ours, theirs = PAIRS[name]
    A, b = system(name)
    expected, zero = theirs(A, b, rtol=1e-9)
    assert zero == 0
    for form, given in ways_to_give(A).items():
        x, info = ours(given, b, rtol=1e-9, ranks=ranks)
        assert info == 0 and isinstance(x, np.ndarray) and x.dtype == np.float64, form
        assert residual(A, b, x) <= 1e-9, form
        assert np.linalg.norm(x - expected) <= 1e-5 * np.linalg.norm(expected), form


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", PAIRS)
def test_every_form_of_a_preconditioner_saves_the_same_iterations_as_with_scipy(name, ranks):
    ours, theirs = PAIRS[name]
    A = SYSTEMS[name]()
    if name == "bicgstab":  # rows of different sizes, so that the diagonal matters
        A = sp.csr_array(sp.diags_array(10.0 ** np.linspace(0, 3, A.shape[0])) @ A)
    b = A @ np.ones(A.shape[0])
    count = [0]

    def counts(_):
        count[0] += 1

    def iterations(solve, M, **more):
        count[0] = 0
        x, info = solve(A, b, rtol=1e-8, M=M, callback=counts, **more)
        assert info == 0 and residual(A, b, x) <= 2e-8
        return count[0]

    plain, preconditioned = iterations(theirs, None), iterations(theirs, inverses(A)["operator"])
    assert preconditioned < 0.8 * plain
    for form, M in inverses(A).items():
        assert abs(iterations(ours, M, ranks=ranks) - preconditioned) <= 0.1 * preconditioned + 2, form
    assert (
        abs(iterations(ours, lambda r: r / A.diagonal(), ranks=ranks) - preconditioned)
        <= 0.1 * preconditioned + 2
    )
    assert abs(iterations(ours, "jacobi", ranks=ranks) - preconditioned) <= 0.1 * preconditioned + 2
    assert abs(iterations(ours, None, ranks=ranks) - plain) <= 0.1 * plain + 2


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", PAIRS)
def test_callbacks_see_what_scipys_see(name, ranks):
    ours, theirs = PAIRS[name]
    A, b = system(name)
    seen = {theirs: [], ours: []}
    for solve, more in ((theirs, {}), (ours, {"ranks": ranks})):
        keep = seen[solve]
        x, info = solve(A, b, rtol=1e-8, callback=lambda xk, keep=keep: keep.append(xk.copy()), **more)
        assert info == 0
    np.testing.assert_array_equal(seen[ours][-1], x)
    assert abs(len(seen[ours]) - len(seen[theirs])) <= 1
    for k in (0, 1, 5):
        np.testing.assert_allclose(seen[ours][k], seen[theirs][k], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_sparse_or_dense_inverse(ranks):
    ours, theirs = PAIRS["cg"]
    A, b = system("cg")
    M = neumann(A)
    plain, expected, counts = [], [], []
    assert theirs(A, b, rtol=1e-8, callback=plain.append)[1] == 0
    assert theirs(A, b, rtol=1e-8, M=M, callback=expected.append)[1] == 0
    assert len(expected) < len(plain)
    for given in (M, M.tocsc(), M.toarray(), spla.aslinearoperator(M), lambda r: M @ r):
        counts.clear()
        x, info = ours(A, b, rtol=1e-8, M=given, ranks=ranks, callback=counts.append)
        assert info == 0 and residual(A, b, x) <= 1e-8
        assert abs(len(counts) - len(expected)) <= 1
    np.testing.assert_allclose(ours(A, b, "Mb", M=M, rtol=1e-8)[0], x, rtol=1e-6)


def test_a_callback_that_returns_true_goes_on_and_one_that_raises_comes_out():
    A, b = system("cg")
    calls = []
    assert sordino.linalg.cg(A, b, callback=lambda xk: calls.append(1) or True, ranks=2)[1] == 0
    assert len(calls) > 5
    with pytest.raises(ZeroDivisionError, match="mine"):
        sordino.linalg.cg(A, b, callback=lambda xk: (_ for _ in ()).throw(ZeroDivisionError("mine")), ranks=2)


@pytest.mark.parametrize("name", PAIRS)
def test_what_does_not_converge_says_how_far_it_came(name):
    ours, theirs = PAIRS[name]
    A, b = system(name)
    for more in ({}, {"callback": lambda xk: None}):
        x, info = ours(A, b, rtol=1e-12, maxiter=3, **more)
        assert info == theirs(A, b, rtol=1e-12, maxiter=3, **more)[1] == 3
        assert np.isfinite(x).all() and residual(A, b, x) > 1e-12


def test_a_matrix_that_is_not_positive_definite_is_illegal_for_cg():
    A = sp.diags_array(np.where(np.arange(20) % 2, 1.0, -2.0), format="csr")
    x, info = sordino.linalg.cg(A, np.ones(20))
    assert info < 0 and np.isfinite(x).all()
    assert sordino.linalg.bicgstab(A + 3 * sp.eye_array(20), np.ones(20))[1] == 0


def test_nan_never_passes_as_converged():
    A, b = system("cg")

    def after(calls, rows=slice(None)):
        left = [calls]

        def product(x):
            left[0] -= 1
            y = A @ x
            if left[0] < 0:
                y[rows] = np.nan
            return y

        return spla.LinearOperator(A.shape, matvec=product, dtype=float)

    for solve in (sordino.linalg.cg, sordino.linalg.bicgstab):
        for operator in (after(0), after(3), after(7, slice(2, 3))):
            with pytest.warns(sordino.NotConvergedWarning, match="not a number") as seen:
                x, info = solve(operator, b, ranks=2)
            assert info != 0 and np.isfinite(x).all() and seen[0].filename == __file__
        with pytest.warns(sordino.NotConvergedWarning, match="not a number"):
            x, info = solve(A, b, M=lambda r: np.full_like(r, np.nan), ranks=2)
        assert info != 0 and np.isfinite(x).all()


@pytest.mark.parametrize("name", PAIRS)
def test_shapes_and_first_guesses(name):
    ours, theirs = PAIRS[name]
    A, b = system(name)
    n = len(b)
    column, info = ours(A, b[:, None], rtol=1e-10)
    flat, _ = ours(A, list(b), rtol=1e-10)
    assert column.shape == (n, 1) and flat.shape == (n,) and info == 0
    np.testing.assert_array_equal(column[:, 0], flat)
    calls = []
    x, info = ours(A, b, flat, rtol=1e-8, callback=calls.append)
    assert info == 0 and not calls
    np.testing.assert_array_equal(x, flat)
    assert ours(A, np.zeros(n))[1] == 0 and not ours(A, np.zeros(n))[0].any()
    M = sp.diags_array(1 / A.diagonal())
    assert ours(A, b, "Mb", M=M)[1] == theirs(A, b, "Mb", M=M)[1] == 0
    assert ours(A, b, "Mb", M=lambda r: M @ r)[1] == 0
    for x0 in (np.ones((n, 1)), np.ones(n)):
        assert ours(A, b, x0)[1] == theirs(A, b, x0)[1] == 0


def test_both_tolerances_zero_iterate_to_the_end_as_with_scipy():
    A, b = system("cg")
    count = []
    _, info = sordino.linalg.cg(A, b, rtol=0, atol=0, maxiter=12, callback=count.append)
    assert info == spla.cg(A, b, rtol=0, atol=0, maxiter=12)[1] == 12 and len(count) == 12
    assert sordino.linalg.cg(A, b, rtol=0, atol=1e-3)[1] == 0


def test_types():
    A, b = system("cg")
    single = A.astype(np.float32)
    for matrix, vector in (
        (single, b.astype(np.float32)), (single, b), (A, b.astype(np.float32)), (A, np.ones(len(b), dtype=int)),
    ):  # fmt: skip
        x, info = sordino.linalg.cg(matrix, vector, rtol=1e-4)
        assert info == 0 and x.dtype == spla.cg(matrix, vector, rtol=1e-4)[0].dtype
        assert residual(matrix.astype(float), vector.astype(float), x.astype(float)) <= 1e-4


def test_float32_is_verified_as_it_is_handed_out():
    A, b = system("cg")
    with pytest.warns(sordino.NotConvergedWarning, match="misses it in float32, as matrix and b are"):
        x, info = sordino.linalg.cg(A.astype(np.float32), b.astype(np.float32), rtol=1e-11)
    assert info > 0 and x.dtype == np.float32
    failed = sordino.solve(A.astype(np.float32), b.astype(np.float32), rtol=1e-11, on_failure="return")
    exact = np.linalg.norm(b.astype(np.float32) - A.astype(np.float32).astype(float) @ failed.x.astype(float))
    assert failed.status == "stagnated" and failed.x.dtype == np.float32
    assert failed.residual_norm == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"A": np.ones((3, 4))}, ValueError, "3 x 4"),
        ({"A": spla.LinearOperator((3, 4), matvec=lambda x: x, dtype=float)}, ValueError, "3 x 4"),
        ({"b": np.ones(5)}, ValueError, r"b has shape \(5,\)"),
        ({"b": np.ones((504, 2))}, ValueError, r"\(504, 2\).*one vector"),
        ({"x0": np.ones(5)}, ValueError, "x0 has shape"),
        ({"x0": "bM"}, ValueError, "'Mb' for M @ b, not 'bM'"),
        ({"M": np.eye(5)}, ValueError, r"of shape \(5, 5\)"),
        (
            {"M": spla.LinearOperator((5, 5), matvec=lambda x: x, dtype=float)},
            ValueError,
            r"of shape \(5, 5\)",
        ),
        ({"M": "ilu"}, ValueError, "unknown precond 'ilu'"),
        ({"M": sp.diags_array(np.full(504, np.nan))}, ValueError, "preconditioner M: the matrix holds nan"),
        ({"atol": -1.0}, ValueError, "atol"),
        ({"maxiter": 0}, ValueError, "maxiter is at least 1"),
        ({"b": np.full(504, complex(0, np.inf))}, ValueError, "b holds"),
        ({"b": np.full(504, np.nan)}, ValueError, "b holds nan at position 0"),
        ({"tol": 1e-3}, TypeError, "tol"),
        ({"callback": 3}, TypeError, "not callable"),
    ],
)
def test_what_cannot_be_used_is_refused_with_one_sentence(name, change, error, sentence):
    A = poisson()
    arguments = {"A": A, "b": np.ones(504), **change}
    with pytest.raises(error, match=sentence) as refused:
        PAIRS[name][0](**arguments)
    assert "\n" not in str(refused.value)


def test_methods_of_scipys_that_are_not_here_are_named():
    with pytest.raises(AttributeError, match=r"sordino\.linalg\.lgmres is not there: take bicgstab"):
        sordino.linalg.lgmres  # noqa: B018
    with pytest.raises(AttributeError, match=r"sordino\.linalg\.gmres is not there: take sordino\.solve\("):
        sordino.linalg.gmres  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'cgg'"):
        sordino.linalg.cgg  # noqa: B018
    with pytest.raises(ImportError):
        from sordino.linalg import minres  # noqa: F401
