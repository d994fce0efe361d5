"""tools/factors/superlu_dist, where SuperLU_DIST is installed: what it writes is a factor file of the matrix."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

SOURCES = Path(__file__).parents[2] / "tools" / "factors" / "superlu_dist"
ROOT = Path(os.environ.get("SUPERLU_DIST_ROOT", "/usr"))
#: Of the MPI that SuperLU_DIST was built with, which is not the one beside this Python.
PATH = os.pathsep.join(
    p for p in os.environ["PATH"].split(os.pathsep) if Path(p) != Path(sys.executable).parent
)
MPIEXEC = shutil.which("mpiexec", path=PATH)


def _missing():
    """Which part of what it takes is not here."""
    headers = [
        ROOT / "include" / folder / "superlu_ddefs.h" for folder in ("", "superlu-dist", "superlu_dist")
    ]
    if not any(header.is_file() for header in headers):
        return f"there is no SuperLU_DIST in {ROOT} (SUPERLU_DIST_ROOT says where else)"
    if not shutil.which("mpicxx", path=PATH) or not MPIEXEC:
        return "there is no mpicxx or mpiexec beside SuperLU_DIST"
    return "" if shutil.which("cmake") else "there is no cmake"


pytestmark = pytest.mark.skipif(bool(_missing()), reason=_missing() or "all is there")


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    """The program, built as its first lines say: run(matrix file, folder, processes, words) packs what it writes."""
    build = tmp_path_factory.mktemp("build")
    environment = {**os.environ, "PATH": PATH, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1"}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    cmake = shutil.which("cmake")
    words = [
        cmake,
        "-S",
        SOURCES,
        "-B",
        build,
        f"-DCMAKE_PREFIX_PATH={ROOT}",
        "-DCMAKE_CXX_FLAGS=-Wall -Werror",
    ]
    subprocess.run(words, env=environment, check=True)
    subprocess.run([cmake, "--build", build], env=environment, check=True)

    def run(matrix, folder, processes, *words):
        folder.mkdir()
        program = [MPIEXEC, "-n", str(processes), build / "superlu_dist_factor", matrix, folder, *words]
        done = subprocess.run(
            program, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode == 0:
            with zipfile.ZipFile(folder.with_suffix(".npz"), "w") as archive:
                for array in folder.iterdir():
                    archive.write(array, array.name)
        return done

    return run


def _matrix(laplacian, kind):
    """Not symmetric, with rows of very different sizes, and with zeros that are stored."""
    A = sp.coo_array(laplacian(6))
    rng = np.random.default_rng(1)
    values = A.data * rng.uniform(0.5, 1.0, A.nnz) * 10.0 ** (A.row % 7)
    if kind == "complex":
        values = values * (1 + 0.2j * rng.standard_normal(A.nnz))
    values[((A.row + A.col) % 11 == 1) & (A.row != A.col)] = 0
    return sp.coo_array((values, (A.row, A.col)), shape=A.shape)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize(("processes", "grid"), [(1, "1x1"), (4, "2x2"), (3, "1x3"), (2, "2x1")])
def test_factors_of_superlu_dist_are_solved_with(tool, cli, tmp_path, laplacian, kind, processes, grid):
    scipy.io.mmwrite(tmp_path / "A.mtx", _matrix(laplacian, kind))
    assert tool(tmp_path / "A.mtx", tmp_path / "LU", processes, grid).returncode == 0
    for trans in ("N", "H"):
        code, out, _ = cli("trsv", tmp_path / "LU.npz", "--matrix", tmp_path / "A.mtx", "--trans", trans)
        assert code == 0 and "Solved and verified" in out


def test_rows_may_be_permuted_by_a_file(tool, cli, tmp_path, laplacian):
    A = _matrix(laplacian, "real")
    shifted = sp.coo_array((A.data, ((A.row + 5) % 216, A.col)), shape=A.shape)  # its diagonal is zero
    scipy.io.mmwrite(tmp_path / "A.mtx", shifted)
    np.savetxt(tmp_path / "rows.txt", (np.arange(216) - 5) % 216, fmt="%d")
    assert tool(tmp_path / "A.mtx", tmp_path / "LU", 4, "2x2", tmp_path / "rows.txt").returncode == 0
    assert cli("trsv", tmp_path / "LU.npz", "--matrix", tmp_path / "A.mtx")[0] == 0


def test_what_cannot_be_meant_is_said_in_a_sentence(tool, tmp_path, laplacian):
    scipy.io.mmwrite(tmp_path / "A.mtx", _matrix(laplacian, "real"))
    (tmp_path / "rows.txt").write_text("0\n" * 216, encoding="utf-8")
    for name, words, sentence in (
        ("a", ("3x1",), "there are more or fewer processes than a grid of 3x1"),
        ("b", ("1x1", tmp_path / "rows.txt"), "a file with a permutation"),
    ):
        done = tool(tmp_path / "A.mtx", tmp_path / name, 1, *words)
        assert done.returncode and sentence in done.stderr
    assert "cannot read" in tool(tmp_path / "none.mtx", tmp_path / "c", 1).stderr
