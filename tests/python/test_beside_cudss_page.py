"""What docs/triangular_limits.md says of cuDSS, against the newest record of bench/beside_cudss.py.

python tests/python/test_beside_cudss_page.py     # prints what takes the place of the sentence that there is no record
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASKED = 1.5
NONE_YET = "There is no record of it yet."
HEAD = (
    "| factor | order | our values | right-hand sides | entries of cuDSS's L, and of ours | cuDSS forward, back "
    "| ours forward, back | times as fast | at least, asked |",
    "|---|---|---|---|---|---|---|---|---|",
)


def records():
    return sorted((ROOT / "bench" / "records").glob("*_beside_cudss_*.jsonl"))


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def name_of(matrix):
    points, _, side = matrix.partition(":")
    return f"{points} points, {side}^{2 if points == '5' else 3}" if side else matrix.removesuffix(".mtx")


def compared(rows):
    """Pairs of a row of Cholesky's with what of ours stands beside it, and the clock that both go by."""
    for row in rows:
        if row["kind"] == "spd" and row["cudss"]:
            for key, clock in (("ours", "_s"), ("ours_true", "_called_s")):
                if row[key]:
                    yield row, row[key], clock


def ratios(row, own, clock):
    """Their seconds over ours, forward and back."""
    return [row["cudss"][way + clock] / own[way + clock] for way in ("forward", "backward")]


def opening(rows, record):
    """What stands above the table."""
    ((version, device),) = {(row["version"], row["device"]) for row in rows}
    return f"cuDSS {version} on one {device} (`bench/records/{record}`):"


def table(rows):
    """The section's lines of a record's rows."""
    yield from HEAD
    for row, own, clock in compared(rows):
        theirs = row["cudss"]
        order = {"metis": "METIS", "own": "cuDSS's"}[row["order"]]
        times = [
            ", ".join(f"{1e3 * who[way + clock]:.3f}" for way in ("forward", "backward"))
            for who in (theirs, own)
        ]
        fast = ratios(row, own, clock)
        cells = [
            name_of(row["matrix"]), order, own["values"], row["columns"], f"{theirs['entries']:,}, {own['entries']:,}",
            *times, ", ".join(f"{ratio:.2f}" for ratio in fast),
            f"{ASKED}: {'met' if min(fast) >= ASKED else 'missed'}",
        ]  # fmt: skip
        yield f"| {' | '.join(map(str, cells))} |"


def sentences(rows):
    """What is said below the table: of each number of right-hand sides, all orders and values together."""
    for columns in sorted({row["columns"] for row in rows}):
        found = [
            ratio
            for row, own, clock in compared(rows)
            if row["columns"] == columns
            for ratio in ratios(row, own, clock)
        ]
        mean = math.prod(found) ** (1 / len(found))
        sides = "one right-hand side" if columns == 1 else f"{columns} right-hand sides"
        yield (
            f"With {sides} the least of {len(found)} is {min(found):.2f}, and their geometric mean {mean:.2f} "
            f"(asked {ASKED} of each: {'met' if min(found) >= ASKED else 'missed'})."
        )


def test_the_page_has_the_record_s_figures():
    page = (ROOT / "docs" / "triangular_limits.md").read_text(encoding="utf-8")
    section = page.partition("## Beside cuDSS\n")[2].partition("\n## ")[0]
    found = records()
    assert (NONE_YET in section) == (not found)
    if found:
        rows = rows_of(found[-1])
        expected = [*table(rows)]
        assert opening(rows, found[-1].name) in section and len(expected) > len(HEAD)
        assert [line for line in section.splitlines() if line in expected] == expected
        assert all(sentence in section for sentence in sentences(rows))


def made(columns, forward, true=None):
    seconds = {f"{way}{clock}": 3e-3 for way in ("forward", "backward") for clock in ("_s", "_called_s")}
    own = {"values": "invented", "entries": 90, "forward_s": forward, "backward_s": 1e-3}
    exact = true and {
        "values": "true", "entries": 95, "forward_called_s": true, "backward_called_s": 1e-3,
    }  # fmt: skip
    return {
        "matrix": "7:40", "order": "metis", "kind": "spd", "columns": columns, "ours": own, "ours_true": exact,
        "cudss": {"entries": 100, **seconds},
    }  # fmt: skip


def test_lines_and_sentences_are_made_of_rows():
    rows = [made(1, 1.5e-3, true=2e-3), made(32, 4e-3), made(1, 1e-3) | {"cudss": None}]
    lines = [*table(rows)][len(HEAD) :]
    cells = (
        "7 points, 40^3",
        "METIS",
        "invented",
        1,
        "100, 90",
        "3.000, 3.000",
        "1.500, 1.000",
        "2.00, 3.00",
    )
    assert lines[0] == f"| {' | '.join(map(str, cells))} | 1.5: met |"
    assert [line.split(" | ")[2] for line in lines] == ["invented", "true", "invented"]
    assert lines[2].endswith("| 0.75, 3.00 | 1.5: missed |")
    one, many = sentences(rows)
    mean = (2 * 3 * 1.5 * 3) ** 0.25
    assert one.startswith(
        f"With one right-hand side the least of 4 is 1.50, and their geometric mean {mean:.2f} ("
    )
    assert one.endswith("met).") and many.endswith("missed).")


@pytest.mark.parametrize(
    ("matrix", "said"),
    [("5:1000", "5 points, 1000^2"), ("27:40", "27 points, 40^3"), ("bcsstk16.mtx", "bcsstk16")],
)
def test_factors_have_names(matrix, said):
    assert name_of(matrix) == said


def test_the_opening_names_one_machine():
    rows = [{"version": "0.7.1", "device": "NVIDIA H200"}] * 2
    assert opening(rows, "r.jsonl") == "cuDSS 0.7.1 on one NVIDIA H200 (`bench/records/r.jsonl`):"
    with pytest.raises(ValueError, match="too many"):
        opening([*rows, {"version": "0.7.1", "device": "NVIDIA H100"}], "r.jsonl")


if __name__ == "__main__":
    newest = rows_of(records()[-1])
    print(opening(newest, records()[-1].name), "", *table(newest), "", *sentences(newest), sep="\n")
