"""A grid's matrix by its fields: the same solver as of its rows, on the CPU."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sordino

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("cells", [(1, 1, 1), (5, 1, 1), (1, 4, 3), (3, 4, 5), (2, 3, 2)])
def test_rows_are_those_of_the_fields(fields, cells):
    rng = np.random.default_rng()
    diagonal, *ahead = fields(cells, rng, digits=2.0)
    given = [entries if count > 1 else None for entries, count in zip(ahead, cells, strict=True)]
    A = sordino.GridMatrix(diagonal, *given)
    assert A.shape == (np.prod(cells),) * 2
    assert A.cells == cells
    dense = A.matrix().toarray()
    np.testing.assert_array_equal(dense, dense.T)
    nx, ny, nz = cells
    for z, y, x in np.ndindex(nz, ny, nx):
        i = x + nx * (y + ny * z)
        assert dense[i, i] == diagonal[z, y, x]
        if x + 1 < nx:
            assert dense[i, i + 1] == ahead[0][z, y, x]
        if y + 1 < ny:
            assert dense[i, i + nx] == ahead[1][z, y, x]
        if z + 1 < nz:
            assert dense[i, i + nx * ny] == ahead[2][z, y, x]
    v = rng.standard_normal(A.shape[0])
    np.testing.assert_allclose(A.product(v), dense @ v, rtol=1e-13, atol=1e-12 * np.abs(dense).max())


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    "options", [{"precond": "mg"}, {"precond": "jacobi"}, {"precond": "mg", "cycle_precision": "single"}]
)
def test_a_solver_has_the_bits_of_one_of_rows(fields, options, ranks):
    rng = np.random.default_rng()
    cells = (34, 33, 36)
    A = sordino.GridMatrix(*fields(cells, rng, digits=2.0))  # no zeros, which SciPy would leave out
    b = rng.standard_normal(A.shape[0])
    common = {"solver": "cg", "ranks": ranks, "engine": "host", "rtol": 1e-8, **options}
    of_fields = sordino.solve(A, b, **common)
    of_rows = sordino.solve(A.matrix(), b, grid=cells, **common)
    assert of_fields.converged
    assert of_fields.iterations == of_rows.iterations
    np.testing.assert_array_equal(of_fields.x, of_rows.x)


def test_auto_finds_conjugate_gradients_and_closed_boxes_are_solved(fields):
    rng = np.random.default_rng()
    cells = (34, 33, 30)
    A = sordino.GridMatrix(*fields(cells, rng))
    b = rng.standard_normal(A.shape[0])
    assert sordino.solve(A, b, precond="mg", engine="host", ranks=1).converged
    closed = sordino.GridMatrix(*fields(cells, rng, is_open=False))
    c = b - b.mean()
    found = sordino.solve(closed, c, precond="mg", engine="host", ranks=1, nullspace="constant", rtol=1e-8)
    assert np.linalg.norm(c - closed.product(found.x)) <= 1e-8 * np.linalg.norm(c) * (1 + 1e-6)


def test_what_is_wrong_is_said(fields):
    rng = np.random.default_rng()
    diagonal, x, y, z = fields((4, 3, 5), rng)
    with pytest.raises(sordino.BadArgument, match="shape"):
        sordino.GridMatrix(diagonal.ravel(), x, y, z)
    with pytest.raises(sordino.BadArgument, match="y is missing"):
        sordino.GridMatrix(diagonal, x, None, z)
    with pytest.raises(sordino.BadArgument, match="x is of shape"):
        sordino.GridMatrix(diagonal, x[:2], y, z)
    with pytest.raises(sordino.BadArgument, match="complex128, and a GridMatrix takes real numbers"):
        sordino.GridMatrix(diagonal.astype(np.complex128), x, y, z)
    with pytest.raises(sordino.BadArgument, match="names directions"):
        sordino.GridMatrix(diagonal, x, y, z, periodic="w")
    with pytest.raises(sordino.BadArgument, match="2 cells in y is too thin"):
        sordino.GridMatrix(
            diagonal[:, :2].copy(), x[:, :2].copy(), y[:, :2].copy(), z[:, :2].copy(), periodic="y"
        )
    A = sordino.GridMatrix(diagonal, x, y, z)
    assert "4 x 3 x 5" in repr(A)
    b = np.ones(A.shape[0])
    with pytest.raises(sordino.BadArgument, match="is of a grid of 4 x 3 x 5 cells"):
        sordino.solve(A, b, precond="mg", grid=(5, 3, 4))
    with sordino.Solver(A, precond="jacobi", engine="host", ranks=1) as solver:
        assert solver.solve(b).converged
        with pytest.raises(sordino.BadArgument, match="fields of a grid"):
            solver.update_values(np.ones(3))


@pytest.mark.parametrize(
    ("cells", "options", "has_rows"),
    [
        ((34, 33, 36), {"precond": "mg"}, False),
        ((34, 33, 36), {"precond": "jacobi"}, True),
        ((34, 33, 36), {"precond": "mg", "cycle_precision": "single"}, True),
        ((9, 1, 4), {"precond": "jacobi"}, True),
    ],
)
def test_entries_are_counted_and_rows_that_were_made(fields, cells, options, has_rows):
    A = sordino.GridMatrix(*fields(cells, np.random.default_rng(), digits=2.0))  # no zeros
    rows = A.matrix()
    with sordino.Solver(A, solver="cg", engine="host", ranks=1, **options) as solver:
        assert solver.nnz == A.nnz == rows.nnz
        expected = 12 * rows.nnz + 8 * (rows.shape[0] + 1) if has_rows else 0
        assert solver.memory()["matrix_bytes"] == expected


def test_rows_that_are_too_large_are_told_from_infinite_ones(fields):
    rng = np.random.default_rng()
    diagonal, *ahead = fields((34, 33, 36), rng)
    place = tuple(int(rng.integers(1, count - 1)) for count in diagonal.shape)
    diagonal[place] = ahead[0][place] = 1.5e308
    A = sordino.GridMatrix(diagonal, *ahead)
    with pytest.raises(sordino.BadArgument, match="a NaN or Inf, or entries that are too large to add up"):
        sordino.Solver(A, solver="cg", precond="mg", engine="host", ranks=1)


class Bare:
    """An array that speaks DLPack and says nothing of its memory's order."""

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype = values.shape, values.dtype

    def __dlpack__(self, **words):
        return self.values.__dlpack__(**words)

    def __dlpack_device__(self):
        return 2, 0

    def reshape(self, *shape):
        return Bare(self.values.reshape(*shape))


def test_arrays_without_flags_are_taken(fields, monkeypatch):
    monkeypatch.setattr("sordino._grid_matrix.is_on_gpu", lambda array, name: isinstance(array, Bare))
    arrays = fields((4, 3, 5), np.random.default_rng())
    assert sordino.GridMatrix(*map(Bare, arrays)).cells == (4, 3, 5)


@pytest.fixture
def bench():
    """The script as a module."""
    place = ROOT / "bench" / "multigrid_fields.py"
    spec = importlib.util.spec_from_file_location("multigrid_fields", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_benchmark_tells_the_worst_of_all_repeats(bench, monkeypatch):
    turns = iter(["converged", "max_iterations", "converged"])

    def once(A, later, b, options):
        said = {
            "iterations": 3,
            "iterations_later": 3,
            "true_residual": 1e-9,
            "phases": [],
            "phases_of_update": [],
        }
        return {**dict.fromkeys(bench.TIMES, 1.0), **said, "status": next(turns)}

    monkeypatch.setattr(bench, "once", once)
    given = SimpleNamespace(library="numpy", engine="host", ranks=1, repeats=3)
    assert bench.measure(4, 1.0, "fields", given)["status"] == "max_iterations"


def test_the_benchmark_tells_phases(bench, tmp_path, monkeypatch):
    record = tmp_path / "fields.jsonl"
    words = [
        "multigrid_fields.py",
        "--sizes",
        "33",
        "--contrasts",
        "1000",
        "--repeats",
        "1",
        "--record",
        str(record),
    ]
    monkeypatch.setattr(sys, "argv", words)
    assert bench.main() == 0
    rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert [row["given"] for row in rows] == ["fields", "rows"]
    assert rows[0]["iterations"] == rows[1]["iterations"]
    for row in rows:
        assert row["status"] == "converged"
        assert {"sordino: set up", "coarsen the grid"} <= {name for name, _, _ in row["phases"]}
        assert row["update_s"] > 0
    expected = {"coarsen the grid", "make levels of fields", "make levels of rows", "fill diagonals"}
    assert expected <= {name for name, _, _ in rows[0]["phases"]}
    of_update = {name for name, _, _ in rows[0]["phases_of_update"]}
    assert expected <= of_update
    assert not of_update & {"sordino: set up", "record the method", "start the engine"}
