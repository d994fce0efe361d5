"""``sordino bench claims``: a liar is found out, the honest are believed, and Sordino is asked on a few systems."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import scipy.sparse as sp

from sordino.bench import _claimants, _judge, _systems, claims


@pytest.fixture
def system():
    matrix = sp.csr_array([[4.0, 1.0], [1.0, 3.0]])
    return _systems.Entry("two rows", "easy", lambda: (matrix, np.array([1.0, 2.0])))


def judged(entry, solver, rtol=1e-8):
    answer = _claimants.answered(solver, *entry.build(), rtol)
    return claims.row(entry, ("them", "cg"), answer, rtol, 0.0)


def exact(matrix, b, scale=1.0):
    return scale * np.linalg.solve(matrix.toarray(), b)


def liar(matrix, b, rtol):
    return _claimants.Answer(True, "info=0", exact(matrix, b, 1 + 100 * rtol))


@pytest.mark.parametrize(
    ("solver", "claimed", "false"),
    [
        (liar, True, True),
        (lambda A, b, rtol: _claimants.Answer(True, "", exact(A, b)), True, False),
        (
            lambda A, b, rtol: _claimants.Answer(True, "", exact(A, b, 1 + 5 * rtol)),
            True,
            False,
        ),  # within the margin
        (lambda A, b, rtol: _claimants.Answer(True, "", np.full(2, np.nan)), True, True),
        (lambda A, b, rtol: _claimants.Answer(True, "", None), True, True),
        (lambda A, b, rtol: _claimants.Answer(False, "info=7", exact(A, b, 2.0)), False, False),
        (lambda A, b, rtol: 1 / 0, False, False),  # an exception claims nothing
    ],
)
def test_a_claim_is_judged_by_its_x(system, solver, claimed, false):
    row = judged(system, solver)
    assert (row["claimed"], row["false"]) == (claimed, false)


def test_a_claim_in_another_norm_is_judged_in_both(system):
    def honest_there(matrix, b, rtol):
        return _claimants.Answer(True, "", exact(matrix, b, 1.5), own_residual=0.5 * rtol)

    row = judged(system, honest_there)
    assert row["false"] and not row["false_in_own_norm"]
    assert row["residual"] == pytest.approx(0.5)


def test_residuals_whose_squares_are_no_numbers():
    matrix = sp.csr_array(np.diag([2.0, 4.0]))
    for size in (1e-300, 1e-160, 1.0, 1e160, 1e300):
        b = size * np.array([3.0, 4.0])
        assert _judge.residual(matrix, b, np.zeros(2)) == pytest.approx(1.0)
        assert _judge.residual(matrix, b, b / [2.0, 4.0]) == 0.0
    assert _judge.residual(matrix, np.zeros(2), np.zeros(2)) == 0.0
    assert _judge.residual(matrix, np.zeros(2), np.array([1.0, 0.0])) == 2.0
    assert _judge.residual(matrix, np.array([np.nan, 1.0]), np.ones(2)) == math.inf


def test_residuals_are_finer_than_those_of_double_precision():
    matrix = sp.csr_array([[1.0, 1.0]] * 2)
    x = np.array([1.0, 2.0**-60])  # 1 + 2^-60 is 1 in double precision
    if np.finfo(np.longdouble).nmant >= 63:
        assert _judge.residual(matrix, np.ones(2), x) == pytest.approx(2.0**-60)


def test_the_systems_are_many_and_the_same_each_time():
    entries = _systems.known()
    assert len(entries) >= 40 and len({entry.name for entry in entries}) == len(entries)
    for entry in entries:
        matrix, b = entry.build()
        again, b_again = entry.build()
        assert matrix.shape == (len(b), len(b)) and matrix.nnz > 0
        assert np.array_equal(matrix.data, again.data, equal_nan=True) and np.array_equal(
            b, b_again, equal_nan=True
        )
        assert (np.diff(matrix.indptr) > 0).all()
    singular = next(entry for entry in entries if entry.name == "walls, inconsistent").build()[0]
    assert np.abs(singular @ np.ones(singular.shape[0])).max() < 1e-12


def test_real_systems_come_from_a_folder(tmp_path):
    (tmp_path / "add20.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2.0\n2 1 1.0\n2 2 5.0\n"
    )
    real = [entry for entry in _systems.known(str(tmp_path)) if entry.kind == "real"]
    assert [entry.name for entry in real] == ["add20.mtx"]
    assert real[0].build()[1].tolist() == [2.0, 6.0]


def test_scipy_and_sordino_are_asked(cli, tmp_path):
    record = tmp_path / "claims.jsonl"
    code, out, err = cli(
        "bench", "claims", "--only", "odd", "--packages", "scipy,sordino", "--time-limit", 1, "--record", record,
        "--commit", "abc",
    )  # fmt: skip
    assert code == 0, err
    assert "scipy cg" in out and "sordino linalg.bicgstab" in out and "left out" in out
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    ours = [row for row in rows if row["package"] == "sordino"]
    assert not any(row["false"] for row in ours)
    assert {row["system"] for row in ours if row["claimed"]} == {"b = 0", "one row", "identity"}
    assert all(row["said"].startswith("BadArgument") for row in ours if row["system"].startswith("NaN"))


def test_sordino_claims_nothing_false_of_all_generated_systems(cli):
    code, out, err = cli("bench", "claims", "--packages", "sordino", "--time-limit", "60", "--json")
    assert code == 0, err
    rows = json.loads(out)["measured"]
    assert len(rows) == 3 * len(_systems.known())
    assert not [row["system"] for row in rows if row["false"]]
    assert sum(row["claimed"] for row in rows) > 50  # saying no to everything would be true, too


def test_one_who_does_not_come_back_is_given_up():
    worker = _claimants.Worker("sordino", "solve", "", "", 1e-8, -1.0)  # a limit that nobody keeps
    try:
        assert worker.ask("plane 40^2") == _claimants.Answer(False, "no answer within -1 s")
    finally:
        worker.close()


def test_a_lie_of_ours_fails_the_command(cli, monkeypatch):
    class Lying:
        def __init__(self, *words):
            pass

        def ask(self, name):
            return _claimants.Answer(True, "converged", np.ones(100))

        def close(self):
            pass

    monkeypatch.setattr(_claimants, "Worker", Lying)
    code, out, _ = cli("bench", "claims", "--only", "identity", "--packages", "sordino")
    assert code == 4 and "False claims" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--packages", "matlab"], "not 'matlab'"),
        (["--only", "nothing of that name"], "no system has"),
        (["--rtol", "2"], "--rtol lies between 0 and 1"),
        (["--real", "/nowhere"], "is no folder"),
        (["--petsc", "/nowhere/p"], "is no program"),
    ],
)
def test_bad_usage(cli, argv, sentence):
    code, _, err = cli("bench", "claims", *argv)
    assert code == 2 and sentence in err
