"""``sordino dslash`` on the compiled core."""

from __future__ import annotations

import json
import re

import pytest


@pytest.fixture
def dslash(cli):
    """Run it in this process; returns the exit code, the JSON object and what it complained of."""

    def run(*argv):
        code, out, err = cli("dslash", *argv, "--iterations", 2, "--json")
        return code, json.loads(out) if out else None, err

    return run


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("recon", [18, 12])
def test_the_operator_is_hermitian_on_any_number_of_ranks(dslash, precision, recon):
    for ranks in (1, 2, 4):
        code, found, _ = dslash(4, 4, 4, 8, "--ranks", ranks, "--precision", precision, "--recon", recon)
        assert code == 0
        assert found["ranks"] == ranks
        assert found["hermitian"]
        assert found["gflops"] > 0
        assert (
            found["ledger"]["messages"] == 4 * (0, 0, 1, 2, 2)[ranks]
        )  # two pairs of hops, t cut into `ranks`


def test_bytes_are_counted_as_quda_does_and_ideally(dslash):
    known = {("single", 18): (1344, 768), ("single", 12): (1152, 576), ("double", 18): (2688, 1536)}
    for (precision, recon), (uncached, ideal) in known.items():
        _, found, _ = dslash(4, 4, 4, 4, "--precision", precision, "--recon", recon)
        assert found["bytes_per_site_uncached"] == uncached
        assert found["bytes_per_site_ideal"] == ideal
        assert found["gbytes_ideal"] == pytest.approx(found["gflops"] * ideal / 1320)


@pytest.mark.parametrize("solver", ["bicgstab", "pipebicgstab"])
def test_the_wilson_system_is_solved_and_verified(dslash, solver):
    iterations = set()
    for grid in ("1,1,1,1", "1,1,1,2", "2,1,1,2"):
        code, found, _ = dslash(
            4, 4, 4, 8, "--grid", grid, "--solve", "--solver", solver, "--rtol", 1e-8, "--seed", 3
        )
        assert code == 0
        assert found["solve"]["status"] == "converged"
        assert found["solve"]["true_residual"] <= 1.0001e-8
        iterations.add(found["solve"]["iterations"])
    assert max(iterations) - min(iterations) <= 2


def test_what_does_not_converge_is_said(dslash):
    code, found, err = dslash(4, 4, 4, 4, "--solve", "--maxiter", 1, "--rtol", 1e-12)
    assert code == 3
    assert found["solve"]["status"] == "max_iterations"
    assert "not solved" in err


def test_the_described_machine_tells_virtual_time(dslash):
    code, found, _ = dslash(8, 4, 4, 8, "--engine", "model", "--ranks", 2)
    assert code == 0
    assert found["engine"] == "model"
    assert 0 < found["seconds_per_hop"] < 1e-3
    again = dslash(8, 4, 4, 8, "--engine", "model", "--ranks", 2)[1]
    assert again["seconds_per_hop"] == found["seconds_per_hop"]


def test_a_table_is_for_people(cli):
    code, out, _ = cli("dslash", 4, 4, 4, 8, "--iterations", 2, "--ranks", 2, "--solve")
    assert code == 0
    for words in (
        "Wilson dslash on 4 x 4 x 4 x 8 sites",
        "Gflop/s",
        "M is gamma5-Hermitian",
        "even-odd solve",
    ):
        assert words in out


def test_fewer_ranks_than_cores_will_do(dslash):
    code, found, _ = dslash(2, 2, 2, 2)
    assert code == 0
    assert found["ranks"] == 1


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ((4, 4, 4), "required: LT"),
        ((4, 4, 4, "four"), "LT must be a whole number, not 'four'"),
        ((4, 4, 5, 4), "an even number of sites, at least 2, in each direction, not 4 x 4 x 5 x 4"),
        ((4, 4, 4, 0), "an even number of sites"),
        ((4, 4, 4, 4, "--ranks", 3), "cannot be cut into 3 equal boxes of even extents"),
        ((4, 4, 4, 4, "--ranks", -1), "at least 1, or 0"),
        ((4, 4, 4, 6, "--grid", "1,1,1,2"), "boxes of even extents in t"),
        ((4, 4, 4, 8, "--grid", "1,1,2"), "--grid has four numbers"),
        ((4, 4, 4, 8, "--grid", "1,1,1,2", "--ranks", 4), "is for 2 ranks, not 4"),
        ((4, 4, 4, 4, "--precision", "half"), "--precision is double or single, not 'half'"),
        ((4, 4, 4, 4, "--recon", 8), "18 or 12 reals, not 8"),
        ((4, 4, 4, 4, "--links", "cold"), "not 'cold'"),
        ((4, 4, 4, 4, "--seed", -1), "--seed must be at least 0"),
        ((4, 4, 4, 4, "--kappa", "nan"), "kappa must be a finite number"),
        ((4, 4, 4, 4, "--solve", "--precision", "single"), "double precision"),
        ((4, 4, 4, 4, "--solve", "--solver", "gatherbicgstab"), "choose another solver"),
        ((2048, 2048, 2048, 2048), "bytes are available"),
    ],
)
def test_bad_input_gets_one_sentence(cli, argv, complaint):
    code, out, err = cli("dslash", *argv)
    assert code == 2
    assert out == ""
    assert complaint in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("engine", ["host", "model"])
def test_the_report_has_the_hops_and_the_gauge_field(cli, tmp_path, engine):
    page, spans = tmp_path / "dslash.html", tmp_path / "dslash.json"
    argv = ["dslash", 8, 8, 4, 8, "--ranks", 4, "--iterations", 5, "--engine", engine, "--solve"]
    code, out, err = cli(*argv, "--report", page, "--trace", spans)
    assert code == 0, err
    assert f"{page} was written." in out
    text = page.read_text()
    for part in (
        "Solved and verified",
        "Convergence",
        "Plaquette",
        "Timeline",
        "halo under way",
        "Kernels",
        "a hop",
    ):
        assert part in text, part
    mean = float(re.search(r"of 8: ([\d.]+) on average", text)[1])
    assert 0.1 < mean < 0.9, "warm links are between unit and independent ones"
    events = json.loads(spans.read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1, 2, 3}
    assert {"compute", "halo"} <= {event.get("cat") for event in events}


def test_a_report_without_a_solve_says_what_was_measured(cli, tmp_path):
    page = tmp_path / "dslash.html"
    argv = ["dslash", 4, 4, 4, 4, "--links", "unit", "--engine", "host", "--report", page]
    assert cli(*argv)[0] == 0
    text = page.read_text()
    assert "Measured, and gamma5-Hermitian" in text and "Convergence" not in text
    assert ">all 1<" in text and "1.0000 on average" in text
    code, _, err = cli(*argv)
    assert code == 2 and "exists already" in err, "nothing is overwritten unasked"
