"""What a solve costs around its iterations, for b on the host and on a GPU: one iteration of CG on a grid of N^3.

python bench/device_vectors.py [--extent 256] [--ranks 1] [--record FILE.jsonl]    needs a GPU, and CuPy or PyTorch

The floor is what b and x take to travel, 8 bytes a row each; b is read once more in a look for NaN.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
import time
from typing import Any

import numpy as np

import sordino
from sordino.bench import _records


def on_gpu(b: np.ndarray) -> tuple[str, Any]:
    """The name of a library that is here, and b as its array."""
    for name in ("cupy", "torch"):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        return name, library.asarray(b) if name == "cupy" else library.from_numpy(b).cuda()
    raise SystemExit("CuPy or PyTorch is needed")


def best_of(solver: sordino.Solver, b: Any, repeats: int) -> dict[str, float]:
    """Seconds of the fastest of some calls, and of the solve inside it by the engine's clock."""
    rounds = []
    for _ in range(repeats + 2):
        begin = time.perf_counter()
        inside = solver.solve(b, on_failure="return", maxiter=1).seconds
        rounds.append((time.perf_counter() - begin, inside))
    call, inside = min(rounds[2:])
    return {"call_s": call, "solve_s": inside}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--extent", type=int, default=256)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=10)
    _records.add_arguments(parser)
    args = parser.parse_args()
    A = sordino.poisson(args.extent, args.extent, args.extent)
    b = A @ np.ones(A.shape[0])
    solver = sordino.Solver(A, solver="cg", engine="cuda", ranks=args.ranks, rtol=1e-300)
    library, there = on_gpu(b)
    measured = [
        {
            "name": "vectors",
            "b": where,
            "n": len(b),
            "ranks": args.ranks,
            **best_of(solver, given, args.repeats),
        }
        for where, given in (("host", b), (library, there))
    ]
    for one in measured:
        print(f"b of {one['b']:6}  call {one['call_s'] * 1e3:8.2f} ms   solve {one['solve_s'] * 1e3:8.2f} ms")
    if args.record:
        _records.append(
            args.record, measured, shlex.join(["python", *sys.argv]), args.commit or _records.commit()
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
