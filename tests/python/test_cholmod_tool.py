"""tools/factors/cholmod_factor.c, where CHOLMOD is installed: what it writes is a factor file."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sordino

SOURCE = Path(__file__).parents[2] / "tools" / "factors" / "cholmod_factor.c"
HEADERS = Path("/usr/include/suitesparse")


@pytest.mark.skipif(
    not (HEADERS / "cholmod.h").is_file() or not shutil.which("gcc"),
    reason="there is no CHOLMOD here, or no gcc",
)
def test_a_factor_of_cholmod_is_solved_with(tmp_path, laplacian):
    A = laplacian(6)
    scipy.io.mmwrite(tmp_path / "A.mtx", sp.coo_array(A), symmetry="symmetric")
    words = ["gcc", "-Wall", "-Werror", str(SOURCE), f"-I{HEADERS}", "-lcholmod", "-lm", "-o", "tool"]
    subprocess.run(words, cwd=tmp_path, check=True)
    (tmp_path / "L").mkdir()
    subprocess.run(["./tool", "A.mtx", "L"], cwd=tmp_path, check=True)
    with zipfile.ZipFile(tmp_path / "L.npz", "w") as archive:
        for array in (tmp_path / "L").iterdir():
            archive.write(array, array.name)
    F = sordino.factorized_lu(sordino.io.load_factors(tmp_path / "L.npz"), A)
    np.testing.assert_allclose(F.solve(A @ np.ones(216)), 1, rtol=1e-10)
