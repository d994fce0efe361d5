"""What paper 000 printed of BiCGStab with H-matrices on two clusters of P100, and the same on their descriptions.

The paper's own way is Fig. 2(a) on whole vectors: what ``gatherbicgstab`` falls back to. Fig. 2(b) with its gathers
hidden (pipe2) is ``gatherbicgstab``. With the copies of slices to the host hidden alone (pipe1), its gathers are waited
for at once; such copies take no time here, whatever the way. All three share whole leaves, as HACApK does; our methods
share rows, one in a grid.
MPI's rate and what vector operations lose are calibrated on the first row of Fig. 16 (per-gpu, fewest nodes); for
Fig. 19, made with another MPI, the latter on its row of one GPU, the former on Fig. 18.
Nothing was fitted to other rows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from .. import machines
from .._predict import Iteration
from ..report.words import count
from . import _block_sizes, _outlines
from ._figures import Figure, Found, Rows, row
from ._matrices_000 import MATRICES, PRINTED
from ._outlines import Way
from ._printed_000 import FIG_16, FIG_17, FIG_19

SUMMARY = "BiCGStab with H-matrices on TSUBAME 3.0 and Reedbush-H: Figs 3, 7, 10, 11, 16, 17 and 19"
DRAWS = 1  # nothing is random

#: GPUs that a process has, and the rate at which a vector comes from its host to all of them: Fig. 13.
LAYOUTS = {"per-gpu": (1, 6.2e9), "per-socket": (2, 8.4e9), "per-node": (4, 6.9e9)}

#: B/s that MPI has for each process, four of a node at once; a process with more GPUs has its node's to itself.
MPI = 1.62e9

#: Fig. 18, t_pure of MPICH's MPI_Iallgatherv over TCP, 64 processes on 16 nodes: B/s for a process, seconds a message.
TCP = {"bandwidth": 0.984e9, "put_overhead_s": 12.8e-6}

#: B/s at which vector operations go: 10 ns a row and iteration where the memory takes 0.3. It makes the relative errors
#: of Fig. 16's first row least in their squares.
VECTORS = 16.5e9
#: The same of each column of Fig. 19, from its row of one GPU.
VECTORS_19 = {"block": 3.10e9, "pipe1": 3.73e9, "pipe2": 3.67e9}
#: Those of a method that are not its product.
_VECTOR_COMMANDS = (
    "HalfStep", "Dots", "Step", "Direction", "StepX", "StepF", "ShadowDots", "StepR", "Part of x", "Part dots"
)  # fmt: skip
#: Of these section VI-E lets the GPUs of a process share the work: they have dot products and the update of x.
_SHARED = ("Dots", "Step")

WAYS = {
    "block": Way("gatherbicgstab", fallen_back=True, distribution="leaves"),
    "pipe1": Way("gatherbicgstab", at_once=True, distribution="leaves"),
    "pipe2": Way("gatherbicgstab", distribution="leaves"),
    "bicgstab": Way("bicgstab"),
    "pipebicgstab": Way("pipebicgstab"),
    "pipebicgstab in a grid": Way("pipebicgstab", distribution="grid"),
    "gatherbicgstab": Way("gatherbicgstab"),
    "gatherbicgstab, pairs": Way("gatherbicgstab", group=2),
    "gatherbicgstab, nodes": Way("gatherbicgstab", group=4),
    "redundant": Way("bicgstab", distribution="leaves", group=4, vectors="redundant"),
    "hierarchical": Way("bicgstab", distribution="leaves", group=4, vectors="hierarchical"),
}
#: Our methods, whose vector operations lose nothing.
OURS = ("bicgstab", "pipebicgstab", "pipebicgstab in a grid", "gatherbicgstab")
#: The last of them as the paper's layouts would have it, a rank still having one GPU.
BY_GROUPS = {
    "per-gpu": "gatherbicgstab",
    "per-socket": "gatherbicgstab, pairs",
    "per-node": "gatherbicgstab, nodes",
}

PIPELINED = ("block", "pipe1", "pipe2")

#: Section V-C, of Figs 10(b) and 11(b): percent of an iteration that eight nodes spend on communication.
ON_EIGHT_NODES = {"tsubame-3": 46.0, "reedbush-h": 43.0}


@dataclass(frozen=True)
class Case:
    """An iteration of one way, by its name, on so many processes of a cluster; in a figure's own setting."""

    figure: str
    machine: str
    matrix: str
    ranks: int
    way: str = "block"
    layout: str = "per-gpu"
    hierarchical: bool = False


@dataclass(frozen=True)
class Stored:
    """What a matrix stores."""

    matrix: str


@dataclass(frozen=True)
class Sorted:
    """The products with a matrix's blocks, in one of `_block_sizes.ORDERS`."""

    matrix: str
    order: str


def in_series(*rates: float) -> float:
    """B/s of what goes over several ways, one after the other."""
    return 1 / sum(1 / rate for rate in rates)


def machine(case: Case) -> dict[str, Any]:
    """A cluster as a case meets it: a rank is a process with the GPUs of its layout."""
    described = machines.load(case.machine)
    gpus, copies = LAYOUTS[case.layout]
    if gpus > 1:
        described["ranks_per_node"] //= gpus
        described["internode_bandwidth"] = in_series(gpus * MPI, copies)
    if case.figure == "fig19":
        described["put_overhead_s"] = TCP["put_overhead_s"]
        described["internode_bandwidth"] = in_series(TCP["bandwidth"], copies)
    product = 4 * gpus * MATRICES[case.matrix].rate  # a value of 8 bytes makes 2 flop
    paces = dict.fromkeys(_outlines.PRODUCT, product) | _vector_paces(case, gpus)
    return {**described, "paces": {name: {"bandwidth": pace, "spread": 0.0} for name, pace in paces.items()}}


def _vector_paces(case: Case, gpus: int) -> dict[str, float]:
    if case.way in OURS or case.way in BY_GROUPS.values() or case.figure == "lossless":
        return {}
    usual = VECTORS_19[case.way] if case.figure == "fig19" else VECTORS
    shared = gpus * usual if case.hierarchical else usual
    return dict.fromkeys(_VECTOR_COMMANDS, usual) | dict.fromkeys(_SHARED, shared)


def predict(case: Case | Stored | Sorted, draw: int) -> Iteration:
    """An iteration of a case, or in its ledger what a matrix stores, or its products' sizes; nothing is random."""
    matrix = MATRICES[case.matrix]
    structure = _outlines.outline(matrix.structure)
    if isinstance(case, Stored):
        return Iteration(0.0, structure.statistics())
    if isinstance(case, Sorted):
        return Iteration(0.0, _block_sizes.told(structure, case.order))
    return _outlines.iteration(structure, WAYS[case.way], case.ranks, machine(case))


def _facts(case: Case, found: Iteration) -> dict[str, Any]:
    """What a record keeps of a case: itself, and the parts of its iteration in ms."""
    parts = {f"{name}_ms": 1e3 * seconds for name, seconds in found.parts.items()}
    return {
        "described_machine": case.machine, "matrix": case.matrix, "layout": case.layout, "way": case.way,
        "ranks": case.ranks, "repeated": found.ledger["repeated"], **parts,
    }  # fmt: skip


# ---- Fig. 3 ------------------------------------------------------------------------------------------------------


def _fig_3(found: Found) -> Rows:
    for name in PRINTED:
        matrix = MATRICES[name]
        stored = found[Stored(name)][0].ledger
        n, values = stored["rows"], stored["stored_values"]
        tenth = values / (10 * n * math.log2(n))
        yield row(
            "Fig. 3", f"{name}: a tenth of values over n log2 n", "", [tenth], matrix.printed, "compared",
            matrix=name, rows=n, stored_values=values, mean_rank=stored["mean_rank"], every=matrix.structure.every,
        )  # fmt: skip


# ---- Fig. 7 ------------------------------------------------------------------------------------------------------

_SORTED = [Sorted(matrix, order) for matrix in ("100ts", "10ts") for order in _block_sizes.ORDERS]


def _fig_7(found: Found) -> Rows:
    for case in _SORTED:
        kinds: dict[str, Any] = found[case][0].ledger
        for kind, sizes in kinds.items():
            what = f"{case.matrix}, {kind}, {_block_sizes.ORDERS[case.order]}: rows filled up over own"
            yield row(
                "Fig. 7", what, "times", [sizes["rows_filled"]], None, "words", matrix=case.matrix,
                order=case.order, kind=kind, batch=_block_sizes.BATCH, part=_block_sizes.PART, **sizes,
            )  # fmt: skip


# ---- Fig. 16 -----------------------------------------------------------------------------------------------------


def _case_16(layout: str, matrix: str, nodes: int, way: str = "block") -> Case:
    return Case("fig16", "tsubame-3", matrix, nodes * 4 // LAYOUTS[layout][0], way, layout)


def _fig_16(found: Found) -> Rows:
    for layout, columns in FIG_16.items():
        for matrix, printed in columns.items():
            for nodes, (iterations, _, mpi, paper) in printed.items():
                is_first = layout == "per-gpu" and nodes == min(printed)
                for way in ("block", *OURS) if layout == "per-gpu" else ("block",):
                    case = _case_16(layout, matrix, nodes, way)
                    basis = "words" if way != "block" else "calibrated" if is_first else "compared"
                    yield row(
                        "Fig. 16", f"{layout}, {matrix}, {nodes} nodes, {way}", "ms", [1e3 * found[case][0].seconds],
                        paper if way == "block" else None, basis, nodes=nodes, mpi_ms=mpi / iterations,
                        **_facts(case, found[case][0]),
                    )  # fmt: skip


# ---- Fig. 17 -----------------------------------------------------------------------------------------------------


def _case_17(matrix: str, hierarchical: bool) -> Case:
    return Case("fig17", "tsubame-3", matrix, 64, "block", "per-node", hierarchical)


def _fig_17(found: Found) -> Rows:
    for matrix, printed in FIG_17.items():
        cases = [_case_17(matrix, hierarchical) for hierarchical in (False, True)]
        ours = [1e3 * found[case][0].seconds for case in cases]
        papers = [1e3 * seconds / iterations for seconds, iterations in printed]
        for case, name, mine, paper in zip(cases, ("redundant", "hierarchical"), ours, papers, strict=True):
            what = f"{matrix}, 64 nodes, {name} vectors"
            facts = _facts(case, found[case][0])
            yield row("Fig. 17", what, "ms", [mine], paper, "compared", vectors=name, **facts)
        what = f"{matrix}, 64 nodes: redundant over hierarchical"
        yield row(
            "Fig. 17", what, "times", [ours[0] / ours[1]], papers[0] / papers[1], "compared", matrix=matrix
        )


# ---- Fig. 19 -----------------------------------------------------------------------------------------------------


def _case_19(matrix: str, gpus: int, way: str) -> Case:
    return Case("fig19", "tsubame-3", matrix, gpus, way)


def _fig_19(found: Found) -> Rows:
    for matrix, printed in FIG_19.items():
        for gpus, papers in printed.items():
            for way, paper in itertools.zip_longest((*PIPELINED, *OURS), papers):
                case = _case_19(matrix, gpus, way)
                basis = "words" if paper is None else "calibrated" if gpus == 1 else "compared"
                yield row(
                    "Fig. 19", f"{matrix}, {gpus} GPUs, {way}", "ms", [1e3 * found[case][0].seconds], paper, basis,
                    **_facts(case, found[case][0]),
                )  # fmt: skip
            block = found[_case_19(matrix, gpus, "block")][0].seconds
            basis = "calibrated" if gpus == 1 else "compared"
            for over, paper in zip(PIPELINED[1:], papers[1:], strict=True):
                gain = block / found[_case_19(matrix, gpus, over)][0].seconds
                what = f"{matrix}, {gpus} GPUs: block over {over}"
                yield row(
                    "Fig. 19", what, "times", [gain], papers[0] / paper, basis, matrix=matrix, ranks=gpus, over=over,
                )  # fmt: skip


# ---- small surfaces ----------------------------------------------------------------------------------------------


def _case_small(matrix: str, gpus: int, way: str) -> Case:
    return Case("small", "tsubame-3", matrix, gpus, way)


SMALL = [
    _case_small(matrix, gpus, way)
    for matrix in ("10ts", "216h")
    for gpus, way in itertools.product((1, 4, 8, 16, 32), ("block", *OURS))
]


def _small(found: Found) -> Rows:
    for case in SMALL:
        what = f"{case.matrix}, {case.ranks} GPUs, {case.way}"
        run = found[case][0]
        yield row("Small surfaces", what, "ms", [1e3 * run.seconds], None, "words", **_facts(case, run))


# ---- our own gathers, by groups of GPUs ---------------------------------------------------------------------------


def _case_groups(matrix: str, nodes: int, layout: str) -> Case:
    return Case("groups", "tsubame-3", matrix, 4 * nodes, BY_GROUPS[layout])


GROUPED = [(matrix, nodes) for matrix in ("100ts", "hum4") for nodes in FIG_16["per-gpu"][matrix]]


def _groups(found: Found) -> Rows:
    for matrix, nodes in GROUPED:
        for layout, way in BY_GROUPS.items():
            case = _case_groups(matrix, nodes, layout)
            [run] = found[case]
            facts = _facts(case, run) | {"messages": run.ledger["messages"]}
            what = f"{matrix}, {nodes} nodes, {way}"
            yield row(
                "Gathers by groups", what, "ms", [1e3 * run.seconds], None, "words", nodes=nodes, **facts
            )


# ---- vectors that the GPUs of a node share, a rank for each GPU -----------------------------------------------------


def _case_vectors(matrix: str, nodes: int, vectors: str, figure: str) -> Case:
    return Case(figure, "tsubame-3", matrix, 4 * nodes, vectors)


VECTORS_OF = ("redundant", "hierarchical")
#: With the vector operations of the paper's program, and with what the memory takes for them.
PACES = {"vectors": "the paper's pace", "lossless": "the memory's pace"}
#: The numbers of nodes of Fig. 16, and Fig. 17(b)'s where the tables of 256 ranks are small.
SHARED = [
    *((matrix, nodes) for matrix in ("100ts", "hum4") for nodes in FIG_16["per-gpu"][matrix]), ("100ts", 64)
]  # fmt: skip


def _vectors(found: Found) -> Rows:
    for (matrix, nodes), (figure, pace) in itertools.product(SHARED, PACES.items()):
        runs = {each: found[_case_vectors(matrix, nodes, each, figure)][0] for each in VECTORS_OF}
        for vectors, run in runs.items():
            ledger = {name: run.ledger[name] for name in ("messages", "bytes_sent", "memory_bytes", "flops")}
            facts = _facts(_case_vectors(matrix, nodes, vectors, figure), run) | ledger
            what = f"{matrix}, {nodes} nodes, {vectors} vectors, {pace}"
            ours = [1e3 * run.seconds]
            yield row("Shared vectors", what, "ms", ours, None, "words", nodes=nodes, pace=pace, **facts)
        gain = runs["redundant"].seconds / runs["hierarchical"].seconds
        printed = FIG_17[matrix] if nodes == 64 and figure == "vectors" else None
        paper = printed and printed[0][0] / printed[0][1] * printed[1][1] / printed[1][0]
        yield row(
            "Shared vectors", f"{matrix}, {nodes} nodes, {pace}: redundant over hierarchical", "times", [gain], paper,
            "compared" if printed else "words", matrix=matrix, nodes=nodes, pace=pace,
        )  # fmt: skip


# ---- Figs 10 and 11 ----------------------------------------------------------------------------------------------


def _case_10(machine: str, matrix: str, nodes: int) -> Case:
    return Case("fig10", machine, matrix, nodes * int(machines.load(machine)["ranks_per_node"]))


#: Which matrices, and how many nodes but eight, these figures have, the text does not say.
ON_NODES = list(itertools.product(ON_EIGHT_NODES, ("100ts", "hum4", "1ms"), (1, 2, 4, 8)))


def _fig_10(found: Found) -> Rows:
    for name, matrix, nodes in ON_NODES:
        case = _case_10(name, matrix, nodes)
        [run] = found[case]
        share = 100 * (run.parts["exchange"] + run.parts["late"]) / run.seconds
        printed = nodes == 8 and matrix != "hum4"
        yield row(
            "Figs 10, 11", f"{name}, {matrix}, {count(nodes, 'node')}: communication", "%", [share],
            ON_EIGHT_NODES[name] if printed else None, "compared" if printed else "words", nodes=nodes,
            iteration_ms=1e3 * run.seconds, **_facts(case, run),
        )  # fmt: skip


FIGURES = {
    "fig3": Figure([Stored(name) for name in PRINTED], _fig_3),
    "fig7": Figure(_SORTED, _fig_7),
    "fig10": Figure([_case_10(*at) for at in ON_NODES], _fig_10),
    "fig16": Figure(
        [
            _case_16(layout, matrix, nodes, way)
            for layout, columns in FIG_16.items()
            for matrix, printed in columns.items()
            for nodes, way in itertools.product(
                printed, ("block", *OURS) if layout == "per-gpu" else ("block",)
            )
        ],
        _fig_16,
    ),
    "fig17": Figure([_case_17(matrix, shared) for matrix in FIG_17 for shared in (False, True)], _fig_17),
    "fig19": Figure(
        [
            _case_19(matrix, gpus, way)
            for matrix, printed in FIG_19.items()
            for gpus, way in itertools.product(printed, (*PIPELINED, *OURS))
        ],
        _fig_19,
    ),
    "small": Figure(SMALL, _small),
    "vectors": Figure(
        [_case_vectors(*at, each, figure) for at in SHARED for each in VECTORS_OF for figure in PACES],
        _vectors,
    ),
    "groups": Figure([_case_groups(*at, layout) for at in GROUPED for layout in BY_GROUPS], _groups),
}
