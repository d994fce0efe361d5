"""Levels of precond mg that a GPU makes of a grid's fields. Skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest

import sordino
from sordino import _core

REPORT = _core.devices()
REASON = REPORT["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")
DEVICES = len(REPORT["devices"])


def solved(A, b, engine="cuda", **options):
    found = sordino.solve(A, b, solver="cg", precond="mg", engine=engine, rtol=1e-8, timeout=20.0, **options)
    assert found.converged
    return found


@pytest.mark.parametrize("digits", [0.0, 1.5, 6.0])
@pytest.mark.parametrize("ranks", range(1, 1 + min(4, DEVICES)))
def test_fields_on_a_gpu_take_the_iterations_of_rows(fields, ranks, digits):
    cupy = pytest.importorskip("cupy")
    rng = np.random.default_rng()
    cells = tuple(int(count) for count in rng.integers(65, 90, 3))
    arrays = fields(cells, rng, digits, 0.1)
    there = sordino.GridMatrix(*map(cupy.asarray, arrays))
    rows = sordino.GridMatrix(*arrays).matrix()
    b = rng.standard_normal(rows.shape[0])
    of_rows = solved(rows, b, grid=cells, ranks=ranks)
    of_fields = solved(there, cupy.asarray(b), ranks=ranks)
    x = of_fields.x.get()
    assert np.linalg.norm(b - rows @ x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-6)
    assert abs(of_fields.iterations - of_rows.iterations) <= 1


def test_one_gpu_has_the_bits_of_rows(fields):
    cupy = pytest.importorskip("cupy")
    rng = np.random.default_rng()
    cells = (70, 67, 66)
    arrays = fields(cells, rng, 3.0, 0.05)
    there = sordino.GridMatrix(*map(cupy.asarray, arrays))
    rows = sordino.GridMatrix(*arrays).matrix()
    b = rng.standard_normal(rows.shape[0])
    options = {"ranks": 1, "deterministic": "on"}
    of_rows = solved(rows, b, grid=cells, **options)
    of_fields = solved(there, cupy.asarray(b), **options)
    of_host = solved(sordino.GridMatrix(*arrays), b, **options)
    np.testing.assert_array_equal(of_fields.x.get(), of_rows.x)
    np.testing.assert_array_equal(of_host.x, of_rows.x)


@pytest.mark.parametrize("ranks", range(1, 1 + min(2, DEVICES)))
def test_what_wants_rows_gets_them(fields, ranks):
    cupy = pytest.importorskip("cupy")
    rng = np.random.default_rng()
    cells = (40, 36, 34)
    arrays = fields(cells, rng, 2.0, 0.0, is_open=False)
    there = sordino.GridMatrix(*map(cupy.asarray, arrays))
    b = rng.standard_normal(np.prod(cells))
    solved(there, cupy.asarray(b - b.mean()), ranks=ranks, nullspace="constant")
    arrays[0] += 1
    there = sordino.GridMatrix(*map(cupy.asarray, arrays))
    solved(there, cupy.asarray(b), ranks=ranks, cycle_precision="single")


def test_auto_takes_levels_of_fields_unless_these_refuse_them(fields):
    cupy = pytest.importorskip("cupy")
    rng = np.random.default_rng()
    arrays = fields((40, 36, 34), rng, 2.0, 0.1)
    b = cupy.asarray(rng.standard_normal(40 * 36 * 34))
    report = sordino.solve(sordino.GridMatrix(*map(cupy.asarray, arrays)), b, engine="cuda", rtol=1e-8).report
    assert report.options["precond"] == "mg" and "sooner than the CPU makes rows" in report.precond_reason
    assert "where these lie" in report.setup_reason
    arrays[0] *= -1
    there = sordino.GridMatrix(*map(cupy.asarray, arrays))
    with sordino.Solver(there, engine="cuda") as solver:
        report = solver.solve(b, on_failure="return", maxiter=1).report
    assert report.options["precond"] == "jacobi" and "is not positive" in report.precond_reason


def test_bad_fields_are_refused(fields):
    cupy = pytest.importorskip("cupy")
    rng = np.random.default_rng()
    arrays = fields((40, 36, 34), rng, 0.0, 0.0)
    arrays[0][3, 4, 5] = np.nan
    with pytest.raises(sordino.BadArgument, match="holds a NaN or Inf"):
        solved(sordino.GridMatrix(*map(cupy.asarray, arrays)), np.ones(40 * 36 * 34), ranks=1)


@pytest.mark.parametrize("options", [{}, {"cycle_precision": "single"}])
@pytest.mark.parametrize("ranks", [1, 3])
def test_the_host_takes_fields_of_a_gpu(fields, there, ranks, options):
    rng = np.random.default_rng()
    arrays = fields((40, 36, 34), rng, 2.0, 0.05)
    b = rng.standard_normal(40 * 36 * 34)
    of_host = solved(sordino.GridMatrix(*arrays), b, engine="host", ranks=ranks, **options)
    of_gpu = solved(sordino.GridMatrix(*map(there.array, arrays)), b, engine="host", ranks=ranks, **options)
    assert of_gpu.iterations == of_host.iterations
    np.testing.assert_array_equal(of_gpu.x, of_host.x)


@pytest.mark.parametrize("engine", ["cuda", "host"])
@pytest.mark.parametrize("late", range(4))
def test_fields_that_are_still_written_are_waited_for(fields, there, engine, late):
    rng = np.random.default_rng()
    arrays = fields((40, 36, 34), rng, 2.0, 0.05)
    b = rng.standard_normal(40 * 36 * 34)
    expected = solved(
        sordino.GridMatrix(*map(there.array, arrays)), b, engine=engine, ranks=1, deterministic="on"
    )
    given = [there.array(values) for values in arrays]
    with there.side_stream():
        given[late] = there.late(arrays[late])
        found = solved(sordino.GridMatrix(*given), b, engine=engine, ranks=1, deterministic="on")
    assert found.iterations == expected.iterations
    np.testing.assert_array_equal(found.x, expected.x)
