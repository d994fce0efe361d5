"""Surfaces in the text format of the BEM-BB framework of ppOpen-HPC (``.pbf``, ``.pbs``), as HACApK's inputs are.

The number of nodes and their places; the numbers of faces, of nodes a face (3), of whole numbers and of reals a face;
the faces, with nodes from 0; then the values of the faces, whole numbers first. The first real is the potential.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from ..errors import BadArgument, FileError
from ..report.words import count
from ..surfaces.surface import Surface
from .number_lines import NumberLines, real, whole
from .output import OutputFile


def read(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Nodes, triangles and potentials of a file; None where it has no potentials.

    Some writers declare no values and append potentials all the same: these are taken.

    Raises
    ------
    FileError
        With the line, for whatever is wrong with the file.
    """
    lines = NumberLines(name)
    points = lines.table(lines.count("the number of nodes"), 3, real, "node")
    faces = lines.count("the number of faces")
    corners = lines.count("the number of nodes a face")
    if corners != 3:
        raise lines.wrong(f"says that faces have {corners} nodes, and only triangles are read")
    wholes = lines.count("the number of whole numbers a face")
    reals = lines.count("the number of reals a face")
    triangles = lines.table(faces, 3, whole, "face")
    values = lines.rest(real, "a value of a face")
    if wholes + reals == 0 and len(values) == faces:
        reals = 1
    declared = faces * (wholes + reals)
    if len(values) < declared:
        raise FileError(f"{name} ends after {len(values):,} of {declared:,} values of its faces")
    if len(values) > declared:
        raise FileError(
            f"{name} goes on behind its end: {count(len(values) - declared, 'number')} more than it declares"
        )
    potential = np.array(values[faces * wholes :]).reshape(faces, reals)[:, 0] if reals and faces else None
    return points, triangles, potential


def write_bem_bb(output: OutputFile, surface: Surface) -> None:
    """Write a surface with its potentials, with 17 digits, so that the numbers come back to the bit.

    Raises
    ------
    BadArgument
        Without potentials.
    FileError
    """
    potential = surface.potential
    if potential is None:
        raise BadArgument(f"{surface.name} has no potentials, which a BEM-BB file is to hold")

    def text(stream: IO[bytes]) -> None:
        stream.write(f"{len(surface.points)}\n".encode())
        np.savetxt(stream, surface.points, fmt="%.17g")
        stream.write(f"{surface.n}\n3\n0\n1\n".encode())
        np.savetxt(stream, surface.triangles, fmt="%d")
        np.savetxt(stream, potential, fmt="%.17g")

    output.write(text)
