"""``sordino bench papers --what 000``: iterations on H-matrices without values, beside what the paper printed."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from sordino import BadArgument, hmatrix, machines
from sordino._charge import as_surface
from sordino.bench import _matrices_000, _outlines, _paper_000
from sordino.bench._outlines import Structure, Way
from sordino.bench._paper_000 import Case

ROOT = Path(__file__).parents[2]
RECORD = "2026-11-24_papers_000.jsonl"
#: The newest one of Fig. 19.
RECORD_19 = "2026-11-25_papers_000.jsonl"
#: And of Figs 10 and 11.
RECORD_10 = "2026-11-27_papers_000.jsonl"


def _core_is_there() -> bool:
    try:
        from sordino import _core
    except ImportError:
        return False
    return hasattr(_core, "HMatrixOutline")


needs_core = pytest.mark.skipif(not _core_is_there(), reason="sordino._core is not built")


# ---- what is printed, and what descriptions are made of ----------------------------------------------------------


def test_the_printed_times_of_an_iteration_are_those_of_the_printed_solves():
    contradict = []
    for layout, columns in _paper_000.FIG_16.items():
        for matrix, printed in columns.items():
            for nodes, (iterations, total, mpi, each) in printed.items():
                assert mpi < total
                rounded = 0.05 + 0.5 / iterations
                if abs(each - total / iterations) > rounded + 1e-9:
                    contradict.append((layout, matrix, nodes))
    assert contradict == [("per-gpu", "1ms", 8), ("per-socket", "100ts", 16), ("per-socket", "hum4", 16)]


def test_mpi_s_rate_and_overhead_are_those_of_the_first_row_of_fig_16():
    """Least squares of the relative errors of four matrices: messages to other nodes, and all that are started."""
    rows = []
    for matrix, printed in _paper_000.FIG_16["per-gpu"].items():
        nodes = min(printed)
        iterations, _, mpi, _ = printed[nodes]
        n, ranks, gather = _rows(matrix), 4 * nodes, 1e-3 * mpi / iterations / 2
        rows.append([(ranks - 1) / gather, 8 * n * (ranks - 4) / ranks / gather])
    overhead, a_byte = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=None)[0]
    described = machines.load("tsubame-3")
    assert described["put_overhead_s"] == pytest.approx(overhead, rel=0.01)
    assert pytest.approx(1 / a_byte, rel=0.01) == _paper_000.MPI
    copies = _paper_000.LAYOUTS["per-gpu"][1]
    assert described["internode_bandwidth"] == pytest.approx(
        _paper_000.in_series(_paper_000.MPI, copies), rel=1e-3
    )
    other = machines.load("reedbush-h")
    assert other["put_overhead_s"] == described["put_overhead_s"]
    assert other["internode_bandwidth"] == pytest.approx(
        _paper_000.in_series(_paper_000.MPI, 11.1e9), rel=1e-3
    )
    assert other["link_bandwidth"] == pytest.approx(_paper_000.in_series(12.9e9, 11.1e9), rel=1e-3)


def _rows(matrix):
    return {"100ts": 101_250, "1ms": 1_004_400, "hum4": 314_624, "hum6": 707_904}[matrix]


def test_the_rate_of_mpi_over_tcp_is_that_of_fig_18():
    t_pure = {
        16384: 1945.92, 32768: 2786.06, 65536: 3933.52, 131072: 10552.64, 262144: 19834.93, 524288: 31071.01,
    }  # fmt: skip
    processes, near = 64, 4
    seconds = np.array([1e-6 * t for t in t_pure.values()])
    rows = np.array([[processes - 1, (processes - near) * size] for size in t_pure]) / seconds[:, None]
    overhead, a_byte = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
    assert _paper_000.TCP["put_overhead_s"] == pytest.approx(overhead, rel=0.01)
    assert _paper_000.TCP["bandwidth"] == pytest.approx(1 / a_byte, rel=0.01)


def test_a_cluster_as_a_layout_meets_it():
    def described(layout, way="block", **more):
        return _paper_000.machine(Case("fig16", "tsubame-3", "100ts", 8, way, layout, **more))

    per_gpu, per_node = described("per-gpu"), described("per-node")
    assert per_gpu["ranks_per_node"] == 4 and per_node["ranks_per_node"] == 1
    assert per_gpu["internode_bandwidth"] == machines.load("tsubame-3")["internode_bandwidth"]
    assert per_node["internode_bandwidth"] == pytest.approx(1 / (1 / (4 * 1.62e9) + 1 / 6.9e9))
    assert per_gpu["paces"]["Strips"]["bandwidth"] == pytest.approx(4 * 84.13e9)
    assert per_node["paces"]["Strips"]["bandwidth"] == pytest.approx(16 * 84.13e9)
    assert per_node["paces"]["Step"] == per_gpu["paces"]["Step"], "vector operations are done by all GPUs"
    shared = described("per-node", hierarchical=True)["paces"]
    assert shared["Step"]["bandwidth"] == 4 * shared["Direction"]["bandwidth"] == 4 * _paper_000.VECTORS
    assert set(described("per-gpu", "pipebicgstab")["paces"]) == {"Project", "Strips"}, "ours lose nothing"
    assert "paces" not in machines.load("tsubame-3")


# ---- outlines ----------------------------------------------------------------------------------------------------


@needs_core
def test_an_outline_is_the_matrix_without_its_values():
    surface = "sphere:6,10"
    whole = hmatrix(as_surface(surface), 1e-5, **_outlines.HACAPK, probes=0).statistics
    told = _outlines.outline(Structure(surface, 1e-5)).statistics()
    assert told["rows"] == 1200 and 8 * told["stored_values"] == whole["stored_bytes"]
    for name in ("low_rank_blocks", "dense_blocks", "mean_rank"):
        assert told[name] == whole[name]
    some = _outlines.outline(Structure(surface, 1e-5, every=4)).statistics()
    assert some["stored_values"] == pytest.approx(told["stored_values"], rel=0.03)
    assert some["stored_values"] != told["stored_values"]
    one = _outlines.outline(Structure(surface, 1e-5, every=1 << 30, most_rank=1)).statistics()
    assert one["mean_rank"] == 1 and one["low_rank_blocks"] == told["low_rank_blocks"]
    with pytest.raises(BadArgument, match="none can be drawn"):
        _outlines.outline(Structure(surface, 1e-5, every=0))


@needs_core
def test_parts_make_up_an_iteration_and_gathers_that_take_no_time_are_none_of_it():
    structure = _outlines.outline(Structure("sphere:6,10", 1e-5))
    described = machines.load("tsubame-3")
    for name, way in _paper_000.WAYS.items():
        found = _outlines.iteration(structure, way, 8, described)
        assert sum(found.parts.values()) == pytest.approx(found.seconds, rel=0.02), name
        if way.group > 1 and way.distribution == "rows":
            assert found.ledger["messages"] == 2 * ((8 // way.group - 1) + (way.group - 1) * 8 // way.group)
        elif way.distribution == "rows":
            assert found.ledger["messages"] == 2 * 7
            assert 1.1 < found.ledger["repeated"] < 1.6, "blocks that ranks cut are projected on each"
        else:
            assert found.ledger["messages"] > 2 * 7, "rows of others are sent, too"
            assert 1 < found.ledger["repeated"] < 1.1, "whole leaves are read once, and vectors"
        assert way.solver in ("bicgstab", "pipebicgstab") or found.parts["reductions"] == 0
        whole = way.solver == "gatherbicgstab" or way.vectors != "auto"
        assert (found.ledger["reductions"] == 0) == whole or way.solver == "pipebicgstab"
    alone = _outlines.iteration(structure, Way("gatherbicgstab", fallen_back=True), 1, described)
    assert alone.parts["exchange"] == alone.parts["late"] == 0
    assert alone.ledger["repeated"] == pytest.approx(1, rel=0.03), (
        "besides its values a product reads vectors"
    )
    assert set(_outlines.PRODUCT) < set(alone.commands) and "Gathered" in alone.commands
    waits, hides = (
        _outlines.iteration(structure, _paper_000.WAYS[way], 8, described) for way in ("pipe1", "pipe2")
    )
    assert waits.parts["exchange"] > hides.parts["exchange"] and waits.seconds > hides.seconds
    assert waits.ledger["messages"] == hides.ledger["messages"]
    with pytest.raises(BadArgument, match="no gathers that hide"):
        _outlines.iteration(structure, Way("bicgstab", at_once=True), 2, described)
    with pytest.raises(BadArgument, match="no other way"):
        _outlines.iteration(structure, Way("bicgstab", fallen_back=True), 2, described)


@needs_core
def test_hierarchical_vectors_take_fewer_bytes_and_more_messages_within_groups():
    structure = _outlines.outline(Structure("sphere:10,24", 1e-4, every=8))
    described = _paper_000.machine(Case("vectors", "tsubame-3", "100ts", 8, "hierarchical"))
    assert described["paces"]["Part dots"]["bandwidth"] == described["paces"]["Step"]["bandwidth"]
    assert set(_paper_000.machine(Case("lossless", "tsubame-3", "100ts", 8, "redundant"))["paces"]) == {
        "Project", "Strips"
    }  # fmt: skip
    found = {
        each: _outlines.iteration(structure, _paper_000.WAYS[each], 8, described)
        for each in _paper_000.VECTORS_OF
    }
    ledgers = {each: run.ledger for each, run in found.items()}
    assert ledgers["hierarchical"]["messages"] == ledgers["redundant"]["messages"] + 3 * 3
    assert ledgers["hierarchical"]["memory_bytes"] < ledgers["redundant"]["memory_bytes"]
    assert ledgers["hierarchical"]["flops"] < ledgers["redundant"]["flops"]
    assert found["hierarchical"].parts["vectors"] < found["redundant"].parts["vectors"]


@needs_core
def test_ranks_that_share_whole_leaves_read_values_once_and_a_grid_sends_less_of_x():
    structure = _outlines.outline(Structure("sphere:6,10", 1e-5))
    ways = {each: Way("bicgstab", distribution=each) for each in ("rows", "leaves", "grid")}
    found = {
        each: _outlines.iteration(structure, way, 16, machines.load("tsubame-3")).ledger
        for each, way in ways.items()
    }
    assert found["rows"]["repeated"] > 1.2
    assert found["leaves"]["repeated"] < 1.15 and found["grid"]["repeated"] < 1.15
    assert found["grid"]["bytes_sent"] < found["rows"]["bytes_sent"]


@needs_core
def test_tables_and_records_of_a_small_matrix(cli, tmp_path, monkeypatch):
    small = {"small": _matrices_000.of("sphere:5,8", 84.13, 16.0)}
    monkeypatch.setattr(_paper_000, "MATRICES", small)
    monkeypatch.setattr(
        _paper_000, "FIG_16", {"per-gpu": {"small": {2: (15, 56, 11, 3.7), 4: (14, 43, 11, 3.1)}}}
    )
    cases = [
        _paper_000._case_16("per-gpu", "small", nodes, way)
        for nodes in (2, 4)
        for way in ("block", *_paper_000.OURS)
    ]
    monkeypatch.setitem(_paper_000.FIGURES, "fig16", _paper_000.Figure(cases, _paper_000._fig_16))
    record = tmp_path / "r.jsonl"
    code, out, err = cli(
        "bench", "papers", "--what", "000", "--figures", "fig16", "--record", record, "--commit", "abc"
    )
    assert code == 0, err
    assert "Fig. 16" in out and "per-gpu, small, 2 nodes, block" in out
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["basis"] for line in lines] == ["calibrated", *["words"] * 4, "compared", *["words"] * 4]
    assert lines[0]["ranks"] == 8 and lines[0]["mpi_ms"] == pytest.approx(11 / 15)
    assert all(line["paper_of"] == "000" and line["engine"] == "model" for line in lines)


# ---- the record and the page -------------------------------------------------------------------------------------


def _recorded(figure):
    record = {"Fig. 19": RECORD_19, "Figs 10, 11": RECORD_10}.get(figure, RECORD)
    lines = (ROOT / "bench" / "records" / record).read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["figure"] == figure]


def _said(*cells):
    return f"| {' | '.join(str(cell) for cell in cells)} |\n"


def _page():
    return (ROOT / "docs" / "theory" / "000.md").read_text(encoding="utf-8")


def test_the_page_has_the_record_s_structures_and_times_of_fig_16():
    page, rows = _page(), _recorded("Fig. 3")
    assert [row["matrix"] for row in rows] == _paper_000.PRINTED
    for row in rows:
        surface = _paper_000.MATRICES[row["matrix"]].structure.surface
        assert f"| {row['matrix']} | `{surface}` | {row['rows']:,} | " in page
        assert f" | {row['paper']:.1f} | {row['ours']:.1f} |\n" in page
    blocks = [row for row in _recorded("Fig. 16") if row["way"] == "block"]
    assert len(blocks) == 48
    for row in blocks:
        off = f"{100 * row['difference'] / row['paper']:+.0f} %"
        parts = (row["product_ms"], row["vectors_ms"], row["exchange_ms"] + row["late_ms"], row["mpi_ms"])
        assert _said(
            row["layout"], row["matrix"], row["nodes"], f"{row['paper']:.1f}", f"{row['ours']:.1f}",
            "calibrated" if row["basis"] == "calibrated" else off, *(f"{part:.1f}" for part in parts),
        ) in page  # fmt: skip
    near = [
        abs(row["difference"] / row["paper"]) < 0.05
        for row in blocks
        if row["layout"] != "per-gpu" and row["matrix"] != "100ts" and row["nodes"] <= 8
    ]
    assert f"within 5 % in {sum(near)} of {len(near)} cases" in page


def test_what_vector_operations_lose_makes_the_squares_of_the_first_row_s_errors_least():
    rows = [row for row in _recorded("Fig. 16") if row["basis"] == "calibrated"]
    assert len(rows) == 4
    errors = np.array([row["difference"] / row["paper"] for row in rows])
    vectors = np.array([row["vectors_ms"] / row["paper"] for row in rows])
    assert abs(vectors @ errors / (vectors @ vectors)) < 0.01, "by this part their time would be another"


def test_pages_have_the_record_s_bytes_of_products_and_what_a_grid_gains():
    rows = {
        row["way"]: row for row in _recorded("Fig. 16")
        if (row["matrix"], row["layout"], row["ranks"]) == ("1ms", "per-gpu", 128)
    }  # fmt: skip
    by_rows, grid, block = (rows[way] for way in ("pipebicgstab", "pipebicgstab in a grid", "block"))
    rows_twice, leaves_once, grid_once = (f"{row['repeated']:.2f}" for row in (by_rows, block, grid))
    assert (
        f"{rows_twice} times their bytes by rows, {leaves_once} by leaves and {grid_once} in a grid"
        in _page()
    )
    by_rows_ms, grid_ms = (f"{row['ours']:.2f}" for row in (by_rows, grid))
    times = f"{by_rows_ms} ms an iteration of `pipebicgstab` by rows, and {grid_ms} in a grid"
    for page in ("adr/0039-ranks-share-leaves.md", "boundary_elements.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert times in text and RECORD in text


def test_the_page_has_the_record_s_times_of_figs_17_and_19():
    page = _page()
    rows = _recorded("Fig. 19")
    found = {(row["matrix"], row["ranks"], row["way"]): row for row in rows if "way" in row}
    gained = {(row["matrix"], row["ranks"], row["over"]): row for row in rows if "over" in row}
    assert RECORD_19 in page
    for matrix, printed in _paper_000.FIG_19.items():
        for gpus, papers in printed.items():
            ways = [found[matrix, gpus, way] for way in _paper_000.PIPELINED]
            assert tuple(way["paper"] for way in ways) == papers
            gains = [gained[matrix, gpus, way] for way in _paper_000.PIPELINED[1:]]
            times = (f"{t:.1f}" for way in ways for t in (way["paper"], way["ours"]))
            assert (
                _said(
                    matrix, gpus, *times, *(f"{g:.2f}" for row in gains for g in (row["paper"], row["ours"]))
                )
                in page
            )
            _, waits, hides = (way["ours"] for way in ways)
            if matrix != "hum4" and gpus <= 16:
                assert abs(ways[1]["difference"] / ways[1]["paper"]) < 0.022
            if gpus >= 8:
                assert 1.065 < waits / hides < 1.195
            assert hides < waits or gpus < 8, "what is hidden is not waited for"
    found = {(row["matrix"], row.get("vectors")): row for row in _recorded("Fig. 17")}
    for matrix in _paper_000.FIG_17:
        whole, shared, gain = (found[matrix, vectors] for vectors in ("redundant", "hierarchical", None))
        times = (whole["paper"], whole["ours"], shared["paper"], shared["ours"])
        gains = (gain["paper"], gain["ours"])
        assert _said(matrix, *(f"{t:.1f}" for t in times), *(f"{g:.2f}" for g in gains)) in page


def test_the_page_has_the_record_s_times_of_our_methods_and_shares_of_communication():
    page = _page()
    rows = [
        row for row in (*_recorded("Fig. 16"), *_recorded("Small surfaces")) if row["layout"] == "per-gpu"
    ]
    found = {(row["matrix"], row["ranks"], row["way"]): row for row in rows}
    for matrix, gpus in dict.fromkeys((row["matrix"], row["ranks"]) for row in rows):
        ways = ("block", *_paper_000.OURS)
        block, plain, hides, grid, gathers = (found[matrix, gpus, way] for way in ways)
        sums = [f"{100 * row['reductions_ms'] / row['ours']:.0f} %" for row in (plain, hides)]
        communication = f"{100 * (gathers['exchange_ms'] + gathers['late_ms']) / gathers['ours']:.0f} %"
        times = [f"{row['ours']:.2f}" for row in (block, plain, hides, grid, gathers)]
        assert _said(matrix, gpus, *times[:2], sums[0], times[2], sums[1], *times[3:], communication) in page


def test_the_page_has_the_record_s_iterations_on_up_to_eight_nodes_of_both_machines():
    page = _page()
    found = {(row["described_machine"], row["matrix"], row["nodes"]): row for row in _recorded("Figs 10, 11")}
    assert set(found) == set(_paper_000.ON_NODES)
    for name, matrix in itertools.product(_paper_000.ON_EIGHT_NODES, ("100ts", "hum4", "1ms")):
        runs = [found[name, matrix, nodes] for nodes in (1, 2, 4, 8)]
        told = [f"{run['iteration_ms']:.2f} ({run['ours']:.0f} %)" for run in runs]
        assert _said(f"`{name}`", matrix, *told) in page
        for fewer, more in itertools.pairwise(runs):
            assert 0.49 < more["product_ms"] / fewer["product_ms"] < 0.52
            assert more["vectors_ms"] == pytest.approx(fewer["vectors_ms"], rel=0.005)
            assert more["exchange_ms"] + more["late_ms"] > fewer["exchange_ms"] + fewer["late_ms"]
    eight = {at[:2]: row["ours"] for at, row in found.items() if at[2] == 8}
    tsubame, reedbush = (
        [eight[name, matrix] for matrix in ("100ts", "1ms")] for name in ("tsubame-3", "reedbush-h")
    )
    assert f"{tsubame[0]:.0f} % with 100ts, {tsubame[1]:.0f} % with 1ms" in page
    assert f"{reedbush[0]:.0f} % (100ts) and {reedbush[1]:.0f} % (1ms) on eight nodes" in page


@needs_core
@pytest.mark.parametrize("way", ["block", "pipebicgstab", "pipebicgstab in a grid"])
def test_the_record_is_what_the_model_says(way):
    case = _paper_000._case_small("10ts", 8, way)
    [recorded] = [
        row for row in _recorded("Small surfaces")
        if (row["matrix"], row["ranks"], row["way"]) == (case.matrix, case.ranks, case.way)
    ]  # fmt: skip
    found = _paper_000.predict(case, 0)
    assert 1e3 * found.seconds == pytest.approx(recorded["ours"])
    assert 1e3 * found.parts["product"] == pytest.approx(recorded["product_ms"])
