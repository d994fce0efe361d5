"""Pictures of H-matrices: their blocks, and BiCGStab on described clusters (paper 000, Figs 1, 7 to 11, 16, 17, 19)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hmatrix_iterations
from drawing import BLUE, GREEN, ORANGE, Rows, figure_of, groups, picture, rows_of, save

from sordino import hmatrix
from sordino.bench._block_sizes import ORDERS
from sordino.report.pictures import RANKS, block_colours, painted, rank_colours
from sordino.surfaces import sphere

_LAYOUTS = {"per-gpu": ORANGE, "per-socket": GREEN, "per-node": BLUE}
_MATRICES = {"100ts": ORANGE, "338ts": GREEN, "hum4": BLUE}
_MARKS = {1: "o", 2: "^", 3: "s", 5: "D"}  # of streams


def _beside(axes: Any, rows: Rows, x: str, label: str, colour: str, style: str = "o") -> None:
    """Ours as a line, and the paper's as crosses."""
    at = [row[x] for row in rows]
    axes.plot(at, [row["ours"] for row in rows], f"{style}-", color=colour, label=label)
    axes.plot(at, [row["paper"] for row in rows], "x", color=colour, ms=7)


def _count(axes: Any, counts: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()


def hmatrix_ranks() -> None:
    """Fig. 1: the blocks of 100ts by rank, and who of four ranks multiplies those of a small sphere."""
    large, small, ranks = hmatrix(sphere(25, 45), 1e-6), hmatrix(sphere(5, 10), 1e-6), 4
    shared = {name: small.shares(ranks, name) for name in ("leaves", "grid")}
    images = {
        "(a) blocks, by rank; dense ones are red": (large, large.blocks, block_colours(large.blocks)[0]),
        **{
            f"({letter}) {name}: ranks 0 to {ranks - 1}; dense ones are darker": (
                small,
                shares,
                rank_colours(shares),
            )
            for letter, (name, shares) in zip("bc", shared.items(), strict=True)
        },
    }
    figure, panels = figure_of(1, 3, (11, 3.9))
    for axes, (title, (H, blocks, colours)) in zip(panels, images.items(), strict=True):
        n = H.shape[0]
        axes.imshow(painted(blocks, colours, n), extent=(0, n, n, 0), interpolation="none")
        axes.set(xlabel="column", xticks=(0, n // 2, n), yticks=(0, n // 2, n))
        axes.set_title(title, fontsize=9)
    panels[0].set_ylabel("row")
    for axes in panels[1:]:
        for rank, colour in enumerate(RANKS[:ranks]):
            axes.plot([], [], "s", color=colour, label=str(rank))
        axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    save("hmatrix_ranks", figure)


def hmatrix_orders() -> None:
    """Fig. 7: rows and columns of the products with blocks, from the least to the most of each part of an order."""
    rows = [row for row in rows_of("papers", "000", "Fig. 7") if row["matrix"] == "100ts"]
    figure, panels = figure_of(1, 3, (11, 3.2), sharey=True)
    for axes, of_order in zip(panels, groups(rows, lambda row: row["order"]).values(), strict=True):
        begin = 0
        for row in of_order:
            end = begin + row["products"]
            edges = [1e-3 * place for place in (*range(begin, end, row["part"]), end)]
            for name, colour in (("columns", BLUE), ("rows", ORANGE)):
                label = name if begin == 0 else ""
                axes.stairs(
                    row[f"{name}_most"], edges, baseline=row[f"{name}_least"], fill=True, facecolor=colour,
                    edgecolor=colour, linewidth=0.8, alpha=0.7, label=label,
                )  # fmt: skip
            axes.axvline(1e-3 * end, color="0.5", linewidth=0.8)
            begin = end
        axes.set(yscale="log", xlabel="thousand products: B and V, then U", xlim=(0, 1e-3 * begin))
        axes.set_title(ORDERS[of_order[0]["order"]])
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("rows, columns")
    panels[-1].legend(fontsize=7, loc="upper center")
    save("hmatrix_orders", figure)


def _steps(axes: Any, rows: Rows, label: str, colour: str) -> None:
    """Gflop/s of each batch over the products that it has."""
    begin = 0
    for row in rows:
        edges = [begin]
        for count in row["products"]:
            edges.append(edges[-1] + count)
        axes.stairs(
            row["gflops"], [1e-3 * place for place in edges], baseline=None, color=colour, linewidth=1.0,
            label=label if begin == 0 else "",
        )  # fmt: skip
        begin = edges[-1]


def hmatrix_batches() -> None:
    """Fig. 8: Gflop/s of each batch in four orders, and in the first panel those of single sizes, on one H200."""
    rows = [
        row for row in rows_of("hmatrix_paper_batches", "h200") if row["bench"] == "hmatrix-paper-batches"
    ]
    if not rows:
        return
    orders = {
        "(a) by rows, 20,000": ("rows", 20000),
        "(b) by groups, 20,000": ("groups", 20000),
        "(c) by groups, ranges of rows": ("groups", "rows"),
        "(d) unsorted, 20,000": ("none", 20000),
    }
    figure, panels = figure_of(1, 4, (12, 3.2), sharey=True)
    for axes, (title, order) in zip(panels, orders.items(), strict=True):
        found = [row for row in rows if (row["sort"], row["batch"]) == order]
        total = 1e3 * sum(row["seconds"] for row in found)
        _steps(axes, found, f"vbatch, {total:.2f} ms", BLUE)
        if axes is panels[0]:
            _steps(axes, [row for row in rows if row["batch"] == "size"], "batch, one size", ORANGE)
        axes.set(xlabel="thousand products: B and V, then U", xlim=(0, None))
        axes.set_title(title, fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    panels[0].set(ylabel="Gflop/s", ylim=(0, None))
    save("hmatrix_batches", figure)


def _batch_of(row: dict[str, Any]) -> str:
    """One of the paper's ways, by what it launches together."""
    if row["way"] == "cublas":
        return "cuBLAS, block by block"
    kind = row["way"].replace("variable batch, ", "").replace(" batch", "")
    count = f"{row['batch']:,}" if row["batch"] != "rows" else "ranges of rows"
    return f"{kind}, {row['sort'].replace('none', 'unsorted')}, {count}"


def _products(panels: Any, rows: Rows) -> None:
    """A panel for each surface: a mark for each number of streams, and ours."""
    labels = list(groups(rows, _batch_of))
    for axes, (surface, of_surface) in zip(panels, groups(rows, lambda r: r["surface"]).items(), strict=True):
        for streams, found in groups(of_surface, lambda r: r["streams"]).items():
            taken = [1e-9 * r["stored_bytes"] / r["seconds"] for r in found]
            places, label = [labels.index(_batch_of(r)) for r in found], f"streams: {streams}"
            axes.plot(taken, places, _MARKS[streams], ms=4, label=label)
        ours = 1e-9 * of_surface[0]["stored_bytes"] / of_surface[0]["our_seconds"]
        axes.axvline(ours, color="k", ls="--", label="ours")
        axes.set(xlim=(0, None), xlabel="GB/s of the matrix", title=surface)
        axes.set_yticks(range(len(labels)), labels if axes is panels[0] else [])
        axes.invert_yaxis()


def _measured_ways(rows: Rows) -> Rows:
    """Those of one GPU; older ones do not say that they are."""
    return [r for r in rows if r["bench"] == "hmatrix-paper-ways" and r.get("gpus", 1) == 1 and r["seconds"]]


def hmatrix_products() -> None:
    """Paper 000, Fig. 9, on one H200."""
    rows = _measured_ways(rows_of("hmatrix_paper_ways", "h200"))
    if rows:
        picture("hmatrix_products", lambda left, right: _products((left, right), rows))


def hmatrix_larger_products() -> None:
    """Fig. 9 of matrices that are larger, or of other shapes, on one H100."""
    rows = [r for name in ("hum2", "338ts", "hum6") for r in rows_of(f"hmatrix_paper_ways_{name}", "h100")]
    figure, panels = figure_of(1, 3, (11, 4.2))
    _products(panels, _measured_ways(rows))
    panels[0].legend(fontsize=7)
    save("hmatrix_larger_products", figure)


def hmatrix_nodes() -> None:
    """Fig. 16: an iteration of four matrices in three layouts; lines are the model's, crosses the paper's."""
    rows = [row for row in rows_of("papers", "000", "Fig. 16") if row["way"] == "block"]
    figure, panels = figure_of(1, 4, (11, 3.2))
    for axes, (matrix, found) in zip(panels, groups(rows, lambda row: row["matrix"]).items(), strict=True):
        for layout, of_layout in groups(found, lambda row: row["layout"]).items():
            _beside(axes, of_layout, "nodes", layout, _LAYOUTS[layout])
        _count(axes, sorted({row["nodes"] for row in found}))
        axes.set(title=matrix, xlabel="nodes of TSUBAME 3.0", ylim=(0, None))
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("ms an iteration")
    panels[0].legend(fontsize=7)
    save("hmatrix_nodes", figure)


def _stacked(axes: Any, rows: Rows, all_of: Callable[[dict[str, Any]], float] = lambda row: 1.0) -> None:
    """A bar for each row: the parts of its iteration in ms, or of what `all_of` says of it."""
    bottom = [0.0 for _ in rows]
    for names, label, colour in (
        (("product",), "product", BLUE),
        (("vectors", "launches"), "vectors", "0.7"),
        (("exchange", "late"), "communication", ORANGE),
    ):
        part = [sum(row[f"{name}_ms"] for name in names) / all_of(row) for row in rows]
        axes.bar(range(len(rows)), part, 0.7, bottom, color=colour, label=label)
        bottom = [below + own for below, own in zip(bottom, part, strict=True)]


def hmatrix_parts() -> None:
    """What an iteration with 1ms consists of, and Fig. 19; lines and bars are the model's, crosses the paper's."""
    all_rows = [row for row in rows_of("papers", "000", "Fig. 16") if row["way"] == "block"]
    rows = [row for row in all_rows if row["matrix"] == "1ms"]
    pipelined = rows_of("papers", "000", "Fig. 19")

    def draw(left: Any, right: Any) -> None:
        places = range(len(rows))
        _stacked(left, rows)
        left.plot(places, [row["paper"] for row in rows], "kx", ms=7, label="the paper")
        left.plot(places, [row["mpi_ms"] for row in rows], "k+", ms=7, label="the paper: MPI")
        left.set_xticks(places, [str(row["nodes"]) for row in rows])
        left.set(ylabel="ms an iteration, 1ms", xlabel="nodes, per-gpu; per-socket; per-node")
        for way, style in (("block", "o"), ("pipe2", "^")):
            found = [row for row in pipelined if row.get("way") == way]
            for matrix, of_matrix in groups(found, lambda row: row["matrix"]).items():
                _beside(right, of_matrix, "ranks", f"{matrix}, {way}", _MATRICES[matrix], style)
        _count(right, [1, 4, 8, 16, 32])
        right.set(xlabel="GPUs of TSUBAME 3.0, MPICH", ylabel="ms an iteration", ylim=(0, None))

    picture("hmatrix_parts", draw)


def hmatrix_clusters() -> None:
    """Figs 10 and 11: what an iteration consists of on one to eight nodes of both described machines."""
    rows = rows_of("papers", "000", "Figs 10, 11")

    def draw(left: Any, right: Any) -> None:
        machines = groups(rows, lambda row: row["described_machine"]).items()
        for axes, (machine, found) in zip((left, right), machines, strict=True):
            _stacked(axes, found, lambda row: row["iteration_ms"] / 100)
            for place, row in enumerate(found):
                axes.text(place, 101, f"{row['iteration_ms']:.3g}", ha="center", fontsize=7)
            printed = [(place, 100 - row["paper"]) for place, row in enumerate(found) if row["paper"]]
            axes.plot(*zip(*printed, strict=True), "kx", ms=7, label="communication from here on, the paper")
            axes.set_xticks(range(len(found)), [str(row["nodes"]) for row in found])
            matrices = "; ".join(groups(found, lambda row: row["matrix"]))
            axes.set(xlabel=f"nodes: {matrices}; above bars, ms an iteration", title=machine)
            axes.set(ylim=(0, 145), yticks=range(0, 101, 20))
        left.set_ylabel("% of an iteration")

    picture("hmatrix_clusters", draw)


def hmatrix_vectors() -> None:
    """Section VI-E, a rank for each GPU: an iteration with redundant vectors, and with hierarchical ones."""
    rows = [row for row in rows_of("papers_000", "vectors") if row["unit"] == "ms"]

    def draw(left: Any, right: Any) -> None:
        for axes, (matrix, found) in zip(
            (left, right), groups(rows, lambda row: row["matrix"]).items(), strict=True
        ):
            for pace, of_pace in groups(found, lambda row: row["pace"]).items():
                for way, of_way in groups(of_pace, lambda row: row["way"]).items():
                    axes.plot(
                        [row["nodes"] for row in of_way], [row["ours"] for row in of_way],
                        "o-" if way == "redundant" else "^--", color=ORANGE if "paper" in pace else BLUE,
                        label=f"{way}, {pace}",
                    )  # fmt: skip
            _count(axes, sorted({row["nodes"] for row in found}))
            axes.set(title=matrix, xlabel="nodes of TSUBAME 3.0", ylim=(0, None))
        left.set_ylabel("ms an iteration")

    picture("hmatrix_vectors", draw)


#: All that are drawn from records.
DRAWN = (
    hmatrix_nodes, hmatrix_parts, hmatrix_clusters, hmatrix_orders, hmatrix_batches, hmatrix_products,
    hmatrix_larger_products, hmatrix_vectors,
    *hmatrix_iterations.DRAWN,
)  # fmt: skip
