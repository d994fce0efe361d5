"""``sordino bench papers --what 004``: the paper's model of a triangular solver, beside what the paper printed."""

from __future__ import annotations

import json

import pytest

from sordino import _native
from sordino.bench import _paper_004
from sordino.bench._paper_004 import Case


def _core_is_there() -> bool:
    try:
        from sordino import _core
    except ImportError:
        return False
    return hasattr(_core, "paper_trsv_scaling")


needs_core = pytest.mark.skipif(not _core_is_there(), reason="sordino._core is not built")


def _made(shape: str, rows: int, columns: int, seconds: float) -> _paper_004.Prediction:
    return {"shape": shape, "rows": rows, "columns": columns, "seconds": seconds,
            "computing": seconds / 4, "communicating": 3 * seconds / 4, "messages": 10 * rows}  # fmt: skip


def test_the_best_layout_counts_and_speedups_are_over_one_gpu():
    run = [
        _made("P x 1", 1, 1, 8.0),
        _made("P x 1", 4, 1, 4.0),
        _made("1 x P", 1, 4, 16.0),
        _made("2-D", 2, 2, 2.0),
    ]
    assert _paper_004._speedup(run, 4) == 4
    assert _paper_004._speedup(run, 4, "P x 1") == 2
    assert _paper_004._speedup(run, 4, "1 x P") == 0.5
    assert _paper_004._best({1: 1.0, 2: 0.5, 6: 1.5, 12: 1.25}) == 6


def test_the_printed_numbers_are_those_of_the_text():
    """Best counts: S1 6, DG 12, LU2 6, LU4 6, Li 12; at most 3.7 times one GPU, on twelve."""
    assert {name: _paper_004._best(row) for name, row in _paper_004.TABLE_2.items()} == {
        "S1": 6, "DG": 12, "LU2": 6, "LU4": 6, "Li": 12,
    }  # fmt: skip
    assert max(max(row.values()) for row in _paper_004.TABLE_2.values()) == 3.7


@needs_core
def test_a_draw_is_a_structure_and_the_same_draw_the_same():
    first, again, other = (_paper_004.predict(Case("Li"), draw) for draw in (0, 0, 1))
    assert first == again != other
    assert {one["shape"] for one in first} == {"P x 1", "1 x P", "2-D"}
    assert [one["rows"] for one in first if one["shape"] == "P x 1"] == list(range(1, 19))
    for one in first:
        assert one["seconds"] == pytest.approx(one["computing"] + one["communicating"])
    with pytest.raises(Exception, match="no imitation of a matrix 'Lo'"):
        _native.core().paper_trsv_scaling("Lo", 2, 1)


@needs_core
def test_the_command_prints_the_paper_beside_ours(cli):
    code, out, err = cli(
        "bench", "papers", "--what", "004", "--figures", "messages,fig7", "--draws", "1", "--json"
    )
    assert code == 0, err
    rows = json.loads(out)["rows"]
    li = {row["gpus"]: row for row in rows if row["figure"] == "Section 6.3" and row["matrix"] == "Li"}
    assert {gpus: row["paper"] for gpus, row in li.items()} == _paper_004.MESSAGES["Li"]
    for row in rows:
        if row["figure"] == "Section 6.3":
            assert row["ours"] == pytest.approx(row["paper"], rel=0.15)
    assert [row["paper"] for row in rows if row["unit"] == "%"] == [33]
