"""What docs/choosing.md says of multigrid by itself, against its record."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD = "2026-11-27_multigrid_alone_2_cores.jsonl"


def test_the_page_has_the_record_s_iterations():
    page = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
    lines = (ROOT / "bench" / "records" / RECORD).read_text(encoding="utf-8").splitlines()
    runs = {(r["solver"], r["omega"], r["cycle"], r["size"]): r for r in map(json.loads, lines)}

    def iterations(solver, omega, cycle):
        return [runs[solver, omega, cycle, size]["iterations"] for size in (32, 48, 64)]

    alone = {k for cycle in "fw" for k in iterations("richardson", 1.0, cycle)}
    inside = {k for cycle in "fw" for k in iterations("fcg", None, cycle)}
    assert alone == {10, 11} and inside == {7} and RECORD in page
    assert "take 10 or 11 iterations to 1e-8, at 32^3, 48^3 and 64^3, where `fcg` around them takes 7" in page
    assert set(iterations("fcg", None, "v")) == {9, 10}
    first, second, last = iterations("richardson", 1.0, "v")
    assert runs["richardson", 1.0, "v", 64]["status"] == "max_iterations" and last == 200
    assert f"does not: {first}, {second}, and at 64^3 more than {last}" in page
    assert "with `omega` 0.8 {}, {} and {}".format(*iterations("richardson", 0.8, "v")) in page
