"""Reading surfaces; the kind of a file is told by its ending."""

from __future__ import annotations

import io
import os
import re
from typing import Any

import numpy as np

from ..errors import BadArgument, FileError, Unsupported
from ..surfaces.surface import Surface
from . import bem_bb, gmsh
from .opening import check_readable

BEM_BB = (".pbf", ".pbs", ".txt")
GMSH = (".msh",)
#: Read by trimesh.
MESHES = (".obj", ".stl", ".ply", ".off")
ENDINGS = (*BEM_BB, *GMSH, *MESHES)

_NODE = re.compile(rb"^[ \t]*v[ \t]", re.MULTILINE)
_FACE = re.compile(rb"^[ \t]*f[ \t]([^#\n]*)", re.MULTILINE)


def read_surface(path: str | os.PathLike[str], *, allow_open: bool = False) -> Surface:
    """Read a surface of triangles.

    Parameters
    ----------
    path : path
        BEM-BB text (``.pbf``, ``.pbs``, ``.txt``), Gmsh's text (``.msh``), both also ``.gz``; ``.obj``, ``.stl``,
        ``.ply`` and ``.off``, for which trimesh is needed.
    allow_open : bool
        Whether the surface may have a boundary.

    Returns
    -------
    Surface
        With the potentials of a BEM-BB file. Nodes at the same place are one in files that trimesh reads, since STL
        has none that triangles share, and polygons are cut into triangles.

    Raises
    ------
    FileError, BadArgument
        With one sentence for whatever is wrong with the file or the surface.
    Unsupported
        Where trimesh is needed and not installed.
    """
    name = check_readable(path)
    ending = os.path.splitext(name.lower().removesuffix(".gz"))[1]
    potential = None
    if ending in BEM_BB:
        points, triangles, potential = bem_bb.read(name)
    elif ending in GMSH:
        points, triangles = gmsh.read(name)
    elif name.lower().endswith(MESHES):
        points, triangles = _by_trimesh(name, ending[1:])
    else:
        raise FileError(
            f"{name}: a surface is read from {', '.join(ENDINGS[:-1])} and {ENDINGS[-1]}, told by its ending"
        )
    short = os.path.basename(name)
    try:
        return Surface(points, triangles, potential, allow_open=allow_open, name=short)
    except BadArgument as wrong:
        raise BadArgument(f"{short}: {wrong}") from None


def _by_trimesh(name: str, kind: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        import trimesh
    except ImportError:
        raise Unsupported(f"{name}: .{kind} needs trimesh; 'pip install sordino[bem]' brings it") from None
    file: Any = name
    more: dict[str, Any] = {}
    if kind == "obj":
        file = _text_of_obj(name)
        more = {"maintain_order": True, "skip_materials": True}
    try:
        mesh = trimesh.load(file, file_type=kind, force="mesh", process=False, **more)
        points, triangles = np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces, np.int64)
    except ImportError:  # of what guesses the encoding of a text that is none
        raise FileError(
            f"{name} cannot be read as .{kind} (it is neither its binary form nor text)"
        ) from None
    except Exception as error:  # whatever the library makes of a damaged file
        raise FileError(f"{name} cannot be read as .{kind} ({' '.join(str(error).split())[:200]})") from None
    all_there = triangles.size and triangles.min() >= 0 and triangles.max() < len(points)
    return _merged(points, triangles) if all_there else (points, triangles)  # a Surface says what is wrong


def _text_of_obj(name: str) -> io.StringIO:
    """The text, whatever bytes stand in comments and names; a face with a node that is not there is refused.

    Of such a node trimesh has words of its own, or takes the last one for 0. Nodes are counted from 1, or with a minus
    backwards. What is no number is for trimesh. Cost: a second or two for a million faces.
    """
    with open(name, "rb") as file:
        text = file.read()
    nodes = len(_NODE.findall(text))
    for face, found in enumerate(_FACE.finditer(text), 1):
        for corner in found[1].split():
            word = corner.partition(b"/")[0][:20]
            if word.removeprefix(b"-").isdigit() and not 1 <= abs(int(word)) <= nodes:
                line = text.count(b"\n", 0, found.start()) + 1
                raise FileError(
                    f"{name}: face {face}, in line {line}, has node {int(word)}, and nodes are numbered 1 to {nodes}"
                )
    return io.StringIO(text.decode("utf-8", "replace"))


def _merged(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes at the very same place as one, in the order of the first of them."""
    _, first, number = np.unique(points, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return points[first[order]], place[number.ravel()][triangles]
