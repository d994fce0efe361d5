"""Makes the virtual environment that `make` works in, and puts into it what this machine lacks.

    python3 tools/make_venv.py .venv build mpi docs lint

Groups: `build` - the build backend, cmake and ninja where there is no recent one, and, with SORDINO_CUDA=1 in the
environment, nvcc where there is none; `mpi` - an MPI where none can compile; `docs` - what makes the site; `lint` - the
formatters and linters; `wheel` - an MPI likewise, and what makes a wheel one for other machines.
The requirements themselves stand in pyproject.toml. Standard library only: this runs before anything is installed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, whose pip carries the same parser
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
OLDEST_CMAKE = (3, 24)


def wants_cuda() -> bool:
    return os.environ.get("SORDINO_CUDA", "").lower() in {"1", "on", "yes", "true"}


def says_version(program: str) -> str:
    """What `program --version` prints; nothing when it does not work."""
    run = subprocess.run([program, "--version"], capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else ""


def has_nvcc() -> bool:
    candidates = [os.environ.get("CUDACXX"), "nvcc", "/usr/local/cuda/bin/nvcc"]
    candidates += [
        f"{os.environ[name]}/bin/nvcc" for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ
    ]
    return any(candidate and shutil.which(candidate) and says_version(candidate) for candidate in candidates)


def has_cmake() -> bool:
    if not shutil.which("cmake"):
        return False
    found = re.search(r"version (\d+)\.(\d+)", says_version("cmake"))
    return bool(found) and tuple(map(int, found.groups())) >= OLDEST_CMAKE


def has_mpi() -> bool:
    """Whether some mpicxx finds its header: a compiler wrapper alone comes with the runtime, without mpi.h."""
    if not shutil.which("mpicxx") or not shutil.which("mpiexec"):
        return False
    preprocess = ["mpicxx", "-x", "c++", "-E", "-"]
    return (
        subprocess.run(preprocess, input="#include <mpi.h>", capture_output=True, text=True).returncode == 0
    )


def requirements(group: str, project: dict) -> list[str]:
    extras = project["project"]["optional-dependencies"]
    if group in ("docs", "lint"):
        return extras[group]
    if group == "mpi":
        return [] if has_mpi() else extras["mpi"]
    if group == "wheel":
        return requirements("mpi", project) + extras["wheel"]
    wanted = list(project["build-system"]["requires"])
    if not has_cmake():
        wanted.append("cmake>=3.26")
    if not shutil.which("ninja"):
        wanted.append("ninja")
    if wants_cuda() and not has_nvcc():
        for override in project["tool"]["scikit-build"]["overrides"]:
            wanted += override["build"]["requires"]
    return wanted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    groups = ["build", "mpi", "docs", "lint", "wheel"]
    parser.add_argument("groups", nargs="*", choices=groups, metavar="|".join(groups))
    arguments = parser.parse_args()

    python = arguments.folder / "bin" / "python"
    if (
        not python.exists()
        or subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode
    ):
        print(f"Making {arguments.folder} with Python {sys.version.split()[0]}", flush=True)
        venv.create(arguments.folder, with_pip=True, clear=True)

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [requirement for group in arguments.groups for requirement in requirements(group, project)]
    if not wanted:
        return 0
    print("Installing into the environment:", " ".join(wanted), flush=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return subprocess.run([*pip, *wanted]).returncode


if __name__ == "__main__":
    sys.exit(main())
