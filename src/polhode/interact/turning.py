"""Unit quaternions (w, x, y, z) of devices: from matrices, one after the other, and the turn between two."""

from __future__ import annotations

import numpy as np


def quaternion(R: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation: the eigenvector of [Bar-Itzhack 2000], which no angle makes worse."""
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K = np.empty((4, 4))
    K[0] = K[:, 0] = np.trace(R), a, b, c
    K[1:, 1:] = R + R.T - np.trace(R) * np.eye(3)
    found = np.linalg.eigh(K)[1][:, -1]
    return found if found[0] >= 0 else -found


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotation b, and then a."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def inverse(a: np.ndarray) -> np.ndarray:
    """The rotation back."""
    return np.array([a[0], *(-a[1:])])


def between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotation vector from one to another, the short way round, in the axes of the world: that of b a*."""
    found = product(b, inverse(a))
    found = found if found[0] >= 0 else -found
    size = float(np.linalg.norm(found[1:]))
    return found[1:] * (2 * np.arctan2(size, found[0]) / size) if size > 0 else np.zeros(3)
