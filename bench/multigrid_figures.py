"""Pictures of multigrid: convergence, an iteration on many GPUs of a described machine, and the levels of a cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, curve, groups, picture, rows_of

import sordino
from sordino.problems import multiphase

#: Of the picture of convergence: cells along an edge, most iterations, and how each preconditioner is drawn.
EDGE, MOST = 32, 2000
_WAYS = {"none": ("0.5", "-"), "jacobi": (ORANGE, "--"), "mg": (BLUE, "-"), "amg": (GREEN, "-.")}

#: Where an iteration's time goes, from the bottom of a bar to its top.
SHARES = {
    "finest level": BLUE,
    "other levels": SKY,
    "bottom solve": RED,
    "sums, exposed": ORANGE,
    "the rest around the cycle": PURPLE,
}


def seconds_of(level: dict[str, Any]) -> float:
    """All that a rank spends on a level."""
    return sum(level[f"{name}_s"] for name in ("work", "launch", "halo_wait", "reduction_wait"))


def shares_of(levels: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds of an iteration by :data:`SHARES`, out of a record's levels: the last one is what is around the cycle."""
    *cycle, around = levels
    sums = around["reduction_wait_s"]
    times = (
        seconds_of(cycle[0]), sum(map(seconds_of, cycle[1:-1])), seconds_of(cycle[-1]), sums,
        seconds_of(around) - sums,
    )  # fmt: skip
    return dict(zip(SHARES, times, strict=True))


def edge_of(row: dict[str, Any]) -> int:
    """Cells along an edge of a GPU's cube, of a column of cubes."""
    return round((row["rows"] / row["ranks"]) ** (1 / 3))


def multigrid_predicted() -> None:
    """Weak scaling of a column of cubes: parts of an iteration of cg, and the methods beside each other."""
    rows = rows_of("multigrid_since", "predicted")

    def draw(left: Any, right: Any) -> None:
        small = [row for row in rows if edge_of(row) == 64 and row["solver"] == "cg"]
        below = [0.0] * len(small)
        for name, colour in SHARES.items():
            taken = [1e6 * shares_of(row["levels"])[name] for row in small]
            left.bar(range(len(small)), taken, bottom=below, color=colour, label=name)
            below = [sum(pair) for pair in zip(below, taken, strict=True)]
        left.set_xticks(range(len(small)), [f"{row['ranks']:,}" for row in small])
        left.set(xlabel="GPUs, 64^3 cells each, cg", ylabel="us an iteration")
        for label, of in groups(rows, lambda row: f"{row['solver']}, {edge_of(row)}^3").items():
            curve(right, of, "ranks", "iteration_s", label, 1e6, "o-" if label.endswith("64^3") else "o--")
        right.set(xscale="log", yscale="log", xlabel="GPUs", ylabel="us an iteration")

    picture("multigrid_predicted", draw)


def multigrid_levels() -> None:
    """What levels take on four GPUs: work, launches and exposed halos, and what of halos is hidden."""
    rows = [row for row in rows_of("multigrid_levels_since", "predicted") if row["ranks"] == 4]
    newest = {row["size"]: row for row in rows if row["size"] in (64, 128)}

    def draw(*panels: Any) -> None:
        for axes, (size, row) in zip(panels, sorted(newest.items()), strict=True):
            levels = middle_of(row)
            places, below = range(len(levels)), [0.0] * len(levels)
            for key, label, colour in (
                ("work_s", "work", BLUE), ("launch_s", "launches and between commands", SKY),
                ("halo_wait_s", "halos, exposed", ORANGE), ("reduction_wait_s", "sums, exposed", RED),
            ):  # fmt: skip
                taken = [1e6 * level[key] for level in levels]
                axes.bar([p - 0.2 for p in places], taken, 0.4, bottom=below, color=colour, label=label)
                below = [sum(pair) for pair in zip(below, taken, strict=True)]
            hidden = [1e6 * max(0.0, level["halo_s"] - level["halo_wait_s"]) for level in levels]
            axes.bar([p + 0.2 for p in places], hidden, 0.4, color=GREEN, label="halos, hidden")
            names = ["x".join(map(str, cells)) for cells in row["cells"]]
            axes.set_xticks(places, [*names, "around"], rotation=30, fontsize=7)
            axes.set(xlabel=f"level; {size}^3, 4 GPUs", ylabel="us an iteration")

    picture("multigrid_levels", draw)


def middle_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The levels of a rank in the middle."""
    ranks = list(row["levels"].values())
    return ranks[len(ranks) // 2]


def histories(problem: str, edge: int = EDGE) -> dict[str, np.ndarray]:
    """Relative residuals of cg's recurrence to 1e-8 by preconditioner, of a ball or of bubbles; b is random.

    What does not get there ends after :data:`MOST` iterations.
    """
    if problem == "ball":
        A = sordino.poisson(edge, edge, edge)
    else:
        A = multiphase(edge, edge, edge, contrast=1e6, seed=1).A
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    how = {"solver": "cg", "rtol": 1e-8, "maxiter": MOST, "engine": "host", "ranks": 1, "grid": (edge,) * 3}
    return {
        precond: sordino.solve(A, b, precond=precond, on_failure="return", **how).history for precond in _WAYS
    }


def multigrid_convergence() -> None:
    """Plain CG, Jacobi, and both kinds of levels, on a constant coefficient and on bubbles."""

    def draw(left: Any, right: Any) -> None:
        for axes, problem, said in (
            (left, "ball", "contrast 1"),
            (right, "bubbles", "bubbles, contrast 1e6"),
        ):
            for precond, history in histories(problem).items():
                colour, style = _WAYS[precond]
                label = f"cg, {precond}" if precond != "none" else "cg"
                axes.plot(range(1, len(history) + 1), history, style, color=colour, lw=1.2, label=label)
            axes.set(xlabel=f"iterations; {EDGE}^3, {said}", xscale="log", yscale="log")
        left.set_ylabel("relative residual of the recurrence")

    picture("multigrid_convergence", draw)
