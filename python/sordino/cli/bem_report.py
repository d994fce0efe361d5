"""What ``sordino bem`` shows besides the solve: charges, the H-matrix and the surface, as tables and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._charge import Charge
from ..report import html
from ..report.pictures import Picture, block_structure, rank_map
from ..report.surface_view import surface_view
from ..report.tables import scrolling, table
from ..report.words import duration, quantity

#: Of the H-matrix' statistics, those that ``--json`` has beside the solve's; ``seconds`` there are those of the solve.
_FACTS = (
    "clusters", "low_rank_blocks", "dense_blocks", "nodes", "stored_bytes", "dense_bytes", "mean_rank", "max_rank",
    "compression_error", "error_of_estimate", "misses_eps", "redone_blocks",
)  # fmt: skip
#: Rows and columns of a capacitance matrix in a report, at most.
_MOST_IN_A_PAGE = 30


def facts(found: Charge) -> dict[str, Any]:
    """What ``--json`` says besides the solve."""
    statistics = found.H.statistics
    return {
        "triangles": found.surface.n,
        "conductors": found.surface.conductor_count,
        **{name: statistics[name] for name in _FACTS},
        "build_seconds": statistics["seconds"],
        "total_charge": found.charge,
        "dipole": found.dipole,
        "capacitance": found.capacitance,
    }


def fields(found: Charge) -> dict[str, np.ndarray]:
    """What a file for ParaView holds of each triangle."""
    columns = found.density.reshape(found.surface.n, -1)
    names = ["charge"] if found.density.ndim == 1 else [f"charge_{k}" for k in range(columns.shape[1])]
    given = {} if found.surface.potential is None else {"potential": found.surface.potential}
    conductors = {"conductor": found.surface.conductors.astype(np.float64)}
    return {**dict(zip(names, columns.T, strict=True)), **given, **conductors}


def matrix_rows(statistics: dict[str, Any]) -> list[tuple[str, str]]:
    """The H-matrix as rows of a table."""
    share = statistics["stored_bytes"] / statistics["dense_bytes"]
    over = ", more than eps allows" if statistics["misses_eps"] else ""
    return [
        ("clusters", f"{statistics['clusters']:,}"),
        ("blocks of low rank", f"{statistics['low_rank_blocks']:,}"),
        ("dense blocks", f"{statistics['dense_blocks']:,}"),
        ("rank, mean and largest", f"{statistics['mean_rank']:.1f}, {statistics['max_rank']:,}"),
        ("stored", f"{quantity(statistics['stored_bytes'], 'B')}, {100 * share:.3g} % of the dense matrix"),
        ("||A - A_H|| / ||A||, estimated", f"{statistics['compression_error']:.1e}{over}"),
        ("time to build", duration(statistics["seconds"])),
    ]


def charge_heads(found: Charge) -> tuple[str, ...]:
    """Heads for :func:`charge_rows`."""
    if found.density.ndim == 1:
        return "conductor", "triangles", "area [m^2]", "charge [C]"
    return "conductor", "triangles", "area [m^2]", *(f"charge {k} [C]" for k in range(found.density.shape[1]))


def charge_rows(found: Charge, most: int) -> list[tuple[str, ...]]:
    """The charge of each conductor, where there are not too many, and of all."""
    surface = found.surface
    charges = found.charge.reshape(surface.conductor_count, -1)
    counts, areas = np.bincount(surface.conductors), surface.totals(np.ones(surface.n))
    rows = [
        (str(k), f"{counts[k]:,}", f"{areas[k]:.6g}", *(f"{value:.6e}" for value in charges[k]))
        for k in range(min(most, surface.conductor_count))
    ]
    if surface.conductor_count > 1:
        sums = (f"{value:.6e}" for value in charges.sum(axis=0))
        rows.append((f"all {surface.conductor_count:,}", f"{surface.n:,}", f"{areas.sum():.6g}", *sums))
    return rows


def capacitance_table(found: Charge) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows: charge on the row's conductor where that of the column is at 1 V."""
    assert found.capacitance is not None
    heads = ("capacitance [F]", *(str(k) for k in range(len(found.capacitance))))
    return heads, [(str(k), *(f"{value:.6e}" for value in row)) for k, row in enumerate(found.capacitance)]


def pictures(found: Charge, upwards: str) -> list[Picture]:
    """The charge from two sides, the blocks, and of several ranks who multiplies which."""
    density = found.density.reshape(found.surface.n, -1)[:, 0]
    which = "" if found.density.ndim == 1 else " of the first right-hand side"
    caption = f"Charge density{which} in C/m², from {density.min():.3g} to {density.max():.3g}, seen from"
    views = [
        surface_view(
            found.surface.corners, density, heading, f"{caption} {side}.", azimuth=azimuth, upwards=upwards
        )
        for heading, side, azimuth in (
            ("Charge", "the front", 60.0),
            ("Charge, from behind", "behind", 240.0),
        )
    ]
    return [*views, block_structure(found.H.blocks, found.surface.n), *_rank_maps(found)]


def _rank_maps(found: Charge) -> list[Picture]:
    """Who multiplies which block, if there are several ranks."""
    report = found.solution.report
    ranks = int(report.options["ranks"]) * int(report.problem.get("processes", 1))
    if ranks == 1:
        return []
    distribution = str(report.options["distribution"])
    return [rank_map(found.H.shares(ranks, distribution), found.surface.n, ranks, distribution)]


def sections(found: Charge) -> list[str]:
    """Tables of the charges, of the capacitance and of the H-matrix."""
    charges = scrolling(table(charge_heads(found), charge_rows(found, _MOST_IN_A_PAGE)), "charges")
    parts = [html.section("Charge of the conductors", charges)]
    if found.capacitance is not None and len(found.capacitance) <= _MOST_IN_A_PAGE:
        parts.append(html.section("Capacitance", scrolling(table(*capacitance_table(found)), "capacitance")))
    matrix = table(("", ""), matrix_rows(found.H.statistics), class_="pairs")
    return [*parts, html.section("H-matrix", matrix)]
