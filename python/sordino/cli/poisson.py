"""``sordino poisson NX NY NZ``: a generated Poisson problem on a box, of a ball or of two phases that flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._box import Box
from ..errors import BadArgument
from ..problems import PressureProblem
from ..report import pictures
from .box import add_box_options, box_of
from .common import Parser, add_solve_options, solve_options, warn_of_a_crowd
from .run import Problem, solve_problem


def main(argv: Sequence[str]) -> int:
    """Generate, solve, show and write; return the exit code."""
    given = _parser().read(argv)
    box = box_of(given, (given.nx, given.ny, given.nz))
    options = solve_options(given)
    if options.get("precond", "auto") in ("auto", "block-ilu", "mg") or options.get("partition") == "boxes":
        options.setdefault("grid", ",".join(map(str, box.cells)))

    def load() -> Problem:
        warn_of_a_crowd(options, box.n)
        problem = _problem(box)
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
    add_box_options(parser)
    add_solve_options(parser)
    return parser


def _problem(box: Box) -> Problem:
    made = box.made()
    if made.pressure is None:
        return Problem(
            box.name, made.rows, shape=box.cells, coefficient=box.contrast != 1, nullspace=made.nullspace
        )
    notes = ["b is that of a time step: gravity, and the phases in motion."]
    if solid := int(made.pressure.solid.sum()):
        notes.append(f"{solid:,} cells are solid: their rows are those of the identity, their x is 0.")
    return Problem(
        box.name, made.rows, made.rhs, notes=notes, shape=box.cells,
        nullspace=made.nullspace, pictures=[_picture(made.pressure)],
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
