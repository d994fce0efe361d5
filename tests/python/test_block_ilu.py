"""Precond block-ilu from Python and the command line: tiles, grids, what is refused, how much memory it takes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import sordino

GRID = (12, 10, 16)


@pytest.fixture(scope="module")
def system():
    A = sordino.poisson(*GRID, contrast=1000.0)
    return A, np.random.default_rng(6).standard_normal(A.shape[0])


@pytest.mark.parametrize("tile", ["auto", "4,5,4", (4, 5, 4), np.int64(60)])
def test_tiles_take_fewer_iterations_than_jacobi(system, tile):
    A, b = system
    grid = () if isinstance(tile, np.integer) else GRID
    tiles = {"precond": "block-ilu", "tile": tile, **({"grid": grid} if grid else {})}
    options = {"solver": "cg", "rtol": 1e-8, "ranks": 2, "engine": "host"}
    found = sordino.solve(A, b, **tiles, **options)
    assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    assert found.iterations < 0.9 * sordino.solve(A, b, precond="jacobi", **options).iterations
    assert found.report.options["precond"] == "block-ilu"


def test_a_tile_is_the_incomplete_factorization_of_its_block(system):
    """One iteration of cg from zero goes along M^-1 b, which SciPy's exact factors give where a tile has no fill."""
    A, b = system
    lines = sp.block_diag([A[i : i + 12, i : i + 12] for i in range(0, A.shape[0], 12)], format="csc")
    direction = spla.spsolve(lines, b)
    options = {"solver": "cg", "maxiter": 1, "check_every": 1, "on_failure": "return", "engine": "host"}
    x = sordino.solve(A, b, precond="block-ilu", tile=12, ranks=2, **options).x
    step = (b @ direction) / (direction @ (A @ direction))
    np.testing.assert_allclose(x, step * direction, rtol=1e-10)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"tile": (4, 4, 17)},
            "tile 4 x 4 x 17 is larger than 12 x 10 x 15 cells: each of 2 ranks needs a layer of tiles of the grid of "
            "12 x 10 x 16 cells",
        ),
        ({"tile": (4, 4, 17), "ranks": 1}, "tile 4 x 4 x 17 is larger than the grid of 12 x 10 x 16 cells"),
        (
            {"ranks": 17, "tile": 1},
            "17 ranks need a layer of tiles each, and the grid of 12 x 10 x 16 cells has 16",
        ),
        (
            {"tile": (2, 2, 2), "grid": None},
            r"tile 2 x 2 x 2 needs the cells of the grid \(option grid\): without them the 1920 rows are one line",
        ),
        ({"tile": (4, 4, 0)}, "tile is one to three numbers from 1 on, such as 8,8,4, not '4,4,0'"),
        ({"tile": "4x4"}, "tile is one to three numbers from 1 on"),
        ({"tile": 2.5}, r"option 'tile' takes whole numbers such as \(8, 8, 4\), not 2.5"),
        ({"tile": ()}, "option 'tile' takes whole numbers"),
        ({"tile": True}, "option 'tile' takes whole numbers"),
        ({"grid": (12, 10, 17)}, "grid 12 x 10 x 17 does not have as many cells as the matrix rows, 1920"),
        ({"solver": "pipebicgstab"}, "solver pipebicgstab takes no preconditioner but a diagonal"),
    ],
)
def test_bad_tiles_are_refused_in_one_sentence(system, options, sentence):
    A, b = system
    given = {"solver": "cg", "precond": "block-ilu", "grid": GRID, "ranks": 2, "engine": "host", **options}
    with pytest.raises(sordino.SordinoError, match=sentence):
        sordino.solve(A, b, **given)


def test_what_is_no_grid_is_refused(system):
    A, b = system
    product = spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float)
    with pytest.raises(sordino.BadArgument, match="block-ilu needs the entries of the matrix"):
        sordino.solve(product, b, precond="block-ilu")
    scattered = sp.random_array((300, 300), density=0.05, rng=np.random.default_rng(4))
    with pytest.raises(sordino.BadArgument, match="at most 27 diagonals"):
        sordino.solve(scattered + scattered.T + 30 * sp.eye_array(300), np.ones(300), precond="block-ilu")
    with pytest.raises(sordino.SordinoError, match="precond block-ilu is for real matrices"):
        sordino.solve(A.astype(complex), b, precond="block-ilu")


def test_new_values_are_factorized_and_a_pivot_is_named(system):
    A, b = system
    options = {
        "solver": "cg",
        "precond": "block-ilu",
        "tile": (4, 5, 4),
        "grid": GRID,
        "ranks": 2,
        "rtol": 1e-8,
    }
    with sordino.Solver(A, engine="host", **options) as solver:
        other = sordino.poisson(*GRID, contrast=3.0)
        solver.update_values(other)
        expected = sordino.solve(other, b, engine="host", **options).x
        assert solver.solve(b).x.tobytes() == expected.tobytes()
        broken = other.copy()
        broken[500, 500] = -1.0
        with pytest.raises(sordino.BadArgument, match="block-ilu: the pivot of row 500 is not positive"):
            solver.update_values(broken)
        assert solver.solve(b).x.tobytes() == expected.tobytes()


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(
    "options", [{}, {"tile": (4, 5, 4), "grid": GRID}, {"tile": 50}, {"solver": "bicgstab"}]
)
def test_the_estimate_of_memory_is_within_a_tenth(system, ranks, options):
    A, _ = system
    given = {"solver": "cg", "precond": "block-ilu", "ranks": ranks, "engine": "host", **options}
    foretold = sordino.estimate_memory(A, **given)["bytes_per_rank"]
    held = sordino.Solver(A, **given).memory()["bytes_per_rank"]
    np.testing.assert_allclose(foretold, held, rtol=0.1)
    plain = sordino.estimate_memory(A, **{**given, "precond": "none"})["bytes_per_rank"]
    assert sum(foretold) > sum(plain) + 8 * 4 * A.shape[0]  # three entries of L and a pivot a row


def test_an_estimate_for_gpus_counts_tiles_that_lie_interleaved(system):
    A, _ = system
    given = {"solver": "cg", "precond": "block-ilu", "grid": GRID, "engine": "cuda", "ranks": 1}
    few = sordino.estimate_memory(A, tile=(12, 10, 16), **given)["bytes_per_rank"][0]
    many = sordino.estimate_memory(A, **given)["bytes_per_rank"][0]
    assert few > many + 28 * 8 * 5 * A.shape[0]  # one tile takes the room of 32


def test_the_command_line_knows_the_grid_of_poisson(cli, tmp_path):
    asked = ("--precond", "block-ilu", "--tile", "4,5,4", "--engine", "host", "--ranks", 2, "--json")
    code, out, _ = cli("poisson", *GRID, "--solver", "cg", *asked)
    found = json.loads(out)
    assert code == 0 and found["status"] == "converged"
    assert (found["options"]["tile"], found["options"]["grid"]) == ("4,5,4", "12,10,16")
    code, _, err = cli("poisson", *GRID, *asked[:2], "--tile", "4,5,40")
    assert code == 2 and err.count("\n") == 1 and "larger than 12 x 10 x" in err
    code, _, err = cli("poisson", *GRID, *asked[:2], "--tile", "-4,4,4")
    assert code == 2 and err.count("\n") == 1 and "tile is one to three numbers from 1 on" in err
