"""What paper 004 printed of its triangular solver on Summit, and what its own model, as corrected, says of imitations.

An imitation is a block structure with the supernodes, entries and levels of a matrix of Table 2; its widths are
assumed. The model's latencies and the shape of its bandwidths are assumed, too (C++: trsv/paper_model.hpp), and of the
published figures only its bandwidths, not its speed-ups, are in it. The structures are random: each draw is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _native
from ._figures import Figure, Found, Rows, row

SUMMARY = "a sparse triangular solver on Summit: Table 2, Figs 4, 5 and 7, by the paper's model on imitations"
DRAWS = 3

MOST_GPUS = 18

#: Table 2: speed-up over one GPU with the best layout, by GPUs.
TABLE_2 = {
    "S1": {2: 1.2, 6: 1.3, 12: 0.7, 18: 0.8},
    "DG": {2: 1.2, 6: 1.3, 12: 1.4, 18: 1.3},
    "LU2": {2: 1.5, 6: 2.2, 12: 1.8, 18: 1.9},
    "LU4": {2: 1.5, 6: 2.6, 12: 2.4, 18: 2.2},
    "Li": {2: 1.5, 6: 3.5, 12: 3.7, 18: 2.7},
}

#: Section 6.3: messages on the critical path, by GPUs.
MESSAGES = {
    "S1": {6: 7922, 12: 7408},
    "DG": {2: 1000, 6: 898, 12: 571},
    "Li": {2: 162, 6: 270, 12: 292},
}

#: Section 6.3, Fig. 7: percent of Li's time in communication "when using up to eighteen GPUs".
LI_COMMUNICATING = 33.0

LETTERS = {"P x 1": "a", "1 x P": "b", "2-D": "c"}

#: A prediction, as the core gives it.
Prediction = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One imitation, on 1 to 18 GPUs in all layouts."""

    matrix: str


def predict(case: Case, draw: int) -> list[Prediction]:
    """Of all layouts, the draw-th structure."""
    predictions: list[Prediction] = _native.core().paper_trsv_scaling(case.matrix, MOST_GPUS, draw + 1)
    return predictions


def _of(run: list[Prediction], gpus: int, shape: str = "") -> Prediction:
    """The fastest on so many GPUs, of one shape or of all."""
    return min(
        (one for one in run if one["rows"] * one["columns"] == gpus and shape in ("", one["shape"])),
        key=lambda one: one["seconds"],
    )


def _speedup(run: list[Prediction], gpus: int, shape: str = "") -> float:
    return float(_of(run, 1)["seconds"] / _of(run, gpus, shape)["seconds"])


def _best(speedups: dict[int, float]) -> int:
    return max(speedups, key=lambda gpus: speedups[gpus])


def _table_2(found: Found) -> Rows:
    for matrix, printed in TABLE_2.items():
        runs = found[Case(matrix)]
        for gpus, paper in printed.items():
            ours = [_speedup(run, gpus) for run in runs]
            facts = {"matrix": matrix, "gpus": gpus}
            yield row("Table 2", f"{matrix}, {gpus} GPUs over one", "x", ours, paper, "compared", **facts)
        best = [float(_best({gpus: _speedup(run, gpus) for gpus in printed})) for run in runs]
        what = f"{matrix}: best of 2, 6, 12, 18"
        yield row("Table 2", what, "GPUs", best, float(_best(printed)), "compared", matrix=matrix)


def _messages(found: Found) -> Rows:
    for matrix, printed in MESSAGES.items():
        for gpus, paper in printed.items():
            ours = [float(_of(run, gpus, "P x 1")["messages"]) for run in found[Case(matrix)]]
            what = f"{matrix}, {gpus} GPUs, P x 1: messages on the critical path"
            yield row("Section 6.3", what, "", ours, float(paper), "compared", matrix=matrix, gpus=gpus)


def _fig_4(found: Found) -> Rows:
    for matrix in TABLE_2:
        for gpus in range(1, MOST_GPUS + 1):
            ours = [_speedup(run, gpus) for run in found[Case(matrix)]]
            shape = _of(found[Case(matrix)][0], gpus)["shape"]
            what = f"{matrix}, {gpus} GPUs over one, {shape}"
            yield row("Fig. 4", what, "x", ours, None, "words", matrix=matrix, gpus=gpus, shape=shape)


def _fig_5(found: Found) -> Rows:
    for shape, letter in LETTERS.items():
        for matrix in TABLE_2:
            runs = found[Case(matrix)]
            for gpus in sorted({one["rows"] * one["columns"] for one in runs[0] if one["shape"] == shape}):
                ours = [_speedup(run, gpus, shape) for run in runs]
                facts = {"matrix": matrix, "gpus": gpus, "shape": shape}
                yield row(
                    f"Fig. 5{letter}", f"{matrix}, {gpus} GPUs, {shape}", "x", ours, None, "words", **facts
                )


def _fig_7(found: Found) -> Rows:
    for matrix in ("S1", "Li"):
        for gpus in (1, 2, 6, 12, 18):
            runs = [_of(run, gpus, "P x 1") for run in found[Case(matrix)]]
            for part in ("computing", "communicating"):
                what, facts = (
                    f"{matrix}, {gpus} GPUs: {part}",
                    {"matrix": matrix, "gpus": gpus, "quantity": part},
                )
                yield row("Fig. 7", what, "ms", [1e3 * run[part] for run in runs], None, "words", **facts)
    shares = [
        max(100 * one["communicating"] / one["seconds"] for one in run if one["shape"] == "P x 1")
        for run in found[Case("Li")]
    ]
    what = "Li: most of its time in communication, P x 1"
    yield row("Fig. 7", what, "%", shares, LI_COMMUNICATING, "compared", matrix="Li")


_ALL = [Case(matrix) for matrix in TABLE_2]

FIGURES = {
    "table2": Figure(_ALL, _table_2),
    "messages": Figure([Case(matrix) for matrix in MESSAGES], _messages),
    "fig4": Figure(_ALL, _fig_4),
    "fig5": Figure(_ALL, _fig_5),
    "fig7": Figure([Case("S1"), Case("Li")], _fig_7),
}
