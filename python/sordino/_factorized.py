"""Setting up a sparse triangular system: :func:`factorized`."""

from __future__ import annotations

import os
from typing import Any

from ._columns import Columns
from ._triangular import FactorizedTriangle
from ._triangular_options import checked_options


def factorized(
    L: Any,
    lower: bool = True,
    unit_diagonal: bool = False,
    *,
    ranks: int | str = "auto",
    threads: int | None = None,
    width: int | str | None = None,
    algorithm: str = "ours",
    layout: str | tuple[int, int] = "",
    engine: str = "host",
    devices: str = "",
    blocks: int = 0,
    timeout: float = 60.0,
    machine: Any = None,
    seed: int = 0,
    plans: str | os.PathLike[str] | None = None,
) -> FactorizedTriangle:
    """Set up a sparse triangular matrix for fast solves: blocks of its columns, with inverted triangles.

    Where elimination would fill the pattern, as that of an incomplete factor, blocks would store mostly zeros: such a
    triangle is kept by rows, and solved by substitution, level by level (``statistics["by_rows"]``).

    Parameters
    ----------
    L : SciPy sparse matrix or array of any format, or dense array, shape (n, n)
        float32, float64 or complex128, in which it is solved; complex64 is computed as complex128, all else as float64.
        Duplicates are summed.
    lower : bool
        Whether entries are on and below the diagonal, else on and above it.
    unit_diagonal : bool
        The diagonal is 1, whatever is stored there.
    ranks : int or "auto"
        That share the blocks, at most 32 of all processes. "auto" of engines host and processes is one, whose blocks
        all threads compute, or one of each process; of engines cuda and model as many as are predicted to be fast, each
        more for 5 % less time, of the GPUs there are or of one node of the machine (``statistics["ranks_reason"]``).
    threads : int, optional
        As many as there are cores, if not given; at least one for each rank.
    width : int or "auto", optional
        Most columns of a block, whose triangle is inverted; none by rows. By default 256, or 128 of algorithm paper.
        "auto" of engines cuda and model: of 32, 64, 128 and 256, the next one where it is predicted to take 5 % less
        than the one taken before it, on the machine that chooses ranks, for one right-hand side and both ways
        (``statistics["width_reason"]``; of "auto" ranks for one);
        on a host 128; with `plans` theirs. Choosing makes a setup up to 40 % longer.
    algorithm : {"ours", "paper"}
        Ours, or Algorithm 1 of paper 004 as a baseline, not by processes: sums as they come, so that the last
        bits differ from solve to solve; right-hand sides one after the other; with `layout`.
    layout : str or (int, int)
        Of algorithm paper: ``"PxQ"`` ranks, among which blocks are dealt out; empty: `ranks` x 1.
    engine : {"host", "processes", "cuda", "model"}
        Who computes: threads of this process; so many ranks of each process that ``mpiexec`` has started, a thread
        each (all processes set up the same triangle, solve with the same B, and get the same X); a GPU for each rank,
        which gets the values with the first solve; or ranks of a described machine, on a virtual clock
        (``statistics["modelled_seconds"]``), with the bits of the host.
    devices : str
        Of engine cuda: which GPUs, such as "0-3" or "0,2"; empty: the first ones.
    blocks : int
        Of engine cuda and algorithm ours: thread blocks on each GPU, at most 65,536; 0: as many as it holds at once,
        which is the fastest. For tests, and to leave room for other kernels: bits stay the same.
    timeout : float
        Seconds in which nothing moves, after which a solve ends with an error; 0: never.
    machine : str, path or dict, optional
        Of engine model, as :class:`sordino.Solver` takes it. Of engine cuda ``ranks="auto"`` and ``width="auto"`` are
        chosen by it; without one that is the description that is most like this machine's GPUs.
    seed : int
        Of engine model: 0 delivers in order of time, others delay tasks and messages at random. Of engines host and
        processes others delay tasks of algorithm ours, each solve's others. For tests: bits stay the same.
    plans : path, optional
        What :meth:`FactorizedTriangle.save_plans` has written of a triangle with this pattern, dtype, width and ranks:
        supernodes and plans are then checked instead of made. Bits are the same with and without.

    Returns
    -------
    FactorizedTriangle

    Raises
    ------
    BadArgument
        Not square or not triangular (which entry), a pivot that is zero or too small to be divided by (which row), NaN
        or infinity, an option out of range, or plans that were made for something else.
    FileError
        Plans that cannot be read, are damaged, or are of another version.

    Warns
    -----
    TinyPivotWarning
        A pivot is below four roundings for each row of the triangle, or the root of a rounding, times the largest entry
        of its row or of its column: elimination may have meant zero. Which row; badly scaled rows are told,
        too. Solves are refined, or by rows, where inverted blocks are seen to lose what substitution keeps.

    Notes
    -----
    Cost: linear in the entries that supernodes store, times half their width. Memory: 8 bytes for each of them
    (float64), with the zeros that make supernodes wider, and 12 for each entry that was given. By rows: linear in the
    entries; 12 bytes for each and 20 for each row, twice where both directions are solved. The GIL is released.

    Examples
    --------
    >>> F = sordino.factorized(L)                        # doctest: +SKIP
    >>> x = F.solve(b)                                   # doctest: +SKIP
    >>> y = F.solve(x, trans="T")                        # doctest: +SKIP
    """
    options = checked_options(
        ranks=ranks,
        threads=threads,
        width=width,
        algorithm=algorithm,
        layout=layout,
        engine=engine,
        devices=devices,
        blocks=blocks,
        timeout=timeout,
        machine=machine,
        seed=seed,
        plans=plans,
    )
    columns = Columns(L, lower=bool(lower), threads=options["threads"])
    F = FactorizedTriangle(columns, unit=bool(unit_diagonal), options=options)
    F.look_at_pivots()
    return F
