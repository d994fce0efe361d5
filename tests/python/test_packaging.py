"""What a package of Sordino says of itself: one version everywhere, and the licences of all that it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sordino
from sordino import _native, _wheels

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
VERSION: str = PROJECT["project"]["version"]


def requirements() -> list[str]:
    """The names of all packages that pyproject.toml asks for, to build, to run and to work on it."""
    wanted = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    wanted += [requirement for extra in EXTRAS.values() for requirement in extra]
    for override in PROJECT["tool"]["scikit-build"]["overrides"]:
        wanted += override["build"]["requires"]
    names = {match[0] for text in wanted if (match := re.match(r"[\w.-]+", text))}
    return sorted(names - {"sordino"})


def listed() -> dict[str, str]:
    """Every word of the first columns of THIRD_PARTY.md, in lower case, with the license that stands beside it."""
    found = {}
    for line in (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and len(cells := line.strip("| ").split(" | ")) == 4:
            found.update({word.lower(): cells[1].strip() for word in re.findall(r"[\w.-]+", cells[0])})
    return found


@pytest.mark.parametrize("name", requirements())
def test_everything_needed_is_listed_with_its_license(name: str) -> None:
    assert listed().get(name.lower()), f"{name} is in pyproject.toml and not in THIRD_PARTY.md"


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - {"dev"}))
def test_every_extra_is_named_where_it_is_listed(extra: str) -> None:
    assert re.search(rf"extras? [^|]*`{extra}`", (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["nanobind", "robin-map", "libstdc", "cuda"])
def test_what_is_linked_in_is_listed(name: str) -> None:
    assert listed().get(name)


def test_licences_travel_with_the_wheel() -> None:
    assert PROJECT["project"]["license-files"] == ["LICENSE", "THIRD_PARTY.md"]
    notices = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    assert "Copyright (c) 2022 Wenzel Jakob" in notices and "Copyright (c) 2017 Thibaut" in notices


def expressions() -> dict[str, str]:
    """The SPDX expressions of THIRD_PARTY.md, by what is handed on."""
    text = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| ([^|`]*(?:`make wheel`)?) \| `([^`|]*)` \|$", text, re.MULTILINE))


def test_what_is_handed_on_has_an_expression_of_all_that_is_in_it() -> None:
    sources, host, cuda, wheel = (set(found.split(" AND ")) for found in expressions().values())
    assert sources == {PROJECT["project"]["license"]} and sources < host < cuda < wheel
    assert host == {listed()["nanobind"], listed()["robin-map"]}
    assert any("CUDA-EULA" in part for part in cuda) and any("GCC-exception" in part for part in wheel)


def test_the_expressions_are_spdx() -> None:
    licenses = pytest.importorskip("packaging.licenses")
    for expression in expressions().values():
        assert licenses.canonicalize_license_expression(expression) == expression


def test_the_version_stands_in_one_place() -> None:
    """CMake reads pyproject.toml; the compiled module was told by CMake, the package by its metadata."""
    assert _native.core().build_info()["version"] == VERSION
    assert sordino.__version__ in (VERSION, "0+source")
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert VERSION not in cmake and "project(sordino VERSION ${_version}" in cmake


@pytest.mark.parametrize("file", ["CITATION.cff"])
def test_other_files_name_the_same_version(file: str) -> None:
    (said,) = re.findall(
        r"^version: \"?([0-9.]+)\"?$", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE
    )
    assert said == VERSION


# ---- the commit that was built ---------------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    """What git says in a folder, as somebody and without the settings of this machine."""
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    kept = {name: word for name, word in os.environ.items() if not name.startswith("GIT_")}
    environment = {**kept, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(
        ["git", *words], cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def built(tmp_path: Path) -> Callable[..., str]:
    """[folder of sources] the commit that CMake writes into the header there, or what it refuses with."""
    cmake = shutil.which("cmake") or pytest.skip("there is no cmake here")
    if not shutil.which("git"):
        pytest.skip("there is no git here")

    def ask(sources: Path, **more: str) -> str:
        (sources / "cmake").mkdir(parents=True, exist_ok=True)
        for name in ("SordinoCommit.cmake", "sordino_commit.hpp.in"):
            shutil.copy(ROOT / "cmake" / name, sources / "cmake")
        header = tmp_path / "header.hpp"
        kept = {name: word for name, word in os.environ.items() if not name.startswith(("GIT_", "SORDINO_"))}
        command = [cmake, f"-DHEADER={header}", "-P", str(sources / "cmake" / "SordinoCommit.cmake")]
        run = subprocess.run(command, env={**kept, **more}, capture_output=True, text=True, check=False)
        if run.returncode:
            return " ".join(run.stderr.split())
        (found,) = re.findall(r'^#define SORDINO_COMMIT "(.*)"$', header.read_text(), re.MULTILINE)
        return str(found)

    return ask


def test_a_clone_is_its_commit(built: Callable[..., str], tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "-q")
    (clone / "file").write_text("one")
    git(clone, "add", "file")
    git(clone, "commit", "-q", "-m", "first")
    git(clone, "tag", "v1")
    (clone / "COMMIT").write_text("0000000\n")  # left by an archive that was made here before
    commit = git(clone, "rev-parse", "--short", "HEAD")
    assert built(clone) == commit
    (clone / "file").write_text("other")
    assert built(clone) == f"{commit}-dirty"
    assert built(clone, SORDINO_COMMIT="v2-rc.1") == "v2-rc.1"
    assert "names no commit" in built(clone, SORDINO_COMMIT='a";')


def test_sources_within_another_repository_are_not_its_commit(
    built: Callable[..., str], tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "another")
    sources = tmp_path / "sources"
    assert built(sources) == "unknown"
    (sources / "COMMIT").write_text("a3f05ce\n")
    assert built(sources) == "a3f05ce"


# ---- the MPI of a wheel's module -------------------------------------------------------------------------------------


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, int]]:
    """A module that looks for MPI: what is asked of the loader, which finds only what the test has made."""
    asked: list[tuple[str, int]] = []

    class Made:
        LIBRARY = "libmpi.so.40"

    def load(path: str, mode: int) -> None:
        asked.append((path, mode))
        if not Path(path).exists():
            raise OSError(f"{path}: cannot open shared object file")

    monkeypatch.delenv(_wheels.MPI_WORD, raising=False)
    monkeypatch.setattr(_wheels.importlib, "import_module", lambda name: Made)
    monkeypatch.setattr(_wheels.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(_wheels.ctypes, "CDLL", load)
    (tmp_path / "lib").mkdir()
    return asked


def test_a_module_built_here_loads_no_mpi_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(_wheels.importlib, "import_module", none)
    monkeypatch.setenv(_wheels.MPI_WORD, "no/such/library")
    assert _wheels.load_mpi() is None


def test_the_mpi_of_the_environment_comes_before_the_loaders(
    late: list[tuple[str, int]], tmp_path: Path
) -> None:
    assert _wheels.load_mpi() is None
    here = str(tmp_path / "lib" / "libmpi.so.40")
    assert [path for path, _ in late] == ["libmpi.so.40", here, "libmpi.so.40"]
    assert late[0][1] & _wheels.os.RTLD_NOLOAD and not late[2][1] & _wheels.os.RTLD_NOLOAD
    assert all(mode & _wheels.ctypes.RTLD_GLOBAL for _, mode in late)
    Path(here).touch()
    assert _wheels.load_mpi() == here


def test_an_mpi_that_is_named_is_the_only_one(
    late: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.so"
    monkeypatch.setenv(_wheels.MPI_WORD, str(other))
    with pytest.raises(sordino.BadArgument, match=r"SORDINO_LIBMPI is '.*other\.so', which cannot be loaded"):
        _wheels.load_mpi()
    other.touch()
    assert _wheels.load_mpi() == str(other)
    assert {path for path, _ in late} == {str(other)}
    late.clear()
    monkeypatch.setenv(_wheels.MPI_WORD, "")  # none is wanted
    assert _wheels.load_mpi() is None and late == []
