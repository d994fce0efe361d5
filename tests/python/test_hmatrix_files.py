"""H-matrices in files: to the bit, whole or not at all, and for their surface alone."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

import sordino
from sordino.io import OutputFile, load_hmatrix, save_hmatrix
from sordino.surfaces import Surface, sphere


@pytest.fixture(scope="module")
def surface():
    return sphere(5, 9)


@pytest.fixture(scope="module")
def matrix(surface):
    return sordino.hmatrix(surface, 1e-5, eta=1.5, leaf=12)


@pytest.fixture
def written(matrix, tmp_path):
    path = tmp_path / "ball.hmatrix"
    save_hmatrix(path, matrix)
    return path


def test_it_comes_back_to_the_bit_and_solves_on_any_number_of_ranks(surface, matrix, written):
    again = load_hmatrix(written, surface)
    X = np.random.default_rng(1).normal(size=(surface.n, 3))
    assert (again @ X).tobytes() == (matrix @ X).tobytes()
    assert (again.T @ X).tobytes() == (matrix.T @ X).tobytes()
    assert again.statistics == matrix.statistics and again.settings == matrix.settings
    assert again.blocks.tobytes() == matrix.blocks.tobytes() and again.geometry == matrix.geometry
    first = sordino.solve(matrix, X[:, 0], ranks=1, rtol=1e-8).x
    for ranks in (1, 3):
        assert sordino.solve(again, X[:, 0], ranks=ranks, rtol=1e-8).x.tobytes() == first.tobytes()


def test_numpy_reads_it_too(matrix, written):
    arrays = np.load(written)
    assert arrays["values.npy"].nbytes == matrix.statistics["stored_bytes"]
    assert (arrays["ranks.npy"] == matrix.blocks["rank"]).all()


def test_another_surface_is_refused(surface, written):
    moved = surface.points.copy()
    moved[7, 2] = np.nextafter(moved[7, 2], np.inf)
    turned = surface.triangles.copy()
    turned[3] = np.roll(turned[3], 1)
    for other in (sphere(5, 8), Surface(moved, surface.triangles), Surface(surface.points, turned)):
        with pytest.raises(sordino.BadArgument, match=r"ball\.hmatrix is the H-matrix of another surface"):
            load_hmatrix(written, other)


def test_every_damage_is_found(surface, written, tmp_path, rng_of_today):
    good, bad = written.read_bytes(), tmp_path / "bad.hmatrix"
    for place in [*rng_of_today.integers(0, len(good), 40), len(good) // 2]:
        broken = bytearray(good)
        broken[place] ^= 0x10
        bad.write_bytes(broken)
        try:
            found = load_hmatrix(bad, surface)
        except (sordino.FileError, sordino.BadArgument) as refused:
            assert str(refused).count("\n") == 0, place
        else:  # bytes of the archive that say nothing, as times
            assert found.native.values is not None
            x = np.ones(surface.n)
            assert (found @ x).tobytes() == (load_hmatrix(written, surface) @ x).tobytes(), place
    for length in (1, 100, len(good) // 2, len(good) - 1):
        bad.write_bytes(good[:length])
        with pytest.raises(sordino.FileError, match="no H-matrix, or is damaged or truncated"):
            load_hmatrix(bad, surface)


def test_a_bit_of_the_archives_directory_is_found_or_changes_nothing(surface, written, tmp_path):
    """It may call what is there encrypted, compressed, or something of a later version of archives."""
    good, bad = written.read_bytes(), tmp_path / "bad.hmatrix"
    y = load_hmatrix(written, surface) @ np.ones(surface.n)
    begin = good.index(b"PK\x01\x02")
    refused = 0
    for place in (*range(6, 10), *range(begin + 6, begin + 12), *range(begin + 20, len(good), 9)):
        broken = bytearray(good)
        broken[place] ^= 0x01
        bad.write_bytes(broken)
        try:
            assert ((load_hmatrix(bad, surface) @ np.ones(surface.n)) == y).all(), place
        except sordino.FileError:
            refused += 1
    assert refused > 10


def _changed(written, path, **about):
    with zipfile.ZipFile(written) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "about.json":
                content = json.dumps({**json.loads(content), **about}).encode()
            new.writestr(name, content)
    return path


def test_later_versions_and_other_files_are_refused(surface, written, tmp_path):
    later = _changed(written, tmp_path / "later.hmatrix", version=2)
    with pytest.raises(sordino.FileError, match="is of version 2, and this program reads up to 1"):
        load_hmatrix(later, surface)
    other = _changed(written, tmp_path / "other.hmatrix", format="something else")
    with pytest.raises(sordino.FileError, match="no H-matrix, or is damaged or truncated"):
        load_hmatrix(other, surface)
    with pytest.raises(sordino.FileError, match="there is no such file"):
        load_hmatrix(tmp_path / "none.hmatrix", surface)
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    with pytest.raises(sordino.FileError, match="no H-matrix"):
        load_hmatrix(tmp_path / "arrays.npz", surface)


def test_nothing_is_overwritten(matrix, written, tmp_path):
    before = written.read_bytes()
    with pytest.raises(sordino.FileError, match="exists already"):
        save_hmatrix(written, matrix)
    assert written.read_bytes() == before
    save_hmatrix(OutputFile(written, force=True), matrix)
    with pytest.raises(sordino.BadArgument, match=r"a compressed matrix is written as \.hmatrix"):
        save_hmatrix(tmp_path / "ball.npz", matrix)


def test_the_command_writes_and_takes_one(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["bem", "sphere:5,7", "--json", "--rtol", "1e-8"]
    code, out, err = cli(*words, "--eps", "1e-5", "--save-matrix", "m.hmatrix")
    assert code == 0, err
    built = json.loads(out)
    code, out, err = cli(*words, "--matrix", "m.hmatrix")
    assert code == 0, err
    read = json.loads(out)
    for key in (
        "total_charge",
        "stored_bytes",
        "compression_error",
        "build_seconds",
        "iterations",
        "history",
    ):
        assert read[key] == built[key], key
    code, out, _ = cli("bem", "sphere:5,7", "--matrix", "m.hmatrix")
    assert code == 0 and "with eps 1e-05" in out
    code, _, err = cli("bem", "sphere:5,6", "--matrix", "m.hmatrix")
    assert code == 2 and "m.hmatrix is the H-matrix of another surface" in err
    code, _, err = cli("bem", "sphere:5,7", "--save-matrix", "m.hmatrix")
    assert code == 2 and "exists already" in err
