"""The picture of predicted triangular solves: what stands where, and what is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sordino
from sordino import _paper_prediction
from sordino.io import save_factors
from sordino.report.times_over_ranks import Curve, drawing

SVG = "{http://www.w3.org/2000/svg}"


def looked_at(text):
    """Places of points and crosses by what their titles say, and all texts."""
    root = ET.fromstring(text)
    points = {
        c.findtext(f"{SVG}title"): (float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{SVG}circle")
    }
    crosses = {}
    for group in root.iter(f"{SVG}g"):
        if group.get("class") == "measured":
            lines = group.findall(f"{SVG}line")
            crosses[group.findtext(f"{SVG}title")] = tuple(
                np.mean([[float(line.get(f"{axis}{k}")) for k in "12"] for line in lines]) for axis in "xy"
            )
    return root, points, crosses, [t.text for t in root.iter(f"{SVG}text")]


def test_times_stand_as_high_as_they_are_and_ranks_at_their_logarithms(rng_of_today):
    seconds = dict(zip((1, 2, 4, 8), rng_of_today.uniform(1e-3, 5e-3, 4), strict=True))
    measured = {2: 2e-3}
    _, points, crosses, texts = looked_at(drawing([Curve("ours", seconds, measured)], "a < b & c"))
    (x, y), places = zip(*points.values(), strict=True), list(seconds.values())
    assert np.diff(x) == pytest.approx([x[1] - x[0]] * 3, abs=0.02)
    zero = 400.0 - 52.0  # where the axis is
    assert [(zero - v) / (zero - y[0]) for v in y] == pytest.approx([s / places[0] for s in places], rel=1e-3)
    (title,) = crosses
    assert title == "ours, 2 ranks: 2 ms measured"
    assert crosses[title][0] == pytest.approx(x[1], abs=0.02)
    assert (zero - crosses[title][1]) / (zero - y[0]) == pytest.approx(2e-3 / places[0], rel=1e-3)
    assert "a < b & c" in texts and "0" in texts and "8" in texts and "measured" in texts


def test_times_far_from_one_another_are_drawn_by_their_logarithms():
    curves = [Curve("ours", {1: 1e-3, 2: 1e-2}), Curve("theirs", {1: 1e-1, 2: 1.0})]
    root, points, _, texts = looked_at(drawing(curves, "far"))
    y = [place[1] for place in points.values()]
    assert np.diff(y) == pytest.approx([y[1] - y[0]] * 3, abs=0.02)
    assert "0" not in texts and "10 ms" in texts and "measured" not in texts
    assert len({g.get("stroke") for g in root.iter(f"{SVG}g") if g.find(f"{SVG}polyline") is not None}) == 2


def test_one_number_of_ranks_and_thirty_two_are_pictures_too():
    assert len(looked_at(drawing([Curve("ours", {4: 1e-3})], "one"))[1]) == 1
    _, points, _, texts = looked_at(drawing([Curve("ours", {r: 1 / r for r in range(1, 33)})], "many"))
    assert len(points) == 32 and "1" in texts and "31" not in texts  # no letters over one another


@pytest.fixture
def matrix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("A.mtx", sp.coo_matrix(sordino.poisson(7, 7, 7)))
    return tmp_path / "A.mtx"


COMMAND = ("predict", "trsv", "A.mtx", "--factor", "--machine", "h100x4", "--width", "16")


def test_the_command_draws_what_it_predicts(cli, matrix):
    code, out, err = cli(*COMMAND, "--plot", "t.svg", "--measured", "1:1e-4,4:2e-4", "--json")
    assert code == 0, err
    predicted = {p["ranks"]: p["seconds"] for p in json.loads(out)["predicted"]}
    _, points, crosses, texts = looked_at((matrix.parent / "t.svg").read_text(encoding="utf-8"))
    assert len(points) == len(predicted) == 3 and len(crosses) == 2
    y = [place[1] for place in points.values()]
    heights = [(348 - v) / (348 - y[0]) for v in y]
    assert heights == pytest.approx([s / predicted[1] for s in predicted.values()], rel=2e-3)
    assert "A.mtx: a solve on machine h100x4" in texts
    code, out, err = cli(*COMMAND, "--plot", "t.svg", "--nrhs", "4", "--force")
    assert code == 0 and "Drawn in t.svg." in out
    texts = looked_at((matrix.parent / "t.svg").read_text(encoding="utf-8"))[3]
    assert "A.mtx: a solve for 4 right-hand sides on machine h100x4" in texts


def test_layouts_take_as_long_as_solves_of_engine_model(cli, matrix):
    factors = sordino.splu(sordino.poisson(7, 7, 7)).factors
    save_factors("f.npz", factors)
    scipy.io.mmwrite("L.mtx", sp.coo_matrix(factors.lower))
    words = ("--machine", "h100x4", "--width", "16", "--ranks", "1,2,4", "--layouts", "--json")

    def layouts(file, *more):
        code, out, err = cli("predict", "trsv", file, *words, *more)
        assert code == 0, err
        return json.loads(out)["layouts"]

    def solved(layout, trans):
        """Seconds with L, and with L and U."""
        options = {"algorithm": "paper", "engine": "model", "machine": "h100x4", "layout": layout}
        F = sordino.factorized_lu(factors, width=16, **options)
        F.solve(np.ones(factors.n), trans, 0)
        parts = [F.statistics[kind]["modelled_seconds"] for kind in ("lower", "upper")]
        return parts[0], sum(parts)

    for trans in "NT":
        of_one, of_both = layouts("L.mtx", "--trans", trans), layouts("f.npz", "--trans", trans)
        assert [row["layout"] for row in of_one] == ["1x1", "1x1", "2x1", "1x2", "4x1", "1x4", "2x2"]
        assert [row["shape"] for row in of_one] == ["P x 1", "1 x P"] * 3 + ["2-D"]
        for one, both in zip(of_one, of_both, strict=True):
            wanted = solved(one["layout"], trans)
            assert (one["seconds"], both["seconds"]) == pytest.approx(wanted, rel=1e-12)
    single = [3 * row["seconds"] for row in of_one]
    several = layouts("L.mtx", "--trans", "T", "--nrhs", "3")
    assert [row["seconds"] for row in several] == pytest.approx(single, rel=1e-12)


def test_the_best_layout_is_named_and_blocks_are_as_wide_as_the_papers(cli, matrix):
    scipy.io.mmwrite("dense.mtx", sp.coo_matrix(np.ones((300, 300)) + 300 * np.eye(300)))

    def predicted(*more):
        words = ("predict", "trsv", "dense.mtx", "--factor", "--ranks", "1,2", "--layouts", "--json", *more)
        code, out, err = cli(*words)
        assert code == 0, err
        return json.loads(out)

    found, widths = predicted(), {width: predicted("--width", width) for width in ("128", "256")}
    assert found["layouts"] == widths["128"]["layouts"] != widths["256"]["layouts"]
    assert found["predicted"] == widths["256"]["predicted"]
    for one in (found, *widths.values()):
        fastest = min(one["layouts"], key=lambda row: (row["seconds"], row["ranks"]))
        assert one["best_layout"] == {key: fastest[key] for key in ("layout", "ranks", "seconds")}
    slow, fast = ({"seconds": s, "ranks": r, "layout": f"{r}x1"} for s, r in ((1.0, 4), (1.0, 2)))
    assert _paper_prediction.best_layout([slow, fast]) == fast
    L = sp.csr_array(np.tril(np.ones((300, 300))))
    blocks = [sordino.factorized(L, algorithm=a).statistics["blocks"] for a in ("ours", "paper")]
    assert blocks == [2, 3 * 4 / 2]  # block columns, and blocks of three of them


def test_layouts_are_curves_of_their_shapes_and_no_cross_is_lost(cli, matrix):
    words = ("--ranks", "1,2", "--layouts", "--plot", "t.svg", "--measured", "2:1e-4,1x2:2e-4,2x2:3e-4")
    code, out, err = cli(*COMMAND, *words)
    assert code == 0, err
    assert "Algorithm 1 of paper 004" in out and "2x1" in out
    assert "Of the paper's layouts 1x1 is the fastest, with " in out
    _, points, crosses, texts = looked_at((matrix.parent / "t.svg").read_text(encoding="utf-8"))
    assert {"ours", "paper's, P x 1", "paper's, 1 x P", "paper's, 2-D", "measured"} <= set(texts)
    assert len(points) == 6
    assert list(crosses) == [
        "ours, 2 ranks: 100 μs measured",
        "paper's, 1 x P, 2 ranks: 200 μs measured",
        "paper's, 2-D, 4 ranks: 300 μs measured",
    ]
    code, out, _ = cli(*COMMAND, "--json")
    assert code == 0 and "layouts" not in json.loads(out)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--plot t.svg --measured 2x1:1e-3", "names the layout 2x1, and drawn are none without --layouts"),
        ("--plot t.svg --layouts --measured 2x4:1e-3", "the layout 2x4, and drawn are 8x1, 1x8, 4x2"),
        ("--plot t.svg --layouts --measured 2x2x2:1e-3", "or a layout's PxQ:SECONDS"),
        ("--plot t.svg --layouts --measured 0x2:1e-3", "not '0x2:1e-3'"),
        ("--plot t.png", "a picture is written as .svg"),
        ("--plot there.svg", "there.svg exists already; give --force"),
        ("--plot nowhere/t.svg", "there is no folder nowhere"),
        ("--measured 1:2", "--measured is drawn by --plot: give both"),
        ("--plot t.svg --measured 1:nan", "such as 1:2.6e-3,2:1.5e-3, not '1:nan'"),
        ("--plot t.svg --measured 1:0", "--measured is RANKS:SECONDS"),
        ("--plot t.svg --measured 0:1", "--measured is RANKS:SECONDS"),
        ("--plot t.svg --measured 33:1", "--measured is RANKS:SECONDS"),
        ("--plot t.svg --measured 1e-3", "--measured is RANKS:SECONDS"),
        ("--plot t.svg --measured 1:2,", "not ''"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_predicted(cli, matrix, words, sentence):
    (matrix.parent / "there.svg").write_text("mine", encoding="utf-8")
    code, out, err = cli(*COMMAND, *words.split())
    assert (code, out) == (2, "")
    assert sentence in err and err.count("\n") == 1
    assert (matrix.parent / "there.svg").read_text(encoding="utf-8") == "mine"
    assert not (matrix.parent / "t.svg").exists()
