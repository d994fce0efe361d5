"""Finite elements of bricks, 27 points, and multigrid for those that are stretched."""

from __future__ import annotations

import numpy as np
import pytest

import sordino
from sordino.problems import brick_matrix

STRETCHED = [
    (1, 1, 10),
    (10, 1, 1),
    (1, 10, 1),
    (1, 10, 10),
    (10, 10, 1),
    (1, 1, 100),
    (100, 1, 1),
    (1, 4, 16),
]
#: cg to 1e-8 by V-cycles; cubes of the same sizes take 7 to 9.
MOST = 16


def drawn(rng, shape, most=10.0):
    return most ** rng.random(shape)


def taken(bricks, rng, ranks=2, **options):
    """Iterations of a verified solve."""
    b = rng.standard_normal(bricks.A.shape[0])
    if "nullspace" in options:
        b -= b.mean()
    found = sordino.solve(
        bricks.A,
        b,
        solver="cg",
        precond="mg",
        grid=bricks.grid,
        engine="host",
        ranks=ranks,
        rtol=1e-8,
        **options,
    )
    assert np.linalg.norm(b - bricks.A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    return found.iterations


# ---- entries -----------------------------------------------------------------------------------------------------


def test_the_energy_of_a_function_that_is_trilinear_in_each_brick(rng_of_today) -> None:
    rng = rng_of_today
    bricks = tuple(rng.integers(2, 6, 3))
    k = drawn(rng, bricks)
    edges = [rng.uniform(0.1, 3, count) for count in bricks[::-1]]
    A, grid = brick_matrix(k, boundary="neumann", spacing=edges)
    assert grid == tuple(count + 1 for count in bricks[::-1])
    x, y, z = (np.concatenate([[0], np.cumsum(h)]) for h in edges)
    slope = rng.standard_normal(3)
    u = (slope[0] * x + slope[1] * y[:, None] + slope[2] * z[:, None, None]).ravel()
    volumes = edges[0] * edges[1][:, None] * edges[2][:, None, None]
    assert u @ A @ u == pytest.approx((k * volumes).sum() * (slope @ slope), rel=1e-11)
    bent = (x * y[:, None] * np.ones_like(z)[:, None, None]).ravel()  # whose gradient is (y, x, 0)
    squares = [(np.diff(of**3) / 3) for of in (x, y)]
    wanted = edges[2][:, None, None] * (edges[0] * squares[1][:, None] + squares[0] * edges[1][:, None])
    assert bent @ A @ bent == pytest.approx((k * wanted).sum(), rel=1e-11)


def test_the_matrix_is_symmetric_and_has_27_points(rng_of_today) -> None:
    k = drawn(rng_of_today, (4, 5, 6))
    for word in (
        "dirichlet",
        "neumann",
        "periodic",
        "neumann,x:periodic",
        "y:periodic",
        "neumann,z+:dirichlet",
    ):
        A, grid = brick_matrix(k, boundary=word, spacing=(1, 3, 0.5))
        assert A.shape[0] == np.prod(grid)
        assert abs(A - A.T).max() <= 1e-14 * abs(A).max()
        assert np.diff(A.indptr).max() == 27
        least = np.linalg.eigvalsh(A.toarray())[0]
        closed = "dirichlet" not in word and word != "y:periodic"
        assert abs(A.sum(axis=1)).max() <= 1e-12 * abs(A).max() if closed else least > 0


def test_the_stencil_of_cubes_is_the_textbooks() -> None:
    A, _ = brick_matrix(np.ones((4, 4, 4)))
    row = A.toarray()[13]  # the middle of 3 x 3 x 3
    assert row[13] == pytest.approx(8 / 3)
    assert row[[4, 10, 12, 14, 16, 22]] == pytest.approx(0, abs=1e-15)
    assert row[[1, 3, 5, 7, 9, 11, 15, 17, 19, 21, 23, 25]] == pytest.approx(-1 / 6)
    assert row[[0, 2, 6, 8, 18, 20, 24, 26]] == pytest.approx(-1 / 12)


def test_nodes_among_solid_bricks_have_the_row_of_the_identity() -> None:
    k = np.ones((6, 6, 6))
    k[1:4, 1:4, 1:4] = 0
    A, grid = brick_matrix(k, boundary="neumann")
    inside = np.zeros(grid[::-1], dtype=bool)
    inside[2:4, 2:4, 2:4] = True
    rows = A.toarray()[inside.ravel()]
    assert np.array_equal(rows, np.eye(A.shape[0])[inside.ravel()])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (((np.ones((2, 2)),), {}), "three dimensions"),
        (((-np.ones((2, 2, 2)),), {}), "numbers above 0, or 0 of solid bricks"),
        (((np.full((2, 2, 2), np.nan),), {}), "numbers above 0, or 0 of solid bricks"),
        (((np.ones((2, 2, 1)),), {}), "1 x 2 x 2 bricks has no node that is not held"),
        (((np.ones((3, 3, 2)),), {"boundary": "x:periodic"}), "a periodic direction has 3 cells or more"),
        (((np.ones((2, 2, 2)),), {"spacing": (1, 1)}), "the spacing is of x, y and z"),
        (((np.ones((2, 2, 2)),), {"spacing": (1, 1, [1, 2, 3])}), "edges in z are a number, or 2 of them"),
        (((np.ones((2, 2, 2)),), {"spacing": (1, -1, 1)}), "and some in y are not"),
        (((np.ones((2, 2, 2)),), {"spacing": (1, [1, [2]], 1)}), "edges in y are a number, or 2 of them"),
        ((([[[1.0]], [[1.0, 2.0]]],), {}), "three dimensions"),
        (((np.ones((2, 2, 2)),), {"boundary": "open"}), "a boundary is dirichlet, neumann or periodic"),
    ],
)
def test_what_is_refused(arguments, sentence) -> None:
    given, named = arguments
    with pytest.raises(sordino.BadArgument, match=sentence):
        brick_matrix(*given, **named)


# ---- multigrid ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edges", [(1, 1, 1), *STRETCHED])
@pytest.mark.parametrize(
    "boundary", ["dirichlet", "neumann", "neumann,z-:dirichlet", "periodic", "y:periodic"]
)
def test_iterations_are_about_those_of_cubes_whichever_edges_are_long(edges, boundary, rng_of_today) -> None:
    rng = rng_of_today
    k = drawn(rng, (int(rng.integers(20, 28)), 19, int(rng.integers(13, 24))))
    closed = {"nullspace": "constant"} if boundary in ("neumann", "periodic") else {}
    bricks = brick_matrix(k, boundary=boundary, spacing=edges)
    assert taken(bricks, rng, ranks=int(rng.integers(1, 4)), **closed) <= MOST


@pytest.mark.parametrize("ranks", [2, 3, 5, 7])
def test_about_as_many_on_any_ranks_and_the_bits_of_the_model(ranks, rng_of_today) -> None:
    rng = rng_of_today
    A, grid = brick_matrix(drawn(rng, (30, 12, 14)), spacing=(1, 10, 10))
    b = rng.standard_normal(A.shape[0])
    options = {"solver": "cg", "precond": "mg", "grid": grid, "rtol": 1e-8}
    alone = sordino.solve(A, b, engine="host", ranks=1, **options).iterations
    found = sordino.solve(A, b, engine="host", ranks=ranks, **options)
    assert abs(found.iterations - alone) <= 3
    assert np.array_equal(sordino.solve(A, b, engine="model", ranks=ranks, **options).x, found.x)


@pytest.mark.parametrize("edges", [(1, 1, 1), (1, 1, 10), (10, 1, 1), (1, 10, 10)])
def test_around_obstacles(edges, rng_of_today) -> None:
    rng = rng_of_today
    k = np.ones((24, 17, 20))
    for _ in range(4):
        z, y, x = (int(rng.integers(1, size - 6)) for size in k.shape)
        k[z : z + 5, y : y + 4, x : x + 5] = 0
    assert taken(brick_matrix(k, spacing=edges), rng) <= MOST


def test_bricks_that_are_stretched_towards_a_wall(rng_of_today) -> None:
    rng = rng_of_today
    graded = np.geomspace(0.01, 1, 25)
    for edges in ((1, 1, graded), (graded, 1, 1), (1, graded[::-1], 1)):
        assert taken(brick_matrix(np.ones((25, 25, 25)), spacing=edges), rng) <= MOST
    assert taken(brick_matrix(np.ones((25, 25, 25)), spacing=(np.geomspace(0.05, 1, 25),) * 3), rng) <= 28


def test_cycles_in_lower_precision_take_as_many(rng_of_today) -> None:
    rng = rng_of_today
    bricks = brick_matrix(drawn(rng, (24, 20, 16)), spacing=(1, 10, 10))
    seed = rng.integers(1 << 30)
    few = taken(bricks, np.random.default_rng(seed))
    for precision in ("single", "half"):
        assert abs(taken(bricks, np.random.default_rng(seed), cycle_precision=precision) - few) <= 2


def test_new_values_keep_levels_that_are_stretched(rng_of_today) -> None:
    rng = rng_of_today
    first, second = (brick_matrix(drawn(rng, (20, 16, 18)), spacing=(1, 1, 10)) for _ in range(2))
    b = rng.standard_normal(first.A.shape[0])
    options = {
        "solver": "cg",
        "precond": "mg",
        "grid": first.grid,
        "engine": "host",
        "ranks": 2,
        "rtol": 1e-8,
    }
    with sordino.Solver(first.A, **options) as solver:
        solver.solve(b)
        solver.update_values(second.A.data)
        found = solver.solve(b)
    assert np.linalg.norm(b - second.A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    assert found.iterations <= MOST


@pytest.mark.parametrize("edges", [(1, 1, 1), (1, 1, 10), (10, 1, 1), (1, 10, 10), (1, 1, 100)])
@pytest.mark.parametrize("smoother", ["sor", "block-ilu"])
def test_other_smoothers_take_27_points(smoother, edges, rng_of_today) -> None:
    rng = rng_of_today
    k = drawn(rng, (int(rng.integers(20, 28)), 19, int(rng.integers(13, 24))))
    for boundary, closed in (("dirichlet", {}), ("neumann", {"nullspace": "constant"})):
        bricks = brick_matrix(k, boundary=boundary, spacing=edges)
        assert taken(bricks, rng, ranks=int(rng.integers(1, 4)), smoother=smoother, **closed) <= 20
