"""Conditions on the faces of a box, as they are written: ``neumann,z+:dirichlet``."""

from __future__ import annotations

from ..errors import BadArgument, shown, suggestion

#: The faces of a box: the one where a coordinate is least, and the one where it is greatest.
FACES = ("x-", "x+", "y-", "y+", "z-", "z+")

_KINDS = ("dirichlet", "neumann")


def dirichlet_faces(boundary: str) -> frozenset[str]:
    """The faces with Dirichlet's condition; Neumann's holds on the others.

    Parameters
    ----------
    boundary : str
        Words with commas between them: ``face:kind`` for one of :data:`FACES`, a bare ``kind`` for all faces that are
        not named; those are Dirichlet's where there is no such word.

    Raises
    ------
    BadArgument
        For what is no face or no kind, and for a face that has two.
    """
    kinds: dict[str, str] = {}
    for word in boundary.split(",") if isinstance(boundary, str) else [boundary]:
        face, colon, kind = word.strip().rpartition(":") if isinstance(word, str) else ("", "", word)
        if kind not in _KINDS:
            near = suggestion(str(kind), _KINDS)
            raise BadArgument(f"a boundary is dirichlet or neumann, not {shown(kind)}{near}")
        if colon and face not in FACES:
            raise BadArgument(f"a box has the faces {', '.join(FACES)}, and not {shown(face)}")
        if face in kinds:
            raise BadArgument(f"the boundary names {face or 'what holds elsewhere'} twice")
        kinds[face] = kind
    elsewhere = kinds.get("", "dirichlet")
    return frozenset(face for face in FACES if kinds.get(face, elsewhere) == "dirichlet")
