"""H-matrices that GPUs build, beside those that threads build. Skipped where there is no GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sordino
from sordino import _core, _hmatrix_builders

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")


#: What kernels are told, and tolerances that their entries allow.
KERNELS: list[tuple[dict[str, Any], list[float]]] = [
    ({}, [1e-2, 1e-4, 1e-6, 1e-9, 1e-12]),
    ({"kernel": "helmholtz", "wavenumber": 0.05}, [1e-2, 1e-4, 1e-6, 1e-8]),
    ({"kernel": "helmholtz", "wavenumber": 1.0}, [1e-2, 1e-4, 1e-6, 1e-8]),
]
WAVES: dict[str, Any] = {"kernel": "helmholtz", "wavenumber": 0.5}


@pytest.mark.parametrize(("words", "eps"), [(words, eps) for words, some in KERNELS for eps in some])
@pytest.mark.parametrize("shape", [(3, 1), (5, 3), (7, 12)])
def test_gpus_build_what_threads_build(shape: tuple[int, int], words: dict[str, Any], eps: float) -> None:
    surface = sordino.surfaces.sphere(*shape)
    host = sordino.hmatrix(surface, eps, engine="host", **words)
    found = sordino.hmatrix(surface, eps, engine="cuda", probes=surface.n, **words)
    assert 0 <= found.statistics["compression_error"] <= eps
    for word in ("clusters", "low_rank_blocks", "dense_blocks", "nodes"):
        assert found.statistics[word] == host.statistics[word]
    np.testing.assert_allclose(found.statistics["stored_bytes"], host.statistics["stored_bytes"], rtol=5e-3)
    np.testing.assert_allclose(found.statistics["norm"], host.statistics["norm"], rtol=eps)
    x = np.random.default_rng(1).standard_normal(surface.n)
    assert np.linalg.norm(found @ x - host @ x) <= 20 * eps * np.linalg.norm(host @ x)


@pytest.mark.parametrize("words", [{}, WAVES])
def test_a_second_build_has_the_same_bits(words: dict[str, Any]) -> None:
    surface = sordino.surfaces.sphere(9, 20)
    x = np.random.default_rng(2).standard_normal(surface.n)
    first, second = (sordino.hmatrix(surface, 1e-6, engine="cuda", **words) @ x for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_waves_that_stand_still_are_laplaces_potential() -> None:
    surface = sordino.surfaces.sphere(6, 12)
    still = sordino.hmatrix(surface, 1e-6, engine="cuda", kernel="helmholtz", wavenumber=0)
    laplace = sordino.hmatrix(surface, 1e-6, engine="cuda")
    x = np.random.default_rng(3).standard_normal(surface.n)
    expected = laplace @ x * 8.8541878188e-12
    assert np.linalg.norm(still @ x - expected) <= 20e-6 * np.linalg.norm(expected)


def test_rules_of_hacapk_and_a_rank_that_is_allowed() -> None:
    surface = sordino.surfaces.sphere(13, 20)
    words = {"recompress": False, "certify": False, "probes": 64}
    host = sordino.hmatrix(surface, 1e-6, engine="host", **words)
    found = sordino.hmatrix(surface, 1e-6, engine="cuda", **words)
    np.testing.assert_allclose(found.statistics["stored_bytes"], host.statistics["stored_bytes"], rtol=1e-3)
    assert sordino.hmatrix(surface, 1e-6, engine="cuda", most_rank=3).statistics["max_rank"] == 3


def test_short_waves_want_more_terms_than_a_leaf_has_room_for_at_first() -> None:
    surface = sordino.surfaces.sphere(7, 12)
    words: dict[str, Any] = {"kernel": "helmholtz", "wavenumber": 6.0, "probes": surface.n}
    host = sordino.hmatrix(surface, 1e-2, engine="host", **words)
    found = sordino.hmatrix(surface, 1e-2, engine="cuda", **words)
    assert found.statistics["max_rank"] > 26 and found.statistics["compression_error"] <= 1e-2
    np.testing.assert_allclose(found.statistics["stored_bytes"], host.statistics["stored_bytes"], rtol=5e-3)


@pytest.mark.parametrize("words", [{}, WAVES])
def test_large_leaves_and_thin_triangles(words: dict[str, Any]) -> None:
    surface = sordino.surfaces.sphere(6, 12)
    assert sordino.hmatrix(surface, engine="cuda", leaf=200, **words).statistics["compression_error"] <= 1e-6
    flat = sordino.surfaces.Surface(surface.points * [1, 1, 1e-3], surface.triangles)
    assert (
        sordino.hmatrix(flat, engine="cuda", probes=flat.n, **words).statistics["compression_error"] <= 1e-6
    )


#: Shapes whose axes are multiplied with these, and eps: builds in which single entries of small blocks had been missed.
THIN = [
    ("spheres:2,1,1,m0=5,M=6", (70.73381237, 0.38048972, 0.00379602), 1e-8),
    ("spheres:2,2,1,m0=4,M=4", (7.51, 0.153, 0.00106), 1e-8),
    ("sphere:6,8", (1, 1, 1e-3), 1e-8),
    ("pair:4,6", (0.43, 48.5, 0.143), 1e-6),
]


def off_by(words: str, factors: Any, eps: float) -> tuple[float, float]:
    """The error of a build, of the whole and of the block of at most 1,024 entries that is off most, in eps."""
    surface = sordino.surfaces.from_words(words)
    surface = sordino.surfaces.Surface(surface.points * factors, surface.triangles, allow_open=True)
    dense = sordino.hmatrix(surface, 1e-2, engine="host", eta=1e-9, probes=0)
    assert dense.statistics["low_rank_blocks"] == 0
    H = sordino.hmatrix(surface, eps, engine="cuda", probes=surface.n)
    exact, off = (A[np.ix_(H.order, H.order)] for A in (dense @ np.eye(surface.n), H @ np.eye(surface.n)))
    off -= exact
    worst = 0.0
    for block in H.blocks[H.blocks["rank"] >= 0]:
        place = slice(block["row_begin"], block["row_end"]), slice(block["column_begin"], block["column_end"])
        if off[place].size <= 1024:
            worst = max(worst, float(np.linalg.norm(off[place]) / np.linalg.norm(exact[place])))
    return float(np.linalg.norm(off) / np.linalg.norm(exact)) / eps, worst / eps


@pytest.mark.parametrize(("words", "factors", "eps"), THIN)
def test_single_entries_of_thin_surfaces_are_not_missed(words: str, factors: Any, eps: float) -> None:
    whole, worst = off_by(words, factors, eps)
    assert whole <= 1 and worst <= 1.37


def test_surfaces_of_any_shape_keep_to_eps() -> None:
    draw = np.random.default_rng()
    for _ in range(8):
        words, factors = draw.choice(["sphere:6,8", "pair:4,6", "plate:16"]), 10.0 ** draw.uniform(-3, 2, 3)
        eps = 10.0 ** draw.uniform(-9, -2)
        whole, worst = off_by(words, factors, eps)
        assert whole <= 1 and worst <= 1.37, (words, factors, eps)


def test_what_builds_is_chosen_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    surface = sordino.surfaces.sphere(4, 6)
    assert sordino.hmatrix(surface).settings["engine"] == "host"
    monkeypatch.setattr(_hmatrix_builders, "LEAST_FOR_GPUS", 100)
    assert sordino.hmatrix(surface).settings["engine"] == "cuda"
    assert sordino.hmatrix(surface, **WAVES).settings["engine"] == "cuda"
    assert sordino.hmatrix(surface, compression="full").settings["engine"] == "host"
    with pytest.raises(sordino.errors.BadArgument, match=r"the compression aca\+"):
        sordino.hmatrix(surface, compression="aca", engine="cuda")


def test_gpus_that_are_named_build_with_the_bits_of_all() -> None:
    surface = sordino.surfaces.sphere(9, 20)
    x = np.random.default_rng(4).standard_normal(surface.n)
    numbers = _hmatrix_builders.gpus_of()
    one = sordino.hmatrix(surface, 1e-6, devices=numbers[-1:])
    assert one.settings["engine"] == "cuda"
    np.testing.assert_array_equal(one @ x, sordino.hmatrix(surface, 1e-6, devices=numbers) @ x)
    with pytest.raises(sordino.BadArgument, match="there is no device 99"):
        sordino.hmatrix(surface, devices=[99])


def test_progress_is_told_and_may_end_a_build() -> None:
    surface = sordino.surfaces.sphere(25, 45)
    told: list[float] = []
    sordino.hmatrix(surface, 1e-9, engine="cuda", progress=told.append)
    assert told and all(0 < share <= 1 for share in told) and told == sorted(told)

    def enough(_: float) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        sordino.hmatrix(surface, 1e-8, engine="cuda", progress=enough, **WAVES)
    assert sordino.hmatrix(surface, 1e-2, engine="cuda").statistics["compression_error"] <= 1e-2
