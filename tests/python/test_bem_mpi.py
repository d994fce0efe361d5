"""H-matrices over several processes: each builds the matrix, ranks of all share it, and the first one writes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sordino
from sordino.io import load_hmatrix
from sordino.surfaces import pair

pytestmark = pytest.mark.mpi

PAIR = ("bem", "pair:6,5", "--eps", 1e-6, "--rtol", 1e-9, "--engine", "host", "--json")
RANKS = 4


@pytest.fixture
def mpirun(mpirun_python):
    def run(processes, *argv):
        done = mpirun_python(processes, "-m", "sordino", *argv, "--ranks", RANKS // processes)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("distribution", ["rows", "leaves", "grid"])
def test_every_layout_of_processes_finds_the_same_charge_to_the_bit(mpirun, tmp_path, distribution):
    found = {}
    for processes in (1, 2, 4):
        file = f"{processes}.npy"
        told = mpirun(
            processes,
            *PAIR,
            "--distribution",
            distribution,
            "--output",
            file,
            "--report",
            "r.html",
            "--force",
        )
        assert told["problem"]["processes"] == processes and told["status"] == "converged"
        assert f"{processes} x {RANKS // processes}" in (tmp_path / "r.html").read_text() or processes == 1
        assert f"of 4 ranks multiplies which block, by {distribution}" in (tmp_path / "r.html").read_text()
        found[processes] = np.load(tmp_path / file), told["history"], told["ledger"]["messages"]
    alone = found[1]
    exact = sordino.bem(pair(6, 5), eps=1e-9, rtol=1e-10).density
    assert np.linalg.norm(alone[0] - exact) <= 1e-4 * np.linalg.norm(exact)
    for density, history, messages in found.values():
        assert np.array_equal(density, alone[0]) and history == alone[1] and messages == alone[2]


def test_processes_that_gather_by_groups_find_the_same_charge_to_the_bit(mpirun, tmp_path):
    found = {}
    for processes, gather in ((1, "rank"), (1, "2"), (2, "node"), (2, "2"), (4, "2"), (4, "node")):
        file = f"{processes}{gather}.npy"
        words = ("--solver", "gatherbicgstab", "--gather", gather, "--output", file)
        assert mpirun(processes, *PAIR, *words)["status"] == "converged"
        found[processes, gather] = np.load(tmp_path / file)
    assert {x.tobytes() for x in found.values()} == {found[1, "rank"].tobytes()}


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_matrix_is_written_once_and_taken_by_another_number_of_processes(mpirun, tmp_path, processes):
    written = mpirun(processes, *PAIR, "--save-matrix", "pair.hmatrix", "--output", "built.npy")
    H, here = load_hmatrix(tmp_path / "pair.hmatrix", pair(6, 5)), sordino.hmatrix(pair(6, 5), 1e-6)
    assert np.array_equal(H @ np.ones(600), here @ np.ones(600))
    again = mpirun(4 // processes, *PAIR, "--matrix", "pair.hmatrix", "--output", "read.npy")
    assert again["history"] == written["history"] and again["stored_bytes"] == H.statistics["stored_bytes"]
    assert np.array_equal(np.load(tmp_path / "built.npy"), np.load(tmp_path / "read.npy"))


#: Of preconditioners and distributions the iterations and the bits of x, where it is; those of products by ranks.
PROGRAM = """
import sys, numpy as np, sordino
from sordino._memory import processes_here
from sordino._native import core
ball, ranks = sordino.surfaces.sphere(6, 6), 4 // int(sys.argv[1])
assert processes_here() == int(sys.argv[1])
H, coarse = sordino.hmatrix(ball, 1e-6), sordino.hmatrix(ball, 1e-1)
waves = sordino.hmatrix(ball, 1e-6, kernel="helmholtz", wavenumber=0.2)
b = np.random.default_rng(5).standard_normal((H.shape[0], 2))
for A, options in (
    (H, {"M": coarse}), (H, {"precond": "block-jacobi"}), (H, {"M": coarse, "distribution": "grid"}),
    (H, {"solver": "pipebicgstab", "distribution": "leaves"}), (waves, {}), (waves, {"distribution": "grid"}),
):
    for column in b.T:  # one process alone would solve for both at once, with the bits of one rank
        found = sordino.solve(A, column, engine="host", ranks=ranks, rtol=1e-9, **options)
        if found.x is not None:
            assert np.linalg.norm(column - A @ found.x) <= 1.01e-9 * np.linalg.norm(column)
            print(found.iterations, found.x.tobytes().hex())
for A in (H, waves):
    for how in ("rows", "leaves", "grid"):
        G = A.on("host", ranks=ranks, distribution=how)
        assert G.ranks == 4 and len(G.held_bytes()) == ranks and G.time_product(1, columns=2) > 0
        for product, here in ((G @ b, A @ b), (G.T @ b[:, 0], A.T @ b[:, 0])):
            assert np.linalg.norm(product - here) <= 1e-12 * np.linalg.norm(here)
            if core().mpi()["rank"] == 0:
                print(product.tobytes().hex())
"""


def test_coarse_matrices_blocks_and_waves_over_processes(mpirun_python):
    said = set()
    for processes in (1, 2, 4):
        done = mpirun_python(processes, "-c", PROGRAM, processes)
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1 and len(said.pop().splitlines()) == 12 + 2 * 3 * 2


SMALL = """
from sordino import _memory
from sordino.cli import main
_memory.available_memory = lambda: 3_000_000
raise SystemExit(main(["bem", "pair:6,5", "--eps", "1e-6", "--ranks", "1"]))
"""


def test_what_the_memory_of_a_host_does_not_hold_in_all_its_processes_is_refused(mpirun_python):
    assert mpirun_python(1, "-c", SMALL).returncode == 0
    done = mpirun_python(2, "-c", SMALL)
    assert done.returncode == 2
    assert (
        "1,512,000 bytes in each of a host's 2 processes, and 3,000,000 bytes are available" in done.stderr
    )  # a half, and the blocks on the diagonal


#: Memory that is short in the second process alone, for parts, for wholes, and not at all.
SHORT = """
import pathlib, sordino
from sordino import _memory
from sordino._native import core
mine, pair = core().mpi()["rank"], sordino.surfaces.pair(6, 5)
def tried(*bytes_of, build):
    _memory.available_memory = lambda: bytes_of[mine]
    try:
        return build(pair, eps=1e-6).is_whole
    except sordino.errors.SordinoError as refused:
        return f"{type(refused).__name__}: {refused}"
def part(surface, eps):
    return sordino.hmatrix(surface, eps, for_ranks=1)
def solved(surface, eps):
    return sordino.bem(surface, eps=eps, engine="host", ranks=1).H
def solved_with_wholes(surface, eps):
    return sordino.bem(surface, eps=eps, engine="host", ranks=1, solver="cg", on_failure="return").H
each = (part, solved, solved_with_wholes)
said = [tried(10**9, few, build=build) for build in each for few in (2_000_000, None)]
pathlib.Path(f"{mine}.txt").write_text("\\n".join(map(str, said)))
"""


def test_memory_that_one_process_lacks_is_refused_by_all(mpirun_python, tmp_path):
    done = mpirun_python(2, "-c", SHORT)
    assert done.returncode == 0, done.stderr
    first, second = ((tmp_path / f"{k}.txt").read_text().splitlines() for k in (0, 1))
    assert first == second and first[1::2] == ["False", "False", "True"]
    for refused, needed in zip(first[::2], ("1,512,000", "1,512,000", "2,880,000"), strict=True):
        assert (
            refused.startswith("BadArgument: an H-matrix of 600 triangles")
            and "2,000,000 bytes are" in refused
        )
        assert f"about {needed} bytes in each of a host's 2 processes" in refused


#: Of kernels, distributions and preconditioners the bits of x with the whole and with parts; what a process holds.
PARTS = """
import numpy as np, sordino
from sordino._native import core
ball, world = sordino.surfaces.sphere(6, 12), core().mpi()
b = np.random.default_rng(5).standard_normal(ball.n)

def same(found, expected, far=1e-12):
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert np.linalg.norm(found - expected) <= far * np.linalg.norm(expected)

for kernel, words in (("laplace", {}), ("helmholtz", {"wavenumber": 0.2})):
    whole = sordino.hmatrix(ball, 1e-4, kernel=kernel, threads=1, **words)
    for how in ("rows", "leaves", "grid"):
        part = sordino.hmatrix(ball, 1e-4, kernel=kernel, threads=1, for_ranks=2, distribution=how, **words)
        facts, expected = ({**H.statistics, "seconds": 0, "phases": 0} for H in (part, whole))
        assert facts == expected, (facts, expected)
        assert (part.blocks == whole.blocks).all() and (part.diagonal() == whole.diagonal()).all()
        assert not part.is_whole and part.held_bytes < 0.7 * whole.held_bytes, (part.held_bytes, whole.held_bytes)
        of_whole = whole.on("host", ranks=2, distribution=how)
        for x in (b, b[:, None], np.outer(b, [1, -2, 3]), b + 1j * b[::-1]):
            assert (part @ x).tobytes() == (of_whole @ x).tobytes() == (part.on("host") @ x).tobytes()
            same(part @ x, whole @ x)
        for precond in ("jacobi", "block-jacobi", "coarse"):
            if precond == "coarse" and kernel != "laplace":
                continue
            found, coarse = [], []
            for H in (whole, part):
                M = sordino.hmatrix(ball, 1e-1, threads=1, beside=H) if precond == "coarse" else None
                assert M is None or M.is_whole == H.is_whole
                coarse.append(b if M is None else M @ b)  # whose rows are those of H
                told = {"M": M} if M is not None else {"precond": precond}
                found.append(sordino.solve(H, b, engine="host", ranks=2, rtol=1e-8, distribution=how, **told))
            assert found[0].iterations == found[1].iterations
            same(coarse[1], coarse[0])
            if found[0].x is not None:
                assert found[0].x.tobytes() == found[1].x.tobytes()
                print(kernel, how, precond)

def refused(work, *words):
    try:
        work()
    except sordino.errors.SordinoError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(words)

for turned in (part.T, part.H):
    refused(lambda: turned @ b, "holds its part of the H-matrix alone", "or with the transpose, needs the whole")
refused(lambda: part.on("host").T @ b, "holds its part of the H-matrix alone, and a transpose needs the whole")
refused(lambda: part.on("host", ranks=1), "built in parts for 2 ranks in each of 2 processes with distribution grid")
refused(lambda: part.on("host", distribution="rows"), "2 ranks in each of 2 processes with distribution grid")
refused(lambda: whole.on("host", ranks=1, distribution=("rows", how)[world["rank"]]), "different distributions")
refused(lambda: part @ np.ones((ball.n, 1 + world["rank"])), "multiply different numbers of vectors")
same(part @ b, whole @ b)
refused(lambda: sordino.io.save_hmatrix(f"{world['rank']}.hmatrix", part), "alone, and a file is of the whole")
refused(lambda: sordino.solve(part, b, engine="host", ranks=1, distribution=how), "2 ranks in each of 2 processes")
refused(lambda: sordino.solve(part, b, engine="host", ranks=2), "2 ranks in each of 2 processes with distribution grid")
refused(lambda: sordino.hmatrix(ball, 10.0 ** -(world["rank"] + 1), for_ranks=1), "different surfaces or options")
refused(lambda: sordino.hmatrix(ball, 1e-4, for_ranks=0), "for_ranks is a whole number, at least 1")
refused(lambda: sordino.hmatrix(ball, 1e-4, for_ranks=1, beside=part), "choose one")

def stop(share):
    if world["rank"] == 1:
        raise KeyError("enough")
big = sordino.surfaces.sphere(12, 12)
try:
    sordino.hmatrix(big, 1e-6, threads=1, for_ranks=1, progress=stop)
except KeyError as error:
    assert world["rank"] == 1
except sordino.errors.SordinoError as error:
    assert world["rank"] == 0 and "process 1: " in str(error) and "enough" in str(error), error
else:
    raise AssertionError("nothing was thrown")
"""


def test_each_process_builds_its_part_and_finds_what_the_whole_finds(mpirun_python):
    done = mpirun_python(2, "-c", PARTS)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 * 3 + 2 * 3


BEM = """
import numpy as np, sordino
ball = sordino.surfaces.sphere(8, 12)
found = sordino.bem(ball, potential=1.0, engine="host", ranks=1, eps=1e-4, coarse=1e-1, distribution="grid")
x = np.linspace(1, 2, ball.n)  # in every process: the density is in the first one alone
here = sordino.hmatrix(ball, 1e-4) @ x
assert not found.H.is_whole and abs(found.H @ x - here).max() <= 1e-12 * abs(here).max()
symmetric = sordino.bem(ball, potential=1.0, engine="host", ranks=1, eps=1e-4, solver="cg", on_failure="return")
assert symmetric.H.is_whole
"""


def test_conductors_are_solved_by_parts_but_for_methods_that_look_at_the_whole(mpirun_python):
    done = mpirun_python(2, "-c", BEM)
    assert done.returncode == 0, done.stderr


def test_one_process_builds_the_whole_whatever_it_is_for():
    H = sordino.hmatrix(pair(6, 5), 1e-4, for_ranks=2, distribution="grid")
    assert H.is_whole and H.held_bytes >= H.statistics["stored_bytes"]
    assert np.isfinite(H @ np.ones(600)).all()


def test_all_processes_refuse_what_the_gpu_of_one_does_not_hold(mpirun_python, tmp_path):
    """Also one whose own GPU has room, and two that share one which has room for each alone."""
    program = tmp_path / "refused.py"
    program.write_text(
        "from sordino import _gpu_memory, _hmatrix_memory\n"
        "from sordino._native import core\n"
        "mine = core().mpi()['rank']\n"
        "def tried(free, name):\n"
        "    _gpu_memory.free_bytes, _gpu_memory.identity = (lambda gpu: free), (lambda gpu: name)\n"
        "    try:\n"
        "        _hmatrix_memory.check_gpus(600, [{'stored_bytes': 8000, 'eps': 1e-4}], [mine], ranks=1, all_ranks=2)\n"
        "    except Exception as refused:\n"
        "        return str(refused)[40:]\n"
        "said = [tried(10**6 if mine else 10**4, mine), tried(150_000, 'one'), tried(150_000, mine)]\n"
        "open(f'{mine}.txt', 'w').write('\\n'.join(map(str, said)))\n"
    )
    done = mpirun_python(2, program)
    assert done.returncode == 0, done.stderr
    first, shared, fits = (tmp_path / "0.txt").read_text().splitlines()
    assert (tmp_path / "1.txt").read_text().splitlines() == [first, shared, fits]
    assert "100,000 bytes at least on GPU 0, and 10,000 bytes" in first
    assert "200,000 bytes at least on GPU 0, and 150,000 bytes" in shared and fits == "None"
