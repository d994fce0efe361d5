"""``sordino poisson NX NY NZ``: a generated Poisson problem on a box, of a ball or of two phases that flow."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._matrix import as_csr
from ..errors import BadArgument
from ..problems import (
    OPEN_TANK,
    PHASES,
    PressureProblem,
    check_grid,
    dirichlet_faces,
    multiphase,
    poisson_rows,
)
from ..report import pictures
from .common import Parser, add_solve_options, number, solve_options, warn_of_a_crowd, whole_number
from .run import Problem, solve_problem


def main(argv: Sequence[str]) -> int:
    """Generate, solve, show and write; return the exit code."""
    given = _parser().read(argv)
    cells = tuple(whole_number(getattr(given, name), name.upper()) for name in ("nx", "ny", "nz"))
    options = solve_options(given)
    if options.get("precond") == "block-ilu" or options.get("partition") == "boxes":
        options.setdefault("grid", ",".join(map(str, cells)))
    make = _with_ball if given.phases is None else _with_phases

    def load() -> Problem:
        warn_of_a_crowd(options, math.prod(cells))
        problem = make(given, cells)
        problem.nullspace = _to_project(problem.nullspace, getattr(given, "nullspace", None), options)
        return problem

    return solve_problem(given, options, ["poisson", *argv], load)


def _parser() -> Parser:
    parser = Parser(
        "poisson",
        "Solve a Poisson problem on a box of NX x NY x NZ cells: with a ball of another density in it and b = A*1, or "
        "the pressure of two phases that flow.",
    )
    for name in ("nx", "ny", "nz"):
        parser.add_argument(name, metavar=name.upper(), help=f"cells in {name[1]}")
    parser.add_argument("--stencil", default="7", metavar="7|27", help="points of the stencil (default 7)")
    parser.add_argument(
        "--contrast", metavar="C",
        help="density of the ball to that around it (default 1), or of the liquid to that of the gas (default 1000)",
    )  # fmt: skip
    parser.add_argument(
        "--bc", "--boundary", metavar="KIND|FACE:KIND,...",
        help="dirichlet, zero values, or neumann, zero flux, on all faces or on some: neumann,z+:dirichlet; faces are "
        "x-, x+, y-, y+, z-, z+; all neumann is singular, and the nullspace projected "
        f"(default dirichlet; with --phases {OPEN_TANK}, an open tank)",
    )  # fmt: skip
    parser.add_argument(
        "--phases", metavar="|".join(PHASES), help="pressure of a gas and a liquid, in place of the ball"
    )
    parser.add_argument(
        "--obstacles", metavar="N", help="with --phases: so many solid boxes at random places (default 0)"
    )
    parser.add_argument(
        "--problem-seed", metavar="N", help="with --phases: for their shapes and the obstacles (default 0)"
    )
    add_solve_options(parser)
    return parser


def _with_ball(given: argparse.Namespace, cells: tuple[int, ...]) -> Problem:
    for flag, word in (("--obstacles", given.obstacles), ("--problem-seed", given.problem_seed)):
        if word is not None:
            raise BadArgument(f"{flag} needs --phases {' or '.join(PHASES)}")
    nx, ny, nz = cells
    stencil, contrast = whole_number(given.stencil, "--stencil"), number(given.contrast or "1", "--contrast")
    boundary = "dirichlet" if given.bc is None else given.bc
    check_grid(nx, ny, nz, stencil, contrast)
    name = f"Poisson {nx} x {ny} x {nz}, {stencil}-point stencil"
    if contrast != 1:
        name += f", contrast {contrast:g}"
    if boundary != "dirichlet":
        name += f", {boundary} boundary"
    rows = poisson_rows(nx, ny, nz, stencil, contrast, boundary)
    null = None if dirichlet_faces(boundary) else "constant"
    return Problem(name, rows, shape=(nx, ny, nz), coefficient=contrast != 1, nullspace=null)


def _with_phases(given: argparse.Namespace, cells: tuple[int, ...]) -> Problem:
    if whole_number(given.stencil, "--stencil") != 7:
        raise BadArgument(f"--phases has a stencil of 7 points, not {given.stencil}")
    nx, ny, nz = cells
    made = multiphase(
        nx, ny, nz,
        phases=given.phases,
        contrast=number(given.contrast or "1000", "--contrast"),
        boundary=OPEN_TANK if given.bc is None else given.bc,
        obstacles=whole_number(given.obstacles or "0", "--obstacles"),
        seed=whole_number(given.problem_seed or "0", "--problem-seed"),
    )  # fmt: skip
    name = (
        f"Pressure {nx} x {ny} x {nz}, {given.phases}, contrast {made.contrast:g}, {made.boundary} boundary"
    )
    notes = ["b is that of a time step: gravity, and the phases in motion."]
    if solid := int(made.solid.sum()):
        notes.append(f"{solid:,} cells are solid: their rows are those of the identity, their x is 0.")
    return Problem(
        name, as_csr(made.A), made.b, notes=notes, shape=(nx, ny, nz),
        nullspace=made.nullspace, pictures=[_picture(made)],
    )  # fmt: skip


def _to_project(null: Any, flag: str | None, options: dict[str, Any]) -> Any:
    """What a solve is to project out, None where its options say it or the matrix is regular."""
    if null is None:
        return None
    if flag == "none":
        raise BadArgument(
            "without a Dirichlet face the matrix is singular, and --nullspace none would not project its nullspace: "
            "leave it out"
        )
    return null if options.get("nullspace", "none") in ("none", "constant") else None


def _picture(made: PressureProblem) -> pictures.Picture:
    """The coefficient 1/rho in the middle layer in y, with z upwards; solid cells are left blank."""
    ny = made.density.shape[1]
    layer = np.where(made.solid, np.nan, np.log10(1 / made.density))[:, ny // 2]
    caption = f"log10(1/rho) in the layer y = {ny // 2} of {ny}; the liquid has the low value, solid cells are blank."
    return pictures.map_of(layer, "Coefficient", caption, axes=("x", "z"))
