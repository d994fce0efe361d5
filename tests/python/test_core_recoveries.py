"""What a solve did where its recurrence led no further: in a Solution, as JSON, on the terminal, on the page."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import sordino

KINDS = {"residual replaced", "smaller s", "classic CG", "classic BiCGStab"}


@pytest.fixture(scope="module")
def too_much():
    """A system, and options that ask for more than double precision gives."""
    A = sordino.poisson(12, 11, 13, contrast=1000.0)
    options = {"precond": "jacobi", "rtol": 1e-17, "engine": "host", "on_failure": "return"}
    return A, np.random.default_rng(5).standard_normal(A.shape[0]), options


@pytest.mark.parametrize(
    ("solver", "last"),
    [("prcg", "classic CG"), ("cg", "residual replaced"), ("pipebicgstab", "classic BiCGStab")],
)
def test_they_are_typed_in_order_and_the_same_on_any_number_of_ranks(too_much, solver, last):
    A, b, options = too_much
    found = [sordino.solve(A, b, solver=solver, ranks=ranks, **options) for ranks in (1, 3)]
    for solution in found:
        steps = solution.recoveries
        assert solution.status == "stagnated" and steps == solution.report.recoveries
        assert all(isinstance(step, sordino.Recovery) for step in steps) and steps[-1].kind == last
        assert {step.kind for step in steps} <= KINDS and all(step.why for step in steps)
        assert all(before.iteration <= after.iteration for before, after in pairwise(steps))
        assert all(solution.true_residual <= 2 * step.residual < 1e-10 for step in steps)
    assert found[0].recoveries == found[1].recoveries


@pytest.fixture(scope="module")
def closed():
    """A small singular system with a high contrast, and options that ask for about what rounding leaves."""
    A = sordino.poisson(4, 3, 8, contrast=4000.0).tocsr()
    A = sp.csr_matrix(A - sp.diags(np.asarray(A.sum(axis=1)).ravel()))
    options = {"precond": "jacobi", "nullspace": "constant", "engine": "host", "on_failure": "return"}
    return A, options


@pytest.mark.parametrize("solver", ["cg", "prcg", "gropp"])
@pytest.mark.parametrize("rtol", [1.2e-14, 1e-16])
def test_a_verified_solution_is_not_given_up_for_a_promised_one(closed, solver, rtol):
    A, options = closed
    for seed in range(6):
        b = np.random.default_rng(seed).standard_normal(A.shape[0])
        solution = sordino.solve(A, b, solver=solver, rtol=rtol, **options)
        assert solution.status in ("converged", "stagnated"), (seed, solution.reason)
        assert solution.true_residual <= 3 * min((step.residual for step in solution.recoveries), default=1)


def test_a_solve_that_needs_none_has_none(too_much):
    A, b, options = too_much
    assert sordino.solve(A, b, solver="prcg", **{**options, "rtol": 1e-8}).recoveries == ()


def test_fewer_steps_at_once_come_before_cg(too_much):
    A, b, options = too_much
    kinds = [step.kind for step in sordino.solve(A, b, solver="cbcg", s=8, **options).recoveries]
    assert kinds.count("smaller s") == 2 and kinds.count("classic CG") == 1
    assert kinds.index("classic CG") > max(k for k, kind in enumerate(kinds) if kind == "smaller s")


def test_of_a_complex_right_hand_side_those_of_both_parts_are_counted_on(too_much):
    A, b, options = too_much
    both = sordino.solve(A, b + 2j * b[::-1], solver="prcg", **options)
    part = sordino.solve(A, b, solver="prcg", **options)
    kinds = [step.kind for step in both.recoveries]
    assert kinds.count("classic CG") == 2
    assert both.recoveries[-1].iteration > part.iterations
    assert all(0 < step.residual <= 1 for step in both.recoveries)


def test_json_and_terminal_tell_them(shell):
    asked = (
        "poisson",
        12,
        11,
        13,
        "--contrast",
        1000,
        "--solver",
        "prcg",
        "--rtol",
        1e-17,
        "--engine",
        "host",
    )
    found = json.loads(shell(*asked, "--json").stdout)
    assert found["status"] == "stagnated"
    assert set(found["recoveries"][0]) == {"iteration", "kind", "why", "residual"}
    assert {step["kind"] for step in found["recoveries"]} == {"residual replaced", "classic CG"}
    told = " ".join(shell(*asked).stdout.split())
    for step in found["recoveries"]:
        assert f"{step['kind']} after {step['iteration']:,} iterations, at {step['residual']:.2e}" in told
    converged = json.loads(shell("poisson", 6, 6, 6, "--engine", "host", "--json").stdout)
    assert converged["recoveries"] == []
