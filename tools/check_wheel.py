"""Checks a wheel as its users meet it: in a fresh environment, with no compiler, no CUDA and no MPI in reach.

    .venv/bin/python tools/check_wheel.py dist/sordino-*.whl [--sources dist/sordino-*.tar.gz] [--build-sources]

Makes a virtual environment outside of the source folder, with NumPy and SciPy from PyPI and nothing else, and runs
there what a new user would: import, a solve, the command line. Then every extra that is absent must be asked for in
words, MPI must be found as soon as the extra `mpi` is installed, and nothing must be left after `pip uninstall`.
`--sources` looks into the archive of the sources; `--build-sources` builds a wheel from it, without CUDA, which takes
minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAY_RUN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

SOLVE = """
import sys, numpy as np, sordino
assert "sordino._core" not in sys.modules, "the compiled module is loaded before it is needed"
A = sordino.poisson(12, 12, 12)
x = sordino.solve(A, A @ np.ones(A.shape[0]), rtol=1e-8).x
assert abs(x - 1).max() < 1e-5, abs(x - 1).max()
extras = {"rich", "matplotlib", "trimesh", "pymetis"} & set(sys.modules)
assert not extras, f"imported without being asked for: {extras}"
loaded = {line.split("/")[-1].strip() for line in open("/proc/self/maps") if "/" in line}
unwanted = [name for name in loaded if name.startswith(("libmpi", "libcudart", "libnccl", "libnvshmem"))]
assert not unwanted, f"loaded without being there: {unwanted}"
print(sordino.__version__)
"""


class Failed(Exception):  # noqa: N818
    """A check does not hold; the sentence says which."""


def expect(holds: object, sentence: str) -> None:
    if not holds:
        raise Failed(sentence)


class Place:
    """A fresh environment: its programs, a home and a folder to work in, and no other program on PATH."""

    def __init__(self, folder: Path):
        self.venv, self.home, self.work = folder / "venv", folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        venv.create(self.venv, with_pip=True)
        self.environment = {
            "PATH": str(self.venv / "bin"),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(folder),  # a short path: sockets of an MPI lie there
            "SORDINO_LIBMPI": "",  # as if the system had none
        }

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """What a program of the environment does and says; it has five minutes."""
        program = str(self.venv / "bin" / words[0])
        return subprocess.run(
            [program, *words[1:]], env={**self.environment, **more}, cwd=self.work,
            capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def says(self, *words: str, **more: str) -> str:
        """What it prints, when it is to succeed."""
        run = self.run(*words, **more)
        expect(
            run.returncode == 0, f"{' '.join(words)[:80]} fails:\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
        )
        return run.stdout

    def pip(self, *words: str) -> None:
        """pip, which is told here where packages come from, as it is outside."""
        kept = {
            name: word
            for name, word in os.environ.items()
            if name.startswith("PIP_") or "proxy" in name.lower()
        }
        cache = {"PIP_CACHE_DIR": os.path.expanduser("~/.cache/pip"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        self.says("python", "-m", "pip", *words, **{**cache, **kept})

    def files(self) -> set[str]:
        """Everything in the environment and in the home, folders too."""
        return {str(path) for top in (self.venv, self.home) for path in top.rglob("*")}


# ---- what stands in the archives -------------------------------------------------------------------------------------


def version() -> str:
    found = re.search(r'^version = "([0-9.]+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found
    return found.group(1)


def holds_what_it_must(wheel: Path) -> str:
    """Its name says for which machines it is, and it brings the licences of all that is in it."""
    expect(re.search(r"manylinux_2_\d+_x86_64", wheel.name), f"{wheel.name} is not for every Linux")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for part in ("licenses/LICENSE", "licenses/THIRD_PARTY.md", "METADATA", "entry_points.txt"):
            expect(any(name.endswith(f".dist-info/{part}") for name in names), f"no {part} in the wheel")
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        said = archive.read(metadata).decode()
        expect(
            "\nLicense-Expression: BSD-3-Clause\n" in said, "the metadata are not as THIRD_PARTY.md has them"
        )
        outside = [name for name in names if not re.match(r"sordino/|sordino-[0-9.]+\.dist-info/", name)]
        expect(not outside, f"these lie outside of the package: {outside}")
        for part in ("py.typed", "_core.pyi"):
            expect(f"sordino/{part}" in names, f"no {part} in the wheel")
        (module,) = [name for name in names if name.endswith(".so")]
        size = archive.getinfo(module).file_size
    return f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB, the module {size / 1e6:.1f} MB"


def sources_are_whole(archive: Path) -> str:
    """It has every file of the repository but those of CI."""
    with tarfile.open(archive) as sources:
        there = {name.split("/", 1)[1] for name in sources.getnames() if "/" in name}
    if not (ROOT / ".git").exists():
        return "not compared: this is no clone"
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    missing = [
        name
        for name in listed.stdout.split("\n")
        if name and not name.startswith(".ci/") and name not in there
    ]
    expect(not missing, f"the archive of the sources lacks {missing[:5]}")
    expect("COMMIT" in there, "the archive of the sources does not name its commit")
    return f"{archive.name}, {archive.stat().st_size / 1e6:.1f} MB, {len(there)} files"


# ---- what a user does ------------------------------------------------------------------------------------------------


def solves(place: Place) -> str:
    said = place.says("python", "-I", "-c", SOLVE).strip()
    expect(said == version(), f"sordino.__version__ is {said}, pyproject.toml says {version()}")
    return f"version {said}"


def doctor_knows(place: Place) -> str:
    found = json.loads(place.says("sordino", "doctor", "--json"))
    build = found["build"]
    expect(build["version"] == version(), f"the compiled module is of version {build['version']}")
    known = build["commit"] != "unknown" or not (ROOT / ".git").exists()
    expect(known, "the compiled module does not name its commit")
    expect(build["cuda"] and build["mpi"], f"CUDA and MPI are not both in the wheel: {build}")
    expect(build["mpi_library"] == "", f"an MPI where there is none: {build['mpi_library']}")
    expect(not any(found["extras"].values()), f"extras where there are none: {found['extras']}")
    said = place.says("sordino", "doctor")
    expect("pip install 'sordino[mpi]'" in said, "doctor does not say what brings MPI")
    if not found["cuda"]["devices"]:
        expect("no device can be used" in said, "doctor does not say why there is no GPU")
    return f"CUDA {build['cuda_version']} for {build['cuda_architectures']}, {len(found['cuda']['devices'])} GPUs here"


def command_line_solves(place: Place) -> str:
    place.says("sordino", "poisson", "16", "16", "16")
    found = json.loads(place.says("sordino", "poisson", "16", "16", "16", "--json"))
    expect(found["status"] == "converged", f"the solve ended as {found['status']}")
    return f"{found['iterations']} iterations, engine {found['options']['engine']}"


def extras_are_asked_for(place: Place) -> str:
    """What an absent package would do is done without it, or refused with the words that bring it."""
    grid = ("sordino", "poisson", "8", "8", "8", "--ranks", "2")
    trials = {"cli": ("--monitor",), "report": ("--report", "report.html"), "metis": ("--partition", "metis")}
    ways = []
    for extra, words in trials.items():
        run = place.run(*grid, *words)
        if "unknown option" in run.stderr:
            way = "not in this version"
        elif run.returncode:
            expect(
                f"pip install 'sordino[{extra}]'" in run.stderr, f"{' '.join(words)}:\n{run.stderr[-2000:]}"
            )
            way = "asked for"
        else:
            way = "done without"
        ways.append(f"{extra} {way}")
    return ", ".join(ways)


def launched_without_mpi(place: Place) -> str:
    """Started by a launcher, each process would solve the whole: they end, and say what is missing."""
    run = place.run("sordino", "poisson", "8", "8", "8", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
    expect(
        run.returncode in (2, 4) and "pip install 'sordino[mpi]'" in run.stderr,
        f"it says:\n{run.stdout}{run.stderr}",
    )
    run = place.run("sordino", "poisson", "8", "8", "8", SORDINO_LIBMPI="no/such/libmpi.so")
    expect(run.returncode == 2 and "SORDINO_LIBMPI" in run.stderr, f"it says:\n{run.stdout}{run.stderr}")
    return run.stderr.strip().splitlines()[-1][:90]


def uninstalls(place: Place, before: set[str]) -> str:
    place.pip("uninstall", "--yes", "sordino")
    left = sorted(place.files() - before)
    expect(not left, f"pip uninstall leaves {left[:8]}")
    gone = sorted(before - place.files())
    expect(not gone, f"pip uninstall takes {gone[:8]}, which it had not brought")
    return f"{len(before)} files and folders, as before"


def finds_mpi(place: Place, wheel: Path) -> str:
    del place.environment["SORDINO_LIBMPI"]
    place.pip("install", f"{wheel}[mpi]")
    found = json.loads(place.says("sordino", "doctor", "--json"))
    expect(
        "Open MPI" in found["build"]["mpi_library"],
        f"doctor finds {found['build']['mpi_library'] or 'no MPI'}",
    )
    words = ("sordino", "poisson", "16", "16", "16", "--ranks", "2", "--json")
    run = json.loads(
        place.says("mpiexec", "-n", "2", str(place.venv / "bin" / words[0]), *words[1:], **MAY_RUN_MPI)
    )
    expect(run["status"] == "converged", f"over MPI the solve ended as {run['status']}")
    expect("mpi" in run["options"]["transport"], f"it did not run over MPI: {run['options']}")
    return found["build"]["mpi_library"]


def builds_from_sources(place: Place, archive: Path) -> str:
    into = place.work / "from_sources"
    settings = [
        "--config-settings=cmake.define.SORDINO_CUDA=OFF",
        "--config-settings=cmake.define.SORDINO_MPI=OFF",
    ]
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", *settings]
    run = subprocess.run(
        [*command, "--wheel-dir", into, archive], capture_output=True, text=True, cwd=place.work
    )
    expect(
        run.returncode == 0,
        f"no wheel can be built from {archive.name}:\n{run.stdout[-3000:]}{run.stderr[-1000:]}",
    )
    (wheel,) = into.glob("*.whl")
    place.pip("install", "--force-reinstall", "--no-deps", str(wheel))
    return solves(place)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--sources", type=Path, help="the archive of the sources")
    parser.add_argument(
        "--build-sources", action="store_true", help="build a wheel from it, without CUDA and MPI"
    )
    given = parser.parse_args()
    wheel, sources = given.wheel.resolve(), given.sources.resolve() if given.sources else None
    passed = failed = 0

    def check(name: str, does: Callable[[], str]) -> None:
        nonlocal passed, failed
        try:
            print(f"ok    {name}: {does()}", flush=True)
            passed += 1
        except (Failed, subprocess.SubprocessError, ValueError, LookupError) as cause:
            print(f"FAIL  {name}: {cause}", flush=True)
            failed += 1

    with tempfile.TemporaryDirectory(prefix="wheel") as folder:
        check("what is in it", lambda: holds_what_it_must(wheel))
        if sources:
            check("sources", lambda: sources_are_whole(sources))
        place = Place(Path(folder))
        place.pip("install", "numpy", "scipy")
        before = place.files()
        place.pip("install", "--no-index", str(wheel))  # it needs nothing else
        check("import and solve", lambda: solves(place))
        check("sordino doctor", lambda: doctor_knows(place))
        check("sordino poisson", lambda: command_line_solves(place))
        check("extras", lambda: extras_are_asked_for(place))
        check("a launcher without MPI", lambda: launched_without_mpi(place))
        check("uninstall", lambda: uninstalls(place, before))
        check("MPI as an extra", lambda: finds_mpi(place, wheel))
        if sources and given.build_sources:
            check("a wheel from the sources", lambda: builds_from_sources(place, sources))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
