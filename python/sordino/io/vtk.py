"""Fields on surfaces for ParaView: VTK's legacy format, in binary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO

import numpy as np

from ..surfaces.surface import Surface
from .output import OutputFile


def write_vtk(output: OutputFile, surface: Surface, fields: Mapping[str, np.ndarray]) -> None:
    """Write a surface with a number for each triangle, or several.

    Parameters
    ----------
    output : OutputFile
        ``.vtk``.
    surface : Surface
    fields : mapping of str to ndarray, shape (n,)
        By names without blanks.

    Notes
    -----
    Numbers are doubles, to the bit; 24 bytes a node, 16 and 8 a field a triangle.
    """
    rows = np.column_stack([np.full(surface.n, 3), surface.triangles])

    def content(stream: IO[bytes]) -> None:
        stream.write(
            f"# vtk DataFile Version 3.0\n{surface.name[:200]}\nBINARY\nDATASET POLYDATA\n".encode(
                "ascii", "replace"
            )
        )
        stream.write(f"POINTS {len(surface.points)} double\n".encode())
        stream.write(surface.points.astype(">f8").tobytes())
        stream.write(f"\nPOLYGONS {surface.n} {rows.size}\n".encode())
        stream.write(rows.astype(">i4").tobytes())
        stream.write(f"\nCELL_DATA {surface.n}\n".encode())
        for name, values in fields.items():
            stream.write(f"SCALARS {name} double 1\nLOOKUP_TABLE default\n".encode())
            stream.write(np.asarray(values, dtype=">f8").tobytes() + b"\n")

    output.write(content)
