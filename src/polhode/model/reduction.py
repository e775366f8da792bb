"""Few shapes for a large structure: constraint modes of its interfaces and normal modes between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import fault
from .sparse_modes import few_shapes

LARGEST = 6000  # degrees of freedom of arrays
MOST = 500_000  # of sparse matrices
DENSE = 1500  # sparse matrices up to here are made dense: that is quicker
ROUNDING = 1e-12  # of the largest in the same matrix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Basis:
    """Shapes of a structure that is clamped, by rising frequency; orthogonal in M and in K, massless ones left out.

    shapes      : (n, m), columns with x^T M x = 1
    frequencies : (m,), rad/s
    """

    shapes: np.ndarray
    frequencies: np.ndarray


def craig_bampton(mass: Any, stiffness: Any, interface: Any = (), modes: int = 6, *, clamped: Sequence[int]) -> Basis:
    """Reduce a structure to the motion of its interface and the slowest modes with the interface held.

    x = Psi b + Phi y,  K Psi = 0 but at the interface, C Psi = 1,  K Phi = M Phi lambda with C Phi = 0;
    then M and K on [Psi, Phi] are made diagonal, so that the frequencies are sorted.

    mass, stiffness : (n, n), symmetric; arrays, or sparse matrices of SciPy
    interface       : places of degrees of freedom, or rows C (b, n) whose products C x are those of the interface
    modes           : how many normal modes with the interface held
    clamped         : places of degrees of freedom that do not move: the joint, where the body's frame is

    Reference: [Craig and Bampton 1968, Coupling of substructures for dynamic analyses, AIAA J. 6].
    """
    M, K = square_symmetric(mass, "mass"), square_symmetric(stiffness, "stiffness")
    n = M.shape[0]
    if K.shape[0] != n:
        raise fault(f"craig_bampton: stiffness has {K.shape[0]} rows and mass {n}, expected as many.")
    if not isinstance(modes, int) or isinstance(modes, bool) or modes < 0:
        raise fault(f"craig_bampton: modes is {modes!r:.60}, expected how many normal modes: 0, 1, 2, ...")
    clamps = _places(clamped, n, "clamped")
    free = np.setdiff1d(np.arange(n), clamps)
    C = _rows(interface, n)[:, free]
    K, M = (A[free][:, free] for A in (K, M))
    held = np.linalg.matrix_rank(C) if len(C) else 0
    if held < len(C):
        raise fault(
            f"craig_bampton: {len(C)} directions of the interface are {held} independent ones. Leave out those that "
            "are clamped or follow from others."
        )
    if not len(free):
        raise fault("craig_bampton: everything is clamped. Leave something free to move.")
    large = hasattr(K, "tocsc") or hasattr(M, "tocsc")
    few = few_shapes(K, M, C, modes, len(clamps)) if large else _few_shapes(K, M, C, modes, len(clamps))
    if not few.shape[1]:
        raise fault("craig_bampton: no mode is asked for. Give modes=6, or an interface.")
    few = few / np.abs(few).max(axis=0)
    mix, frequencies = slowest(few.T @ (K @ few), few.T @ (M @ few), few.shape[1])
    shapes = np.zeros((n, mix.shape[1]))
    shapes[free] = few @ mix
    return Basis(shapes=shapes, frequencies=frequencies)


def _few_shapes(K: np.ndarray, M: np.ndarray, C: np.ndarray, modes: int, clamps: int) -> np.ndarray:
    """Constraint modes of the rows C and normal modes with C x = 0, as columns."""
    _require_stiff(K, M, clamps)
    # the interface moves as it is told, the rest is held or follows at rest
    Q = np.linalg.qr(C.T, mode="complete")[0] if len(C) else np.eye(len(K))
    told, rest = Q[:, : len(C)], Q[:, len(C) :]
    normal = rest @ slowest(rest.T @ K @ rest, rest.T @ M @ rest, modes)[0]
    moved = told @ np.linalg.inv(C @ told) if len(C) else np.zeros((len(K), 0))
    psi = moved - rest @ np.linalg.solve(rest.T @ K @ rest, rest.T @ (K @ moved)) if rest.shape[1] else moved
    return np.hstack([psi, normal])


def slowest(K: np.ndarray, M: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Up to `many` modes of K x = M x w^2 by rising w, x^T M x = 1, without those that have no mass; and w.

    K is positive definite, M need not be: L^-1 M L^-T y = y / w^2 with K = L L^T.
    """
    if not len(K) or not many:
        return np.zeros((len(K), 0)), np.zeros(0)
    try:
        L = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        raise fault("craig_bampton: the stiffness is not positive, where it should be.") from None
    A = np.linalg.solve(L, np.linalg.solve(L, M).T)
    squares, y = np.linalg.eigh((A + A.T) / 2)
    squares, y = squares[::-1], y[:, ::-1]
    heavy = squares > ROUNDING * squares[0]
    squares, y = squares[heavy][:many], y[:, heavy][:, :many]
    return np.linalg.solve(L.T, y) / np.sqrt(squares), 1 / np.sqrt(squares)


def square_symmetric(values: Any, what: str) -> Any:
    """Read a symmetric matrix of numbers: an array, or sparse as it was given where that is large."""
    if hasattr(values, "toarray") and values.shape[0] > DENSE:
        return _sparse_symmetric(values.tocsr(), what)
    dense = values.toarray() if hasattr(values, "toarray") else values
    try:
        found = np.array(dense, dtype=float)
    except (TypeError, ValueError):
        raise fault(f"{what.capitalize()}: is {values!r:.60}, expected rows of numbers.") from None
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise fault(f"{what.capitalize()}: has shape {found.shape}, expected as many columns as rows.")
    if len(found) > LARGEST:
        raise fault(f"{what.capitalize()}: has {len(found)} rows, expected at most {LARGEST}, or sparse.")
    if not np.isfinite(found).all():
        i, j = np.argwhere(~np.isfinite(found))[0]
        raise fault(f"{what.capitalize()}: row {i}, column {j} is {found[i, j]}, expected finite numbers.")
    apart = np.abs(found - found.T)
    if found.size and apart.max() > 1e-9 * np.abs(found).max():
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        raise fault(
            f"{what.capitalize()}: not symmetric: row {i}, column {j} is {found[i, j]:.6g}, row {j}, column {i} is "
            f"{found[j, i]:.6g}. If it is one triangle alone, add the other: A + A.T - diag(A)."
        )
    return np.asarray((found + found.T) / 2)


def _sparse_symmetric(A: Any, what: str) -> Any:
    what = what.capitalize()
    if A.shape[0] != A.shape[1]:
        raise fault(f"{what}: has shape {A.shape}, expected as many columns as rows.")
    if A.shape[0] > MOST:
        raise fault(f"{what}: has {A.shape[0]} rows, expected at most {MOST}. Reduce it before, or mesh coarser.")
    if not np.isfinite(A.data).all():
        raise fault(f"{what}: has numbers that are not finite.")
    if abs(A - A.T).max() > 1e-9 * abs(A).max():
        raise fault(f"{what}: not symmetric. If it is one triangle alone, add the other: A + A.T - diag(A).")
    return (A + A.T) / 2


def _places(values: Any, n: int, what: str) -> np.ndarray:
    found = np.unique(np.asarray(list(values), dtype=int)) if len(values) else np.zeros(0, dtype=int)
    if len(found) and (found[0] < 0 or found[-1] >= n):
        bad = found[0] if found[0] < 0 else found[-1]
        raise fault(f"craig_bampton: {what} has {bad}, expected places of degrees of freedom, 0 to {n - 1}.")
    return found


def _rows(interface: Any, n: int) -> np.ndarray:
    found = np.asarray(interface, dtype=float)
    if found.ndim < 2:
        places = _places(list(found.astype(int)), n, "interface")
        rows = np.zeros((len(places), n))
        rows[np.arange(len(places)), places] = 1
        return rows
    if found.shape[1] != n or not np.isfinite(found).all():
        raise fault(f"craig_bampton: interface has shape {found.shape}, expected rows of {n} finite numbers.")
    return found


def _require_stiff(K: np.ndarray, M: np.ndarray, clamps: int) -> None:
    """Refuse what has negative or no stiffness, or negative mass, once it is clamped."""
    size = np.sqrt(np.maximum(np.abs(np.diag(K)), 1e-300))  # lengths and angles alike
    least = float(np.linalg.eigvalsh(K / size / size[:, None])[0])
    if least < -1e-10:
        raise fault(
            f"Stiffness: negative along one direction (its scaled eigenvalue is {least:.3g}), expected none below 0. A "
            "matrix under compression, or with contacts, is none of a body at rest."
        )
    if least < 1e-14:
        raise fault(
            f"Stiffness: with {clamps} degrees of freedom clamped the body still moves without resistance (its scaled "
            f"eigenvalue is {least:.3g}). Clamp all of the joint: nodes that hold it in 6 directions."
        )
    heavy = np.sqrt(np.maximum(np.abs(np.diag(M)), 1e-300))
    if (np.diag(M) < 0).any() or float(np.linalg.eigvalsh(M / heavy / heavy[:, None])[0]) < -1e-9:
        raise fault("Mass: negative along one direction, expected none below 0.")
