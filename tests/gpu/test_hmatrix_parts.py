"""H-matrices that several MPI processes build in parts on their GPUs, beside whole ones; where there are two GPUs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sordino import _core

DEVICES = len(_core.devices()["devices"])
BESIDE = Path(sys.executable).with_name("mpiexec")
LAUNCHER = str(BESIDE) if BESIDE.exists() else shutil.which("mpiexec") or shutil.which("mpirun")
#: As root, or with more processes than cores, Open MPI wants to be told that this is meant.
MEANT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(DEVICES < 2, reason=f"several processes need several GPUs, and here are {DEVICES}"),
    pytest.mark.skipif(not _core.build_info()["mpi"], reason="this build has no MPI"),
    pytest.mark.skipif(not LAUNCHER, reason="there is no mpiexec here"),
]

#: What all programs begin with: two ranks in all, which each number of processes shares.
BEGIN = """
import hashlib, json
import numpy as np, sordino
from sordino import _hmatrix_builders
from sordino._native import core
ball, world = sordino.surfaces.sphere(8, 14), core().mpi()
b, ranks = np.random.default_rng(5).standard_normal(ball.n), 2 // world["size"]
waves = {"kernel": "helmholtz", "wavenumber": 0.2}
def bits(x):
    return None if x is None else hashlib.sha256(x.tobytes()).hexdigest()
def solved(H, how, **words):
    found = sordino.solve(H, b, engine="cuda", ranks=ranks, rtol=1e-8, distribution=how, **words)
    return [found.iterations, bits(found.x)]
def say(told):
    with open(f"{world['size']}_{world['rank']}.jsonl", "a") as file:
        print(json.dumps(told), file=file)
"""

#: Of each kernel, distribution and preconditioner iterations and bits with parts and with wholes.
PARTS = """
for kernel, words in (("laplace", {}), ("helmholtz", waves)):
    whole = sordino.hmatrix(ball, 1e-5, engine="cuda", **words)
    for how in ("rows", "leaves", "grid"):
        part = sordino.hmatrix(ball, 1e-5, engine="cuda", for_ranks=ranks, distribution=how, **words)
        facts, expected = ({**H.statistics, "seconds": 0, "phases": 0} for H in (part, whole))
        G, of_whole = (H.on("cuda", ranks=ranks, distribution=how) for H in (part, whole))
        X = np.outer(b, [1, -2, 3])
        told = {
            "case": f"{kernel} {how}", "whole": part.is_whole, "held": part.held_bytes / whole.held_bytes,
            "same facts": facts == expected,
            "same blocks": bool((part.blocks == whole.blocks).all()),
            "same diagonal": bits(part.diagonal()) == bits(whole.diagonal()),
            "products": [[bits(G @ x), bits(of_whole @ x)] for x in (b, X)],
            "jacobi": [solved(H, how, precond="jacobi") for H in (part, whole)],
            "block-jacobi": [solved(H, how, precond="block-jacobi") for H in (part, whole)],
        }
        if kernel == "laplace":
            coarse = [sordino.hmatrix(ball, 1e-1, engine="cuda", beside=H) for H in (part, whole)]
            told["coarse"] = [solved(H, how, M=M) for H, M in zip((part, whole), coarse)]
            told["coarse is whole"] = [M.is_whole for M in coarse]
        say(told)
"""

#: The GPUs of this process, and what of the others its driver has begun when it has built its part.
PLACES = """
import ctypes
from sordino import _gpu_memory
def begun(gpu):
    device, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
    driver = _gpu_memory._driver()
    assert driver.cuDeviceGet(ctypes.byref(device), gpu) == 0
    assert driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active)) == 0
    return bool(active.value)
H = sordino.hmatrix(ball, 1e-5, engine="cuda", for_ranks=ranks)
say({
    "build": _hmatrix_builders.gpus_to_build(ball.n, {"eps": 1e-5}, "laplace"),
    "solve": _hmatrix_builders.gpus_of_ranks(None, ranks),
    "begun": [gpu for gpu in range(len(core().devices()["devices"])) if begun(gpu)],
})
"""

BEM = """
found = sordino.bem(ball, potential=1.0, engine="cuda", ranks=ranks, eps=1e-4, coarse=1e-1, distribution="grid")
x = np.linspace(1, 2, ball.n)
here = sordino.hmatrix(ball, 1e-4, engine="host") @ x
far = float(np.linalg.norm(found.H @ x - here) / np.linalg.norm(here))
say({"whole": found.H.is_whole, "far": far, "converged": found.solution.converged})
"""


@pytest.fixture
def told_by(tmp_path: Path) -> Callable[[int, str], list[list[dict[str, Any]]]]:
    """Run a program in so many processes: what each of them says, in its order."""

    def run(processes: int, program: str) -> list[list[dict[str, Any]]]:
        launch = [str(LAUNCHER), "-n", str(processes)] if processes > 1 else []
        done = subprocess.run(
            [*launch, sys.executable, "-c", BEGIN + program],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
            env={**os.environ, **MEANT},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        files = [tmp_path / f"{processes}_{process}.jsonl" for process in range(processes)]
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]

    return run


def test_parts_have_the_bits_and_the_statistics_of_wholes_and_each_holds_less(told_by: Any) -> None:
    (alone,) = told_by(1, PARTS)
    for process, rows in enumerate(told_by(2, PARTS)):
        assert len(rows) == len(alone) == 6
        for row, one in zip(rows, alone, strict=True):
            case = (process, row["case"])
            assert one["whole"] and 0.9 < one["held"] < 1.1 and one["case"] == row["case"]
            assert not row["whole"] and row["held"] < 0.75, case
            assert row["same facts"] and row["same blocks"] and row["same diagonal"], case
            assert row.get("coarse is whole", [False, True]) == [False, True], case
            assert all(part == whole for part, whole in row["products"] + one["products"]), case
            assert row["products"] == one["products"], case
            for precond in {"jacobi", "block-jacobi", "coarse"} & row.keys():
                by_part, by_whole = row[precond]
                assert by_part == by_whole and (by_part[1] is None) == (process > 0), (case, precond)
                if "rows" in row["case"] and process == 0:
                    assert by_part == one[precond][0], precond


def test_each_process_builds_on_gpus_of_its_own(told_by: Any) -> None:
    (first,), (second,) = told_by(2, PLACES)
    assert first["build"] and second["build"] and not set(first["build"]) & set(second["build"])
    for row in (first, second):
        assert len(row["solve"]) == 1 and set(row["build"]) <= set(row["begun"])
    assert not set(first["begun"]) & set(second["build"])
    assert set(second["begun"]) <= {*second["build"], 0}  # CUDA's first, which threads return to


def test_conductors_are_solved_by_parts_that_gpus_build(told_by: Any) -> None:
    for (row,) in told_by(2, BEM):
        assert row["converged"] and not row["whole"] and row["far"] < 1e-3
