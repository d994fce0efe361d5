"""``sordino poisson NX NY NZ``: a generated Poisson problem on a box."""

from __future__ import annotations

from collections.abc import Sequence

from ..problems import check_grid, poisson_rows
from .common import Parser, add_solve_options, number, solve_options, warn_of_a_crowd, whole_number
from .run import Problem, solve_problem


def main(argv: Sequence[str]) -> int:
    """Generate, solve, show and write; return the exit code."""
    parser = Parser("poisson", "Solve a Poisson problem on a box of NX x NY x NZ cells, with b = A*1.")
    for name in ("nx", "ny", "nz"):
        parser.add_argument(name, metavar=name.upper(), help=f"cells in {name[1]}")
    parser.add_argument("--stencil", default="7", metavar="7|27", help="points of the stencil (default 7)")
    parser.add_argument(
        "--contrast", default="1", metavar="C", help="density of a sphere to that around it (default 1)"
    )
    parser.add_argument(
        "--boundary", default="dirichlet", metavar="dirichlet|neumann",
        help="zero values (default), or zero flux: singular, with --nullspace constant unless said otherwise",
    )  # fmt: skip
    add_solve_options(parser)
    given = parser.read(argv)
    nx, ny, nz = (whole_number(getattr(given, name), name.upper()) for name in ("nx", "ny", "nz"))
    stencil, contrast = whole_number(given.stencil, "--stencil"), number(given.contrast, "--contrast")
    check_grid(nx, ny, nz, stencil, contrast)

    options = solve_options(given)
    if given.boundary == "neumann":
        options.setdefault("nullspace", "constant")

    def load() -> Problem:
        warn_of_a_crowd(options, nx * ny * nz)
        name = f"Poisson {nx} x {ny} x {nz}, {stencil}-point stencil"
        if contrast != 1:
            name += f", contrast {contrast:g}"
        if given.boundary != "dirichlet":
            name += f", {given.boundary} boundary"
        rows = poisson_rows(nx, ny, nz, stencil, contrast, given.boundary)
        return Problem(name, rows, shape=(nx, ny, nz), coefficient=contrast != 1)

    return solve_problem(given, options, ["poisson", *argv], load)
