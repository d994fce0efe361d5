"""What memory there is, and matrices that are too large for it: one sentence, before anything is built."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

import sordino
from sordino import _memory
from sordino._hmatrix_memory import estimate_bytes
from sordino._memory import available_memory, peak_of, processes_here
from sordino.errors import BadArgument

GB = 10**9
LAUNCHERS = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE")


def machine(root, groups, available=64 * GB, **files):
    """Folders such as ``/proc`` and ``/sys``: ``self/cgroup``, and files of groups by their paths."""
    told = {
        "proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {available // 1024} kB\n",
        "proc/self/cgroup": groups,
    }
    told |= {f"sys/fs/cgroup/{path}": text for path, text in files.items()}
    for path, text in told.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return available_memory(root)


def group(path, limit, used, inactive=0):
    """Of version 2."""
    return {
        f"{path}/memory.max": f"{limit}\n",
        f"{path}/memory.current": f"{used}\n",
        f"{path}/memory.stat": f"anon 1\ninactive_file {inactive}\n",
    }


def test_the_system_s_memory_without_groups(tmp_path):
    assert machine(tmp_path, "0::/\n") == 64 * GB // 1024 * 1024
    (tmp_path / "proc/self/cgroup").unlink()
    assert available_memory(tmp_path) == 64 * GB // 1024 * 1024


def test_a_group_s_limit_and_that_of_one_above_it(tmp_path):
    inner, outer = group("job/step", "max", GB), group("job", 8 * GB, 3 * GB, inactive=GB)
    assert machine(tmp_path, "0::/job/step\n", **inner, **outer) == 6 * GB
    assert machine(tmp_path, "0::/job/step\n", **group("job/step", 2 * GB, GB), **outer) == GB
    assert machine(tmp_path, "0::/job/step\n", **group("job/step", GB, 2 * GB), **outer) == 0


def test_a_container_that_sees_its_own_group_as_the_top(tmp_path):
    assert machine(tmp_path, "0::/outside/of/it\n", **group(".", 4 * GB, GB)) == 3 * GB


def test_groups_of_version_1(tmp_path):
    files = {
        "memory/job/memory.limit_in_bytes": f"{4 * GB}\n",
        "memory/job/memory.usage_in_bytes": f"{3 * GB}\n",
        "memory/job/memory.stat": f"cache 7\ntotal_inactive_file {2 * GB}\n",
    }
    assert machine(tmp_path, "5:cpu,memory:/job\n3:pids:/job\n0::/\n", **files) == 3 * GB


@pytest.fixture
def alone(monkeypatch):
    for name in (*LAUNCHERS, "SLURM_STEP_TASKS_PER_NODE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 4), ("MPI_LOCALNRANKS", "2", 2), ("SLURM_STEP_TASKS_PER_NODE", "8(x2),3", 8)],
)  # fmt: skip
def test_processes_of_this_host_are_those_that_the_launcher_tells(alone, monkeypatch, name, value, count):
    assert processes_here() == 1
    monkeypatch.setenv(name, value)
    assert processes_here() == count


def test_the_peak_of_resident_memory_is_that_of_the_work():
    def work():
        # Of the system: an array might lie in memory that the allocator has kept from another test.
        cells = np.frombuffer(mmap.mmap(-1, 1 << 27), np.uint8)
        cells += 1
        return cells.sum(dtype=np.int64)

    done, peak = peak_of(work)
    assert done == 1 << 27
    if peak is not None:
        assert peak > 0.9 * (1 << 27)
        assert peak_of(lambda: None)[1] < 1 << 24  # what was before is forgotten


# ---- H-matrices ------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(alone, monkeypatch):
    """A machine of 50,000 bytes."""
    monkeypatch.setattr(_memory, "available_memory", lambda: 50_000)


def refusals():
    """Every way to build one, with more words for it."""
    ball = sordino.surfaces.sphere(5, 3)
    yield lambda eps, **more: sordino.hmatrix(ball, eps, **more)
    yield lambda eps, **more: sordino.bem(ball, eps=eps, **more)


@pytest.mark.parametrize("build", list(refusals()))
def test_a_matrix_that_does_not_fit_is_refused_before_it_is_built(small, build):
    with pytest.raises(
        BadArgument,
        match=r"^an H-matrix of 90 triangles with eps 1e-09 needs about 64,800 bytes, and 50,000 bytes are available: "
        r"a larger eps needs less$",
    ):
        build(1e-9)


@pytest.mark.parametrize("build", list(refusals()))
@pytest.mark.parametrize("eps", [0, -1, 1.5, float("nan")])
def test_an_eps_that_is_none_is_said_before_the_memory_is(small, build, eps):
    with pytest.raises(BadArgument, match="eps is below 1 and at least 1e-13"):
        build(eps)


def test_other_words_that_cannot_be_used_are_said_before_the_memory_is(small):
    with pytest.raises(BadArgument, match="there is no compression 'magic'"):
        sordino.hmatrix(sordino.surfaces.sphere(5, 3), compression="magic")


def test_waves_take_twice_the_bytes(small):
    with pytest.raises(BadArgument, match="needs about 129,600 bytes"):
        sordino.hmatrix(sordino.surfaces.sphere(5, 3), 1e-9, kernel="helmholtz", wavenumber=1.0)


def test_a_coarse_matrix_needs_its_own(small, monkeypatch):
    with pytest.raises(
        BadArgument,
        match=r"2 H-matrices of 90 triangles with eps 1e-09 and 0\.1 need about 129,600 bytes, and",
    ):
        sordino.bem("sphere:5,3", eps=1e-9, coarse=0.1)
    with pytest.raises(BadArgument, match="eps is below 1"):
        sordino.bem("sphere:5,3", coarse=0)
    monkeypatch.setattr(_memory, "available_memory", lambda: 70_000)  # for one
    sordino.bem("sphere:5,3", eps=1e-9)
    with pytest.raises(BadArgument, match="2 H-matrices"):
        sordino.bem("sphere:5,3", eps=1e-9, coarse=0.1)


def test_each_process_of_a_host_builds_its_own(small, monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: 100_000)
    sordino.hmatrix(sordino.surfaces.sphere(5, 3), 1e-9)
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2")
    with pytest.raises(
        BadArgument,
        match="64,800 bytes in each of a host's 2 processes, and 100,000 bytes are available: a larger eps needs "
        "less, and so do fewer processes",
    ):
        sordino.hmatrix(sordino.surfaces.sphere(5, 3), 1e-9)


def test_the_command_line_refuses_too(alone, cli, monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: 400_000)
    code, out, err = cli("bem", "pair:6,5")
    assert code == 2 and out == ""
    assert "600 triangles with eps 0.0001 needs about 2,880,000 bytes, and 400,000 bytes are available" in err
    code, _, err = cli("bem", "pair:6,5", "--coarse", "0.1")
    assert code == 2 and "2 H-matrices of 600 triangles with eps 0.0001 and 0.1" in err
    code, _, err = cli("bem", "pair:6,5", "--eps", "0")
    assert code == 2 and "eps is below 1 and at least 1e-13" in err
    code, _, err = cli("bench", "hmatrix", "pair:6,5", "--ways", "aca")
    assert code == 2 and "600 triangles with eps 1e-06 needs about 2,880,000 bytes" in err


def test_of_a_matrix_from_a_file_the_coarse_one_alone_is_built(cli, tmp_path, alone, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("bem", "sphere:5,3", "--save-matrix", "ball.hmatrix")[0] == 0
    monkeypatch.setattr(_memory, "available_memory", lambda: 50_000)
    assert cli("bem", "sphere:5,3", "--matrix", "ball.hmatrix")[0] == 0
    code, _, err = cli("bem", "sphere:5,3", "--matrix", "ball.hmatrix", "--coarse", "0.1")
    assert code == 2 and "an H-matrix of 90 triangles with eps 0.1 needs about" in err


def test_the_estimate_is_near_what_others_have_found():
    """HACApK's 10ts at 1e-6: 135.71 MiB; spheres of 101,250 and 1,004,400 triangles: 2.15 and 28.2 GB."""
    for n, found in ((10_400, 135.71 * 2**20), (101_250, 2.15e9), (1_004_400, 28.2e9)):
        assert 0.8 * found < estimate_bytes(n, 1e-6) < 1.35 * found
    assert estimate_bytes(101_250, 1e-3) < 0.6 * estimate_bytes(101_250, 1e-6)
    assert estimate_bytes(100, 1e-6) == 80_000 and estimate_bytes(100, 1e-6, kernel="helmholtz") == 160_000


@pytest.mark.parametrize("most_rank", [1, 3])
def test_the_estimate_of_a_matrix_that_is_held_to_a_rank(most_rank):
    ball = sordino.surfaces.sphere(13, 20)
    stored = sordino.hmatrix(ball, 1e-6, most_rank=most_rank).statistics["stored_bytes"]
    assert 0.6 * stored < estimate_bytes(ball.n, 1e-6, most_rank=most_rank) < 1.6 * stored
    assert estimate_bytes(ball.n, 1e-1, most_rank=100) == estimate_bytes(ball.n, 1e-1)


@pytest.mark.parametrize(
    ("words", "triangles"),
    [
        ("sphere:3000,3000", 54 * GB), ("pair:3000,3000", 54 * GB), ("spheres:9000,9000,9", 2187 * GB // 10),
        ("plate:100000", 20 * GB), ("figure:1000", 19_664_000_000),
    ],
)  # fmt: skip
def test_shapes_of_more_triangles_than_memory_are_refused_at_once(cli, alone, words, triangles):
    code, _, err = cli("bem", words)
    needed = f"a surface of {triangles:,} triangles needs about {500 * triangles:,} bytes, and "
    assert code == 2 and needed in err
