"""What finding out whether solves want refinement takes, beside the setup of a triangular factor.

python bench/trsv_trials.py [--problems poisson:20,A.mtx] [--repeats 7] [--record FILE] [--commit ID]

A problem is `poisson:N`, of N^3 cells, or a file; the factors are those of `sordino.splu`. Milliseconds are processor
time of one thread, medians, of a setup and of the trial of the way forward, and how many steps it wants.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
import time
import warnings

import numpy as np
from trsv_widths import problem

import sordino
from sordino.bench import _records


def main() -> None:
    """Measure, and write a line for each triangle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default="poisson:20")
    parser.add_argument("--repeats", type=int, default=7)
    _records.add_arguments(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for word in given.problems.split(","):
        factors = sordino.splu(problem(word)).factors
        for name, lower, T in (("L", True, factors.lower), ("U", False, factors.upper)):
            setups, trials = [], []
            for _ in range(given.repeats):
                begun = time.process_time()
                F = sordino.factorized(T, lower, lower, threads=1)
                setups.append(time.process_time() - begun)
                F.solve(np.ones(T.shape[0]), refine=0)  # plans
                begun = time.process_time()
                steps = F.steps("N", "auto")
                trials.append(time.process_time() - begun)
            row = {
                "bench": "trsv trials",
                "problem": os.path.basename(word),
                "factor": name,
                "entries": int(T.nnz),
                "setup_ms": 1e3 * statistics.median(setups),
                "trial_ms": 1e3 * statistics.median(trials),
                "steps": steps,
            }
            print(row, flush=True)
            if given.record:
                command = shlex.join(["python", *sys.argv])
                _records.append(given.record, [row], command, given.commit or _records.commit())


if __name__ == "__main__":
    main()
