"""What preconditions a system of an H-matrix: its blocks on the diagonal, and BiCGStab with a coarser one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sordino

SPHERE = sordino.surfaces.sphere(7, 10)


@pytest.fixture(scope="module")
def matrix() -> sordino.HMatrix:
    return sordino.hmatrix(SPHERE, 1e-7)


@pytest.fixture(scope="module")
def coarse() -> sordino.HMatrix:
    return sordino.hmatrix(SPHERE, 1e-1)


def solved(matrix, b, **options):
    found = sordino.solve(matrix, b, engine="host", rtol=1e-9, **options)
    assert found.converged
    np.testing.assert_array_less(
        np.linalg.norm(b - matrix @ found.x, axis=0), 1.01e-9 * np.linalg.norm(b, axis=0)
    )
    return found


def test_blocks_on_the_diagonal_save_iterations(matrix):
    b = np.random.default_rng(1).standard_normal(matrix.shape[0])
    for solver in ("bicgstab", "gmres"):
        plain = solved(matrix, b, solver=solver, precond="jacobi", ranks=2)
        blocks = solved(matrix, b, solver=solver, precond="block-jacobi", ranks=2)
        assert blocks.iterations < plain.iterations
        assert blocks.report.options["precond"] == "block-jacobi"


def test_a_coarser_matrix_preconditions_gmres_which_auto_takes(matrix, coarse):
    b = np.random.default_rng(2).standard_normal((matrix.shape[0], 2))
    found = solved(matrix, b, M=coarse, ranks=3)
    assert found.report.options["solver"] == "gmres" and found.iterations <= 2 * 12
    fewer = solved(matrix, b, M=coarse, inner=3, solver="gmres")
    assert fewer.iterations > found.iterations


def test_a_matrix_of_rank_one_preconditions(matrix):
    b = np.random.default_rng(4).standard_normal(matrix.shape[0])
    one = sordino.hmatrix(SPHERE, 1e-2, most_rank=1)
    assert one.statistics["max_rank"] == 1 and one.statistics["redone_blocks"] == 0
    assert one.statistics["stored_bytes"] < 0.5 * matrix.statistics["stored_bytes"]
    assert solved(matrix, b, M=one, inner=8).iterations < solved(matrix, b, solver="gmres").iterations / 2


def test_the_coarser_matrix_need_not_be_kept(matrix):
    b = np.random.default_rng(3).standard_normal(matrix.shape[0])
    solver = sordino.Solver(matrix, M=sordino.hmatrix(SPHERE, 1e-1), engine="host", rtol=1e-9)
    assert solver.solve(b).converged


def test_what_does_not_fit_gets_a_sentence(matrix, coarse):
    b = np.ones(matrix.shape[0])
    other = sordino.hmatrix(sordino.surfaces.sphere(7, 9), 1e-1)
    turned = sordino.hmatrix(sordino.surfaces.sphere(7, 10, radius=2.5), 1e-1, leaf=30)
    for M, options, sentence in (
        (coarse, {"solver": "bicgstab"}, "does not allow: use gmres"),
        (coarse, {"precond": "jacobi"}, "choose one"),
        (coarse, {"inner": 0}, "inner must be from 1 to 64, not 0"),
        (other, {}, r"the preconditioner is of shape \(1134, 1134\), and the matrix is 1400 x 1400"),
        (turned, {}, "clusters of another size"),
    ):
        with pytest.raises(sordino.SordinoError, match=sentence):
            sordino.solve(matrix, b, M=M, **options)
    with pytest.raises(sordino.BadArgument, match="and the matrix is none"):
        sordino.solve(np.diag(np.arange(1.0, 1401)), b, M=coarse)
    with pytest.raises(sordino.BadArgument, match="inverts the dense blocks on the diagonal of an H-matrix"):
        sordino.solve(np.diag(np.arange(1.0, 1401)), b, precond="block-jacobi")


def test_bem_takes_one_from_python_and_from_the_command_line(cli):
    found = sordino.bem(SPHERE, potential=1.0, coarse=1e-1, inner=5, engine="host", ranks=2)
    assert found.solution.converged and found.solution.report.options["solver"] == "gmres"
    plain = sordino.bem(SPHERE, potential=1.0, engine="host")
    np.testing.assert_allclose(found.charge, plain.charge, rtol=1e-4)
    argv = [
        "bem",
        "sphere:7,10",
        "--potential",
        "z",
        "--coarse",
        "1e-1",
        "--inner",
        5,
        "--engine",
        "host",
        "--json",
    ]
    code, out, err = cli(*argv)
    assert (code, err) == (0, "") and json.loads(out)["options"]["solver"] == "gmres"
    code, _, err = cli("bem", "sphere:7,10", "--potential", "z", "--coarse", "x")
    assert code == 2 and "--coarse must be a number" in err


def test_the_page_has_the_record_s_iterations():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "boundary_elements.md").read_text(encoding="utf-8")
    record = (root / "bench" / "records" / "2026-11-23_hmatrix_preconditioners_2_cores.jsonl").read_text()
    rows = [json.loads(line) for line in record.splitlines()]
    homer, sphere = rows[:7], rows[7:]
    assert {row["surface"] for row in homer} == {"homer.obj"} and len(sphere) == 7
    assert all(row["converged"] and row["true_residual"] <= row["rtol"] for row in rows)
    table = page[page.index("| to 1e-8 |") :].splitlines()[2:9]
    for line, *pair in zip(table, homer, sphere, strict=True):
        cells = line.strip("| ").split(" | ")
        assert [int(cell.split()[0]) for cell in cells[1:]] == [row["iterations"] for row in pair]
        named = {"none": "without"}.get(
            pair[0].get("precond", "--coarse"), pair[0].get("precond", "--coarse")
        )
        assert pair[0]["solver"] in cells[0] and named in cells[0]
