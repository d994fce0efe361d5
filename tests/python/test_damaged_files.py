"""What tools/fuzz_readers.py has found in readers, each in its smallest form."""

from __future__ import annotations

import gzip
import io
import json
import warnings
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from sordino import BadArgument, FileError, _options, machines, read_matrix, read_vector
from sordino._matrix import as_csr
from sordino.io import harwell_boeing as harwell_boeing_reader

COORDINATE = "%%MatrixMarket matrix coordinate real "


@pytest.fixture
def file(tmp_path):
    """Writes a file, and returns its name."""

    def write(name, content):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return str(tmp_path / name)

    return write


def refusal(kind, read, *arguments):
    """The sentence with which a file is refused, if it is one."""
    with warnings.catch_warnings(), pytest.raises(kind) as refused:
        warnings.simplefilter("error")
        read(*arguments)
    sentence = str(refused.value)
    assert sentence.isprintable() and len(sentence) < 400
    return sentence


# ---- found in Matrix Market files ------------------------------------------------------------------------------------
def test_a_plus_before_a_number_and_a_compressed_file_of_any_name(file, monkeypatch):
    text = COORDINATE + "general\n2 2 2\n+1\t1 +1.5\n2 2 +2e+3\n"
    for content, name in (
        (text, "a.mtx"),
        (gzip.compress(text.encode()), "b.mtx"),
        (text.rstrip(), "c.mtx.gz"),
    ):
        np.testing.assert_array_equal(
            read_matrix(file(name, content)).matrix.toarray(), [[1.5, 0], [0, 2000]]
        )


def test_an_infinite_entry_of_a_skew_matrix_warns_of_nothing(file):
    written = file(
        "a.mtx", f"%%MatrixMarket matrix coordinate complex skew-symmetric\n3 3 1\n3 1 5.0 {'9' * 400}\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not np.isfinite(read_matrix(written).matrix.toarray()).all()


def test_control_characters_of_a_header_are_not_passed_on(file):
    for word in ("general\x1d%", "gen\x13eral", "gen\u2028eral", "x" * 900, "gen\x1b[31meral"):
        assert "malformed header" in refusal(
            FileError, read_matrix, file("a.mtx", COORDINATE + word + "\n1 1 1\n1 1 1\n")
        )
    endless = gzip.compress((COORDINATE + "general\n" + "9" * 10**7).encode())
    assert "malformed header" in refusal(FileError, read_matrix, file("b.mtx.gz", endless))
    comment = COORDINATE + "general\n%" + "c" * 10**5 + "\n   \n1 1 1\n1 1 1\n"
    assert read_matrix(file("c.mtx", comment)).matrix.nnz == 1


def test_memory_is_not_taken_for_promised_rows(file, monkeypatch):
    def none(*_, **__):
        raise AssertionError("made dense, or an index of rows")

    monkeypatch.setattr(sp.coo_array, "toarray", none)
    monkeypatch.setattr(sp.coo_array, "tocsr", none)
    many = 2_000_000_000
    once = file("a.mtx", COORDINATE + f"symmetric\n{many} {many} 1\n1 1 1\n")
    assert "rows without entries" in refusal(BadArgument, as_csr, read_matrix(once).matrix)
    twice = file("b.mtx", COORDINATE + f"symmetric\n{many} {many} 2\n1 1 1\n1 1 1\n")
    assert "stores some positions twice" in refusal(FileError, read_matrix, twice)
    vector = file("c.mtx", COORDINATE + f"general\n{many} {many} 1\n1 1 1\n")
    refusal(BadArgument, read_vector, vector, 3, "right-hand side")
    column = file("d.mtx", COORDINATE + f"general\n{many} 1 1\n1 1 1\n")
    said = refusal(BadArgument, read_vector, column, 3, "right-hand side")
    assert "has 2,000,000,000 numbers, and the matrix has 3 rows" in said


# ---- found in Harwell-Boeing files -----------------------------------------------------------------------------------
def harwell_boeing(*, form="(1E20.12)", value="1.5", index="1", entries="1"):
    counts = "".join(f"{count:>14}" for count in (3, 1, 1, 1, 0))
    sizes = "RUA".ljust(14) + "".join(f"{count:>14}" for count in (1, 1, entries, 0))
    formats = "(2I5)".ljust(16) + "(1I22)".ljust(16) + form.ljust(40)
    head = "\n".join(["title".ljust(80), counts, sizes, formats])
    return f"{head}\n    1    2\n{index:>22}\n{value:>20}\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"entries": "\x00"}, "line 3 has '\\x00' where a number"),
        ({"entries": "\x1b[31m"}, "where a number"),
        ({"index": "99999999999999999999"}, "is not a whole number"),
        ({"index": "1_0"}, "is not a whole number"),
        ({"value": "1_0.5"}, "is not a number"),
        ({"value": "infinity"}, "is not a number"),
        ({"value": "1E999"}, "is not a finite number"),
        ({"value": "1E300", "form": "(1F20.0)"}, ""),
        ({"value": "1" + "0" * 18, "form": "(-64P1F20.0)"}, ""),
        ({"form": "(-999999P4E20.1)"}, "makes no sense"),
        ({"form": "(400P4E20.12)"}, "makes no sense"),
        ({"form": "\x19"}, "is not a Fortran format"),
        ({"form": "(2D\r0.10)"}, "the format '(2D\\r0.10)' of its values makes no sense"),
        ({"value": "-9.15E32440036"}, "is not a finite number"),
    ],
)
def test_fields_that_python_would_read_otherwise(file, change, said):
    name = file("a.rua", harwell_boeing(**change))
    if said:
        assert said in refusal(FileError, read_matrix, name)
    else:
        assert np.isfinite(read_matrix(name).matrix.data).all()


def test_a_value_that_its_format_makes_infinite(file):
    name = file("a.rua", harwell_boeing(value="9" * 20, form="(-64P1F20.0)"))
    assert read_matrix(name).matrix.data[0] == pytest.approx(1e84)
    far = harwell_boeing(value="1.E300").replace("(1E20.12)", "(-9P1F20.0)")
    assert read_matrix(file("b.rua", far)).matrix.data[0] == 1e300  # a written exponent takes no scale


def test_blank_lines_do_not_become_blank_fields(file, monkeypatch):
    """A line of one byte stood for thousands of blanks, so that a file of a megabyte filled gigabytes."""
    many = 10**9
    counts = "".join(f"{count:>14}" for count in (3 * many, many, many, many, 0))
    sizes = "RUA".ljust(14) + "".join(f"{count:>14}" for count in (many, many, many, 0))
    head = "\n".join(["title".ljust(80), counts, sizes, "(1000I4)".ljust(16) * 2 + "(4E20.12)"])
    name = file("a.rua", head + "\n" * 5000)
    read, next_line = [], harwell_boeing_reader._line
    monkeypatch.setattr(harwell_boeing_reader, "_line", lambda *stream: read.append(1) or next_line(*stream))
    assert "a field of its column pointers is empty" in refusal(FileError, read_matrix, name)
    assert len(read) == 5


# ---- found in JSON ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"rt\\nol": 1}', "unknown option 'rt\\nol', did you mean 'rtol'?"),
        ('{"\\ud800": 1}', "unknown option '\\ud800'"),
        ('{"' + "k" * 5000 + '": 1}', "..."),
        ('{"rtol": 1, "rtol": 2}', "gives 'rtol' twice"),
        ('{"rtol": 1' + "0" * 400 + "}", "option 'rtol' has too many digits"),
        ('{"rtol": 1' + "0" * 5000 + "}", "a number with too many digits"),
        ('{"ranks": 1' + "0" * 30 + "}", "option 'ranks' is at most 2,147,483,647, not 1000"),
        ('{"ranks": "' + "9" * 5000 + '"}', "--ranks takes a whole number"),
        ('{"solver": "' + "x" * 5000 + '"}', "unknown solver"),
        ('{"devices": ' + json.dumps(list(range(2000)) * 2) + "}", "one of them twice"),
        ('{"devices": "' + "0-4096," * 1000 + '1"}', "more than 4,096 devices"),
        ('{"trace": "on"}', "takes True or False"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_options_that_cannot_be_read(fake_core, file, text, said):
    assert said in refusal(BadArgument, _options.load, file("run.json", text))


def test_options_may_be_written_as_on_the_command_line(fake_core, file):
    text = json.dumps({"ranks": "4", "rtol": " 1e-8 ", "devices": "0-1", "solver": "cg", "atol": None})
    assert _options.load(file("run.json", text)) == {
        "ranks": 4,
        "rtol": 1e-8,
        "devices": "0,1",
        "solver": "cg",
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"launch_s": 10**400}, "'launch_s' must be a number"),
        ({"launch_s": list(range(5000))}, "'launch_s' must be a number"),
        ({"name": ["x"]}, "'name' must be words, not ['x']"),
        ({"description": None}, "'description' must be words"),
        ({"lau\nnch_s": 1}, "unknown field 'lau\\nnch_s', did you mean 'launch_s'?"),
    ],
)
def test_machines_that_cannot_be_read(file, change, said):
    described = {**machines.load("laptop"), **change}
    assert said in refusal(BadArgument, machines.load, file("m.json", json.dumps(described)))


def test_a_machine_gives_each_number_once(file):
    text = json.dumps(machines.load("laptop"))
    twice = text[:-1] + ', "flops": 1.0}'
    assert "gives 'flops' twice" in refusal(BadArgument, machines.load, file("m.json", twice))


# ---- found in files of NumPy, SciPy and MATLAB -----------------------------------------------------------------------
def npy(shape, descr="<f8", body=bytes(64)):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


@pytest.mark.parametrize(
    "content",
    [npy("(1000000, 1000000)"), npy("(-1,)"), npy("(0, 99999999999999999999)"), npy("(" + "1," * 70 + ")"),
     npy("(2,", "<f8"), npy("(2, 2)", "<q9"), npy("(9,)"), npy("None"), b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff{"],
)  # fmt: skip
def test_arrays_that_their_files_cannot_hold(file, content):
    assert refusal(FileError, read_matrix, file("a.npy", content)).endswith(
        "a damaged or truncated .npy file"
    )


def test_arrays_of_any_order_and_width(file, tmp_path):
    wanted = np.array([[4.0, 1], [2, 3]])
    for array in (
        wanted.astype(">f8"),
        wanted.astype("<f2"),
        np.asfortranarray(wanted),
        wanted.astype("<i2"),
    ):
        np.save(tmp_path / "a.npy", array)
        np.testing.assert_array_equal(
            as_csr(read_matrix(tmp_path / "a.npy").matrix).matrix().toarray(), wanted
        )
    np.testing.assert_array_equal(as_csr(wanted.astype(">f8")).matrix().toarray(), wanted)
    assert "more than 64 bits" in refusal(FileError, read_matrix, file("c.npy", npy("(2, 2)", "<f16")))
    assert "an array with 0 dimensions" in refusal(
        BadArgument, as_csr, read_matrix(file("b.npy", npy("()"))).matrix
    )


@pytest.mark.parametrize("form", ["csr", "bsr"])
@pytest.mark.parametrize("last", [0, -1])
def test_index_pointers_that_fall_where_scipy_does_not_look(form, last):
    matrix = sp.eye_array(2).asformat(form)
    matrix.indptr[:] = (0, 2, last)
    assert "its index pointers fall" in refusal(BadArgument, as_csr, matrix)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "dia"])
def test_sparse_archives_of_every_format(tmp_path, form):
    wanted = np.array([[4.0, 1], [2, 3]])
    for matrix in (sp.coo_array(wanted), sp.coo_matrix(wanted)):
        sp.save_npz(tmp_path / "a.npz", matrix.asformat(form))
        np.testing.assert_array_equal(read_matrix(tmp_path / "a.npz").matrix.toarray(), wanted)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": np.array(b"lil")}, "does not hold a sparse matrix"),
        ({"format": np.array(b"\xff")}, "does not hold a sparse matrix"),
        ({"indices": None}, "does not hold a sparse matrix"),
        ({"indices": np.array([0, 9])}, "is a damaged .npz file"),
        ({"indices": np.array([0.0, 1.0])}, "is a damaged .npz file"),
        ({"indptr": np.array([0, -5, 2])}, "is a damaged .npz file"),
        ({"indptr": np.array([0, 2, 0])}, "is a damaged .npz file"),
        (
            {"indptr": np.array([0, 0, -1]), "data": np.ones((2, 1, 1)), "format": np.array(b"bsr")},
            "is a damaged",
        ),
        ({"shape": np.array([-2, 2])}, "is a damaged .npz file"),
        ({"data": np.array(["a", "b"])}, "is a damaged .npz file"),
    ],
)
def test_sparse_archives_that_do_not_fit_together(tmp_path, change, said):
    parts = {"indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "format": np.array(b"csr"),
             "shape": np.array([2, 2]), "data": np.ones(2), **change}  # fmt: skip
    np.savez(tmp_path / "a.npz", **{key: part for key, part in parts.items() if part is not None})
    assert said in refusal(FileError, read_matrix, tmp_path / "a.npz")


def mat(*, packed=False, **variables):
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables, do_compression=packed)
    return bytearray(stream.getvalue())


@pytest.mark.parametrize("packed", [False, True])
def test_matlab_variables_as_scipy_writes_them(file, packed):
    A = sp.csc_array(np.array([[4.0, 1j], [2, 3]]))
    content = mat(
        packed=packed, A=A, b=np.array([[1.0], [2]]), cells=np.array([1, "x"], dtype=object), word="x"
    )
    read = read_matrix(file("a.mat", bytes(content)))
    np.testing.assert_array_equal(read.matrix.toarray(), A.toarray())
    np.testing.assert_array_equal(read.rhs, [[1], [2]])
    dense = read_matrix(file("b.mat", bytes(mat(packed=packed, M=np.array([[1, 2], [3, 4]], dtype=np.int8)))))
    np.testing.assert_array_equal(dense.matrix, [[1, 2], [3, 4]])


def test_matlab_numbers_that_their_class_cannot_hold(file):
    M = np.array([[1.0, np.inf], [1e300, np.nan]])
    for values in (M, M + 1j * np.ones((2, 2)), M.astype(complex)):
        content = mat(M=values)
        flags = content.index(b"\x06\x00\x00\x00\x08\x00\x00\x00") + 8
        for sort in (7, 8, 15):  # single precision, whole numbers of 8 and of 64 bits
            content[flags] = sort
            refusal(BadArgument, as_csr, read_matrix(file("a.mat", bytes(content))).matrix)


def test_matlab_elements_that_ended_the_program(file):
    """SciPy's reader looks up the type of an element in a table, without looking whether it is in there."""
    sound = mat(A=sp.csc_array(np.eye(3)), b=np.ones((3, 1)))
    places = [at for at in range(136, len(sound) - 8, 8) if 0 < sound[at] < 16]
    for at in places:
        for value in (200, 0):
            damaged = sound.copy()
            damaged[at] = value
            name = file("a.mat", bytes(damaged))
            try:
                as_csr(read_matrix(name).matrix)
            except (FileError, BadArgument) as error:
                assert str(error).isprintable()
    beyond = mat(A=sp.csc_array(np.eye(3)), b=sp.csc_array(np.ones((3, 1))))
    rows = np.arange(3, dtype="<i4").tobytes()
    for first in (at for at in range(len(beyond)) if beyond[at:].startswith(rows)):
        damaged = beyond.copy()
        damaged[first + 8 : first + 12] = (10**6).to_bytes(4, "little")
        assert "is a damaged MATLAB file" in refusal(FileError, read_matrix, file("b.mat", bytes(damaged)))


def test_matlab_lengths_are_not_believed(file):
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    for body in (
        b"\x0e\x00\x00\x00\xff\xff\xff\xff" + bytes(64),
        b"\x0f\x00\x00\x00\x08\x00\x00\x00notzlib!",
        b"\x0e\x00\x00",
        (lambda packed: b"\x0f\x00\x00\x00" + len(packed).to_bytes(4, "little") + packed)(
            zlib.compress(b"\x0e\x00\x00\x00\xff\xff\xff\x7f" + bytes(64))
        ),
    ):
        assert "is a damaged MATLAB file" in refusal(FileError, read_matrix, file("a.mat", head + body))


def test_fractions_in_whole_numbers_are_refused(file):
    whole = "decimal point or an exponent in a number that must be whole"
    for name, text in {
        "index.mtx": COORDINATE + "general\n2 2 2\n1 1.5 3\n2 2 1e3\n",
        "integer.mtx": "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1e3\n2 2 1\n",
        "array.mtx": "%%MatrixMarket matrix array integer general\n2 1\n1.5\n2\n",
    }.items():
        assert whole in refusal(FileError, read_matrix, file(name, text))
    good = read_matrix(file("good.mtx", COORDINATE + "general\n2 2 2\n1 1 1.5\n2 2 1e3\n"))
    assert good.matrix.toarray().tolist() == [[1.5, 0], [0, 1000]]


def test_a_vector_has_one_dimension(file, tmp_path):
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    assert "3 dimensions" in refusal(
        BadArgument, read_vector, str(tmp_path / "cube.npy"), 24, "right-hand side"
    )


def test_the_matrix_called_a_is_taken_before_a_sparse_one(tmp_path):
    dense = np.array([[4.0, 1.0], [1.0, 3.0]])
    scipy.io.savemat(
        tmp_path / "both.mat", {"A": dense, "P": sp.eye_array(2, format="csc"), "b": np.ones((2, 1))}
    )
    read = read_matrix(str(tmp_path / "both.mat"))
    matrix = read.matrix
    assert (matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)).tolist() == dense.tolist()


def test_a_damaged_checksum_is_noticed(tmp_path):
    scipy.io.savemat(tmp_path / "c.mat", {"A": np.arange(9.0).reshape(3, 3)}, do_compression=True)
    data = bytearray((tmp_path / "c.mat").read_bytes())
    data[-1] ^= 1
    (tmp_path / "c.mat").write_bytes(bytes(data))
    assert "damaged" in refusal(FileError, read_matrix, str(tmp_path / "c.mat"))
