"""New fields of a grid's matrix on GPUs: levels are made again where they lie. Skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino import _core

REPORT = _core.devices()
REASON = REPORT["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(REPORT["devices"])
MADE = "levels are made of the grid's fields where these lie"


def solver(A, ranks=1, **options):
    common = {"solver": "cg", "precond": "mg", "engine": "cuda", "rtol": 1e-8, "timeout": 20.0}
    common["deterministic"] = "on" if ranks == 1 else "off"
    return sordino.Solver(A, ranks=ranks, **{**common, **options})


def large(rng):
    return tuple(int(count) for count in rng.choice([61, 67, 71, 83], 3))


@pytest.mark.parametrize("options", [{}, {"cycle": "w"}, {"storage": "dia"}])
@pytest.mark.parametrize("device", sorted({0, DEVICES - 1}))
def test_steps_on_one_gpu_have_the_bits_of_rows_with_new_values(fields, rng_of_today, there, device, options):
    rng, cells = rng_of_today, large(rng_of_today)
    steps = [fields(cells, rng, digits=2.0) for _ in range(4)]
    rows = [sordino.GridMatrix(*step).matrix() for step in steps]
    first, held = [there.array(array, device) for array in steps[0]], []
    with (
        solver(sordino.GridMatrix(*first), **options) as of_fields,
        solver(rows[0], grid=cells, **options) as of_rows,
    ):
        for k, (step, matrix) in enumerate(zip(steps, rows, strict=True)):
            if k > 0:
                given = [there.array(array, device if k % 2 else 0) for array in step]
                of_fields.update_values(sordino.GridMatrix(*given))
                given[0][...] = -1.0  # nobody reads them any more
                of_rows.update_values(matrix)
            b = rng.standard_normal(matrix.shape[0])
            found, expected = of_fields.solve(b), of_rows.solve(b)
            held.append(of_fields.memory())  # device_allocations among it
            assert found.converged
            assert found.iterations == expected.iterations
            np.testing.assert_array_equal(found.x, expected.x)
            assert found.report.setup_reason == MADE
    assert held == held[:1] * len(steps)


@pytest.mark.parametrize("ranks", range(2, 1 + min(4, DEVICES)))
def test_steps_on_several_gpus_take_the_iterations_of_rows(fields, rng_of_today, there, ranks):
    rng, cells = rng_of_today, large(rng_of_today)
    steps = [fields(cells, rng, digits=2.0, solid=0.05 * k) for k in range(3)]
    with solver(sordino.GridMatrix(*map(there.array, steps[0])), ranks) as of_fields:
        for k, step in enumerate(steps):
            A = sordino.GridMatrix(*step).matrix()
            if k > 0:
                of_fields.update_values(
                    sordino.GridMatrix(*(there.array(array, k % DEVICES) for array in step))
                )
            b = rng.standard_normal(A.shape[0])
            found = of_fields.solve(b)
            assert np.linalg.norm(b - A @ found.x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-6)
            with solver(A, ranks, grid=cells) as of_rows:
                assert abs(found.iterations - of_rows.solve(b).iterations) <= 2


def test_phases_that_come_are_set_up_for(fields, rng_of_today, there):
    rng, cells = rng_of_today, large(rng_of_today)
    even, phases = fields(cells, rng), fields(cells, rng, digits=5.0)
    b = rng.standard_normal(int(np.prod(cells)))
    with (
        solver(sordino.GridMatrix(*map(there.array, even))) as updated,
        solver(sordino.GridMatrix(*map(there.array, phases))) as anew,
    ):
        updated.update_values(sordino.GridMatrix(*map(there.array, phases)))
        found, expected = updated.solve(b), anew.solve(b)
    assert found.iterations == expected.iterations
    np.testing.assert_array_equal(found.x, expected.x)


def test_what_is_refused_changes_nothing(fields, rng_of_today, there):
    rng, cells = rng_of_today, large(rng_of_today)
    arrays = fields(cells, rng, digits=2.0)
    b = rng.standard_normal(int(np.prod(cells)))
    with solver(sordino.GridMatrix(*map(there.array, arrays))) as updated:
        before = updated.solve(b)
        for wrong in (np.nan, 0.0):
            bad = [array.copy() for array in arrays]
            bad[0][3, 5, 7] = wrong
            with pytest.raises(sordino.BadArgument, match="of the grid's matrix"):
                updated.update_values(sordino.GridMatrix(*map(there.array, bad)))
        again = updated.solve(b)
    np.testing.assert_array_equal(again.x, before.x)


def test_new_fields_that_are_still_written_are_waited_for(fields, rng_of_today, there):
    rng, cells = rng_of_today, (67, 61, 71)
    first, second = fields(cells, rng, digits=2.0), fields(cells, rng, digits=2.0)
    b = rng.standard_normal(int(np.prod(cells)))
    with solver(sordino.GridMatrix(*map(there.array, first))) as updated:
        updated.update_values(sordino.GridMatrix(*map(there.array, second)))
        expected = updated.solve(b)
        for late in range(4):
            given = [there.array(values) for values in second]
            with there.side_stream():
                given[late] = there.late(second[late])
                updated.update_values(sordino.GridMatrix(*given))
            np.testing.assert_array_equal(updated.solve(b).x, expected.x)


@pytest.mark.parametrize("device", sorted({0, DEVICES - 1}))
def test_closed_boxes_are_made_of_fields(fields, rng_of_today, there, device):
    rng, cells = rng_of_today, large(rng_of_today)
    steps = [fields(cells, rng, digits=2.0, is_open=False) for _ in range(2)]
    rows = [sordino.GridMatrix(*step).matrix() for step in steps]
    first = sordino.GridMatrix(*(there.array(array, device) for array in steps[0]))
    with (
        solver(first, nullspace="constant") as of_fields,
        solver(rows[0], grid=cells, nullspace="constant") as of_rows,
    ):
        assert of_fields.memory()["matrix_bytes"] == 0
        for step, matrix in zip(steps, rows, strict=True):
            of_fields.update_values(sordino.GridMatrix(*map(there.array, step)))
            of_rows.update_values(matrix)
            b = rng.standard_normal(matrix.shape[0])
            found, expected = of_fields.solve(b), of_rows.solve(b)
            assert found.iterations == expected.iterations
            np.testing.assert_array_equal(found.x, expected.x)
        with pytest.raises(sordino.BadArgument, match="does not map vector 0"):
            of_fields.update_values(sordino.GridMatrix(*map(there.array, fields(cells, rng))))


@pytest.mark.parametrize(
    "options",
    [{"precond": "jacobi"}, {"cycle_precision": "half"}, {"smoother": "sor"}, {"storage": "csr"}],
    ids=lambda options: next(iter(options)),
)
def test_fields_of_which_rows_are_made_take_new_ones(fields, rng_of_today, there, options):
    rng, cells = rng_of_today, (37, 41, 33)
    steps = [fields(cells, rng, digits=1.0) for _ in range(2)]
    rows = [sordino.GridMatrix(*step).matrix() for step in steps]
    of_grid = {} if "precond" in options else {"grid": cells}
    with (
        solver(sordino.GridMatrix(*map(there.array, steps[0])), **options) as of_fields,
        solver(rows[0], **of_grid, **options) as of_rows,
    ):
        for step, matrix in zip(steps, rows, strict=True):
            of_fields.update_values(sordino.GridMatrix(*map(there.array, step)))
            of_rows.update_values(matrix)
            b = rng.standard_normal(matrix.shape[0])
            found, expected = of_fields.solve(b), of_rows.solve(b)
            assert found.iterations == expected.iterations
            np.testing.assert_array_equal(found.x, expected.x)
            assert found.report.setup_reason.startswith("rows are made of the grid's fields on the CPU, as ")


def test_a_preconditioner_of_the_callers_and_periodic_grids_are_taken(fields, rng_of_today, there):
    rng, cells = rng_of_today, (16, 12, 20)
    arrays = fields(cells, rng, digits=1.0, periodic="xy")
    A = sordino.GridMatrix(*map(there.array, arrays), periodic="xy")
    rows = sordino.GridMatrix(*arrays, periodic="xy").matrix()
    b, inverse = rng.standard_normal(rows.shape[0]), sp.diags_array(1 / rows.diagonal())
    for options in ({"grid": cells}, {"precond": "auto", "M": inverse}):
        of_fields = {name: value for name, value in options.items() if name != "grid"}
        with solver(A, **of_fields) as one, solver(rows, **options) as other:
            found, expected = one.solve(b), other.solve(b)
        np.testing.assert_array_equal(found.x, expected.x)


def test_other_numbers_and_orders_are_taken_as_double(fields, rng_of_today, there):
    rng, cells = rng_of_today, (9, 8, 7)
    arrays = fields(cells, rng, digits=1.0)
    given = [there.array(np.repeat(array, 2, axis=2).astype(np.float32))[:, :, ::2] for array in arrays]
    found = sordino.GridMatrix(*given).matrix()
    expected = sordino.GridMatrix(*(array.astype(np.float32) for array in arrays)).matrix()
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_memory_is_foretold(fields, rng_of_today, there):
    A = sordino.GridMatrix(*map(there.array, fields(large(rng_of_today), rng_of_today, digits=0.5)))
    options = {"solver": "cg", "precond": "mg", "engine": "cuda", "ranks": 1}
    foretold = sordino.estimate_memory(A, **options)["bytes_per_rank"]
    with sordino.Solver(A, **options) as made:
        held = made.memory()["bytes_per_rank"]
    assert abs(foretold[0] - held[0]) <= 0.1 * held[0]
