"""Shapes to try boundary elements with: counts, places, areas, and the words that ask for them."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import BadArgument
from sordino.surfaces import figure, from_words, pair, plate, sphere, spheres


def volume(surface):
    """By Gauss' theorem; positive where normals point outwards."""
    return float((surface.centroids * surface.normals).sum(axis=1) @ surface.areas / 3)


@pytest.mark.parametrize(("m0", "M"), [(3, 1), (4, 1), (5, 10), (13, 20), (7, 3)])
def test_a_sphere_has_the_counts_of_its_family_and_is_closed(m0, M):
    surface = sphere(m0, M)
    assert surface.n == 2 * m0 * M**2 and len(surface.points) == m0 * M**2 + 2
    np.testing.assert_allclose(np.linalg.norm(surface.points, axis=1), 10, rtol=1e-15)
    assert (surface.normals * surface.centroids).sum(axis=1).min() > 0
    assert surface.potential.tolist() == [1.0] * surface.n


def test_a_sphere_is_cut_as_the_inputs_of_hacapk():
    """Some lines of input_1ts.pbf, whose decimals are eight."""
    surface = sphere(5, 10)
    points = {1: (1.56434465, 0, 9.87688341), 7: (2.5, 1.81635632, 9.51056516), 501: (0, 0, -10)}
    for node, place in points.items():
        np.testing.assert_allclose(surface.points[node], place, atol=6e-9)
    assert surface.triangles[:9].tolist() == [
        [0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5], [0, 5, 1], [1, 6, 7], [1, 7, 2], [2, 7, 8], [2, 8, 9]
    ]  # fmt: skip
    below = surface.triangles[surface.triangles.min(axis=1) >= 226]
    assert below[:4].tolist() == [[226, 276, 227], [227, 276, 277], [227, 277, 228], [228, 277, 278]]
    assert surface.triangles[-6:].tolist() == [
        [495, 496, 486], [496, 501, 497], [497, 501, 498], [498, 501, 499], [499, 501, 500], [500, 501, 496]
    ]  # fmt: skip


def test_area_and_volume_approach_the_spheres_with_the_square_of_the_triangles_size():
    errors = []
    for M in (4, 8, 16):
        surface = sphere(6, M, radius=2.0, centre=(1, 2, 3))
        np.testing.assert_allclose(surface.points.mean(axis=0), (1, 2, 3), atol=1e-12)
        errors.append((1 - surface.areas.sum() / (16 * np.pi), 1 - volume(sphere(6, M)) / (4e3 / 3 * np.pi)))
    ratios = np.divide(errors[:-1], errors[1:])
    assert np.all((ratios > 3.8) & (ratios < 4.2)), ratios


def test_a_pair_has_a_lower_and_an_upper_sphere_at_opposite_potentials():
    surface = pair(6, 5)
    assert surface.n == 600 and len(surface.points) == 304 and surface.conductor_count == 2
    lower = surface.conductors == 0
    assert set(surface.potential[lower]) == {-1.0} and set(surface.potential[~lower]) == {1.0}
    assert surface.points[:, 2].min() == -0.75 and surface.points[:, 2].max() == 0.75
    moved = pair(6, 5, radius=1, distance=3, potentials=(0, 5))
    assert moved.points[:, 2].min() == -2.5 and set(moved.potential) == {0.0, 5.0}


def test_spheres_fill_a_grid_with_x_fastest_and_signs_in_turn():
    surface = spheres(3, 2, 2, m0=3, M=2, radius=0.1, spacing=0.5)
    assert surface.n == 12 * 24 and surface.conductor_count == 12
    first = np.searchsorted(surface.conductors, np.arange(12))
    centres = np.array(
        [surface.points[surface.triangles[surface.conductors == c]].mean((0, 1)) for c in range(12)]
    )
    np.testing.assert_allclose(centres[[1, 3, 6]], [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]], atol=1e-12)
    assert surface.potential[first].tolist() == [1, -1, 1, -1, 1, -1, -1, 1, -1, 1, -1, 1]
    assert set(spheres(2, 1, 1, potentials=(3, 4)).potential) == {3.0, 4.0}


def test_a_plate_is_open_flat_and_finer_at_its_rim():
    surface = plate(4, side=2.0)
    assert surface.n == 32 and surface.allow_open
    assert surface.areas.sum() == pytest.approx(4.0)
    np.testing.assert_allclose(surface.normals, [[0, 0, 1]] * 32)
    assert surface.areas[0] < surface.areas[surface.n // 2 + 3] / 2


def test_a_figure_has_as_many_triangles_as_hacapks_humans_and_is_watertight():
    surface = figure()
    assert surface.n == 19664 and surface.conductor_count == 1
    assert len(surface.points) - surface.n // 2 == 2  # Euler's number of a sphere
    assert 0.06 < volume(surface) < 0.09  # of a person, in cubic metres
    assert surface.points[:, 2].min() == 0 and 1.7 < surface.points[:, 2].max() < 1.8
    longest = np.linalg.norm(surface.corners - np.roll(surface.corners, 1, axis=1), axis=2).max(axis=1)
    assert (surface.areas / longest**2).min() > 0.01


def test_figures_stand_in_a_square():
    surface = figure(2, potential=3.0)
    assert surface.n == 4 * 19664 and surface.conductor_count == 4 and set(surface.potential) == {3.0}
    one = np.ptp(surface.points[: len(surface.points) // 4], axis=0)
    np.testing.assert_allclose(np.ptp(surface.points, axis=0), one * (2.3, 2.3, 1))


@pytest.mark.parametrize(
    ("words", "n", "height"),
    [
        ("sphere:5,10", 1000, 20),
        ("sphere:5,4,radius=1", 160, 2),
        ("pair:6,5", 600, 1.5),
        ("pair:6,5,distance=2,radius=0.5", 600, 3),
        ("spheres:2,2,2", 2400, 1.5),
        ("spheres:2,1,3,m0=3,M=2,spacing=2", 144, 4.5),
        ("plate:3,side=2", 18, 0),
        ("figure", 19664, 1.7569),
        ("figure:1", 19664, 1.7569),
    ],
)
def test_words_make_shapes(words, n, height):
    surface = from_words(words)
    assert surface.n == n
    assert np.ptp(surface.points[:, 2]) == pytest.approx(height, rel=1e-4)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("spere:3,4", "unknown shape 'spere', did you mean 'sphere'?"),
        ("cow", "unknown shape 'cow'; known: sphere, pair, spheres, figure, plate"),
        ("sphere:13", r"shape 'sphere:13' has 1 number; it is sphere:m0,M\[,radius=...\]"),
        ("sphere:13,20,7", "has 3 numbers"),
        ("sphere:13,x", "shape 'sphere:13,x': 'x' is not a whole number"),
        ("sphere:13,20,radius=big", "'big' is not a number"),
        ("sphere:13,20,centre=1", r"'centre=1' is unknown; it is sphere:m0,M\[,radius=...\]"),
        ("pair:6,5,radius=1,7", "'7' is unknown"),
        ("sphere:2,20", "m0 is a whole number, at least 3, not 2"),
        ("sphere:5,0", "M is a whole number, at least 1, not 0"),
        ("sphere:5,4,radius=-1", "the radius is a length above 0, not -1"),
        ("pair:6,5,distance=0.4", "the distance of two spheres is more than the sum of their radii, 0.5, not 0.4"),
        ("spheres:2,2,2,spacing=0.1", "the spacing of spheres is more than twice their radius, 0.5, not 0.1"),
        ("spheres:2,0,2", "ny is a whole number, at least 1, not 0"),
        ("figure:0", "k is a whole number, at least 1, not 0"),
        ("plate:0", "m is a whole number, at least 1, not 0"),
    ],
)  # fmt: skip
def test_words_that_make_no_shape_are_refused(words, sentence):
    with pytest.raises(BadArgument, match=sentence):
        from_words(words)


def test_potentials_must_be_as_many_as_spheres():
    with pytest.raises(BadArgument, match="8 spheres need as many potentials, not 2"):
        spheres(2, 2, 2, potentials=(1, 2))
