"""Pictures of solvers: a problem, how methods converge on it, what an iteration waits for, and what GPUs reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, figure_of, groups, picture, rows_of, save
from matplotlib.patches import Patch

import sordino
from sordino.bench import _attainable, _pressures
from sordino.problems import multiphase
from sordino.report.timeline import KINDS, classify

#: Methods that a reader can tell apart in a plot; pcg1 and pcg2 are cg to rounding, gatherbicgstab is pipebicgstab.
_METHODS = ("cg", "prcg", "cgcg", "gropp", "cbcg", "pcg-overlap", "bicgstab", "pipebicgstab")
_LINES = (
    ("k", "-"), (BLUE, "-"), (SKY, "--"), (GREEN, "-."), (RED, "-"), (PURPLE, ":"), (ORANGE, "-"), ("0.4", "--"),
    (ORANGE, ":"),
)  # fmt: skip

#: Kinds of a trace, and their colours.
_COLOURS = {
    "compute": SKY, "reduction_wait": RED, "halo_wait": ORANGE, "reduction": PURPLE, "halo": GREEN,
}  # fmt: skip


def convergence() -> None:
    """Every method with Jacobi on one problem of bubbles: the residual of its x, recomputed in extended precision."""
    made = multiphase(16, 16, 20, contrast=1e3)
    b = np.random.default_rng(1).standard_normal(len(made.b))
    system = _pressures.System(made.A, b, (16, 16, 20), None)
    runs = {
        name: _attainable.run_of(system, {**options, "engine": "host", "ranks": 1})
        for name, options in _attainable.variants(_METHODS)
    }

    def draw(left: Any, right: Any) -> None:
        for (name, run), (colour, style) in zip(runs.items(), _LINES, strict=True):
            for axes in (left, right):
                axes.plot(*zip(*run.points, strict=True), style, color=colour, lw=1.2, label=name)
        left.set(xlabel="iterations", ylabel="||b - A x|| / ||b||, recomputed", yscale="log", xlim=(0, 600))
        right.set(xlabel="iterations; the last digits", yscale="log", xlim=(270, 430), ylim=(1.5e-13, 3e-12))

    picture("convergence", draw)


def timeline() -> None:
    """An iteration of pcg2 and one of pcg-overlap on the described machine of paper 003, four of 16 ranks."""
    A = sordino.poisson(24, 24, 128)
    figure, panels = figure_of(2, 1, (9, 4.6), sharex=True)
    longest, present = 0.0, set()
    for axes, method in zip(panels, ("pcg2", "pcg-overlap"), strict=True):
        solution = sordino.solve(
            A, np.ones(A.shape[0]), solver=method, precond="jacobi", engine="model", machine="offload", ranks=16,
            maxiter=12, trace=True, on_failure="return",
        )  # fmt: skip
        begin, end = _an_iteration(solution.report.trace)
        longest = max(longest, end - begin)
        present |= _lanes(axes, solution.report.trace, begin, begin + longest, (0, 5, 10, 15))
        axes.axvline(1e6 * (end - begin), color="k", lw=1.5, ls="--")
        axes.set_title(f"{method}: {1e6 * (end - begin):.0f} us an iteration", loc="left", fontsize=9)
    panels[0].set_xlim(0, 1.02e6 * longest)
    panels[1].set_xlabel("us; where the next iteration begins there is a dashed line")
    handles = [Patch(color=colour, label=KINDS[kind]) for kind, colour in _COLOURS.items() if kind in present]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    save("timeline", figure)


def _an_iteration(trace: list[dict[str, Any]]) -> tuple[float, float]:
    """From the product of rank 0 in the middle of the run to its next one."""
    begins = sorted(
        i["start_s"] for i in trace if i["rank"] == 0 and i["name"] == "SpMV" and i["kind"] == "compute"
    )
    middle = len(begins) // 2
    return begins[middle], begins[middle + 1]


def _lanes(
    axes: Any, trace: list[dict[str, Any]], begin: float, end: float, ranks: tuple[int, ...]
) -> set[str]:
    """Commands and waits of some ranks in bars, and below them in thin ones what is under way, between two times.

    The kinds that there are come back.
    """
    drawn = set()
    for kind, colour in _COLOURS.items():  # waits lie within their command: they are drawn over it
        thin = kind in ("reduction", "halo")
        for lane, rank in enumerate(ranks):
            mine = [i for i in trace if i["rank"] == rank and classify(str(i["kind"])) == kind]
            spans = [(max(i["start_s"], begin), min(i["end_s"], end)) for i in mine]
            bars = [(1e6 * (first - begin), 1e6 * (last - first)) for first, last in spans if first < last]
            drawn |= {kind} if bars else set()
            axes.broken_barh(bars, (lane + 0.55, 0.2) if thin else (lane, 0.5), color=colour, lw=0)
    axes.set_yticks([lane + 0.35 for lane in range(len(ranks))], [f"rank {rank}" for rank in ranks])
    axes.invert_yaxis()
    return drawn


def roofline() -> None:
    """The kernels of an iteration of cg on one H200: what they reach, against the bandwidth of a copy."""
    rows = [row for row in rows_of("bench_cg", "h200x4") if row["ranks"] == 1]
    rows.sort(key=lambda row: row["size"])
    kinds = (("SpMV", BLUE), ("Direction", RED), ("Residual", GREEN))

    def draw(left: Any, right: Any) -> None:
        roof = max(row["bandwidth"] for row in rows)
        for name, colour in kinds:
            kernels = [next(k for k in row["ledger"]["kernels"] if k["name"] == name) for row in rows]
            rate = [1e-9 * kernel["bytes"] / kernel["seconds"] for kernel in kernels]
            points = [(k["flops"] / k["bytes"], 1e-9 * k["flops"] / k["seconds"]) for k in kernels]
            left.plot(*zip(*points, strict=True), "o", ms=5, color=colour, label=name)
            moved = [1e-6 * kernel["bytes"] / kernel["calls"] for kernel in kernels]
            right.plot(moved, rate, "o-", ms=4, color=colour, label=name)
            for row, point in zip(rows, points, strict=True):
                beside = {"xytext": (5, -4), "textcoords": "offset points"}
                left.annotate(str(row["size"]), point, fontsize=7, **beside)
        across = np.array([0.05, 0.5])
        left.plot(across, 1e-9 * roof * across, "k--", lw=1, label=f"memory, {1e-12 * roof:.2f} TB/s")
        right.axhline(1e-9 * roof, color="k", ls="--", lw=1, label="a copy")
        left.set(
            xscale="log",
            yscale="log",
            xlabel="flops a byte; beside points the edge of the box",
            ylabel="Gflop/s",
            xlim=(0.05, 0.5),
            ylim=(80, 2500),
        )
        left.set_xticks([0.05, 0.1, 0.2, 0.5], ["0.05", "0.1", "0.2", "0.5"])
        left.set_yticks([100, 200, 500, 1000, 2000], ["100", "200", "500", "1,000", "2,000"])
        left.minorticks_off()
        right.set(xscale="log", ylim=(0, None), xlabel="MB that a call moves", ylabel="GB/s")

    picture("roofline", draw)


def strong_scaling() -> None:
    """An iteration of cg on 1, 2 and 4 H200, measured, and as it was predicted before."""
    measured = rows_of("bench_cg", "h200x4")
    predicted = [{**row, "size": round(row["rows"] ** (1 / 3))} for row in rows_of("predictions", "h200x4")]

    def draw(left: Any, right: Any) -> None:
        for rows, style, word in ((measured, "o-", "measured"), (predicted, "s:", "predicted")):
            by_size = groups(sorted(rows, key=lambda r: r["size"]), lambda r: f"{r['size']}^3")
            for colour, (size, found) in zip((BLUE, GREEN, RED), by_size.items(), strict=True):
                points = sorted((row["ranks"], row["iteration_s"]) for row in found)
                ranks, seconds = zip(*points, strict=True)
                hollow = {
                    "color": colour,
                    "markerfacecolor": colour if word == "measured" else "white",
                    "ms": 5,
                }
                left.plot(ranks, [1e6 * s for s in seconds], style, label=f"{size}, {word}", **hollow)
                right.plot(ranks, [seconds[0] / s for s in seconds], style, label=f"{size}, {word}", **hollow)
        right.plot((1, 4), (1, 4), "k--", lw=1, label="n times as fast")
        left.set(yscale="log", ylabel="us an iteration", xlabel="GPUs", ylim=(10, 6000))
        left.set_yticks([10, 20, 50, 100, 200, 500, 1000], ["10", "20", "50", "100", "200", "500", "1,000"])
        left.minorticks_off()
        right.set(ylabel="times as fast as one GPU", xlabel="GPUs", ylim=(0, None))
        for axes in (left, right):
            axes.set_xticks([1, 2, 4])

    picture("strong_scaling", draw)


def fields() -> None:
    """The middle layer of a gas and a liquid around obstacles, and the pressure that a solve finds there."""
    made = multiphase(64, 32, 64, contrast=1e3, obstacles=3, seed=4)
    found = sordino.solve(made.A, made.b, precond="jacobi", rtol=1e-8, engine="host")
    layer = made.density.shape[1] // 2
    density = np.where(made.solid, np.nan, np.log10(made.density))[:, layer]
    pressure = np.where(made.solid, np.nan, found.x.reshape(made.density.shape))[:, layer]
    figure, panels = figure_of(1, 2, (9, 3.9))
    shown = ((density, "log10 of the density", "cividis"), (pressure, "pressure", "viridis"))
    for axes, (values, title, colours) in zip(panels, shown, strict=True):
        image = axes.imshow(values, origin="lower", cmap=colours, interpolation="nearest")
        axes.set_facecolor("0.8")
        axes.set(title=title, xlabel="x", ylabel="z")
        figure.colorbar(image, ax=axes)
    save("fields", figure)
