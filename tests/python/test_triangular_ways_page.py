"""What ADR 40 says of ways that were tried is what their records have."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
ADR = (ROOT / "docs" / "adr" / "0040-a-triangular-solve-is-one-ordered-plan.md").read_text(encoding="utf-8")
WAYS, SLICES = (f"2026-11-27_triangular_{name}_h200x4.jsonl" for name in ("ways", "slices"))
NEAR = "who the parent waits for looks at numbers; sums stay with their lanes"
ALL = "all look at numbers; sums stay with their lanes"
BEFORE = "flags, then numbers; sums through shared memory"


def rows(record):
    text = (ROOT / "bench" / "records" / record).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def ms(way, points, side, order="metis", direction="forward", hour="09", ranks=1, **wanted):
    (found,) = (
        row
        for row in rows(WAYS)
        if row["way"] == way
        and (row["points"], row["side"], row["order"], row["direction"]) == (points, side, order, direction)
        and f"T{hour}:" in row["date"]
        and row["ranks"] == ranks
        and all(row.get(key) == value for key, value in wanted.items())
    )
    return 1e3 * found["seconds"]


def test_products_became_shorter():
    before = [row["product_us"] for row in rows(WAYS) if row["way"] == BEFORE and row["ranks"] == 1]
    since = [
        row["product_us"]
        for row in rows(WAYS)
        if row["way"] == NEAR and "product_us" in row and row["ranks"] == 1
    ]
    assert len(before) == len(since) == 8
    assert min(before) > 1.4 and max(before) < 2 and "1.5 to 2 us of a hop were its product" in ADR
    assert min(since) > 0.55 and max(since) < 0.75 and "A product takes 0.6 to 0.7 us" in ADR


def test_quotients_and_looks_at_numbers():
    quotients = ms(NEAR, 5, 1000, hour="10"), ms("subtrees without quotients", 5, 1000, hour="10")
    assert "5 points 1000^2 from {:.3f} to {:.3f} ms".format(*quotients) in ADR
    assert round(100 * (ms(NEAR, 7, 40) / ms(ALL, 7, 40) - 1)) == 2 and "(40^3 by 2 %)" in ADR
    assert round(1000 * (ms(ALL, 27, 50) / ms(NEAR, 27, 50) - 1)) in (14, 15, 16)
    assert "(27 points 50^3 by 1.5 %)" in ADR
    for points, side in ((7, 100), (7, 64), (27, 50), (5, 1000), (7, 40)):
        back = [
            ms(way, points, side, direction="backward", hour="10")
            for way in (NEAR, "columns look at numbers")
        ]
        assert back[0] <= back[1]
    assert WAYS in ADR


def test_what_slices_cost():
    found = {row["slices_at_once"]: row for row in rows(SLICES) if row["side"] == 100}
    whole, one, four = (1e3 * found[k]["seconds"] for k in (0, 1, 4))
    assert round(100 * (four / whole - 1)) == 11 and "costs 11 % even where all slices come at once" in ADR
    slowest = max(1e3 * found[k]["seconds"] for k in (1, 2, 3, 4))
    assert f"took {four:.2f} to {slowest:.2f} ms instead of {whole:.2f}" in ADR and slowest == one
    assert f"with one at once a number is seen after {found[1]['seen_us_same_gpu']:.1f} us" in ADR
    assert f"{found[0]['seen_us_same_gpu']:.1f} us after in the chain of 100^3's root" in ADR
    blocks = ms("subtrees without quotients; three thread blocks a multiprocessor", 7, 100, hour="10")
    usual = ms("subtrees without quotients", 7, 100, hour="10")
    assert f"({blocks:.3f} instead of {usual:.3f} ms)" in ADR and SLICES in ADR


def test_what_the_page_of_limits_says_of_ways():
    page = (ROOT / "docs" / "triangular_limits.md").read_text(encoding="utf-8")
    four = [ms(way, 7, 100, ranks=4) for way in (BEFORE, NEAR)]
    assert "looks at numbers ({:.3f} to {:.3f} in one run".format(*four) in page
    assert f"{ms(BEFORE, 5, 1000):.3f} on an H200" in page
    subtrees = [1e3 * row["seconds"] for row in rows(WAYS) if row.get("subtree", 45056) < 45056]
    assert f"smaller subtrees ({min(subtrees):.2f} to {max(subtrees):.2f})" in page
    merged = {row["always"]: row for row in rows(WAYS) if "always" in row and row["side"] == 1000}
    more = round(100 * (merged[16]["gigabytes"] / merged[8]["gigabytes"] - 1))
    assert f"({1e3 * merged[16]['seconds']:.3f}, with {more} % more bytes" in page
    again = rows("2026-11-27_triangular_paper_again_h200x2.jsonl")
    theirs, ours = (1e3 * row["seconds"] for row in sorted(again, key=lambda row: row["algorithm"] == "ours"))
    assert f"it was {theirs / ours:.2f} times, {theirs:.3f} and {ours:.3f} ms" in page
