"""Triangular solves on 1, 2 and 4 GPUs, and paper 004's algorithm in its layouts: predicted, measured, and how well.

    trsv_counts.py predict PROGRAM ORDERS OUT.jsonl          both descriptions, without a GPU
    trsv_counts.py measure PROGRAM ORDERS OUT.jsonl [GPUS]   on a machine with so many GPUs, 4
    trsv_counts.py layouts PROGRAM ORDERS OUT.jsonl          the paper's layouts alone, by the description of H200s
    trsv_counts.py score PREDICTED.jsonl MEASURED.jsonl NAME a table in Markdown, of the description NAME; layouts by
                                                             Algorithm 2, or with one more word, steps, by its steps

PROGRAM is bench_triangular, ORDERS a folder with metis_POINTS_SIDE.i32. Predictions belong into a record before
anything is measured.
"""

from __future__ import annotations

import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

Row = dict[str, Any]

#: Points, side and order of structures that no earlier record has times of.
STRUCTURES = [
    (7, 48, "metis"),
    (7, 48, "planes"),
    (7, 56, "metis"),
    (7, 56, "planes"),
    (7, 72, "metis"),
    (7, 80, "metis"),
    (7, 80, "planes"),
    (27, 24, "metis"),
    (27, 30, "metis"),
    (27, 30, "planes"),
    (27, 36, "metis"),
    (5, 700, "metis"),
    (5, 700, "planes"),
    (5, 1200, "metis"),
]
#: Of these the paper's algorithm, too.
LAYOUTS_OF = [
    row for row in STRUCTURES if row[:2] in {(7, 48), (7, 56), (7, 72), (27, 24), (27, 30), (27, 36)}
][:8]
LAYOUTS = ["1x1", "2x1", "1x2", "4x1", "1x4", "2x2"]
DESCRIPTIONS = ["h200x4", "h100x2"]
#: What all measurements together may take.
MOST_SECONDS = 240


def lines_of(program: str, orders: str, structure: tuple[int, int, str], words: list[str]) -> list[Row]:
    """What the program prints of a structure; nothing, with a word of why, where it fails."""
    points, side, order = structure
    path = "-" if order == "planes" else f"metis_{points}_{side}.i32"
    command = [os.path.abspath(program), str(points), str(side), path, *words]
    run = subprocess.run(command, cwd=orders, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        print(f"{structure} {words}: {run.stderr.strip()}", file=sys.stderr)
    return [{**json.loads(line), "order": order} for line in run.stdout.splitlines()]


def gpus_of(row: Row) -> int:
    """That a line is of."""
    if "layout" in row:
        rows, columns = row["layout"].split("x")
        return int(rows) * int(columns)
    return int(row["ranks"])


def predict(program: str, orders: str, names: list[str], solves: bool = True) -> list[Row]:
    """Layouts, and all solves, by these descriptions."""
    rows = []
    for name in names:
        for structure in STRUCTURES:
            words = [f"described={name}", "repeats=0"]
            if solves:
                ways = ["direction=forward,backward", "ranks=1,2,4"]
                rows += lines_of(program, orders, structure, [*words, *ways])
            if structure in LAYOUTS_OF:
                layouts = ["algorithm=paper", "layout=" + ",".join(LAYOUTS)]
                rows += lines_of(program, orders, structure, [*words, *layouts])
            print(name, structure, file=sys.stderr)
    return [{"bench": "triangular_prediction", **row} for row in rows]


def measure(program: str, orders: str, gpus: int) -> list[Row]:
    """The same, measured; what there is no time left for is said, and left out."""
    begin, rows = time.monotonic(), []
    counts = ",".join(str(count) for count in (1, 2, 4) if count <= gpus)
    layouts = ",".join(x for x in LAYOUTS if gpus_of({"layout": x}) <= gpus)
    for structure in STRUCTURES:
        for words in (
            ["direction=forward,backward", f"ranks={counts}", "repeats=15"],
            ["algorithm=paper", f"layout={layouts}", "repeats=7"],
        ):
            if words[0] == "algorithm=paper" and structure not in LAYOUTS_OF:
                continue
            if time.monotonic() - begin > MOST_SECONDS:
                print(f"no time left for {structure} {words}", file=sys.stderr)
                continue
            rows += lines_of(program, orders, structure, words)
    return [{"bench": "triangular", **row} for row in rows]


def key_of(row: Row) -> tuple[Any, ...]:
    """What is solved."""
    way = row.get("algorithm", "plan") if "layout" in row else row["direction"]
    return int(row["points"]), int(row["side"]), row["order"], way


def choice_of(row: Row) -> str:
    """Among what is chosen for it."""
    return row["layout"] if "layout" in row else str(row["ranks"])


def paired(
    predicted: list[Row], measured: list[Row], name: str, key: str = "predicted_seconds"
) -> dict[tuple[Any, ...], dict[str, tuple[float, float]]]:
    """Of each solve what was predicted and measured for each choice, where there are both."""
    seconds = {
        (key_of(row), choice_of(row)): row[key]
        for row in predicted
        if row["described"] == name and key in row
    }
    pairs: dict[tuple[Any, ...], dict[str, tuple[float, float]]] = {}
    for row in measured:
        at = (key_of(row), choice_of(row))
        if "seconds" in row and at in seconds:
            pairs.setdefault(at[0], {})[at[1]] = (seconds[at], row["seconds"])
    return pairs


def named(times: dict[str, tuple[float, float]], which: int) -> str:
    """The choice with the least time, predicted (0) or measured (1)."""
    return min(times, key=lambda choice: times[choice][which])


def score(pairs: dict[tuple[Any, ...], dict[str, tuple[float, float]]]) -> str:
    """Tables of solves and of layouts, each with how many were named right, and the median error."""
    texts = []
    for is_paper, what in ((False, "GPUs"), (True, "layout")):
        some = {key: times for key, times in pairs.items() if (key[3] == "paper") == is_paper}
        if not some:
            continue
        choices = list(dict.fromkeys(choice for times in some.values() for choice in times))
        head = [
            "structure",
            *(f"{choice}, predicted / measured, ms" for choice in choices),
            f"best {what}",
            "named",
        ]
        lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        right, errors, lost = 0, [], []
        for (points, side, order, way), times in some.items():
            best, said = named(times, 1), named(times, 0)
            right += best == said
            errors += [abs(p / m - 1) for p, m in times.values()]
            lost.append(times[said][1] / times[best][1] - 1)
            cells = [
                f"{1e3 * times[c][0]:.3f} / {1e3 * times[c][1]:.3f}" if c in times else "" for c in choices
            ]
            grid = f"{points} points, {side}^{2 if points == 5 else 3}, {order}" + (
                "" if is_paper else f", {way}"
            )
            lines.append(f"| {' | '.join([grid, *cells, best, said])} |")
        lines.append("")
        lines.append(
            f"Named right: {right} of {len(some)} ({100 * right / len(some):.0f} %); what was named takes at most "
            f"{100 * max(lost):.0f} % longer than the fastest, {100 * statistics.median(lost):.0f} % in the median. "
            f"Median error of {len(errors)} times: {100 * statistics.median(errors):.0f} %."
        )
        texts.append("\n".join(lines))
    return "\n\n".join(texts)


def rows_in(path: str) -> list[Row]:
    """Of a record."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def keep(rows: list[Row], path: str) -> None:
    """As a record, with the time."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({**row, "date": now}) + "\n")


def main() -> None:
    """By the words of the command line."""
    what, *rest = sys.argv[1:] or ["help"]
    if what == "predict" and len(rest) == 3:
        keep(predict(rest[0], rest[1], DESCRIPTIONS), rest[2])
    elif what == "layouts" and len(rest) == 3:
        keep(predict(rest[0], rest[1], ["h200x4"], solves=False), rest[2])
    elif what == "measure" and len(rest) in (3, 4):
        keep(measure(rest[0], rest[1], int(rest[3]) if len(rest) == 4 else 4), rest[2])
    elif what == "score" and (len(rest) == 3 or rest[3:] == ["steps"]):
        key = "predicted_by_steps" if rest[3:] else "predicted_seconds"
        print(score(paired(rows_in(rest[0]), rows_in(rest[1]), rest[2], key)))
    else:
        print(__doc__, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
