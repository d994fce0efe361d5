"""What docs/triangular_limits.md says of several right-hand sides, and of wider blocks, against their record."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD, NOW = "2026-11-27_triangular_columns_h200x4.jsonl", "2026-11-27_triangular_lanes_h200x2.jsonl"
NAMES = {(7, 100): "7 points, 100^3", (27, 50): "27 points, 50^3", (7, 64): "7 points, 64^3"}
MOST = 1.7  # times the time of one right-hand side, asked of 32 with factors of 4 GB
TABLE = (
    ((7, 100), 8, 32), ((7, 100), 32, 8), ((7, 100), 32, 16), ((7, 100), 32, 32),
    ((27, 50), 32, 8), ((27, 50), 32, 32), ((7, 64), 8, 32), ((7, 64), 32, 8), ((7, 64), 32, 32),
)  # fmt: skip


def page():
    return (ROOT / "docs" / "triangular_limits.md").read_text(encoding="utf-8")


def told():
    return " ".join(page().split())


def measured(points, side, record=RECORD, **wanted):
    """The only line with these values, and else the usual ones."""
    usual = {"columns": 1, "most": 32, "width": 256, "order": "metis", "ranks": 1, "direction": "forward"}
    given = {"points": points, "side": side, "algorithm": "ours", **usual, **wanted}
    text = (ROOT / "bench" / "records" / record).read_text(encoding="utf-8")
    rows = [row for row in map(json.loads, text.splitlines()) if "long=" not in row["command"]]
    (found,) = (row for row in rows if all(row.get(key) == value for key, value in given.items()))
    return found


def ms(row):
    return f"{1e3 * row['seconds']:.3f}"


def lines_of_the_table():
    for key, columns, most in TABLE:
        row, before = (measured(*key, record, columns=columns, most=most) for record in (NOW, RECORD))
        times = row["seconds"] / measured(*key, NOW)["seconds"]
        asked = f"{MOST}: {'met' if times <= MOST else 'missed'}" if columns == 32 and key != (7, 64) else ""
        passes = min(columns, most)
        figures = f"{1e3 * row['seconds']:.2f} | {1e3 * before['seconds']:.2f} | {times:.1f} | {asked}"
        yield f"| {NAMES[key]} | {columns} | {passes} | {figures} |"


def test_the_page_has_the_table():
    expected = [*lines_of_the_table()]
    assert RECORD in page() and NOW in page()
    assert [line for line in page().splitlines() if line in expected] == expected


def test_what_wider_blocks_took():
    at = {width: ms(measured(27, 50, width=width)) for width in (256, 384, 512)}
    assert (
        f"Blocks of 384 and 512 columns took {at[384]} and {at[512]} ms there, where 256 took {at[256]}"
        in told()
    )
    for side in (64, 100):
        planes = [ms(measured(7, side, order="planes", width=width)) for width in (256, 384, 512)]
        assert f"{planes[0]}, {planes[1]} and {planes[2]} ms with 256, 384 and 512" in told()
    for way, direction in (("forward", "forward"), ("back", "backward")):
        four = [ms(measured(7, 100, ranks=4, width=width, direction=direction)) for width in (256, 512)]
        assert f"{four[0]} and {four[1]} ms {way}" in told()
    alone = [ms(measured(7, 100, width=512, direction=direction)) for direction in ("forward", "backward")]
    assert f"on one GPU 512 take {alone[0]} and {alone[1]}" in told()


def test_what_shapes_of_tensor_cores_reach():
    name = "2026-11-27_tensor_shapes_h200.jsonl"
    rates = json.loads((ROOT / "bench" / "records" / name).read_text(encoding="utf-8"))["teraflops"]
    wide, used = (rates[f"{shape}, 4 warps"] for shape in ("m16n8k4", "m8n8k4"))
    assert f"with the same bits ({wide:.0f} and {used:.0f} Tflop/s, `{name}`)" in told()


def test_what_other_sizes_of_tasks_took():
    text = (ROOT / "bench" / "records" / RECORD).read_text(encoding="utf-8")
    small, large = (
        1e3 * row["seconds"] for row in map(json.loads, text.splitlines()) if "long=" in row["command"]
    )
    assert f"tasks of 90 and of 360 KB instead of 180, {small:.2f} and {large:.2f} ms" in told()
