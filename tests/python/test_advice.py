"""A failed solve says what is known of its matrix, and what to do."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import mmwrite

import sordino
from sordino import _core
from sordino._facts import closed_parts, looks_asymmetric, maps_ones_to_zero
from sordino._matrix import as_csr
from sordino._numbers import RealSystem, solve_by_parts
from sordino.problems import pressure_matrix

pytestmark = pytest.mark.skipif(not hasattr(_core, "Solver"), reason="needs the compiled module")

NEUMANN = sordino.poisson(8, 8, 8, boundary="neumann")
OUTSIDE = np.arange(512.0)


def reason(A, b, **options) -> str:
    return sordino.solve(A, b, on_failure="return", engine="host", ranks=2, **options).reason


@pytest.mark.parametrize("solver", ["cg", "bicgstab"])
def test_a_singular_matrix_is_named(solver) -> None:
    assert "A maps the constant vector to zero: say nullspace='constant'" in reason(
        NEUMANN, OUTSIDE, solver=solver, maxiter=200
    )


def test_a_matrix_that_is_not_symmetric_is_named() -> None:
    A = sp.csr_array(sordino.poisson(6, 6, 6) + 3 * sp.eye_array(216, k=3))
    for solver in ("cg", "cgcg", "pcg1"):
        with pytest.warns(sordino.AsymmetryWarning, match=f"which solver {solver} needs") as seen:
            said = reason(A, np.ones(216), solver=solver, maxiter=50)
        assert seen[0].filename == __file__
        assert f"the matrix is not symmetric, which solver {solver} needs: use bicgstab" in said


def test_a_singular_matrix_is_given_one_piece_of_advice() -> None:
    said = reason(NEUMANN, OUTSIDE, solver="cg")
    assert "say nullspace='constant'" in said and "bicgstab" not in said


def test_a_matrix_is_looked_at_once_for_its_values(monkeypatch) -> None:
    looks = []

    def closed_parts(rows, null, places) -> tuple[list[tuple[int, int]], int]:
        looks.append(rows)
        return facts(rows, null, places)

    facts = sordino._advice.closed_parts
    monkeypatch.setattr(sordino._advice, "closed_parts", closed_parts)
    A = sordino.poisson(6, 6, 6)
    with sordino.Solver(A, solver="cg", engine="host", ranks=1, maxiter=2) as solver:
        for seen in (1, 1):
            assert "constant" not in solver.solve(np.arange(216.0), on_failure="return").reason
            assert len(looks) == seen
        solver.update_values(sordino.poisson(6, 6, 6, boundary="neumann").data)
        assert "say nullspace='constant'" in solver.solve(np.arange(216.0), on_failure="return").reason
        assert len(looks) == 2


@pytest.mark.parametrize("n", [3, 24])  # all rows are looked at, or a sample first
@pytest.mark.parametrize("factor", [1.0, 1j])
def test_rows_that_add_up_to_zero_are_told_from_those_but_one(n, factor) -> None:
    A = factor * sordino.poisson(n, n, n, boundary="neumann", contrast=100.0)
    assert maps_ones_to_zero(as_csr(A))
    for row in (0, A.shape[0] // 2, A.shape[0] - 1):
        other = A.copy()
        other.data[A.indptr[row]] *= 1 + 1e-6
        assert not maps_ones_to_zero(as_csr(other))
    assert not maps_ones_to_zero(as_csr(factor * sordino.poisson(n, n, n)))


def tanks(*grids: tuple[int, int, int]) -> sp.csr_array:
    """Closed boxes that know nothing of each other."""
    blocks = [sordino.poisson(*grid, boundary="neumann") for grid in grids]
    return sp.csr_array(sp.block_diag(blocks, format="csr"))


def closed_tank() -> sordino.problems.PressureProblem:
    return sordino.problems.multiphase(12, 10, 14, phases="free-surface", obstacles=3, boundary="neumann")


def test_parts_whose_rows_add_up_to_zero_are_found_by_their_sizes() -> None:
    open_box = sordino.poisson(3, 3, 3)
    A = sp.csr_array(sp.block_diag([open_box, tanks((2, 3, 4), (5, 1, 1)), 1e-6 * NEUMANN], format="csr"))

    def sizes(of, null=()) -> list[int]:
        return sorted(rows for rows, _ in closed_parts(as_csr(of), np.reshape(null, (-1, of.shape[0])))[0])

    assert sizes(A) == [5, 24, 512]
    assert sizes(NEUMANN) == [512] and not sizes(open_box)
    other = A.copy()
    other.data[A.indptr[27 + 24 + 5]] *= 1 + 1e-6  # a small part's row, beside that part's own
    assert sizes(other) == [5, 24]


def test_dimensions_that_are_known_are_counted_whatever_their_basis() -> None:
    A = as_csr(tanks((2, 3, 4), (5, 1, 1), (3, 3, 3)))
    first, second, third = np.eye(3)[:, np.repeat([0, 1, 2], (24, 5, 27))]
    other = np.arange(56.0)
    for null, known in (
        ([], 0), ([other], 0), ([first + second + third], 1), ([first - 2 * third, other], 1),
        ([first + second, first - second], 2), ([first + 1j * third, second, third], 3),
    ):  # fmt: skip
        assert closed_parts(A, np.reshape(null, (-1, 56))) == ([(24, 0), (5, 24), (27, 29)], known)


def test_fluid_without_obstacles_is_named_and_projected() -> None:
    tank = closed_tank()
    fluid, b = tank.nullspace, np.random.default_rng(0).standard_normal(1680)
    wet = int((fluid != 0).sum())
    said = reason(tank.A, b, solver="cg")
    assert (
        f"A maps to zero the vector that is 1 in {wet:,} connected rows from row 0 on, each of which adds up to zero"
        in said
    )
    assert f"and 0 in the other {1680 - wet:,}: give it as nullspace" in said
    assert "bicgstab" not in said and "constant" not in said
    assert sordino.solve(tank.A, b, nullspace=fluid, solver="cg", engine="host", rtol=1e-8).converged


def test_several_closed_tanks_have_as_many_vectors() -> None:
    A, b = tanks((4, 4, 4), (5, 5, 5)), np.random.default_rng(1).standard_normal(189)
    said = reason(A, b, solver="cg")
    assert (
        "A maps 2 vectors to zero, each 1 in connected rows that add up to zero (64 from row 0 on, 125 from row 64 on) "
        in said
    )
    assert "give them as nullspace" in said and "constant" not in said
    for null in ("constant", np.ones(189)):
        more = reason(A, b, nullspace=null, solver="cg")
        assert "A maps 2 vectors to zero" in more and "bicgstab" not in more
        assert "and the nullspace that is given has 1 of their dimensions: give them as nullspace" in more
    part = np.repeat([0, 1], (64, 125))
    assert "A also maps to zero" not in reason(A, b, nullspace=np.eye(2)[part], solver="cg", maxiter=1)
    assert sordino.solve(A, b, nullspace=np.eye(2)[part], solver="cg", engine="host", rtol=1e-8).converged


def test_the_command_line_is_told_its_own_words(cli, tmp_path) -> None:
    tank, b = closed_tank(), np.random.default_rng(0).standard_normal(1680)
    matrix, rhs, vectors = (tmp_path / name for name in ("A.npz", "b.npy", "fluid.npy"))
    argv = ("solve", matrix, "--rhs", rhs, "--engine", "host", "--solver", "cg")
    for A, of_A, advice in (
        (NEUMANN, OUTSIDE, "say --nullspace constant"),
        (tanks((4, 4, 4), (5, 5, 5)), b[:189], "give them, by columns, as --nullspace FILE, .npy or .mtx"),
        (tank.A, b, "give it as --nullspace FILE, .npy or .mtx"),
    ):
        sp.save_npz(matrix, A)
        np.save(rhs, of_A)
        code, out, _ = cli(*argv)
        assert code == 3 and advice in out and "nullspace=" not in out and "bicgstab" not in out
        code, out, err = cli(*argv, "--json")
        assert code == 3 and advice in json.loads(out)["reason"] and advice in err
    np.save(vectors, tank.nullspace)
    assert cli(*argv, "--nullspace", vectors)[0] == 0


def convection(n: int, strength: float) -> sp.csr_array:
    """Of the pattern of diffusion, whatever the strength."""
    A = sordino.poisson(n, n, n)
    return sp.csr_array(A + strength * (sp.triu(A, 1) - sp.tril(A, -1)))


@pytest.mark.parametrize("n", [6, 24])  # all entries are looked at, or a sample
@pytest.mark.parametrize("solver", ["auto", "cg", "gropp"])
def test_new_values_that_are_not_symmetric_are_warned_of(n, solver) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = sordino.Solver(convection(n, 0.0), solver=solver, engine="host", ranks=1)
        made.update_values(2 * convection(n, 0.0))
        sordino.Solver(convection(n, 0.5), engine="host", ranks=1).update_values(convection(n, 0.25))
    with pytest.warns(sordino.AsymmetryWarning, match="set up a solver with solver='bicgstab'"):
        made.update_values(convection(n, 0.5))


def test_rounding_of_sums_is_no_asymmetry() -> None:
    A = sordino.poisson(9, 8, 7)
    rounded = A.copy()
    rounded.data *= 1 + 1e-9 * np.random.default_rng(3).standard_normal(A.nnz)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sordino.solve(rounded, np.ones(504), solver="cg", engine="host")


@pytest.mark.parametrize("place", [0, 7, 100, -1])
def test_one_entry_without_an_image_is_found(place) -> None:
    A = sp.coo_array(sordino.poisson(5, 5, 5))
    off = np.flatnonzero(A.row != A.col)
    keep = np.delete(np.arange(A.nnz), off[place])
    bare = sp.csr_array((A.data[keep], (A.row[keep], A.col[keep])), A.shape)
    assert looks_asymmetric(as_csr(bare)) and not looks_asymmetric(as_csr(A))
    A.data[off[place]] *= 1.5
    assert looks_asymmetric(as_csr(A))


def test_nothing_is_said_where_nothing_is_known() -> None:
    A = sordino.poisson(8, 8, 8)
    said = reason(A, np.ones(512), solver="cg", maxiter=2, rtol=1e-12)
    assert "nullspace" not in said and "symmetric" not in said
    free = sordino.solve(NEUMANN, OUTSIDE, nullspace="constant", engine="host", ranks=2)
    assert "say nullspace" not in free.reason


@pytest.mark.parametrize("power", [-320, -300, -170, 0, 160, 300])
def test_complex_sides_of_a_real_matrix_may_be_of_any_size(power) -> None:
    A = sordino.poisson(6, 6, 6)
    rng = np.random.default_rng(5)
    x = rng.standard_normal(216) + 1j * rng.standard_normal(216)
    factor = 2.0 ** (power * 3.2)
    found = sordino.solve(A, (A @ x) * factor, rtol=1e-10, engine="host", ranks=2)
    if power > -320:  # below, b itself has lost digits
        np.testing.assert_allclose(found.x / factor, x, rtol=1e-7)
    assert found.converged and found.reason.startswith("imaginary part: ")


@pytest.mark.parametrize("status", ["interrupted", "stopped_by_user", "time_limit"])
def test_a_stopped_part_is_the_last(status) -> None:
    def stopped(b, x0, callback, options):
        calls.append(b)
        return {
            "status": status, "reason": "-", "x": b, "history": [], "residual_norm": 1.0, "iterations": 1,
            "seconds": 0.0, "ledger": {},
        }  # fmt: skip

    calls: list[np.ndarray] = []
    asked = {"rtol": 1e-5, "atol": 0.0}
    real = RealSystem(stopped, multiply=lambda x: x, reach=lambda v: v)
    raw = solve_by_parts(real, np.ones(3) + 1j, None, None, asked)
    assert raw["status"] == status and len(calls) == 1


def test_new_values_that_break_the_symmetry_leave_the_old_ones() -> None:
    phases = np.exp(1j * np.linspace(0, 5, 63))
    A = sp.csr_array(sp.diags_array([-phases.conj(), np.full(64, 2.5), -phases], offsets=[-1, 0, 1]))
    solver = sordino.Solver(A, solver="cg", engine="host", ranks=2, rtol=1e-9)
    for spoilt in (A * (1 + 0.5j), sp.csr_array(A + 1j * sp.eye_array(64))):
        with pytest.raises(sordino.BadArgument, match="not Hermitian, and solver cg needs that"):
            solver.update_values(spoilt)
        assert solver.solve(np.ones(64)).converged


def test_a_singular_file_without_a_right_hand_side_is_no_empty_success(cli, tmp_path) -> None:
    sp.save_npz(tmp_path / "N.npz", NEUMANN)
    code, out, err = cli("solve", tmp_path / "N.npz", "--engine", "host", "--ranks", 2)
    assert "b = A*z" in out + err and "--nullspace constant says so" in out + err
    assert code == 0 and "after 0 iterations" not in out


@pytest.mark.parametrize(
    ("solver", "kernel"), [("cg", {}), ("pcg1", {}), ("cocg", {"kernel": "helmholtz", "wavenumber": 2.0})]
)
def test_an_h_matrix_that_is_not_symmetric_is_named(solver, kernel) -> None:
    H = sordino.hmatrix(sordino.surfaces.sphere(4, 5), 1e-6, **kernel)
    with pytest.warns(sordino.AsymmetryWarning, match=f"not symmetric, which solver {solver} needs"):
        reason(H, np.ones(H.shape[0]), solver=solver, maxiter=5)


def test_an_h_matrix_as_asymmetric_as_its_compression_is_not_named() -> None:
    H = sordino.hmatrix(sordino.surfaces.sphere(6, 7), 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reason(H, np.ones(H.shape[0]), solver="cg", maxiter=5)


def walled_box(walls: int, boundary: str) -> tuple[sp.csr_array, np.ndarray]:
    """10 x 9 x 16 cells with solid layers, and the connected part of each row."""
    solid = np.zeros((16, 9, 10), dtype=bool)
    solid[3 : 3 + 3 * walls : 3] = True
    A = sordino.problems.pressure_matrix(np.ones(solid.shape), solid=solid, boundary=boundary)
    part = np.cumsum(np.diff(np.pad(solid, ((1, 0), (0, 0), (0, 0)))[:, 0, 0]) != 0) // 2  # by layers
    return A, np.where(solid.ravel(), -1, np.repeat(part, 90))


@pytest.mark.parametrize("precond", ["mg", "jacobi"])
def test_masks_that_disconnect_the_box_are_named_by_their_parts(precond) -> None:
    A, part = walled_box(2, "neumann")
    options = {
        "solver": "cg",
        "precond": precond,
        "grid": (10, 9, 16),
        "engine": "host",
        "ranks": 2,
        "rtol": 1e-8,
    }
    rng = np.random.default_rng(4)
    named = (
        "A maps 3 vectors to zero, each 1 in connected rows that add up to zero (270 from row 0 on, 180 from row 360 "
        "on, 810 from row 630 on) and 0 in all others"
    )
    assert sordino.solve(A, A @ rng.standard_normal(1440), **options).converged  # each part has a solution
    b = rng.standard_normal(1440)
    assert named + ": give them as nullspace" in sordino.solve(A, b, on_failure="return", **options).reason
    with pytest.raises(sordino.BadArgument, match="A does not map vector 0") as refused:
        sordino.Solver(A, nullspace="constant", **options)
    assert named in str(refused.value)
    vectors = np.stack([part == each for each in range(3)], axis=1)
    found = sordino.solve(A, b, nullspace=vectors, **options)
    assert found.converged and abs(vectors.T @ found.x).max() <= 1e-9 * np.linalg.norm(found.x)


def test_of_many_parts_some_are_named() -> None:
    A = tanks(*[(2, 2, each) for each in range(1, 8)])
    said = reason(A, np.random.default_rng(1).standard_normal(A.shape[0]), solver="cg")
    assert (
        "(4 from row 0 on, 8 from row 4 on, 12 from row 12 on, 16 from row 24 on, at most 28 in each of 3 more)"
        in said
    )


def test_the_command_line_says_which_parts_with_exit_code_2(cli, tmp_path) -> None:
    A, _ = walled_box(1, "neumann,z+:dirichlet")
    mmwrite(tmp_path / "A.mtx", A)
    words = (
        "--precond",
        "mg",
        "--grid",
        "10,9,16",
        "--solver",
        "cg",
        "--nullspace",
        "constant",
        "--engine",
        "host",
    )
    code, out, err = cli("solve", tmp_path / "A.mtx", *words)
    assert code == 2 and out == ""
    assert (
        "the vector that is 1 in 270 connected rows from row 0 on, each of which adds up to zero, and 0 in the "
        in err
    )


@pytest.mark.parametrize("partition", [{}, {"partition": "boxes", "boxes": "2,2,1", "grid": "8,8,4"}])
def test_parts_have_the_caller_s_row_numbers_whatever_the_order(partition):
    solid = np.zeros((4, 8, 8), dtype=bool)
    solid[:, :, 4] = True
    A = sp.lil_matrix(pressure_matrix(np.ones(solid.shape), solid=solid, boundary="neumann"))
    A[0, 0] += 1  # so that the cells beyond the wall alone are a closed part
    options = {"solver": "cg", "engine": "host", "ranks": 4, **partition}
    with pytest.raises(sordino.BadArgument, match="96 connected rows from row 5 on"):
        sordino.Solver(A.tocsr(), nullspace="constant", **options)
    b = np.random.default_rng(0).standard_normal(A.shape[0])
    failed = sordino.solve(A.tocsr(), b, on_failure="return", maxiter=500, **options)
    assert "96 connected rows from row 5 on" in failed.reason
