"""A description of the machine that this program runs on, each number with how it was measured.

On the host, and where there is one GPU, recorded solves are timed: of so few rows that nothing but commands, reductions
and messages takes time. Several GPUs measure themselves (``bench comm --engine cuda --what overlap,put``). The numbers
are such that the same loops on the ``model`` engine take as long as they were measured to take.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import machines
from .._matrix import as_csr
from .._native import core, translated
from .._solve import Solver
from ..bench import _peers
from ..bench._timing import per_iteration, timed
from ..errors import DeviceError
from . import _cached_loops

#: A number and how it was measured; of what not every description has, its numbers, or None.
Measured = tuple[float, str]
Extra = tuple[dict[str, float] | None, str]

#: Rows of a rank in solves that time commands; bytes of a message that times a link.
FEW_ROWS, MESSAGE = 64, 1 << 22

#: Of the programs of ``bench comm --what overlap``: rows of the sums, and bytes that a command moves for a row.
_SUM_ROWS, _ROW_BYTES = 65_536, 16
_HALO = 65_536

_NO_CACHE: Extra = (None, "not described: threads of a host share caches of several levels")

_ASSUMED: dict[str, Measured] = {
    "put_overhead_s": (0.0, "assumed: part of link_latency_s"),
    "jitter_s": (0.0, "assumed"),
    "ranks_per_node": (0, "one host was measured: all ranks share it"),
    "workers": (1, "assumed: a rank does one thing at a time"),
    "leader_skew_s": (1e-7, "assumed: a cache line from another core, and a sum"),
}


def calibrate(engine: str, ranks: list[int], name: str, repeats: int = 5) -> dict[str, Any]:
    """Measure, and return a description that :func:`sordino.machines.load` takes.

    Parameters
    ----------
    engine : {"host", "cuda"}
    ranks : list of int
        Numbers of ranks above 1 on which reductions are timed; the most decide who shares the memory of a host.
    name : str
    repeats : int
        The best of so many counts.
    """
    if engine == "cuda":
        found, extras = _on_gpus(ranks, repeats)
    else:
        found, extras = _on_host(ranks, repeats), {"cache": _NO_CACHE}
    found = {**_ASSUMED, **found}
    # A network was not there to be measured, and is not used while all ranks share a node.
    for key, link in (("internode_latency_s", "link_latency_s"), ("internode_bandwidth", "link_bandwidth")):
        found[key] = (found[link][0], f"not measured: one host; {link} stands in")
    found["loopback_latency_s"] = (
        found["link_latency_s"][0],
        "not measured: no adapter; link_latency_s stands in",
    )
    described: dict[str, Any] = {"name": name, "description": _description(engine, max(ranks, default=1))}
    described.update({key: found[key][0] for key in machines.FIELDS})
    described.update({key: extras[key][0] for key in extras if extras[key][0]})
    described["sources"] = {key: source for key, (_, source) in {**found, **extras}.items()}
    return machines.load(described)


def _description(engine: str, ranks: int) -> str:
    here = machines.this_machine()
    what = ", ".join(sorted(set(here["devices"]))) if engine == "cuda" else here["processor"]
    return f"Calibrated with engine {engine}, up to {ranks} ranks: {what}"


def _on_host(ranks: list[int], repeats: int) -> dict[str, Measured]:
    most = max(ranks)
    share = _peers.host_copy_bandwidth(most) / most
    found = {
        "memory_bandwidth": (
            share,
            f"measured: copies by {most} threads at once, read and written, a thread's share",
        ),
        "flops": (_host_flops(repeats), "measured: NumPy's matrix product on all cores, a core's share"),
        "link_bandwidth": (
            _host_link(repeats),
            f"measured: messages of {MESSAGE:,} bytes from rank to rank, one way",
        ),
        "host_overhead_s": (_host_post(repeats), "measured: to start an all-reduce of 8 bytes of host data"),
    }
    return {**found, **_by_solves("host", ranks, repeats)}


def _host_flops(repeats: int) -> float:
    n = 768
    a, out = np.ones((n, n)), np.empty((n, n))
    return 2.0 * n**3 / timed(lambda: np.matmul(a, a, out=out), repeats).best / machines.cores()


def _host_link(repeats: int) -> float:
    with translated():
        timed = core().time_traffic("one_way", MESSAGE, 4 * repeats, {"engine": "host", "ranks": 2}, None)
    return MESSAGE / float(timed["seconds"])


def _host_post(repeats: int) -> float:
    with translated():
        times = core().time_all_reduce(
            "ordered",
            1,
            10 * repeats,
            {"engine": "host", "ranks": 2, "progress": "commands"},
            None,
            2,
            4,
            False,
            {},
        )
    return float(times["post_s"])


# --- by solves of few rows ----------------------------------------------------------------------------------


def _by_solves(engine: str, ranks: list[int], repeats: int) -> dict[str, Measured]:
    """Commands, reductions and, between ranks, messages."""
    product, product_2 = (_product(engine, count, repeats) for count in (1, 2 if ranks else 1))
    launch = product
    start = max(0.0, (_iteration(engine, 1, repeats) - 3 * launch) / 2)
    how = f"{FEW_ROWS} rows a rank"
    found = {
        "launch_s": (launch, f"measured: a product of {how} on one rank, which is one command"),
        "reduction_start_s": (
            start,
            f"measured: half of an iteration of cg with a diagonal matrix less its three commands, {how}, one rank",
        ),
    }
    if not ranks:
        return found
    # A sum is on its way while the command that waits for it is launched; the third command of three waits for none.
    between = {count: max(0.0, (_iteration(engine, count, repeats) - launch) / 2 - start) for count in ranks}
    # A message flies while the command that waits for it is launched.
    latency = max(product_2 - product, 0.0) + launch
    return {
        **found,
        **_fitted(between, "the same on several, less reduction_start_s"),
        "link_latency_s": (
            latency,
            f"measured: what a product of {how} takes on 2 ranks: launch, message and wait",
        ),
    }


def _fitted(seconds: dict[int, float], how: str) -> dict[str, Measured]:
    """``base + hop * doublings`` through what was measured on these numbers of ranks."""
    doublings = np.array([math.ceil(math.log2(ranks)) for ranks in seconds], dtype=float)
    times = np.array(list(seconds.values()))
    shown = ", ".join(f"{value * 1e6:,.2f} us on {ranks}" for ranks, value in seconds.items())
    if len(set(doublings)) > 1:
        hop = max(0.0, float(np.polyfit(doublings, times, 1)[0]))
        source = "measured: a line through the same"
    else:
        hop, source = 0.0, "assumed: one number of ranks was measured"
    base = max(0.0, float(np.mean(times - hop * doublings)))
    return {"reduction_base_s": (base, f"measured: {how}, {shown}"), "reduction_hop_s": (hop, source)}


def _iteration(engine: Any, ranks: int, repeats: int) -> float:
    """Seconds of an iteration of cg without messages. The spectrum is so wide that it never ends."""
    n = FEW_ROWS * ranks
    matrix = sp.diags_array(np.logspace(0, 12, n), format="csr")
    solver = Solver(matrix, solver="cg", precond="none", engine=engine, ranks=ranks, rtol=1e-300)
    b = np.ones(n)

    def run(count: int) -> tuple[int, float]:
        solution = solver.solve(b, maxiter=count, on_failure="return")
        return solution.iterations, solution.seconds

    return per_iteration(run, 400, repeats).best


def _product(engine: Any, ranks: int, repeats: int) -> float:
    n = FEW_ROWS * ranks
    line = sp.diags_array(
        [-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1], format="csr"
    )
    solver = Solver(as_csr(line), solver="cg", precond="none", engine=engine, ranks=ranks)
    return min(solver.time_product(200) for _ in range(repeats))


# --- on GPUs ------------------------------------------------------------------------------------------------


def _on_gpus(ranks: list[int], repeats: int) -> tuple[dict[str, Measured], dict[str, Extra]]:
    bandwidth = _device_bandwidth(repeats)
    found: dict[str, Measured] = {
        "memory_bandwidth": bandwidth,
        "flops": (0.0, "not measured: never the limit of what Sordino computes"),
        "host_overhead_s": (3e-7, "assumed: starting a small send"),
        "workers": (2, "assumed"),
    }
    if ranks:
        overlap = _figures("overlap", ranks)
        found |= from_figures(overlap, _figures("put", ranks), bandwidth[0])
        return found, {"cache": _cache(found, repeats), "push": push_of(overlap)}
    stand_in = machines.load("h200x4")
    links = ("link_latency_s", "link_bandwidth", "reduction_base_s", "reduction_hop_s")
    assumed = {key: (stand_in[key], "assumed: one GPU was measured; that of h200x4") for key in links}
    found |= {**assumed, **_by_solves("cuda", [], repeats)}
    return found, {"cache": _cache(found, repeats), "push": (stand_in["push"], "assumed: that of h200x4")}


def _cache(found: dict[str, Measured], repeats: int) -> Extra:
    timed = _cached_loops.times("cuda", repeats)
    return _cached_loops.described(timed, found["launch_s"][0], found["memory_bandwidth"][0])


def _device_bandwidth(repeats: int) -> Measured:
    if _peers.cupy_there():
        return (
            _peers.device_copy_bandwidth(),
            "measured: a copy within a device's memory by CuPy, bytes read and written",
        )
    from ..problems import poisson_rows

    rows = poisson_rows(128, 128, 128, 7, 1.0)
    solver = Solver(rows, solver="cg", engine="cuda", ranks=1)
    seconds = min(solver.time_product(50) for _ in range(repeats))
    moved = 12.0 * rows.nnz + 20.0 * rows.n
    return moved / seconds, "measured: a product of a 7-point matrix of 128^3 rows, since CuPy is not there"


def _figures(what: str, ranks: list[int]) -> list[dict[str, Any]]:
    with translated():
        return list(core().measure_comm(what, "", ranks, 0, "", "auto"))


def from_figures(
    overlap: list[dict[str, Any]], put: list[dict[str, Any]], bandwidth: float
) -> dict[str, Measured]:
    """Numbers of a machine from what ``bench comm --engine cuda`` measures.

    Parameters
    ----------
    overlap, put : list of dict
        Figures of these two measurements, or lines of a record of them.
    bandwidth : float
        Of a device's memory, bytes per second.
    """
    few = min(int(row["ranks"]) for row in overlap)
    rows = 2 * _HALO // 8  # a line to and from each neighbour
    command = _ROW_BYTES * rows / bandwidth
    launch = max(0.0, _median(overlap, "halo, neither messages nor work", few, _HALO) / 2 - command)
    large = [row for row in put if row["way"].startswith("our kernel") and row["remark"] == "one direction"]
    link = max(float(row["bytes_per_s"]) for row in large)
    busy = launch + 2 * command + _HALO / link
    latency = max(0.0, _median(overlap, "halo, no work", few, _HALO) - busy)
    sums = _ROW_BYTES * _SUM_ROWS / bandwidth
    start = max(0.0, _median(overlap, "four sums, of one GPU alone, no work", few) - launch - sums)
    between = {
        int(row["ranks"]): float(row["median_s"]) - start - sums
        for row in overlap
        if row["way"] == "four sums, no work"
    }
    how = "bench comm --what overlap"
    return {
        "launch_s": (launch, f"measured: half of 'halo, neither messages nor work', less its bytes ({how})"),
        "link_latency_s": (latency, f"measured: 'halo, no work' less a launch and its bytes ({how})"),
        "link_bandwidth": (
            link,
            "measured: stores of a kernel into a peer's memory, the best size (bench comm --what put)",
        ),
        "reduction_start_s": (
            start,
            f"measured: 'four sums, of one GPU alone, no work' less a launch and its bytes ({how})",
        ),
        **_fitted(between, f"'four sums, no work' less reduction_start_s and its bytes ({how})"),
    }


def push_of(overlap: list[dict[str, Any]]) -> Extra:
    """For how long a command lasts because it sends: what a halo adds to work that would hide all of it."""
    few = min(int(row["ranks"]) for row in overlap)
    alone, both = (_median(overlap, f"halo, {how}", few, _HALO) for how in ("work alone", "behind work"))
    how = "measured: 'halo, behind work' less 'halo, work alone' (bench comm --what overlap)"
    return {"seconds": max(0.0, both - alone)}, how


def _median(rows: list[dict[str, Any]], way: str, ranks: int, size: int | None = None) -> float:
    for row in rows:
        if row["way"] == way and row["ranks"] == ranks and size in (None, row["bytes"]):
            return float(row["median_s"])
    raise DeviceError(
        f"the measurement '{way}' on {ranks} devices is missing: nothing can be calibrated without it"
    )
