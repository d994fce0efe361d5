"""Pictures of triangular solves: paper 004's Fig. 5, by its model on imitations."""

from __future__ import annotations

from typing import Any

from drawing import curve, groups, picture, rows_of


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
