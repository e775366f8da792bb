"""Integrals over the mass of a body that is known at points or at nodes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from polhode.graph import Matrix, as_expr, matrix, vector
from polhode.spatial.modal import ModalInertia, SecondOrder

from .orthonormal import by_pairs, orthonormal

NOISE = 1e-9  # of the largest that an integral of a product can be: what solvers leave where symmetry makes 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """The numbers of a `ModalInertia`, as arrays: m (), h (3,), S (3, 3), P (m, 3), C1 (m, 3, 3), C2 (m, m, 3, 3),
    H2 (m, m, 3), G2 (m, m, 3, 3)."""

    m: np.ndarray
    h: np.ndarray
    S: np.ndarray
    P: np.ndarray
    C1: np.ndarray
    C2: np.ndarray
    H2: np.ndarray
    G2: np.ndarray

    def inertia(self, second: bool) -> ModalInertia:
        """As expressions, without what is rounding; the second order only where it is asked for."""
        clean = self._without_noise()
        many = range(len(self.P))
        keep = 1.0 if second else 0.0
        return ModalInertia(
            m=as_expr(float(clean["m"])),
            h=vector(clean["h"].tolist()),
            S=matrix(clean["S"].tolist()),
            P=tuple(vector(p.tolist()) for p in clean["P"]),
            C1=tuple(matrix(c.tolist()) for c in clean["C1"]),
            C2=_grid(clean["C2"], many, matrix),
            H2=_grid(clean["H2"] * keep, many, vector),
            G2=_grid(clean["G2"] * keep, many, matrix),
        )

    def _without_noise(self) -> dict[str, np.ndarray]:
        """Make 0 what is far below its bound: the integral of a b is at most the root of those of a^2 and b^2."""
        far = np.sqrt(np.trace(self.S))
        own = np.sqrt(np.maximum(np.einsum("kkaa->k", self.C2), 0))
        pairs = own[:, None] * own
        curved = pairs / max(float(far / np.sqrt(self.m)), 1e-300)  # two amplitudes by the size of the body
        bounds = {
            "m": self.m, "h": far * np.sqrt(self.m), "S": far**2, "P": (own * np.sqrt(self.m))[:, None],
            "C1": (own * far)[:, None, None], "C2": pairs[:, :, None, None],
            "H2": curved[:, :, None], "G2": pairs[:, :, None, None],
        }  # fmt: skip
        found = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        found["C2"] = (found["C2"] + found["C2"].transpose(1, 0, 3, 2)) / 2
        for name in ("H2", "G2"):
            found[name] = (found[name] + found[name].swapaxes(0, 1)) / 2
        return {name: np.where(np.abs(x) < NOISE * bounds[name], 0.0, x) for name, x in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fields:
    """The numbers of a `SecondOrder`: A (r, m, m), and the moments of the m modes with the r fields."""

    A: np.ndarray
    whole: Moments

    def second(self) -> SecondOrder:
        """As expressions, without what is rounding."""
        clean = np.where(np.abs(self.A) < NOISE * np.abs(self.A).max(axis=0), 0.0, self.A)
        return SecondOrder(A=tuple(matrix(A.tolist()) for A in clean), whole=self.whole.inertia(False))


def _grid(values: np.ndarray, many: range, kind: Any) -> tuple[tuple[Matrix, ...], ...]:
    return tuple(tuple(kind(values[k, l].tolist()) for l in many) for k in many)


def of_points(mass: np.ndarray, s0: np.ndarray, phi: np.ndarray, g: np.ndarray | None = None) -> Moments:
    """Sum over points: exact for what is a cloud of points, or a rule of quadrature that is exact.

    mass (q,), s0 (q, 3), phi (q, 3, m), g (q, 3, m, m)
    """
    many = phi.shape[2]
    g = np.zeros((len(mass), 3, many, many)) if g is None else g
    weighed = mass[:, None, None] * phi
    return Moments(
        m=mass.sum(),
        h=mass @ s0,
        S=np.einsum("q,qa,qb->ab", mass, s0, s0),
        P=weighed.sum(axis=0).T,
        C1=np.einsum("qa,qck->kac", s0, weighed),
        C2=np.einsum("qak,qcl->klac", phi, weighed),
        H2=np.einsum("q,qckl->klc", mass, g),
        G2=np.einsum("q,qa,qckl->klac", mass, s0, g),
    )


def fields_of_points(mass: np.ndarray, s0: np.ndarray, phi: np.ndarray, g: np.ndarray) -> Fields | None:
    """The second order g as fields, sums over points; None where there is none."""
    n, _, many = phi.shape
    pairs = [(k, l) for k in range(many) for l in range(k, many)]
    roots = np.repeat(np.sqrt(mass), 3)
    heavy = roots > 0
    values = np.array([g[:, :, k, l].reshape(-1) for k, l in pairs])
    shares, psi = orthonormal((values * roots)[:, heavy])
    if not len(shares):
        return None
    eta = np.zeros((len(psi), 3 * n))
    eta[:, heavy] = psi / roots[heavy]
    both = np.concatenate([phi, eta.T.reshape(n, 3, -1)], axis=2)
    return Fields(A=by_pairs(shares, pairs, many), whole=of_points(mass, s0, both))


def fields_of_matrix(M: Any, nodes: np.ndarray, shapes: np.ndarray, g: np.ndarray) -> Fields | None:
    """The same by a mass matrix, of which the fields have squares of 1."""
    n, f, many = shapes.shape
    pairs = [(k, l) for k in range(many) for l in range(k, many)]
    shares, psi = orthonormal(np.array([g[:, :, k, l].reshape(-1) for k, l in pairs]))
    if not len(shares):
        return None
    eta = np.zeros((n, f, len(psi)))
    eta[:, :3] = psi.T.reshape(n, 3, -1)
    flat = eta.reshape(n * f, -1)
    squares, U = np.linalg.eigh(flat.T @ (M @ flat))
    U, roots = U[:, squares > 1e-14 * squares[-1]], np.sqrt(squares[squares > 1e-14 * squares[-1]])
    whole = of_matrix(M, nodes, np.concatenate([shapes, eta @ (U / roots)], axis=2))
    return Fields(A=by_pairs((U * roots).T @ shares, pairs, many), whole=whole)


def of_matrix(M: Any, nodes: np.ndarray, shapes: np.ndarray, g: np.ndarray | None = None) -> Moments:
    """Integrals by a mass matrix of finite elements: those of fields that the elements can take.

    With u^T M v the integral of u.v: P_k[a] = e_a^T M phi_k;  C1_k[a, c] = (e_c s0_a)^T M phi_k;
    C2_kl[a, c] = (e_c phi_k,a)^T M phi_l, and the moments of s0 by rigid motions.

    M (n f, n f) with f = 3 or 6 directions at each node, shapes (n, f, m), g (n, 3, m, m)

    Exact for isoparametric solids (f = 3), where all these are fields of the elements. With rotations at the nodes
    (f = 6: beams, shells) m, h, S, P, the antisymmetric part of C1 (what turning needs) and the trace of C2 (the
    inertia of the modes) are exact; the rest takes e_c s0_a and e_c phi_a without their slopes, which errs by the
    square of the size of an element, and gives what rotations weigh to the three axes in equal parts.
    """
    n, f, many = shapes.shape
    moved = (M @ shapes.reshape(n * f, many)).reshape(n, f, many)
    e = np.eye(3)
    # rigid motions: e_a, and e_a x s0 with its rotation
    lift = np.zeros((n, f, 3))
    lift[:, :3] = e
    spin = np.zeros((n, f, 3))
    spin[:, :3] = np.cross(e[None], nodes[:, None]).transpose(0, 2, 1)
    if f == 6:
        spin[:, 3:] = e
    rigid = np.concatenate([lift, spin], axis=2).reshape(n * f, 6)
    six = rigid.T @ (M @ rigid)
    I = six[3:, 3:]
    h = np.array([six[1, 5] - six[2, 4], six[2, 3] - six[0, 5], six[0, 4] - six[1, 3]]) / 2  # e_a.(e_b x s)
    # C1: first moments of M phi, and the antisymmetric part with the rotations
    C1 = np.einsum("ia,ick->kac", nodes, moved[:, :3])
    C2 = np.einsum("iak,icl->klac", shapes[:, :3], moved[:, :3])
    if f == 6:
        turn = np.einsum("iak->ka", moved[:, 3:]) / 2  # half to each side of what is antisymmetric
        C1 = C1 + np.einsum("acb,kb->kac", _levi_civita(), turn)
        C2 = (C2 + C2.transpose(1, 0, 3, 2)) / 2
        short = np.einsum("iak,ial->kl", shapes, moved) - np.einsum("klaa->kl", C2)
        C2 = C2 + short[:, :, None, None] * np.eye(3) / 3
    found = np.zeros((n, f, many, many))
    found[:, :3] = 0.0 if g is None else g
    pushed = (M @ found.reshape(n * f, -1)).reshape(found.shape)[:, :3]
    return Moments(
        m=np.trace(six[:3, :3]) / 3,
        h=h,
        S=np.trace(I) / 2 * np.eye(3) - I,
        P=moved[:, :3].sum(axis=0).T,
        C1=C1,
        C2=C2,
        H2=np.einsum("iakl->kla", pushed),
        G2=np.einsum("ia,ickl->klac", nodes, pushed),
    )


def _levi_civita() -> np.ndarray:
    e = np.zeros((3, 3, 3))
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        e[a, b, c], e[b, a, c] = 1.0, -1.0
    return e
