"""Files of matrices and vectors: what is read, and one sentence for what cannot be."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from sordino import BadArgument, FileError, read_matrix, read_vector

REAL = "%%MatrixMarket matrix coordinate real general\n"
SYMMETRIC = "%%MatrixMarket matrix coordinate real symmetric\n"
GOOD = REAL + "% a comment\n3 3 4\n1 1 1.5\n2 2 -2e0\n3 3 3\n3 1 .5\n"
EXPECTED = np.array([[1.5, 0, 0], [0, -2, 0], [0.5, 0, 3]])


def write(folder, content, name="a.mtx"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip("\n"),
        GOOD.replace("3 3 4", "\n3 3 4\n"),
        gzip.compress(GOOD.encode()),
    ],
)
def test_matrix_market(tmp_path, content):
    read = read_matrix(write(tmp_path, content, "a.mtx.gz" if isinstance(content, bytes) else "a.mtx"))
    np.testing.assert_array_equal(read.matrix.toarray(), EXPECTED)


def test_symmetric_skew_integer_and_array_files(tmp_path):
    symmetric = read_matrix(write(tmp_path, SYMMETRIC + "2 2 2\n1 1 4\n2 1 1\n"))
    np.testing.assert_array_equal(symmetric.matrix.toarray(), [[4, 1], [1, 0]])
    skew = SYMMETRIC.replace("symmetric", "skew-symmetric") + "2 2 1\n2 1 1\n"
    np.testing.assert_array_equal(read_matrix(write(tmp_path, skew)).matrix.toarray(), [[0, -1], [1, 0]])
    whole = REAL.replace("real", "integer") + "1 1 1\n1 1 7\n"
    np.testing.assert_array_equal(read_matrix(write(tmp_path, whole)).matrix.toarray(), [[7]])
    dense = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n"
    np.testing.assert_array_equal(read_matrix(write(tmp_path, dense)).matrix, [[1, 3], [2, 4]])


@pytest.mark.parametrize("ending", ["", "\r", " ", "\t"])
def test_a_last_line_without_newline(tmp_path, ending):
    """SciPy's reader alone crashes on some of these."""
    dense = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4" + ending
    np.testing.assert_array_equal(read_matrix(write(tmp_path, dense)).matrix, [[1, 3], [2, 4]])


def test_a_pattern_is_taken_as_ones_and_said(tmp_path):
    read = read_matrix(write(tmp_path, REAL.replace("real", "pattern") + "2 2 2\n1 1\n2 2\n"))
    np.testing.assert_array_equal(read.matrix.toarray(), np.eye(2))
    assert "every entry is taken as 1" in read.notes[0]


def test_a_larger_file_in_several_chunks(tmp_path, monkeypatch):
    from sordino.io import matrix_market

    monkeypatch.setattr(matrix_market, "_CHUNK", 7)
    matrix = sp.random_array((30, 30), density=0.2, rng=np.random.default_rng(3))
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix, precision=17)
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.mtx").matrix.toarray(), matrix.toarray())


def test_npz_and_npy(tmp_path):
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(EXPECTED))
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.npz").matrix.toarray(), EXPECTED)
    np.save(tmp_path / "a.npy", EXPECTED)
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.npy").matrix, EXPECTED)


BAD_MATRICES = {
    "empty": (b"", "is empty"),
    "binary garbage": (bytes(range(256)) * 9, "not a Matrix Market file"),
    "text": ("hello\nworld\n", "not a Matrix Market file"),
    "garbage after a good header": (
        REAL.encode() + b"2 2 2\n1 1 \x00\x01\n2 2 1\n",
        "a byte that belongs to no number",
    ),
    "garbage in the size line": (REAL.encode() + b"\x80\x81 2 2\n1 1 1\n", "malformed header"),
    "only a header": (REAL, "malformed header"),
    "short header": ("%%MatrixMarket matrix coordinate\n1 1 1\n1 1 1\n", "malformed header"),
    "unknown layout": (GOOD.replace("coordinate", "diagonal"), "malformed header"),
    "unknown field": (GOOD.replace("real", "quaternion"), "malformed header"),
    "a vector": (GOOD.replace("matrix coordinate", "vector coordinate"), "malformed header"),
    "size without entries": (REAL + "2 2\n1 1 1\n", "must give rows, columns and entries"),
    "size in words": (REAL + "two two 1\n1 1 1\n", "must give rows, columns and entries"),
    "negative size": (REAL + "-2 2 1\n1 1 1\n", "must give rows, columns and entries"),
    "size beyond 64 bits": (REAL + f"2 2 {10**30}\n1 1 1\n", "must give rows, columns and entries"),
    "more promised than the file can hold": (REAL + "2 2 99999999999\n1 1 1\n", "is truncated"),
    "truncated": (
        GOOD[: GOOD.rindex("3 1")],
        "is truncated: 12 numbers are promised by its header, 9 are there",
    ),
    "truncated within a line": (GOOD[:-5], "is truncated"),
    "too many": (GOOD + "1 1 1\n", "more than its header promises"),
    "row out of range": (GOOD.replace("3 3 3", "4 3 3"), "Row index out of bounds"),
    "column out of range": (GOOD.replace("3 3 3", "3 9 3"), "Column index out of bounds"),
    "index zero": (GOOD.replace("3 3 3", "0 3 3"), "Row index out of bounds"),
    "index with a point": (GOOD.replace("3 3 3", "3.5 3 3"), "must be whole"),
    "hermitian and real": (
        REAL.replace("general", "hermitian") + "1 1 1\n1 1 1\n",
        "hermitian, and real instead",
    ),
    "complex, half a value": (REAL.replace("real", "complex") + "1 1 1\n1 1 1\n", "truncated"),
    "complex, a column with a point": (
        REAL.replace("real", "complex") + "1 1 1\n1 1.0 1 0\n",
        "must be whole",
    ),
    "Fortran's D": (GOOD.replace("-2e0", "-2D0"), "Fortran's D notation"),
    "a comma for the point": (GOOD.replace("1.5", "1,5"), "commas"),
    "NaN": (GOOD.replace("1.5", "nan"), "NaN or infinity among its numbers"),
    "infinity": (GOOD.replace("1.5", "-Inf"), "NaN or infinity among its numbers"),
    "an exponent without E": (GOOD.replace("1.5", "1.5+10"), "no number"),
    "two points": (GOOD.replace("1.5", "1.5.2"), "no number"),
    "an exponent with a point": (GOOD.replace("1.5", "1e2.5"), "no number"),
    "an exponent without digits": (GOOD.replace("-2e0", "-2e"), "no number"),
    "a lone sign": (GOOD.replace("-2e0", "-"), "no number"),
    "truncated within an exponent": (GOOD[:-3] + "1e", "truncated"),
    "comments in the body": (GOOD.replace("2 2 -2e0", "% half\n2 2 -2e0"), "comments between its entries"),
    "symmetric but not square": (
        SYMMETRIC + "2 3 1\n1 1 1\n",
        "is called symmetric in its header, but is 2 x 3",
    ),
    "symmetric with both triangles": (
        SYMMETRIC + "2 2 3\n1 1 1\n1 2 5\n2 1 5\n",
        "stores some positions twice",
    ),
}


@pytest.mark.parametrize("kind", BAD_MATRICES)
def test_a_bad_matrix_file_gets_one_sentence(tmp_path, kind):
    content, sentence = BAD_MATRICES[kind]
    with pytest.raises(FileError, match=r"^[^\n]*$") as refused:
        read_matrix(write(tmp_path, content))
    assert sentence in str(refused.value) and "a.mtx" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.mtx.gz", gzip.compress(GOOD.encode())[:-9]),
        ("broken.mtx.gz", b"\x1f\x8b" + b"garbage" * 9),
        ("flipped.mtx.gz", gzip.compress(GOOD.encode())[:-20] + b"\x00" * 20),
    ],
)
def test_damaged_gzip(tmp_path, name, content):
    with pytest.raises(FileError, match=r"^[^\n]*damaged or truncated gzip file$"):
        read_matrix(write(tmp_path, content, name))


def test_missing_files_folders_and_unknown_kinds(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        read_matrix(tmp_path / "none.mtx")
    with pytest.raises(FileError, match="is a folder"):
        read_matrix(tmp_path)
    with pytest.raises(FileError, match="of no kind that can be read here; known are Matrix Market"):
        read_matrix(write(tmp_path, "anything", "a.xyz"))


def test_damaged_numpy_files(tmp_path):
    np.save(tmp_path / "v.npy", np.ones(100))
    whole = (tmp_path / "v.npy").read_bytes()
    with pytest.raises(FileError, match=r"damaged or truncated \.npy"):
        read_vector(write(tmp_path, whole[:-50], "cut.npy"), 100, "right-hand side")
    np.save(tmp_path / "o.npy", np.array([{}, {}]), allow_pickle=True)
    with pytest.raises(FileError, match="Python objects"):
        read_vector(tmp_path / "o.npy", 2, "right-hand side")
    sp.save_npz(tmp_path / "a.npz", sp.eye_array(50))
    packed = (tmp_path / "a.npz").read_bytes()
    for name, content in (
        ("cut.npz", packed[:-60]),
        ("holes.npz", packed[:200] + b"\0" * 100 + packed[300:]),
    ):
        with pytest.raises(FileError, match=r"^[^\n]*damaged \.npz[^\n]*$"):
            read_matrix(write(tmp_path, content, name))
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(FileError, match="does not hold a sparse matrix"):
        read_matrix(tmp_path / "other.npz")


@pytest.mark.parametrize(
    "content",
    ["%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n", REAL + "3 1 3\n1 1 1\n2 1 2\n3 1 3\n"],
)
def test_vectors_in_matrix_market(tmp_path, content):
    np.testing.assert_array_equal(read_vector(write(tmp_path, content), 3, "right-hand side"), [1, 2, 3])
    np.testing.assert_array_equal(read_vector(write(tmp_path, content)), [1, 2, 3])


def test_vectors_that_cannot_be_used(tmp_path):
    path = tmp_path / "b.npy"
    for values, sentence in (
        (np.ones(4), "has shape (4,), and the matrix has 3 rows"),
        (np.ones((3, 2)), "has 2 columns"),
        (np.array([1, np.nan, 1]), "holds nan at position 1"),
        (np.array(["1", "2", "3"]), "numbers"),
    ):
        np.save(path, values)
        with pytest.raises(BadArgument) as refused:
            read_vector(path, 3, "right-hand side")
        assert sentence in str(refused.value) and "b.npy" in str(refused.value)
    nan = "%%MatrixMarket matrix array real general\n3 1\n1\nnan\n3\n"
    with pytest.raises(FileError, match="NaN or infinity"):
        read_vector(write(tmp_path, nan), 3, "right-hand side")


@pytest.mark.slow
def test_damaged_files_never_crash_or_hang(tmp_path):
    rng = np.random.default_rng(5)
    base = bytearray(GOOD.encode())
    for _ in range(3000):
        content = bytearray(base)
        for place in rng.integers(0, len(content), rng.integers(1, 6)):
            content[place] = rng.integers(0, 256)
        path = write(tmp_path, bytes(content[: rng.integers(1, len(content) + 1)]))
        try:
            read_matrix(path)
        except FileError as refused:
            assert "\n" not in str(refused)
