"""``sordino bench papers --what 001``: boxes that are run for a rank, and the pages beside what was predicted."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from sordino import BadArgument, _predict, machines
from sordino._box import Box
from sordino._subject import of_box
from sordino.bench import _paper_001, _strong, _sums_001


def _core_is_there() -> bool:
    try:
        from sordino import _core
    except ImportError:
        return False
    return hasattr(_core, "Solver")


ROOT = Path(__file__).parents[2]

needs_core = pytest.mark.skipif(not _core_is_there(), reason="sordino._core is not built")


@pytest.mark.parametrize(
    ("ranks", "grid"), [(480, (5, 6, 16)), (512, (4, 8, 16)), (1024, (8, 8, 16)), (7680, (12, 16, 40))]
)
def test_a_whole_is_cut_into_boxes_with_the_smallest_faces(ranks, grid):
    assert _strong.grid_of(ranks, _paper_001.CELLS) == grid


def test_a_box_s_surface_and_faces_have_their_proportions():
    cells = _paper_001.CELLS
    assert _strong.faces(1024, cells) == [160 * 288, 160 * 288, 160 * 160]
    assert _strong.faces(1, cells) == [0, 0, 0]
    assert _strong.core_share(1024, cells, (1, 1, 1)) == pytest.approx(158 / 160 * 158 / 160 * 286 / 288)
    assert _strong.core_share(1024, cells, (32, 1, 1)) == pytest.approx(96 / 160 * 158 / 160 * 286 / 288)
    assert _strong.core_share(1024, cells, None) == 0 == _strong.core_share(8, (32, 32, 32), (8, 8, 8))
    assert _strong.core_share(1, cells, (32, 32, 32)) == 1


@pytest.mark.parametrize("depths", [None, (1, 1, 1), (32, 1, 1)])
def test_what_is_run_for_a_rank_has_a_core_that_needs_nobody_and_six_neighbours(depths):
    cells, ranks = (480, 480, 864), 27  # boxes as those of 1,024 ranks
    found = _strong.subject(ranks, cells, depths)
    rows = found.run.cuts[1]
    matrix = found.run.matrix()
    assert abs(matrix - matrix.T).max() == 0 and found.n == 480 * 480 * 864
    others = abs(matrix).sum(axis=1) - matrix.diagonal()
    assert (matrix.diagonal() > others).all(), "positive definite"
    core = round(_strong.core_share(ranks, cells, depths) * rows)
    assert core % 256 == 0, "whole tiles"
    for rank in (0, 13):
        own = matrix[rank * rows : (rank + 1) * rows].tocoo()
        outside = own.col // rows != rank
        assert own.row[outside].min() == core
        ghosts = np.unique(own.col[outside])
        neighbours, counts = np.unique(ghosts // rows, return_counts=True)
        assert len(neighbours) == 6
        assert found.surface * len(ghosts) == pytest.approx(2 * (2 * 160 * 288 + 160 * 160), rel=0.01)
        assert sorted(counts / counts.max())[:2] == pytest.approx([160 / 288] * 2, abs=0.06)


def test_of_many_ranks_whole_columns_are_run():
    cells = _paper_001.CELLS
    assert _strong.counts_run(512, cells) == _strong.grid_of(512, cells), "all of a few"
    for ranks in (1024, 2048, 7680, 15360, 30720):
        x, y, z = _strong.grid_of(ranks, cells)
        a, b, c = _strong.counts_run(ranks, cells)
        assert 3 <= a <= x and 3 <= b <= y and c == z and 420 < a * b * c < min(ranks, 600)
    assert _strong.counts_run(1031, cells) == (1, 1, 1031), "a prime has no columns to choose from"
    assert _paper_001._ranks(480) == "480 ranks" and _paper_001._ranks(7680) == "7,680 ranks (480 run)"


def test_kernels_take_what_table_5_has_for_them(monkeypatch):
    commands = {name for rows in _paper_001.COMMANDS.values() for row in rows.values() for name in row}
    monkeypatch.setattr(_paper_001, "_bytes", lambda *case: dict.fromkeys(commands, 100.0))
    described = _paper_001.machine(_paper_001.Case("summit", "cg", 2048, "cell"))
    cells = 1280 * 1280 * 4608 / 1024
    assert described["paces"]["SpMV"]["bandwidth"] == pytest.approx(100 * cells / 1.28e-3)
    assert described["reduction_hop_s"] * 10 * 2 == pytest.approx(0.14e-3)
    assert described["internode_bandwidth"] == pytest.approx(8 * (4 * 160 * 288 + 160 * 160) / 2.18e-3)
    assert machines.load("summit")["internode_bandwidth"] == 4.17e9 and "paces" not in machines.load("summit")
    knl = _paper_001.machine(_paper_001.Case("oakforest-pacs", "cbcg", 1024))
    assert knl["internode_bandwidth"] == pytest.approx(8 * (4 * 160 * 288 + 2 * 160 * 160) / 1.05e-3)
    assert knl["reduction_hop_s"] * 10 * 2 / 12 == pytest.approx(0.91e-3)


def test_laws_have_what_table_5_has_and_grow_as_they_say():
    known = _sums_001.Known(1024, 1e-3, 0.4e-3, 0.1e-3, 20e-6)
    laws = {name: [law(known, ranks) for ranks in (1024, 8192)] for name, law in _sums_001.LAWS.items()}
    assert laws == {
        "hops": pytest.approx([1e-3, 1.3e-3]),
        "least digit": pytest.approx([0.9e-3, 1.17e-3]),
        "base and hops": pytest.approx([1e-3, 1.06e-3]),
        "late by work": pytest.approx([1e-3, 0.4e-3 * 1.3 + 0.6e-3 / 8]),
        "late by ranks": pytest.approx([1e-3, 8**_sums_001.POWER * 1e-3]),
    }
    classic = _sums_001.Known(1024, 1e-3, 1e-3, 0.1e-3, 20e-6)
    assert _sums_001.LAWS["late by work"](classic, 8192) == pytest.approx(1.3e-3), "nobody is late"


def test_a_law_is_told_what_table_5_has():
    known = _paper_001._known(_paper_001.Case("summit", "cbcg", 7680))
    assert known == _sums_001.Known(
        1024, pytest.approx(0.18e-3), pytest.approx(0.07e-3), pytest.approx(0.03e-3), 5e-6
    )


@needs_core
@pytest.mark.parametrize("solver", ["cg", "cbcg"])
def test_a_longer_sum_makes_an_iteration_longer_by_as_much(solver, monkeypatch):
    """So that a law needs no run of its own."""
    monkeypatch.setattr(_paper_001, "CELLS", (480, 480, 864))
    monkeypatch.setattr(_paper_001, "RANKS", 64)
    case = _paper_001.Case("summit", solver, 27, "line")
    known = _paper_001._known(case)
    few, many = (_paper_001.predict(case, 0, law) for law in ("hops", "late by ranks"))
    more = _paper_001.SUMS[solver] * (
        _sums_001.LAWS["late by ranks"](known, 27) - _sums_001.LAWS["hops"](known, 27)
    )
    assert many.seconds - few.seconds == pytest.approx(more, abs=1e-6 * few.seconds)
    assert _paper_001.sums(many) - _paper_001.sums(few) == pytest.approx(more, abs=1e-6 * few.seconds)


@needs_core
def test_one_law_is_calibrated_on_the_time_of_p_cg_on_512_knls():
    found = _paper_001.predict(_paper_001.Case("oakforest-pacs", "cg", 512), 0, "late by ranks")
    assert found.seconds * _paper_001.ITERATIONS["oakforest-pacs"] == pytest.approx(151.84, rel=0.001)


def test_where_one_method_overtakes_the_other():
    assert _paper_001.crossover((1, 4, 16), (1.5, 1.1, 0.9)) == pytest.approx(8)
    assert _paper_001.crossover((1, 4, 16), (1.5, 1.2, 1.1)) is None
    assert _paper_001.crossover((1, 4), (0.9, 0.8)) == 1


def test_block_ilu_is_predicted_where_a_description_has_its_pace():
    box = of_box("", Box((4, 4, 4)))
    with pytest.raises(BadArgument, match="precond block-ilu is not predicted"):
        _predict.iteration(box, machines.load("summit"), 1, {"solver": "cg", "precond": "block-ilu"})


@needs_core
@pytest.mark.parametrize("solver", ["cg", "cbcg"])
def test_a_halo_is_hidden_behind_the_core_alone(solver, monkeypatch):
    monkeypatch.setattr(_paper_001, "CELLS", (480, 480, 864))
    monkeypatch.setattr(_paper_001, "RANKS", 27)
    column = {**_paper_001.TABLE_V["oakforest-pacs", solver], "Halo": 4.0}  # longer than any work
    monkeypatch.setitem(_paper_001.TABLE_V, ("oakforest-pacs", solver), column)
    none, cell, warp = (
        _paper_001.predict(_paper_001.Case("oakforest-pacs", solver, 27, surface), 0)
        for surface in ("none", "cell", "warp")
    )
    for what, commands in _paper_001.COMMANDS[solver].items():
        assert sum(none.commands[name] for name in commands) == pytest.approx(1e-3 * column[what], rel=0.03)
    assert none.ledger["reductions"] == pytest.approx(_paper_001.SUMS[solver])
    assert none.parts["halo"] == pytest.approx(4e-3, rel=0.02)
    hideable = 1e-3 * sum(column[what] for what in _paper_001.HIDING[solver])
    for run, share in ((cell, 0.968), (warp, 0.588)):
        assert none.seconds - run.seconds == pytest.approx(share * hideable, abs=0.05 * hideable)


def _agree(case, everybody, monkeypatch, most):
    """What some ranks say is what all say: nothing but rounding is between them."""
    whole = _paper_001.predict(case, 0)
    assert _paper_001.ranks_run(case.ranks) == everybody
    monkeypatch.setattr(_strong, "MOST_RANKS", most)
    assert _paper_001.ranks_run(case.ranks) < everybody
    some = _paper_001.predict(case, 0)
    assert some.seconds == pytest.approx(whole.seconds, rel=1e-12)
    assert some.parts == pytest.approx(whole.parts, abs=1e-12 * whole.seconds)
    for commands in _paper_001.COMMANDS[
        case.solver
    ].values():  # P-CBCG's share out a row by the blocks of what is run
        of_some, of_all = (sum(run.commands[name] for name in commands) for run in (some, whole))
        assert of_some == pytest.approx(of_all, rel=1e-12)


@needs_core
@pytest.mark.parametrize("solver", ["cg", "cbcg"])
def test_some_columns_of_ranks_stand_for_all(solver, monkeypatch):
    """Without overlap, so that it does not matter where tiles end; of 4 x 4 x 5 ranks 3 x 3 x 5 take a hop fewer."""
    monkeypatch.setattr(_paper_001, "CELLS", (640, 640, 1440))
    monkeypatch.setattr(_strong, "_SEVERAL_BLOCKS", 40)
    _agree(_paper_001.Case("summit", solver, 80), 80, monkeypatch, 60)
    assert _paper_001.ranks_run(80) == 45


@needs_core
@pytest.mark.slow
def test_some_columns_stand_for_all_where_halos_are_hidden(monkeypatch):
    monkeypatch.setattr(_paper_001, "CELLS", (1280, 1280, 1600))
    monkeypatch.setattr(_strong, "MOST_RANKS", 640)
    _agree(_paper_001.Case("summit", "cg", 640, "warp"), 640, monkeypatch, 512)
    assert _paper_001.ranks_run(640) == 480


@needs_core
def test_a_halo_takes_what_table_5_has_for_it(monkeypatch):
    monkeypatch.setattr(_paper_001, "CELLS", (480, 480, 864))
    monkeypatch.setattr(_paper_001, "RANKS", 27)
    found = _paper_001.predict(_paper_001.Case("oakforest-pacs", "cg", 27), 0)
    assert found.parts["halo"] == pytest.approx(0.78e-3, rel=0.03)
    assert _paper_001.sums(found) == pytest.approx(2.46e-3 * 5 / np.log2(27), rel=0.01), "hops are whole"


@needs_core
def test_p_cbcg_does_more_operations_and_moves_more_bytes():
    found = {case: [_paper_001.predict(case, 0)] for case in _paper_001.FIGURES["ledger"].cases}
    flops, same_flops, moved, same_moved = _paper_001.FIGURES["ledger"].rows(found)
    assert flops["ours"] == pytest.approx(3.56, abs=0.02) and flops["paper"] == same_flops["paper"] == 3
    assert moved["ours"] == pytest.approx(1.31, abs=0.02) and moved["paper"] == same_moved["paper"] == 1.25
    assert same_flops["ours"] == pytest.approx(2.86, abs=0.02)
    assert same_moved["ours"] == pytest.approx(1.23, abs=0.02)
    ours = {what: _paper_001._of_system(found, what) for what in ("flops", "memory_bytes")}
    page = " ".join(_page().split())
    assert (
        f"take {ours['flops']:.1f} operations and {ours['memory_bytes']:.0f} bytes a cell, the paper's 35 and 220"
        in page
    )
    cg, cbcg = (
        [run.ledger[what] / 24**3 for what in ours] for run in (found[case][0] for case in list(found)[:2])
    )
    assert f"{cbcg[1]:.0f} and {cg[1]:.0f} bytes, {cbcg[0]:.0f} and {cg[0]:.1f} operations a cell" in page
    assert f"is {cbcg[0] - ours['flops']:.0f} operations here" in page
    table_3 = (15 + 20 + 3 + 48 + 54, 92 + 128 + 24 + 35 + 59)
    assert f"Table III adds up to {table_3[1]} bytes and {table_3[0]} operations" in page
    assert f"here, and {table_3[0] - 35} in Table III" in page
    assert f"would be {same_flops['ours']:.2f} and {same_moved['ours']:.2f}" in page


_SURFACES = {"cell": "1 cell", "line": "16 in x", "warp": "32 in x", "none": "-"}  # as the page has them
_OVERLAPPING = _paper_001.surfaces("summit")


def _page():
    return (ROOT / "docs" / "theory" / "001.md").read_text(encoding="utf-8")


@needs_core
def test_the_record_is_what_the_model_says(recorded):
    ledger = {row["what"]: row["ours"] for row in recorded("Ledger", "001")}
    found = {case: [_paper_001.predict(case, 0)] for case in _paper_001.FIGURES["ledger"].cases}
    assert {row["what"]: row["ours"] for row in _paper_001.FIGURES["ledger"].rows(found)} == pytest.approx(
        ledger
    )


def test_the_page_has_the_record_s_figures(recorded):
    compared = [row for row in recorded("Table V", "001") if row["basis"] == "compared"]
    totals, parts = ([row for row in compared if row["quantity"] == what] for what in ("total", "hidden"))
    assert len(totals) == len(parts) == 12
    for total, part in zip(totals, parts, strict=True):
        name = f"{total['described_machine']}, {_paper_001.NAMES[total['solver']]}"
        said = f"| {name} | {_SURFACES[total['surface']]} | {total['paper']:.2f} | {total['ours']:.2f} "
        said += f"| {100 * total['difference'] / total['paper']:+.1f} % | {part['paper']:.0f} | {part['ours']:.0f} |"
        assert f"{said} {part['difference']:+.0f} |" in _page()
    gains = [row for row in recorded("Fig. 5", "001") if row["quantity"] == "speed-up"]
    assert len(gains) == 14
    for row in gains:
        name = f"{row['described_machine']}, {_paper_001.NAMES[row['solver']]} | {_SURFACES[row['surface']]}"
        off = f"{100 * row['difference'] / row['paper']:+.0f} %"
        assert f"| {name} | {row['paper']:.2f} | {row['ours']:.2f} | {off} |" in _page()
    rows = recorded("Fig. 6", "001")
    ours = {
        (row["quantity"], row.get("solver"), row.get("ranks"), row["surface"]): row["ours"] for row in rows
    }
    for surface, ranks in itertools.product(_OVERLAPPING, _paper_001.FIG_6_RANKS[1:]):
        said = f"| {ranks:,} | {_paper_001.ranks_run(ranks)} | {_SURFACES[surface]} |"
        for solver in ("cg", "cbcg"):
            said += f" {ours['speed-up', solver, ranks, surface]:.1f} | {ours['sums', solver, ranks, surface]:.1f} % |"
        assert f"{said} {ours['ratio', None, ranks, surface]:.2f} |" in _page()


def test_the_page_counts_what_each_surface_meets(recorded):
    def near(rows, quantity, percent=None, **facts):
        """Those within so many percent of the paper, or ten points, of what is printed of machines that overlap."""
        meant = {"quantity": quantity, **facts}
        compared = [
            row
            for row in rows
            if row["basis"] == "compared" and meant.items() <= row.items() and row["surface"] in _OVERLAPPING
        ]
        off = {surface: [row for row in compared if row["surface"] == surface] for surface in _OVERLAPPING}
        met = [
            sum(abs(row["difference"]) <= (row["paper"] * percent / 100 if percent else 10) for row in some)
            for some in off.values()
        ]
        return f"| {len(compared) // len(off)} | {' | '.join(map(str, met))} |"

    table_5, fig_5, fig_6 = (recorded(figure, "001") for figure in ("Table V", "Fig. 5", "Fig. 6"))
    page = _page()
    assert f"| Table V, totals within 8 % {near(table_5, 'total', 8)}" in page
    assert f"| Table V, hidden parts within 10 points {near(table_5, 'hidden')}" in page
    assert f"| Fig. 5, P-CG's seconds within 10 % {near(fig_5, 'seconds', 10)}" in page
    assert f"| Fig. 5, speed-ups within 10 % {near(fig_5, 'speed-up', 10)}" in page
    assert f"| Fig. 6, speed-ups on 7,680 within 10 % {near(fig_6, 'speed-up', 10)}" in page
    assert f"| Fig. 6, equally fast within one doubling {near(fig_6, 'crossover', 50)}" in page


def _attempts():
    """The newest record that has them."""
    for record in sorted((ROOT / "bench" / "records").glob("*_papers_001*.jsonl"), reverse=True):
        rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        if found := [row for row in rows if row["figure"] == "Sums, attempts"]:
            return {
                (row["law"], row["described_machine"], row.get("solver"), row["quantity"]): row
                for row in found
            }
    raise AssertionError("no record has attempts at sums")


_ENDS = list(itertools.product(("oakforest-pacs", "summit"), ("cg", "cbcg"), ("speed-up", "sums")))


def test_the_page_has_all_laws():
    """Of speed-ups it counts those within 10 %."""
    rows, page = _attempts(), _page()
    lines = {"the paper": ("paper", "hops"), **{law: ("ours", law) for law in _sums_001.LAWS}}
    for head, (which, law) in lines.items():
        ends = [rows[(law, *end)] for end in _ENDS]
        level = rows.get((law, "summit", None, "crossover"))
        cells = [
            f"{row[which]:.2f}" if row["quantity"] == "speed-up" else f"{row[which]:.1f} %" for row in ends
        ]
        cells.append(f"{level[which]:,.0f}" if level else "-")
        gains = [row for row in ends if row["quantity"] == "speed-up"]
        near = sum(abs(row["difference"]) <= 0.1 * row["paper"] for row in gains)
        assert (
            f"| {head} | {' | '.join(cells)} | {'' if which == 'paper' else f'{near} of {len(gains)} '}|"
            in page
        )


def test_the_first_law_is_that_of_all_other_figures(recorded):
    rows = _attempts()
    in_fig_5 = [row for row in recorded("Fig. 5", "001") if row["described_machine"] == "oakforest-pacs"]
    in_fig_6 = [
        row for row in recorded("Fig. 6", "001") if row["surface"] == "line" and row.get("ranks") == 7680
    ]
    found = {
        (machine, row["solver"], row["quantity"]): row["ours"]
        for machine, of_figure in (("oakforest-pacs", in_fig_5), ("summit", in_fig_6))
        for row in of_figure
        if row["quantity"] in ("speed-up", "sums")
    }
    assert found == {end: pytest.approx(rows[("hops", *end)]["ours"], rel=1e-6) for end in _ENDS}
