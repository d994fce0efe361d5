"""Results are written whole or not at all, and never over an existing file unasked."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sordino import BadArgument, FileError, read_matrix, read_vector
from sordino.io import OutputFile, write_vector

X = np.array([1 / 3, -2e-308, 1e300])


@pytest.mark.parametrize("name", ["x.npy", "x.mtx"])
def test_vectors_come_back_to_the_bit(tmp_path, name):
    write_vector(OutputFile(tmp_path / name), X)
    np.testing.assert_array_equal(read_vector(tmp_path / name, 3, "result"), X)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["x.npy", "x.mtx"])
def test_columns_come_back_to_the_bit(tmp_path, name):
    columns = np.stack([X, 2 * X[::-1]], axis=1)
    write_vector(OutputFile(tmp_path / name), columns)
    np.testing.assert_array_equal(read_matrix(tmp_path / name).matrix, columns)


def test_an_existing_file_is_kept_unless_forced(tmp_path):
    path = tmp_path / "x.npy"
    path.write_text("precious")
    with pytest.raises(FileError, match="exists already; give --force"):
        OutputFile(path)
    with pytest.raises(FileError, match=r"exists already; give force=True to overwrite it"):
        OutputFile(path, overwrite="force=True")
    assert path.read_text() == "precious"
    write_vector(OutputFile(path, force=True), X)
    np.testing.assert_array_equal(np.load(path), X)


def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    output = OutputFile(tmp_path / "x.npy")
    (tmp_path / "x.npy").write_text("precious")
    with pytest.raises(FileError, match="appeared meanwhile"):
        write_vector(output, X)
    assert (tmp_path / "x.npy").read_text() == "precious"
    assert os.listdir(tmp_path) == ["x.npy"]


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def half(stream):
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        OutputFile(tmp_path / "x.npy").write(half)
    assert os.listdir(tmp_path) == []


def test_paths_that_cannot_be_written_are_found_before_the_work(tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        OutputFile(tmp_path / "none" / "x.npy")
    with pytest.raises(FileError, match="is a folder"):
        OutputFile(tmp_path)
    with pytest.raises(BadArgument, match=r"a solution is written as \.npy or \.mtx"):
        OutputFile(tmp_path / "x.txt", suffixes=(".npy", ".mtx"), what="solution")
    with pytest.raises(FileError, match="cannot be written"):
        OutputFile("/proc/x.npy")
    with pytest.raises(FileError, match="cannot be written"):
        OutputFile(tmp_path / ("x" * 300 + ".npy")).write(b"1")
