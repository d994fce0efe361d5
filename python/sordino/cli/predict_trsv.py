"""``sordino predict trsv FILE``: how long triangular solves take on described machines, and on how many ranks least."""

from __future__ import annotations

import json
import math
import os
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from .. import _paper_prediction, _triangular_prediction, machines
from .._direct import check_trans
from .._factoring import Choice, sweeps_of
from .._ordering import ORDERINGS
from .._triangular_options import ALGORITHMS, MOST_RANKS, checked_width
from .._triangular_prediction import Sweeps
from ..errors import BadArgument, SordinoError
from ..io import load_factors, read_matrix
from ..report import plan_picture, times_over_ranks
from ..report.record import json_ready
from ..report.times_over_ranks import Curve
from ..report.words import count, duration, quantity, sentence
from . import display, predict_trsv_paper
from .common import Parser, output_file, whole_number, whole_numbers
from .processes import say
from .trsv_system import is_of_factors_file


def main(argv: Sequence[str]) -> int:
    """Predict, print a table and a sentence or one JSON object; return 0."""
    given = _parser().read(argv)
    check_trans(given.trans)
    ranks = _ranks(given.ranks)
    told = given.width if given.width in (None, "auto") else whole_number(given.width, "--width")
    width = checked_width(told)
    columns = whole_number(given.nrhs, "--nrhs")
    if columns < 1:
        raise BadArgument(f"--nrhs is at least 1, not {columns}")
    if given.algorithm not in ALGORITHMS:
        raise BadArgument(f"--algorithm is {' or '.join(ALGORITHMS)}, not '{given.algorithm}'")
    if given.algorithm == "paper":
        predict_trsv_paper.check(given, columns)
    elif given.layout is not None:
        raise BadArgument("--layout names layouts of --algorithm paper, and this is algorithm ours")
    machine = machines.load(given.machine)
    measured = _measured(given)
    picture = output_file(given.plot, given, (".svg",), "picture")
    plan_picture_file = output_file(given.plan, given, (".svg",), "picture")
    name, sweeps, choice = _sweeps(given)
    if given.algorithm == "paper":
        predict_trsv_paper.predict(given, name, sweeps, choice, machine, ranks, checked_width(told, "paper"))
        return 0
    try:
        found = _triangular_prediction.predicted(sweeps, machine, ranks, columns, width)
        if given.layouts:
            numbers = [row["ranks"] for row in found["predicted"]]
            found["layouts"] = _paper_prediction.predicted_layouts(
                sweeps, machine, numbers, columns, checked_width(told, "paper")
            )
            found["best_layout"] = _paper_prediction.best_layout(found["layouts"])
        if plan_picture_file:
            if found["by_rows"]:
                raise BadArgument("a triangle is kept by rows, and --plan draws plans of blocks")
            most = plan_picture.MOST_TASKS
            plan = _triangular_prediction.modelled_plan(
                sweeps, machine, found["best"], found["widths"][0], most
            )
    except SordinoError as wrong:
        raise type(wrong)(f"{name}: {wrong}") from None
    if plan_picture_file:
        heading = f"{os.path.basename(name)}: the plan of a solve {sweeps.triangles[0][1][0]}"
        plan_picture_file.write(plan_picture.drawing(plan, f"{heading}, on machine {machine['name']}"))
    if picture:
        of_what = "" if columns == 1 else f" for {count(columns, 'right-hand side')}"
        heading = f"{os.path.basename(name)}: a solve{of_what} on machine {machine['name']}"
        picture.write(times_over_ranks.drawing(_curves(found, measured), heading))
    if given.json:
        facts = {"name": name, "n": sweeps.rows, "machine": machine["name"], "what": sweeps.words}
        more = {"trans": given.trans, "right_hand_sides": columns, **choice.facts}
        say(json.dumps(json_ready({**facts, **more, **found}), allow_nan=False))
    else:
        _show(name, sweeps, machine, found, columns, choice)
        for file in filter(None, (picture, plan_picture_file)):
            say(f"Drawn in {file.path}.")
    return 0


def _ranks(text: str | None) -> list[int] | None:
    """Ascending, each once; None: nobody said which."""
    if text is None:
        return None
    ranks = sorted(set(whole_numbers(text, "--ranks")))
    if not ranks or ranks[0] < 1 or ranks[-1] > MOST_RANKS:
        raise BadArgument(f"--ranks are numbers from 1 to {MOST_RANKS} with commas between, not {text!r}")
    return ranks


def _curves(found: dict[str, Any], measured: dict[tuple[str, int], float]) -> list[Curve]:
    """Ours, and the layouts of the paper's algorithm by their shapes."""
    rows = [{"shape": "", **row} for row in found["predicted"]] + found.get("layouts", [])
    curves = []
    for shape in dict.fromkeys([*(row["shape"] for row in rows), *(of for of, _ in measured)]):
        name = f"paper's, {shape}" if shape else "ours" if "layouts" in found else "predicted"
        predicted = {row["ranks"]: row["seconds"] for row in rows if row["shape"] == shape}
        crosses = {ranks: seconds for (of, ranks), seconds in measured.items() if of == shape}
        curves.append(Curve(name, predicted, crosses))
    return curves


def _measured(given: Namespace) -> dict[tuple[str, int], float]:
    """Seconds by shape (none: ours) and ranks, as --measured says them."""
    if given.measured is None:
        return {}
    if given.plot is None:
        raise BadArgument("--measured is drawn by --plot: give both")
    found: dict[tuple[str, int], float] = {}
    for word in given.measured.split(","):
        place, _, seconds = word.partition(":")
        try:
            grid, value = [int(part) for part in place.split("x")], float(seconds)
        except ValueError:
            grid, value = [], 0.0
        if (
            len(grid) not in (1, 2)
            or min(grid) < 1
            or math.prod(grid) > MOST_RANKS
            or not 0 < value < math.inf
        ):
            raise BadArgument(
                "--measured is RANKS:SECONDS, or a layout's PxQ:SECONDS, with commas between, such as "
                f"1:2.6e-3,2:1.5e-3, not {word!r}"
            )
        found[_shape_of(grid, given.layouts), math.prod(grid)] = value
    return found


def _shape_of(grid: list[int], drawn: bool) -> str:
    """Whose curve a measurement belongs to: that of a layout's shape, or ours, the empty one."""
    if len(grid) == 1:
        return ""
    shapes = _triangular_prediction.shapes_of(math.prod(grid))
    for shape, layout in shapes.items():
        if drawn and list(layout) == grid:
            return shape
    known = ", ".join(f"{rows}x{columns}" for rows, columns in shapes.values())
    raise BadArgument(
        f"--measured names the layout {grid[0]}x{grid[1]}, and drawn are {known if drawn else 'none without --layouts'}"
    )


def _parser() -> Parser:
    parser = Parser(
        "predict trsv",
        "Predict a solve with a sparse triangle, or with --factor with any square matrix by its triangular factors, on "
        "numbers of ranks of a described machine: which is the fastest. Nothing is solved; a matrix is factored, as by "
        "trsv, where its pattern does not tell its factors.",
    )
    parser.add_argument("file", metavar="FILE", help="a matrix or factors (.npz), as trsv takes them")
    parser.add_argument(
        "--factor",
        action="store_true",
        help="the factors that trsv --factor finds: by the pattern alone where it is symmetric, without zeros on "
        "the diagonal, and the ordering metis or natural",
    )
    parser.add_argument(
        "--ordering", default="auto", metavar="|".join(ORDERINGS), help="of --factor (default auto)"
    )
    parser.add_argument("--upper", action="store_true", help="the triangle is an upper one")
    parser.add_argument("--trans", default="N", metavar="N|T|H", help="solves with A, A^T or A^H (default N)")
    parser.add_argument("--nrhs", default="1", metavar="K", help="right-hand sides (default 1)")
    parser.add_argument(
        "--width",
        metavar="N|auto",
        help="most columns of a block, or auto: by prediction (default 256, of the paper's algorithm 128)",
    )
    parser.add_argument(
        "--machine",
        default=machines.DEFAULT,
        metavar="NAME|FILE",
        help=f"of {', '.join(machines.names())}, or a .json file (default %(default)s)",
    )
    parser.add_argument(
        "--ranks", metavar="N,N", help="devices (default 1,2,4, as far as the triangle has blocks)"
    )
    parser.add_argument(
        "--layouts",
        action="store_true",
        help="also paper 004's algorithm in its layouts of as many ranks, timed by its steps",
    )
    parser.add_argument(
        "--algorithm",
        default="ours",
        metavar="|".join(ALGORITHMS),
        help="ours, or Algorithm 2 of paper 004: its layouts by their critical paths (default ours)",
    )
    parser.add_argument(
        "--layout",
        metavar="PxQ,PxQ",
        help="of --algorithm paper: these layouts (default all of --ranks, or of 1,2,4,6,12,18)",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the times over ranks (.svg)")
    parser.add_argument(
        "--plan",
        metavar="FILE",
        help="draw the plan on the fastest number of ranks, and its critical path (.svg)",
    )
    parser.add_argument(
        "--measured",
        metavar="N:S,N:S",
        help="of --plot: seconds S that a solve took on N ranks, or in a layout PxQ, drawn as crosses",
    )
    parser.add_argument("--force", action="store_true", help="overwrite pictures that exist")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    return parser


def _sweeps(given: Namespace) -> tuple[str, Sweeps, Choice]:
    if is_of_factors_file(given.file):
        if given.factor or given.upper:
            raise BadArgument(f"{given.file} holds factors: leave out --factor and --upper")
        return given.file, _triangular_prediction.of_factors(load_factors(given.file), given.trans), Choice()
    if given.factor and given.upper:
        raise BadArgument("--upper is of a triangle, and --factor is for any matrix: leave one out")
    read = read_matrix(given.file)
    try:
        if given.factor:
            return read.name, *sweeps_of(read.matrix, given.ordering, given.trans)
        triangle = _triangular_prediction.of_triangle(read.matrix, not given.upper, given.trans)
        return read.name, triangle, Choice()
    except SordinoError as wrong:
        hint = ": --factor is for any matrix" if "triangular: there is an entry" in str(wrong) else ""
        raise type(wrong)(f"{read.name}: {wrong}{hint}") from None


def _show(
    name: str, sweeps: Sweeps, machine: dict[str, Any], found: dict[str, Any], columns: int, choice: Choice
) -> None:
    size = quantity(found["stored_bytes"], "B")
    by_rows = f", {count(found['by_rows'], 'triangle')} by rows" if found["by_rows"] else ""
    what = f"{sweeps.rows:,} rows, {sweeps.words}, {size} in {found['blocks']:,} blocks{by_rows}"
    say(f"{name}: {what}; described machine {machine['name']}")
    if choice.reason:
        say(f"Ordering {choice.ordering}: {choice.reason}.")
    for reason in filter(None, found["width_reasons"]):
        say(sentence(reason))
    table = [
        (
            f"{row['ranks']:,}",
            duration(row["seconds"]),
            f"{row['speedup']:.2f}",
            f"{1e-9 * found['stored_bytes'] * len(sweeps.triangles[0][1]) / row['seconds']:,.0f}",
            "not counted" if row["messages"] is None else f"{row['messages']:,}",
        )
        for row in found["predicted"]
    ]
    display.show_table("", ("ranks", "a solve", "speed-up", "GB/s", "messages"), table, left=0)
    if layouts := found.get("layouts"):
        once = {row["layout"]: row for row in layouts}
        times = [(row["layout"], duration(row["seconds"])) for row in once.values()]
        display.show_table("Algorithm 1 of paper 004", ("layout", "a solve"), times, left=1)
    rows = {row["ranks"]: row for row in found["predicted"]}
    best, first = rows[found["best"]], found["predicted"][0]
    who = f"{best['ranks']} ranks are" if best["ranks"] > 1 else "1 rank is"
    said = f"{machine['name']}: {who} the fastest, with {duration(best['seconds'])}"
    if best is not first:
        said += f" against {duration(first['seconds'])} on {first['ranks']}"
    what = "" if columns == 1 else f" for {columns:,} right-hand sides"
    say(f"{said}{what}.")
    if layout := found.get("best_layout"):
        say(
            f"Of the paper's layouts {layout['layout']} is the fastest, with {duration(layout['seconds'])}{what}."
        )
    if found["left_out"]:
        numbers = " and ".join(str(number) for number in found["left_out"])
        say(f"Not predicted: {numbers} ranks, for which a triangle has too few blocks.")
    many = found["predicted"][-1]["ranks"]
    if machines.hosts(machine, many) > 1:
        say(machines.said_of_hosts(machine, many))
