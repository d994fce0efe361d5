"""What paper 001's page says of tiles, on CPUs and on GPUs, is in the records that it names."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path

import pytest

from sordino.bench import tiles

ROOT = Path(__file__).parents[2]

#: How the page tells which tile is the fastest on a GPU, of these cells.
FASTEST = {
    "128 x 64 x 256": "So {best} is the fastest here, {jacobi:.2f} times Jacobi's time, and {scaled:.2f} times that of",
    "256 x 128 x 512": "With {best} a solve takes {jacobi:.2f} times Jacobi's time, and {scaled:.2f} times that of",
}


def _recorded(name):
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _decision():
    return next((ROOT / "docs" / "adr").glob("0029-*")).read_text(encoding="utf-8")


def _page():
    return (ROOT / "docs" / "theory" / "001.md").read_text(encoding="utf-8")


def test_the_page_of_the_paper_has_the_record_s_figures():
    rows = _recorded(max((ROOT / "bench" / "records").glob("*_tiles_2_cores.jsonl")).name)
    page = _page()
    assert [tuple(row["tile"]) for row in rows] == tiles.shapes((64, 32, 128), "host")
    base = next(row for row in rows if tuple(row["tile"]) == tiles.BASE)
    for row in rows:
        said = f"| {' x '.join(map(str, row['tile']))} | {100 * row['cut']:.1f} % | {row['paper']} "
        said += f"| {row['paper'] / base['paper']:.2f} | {row['iterations']} |"
        assert f"{said} {row['iterations'] / base['iterations']:.2f} |" in page
    line = tiles.fit(rows)
    decision = _decision()
    for text in (page, decision):
        assert f"{line['whole']:.0f} + {line['slope']:.0f} " in text
    assert f"within\n{100 * line['worst']:.0f} %" in page or f"within {100 * line['worst']:.0f} %" in page


def _by_length(seed):
    """Rows of the scan with longer cells, by how many times as long they are in z."""
    found = {}
    for row in _recorded("2026-11-26_tiles_spacing_2_cores.jsonl"):
        if row.get("seed", 0) == seed:
            found.setdefault(row["spacing"][2], []).append(row)
    return found


def _turned(rows):
    """Pairs of rows in another order than the paper's."""
    pairs = list(itertools.combinations([(row["iterations"], row["paper"]) for row in rows], 2))
    return sum((one[0] - other[0]) * (one[1] - other[1]) < 0 for one, other in pairs), len(pairs)


def _off(rows):
    """By how much each row's iterations, of those of 4 x 4 x 4, differ from the paper's, relative to these."""
    (base,) = (row for row in rows if tuple(row["tile"]) == tiles.BASE)
    return [abs(row["iterations"] / base["iterations"] * base["paper"] / row["paper"] - 1) for row in rows]


def test_iterations_with_longer_cells_are_the_record_s():
    found, page = _by_length(0), _page()
    bases = {
        length: next(r for r in rows if tuple(r["tile"]) == tiles.BASE) for length, rows in found.items()
    }
    for k, row in enumerate(found[1.0]):
        said = f"| {' x '.join(map(str, row['tile']))} | {row['paper'] / bases[1.0]['paper']:.2f} "
        for length in (1.0, 1.5, 2.0, 4.0):
            each = found[length][k]
            assert each["tile"] == row["tile"] and each["converged"]
            said += f"| {each['iterations']:,} " if length > 1 else ""
            said += f"| {each['iterations'] / bases[length]['iterations']:.2f} "
        assert f"{said}|" in page


def test_what_longer_cells_do_to_the_order_of_table_1():
    found, page = _by_length(0), " ".join(_page().split())
    assert {length: _turned(rows) for length, rows in found.items()} == {
        1.0: (5, 36), 1.5: (1, 36), 2.0: (0, 36), 4.0: (1, 36),
    }  # fmt: skip
    slab, *others = _off(found[2.0])
    assert (
        f"the eight of a GPU have the paper's ratios within {100 * max(others):.0f} %; the slab's is "
        f"{100 * slab:.0f} % off, and those of cubes were up to {100 * max(_off(found[1.0])):.0f} %" in page
    )
    line = tiles.fit(found[2.0])
    said = f"{line['whole']:,.0f} + {line['slope']:,.0f}"
    decision = _decision()
    assert f"{said} times their part, within {100 * line['worst']:.0f} %" in page
    assert f"iterations are {said} c within {100 * line['worst']:.0f} %" in decision
    other = _by_length(1)
    assert (_turned(other[2.0])[0], _turned(other[1.0])[0]) == (0, 6)
    assert (
        f"ratios within {100 * max(_off(other[2.0])):.0f} % of the paper's, and of cubes six pairs do not"
        in page
    )
    flat, base = (next(r for r in found[2.0] if tuple(r["tile"]) == tile) for tile in ((8, 8, 1), tiles.BASE))
    assert (
        f"would take {100 * (1 - flat['iterations'] / base['iterations']):.0f} % fewer iterations" in decision
    )


def test_the_paper_s_own_rows_lie_on_a_line_if_its_cells_are_longer():
    size = (256, 128, 512)
    iterations = {(256, 128, tiles.SLAB): tiles.SLAB_ITERATIONS} | {
        t: row[0] for t, row in tiles.PAPER.items()
    }
    worst = {}
    for length in (1, 2):
        rows = [{"cut": tiles.cut(size, t, (1, 1, length)), "iterations": n} for t, n in iterations.items()]
        worst[length] = f"{100 * tiles.fit(rows)['worst']:.0f} %"
    page = " ".join(_page().split())
    assert (
        f"line within {worst[2]}, if their cells are twice as long, and within {worst[1]} if they are cubes"
        in page
    )


def test_how_many_more_iterations_tiles_take_than_slabs_is_told_beside_figure_4():
    newest = max((ROOT / "bench" / "records").glob("*_tiles_2_cores.jsonl"))
    rows = {tuple(row["tile"]): row for row in _recorded(newest.name)}
    slab, ours, fastest = (
        rows[tile] for tile in (tiles.shapes((64, 32, 128), "host")[0], tiles.BASE, (8, 8, 1))
    )
    of_slabs, of_tiles = 12_058, 16_897  # as Fig. 4 says
    longer = {tuple(row["tile"]): row["iterations"] for row in _by_length(0)[2.0]}
    two = [longer[tile] / longer[tuple(slab["tile"])] for tile in (tiles.BASE, (8, 8, 1))]
    page = _page()
    for sentence in (
        f"with slabs {of_slabs:,} iterations, with the GPUs' tiles {of_tiles:,}, {of_tiles / of_slabs:.2f} times as",
        f"4 x 4 x 4 takes {ours['iterations']}, {ours['iterations'] / slab['iterations']:.2f} times the slab's "
        f"{slab['iterations']}.",
        f"takes {fastest['iterations'] / slab['iterations']:.2f} times the slab's iterations here, and "
        f"{fastest['paper'] / slab['paper']:.2f} times there",
        f"With cells twice as long in z the two take {two[0]:.2f} and {two[1]:.2f} times the slab's",
    ):
        assert sentence in page


TABLE_1 = {1.0: "2026-11-26_table_1_tiles_h100.jsonl", 2.0: "2026-11-26_tiles_spacing_h100.jsonl"}
LAYOUTS = "2026-11-26_tile_layouts_h100.jsonl"


def _at_its_size(length):
    """Table I at its own size, of cells so many times as long in z: the CPU's row, and a GPU's, each with t1 and t2.

    A time is that of the solve, with what its tiles take an iteration exchanged.
    """
    spaced = [row for row in _recorded(TABLE_1[2.0]) if row["spacing"][2] == length]
    (slab,) = (row for row in spaced if row["engine"] == "host")
    rows = _recorded(TABLE_1[1.0]) if length == 1 else [row for row in spaced if row["engine"] == "cuda"]
    for row, layout in zip(rows, _recorded(LAYOUTS), strict=True):
        assert row["tile"] == layout["tile"] and row["converged"] and row["spacing"] == [1, 1, length]
        assert row["machine"]["devices"] == layout["machine"]["devices"] == ["NVIDIA H100 80GB HBM3"]
        row["layout"] = layout
        for name, way in (("t1", "x_fastest_ms"), ("t2", "z_fastest_ms")):
            row[name] = row["seconds"] + 1e-3 * row["iterations"] * (layout[way] - layout["interleaved_ms"])
    assert [tuple(row["tile"]) for row in rows] == list(tiles.PAPER)
    assert slab["tile"] == [256, 128, tiles.SLAB] and slab["converged"]
    return slab, rows


def _to_base(rows, row, key, paper=""):
    (base,) = (each for each in rows if tuple(each["tile"]) == tiles.BASE)
    ratio = f"{row[key] / base[key]:.2f}"
    return f"{ratio} ({row[paper] / base[paper]:.2f})" if paper else ratio


def _iterations_lines():
    """Table I's iterations, with cubes and with longer cells."""
    both = [_at_its_size(length) for length in TABLE_1]
    for row, longer in zip(*([slab, *rows] for slab, rows in both), strict=True):
        said = f"| {' x '.join(map(str, row['tile']))} | {row['paper']} | {row['iterations']:,} "
        said += f"| {_to_base(both[0][1], row, 'iterations', 'paper')} | {longer['iterations']:,} "
        yield f"{said}| {_to_base(both[1][1], longer, 'iterations', 'paper')} |"


def _times_lines():
    """Both times of Table I, with longer cells, and in brackets the paper's ratios; and ratios of cubes."""
    (_, cubes), (_, longer) = (_at_its_size(length) for length in TABLE_1)
    for row, cube in zip(longer, cubes, strict=True):
        layout = row["layout"]
        cells = [" x ".join(map(str, row["tile"]))]
        cells += [f"{layout[way]:.2f}" for way in ("x_fastest_ms", "z_fastest_ms", "interleaved_ms")]
        for time in ("t1", "t2"):
            cells += [
                f"{row[time]:.1f}",
                _to_base(longer, row, time, f"paper_{time}"),
                _to_base(cubes, cube, time),
            ]
        yield f"| {' | '.join(cells)} | {row['seconds']:.2f} |"


def test_table_1_at_its_own_size_is_the_records():
    page = _page()
    for name in (*TABLE_1.values(), LAYOUTS):
        assert f"`{name}`" in page
    for line in (*_iterations_lines(), *_times_lines()):
        assert line in page


def test_table_1_has_the_paper_s_order_where_cells_are_twice_as_long():
    slab, rows = _at_its_size(2.0)
    assert _turned([slab, *rows]) == (0, 36)
    turned = _turned([_at_its_size(1.0)[0], *_at_its_size(1.0)[1]])[0]
    base = next(row for row in rows if tuple(row["tile"]) == tiles.BASE)
    first = slab["iterations"] / base["iterations"] * base["paper"] / slab["paper"] - 1
    page = " ".join(_page().split())
    said = "all nine rows stand in the paper's order, and the eight of a GPU have its ratios within "
    said += f"{math.ceil(100 * max(_off(rows)))} %"
    assert (
        f"{said}; the slab's is {100 * first:.0f} % off. Of cubes {turned} pairs of 36 stand in another order."
        in page
    )


def test_what_is_told_of_both_times_of_table_1():
    (slab, cubes), page = _at_its_size(1.0), _page()
    base, line = next(row for row in cubes if tuple(row["tile"]) == tiles.BASE), tiles.fit(cubes)
    layout, each = base["layout"], 1e3 * slab["seconds"] / slab["iterations"]
    for sentence in (
        f"ours takes {layout['z_fastest_ms'] / layout['x_fastest_ms']:.1f} times as long with z fastest",
        f"Iterations of cubes are {line['whole']:,.0f} + {line['slope']:,.0f} times the part of couplings that is cut, "
        f"within {100 * line['worst']:.0f} %.",
        f"{slab['ranks']} ranks on {slab['machine']['cores']} cores, {each:.0f} ms an iteration",
    ):
        assert sentence in page
    flat = {}
    for length in TABLE_1:
        _, rows = _at_its_size(length)
        of = {tuple(row["tile"]): row for row in rows}
        assert [tuple(row["tile"]) for row in sorted(rows, key=lambda row: row["t2"])][:2] == [
            (8, 8, 1),
            (16, 16, 1),
        ]
        flat[length] = [of[tile]["t1"] / of[tiles.BASE]["t1"] for tile in ((8, 8, 1), (16, 16, 1))]
    said = "flat tiles are {:.1f} and {:.1f} times as slow as 4 x 4 x 4 (cubes {:.1f} and {:.1f})"
    assert said.format(*flat[2.0], *flat[1.0]) in page

    def off(tile, time):  # of longer cells: by how much a ratio is the paper's
        return (
            of[tile][time]
            / of[tiles.BASE][time]
            * of[tiles.BASE][f"paper_{time}"]
            / of[tile][f"paper_{time}"]
        )

    worst = max(abs(off(tile, "t2") - 1) for tile in ((8, 8, 1), (16, 16, 1)))
    assert f"with the paper's ratios within {math.ceil(100 * worst)} %" in page
    assert {f"{off(tile, 't1'):.1f}" for tile in ((2, 4, 64), (1, 8, 8))} == {"2.2"}
    assert "with which the same two have ratios 2.2 times as high" in page


def test_large_tiles_of_four_times_the_cells_are_told_as_recorded():
    name = "2026-11-26_tile_layouts_of_four_times_the_cells_h100.jsonl"
    ways = ("x_fastest_ms", "z_fastest_ms")
    of_four, of_one = (
        {tuple(row["tile"]): [row[way] for way in ways] for row in _recorded(file)}
        for file in (name, LAYOUTS)
    )
    (_, z1), (x2, z2), (x0, z0) = (of_four[tile] for tile in ((16, 32, 4), (16, 16, 4), tiles.BASE))
    before = [of_one[tile][1] / of_one[tiles.BASE][1] for tile in ((16, 32, 4), (16, 16, 4))]
    page = _page()
    assert f"(`{name}`)" in page and f"{z1 / z0:.2f}" == f"{z2 / z0:.2f}"
    assert (
        f"both then take {z1 / z0:.2f} times the 4 x 4 x 4's milliseconds ({before[0]:.2f} and {before[1]:.2f} at"
        in page
    )
    assert (
        f"slower one here, too, by {x2 / of_four[16, 32, 4][0]:.1f} ({x2 / x0:.1f} times 4 x 4 x 4)" in page
    )


@pytest.mark.parametrize("cells", FASTEST)
def test_seconds_of_tiles_on_a_gpu(cells):
    before, card, after = re.split(rf"\| tile, one (H\d+), {cells} \|", _page())
    name = re.findall(r"`(\d{4}-\d\d-\d\d_\w+\.jsonl)`", before)[-1]  # the last that is named above the table
    runs = [r for r in _recorded(name) if r["bench"] == "tiles" and " x ".join(map(str, r["size"])) == cells]
    wanted = []
    for run in runs:
        (device,) = run["machine"]["devices"]
        assert card in device and run["repeats"] == 3 and run["converged"]
        tile, each = run.get("tile"), 1e3 * run["seconds"] / run["iterations"]
        said = (
            f"{' x '.join(map(str, tile))} | {100 * run['cut']:.1f} %"
            if tile
            else f"`{run['precond']}` instead |"
        )
        wanted.append(f"| {said} | {run['iterations']:,} | {each:.3f} | {run['seconds']:.3f} |")
    assert after.partition("\n\n")[0].splitlines()[2:] == wanted
    best = min((run for run in runs if "tile" in run), key=lambda run: run["seconds"])
    jacobi, scaled = (best["seconds"] / run["seconds"] for run in runs if "tile" not in run)
    assert (
        FASTEST[cells].format(best=" x ".join(map(str, best["tile"])), jacobi=jacobi, scaled=scaled)
        in _page()
    )


def test_iterations_are_met_by_the_model_that_picks_tiles():
    """Decision 29's: 240 B a cell at 4.3 TB/s and 0.3 us for each cell of a tile, of the shapes it picks from."""
    shapes = [[4, 4, 4], [8, 4, 4], [8, 8, 4], [8, 4, 8], [8, 8, 8]]
    parts = [
        (240 * math.prod(run["size"]) / 4.3e12 + 0.3e-6 * math.prod(run["tile"]))
        * run["iterations"]
        / run["seconds"]
        for name in ("2026-11-23_kernels_h200.jsonl", "2026-11-23_tiles_h200.jsonl")
        for run in _recorded(name)
        if run.get("tile") in shapes
    ]
    assert len(parts) == 9
    assert f"That is {min(parts):.2f} to {max(parts):.2f} of the nine measured times" in _decision()


@pytest.mark.parametrize(
    ("name", "digits"), [("2026-11-23_kernels_h200.jsonl", 3), ("2026-11-23_tiles_h200.jsonl", 2)]
)
def test_the_decision_has_the_scans_that_its_model_is_of(name, digits):
    text = _decision()
    told = {"jacobi": "Jacobi", "sqrt-jacobi": "sqrt-jacobi"}
    runs = [run for run in _recorded(name) if run["bench"] == "tiles"]
    said = {told.get(run["precond"]) or " x ".join(map(str, run["tile"])): run for run in runs}
    shapes = ["4 x 4 x 4", "8 x 4 x 4", "8 x 8 x 4", *told.values()]
    for label in [*shapes, "8 x 8 x 16" if digits == 3 else "8 x 4 x 8"]:
        count, seconds = f"{said[label]['iterations']:,}", f"{said[label]['seconds']:.{digits}f}"
        first = label == shapes[0]
        wanted = f"takes {count} iterations and {seconds} s" if first else f"{count} and {seconds}"
        assert re.search(rf"{label}\s{re.escape(wanted)}", text), label
