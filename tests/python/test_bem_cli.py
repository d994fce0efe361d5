"""``sordino bem`` from its words to its files."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import sordino
from sordino._charge import EPSILON_0
from sordino.io import OutputFile, write_bem_bb
from sordino.surfaces import Surface, pair, sphere

UNIT = 4 * np.pi * EPSILON_0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with two surfaces: ball.pbf with potentials, bare.obj without."""
    monkeypatch.chdir(tmp_path)
    ball = sphere(5, 4, radius=1.0, potential=2.0)
    write_bem_bb(OutputFile("ball.pbf"), ball)
    lines = ["v {:.17g} {:.17g} {:.17g}".format(*point) for point in ball.points]
    lines += ["f {} {} {}".format(*triangle) for triangle in ball.triangles + 1]
    (tmp_path / "bare.obj").write_text("\n".join(lines))
    return tmp_path


def as_json(result):
    code, out, err = result
    assert code == 0, err
    return json.loads(out)


def test_it_says_what_it_did(cli, folder):
    code, out, err = cli("bem", "pair:6,5", "--eps", "1e-3")
    assert (code, err) == (0, "")
    assert out.startswith(
        "pair of spheres of 300 triangles each: 600 triangles, 2 conductors; H-matrix by aca+ with eps 0.001\n"
        "The potentials are those of pair of spheres of 300 triangles each: -1 to 1 V.\n"
    )
    assert re.search(r"dense blocks +[\d,]+\n", out)
    assert re.search(r"stored +[\d.]+ MB, [\d.]+ % of the dense matrix", out)
    rows = re.findall(r"^([01]|all 2) +(\d+) +([\d.]+) +(-?[\d.e+-]+)$", out, flags=re.M)
    assert [row[:2] for row in rows] == [("0", "300"), ("1", "300"), ("all 2", "600")]
    assert float(rows[1][3]) / UNIT == pytest.approx(0.32841, rel=1e-4)
    assert "Solved and verified" in out and "capacitance" not in out


def test_json_is_one_object_with_the_promised_keys(cli, folder):
    accurate = ["--rtol", "1e-8", "--eps", "1e-9"]
    found = as_json(cli("bem", "pair:6,5", "--json", *accurate, "--ranks", "2", "--capacitance"))
    for key in (
        "status", "iterations", "true_residual", "seconds", "history", "ledger", "machine", "options", "clusters",
        "low_rank_blocks", "dense_blocks", "stored_bytes", "compression_error", "total_charge", "dipole",
    ):  # fmt: skip
        assert key in found, key
    H = sordino.hmatrix(pair(6, 5), 1e-9)
    for key in ("clusters", "low_rank_blocks", "dense_blocks", "stored_bytes"):
        assert found[key] == H.statistics[key]
    assert (found["triangles"], found["conductors"]) == (600, 2)
    assert 0 < found["build_seconds"] != found["seconds"]
    assert found["problem"]["nnz"] == H.statistics["stored_bytes"] // 8 and found["options"]["ranks"] == 2
    np.testing.assert_allclose(np.divide(found["total_charge"], UNIT), [-0.32841118, 0.32841118], rtol=1e-6)
    np.testing.assert_allclose(np.array(found["capacitance"]) @ [-1, 1], found["total_charge"], rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "density"),
    [
        (["ball.pbf"], {"potential": 2.0}),
        (["bare.obj", "--potential", "3"], {"potential": 3.0}),
        (["bare.obj", "--potential", "y"], {"field": (0, 1, 0)}),
        (["bare.obj", "--potential", "field:0,1,2"], {"field": (0, 1, 2)}),
        (["bare.obj", "--potential", "volts.npy"], {"field": (1, 0, 0)}),
        (["bare.obj", "--capacitance"], {"potential": 1.0}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_potentials_are_what_the_words_say(cli, folder, words, density):
    ball = sphere(5, 4, radius=1.0)
    np.save("volts.npy", ball.centroids[:, 0])
    code, _, err = cli("bem", *words, "--rtol", "1e-10", "-o", "x.npy")
    assert code == 0, err
    found = np.load("x.npy").reshape(ball.n)
    wanted = sordino.bem(ball, rtol=1e-10, **density).density
    np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())


def test_potentials_by_conductor(cli, folder):
    found = as_json(cli("bem", "pair:6,5", "--potential=2,-2", "--json", "--rtol", "1e-8", "--eps", "1e-9"))
    np.testing.assert_allclose(np.divide(found["total_charge"], UNIT), [0.65682236, -0.65682236], rtol=1e-6)


def test_everything_is_written_and_nothing_overwritten(cli, folder):
    flags = ["--report", "r.html", "-o", "x.npz", "--vtk", "x.vtk", "--trace", "t.json", "--capacitance"]
    code, out, err = cli("bem", "pair:6,5", *flags)
    assert (code, err) == (0, "")
    for file in ("x.npz", "x.vtk", "r.html", "t.json"):
        assert f"written to {file}" in out
    arrays = np.load("x.npz")
    surface = Surface(arrays["points"], arrays["triangles"])
    np.testing.assert_array_equal(surface.totals(arrays["density"]), arrays["charge"])
    assert arrays["capacitance"].shape == (2, 2) and arrays["dipole"].shape == (3,)
    assert (folder / "x.vtk").read_bytes().count(b"SCALARS") == 3
    page = (folder / "r.html").read_text()
    for said in (
        "Charge, from behind",
        "Blocks of the matrix",
        "Charge of the conductors",
        "Capacitance",
        "H-matrix",
    ):
        assert f">{said}<" in page, said
    assert page.count("data:image/png") >= 3 and "Convergence" in page
    before = page
    for flag, file in zip(flags[::2], ("r.html", "x.npz", "x.vtk", "t.json"), strict=False):
        code, _, err = cli("bem", "pair:6,5", flag, file)
        assert code == 2 and f"{file} exists already; give --force to overwrite it" in err
    assert (folder / "r.html").read_text() == before
    assert cli("bem", "sphere:5,4", "--report", "r.html", "--force")[0] == 0
    assert (folder / "r.html").read_text() != before


def test_the_report_of_several_ranks_says_who_multiplies_what(cli, folder):
    page = folder / "r.html"
    for distribution in ("rows", "leaves", "grid"):
        words = (
            "--ranks",
            3,
            "--distribution",
            distribution,
            "--engine",
            "host",
            "--report",
            page,
            "--force",
        )
        assert cli("bem", "pair:6,5", *words)[0] == 0
        told = page.read_text()
        assert ">Rank map<" in told and f"who of 3 ranks multiplies which block, by {distribution}" in told
    assert cli("bem", "pair:6,5", "--ranks", 1, "--engine", "host", "--report", page, "--force")[0] == 0
    assert "Rank map" not in page.read_text()


def test_gathers_by_groups_find_the_same_charge(cli, folder):
    words = ("bem", "pair:6,5", "--engine", "host", "--ranks", 4, "--solver", "gatherbicgstab", "--json")
    for gather in ("rank", "2", "node"):
        assert cli(*words, "--gather", gather, "-o", f"{gather}.npy")[0] == 0
    assert np.load("2.npy").tobytes() == np.load("node.npy").tobytes() == np.load("rank.npy").tobytes()
    code, _, err = cli(*words, "--gather", "3")
    assert code == 2 and "4 ranks cannot be groups of 3" in err


def test_columns_of_several_right_hand_sides(cli, folder):
    np.save("volts.npy", np.stack([np.ones(160), np.arange(160.0)], axis=1))
    code, out, err = cli("bem", "ball.pbf", "--potential", "volts.npy", "-o", "x.mtx", "--vtk", "x.vtk")
    assert (code, err) == (0, "")
    assert "charge 0 [C]  " in out and (folder / "x.mtx").read_text().splitlines()[1] == "160 2"
    assert b"SCALARS charge_1 double" in (folder / "x.vtk").read_bytes()


def test_flags_reach_the_h_matrix(cli, folder, monkeypatch):
    seen = {}

    def hmatrix(surface, *, progress, **settings):
        seen.update(settings)
        return sordino.hmatrix(surface, progress=progress, **settings)

    monkeypatch.setattr("sordino.cli.bem.hmatrix", hmatrix)
    flags = "--eps 1e-3 --eta 1.5 --leaf 20 --compression aca --no-recompress --threads 2 --most-rank 3"
    assert cli("bem", "sphere:5,4", *flags.split())[0] == 0
    assert seen == {
        "eps": 1e-3, "eta": 1.5, "leaf": 20, "compression": "aca", "recompress": False, "threads": 2,
        "engine": "auto", "most_rank": 3,
    }  # fmt: skip
    assert cli("bem", "sphere:5,4", "--engine", "host")[0] == 0
    assert seen["engine"] == "host"


def test_ranks_of_the_matrix_and_of_a_second_one_are_held(cli, folder):
    one = as_json(cli("bem", "pair:6,5", "--most-rank", "1", "--json"))
    assert (one["max_rank"], one["mean_rank"]) == (1, 1.0)
    accurate = ["--rtol", "1e-9", "--eps", "1e-6", "--coarse", "1e-2", "--inner", "20"]
    found = as_json(cli("bem", "pair:6,5", *accurate, "--coarse-rank", "1", "--json"))
    assert found["max_rank"] > 1 and found["options"]["solver"] == "gmres"
    finer = as_json(cli("bem", "pair:6,5", *accurate, "--json"))
    assert found["history"] != finer["history"]  # rank one is another preconditioner
    code, out, _ = cli("bem", "pair:6,5", "--most-rank", "2")
    assert code == 0 and "H-matrix by aca+ with eps 0.0001, ranks at most 2\n" in out
    assert cli("bem", "pair:6,5", "--save-matrix", "one.hmatrix", "--most-rank", "1")[0] == 0
    code, out, _ = cli("bem", "pair:6,5", "--matrix", "one.hmatrix")
    assert code == 0 and "ranks at most 1" in out


def test_not_converged_is_exit_code_3_and_keeps_the_best(cli, folder):
    code, out, _ = cli("bem", "pair:6,5", "--maxiter", "1", "--rtol", "1e-10", "-o", "x.npy")
    assert code == 3 and "max iterations" in out and np.load("x.npy").shape == (600,)
    code, out, err = cli("bem", "pair:6,5", "--maxiter", "1", "--rtol", "1e-10", "--json")
    assert code == 3 and json.loads(out)["status"] == "max_iterations"
    assert err.startswith("sordino: not solved: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["none.pbf"], "none.pbf: there is no such file"),
        (["a.doc"], "a.doc: a surface is read from"),
        (["cube:3"], "unknown shape 'cube'; known: sphere, pair, spheres, figure, plate"),
        (["cube"], "unknown shape 'cube'; known: sphere, pair, spheres, figure, plate"),
        (["spere:3,4,radius=1.5"], "unknown shape 'spere', did you mean 'sphere'?"),
        (["a:3.obj"], "a:3.obj: there is no such file"),
        (["sphere:5"], "shape 'sphere:5' has 1 number; it is sphere:m0,M[,radius=...]"),
        (["bare.obj"], "bare.obj has no potentials: give them (--potential"),
        (["open.pbf"], "open.pbf: the surface is open: only triangle 0 has the edge"),
        (
            ["pair:6,5", "--potential=1,2,3"],
            "--potential has 3 values, and the surface has 2 conductors: one for each",
        ),
        (["pair:6,5", "--potential", "high"], "--potential must be a number, not 'high'"),
        (["pair:6,5", "--potential", "field:1,2"], "a field is three numbers, in V/m, not [1.0, 2.0]"),
        (["pair:6,5", "--eps", "small"], "--eps must be a number, not 'small'"),
        (["pair:6,5", "--leaf", "1.5"], "--leaf must be a whole number, not '1.5'"),
        (
            ["pair:6,5", "--coarse-rank", "1"],
            "--coarse-rank is of a second matrix: say its accuracy, --coarse",
        ),
        (["pair:6,5", "--most-rank", "0"], "most_rank is a whole number, at least 1, not 0"),
        (["pair:6,5", "--vtk", "x.txt"], "x.txt: a surface is written as .vtk"),
        (["pair:6,5", "-o", "x.csv"], "x.csv: a charge is written as .npy or .npz or .mtx"),
        (["pair:6,5", "--compresion", "aca"], "unknown option '--compresion', did you mean '--compression'?"),
        (["ball.pbf", "--eta", "0"], "eta is a positive number"),
        (["ball.pbf", "--coarse", "1"], "coarse: eps is below 1 and at least 1e-13"),
        ([], "the following arguments are required: MESH|SHAPE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_one_sentence_and_exit_code_2(cli, folder, argv, sentence):
    (folder / "open.pbf").write_text("3\n0 0 0\n1 0 0\n0 1 0\n1\n3\n0\n1\n0 1 2\n1\n")
    (folder / "a.doc").write_text("text")
    code, out, err = cli("bem", *argv)
    assert code == 2 and out == "" and err.startswith("sordino: ") and err.count("\n") == 1
    assert sentence in err


def test_an_open_surface_is_taken_where_it_is_meant(cli, folder):
    (folder / "open.pbf").write_text("3\n0 0 0\n1 0 0\n0 1 0\n1\n3\n0\n1\n0 1 2\n1\n")
    assert as_json(cli("bem", "open.pbf", "--open", "--json"))["triangles"] == 1


def test_a_shape_gives_way_to_a_file_of_its_name(cli, folder):
    write_bem_bb(OutputFile(folder / "sphere:5,4.pbf"), pair(3, 2))
    assert as_json(cli("bem", "sphere:5,4.pbf", "--json"))["conductors"] == 2


def test_conductors_at_one_place_are_told_of(cli, folder):
    ball = sphere(5, 4)
    points, triangles = (
        np.concatenate([ball.points] * 2),
        np.concatenate([ball.triangles, ball.triangles + 82]),
    )
    write_bem_bb(OutputFile("twice.pbf"), Surface(points, triangles, 1.0))
    code, out, err = cli("bem", "twice.pbf")
    assert (code, err) == (0, "")
    assert "160 triangles at the place of another one: of the charges there, and of the conductors" in out
    code, out, err = cli("bem", "twice.pbf", "--capacitance")
    assert code == 2 and out == "" and "are to be at 1 and 0 V, which no charge does" in err
    assert "at the place of another one" not in cli("bem", "ball.pbf")[1]


def test_what_is_warned_of_is_one_line(shell):
    ended = shell("bem", "sphere:5,4", "--solver", "cg", "--engine", "host")
    said = "sordino: the matrix is not symmetric, which solver cg needs: set up a solver with solver='bicgstab'\n"
    assert ended.stderr == said and ended.returncode in (0, 3)
