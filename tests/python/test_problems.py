"""Matrices of model problems: the laws that they keep for any numbers, and their order of accuracy."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino
from sordino.problems import dirichlet_faces, multiphase, pressure_matrix

FACES = ("x-", "x+", "y-", "y+", "z-", "z+")
PI = np.pi

boundaries = st.fixed_dictionaries({face: st.sampled_from(["dirichlet", "neumann"]) for face in FACES}).map(
    lambda kinds: ",".join(f"{face}:{kind}" for face, kind in kinds.items())
)
contrasts = st.floats(-3, 6).map(lambda power: 10.0**power)
shapes = st.tuples(*[st.integers(1, 5)] * 3)


@pytest.mark.parametrize(
    ("text", "faces"),
    [
        ("dirichlet", set(FACES)),
        ("neumann", set()),
        ("neumann,z+:dirichlet", {"z+"}),
        ("x-:neumann, z+:dirichlet", set(FACES) - {"x-"}),
        ("y+:neumann,dirichlet", set(FACES) - {"y+"}),
    ],
)
def test_faces_are_named_and_a_bare_word_is_for_the_rest(text, faces):
    assert dirichlet_faces(text) == faces


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("w-:neumann", "a box has the faces x-, x+, y-, y+, z-, z+, and not 'w-'"),
        (":neumann", "and not ''"),
        ("z:neumann", "and not 'z'"),
        ("z+:neuman", "did you mean 'neumann'"),
        ("z+", "dirichlet, neumann or periodic, not 'z+'"),
        ("", "dirichlet, neumann or periodic, not ''"),
        (7, "dirichlet, neumann or periodic, not 7"),
        ("z+:neumann,z+:dirichlet", "names z+ twice"),
        ("neumann,dirichlet", "names what holds elsewhere twice"),
    ],
)
def test_what_is_no_boundary_is_refused(text, sentence):
    with pytest.raises(sordino.BadArgument) as refused:
        sordino.poisson(3, 3, 3, boundary=text)
    assert sentence in str(refused.value)


def by_hand(cells, stencil, contrast, dirichlet):
    """The matrix of sordino.poisson, neighbour by neighbour."""

    def k(place):
        offset = (np.array(place) + 0.5) / cells - 0.5
        return contrast if offset @ offset < 0.09 else 1.0

    A = np.zeros((np.prod(cells),) * 2)
    rows = np.arange(len(A)).reshape(cells[::-1]).T
    steps = [step for step in itertools.product((-1, 0, 1), repeat=3) if any(step)]
    for place in np.ndindex(*cells):
        for step in steps:
            if stencil == 7 and np.abs(step).sum() > 1:
                continue
            there = tuple(np.add(place, step))
            beyond = {
                f"{'xyz'[axis]}{'-' if there[axis] < 0 else '+'}"
                for axis in range(3) if not 0 <= there[axis] < cells[axis]
            }  # fmt: skip
            if not beyond <= dirichlet:
                continue
            face = 2 / (1 / k(place) + 1 / k(there))
            A[rows[place], rows[place]] += face
            if not beyond:
                A[rows[place], rows[there]] -= face
    return A


@settings(max_examples=60, deadline=None)
@given(cells=shapes, stencil=st.sampled_from([7, 27]), contrast=contrasts, boundary=boundaries)
def test_poisson_has_no_flux_through_the_faces_that_are_said(cells, stencil, contrast, boundary):
    found = sordino.poisson(*cells, stencil=stencil, contrast=contrast, boundary=boundary).toarray()
    wanted = by_hand(cells, stencil, contrast, dirichlet_faces(boundary))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("contrast", [1e300, 1e-300, 1.1e100])
def test_a_contrast_whose_products_overflow_or_vanish_is_named(cli, contrast):
    sentence = f"the contrast is a ratio of densities from 1e-100 to 1e+100, not {contrast:g}"
    for make in (sordino.poisson, sordino.problems.multiphase):
        with pytest.raises(sordino.BadArgument, match=re.escape(sentence)):
            make(8, 8, 8, contrast=contrast)
    for words in ((), ("--phases", "bubbles")):
        code, out, err = cli("poisson", 8, 8, 8, "--contrast", contrast, *words)
        assert (code, out, err) == (2, "", f"sordino: {sentence}\n")


@pytest.mark.parametrize("contrast", [1e100, 1e-100])
@pytest.mark.parametrize("boundary", ["dirichlet", "neumann"])
def test_the_largest_contrasts_have_a_finite_matrix(contrast, boundary):
    for stencil in (7, 27):
        A = sordino.poisson(8, 8, 8, stencil=stencil, contrast=contrast, boundary=boundary)
        assert np.isfinite(A.data).all() and (A.diagonal() > 0).all()
    made = sordino.problems.multiphase(8, 8, 8, contrast=contrast)
    assert np.isfinite(made.A.data).all() and np.isfinite(made.b).all()


@settings(max_examples=100, deadline=None)
@given(cells=shapes, power=st.floats(0, 6), boundary=boundaries, seed=st.integers(0, 2**32))
def test_pressure_matrices_are_symmetric_and_semidefinite_with_the_nullspace_that_is_promised(
    cells, power, boundary, seed
):
    rng = np.random.default_rng(seed)
    density = 10.0 ** rng.uniform(0, power, size=cells[::-1])
    A = pressure_matrix(density, boundary=boundary) if np.prod(cells) > 1 or "dir" in boundary else None
    if A is None:
        return  # one cell between walls has no equation: refused, which another test sees
    dense, dirichlet = A.toarray(), dirichlet_faces(boundary)
    assert A.has_canonical_format and np.array_equal(dense, dense.T)
    assert (dense - np.diag(dense.diagonal()) <= 0).all()
    outward = np.zeros(density.shape)  # row sums are the coefficients of Dirichlet faces
    for face in dirichlet:
        place = [slice(None)] * 3
        place["zyx".index(face[0])] = 0 if face[1] == "-" else -1
        outward[tuple(place)] += 2 / density[tuple(place)]
    np.testing.assert_allclose(dense.sum(axis=1), outward.ravel(), atol=1e-13 * dense.max())
    root = np.sqrt(dense.diagonal())
    values = np.linalg.eigvalsh(dense / np.outer(root, root))
    assert values[0] > -1e-12 and values[-1] < 2 + 1e-12
    assert dirichlet or (abs(values[0]) < 1e-12 and (len(values) == 1 or values[1] > 1e-12))
    assert not dirichlet or values[0] > 1e-14 * len(values)


def test_faces_have_harmonic_means():
    """Flux through layers: exact where the jump lies on a face, with any other mean it is not."""
    density = np.array([1.0, 1.0, 1e4, 1e4, 3.0]).reshape(5, 1, 1)
    A = pressure_matrix(density, boundary="neumann,z-:dirichlet,z+:dirichlet")
    b = np.zeros(5)
    b[0] = 2.0  # p = 1 on z-, 0 on z+
    p = np.linalg.solve(A.toarray(), b)
    resistance = np.cumsum(density.ravel()) - density.ravel() / 2
    np.testing.assert_allclose(p, 1 - resistance / density.sum(), rtol=1e-10)


def trial(kind, cells):
    """The largest error on so many cells in a cube of edge 1, for 1/rho = exp(x + y/2 - z)."""
    edges = 1 / np.array(cells)
    x, y, z = ((np.arange(n) + 0.5) / n for n in cells)
    z, y, x = np.meshgrid(z, y, x, indexing="ij")
    beta = np.exp(x + y / 2 - z)
    waves = {
        "dirichlet": [(np.sin, PI)] * 3,
        "neumann": [(np.cos, PI)] * 3,
        "neumann,z+:dirichlet": [(np.cos, PI), (np.cos, PI), (np.cos, PI / 2)],
        "y-:neumann": [(np.sin, PI), (np.cos, PI / 2), (np.sin, PI)],
    }[kind]
    p, slopes, laplacian = 1.0, [], 0.0
    parts = [wave(k * at) for (wave, k), at in zip(waves, (x, y, z), strict=True)]
    p = parts[0] * parts[1] * parts[2]
    for (wave, k), at, part in zip(waves, (x, y, z), parts, strict=True):
        derivative = k * np.cos(k * at) if wave is np.sin else -k * np.sin(k * at)
        slopes.append(derivative * p / part)
        laplacian = laplacian - k**2 * p
    f = -beta * (laplacian + slopes[0] + slopes[1] / 2 - slopes[2])
    A = pressure_matrix(1 / beta, boundary=kind, spacing=edges)
    more = {"nullspace": "constant"} if kind == "neumann" else {}
    found = sordino.solve(A, f.ravel() * edges.prod(), solver="cg", rtol=1e-10, **more).x
    return np.abs(found - p.ravel()).max()


@pytest.mark.parametrize("kind", ["dirichlet", "neumann", "neumann,z+:dirichlet", "y-:neumann"])
@pytest.mark.parametrize("shape", [(4, 4, 4), (3, 8, 4)])
def test_smooth_coefficients_are_met_to_second_order(kind, shape):
    errors = [trial(kind, [finer * n for n in shape]) for finer in (2, 4, 8)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (orders > 1.7).all() and (orders < 2.4).all(), (errors, orders)


@pytest.mark.parametrize(
    ("density", "more", "sentence"),
    [
        (np.zeros((2, 2, 2)), {}, "densities are numbers above 0"),
        (np.full((2, 2, 2), np.nan), {}, "densities are numbers above 0"),
        (np.ones((2, 2)), {}, "three dimensions, not float64 of shape (2, 2)"),
        (np.ones((0, 2, 2)), {}, "of shape (0, 2, 2)"),
        (np.ones((2, 2, 2), complex), {}, "an array of numbers with three dimensions, not complex128"),
        (np.ones((2, 2, 2)), {"solid": np.ones((2, 2, 2), bool)}, "the obstacles leave no fluid"),
        (np.ones((2, 2, 2)), {"solid": np.ones((2, 2), bool)}, "bool of shape (2, 2, 2), not bool of shape (2, 2)"),
        (np.ones((2, 2, 2)), {"solid": np.zeros((2, 2, 2))}, "not float64"),
        (np.ones((1, 1, 1)), {"boundary": "neumann"}, "the cell (0, 0, 0) is closed on all sides"),
    ],
)  # fmt: skip
def test_fields_that_make_no_matrix_are_refused(density, more, sentence):
    with pytest.raises(sordino.BadArgument) as refused:
        pressure_matrix(density, **more)
    assert sentence in str(refused.value)


def test_couplings_weigh_the_area_of_a_face_over_the_distance_of_its_cells():
    density = 10.0 ** np.random.default_rng(3).uniform(0, 4, (3, 4, 5))
    cubes, found = (pressure_matrix(density, **more).tocoo() for more in ({}, {"spacing": (2, 3, 5)}))
    steps = np.abs(found.row - found.col)
    for step, weight in ((1, 3 * 5 / 2), (5, 2 * 5 / 3), (20, 2 * 3 / 5)):
        np.testing.assert_allclose(found.data[steps == step], weight * cubes.data[steps == step], rtol=1e-14)
    alone = pressure_matrix(np.ones((1, 1, 1)), spacing=(2, 3, 5)).toarray()
    np.testing.assert_allclose(alone, 2 * 2 * (3 * 5 / 2 + 2 * 5 / 3 + 2 * 3 / 5))
    as_cubes = pressure_matrix(density, spacing=(1, 1, 1))
    assert np.array_equal(as_cubes.toarray(), cubes.toarray())


@pytest.mark.parametrize("edge", [1e-9, 1e9])
def test_extreme_densities_and_edges_overflow_nowhere(edge):
    for density in (1e-269, 1e269):
        A = pressure_matrix(np.full((2, 2, 2), density), spacing=(1 / edge, 1 / edge, edge))
        assert np.isfinite(A.data).all() and (A.diagonal() > 0).all()


@pytest.mark.parametrize(
    "spacing", [(1, 1), 1.0, (1, 1, 0), (1, 1, np.nan), (1, "1", 1), (1, 1, 1, 1), "112", (1, 1, 2e9), None]
)
def test_edges_that_no_cell_has_are_refused(spacing):
    for make in (
        lambda: pressure_matrix(np.ones((2, 2, 2)), spacing=spacing),
        lambda: multiphase(2, 2, 2, spacing=spacing),
    ):
        with pytest.raises(
            sordino.BadArgument, match=r"^the spacing is three edges of a cell, .* from 1e-09 to 1e\+09, not "
        ):
            make()


def test_solid_cells_have_the_rows_of_the_identity_and_walls_around_them():
    solid = np.zeros((3, 4, 5), dtype=bool)
    solid[1, 1:3, 2:4] = True
    A = pressure_matrix(np.full(solid.shape, 2.0), solid=solid, boundary="z+:dirichlet,neumann")
    inside = solid.ravel()
    assert np.array_equal(A[inside].toarray(), np.eye(60)[inside])
    assert np.array_equal(A[:, inside].toarray(), np.eye(60)[:, inside])
    sums = A.sum(axis=1)[~inside].reshape(-1)
    assert np.allclose(np.sort(sums)[-20:], 1) and np.allclose(np.sort(sums)[:-20], 0)
    assert A.nnz == len(A.tocoo().data[A.tocoo().data != 0])  # no zeros are stored


# ---- periodic directions -----------------------------------------------------------------------------------------


def around_by_hand(density, periodic, dirichlet, edges):
    """The dense matrix, face by face."""
    number = np.arange(density.size).reshape(density.shape)
    A = np.zeros((density.size, density.size))
    for axis, name in enumerate("zyx"):
        area = np.prod(edges) / edges["xyz".index(name)] ** 2
        for at in np.ndindex(density.shape):
            for side in (-1, 1):
                to = list(at)
                to[axis] += side
                inside = 0 <= to[axis] < density.shape[axis]
                if name in periodic:
                    to[axis] %= density.shape[axis]
                elif not inside:
                    if f"{name}{'-+'[side > 0]}" in dirichlet:
                        A[number[at], number[at]] += 2 * area / density[at]
                    continue
                face = area * 2 / (density[at] + density[tuple(to)])
                A[number[at], number[at]] += face
                A[number[at], number[tuple(to)]] -= face
    return A


@pytest.mark.parametrize("periodic", ["x", "yz", "zxy", ""])
def test_periodic_directions_couple_their_ends(periodic) -> None:
    density = np.random.default_rng(5).uniform(1, 10, (4, 3, 5))
    edges = (1.0, 2.0, 0.5)
    A = pressure_matrix(density, boundary="neumann,z+:dirichlet", spacing=edges, periodic=periodic)
    assert A.has_canonical_format
    wanted = around_by_hand(density, periodic, {"z+"}, edges)
    assert abs(A.toarray() - wanted).max() <= 1e-13 * abs(wanted).max()


def test_a_wall_in_a_periodic_box() -> None:
    solid = np.zeros((4, 4, 4), dtype=bool)
    solid[:, :, 0] = True
    A = pressure_matrix(np.ones((4, 4, 4)), solid=solid, boundary="neumann", periodic="xyz")
    fluid = (~solid).ravel()
    assert abs(A @ fluid.astype(float)).max() == 0
    assert np.array_equal(np.sort(np.diff(A.indptr)), np.repeat([1, 6, 7], [16, 32, 16]))


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("xx", "periodic directions are some of x, y and z, as 'xy', not 'xx'"),
        ("t", "not 't'"),
        (True, "not True"),
        ("y", "has 3 cells or more, so that its ends are no neighbours already, and y has 2"),
    ],
)
def test_periodic_directions_that_are_refused(word, sentence) -> None:
    with pytest.raises(sordino.BadArgument, match=sentence):
        pressure_matrix(np.ones((4, 2, 4)), periodic=word)
