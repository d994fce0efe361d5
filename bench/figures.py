"""The pictures of the documentation, from records, and from runs whose results are the same everywhere.

Here are those that show what papers 000 (Figs 12 to 15), 001 (Table V and Fig. 6), 002 (Figs 7 to 10) and 003
(Figs 8 to 10, and 12) do; in solver_figures.py those of solvers, in rooflines.py that of kernels, in
hmatrix_figures.py those of H-matrices (000, Figs 1, 7 to 11, 16, 17 and 19), in hmatrix_iterations.py those of whole
iterations on GPUs (000, Figs 10, 11, 16, 17(b) and 19), in trsv_figures.py those of triangular solves (004,
Fig. 5, and plans), in multigrid_figures.py those of multigrid.

python bench/figures.py              draws docs/pictures/*.svg
python bench/figures.py timeline     draws one of them
python bench/figures.py --measure    measures first, and writes new records: some minutes
"""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from drawing import RECORDS, Rows, curve, groups, picture, rows_of
from hmatrix_figures import DRAWN, hmatrix_ranks
from multigrid_figures import multigrid_convergence, multigrid_levels, multigrid_predicted
from rooflines import roofline
from solver_figures import convergence, fields, strong_scaling, timeline
from trsv_figures import triangular_layouts, triangular_plan, triangular_traced

SIZES = "8,64,512,4096,32768,262144,2097152"
POWERS = ",".join(str(2**k) for k in range(11))
FLAT = "--engine model --machine offload --by-adapter --bytes 8"
PRODUCTS = "64,128,256,512,1024,2048"
MPI = ["mpiexec", "-n", "2"]

#: What is measured: (a process or two, the arguments of `sordino bench`).
MESSAGES = [
    (words, f"comm --what {kind} --bytes {SIZES} --repeats 30 {engine}")
    for kind in ("ping_pong", "one_way", "both_ways")
    for words, engine in (
        ([], "--ranks 2"),
        (MPI, "--ranks 1"),
        ([], "--engine model --machine gmh --ranks 4"),
    )
]
BROADCASTS = [
    ([], "comm --what broadcast --bytes 8 --ranks 2,4,8 --repeats 30"),
    (MPI, "comm --what broadcast --bytes 8 --ranks 1,2,4 --repeats 30"),
    ([], f"comm --what broadcast --engine model --machine gmh --bytes 8 --ranks {POWERS[2:]}"),
    ([], f"comm --what broadcast --engine model --machine gmh --bytes {SIZES} --ranks 16"),
    ([], f"comm --what broadcast --bytes {SIZES} --ranks 4 --repeats 30"),
]
ALL_REDUCES = [
    ([], f"comm {FLAT} --algorithms recursive_doubling --ranks {POWERS}"),
    *[([], f"comm {FLAT} --algorithms tree --degrees {k},4 --ranks {POWERS}") for k in (2, 3, 4)],
    ([], f"comm {FLAT} --algorithms two_level --ranks {POWERS}"),
    ([], f"comm {FLAT} --algorithms ordered --ranks 1,2,4,8,16,32,64"),
]
PRODUCT_RUNS = [
    ([], f"comm {FLAT} --algorithms {name} --ranks 256 --product {PRODUCTS} --spread 0.1")
    for name in ("recursive_doubling", "tree", "two_level")
]
PROGRESS = [
    (
        [],
        f"comm --ranks 2 --bytes {size} --product 256 --commands {commands} --progress commands,thread --repeats 30",
    )
    for size in (8, 2097152)
    for commands in (1, 16)
]


def main() -> int:
    """Measure if asked to, and draw everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="of pictures, without .svg (default: all)")
    parser.add_argument("--measure", action="store_true", help="measure first")
    given = parser.parse_args()
    if given.measure:
        measure()
    for draw in (*RECORDED, *RUN):
        if not given.names or draw.__name__ in given.names:
            draw()
    return 0


# ---- measuring ---------------------------------------------------------------------------------------------------


def measure() -> None:
    """Write a record of today for each picture."""
    today = datetime.date.today().isoformat()
    runs = {
        "messages": MESSAGES, "broadcasts": BROADCASTS, "all_reduces": ALL_REDUCES, "products": PRODUCT_RUNS,
        "progress": PROGRESS,
    }  # fmt: skip
    for name, commands in runs.items():
        record = RECORDS / f"{today}_{name}_2_cores.jsonl"
        record.unlink(missing_ok=True)
        for launcher, arguments in commands:
            command = [*launcher, sys.executable, "-m", "sordino", "bench", *shlex.split(arguments)]
            subprocess.run([*command, "--record", str(record)], check=True, stdout=subprocess.DEVNULL)
    _measure_hops(RECORDS / f"{today}_hops_2_cores.jsonl")


def _measure_hops(record: Path) -> None:
    from sordino import _core, machines
    from sordino.bench import _records

    rows = []
    for name in ("gmh", "h200x4"):
        machine = machines.load(name)
        for ranks in (1, 2, 4, 8, 16, 32):
            for scaling, extent in (("weak", [24, 24, 24, 32 * ranks]), ("strong", [32, 32, 32, 256])):
                seconds = _core.predict_hop(extent, ranks, "single", 12, machines.numbers(machine))
                sites = extent[0] * extent[1] * extent[2] * extent[3] / 2
                rows.append({
                    "bench": "hops", "engine": "model", "described_machine": name, "scaling": scaling,
                    "lattice": extent, "precision": "single", "recon": 12, "ranks": ranks, "hop_s": seconds,
                    "sites_per_rank_s": sites / ranks / seconds,
                })  # fmt: skip
    record.unlink(missing_ok=True)
    _records.append(str(record), rows, "python bench/figures.py --measure", _records.commit())


# ---- drawing -----------------------------------------------------------------------------------------------------


def where(row: dict[str, Any]) -> str:
    """Who carried it."""
    if row["engine"] == "model":
        return f"machine {row['described_machine']}"
    return "two processes" if "mpi" in row["transport"] else "threads"


def messages() -> None:
    """Paper 002, Figs 7 and 8."""
    rows = rows_of("messages")

    def draw(left: Any, right: Any) -> None:
        for place, of_place in groups([r for r in rows if r["traffic"] == "ping_pong"], where).items():
            curve(left, of_place, "bytes", "seconds", place, 1e6)
        for label, of_kind in groups(rows, lambda r: f"{r['traffic'].replace('_', ' ')}, {where(r)}").items():
            curve(right, of_kind, "bytes", "bytes_per_s", label, 1e-6, "o--" if "machine" in label else "o-")
        left.set(xscale="log", yscale="log", xlabel="bytes", ylabel="latency, half a round, us")
        right.set(xscale="log", yscale="log", xlabel="bytes", ylabel="MB/s")

    picture("messages", draw)


def broadcasts() -> None:
    """Paper 002, Fig. 9."""
    rows = rows_of("broadcasts")

    def draw(left: Any, right: Any) -> None:
        for place, of_place in groups([r for r in rows if r["bytes"] == 8], where).items():
            curve(left, of_place, "ranks", "seconds", place, 1e6)
        for ranks, place in ((16, "machine gmh"), (4, "threads")):
            chosen = [r for r in rows if r["ranks"] == ranks and where(r) == place]
            curve(right, chosen, "bytes", "seconds", f"{ranks} ranks, {place}", 1e6)
        left.set(xscale="log", yscale="log", xlabel="ranks, 8 bytes", ylabel="us")
        right.set(xscale="log", yscale="log", xlabel="bytes", ylabel="us")

    picture("broadcasts", draw)


def hops() -> None:
    """Paper 002, Fig. 10."""
    rows = rows_of("hops")

    def draw(left: Any, right: Any) -> None:
        for axes, machine in ((left, "gmh"), (right, "h200x4")):
            of_machine = [row for row in rows if row["described_machine"] == machine]
            for scaling, label in (("weak", "24^3 x 32 a rank"), ("strong", "32^3 x 256 in all")):
                chosen = [row for row in of_machine if row["scaling"] == scaling]
                one = next(row["sites_per_rank_s"] for row in chosen if row["ranks"] == 1)
                curve(axes, chosen, "ranks", "sites_per_rank_s", label, 1 / one)
            axes.set(
                xscale="log",
                ylim=(0, 1.1),
                xlabel="ranks",
                title=f"machine {machine}",
                ylabel="a rank, of one alone",
            )

    picture("hops", draw)


def way(row: dict[str, Any]) -> str:
    """An all-reduce in a legend."""
    words = str(row["algorithm"]).replace("_", " ")
    degrees = f" ({row['degrees'][0]}, {row['degrees'][1]})" if row["degrees"] else ""
    return words + degrees + ("" if row["algorithm"] == "two_level" else ", flat, by adapter")


def all_reduces() -> None:
    """Paper 003, Fig. 8."""
    found = groups(rows_of("all_reduces"), way)

    def draw(left: Any, right: Any) -> None:
        for label, rows in found.items():
            rows = [row for row in rows if row["ranks"] > 1]
            curve(left, rows, "ranks", "total_s", label, 1e6)
            if "ordered" in label or "(3" in label or "(4" in label:
                continue
            curve(right, rows, "ranks", "post_s", f"start: {label}", 1e6, "o-")
            curve(right, rows, "ranks", "wait_s", f"wait: {label}", 1e6, "o--")
        left.set(xscale="log", xlabel="ranks, 8 bytes", ylabel="latency, us")
        right.set(xscale="log", xlabel="ranks, 8 bytes", ylabel="us")

    picture("all_reduces", draw)


def products() -> None:
    """Paper 003, Fig. 9."""
    rows = rows_of("products")
    for row in rows:
        row["n"] = row["product"]["n"]
        row["gflops"] = 2e-9 * row["n"] ** 3 / row["total_s"]
        row["alone_gflops"] = 2e-9 * row["n"] ** 3 / row["product_s"]

    def draw(left: Any, right: Any) -> None:
        found = groups(rows, way)
        curve(left, next(iter(found.values())), "n", "alone_gflops", "no all-reduce", 1.0, "k--")
        for label, of_way in found.items():
            curve(left, of_way, "n", "gflops", label)
            curve(right, of_way, "n", "wait_s", label, 1e6)
        left.set(xscale="log", xlabel="rows of the product, 256 ranks", ylabel="Gflop/s of the slowest rank")
        right.set(xscale="log", yscale="symlog", xlabel="rows of the product, 256 ranks", ylabel="wait, us")

    picture("products", draw)


def overlapped_cg() -> None:
    """Paper 003, Figs 10 and 12: lines are the model's, with least and most of its draws, crosses the paper's."""
    rows = rows_of("papers", "003")
    gains = [r for r in rows if r.get("quantity") == "gain" and r["than"] == "pcg2"]
    noise = [r for r in rows if r["figure"] == "Fig. 12"]

    def draw(left: Any, right: Any) -> None:
        for k, (label, of_size) in enumerate(groups(gains, lambda r: f"{r['edge']}^3 a rank").items()):
            ranks = [r["ranks"] for r in of_size]
            left.plot(ranks, [r["ours"] for r in of_size], f"C{k}o-", label=label)
            left.fill_between(
                ranks, [r["least"] for r in of_size], [r["most"] for r in of_size], color=f"C{k}", alpha=0.2
            )
            known = [r for r in of_size if r["paper"] is not None]
            left.plot([r["ranks"] for r in known], [r["paper"] for r in known], f"C{k}x", ms=7)
        for k, (label, of_solver) in enumerate(groups(noise, lambda r: r["solver"]).items()):
            taken = sorted((100 * r["hz"] * r["length_s"], r["ours"]) for r in of_solver)
            right.plot(*zip(*taken, strict=True), f"C{k}o-", label=label)
            known = [r for r in of_solver if r["paper"] is not None]
            right.plot(
                [100 * r["hz"] * r["length_s"] for r in known], [r["paper"] for r in known], f"C{k}x", ms=7
            )
        left.set(xscale="log", xlabel="ranks", ylabel="pcg-overlap faster than pcg2, %", ylim=(0, None))
        left.set_xticks([64, 128, 256, 512], ["64", "128", "256", "512"], minor=False)
        left.minorticks_off()
        right.set(xlabel="of a rank's time taken away, %", ylabel="an iteration longer, %")

    picture("overlapped_cg", draw)


def jupiter() -> None:
    """Paper 001, Table V with overlap and Fig. 6: bars and lines are the model's, crosses the paper's."""
    names = {"cg": "P-CG", "cbcg": "P-CBCG"}
    surfaces = {"cell": "surfaces of 1 cell", "line": "of 16 cells in x", "warp": "of 32 cells in x"}
    shown = [r for r in rows_of("papers", "001", "Table V") if r["surface"] in surfaces]
    totals = groups([r for r in shown if r["quantity"] == "total"], lambda r: surfaces[r["surface"]])
    gains = [r for r in rows_of("papers", "001", "Fig. 6") if r["quantity"] == "speed-up"]

    def draw(left: Any, right: Any) -> None:
        for k, (label, found) in enumerate(totals.items()):
            left.bar(
                [i + 0.28 * (k - 1) for i in range(len(found))], [r["ours"] for r in found], 0.25, label=label
            )
        left.plot([r["paper"] for r in found], "kx", ms=7, label="the paper")
        machines = [f"{r['described_machine']},\n{names[r['solver']]}" for r in found]
        left.set_xticks(range(len(machines)), machines)
        left.set(ylabel="ms an iteration, 1,024 GPUs")
        for k, (label, found) in enumerate(groups(gains, lambda r: names[r["solver"]]).items()):
            times = groups(
                found, lambda r: r["ranks"]
            )  # with all three surfaces, which differ by a line's width
            least, most = (
                [1.0, *(end(r["ours"] for r in of) for of in times.values())] for end in (min, max)
            )
            right.fill_between([480, *times], least, most, color=f"C{k}", alpha=0.4)
            right.plot([480, *times], most, f"C{k}o-", ms=4, lw=1, label=f"{label}, all surfaces")
        known = [r for r in gains if r["paper"] is not None]
        right.plot([r["ranks"] for r in known], [r["paper"] for r in known], "kx", ms=7, label="the paper")
        right.set(xscale="log", yscale="log", xlabel="GPUs of Summit", ylabel="times as fast as 480")

    picture("jupiter", draw)


def exchange_paths() -> None:
    """Paper 000, Figs 12 to 15, on GPUs: drawn where they have been measured."""
    rows = [r for r in rows_of("exchange_paths", "h200x4") if r["ranks"] == 4]

    def draw(left: Any, right: Any) -> None:
        for axes, what in ((left, "pieces to all"), (right, "sum to all")):
            chosen = [row for row in rows if row["remark"].startswith(what)]
            for label, of_way in groups(chosen, lambda r: r["way"]).items():
                curve(axes, of_way, "bytes", "median_s", label, 1e6)
            axes.set(xscale="log", yscale="log", xlabel=f"bytes, {what}, 4 GPUs", ylabel="us")

    if rows:
        picture("exchange_paths", draw)


def carrier(row: dict[str, Any]) -> str:
    """Who carried what two GPUs sent each other, by the name of the line."""
    between = f"{row['processes']} processes" if row["processes"] > 1 else "threads"
    return f"{row['way'].partition(', by ')[2]}, {between}"


def messages_of_gpus(what: str) -> Rows:
    """Those of `sordino bench comm --engine cuda --what messages,broadcast` that were timed: none where none were."""
    return [r for r in rows_of("gpu_messages", "h200x2") if r["what"] == what and r["median_s"]]


def gpu_messages() -> None:
    """Paper 002, Figs 7 and 8, between GPUs: drawn where they have been measured."""
    found = groups(messages_of_gpus("messages"), carrier)

    def draw(left: Any, right: Any) -> None:
        for k, (label, rows) in enumerate(found.items()):
            by_pattern = groups(rows, lambda r: r["way"].partition(",")[0])
            curve(left, by_pattern["to and fro"], "bytes", "median_s", label, 1e6, f"C{k}o-")
            curve(right, by_pattern["one way"], "bytes", "bytes_per_s", label, 1e-9, f"C{k}o-")
            both = by_pattern["both ways at once"]
            curve(right, both, "bytes", "bytes_per_s", "_not in the legend", 1e-9, f"C{k}o--")
        left.set(xscale="log", yscale="log", xlabel="bytes", ylabel="latency, half a round, us")
        right.set(
            xscale="log",
            yscale="log",
            xlabel="bytes; dashed: both ways at once",
            ylabel="GB/s in a direction",
        )

    if found:
        picture("gpu_messages", draw)


def gpu_broadcasts() -> None:
    """Paper 002, Fig. 9, between GPUs: drawn where they have been measured."""
    found = groups(messages_of_gpus("broadcast"), lambda r: f"{carrier(r)}, {r['ranks']} GPUs")

    def draw(left: Any, right: Any) -> None:
        for label, rows in found.items():
            curve(left, rows, "bytes", "median_s", label, 1e6)
            curve(right, rows, "bytes", "bytes_per_s", label, 1e-9)
        left.set(xscale="log", yscale="log", xlabel="bytes", ylabel="until all have read, us")
        right.set(xscale="log", yscale="log", xlabel="bytes", ylabel="GB/s to each")

    if found:
        picture("gpu_broadcasts", draw)


#: What is drawn from records alone, each under its own name, and what is run to be drawn.
RECORDED = (
    messages, broadcasts, hops, all_reduces, products, overlapped_cg, jupiter, exchange_paths, gpu_messages,
    gpu_broadcasts, roofline, strong_scaling, *DRAWN, triangular_layouts, triangular_traced, multigrid_predicted,
    multigrid_levels,
)  # fmt: skip
RUN = (convergence, timeline, fields, hmatrix_ranks, triangular_plan, multigrid_convergence)


if __name__ == "__main__":
    os.environ.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")
    sys.exit(main())
