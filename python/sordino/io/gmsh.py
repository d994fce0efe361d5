"""Triangles of a mesh of Gmsh: its text format (``.msh``) in versions 2.2 and 4.1, of which the rest is passed over."""

from __future__ import annotations

import numpy as np

from ..errors import FileError, shown
from .number_lines import NumberLines, real, whole

_TRIANGLE = 2  # Gmsh's number for a triangle of three nodes


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and triangles of a file; only nodes of triangles are kept, in the file's order.

    Raises
    ------
    FileError
        For a binary file, for another version, and with the line for whatever is wrong.
    """
    lines = NumberLines(name)
    version = _version(lines)
    tags, points, triangles = np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    while lines.left:
        section = lines.words("a section")
        if section == [b"$Nodes"]:
            tags, points = (_nodes_4 if version == 4 else _nodes_2)(lines)
        elif section == [b"$Elements"]:
            triangles = (_elements_4 if version == 4 else _elements_2)(lines)
        elif not section[0].startswith(b"$"):
            raise lines.wrong("is in no section, which a word such as $Nodes begins")
        elif not section[0].startswith(b"$End"):
            _pass_over(lines, b"$End" + section[0][1:])
    return _used(name, tags, points, triangles)


def _version(lines: NumberLines) -> int:
    if lines.words("$MeshFormat") != [b"$MeshFormat"]:
        raise lines.wrong("is not $MeshFormat, with which a mesh of Gmsh begins")
    words = lines.words("the version")
    if len(words) != 3 or words[0] not in (b"2.2", b"2.1", b"2", b"4.1"):
        raise lines.wrong("names no version of the format that is read: save the mesh as 4.1 or 2.2")
    if words[1] != b"0":
        raise lines.wrong("says that the file is binary: save the mesh as text (gmsh -save -bin 0)")
    return int(words[0][:1])


def _pass_over(lines: NumberLines, end: bytes) -> None:
    while lines.words(shown(end.decode("ascii", "replace"))) != [end]:
        pass


def _nodes_2(lines: NumberLines) -> tuple[np.ndarray, np.ndarray]:
    rows = lines.table(lines.count("the number of nodes"), 4, real, "node")
    return rows[:, 0].astype(np.int64), rows[:, 1:]


def _nodes_4(lines: NumberLines) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of nodes: the tags of a block, then its places, behind which parameters may stand."""
    blocks = lines.table(1, 4, whole, "block count")[0, 0]
    tags, points = [np.zeros(0, np.int64)], [np.zeros((0, 3))]
    for _ in range(blocks):
        dimension, parametric, count = _block_head(lines)
        tags.append(lines.table(count, 1, whole, "node tag")[:, 0])
        points.append(lines.table(count, 3 + (dimension if parametric else 0), real, "node")[:, :3])
    return np.concatenate(tags), np.concatenate(points)


def _elements_2(lines: NumberLines) -> np.ndarray:
    """Lines of: number, kind, number of tags, tags, nodes."""
    triangles: list[list[int]] = []
    for _ in range(lines.count("the number of elements")):
        row = _whole_row(lines)
        if len(row) < 3 or (row[1] == _TRIANGLE and len(row) != 6 + row[2]):
            raise lines.wrong("is no element: number, kind, tags and nodes are to stand there")
        if row[1] == _TRIANGLE:
            triangles.append(row[-3:])
    return np.array(triangles, dtype=np.int64).reshape(-1, 3)


def _elements_4(lines: NumberLines) -> np.ndarray:
    """Blocks of elements of one kind, lines of: tag, nodes."""
    blocks = lines.table(1, 4, whole, "block count")[0, 0]
    triangles = [np.zeros((0, 3), np.int64)]
    for _ in range(blocks):
        _, kind, count = _block_head(lines)
        if kind == _TRIANGLE:
            triangles.append(lines.table(count, 4, whole, "triangle")[:, 1:])
        else:
            for _ in range(count):
                lines.words("an element")
    return np.concatenate(triangles)


def _block_head(lines: NumberLines) -> tuple[int, int, int]:
    """Dimension, what the third number says, and how many there are."""
    dimension, _, what, count = map(int, lines.table(1, 4, whole, "block head")[0])
    if not 0 <= dimension <= 3 or count < 0:
        raise lines.wrong("is no head of a block: dimension, tag, kind and count are to stand there")
    return dimension, what, count


def _whole_row(lines: NumberLines) -> list[int]:
    try:
        return [whole(word) for word in lines.words("an element")]
    except ValueError:
        raise lines.wrong("is no element: whole numbers are to stand there") from None


def _used(
    name: str, tags: np.ndarray, points: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that triangles have, numbered from 0."""
    order = np.argsort(tags, kind="stable")
    place = np.searchsorted(tags[order], triangles)
    known = place < len(tags)
    known[known] = tags[order][place[known]] == triangles[known]
    if not known.all():
        raise FileError(
            f"{name} has a triangle with node {triangles[~known][0]}, which is not among its nodes"
        )
    used, number = np.unique(order[place], return_inverse=True)
    return points[used], number.reshape(-1, 3)
