"""bench/unstructured.py: the matrix of a mesh that is no grid, and what is measured of it."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(os.fspath(ROOT / "bench"))
    return importlib.import_module("unstructured")


@pytest.mark.parametrize("order", ["drawn", "sorted"])
def test_linear_elements_of_a_mesh_that_is_no_grid(module, order) -> None:
    A = module.unstructured(3000, order)
    n = A.shape[0]
    assert 2900 < n < 3000 and abs(A - A.T).max() == 0
    entries = np.diff(A.indptr)
    assert entries.min() < 6 < entries.max() and 6.5 < entries.mean() < 7.1
    sums = A.sum(axis=1)
    assert (np.abs(sums) < 1e-9 * A.diagonal()).mean() > 0.95  # all but beside the hull
    assert (sums > -1e-9 * A.diagonal()).all() and (A.diagonal() > 0).all()
    near = np.abs(np.repeat(np.arange(n), entries) - A.indices).mean()
    assert (near < 0.1 * n) == (order == "sorted")


def test_our_levels_are_measured(module, tmp_path, monkeypatch) -> None:
    record = tmp_path / "r.jsonl"
    words = (
        "--rows",
        4000,
        "--ways",
        "amg:v,amg:w,jacobi",
        "--repeats",
        1,
        "--record",
        record,
        "--commit",
        "abc",
    )
    monkeypatch.setattr(sys, "argv", ["unstructured.py", *map(str, words)])
    assert module.main() == 0
    v, w, jacobi = (json.loads(line) for line in record.read_text().splitlines())
    assert all(row["status"] == "converged" and row["true_residual"] <= 1e-8 for row in (v, w, jacobi))
    assert w["iterations"] <= v["iterations"] <= 30 < jacobi["iterations"] / 3
    assert v["commit"] == "abc" and v["n"] == w["n"] > 3900
