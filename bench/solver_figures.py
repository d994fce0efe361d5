"""Pictures of solvers: a problem, how methods converge on it, what an iteration waits for, and what GPUs reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    Rows,
    figure_of,
    newest_of,
    picture,
    save,
)
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


#: What an iteration is timed with: (precond, storage). The first is what the program cg_limit does.
_PAIRS = (("jacobi", "dia"), ("sqrt-jacobi", "symdia"))
_SIZES = {64: BLUE, 128: GREEN, 256: RED, 512: PURPLE}
#: Lines of a size: whose they are, their style, width and marks.
_WHOSE = {
    "measured": {"ls": "-", "lw": 1.5, "marker": "o", "ms": 5},
    "predicted": {"ls": "--", "lw": 1.2, "marker": "s", "ms": 5, "markerfacecolor": "white"},
    "cg_limit": {"ls": "-", "lw": 0.6},
}

#: Seconds of an iteration by GPUs.
_Times = dict[int, float]


def iterations_of_cg() -> tuple[Rows, Rows]:
    """Medians of `cg` on 1, 2 and 4 H200, of the newest record that has any, and that record's lines of cg_limit."""
    _, lines = newest_of("bench_cg*", "h200x4", _is_median_of_cg)
    program = [row for row in lines if row["bench"] == "cg_limit"]
    return [row for row in lines if _is_median_of_cg(row)], program


def predictions_of_cg(before: str) -> Rows:
    """Those of `cg` on h200x4 in the newest record of predictions that is older than a date."""

    def is_wanted(row: dict[str, Any]) -> bool:
        asked = {"bench": "predict", "described_machine": "h200x4", "solver": "cg"}
        return all(row.get(key) == value for key, value in asked.items()) and row["date"] < before

    _, lines = newest_of("predictions*", "h200", is_wanted)
    return [row for row in lines if is_wanted(row)]


def _is_median_of_cg(row: dict[str, Any]) -> bool:
    """Whether it is a line of the picture; those written by hand say neither engine nor what was counted."""
    asked = {"bench": "cg", "solver": "cg", "engine": "cuda", "counts": "median"}
    return (
        all(row.get(key) == value for key, value in asked.items())
        and (row["precond"], row["storage"]) in _PAIRS
        and row["size"] in _SIZES
    )


def scaling_of(pair: tuple[str, str]) -> dict[tuple[int, str], _Times]:
    """By size and whose: what was measured, predicted before, and the program's; of sizes that were measured."""
    found: dict[tuple[int, str], _Times] = {}
    measured, program = iterations_of_cg()
    for row in program:
        found.setdefault((row["size"], "cg_limit"), {})[row["ranks"]] = 1e-6 * row["us_an_iteration"]
    for row in measured:
        if limit := row.get("limit_program_s"):  # timed just before, and the same for all pairs
            found.setdefault((row["size"], "cg_limit"), {})[row["ranks"]] = limit
        if (row["precond"], row["storage"]) == pair:
            found.setdefault((row["size"], "measured"), {})[row["ranks"]] = row["iteration_s"]
    for row in predictions_of_cg(min(row["date"] for row in measured)):
        if row["options"] == dict(zip(("precond", "storage"), pair, strict=True)):
            size = round(row["rows"] ** (1 / 3))
            found.setdefault((size, "predicted"), {})[row["ranks"]] = row["iteration_s"]
    return {(size, whose): times for (size, whose), times in found.items() if (size, "measured") in found}


def strong_scaling() -> None:
    """An iteration of cg on 1, 2 and 4 H200, and how many times as fast it is as on one; with it, cg_limit's."""
    figure, panels = figure_of(2, 2, (9, 6.6), sharex=True, sharey="row")
    for column, pair in zip(panels.T, _PAIRS, strict=True):
        times, gains = column
        for (size, whose), seconds in sorted(scaling_of(pair).items()):
            ranks = sorted(seconds)
            line = {"color": _SIZES[size], **_WHOSE[whose]}
            label = f"{size}^3" if whose == "measured" else ""
            times.plot(ranks, [1e6 * seconds[n] for n in ranks], label=label, **line)
            if 1 in seconds:
                gains.plot(ranks, [seconds[1] / seconds[n] for n in ranks], **line)
        gains.plot((1, 2, 4), (1, 2, 4), "k:", lw=1, label="n times as fast")
        for whose, style in _WHOSE.items():
            gains.plot([], [], color="k", label=whose, **style)
        times.set_title(f"{pair[0]}, {pair[1]}", fontsize=9)
        times.set(xscale="log", yscale="log", ylim=(10, 12000))
        times.set_yticks(
            [10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
            ["10", "20", "50", "100", "200", "500", "1,000", "2,000", "5,000"],
        )
        times.legend(fontsize=7, loc="upper center", ncols=len(_SIZES))
        gains.set(yscale="log", xlabel="GPUs")
        gains.set_xticks([1, 2, 4], ["1", "2", "4"])
        gains.set_yticks([1, 1.5, 2, 3, 4], ["1", "1.5", "2", "3", "4"])
        gains.legend(fontsize=7)
        for axes in column:
            axes.minorticks_off()
            axes.grid(alpha=0.3)
    panels[0, 0].set_ylabel("us an iteration")
    panels[1, 0].set_ylabel("times as fast as one GPU")
    save("strong_scaling", figure)


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
