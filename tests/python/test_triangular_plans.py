"""Files of plans: saved once, and taken by later solvers with the same pattern."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sordino
from sordino import BadArgument, FileError, Unsupported
from sordino.io.factor_files import checksum


def triangle(n=8, dtype=float):
    """The factor L of a grid's matrix, with its fill, in METIS's order or another one."""
    L = sordino.splu(sordino.poisson(n, n, n), ordering="mmd").factors.lower
    return sp.csr_array(L).astype(dtype)


@pytest.fixture
def written(tmp_path):
    """A triangle, its solver, and a file of its plans, of both directions."""
    L = triangle()
    F = sordino.factorized(L, ranks=2, threads=2, width=24)
    b = np.random.default_rng(5).standard_normal((L.shape[0], 2))
    for trans in "NT":
        F.solve(b, trans)
    F.save_plans(tmp_path / "plans.npz")
    return L, F, b, tmp_path / "plans.npz"


def again(L, path, **options):
    return sordino.factorized(L, plans=path, **{"ranks": 2, "threads": 2, "width": 24, **options})


def rewritten(path, **changes):
    """The file with other arrays, or without those that are None, and a checksum that agrees."""
    with np.load(path) as archive:
        arrays = {**archive, **changes}
    arrays = {name: np.asarray(a) for name, a in arrays.items() if a is not None and name != "checksum"}
    np.savez(path, **arrays, checksum=np.array(checksum(arrays)))
    return path


def test_solves_have_the_bits_of_those_without_and_nothing_is_planned(written):
    L, F, b, path = written
    G = again(L, path)
    assert G.statistics["forward_tasks"] == F.statistics["forward_tasks"] > 2
    assert G.statistics["backward_tasks"] == F.statistics["backward_tasks"] > 0
    for trans in "NTH":
        np.testing.assert_array_equal(G.solve(b, trans), F.solve(b, trans))
    assert G.statistics["symbolic_seconds"] > 0 and G.statistics["plan_seconds"] > 0
    G.update(2 * L.data)
    np.testing.assert_allclose(2 * G.solve(b), F.solve(b))
    H = again(3 * L, path, threads=3, engine="model")
    np.testing.assert_allclose(3 * H.solve(b), F.solve(b))


@pytest.mark.parametrize("dtype", [np.float32, complex])
def test_other_types_and_upper_triangles_have_files_of_their_own(tmp_path, dtype):
    U = sp.csr_array(triangle(4, dtype).T)
    F = sordino.factorized(U, lower=False)
    b = np.arange(1.0, U.shape[0] + 1)
    x = F.solve(b, "H")
    F.save_plans(tmp_path / "u.npz")
    np.testing.assert_array_equal(
        sordino.factorized(U, lower=False, plans=tmp_path / "u.npz").solve(b, "H"), x
    )
    with pytest.raises(BadArgument, match="no plans of a triangle that is lower: make new plans"):
        sordino.factorized(U.T, plans=tmp_path / "u.npz")


def test_a_factorisation_takes_plans_of_both_its_triangles(tmp_path):
    A = sordino.poisson(5, 5, 5)
    b = np.ones(A.shape[0])
    F = sordino.splu(A, ordering="mmd", ranks=2)
    x = F.solve(b)
    F.save_plans(tmp_path / "lu.npz")
    G = sordino.splu(A, ordering="mmd", ranks=2, plans=tmp_path / "lu.npz")
    assert G.statistics["upper"]["backward_tasks"] > 0 and G.statistics["lower"]["forward_tasks"] > 0
    np.testing.assert_array_equal(G.solve(b), x)
    H = sordino.factorized_lu(F.factors, A, ranks=2, plans=tmp_path / "lu.npz")
    np.testing.assert_array_equal(H.solve(b), x)


def test_what_does_not_fit_is_refused_in_a_sentence_that_says_what_to_do(written, tmp_path):
    L, F, _, path = written
    for options, sentence in (
        ({"ranks": 3}, "ranks = 2, not 3: ask for that, or make new plans"),
        ({"width": 25}, "width = 24, not 25: ask for that, or make new plans"),
    ):
        with pytest.raises(BadArgument, match=sentence):
            again(L, path, **options)
    for other in (triangle(4), L + sp.eye_array(L.shape[0], k=-100)):
        with pytest.raises(BadArgument, match="those of another pattern: make new plans"):
            again(other, path)
    with pytest.raises(BadArgument, match="bytes = 8, not 4"):
        again(L.astype(np.float32), path)
    with pytest.raises(FileError, match="exists already; give force=True"):
        F.save_plans(path)
    F.save_plans(path, force=True)
    with pytest.raises(BadArgument, match="a plan is written as"):
        F.save_plans(tmp_path / "plans.txt")


def test_a_triangle_by_rows_is_saved_as_such(tmp_path):
    L = sp.csr_array(sp.tril(sordino.poisson(12, 12, 12)))
    F = sordino.factorized(L)
    b = np.arange(1.0, L.shape[0] + 1)
    x = F.solve(b)
    path = tmp_path / "rows.npz"
    F.save_plans(path)
    G = sordino.factorized(3 * L, plans=path)
    assert F.statistics["by_rows"] and G.statistics["by_rows"]
    np.testing.assert_array_equal(sordino.factorized(L, plans=path).solve(b), x)
    np.testing.assert_allclose(3 * G.solve(b), x)
    with pytest.raises(BadArgument, match="those of another pattern: make new plans"):
        sordino.factorized(sp.tril(sordino.poisson(11, 12, 13)), plans=path)
    with pytest.raises(
        BadArgument, match="have no supernodes, and forward_tasks nevertheless: make new plans"
    ):
        sordino.factorized(L, plans=rewritten(path, lower_forward_tasks=np.zeros(5, np.int32)))


def test_factors_of_which_one_triangle_is_by_rows_save_plans_of_both(tmp_path):
    L = triangle(12)
    n = L.shape[0]
    open_pattern = sp.csr_array(sp.triu(sordino.poisson(12, 12, 12)))
    factors = sordino.Factors(L, open_pattern)
    F = sordino.factorized_lu(factors)
    b = np.ones(n)
    x = F.solve(b)
    F.save_plans(tmp_path / "lu.npz")
    G = sordino.factorized_lu(factors, plans=tmp_path / "lu.npz")
    np.testing.assert_array_equal(G.solve(b), x)
    for solver in (F, G):
        assert solver.statistics["upper"]["by_rows"] and not solver.statistics["lower"]["by_rows"]


def test_a_refusal_to_save_names_the_triangle(tmp_path):
    F = sordino.splu(sordino.poisson(4, 4, 4), algorithm="paper")
    with pytest.raises(Unsupported, match="L: algorithm paper has no plans to save"):
        F.save_plans(tmp_path / "lu.npz")
    assert not (tmp_path / "lu.npz").exists()


def test_files_of_something_else_or_another_version_are_refused(written, tmp_path):
    L, F, _, path = written
    with pytest.raises(FileError, match="of version 1, and this program reads 2: make new plans"):
        again(L, rewritten(path, version=1))
    with pytest.raises(FileError, match="of version that it does not name"):
        again(L, rewritten(path, version=None))
    with pytest.raises(FileError, match="does not hold plans"):
        again(L, rewritten(path, format=None))
    sordino.io.save_factors(tmp_path / "factors.npz", sordino.Factors(L))
    with pytest.raises(FileError, match="does not hold plans"):
        again(L, tmp_path / "factors.npz")
    with pytest.raises(FileError):
        again(L, tmp_path / "nowhere.npz")
    F.save_plans(path, force=True)
    for wrong in (None, np.zeros(3), np.zeros((2, 5), np.int32)):
        with pytest.raises(BadArgument, match="lack the array forward_tasks, or it is of another type"):
            again(L, rewritten(path, lower_forward_tasks=wrong))


def test_a_truncated_or_damaged_file_is_one_sentence_and_never_another_solution(written, rng_of_today):
    L, F, b, path = written
    whole, x = path.read_bytes(), F.solve(b)
    taken = 0
    for _ in range(300):
        damaged = bytearray(whole)
        if rng_of_today.random() < 0.3:
            damaged = damaged[: rng_of_today.integers(len(whole))]
        else:
            for _ in range(rng_of_today.integers(1, 4)):
                damaged[rng_of_today.integers(len(whole))] ^= 1 << rng_of_today.integers(8)
        path.write_bytes(damaged)
        try:
            G = again(L, path)
        except FileError as refused:
            assert "\n" not in str(refused)
        else:  # bits that nobody reads, as of a date
            taken += 1
            np.testing.assert_array_equal(G.solve(b), x)
    assert taken < 60


def test_a_forged_file_with_a_valid_checksum_is_refused_or_solved_with_rightly(written, rng_of_today):
    L, F, b, path = written
    whole, x = path.read_bytes(), F.solve(b)
    with np.load(path) as archive:
        names = [name for name in archive.files if name.startswith("lower_") and archive[name].size]
    refused = 0
    for _ in range(150):
        path.write_bytes(whole)
        name = str(rng_of_today.choice(names))
        with np.load(path) as archive:
            array = archive[name].copy()
        raw = array.view(np.uint8)
        raw[rng_of_today.integers(len(raw))] ^= 1 << rng_of_today.integers(8)
        rewritten(path, **{name: array})
        try:
            np.testing.assert_allclose(again(L, path, timeout=10).solve(b), x, rtol=1e-9, atol=1e-9)
        except BadArgument as wrong:
            refused += 1
            assert "make new plans" in str(wrong) and "\n" not in str(wrong)
    assert refused > 75


def test_the_command_saves_plans_and_takes_them(shell, tmp_path):
    scipy.io.mmwrite(tmp_path / "A.mtx", sordino.poisson(8, 8, 8))
    common = ("trsv", "A.mtx", "--factor", "--ordering", "mmd", "--ranks", 2, "--json")
    first = shell(*common, "--save-plans", "p.npz", "-o", "one.npy")
    assert first.returncode == 0, first.stderr
    second = shell(*common, "--plans", "p.npz", "-o", "two.npy")
    assert second.returncode == 0, second.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy"))
    assert json.loads(second.stdout)["status"] == "verified"
    other = shell(*common[:-2], 3, "--plans", "p.npz")
    assert other.returncode == 2 and "made for ranks = 2, not 3: ask for that" in other.stderr
    kept = shell(*common, "--save-plans", "p.npz")
    assert kept.returncode == 2 and "exists already; give --force" in kept.stderr


def test_plans_of_ranks_that_were_chosen_are_saved_after_the_first_solve(shell, tmp_path):
    L = triangle()
    F = sordino.factorized(L, engine="model")
    with pytest.raises(Unsupported, match="the first solve chooses ranks, and plans are saved after it"):
        F.save_plans(tmp_path / "early.npz")
    b = np.arange(1.0, L.shape[0] + 1)
    x = F.solve(b)
    F.save_plans(tmp_path / "chosen.npz")
    G = sordino.factorized(L, engine="model", plans=tmp_path / "chosen.npz")
    assert G.statistics["ranks"] == F.report["ranks"] and G.statistics["forward_tasks"] > 0
    np.testing.assert_array_equal(G.solve(b), x)
    scipy.io.mmwrite(tmp_path / "A.mtx", sordino.poisson(8, 8, 8))
    common = ("trsv", "A.mtx", "--factor", "--ordering", "mmd", "--engine", "model")
    saved = shell(*common, "--save-plans", "p.npz", "-o", "one.npy")
    assert saved.returncode == 0, saved.stderr
    assert "lans were written to" in saved.stdout
    taken = shell(*common, "--plans", "p.npz", "-o", "two.npy")
    assert taken.returncode == 0, taken.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy"))


def test_plans_of_both_ways_are_saved_where_both_chose_as_many_ranks(tmp_path):
    L = triangle()
    machine = {**sordino.machines.load("h200x4")}
    machine["triangular"] = {**machine["triangular"], "message_s": 1.0}
    F = sordino.factorized(L, engine="model", machine=machine)
    b = np.ones(L.shape[0])
    F.solve(b), F.solve(b, "T")  # both take one rank
    F.save_plans(tmp_path / "same.npz")
    G = sordino.factorized(L, engine="model", machine=machine, plans=tmp_path / "same.npz")
    assert G.statistics["forward_tasks"] > 0 and G.statistics["backward_tasks"] > 0
