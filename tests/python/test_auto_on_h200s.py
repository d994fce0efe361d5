"""What ``solver="auto"`` takes by the descriptions of H200s is, of the methods that were measured on them, the
fastest or within 5 % of it, in every case of which a record has several.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from sordino import _predict, machines
from sordino._box import Box
from sordino._subject import of_box

pytest.importorskip("sordino._core")

RECORDS = Path(__file__).parents[2] / "bench" / "records"
#: Those of ``bench cg`` on H200s that have several methods of a case.
NAMES = [
    "2026-11-23_bench_cg_cgcg_h200",
    "2026-11-23_bench_cg_cgcg_h200x2",
    "2026-11-26_bench_cg_h200x4",
    "2026-11-26_bench_cg_cupy_h200x4",
    "2026-11-26_bench_cg_loads_first_h200x4",
    "2026-11-26_bench_cg_stencils_h200x4",
]
WITHIN = 1.05


def cases(name):
    """Seconds of an iteration by commit, cells along an edge, ranks, preconditioner and storage; then by method."""
    found = defaultdict(dict)
    text = (RECORDS / f"{name}.jsonl").read_text(encoding="utf-8")
    for row in map(json.loads, text.splitlines()):
        if row["bench"] == "cg" and "solver" in row:
            case = (row["commit"], row["size"], row["ranks"], row["precond"], row["storage"])
            found[case][row["solver"]] = row["iteration_s"]
    return {case: seconds for case, seconds in found.items() if len(seconds) > 1}


@cache
def taken(size, ranks, precond, storage):
    """What auto takes of a Poisson box, and why."""
    box = of_box("box", Box((size, size, size)))
    options = {"precond": precond, "storage": storage}
    return _predict.automatic(box, machines.load(f"h200x{ranks}"), ranks, options, 1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_what_auto_takes_was_measured_to_be_the_fastest_or_within_5_percent(name):
    missed = {}
    for case, seconds in cases(name).items():
        method, why = taken(*case[1:])
        if not seconds.get(method, float("inf")) <= WITHIN * min(seconds.values()):
            missed[case] = (method, why, seconds)
    assert not missed


def test_the_records_tell_methods_apart():
    """Else one that is always taken would pass: each of cg and cgcg misses the fastest by more in some cases."""
    measured = [seconds for name in NAMES for seconds in cases(name).values()]
    assert len(measured) == 77
    docs = RECORDS.parents[1] / "docs"
    decided = docs / "adr" / "0034-auto-walks-through-recordings.md"
    records = {5: "five", 6: "six", 7: "seven", 8: "eight"}[len(NAMES)]
    assert f"in {len(measured)} cases of {records} records" in decided.read_text(encoding="utf-8")
    assert f"in all of {len(measured)} cases" in (docs / "choosing.md").read_text(encoding="utf-8")
    for method in ("cg", "cgcg"):
        assert any(seconds[method] > WITHIN * min(seconds.values()) for seconds in measured)


@pytest.mark.parametrize(("ranks", "method"), [(1, "cgcg"), (4, "cgcg")])
def test_auto_says_why_it_takes_what_has_fewer_commands(ranks, method):
    found, why = taken(64, ranks, "jacobi", "dia")
    assert found == method
    assert f"an iteration on {ranks} rank" in why and ", and cg " in why
    assert ("prcg" in why) == (ranks == 4)  # predicted to be a little faster there, which was not measured


def test_few_rows_of_four_gpus_are_not_given_to_a_method_that_hides_its_sums():
    """What prcg gains by the description is waits, and by its record's ledgers a rank of 64^3 waits as long with it."""
    ledgers = {}
    for row in map(json.loads, (RECORDS / f"{NAMES[3]}.jsonl").read_text(encoding="utf-8").splitlines()):
        if row["bench"] == "cg" and (row["size"], row["ranks"], row["storage"]) == (64, 4, "dia"):
            ledgers[row["solver"]] = row["ledger"]
    waits = {s: ledger["exposed_reduction_s"] + ledger["exposed_halo_s"] for s, ledger in ledgers.items()}
    assert waits["prcg"] > waits["cgcg"]
    for size in (24, 40, 56):
        assert taken(size, 4, "sqrt-jacobi", "symdia")[0] == "cgcg"
