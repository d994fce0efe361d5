"""Paper 004's Algorithm 1 behind the door of triangular solves."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sordino
from sordino import BadArgument, Unsupported, _core


def assert_close(x, wanted):
    single = x.dtype in (np.float32, np.complex64)
    assert np.abs(x - wanted).max() <= (1e-4 if single else 1e-11) * np.abs(wanted).max()


@pytest.mark.parametrize("layout", ["", "1x1", "2x1", "1x3", "2x3"])
@pytest.mark.parametrize("dtype", [np.float32, float, complex])
def test_it_solves_as_ours_does_on_threads_and_on_the_model_in_all_directions(layout, dtype, rng_of_today):
    A = sordino.poisson(7, 6, 5)
    L = sordino.splu(A, "mmd").factors.lower.astype(dtype)
    n = L.shape[0]
    if dtype is complex:
        L.data *= np.exp(1j * rng_of_today.uniform(0, 6, L.nnz))
    b = rng_of_today.standard_normal((n, 3)).astype(dtype)
    ours = sordino.factorized(L)
    for more in ({"threads": 6}, {"engine": "model", "seed": 3}):
        paper = sordino.factorized(L, algorithm="paper", layout=layout, width=16, **more)
        for trans in "NTH":
            x = paper.solve(b, trans, 0)
            assert x.shape == b.shape
            assert_close(x, ours.solve(b, trans, 0))
            assert_close(paper.solve(b[:, 1], trans, 0), ours.solve(b[:, 1], trans, 0))
        assert paper.statistics["ranks"] == int(np.prod([int(k) for k in (layout or "1x1").split("x")]))
        assert (paper.statistics["modelled_seconds"] > 0) == ("engine" in more)
        paper.update(2 * L)
        for trans in "NT":
            assert_close(paper.solve(b, trans, 0) * 2, ours.solve(b, trans, 0))


def test_upper_triangles_with_unit_diagonals_and_whole_systems(rng_of_today):
    A = sordino.poisson(6, 6, 4)
    b = rng_of_today.standard_normal(A.shape[0])
    F = sordino.splu(A, "mmd")
    U = F.factors.upper
    for unit in (False, True):
        x = sordino.factorized(
            U, lower=False, unit_diagonal=unit, algorithm="paper", layout=(2, 2), threads=4
        ).solve(b)
        assert_close(x, sordino.factorized(U, lower=False, unit_diagonal=unit).solve(b))
    whole = sordino.factorized_lu(F.factors, A, algorithm="paper", layout="2x2")
    assert_close(whole.solve(b), F.solve(b))
    assert_close(sordino.splu(A, algorithm="paper", ranks=2).solve(b, "T"), F.solve(b, "T"))


def test_the_command_takes_it(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("A.mtx", sp.coo_matrix(sordino.poisson(5, 5, 5)))
    for engine in ("host", "model"):
        words = (
            f"trsv A.mtx --factor --algorithm paper --layout 2x3 --engine {engine} --nrhs 2 --trans T --json"
        )
        code, out, err = cli(*words.split())
        assert code == 0, err
        facts = json.loads(out)
        assert facts["status"] == "verified" and facts["statistics"]["L"]["ranks"] == 6


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"algorithm": "theirs"}, BadArgument, "algorithm is ours or paper"),
        ({"layout": "2x3"}, BadArgument, "a layout is of algorithm 'paper'"),
        ({"algorithm": "paper", "layout": "2"}, BadArgument, "layout is PxQ, two whole numbers such as 2x3"),
        ({"algorithm": "paper", "layout": "0x3"}, BadArgument, "layout is PxQ"),
        ({"algorithm": "paper", "layout": "2xy"}, BadArgument, "layout is PxQ"),
        ({"algorithm": "paper", "layout": "2x3", "ranks": 4}, BadArgument, "has 6 ranks, and ranks is 4"),
        ({"algorithm": "paper", "layout": "8x8"}, BadArgument, "1 to 32 ranks, and 64 were asked for"),
        ({"algorithm": "paper", "engine": "processes"}, Unsupported, "take engine host, cuda or model"),
    ],
)
def test_what_it_cannot_do_is_said_in_one_sentence(options, kind, sentence):
    with pytest.raises(kind, match=sentence) as refused:
        sordino.factorized(sp.eye_array(4), **options)
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(not _core.devices()["reason"], reason="there is a GPU")
def test_without_a_gpu_engine_cuda_says_so_in_one_sentence(cli, tmp_path, monkeypatch):
    with pytest.raises(Unsupported, match="engine cuda (needs a GPU: |is not there)") as refused:
        sordino.factorized(sp.eye_array(4), algorithm="paper", engine="cuda", layout="1x1").solve(np.ones(4))
    assert "\n" not in str(refused.value)
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("L.mtx", sp.eye_array(4, format="coo"))
    code, out, err = cli("trsv", "L.mtx", "--algorithm", "paper", "--engine", "cuda", "--layout", "1x1", "--json")
    assert (code, out) == (2, "") and "engine cuda" in err and err.count("\n") == 1
