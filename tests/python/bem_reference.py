"""Laplace's single layer on triangles as a dense matrix by NumPy, in the place of an H-matrix."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator

EPSILON_0 = 8.8541878188e-12


def single_layer(surface):
    """Potentials at centroids of densities that are constant on triangles, shape (n, n); integrals are exact.

    The integral of 1/r over a triangle is a sum over its edges of distances in the plane times logarithms, less the
    height times the solid angle (Wilton et al. 1984; the angle as van Oosterom and Strackee 1983 give it).
    """
    corners = surface.points[surface.triangles]
    centroids = corners.mean(axis=1)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return np.stack([_row(point, corners, normals) for point in centroids]) / (4 * np.pi * EPSILON_0)


def _row(point, corners, normals):
    apart = corners - point
    lengths = np.linalg.norm(apart, axis=2)
    height = np.einsum("ij,ij->i", apart[:, 0], normals)
    total = np.zeros(len(corners))
    for i in range(3):
        a, b = apart[:, i], apart[:, (i + 1) % 3]
        edge = b - a
        length = np.linalg.norm(edge, axis=1)
        outwards = np.cross(edge, normals) / length[:, None]
        both = lengths[:, i] + lengths[:, (i + 1) % 3]
        total += np.einsum("ij,ij->i", a, outwards) * np.log1p(2 * length / (both - length))
    a, b, c = np.moveaxis(apart, 1, 0)
    (la, lb, lc) = lengths.T
    dot = (
        np.einsum("ij,ij->i", a, b) * lc + np.einsum("ij,ij->i", b, c) * la + np.einsum("ij,ij->i", c, a) * lb
    )
    angle = 2 * np.arctan2(np.abs(np.einsum("ij,ij->i", a, np.cross(b, c))), la * lb * lc + dot)
    return total - np.abs(height) * angle


class DenseMatrix(LinearOperator):
    """The matrix with the face of an H-matrix: four blocks, of which two say that they have a rank."""

    def __init__(self, surface, **settings):
        self.matrix, self.settings = single_layer(surface), settings
        super().__init__(np.float64, self.matrix.shape)
        n = surface.n
        self.order, half = np.arange(n), n // 2
        kind = [(name, np.int64) for name in ("row_begin", "row_end", "column_begin", "column_end")]
        ends = [(0, half), (half, n)]
        self.blocks = np.array(
            [(*row, *column, -1 if row == column else 7) for row in ends for column in ends],
            dtype=[*kind, ("rank", np.int32)],
        )
        self.statistics = {
            "clusters": 3, "low_rank_blocks": 2, "dense_blocks": 2, "nodes": 5, "stored_bytes": 8 * n * n,
            "dense_bytes": 8 * n * n, "mean_rank": 7.0, "max_rank": 7, "compression_error": 1e-16,
            "redone_blocks": 0, "seconds": 0.25,
        }  # fmt: skip

    def _matvec(self, x):
        return self.matrix @ x

    def _rmatvec(self, x):
        return self.matrix.T @ x

    def diagonal(self):
        return self.matrix.diagonal().copy()


def hmatrix(surface, *, eps=1e-6, **settings):
    """In the place of ``sordino.hmatrix``."""
    return DenseMatrix(surface, eps=eps, **settings)
