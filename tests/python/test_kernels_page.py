"""What the pages say of products with H-matrices and peers is in the records that they name."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READS = 4547e9  # bytes a second, of an H200
PAPER_WAYS = "2026-11-23_hmatrix_paper_ways_h200.jsonl"


def _lines(name, bench):
    lines = (ROOT / "bench" / "records" / name).read_text(encoding="utf-8").splitlines()
    return [line for line in map(json.loads, lines) if line["bench"] == bench]


CELLS = 256 * 128 * 512


def _table(page, head):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    (rows,) = re.findall(rf"^\| {re.escape(head)}.*\n\|[-|]+\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows.splitlines()]


@pytest.mark.parametrize(
    ("size", "storage", "told"),
    [
        (256, "symdia", "take {ours:.1f} us at 256^3, {part:.2f} of the program's {limit:.1f}"),
        (256, "dia", "all diagonals with jacobi {ours:.1f}, {part:.2f} of it"),
        (64, "symdia", "they take {ours:.1f} and"),
        (64, "dia", "and {ours:.1f} us, the program {limit:.1f}"),
    ],
)
def test_iterations_beside_the_program(size, storage, told):
    runs = _lines("2026-11-23_kernels_h200.jsonl", "cg")
    (run,) = (run for run in runs if (run["size"], run["storage"]) == (size, storage))
    ours, limit = 1e6 * run["iteration_s"], 1e6 * run["limit_program_s"]
    page = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
    assert told.format(ours=ours, limit=limit, part=ours / limit) in page


def test_overlapping_methods_of_others_on_two_cores():
    runs = {line["ranks"]: line for line in _lines("2026-11-23_beside_petsc_2_cores.jsonl", "petsc")}
    table = _table("peers.md", "medians of 5 turns")
    for label, *told in table:
        package, _, method = label.partition(", ")
        way = method.strip("`").replace("cg`, ", "")
        parts = [
            run["petsc"][way] if package == "PETSc" else run[package.lower()]
            for _, run in sorted(runs.items())
        ]
        assert told == [f"{1e3 * part['iteration_s']['median']:.2f}" for part in parts], label
    ours, *others = ([float(cell) for cell in told] for _, *told in table)
    assert all(ours[i] <= min(other[i] for other in others) for i in range(2))
    page = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    ratios = [runs[ranks]["ratio"]["of_medians"] for ranks in (1, 2)]
    assert f"takes {ratios[0]:.2f} x and {ratios[1]:.2f} x the time of the best of them" in page


def _words(page):
    return " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def _ways(n):
    """Of the surface of n triangles: rows of the record by way, sort, batch and streams."""
    return {
        (row["way"], row["sort"], row["batch"], row["streams"]): row
        for row in _lines(PAPER_WAYS, "hmatrix-paper-ways")
        if row["n"] == n
    }


def _best(n):
    return min(_ways(n).values(), key=lambda row: row["seconds"])


def test_milliseconds_of_the_paper_s_ways():
    def ms(row):
        return "" if row is None else f"{1e3 * row['seconds']:{'.3f' if row['seconds'] < 0.1 else ',.0f'}}"

    sizes = [_ways(10_400), _ways(101_250)]
    (_, *told), *table = _table("theory/000.md", "way, one H200")
    ours = [f"{1e3 * row['product_seconds']:.3f}" for row in _lines(PAPER_WAYS, "hmatrix")]
    assert [cell for cell in told if cell] == ours
    seen = 0
    for *way, count, one, two, three, other, another, last in table:
        batch = int(count.replace(",", "")) if count != "`rows`" else "rows"
        keys = [(*(word.strip("`") for word in way), batch, streams) for streams in (1, 2, 3)]
        rows = [ways.get(key) for ways in sizes for key in keys]
        assert [one, two, three, other, another, last] == [ms(row) for row in rows], (way, count)
        seen += sum(row is not None for row in rows)
    assert seen == len(_lines(PAPER_WAYS, "hmatrix-paper-ways"))


def _quotients(n):
    ways = _ways(n)
    time = {key: row["seconds"] for key, row in ways.items()}
    unsorted, fixed = time["variable batch", "none", 20_000, 1], time["variable batch", "groups", 20_000, 1]
    one, two, three = (time["variable batch", "groups", "rows", streams] for streams in (1, 2, 3))
    assert three == min(time.values())
    blocks = min(time["cublas", "none", 1, streams] for streams in (1, 2, 3))
    part = _best(n)["stored_bytes"] / three / READS
    padded = time["fixed batch", "groups", 5000, 1]
    return [unsorted / fixed, fixed / one, one / two, two / three, fixed / padded, blocks / three, part]


def test_quotients_beside_figures_8_and_9():
    blocks, padded, fixed, one, two, three = 0.42, 53.00, 65.21, 51.43, 81.12, 84.13  # Gflop/s, as printed
    paper = [one / fixed, two / one, three / two, padded / fixed, three / blocks, 4 * three / 495]

    def told(quotients):
        return [f"{q:{'.2f' if q < 100 else ',.0f'}}" for q in quotients]

    columns = [["up to 2.5", *told(paper)], told(_quotients(101_250)), told(_quotients(10_400))]
    table = _table("theory/000.md", "how many times as fast, one H200")
    assert [row for _, *row in table] == [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("page", ["theory/000.md", "adr/0037-an-h-matrix-is-two-commands-of-rows.md"])
def test_how_much_faster_ours_is_than_the_paper_s_best_way(page):
    small, large = (_best(n)["times_ours"] for n in (10_400, 101_250))
    assert min(small, large) >= 2
    assert f"{small:.2f} x and {large:.2f} x as fast as" in _words(page)


def test_reasons_that_are_given_for_the_paper_s_ways():
    page, ways = _words("theory/000.md"), _ways(101_250)
    assert all(row["difference"] < 1e-15 for n in (10_400, 101_250) for row in _ways(n).values())
    padded, best = ways["fixed batch", "groups", 5000, 1], _best(101_250)
    held, calls = padded["held_bytes"], [ways["cublas", "none", 1, k] for k in (1, 3)]
    smaller = _ways(10_400)["cublas", "none", 1, 1]
    each = [1e6 * row["seconds"] / row["launches"] for row in (*calls, smaller)]
    product = best["stored_bytes"] / calls[0]["launches"]
    for sentence in (
        f"{held / padded['stored_bytes']:.1f} times the memory, {held / 1e9:.1f} GB, which are read at "
        f"{held / padded['seconds'] / 1e9:,.0f} GB/s",
        f"A call takes {each[0]:.1f} us with one stream and {each[1]:.1f} with three, and {each[2]:.1f} on the smaller",
        f"its time is that of {calls[0]['launches']:,} calls",
        f"{product / 1e3:.1f} kB on average, {product / 128:.0f} bytes for each thread of a block",
        f"the {best['launches']} batches have {1e6 * best['seconds'] / best['launches']:.0f} us each",
        f"at {best['stored_bytes'] / best['our_seconds'] / READS:.2f} of the bandwidth",
    ):
        assert sentence in page
    text = (ROOT / "docs" / "theory" / "000.md").read_text(encoding="utf-8")
    (reasons,) = re.findall(r"What agrees: .*(?=What this is not)", text, flags=re.DOTALL)
    cells = {cell for row in _table("theory/000.md", "way, one H200") for cell in row}
    assert set(re.findall(r"\b\d\.\d{3}\b", reasons)) <= cells


@pytest.mark.parametrize("page", ["theory/000.md", "boundary_elements.md"])
def test_products_and_iterations_of_ours_on_a_gpu(page):
    runs = _lines("2026-11-23_hmatrix_h200.jsonl", "hmatrix")
    table = _table(page, "triangles, one H200")
    for (triangles, *told), run in zip(table, runs, strict=True):
        rate, product = run["product_bytes_a_second"], f"{1e3 * run['product_seconds']:.3f}"
        stored, iteration = f"{run['stored_bytes'] / 1e9:.3f}", f"{1e3 * run['iteration_seconds']:.3f}"
        extra = [f"{rate / READS:.2f}"] if "theory" in page else [f"{run['seconds']:.1f}"]
        assert triangles == f"{run['n']:,}"
        assert told == [stored, product, f"{rate / 1e9:,.0f}", *extra, iteration]


def test_what_an_iteration_takes_beside_its_products():
    page = _words("theory/000.md")
    _, large, largest = (
        2 * run["product_seconds"] / run["iteration_seconds"]
        for run in _lines("2026-11-23_hmatrix_h200.jsonl", "hmatrix")
    )
    assert f"both products are {large:.2f} of an iteration of `bicgstab` with 101,250 triangles" in page
    assert f"iteration takes {100 - 100 / largest:.0f} % less than its two products" in page


def test_the_decision_has_our_products_and_iterations():
    page = _words("adr/0037-an-h-matrix-is-two-commands-of-rows.md")
    small, *large = _lines("2026-11-23_hmatrix_h200.jsonl", "hmatrix")
    parts = [f"{run['product_bytes_a_second'] / READS:.2f}" for run in (small, *large)]
    iterations = " and ".join(f"{1e3 * run['iteration_seconds']:.3f}" for run in large)
    for run in large:
        assert f"{1e3 * run['product_seconds']:.3f} ms for the {run['stored_bytes'] / 1e9:.3f} GB of" in page
    for sentence in (
        f"{parts[1]} and {parts[2]} of the bandwidth at which it reads",
        f"an iteration of `bicgstab` {iterations} ms",
        f"The sphere of 10,400 triangles has {parts[0]}: its {small['stored_bytes'] / 1e9:.3f} GB take "
        f"{1e3 * small['product_seconds']:.3f} ms",
    ):
        assert sentence in page


def test_builds_on_a_gpu():
    runs = _lines("2026-11-24_hmatrix_build_h200.jsonl", "hmatrix")
    for row, run in zip(_table("boundary_elements.md", "triangles, built by one H200"), runs, strict=True):
        assert run["build"] == "cuda"
        assert row == [
            f"{run['n']:,}",
            f"{run['stored_bytes'] / 1e9:.3f}",
            f"{run['seconds']:.2f}",
            f"{run['redone_blocks']:,}",
            f"{run['compression_error']:.1e}",
        ]


def test_what_builds_took_before_and_since_and_beside_what_is_stored():
    page = _words("boundary_elements.md")
    (first,) = (
        run for run in _lines("2026-11-24_hmatrix_build_h200.jsonl", "hmatrix") if run["n"] == 1_004_400
    )
    one, two = _lines("2026-11-26_hmatrix_staged_h200x2.jsonl", "hmatrix")
    (four,) = _lines("2026-11-26_hmatrix_build_h200x4.jsonl", "hmatrix")
    small, _, by_one_rank, by_four = _lines("2026-11-26_hmatrix_h200x4.jsonl", "hmatrix")
    assert [len(run["machine"]["devices"]) for run in (first, one, two, by_one_rank, by_four)] == [
        1,
        1,
        2,
        4,
        4,
    ]
    assert (by_one_rank["ranks"], by_four["ranks"]) == (1, 4)
    assert f"takes {one['seconds']:.2f} s on one H200 and {two['seconds']:.2f} on two" in page
    assert f", {four['seconds']:.2f} on four (64 cores; " in page and four["machine"]["cores"] == 64
    fetching = [f"{run['phases']['fetching']:.2f}" for run in (one, two, four)]
    assert (
        f"of which {fetching[0]}, {fetching[1]} and {fetching[2]} are values on their way to the host" in page
    )
    assert (
        f"before {first['seconds']:.2f} on one, and {by_four['seconds']:.2f} and {by_one_rank['seconds']:.2f} "
        "on four, in runs of four ranks and of one"
    ) in page

    def more(run):
        return run["build_peak_bytes"] - run["stored_bytes"]

    def times(run):
        return f"{run['build_peak_bytes'] / run['stored_bytes']:.2f} times"

    assert f"a second one added {(more(two) - more(one)) / 1e9:.2f} GB" in page
    assert f"took {(more(four) - more(one)) / 1e9:.2f} GB more than one" in page
    assert (
        f"on four took {times(small)} their bytes, {more(small) / 1e9:.2f} GB more than the "
        f"{small['stored_bytes'] / 1e9:.2f} that are stored, and a million triangles {times(by_four)}, "
        f"{more(by_four) / 1e9:.2f} GB more"
    ) in page


def test_our_products_beside_a_program_of_warps():
    programs = _lines("2026-11-24_hmatvec_limit_h200.jsonl", "hmatvec_limit")
    runs = _lines("2026-11-24_hmatrix_build_h200.jsonl", "hmatrix")
    table = _table("theory/000.md", "triangles, beside a program of warps")
    for row, program, run in zip(table, programs, runs, strict=True):
        part = 1e3 * run["product_seconds"] / program["product_ms"]
        assert part <= 0.72 and program["n"] == run["n"]
        assert row == [
            f"{run['n']:,}",
            f"{program['stored_gigabytes']:.2f}",
            f"{program['product_ms']:.3f}",
            f"{run['stored_bytes'] / 1e9:.3f}",
            f"{1e3 * run['product_seconds']:.3f}",
            f"{part:.2f}",
            f"{1e9 * program['gigabytes_a_second'] / run['product_bytes_a_second']:.2f}",
        ]


def test_the_decision_has_what_eight_columns_take():
    one, eight = (
        run
        for run in _lines("2026-11-25_hmatrix_columns_h100.jsonl", "hmatrix-several-vectors")
        if run["columns"] in (1, 8) and not run["transposed"]
    )
    page = _words("adr/0037-an-h-matrix-is-two-commands-of-rows.md")
    vector, rate = eight["seconds_a_vector"] / one["seconds"], eight["bytes_a_second"] / one["bytes_a_second"]
    assert (
        f"a vector of 8 takes {vector:.2f} of what one takes alone, and the product with 8 reads the values at "
        f"{rate:.2f} of the single one's GB/s"
    ) in page


def test_waves_on_a_gpu():
    runs = _lines("2026-11-24_hmatrix_waves_h200.jsonl", "hmatrix")
    by_gpu, by_host = ([run for run in runs if run["build"] == who] for who in ("cuda", "host"))
    rows = _table("boundary_elements.md", "triangles, waves on one H200")
    for row, run, host in zip(rows, by_gpu, by_host, strict=True):
        assert run["kernel"] == host["kernel"] == "helmholtz" and run["n"] == host["n"]
        assert row == [
            f"{run['n']:,}",
            f"{run['stored_bytes'] / 1e9:.3f}",
            f"{run['seconds']:.2f}",
            f"{host['seconds']:.1f}",
            f"{1e3 * run['product_seconds']:.3f}",
            f"{run['product_bytes_a_second'] / 1e9:,.0f}",
            f"{run['compression_error']:.1e}",
        ]


def test_the_dense_matrix_beside_what_a_gpu_built():
    (run,) = _lines("2026-11-24_hmatrix_exact_h200.jsonl", "hmatrix")
    page = " ".join((ROOT / "docs" / "boundary_elements.md").read_text(encoding="utf-8").split())
    assert run["error_of_estimate"] == 0 and run["n"] == 21600
    assert (
        f"all {run['dense_bytes'] / 1e9:.2f} GB of the dense matrix, have an error of {run['compression_error']:.1e}"
        in page
    )
    assert f"in {run['stored_bytes'] / 1e9:.3f} GB" in page


def test_vectors_that_gpus_share_and_dot_products_of_theirs_are_on_the_page():
    page = (ROOT / "docs" / "theory" / "000.md").read_text(encoding="utf-8")
    name = "2026-11-26_hmatrix_vectors_h200x4.jsonl"
    runs, dots = _lines(name, "hmatrix"), _lines(name, "hmatrix-dots")
    of_four = [run for run in runs if run["ranks"] == 4]
    assert len(of_four) == 7 and max(r["exposed_halo_s"] / r["product_seconds"] for r in of_four) < 0.022
    for r in of_four:
        told = f"| {r['gather']} | {1e3 * r['product_seconds']:.2f} | {1e3 * r['iteration_seconds']:.2f} "
        assert told + f"| {1e3 * r['exposed_halo_s']:.3f} |" in page
    for n in (101_250, 1_004_400):
        for order in ("on", "off"):
            for way in ("shared", "repeated"):
                found = {
                    r["ranks"]: r for r in dots if (r["n"], r["deterministic"], r["way"]) == (n, order, way)
                }
                cells = " | ".join(f"{1e6 * found[ranks]['seconds']:.1f}" for ranks in (1, 2, 4))
                assert f"| {way} | {cells} |" in page


def test_tables_beside_cublas_and_what_loads_first_gained_are_in_the_decisions():
    text = (ROOT / "docs" / "adr" / "0028-wide-reductions-travel-together.md").read_text(encoding="utf-8")
    ms = {}
    for name in ("batches_h200", "h200"):
        for r in _lines(f"2026-11-26_small_gemms_{name}.jsonl", "small_gemms"):
            ms[name, r["by"], r["what"], r.get("batch")] = 1e3 * r["seconds"]
    told = [line for line in text.splitlines() if line.startswith(("| ours |", "| cuBLAS |"))]
    ours = [(batch, "table", "symmetric table") for batch in (128, 256, 512, 1024, 2048)]
    expected = [
        f"| ours | {batch:,} | "
        + " | ".join(f"{ms['batches_h200', 'sordino', what, batch]:.2f}" for what in of)
        + " |"
        for batch, *of in ours
    ]
    for batch in (128, 256, 512, 1024, CELLS):
        said = "all" if batch == CELLS else f"{batch:,}"
        expected.append(f"| cuBLAS | {said} | {ms['batches_h200', 'cublas', 'table', batch]:.2f} |  |")
    assert told == expected
    before = [ms["h200", "sordino", what, None] for what in ("table", "symmetric table")]
    assert "({:.2f} ms, and {:.2f} for the symmetric table".format(*before) in text
    assert (
        f"{before[0] / ms['h200', 'cublas', 'table', CELLS]:.1f} times as fast as the nine commands" in text
    )
    small = {
        (r["solver"], r["ranks"]): f"{1e6 * r['iteration_s']:.1f}"
        for r in _lines("2026-11-26_bench_cg_stencils_h200x4.jsonl", "cg")
        if (r["size"], r["storage"]) == (64, "dia")
    }
    listed = {s: "{}, {} and {}".format(*(small[s, ranks] for ranks in (1, 2, 4))) for s in ("cbcg", "cg")}
    assert f"H200: {listed['cbcg']} us an iteration, where cg takes {listed['cg']} (" in text
    before, since = (
        {
            (r["storage"], r["solver"], r["size"], r["ranks"]): f"{1e6 * r['iteration_s']:,.1f}"
            for r in _lines(f"2026-11-26_bench_cg_{name}_h200x4.jsonl", "cg")
            if (r["storage"], r["precond"]) in (("dia", "jacobi"), ("symdia", "sqrt-jacobi"))
        }
        for name in ("cupy", "loads_first")
    )
    text = (ROOT / "docs" / "adr" / "0051-loads-come-before-stores.md").read_text(encoding="utf-8")
    cases = ((64, 1), (128, 1), (256, 1), (256, 4), (512, 1))
    cells = [f"{before[('dia', 'cg', *case)]}, {since[('dia', 'cg', *case)]}" for case in cases]
    assert f"| `cg` | {cells[0].replace(',', ', then', 1)} | " + " | ".join(cells[1:]) + " |" in text
