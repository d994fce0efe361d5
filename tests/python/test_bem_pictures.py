"""Pictures of surfaces and of the blocks of an H-matrix show what is there."""

from __future__ import annotations

import base64
import re
import struct
import zlib

import numpy as np
import pytest

from sordino.report import raster
from sordino.report.pictures import block_structure, rank_map
from sordino.report.surface_view import surface_view
from sordino.surfaces import sphere


def image(picture):
    """RGBA of the picture's first image."""
    png = base64.b64decode(re.search(r"base64,([^\"]+)", picture.drawing)[1])
    width, height = struct.unpack(">II", png[16:24])
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + 4 * width)
    return rows[:, 1:].reshape(height, width, 4).astype(int)


def redness(pixels):
    return pixels[..., 0] - pixels[..., 2]


def test_a_sphere_is_a_full_disc():
    surface = sphere(8, 10, radius=3.0, centre=(5, 6, 7))
    pixels = image(surface_view(surface.corners, np.ones(surface.n), "Charge", "all the same"))
    height, width = pixels.shape[:2]
    y, x = np.mgrid[:height, :width]
    distance = np.hypot((x + 0.5) / width - 0.5, (y + 0.5) / height - 0.5)
    seen = pixels[..., 3] > 0
    assert abs(height - width) < 12
    assert seen[distance < 0.48].all() and not seen[distance > 0.51].any()


@pytest.mark.parametrize("azimuth", [0.0, 60.0, 200.0])
def test_the_near_side_hides_the_far_one(azimuth):
    surface = sphere(8, 10)
    towards = np.array([np.cos(np.radians(azimuth)), np.sin(np.radians(azimuth)), 0.0])
    values = np.where(surface.centroids @ towards > 0, 1.0, -1.0)
    pixels = image(surface_view(surface.corners, values, "a", "b", azimuth=azimuth))
    middle = redness(pixels)[pixels.shape[0] // 2]
    assert (middle[pixels[pixels.shape[0] // 2, :, 3] > 0] > 0).all()
    assert redness(pixels)[6, pixels.shape[1] // 2] < 0  # behind the top, which is seen from a little above


@pytest.mark.parametrize(("upwards", "axis"), [("z", 2), ("y", 1)])
def test_up_is_up(upwards, axis):
    surface = sphere(8, 10)
    pixels = image(surface_view(surface.corners, surface.centroids[:, axis], "a", "b", upwards=upwards))
    height, middle = pixels.shape[0], pixels.shape[1] // 2
    assert redness(pixels)[height // 8, middle] > 0 > redness(pixels)[-height // 8, middle]


def test_right_is_not_left():
    """Seen from x, y is on the right; with y upwards, and seen from z, x is."""
    surface = sphere(8, 10)
    for axis, more in ((1, {"azimuth": 0.0}), (0, {"azimuth": 90.0, "upwards": "y"})):
        pixels = image(surface_view(surface.corners, surface.centroids[:, axis], "a", "b", **more))
        row, width = pixels.shape[0] // 2, pixels.shape[1]
        assert redness(pixels)[row, -width // 8] > 0 > redness(pixels)[row, width // 8]


def test_one_wild_triangle_does_not_take_all_colours():
    surface = sphere(8, 10)
    values = surface.centroids[:, 2] / 10
    values[0] = 1e6
    picture = surface_view(surface.corners, values, "a", "b")
    assert re.search(r">1</text>|>0\.9\d*</text>", picture.drawing)
    assert "to 1e+06" in picture.drawing


def test_numbers_beside_the_colours_have_room():
    """Charges have exponents; a letter takes 8.2 units on a phone."""
    surface = sphere(8, 10)
    drawing = surface_view(surface.corners, -5.9e-11 * surface.centroids[:, 2], "a", "b").drawing
    (width,) = re.findall(r'viewBox="0 0 (\d+) ', drawing)
    (shift,) = re.findall(r"translate\((-?\d+) 0\)", drawing)
    texts = re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)<', drawing)
    assert len(texts) == 3 and any("e-10" in text for _, text in texts)
    assert all(float(x) + float(shift) + 8.2 * len(text) < float(width) for x, text in texts)


def blocks(*rows):
    names = ("row_begin", "row_end", "column_begin", "column_end", "rank")
    return np.array(list(rows), dtype=[(name, np.int64) for name in names])


def test_blocks_are_coloured_by_rank_and_dense_ones_are_red():
    picture = block_structure(
        blocks((0, 40, 0, 40, -1), (40, 100, 40, 100, -1), (0, 40, 40, 100, 3), (40, 100, 0, 40, 9)), 100
    )
    pixels = image(picture)
    assert pixels.shape == (100, 100, 4)
    assert pixels[20, 20].tolist() == pixels[70, 70].tolist() == [207, 109, 79, 255]
    ends = raster.coloured(np.array([3.0, 9.0]), raster.SEQUENTIAL, 3.0, 9.0).tolist()
    assert [pixels[20, 70].tolist(), pixels[70, 20].tolist()] == ends
    assert "2 blocks of low rank, coloured by it, from 3 to 9; 2 dense blocks in red" in picture.caption
    assert pixels[40, 70, 3] < 255  # an edge


def test_blocks_smaller_than_a_pixel_are_seen():
    n = 6000
    small = [(k, k + 5, k, k + 5, -1) for k in range(2, n - 5, 5)]
    pixels = image(block_structure(blocks(*small), n))
    assert pixels.shape == (600, 600, 4)
    seen = pixels[..., 3] > 0
    assert seen.diagonal().all()


def shares(*rows):
    names = ("row_begin", "row_end", "column_begin", "column_end", "rank", "owner")
    return np.array(list(rows), dtype=[(name, np.int64) for name in names])


def test_blocks_have_the_colours_of_their_ranks_and_dense_ones_are_darker():
    square = shares(
        (0, 40, 0, 40, -1, 0), (40, 100, 40, 100, -1, 1), (0, 40, 40, 100, 3, 0), (40, 100, 0, 40, 3, 9)
    )
    picture = rank_map(square, 100, 10, "leaves")
    pixels = image(picture)
    assert pixels[20, 20].tolist() == [0x00, 0x72, 0xB2, 255]
    assert pixels[70, 70].tolist() == [0xE6, 0x9F, 0x00, 255]
    assert (pixels[20, 70, :3] > pixels[20, 20, :3]).all()  # rank 0, paler
    assert (
        pixels[70, 20].tolist() == ((pixels[70, 70] + 2 * 255) // 3).tolist()
    )  # rank 9 has the colour of rank 1
    assert (
        picture.drawing.count("<rect") == 1 + 8
        and "Of 10 ranks every 8th has the same colour" in picture.caption
    )
    assert "by leaves: " in picture.caption and "cut" not in picture.caption
    # 1600, 3600, 300 and 300 values of ranks 0, 1, 0 and 9: the most is 3600 of a mean of 580
    assert f"{3600 / 580:.3g} times the mean" in picture.caption
