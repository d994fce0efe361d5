"""What paper 001 printed: JUPITER's P-CG and P-CBCG on three machines."""

from __future__ import annotations

#: Section V-B.
CELLS = (1280, 1280, 4608)

#: Table V, ms an iteration on so many ranks, column "No Overlap"; Matrix is what P-CBCG has for AXPY.
RANKS = 1024
TABLE_V: dict[tuple[str, str], dict[str, float]] = {
    ("oakforest-pacs", "cg"): {"Reduce": 2.46, "Halo": 0.78, "Precon": 2.81, "SpMV": 1.21, "AXPY": 0.69},
    ("abci", "cg"): {"Reduce": 0.20, "Halo": 1.48, "Precon": 1.61, "SpMV": 1.19, "AXPY": 0.36},
    ("summit", "cg"): {"Reduce": 0.14, "Halo": 2.18, "Precon": 1.63, "SpMV": 1.28, "AXPY": 0.38},
    ("oakforest-pacs", "cbcg"): {"Reduce": 0.91, "Halo": 1.05, "Precon": 2.32, "SpMV": 1.71, "Matrix": 2.75},
    ("abci", "cbcg"): {"Reduce": 0.03, "Halo": 1.37, "Precon": 1.44, "SpMV": 0.93, "Matrix": 1.09},
    ("summit", "cbcg"): {"Reduce": 0.03, "Halo": 2.12, "Precon": 1.44, "SpMV": 0.93, "Matrix": 1.10},
}

#: Table V: the total with overlap; the part of what could be hidden, the lesser of halo and overlapped work, that was.
OVERLAPPED = {
    ("abci", "cg"): (3.87, 0.65),
    ("summit", "cg"): (4.29, 0.69),
    ("abci", "cbcg"): (4.35, 0.54),
    ("summit", "cbcg"): (4.92, 0.73),
}

#: Fig. 5: seconds of a solve on 512, 1,024 and 2,048 ranks.
FIG_5: dict[tuple[str, str], tuple[float, float, float]] = {
    ("oakforest-pacs", "cg"): (151.84, 96.40, 74.84),
    ("summit", "cg"): (114.06, 72.48, 44.00),
    ("abci", "cg"): (111.18, 65.40, 36.14),
    ("oakforest-pacs", "cbcg"): (212.54, 107.64, 70.11),
    ("summit", "cbcg"): (126.47, 83.14, 44.67),
    ("abci", "cbcg"): (127.00, 73.51, 39.41),
}
#: Fig. 4: iterations of P-CG on 2,048 ranks, with the preconditioner of CPUs and that of GPUs.
ITERATIONS = {"oakforest-pacs": 12_058, "summit": 16_897, "abci": 16_897}
#: Section V-D: percent of the time that sums take, on KNLs.
KNL_SUMS = {"cg": 50.0, "cbcg": 20.0}

#: Fig. 6, section V-D: Summit, from 480 ranks to 7,680 times as fast; there percent of the time that sums take.
FIG_6 = {"cg": (9.1, 20.0), "cbcg": (10.0, 1.3)}
LARGEST = 7680
#: P-CG is faster up to 3,840 ranks; on so many "both solvers become comparable".
CROSSOVER = float(LARGEST)

#: Section V-D, of its [16]: times as many operations and bytes as P-CG.
LEDGER = {"flops": 3.0, "memory_bytes": 1.25}
#: Table III: operations and bytes of a product and a preconditioner for a cell.
TABLE_3 = {"flops": 15 + 20, "memory_bytes": 92 + 128}
