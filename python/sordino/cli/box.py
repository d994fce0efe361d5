"""The arguments that describe a generated problem, for ``sordino poisson`` and ``sordino predict poisson``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .._box import Box
from ..errors import BadArgument
from ..problems import CUBE, OPEN_TANK, PHASES, Edges, check_shape, checked_spacing
from .common import number, numbers, whole_number


def add_box_options(parser: argparse.ArgumentParser) -> None:
    """All but the numbers of cells."""
    parser.add_argument("--stencil", default="7", metavar="7|27", help="points of the stencil (default 7)")
    parser.add_argument(
        "--contrast", metavar="C",
        help="density of the ball to that around it (default 1), or of the liquid to that of the gas (default 1000)",
    )  # fmt: skip
    parser.add_argument(
        "--bc", "--boundary", metavar="KIND|FACE:KIND|AXIS:periodic,...",
        help="dirichlet, zero values, or neumann, zero flux, on all faces or on some: neumann,z+:dirichlet; faces are "
        "x-, x+, y-, y+, z-, z+; or periodic, in all directions or in some: neumann,z:periodic; "
        "without a Dirichlet face it is singular, and the nullspace projected "
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
    parser.add_argument(
        "--spacing", metavar="X,Y,Z", help="with --phases: edges of a cell in x, y and z (default 1,1,1)"
    )


def box_of(given: argparse.Namespace, words: Sequence[str]) -> Box:
    """The box of so many cells, three words, that a command line describes."""
    nx, ny, nz = (whole_number(word, name) for word, name in zip(words, ("NX", "NY", "NZ"), strict=True))
    stencil = whole_number(given.stencil, "--stencil")
    contrast = number(given.contrast or ("1" if given.phases is None else "1000"), "--contrast")
    check_shape(nx, ny, nz, stencil, contrast)
    if given.phases is None:
        for flag in ("--obstacles", "--problem-seed", "--spacing"):
            if getattr(given, flag[2:].replace("-", "_")) is not None:
                raise BadArgument(f"{flag} needs --phases {' or '.join(PHASES)}")
        return Box((nx, ny, nz), stencil, contrast, "dirichlet" if given.bc is None else given.bc)
    if stencil != 7:
        raise BadArgument(f"--phases has a stencil of 7 points, not {given.stencil}")
    return Box(
        (nx, ny, nz), stencil, contrast, OPEN_TANK if given.bc is None else given.bc, given.phases,
        obstacles=whole_number(given.obstacles or "0", "--obstacles"),
        seed=whole_number(given.problem_seed or "0", "--problem-seed"), spacing=edges_of(given.spacing),
    )  # fmt: skip


def edges_of(text: str | None) -> Edges:
    """Edges of a cell in x, y and z, as ``--spacing`` has them."""
    return CUBE if text is None else checked_spacing(numbers(text, "--spacing"))
