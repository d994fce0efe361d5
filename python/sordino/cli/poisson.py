"""``sordino poisson NX NY NZ``: a generated Poisson problem on a box."""

from __future__ import annotations

from collections.abc import Sequence

from ..problems import check_grid, poisson_rows
from .common import Parser, add_solve_options, number, solve_options, whole_number
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
    add_solve_options(parser)
    given = parser.read(argv)
    nx, ny, nz = (whole_number(getattr(given, name), name.upper()) for name in ("nx", "ny", "nz"))
    stencil, contrast = whole_number(given.stencil, "--stencil"), number(given.contrast, "--contrast")
    check_grid(nx, ny, nz, stencil, contrast)

    def load() -> Problem:
        name = f"Poisson {nx} x {ny} x {nz}, {stencil}-point stencil"
        if contrast != 1:
            name += f", contrast {contrast:g}"
        rows = poisson_rows(nx, ny, nz, stencil, contrast)
        return Problem(name, rows, shape=(nx, ny, nz), coefficient=contrast != 1)

    return solve_problem(given, solve_options(given), ["poisson", *argv], load)
