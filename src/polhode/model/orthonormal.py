"""Orthonormal families of what displacements have of second order."""

from __future__ import annotations

import numpy as np

NOISE = 1e-10  # of the largest: what is left of a function that others make up


def orthonormal(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write functions g_p by as few orthonormal ones as they need: g_p = sum_r c_rp psi_r.

    By Gram and Schmidt, the largest remainder first: each psi is of the functions before it, so half of c is 0.

    values  : (p, q), at points, times the roots of their weights
    Returns c (r, p), and psi (r, q), likewise times the roots.
    """
    rest, found = values.copy(), np.zeros((0, values.shape[1]))
    largest = np.linalg.norm(values, axis=1).max(initial=0.0)
    while len(found) < min(values.shape):
        sizes = np.linalg.norm(rest, axis=1)
        if not sizes.max() > NOISE * largest:
            break
        psi = rest[sizes.argmax()] / sizes.max()
        for _ in range(2):  # what rounding left
            psi = psi - (found @ psi) @ found
            psi = psi / np.linalg.norm(psi)
        found = np.vstack([found, psi])
        rest = rest - np.outer(rest @ psi, psi)
    shares = found @ values.T
    return np.where(np.abs(shares) > NOISE / 10 * np.linalg.norm(values, axis=1), shares, 0.0), found


def by_pairs(shares: np.ndarray, pairs: list[tuple[int, int]], many: int) -> np.ndarray:
    """The shares of pairs k <= l as symmetric matrices, (r, m, m)."""
    A = np.zeros((len(shares), many, many))
    for p, (k, l) in enumerate(pairs):
        A[:, k, l] = A[:, l, k] = shares[:, p]
    return A
