"""Conditions on the faces of a box, as they are written: ``neumann,z+:dirichlet`` or ``neumann,x:periodic``."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import BadArgument, shown, suggestion

#: The faces of a box: the one where a coordinate is least, and the one where it is greatest.
FACES = ("x-", "x+", "y-", "y+", "z-", "z+")

#: Of a periodic direction: of two cells the ends are neighbours anyhow.
LEAST_AROUND = 3

#: Some cells of an array of shape (nz, ny, nx).
Place = tuple[slice | int, ...]

_KINDS, _PERIODIC = ("dirichlet", "neumann"), "periodic"


def conditions(boundary: str) -> tuple[frozenset[str], str]:
    """The faces with Dirichlet's condition, and the directions that are periodic; Neumann's holds on other faces.

    Parameters
    ----------
    boundary : str
        Words with commas between them: ``face:kind`` for one of :data:`FACES`, ``x:periodic`` for a direction, a bare
        kind for all that is not named, which is Dirichlet's where there is no such word. A bare ``periodic`` holds for
        directions of which no face is named; of others both are to be.

    Raises
    ------
    BadArgument
        For what is no face or no kind, for a face that has two, and one that has none beside a bare ``periodic``.
    """
    kinds: dict[str, str] = {}
    around = ""
    for word in boundary.split(",") if isinstance(boundary, str) else [boundary]:
        face, colon, kind = word.strip().rpartition(":") if isinstance(word, str) else ("", "", word)
        if kind not in (*_KINDS, _PERIODIC):
            near = suggestion(str(kind), (*_KINDS, _PERIODIC))
            raise BadArgument(f"a boundary is dirichlet, neumann or periodic, not {shown(kind)}{near}")
        if kind == _PERIODIC and colon and face in ("x", "y", "z"):
            around += face
        elif kind == _PERIODIC and face in FACES:
            raise BadArgument(
                f"a direction is periodic as a whole: say {face[0]}:periodic, not {word.strip()}"
            )
        elif colon and face not in FACES:
            raise BadArgument(f"a box has the faces {', '.join(FACES)}, and not {shown(face)}")
        elif face in kinds:
            raise BadArgument(f"the boundary names {face or 'what holds elsewhere'} twice")
        else:
            kinds[face] = kind
    elsewhere = kinds.pop("", "dirichlet")
    around = _directions(around, kinds, elsewhere)
    faces = {face: kinds.get(face, elsewhere) for face in FACES if face[0] not in around}
    return frozenset(face for face, kind in faces.items() if kind == "dirichlet"), around


def _directions(named: str, kinds: dict[str, str], elsewhere: str) -> str:
    """The periodic ones of those that are named and of what holds elsewhere, in the order of x, y and z."""
    for axis in "xyz":
        faces = [face for face in kinds if face[0] == axis]
        if named.count(axis) > 1 or (faces and axis in named):
            raise BadArgument(f"the boundary names {faces[0] if faces else axis} twice: {axis} is periodic")
        if elsewhere == _PERIODIC and not faces and axis not in named:
            named += axis
        elif elsewhere == _PERIODIC and len(faces) == 1:
            other = f"{axis}{'-+'[faces[0][1] == '-']}"
            raise BadArgument(f"{axis} is not periodic where {faces[0]} is named: name {other}, too")
    return "".join(sorted(named))


def dirichlet_faces(boundary: str) -> frozenset[str]:
    """The faces with Dirichlet's condition, of a box without periodic directions; else as :func:`conditions`."""
    faces, around = conditions(boundary)
    if around:
        raise BadArgument(f"two phases are in a tank, no direction of which is periodic, and {around[0]} is")
    return faces


def check_around(around: str, cells: Sequence[int]) -> None:
    """Refuse periodic directions of a box of so many cells in x, y and z in which ends are neighbours already."""
    for axis in around:
        if (count := cells["xyz".index(axis)]) < LEAST_AROUND:
            raise BadArgument(
                f"a periodic direction has {LEAST_AROUND} cells or more, so that its ends are no neighbours already, "
                f"and {axis} has {count}"
            )


def at_face(name: str) -> Place:
    """Cells at a face of the box, ``"x-"`` to ``"z+"``, in an array of shape (nz, ny, nx)."""
    place: list[slice | int] = [slice(None)] * 3
    place["zyx".index(name[0])] = 0 if name[1] == "-" else -1
    return tuple(place)
