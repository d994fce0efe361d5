"""Pictures of triangular solves: a plan, what GPUs did of one, and paper 004's Fig. 5, by its model on imitations."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import BLUE, GREEN, ORANGE, PICTURES, SKY, curve, groups, picture, rows_of

from sordino import _triangular_prediction, machines, poisson
from sordino.report import plan_picture


def triangular_layouts() -> None:
    """Lines are the model's, crosses the paper's Table 2: P x 1, and all shapes for one of the matrices."""
    printed = [row for row in rows_of("papers", "004", "Table 2") if row["unit"] == "x"]
    shapes = [row for letter in "abc" for row in rows_of("papers", "004", f"Fig. 5{letter}")]

    def draw(left: Any, right: Any) -> None:
        columns = [row for row in shapes if row["shape"] == "P x 1"]
        for k, (matrix, rows) in enumerate(groups(columns, lambda row: row["matrix"]).items()):
            curve(left, rows, "gpus", "ours", matrix)
            known = [row for row in printed if row["matrix"] == matrix]
            left.plot([row["gpus"] for row in known], [row["paper"] for row in known], f"C{k}x", ms=7)
        of_one = [row for row in shapes if row["matrix"] == "LU4"]
        for shape, rows in groups(of_one, lambda row: row["shape"]).items():
            curve(right, rows, "gpus", "ours", f"LU4, {shape}")
        for axes in (left, right):
            axes.axhline(1, color="k", lw=0.5)
            axes.set(xlabel="GPUs of Summit, six to a node", ylabel="times as fast as one", ylim=(0, None))
            axes.set_xticks([1, 2, 6, 12, 18])

    picture("triangular_layouts", draw)


def triangular_plan() -> None:
    """What ``sordino predict trsv --plan`` draws: 16^3 cells on two GPUs of 12 workers each."""
    machine = machines.load("h200x4")
    machine["triangular"] |= {"workers": 12}
    sweeps = _triangular_prediction.of_matrix(poisson(16, 16, 16))
    found = _triangular_prediction.modelled_plan(sweeps, machine, ranks=2, width=64)
    PICTURES.mkdir(exist_ok=True)
    heading = "7 points, 16^3: the plan of L x = b on two GPUs with 12 workers each"
    (PICTURES / "triangular_plan.svg").write_text(
        plan_picture.drawing(found, heading) + "\n", encoding="utf-8"
    )


def triangular_traced() -> None:
    """What GPUs did of a plan: bytes they read while time went by, with the root's chain, and the parts of its hops."""
    rows = rows_of("triangular_traces", "h200x4")
    names = [
        f"{row['points']} points {row['side']}^3, {row['ranks']} GPU{'s'[: row['ranks'] > 1]}" for row in rows
    ]
    parts = {
        "a hop": ("hop_us", BLUE),
        "seen on the same GPU": ("seen_us_same_gpu", SKY),
        "seen on another GPU": ("seen_us_other_gpu", GREEN),
        "the product": ("multiplied_us", ORANGE),
    }

    def draw(left: Any, right: Any) -> None:
        for k, (row, name) in enumerate(zip(rows, names, strict=True)):
            tenth = row["span_us"] / 10
            read = [1e-3 * rate for rate in row["gb_per_s_by_tenths"]]
            left.stairs(read, tenth * np.arange(11), color=f"C{k}", label=name)
            begin = row["span_us"] - row["root_chain_us"]
            left.plot([begin, row["span_us"]], [-0.15 - 0.15 * k] * 2, color=f"C{k}", lw=3)
        left.set(
            xlabel="us; below: the root's chain, the end of the critical path",
            ylabel="TB/s that a GPU reads",
        )
        for k, (label, (key, colour)) in enumerate(parts.items()):
            times = [row[key] or 0.0 for row in rows]
            right.bar(np.arange(len(rows)) + 0.2 * (k - 1.5), times, 0.18, color=colour, label=label)
        right.set(ylabel="us, in the root's chain")
        right.set_xticks(range(len(rows)), [name.replace(", ", ",\n") for name in names], fontsize=7)

    picture("triangular_traced", draw)
