"""docs/choosing.md says from which size on multigrid wins, as its records do."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
TWO_GPUS, TWO_CORES = "2026-11-26_multigrid_h200x2.jsonl", "2026-11-27_multigrid_setups_2_cores.jsonl"
SMALL = "2026-11-27_multigrid_small_2_cores.jsonl"


def rows_of(name):
    text = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def crossovers():
    """Iterations and milliseconds of a core by preconditioner, and which of them takes the fewest."""
    times = {}
    for row in rows_of(SMALL):
        of = times.setdefault((row["size"], row["contrast"]), {})
        of[row["precond"]] = (row["iterations"], 1e3 * row["cpu_s"])
    for (size, contrast), ways in times.items():
        cells = [f"{iterations}, {seconds:.1f}" for iterations, seconds in ways.values()]
        fastest = min(ways, key=lambda way: ways[way][1])
        yield f"| {size}^3, {contrast:,.0f} | {' | '.join(cells)} | `{fastest}` |"


def with_setup():
    """Seconds of setup and solve by preconditioner."""
    times = {}
    for row in rows_of(TWO_CORES):
        way = f"{row['precond']}:{row['cycle']}"
        times.setdefault((row["size"], row["contrast"]), {})[way] = row["setup_s"] + row["solve_s"]
    for (size, contrast), of in times.items():
        told = [f"{of[way]:.2f}" for way in ("jacobi:", "block-ilu:", "mg:v", "mg:w")]
        yield f"| {size}^3, {contrast:,.0f} | {' | '.join(told)} |"


def gains(size):
    """Times as fast as sqrt-jacobi on one H200, by contrast."""
    of = {
        (r["contrast"], r["precond"]): r["solve_s"]
        for r in rows_of(TWO_GPUS)
        if (r["size"], r["ranks"]) == (size, 1) and r["cycle"] != "w"
    }
    return sorted(of[contrast, "sqrt-jacobi"] / of[contrast, "mg"] for contrast in (1.0, 1000.0))


def test_the_crossovers_are_in_choosing():
    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    assert SMALL in text and TWO_CORES in text
    for table in (crossovers, with_setup):
        expected = [*table()]
        assert [line for line in text.splitlines() if line in expected] == expected
    gained = [
        of["jacobi"] / of["mg"]
        for of in (
            {row["precond"]: row["cpu_s"] for row in rows_of(SMALL) if (row["size"], row["contrast"]) == case}
            for case in {(row["size"], row["contrast"]) for row in rows_of(SMALL)}
        )
    ]
    assert f"`mg` on all of them, {min(gained):.1f} to {max(gained):.1f} times as fast as Jacobi" in text
    of = {
        (row["size"], row["contrast"], row["precond"], row["cycle"]): row["solve_s"]
        for row in rows_of(TWO_CORES)
    }
    for size, contrast in ((64, 1.0), (96, 1000.0)):
        v, w = (f"{of[size, contrast, 'mg', cycle]:.2f}" for cycle in "vw")
        assert f"{v} and {w} s at {size}^3" in text
    small, middle, large = ("{:.1f} to {:.1f}".format(*gains(size)) for size in (64, 128, 256))
    said = f"at 64^3 on one H200 `mg` is {small} times as fast as `sqrt-jacobi`, at 128^3 {middle}, at 256^3 {large}"
    assert said in text, said


if __name__ == "__main__":
    print(*crossovers(), sep="\n")
