"""Kernels beside their rooflines, as paper 001's Table III has them, by the newest record of `sordino bench kernels`.

python bench/rooflines.py     writes the table of docs/theory/001.md, what docs/predicting.md says, and the picture anew
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from drawing import BLUE, GREEN, ORANGE, PURPLE, RED, ROOT, SKY, Rows, figure_of, newest_of, save

#: A kernel's part of a method's time from which on it is shown.
SHOWN = 0.01
#: Of its roofline, that a kernel should reach at least.
ASKED = 0.92
CELLS = [256, 128, 512]
BOX = " x ".join(map(str, CELLS))

#: The colour of kernels that have none of their own.
OTHER = "0.6"
#: Words of kernels, and their colours.
_KERNELS = {
    "SpMV": ("the product", BLUE),
    "Block ILU": ("a tile a thread", ORANGE),
    "Direction": ("updates of x and p", RED),
    "Residual": ("the update of r, with its sums", GREEN),
    "ResidualAlone": ("the update of r", GREEN),
    "Dots": ("sums", OTHER),
    "NormsOfBoth": ("looks at the unscaled r", OTHER),
    "ResidualsOfBoth": ("that are recomputed", OTHER),
    "Next": ("a vector of the basis, by AXPY", SKY),
    "Products": ("tables of sums, batched GEMM", PURPLE),
    "Upper products": ("the symmetric table", PURPLE),
    "Add batches": ("sums of batches", OTHER),
    "Step": ("x and r by s directions, GEMV", RED),
    "Directions": ("s new directions, GEMM", "0.3"),
}


class Kernel:
    """A kernel of a method: what it took in each run that it is alike in."""

    def __init__(self, name: str, run: dict[str, Any]) -> None:
        self.name, self.solver = name, run["solver"]
        self.precond, self.storage = run["precond"], run["storage"]
        self.tile = run["tile"].replace(",", " x ") if name == "Block ILU" else ""
        self.runs: Rows = []

    @property
    def parts(self) -> list[float]:
        """What each run reaches of its roofline."""
        return [run["roofline_s"] / run["seconds"] for run in self.runs]

    @property
    def met(self) -> bool:
        """Whether every run reaches what is asked."""
        return min(self.parts) >= ASKED

    @property
    def method(self) -> str:
        """Whose it is."""
        of = f" of {self.tile} cells" if self.tile else ""
        return f"`{self.solver}`, `{self.precond}`{of}, `{self.storage}`"

    def row(self) -> str:
        """Of the table."""
        words, _ = _KERNELS.get(self.name, ("", ""))
        first, cells = self.runs[0], np.prod(CELLS)
        columns = (
            f"`{self.name}`{words and ', '}{words}",
            self.method,
            _range([1e6 * run["seconds"] for run in self.runs], ",.1f"),
            f"{first['bytes'] / cells:.1f}",
            f"{first['flops'] / cells:.1f}",
            _range(self.parts, ".3f"),
            "met" if self.met else "missed",
        )
        return f"| {' | '.join(columns)} |"


def _range(values: list[float], digits: str) -> str:
    least, most = (f"{value:{digits}}" for value in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def newest() -> tuple[str, Rows]:
    """The name of the newest record that has both methods, and its runs on `CELLS`: those of P-CBCG first."""

    def is_run(row: dict[str, Any]) -> bool:
        return row["bench"] == "kernels" and row["engine"] == "cuda" and row["cells"] == CELLS

    def has_both(lines: Rows) -> bool:
        return {row["solver"] for row in lines if is_run(row)} >= {"cg", "cbcg"}

    name, lines = newest_of("kernels*", "h200", is_run, has_both)
    order = ["jacobi", "sqrt-jacobi", "block-ilu"]
    found = [row for row in lines if is_run(row)]
    return name, sorted(
        found, key=lambda run: (run["solver"], order.index(run["precond"]), _cells_of_a_tile(run))
    )


def _cells_of_a_tile(run: dict[str, Any]) -> tuple[float, str]:
    return float(np.prod([int(edge) for edge in run.get("tile", "0").split(",")])), run.get("tile", "")


def kernels(runs: Rows) -> list[Kernel]:
    """Those that take `SHOWN` of a method's time, move bytes, and are called more than once.

    Runs that differ in tiles alone are one but for the tiles' own kernel: a product beside four shapes has four runs.
    """
    found: dict[tuple[str, ...], Kernel] = {}
    for run in runs:
        for row in run["kernels"]:
            if row["share"] >= SHOWN and row["bytes"] and row["calls"] > 1:
                kernel = Kernel(row["name"], run)
                found.setdefault((kernel.name, kernel.method), kernel).runs.append(row)
    return list(found.values())


def of_001(name: str, shown: list[Kernel]) -> str:
    """The table of docs/theory/001.md."""
    met = sum(kernel.met for kernel in shown)
    head = f"| kernel, one H200 | of | us | B a row | operations a row | of its roofline | at least {ASKED} |"
    return "\n".join((
        "All kernels that take a hundredth of a method's time, but for those that are called once, "
        f"{BOX} cells (`{name}`). Where there is a range, the kernel",
        "runs beside tiles of several shapes, each with a roofline of its own run, and the least counts. "
        f"{met} of {len(shown)} reach {ASKED}:",
        "",
        head,
        re.sub(r"[^|]+", "---", head),
        *(kernel.row() for kernel in shown),
    ))  # fmt: skip


def of_predicting(name: str, shown: list[Kernel]) -> str:
    """What docs/predicting.md says of the picture."""
    met = [part for kernel in shown if kernel.met for part in kernel.parts]
    by_part = sorted(shown, key=lambda kernel: min(kernel.parts))
    missed = [f"`{k.name}` of {k.method} {_range(k.parts, '.3f')}" for k in by_part if not k.met]
    return "\n".join((
        f"Kernels of P-CG and P-CBCG on one H200, {BOX} cells (`{name}`): what they reach of "
        "their roofline, operations over the peak and bytes over the bandwidth of a copy, each",
        "counted once; beyond 1 are those that mostly read, which is faster than copying. "
        f"{sum(kernel.met for kernel in shown)} of {len(shown)} reach {min(met):.2f} to {max(met):.2f} of it, "
        f"where {ASKED} is asked. The others:",
        "; ".join(missed) + ".",
        "[001](theory/001.md#tables-iii-and-iv-rooflines) has all of them in a table.",
    ))  # fmt: skip


#: Where what is written stands, between two marks.
PAGES: dict[str, Callable[[str, list[Kernel]], str]] = {
    "theory/001.md": of_001,
    "predicting.md": of_predicting,
}
BEGIN, END = "<!-- written by bench/rooflines.py -->\n", "<!-- up to here -->\n"


def pages() -> dict[Path, str]:
    """The pages as the newest record has them."""
    name, runs = newest()
    found = {}
    for page, words in PAGES.items():
        file = ROOT / "docs" / page
        before, begin, rest = file.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not end:
            raise ValueError(f"{page} lacks the marks between which its kernels stand")
        found[file] = f"{before}{begin}{words(name, kernels(runs))}\n{end}{after}"
    return found


def roofline() -> None:
    """What the kernels reach, under the roof of a run in the middle, and beside the roof of their own."""
    _, runs = newest()
    byte_rate, flop_rate = (float(np.median([run[rate] for run in runs])) for rate in ("bandwidth", "flops"))
    figure, (left, right) = figure_of(1, 2, (10, 3.6))
    _dots(left, right, kernels(runs))
    across = np.geomspace(0.08, 2, 50)
    roof = f"{1e-12 * byte_rate:.2f} TB/s, {1e-12 * flop_rate:.0f} Tflop/s"
    left.plot(across, 1e-9 / (1 / flop_rate + 1 / (across * byte_rate)), "k--", lw=1, label=roof)
    left.set(
        xscale="log", yscale="log", xlabel="flops a byte", ylabel="Gflop/s", xlim=(0.08, 2), ylim=(50, 10000)
    )  # fmt: skip
    left.set_xticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
    left.set_yticks([50, 100, 200, 500, 1000, 2000, 5000, 10000])
    left.set_yticklabels(["50", "100", "200", "500", "1,000", "2,000", "5,000", "10,000"])
    right.axhline(1.0, color="k", ls="--", lw=1)
    right.axhline(ASKED, color="k", ls=":", lw=1, label=f"{ASKED} of a roofline")
    right.set(xscale="log", xlabel="us a call", ylabel="of its roofline", xlim=(10, 4000), ylim=(0, 1.2))
    right.set_xticks([10, 20, 50, 100, 200, 500, 1000, 2000])
    right.set_xticklabels(["10", "20", "50", "100", "200", "500", "1,000", "2,000"])
    for axes in (left, right):
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize=7, frameon=False)
    save("roofline", figure)


def _dots(left: Any, right: Any, shown: list[Kernel]) -> None:
    """One for each run of a kernel: hollow by symmetric diagonals, square those of cbcg."""
    told = set()
    for kernel in shown:
        _, colour = _KERNELS.get(kernel.name, ("", OTHER))
        mark, hollow = "o" if kernel.solver == "cg" else "s", kernel.storage == "symdia"
        style = {"color": colour, "ms": 5, "ls": "", "markerfacecolor": "white" if hollow else colour}
        words = f"{'others' if colour == OTHER else kernel.name}, {kernel.solver}{', symdia' * hollow}"
        label = words if (colour, mark, hollow) not in told else ""
        told.add((colour, mark, hollow))
        for run, part in zip(kernel.runs, kernel.parts, strict=True):
            rate = 1e-9 * run["flops"] / run["seconds"]
            left.plot(run["flops"] / run["bytes"], rate, mark, label=label, **style)
            right.plot(1e6 * run["seconds"], part, mark, **style)
            label = ""


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
    roofline()
