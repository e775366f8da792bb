"""The reduction of craig_bampton for large sparse matrices, by SciPy, which they come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import fault


def few_shapes(K: Any, M: Any, C: np.ndarray, modes: int, clamps: int) -> np.ndarray:
    """Constraint modes of the rows C and normal modes with C x = 0, as columns.

    Psi = K^-1 C^T (C K^-1 C^T)^-1; normal modes by Lanczos' method with the inverse of K on what C holds,
    f -> K^-1 f - Psi C K^-1 f.
    """
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import LinearOperator, eigsh

    K, M = csc_matrix(K), csc_matrix(M)
    n = K.shape[0]
    if M.diagonal().min() < 0:
        raise fault("Mass: negative along one direction, expected none below 0.")
    inverse = _factored(K, clamps)
    flexible = inverse.solve(np.ascontiguousarray(C.T)) if len(C) else np.zeros((n, 0))
    psi = flexible @ np.linalg.inv(C @ flexible) if len(C) else flexible

    def held(f: np.ndarray) -> np.ndarray:
        x = inverse.solve(f.reshape(-1))
        return np.asarray(x - psi @ (C @ x))

    many = min(modes, n - len(C) - 1)
    if many < 1:
        return psi
    start = held(np.random.default_rng(0).normal(size=n))
    operator = LinearOperator((n, n), matvec=held, dtype=float)
    _, normal = eigsh(K, many, M=M, sigma=0.0, OPinv=operator, v0=start, tol=0)
    return np.hstack([psi, normal])


def _factored(K: Any, clamps: int) -> Any:
    """Factors of K without pivots, whose signs are those of its eigenvalues (Sylvester)."""
    from scipy.sparse.linalg import splu

    none = fault(
        f"Stiffness: with {clamps} degrees of freedom clamped the body still moves without resistance. Clamp all of "
        "the joint: nodes that hold it in 6 directions."
    )
    try:
        factors = splu(K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular
        raise none from None
    pivots = factors.U.diagonal() / np.abs(K.diagonal())[np.argsort(factors.perm_c)]
    if np.abs(pivots).min() < 1e-14:
        raise none
    if pivots.min() < 0:
        raise fault(
            f"Stiffness: negative along {int((pivots < 0).sum())} directions, expected none below 0. A matrix under "
            "compression, or with contacts, is none of a body at rest."
        )
    return factors
