"""``sordino bench petsc``, ``solution`` and ``steps`` on tiny systems; PETSc where it was built."""

from __future__ import annotations

import json
import mmap
import os
import re
import shlex
import statistics
from pathlib import Path

import numpy as np
import pytest

from sordino.bench import _held, _petsc, petsc, steps

PROGRAM = os.environ.get("SORDINO_PETSC", "") or str(Path(__file__).parents[2] / _petsc.PROGRAM)
needs_petsc = pytest.mark.skipif(
    not os.access(PROGRAM, os.X_OK),
    reason="PETSc is absent: bench/petsc/build.sh was not run (or set SORDINO_PETSC)",
)


@needs_petsc
def test_beside_petsc(cli, tmp_path):
    record = tmp_path / "petsc.jsonl"
    code, out, err = cli(
        "bench", "petsc", "--size", 8, "--ranks", "1,2", "--rounds", 2, "--solves", 2, "--within", 1e9,
        "--program", PROGRAM, "--record", record, "--commit", "abc",
    )  # fmt: skip
    assert code == 0, err
    assert "PETSc at its best" in out or "hypre pcg;" in out
    for row, ranks in zip(map(json.loads, record.read_text().splitlines()), (1, 2), strict=True):
        assert row["ranks"] == ranks and row["nnz"] == (3 * 8 - 2) ** 3
        assert row["sordino"]["iterations"] == row["petsc"]["true norm"]["iterations"]
        assert {"groppcg", "pipecg"} < set(row["petsc"])
        others = [*row["petsc"].values(), *([row["hypre"]] if row["hypre"] else [])]
        assert all(part["true_residual"] <= 2e-8 for part in (row["sordino"], *others))
        assert bool(row["hypre"]) == bool(_petsc.hypre_beside(PROGRAM)) == ("hypre pcg" in out)
        assert row["ratio"]["of_medians"] > 0 and str(tmp_path) not in row["command"]


@needs_petsc
def test_petsc_says_what_it_refuses():
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    options = ["-ksp_type", "gmres", "-pc_type", "ilu"]
    refused = pytest.raises(_petsc.PetscError, match="diagonal")
    with _petsc.Problem(PROGRAM, matrix, np.ones(2)) as problem, refused:
        problem.solve(options)


def test_without_petsc_a_sentence_says_what_to_do(cli, monkeypatch):
    monkeypatch.setattr(_petsc, "PROGRAM", "nowhere/petsc_ksp")
    code, _, err = cli("bench", "petsc")
    assert code == 2 and "bench/petsc/build.sh" in err


def test_the_ratio_is_of_the_same_turns():
    def runs(*seconds):
        return [{"solve_s": value} for value in seconds]

    ratio = petsc._ratio(runs(1.0, 3.0, 4.0, 8.0), runs(2.0, 2.0, 3.0, 3.0), 2)
    assert ratio["of_fastest"] == 0.5 and ratio["of_medians"] == pytest.approx(1.4)
    assert ratio["of_turns_median"] == pytest.approx(1.5)  # of 1 and 2


def test_times_to_a_solution(cli, tmp_path):
    record = tmp_path / "solution.jsonl"
    peers = ["--petsc", PROGRAM] if os.access(PROGRAM, os.X_OK) else []
    code, out, err = cli(
        "bench", "solution", "--sizes", "6,7", "--ranks", "1,2", "--solvers", "cg,prcg", "--engine", "host",
        "--repeats", 2, "--record", record, "--commit", "abc", *peers,
    )  # fmt: skip
    assert code == 0, err
    assert "scipy splu" in out and ("petsc cg, gamg" in out) == bool(peers)
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    ours = [row for row in rows if row["package"] == "sordino"]
    assert [(row["size"], row["ranks"]) for row in ours] == 2 * [(6, 1), (6, 2)] + 2 * [(7, 1), (7, 2)]
    assert all(row["verified"] for row in rows)
    for row in rows:
        assert row["total_s"]["least"] >= row["setup_s"]["least"] + row["solve_s"]["least"] > 0
    assert ours[1]["speedup"] == pytest.approx(ours[0]["total_s"]["median"] / ours[1]["total_s"]["median"])


def test_preconditioners_beside_those_of_peers(cli, tmp_path):
    record = tmp_path / "solution.jsonl"
    peers = ["--petsc", PROGRAM] if os.access(PROGRAM, os.X_OK) else []
    hypre = bool(peers) and bool(_petsc.hypre_beside(PROGRAM, "hypre_pfmg"))
    code, out, err = cli(
        "bench", "solution", "--sizes", 12, "--stencil", 27, "--ranks", 2, "--engine", "host", "--repeats", 1,
        "--preconds", "jacobi,mg,mg:w,amg", "--ways", "gamg,pfmg", "--record", record, "--commit", "abc", *peers,
    )  # fmt: skip
    assert code == 0, err
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    ours = {row["method"]: row for row in rows if row["package"] == "sordino"}
    assert list(ours) == ["cg, jacobi", "cg, mg", "cg, mg:w", "cg, amg"]
    assert (
        ours["cg, mg:w"]["iterations"] <= ours["cg, mg"]["iterations"] < ours["cg, jacobi"]["iterations"] / 2
    )
    assert all(row["verified"] and row["user_s"]["median"] > 0 for row in rows)
    assert len(rows) == 4 + bool(peers) + hypre and ("pcg, pfmg" in out) == hypre and "scipy" not in out


@needs_petsc
def test_pfmg_refuses_another_grid():
    pfmg = _petsc.hypre_beside(PROGRAM, "hypre_pfmg")
    if not pfmg:
        pytest.skip("needs hypre, which bench/petsc/build.sh finds")
    refused = pytest.raises(_petsc.PetscError, match="of another number of cells")
    with _petsc.Problem(PROGRAM, np.eye(8), np.ones(8)) as problem, refused:
        problem.pcg(pfmg, 1e-8, grid=(2, 2, 3))


def test_steps_are_flat(cli, tmp_path):
    record = tmp_path / "steps.jsonl"
    code, out, err = cli(
        "bench", "steps", "--steps", 60, "--size", 6, "--engine", "host", "--record", record, "--commit", "a"
    )
    row = json.loads(record.read_text())
    assert code == 0, out + err
    assert (
        row["flat"]
        and row["iterations"] >= 60
        and set(row["held"]) == {"resident", "heap", "blocks", "threads"}
    )


def test_steps_of_bubbles_with_multigrid_are_verified_and_flat(cli):
    words = ("--problem", "bubbles", "--precond", "mg", "--size", "16,16,20", "--steps", steps.SETTLED + 20)
    code, out, err = cli("bench", "steps", *words, "--engine", "host", "--json")
    assert code == 0, out + err
    row = json.loads(out)
    each = row["each"]
    assert row["flat"] and row["cells"] == [16, 16, 20] and row["verified"] == row["steps"] == 40
    assert {len(values) for values in each.values()} == {40} and set(each["status"]) == {"converged"}
    assert max(each["residual"]) <= 1.000001e-8 and min(each["residual"]) > 0
    assert sum(each["iterations"]) == row["iterations"] and max(each["iterations"]) <= 25
    assert min(each["update_s"]) > 0 and min(each["solve_s"]) > 0


def test_a_step_that_does_not_converge_fails_the_command(cli):
    words = ("--steps", steps.SETTLED + 1, "--size", 5, "--rtol", "1e-17")
    code, out, _ = cli("bench", "steps", *words, "--engine", "host", "--json")
    row = json.loads(out)
    assert code == 4 and row["verified"] == 0 and "converged" not in row["each"]["status"]
    assert 1e-17 < max(row["each"]["residual"]) < 1e-14


def test_a_step_that_only_says_so_is_not_verified(cli, monkeypatch):
    monkeypatch.setattr(steps, "_residual", lambda *system: 1.1e-8)
    words = ("--steps", steps.SETTLED + 1, "--size", 5)
    code, out, _ = cli("bench", "steps", *words, "--engine", "host", "--json")
    assert code == 4 and json.loads(out)["verified"] == 0


@pytest.mark.parametrize(
    ("name", "slope", "flat"),
    [("heap", 0, True), ("heap", 100, False), ("blocks", 1, False), ("device_allocations", 0.01, False),
     ("device_free", -1, False), ("device_free", 0, True), ("threads", 0, True), ("resident", 10, True)],
)  # fmt: skip
def test_what_grows_is_not_flat(name, slope, flat):
    samples = 1e6 + slope * np.arange(1000.0)
    part = steps.summed_up(name, samples)
    assert part["flat"] == flat
    assert part["last_growth_at_step"] == (999 if slope else 0)


def test_pages_that_are_written_are_resident_and_those_of_files_are_not(tmp_path):
    size, spare = 32 << 20, 4 << 20
    path = tmp_path / "pages"
    path.write_bytes(b"1" * size)
    before = _held.resident()
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as pages:
        assert sum(pages[:: mmap.PAGESIZE]) == size // mmap.PAGESIZE * ord("1")
        assert abs(_held.resident() - before) < spare
    with mmap.mmap(
        -1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    ) as pages:  # malloc may have some left
        before = _held.resident()
        np.frombuffer(pages, dtype=np.uint8)[:] = 1
        assert size - spare < _held.resident() - before < size + spare


def test_what_gpus_have_free_is_added_up_where_all_of_them_tell(monkeypatch):
    monkeypatch.setattr(_held, "free_bytes", {0: 3, 1: 4, 2: None}.get)
    assert _held.device_free([0, 1])() == 7.0
    assert np.isnan(_held.device_free([])()) and np.isnan(_held.device_free([0, 2])())


def test_growth_at_the_beginning_is_setup():
    early = np.where(np.arange(1000) < 10, 0.0, 1e9)
    assert steps.summed_up("heap", early)["flat"] and not steps.summed_up("device_allocations", early)["flat"]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["steps", "--steps", "5"], "steps must be more than"),
        (["steps", "--engine", "model"], "--engine is host or cuda"),
        (["steps", "--problem", "drops"], "--problem is heat or bubbles, not 'drops'"),
        (["steps", "--size", "5,6"], "of which there are one or three"),
        (["solution", "--ranks", "0"], "must be at least 1"),
        (["solution", "--petsc", "/nowhere/p"], "is no program"),
        (["petsc", "--rtol", "0"], "--rtol between 0 and 1"),
        (["compare", "/nowhere/a", "/nowhere/b"], "/nowhere/a"),
    ],
)
def test_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", *argv)
    assert code == 2 and sentence in err


PAGE = (Path(__file__).parents[2] / "docs" / "peers.md").read_text(encoding="utf-8")
SMALL = {
    "claims": ["--only", "odd", "--packages", "sordino"],
    "solution": ["--sizes", "5", "--repeats", "1", "--no-peers"],
    "steps": ["--steps", "30", "--size", "5"],
}


@pytest.mark.parametrize("line", re.findall(r"^sordino bench .*$", PAGE, flags=re.MULTILINE))
def test_what_the_page_tells_to_type(cli, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FOLDER").mkdir()
    words = shlex.split(line, comments=True)[1:]
    if "cuda" in words:
        words[words.index("cuda")] = "host"
    code, out, err = cli(*words, *SMALL[words[1]])
    assert code == 0, out + err
    assert ("--record" in words) == any(path.suffix == ".jsonl" for path in tmp_path.iterdir())


RECORDS = Path(__file__).parents[2] / "bench" / "records"
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def _lines(name):
    return [json.loads(line) for line in (RECORDS / name).read_text(encoding="utf-8").splitlines()]


def _cells(head):
    """The rows below a head that begins so, of the table of the page."""
    (table,) = re.findall(rf"^\| {re.escape(head)}.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, flags=re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_the_records_that_the_page_names_are_there():
    for name in re.findall(r"`(2026[^`]*jsonl)`", PAGE):
        assert (RECORDS / name).is_file(), name


@pytest.mark.parametrize(
    ("systems", "name", "rows"),
    [
        (57, "2026-11-22_claims_host.jsonl", 9),
        (52, "2026-11-22_claims_h200x2.jsonl", 6),
        (5, "2026-11-22_claims_real_h200x4.jsonl", 6),
    ],
)
def test_the_claims_of_the_page_are_those_of_its_record(systems, name, rows):
    lines = _lines(name)
    table = _cells(f"{systems} systems (`{name}`)")
    assert len(table) == rows and len({line["system"] for line in lines}) == systems
    sums = {}
    for label, *told in table:
        package, method = re.fullmatch(r"(?:(\w+) )?`(?:KSP|sordino\.)?([\w.]+)`", label).groups()
        package = {None: "sordino", "CuPy": "cupyx"}.get(package, str(package).lower())
        mine = [r for r in lines if (r["package"], r["method"].lower()) == (package, method.lower())]
        found = [sum(row[key] for row in mine) for key in ("claimed", "false", "false_in_own_norm")]
        assert [int(cell.strip("*")) for cell in told[:3]] == found, label
        sums.setdefault(package, np.zeros(3, int))
        sums[package] += found
    short = {"scipy": "SciPy", "petsc": "PETSc", "cupyx": "CuPy"}
    (line,) = (line for line in README.splitlines() if f"records/{name}" in line)
    for package, (claimed, false, _) in sums.items():
        said = f"{short[package]} {false}" if package in short else f"**{false}**"
        assert f"{said} of {claimed}" in line


def test_the_times_of_the_page_are_of_the_last_lines_of_its_records():
    last = {
        (row["size"], row["package"], row["method"], row["ranks"]): row["total_s"]["median"]
        for row in _lines("2026-11-22_solution_2_cores.jsonl")
    }
    ways = {
        "Sordino, `cg` + Jacobi": ("sordino", "cg, jacobi"), "PETSc, `cg` + GAMG": ("petsc", "cg, gamg"),
        "PETSc at its best": ("petsc", ""), "SciPy at its best": ("scipy", ""),
    }  # fmt: skip
    label = ""
    for told, ranks, *cells in _cells("seconds, medians of 3"):
        label = told or label
        package, method = ways[label]
        for size, cell in zip((32, 64), cells, strict=True):
            found = min(
                seconds
                for key, seconds in last.items()
                if key[:2] == (size, package) and key[3] == int(ranks) and method in ("", key[2])
            )
            assert cell.split()[0] == f"{found:.{3 if size == 32 else 2}f}", (label, ranks, size)

    beside = {row["ranks"]: row for row in _lines("2026-11-22_beside_petsc_2_cores.jsonl")}
    for told, *cells in _cells("medians of 10 turns"):
        row = beside[int(told.split()[-2])]
        part = row["sordino"] if told.startswith("Sordino") else row["petsc"][row["petsc_best"]]
        times = part["iteration_s"]
        found = [1e3 * times["median"], 1e3 * times["least"], 1e3 * part["iteration_user_s"]["median"]]
        assert cells == [f"{value:.2f}" for value in (*found, part["setup_s"])], told

    h200 = _lines("2026-11-22_solution_h200x2.jsonl")
    assert [cells[2:] for cells in _cells("milliseconds, medians of 3")] == [
        [f"{1e3 * row[key]['median']:.1f}" for key in ("setup_s", "solve_s", "total_s")]
        for row in (*h200[:2], *h200[4:6], h200[2])
    ]


def test_the_times_of_the_readme_are_of_the_last_lines_of_their_records():
    first = _lines("2026-11-22_first_answer_2_cores.jsonl")[-1]
    assert f"{first['total_s']:.0f} s, compiling" in README and f": {first['total_s']:.0f} s" in PAGE
    newest = max(row["date"] for row in _lines("2026-11-21_bench_cg_h200x4.jsonl"))
    rows = [r for r in _lines("2026-11-21_bench_cg_h200x4.jsonl") if r["date"][:15] == newest[:15]]
    assert len(rows) == 6

    def us(ranks, key, peer=""):
        return [1e6 * (r["peers"][key][peer] if peer else r[key]) for r in rows if r["ranks"] == ranks]

    def told(label):
        (line,) = (line for line in README.splitlines() if line.startswith(f"| {label}"))
        return [cell.strip().replace(",", "") for cell in line.strip("|").split("|")[1:]]

    for label, key in (("product, 1 GPU", "spmv_s"), ("iteration of Jacobi-CG, 1 GPU", "iteration_s")):
        floors = us(1, key.replace("_s", "_floor_s"))
        for cell, value, floor in zip(told(label), us(1, key), floors, strict=True):
            assert cell == f"{_three(value)} ({value / floor:.2f})"
    for label, values in (
        ("cuSPARSE", us(1, "spmv_s", "cusparse")),
        ("CuPy's `cg`", us(1, "iteration_s", "cupyx")),
        ("iteration of Jacobi-CG, 4 GPUs", us(4, "iteration_s")),
    ):
        assert told(label) == [_three(value) for value in values], label


def _three(value):
    """Three digits; two below ten."""
    return f"{value:.1f}" if value < 100 else f"{float(f'{value:.3g}'):.0f}"


def test_what_four_gpus_took_is_in_the_documentation():
    def solution(size, ranks, key="total_s"):
        rows = _lines("2026-11-22_solution_h200x4.jsonl")
        (row,) = (r for r in rows if (r["size"], r["ranks"]) == (size, ranks))
        return row[key]["median"]

    solves = [f"{solution(256, ranks, 'solve_s'):.2f}" for ranks in (1, 2, 4)]
    assert f"| {solves[0]}, {solves[1]} and {solves[2]} s |" in README
    threads = {r["ranks"]: r for r in _lines("2026-11-22_solution_threads_h200x4.jsonl")}
    one, four = (
        [f"{threads[n][key]['median']:.2f}" for key in ("setup_s", "solve_s", "total_s")] for n in (1, 4)
    )
    assert f"| {one[2]} and {four[2]} s |" in README
    told = f"{one[0]} and {four[0]} s at 256^3, the solve {one[1]} and {four[1]}, and both {one[2]} and {four[2]}"
    assert told in " ".join(PAGE.split())
    for ranks, speed_up in ((1, "1"), (2, "1.40"), (4, "2.00")):
        (line,) = (x for x in PAGE.splitlines() if x.startswith(f"| {ranks} GPU") and "0.0" in x)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for size, cell in zip((64, 128, 256), cells[1:4], strict=True):
            found = [solution(size, ranks, key) for key in ("setup_s", "solve_s", "total_s")]
            for told, value in zip(cell.split(", "), found, strict=True):
                assert abs(float(told) - value) <= 0.51 * 10.0 ** -len(told.split(".")[1]), (ranks, size)
        assert cells[4] == speed_up and abs(float(speed_up) - solution(256, 1) / solution(256, ranks)) < 0.006


def test_how_a_thousand_steps_grow_is_as_recorded():
    (host,), (gpus,) = (_lines(f"2026-11-22_steps_{where}.jsonl") for where in ("2_cores", "h200x2"))
    text = " ".join(README.split())
    for row, told in ((host, "by {} bytes on the host"), (gpus, "by {} and {}")):
        heap = row["held"]["heap"]
        figures = [f"{heap['grown']:,.0f}", f"{heap['last'] - heap['first']:,.0f}"]
        assert told.format(*figures) in text and figures[1] in text
    assert row["held"]["device_allocations"]["last"] == 52


def test_steps_of_bubbles_are_as_recorded():
    rows = _lines("2026-11-27_steps_bubbles_since_2_cores.jsonl")
    assert [row["precond"] for row in rows] == ["mg", "jacobi"]
    assert f"and 5 more ({rows[0]['levels_made']} times)" in PAGE
    for row in rows:
        each, held = row["each"], row["held"]
        assert row["flat"] and row["verified"] == row["steps"] == 100 and row["contrast"] == 1000
        assert max(each["residual"]) <= 1.0001e-8
        grown = (held["heap"]["grown"], held["resident"]["grown"] / 1024, held["blocks"]["grown"])
        cells = [
            f"`{row['precond']}`",
            f"{min(each['iterations'])} to {max(each['iterations'])}",
            *(f"{1e3 * statistics.median(each[name]):.1f}" for name in ("update_s", "solve_s")),
            f"{max(each['residual']):.3g}",
            *(f"{value:.0f}" for value in grown),
        ]
        assert f"| {' | '.join(cells)} |" in PAGE
