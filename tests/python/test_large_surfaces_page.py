"""What paper 000's page says of ways on GPUs, and of 8ms and 20ms, is in the records that it names."""

import json
import math
import re
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


def test_the_larger_matrices_of_fig_9_are_told_as_recorded():
    names = {
        "hum2": "2026-11-26_hmatrix_paper_ways_hum2_h100.jsonl",
        "338ts": "2026-11-27_hmatrix_paper_ways_338ts_h100.jsonl",
        "hum6": "2026-11-27_hmatrix_paper_ways_hum6_h100.jsonl",
    }
    calls = []
    for matrix, name in names.items():
        ours, *ways = _recorded(name)
        assert f"`{name}`" in _page() or f"`bench/records/{name}`" in _page()
        assert all(way["difference"] < 1e-14 and not way["failure"] for way in ways)
        for way in ways:
            if not way["seconds"]:
                assert way["way"] == "fixed batch" and "too little memory" in way["remark"]
                needed = int(re.search(r"(\d+) bytes needed", way["remark"])[1])
                assert f"`fixed batch` of `{matrix}` would take {needed / 1e9:.0f} GB" in _page()
        measured = [way for way in ways if way["seconds"]]
        best = min(measured, key=lambda way: way["seconds"])
        cublas = {way["streams"]: way for way in measured if way["way"] == "cublas"}
        calls.append(cublas[1]["launches"])
        took, our = 1e3 * best["seconds"], 1e3 * ours["product_seconds"]
        said = f"| {best['sort']}, {best['batch']}, {best['streams']} | {took:.3f} | {our:.3f} | {took / our:.2f} | "
        said += f"{ours['stored_bytes'] / ours['product_seconds'] / 1e9:,.0f} | "
        said += " | ".join(f"{1e3 * cublas[streams]['seconds']:,.0f}" for streams in (1, 5)) + " |"
        assert said in _page()
    assert f"the {calls[1] / 1e6:.1f} and {calls[2] / 1e6:.1f} million calls of cuBLAS" in _page()


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
    two = _on_two_gpus()["20ms", "redundant", "device"]
    said = f"[{1e3 * run['iteration_seconds']:.1f} ms an iteration on one H100 and "
    assert said + f"{1e3 * two['iteration_seconds']:.0f} on two](theory/000.md)" in guide


TWO_GPUS = "2026-11-26_hmatrix_20ms_h100x2.jsonl"


def _on_two_gpus():
    names = {7_996_800: "8ms", 20_736_000: "20ms"}
    return {(names[run["n"]], run["vectors"], run["scalars"]): run for run in _recorded(TWO_GPUS)}


def test_twenty_million_triangles_on_two_gpus_are_told_as_recorded():
    runs, page = _on_two_gpus(), _page()
    assert len(runs) == 8 and {run["ranks"] for run in runs.values()} == {2}
    run = runs["20ms", "redundant", "device"]
    values = run["stored_bytes"] / 8 / (10 * run["n"] * math.log2(run["n"]))
    held = run["build_peak_bytes"] / run["stored_bytes"]
    assert (
        f"{run['n']:,} rows, {run['low_rank_blocks']:,} blocks of low rank and {run['dense_blocks']:,} dense ones, "
        f"{run['stored_bytes'] / 1e9:.1f} GB, {values:.1f} times 10 n log2 n values, built in {run['seconds']:.1f} s "
        f"with at most {held:.2f} times that in the host's memory. On both, ms an iteration "
        f"(`bench/records/{TWO_GPUS}`, one run"
    ) in page
    # paper 000, Fig. 17(b): seconds and iterations on 64 nodes
    paper = {"8ms": {"redundant": 10.56 / 20, "hierarchical": 6.09 / 20}}
    paper["20ms"] = {"redundant": 27.61 / 20, "hierarchical": 19.79 / 20}
    for matrix in paper:
        took = [run["iteration_seconds"] for name, run in runs.items() if name[0] == matrix]
        assert max(took) / min(took) < 1.022
    for matrix, vectors in (name[:2] for name in runs):
        device, host = (runs[matrix, vectors, scalars] for scalars in ("device", "host"))
        took = [1e3 * each for each in (device["iteration_seconds"], host["iteration_seconds"])]
        assert (
            f"| {matrix} | {vectors} | {took[0]:.2f} | {took[1]:.2f} | {1e3 * device['product_seconds']:.2f} | "
            f"{1e3 * paper[matrix][vectors]:,.1f} |"
        ) in page


def test_batches_that_two_gpus_share_are_told_as_recorded():
    name = "2026-11-26_hmatrix_paper_gpus_h100x2.jsonl"
    rows = _recorded(name)
    assert all(row.get("difference", 0) < 1e-13 and not row.get("failure") for row in rows)
    best = {gpus: [] for gpus in (1, 2)}
    ours = []
    for n in (101_250, 338_000, 78_656):
        of = [row for row in rows if row["n"] == n]
        ours.append(next(1e3 * row["product_seconds"] for row in of if row["bench"] == "hmatrix"))
        for gpus, told in best.items():
            ways = [w for w in of if w["bench"] != "hmatrix" and w["gpus"] == gpus and not w["remark"]]
            fastest = min(ways, key=lambda way: way["seconds"])
            batch = {1: "rows", 2: 5000}[gpus]
            assert (fastest["sort"], fastest["batch"]) == ("groups", batch), fastest
            told.append(1e3 * fastest["seconds"])
    assert (
        f"takes {best[2][0]:.3f} ms with `sphere:25,45`, {best[2][1]:.3f} with `sphere:10,130` (338ts) and "
        f"{best[2][2]:.3f} with `figure:2`, where the best one on one GPU takes {best[1][0]:.3f}, {best[1][1]:.3f} and "
        f"{best[1][2]:.3f}, and our product on that one {ours[0]:.3f}, {ours[1]:.3f} and {ours[2]:.3f} "
        f"(`bench/records/{name}`)"
    ) in _page()


def test_several_columns_on_a_gpu_are_told_as_recorded():
    guide = (ROOT / "docs" / "boundary_elements.md").read_text(encoding="utf-8")
    runs = _recorded("2026-11-26_several_potentials_h100.jsonl")
    assert [run["columns"] for run in runs] == [2, 3, 4, 8]
    for run in runs:
        assert run["largest_residual"] <= run["rtol"] and run["iterations"] == run["iterations_in_turn"]
        at_once, in_turn = run["seconds"], run["seconds_in_turn"]
        assert f"| {run['columns']} | {at_once:.3f} | {in_turn:.3f} | {in_turn / at_once:.2f} x |" in guide


def test_a_million_triangles_built_by_four_gpus_are_told_as_recorded():
    (run,) = (run for run in _recorded("2026-11-26_hmatrix_whole_h200x4.jsonl") if run["build_gpus"] == 4)
    limits = (ROOT / "docs" / "hmatrix_limits.md").read_text(encoding="utf-8")
    waiting = run["phases"]["waiting"]
    assert f"four H200 {run['seconds']:.2f}, of which threads wait for GPUs for {waiting:.2f} (`" in limits
