"""New fields of a grid's matrix, and what fields can do that their rows can: on the CPU, bit by bit."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import scipy.sparse as sp

import sordino

MADE = "levels are made of the grid's fields where these lie"
ROWS = "rows are made of the grid's fields on the CPU, as "
HAS_METIS = importlib.util.find_spec("pymetis") is not None


def large(rng):
    return tuple(int(count) for count in rng.choice([33, 35, 37, 41], 3))


def same(one, other):
    assert one.iterations == other.iterations
    assert one.true_residual == other.true_residual
    np.testing.assert_array_equal(one.x, other.x)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(
    ("options", "how"),
    [
        ({"precond": "mg"}, MADE),
        ({"precond": "mg", "cycle": "w", "storage": "dia"}, MADE),
        ({"precond": "mg", "cycle_precision": "single"}, ROWS + "cycle_precision is single"),
        ({"precond": "jacobi"}, ROWS + "precond jacobi is of entries, and mg alone is of fields"),
    ],
)
def test_steps_have_the_bits_of_rows_with_new_values(fields, rng_of_today, options, how, ranks):
    rng, cells = rng_of_today, large(rng_of_today)
    steps = [sordino.GridMatrix(*fields(cells, rng, digits=2.0)) for _ in range(3)]
    common = {"solver": "cg", "ranks": ranks, "engine": "host", "rtol": 1e-8, **options}
    with (
        sordino.Solver(steps[0], **common) as of_fields,
        sordino.Solver(steps[0].matrix(), grid=cells, **common) as of_rows,
    ):
        held = of_fields.memory()
        for k, step in enumerate(steps):
            if k > 0:
                of_fields.update_values(step)
                of_rows.update_values(step.matrix())
            b = rng.standard_normal(step.shape[0])
            found = of_fields.solve(b)
            same(found, of_rows.solve(b))
            assert found.converged
            assert found.report.setup_reason == how
            assert found.report.levels_reused == (k if "mg" in options["precond"] else 0)
        assert of_fields.memory() == held


def test_complex_vectors_are_multiplied_by_new_fields(fields, rng_of_today):
    rng, cells = rng_of_today, large(rng_of_today)
    first, second = (sordino.GridMatrix(*fields(cells, rng, digits=1.0)) for _ in range(2))
    with sordino.Solver(first, solver="cg", precond="mg", engine="host", ranks=1, rtol=1e-8) as solver:
        solver.update_values(second)
        b = rng.standard_normal(first.shape[0]) + 1j * rng.standard_normal(first.shape[0])
        found = solver.solve(b)
    assert np.linalg.norm(b - second.matrix() @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-6)


def test_worn_levels_are_made_anew_of_new_fields(fields, rng_of_today):
    rng, cells = rng_of_today, large(rng_of_today)
    first, second = (sordino.GridMatrix(*fields(cells, rng, digits=3.0)) for _ in range(2))
    b = rng.standard_normal(first.shape[0])
    common = {"solver": "cg", "precond": "mg", "engine": "host", "ranks": 1, "rtol": 1e-8}
    with sordino.Solver(first, **common) as solver, sordino.Solver(second, **common) as anew:
        before = solver.solve(b)
        solver._held.levels.worn = "they are said to be"
        first._arrays[0].fill(-1)  # which nobody reads any more
        bad = sordino.GridMatrix(*fields(cells, rng))
        bad._arrays[0][1, 2, 3] = np.nan
        with pytest.raises(sordino.BadArgument, match="NaN or Inf"):
            solver.update_values(bad)
        same(solver.solve(b), before)
        solver.update_values(second)
        found = solver.solve(b)
        same(found, anew.solve(b))
        assert (found.report.levels_made, found.report.levels_reused) == (2, 0)


@pytest.mark.parametrize("options", [{"precond": "mg"}, {"precond": "jacobi"}])
def test_what_is_refused_changes_nothing(fields, rng_of_today, options):
    rng, cells = rng_of_today, (33, 32, 37)
    arrays = fields(cells, rng, digits=2.0)
    A = sordino.GridMatrix(*arrays)
    b = rng.standard_normal(A.shape[0])
    with sordino.Solver(A, solver="cg", engine="host", ranks=2, rtol=1e-8, **options) as solver:
        before = solver.solve(b)
        for wrong in (np.nan, np.inf, 0.0):
            bad = [array.copy() for array in arrays]
            bad[0][3, 5, 7] = wrong
            with pytest.raises(sordino.BadArgument, match=f"row {7 + 33 * (5 + 32 * 3)}"):
                solver.update_values(sordino.GridMatrix(*bad))
        with pytest.raises(
            sordino.BadArgument, match=r"37 x 32 x 33 cells>, and the matrix is .*33 x 32 x 37"
        ):
            solver.update_values(sordino.GridMatrix(*fields(cells[::-1], rng)))
        with pytest.raises(sordino.BadArgument, match="give update_values another GridMatrix"):
            solver.update_values(A.matrix())
        same(solver.solve(b), before)
    with (
        sordino.Solver(A.matrix(), solver="cg", engine="host", ranks=1) as solver,
        pytest.raises(sordino.BadArgument, match="given by its rows"),
    ):
        solver.update_values(A)


@pytest.mark.parametrize("ranks", [1, 2])
def test_closed_boxes_are_made_of_fields(fields, rng_of_today, ranks):
    rng, cells = rng_of_today, large(rng_of_today)
    steps = [sordino.GridMatrix(*fields(cells, rng, digits=2.0, is_open=False)) for _ in range(2)]
    opened = sordino.GridMatrix(*fields(cells, rng, digits=2.0))
    common = {"solver": "cg", "precond": "mg", "engine": "host", "ranks": ranks, "rtol": 1e-8}
    common["nullspace"] = "constant"
    with (
        sordino.Solver(steps[0], **common) as of_fields,
        sordino.Solver(steps[0].matrix(), grid=cells, **common) as of_rows,
    ):
        assert of_fields.memory()["matrix_bytes"] == 0
        for step in steps:
            of_fields.update_values(step)
            of_rows.update_values(step.matrix())
            with pytest.raises(sordino.BadArgument, match="does not map vector 0"):
                of_fields.update_values(opened)
            b = rng.standard_normal(step.shape[0])
            found = of_fields.solve(b)
            same(found, of_rows.solve(b))
            assert found.report.setup_reason == MADE
    with pytest.raises(sordino.BadArgument, match="does not map vector 0"):
        sordino.Solver(opened, **common)
    vectors = {**common, "nullspace": np.ones(steps[0].shape[0])}
    b = rng.standard_normal(steps[0].shape[0])
    found = sordino.solve(steps[0], b, **vectors)
    assert found.report.setup_reason.startswith(ROWS + "vectors are given as the nullspace")


@pytest.mark.parametrize("periodic", ["x", "yz", "xyz"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_periodic_boxes_have_the_bits_of_rows(fields, rng_of_today, periodic, ranks):
    rng = rng_of_today
    cells = tuple(int(count) for count in rng.choice([16, 12, 20, 24], 3))
    steps = [
        sordino.GridMatrix(
            *fields(cells, rng, 1.0, is_open="z" not in periodic, periodic=periodic), periodic=periodic
        )
        for _ in range(2)
    ]
    common = {"solver": "cg", "precond": "mg", "engine": "host", "ranks": ranks, "rtol": 1e-8}
    common["nullspace"] = "constant" if "z" in periodic else "none"
    with (
        sordino.Solver(steps[0], **common) as of_fields,
        sordino.Solver(steps[0].matrix(), grid=cells, **common) as of_rows,
    ):
        for step in steps:
            of_fields.update_values(step)
            of_rows.update_values(step.matrix())
            b = rng.standard_normal(step.shape[0])
            found = of_fields.solve(b)
            same(found, of_rows.solve(b))
            assert found.converged
            assert found.report.setup_reason.startswith(ROWS)
        with pytest.raises(sordino.BadArgument, match=r"and the matrix is .*periodic in"):
            of_fields.update_values(sordino.GridMatrix(*step._arrays))


def test_rows_of_periodic_fields(fields, rng_of_today):
    rng = rng_of_today
    for periodic in ("", "x", "y", "z", "xz", "xyz"):
        cells = tuple(int(count) for count in rng.integers(3, 6, 3))
        diagonal, *ahead = fields(cells, rng, 2.0, periodic=periodic)
        A = sordino.GridMatrix(diagonal, *ahead, periodic=periodic)
        rows = A.rows()
        assert rows.nnz == A.nnz
        expected = np.diag(diagonal.ravel())
        numbers = np.arange(A.shape[0]).reshape(diagonal.shape)
        for axis, (name, entries) in enumerate(zip("xyz", ahead, strict=True)):
            ends = numbers.shape[2 - axis] - (name not in periodic)
            here = np.take(numbers, range(ends), axis=2 - axis).ravel()
            there = np.take(np.roll(numbers, -1, axis=2 - axis), range(ends), axis=2 - axis).ravel()
            expected[here, there] = expected[there, here] = np.take(
                entries, range(ends), axis=2 - axis
            ).ravel()
        np.testing.assert_array_equal(rows.matrix().toarray(), expected)
        for row in range(A.shape[0]):
            assert np.all(np.diff(rows.indices[rows.indptr[row] : rows.indptr[row + 1]]) > 0)


def test_a_preconditioner_of_the_callers_is_taken(fields, rng_of_today):
    rng, cells = rng_of_today, (9, 8, 7)
    steps = [sordino.GridMatrix(*fields(cells, rng, 1.0)) for _ in range(2)]
    M = sp.diags_array(1 / steps[0].matrix().diagonal())
    common = {"solver": "cg", "engine": "host", "ranks": 2, "rtol": 1e-10}
    with (
        sordino.Solver(steps[0], M=M, **common) as of_fields,
        sordino.Solver(steps[0].matrix(), M=M, **common) as of_rows,
    ):
        for step in steps:
            of_fields.update_values(step)
            of_rows.update_values(step.matrix())
            b = rng.standard_normal(step.shape[0])
            found = of_fields.solve(b)
            same(found, of_rows.solve(b))
            assert found.report.setup_reason == ROWS + "the caller brings a preconditioner"
    inverse = sordino.GridMatrix(*(0.1 * array for array in steps[0]._arrays))
    by_fields, by_rows = (sordino.solve(steps[0], b, M=M, **common) for M in (inverse, inverse.matrix()))
    same(by_fields, by_rows)


@pytest.mark.parametrize("partition", ["boxes", "metis"])
def test_other_partitions_are_of_rows(fields, rng_of_today, partition):
    if partition == "metis" and not HAS_METIS:
        pytest.skip("pymetis is not there")
    rng, cells = rng_of_today, (12, 10, 14)
    steps = [sordino.GridMatrix(*fields(cells, rng, 1.0)) for _ in range(2)]
    common = {"solver": "cg", "engine": "host", "ranks": 4, "partition": partition, "rtol": 1e-9}
    for precond in ("jacobi", *(["block-ilu"] if partition == "boxes" else [])):
        with (
            sordino.Solver(steps[0], precond=precond, **common) as of_fields,
            sordino.Solver(steps[0].matrix(), grid=cells, precond=precond, **common) as of_rows,
        ):
            for step in steps:
                of_fields.update_values(step)
                of_rows.update_values(step.matrix())
                b = rng.standard_normal(step.shape[0])
                found = of_fields.solve(b)
                same(found, of_rows.solve(b))
                assert found.report.setup_reason.startswith(
                    ROWS + f"partition {partition} gives ranks other rows"
                )
    with pytest.raises(sordino.Unsupported, match="precond mg is of layers of cells"):
        sordino.Solver(steps[0], precond="mg", **common)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("precond", ["mg", "jacobi"])
@pytest.mark.parametrize("cells", [(34, 33, 36), (67, 64, 65), (12, 11, 13)])
def test_memory_is_foretold(fields, rng_of_today, cells, precond, ranks):
    A = sordino.GridMatrix(*fields(cells, rng_of_today, digits=0.5))
    options = {"solver": "cg", "precond": precond, "engine": "host", "ranks": ranks}
    foretold = sordino.estimate_memory(A, **options)["bytes_per_rank"]
    with sordino.Solver(A, **options) as solver:
        held = solver.memory()["bytes_per_rank"]
    for expected, found in zip(foretold, held, strict=True):
        assert abs(expected - found) <= 0.02 * found


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64])
def test_other_numbers_and_orders_are_taken_as_double(rng_of_today, kind):
    shape = (5, 4, 6)
    whole = rng_of_today.integers(1, 9, shape)
    diagonal, ahead = (whole + 60).astype(kind), (-whole).astype(kind)
    A = sordino.GridMatrix(diagonal, ahead.copy(order="F"), ahead, ahead[:, ::-1][:, ::-1])
    expected = sordino.GridMatrix(*(array.astype(np.float64) for array in (diagonal, ahead, ahead, ahead)))
    np.testing.assert_array_equal(A.matrix().toarray(), expected.matrix().toarray())


@pytest.mark.parametrize("by", ["fields", "rows"])
def test_what_is_refused_while_levels_are_worn_leaves_a_solver(fields, rng_of_today, by):
    rng, cells = rng_of_today, (16, 16, 16)
    even, phases = fields(cells, rng), fields(cells, rng, digits=6.0)
    bad = [phases[0], *(np.abs(ahead) for ahead in phases[1:])]
    given = [sordino.GridMatrix(*arrays) for arrays in (even, phases, bad)]
    first, worn, refused = given if by == "fields" else [A.matrix() for A in given]
    b = rng.standard_normal(16**3)
    with sordino.Solver(first, solver="cg", precond="amg", engine="host", ranks=2, rtol=1e-8) as solver:
        solver.solve(b)
        solver.update_values(worn)
        before = solver.solve(b)
        assert before.report.levels_made == 1
        with pytest.raises(sordino.BadArgument, match="precond amg adds up rows"):
            solver.update_values(refused)
        after = solver.solve(b)
        assert after.converged and after.true_residual <= 1e-8 * (1 + 1e-9)
        assert after.report.levels_made == (1 if by == "fields" else 2)  # which go before others come
        assert after.report.levels_made > 1 or after.iterations == before.iterations
        solver.update_values(worn)
        assert solver.solve(b).report.levels_made == 2


@pytest.mark.parametrize("edge", [12, 36])
def test_closed_fields_say_what_they_map_to_zero(fields, rng_of_today, edge):
    cells = (edge,) * 3
    arrays = fields(cells, rng_of_today, is_open=False)
    b = rng_of_today.standard_normal(edge**3)
    options = {"solver": "cg", "precond": "mg", "engine": "host"}
    found = sordino.solve(sordino.GridMatrix(*arrays), b, on_failure="return", **options)
    assert (
        not found.converged and "say nullspace='constant'" in found.reason and "bicgstab" not in found.reason
    )
    half = edge // 2
    diagonal, x, y, z = (array.copy() for array in arrays)
    diagonal[half - 1] += z[half - 1]
    diagonal[half] += z[half - 1]
    z[half - 1] = 0
    two = sordino.GridMatrix(diagonal, x, y, z)
    found = sordino.solve(two, b, on_failure="return", **options)
    layers = edge**2
    parts = f"({half * layers:,} from row 0 on, {(edge - half) * layers:,} from row {half * layers:,} on)"
    assert "A maps 2 vectors to zero" in found.reason and parts in found.reason
