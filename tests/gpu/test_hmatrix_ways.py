"""The paper's ways to multiply an H-matrix on a GPU give the host's product. Skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest

import sordino
from sordino import _core
from sordino.bench import _paper_batches, _paper_ways

REASON = _core.devices()["reason"]
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a GPU")


@pytest.mark.parametrize("shape", [(3, 1), (7, 12)])
def test_all_ways_give_the_product_of_the_host(shape: tuple[int, int]) -> None:
    H = sordino.hmatrix(sordino.surfaces.sphere(*shape), 1e-6)
    facts = H.statistics
    ours = {
        "surface": "sphere", "n": H.shape[0], "eps": 1e-6, "stored_bytes": facts["stored_bytes"], "way": "aca+",
        "product_seconds": 1e-3,
    }  # fmt: skip
    rows = _paper_ways.measure(H, ours, 2, "")
    assert {row["way"] for row in rows} == {
        "variable batch", "variable batch, one block each", "fixed batch", "cublas"
    }  # fmt: skip
    assert [row["streams"] for row in rows if row["way"] == "cublas"] == [1, 2, 3, 5]
    assert {row["gpus"] for row in rows} == {1}
    for row in rows:
        assert row["failure"] == "", row
        if row["remark"]:
            assert row["way"] == "cublas" and "there is no cuBLAS here" in row["remark"]
            continue
        assert row["difference"] <= 1e-12 * np.sqrt(H.shape[0]), row
        assert row["samples"] == 2 and row["seconds"] > 0 and row["held_bytes"] >= facts["stored_bytes"]
        if row["way"] == "cublas":
            assert row["launches"] == facts["dense_blocks"] + 2 * facts["low_rank_blocks"]
        else:
            assert row["launches"] <= facts["dense_blocks"] + 2 * facts["low_rank_blocks"]


def test_a_library_that_is_not_there_is_a_remark() -> None:
    H = sordino.hmatrix(sordino.surfaces.sphere(3, 2), 1e-4)
    figures = _core.measure_paper_ways(H.native, 1, "/nowhere/libcublas.so")
    remarks = {figure["remark"] for figure in figures if figure["way"] == "cublas"}
    assert len(remarks) == 1 and "there is no cuBLAS here" in remarks.pop()
    assert not any(figure["remark"] for figure in figures if figure["way"] != "cublas")


@pytest.mark.parametrize("gpus", [2, 3, 4])
@pytest.mark.parametrize("shape", [(3, 1), (7, 12), (12, 20)])
def test_batches_that_several_gpus_share_give_the_product_of_the_host(
    shape: tuple[int, int], gpus: int
) -> None:
    H = sordino.hmatrix(sordino.surfaces.sphere(*shape), 1e-6)
    seen = len(_core.devices()["devices"])
    if seen < gpus:
        with pytest.raises(_core.Error, match=f"on {gpus} GPUs: there are {seen}"):
            _core.measure_paper_ways(H.native, 1, "", gpus)
        pytest.skip(f"{gpus} GPUs are needed")
    rows = [way for way in _core.measure_paper_ways(H.native, 2, "/nowhere", gpus) if way["gpus"] == gpus]
    assert len(rows) == 4 * 3 and {way["streams"] for way in rows} == {1, 2, 3}
    facts = H.statistics
    for way in rows:
        assert way["failure"] == way["remark"] == "", way
        assert way["difference"] <= 1e-12 * np.sqrt(H.shape[0]), way
        assert way["seconds"] > 0 and way["held_bytes"] >= facts["stored_bytes"] + 16 * gpus * H.shape[0]
        assert 1 <= way["launches"] <= facts["dense_blocks"] + 2 * facts["low_rank_blocks"]


def test_each_batch_takes_its_time() -> None:
    H = sordino.hmatrix(sordino.surfaces.sphere(7, 12), 1e-6)
    facts = H.statistics
    ours = {
        "surface": "sphere",
        "n": H.shape[0],
        "eps": 1e-6,
        "stored_bytes": facts["stored_bytes"],
        "way": "aca+",
    }
    rows = _paper_batches.measure(H, ours, 2)
    assert len(rows) == 10 and {row["batch"] for row in rows} == {20000, "rows", "size"}
    for row in rows:
        assert row["seconds"] > 0 and row["launches"] >= len(row["gflops"])
        products = facts["low_rank_blocks"] + (facts["dense_blocks"] if row["kind"] != "U" else 0)
        assert row["batch"] == "size" or sum(row["products"]) == products
