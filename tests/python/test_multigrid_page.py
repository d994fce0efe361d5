"""docs/multigrid.md has the figures of its records, and says of each whether it meets what was asked."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PREDICTED = "2026-11-27_multigrid_since_predicted.jsonl"
FEWER_RANKS = "2026-11-27_multigrid_predicted.jsonl"  # coarse levels on fewer ranks, of cycles before
BEFORE = "2026-11-26_multigrid_predicted.jsonl"  # coarse levels on all ranks
LEVELS = "2026-11-27_multigrid_levels_since_predicted.jsonl"
LEVELS_THEN = "2026-11-26_multigrid_levels_predicted.jsonl"  # of the code that was measured
TWO_GPUS = "2026-11-26_multigrid_h200x2.jsonl"
EARLIER = "2026-11-26_multigrid_h200x4.jsonl"
SMALL, SINCE = "2026-11-27_multigrid_h100.jsonl", "2026-11-27_multigrid_since_h200x4.jsonl"
HIERARCHIES, STEPS = (
    "2026-11-27_hierarchies_2_cores.jsonl",
    "2026-11-27_steps_bubbles_since_2_cores.jsonl",
)
ACCURACY = "2026-11-27_accuracy_edges_2_cores.jsonl"
STEPS_OF_LEVELS = "2026-11-27_steps_levels_2_cores.jsonl"
FIELDS = "2026-11-27_multigrid_fields_h200x2.jsonl"
RUNS = "2026-11-27_multigrid_fields_runs_h100x4.jsonl"
PHASES = "2026-11-27_multigrid_phases_h100.jsonl"
LARGEST = "2026-11-27_multigrid_1024_predicted.jsonl"
F_CYCLES = "2026-11-26_f_cycles_2_cores.jsonl"
AMGX = {1.0: (0.09, 0.92), 1000.0: (0.09, 4.17)}  # 256^3 to 1e-8, setup and solve, measured once on an H200


def rows_of(name):
    text = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def page():
    return (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")


def told():
    return " ".join(page().split())


def us(seconds, digits=0):
    return f"{1e6 * seconds:,.{digits}f}"


def test_f_cycles_take_the_iterations_of_w():
    found = {(r["size"], r["contrast"], r["cycle"]): r for r in rows_of(F_CYCLES)}
    for size, contrast, _ in found:
        v, f, w = (found[size, contrast, cycle] for cycle in "vfw")
        assert f["iterations"] == w["iterations"] < v["iterations"]
        assert size < 64 or f["cpu_s"] < 1.1 * min(v["cpu_s"], w["cpu_s"])
        cells = " | ".join(f"{r['iterations']}, {1e3 * r['cpu_s']:.0f}" for r in (v, f, w))
        assert f"| {size}^3, {contrast:,.0f} | {cells} |" in page()


# ---- many GPUs, predicted ----------------------------------------------------------------------------------------


def seconds_of(level):
    return sum(level[f"{name}_s"] for name in ("work", "launch", "halo_wait", "reduction_wait"))


def edge_of(row):
    return round((row["rows"] / row["ranks"]) ** (1 / 3))


def predicted(name=PREDICTED):
    """Lines by cells along an edge of a GPU's cube, GPUs, method."""
    return {(edge_of(row), row["ranks"], row["solver"]): row for row in rows_of(name)}


def hidden(levels, what):
    return sum(max(0.0, level[f"{what}_s"] - level[f"{what}_wait_s"]) for level in levels)


def parts(found):
    """The table of one iteration by part."""
    for (edge, ranks, solver), row in found.items():
        *cycle, around = row["levels"]
        cells = [
            f"{edge}^3", f"{ranks:,}", f"`{solver}`", us(row["iteration_s"]), us(seconds_of(cycle[0])),
            f"{us(sum(map(seconds_of, cycle[1:-1])))} ({len(cycle) - 2})", us(seconds_of(cycle[-1])),
            us(seconds_of(around) - around["reduction_wait_s"]),
            f"{us(around['reduction_wait_s'])} / {us(hidden(row['levels'], 'reduction'))}",
            f"{us(sum(level['halo_wait_s'] for level in row['levels']))} / {us(hidden(row['levels'], 'halo'))}",
        ]  # fmt: skip
        yield "| " + " | ".join(cells) + " |"


def test_the_page_has_what_was_predicted():
    found = predicted()
    expected = [*parts(found)]
    assert PREDICTED in page() and len(expected) >= 15
    assert [line for line in page().splitlines() if line in expected] == expected


def before_and_after():
    """Iterations with coarse levels on all ranks, and on fewer."""
    found, before = predicted(FEWER_RANKS), predicted(BEFORE)
    for case in found:
        edge, ranks, solver = case
        if edge == 64 and case in before:
            old, new = before[case]["iteration_s"], found[case]["iteration_s"]
            yield f"| {ranks:,} | `{solver}` | {us(old)} | {us(new)} | {new / old:.2f} |"


def test_the_page_has_what_fewer_ranks_bring():
    expected = [*before_and_after()]
    assert BEFORE in page() and FEWER_RANKS in page() and len(expected) >= 9
    assert [line for line in page().splitlines() if line in expected] == expected


def test_what_dominates_on_many_gpus_is_told():
    found, text = predicted(), told()
    for edge in {edge for edge, _, _ in found}:
        most = max(ranks for cells, ranks, _ in found if cells == edge)
        row = found[edge, most, "cg"]
        *cycle, around = row["levels"]
        whole, bottom = row["iteration_s"], seconds_of(cycle[-1])
        coarse = sum(map(seconds_of, cycle[1:-1]))
        said = (
            f"On {most:,} GPUs with {edge}^3 cells each the bottom solve is {100 * bottom / whole:.0f} % of an "
            f"iteration of `cg`, its two sums {100 * around['reduction_wait_s'] / whole:.0f} %, and the "
            f"{len(cycle) - 2} levels between the finest and the last {100 * coarse / whole:.0f} %."
        )
        assert said in text, said
        gropp, cbcg = (found[edge, most, solver]["iteration_s"] / whole for solver in ("gropp", "cbcg"))
        assert f"{said} `gropp` takes {gropp:.2f} times as long there, and `cbcg` {cbcg:.2f} times." in text


# ---- levels ------------------------------------------------------------------------------------------------------


def levels_of(name=LEVELS):
    return {(row["size"], row["ranks"]): row for row in rows_of(name)}


def by_level(found):
    """The table of time by level, of a rank in the middle."""
    for (size, ranks), row in found.items():
        of_ranks = list(row["levels"].values())
        levels = of_ranks[len(of_ranks) // 2]
        whole = sum(map(seconds_of, levels))
        names = [" x ".join(map(str, cells)) for cells in row["cells"]]
        for level, name in zip(levels, [*names, "around the cycle"], strict=True):
            cells = [
                f"{size}^3, {ranks}", name, us(seconds_of(level), 1), f"{100 * seconds_of(level) / whole:.0f} %",
                us(level["work_s"], 1), us(level["launch_s"], 1),
                f"{us(level['halo_wait_s'], 1)} / {us(hidden([level], 'halo'), 1)}",
                f"{us(level['reduction_wait_s'], 1)} / {us(hidden([level], 'reduction'), 1)}",
            ]  # fmt: skip
            yield "| " + " | ".join(cells) + " |"


def test_the_page_has_the_levels():
    found = levels_of()
    expected = [*by_level(found)]
    assert LEVELS in page() and expected
    assert [line for line in page().splitlines() if line in expected] == expected
    shares = ", ".join(
        f"{100 * row['below_32']:.0f} % of an iteration at {size}^3 on {ranks}"
        for (size, ranks), row in found.items()
    )
    assert f"Levels of fewer than 32^3 cells take {shares}" in told(), shares


def beside_solves(found):
    """Predicted us of an iteration beside a solve's, shared out over its iterations and the first cycle."""
    measured = {
        (row["size"], row["ranks"]): row["solve_s"] / (row["iterations"] + 1)
        for name in (TWO_GPUS, EARLIER)
        for row in rows_of(name)
        if row["precond"] == "mg" and row["cycle"] == "v" and row["contrast"] == 1.0
    }
    for case, row in found.items():
        if case in measured:
            levels = list(row["levels"].values())
            told = sum(map(seconds_of, levels[len(levels) // 2]))
            ratio = told / measured[case]
            yield f"| {case[0]}^3, {case[1]} | {us(told)} | {us(measured[case])} | {ratio:.2f} |"


def test_the_page_has_predictions_beside_solves():
    expected = [*beside_solves(levels_of(LEVELS_THEN))]
    assert EARLIER in page() and LEVELS_THEN in page() and len(expected) == 3
    assert [line for line in page().splitlines() if line in expected] == expected


# ---- asked and measured ------------------------------------------------------------------------------------------


def solved():
    """(iterations, setup, solve) by problem, size, contrast, preconditioner, GPUs; small balls are an H100's."""
    found = {}
    for row in (*rows_of(SMALL), *rows_of(SINCE), *rows_of(PHASES)):
        if row["precision"] != "double" or row.get("smoother", "chebyshev") != "chebyshev":
            continue
        case = (row["problem"], row["size"], row["contrast"], row["precond"], row["ranks"])
        if row["size"] > 128 and row["machine"]["devices"][0] != "NVIDIA H200":
            continue
        found[case] = (row["iterations"], row["setup_s"], row["solve_s"])
    return found


def verdict(value, most):
    return "met" if value <= most else "missed"


def at(row):
    return row["given"], row["size"], row["contrast"], row["ranks"]


def asked():
    """The rows of the table of what was asked, whose figures are of records."""
    found = solved()
    cases = ((64, 1), (128, 1), (256, 1), (512, 4))
    for contrast, most in ((1.0, 12), (1000.0, 25)):
        counts = [found["ball", size, contrast, "mg", ranks][0] for size, ranks in cases]
        growth = counts[-1] - counts[0]
        said = ", ".join(map(str, counts))
        yield (
            f"| iterations of V, a ball, contrast {contrast:,.0f}, 64^3 to 512^3 | at most {most}, growth at most 3 | "
            f"{said}; growth {growth} | {verdict(max(counts), most)}, growth {verdict(growth, 3)} |"
        )
    for precond in ("mg", "amg"):
        counts = [found["bubbles", size, 1e6, precond, 1][0] for size in (64, 128)]
        yield (
            f"| iterations of `{precond}`, bubbles, contrast 1e6, 64^3 and 128^3 | at most 25 | "
            f"{counts[0]} and {counts[1]} | {verdict(max(counts), 25)} |"
        )
    for contrast, most in ((1.0, 45), (1000.0, 90)):
        _, setup, solve = found["ball", 256, contrast, "mg", 1]
        amgx = sum(AMGX[contrast])
        yield (
            f"| 256^3 on one H200, contrast {contrast:,.0f}, setup from CSR of the CPU included | {most} ms | "
            f"{1e3 * setup:.0f} + {1e3 * solve:.1f} ms; AmgX {1e3 * amgx:,.0f} | "
            f"{verdict(1e3 * (setup + solve), most)}; the solve alone {verdict(1e3 * solve, most)} |"
        )
        (made,) = (row for row in rows_of(FIELDS) if at(row) == ("fields", 256, contrast, 1))
        both = 1e3 * (made["setup_s"] + made["first_solve_s"])
        yield (
            f"| 256^3 on one H200, contrast {contrast:,.0f}, setup from fields on the GPU included | {most} ms | "
            f"{1e3 * made['setup_s']:.1f} + {1e3 * made['first_solve_s']:.1f} ms, "
            f"{1e3 * amgx / both:.0f} times as fast as AmgX | {verdict(both, most)} |"
        )
    _, setup, solve = found["ball", 512, 1.0, "mg", 4]
    yield (
        f"| 512^3 on four | 120 ms | {1e3 * setup:,.0f} + {1e3 * solve:.1f} ms | {verdict(setup + solve, 0.12)}; the "
        f"solve alone {verdict(solve, 0.12)} |"
    )
    made = {at(row)[1:]: row["setup_s"] + row["first_solve_s"] for row in rows_of(RUNS)}
    parts = [
        f"{1e3 * row['setup_s']:.1f} + {1e3 * row['first_solve_s']:.1f}"
        for row in rows_of(RUNS)
        if at(row)[1] == 512 and row["ranks"] == 4
    ]
    yield (
        f"| 512^3 on four H100, setup from fields included | 120 ms | {parts[0]} ms, with contrast 1,000 {parts[1]} | "
        f"{verdict(made[512, 1.0, 4], 0.12)} |"
    )
    (largest,) = rows_of(LARGEST)
    yield (
        f"| 1024^3 on four | 600 ms | not measured; predicted {1e3 * largest['iteration_s']:.1f} ms an iteration, "
        f"without setup | open |"
    )
    for said, parts_of in (("setup included", slice(1, 3)), ("the solve alone", slice(2, 3))):
        gains = [
            sum(found["ball", 256, c, "mg", 1][parts_of]) / sum(found["ball", 256, c, "mg", 4][parts_of])
            for c in (1.0, 1000.0)
        ]
        yield (
            f"| 256^3, four over one, {said} | at least 2.2 | {gains[0]:.2f}, with contrast 1,000 {gains[1]:.2f} | "
            f"{verdict(2.2, min(gains))} |"
        )
    gains = [made[256, contrast, 1] / made[256, contrast, 4] for contrast in (1.0, 1000.0)]
    yield (
        f"| 256^3, four H100 over one, setup from fields included | at least 2.2 | {gains[0]:.2f}, with contrast 1,000 "
        f"{gains[1]:.2f} | {verdict(2.2, min(gains))} |"
    )
    of_bcsstk = {
        (r["solver"], r["hierarchy"]): r["iterations"]
        for r in rows_of(HIERARCHIES)
        if r["problem"] == "bcsstk16.mtx" and r["cycle"] == "v" and r["ranks"] == 1
    }
    theirs, ours = (of_bcsstk[who, "smoothed aggregation"] for who in ("pyamg", "sordino"))
    yield (
        f"| bcsstk16, PyAMG's smoothed aggregation | 1.5 of PyAMG's iterations | {ours} of {theirs}: "
        f"{ours / theirs:.2f} | {verdict(ours / theirs, 1.5)} |"
    )
    (steps,) = (r for r in rows_of(STEPS) if r["precond"] == "mg")
    yield (
        f"| {steps['steps']} steps with moving contrast | no leak, each verified | {steps['verified']} verified, flat: "
        f"{steps['flat']} | {verdict(steps['steps'], steps['verified'] * steps['flat'])} |"
    )
    (anew,) = rows_of(STEPS_OF_LEVELS)
    yield (
        f"| {anew['steps']} steps of bubbles, contrast 1e6, `amg` | the same, levels reused or made anew as reported | "
        f"{anew['verified']} verified, flat: {anew['flat']}; made {anew['levels_made']} times | "
        f"{verdict(anew['steps'], anew['verified'] * anew['flat'])} |"
    )
    answers = [(way, answer) for row in rows_of(ACCURACY) for way, answer in row["answers"].items()]
    claimed = sum(answer[0] == "converged" for way, answer in answers if way.split(", ")[1] == "mg")
    wrong = sum(way.split(", ")[1] == "mg" for row in rows_of(ACCURACY) for way in row["false"])
    yield (
        f"| false `converged` with `mg` in the sweep of sixty problems | 0 | {wrong} of {claimed} | "
        f"{verdict(wrong, 0)} |"
    )


def test_the_page_has_what_was_asked():
    expected = [*asked()]
    assert [line for line in page().splitlines() if line in expected] == expected
    records = (
        SMALL,
        SINCE,
        HIERARCHIES,
        STEPS,
        ACCURACY,
        STEPS_OF_LEVELS,
        LARGEST,
        RUNS,
        PHASES,
    )
    for name in records:
        assert name in page()


def test_what_is_said_of_bubbles_on_a_gpu():
    (row,) = (
        row
        for row in rows_of(PHASES)
        if (row["problem"], row["size"], row["contrast"], row["precond"]) == ("bubbles", 128, 1e6, "mg")
    )
    assert f"on two ranks of a host, and {row['iterations']} on an H100" in told()


def test_the_largest_box_is_told():
    (row,) = rows_of(LARGEST)
    assert row["described_machine"] == "h200x4" and row["ranks"] == 4 and row["rows"] == 1024**3
    each, solve = 1e3 * row["iteration_s"], 1e3 * solved()["ball", 512, 1.0, "mg", 4][2]
    assert f"an iteration takes {each:.1f} ms, and fourteen {14 * each:.0f}" in told()
    assert f"Eight times what 512^3 takes are {8 * solve:.0f} ms, without setup" in told()


if __name__ == "__main__":
    for lines in (
        parts(predicted()),
        before_and_after(),
        by_level(levels_of()),
        asked(),
    ):
        print(*lines, sep="\n", end="\n\n")
