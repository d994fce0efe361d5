"""Laplace's single layer on triangles as a dense matrix by NumPy, for H-matrices to be compared with."""

from __future__ import annotations

import numpy as np

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
