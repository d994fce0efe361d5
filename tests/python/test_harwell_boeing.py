"""Harwell-Boeing and MATLAB files: matrices and right-hand sides, and one sentence for what cannot be read."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from sordino import FileError, read_matrix, read_vector
from sordino.io import harwell_boeing

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "matrices"


def header(
    kind, rows, columns, entries, formats=("(16I5)", "(16I5)", "(4E20.12)", "(4E20.12)"), lines=(1, 1, 1, 0)
):
    total = sum(lines)
    text = "A title".ljust(72) + "KEY".ljust(8) + "\n"
    text += "".join(f"{n:14d}" for n in (total, *lines)) + "\n"
    text += kind.ljust(14) + "".join(f"{n:14d}" for n in (rows, columns, entries, 0)) + "\n"
    return (
        text
        + formats[0].ljust(16)
        + formats[1].ljust(16)
        + formats[2].ljust(20)
        + formats[3].ljust(20)
        + "\n"
    )


#: [[1, 0, -2.5], [0, 3, 0], [4, 0, 0]], in columns.
POINTERS, INDICES = "    1    3    4    5\n", "    1    3    2    1\n"
VALUES = "".join(f"{v:20.12E}" for v in (1, 4, 3, -2.5)) + "\n"
EXPECTED = np.array([[1, 0, -2.5], [0, 3, 0], [4, 0, 0]])
GOOD = header("RUA", 3, 3, 4) + POINTERS + INDICES + VALUES


def write(folder, content, name="a.rua"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(
    "content", [GOOD, GOOD.replace("\n", "\r\n"), GOOD.rstrip("\n"), gzip.compress(GOOD.encode())]
)
def test_a_small_file(tmp_path, content):
    read = read_matrix(write(tmp_path, content))
    np.testing.assert_array_equal(read.matrix.toarray(), EXPECTED)
    assert read.rhs is None and read.notes == ()


def test_what_scipy_writes(tmp_path, rng_of_today):
    A = sp.random(40, 40, 0.1, random_state=rng_of_today, format="csc")
    name = str(tmp_path / "s.rb")
    scipy.io.hb_write(name, A)
    np.testing.assert_allclose(read_matrix(name).matrix.toarray(), A.toarray(), rtol=1e-15)


@pytest.mark.parametrize(
    ("form", "fields", "wanted"),
    [
        ("(4D20.12)", ["1.0D+00", "4.0d0", "3.D0", "-2.5D+0"], (1, 4, 3, -2.5)),
        ("(1P,4E20.12)", ["1.0E+00", "4.0E0", "3.E0", "-2.5E+0"], (1, 4, 3, -2.5)),
        ("(1P4D20.12)", ["1.0", "4.0", "3.0", "-2.5"], (0.1, 0.4, 0.3, -0.25)),
        ("(4F20.2)", ["100", "400", "300", "-250"], (1, 4, 3, -2.5)),
        ("(4E20.12)", ["1.5-103", "4.0+2", "3.0", "-2.5"], (1.5e-103, 400, 3, -2.5)),
        ("(4I20)", ["1", "4", "3", "-2"], (1, 4, 3, -2)),
    ],
)
def test_formats_of_fortran(tmp_path, form, fields, wanted):
    content = header("RUA", 3, 3, 4, ("(16I5)", "(16I5)", form, "")) + POINTERS + INDICES
    read = read_matrix(write(tmp_path, content + "".join(f.rjust(20) for f in fields) + "\n"))
    np.testing.assert_allclose(read.matrix.data, wanted, rtol=1e-15)


def test_kinds_of_symmetry(tmp_path):
    lower = "    1    3    4\n", "    1    2    2\n", "".join(f"{v:20.12E}" for v in (1, 4, 3)) + "\n"
    for kind, wanted in (("RSA", [[1, 4], [4, 3]]), ("PSA", [[1, 1], [1, 1]]), ("RZA", [[1, -4], [4, 3]])):
        lines = (1, 1, 0, 0) if kind[0] == "P" else (1, 1, 1, 0)
        content = (
            header(kind, 2, 2, 3, lines=lines) + lower[0] + lower[1] + (lower[2] if kind[0] != "P" else "")
        )
        read = read_matrix(write(tmp_path, content))
        np.testing.assert_array_equal(read.matrix.toarray(), wanted)
        assert (kind[0] == "P") == any("every entry is taken as 1" in note for note in read.notes)
    values = (
        "".join(f"{v:20.12E}" for v in (1, 0, 4, 2)) + "\n" + "".join(f"{v:20.12E}" for v in (3, 0)) + "\n"
    )
    content = header("CHA", 2, 2, 3, lines=(1, 1, 2, 0)) + lower[0] + lower[1] + values
    np.testing.assert_array_equal(
        read_matrix(write(tmp_path, content)).matrix.toarray(), [[1, 4 - 2j], [4 + 2j, 3]]
    )


def test_right_hand_sides(tmp_path, cli):
    columns = np.array([[1.0, 2, 3], [4, 5, 6]])
    text = header("RUA", 3, 3, 4, lines=(1, 1, 1, 4)) + "FGX".ljust(14) + f"{2:14d}{0:14d}\n"
    text += POINTERS + INDICES + VALUES
    flat = [f"{v:20.12E}" for v in columns.ravel()]
    text += "".join(flat[:4]) + "\n" + "".join(flat[4:]) + "\n"
    read = read_matrix(write(tmp_path, text))
    np.testing.assert_array_equal(read.rhs, columns.T)
    assert read.notes == ("a.rua: its first guesses and solutions are not read",)
    code, out, _ = cli("solve", write(tmp_path, text), "--solver", "bicgstab", "--precond", "none")
    assert code == 0 and "b is the first right-hand side in a.rua." in out
    sparse = text.replace("FGX".ljust(14), "M".ljust(14))
    assert "sparse form" in read_matrix(write(tmp_path, sparse)).notes[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.replace("RUA", "RUE"), "finite elements that are not assembled"),
        (lambda t: t.replace("(4E20.12)", "(4Q20.12)"), "is not a Fortran format"),
        (lambda t: t.replace("(16I5)", "(16I0)", 1), "makes no sense"),
        (lambda t: t.replace("    1    3    4    5", "    1    3    4    6"), "do not rise from 1 to 5"),
        (
            lambda t: t.replace("    1    3    2    1", "    1    9    2    1"),
            "a row index is not between 1 and 3",
        ),
        (lambda t: t.replace("    1    3    2    1", "    1    x    2    1"), "is not a whole number"),
        (lambda t: t.replace("4.000000000000E+00", "4.0000000abc0E+00"), "is not a number"),
        (lambda t: t.replace("4.000000000000E+00", "                NaN"), "is not"),
        (lambda t: t[: t.index(VALUES)], "is cut short"),
        (lambda t: t.replace("RUA", "RSA"), "entries on both sides of the diagonal"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, change, said):
    with pytest.raises(FileError, match=said) as caught:
        read_matrix(write(tmp_path, change(GOOD)))
    assert "\n" not in str(caught.value)


def test_damage_of_any_kind_is_a_sentence(tmp_path, rng_of_today):
    good = GOOD.encode()
    for _ in range(2000):
        bad = bytearray(good)
        for at in rng_of_today.integers(0, len(bad), rng_of_today.integers(1, 6)):
            bad[at] = rng_of_today.integers(0, 256)
        bad = bytes(bad[: rng_of_today.integers(len(bad) // 2, len(bad) + 1)])
        try:
            read_matrix(write(tmp_path, bad))
        except FileError as error:
            assert "\n" not in str(error)


@pytest.mark.skipif(not (DATA / "big.rua").exists(), reason="real matrices are not beside this checkout")
def test_a_real_file_that_scipy_refuses():
    content = harwell_boeing.read(str(DATA / "big.rua"))
    assert content.matrix.shape == (4960, 4960) and content.matrix.nnz == 23884
    assert content.rhs.shape == (4960, 1) and np.isfinite(content.rhs).all()


def test_matlab_files(tmp_path):
    A, b = sp.csc_array(EXPECTED), np.arange(3.0).reshape(3, 1)
    cases = [
        ({"A": A, "b": b}, b), ({"any": A}, None), ({"A": A, "B": A, "b": sp.csc_array(b)}, b),
        ({"Problem": {"A": A, "b": b, "title": "t"}}, b), ({"M": EXPECTED}, None),
    ]  # fmt: skip
    for variables, rhs in cases:
        name = str(tmp_path / "a.mat")
        scipy.io.savemat(name, variables)
        read = read_matrix(name)
        np.testing.assert_array_equal(
            read.matrix.toarray() if sp.issparse(read.matrix) else read.matrix, EXPECTED
        )
        assert read.rhs is None if rhs is None else np.array_equal(read.rhs, rhs)


def test_vectors_of_matlab_files(tmp_path):
    A, f = sp.csc_array(sp.diags_array([2.0, 3.0, 4.0])), np.array([[1.0], [2.0], [3.0]])
    path = tmp_path / "K.mat"
    scipy.io.savemat(path, {"K": A, "f": f, "g": f.T, "h": sp.csc_array(f), "n": 3.0})
    read = read_matrix(path)
    assert read.rhs is None and read.notes == (
        "K.mat also holds f, h, as long as the matrix: a right-hand side is to be called b",
    )
    scipy.io.savemat(path, {"K": A, "b": f, "f": f})
    assert read_matrix(path).notes == ()
    np.testing.assert_array_equal(read_vector(path, 3), [1, 2, 3])
    scipy.io.savemat(path, {"rhs": sp.csc_array(f), "about": "words"})
    np.testing.assert_array_equal(read_vector(path), [1, 2, 3])
    scipy.io.savemat(path, {"f": f, "g": f})
    with pytest.raises(FileError, match=r"K.mat holds several arrays \(f, g\): call the one to be read b"):
        read_vector(path)
    scipy.io.savemat(path, {"about": "words"})
    with pytest.raises(FileError, match="holds no array of numbers"):
        read_vector(path)


def test_a_right_hand_side_of_a_matlab_file_that_does_not_fit_is_refused(tmp_path):
    name = str(tmp_path / "a.mat")
    rows = EXPECTED.shape[0]
    for b, sentence in (
        (np.ones((1, rows)), f"a right-hand side b of 1 x {rows}, and its matrix has {rows} rows"),
        (np.ones((rows + 1, 2)), f"b of {rows + 1} x 2, and"),
        (np.ones((0, 0)), "b of 0 x 0, and"),
        (sp.csc_array(np.ones((1, rows))), f"b of 1 x {rows}, and"),
        (
            sp.csc_array((rows, 2000)),
            f"a sparse b of {rows} x 2000, and at most 1,024 sparse columns are read",
        ),
        ({"c": 1.0}, "a variable b beside its matrix that is no array of numbers"),
    ):
        for variables in (
            {"A": sp.csc_array(EXPECTED), "b": b},
            {"Problem": {"A": sp.csc_array(EXPECTED), "b": b}},
        ):
            scipy.io.savemat(name, variables)
            with pytest.raises(FileError, match=re.escape(sentence)):
                read_matrix(name)


def test_matlab_files_that_cannot_be_read(tmp_path):
    name = str(tmp_path / "a.mat")
    scipy.io.savemat(name, {"B": sp.csc_array(EXPECTED), "C": sp.csc_array(EXPECTED)})
    with pytest.raises(FileError, match="several matrices \\(B, C\\)"):
        read_matrix(name)
    scipy.io.savemat(name, {"x": np.ones(3)})
    with pytest.raises(FileError, match="no sparse matrix, and no square one"):
        read_matrix(name)
    scipy.io.savemat(name, {"A": sp.csc_array(EXPECTED)})
    whole = Path(name).read_bytes()
    with pytest.raises(FileError, match="damaged MATLAB file"):
        read_matrix(write(tmp_path, whole[: len(whole) // 2], "b.mat"))
    with pytest.raises(FileError, match=r"MATLAB 7\.3"):
        read_matrix(write(tmp_path, b"MATLAB 7.3 MAT-file" + bytes(200), "c.mat"))
