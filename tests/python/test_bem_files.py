"""Files of surfaces: read what was written, and each sentence about what cannot be read."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest

from sordino.errors import BadArgument, FileError, Unsupported
from sordino.io import OutputFile, read_surface, write_bem_bb, write_vtk
from sordino.surfaces import Surface, pair, plate, sphere

POINTS = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"]
FACES = ["0 2 1", "0 1 3", "0 3 2", "1 2 3"]
BEM_BB = ["4", *POINTS, "4", "3", "0", "1", *FACES, "1", "1", "-1", "-1"]
GMSH_2 = [
    "$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", "1", '2 1 "all"', "$EndPhysicalNames",
    "$Nodes", "5", "7 0 0 0", "3 1 0 0", "4 0 1 0", "5 0 0 1", "9 5 5 5", "$EndNodes",
    "$Elements", "5", "1 15 2 0 1 9", "2 2 2 1 1 7 4 3", "3 2 2 1 1 7 3 5", "4 2 2 1 1 7 5 4", "5 2 2 1 1 3 4 5",
    "$EndElements",
]  # fmt: skip
GMSH_4 = [
    "$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$Entities", "1 2 3 4", "$EndEntities",
    "$Nodes", "2 4 1 4", "0 1 0 1", "1", "0 0 0", "2 1 1 3", "2", "3", "4", "1 0 0 0 0", "0 1 0 0 0", "0 0 1 0 0",
    "$EndNodes", "$Elements", "2 5 1 5", "0 1 15 1", "1 1", "2 1 2 4", "2 1 3 2", "3 1 2 4", "4 1 4 3", "5 2 3 4",
    "$EndElements",
]  # fmt: skip
OBJ = ["v " + p for p in POINTS] + ["f " + " ".join(str(1 + int(i)) for i in face.split()) for face in FACES]
TETRAHEDRON = Surface([p.split() for p in POINTS], [[int(i) for i in face.split()] for face in FACES])


@pytest.fixture
def wrote(tmp_path):
    def write(lines, name="a.pbf"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def same_triangles(surface, other):
    np.testing.assert_array_equal(surface.corners, other.corners)


def without(lines, *places):
    return [line for place, line in enumerate(lines, 1) if place not in places]


def instead(lines, place, line):
    return [*lines[: place - 1], *([] if line is None else [line]), *lines[place:]]


@pytest.mark.parametrize(
    "surface", [sphere(5, 4, centre=(0.1, 0.2, 0.3)), pair(3, 2, potentials=(0.1, 1e-300))]
)
def test_bem_bb_comes_back_to_the_bit(tmp_path, surface):
    output = OutputFile(tmp_path / "s.pbf")
    write_bem_bb(output, surface)
    read = read_surface(output.path)
    assert read.name == "s.pbf"
    for name in ("points", "triangles", "potential"):
        np.testing.assert_array_equal(getattr(read, name), getattr(surface, name))
    with pytest.raises(FileError, match="exists already"):
        OutputFile(tmp_path / "s.pbf")


def test_bem_bb_as_others_write_it(wrote, tmp_path):
    """Exponents of Fortran and of Windows, tabs, blank lines, values behind a header that declares none; and gzip."""
    lines = [line.replace("1 0 0", "  0.1000000D+001\t0.0e+000   0.\t") for line in BEM_BB]
    same_triangles(read_surface(wrote(lines)), TETRAHEDRON)
    undeclared = read_surface(wrote(["", *instead(BEM_BB, 9, "0"), "", ""]))
    assert undeclared.potential.tolist() == [1, 1, -1, -1]
    assert read_surface(wrote(instead(BEM_BB, 9, "0")[:-4])).potential is None
    more = [*BEM_BB[:7], "1", "2", *FACES, *"7777", "1 10", "2 20", "3 30", "4 40"]
    assert read_surface(wrote(more)).potential.tolist() == [1, 2, 3, 4]
    (tmp_path / "b.pbs.gz").write_bytes(gzip.compress("\n".join(BEM_BB).encode()))
    assert read_surface(tmp_path / "b.pbs.gz").potential.tolist() == [1, 1, -1, -1]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["x", *BEM_BB[1:]], "line 1 is 'x', where the number of nodes is to stand: one whole number"),
        (["-4", *BEM_BB[1:]], "line 1 is '-4'"),
        (["9" * 30, *BEM_BB[1:]], "line 1 is '99"),
        (instead(BEM_BB, 3, "1 0"), "line 3 is '1 0', where a node is to stand: 3 numbers"),
        (instead(BEM_BB, 3, "1 0 nan"), "line 3 is '1 0 nan', where a node"),
        (instead(BEM_BB, 3, "1 0 1_0"), "line 3 is '1 0 1_0', where a node"),
        (["", *instead(BEM_BB, 3, "1 0 x")], "line 4 is '1 0 x'"),
        (BEM_BB[:3], "ends after line 3, in the middle: 2 of 4 nodes are there"),
        (BEM_BB[:5], "ends after line 5, where the number of faces is missing"),
        (instead(BEM_BB, 7, "4"), "line 7 says that faces have 4 nodes, and only triangles are read"),
        (instead(BEM_BB, 11, "0 1.5 3"), "line 11 is '0 1.5 3', where a face is to stand: 3 whole numbers"),
        (instead(BEM_BB, 11, f"0 1 {2**63}"), "a face with a number beyond 2"),
        (BEM_BB[:12], "ends after line 12, in the middle: 3 of 4 faces are there"),
        (BEM_BB[:-1], "ends after 3 of 4 values of its faces"),
        ([*BEM_BB, "1"], "goes on behind its end: 1 number more than it declares"),
        (instead(BEM_BB, 15, "high"), "line 15 is 'high', where a value of a face is to stand: numbers"),
    ],
)  # fmt: skip
def test_a_damaged_bem_bb_file_is_refused_with_its_line(wrote, lines, sentence):
    with pytest.raises(FileError, match=sentence):
        read_surface(wrote(lines))


def test_what_is_wrong_with_the_surface_is_said_with_the_files_name(wrote):
    with pytest.raises(BadArgument, match=r"^a.pbf: triangle 1 has node 4, and nodes are numbered 0 to 3"):
        read_surface(wrote(instead(BEM_BB, 11, "0 1 4")))
    lines = ["4", *POINTS, "3", "3", "0", "0", *FACES[:3]]
    with pytest.raises(BadArgument, match=r"^a.pbf: the surface is open"):
        read_surface(wrote(lines))
    assert read_surface(wrote(lines), allow_open=True).n == 3


def test_without_potentials_nothing_is_written(tmp_path):
    with pytest.raises(BadArgument, match="surface has no potentials"):
        write_bem_bb(OutputFile(tmp_path / "s.pbf"), TETRAHEDRON)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("lines", [GMSH_2, GMSH_4], ids=["2.2", "4.1"])
def test_gmsh_is_read_without_nodes_and_elements_of_others(wrote, lines):
    surface = read_surface(wrote(lines, "a.msh"))
    same_triangles(surface, TETRAHEDRON)
    assert len(surface.points) == 4 and surface.potential is None


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["solid"], "line 1 is not \\$MeshFormat"),
        (instead(GMSH_2, 2, "2.2 1 8"), "line 2 says that the file is binary: save the mesh as text"),
        (instead(GMSH_2, 2, "3.0 0 8"), "line 2 names no version of the format that is read"),
        ([*GMSH_2[:3], "Nodes"], r"line 4 is in no section, which a word such as \$Nodes begins"),
        (instead(GMSH_4, 9, "4 1 0 1"), "line 9 is no head of a block: dimension, tag, kind and count"),
        (instead(GMSH_4, 9, "0 1 0 -1"), "line 9 is no head of a block"),
        (GMSH_2[:10], "ends after line 10, in the middle: 1 of 5 nodes are there"),
        (GMSH_2[:5], r"ends after line 5, where '\$EndPhysicalNames' is missing"),
        (instead(GMSH_2, 19, "2 2 2 1 1 7 4"), "line 19 is no element: number, kind, tags and nodes"),
        (instead(GMSH_2, 19, "2 2 x"), "line 19 is no element: whole numbers"),
        (instead(GMSH_2, 19, "2 2 2 1 1 7 4 8"), "has a triangle with node 8, which is not among its nodes"),
        (instead(GMSH_4, 26, "2 1 3"), "line 26 is '2 1 3', where a triangle is to stand: 4 whole numbers"),
        (GMSH_4[:14], "ends after line 14, in the middle: 2 of 3 node tags"),
    ],
)  # fmt: skip
def test_a_damaged_mesh_of_gmsh_is_refused_with_its_line(wrote, lines, sentence):
    with pytest.raises(FileError, match=sentence):
        read_surface(wrote(lines, "a.msh"))


def test_a_mesh_of_gmsh_without_triangles_is_empty(wrote):
    with pytest.raises(BadArgument, match=r"a.msh: the surface is empty"):
        read_surface(wrote(GMSH_2[:3], "a.msh"))


def test_obj_off_ply_and_stl_give_the_same_triangles_in_their_order(wrote):
    off = ["OFF", "4 4 0", *POINTS, *("3 " + face for face in FACES)]
    ply = ["ply", "format ascii 1.0", "element vertex 4", *(f"property float {x}" for x in "xyz"),
           "element face 4", "property list uchar int vertex_indices", "end_header", *POINTS,
           *("3 " + face for face in FACES)]  # fmt: skip
    stl = ["solid a"]
    for face in FACES:
        corners = [f"vertex {POINTS[int(node)]}" for node in face.split()]
        stl += ["facet normal 0 0 1", "outer loop", *corners, "endloop", "endfacet"]
    for name, lines in {"a.obj": OBJ, "a.off": off, "a.ply": ply, "a.stl": [*stl, "endsolid a"]}.items():
        surface = read_surface(wrote(lines, name))
        same_triangles(surface, TETRAHEDRON)
        assert len(surface.points) == 4, name  # those of STL are merged


def test_obj_with_squares_textures_and_groups(wrote):
    """Corners with textures of their own are one node, and a square is two triangles."""
    pyramid = [
        "o one", "v 0 0 0", "v 1 0 0", "v 1 1 0", "v 0 1 0", "v .5 .5 1", "vt 0 0", "vt 1 1", "g base",
        "f 4/1 3/2 2/1 1/2", "g sides", "f 1/1 2/1 5/1", "f 2/2 3/2 5/2", "f 3/1 4/1 5/2", "f 4/2 1/1 5/1",
    ]  # fmt: skip
    surface = read_surface(wrote(pyramid, "a.obj"))
    assert surface.n == 6 and len(surface.points) == 5 and surface.conductor_count == 1


@pytest.mark.parametrize("corner", ["9", "0", "-5", "9/1/1", "99999999999999999999999"])
def test_a_face_of_an_obj_with_a_node_that_is_not_there_is_named(wrote, corner):
    last = OBJ[-1].split()
    path = wrote(["# a tetrahedron", *OBJ[:-1], " ".join([*last[:-1], corner])], "a.obj")
    node = corner.partition("/")[0][:20]
    with pytest.raises(
        FileError,
        match=rf"a.obj: face 4, in line {len(OBJ) + 1}, has node {node}, and nodes are numbered 1 to 4$",
    ):
        read_surface(path)


def test_nodes_of_an_obj_may_be_counted_backwards(wrote):
    backwards = [" ".join(["f", *(str(int(node) - 4) for node in face.split())]) for face in FACES]
    nodes = [line for line in OBJ if line.startswith("v ")]
    same_triangles(read_surface(wrote([*nodes, *backwards], "a.obj")), TETRAHEDRON)


def test_a_face_of_a_ply_with_a_node_that_is_not_there_is_named(wrote):
    ply = ["ply", "format ascii 1.0", "element vertex 4", *(f"property float {x}" for x in "xyz"),
           "element face 4", "property list uchar int vertex_indices", "end_header", *POINTS,
           *("3 " + face for face in FACES[:3]), "3 0 1 8"]  # fmt: skip
    with pytest.raises(BadArgument, match=r"^a.ply: triangle 3 has node 8, and nodes are numbered 0 to 3$"):
        read_surface(wrote(ply, "a.ply"))


@pytest.mark.parametrize("name", ["a.obj", "a.stl", "a.ply", "a.off"])
def test_what_is_no_mesh_is_refused_with_one_sentence(wrote, name):
    with pytest.raises((FileError, BadArgument), match=rf"{name}.*(cannot be read as|the surface is empty)"):
        read_surface(wrote(["this is", "no mesh 1 2 3"], name))


@pytest.mark.parametrize("name", ["a.obj", "a.stl", "a.ply", "a.off"])
def test_bytes_that_are_no_text_are_refused_with_one_sentence(tmp_path, name):
    """Also where what guesses encodings is not installed, of which trimesh then has words."""
    (tmp_path / name).write_bytes(np.random.default_rng(12).bytes(700))
    with pytest.raises((FileError, BadArgument), match=rf"^\S*{name}[: ]") as refused:
        read_surface(tmp_path / name)
    assert "module" not in str(refused.value)


def test_an_obj_may_have_a_comment_in_any_encoding(tmp_path):
    lines = ["# W\xfcrfel", "o K\xf6rper", *OBJ]
    (tmp_path / "a.obj").write_bytes("\n".join(lines).encode("latin-1"))
    same_triangles(read_surface(tmp_path / "a.obj"), TETRAHEDRON)


def test_without_trimesh_it_is_said_what_brings_it(wrote, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(
        Unsupported, match=r"a.obj: .obj needs trimesh; 'pip install sordino\[bem\]' brings it"
    ):
        read_surface(wrote(OBJ, "a.obj"))
    assert read_surface(wrote(BEM_BB)).n == 4


def test_other_files_are_refused(wrote, tmp_path):
    with pytest.raises(
        FileError, match=r"a.doc: a surface is read from .pbf, .* and .off, told by its ending"
    ):
        read_surface(wrote(BEM_BB, "a.doc"))
    with pytest.raises(FileError, match="there is no such file"):
        read_surface(tmp_path / "none.obj")


def parse_vtk(data):
    """Points, triangles and fields of a file in VTK's legacy format."""
    parts = data.split(b"\n", 4)
    assert parts[0] == b"# vtk DataFile Version 3.0" and parts[2:4] == [b"BINARY", b"DATASET POLYDATA"]
    head, data = parts[4].split(b"\n", 1)
    nodes = int(head.split()[1])
    points = np.frombuffer(data, ">f8", 3 * nodes).reshape(nodes, 3)
    _, head, data = data[24 * nodes :].split(b"\n", 2)
    n, size = map(int, head.split()[1:])
    rows = np.frombuffer(data, ">i4", size).reshape(n, 4)
    _, head, data = data[4 * size :].split(b"\n", 2)
    assert head == f"CELL_DATA {n}".encode() and set(rows[:, 0]) == {3}
    fields = {}
    while data:
        head, table, data = data.split(b"\n", 2)
        assert head.split()[::2] == [b"SCALARS", b"double"] and table == b"LOOKUP_TABLE default"
        fields[head.split()[1].decode()] = np.frombuffer(data, ">f8", n)
        data = data[8 * n + 1 :]
    return points, rows[:, 1:], fields


def test_vtk_holds_points_triangles_and_fields_to_the_bit(tmp_path):
    surface = plate(3)
    charge = np.random.default_rng(1).normal(size=surface.n)
    write_vtk(OutputFile(tmp_path / "a.vtk"), surface, {"charge": charge, "potential": surface.potential})
    points, triangles, fields = parse_vtk((tmp_path / "a.vtk").read_bytes())
    np.testing.assert_array_equal(points, surface.points)
    np.testing.assert_array_equal(triangles, surface.triangles)
    np.testing.assert_array_equal(fields["charge"], charge)
    np.testing.assert_array_equal(fields["potential"], surface.potential)
