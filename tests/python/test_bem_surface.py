"""Surfaces: what they are made of, and each sentence with which an unfit one is refused."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import BadArgument
from sordino.surfaces import Surface

POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])  # a tetrahedron, normals outwards


def two(distance=3.0):
    return np.concatenate([POINTS, POINTS + distance]), np.concatenate([TRIANGLES, TRIANGLES + 4])


def test_a_tetrahedron_has_areas_centroids_and_normals():
    surface = Surface(POINTS, TRIANGLES, 2)
    assert surface.n == 4
    np.testing.assert_allclose(surface.areas, [0.5, 0.5, 0.5, np.sqrt(0.75)])
    np.testing.assert_allclose(
        surface.normals, [[0, 0, -1], [0, -1, 0], [-1, 0, 0], [3**-0.5] * 3], atol=1e-15
    )
    np.testing.assert_allclose(surface.centroids[0], [1 / 3, 1 / 3, 0])
    assert surface.potential.tolist() == [2.0] * 4
    assert repr(surface) == "<sordino.Surface surface: 4 triangles, 1 conductor>"


def test_conductors_are_numbered_by_their_first_triangle():
    points, triangles = two()
    surface = Surface(points, triangles[[5, 0, 6, 1, 2, 7, 3, 4]])
    assert surface.conductors.tolist() == [0, 1, 0, 1, 1, 0, 1, 0]
    assert surface.conductor_count == 2
    np.testing.assert_allclose(surface.totals(np.ones(8)), [surface.areas[[0, 2, 5, 7]].sum()] * 2)
    two_columns = surface.totals(np.stack([np.ones(8), surface.conductors], axis=1))
    np.testing.assert_allclose(two_columns[:, 1], [0, two_columns[1, 0]])


def test_arrays_cannot_be_written_and_are_no_views_of_the_callers():
    points, triangles, potential = POINTS.copy(), TRIANGLES.copy(), np.ones(4)
    surface = Surface(points, triangles, potential)
    points[:], triangles[:], potential[:] = 9, 0, 9
    assert surface.points.max() == 1 and surface.triangles.max() == 3 and surface.potential.max() == 1
    for name in (
        "points",
        "triangles",
        "potential",
        "centroids",
        "areas",
        "normals",
        "conductors",
        "corners",
    ):
        with pytest.raises(ValueError, match="read-only"):
            getattr(surface, name)[0] = 0


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("points", "triangles", "sentence"),
    [
        (POINTS, np.zeros((0, 3), int), "the surface is empty: it has no triangle"),
        (np.zeros((0, 3)), TRIANGLES, "the surface is empty"),
        (POINTS[:, :2], TRIANGLES, r"nodes of a surface are of shape \(v, 3\), not \(4, 2\)"),
        ("abc", TRIANGLES, "the nodes of a surface must be numbers, not 'abc'"),
        (POINTS, TRIANGLES[:, :2], r"whole numbers of shape \(n, 3\), not int64 of shape \(4, 2\)"),
        (POINTS, TRIANGLES * 1.0, r"whole numbers of shape \(n, 3\), not float64"),
        (changed(POINTS, (2, 1), np.nan), TRIANGLES, "node 2 is at 0, nan and 0, which is no place"),
        (changed(POINTS, (1, 0), np.inf), TRIANGLES, "node 1 is at inf, 0 and 0"),
        (changed(POINTS, (3, 2), 1e300), TRIANGLES, r"node 3 is at 0, 0 and 1e\+300, too far away to compute with"),
        (POINTS, changed(TRIANGLES, (1, 2), 4), "triangle 1 has node 4, and nodes are numbered 0 to 3"),
        (POINTS, changed(TRIANGLES, (3, 0), -1), "triangle 3 has node -1"),
        (POINTS, changed(TRIANGLES, (2, 1), 2), r"triangle 2 has no area: its nodes 0, 2 and 2 lie on one line$"),
        (changed(POINTS, (3,), [2, 0, 0]), TRIANGLES, r"triangle 1 has no area: its nodes 0, 1 and 3 lie on one line"),
        (POINTS, TRIANGLES[[0, 1, 2, 3, 1]], "triangles 1 and 4 are the same: both have the nodes 0, 1 and 3"),
        (POINTS, np.vstack([TRIANGLES, [3, 1, 0]]), "triangles 1 and 4 are the same"),
        (POINTS, TRIANGLES[:3], "the surface is open: only triangle 0 has the edge from node 1 to node 2 "
                                r"\(2 more such edges\); .* \(--open, in Python allow_open=True\)"),
    ],
)  # fmt: skip
def test_an_unfit_surface_is_refused_with_one_sentence(points, triangles, sentence):
    with pytest.raises(BadArgument, match=sentence):
        Surface(points, triangles)


def test_how_many_more_are_unfit_is_said():
    points, triangles = two()
    points[[0, 4]] = points[[1, 5]]
    with pytest.raises(BadArgument, match=r"triangle 0 has no area.* \(3 more such triangles\)"):
        Surface(points, triangles)


def test_a_thin_triangle_far_from_the_origin_is_no_flat_one():
    thin = POINTS * [1, 1e-5, 1] + 100.0
    assert Surface(thin, TRIANGLES).areas.min() > 0


def test_an_open_surface_is_taken_where_it_is_meant():
    surface = Surface(POINTS, TRIANGLES[:1], allow_open=True)
    assert surface.n == 1 and surface.allow_open


def test_edges_of_four_triangles_are_no_boundary():
    """Two bodies that touch along an edge."""
    points = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], float)
    body = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    surface = Surface(points, np.concatenate([body, np.array([0, 1, 4, 5])[body]]))
    assert surface.conductor_count == 1


@pytest.mark.parametrize(
    ("potential", "sentence"),
    [
        ([1.0, 2.0], r"potentials of shape \(2,\), and the surface has 4 triangles: one for each is wanted"),
        (np.ones((4, 1)), r"potentials of shape \(4, 1\)"),
        ([1, 2, np.nan, 4], "the potential of triangle 2 is nan, not a finite number"),
        ("high", "the potential must be numbers, not 'high'"),
    ],
)
def test_unfit_potentials_are_refused(potential, sentence):
    with pytest.raises(BadArgument, match=sentence):
        Surface(POINTS, TRIANGLES, potential)


def test_triangles_at_one_place_are_twins_in_whichever_order_their_corners_stand():
    points, triangles = two(distance=0.0)
    triangles[5] = np.roll(triangles[5], 1)
    triangles[6] = triangles[6][::-1]
    assert Surface(points, triangles).twins.tolist() == [[4, 0], [5, 1], [6, 2], [7, 3]]
    assert Surface(*two(distance=1e-9)).twins.shape == (0, 2)
