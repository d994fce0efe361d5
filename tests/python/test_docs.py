"""The pages of docs/ do what they say: Python runs from top to bottom, command lines run, programs are built elsewhere.

What cannot run here is marked on its page, with the reason, in the paragraph above it: `*Not run by our tests: ...*`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.io

import sordino
from sordino import _options, cli
from sordino.io import OutputFile, write_bem_bb
from sordino.surfaces import pair, sphere

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(
    r"^(?P<fence>```+|:::+)(?P<language>\{?[\w-]*\}?)(?P<words>[^\n]*)\n(?P<text>.*?)^(?P=fence)$",
    re.M | re.S,
)
MARK = "*Not run by our tests: "


@dataclass
class Block:
    """One fenced block of a page."""

    place: str  # page:line
    language: str
    words: str  # behind the language; of a directive its argument
    text: str
    reason: str  # why the tests do not run it; empty if they do


def blocks(path: Path, root: Path = ROOT) -> Iterator[Block]:
    page = path.read_text(encoding="utf-8")
    for match in FENCE.finditer(page):
        above = page[: match.start()].rstrip().rsplit("\n\n", 1)[-1]
        marked = above.startswith(MARK) and above.endswith("*")
        line = page.count("\n", 0, match.start()) + 1
        yield Block(
            f"{path.relative_to(root)}:{line}",
            match["language"],
            match["words"].strip(),
            match["text"],
            above[len(MARK) : -1] if marked else "",
        )


PAGES = sorted(DOCS.rglob("*.md"))
BLOCKS = {path: list(blocks(path)) for path in PAGES}
EXAMPLES = [path for path in PAGES if any(block.language in ("python", "sh") for block in BLOCKS[path])]


def commands(block: Block) -> list[str]:
    """The lines of a shell block, without comments, those that go on in the next line joined."""
    lines = (line.split(" #")[0].strip() for line in block.text.replace("\\\n", " ").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def can_run(command: str) -> bool:
    return command.startswith("sordino ") and not re.search("--engine cuda|sordino bench", command)


def small(command: str) -> str:
    """The same, of a size that a test can afford."""
    layers = 48 if "--precond mg" in command else 12  # of which each rank pairs its own
    command = re.sub(r"poisson \d+ \d+ \d+", f"poisson 12 12 {layers}", command)
    if command.startswith("sordino predict"):
        command = re.sub(r"--ranks [\d,]+", "--ranks 2,8", command)
    command = re.sub(r"(sphere|pair):\d+,\d+", r"\1:5,4", command)
    return re.sub(r"bem figure(:\d+)?", "bem sphere:5,4", command)


def run_commands(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(block):
        if can_run(command):
            code = cli.main(shlex.split(small(command))[1:])
            said = capsys.readouterr()
            assert code == 0, f"{block.place}: {command}: {said.err}"
            assert said.out, f"{block.place}: {command}"
        else:
            assert block.reason, f"{block.place}: '{command}' cannot run in a test: say so above it"


def stand_ins() -> None:
    """Small surfaces by the names of others' files."""
    write_bem_bb(OutputFile("input_216h.pbf"), pair(6, 5))
    ball = sphere(5, 4, radius=1.0)
    lines = ["v {:.17g} {:.17g} {:.17g}".format(*point) for point in ball.points]
    lines += ["f {} {} {}".format(*triangle) for triangle in ball.triangles + 1]
    Path("homer.obj").write_text("\n".join(lines))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_the_examples_of_a_page_run_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    A = sordino.poisson(6, 6, 6)
    scipy.io.mmwrite("A.mtx", A)
    np.save("b.npy", np.ones(A.shape[0]))
    stand_ins()
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCKS[path]:
        if block.language == "json":
            Path("run.json").write_text(block.text)
        elif block.language == "sh":
            run_commands(block, capsys)
        elif block.language == "python" and not block.reason:
            exec(compile(block.text, block.place, "exec"), names)
    capsys.readouterr()


def test_pages_have_examples() -> None:
    found = [block for path in PAGES for block in BLOCKS[path]]
    run = [block for block in found if block.language == "python" and not block.reason]
    assert len(run) >= 8
    assert sum(can_run(c) for block in found if block.language == "sh" for c in commands(block)) >= 9


def test_a_mark_is_read_and_a_command_without_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "*Not run by our tests: it\nwants MPI.*\n\n```sh\nmpirun ls  # all\n```\n\n```sh\nmpirun ls\n```\n"
    )
    marked, plain = blocks(page, tmp_path)
    assert marked.reason == "it\nwants MPI." and commands(marked) == ["mpirun ls"]
    run_commands(marked, capsys)
    with pytest.raises(AssertionError, match=r"page\.md:8: 'mpirun ls' cannot run"):
        run_commands(plain, capsys)


def test_whole_programs_are_included_from_what_is_built() -> None:
    """CMake builds and runs each examples/*.cpp and *.cu, c/*.c and fortran/*; a program on a page is one of them."""
    for path in PAGES:
        for block in BLOCKS[path]:
            if block.language in ("c", "cpp", "cuda", "fortran"):
                assert not re.search(r"\bint main\b|^program ", block.text, flags=re.M), block.place
            if block.language == "{literalinclude}":
                included = (path.parent / block.words).resolve().relative_to(ROOT)
                assert included.parts[0] in ("examples", "src"), (
                    f"{block.place}: {included} is built by no test"
                )


def test_the_options_of_the_files_page_mean_what_it_says(tmp_path: Path) -> None:
    (block,) = (block for block in BLOCKS[DOCS / "files.md"] if block.language == "json")
    (tmp_path / "run.json").write_text(block.text)
    assert _options.load(str(tmp_path / "run.json")) == {
        "solver": "prcg", "precond": "jacobi", "rtol": 1e-8, "maxiter": 5000, "ranks": 4, "devices": "0,1,2,3"
    }  # fmt: skip


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_rows_of_a_table_have_the_cells_that_its_head_has(path: Path) -> None:
    """A bare | in a cell, as of a norm, ends the cell: what follows is lost."""
    text = FENCE.sub(lambda match: "\n" * match.group().count("\n"), path.read_text(encoding="utf-8"))
    wanted = 0
    for number, line in enumerate(text.splitlines(), 1):
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1 if line.startswith("|") else 0
        assert not cells or not wanted or cells == wanted, (
            f"{path.name}:{number}: {cells} cells, not {wanted}"
        )
        wanted = cells


def links(path: Path) -> Iterator[tuple[str, str]]:
    """The links of a Markdown file to files of this repository: file, and the place in it."""
    text = re.sub(r"^(```+|:::+)[^\n]*\n.*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if "://" not in target and not target.startswith("mailto:"):
            yield tuple(target.partition("#")[::2])  # type: ignore[misc]


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *PAGES],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_links_in_the_repository_lead_to_files(path: Path) -> None:
    for target, place in links(path):
        file = path.parent / target if target else path
        assert file.exists(), f"{target} is linked, and does not exist"
        if place and file.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.M)
            slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
            labels = set(re.findall(r"^\(([\w-]+)\)=$", file.read_text(encoding="utf-8"), flags=re.M))
            assert place in slugs | labels, f"{target}#{place} is linked, and {target} has no such heading"


#: A file of this repository: one with its folder, or of C++ and its like; others may be the reader's own.
FILE = re.compile(
    r"(?<![\w/.*<-])(?!build/)((?:[\w-]+/)+[\w-]+\.(?:c|toml|txt|py|md)|(?:[\w-]+/)*[\w-]+\.(?:hpp|cpp|cuh?|inl|f90))(?![\w/*(])"
)
FOLDERS = ("src", "python", "tests", "examples", "docs", "tools", "bench", "cmake")
NAMES = [f"/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
NAMES += [f"/{path.name}" for path in ROOT.iterdir()]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_files_that_a_page_names_are_there(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for quoted in re.findall(r"`([^`\n]+)`", text):
        for name in FILE.findall(quoted):
            there = any(one.endswith(f"/{name}") for one in NAMES)
            assert there, f"{path.name} names {name}, which is not there"
