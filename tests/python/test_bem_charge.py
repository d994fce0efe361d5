"""Charge on conductors against closed forms, and what is refused before anything is built."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino._charge import EPSILON_0
from sordino.errors import BadArgument, FileError, NotConverged
from sordino.io import OutputFile, write_bem_bb
from sordino.surfaces import Surface, pair, plate, sphere, spheres

UNIT = 4 * np.pi * EPSILON_0  # the capacitance of a sphere of radius 1


def bem(surface, **options):
    """With a matrix so accurate that the triangles' error is all that is left."""
    return sordino.bem(surface, **{"eps": 1e-9, **options})


def test_a_sphere_has_the_charge_of_its_capacitance_with_an_error_of_second_order():
    errors = []
    for M in (3, 6, 12):
        found = bem(sphere(4, M, radius=2.0), potential=3.0, rtol=1e-10)
        assert found.solution.converged and found.charge.shape == (1,)
        errors.append(1 - found.charge[0] / (6 * UNIT))
    assert 0 < errors[-1] < 0.01
    assert np.all(np.divide(errors[:-1], errors[1:]) > 3.5)


def test_hacapks_sphere_of_a_thousand_triangles():
    """Its charge over 4 pi eps0: 9.95511 of 10, which a program of others' has found for the same triangles."""
    assert bem("sphere:5,10", rtol=1e-10).charge[0] / UNIT == pytest.approx(9.95511, abs=5e-6)


def test_a_pair_at_opposite_potentials():
    """0.32841118 on these 600 triangles; 0.3352649533 is exact (bispherical series)."""
    found = bem(pair(6, 5), rtol=1e-10)
    np.testing.assert_allclose(found.charge / UNIT, [-0.32841118, 0.32841118], rtol=1e-7)
    other = bem(pair(6, 5), potential=[1, -1], rtol=1e-10)  # one for each conductor
    np.testing.assert_allclose(other.density, -found.density, rtol=1e-6)


def test_two_spheres_at_opposite_potentials_have_a_charge_with_an_error_of_second_order():
    """HACApK's input_216h is pair(6, 30), and has 0.33506619."""
    errors = []
    for M in (5, 10, 15):
        found = bem(pair(6, M), eps=1e-7, rtol=1e-8)
        assert abs(found.charge.sum()) < 1e-6 * found.charge[1]
        errors.append(1 - found.charge[1] / UNIT / 0.3352649533)
    assert np.all(np.array(errors) > 0) and errors[-1] < 0.0024
    assert errors[0] / errors[1] == pytest.approx(2**2, rel=0.04)
    assert errors[1] / errors[2] == pytest.approx(1.5**2, rel=0.02)


def test_a_grounded_sphere_in_a_uniform_field():
    """The density is 3 eps0 E cos(theta), the dipole 4 pi eps0 R^3 E."""
    surface = sphere(6, 10, radius=2.0)
    field = np.array([0.0, 3.0, 4.0])
    found = bem(surface, field=field, rtol=1e-10)
    exact = 3 * EPSILON_0 * surface.centroids @ field / 2.0
    assert np.abs(found.density - exact).max() < 0.03 * np.abs(exact).max()
    np.testing.assert_allclose(found.dipole / UNIT, 8 * field, rtol=0.015, atol=1e-6)
    assert abs(found.charge[0]) < 1e-6 * UNIT
    raised = bem(surface, field=field, potential=1.0, rtol=1e-10)
    alone = bem(surface, potential=1.0, rtol=1e-10)
    np.testing.assert_allclose(raised.density, found.density + alone.density, atol=1e-8 * np.abs(exact).max())


def test_the_capacitance_matrix_of_spheres():
    surface = spheres(2, 1, 1, m0=6, M=4, radius=0.25, spacing=1.0, potentials=(3.0, -2.0))
    found = bem(surface, capacitance=True, rtol=1e-10)
    C = found.capacitance
    assert C.shape == (2, 2) and found.density.shape == (surface.n,)
    np.testing.assert_allclose(C @ [3.0, -2.0], found.charge, rtol=1e-8)
    assert C[0, 0] > UNIT / 4 * 0.98 and C[0, 1] < 0
    np.testing.assert_allclose(C, C.T, rtol=1e-4)
    assert len(found.solution.reports) == 3
    bare = Surface(surface.points, surface.triangles)  # without potentials the columns are the density
    only = bem(bare, capacitance=True, rtol=1e-10)
    assert only.density.shape == (surface.n, 2)
    np.testing.assert_allclose(only.capacitance, C, rtol=1e-8)
    np.testing.assert_allclose(only.charge, C, rtol=1e-8)
    one = bem(sphere(5, 3), capacitance=True, rtol=1e-10)
    assert one.density.shape == (90,) and one.capacitance.shape == (1, 1)


def test_several_right_hand_sides_at_once():
    surface = pair(5, 3)
    both = bem(surface, potential=[[1, 0, 2], [0, 1, 2]], rtol=1e-10)
    assert (
        both.density.shape == (surface.n, 3) and both.charge.shape == (2, 3) and both.dipole.shape == (3, 3)
    )
    np.testing.assert_allclose(both.density[:, 2], 2 * both.density[:, :2].sum(axis=1), rtol=1e-7)
    z = surface.centroids[:, 2]
    mixed = bem(surface, potential=np.stack([z, np.ones(surface.n)], axis=1), field=(0, 0, 1), rtol=1e-10)
    np.testing.assert_allclose(mixed.H @ mixed.density, np.stack([2 * z, 1 + z], axis=1), rtol=1e-8)


def test_a_plate_is_taken_as_open():
    """A square of side 1 has about 0.36679 of the capacitance of a sphere of radius 1."""
    found = bem(plate(14), rtol=1e-8)
    assert found.charge[0] / UNIT == pytest.approx(0.36679, rel=5e-3)


@pytest.mark.parametrize("word", ["precond", "M"])
def test_jacobi_is_the_h_matrix_own_diagonal_and_helps_where_triangles_differ(word):
    plain, jacobi = (bem(plate(10), rtol=1e-8, **{word: name}) for name in ("none", "jacobi"))
    assert jacobi.solution.iterations < 0.7 * plain.solution.iterations
    np.testing.assert_allclose(jacobi.density, plain.density, rtol=1e-5)


def test_files_words_and_surfaces_are_the_same(tmp_path):
    write_bem_bb(OutputFile(tmp_path / "s.pbf"), sphere(5, 3))
    found = [bem(source).density for source in (sphere(5, 3), "sphere:5,3", tmp_path / "s.pbf")]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    with pytest.raises(FileError, match="there is no such file"):
        bem("sfere.pbf")
    with pytest.raises(
        BadArgument, match=r"a surface is a sordino.surfaces.Surface, a file or a shape in words, not 3"
    ):
        bem(3)


def test_what_is_said_of_compression_reaches_the_h_matrix():
    asked = {"eps": 1e-3, "eta": 1.5, "leaf": 20, "compression": "aca", "recompress": False, "threads": 2}
    found = bem("sphere:5,3", **asked)
    assert asked.items() <= found.H.settings.items()


def test_blocks_are_held_to_a_rank_and_so_are_those_of_a_second_matrix():
    one = bem("sphere:6,6", most_rank=1)
    assert one.H.statistics["max_rank"] == 1 and one.H.settings["most_rank"] == 1
    found = bem("sphere:6,6", eps=1e-6, coarse=1e-2, coarse_rank=1, inner=20, rtol=1e-9)
    assert found.H.statistics["max_rank"] > 1
    assert found.solution.report.options["solver"] == "gmres"
    assert (
        found.solution.iterations < bem("sphere:6,6", eps=1e-6, rtol=1e-9, solver="gmres").solution.iterations
    )
    exact = bem("sphere:6,6", rtol=1e-9).charge
    np.testing.assert_allclose(found.charge, exact, rtol=1e-4)
    assert abs(one.charge[0] / exact[0] - 1) > 1e-4  # rank one misses more
    with pytest.raises(BadArgument, match="coarse_rank is of a second matrix: say its accuracy, coarse, too"):
        bem("sphere:6,6", coarse_rank=1)


def test_a_solve_that_fails_says_so():
    with pytest.raises(NotConverged) as raised:
        bem("pair:6,5", maxiter=1, rtol=1e-10)
    assert raised.value.solution.x.shape == (600,)
    kept = bem("pair:6,5", maxiter=1, rtol=1e-10, on_failure="return")
    assert kept.solution.status == "max_iterations" and kept.density.shape == (600,)
    assert "max_iterations, 1 iterations" in repr(kept)


def test_conductors_at_one_place_have_charges_that_add_up_to_those_of_one():
    ball = sphere(5, 4)
    two = Surface(
        np.concatenate([ball.points] * 2), np.concatenate([ball.triangles, ball.triangles + len(ball.points)])
    )
    alone = bem(ball, potential=3.0, rtol=1e-10)
    assert bem(two, potential=[3.0, 3.0], rtol=1e-10).charge.sum() == pytest.approx(alone.charge[0], rel=1e-6)
    said = "surface: triangles 0 and 160, of conductors 0 and 1, lie at the same place and are to be at 3 and 2 V"
    with pytest.raises(BadArgument, match=rf"^{said}, which no charge does \(159 more such pairs\)$"):
        bem(two, potential=[3.0, 2.0])
    with pytest.raises(BadArgument, match="are to be at 1 and 0 V"):
        bem(two, capacitance=True)


BARE = Surface(sphere(5, 3).points, sphere(5, 3).triangles, name="bare")


@pytest.mark.parametrize(
    ("surface", "given", "sentence"),
    [
        (BARE, {}, r"bare has no potentials: give them \(--potential, in Python potential=1.0"),
        (BARE, {"potential": [1.0, 2.0, 3.0]}, r"of shape \(3,\), and the surface has 90 triangles and 1 conductor"),
        (BARE, {"potential": np.ones((90, 0))}, r"potentials of shape \(90, 0\)"),
        (BARE, {"potential": np.ones((90, 1, 1))}, r"potentials of shape \(90, 1, 1\)"),
        (BARE, {"potential": "high"}, "a potential is a number or an array of numbers, not 'high'"),
        (BARE, {"potential": np.nan}, "a potential is NaN or infinite"),
        (BARE, {"field": (0, 1)}, r"a field is three numbers, in V/m, not \(0, 1\)"),
        (BARE, {"field": "up"}, "a field is three numbers"),
        (BARE, {"field": (0, 0, np.inf)}, "a field is three numbers"),
        (BARE, {"potential": 1, "on_failure": "cry"}, "on_failure is one of"),
        (BARE, {"potential": 1, "rtoll": 1}, "unknown option 'rtoll', did you mean 'rtol'?"),
    ],
)  # fmt: skip
def test_unfit_arguments_are_refused(surface, given, sentence):
    with pytest.raises(BadArgument, match=sentence):
        bem(surface, **given)


def test_the_page_has_the_record_s_charges():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "boundary_elements.md").read_text(encoding="utf-8")
    record = (root / "bench" / "records" / "2026-11-25_charges_2_cores.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in record.splitlines()]
    assert [row["surface"] for row in rows] == ["homer.obj", "input_216h.pbf"]
    for row in rows:
        stored, dense = row["stored_bytes"] / 1e6, row["dense_bytes"] / 1e6
        charges = ", ".join(f"{charge:.6f}" for charge in row["charge_over_4_pi_eps0"])
        assert (
            f" | {row['n']:,} | {stored:.1f} MB of {dense:,.0f} | {row['compression_error']:.1e} | "
            f"{row['build_seconds']:.1f} | {row['iterations']} | {row['solve_seconds']:.1f} | {charges} |\n"
        ) in page
        assert row["command"].removesuffix(" --json") in page
    assert rows[1]["charge_over_4_pi_eps0"][1] == pytest.approx(0.33506619, abs=1e-8)
