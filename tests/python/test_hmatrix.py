"""H-matrices from Python: SciPy's operator, systems of ``sordino.solve``, statistics, and what is refused."""

from __future__ import annotations

import gc
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, gmres

import sordino

EPS = 1e-7


@pytest.fixture(scope="module")
def surface():
    return sordino.surfaces.sphere(5, 7)


@pytest.fixture(scope="module")
def exact(surface):
    return sys.modules["sordino_tests_bem_reference"].single_layer(surface)


@pytest.fixture(scope="module")
def matrix(surface):
    return sordino.hmatrix(surface, EPS, leaf=10)


def test_entries_are_those_of_a_reference_in_numpy(matrix, exact):
    n = matrix.shape[0]
    assert np.linalg.norm(matrix @ np.eye(n) - exact) <= EPS * np.linalg.norm(exact)
    assert np.linalg.norm(matrix @ np.eye(n) - exact) > 1e-3 * EPS * np.linalg.norm(exact)  # it is compressed
    assert matrix.diagonal() == pytest.approx(np.diag(exact), rel=1e-12)


def test_it_is_an_operator_of_scipy(matrix, exact, rng_of_today):
    assert isinstance(matrix, LinearOperator) and matrix.dtype == np.float64
    X = rng_of_today.normal(size=(matrix.shape[0], 11))
    size = np.linalg.norm(exact) * np.linalg.norm(X)
    assert np.linalg.norm(matrix @ X - exact @ X) <= EPS * size
    assert np.linalg.norm(matrix.T @ X - exact.T @ X) <= EPS * size
    z = X[:, 0] + 1j * X[:, 1]
    assert np.linalg.norm(matrix @ z - exact @ z) <= EPS * size
    for column in range(11):
        assert np.linalg.norm(matrix @ X[:, column] - (matrix @ X)[:, column]) <= 1e-14 * size
    x, info = gmres(matrix, X[:, 2], rtol=1e-8)
    assert info == 0 and np.linalg.norm(matrix @ x - X[:, 2]) <= 1e-7 * np.linalg.norm(X[:, 2])


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("solver", ["auto", "bicgstab", "pipebicgstab", "gatherbicgstab", "gmres"])
def test_systems_are_solved(matrix, exact, rng_of_today, solver, ranks):
    b = rng_of_today.normal(size=(matrix.shape[0], 2))
    solution = sordino.solve(matrix, b, solver=solver, ranks=ranks, rtol=1e-9)
    assert solution.converged
    assert np.linalg.norm(matrix @ solution.x - b) <= 1.01e-9 * np.linalg.norm(b)
    direct = np.linalg.solve(exact, b)
    assert np.linalg.norm(solution.x - direct) <= 1e-4 * np.linalg.norm(direct)


@pytest.mark.parametrize("distribution", ["leaves", "grid"])
@pytest.mark.parametrize("solver", ["bicgstab", "pipebicgstab", "gatherbicgstab", "gmres"])
def test_systems_are_solved_by_ranks_that_share_leaves(matrix, rng_of_today, solver, distribution):
    b = rng_of_today.normal(size=matrix.shape[0])
    for ranks in (2, 4):
        for precond in ("none", "jacobi"):
            options = {"solver": solver, "precond": precond, "distribution": distribution}
            solution = sordino.solve(matrix, b, ranks=ranks, rtol=1e-9, **options)
            assert solution.converged
            assert np.linalg.norm(matrix @ solution.x - b) <= 1.01e-9 * np.linalg.norm(b)


def test_coarser_matrices_are_distributed_as_the_matrix_is(surface, matrix, rng_of_today):
    b = rng_of_today.normal(size=matrix.shape[0])
    coarse = sordino.hmatrix(surface, 1e-1, leaf=10)
    solution = sordino.solve(matrix, b, M=coarse, ranks=4, rtol=1e-9, distribution="grid")
    assert np.linalg.norm(matrix @ solution.x - b) <= 1.01e-9 * np.linalg.norm(b)


def test_leaves_are_those_of_h_matrices_alone(matrix):
    with pytest.raises(sordino.BadArgument, match="distribution 'leaves' adds in other orders: choose one"):
        sordino.Solver(matrix, distribution="leaves", deterministic="on")
    with pytest.raises(sordino.BadArgument, match="distribution 'grid' is of H-matrices alone"):
        sordino.solve(np.eye(9), np.ones(9), distribution="grid")
    with pytest.raises(sordino.BadArgument, match="unknown distribution 'columns'"):
        sordino.solve(np.eye(9), np.ones(9), distribution="columns")


@pytest.mark.parametrize("engine", ["host", "model"])
def test_gathers_by_groups_have_the_bits_of_those_from_each_to_each(matrix, rng_of_today, engine):
    b = rng_of_today.normal(size=matrix.shape[0])
    options = {"engine": engine, "ranks": 8, "solver": "gatherbicgstab", "rtol": 1e-9}
    if engine == "model":
        options["machine"] = "tsubame-3"
    each = sordino.solve(matrix, b, **options)
    commands = {}
    for gather in ("rank", 1, 2, "2", 4, "node", 8):
        found = sordino.solve(matrix, b, gather=gather, **options)
        assert found.converged and found.x.tobytes() == each.x.tobytes()
        assert found.ledger["messages"] == each.ledger["messages"]
        commands[gather] = found.ledger["commands"]
    assert commands["rank"] == commands[1] == commands[8] == each.ledger["commands"]
    assert commands[2] == commands["2"] == commands[4] > commands[1]
    assert commands["node"] == commands[4 if engine == "model" else 8]


@pytest.mark.parametrize("engine", ["host", "model"])
def test_whole_vectors_are_the_same_whether_ranks_repeat_or_share_what_is_done_with_them(
    matrix, rng_of_today, engine
):
    b = rng_of_today.normal(size=matrix.shape[0])
    options = {"engine": engine, "solver": "bicgstab", "rtol": 1e-9}
    alone = sordino.solve(matrix, b, ranks=1, vectors="redundant", **options)
    assert alone.converged and np.linalg.norm(matrix @ alone.x - b) <= 1.01e-9 * np.linalg.norm(b)
    for vectors, gather in (
        ("redundant", "rank"),
        ("redundant", 2),
        ("hierarchical", 2),
        ("hierarchical", "node"),
    ):
        found = sordino.solve(matrix, b, ranks=8, vectors=vectors, gather=gather, **options)
        assert found.x.tobytes() == alone.x.tobytes() and found.iterations == alone.iterations
        assert found.ledger["reductions"] == 0


def test_whole_vectors_are_bicgstab_s_and_shared_by_groups(matrix):
    with pytest.raises(sordino.BadArgument, match="shares work among the ranks of a group: say gather node"):
        sordino.Solver(matrix, solver="bicgstab", vectors="hierarchical")
    with pytest.raises(sordino.BadArgument, match="is of solver bicgstab, which has to be said"):
        sordino.Solver(matrix, vectors="redundant")
    with pytest.raises(sordino.BadArgument, match="takes no preconditioner but a diagonal"):
        sordino.Solver(matrix, solver="bicgstab", vectors="redundant", M="block-jacobi")
    with pytest.raises(sordino.BadArgument, match="unknown vectors 'whole'"):
        sordino.Solver(matrix, solver="bicgstab", vectors="whole")


def test_groups_are_of_ranks_that_gather_whole_vectors(matrix):
    with pytest.raises(sordino.BadArgument, match="6 ranks cannot be groups of 4"):
        sordino.Solver(matrix, solver="gatherbicgstab", engine="host", ranks=6, gather=4)
    with pytest.raises(sordino.BadArgument, match="solver bicgstab does not: use solver gatherbicgstab"):
        sordino.Solver(matrix, engine="host", ranks=4, gather="node")
    with pytest.raises(sordino.BadArgument, match="gather '2' is of H-matrices alone"):
        sordino.solve(np.eye(9), np.ones(9), solver="gatherbicgstab", gather=2)
    for wrong in ("socket", 0, -1, "2.5"):
        with pytest.raises(sordino.BadArgument, match="gather is rank, node, or how many ranks make a group"):
            sordino.Solver(matrix, solver="gatherbicgstab", gather=wrong)
    for wrong in (2.5, True):
        with pytest.raises(sordino.BadArgument, match="option 'gather' takes"):
            sordino.Solver(matrix, solver="gatherbicgstab", gather=wrong)


def test_what_callers_give_and_get_is_in_the_order_of_the_triangles(matrix, rng_of_today):
    b = rng_of_today.normal(size=matrix.shape[0])
    M = sordino.solve(matrix, b, M=np.diag(1 / matrix.diagonal()), rtol=1e-9, solver="bicgstab")
    jacobi = sordino.solve(matrix, b, precond="jacobi", rtol=1e-9, solver="bicgstab")
    assert M.iterations == jacobi.iterations and M.x == pytest.approx(jacobi.x, rel=1e-6)
    again = sordino.solve(matrix, b, x0=jacobi.x, rtol=1e-8)
    assert again.iterations == 0
    seen = []
    solver = sordino.Solver(matrix, callback_every=1, callback_x=True)
    solver.solve(b, callback=lambda iteration, residual, x: seen.append((residual, x)), rtol=1e-6)
    for residual, x in seen:
        assert np.linalg.norm(b - matrix @ x) <= 1.5 * residual * np.linalg.norm(b) + 1e-12
    assert "an H-matrix" in repr(solver)


def test_statistics_and_blocks_tell_of_the_same_matrix(matrix):
    s, blocks, n = matrix.statistics, matrix.blocks, matrix.shape[0]
    assert sorted(matrix.order) == list(range(n)) and not matrix.order.flags.writeable
    dense = blocks["rank"] < 0
    assert (s["dense_blocks"], s["low_rank_blocks"]) == (dense.sum(), (~dense).sum())
    height, width = blocks["row_end"] - blocks["row_begin"], blocks["column_end"] - blocks["column_begin"]
    assert (height * width).sum() == n * n
    values = np.where(dense, height * width, (height + width) * blocks["rank"])
    assert s["stored_bytes"] == 8 * values.sum() and s["low_rank_bytes"] == 8 * values[~dense].sum()
    assert s["mean_rank"] == pytest.approx(blocks["rank"][~dense].mean())
    assert s["max_rank"] == blocks["rank"].max() and s["dense_bytes"] == 8 * n * n
    assert 0 < s["compression_error"] <= EPS and 0 < s["error_of_estimate"] < 0.3 * EPS
    assert f"{n:,} rows" in repr(matrix)


def test_phases_are_parts_of_the_seconds_of_a_build(matrix):
    seconds, phases = matrix.statistics["seconds"], matrix.statistics["phases"]
    on_gpus = ("waiting", "fetching")
    assert sorted(phases) == ["devices", "fetching", "leaves", "probes", "trees", "waiting"]
    assert min(phases[name] for name in ("trees", "leaves", "probes")) > 0
    assert [phases[name] for name in on_gpus] == [0, 0]
    assert 0.5 * seconds < sum(phases[name] for name in phases if name not in on_gpus) <= seconds


@pytest.mark.parametrize("distribution", ["rows", "leaves", "grid"])
def test_ranks_share_every_row_of_every_block(matrix, distribution):
    shares, blocks, n = matrix.shares(4, distribution), matrix.blocks, matrix.shape[0]
    assert set(shares["owner"]) == {0, 1, 2, 3}
    height, width = (shares[f"{side}_end"] - shares[f"{side}_begin"] for side in ("row", "column"))
    assert height.min() > 0 and (height * width).sum() == n * n
    assert (len(shares) > len(blocks)) == (distribution == "rows")
    if distribution != "rows":
        assert sorted(shares[list(blocks.dtype.names)].tolist()) == sorted(blocks.tolist())
    middles = [np.average((shares["row_begin"] + shares["row_end"])[shares["owner"] == k]) for k in range(4)]
    columns = [
        np.average((shares["column_begin"] + shares["column_end"])[shares["owner"] == k]) for k in range(4)
    ]
    assert middles[0] < middles[2] and middles[1] < middles[3]
    assert (columns[1] - columns[0] > n / 4) == (distribution == "grid")
    alone = matrix.shares(1, distribution)
    assert sorted(alone[list(blocks.dtype.names)].tolist()) == sorted(blocks.tolist())


def test_shares_of_no_ranks_get_a_sentence(matrix):
    with pytest.raises(sordino.BadArgument, match="ranks is a whole number, at least 1, not 0"):
        matrix.shares(0)
    with pytest.raises(sordino.BadArgument, match="distribution is rows, leaves or grid, not 'columns'"):
        matrix.shares(2, "columns")
    with pytest.raises(sordino.BadArgument, match="rows"):
        matrix.shares(matrix.shape[0] + 1)


def test_hacapk_s_counts_and_bytes():
    surface = sordino.surfaces.sphere(13, 20)
    rounded = SimpleNamespace(points=surface.points.round(8), triangles=surface.triangles)
    s = sordino.hmatrix(rounded, 1e-6, recompress=False, certify=False).statistics
    assert (s["clusters"], s["low_rank_blocks"], s["dense_blocks"], s["nodes"]) == (1823, 8430, 14860, 7763)
    assert s["stored_bytes"] / 2**20 == pytest.approx(135.71, rel=0.01)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"eps": 0}, "eps is below 1 and at least 1e-13"),
        ({"eps": 1.5}, "eps is below 1 and at least 1e-13"),
        ({"eps": "small"}, "eps is a number, not 'small'"),
        ({"eta": -1}, "eta is a positive number"),
        ({"leaf": 0}, "leaf is a whole number, at least 1, not 0"),
        ({"threads": 1.5}, "threads is a whole number"),
        ({"compression": "magic"}, "there is no compression 'magic': there are aca, aca+, full"),
        ({"kernel": "stokes"}, "there is no kernel 'stokes': there are laplace, helmholtz"),
    ],
)
def test_bad_settings_get_a_sentence(surface, settings, sentence):
    with pytest.raises(sordino.BadArgument, match=sentence.replace("+", r"\+")):
        sordino.hmatrix(surface, **settings)


@pytest.mark.parametrize(
    ("points", "triangles", "sentence"),
    [
        (np.zeros((3, 2)), [[0, 1, 2]], "points of shape"),
        (np.eye(3), [[0.5, 1, 2]], "triangles are whole numbers"),
        (np.eye(3), [[0, 1, 3]], "corner 2 of triangle 0 is point 3, and there are 3"),
        (np.full((3, 3), np.nan), [[0, 1, 2]], "not finite"),
        (np.eye(3), [[0, 1, 1]], "triangle 0 has no area"),
        (np.eye(3), np.zeros((0, 3), int), "no triangles"),
    ],
)
def test_bad_surfaces_get_a_sentence(points, triangles, sentence):
    with pytest.raises(sordino.BadArgument, match=sentence):
        sordino.hmatrix(SimpleNamespace(points=points, triangles=np.asarray(triangles)))


def test_what_needs_entries_is_refused(matrix):
    b = np.ones(matrix.shape[0])
    for options in ({"precond": "block-ilu"}, {"storage": "dia"}):
        with pytest.raises(sordino.BadArgument, match="which is an H-matrix"):
            sordino.solve(matrix, b, **options)
    with pytest.raises(sordino.Unsupported, match="the H-matrix is real"):
        sordino.solve(matrix, b, M=1j * np.eye(len(b)))
    with pytest.raises(sordino.Unsupported, match="cannot be pickled"):
        matrix.__reduce__()


def test_progress_is_told_and_may_end_the_build():
    surface, shares = sordino.surfaces.sphere(13, 20), []
    sordino.hmatrix(surface, 1e-8, progress=shares.append)
    assert shares and shares == sorted(shares) and shares[0] > 0 and shares[-1] <= 1

    def enough(share):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        sordino.hmatrix(surface, 1e-8, progress=enough)


@pytest.mark.parametrize("distribution", ["rows", "leaves", "grid"])
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_an_engine_multiplies_as_threads_do(matrix, rng_of_today, ranks, distribution):
    x = rng_of_today.standard_normal((matrix.shape[0], 3))
    products = matrix.on("host", ranks=ranks, distribution=distribution)
    assert isinstance(products, LinearOperator) and (products.engine, products.ranks) == ("host", ranks)
    scale = np.abs(matrix @ np.abs(x)).max()
    for _ in range(2):  # nothing is left of the product before
        np.testing.assert_allclose(products @ x[:, 0], matrix @ x[:, 0], atol=1e-13 * scale)
    np.testing.assert_allclose(products @ x, matrix @ x, atol=1e-13 * scale)
    np.testing.assert_allclose(products @ (x + 2j * x), (1 + 2j) * (matrix @ x), atol=1e-13 * scale)
    np.testing.assert_allclose(products.T @ x, matrix.T @ x, atol=1e-13 * np.abs(matrix.T @ np.abs(x)).max())
    np.testing.assert_array_equal(products.T @ x[:, 0], (products.H @ x)[:, 0])
    np.testing.assert_array_equal(products.T.T @ x, products @ x)
    for columns in (2, 3, 8, 21):  # passes of 8, and what is left, with zeros beside
        X = np.random.default_rng(columns).standard_normal((matrix.shape[0], columns))
        Y = products @ X
        for k in range(columns):
            np.testing.assert_array_equal(Y[:, k], products @ X[:, k])
    solution, info = gmres(products, matrix @ x[:, 0], rtol=1e-9)
    assert info == 0 and np.linalg.norm(matrix @ (solution - x[:, 0])) <= 1e-8 * np.linalg.norm(
        matrix @ x[:, 0]
    )


def test_an_engine_multiplies_complex_matrices(surface, rng_of_today):
    waves = sordino.hmatrix(surface, EPS, leaf=10, kernel="helmholtz", wavenumber=2.0)
    x = rng_of_today.standard_normal((waves.shape[0], 4)) @ [[1, 1], [1j, 0], [0, 1j], [0, 1]]
    products = waves.on("host", ranks=2)
    np.testing.assert_allclose(products @ x, waves @ x, atol=1e-13 * np.abs(waves @ np.abs(x)).max())
    for turned in ("T", "H"):
        found, wanted = (getattr(A, turned) @ x for A in (products, waves))
        np.testing.assert_allclose(found, wanted, atol=1e-13 * np.abs(wanted).max())
        np.testing.assert_array_equal(found[:, 1], getattr(products, turned) @ x[:, 1])
    X = x @ np.random.default_rng(5).standard_normal((2, 5))
    for k, y in enumerate((products @ X).T):
        np.testing.assert_array_equal(y, products @ X[:, k])


def test_an_engine_s_products_keep_their_matrix():
    products = sordino.hmatrix(sordino.surfaces.sphere(3, 1)).on("host", ranks=2)
    gc.collect()
    assert np.isfinite(products @ np.ones(products.shape[0])).all()


@pytest.mark.parametrize("distribution", ["rows", "leaves"])
def test_an_engine_s_products_are_timed_and_stay_what_they_are(matrix, rng_of_today, distribution):
    products = matrix.on("host", ranks=2, distribution=distribution)
    X = rng_of_today.standard_normal((matrix.shape[0], 8))
    before, turned = products @ X, products.T @ X
    for columns in (1, 8):
        for transposed in (False, True):
            assert 0 < products.time_product(2, columns=columns, transposed=transposed) < 60
    np.testing.assert_array_equal(products @ X, before)
    np.testing.assert_array_equal(products.T @ X, turned)
    assert products.most_columns() == products.most_columns(transposed=True) == 8
    assert len(products.held_bytes()) == 2 and min(products.held_bytes(transposed=True)) > 0
    for words, sentence in (
        ({"columns": 3}, "a product takes 1, 2, 4 or 8 vectors at once, not 3"),
        ({"columns": 16}, "at most 8 vectors at once, not 16"),
        ({"pairs": 0}, "by pairs, at least 1, not 0"),
    ):
        with pytest.raises(sordino.errors.BadArgument, match=sentence):
            products.time_product(**{"pairs": 1, **words})


def test_what_an_engine_cannot_multiply_gets_a_sentence(matrix):
    for options, sentence in (
        ({"rtol": 1e-3}, "option 'rtol' is of solves"),
        ({"engine": "model"}, "engine host or cuda"),
        ({"ranks": matrix.shape[0] + 1}, "rows"),
        ({"distribution": "columns"}, "distribution"),
    ):
        with pytest.raises(sordino.errors.BadArgument, match=sentence):
            matrix.on(**options)
    products = matrix.on("host", ranks=2)
    with pytest.raises(ValueError, match=r"dimension mismatch|shape"):
        products @ np.ones(3)
    with pytest.raises(sordino.errors.Unsupported, match="pickled"):
        pickle.dumps(products)
