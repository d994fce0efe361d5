"""What paper 000's page says of hum2's ways and of 8ms on one GPU is in the records that it names."""

import json
import math
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _recorded(name):
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _page():
    return " ".join((ROOT / "docs" / "theory" / "000.md").read_text(encoding="utf-8").split())


def test_ways_of_a_figure_are_told_as_recorded():
    name = "2026-11-26_hmatrix_paper_ways_hum2_h100.jsonl"
    ours, *ways = _recorded(name)
    assert all(way["difference"] < 1e-14 and not way["failure"] for way in ways)
    best = min(ways, key=lambda way: way["seconds"])
    assert (best["way"], best["sort"], best["batch"], best["streams"]) == (
        "variable batch",
        "groups",
        "rows",
        3,
    )
    cublas = {way["streams"]: 1e3 * way["seconds"] for way in ways if way["way"] == "cublas"}
    took = [1e3 * each for each in (best["seconds"], ours["product_seconds"])]
    said = f"three streams, {took[0]:.3f} ms; ours takes {took[1]:.3f}, {took[0] / took[1]:.2f} x as fast; "
    said += f"cuBLAS takes {cublas[1]:,.0f} ms with one stream and {cublas[5]:,.0f} with the paper's five"
    said += f" (`bench/records/{name}`)"
    assert said in _page()


def test_eight_million_triangles_on_one_gpu_are_told_as_recorded():
    name = "2026-11-26_hmatrix_8ms_h100.jsonl"
    runs = {run["scalars"]: run for run in _recorded(name)}
    run, n = runs["device"], runs["device"]["n"]
    assert (run["ranks"], run["most_rank"], run["max_rank"]) == (1, 1, 1)
    values = run["stored_bytes"] / 8 / (10 * n * math.log2(n))
    page = _page()
    for said in (
        f"{n:,} rows, {run['low_rank_blocks']:,} blocks of low rank and {run['dense_blocks']:,} dense ones, "
        f"{run['stored_bytes'] / 1e9:.1f} GB, {values:.1f} times 10 n log2 n values, built in {run['seconds']:.1f} s",
        f"takes {1e3 * run['iteration_seconds']:.1f} ms with scalars on the GPU and "
        f"{1e3 * runs['host']['iteration_seconds']:.1f} with scalars on the host",
        f"a product, timed apart, {1e3 * run['product_seconds']:.1f}, for leaves of one column are read at "
        f"{run['product_bytes_a_second'] / 1e9:,.0f} GB/s (`bench/records/{name}`, one run)",
    ):
        assert said in page
    guide = (ROOT / "docs" / "boundary_elements.md").read_text(encoding="utf-8")
    assert f"[{1e3 * run['iteration_seconds']:.1f} ms an iteration](theory/000.md) on one H100" in guide
