"""Iterations on the GPUs of one host beside paper 000, Figs 10, 11, 16, 17(b), 19: pictures, and tables in Markdown.

python bench/hmatrix_iterations.py           prints the tables of the newest record
python bench/hmatrix_iterations.py --draw    draws the pictures, too

The record is of `sordino bench hmatrix --paper-solvers`, by the name DATE_hmatrix_solvers_MACHINE.jsonl.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from drawing import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, figure_of, rows_of, save

from sordino.bench._paper_solvers import LAYOUTS, named
from sordino.bench._printed_000 import FIG_16, FIG_17, FIG_19

#: The paper's matrices by their rows (bench/_matrices_000.py).
MATRICES = {
    101_250: "100ts",
    338_000: "338ts",
    1_004_400: "1ms",
    78_656: "hum2",
    314_624: "hum4",
    707_904: "hum6",
}
_COLOURS = {"100ts": ORANGE, "338ts": GREEN, "1ms": RED, "hum2": PURPLE, "hum4": BLUE, "hum6": SKY}
_LAYOUT_COLOURS = {"per-gpu": ORANGE, "per-socket": GREEN, "per-node": BLUE}
_WIDTHS = {"per-gpu": 3, "per-socket": 2, "per-node": 1}  # of marks, for they lie on each other
_MARKS = [digit * 10.0**power for power in range(-3, 3) for digit in (1, 2, 5)]  # of ms
_GPUS_OF_A_NODE = 4  # of TSUBAME 3.0

Row = dict[str, Any]
#: By matrix, way, layout and ranks.
Found = dict[tuple[str, str, str, int], Row]


def found_in(rows: Iterable[Row]) -> Found:
    """The rows of the paper's matrices, whose products are shared by rows and whose scalars GPUs compute."""
    return {
        (MATRICES[row["n"]], *named(row), row["ranks"]): row
        for row in rows
        if row["bench"] == "hmatrix" and row["n"] in MATRICES and named(row) != ("", "")
        if (row["distribution"], row["scalars"]) == ("rows", "device")
    }


def measured() -> Found:
    """Those of the newest record."""
    return found_in(rows_of("hmatrix_solvers", "h*"))


def matrices_of(found: Found) -> list[str]:
    """In the order of the table above."""
    return [name for name in MATRICES.values() if any(key[0] == name for key in found)]


def counts_of(found: Found) -> list[int]:
    """Numbers of GPUs."""
    return sorted({ranks for *_, ranks in found})


def ms(row: Row, name: str = "iteration_seconds") -> float:
    """Milliseconds of a row."""
    return 1e3 * float(row[name])


def printed_16(matrix: str, layout: str) -> dict[int, float]:
    """The paper's ms an iteration, by GPUs."""
    return {_GPUS_OF_A_NODE * nodes: of[3] for nodes, of in FIG_16[layout].get(matrix, {}).items()}


def printed_17(matrix: str) -> tuple[float, float] | None:
    """The paper's ms an iteration with redundant vectors, and with hierarchical ones, on 256 GPUs."""
    if matrix not in FIG_17:
        return None
    first, second = (1e3 * seconds / iterations for seconds, iterations in FIG_17[matrix])
    return first, second


def speed_up(found: Found, matrix: str, ranks: int, way: str, over: str, layout: str = "per-gpu") -> float:
    """How many times as fast `way` is as `over`."""
    return ms(found[matrix, over, layout, ranks]) / ms(found[matrix, way, layout, ranks])


# ---- pictures ----------------------------------------------------------------------------------------------------


def hmatrix_gpu_parts() -> None:
    """Figs 10 and 11: two products, and the rest of an iteration, with redundant vectors in each layout."""
    found = measured()
    names = matrices_of(found)
    figure, panels = figure_of(1, len(names), (2.4 * len(names), 3.2), squeeze=False)
    for axes, matrix in zip(panels[0], names, strict=True):
        bars = [(key[3], key[2], row) for key, row in found.items() if key[:2] == (matrix, "block")]
        products = [row["products"] * ms(row, "product_seconds") for *_, row in bars]
        waits = [row["products"] * ms(row, "exposed_halo_s") for *_, row in bars]
        rest = [max(0.0, ms(row) - product) for (*_, row), product in zip(bars, products, strict=True)]
        axes.bar(range(len(bars)), products, color=BLUE, label="two products")
        axes.bar(range(len(bars)), rest, bottom=products, color="0.7", label="the rest")
        axes.bar(range(len(bars)), waits, 0.3, color=ORANGE, label="waits for rows")
        ours = [ms(found[matrix, "bicgstab", "per-gpu", ranks]) for ranks, *_ in bars]
        axes.plot(range(len(bars)), ours, "kD", ms=4, ls="", label="distributed vectors")
        axes.set_xticks(range(len(bars)), [f"{ranks}\n{LAYOUTS[layout]}" for ranks, layout, _ in bars])
        axes.set(title=matrix, xlabel="GPUs; of a group")
        axes.grid(alpha=0.3, axis="y")
    panels[0][0].set_ylabel("ms an iteration")
    panels[0][-1].legend(fontsize=7)
    save("hmatrix_gpu_parts", figure)


def hmatrix_gpu_layouts() -> None:
    """Fig. 16: an iteration with redundant vectors on the GPUs of a host, and the paper's on those of its cluster."""
    found = measured()
    names = [name for name in matrices_of(found) if name in FIG_16["per-gpu"]]
    figure, panels = figure_of(1, len(names), (3.6 * len(names), 3.4), squeeze=False)
    for axes, matrix in zip(panels[0], names, strict=True):
        for layout, colour in _LAYOUT_COLOURS.items():
            taken = {key[3]: ms(row) for key, row in found.items() if key[:3] == (matrix, "block", layout)}
            printed = printed_16(matrix, layout)
            axes.plot(
                list(taken), list(taken.values()), "o-", color=colour, ms=3 * _WIDTHS[layout], label=layout
            )
            axes.plot(list(printed), list(printed.values()), "x:", color=colour, ms=7)
        ours = {key[3]: ms(row) for key, row in found.items() if key[:2] == (matrix, "bicgstab")}
        axes.plot(list(ours), list(ours.values()), "kD--", ms=4, label="distributed vectors")
        ticks = sorted({*counts_of(found), *printed_16(matrix, "per-gpu")})
        axes.set(xscale="log", yscale="log", title=matrix, xlabel="GPUs; crosses: P100 of TSUBAME 3.0")
        axes.set_xticks(ticks, [str(count) for count in ticks])
        low, high = axes.get_ylim()
        marks = [mark for mark in _MARKS if low <= mark <= high]
        axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("ms an iteration")
    panels[0][0].legend(fontsize=7)
    save("hmatrix_gpu_layouts", figure)


def hmatrix_gpu_vectors() -> None:
    """Fig. 17(b): how many times as long an iteration takes with redundant vectors as with shared ones."""
    found = measured()
    known = {(ranks, layout) for _, way, layout, ranks in found if way == "hierarchical"}
    shared = sorted(known, key=lambda of: (of[0], LAYOUTS[of[1]]))
    names = matrices_of(found)
    figure, axes = figure_of(1, 1, (6, 3.4))
    width = 0.8 / max(1, len(shared))
    for place, (ranks, layout) in enumerate(shared):
        at = [k + width * (place - (len(shared) - 1) / 2) for k in range(len(names))]
        times = [speed_up(found, name, ranks, "hierarchical", "block", layout) for name in names]
        axes.bar(
            at, times, 0.9 * width, label=f"{ranks} GPUs, {layout}", color=(BLUE, GREEN, ORANGE)[place % 3]
        )
    printed = {place: pair for place, name in enumerate(names) if (pair := printed_17(name))}
    axes.plot(
        list(printed), [redundant / hierarchical for redundant, hierarchical in printed.values()],
        "kx", ms=7, label="the paper, 256 P100",
    )  # fmt: skip
    axes.axhline(1, color="k", lw=0.8)
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="redundant over hierarchical", ylim=(0, None))
    axes.grid(alpha=0.3, axis="y")
    axes.legend(fontsize=7)
    save("hmatrix_gpu_vectors", figure)


def hmatrix_gpu_pipelines() -> None:
    """Fig. 19: how many times as fast as BiCGStab on redundant vectors the two schedules of its pipelined form are."""
    found = measured()
    figure, panels = figure_of(1, 2, (9, 3.6), sharey=True)
    counts = sorted({*counts_of(found), *FIG_19["100ts"]})
    for axes, way, column in zip(panels, ("pipe1", "pipe2"), (1, 2), strict=True):
        for matrix in matrices_of(found):
            times = [speed_up(found, matrix, ranks, way, "block") for ranks in counts_of(found)]
            axes.plot(counts_of(found), times, "o-", color=_COLOURS[matrix], label=matrix)
            printed = FIG_19.get(matrix, {})
            of_paper = [taken[0] / taken[column] for taken in printed.values()]
            axes.plot(list(printed), of_paper, "x:", color=_COLOURS[matrix], ms=7)
        axes.axhline(1, color="k", lw=0.8)
        axes.set(xscale="log", title=way, xlabel="GPUs; crosses: P100 of TSUBAME 3.0")
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("block over it")
    panels[0].legend(fontsize=7)
    save("hmatrix_gpu_pipelines", figure)


DRAWN = (hmatrix_gpu_parts, hmatrix_gpu_layouts, hmatrix_gpu_vectors, hmatrix_gpu_pipelines)


# ---- tables ------------------------------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return [lines[0], "|" + "---|" * len(heads), *lines[1:]]


def _cell(found: Found, key: tuple[str, str, str, int], of: Callable[[Row], float], digits: int = 2) -> str:
    return f"{of(found[key]):.{digits}f}" if key in found else ""


def products_table(found: Found) -> list[str]:
    """Figs 10 and 11: a product by itself; of iterations with redundant vectors the part of two, and what is waited."""

    def part(row: Row) -> float:
        return 100 * float(row["products"] * row["product_seconds"] / row["iteration_seconds"])

    heads = [
        "matrix", "GPUs", "product, ms", "GB/s of a GPU", "times one GPU's", "two, of an iteration, %",
        *(f"wait a product, us: {layout}" for layout in LAYOUTS),
    ]  # fmt: skip
    rows = []
    for matrix in matrices_of(found):
        alone = found.get((matrix, "block", "per-gpu", 1))
        for ranks in counts_of(found):
            row = found[matrix, "block", "per-gpu", ranks]
            rows.append([
                matrix, str(ranks), f"{ms(row, 'product_seconds'):.3f}",
                f"{1e-9 * row['stored_bytes'] / row['product_seconds'] / ranks:,.0f}",
                f"{alone['product_seconds'] / row['product_seconds']:.2f}" if alone else "", f"{part(row):.0f}",
                *(
                    _cell(found, (matrix, "block", layout, ranks), lambda each: 1e6 * each["exposed_halo_s"], 1)
                    for layout in LAYOUTS
                ),
            ])  # fmt: skip
    return _table(heads, rows)


def layouts_table(found: Found) -> list[str]:
    """Fig. 16: ms an iteration on the GPUs of a host, and the paper's on those of its cluster."""
    counts = counts_of(found)
    papers = sorted({count for matrix in matrices_of(found) for count in printed_16(matrix, "per-gpu")})
    heads = [
        "matrix", "way", "layout", *(f"{count} GPU{'s' if count > 1 else ''}" for count in counts),
        *(f"the paper, {count} P100" for count in papers),
    ]  # fmt: skip
    rows = []
    for matrix in matrices_of(found):
        for way in ("block", "bicgstab", "pipebicgstab"):
            for layout in LAYOUTS:
                if not any(key[:3] == (matrix, way, layout) for key in found):
                    continue
                taken = [_cell(found, (matrix, way, layout, count), ms, 3) for count in counts]
                printed = printed_16(matrix, layout) if way == "block" else {}
                beside = [str(printed.get(count, "")) for count in papers]
                rows.append([matrix, f"`{way}`" if way != "block" else way, layout, *taken, *beside])
    return _table(heads, rows)


def vectors_table(found: Found) -> list[str]:
    """Fig. 17(b): ms an iteration with redundant vectors, and with those that a group shares."""
    heads = [
        "matrix", "GPUs", "layout", "redundant", "hierarchical", "redundant over hierarchical",
        "the paper's, 256 P100, per-node",
    ]  # fmt: skip
    rows = []
    for matrix, way, layout, ranks in found:
        if way != "hierarchical":
            continue
        printed = printed_17(matrix) if layout == "per-node" else None
        rows.append([
            matrix, str(ranks), layout,
            *(_cell(found, (matrix, each, layout, ranks), ms, 3) for each in ("block", "hierarchical")),
            f"{speed_up(found, matrix, ranks, 'hierarchical', 'block', layout):.2f}",
            f"{printed[0] / printed[1]:.2f}" if printed else "",
        ])  # fmt: skip
    return _table(heads, rows)


def pipelines_table(found: Found) -> list[str]:
    """Fig. 19: ms an iteration per-gpu, and what the two schedules of pipelined BiCGStab gain."""
    ways = ("block", "pipe1", "pipe2")
    heads = [
        "matrix", "GPUs", *ways, "block over pipe1", "the paper", "block over pipe2", "the paper",
        "pipe1's wait a product, us", "pipe2's",
    ]  # fmt: skip
    rows = []
    for matrix in matrices_of(found):
        for ranks in counts_of(found):
            printed = FIG_19.get(matrix, {}).get(ranks)
            gains = []
            for column, way in enumerate(ways[1:], 1):
                gains.append(f"{speed_up(found, matrix, ranks, way, 'block'):.2f}")
                gains.append(f"{printed[0] / printed[column]:.2f}" if printed else "")
            keys = [(matrix, way, "per-gpu", ranks) for way in ways]
            waits = [_cell(found, key, lambda row: 1e6 * row["exposed_halo_s"], 1) for key in keys[1:]]
            rows.append([matrix, str(ranks), *(_cell(found, key, ms, 3) for key in keys), *gains, *waits])
    return _table(heads, rows)


TABLES = {
    "Figs 10 and 11": products_table, "Fig. 16": layouts_table, "Fig. 17(b)": vectors_table, "Fig. 19": pipelines_table
}  # fmt: skip


def main() -> int:
    """Print the tables; 1 where nothing has been measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draw", action="store_true", help="draw the pictures, too")
    given = parser.parse_args()
    found = measured()
    if not found:
        print("there is no record DATE_hmatrix_solvers_MACHINE.jsonl in bench/records", file=sys.stderr)
        return 1
    for figure, table in TABLES.items():
        print(f"{figure}:\n", *table(found), "", sep="\n")
    for draw in DRAWN if given.draw else ():
        draw()
    return 0


if __name__ == "__main__":
    sys.exit(main())
