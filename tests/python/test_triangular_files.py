"""Files of factors, and the command ``sordino trsv``."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular

import sordino
from sordino import FileError
from sordino.cli.trsv_beside import Beside
from sordino.io import load_factors, save_factors

MATRICES = Path(__file__).parents[3] / "shared" / "data" / "matrices"


@pytest.fixture
def factors(laplacian):
    return sordino.splu(laplacian(4)).factors


@pytest.fixture
def written(tmp_path, factors):
    path = tmp_path / "f.npz"
    save_factors(path, factors)
    return path


def rewritten(path, **changes):
    """The archive with other members, or without those that are None, and no checksum."""
    with np.load(path) as archive:
        arrays = {**archive, "checksum": None, **changes}
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


# ---- files -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.float32, float, complex])
def test_factors_come_back_to_the_bit(tmp_path, dtype, rng_of_today):
    n = 20
    A = (sp.random_array((n, n), density=0.2, rng=rng_of_today) + 5 * sp.eye_array(n)).astype(dtype)
    A = sp.diags_array((2.0 ** np.arange(n)).astype(dtype)) @ A
    b = rng_of_today.standard_normal((n, 2))
    for name, F in (
        ("lu", sordino.splu(A)),
        ("cholesky", sordino.factorized_lu(sordino.Factors(sp.tril(A).tocsc()))),
    ):
        save_factors(tmp_path / f"{name}.npz", F.factors)
        read = load_factors(tmp_path / f"{name}.npz")
        again = sordino.factorized_lu(read)
        assert again.dtype == F.dtype
        for trans in "NTH":
            np.testing.assert_array_equal(again.solve(b, trans, 0), F.solve(b, trans, 0, on_failure="return"))
    with pytest.raises(FileError, match="exists already"):
        save_factors(tmp_path / "lu.npz", F.factors)


def test_a_truncated_or_damaged_file_is_one_sentence_and_never_other_factors(written, factors, rng_of_today):
    whole = written.read_bytes()
    for _ in range(150):
        damaged = bytearray(whole)
        if rng_of_today.random() < 0.5:
            damaged = damaged[: rng_of_today.integers(len(whole))]
        else:
            damaged[rng_of_today.integers(len(whole))] ^= 1 << rng_of_today.integers(8)
        written.write_bytes(damaged)
        try:
            read = load_factors(written)
        except FileError as refused:
            assert "\n" not in str(refused)
        else:  # a bit that nobody reads, as of a date
            assert np.array_equal(read.lower.data, factors.lower.data)


def test_what_a_checksum_is_for(written, factors):
    """A member that was exchanged for another valid one: the archive's own sums hold."""
    with zipfile.ZipFile(written) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    other = io.BytesIO()
    np.save(other, factors.lower.data * 2)
    members["lower_data.npy"] = other.getvalue()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(FileError, match="is damaged: its checksum is another one"):
        load_factors(written)


def test_programs_need_write_no_checksum_and_words_of_one_byte_a_letter_will_do(written, factors):
    rewritten(written, format=np.array(b"sordino factors"), unit_lower=np.array(1, np.int32))
    np.testing.assert_array_equal(load_factors(written).lower.data, factors.lower.data)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"format": np.array("something else")}, "does not hold factors as sordino.io.save_factors writes"),
        ({"format": None}, "does not hold factors"),
        ({"version": np.array(2)}, "is of version 2, and this program reads up to 1"),
        ({"version": None}, "does not say of which version it is"),
        ({"lower_indptr": None}, "holds no valid factors: lower_indptr is missing"),
        ({"lower_data": None}, "lower_data is missing"),
        ({"upper_transposed_indices": None}, "upper_transposed_indices is missing"),
        ({"lower_indptr": np.array([0, 5, 2])}, "the pointers of lower fall"),
        ({"lower_indices": np.array([0.5])}, "no whole numbers as indices"),
        ({"row_order": np.zeros(64, int)}, "row_order is no permutation"),
        ({"row_scale": np.zeros(64)}, "row_scale is positive"),
        ({"unit_lower": np.array("yes")}, "unit_lower is 0 or 1"),
    ],
    ids=str,
)
def test_files_that_hold_something_else_are_one_sentence(written, changes, sentence):
    with pytest.raises(FileError, match=sentence):
        load_factors(rewritten(written, **changes))


# ---- the command line ------------------------------------------------------------------------------------------------
@pytest.fixture
def files(tmp_path, monkeypatch, laplacian):
    monkeypatch.chdir(tmp_path)
    A = laplacian(5)
    scipy.io.mmwrite("A.mtx", sp.coo_array(A))
    scipy.io.mmwrite("L.mtx", sp.coo_array(sp.tril(A)))
    scipy.io.mmwrite("U.mtx", sp.coo_array(sp.triu(A)))
    return A


@pytest.mark.parametrize(
    "words",
    [
        "L.mtx",
        "U.mtx --upper --trans T",
        "L.mtx --unit --trans H --nrhs 3 --refine 2",
        "A.mtx --factor",
        "A.mtx --factor --ordering colamd --trans T --nrhs 2 --ranks 2 --threads 3 --width 16 --repeat 2",
    ],
)
def test_systems_are_solved_and_verified(files, cli, words):
    code, out, err = cli("trsv", *words.split(), "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["status"] == "verified"
    assert facts["residual"] < 1e-12 and facts["backward_error"] < 1e-14
    assert facts["setup_seconds"] > 0 and facts["solve_seconds"] > 0
    assert set(facts["statistics"]) == ({"L", "U"} if "--factor" in words else {"triangle"})
    code, out, err = cli("trsv", *words.split())
    assert (code, err) == (0, "")
    assert "Solved and verified: ||b - A x|| / ||b|| = " in out
    for word in ("componentwise backward error", "time to solve", "longest chain", "No right-hand side"):
        assert word in out


@pytest.mark.parametrize("words", ["L.mtx", "U.mtx --upper --trans H --nrhs 2", "A.mtx --factor --trans T"])
def test_setup_and_memory_are_told_and_when_the_setup_is_repaid(files, cli, words):
    code, out, _ = cli("trsv", *words.split(), "--beside", "--repeat", "2", "--json")
    facts = json.loads(out)
    beside = facts["beside"]
    assert code == 0 and beside["seconds"] > 0
    assert facts["memory_bytes"] == sum(part["memory_bytes"] for part in facts["statistics"].values()) > 0
    plans = sum(part["plan_seconds"] for part in facts["statistics"].values())
    assert beside["setup_and_plan_seconds"] == pytest.approx(facts["seconds"]["setup"] + plans)
    gain = beside["seconds"] - facts["solve_seconds"]
    after = beside["repaid_after"]
    assert (after is None) == (gain <= 0)
    assert after is None or (after - 1) * gain < beside["setup_and_plan_seconds"] <= after * gain * (
        1 + 1e-12
    )
    code, out, _ = cli("trsv", *words.split(), "--beside")
    assert code == 0 and "setup repaid after" in out and "memory of the triangles" in out
    assert cli("trsv", *words.split(), "--beside", "--engine", "model")[2].startswith(
        "sordino: --beside compares"
    )


def test_when_a_setup_is_repaid():
    assert Beside(seconds=2.0, setup_seconds=10.0, solve_seconds=1.0).repaid_after == 10
    assert Beside(2.0, 0.1, 1.0).words == "1 solve" and Beside(2.0, 5.5, 1.0).words == "6 solves"
    assert Beside(1.0, 5.0, 1.0).repaid_after is None


def test_what_is_written_can_be_read_again(files, cli):
    b = np.linspace(1, 2, 250).reshape(125, 2)
    np.save("B.npy", b)
    code, out, _ = cli(
        "trsv", "A.mtx", "--factor", "--rhs", "B.npy", "-o", "X.npy", "--save-factors", "f.npz"
    )
    assert code == 0 and "The factors were written to f.npz." in out
    np.testing.assert_allclose(files @ np.load("X.npy"), b, rtol=1e-10)
    code, out, _ = cli("trsv", "f.npz", "--rhs", "B.npy", "-o", "Y.npy", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["residual"] < 1e-12 and facts["backward_error"] is None
    np.testing.assert_allclose(np.load("Y.npy"), np.load("X.npy"), rtol=1e-10)
    code, _, err = cli("trsv", "L.mtx", "-o", "X.npy")
    assert code == 2 and "X.npy exists already" in err


def test_factors_of_a_file_are_verified_against_the_matrix_that_is_given(files, cli):
    save_factors("f.npz", sordino.splu(files).factors)
    code, out, _ = cli("trsv", "f.npz", "--matrix", "A.mtx", "--refine", "1", "--trans", "T", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["name"] == "A.mtx" and facts["backward_error"] < 1e-14
    scipy.io.mmwrite("other.mtx", sp.coo_array(files + sp.eye_array(125)))
    code, out, _ = cli("trsv", "f.npz", "--matrix", "other.mtx", "--refine", "0")
    assert code == 3 and "Not verified: " in out and "factors L and U of f.npz" in out
    scipy.io.mmwrite("few.mtx", sp.coo_array(sp.eye_array(3)))
    assert (
        "f.npz: the matrix has 3 rows, and its factors 125" in cli("trsv", "f.npz", "--matrix", "few.mtx")[2]
    )


def test_what_is_not_verified_is_exit_code_3_and_is_said(files, cli):
    np.save("c.npy", np.random.default_rng(1).standard_normal(files.shape[0]))  # L*1 would be solved exactly
    code, out, err = cli("trsv", "L.mtx", "--rhs", "c.npy", "--rtol", "1e-30", "-o", "x.npy", "--json")
    assert code == 3 and json.loads(out)["status"] == "not_verified"
    assert err.startswith("sordino: not verified: ||b - A x|| / ||b|| = ") and "above 1e-30" in err
    code, out, _ = cli("trsv", "L.mtx", "--rhs", "c.npy", "--rtol", "1e-30")
    assert code == 3 and "Not verified: " in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "A.mtx",
            r"A.mtx: the matrix is not lower triangular: there is an entry at \(0, 1\), .*: --factor factors",
        ),
        ("L.mtx --upper", r"not upper triangular: there is an entry at \(1, 0\)"),
        ("no.mtx", "no.mtx: there is no such file"),
        ("A.mtx --factor --upper", "--upper and --unit are of a triangle"),
        ("A.mtx --factor --ordering metsi", "did you mean 'metis'"),
        ("L.mtx --trans X", "trans is N, T or H, not 'X'"),
        ("L.mtx --ranks many", "--ranks must be a whole number, not 'many'"),
        ("L.mtx --ranks 40", "1 to 32 ranks, and 40 were asked for"),
        ("L.mtx --engine abacus", "engine is host, processes, cuda or model for triangular solves"),
        ("L.mtx --blocks 4", "blocks are thread blocks of engine cuda and algorithm ours"),
        ("L.mtx --nrhs 0", "--nrhs is at least 1, not 0"),
        ("L.mtx --nrhs 2 --rhs b.npy", "--rhs brings right-hand sides, and --nrhs makes some"),
        ("L.mtx --rhs b.npy", "b.npy has 3 rows, and the matrix 125"),
        ("L.mtx --save-factors g.npz", "--save-factors writes what --factor has found"),
        ("L.mtx --repeat x", "--repeat must be a whole number"),
        ("L.mtx --rfine 1", "unknown option '--rfine', did you mean '--refine'"),
        ("f.npz --factor", "f.npz holds factors: leave out --factor"),
        ("f.npz --refine 1", "--refine needs the matrix"),
        ("L.mtx --matrix A.mtx", "--matrix goes with a file of factors, and L.mtx holds none"),
        ("cut.npz", "cut.npz is a damaged .npz file, or a truncated one"),
        ("zero.npz", "zero.npz: U: the pivot of row 6 is zero .rows are counted from 0."),
        ("f.npz --ranks 32", "f.npz: L: there are more ranks, 32, than the triangle has blocks, "),
        ("L.mtx --algorithm paper --layout 4x8", "more ranks, 32, than the triangle has block columns, "),
        ("new.npz", "is of version 7, and this program reads up to 1"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(files, cli, words, sentence):
    save_factors("f.npz", sordino.splu(files).factors)
    Path("cut.npz").write_bytes(Path("f.npz").read_bytes()[:5000])
    save_factors("new.npz", sordino.splu(files).factors)
    rewritten(Path("new.npz"), version=np.array(7))
    upper = sordino.splu(files).factors.upper.T.tocsc()
    pivot = np.flatnonzero((upper.indices == 6) & (np.arange(upper.nnz) >= upper.indptr[6]))[0]
    assert pivot < upper.indptr[7]
    upper.data[pivot] = 0
    save_factors("zero.npz", sordino.splu(files).factors)
    rewritten(Path("zero.npz"), upper_transposed_data=upper.data)
    np.save("b.npy", np.ones(3))
    code, out, err = cli("trsv", *words.split())
    assert (code, out) == (2, "")
    assert err.startswith("sordino: ") and err.count("\n") == 1
    import re

    assert re.search(sentence, err), err


def test_right_hand_sides_that_a_file_brings_are_taken(files, cli, tmp_path):
    scipy.io.savemat("A.mat", {"A": sp.csc_matrix(files), "b": np.arange(125.0).reshape(-1, 1)})
    code, out, _ = cli("trsv", "A.mat", "--factor", "-o", "x.npy", "--json")
    assert code == 0 and "b is what A.mat brings." in json.loads(out)["notes"]
    np.testing.assert_allclose(files @ np.load("x.npy"), np.arange(125.0), atol=1e-10)


# ---- matrices of others ----------------------------------------------------------------------------------------------
def exact_error(T, b, x):
    """The componentwise backward error in long double: substitution's own sums would hide it."""
    T, x = sp.csr_array(T).astype(np.longdouble), x.astype(np.longdouble)
    off, most = abs(b - T @ x), abs(T) @ abs(x) + abs(b)
    return float(np.max(np.divide(off, most, out=np.zeros_like(off), where=off > 0)))


@pytest.mark.skipif(not MATRICES.is_dir(), reason="no folder ../shared/data/matrices beside the checkout")
@pytest.mark.parametrize(
    "name", ["bcsstk16.mtx", "bayer10.mtx", "big.rua", "ScaleMicrogrid_Jacobian_N1000_01.mtx", "add20.mtx"]
)
def test_factors_of_real_matrices_are_as_accurate_as_substitution(name):
    """Of the same right-hand sides in every run: of one in some hundred, errors are larger."""
    rng = np.random.default_rng(1)
    A = sp.csr_array(sordino.read_matrix(MATRICES / name).matrix)
    n = A.shape[0]
    F = sordino.splu(A)
    for T, lower, unit in ((F.factors.lower, True, True), (F.factors.upper, False, False)):
        triangle = sordino.factorized(T, lower, unit)
        for b in (T @ np.ones(n), rng.standard_normal(n), rng.standard_normal(n)):
            by_rows = spsolve_triangular(sp.csr_array(T), b, lower=lower)
            assert exact_error(T, b, triangle.solve(b)) <= 10 * max(exact_error(T, b, by_rows), 1.2e-16)
    for trans, of in (("N", A), ("T", A.T)):
        b = of @ rng.standard_normal((n, 2))
        x = F.solve(b, trans)
        assert F.report["residuals"][-1] <= 1e-12
        assert np.linalg.norm(of @ x - b) <= 1e-12 * np.linalg.norm(b)
