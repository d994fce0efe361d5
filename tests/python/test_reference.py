"""The reference is whole: public names are documented, modules have a stability, what code cites of papers is there."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import sordino

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
THEORY = ROOT / "docs" / "theory"
LABELS = {"stable", "provisional", "experimental"}


def rows(page: Path, heading: str) -> dict[str, str]:
    """Of the table under a heading: the first column, without its quotes, and the second."""
    section = page.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| `([^`]+)` \| (\w+) \|", section, flags=re.M)
    assert len(found) == len(dict(found)), f"{page}, {heading}: a module stands there twice"
    return dict(found)


def test_every_module_of_python_has_a_stability() -> None:
    public = {
        f"sordino.{module.name}" for module in pkgutil.iter_modules(sordino.__path__) if module.name[0] != "_"
    }
    labels = rows(REFERENCE / "stability.md", "Python")
    assert set(labels) == public | {"sordino"}
    assert set(labels.values()) <= LABELS


def test_every_folder_of_headers_has_a_stability() -> None:
    sources = ROOT / "src" / "sordino"
    folders = {path.name for path in sources.iterdir() if any(path.rglob("*.hpp"))}
    labels = rows(REFERENCE / "stability.md", "C++")
    assert set(labels) == folders
    doors = {f"api/{path.name}" for path in (sources / "api").iterdir() if path.suffix in (".h", ".f90")}
    faces = rows(REFERENCE / "stability.md", "C and Fortran")
    assert set(faces) == doors
    assert {*labels.values(), *faces.values()} <= LABELS


def test_every_folder_of_headers_is_listed_by_layer() -> None:
    listed = re.findall(
        r"^```\{headers\} (\w+)$", (REFERENCE / "cpp.md").read_text(encoding="utf-8"), flags=re.M
    )
    assert sorted(listed) == sorted(rows(REFERENCE / "stability.md", "C++"))


@pytest.mark.parametrize("module", ["sordino", "sordino.linalg", "sordino.io", "sordino.surfaces"])
def test_public_names_are_in_the_reference_and_say_what_they_do(module: str) -> None:
    page = (REFERENCE / "python.md").read_text(encoding="utf-8")
    written = {name.rpartition(".")[2] for name in re.findall(r"^\.\. auto\w+:: ([\w.]+)$", page, flags=re.M)}
    found = importlib.import_module(module)
    for name in found.__all__:
        thing = getattr(found, name)
        if name.startswith("__") or not (isinstance(thing, type) or callable(thing)):
            continue
        assert name in written, f"{module}.{name} is public, and not in the reference"
        assert (thing.__doc__ or "").strip(), f"{module}.{name} has no docstring"


def citations() -> set[str]:
    """The errata that the code cites, as 001-E2; a range counts as its members."""
    cited = set()
    for folder in ("src", "python", "tests", "examples", "bench"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in {".hpp", ".cpp", ".cu", ".cuh", ".inl", ".py", ".h", ".c"} or path == Path(
                __file__
            ):
                continue
            text = path.read_text(encoding="utf-8")
            for paper, first, last in re.findall(r"\b(00\d)-E(\d+)(?:\.\.E(\d+))?", text):
                cited |= {f"{paper}-E{k}" for k in range(int(first), int(last or first) + 1)}
    return cited


def test_corrections_that_the_code_cites_are_on_the_pages_of_their_papers() -> None:
    cited = citations()
    assert {"000-E1", "000-E6", "001-E2"} <= cited  # else nothing is looked for
    for correction in cited:
        page = THEORY / f"{correction[:3]}.md"
        assert f"\n| {correction} |" in page.read_text(encoding="utf-8"), (
            f"{correction} is cited, and not in {page.name}"
        )


def test_papers_have_pages_and_the_pages_have_their_numbers() -> None:
    for paper in ("000", "001", "002", "003", "004"):
        page = (THEORY / f"{paper}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {paper}: ")
        assert set(re.findall(r"^\| (00\d)-E\d+ \|", page, flags=re.M)) <= {paper}
