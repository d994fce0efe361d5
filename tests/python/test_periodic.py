"""Periodic boxes of `sordino.poisson` and of the command line: entry by entry, by storage and by preconditioner."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import sordino
from sordino._box import Box
from sordino.problems import conditions, pressure_matrix

#: What is written, the Dirichlet faces of it, and the periodic directions.
BOUNDARIES = [
    ("periodic", set(), "xyz"),
    ("neumann,x:periodic", set(), "x"),
    ("y:periodic", {"x-", "x+", "z-", "z+"}, "y"),
    ("periodic,z-:neumann,z+:dirichlet", {"z+"}, "xy"),
    ("z:periodic, x:periodic, neumann", set(), "xz"),
]


def by_hand(cells, stencil, contrast, faces, around) -> np.ndarray:
    """The dense matrix: what lies behind faces is left out or kept, and what is at the other end is coupled by 1."""
    A = sordino.poisson(*cells, stencil=stencil, contrast=contrast).toarray()
    number = np.arange(len(A)).reshape(cells[::-1])
    wanted = A - np.diag(A.sum(axis=1))  # nothing flows through any face
    for at in np.ndindex(number.shape):
        i = number[at]
        lacking, held, ends = 0, 0, []
        for step in itertools.product((-1, 0, 1), repeat=3):
            if not 0 < sum(map(abs, step)) <= (1 if stencil == 7 else 3):
                continue
            to = [k + by for k, by in zip(at, step, strict=True)]
            outside = [d for d in range(3) if not 0 <= to[d] < number.shape[d]]
            walls = [f"{'zyx'[d]}{'-+'[step[d] > 0]}" for d in outside if "zyx"[d] not in around]
            lacking += bool(outside)
            held += bool(walls) and set(walls) <= faces
            if outside and not walls:
                ends.append(number[tuple(k % n for k, n in zip(to, number.shape, strict=True))])
        wanted[i, i] += held * A[i].sum() / max(lacking, 1)
        for j in ends:
            wanted[i, i] += 1
            wanted[i, j] -= 1
    return wanted


@pytest.mark.parametrize("stencil", [7, 27])
@pytest.mark.parametrize("cells", [(4, 3, 5), (3, 3, 3), (5, 4, 3)])
@pytest.mark.parametrize(("word", "faces", "around"), BOUNDARIES)
def test_entries_are_those_of_the_definition(word, faces, around, cells, stencil) -> None:
    assert conditions(word) == (faces, around)
    A = sordino.poisson(*cells, stencil=stencil, contrast=100.0, boundary=word)
    assert A.has_canonical_format and A.indices.dtype == np.int32
    assert abs(A.toarray() - by_hand(cells, stencil, 100.0, faces, around)).max() <= 1e-12 * abs(A).max()
    box = Box(cells, stencil, 100.0, word)
    assert box.entries == A.nnz
    assert (box.made().nullspace == "constant") == (not faces)


def test_the_ball_is_at_no_end() -> None:
    A = sordino.poisson(3, 1, 1, contrast=7.0, boundary="neumann,x:periodic")
    outer = sordino.poisson(3, 1, 1, contrast=7.0, boundary="neumann")
    assert A[0, 2] == A[2, 0] == -1 and (A - outer)[0, 0] == 1
    assert np.array_equal(A.sum(axis=1), outer.sum(axis=1))


def test_densities_say_so_as_well() -> None:
    rho = np.random.default_rng(3).uniform(1, 9, (4, 5, 3))
    named, asked = (
        pressure_matrix(rho, boundary="neumann,y:periodic"),
        pressure_matrix(rho, boundary="neumann", periodic="y"),
    )
    assert abs(named - asked).max() == 0
    both = pressure_matrix(rho, boundary="neumann,y:periodic", periodic="xy")
    assert abs(both - pressure_matrix(rho, boundary="neumann", periodic="xy")).max() == 0


def solved(cli, *words) -> dict:
    code, out, err = cli("poisson", *words, "--engine", "host", "--rtol", "1e-8", "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("word", ["periodic", "neumann,x:periodic", "y:periodic"])
@pytest.mark.parametrize("storage", ["csr", "dia", "symdia", "constant"])
def test_the_command_line_solves_it_in_every_storage(cli, storage, word) -> None:
    said = solved(cli, 12, 10, 9, "--bc", word, "--storage", storage, "--ranks", 2, "--contrast", 50)
    assert said["status"] == "converged" and said["options"]["storage"] == storage
    assert f", {word} boundary" in said["problem"]["name"]


@pytest.mark.parametrize(
    ("precond", "most"),
    [("jacobi", 60), ("block-ilu", 40), ("ic0", 40), ("chebyshev", 40), ("mg", 15), ("amg", 15)],
)
def test_the_command_line_solves_it_with_every_preconditioner(cli, precond, most) -> None:
    words = (12, 10, 9, "--bc", "periodic", "--precond", precond, "--solver", "cg", "--contrast", 100)
    for ranks in (1, 2):
        assert 1 <= solved(cli, *words, "--ranks", ranks)["iterations"] <= most


def test_x_is_that_of_the_periodic_system(cli, tmp_path) -> None:
    x = tmp_path / "x.npy"
    solved(cli, 6, 5, 4, "--bc", "neumann,x:periodic", "--stencil", 27, "-o", x)
    A = sordino.poisson(6, 5, 4, stencil=27, boundary="neumann,x:periodic")
    n = A.shape[0]
    b = A @ (np.arange(1, n + 1) / n)
    found = np.load(x)
    assert np.linalg.norm(b - A @ found) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-9)
    wanted = np.linalg.solve(A.toarray() + np.ones((n, n)), b)
    assert np.linalg.norm(found - found.mean() - (wanted - wanted.mean())) <= 1e-6 * np.linalg.norm(wanted)


def test_it_is_predicted(cli) -> None:
    small = ("--ranks", 4, "--machine", "h200x4", "--json")
    for words in (("--solvers", "cg"), ("--precond", "mg", "--solvers", "cg")):
        code, out, err = cli("predict", "poisson", 16, 16, 32, "--bc", "periodic", *words, *small)
        assert code == 0, err
        assert "periodic boundary" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((8, 8, 2, "--bc", "periodic"), "a periodic direction has 3 cells or more"),
        ((8, 8, 8, "--bc", "periodic,z-:neumann"), "z is not periodic where z- is named: name z+, too"),
        (
            (8, 8, 8, "--bc", "x-:periodic"),
            "a direction is periodic as a whole: say x:periodic, not x-:periodic",
        ),
        ((8, 8, 8, "--bc", "x:periodic,x+:neumann"), "the boundary names x+ twice: x is periodic"),
        ((8, 8, 8, "--bc", "x:periodic,x:periodic"), "the boundary names x twice: x is periodic"),
        ((8, 8, 8, "--bc", "w:periodic"), "and not 'w'"),
        ((8, 8, 8, "--bc", "periodc"), "did you mean 'periodic'"),
        (
            (8, 8, 8, "--phases", "bubbles", "--bc", "z:periodic"),
            "no direction of which is periodic, and z is",
        ),
        ((8, 8, 8, "--bc", "periodic", "--nullspace", "none"), "the matrix is singular"),
        ((8, 8, 8, "--bc", "periodic", "--stencil", "27", "--storage", "dia"), "use storage csr"),
    ],
)
def test_what_is_refused(cli, words, sentence) -> None:
    code, out, err = cli("poisson", *words, "--engine", "host")
    assert code == 2 and out == "" and sentence in err


def test_large_boxes_of_ranks_are_predicted_without() -> None:
    words = ("poisson", 128, 128, 128, "--bc", "periodic", "--partition", "boxes", "--ranks", 8)
    from sordino.cli.predict import main

    with pytest.raises(
        sordino.BadArgument, match="with periodic directions are predicted up to a million cells"
    ):
        main([str(word) for word in words])
