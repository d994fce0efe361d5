"""Builds the wheel that many machines can use, with CUDA and MPI in it and neither needed to import it; and the sdist.

    .venv/bin/python tools/build_wheel.py [--build-dir build/wheel] [--into dist]

`make wheel` calls it, in an environment with the build backend, nvcc, Open MPI and auditwheel. Nothing is grafted into
the wheel: auditwheel names the oldest glibc that the module's symbols allow, and the wheel is refused if it needs any
library that not every Linux with this glibc has. The options are those of a build, as SORDINO_CUDA_ARCHITECTURES.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build-dir", type=Path, default=Path("build/wheel"), help="kept, for the next time")
    parser.add_argument("--into", type=Path, default=Path("dist"), help="where the wheel goes")
    given = parser.parse_args()
    build, into = given.build_dir.resolve(), given.into.resolve()
    with tempfile.TemporaryDirectory() as folder:
        made = compiled(build, Path(folder))
        missing = [
            f for f in ("CUDA", "MPI") if f"{f}: on" not in (build / "sordino-features.txt").read_text()
        ]
        if missing:
            print(f"A wheel has CUDA and MPI, and here is no {' and no '.join(missing)}:", file=sys.stderr)
            print((build / "sordino-features.txt").read_text(), file=sys.stderr)
            return 2
        wheel = tagged(made, into)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")
    print(archived(into))
    return 0


def compiled(build: Path, into: Path) -> Path:
    """The wheel as pip makes it here, for this machine alone."""
    build.mkdir(parents=True, exist_ok=True)
    log = build / "wheel.log"
    print(f"Building in {build} (what happens is in {log})", flush=True)
    command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "--no-build-isolation"]
    command += [f"--config-settings=build-dir={build}", "--config-settings=cmake.define.SORDINO_PORTABLE=ON"]
    with log.open("w") as said:
        run = subprocess.run([*command, "--wheel-dir", into, ROOT], stdout=said, stderr=subprocess.STDOUT)
    if run.returncode:
        errors = [
            line for line in log.read_text().splitlines() if re.search(r"\berror\b", line, re.IGNORECASE)
        ]
        sys.exit("\n".join([*errors[:40], f"Building failed; all of it is in {log}"]))
    return next(into.glob("sordino-*.whl"))


def tagged(made: Path, into: Path) -> Path:
    """The same wheel, named for the oldest glibc that it runs with, in `into`."""
    with tempfile.TemporaryDirectory() as folder:
        repair = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", folder, made]
        run = subprocess.run(repair, capture_output=True, text=True)
        repaired = list(Path(folder).glob("*.whl"))
        if run.returncode or not repaired or "manylinux" not in repaired[0].name:
            sys.exit(f"auditwheel finds no manylinux tag for this wheel:\n{run.stdout}{run.stderr}")
        grafted = [name for name in zipfile.ZipFile(repaired[0]).namelist() if ".libs/" in name]
        if grafted:
            sys.exit(f"the module needs libraries that not every machine has: {', '.join(grafted)}")
        into.mkdir(parents=True, exist_ok=True)
        for old in into.glob("sordino-*.whl"):
            old.unlink()
        wheel = into / repaired[0].name
        wheel.write_bytes(repaired[0].read_bytes())
    return wheel


def archived(into: Path) -> Path:
    """The archive of the sources, beside the wheel."""
    for old in into.glob("sordino-*.tar.gz"):
        old.unlink()
    make = "import scikit_build_core.build, sys; print(scikit_build_core.build.build_sdist(sys.argv[1]))"
    run = subprocess.run([sys.executable, "-c", make, into], cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"no archive of the sources can be made:\n{run.stderr}")
    return into / run.stdout.split()[-1]


if __name__ == "__main__":
    sys.exit(main())
