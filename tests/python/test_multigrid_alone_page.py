"""What docs/choosing.md says of multigrid by itself, against its record."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD = "2026-11-27_multigrid_lines_alone_2_cores.jsonl"


def test_the_page_has_the_record_s_iterations():
    page = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
    lines = (ROOT / "bench" / "records" / RECORD).read_text(encoding="utf-8").splitlines()
    runs = {(r["solver"], r["cycle"], r["size"]): r for r in map(json.loads, lines)}
    assert all(r["status"] == "converged" for r in runs.values()) and RECORD in page

    def iterations(solver):
        return [runs[solver, cycle, size]["iterations"] for cycle in "vfw" for size in (32, 48, 64)]

    alone, inside = iterations("richardson"), iterations("fcg")
    v = "V {}, {} and {}".format(*alone[:3])
    assert f"take {min(alone)} to {max(alone)} iterations to 1e-8 at 32^3, 48^3 and 64^3, {v}," in page
    assert f"where `fcg` around them takes {min(inside)} to {max(inside)}" in page
