"""Messages from rank to rank: tokens travel round a ring of ranks, and each rank adds one to what passes.

    python examples/ring.py [ranks [laps]]
    mpiexec -n 2 python examples/ring.py 2

As with mpi4py, but each rank is a thread of this process, and NumPy arrays of any type and shape are sent as they are.
"""

from __future__ import annotations

import sys

import numpy as np

import sordino


def round_the_ring(comm: sordino.Communicator, laps: int) -> bool:
    """What every rank does: true if its own token came home, changed by everybody."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    begin = 100.0 * comm.rank + np.arange(4)
    steps = comm.size * laps

    token = begin
    for _ in range(steps):
        comm.send(token, dest=right)
        token = comm.recv(source=left) + 1

    # While the ranks look at their tokens, the sum over all of them is under way.
    total = comm.iallreduce(token.sum())
    home = bool(np.array_equal(token, begin + steps))
    everything = 4 * (100.0 * (comm.size - 1) / 2 + 1.5 + steps) * comm.size
    return home and bool(total.wait() == everything)


def main(ranks: int = 4, laps: int = 100) -> int:
    """Run the ring, and say how it went."""
    if not all(sordino.run(ranks, lambda comm: round_the_ring(comm, laps))):
        print("a token was lost")
        return 3
    print(f"{ranks} tokens went round {laps} times")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
