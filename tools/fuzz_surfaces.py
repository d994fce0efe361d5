"""Surfaces for tools/fuzz_readers.py: a tetrahedron or two in the formats that Sordino itself reads."""

from __future__ import annotations

from random import Random

from fuzz_damage import Input, as_file

_PLACES = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
_FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def bem_bb(random: Random) -> Input:
    """BEM-BB text with and without values of the faces, some of them not declared."""
    points, faces = _bodies(random)
    wholes, reals = random.choice((0, 0, 1)), random.choice((0, 1, 2))
    lines = [str(len(points)), *points, str(len(faces)), "3", str(wholes), str(reals)]
    lines += [" ".join(map(str, face)) for face in faces]
    lines += ["7"] * (wholes * len(faces))
    lines += [" ".join([_number(random)] * reals)] * (len(faces) if reals else 0)
    if wholes + reals == 0 and random.random() < 0.5:
        lines += [_number(random) for _ in faces]
    return as_file(random, "\n".join([*lines, ""]), ".pbf", use="surface")


def gmsh(random: Random) -> Input:
    """Meshes of Gmsh in versions 2.2 and 4.1, with a section and an element of no interest."""
    points, faces = _bodies(random)
    rows = [" ".join(str(node + 1) for node in face) for face in faces]
    n, m = len(points), len(faces)
    if random.random() < 0.5:
        nodes = [str(n), *(f"{k} {point}" for k, point in enumerate(points, 1))]
        elements = [str(m + 1), "1 15 2 0 1 1", *(f"{k} 2 2 0 1 {row}" for k, row in enumerate(rows, 2))]
        version = "2.2"
    else:
        parametric = random.choice((0, 1))
        nodes = [f"1 {n} 1 {n}", f"2 1 {parametric} {n}", *map(str, range(1, n + 1))]
        nodes += [point + " 0.5 0.5" * parametric for point in points]
        elements = [f"2 {m + 1} 1 {m + 1}", "0 1 15 1", "1 1", f"2 1 2 {m}"]
        elements += [f"{k} {row}" for k, row in enumerate(rows, 2)]
        version = "4.1"
    lines = [
        "$MeshFormat",
        f"{version} 0 8",
        "$EndMeshFormat",
        "$PhysicalNames",
        "1",
        '2 1 "a"',
        "$EndPhysicalNames",
    ]
    lines += ["$Nodes", *nodes, "$EndNodes", "$Elements", *elements, "$EndElements", ""]
    return as_file(random, "\n".join(lines), ".msh", use="surface")


def _bodies(random: Random) -> tuple[list[str], list[tuple[int, ...]]]:
    """Places as words and faces, of one tetrahedron or two that lie apart."""
    count = random.choice((1, 2))
    points = [" ".join(str(x + 5.0 * body) for x in place) for body in range(count) for place in _PLACES]
    return points, [tuple(node + 4 * body for node in face) for body in range(count) for face in _FACES]


def _number(random: Random) -> str:
    word: str = random.choice(("%.17g", "%.3e", "%+.12E")) % random.uniform(-10, 10)
    return word.replace("E", random.choice("ED"))
