"""Boundary elements: what is refused, or warned of, before a matrix is built that may take minutes."""

from __future__ import annotations

import contextlib
import functools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sordino
from sordino import _charge, _gpu_memory, _hmatrix, _hmatrix_builders, _hmatrix_memory, _hmatrix_trial
from sordino._hmatrix_memory import check_gpus, check_gpus_to_build, estimate_bytes
from sordino._native import core
from sordino.bench import _hmatrix_runs
from sordino.bench import hmatrix as bench
from sordino.cli import bem as command
from sordino.errors import BadArgument, Unsupported
from sordino.surfaces import sphere

BALL = sphere(5, 4, radius=1.0, potential=1.0)
GB = 10**9


@pytest.fixture
def nothing_is_built(monkeypatch):
    """By the commands and by :func:`sordino.bem`, that is: what tries a solver has a small matrix of its own."""

    def built(*words, **more):
        raise AssertionError("a matrix was built")

    for module in (command, _charge, bench):
        monkeypatch.setattr(module, "hmatrix", built)


#: Options that do not go together, or not here, and what is said of them.
REFUSED = [
    ({"gather": "foo"}, "gather is rank, node, or how many ranks make a group, not 'foo'"),
    ({"gather": "2", "solver": "bicgstab"}, "which solver bicgstab does not: use solver gatherbicgstab"),
    ({"vectors": "redundant", "solver": "gmres"}, "vectors 'redundant' is of solver bicgstab"),
    ({"vectors": "hierarchical", "solver": "bicgstab", "gather": "3", "ranks": 4, "engine": "host"},
     "4 ranks cannot be groups of 3"),
    ({"schedule": "pipe1", "solver": "bicgstab"}, "schedule 'pipe1' is of solver gatherbicgstab, and the solver is "),
    ({"precond": "mg"}, "mg needs the entries of the matrix, which is an H-matrix"),
    ({"solver": "bicgtsab"}, "unknown solver 'bicgtsab'"),
    ({"ranks": 161, "engine": "host"}, "161 ranks are more than the matrix has rows (160)"),
    ({"coarse": 0.1, "solver": "bicgstab"}, "gmres"),
    ({"coarse": 0.1, "inner": 65}, "inner must be from 1 to 64, not 65"),
    ({"inner": 5}, "inner is of a second matrix: say its accuracy, "),
]  # fmt: skip


@pytest.mark.parametrize(("options", "sentence"), REFUSED, ids=lambda value: str(value)[:40])
def test_options_are_refused_before_the_build(nothing_is_built, cli, options, sentence):
    with pytest.raises((BadArgument, Unsupported)) as refused:
        sordino.bem(BALL, **options)
    assert sentence in str(refused.value)
    flags = [word for name, value in options.items() for word in ("--" + name, value)]
    code, out, err = cli("bem", "sphere:5,4", *flags)
    assert (code, out, err.count("\n")) == (2, "", 1) and sentence in err


@pytest.mark.parametrize("name", ["M", "precond"])
def test_two_second_matrices_are_refused_before_the_build(nothing_is_built, name):
    second = sordino.hmatrix(BALL, 1e-1)
    with pytest.raises(
        BadArgument, match=f"^coarse makes a preconditioner, and {name} is one, too: choose one$"
    ):
        sordino.bem(BALL, coarse=0.1, **{name: second})


@pytest.mark.skipif(bool(core().devices()["devices"]), reason="there is a GPU")
def test_an_engine_that_is_not_here_is_refused_before_the_build(nothing_is_built, cli):
    with pytest.raises(BadArgument, match="engine 'cuda'"):
        sordino.bem(BALL, engine="cuda")
    for argv in (["bem", "sphere:5,4"], ["bench", "hmatrix", "sphere:5,4"]):
        code, out, err = cli(*argv, "--engine", "cuda")
        assert (code, out, err.count("\n")) == (2, "", 1) and "engine 'cuda'" in err


def test_nullspaces_are_looked_at_before_the_build(nothing_is_built, cli, tmp_path):
    with pytest.raises(BadArgument, match="nullspace"):
        sordino.bem(BALL, nullspace=np.ones(3))
    np.save(tmp_path / "three.npy", np.ones(3))
    code, _, err = cli("bem", "sphere:5,4", "--nullspace", tmp_path / "three.npy")
    assert code == 2 and "160" in err


def test_what_can_be_solved_is_not_refused_and_warned_of_once(caplog):
    for M in (lambda r: r, np.diag(np.full(160, 2.0)), sordino.hmatrix(BALL, 1e-1), "block-jacobi"):
        assert sordino.bem(BALL, M=M, engine="host", ranks=2, on_failure="return").solution.x is not None
    assert sordino.bem(
        BALL, engine="host", ranks=100
    ).solution.converged  # more than the trial's usual matrix has
    inner = sordino.bem(BALL, M=sordino.hmatrix(BALL, 1e-1), inner=3).solution
    assert inner.report.options["inner"] == 3
    caplog.clear()
    sordino.bem(BALL, engine="host", seed=3)
    assert [record.getMessage()[:13] for record in caplog.records] == ["option 'seed'"]


def test_a_distribution_is_of_parts():
    with pytest.raises(BadArgument, match="distribution is of the part that a process builds: say for_ranks"):
        sordino.hmatrix(BALL, distribution="grid")
    assert sordino.hmatrix(BALL, distribution="grid", for_ranks=2).is_whole


# ---- a matrix that was read ------------------------------------------------------------------------------------------


@pytest.fixture
def ball(cli, tmp_path, monkeypatch):
    """Run ``sordino bem`` with the matrix of a sphere that was written, and return what it warns of."""
    monkeypatch.chdir(tmp_path)
    assert cli("bem", "sphere:5,4", "--eps", "1e-4", "--save-matrix", "m.hmatrix")[0] == 0

    def run(*argv):
        code, _, err = cli("bem", "sphere:5,4", "--matrix", "m.hmatrix", *argv)
        assert code == 0
        return err

    return run


def test_options_of_a_build_are_named_where_a_matrix_is_read(ball):
    assert ball("--eps", "1e-9", "--compression", "full", "--most-rank", 1) == (
        "sordino: --eps, --most-rank and --compression are of a build, and change nothing of m.hmatrix, which is "
        "built: leave them out\n"
    )
    assert ball("--no-recompress") == (
        "sordino: --no-recompress is of a build, and changes nothing of m.hmatrix, which is built: leave it out\n"
    )
    for flag, value in (("--leaf", 20), ("--eta", 1.5), ("--threads", 2)):
        assert f"{flag} is of a build" in ball(flag, value)


def test_what_the_matrix_that_is_read_has_may_be_said(ball):
    assert ball() == ball("--eps", "1e-4", "--eta", 2, "--leaf", 15, "--compression", "aca+") == ""


def test_a_second_matrix_is_built_by_these_options(ball):
    assert ball("--coarse", "1e-1", "--compression", "full", "--threads", 1) == ""
    assert "--eps and --leaf are of a build" in ball("--coarse", "1e-1", "--eps", "1e-3", "--leaf", 20)


# ---- complex numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [{"potential": 1j}, {"potential": [1, 2j]}, {"potential": np.ones(160) + 0j}, {"field": (0, 0, 1j)}],
)
def test_complex_potentials_and_fields_are_refused(nothing_is_built, given):
    with pytest.raises(Unsupported, match="is real, and this one is complex"):
        sordino.bem(BALL, **given)


def test_a_complex_potential_of_a_file_or_a_surface_is_refused(nothing_is_built, cli, tmp_path):
    np.save(tmp_path / "volts.npy", np.ones(160) * (1 + 2j))
    code, out, err = cli("bem", "sphere:5,4", "--potential", tmp_path / "volts.npy")
    assert (code, out) == (2, "")
    assert err == (
        "sordino: a potential is real, and this one is complex: give its real and its imaginary part as two columns\n"
    )
    with pytest.raises(BadArgument, match="the potential must be real numbers, and these are complex: 1j"):
        sordino.surfaces.Surface(BALL.points, BALL.triangles, potential=1j)


def test_two_columns_are_the_parts_of_a_complex_charge():
    volts = BALL.centroids[:, 0] + 1j * BALL.centroids[:, 2]
    found = sordino.bem(BALL, potential=np.stack([volts.real, volts.imag], axis=1), eps=1e-9, rtol=1e-10)
    np.testing.assert_allclose(found.H @ (found.density @ [1, 1j]), volts, atol=1e-8)


# ---- memory of GPUs --------------------------------------------------------------------------------------------------


def least(eps):
    """Bytes of the values of 600 triangles: estimates are up to 1.6 times over."""
    return int(estimate_bytes(600, eps) / 1.6)


@pytest.fixture
def gpus(monkeypatch):
    """A machine of two GPUs, of which one has 200,000 bytes free, and a solver on so many ranks."""

    def of(ranks, solver="bicgstab"):
        monkeypatch.setattr(_hmatrix_trial, "gpus_of_ranks", lambda devices, ranks: [0, 1])
        monkeypatch.setattr(_gpu_memory, "free_bytes", {0: 64 * GB, 1: 200_000}.get)
        for module in (command, _charge, _hmatrix_runs):
            placed = {"engine": "cuda", "ranks": ranks, "solver": solver}
            monkeypatch.setattr(module, "try_solver", lambda *words, placed=placed, **more: placed)

    return of


def test_a_matrix_that_gpus_do_not_hold_is_refused_before_it_is_built(nothing_is_built, gpus, cli):
    gpus(2)
    needed = -(-least(1e-4) // 2) + 160 * 600
    sentence = (
        f"an H-matrix of 600 triangles with eps 0.0001 needs {needed:,} bytes at least on GPU 1, and 200,000 bytes "
        "are free there: a larger eps needs less, and so do more GPUs"
    )
    with pytest.raises(BadArgument) as refused:
        sordino.bem("pair:6,5", eps=1e-4)
    assert str(refused.value) == sentence
    assert cli("bem", "pair:6,5") == (2, "", f"sordino: {sentence}\n")
    assert cli("bench", "hmatrix", "pair:6,5", "--eps", "1e-4", "--engine", "cuda")[::2] == (
        2,
        f"sordino: {sentence}\n",
    )
    code, _, err = cli("bem", "pair:6,5", "--coarse", "0.1")
    assert code == 2 and "2 H-matrices of 600 triangles with eps 0.0001 and 0.1 need " in err


def test_ranks_go_to_gpus_in_turn(gpus, nothing_is_built):
    gpus(1)  # on the first one, which is large
    with pytest.raises(AssertionError, match="a matrix was built"):
        sordino.bem("pair:6,5")
    gpus(4)  # two on each
    needed = 2 * (-(-least(1e-4) // 4) + 160 * 600)
    with pytest.raises(BadArgument, match=f"needs {needed:,} bytes at least on GPU 1"):
        sordino.bem("pair:6,5")


def test_of_a_matrix_that_was_read_the_bytes_are_known(gpus, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("bem", "pair:6,5", "--json", "--save-matrix", "m.hmatrix")[0] == 0
    _, out, _ = cli("bem", "pair:6,5", "--json", "--matrix", "m.hmatrix")
    stored = json.loads(out)["stored_bytes"]
    gpus(2)
    code, _, err = cli("bem", "pair:6,5", "--matrix", "m.hmatrix")
    assert code == 2 and f"needs {-(-stored // 2) + 160 * 600:,} bytes at least on GPU 1" in err


def test_gmres_keeps_its_basis_there(gpus, nothing_is_built):
    gpus(2, "gmres")
    needed = -(-(least(1e-4) + 30 * 8 * 600) // 2) + 160 * 600
    with pytest.raises(BadArgument, match=f"needs {needed:,} bytes at least on GPU 1"):
        sordino.bem("pair:6,5")


@pytest.mark.parametrize("name", ["M", "precond"])
def test_a_second_matrix_that_is_there_counts_and_so_does_the_basis_of_gmres(gpus, nothing_is_built, name):
    second = sordino.hmatrix(sordino.surfaces.from_words("pair:6,5"), 1e-1)
    gpus(2, "auto")
    values = least(1e-4) + second.statistics["stored_bytes"] + 2 * 30 * 8 * 600
    needed = -(-values // 2) + 2 * 160 * 600
    with pytest.raises(BadArgument, match=f"eps 0.0001 and 0.1 need {needed:,} bytes at least on GPU 1"):
        sordino.bem("pair:6,5", **{name: second})


@pytest.mark.parametrize(
    ("seen", "size", "ranks", "solve_on", "build_on"),
    [
        (1, 1, 3, [[0]], [[0]]),
        (4, 1, 2, [[0, 1]], [[0, 1, 2, 3]]),
        (2, 2, 1, [[0], [1]], [[0], [1]]),
        (4, 2, 2, [[0, 1], [2, 3]], [[0, 1], [2, 3]]),
        (4, 2, 1, [[0], [1]], [[0, 1], [2, 3]]),  # all of them build
        (1, 2, 1, [[0], [0]], [[0], [0]]),  # each sees its own alone
    ],
)
def test_processes_build_on_gpus_of_their_own_and_look_at_those_of_their_ranks(
    fake_core, seen, size, ranks, solve_on, build_on
):
    fake_core.cuda, fake_core.gpus, fake_core.mpi_size = True, seen, size
    for fake_core.mpi_rank in range(size):
        assert _hmatrix_builders.gpus_of_ranks(None, ranks) == solve_on[fake_core.mpi_rank]
        assert _hmatrix_builders.gpus_of() == build_on[fake_core.mpi_rank]


def test_processes_that_share_a_gpu_are_added_up_and_refuse_together(monkeypatch):
    """GPU 1 of this process is GPU 0 of another one; each needs less than is free there."""
    needed = least(1e-4) + 160 * 600
    monkeypatch.setattr(_gpu_memory, "free_bytes", lambda number: needed)
    monkeypatch.setattr(_gpu_memory, "identity", {0: "one", 1: "two"}.get)
    check = functools.partial(check_gpus, 600, [{"eps": 1e-4}], [1], ranks=1, all_ranks=1)
    check()
    monkeypatch.setattr(_hmatrix_memory, "gathered", lambda rows: [*rows, ("two", 0, 1, needed)])
    with pytest.raises(BadArgument, match=f"needs {needed + 1:,} bytes at least on GPU 1"):
        check()
    monkeypatch.setattr(_hmatrix_memory, "gathered", lambda rows: [*rows, ("three", 0, needed + 1, needed)])
    with pytest.raises(BadArgument, match=f"needs {needed + 1:,} bytes at least on GPU 0"):  # not ours
        check()
    with pytest.raises(BadArgument, match="to build"):
        check_gpus_to_build(10, [1], together=True)
    check_gpus_to_build(10, [1])


def test_gpus_that_have_no_room_to_build_are_refused(monkeypatch):
    monkeypatch.setattr(_gpu_memory, "free_bytes", {0: 64 * GB, 3: GB}.get)
    check_gpus_to_build(500_000, [0, 3])
    with pytest.raises(
        BadArgument,
        match=r"^to build an H-matrix of 1,004,400 triangles takes 1,034,160,128 bytes on GPU 3 at least, and "
        r"1,000,000,000 bytes are free there: engine 'host' takes none$",
    ):
        check_gpus_to_build(1_004_400, [0, 3])
    monkeypatch.setattr(_gpu_memory, "free_bytes", lambda number: 1000)
    monkeypatch.setattr(_hmatrix, "builder", lambda *words: "cuda")
    monkeypatch.setattr(_hmatrix, "gpus_to_build", lambda *words, **more: [3])
    checked = SimpleNamespace(HMatrix=SimpleNamespace(check=lambda options: None))
    monkeypatch.setattr(_hmatrix, "core", lambda: checked)  # whose HMatrix cannot be called
    monkeypatch.setattr(_hmatrix, "translated", contextlib.nullcontext)
    with pytest.raises(BadArgument, match="to build an H-matrix of 160 triangles"):
        sordino.hmatrix(BALL, engine="cuda")


def test_where_the_driver_does_not_tell_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(_gpu_memory, "free_bytes", lambda number: None)
    check_gpus_to_build(10**9, [0])
    check_gpus(10**9, [{"eps": 1e-9}], [0], ranks=1, all_ranks=1)


@pytest.mark.skipif(bool(core().devices()["devices"]), reason="there is a GPU")
def test_without_a_gpu_the_driver_does_not_tell():
    assert _gpu_memory.free_bytes(0) is None


def test_what_gpus_of_the_records_held_is_foretold(monkeypatch):
    """Not more than they held, and not less than half of it."""
    records = Path(__file__).parents[2] / "bench" / "records"
    rows = [
        row
        for name in ("2026-11-23_hmatrix_h200", "2026-11-26_hmatrix_vectors_h200x4", "2026-11-26_hmatrix_h200x4")
        for row in map(json.loads, (records / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
        if "held_bytes" in row
    ]  # fmt: skip
    assert len(rows) > 10
    for row in rows:
        monkeypatch.setattr(_gpu_memory, "free_bytes", lambda number, row=row: row["held_bytes"] // 2)
        words = row["n"], [{"eps": row["eps"]}], range(row["ranks"])
        with pytest.raises(BadArgument, match="bytes at least on GPU 0"):
            check_gpus(*words, ranks=row["ranks"], all_ranks=row["ranks"])
        monkeypatch.setattr(_gpu_memory, "free_bytes", lambda number, row=row: row["held_bytes"])
        check_gpus(*words, ranks=row["ranks"], all_ranks=row["ranks"])
