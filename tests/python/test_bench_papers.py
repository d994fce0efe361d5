"""``sordino bench papers``: what papers printed beside what the model engine says; the boxes that are run for it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sordino import BadArgument, _predict, machines
from sordino._box import Box
from sordino._subject import of_box
from sordino.bench import _paper_001, _paper_003, _strong, _weak, papers
from sordino.bench._paper_003 import Case


def _core_is_there() -> bool:
    try:
        from sordino import _core
    except ImportError:
        return False
    return hasattr(_core, "Solver")


ROOT = Path(__file__).parents[2]

needs_core = pytest.mark.skipif(not _core_is_there(), reason="sordino._core is not built")


@pytest.mark.parametrize(
    ("ranks", "grid"), [(1, (1, 1, 1)), (6, (3, 2, 1)), (64, (4, 4, 4)), (128, (8, 4, 4)), (512, (8, 8, 8))]
)
def test_ranks_stand_in_the_most_cubic_grid(ranks, grid):
    assert _weak.grid(ranks) == grid


def test_every_rank_has_a_box_with_neighbours_on_all_sides():
    found = _weak.subject(27, 60)
    rows_of_a_tile = 256
    assert (found.n, found.entries) == (27 * 60**3, 27 * 27 * 60**3)
    assert found.run.cuts == tuple(range(0, 27 * 729 + 1, 729)) and found.run.n == found.run.cuts[-1]
    assert found.traffic == (60 / 9) ** 3
    assert found.surface == (62**3 - 60**3) / (11**3 - 9**3)
    matrix = found.run.matrix()
    assert abs(matrix - matrix.T).max() == 0
    assert (np.diff(matrix.indptr) == 27).all() and (np.diff(found.run.indices.reshape(-1, 27)) > 0).all()
    others = matrix.sum(axis=1) - matrix.diagonal()
    assert (others == -26).all() and (matrix.diagonal() >= 26).all()
    for rank in (0, 13, 26):
        first, end = found.run.cuts[rank : rank + 2]
        columns = matrix[first:end].indices.reshape(-1, 27)
        inside = ((columns >= first) & (columns < end)).all(axis=1)
        assert inside[: 7**3].all() and not inside[7**3 :].any(), "those that need nobody come first"
        assert inside[:rows_of_a_tile].all(), "else the whole product waits for the halo"
        assert len(np.unique(columns // 729)) == 27


def test_a_small_box_is_run_as_it_is():
    found = _weak.subject(8, 5)
    assert found.run.n == found.n == 8 * 125 and found.traffic == found.surface == 1


def test_cases_are_run_once_for_each_draw_and_shared_by_figures():
    asked = []

    def predict(case, draw):
        asked.append((case, draw))
        return 10 * case + draw

    def figure(*cases):
        return SimpleNamespace(cases=list(cases), rows=lambda found: [{"found": [found[c] for c in cases]}])

    paper = SimpleNamespace(FIGURES={"a": figure(1, 2), "b": figure(2, 3)}, predict=predict)
    rows = papers.compared(paper, ["a", "b"], 2, quiet=True)
    assert sorted(asked) == [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
    assert [row["found"] for row in rows] == [[[10, 11], [20, 21]], [[20, 21], [30, 31]]]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--what", "030"], "unknown paper '030'; known: 000, 001, 003, 004"),
        (["--what", "001", "--figures", "table1"], "unknown figure 'table1', did you mean 'table5'"),
        (
            ["--what", "001", "--draws", "3"],
            "--draws must be 1: nothing is random in what is run of paper 001",
        ),
        (["--what", "003", "--figures", "fig10,fig112"], "unknown figure 'fig112', did you mean 'fig1"),
        (["--draws", "0"], "--draws must be at least 1, not 0"),
        (["--draws", "few"], "--draws must be a whole number"),
        (["--figures", ","], "--figures names none"),
        (["--record", "/nowhere/r.jsonl"], "cannot be written"),
    ],
)
def test_bad_usage(cli, fake_core, argv, sentence):
    code, out, err = cli("bench", "papers", *argv)
    assert code == 2 and out == "" and sentence in err


def test_the_machine_of_a_case():
    quiet = _paper_003.machine(Case("pcg2", 64, 60), 2)
    assert quiet["paces"] == _paper_003.CALIBRATED["paces"] and "paces" not in machines.load("offload")
    assert quiet["interruptions"] == {"hz": 0.0, "seconds": 0.0, "draws": 2}
    loud = _paper_003.machine(Case("pcg1", 64, 60, 20.0, 5e-5), 0)
    assert loud["interruptions"]["hz"] == 20 and loud["paces"]["Scaled"] == _paper_003.DIAG_SCALE


@needs_core
def test_eight_ranks_of_the_cluster():
    waits, overlaps = (_paper_003.predict(Case(solver, 8, 60), 0) for solver in ("pcg2", "pcg-overlap"))
    # Without late ranks: 42.4 ms of a product, and vectors' 11.2 ms; late ones and sums take the rest.
    work = sum(waits.commands.values())
    assert work == pytest.approx(53.6e-3, rel=0.02) and sum(overlaps.commands.values()) == pytest.approx(work)
    assert waits.seconds > overlaps.seconds > work
    assert waits.ledger["reductions"] == overlaps.ledger["reductions"] == 3
    assert waits.ledger["messages"] == 7, "of a periodic grid of 2 x 2 x 2 ranks"
    assert overlaps.parts["reductions"] < 0.1 * 3 * 3 * 31.25e-6 < 3 * 3 * 31.25e-6
    again = _paper_003.predict(Case("pcg2", 8, 60), 0)
    assert again.seconds == waits.seconds
    assert _paper_003.predict(Case("pcg2", 8, 60), 1).seconds != waits.seconds
    loud = _paper_003.predict(Case("pcg2", 8, 60, 1000.0, 200e-6), 0)
    assert loud.seconds > 1.25 * waits.seconds


@needs_core
def test_tables_json_and_records(cli, tmp_path, monkeypatch):
    gains = {(12, 8): (5.0, None)}

    def rows(found):
        runs = [found[Case(solver, 8, 12)] for solver in ("pcg-overlap", "pcg2")]
        gain = [100 * (1 - a.seconds / b.seconds) for a, b in zip(*runs, strict=True)]
        yield _paper_003.row("Fig. 10", "a small one", "%", gain, gains[12, 8][0], "compared")
        yield _paper_003.row("Fig. 10", "one without a number", "%", gain, None, "words")

    small = _paper_003.Figure([Case("pcg2", 8, 12), Case("pcg-overlap", 8, 12)], rows)
    monkeypatch.setitem(_paper_003.FIGURES, "fig10", small)
    record = tmp_path / "r.jsonl"
    argv = ("bench", "papers", "--figures", "fig10", "--draws", 2)
    code, out, err = cli(*argv, "--record", record, "--commit", "abc")
    assert code == 0, err
    assert "Fig. 10" in out and "a small one" in out and "5.00" in out
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["what"] for line in lines] == ["a small one", "one without a number"]
    first, second = lines
    assert first["difference"] == pytest.approx(first["ours"] - 5.0) and second["difference"] is None
    assert first["least"] <= first["ours"] <= first["most"] and first["least"] < first["most"]
    assert first["commit"] == "abc" and first["paper_of"] == "003" and first["draws"] == 2
    code, out, err = cli(*argv, "--json")
    assert code == 0, err
    shown = json.loads(out)["rows"]
    assert [row["ours"] for row in shown] == [line["ours"] for line in lines], "the same on every run"


# ---- paper 001 ---------------------------------------------------------------------------------------------------


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
    assert some.commands == pytest.approx(whole.commands, rel=1e-12)


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
    flops, moved = _paper_001.FIGURES["ledger"].rows(found)
    assert flops["ours"] == pytest.approx(3.56, abs=0.02) and flops["paper"] == 3
    assert moved["ours"] == pytest.approx(1.44, abs=0.02) and moved["paper"] == 1.25


def _recorded(figure, paper="003"):
    """The rows of a figure, of the newest record that has it."""
    for record in sorted((ROOT / "bench" / "records").glob(f"*_papers_{paper}.jsonl"), reverse=True):
        rows = [json.loads(line) for line in record.read_text().splitlines()]
        if found := [row for row in rows if row["figure"] == figure]:
            return found
    raise AssertionError(f"no record has {figure}")


def _gains():
    return {
        (row["edge"], row["ranks"]): row
        for row in _recorded("Fig. 10")
        if row["quantity"] == "gain" and row["than"] == "pcg2"
    }


@needs_core
def test_the_record_is_what_the_model_says():
    recorded = _gains()[40, 64]
    cases = [Case(solver, 64, 40) for solver in ("pcg-overlap", "pcg2")]
    runs = [[_paper_003.predict(case, draw) for draw in range(recorded["draws"])] for case in cases]
    gains = [100 * (1 - ours.seconds / other.seconds) for ours, other in zip(*runs, strict=True)]
    assert [np.mean(gains), min(gains), max(gains)] == pytest.approx(
        [recorded["ours"], recorded["least"], recorded["most"]]
    )


def test_the_page_of_the_paper_has_the_record_s_figures():
    page = (ROOT / "docs" / "theory" / "003.md").read_text(encoding="utf-8")
    compared = [row for row in _gains().values() if row["basis"] == "compared"]
    assert len(compared) == 6
    for row in compared:
        said = f"| {row['edge']}^3 | {row['ranks']} | {row['paper']:.1f} | {row['ours']:.1f} "
        assert said + f"({row['least']:.1f} to {row['most']:.1f}) | {row['difference']:+.1f} |" in page
    extremes = [row for row in _recorded("Fig. 12") if row["basis"] == "compared"]
    assert {row["solver"] for row in extremes} == {"pcg2", "pcg-overlap"}
    for row in extremes:
        said = f"| {row['solver']} | {row['paper']:.0f} | {row['ours']:.1f} "
        assert said + f"({row['least']:.1f} to {row['most']:.1f}) | {row['difference']:+.1f} |" in page


@needs_core
def test_the_record_of_paper_001_is_what_the_model_says():
    recorded = {row["quantity"]: row["ours"] for row in _recorded("Ledger", "001")}
    found = {case: [_paper_001.predict(case, 0)] for case in _paper_001.FIGURES["ledger"].cases}
    assert {
        row["quantity"]: row["ours"] for row in _paper_001.FIGURES["ledger"].rows(found)
    } == pytest.approx(recorded)


def test_the_page_of_paper_001_has_the_record_s_figures():
    page = (ROOT / "docs" / "theory" / "001.md").read_text(encoding="utf-8")
    compared = [row for row in _recorded("Table V", "001") if row["basis"] == "compared"]
    totals, parts = ([row for row in compared if row["quantity"] == what] for what in ("total", "hidden"))
    assert len(totals) == len(parts) == 8
    surfaces = {"cell": "1 cell", "warp": "32 in x", "none": "-"}
    for total, part in zip(totals, parts, strict=True):
        name = f"{total['described_machine']}, {_paper_001.NAMES[total['solver']]}"
        said = f"| {name} | {surfaces[total['surface']]} | {total['paper']:.2f} | {total['ours']:.2f} "
        said += f"| {100 * total['difference'] / total['paper']:+.1f} % | {part['paper']:.0f} | {part['ours']:.0f} |"
        assert f"{said} {part['difference']:+.0f} |" in page
    gains = [row for row in _recorded("Fig. 5", "001") if row["quantity"] == "speed-up"]
    assert len(gains) == 10
    for row in gains:
        name = f"{row['described_machine']}, {_paper_001.NAMES[row['solver']]} | {surfaces[row['surface']]}"
        off = f"{100 * row['difference'] / row['paper']:+.0f} %"
        assert f"| {name} | {row['paper']:.2f} | {row['ours']:.2f} | {off} |" in page
    rows = _recorded("Fig. 6", "001")
    ours = {
        (row["quantity"], row.get("solver"), row.get("ranks"), row["surface"]): row["ours"] for row in rows
    }
    for surface, ranks in itertools.product(("cell", "warp"), _paper_001.FIG_6_RANKS[1:]):
        said = f"| {ranks:,} | {_paper_001.ranks_run(ranks)} | {surfaces[surface]} |"
        for solver in ("cg", "cbcg"):
            said += f" {ours['speed-up', solver, ranks, surface]:.1f} | {ours['sums', solver, ranks, surface]:.1f} % |"
        assert f"{said} {ours['ratio', None, ranks, surface]:.2f} |" in page
