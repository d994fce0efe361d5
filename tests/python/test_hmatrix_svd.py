"""Every block of low rank beside the singular values of its entries: its rank, and its error."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import sordino

HACAPK = {"recompress": False, "certify": False}


@pytest.fixture(scope="module")
def surface():
    return sordino.surfaces.sphere(6, 10)


@pytest.fixture(scope="module")
def exact(surface):
    return sys.modules["sordino_tests_bem_reference"].single_layer(surface)


def beside_svd(H, exact, eps):
    """Of each block of low rank: its rank, the least one within eps of its entries, and its relative error.

    By Eckart and Young the least rank is the number of singular values that must be kept, so that the Frobenius norm
    of the others is eps times that of all.
    """
    ordered, stored = (A[np.ix_(H.order, H.order)] for A in (exact, H @ np.eye(len(exact))))
    rows = []
    for block in H.blocks[H.blocks["rank"] >= 0]:
        place = slice(block["row_begin"], block["row_end"]), slice(block["column_begin"], block["column_end"])
        entries = ordered[place]
        values = np.linalg.svd(entries, compute_uv=False)
        tails = np.sqrt(np.cumsum(values[::-1] ** 2))[::-1]
        error = np.linalg.norm(entries - stored[place]) / tails[0]
        rows.append((block["rank"], (tails > eps * tails[0]).sum(), error))
    return np.array(rows).T


@pytest.mark.parametrize("compression", ["full", "aca", "aca+"])
@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-8])
def test_recompressed_blocks_have_the_least_rank_or_one_more_and_keep_to_eps(
    surface, exact, eps, compression
):
    """Errors of the approximation and of what is cut off are nearly orthogonal; they add up to 1.37 eps at most."""
    H = sordino.hmatrix(surface, eps, compression=compression)
    rank, least, error = beside_svd(H, exact, eps)
    assert len(rank) == H.statistics["low_rank_blocks"] > 900
    assert (rank >= least).all() and (rank <= least + 1).all() and (rank == least).mean() > 0.75
    assert (error <= 1.15 * eps).all() and (error <= eps).mean() > 0.97


def test_cut_after_all_entries_are_known_no_block_is_off_by_more_than_eps(surface, exact):
    H = sordino.hmatrix(surface, 1e-5, compression="full", **HACAPK)
    rank, least, error = beside_svd(H, exact, 1e-5)
    assert (error <= 1e-5).all() and (rank >= least).all() and rank.mean() < least.mean() + 1.5


@pytest.mark.parametrize("compression", ["aca", "aca+"])
def test_crosses_as_hacapk_stops_them_miss_eps_and_have_terms_to_spare(surface, exact, compression):
    """Which is why blocks are checked, and recompressed."""
    rank, least, error = beside_svd(
        sordino.hmatrix(surface, 1e-5, compression=compression, **HACAPK), exact, 1e-5
    )
    assert error.max() > 2e-5 and (error > 1e-5).mean() > 0.005
    assert rank.mean() > least.mean() + 0.8
