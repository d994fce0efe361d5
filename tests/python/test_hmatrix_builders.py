"""Who computes the blocks of an H-matrix: threads, or which GPUs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import sordino
from sordino import _hmatrix_builders
from sordino._native import core

FOUR_GPUS = SimpleNamespace(devices=lambda: {"devices": [{}] * 4}, mpi=core().mpi)


@pytest.fixture(scope="module")
def surface():
    return sordino.surfaces.sphere(5, 7)


def test_who_builds_is_chosen_and_said(surface, monkeypatch):
    small = sordino.hmatrix(surface, 1e-3)
    assert small.settings["engine"] == "host"
    with pytest.raises(
        sordino.BadArgument, match="engine is auto, host or cuda for who builds an H-matrix, not 'gpu'"
    ):
        sordino.hmatrix(surface, engine="gpu")
    with pytest.raises(sordino.BadArgument, match="devices are GPUs, and engine 'host' builds without"):
        sordino.hmatrix(surface, engine="host", devices=[0])
    if core().devices()["devices"]:
        pytest.skip("tests/gpu/test_hmatrix_build.py has what there is to say with a GPU")
    with pytest.raises(sordino.BadArgument, match="engine 'cuda'"):
        sordino.hmatrix(surface, engine="cuda")
    with pytest.raises(sordino.BadArgument, match="engine 'cuda'"):
        sordino.hmatrix(surface, devices="0")  # which ask for them
    monkeypatch.setattr(_hmatrix_builders, "LEAST_FOR_GPUS", 1)
    large = sordino.hmatrix(surface, 1e-3)
    assert large.settings["engine"] == "host"
    assert np.array_equal(large @ np.ones(surface.n), small @ np.ones(surface.n))


def test_processes_share_gpus():
    assert [_hmatrix_builders._share(4, process, 2) for process in range(2)] == [[0, 1], [2, 3]]
    assert [_hmatrix_builders._share(3, process, 2) for process in range(2)] == [[0], [1, 2]]
    assert [_hmatrix_builders._share(2, process, 4) for process in range(4)] == [[0], [1], [0], [1]]
    assert _hmatrix_builders.gpus_of("3,1-2") == [3, 1, 2] and _hmatrix_builders.gpus_of([2]) == [2]


def test_a_small_matrix_is_built_by_few_gpus(monkeypatch):
    monkeypatch.setattr(_hmatrix_builders, "core", lambda: FOUR_GPUS)

    def count(n, eps, **words):
        return len(_hmatrix_builders.gpus_to_build(n, {"eps": eps}, "laplace", **words))

    assert [count(n, 1e-6) for n in (10_400, 101_250, 338_000, 1_004_400)] == [1, 1, 3, 4]
    assert count(1_004_400, 1e-2) == 3 and count(101_250, 1e-6, devices="0-3") == 4
