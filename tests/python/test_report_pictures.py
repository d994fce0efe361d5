"""The problem's own pictures, pixel by pixel, and the roofline."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import sordino
from sordino._matrix import as_csr
from sordino.report import kernels, pictures, raster, roof, roofline


def pixels(uri):
    """RGBA of a PNG as this package writes it, shape (height, width, 4), with every checksum checked."""
    png = base64.b64decode(uri.removeprefix("data:image/png;base64,"), validate=True)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        (size,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        content = png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + content)
        chunks[kind] = content
        at += 12 + size
    width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, colour) == (8, 6) and list(chunks)[-1] == b"IEND"
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, 1 + 4 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 4)


def first_image(picture):
    return pixels(re.search(r'href="(data:[^"]+)"', picture.drawing)[1])


def rgb(colour):
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def test_a_slice_is_the_middle_layer_with_y_upwards():
    values = np.zeros((5, 3, 4))  # z, y, x
    values[2] = 1 + np.arange(12).reshape(3, 4)
    picture = pictures.field_slice(values.ravel(), (4, 3, 5), "Solution", "x")
    image = first_image(picture)
    assert image.shape == (3, 4, 4)
    assert image[2, 0, :3].tolist() == rgb(
        raster.SEQUENTIAL[0]
    )  # the least value, at the origin: bottom left
    assert image[0, 3, :3].tolist() == rgb(raster.SEQUENTIAL[-1])
    assert "z = 2 of 5" in picture.caption


def test_zero_is_in_the_middle_of_the_colours_where_both_signs_occur():
    picture = pictures.map_of(np.array([[-1.0, 0.0, 3.0]]), "Error", "e")
    image = first_image(picture)
    assert image[0, 1, :3].tolist() == rgb(raster.DIVERGING[len(raster.DIVERGING) // 2])
    assert image[0, 2, :3].tolist() == rgb(raster.DIVERGING[-1])
    assert image[0, 0, :3].tolist() != rgb(raster.DIVERGING[0]), "-1 is less far from 0 than 3"


@pytest.mark.parametrize(
    "layer",
    [np.ones((2, 2)), 1 + 1e-16 * np.arange(4).reshape(2, 2), np.zeros((1, 1)), np.full((3, 2), np.nan)],
)
def test_fields_without_structure_are_said_to_be_constant(layer):
    picture = pictures.map_of(layer, "Field", "f")
    assert ">all " in picture.drawing
    assert (first_image(picture)[..., 3] == 0).all() == bool(np.isnan(layer).all())


def test_letters_are_of_one_size_whatever_the_shape():
    widths = {
        re.search(r'viewBox="0 0 (\d+)', pictures.map_of(np.zeros(shape), "Field", "f").drawing)[1]
        for shape in ((300, 2), (2, 300), (5, 5))
    }
    assert len(widths) == 1


def test_large_layers_are_thinned():
    picture = pictures.map_of(np.arange(1000.0 * 700).reshape(700, 1000), "Field", "f")
    height, width, _ = first_image(picture).shape
    assert max(height, width) <= pictures.MOST_CELLS and len(picture.drawing) < 300_000


def test_the_pattern_of_a_small_matrix_is_exact():
    dense = np.eye(5) + np.diag([1.0, 2.0], k=3)
    dense[4, 0] = 7
    picture = pictures.sparsity(as_csr(sp.csr_array(dense)))
    assert ((first_image(picture)[..., 3] > 0) == (dense != 0)).all()
    assert "1 to 2 entries a row, 1.6 on average" in picture.caption and "4 places" in picture.caption


def test_no_entry_of_a_large_matrix_is_lost():
    n = 10_007
    entries = sp.coo_array(([1.0, 1.0], ([3, n - 1], [n - 2, 0])), shape=(n, n))
    picture = pictures.sparsity(as_csr(sp.csr_array(sp.eye_array(n) + entries)))
    seen = first_image(picture)[..., 3] > 0
    boxes = pictures.MOST_BOXES
    expected = np.eye(boxes, dtype=bool)
    expected[0, -1] = expected[-1, 0] = True
    assert (seen == expected).all()
    assert "A dot stands for 67 rows and columns" in picture.caption


@pytest.fixture
def report(fake_core, laplacian):
    A = laplacian(6)
    return sordino.solve(A, A @ np.ones(216), ranks=2, engine="host", time_commands=True).report


def test_the_roof_of_a_described_machine_is_its_own(report):
    described = replace(report, machine={"name": "m", "memory_bandwidth": 1e12, "flops": 2e11})
    found = roof.roof_of(described)
    assert found == roof.measured_roof(described, ["NVIDIA H200"])
    assert (found.bandwidth, found.flops) == (1e12, 2e11) and "machine m" in found.source
    row = {"bandwidth": 4e11, "rate": 5e10}
    assert roof.of_roof(row, found) == pytest.approx(0.4)
    assert roof.of_roof({"bandwidth": 1e11, "rate": 1e11}, found) == pytest.approx(
        0.5
    )  # arithmetic limits it
    assert roof.of_roof({"bandwidth": 0.0, "rate": 0.0}, found) is None and roof.of_roof(row, None) is None


def test_the_roof_of_this_machine_is_measured_or_known_or_left_out(report):
    here = roof.measured_roof(report, [])
    assert here.bandwidth > 1e8 and "measured now" in here.source
    on_gpus = replace(report, options={**report.options, "engine": "cuda"})
    assert roof.measured_roof(on_gpus, ["NVIDIA H200"]).bandwidth == 4.8e12
    assert roof.measured_roof(on_gpus, ["NVIDIA H100 80GB HBM3"]).bandwidth == 3.35e12
    assert roof.measured_roof(on_gpus, ["A GPU of the future"]) is None
    assert roof.roof_of(report) is None


def test_kernels_are_shown_with_and_without_a_roof(report):
    with_roof = kernels.kernel_section(report, roof.Roof(1e10, 0.0, "as said"))
    assert "of the roof" in with_roof and "10 GB/s a rank, as said" in with_roof
    without = kernels.kernel_section(report, None)
    assert "of the roof" not in without and "sordino calibrate" in without
    assert 'class="roof"' in with_roof and 'class="roof"' not in without
    untimed = [{**kernel, "seconds": 0.0} for kernel in report.ledger["kernels"]]
    assert kernels.kernel_section(replace(report, ledger={**report.ledger, "kernels": untimed}), None) == ""


def test_a_kernel_stands_below_the_roof_by_what_it_lacks(report):
    """In the plot, half of the roof is log10(2) of a decade below the line, at any place of it."""
    row = {"name": "k", "calls": 1, "seconds": 1.0, "bytes": 5e9, "flops": 1e9}
    one = replace(report, ledger={**report.ledger, "kernels": [row]})
    drawing = roofline.plot(one, roof.Roof(1e10, 0.0, "")).split("at-phone")[0]
    x, y = (float(re.search(rf'<circle[^>]* {name}="([\d.]+)"', drawing)[1]) for name in ("cx", "cy"))
    (x0, y0), (x1, y1) = (
        map(float, pair.split(","))
        for pair in re.search(r'points="([^"]+)" class="roof"', drawing)[1].split()
    )
    line = y0 + (x - x0) / (x1 - x0) * (y1 - y0)
    grid = sorted({float(found) for found in re.findall(r'y1="([\d.]+)"[^>]*class="grid"', drawing)})
    decade = grid[1] - grid[0]
    assert (y - line) / decade == pytest.approx(np.log10(2), abs=0.01)


@pytest.mark.parametrize(("engine", "processes", "cores", "said"), [
    ("host", 1, 4, ""), ("host", 2, 4, "8 ranks took turns on 4 cores"), ("host", 1, 1, "took turns on 1 core:"),
    ("cuda", 1, 1, "4 ranks took turns on 2 GPUs"), ("model", 4, 1, ""),
])  # fmt: skip
def test_a_report_says_what_must_be_known_of_its_times(report, monkeypatch, engine, processes, cores, said):
    from sordino.cli import run

    monkeypatch.setattr(run.machines, "cores", lambda: cores)
    monkeypatch.setattr(run, "default_ranks", lambda engine, devices: 2)
    options = {**report.options, "engine": engine, "ranks": 4, "time_commands": True}
    asides = run.asides(replace(report, options=options, problem={"processes": processes}))
    assert said in " ".join(asides) and bool(asides) == bool(said)
