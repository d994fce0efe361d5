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
