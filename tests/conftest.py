"""Fixtures of the Python tests, those of GPUs among them."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest


@pytest.fixture
def rng_of_today():
    """Fresh random numbers; ``SORDINO_TEST_SEED=123`` repeats those of a test that failed, as in the C++ tests."""
    seed = int(os.environ.get("SORDINO_TEST_SEED") or time.time_ns())
    print(f"SORDINO_TEST_SEED={seed}")  # shown if the test fails
    return np.random.default_rng(seed)


@pytest.fixture
def fields():
    """Random fields of grids, as finite volumes of a coefficient have them: a function."""
    return random_fields


def random_fields(cells, rng, digits=0.0, solid=0.0, is_open=True, periodic=""):
    """Diagonal, x, y and z of a random coefficient, shape (nz, ny, nx); NaN where nobody reads."""
    shape = cells[::-1]
    k = 10.0 ** (digits * rng.random(shape))
    fluid = rng.random(shape) >= solid
    diagonal, ahead = np.zeros(shape), []
    for axis in (2, 1, 0):
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        low, high = tuple(low), tuple(high)
        ends = [(low, high)]
        if "zyx"[axis] in periodic:
            first, last = [slice(None)] * 3, [slice(None)] * 3
            first[axis], last[axis] = slice(0, 1), slice(-1, None)
            ends.append((tuple(last), tuple(first)))
        entries = np.full(shape, np.nan)
        for here, there in ends:
            coupling = 2 * k[here] * k[there] / (k[here] + k[there]) * (fluid[here] & fluid[there])
            entries[here] = -coupling
            diagonal[here] += coupling
            diagonal[there] += coupling
        ahead.append(entries)
    if is_open:
        diagonal[0] += 2 * k[0] * fluid[0]
    return [np.where(diagonal == 0, 1.0, diagonal), *ahead]
