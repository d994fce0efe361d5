"""Two phases around obstacles: their fields, their steps, what a solver makes of them, and the command line."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino
from sordino.problems import OPEN_TANK, PHASES, dirichlet_faces, multiphase, pressure_matrix, pressure_steps
from sordino.problems.multiphase import right_hand_side

EXAMPLE = Path(__file__).parents[2] / "examples" / "rising_bubbles.py"

settled = st.fixed_dictionaries(
    {
        "phases": st.sampled_from(sorted(PHASES)),
        "contrast": st.floats(-3, 6).map(lambda power: 10.0**power),
        "boundary": st.sampled_from(["neumann", "dirichlet", OPEN_TANK, "x-:neumann,y+:neumann"]),
        "obstacles": st.integers(0, 6),
        "seed": st.integers(0, 2**63),
        "spacing": st.tuples(*[st.floats(0.25, 4)] * 3),
    }
)


@settings(max_examples=50, deadline=None)
@given(cells=st.tuples(*[st.integers(2, 6)] * 3), settled=settled)
def test_every_problem_and_step_is_a_solvable_symmetric_system(cells, settled):
    problem = multiphase(*cells, **settled)
    A, null = problem.A, problem.nullspace
    for values, b in [(A.data, problem.b), *pressure_steps(problem, 2)]:
        A.data[:] = values
        dense = A.toarray()
        assert np.array_equal(dense, dense.T)
        root = np.sqrt(dense.diagonal())
        eigenvalues = np.linalg.eigvalsh(dense / np.outer(root, root))
        assert (abs(eigenvalues) < 1e-11).sum() == (null is not None) and eigenvalues[0] > -1e-12
        if null is not None:
            vector = np.ones(len(b)) if isinstance(null, str) else null
            assert np.abs(A @ vector).max() <= 1e-13 * dense.max()
            assert abs(b @ vector) <= 1e-12 * np.abs(b).sum() + 1e-300
        assert not b[problem.solid.ravel()].any()


@pytest.mark.parametrize("phases", PHASES)
def test_both_phases_have_their_densities_and_the_interface_is_smooth(phases):
    density = multiphase(40, 40, 40, phases=phases, contrast=1e6).density
    assert density.min() == 1.0 and density.max() == 1e6
    liquid = (density - 1) / (1e6 - 1)
    assert 0.3 < liquid.mean() < 0.95
    for axis in range(3):
        assert np.abs(np.diff(liquid, axis=axis)).max() < 0.55


@pytest.mark.parametrize("phases", PHASES)
def test_a_seed_is_one_problem_at_every_resolution(phases):
    coarse, fine = (multiphase(n, n, n, phases=phases, contrast=2.0, obstacles=3, seed=5) for n in (16, 48))
    again = multiphase(16, 16, 16, phases=phases, contrast=2.0, obstacles=3, seed=5)
    other = multiphase(16, 16, 16, phases=phases, contrast=2.0, obstacles=3, seed=6)
    assert np.array_equal(coarse.density, again.density) and np.array_equal(coarse.b, again.b)
    assert not np.array_equal(coarse.density, other.density)
    assert coarse.solid.any() and not np.array_equal(coarse.solid, other.solid)
    for field in ("density", "solid"):
        a, b = (np.asarray(getattr(p, field), float) for p in (coarse, fine))
        assert np.abs(a - b.reshape(16, 3, 16, 3, 16, 3).mean(axis=(1, 3, 5))).mean() < 0.05


def test_longer_cells_have_the_same_fields_and_other_couplings():
    cubes, longer = (multiphase(9, 8, 10, obstacles=2, seed=4, spacing=s) for s in ((1, 1, 1), (1, 1, 2)))
    assert np.array_equal(cubes.density, longer.density) and np.array_equal(cubes.solid, longer.solid)
    np.testing.assert_allclose(longer.b, 2 * cubes.b, rtol=1e-14)
    assert longer.spacing == (1.0, 1.0, 2.0)
    first = next(pressure_steps(longer, 1))[0]
    ratio = first[1:] / next(pressure_steps(cubes, 1))[0][1:]
    assert ratio.min() == pytest.approx(0.5) and ratio.max() == pytest.approx(2)  # in z, and in x and y


def test_fluid_that_obstacles_cut_off_becomes_solid():
    walls = np.zeros((8, 6, 6), dtype=bool)
    walls[3] = True
    shut = multiphase(6, 6, 8, boundary="neumann", obstacles=walls)
    assert shut.solid[:4].all() and not shut.solid[4:].any()  # the larger part is kept
    assert np.array_equal(shut.nullspace, ~shut.solid.ravel())
    below = multiphase(6, 6, 8, boundary="neumann,z-:dirichlet", obstacles=walls)
    assert below.solid[3:].all() and not below.solid[:3].any() and below.nullspace is None
    both = multiphase(6, 6, 8, boundary="neumann,z-:dirichlet,z+:dirichlet", obstacles=walls)
    assert np.array_equal(both.solid, walls) and both.nullspace is None


@pytest.mark.parametrize("boundary", ["neumann", OPEN_TANK])
@pytest.mark.parametrize("spacing", [(1, 1, 1), (0.5, 2, 3)])
def test_a_fluid_at_rest_has_hydrostatic_pressure(boundary, spacing):
    """Gravity is an edge along z, and so is the height of a cell."""
    density = np.repeat([1000.0, 1000.0, 800.0, 30.0, 1.0], 4).reshape(5, 2, 2)
    none = np.zeros(density.shape, dtype=bool)
    b = right_hand_side(np.zeros(density.shape), none, dirichlet_faces(boundary), 0.25, spacing)
    A = pressure_matrix(density, boundary=boundary, spacing=spacing)
    p = np.linalg.lstsq(A.toarray(), b, rcond=1e-13)[0].reshape(5, 2, 2)
    weight = spacing[2] ** 2 * (density[1:] + density[:-1]) / 2
    np.testing.assert_allclose(p[:-1] - p[1:], weight, rtol=1e-7)
    if boundary == OPEN_TANK:
        np.testing.assert_allclose(p[-1], spacing[2] ** 2 * density[-1] / 2, rtol=1e-6)


def test_what_moves_pushes_at_its_front_and_draws_behind():
    velocity = np.zeros((9, 1, 1))
    velocity[3:6] = 2.0
    none = np.zeros(velocity.shape, dtype=bool)
    b = right_hand_side(velocity, none, dirichlet_faces("neumann"), 0.5)
    b -= right_hand_side(0 * velocity, none, dirichlet_faces("neumann"), 0.5)  # without gravity
    np.testing.assert_allclose(b, [0, 0, -2, -2, 0, 2, 2, 0, 0])


@pytest.mark.parametrize("phases", PHASES)
def test_the_interface_moves_as_its_velocity_says(phases):
    flow = multiphase(32, 32, 48, phases=phases, seed=2).flow
    dt = 0.01 / flow.fastest
    liquid = flow.liquid(0.0)
    change = (flow.liquid(dt) - flow.liquid(-dt)) / (2 * dt)
    carried = -flow.rise(0.0) * np.gradient(liquid, axis=0)
    lone = np.abs(carried) > 0.5 * np.abs(carried).max()  # not where bubbles overlap, nor at the walls
    assert np.corrcoef(change[lone], carried[lone])[0, 1] > 0.9
    assert np.abs(flow.rise(0.3)).max() <= flow.fastest * (1 + 1e-12)


def test_bubbles_keep_their_volume_where_they_leave_and_come_in_again():
    flow = multiphase(32, 32, 32, seed=1).flow
    volumes = [(1 - flow.liquid(time)).sum() for time in np.linspace(0, 32 / flow.fastest, 9)]
    assert np.ptp(volumes) < 0.1 * volumes[0]


@pytest.mark.parametrize("phases", PHASES)
def test_steps_move_by_what_is_asked_and_end_when_they_are_asked_to(phases):
    problem = multiphase(12, 12, 12, phases=phases, obstacles=2)
    small = [values for values, _ in pressure_steps(problem, 4, courant=0.25)]
    large = [values for values, _ in itertools.islice(pressure_steps(problem, courant=0.5), 2)]
    assert len(small) == 4
    np.testing.assert_allclose(small[1], large[0], rtol=1e-12)
    np.testing.assert_allclose(small[3], large[1], rtol=1e-12)
    assert not np.allclose(small[0], problem.A.data, rtol=1e-6)


@pytest.mark.parametrize("phases", PHASES)
@pytest.mark.parametrize("boundary", ["neumann", OPEN_TANK])
def test_a_solver_follows_the_steps_and_earlier_pressures_help(phases, boundary):
    problem = multiphase(16, 16, 24, phases=phases, boundary=boundary, obstacles=3)
    warm = cold = 0
    with sordino.Solver(
        problem.A, solver="cg", precond="jacobi", rtol=1e-6, ranks=2, nullspace=problem.nullspace
    ) as solver:
        before = pressure = solver.solve(problem.b).x
        A = problem.A.copy()
        for values, b in pressure_steps(problem, 4, courant=0.1):
            solver.update_values(values)
            cold += solver.solve(b).iterations
            solution = solver.solve(b, x0=2 * pressure - before)
            warm += solution.iterations
            before, pressure = pressure, solution.x
            A.data[:] = values
            assert np.linalg.norm(b - A @ pressure) <= 2e-6 * np.linalg.norm(b)
            assert not pressure[problem.solid.ravel()].any()
    assert warm < 0.97 * cold


@pytest.mark.slow
@pytest.mark.parametrize("phases", PHASES)
def test_a_contrast_of_a_million_is_solved(phases):
    problem = multiphase(24, 24, 32, phases=phases, contrast=1e6, obstacles=3)
    assert sordino.solve(problem.A, problem.b, rtol=1e-8, solver="cg").converged


def test_the_example_saves_iterations():
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "12", "3"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    warm, cold = map(
        int, re.search(r"3 steps of 3,456 cells: (\d+) iterations, and (\d+) from", done.stdout).groups()
    )
    assert 0 < warm < cold


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"contrast": 0.0}, "a number above 0, not 0"),
        ({"contrast": float("nan")}, "a number above 0, not nan"),
        ({"phases": "bubble"}, "unknown phases 'bubble', did you mean 'bubbles'?"),
        ({"phases": "steam"}, "known: bubbles, free-surface"),
        ({"seed": -1}, "the seed is a whole number of at least 0, not -1"),
        ({"obstacles": -1}, "the number of obstacles is a whole number of at least 0, not -1"),
        ({"obstacles": 1.5}, "whole number of at least 0, not 1.5"),
        ({"obstacles": np.ones((4, 4, 4), bool)}, "the obstacles leave no fluid"),
        ({"obstacles": np.zeros((4, 4), bool)}, "solid cells are an array of bool of shape (4, 4, 4)"),
        ({"obstacles": [[[True]], [[True, False]]]}, "in these lists lengths differ"),
        ({"boundary": "top:dirichlet"}, "and not 'top'"),
    ],
)
def test_what_makes_no_problem_is_refused(more, sentence):
    with pytest.raises(sordino.BadArgument) as refused:
        multiphase(4, 4, 4, **more)
    assert sentence in str(refused.value)


def test_steps_that_are_none_are_refused():
    problem = multiphase(4, 4, 4)
    with pytest.raises(sordino.BadArgument, match="at least 1, not 0"):
        pressure_steps(problem, 0)
    with pytest.raises(sordino.BadArgument, match="above 0 in a step, not -1"):
        pressure_steps(problem, 1, courant=-1.0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--phases", "bubbles", "--contrast", "0"], "a number above 0, not 0"),
        (["--phases", "bubbles", "--bc", "top:neumann"], "a box has the faces x-, x+, y-, y+, z-, z+, and not 'top'"),
        (["--bc", "x-:neumann,x-:neumann"], "the boundary names x- twice"),
        (["--phases", "bubbles", "--obstacles", "2000"], "the obstacles leave no fluid"),
        (["--phases", "bubbles", "--bc", "neumann", "--nullspace", "none"], "the matrix is singular"),
        (["--bc", "neumann", "--nullspace", "none"], "the matrix is singular"),
        (["--phases", "bubbles", "--stencil", "27"], "a stencil of 7 points, not 27"),
        (["--obstacles", "2"], "--obstacles needs --phases bubbles or free-surface"),
        (["--problem-seed", "2"], "--problem-seed needs --phases"),
        (["--spacing", "1,1,2"], "--spacing needs --phases bubbles or free-surface"),
        (["--phases", "bubbles", "--spacing", "1,1"], "the spacing is three edges of a cell, in x, y and z"),
        (["--phases", "bubbles", "--spacing", "1,1,-2"], "numbers from 1e-09 to 1e+09, not [1.0, 1.0, -2.0]"),
        (["--phases", "bubbles", "--spacing", "1,1,z"], "--spacing must be a number, not 'z'"),
    ],
)  # fmt: skip
def test_the_command_line_refuses_in_one_sentence(cli, words, sentence):
    code, out, err = cli("poisson", 4, 4, 4, *words)
    assert (code, out) == (2, "") and sentence in err
    assert re.fullmatch(r"sordino: [^\n]*\n", err)


@pytest.mark.parametrize("null", [[], ["--nullspace", "constant"]])
def test_the_command_line_projects_what_is_singular(cli, tmp_path, null):
    x = tmp_path / "p.npy"
    words = ("--phases", "bubbles", "--obstacles", 2, "--bc", "neumann", "--problem-seed", 3, *null)
    code, out, err = cli("poisson", 10, 9, 12, *words, "--rtol", 1e-9, "-o", x)
    assert code == 0, err
    problem = multiphase(10, 9, 12, boundary="neumann", obstacles=2, seed=3)
    p = np.load(x)
    assert np.linalg.norm(problem.b - problem.A @ p) <= 1e-9 * np.linalg.norm(problem.b)
    assert abs(p @ problem.nullspace) <= 1e-9 * np.abs(p).sum()
    assert f"{int(problem.solid.sum())} cells are solid" in out and "b is that of a time step" in out


def test_the_command_line_knows_edges_of_cells(cli, tmp_path):
    x = tmp_path / "p.npy"
    words = (10, 9, 12, "--phases", "bubbles", "--spacing", "1,0.5,2")
    code, out, err = cli("poisson", *words, "--rtol", 1e-9, "-o", x)
    assert code == 0, err
    assert "Pressure 10 x 9 x 12, cells of 1 x 0.5 x 2, bubbles" in out
    problem = multiphase(10, 9, 12, spacing=(1, 0.5, 2))
    assert np.linalg.norm(problem.b - problem.A @ np.load(x)) <= 1e-9 * np.linalg.norm(problem.b)
    code, out, err = cli(
        "predict", "poisson", *words, "--solvers", "cg", "--machine", "laptop", "--iterations", 9
    )
    assert code == 0, err
    assert "cells of 1 x 0.5 x 2" in out


def test_options_of_a_run_with_obstacles_run_again(cli, tmp_path):
    words = ("poisson", 8, 8, 8, "--phases", "bubbles", "--obstacles", 2, "--bc", "neumann", "--json")
    code, out, err = cli(*words)
    assert code == 0, err
    (tmp_path / "run.json").write_text(out)
    code, _, err = cli(*words, "--options", tmp_path / "run.json")
    assert code == 0, err


@pytest.mark.parametrize("flag", ["--bc", "--boundary"])
def test_faces_of_the_ball_problem_on_the_command_line(cli, tmp_path, flag):
    x = tmp_path / "x.npy"
    code, out, err = cli("poisson", 6, 5, 4, flag, "neumann,z+:dirichlet", "--rtol", 1e-10, "-o", x)
    assert code == 0, err
    assert "neumann,z+:dirichlet boundary" in out
    np.testing.assert_allclose(np.load(x), 1, rtol=1e-7)  # b = A*1 is not zero: not singular


def test_a_report_shows_the_coefficient_in_a_vertical_layer(cli, tmp_path):
    report = tmp_path / "r.html"
    code, _, err = cli("poisson", 8, 7, 12, "--phases", "free-surface", "--obstacles", 2, "--report", report)
    assert code == 0, err
    page = report.read_text()
    assert "log10(1/rho) in the layer y = 3 of 7" in page
    assert re.search(r"Coefficient: values from -3 to 0<", page)  # both phases are cut, the axes are x and z
    assert len(re.findall(r">z</text>", page)) == 1


@pytest.mark.parametrize("make", [
    lambda: multiphase(2.5, 4, 4), lambda: multiphase(4, 4, 4, phases=["bubbles"]),
    lambda: multiphase(4, 4, 4, contrast="1"), lambda: pressure_matrix(np.full((2, 2, 2), 1e-320)),
    lambda: pressure_steps(multiphase(4, 4, 4), 2.5), lambda: pressure_steps(multiphase(4, 4, 4), courant="1"),
])  # fmt: skip
def test_what_is_no_number_is_refused_in_a_sentence(make):
    with pytest.raises(sordino.BadArgument, match=r"^[^\n]+, (not|and) [^\n]+$|^unknown phases"):
        make()
