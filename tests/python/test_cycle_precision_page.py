"""What docs/multigrid.md says of cycles in lower precision, against its records."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEASURED, PREDICTED = "2026-11-27_cycle_precision_2_cores.jsonl", "2026-11-27_cycle_precision_predicted.jsonl"
PRECISIONS = ("double", "single", "half")


def rows_of(name):
    return [
        json.loads(line)
        for line in (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    ]


def page():
    return (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")


def measured():
    return {(r["problem"], r["size"], r["contrast"], r["precision"]): r for r in rows_of(MEASURED)}


def test_iterations_and_their_milliseconds():
    found, shares = measured(), []
    for size in (64, 96):
        for contrast in (1.0, 1000.0):
            rows = [found["ball", size, contrast, precision] for precision in PRECISIONS]
            assert {r["iterations"] for r in rows} == {rows[0]["iterations"]}
            assert all(
                r["status"] == "converged" and r["true_residual"] <= 1e-8 and r["ranks"] == 1 for r in rows
            )
            cells = " | ".join(f"{r['iterations']}, {1e3 * r['cpu_s'] / r['iterations']:.1f}" for r in rows)
            assert f"| {size}^3, {contrast:,.0f} | {cells} |" in page()
            shares += [r["cpu_s"] / rows[0]["cpu_s"] for r in rows[1:]]
    assert f"each in {min(shares):.2f} to {max(shares):.2f} of double's time" in page()
    assert MEASURED in page()


def test_iterations_of_other_problems():
    found = measured()
    for problem, power in (("ball", 6), ("layers", 3), ("layers", 4), ("bubbles", 3), ("bubbles", 6)):
        taken = [found[problem, 32, 10.0**power, precision]["iterations"] for precision in PRECISIONS]
        assert f"{problem} of 1e{power} {', '.join(map(str, taken))}" in page()


def test_predicted_parts_of_an_iteration():
    def us(levels):
        parts = ("work", "launch", "halo_wait", "reduction_wait")
        return f"{1e6 * sum(level[f'{part}_s'] for level in levels for part in parts):,.0f}"

    rows = {r["options"]["cycle_precision"]: r for r in rows_of(PREDICTED)}
    assert {(r["rows"], r["ranks"], r["solver"], r["storage"]) for r in rows.values()} == {
        (256**3, 4, "cg", "symdia")
    }
    for precision in PRECISIONS:
        finest, *between, bottom, around = rows[precision]["levels"]
        cells = [
            f"{1e6 * rows[precision]['iteration_s']:,.0f}",
            *map(us, ([finest], between, [bottom], [around])),
        ]
        assert f"| `{precision}` | {' | '.join(cells)} |" in page()
    assert PREDICTED in page()
