"""Inertias of bodies that deform: rigid at every instant, and with momenta of their modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polhode.graph import Expr, Matrix, as_expr, cross, matrix, vector, zeros

from .inertia import Inertia
from .vectors import Twist, Wrench


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalInertia:
    """Integrals over the mass of a body whose points are at s = s0 + sum_k d_k phi_k + 1/2 sum_kl d_k d_l g_kl.

    d are the amplitudes of the modes. The second-order part g is what keeps lengths: a beam that bends becomes
    shorter. It is 0 for a field that is linear in d.

    m, h, S : of 1, s0 and s0 s0^T: scalar, (3,), (3, 3)
    P       : of phi_k, (3,) each
    C1      : of s0 phi_k^T, (3, 3) each
    C2      : of phi_k phi_l^T, (3, 3) each, k by l; C2[l][k] = C2[k][l]^T
    H2      : of g_kl, (3,) each, symmetric in k and l
    G2      : of s0 g_kl^T, (3, 3) each, symmetric in k and l

    second  : g as fields, where all that it does is kept; None where h and the inertia are to second order in d and
              momenta of the modes to first

    Twice the rows and blocks of the paper's C_i, C_ik and C_ikl; P_k is its epsilon_ik. What it has not: H2 and G2.
    Reference: [Book, eq. 25, 28, 30, 52].
    """

    m: Expr
    h: Matrix
    S: Matrix
    P: tuple[Matrix, ...]
    C1: tuple[Matrix, ...]
    C2: tuple[tuple[Matrix, ...], ...]
    H2: tuple[tuple[Matrix, ...], ...]
    G2: tuple[tuple[Matrix, ...], ...]
    second: SecondOrder | None = None

    def at(self, d: Sequence[Expr]) -> Deformed:
        """The body with amplitudes d."""
        if self.second is not None:
            return self.second.at(d)
        many = range(len(self.P))
        P = [weighted(self.P[k], self.H2[k], d) for k in many]
        D = [weighted(self.C1[k], [self.C2[l][k] + self.G2[k][l] for l in many], d) for k in many]
        h, S = self.h, self.S
        for k in many:  # half of what is of second order is in P and D twice
            h = h + (self.P[k] + P[k]) * (d[k] / 2)
            half = (self.C1[k] + D[k]) * (d[k] / 2)
            S = S + half + half.T
        return Deformed(
            inertia=Inertia(self.m, h, _about_origin(S)),
            P=tuple(P),
            D=tuple(D),
            M=matrix([[_inertia(self.C2[k][l]) for l in many] for k in many]),
            constants=self,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondOrder:
    """The second order of a field as further modes, whose amplitudes a follow from d.

        1/2 sum_kl d_k d_l g_kl = sum_r a_r eta_r,     a_r = 1/2 d^T A_r d,     a_r' = (A_r d).d'

    So the body is one of a linear field with the amplitudes (d, a), and nothing is left out: kinetic energy is a sum
    of squares, and its matrix definite wherever the body may be.

    A     : (m, m) each, symmetric
    whole : integrals of the linear field: the modes phi_k, then the eta_r
    """

    A: tuple[Matrix, ...]
    whole: ModalInertia

    def at(self, d: Sequence[Expr]) -> Deformed:
        """The body with amplitudes d: momenta of phi_k + sum_r (A_r d)_k eta_r."""
        slopes = [A @ vector(d) for A in self.A]
        body = self.whole.at([*d, *((slope @ vector(d)) / 2 for slope in slopes)])
        path = Path(A=self.A, slopes=tuple(slopes), body=body)
        many = range(len(d))
        columns = [path.along(k, body.M.rows()) for k in many]
        M = {(k, l): path.along(l, columns[k]) for k in many for l in many if l <= k}
        return Deformed(
            inertia=body.inertia,
            P=tuple(path.along(k, body.P) for k in many),
            D=tuple(path.along(k, body.D) for k in many),
            M=matrix([[M[max(k, l), min(k, l)] for l in many] for k in many]),
            constants=self.whole,
            path=path,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Amplitudes (d, a(d)) of a linear field, and the body there; see `SecondOrder`.

    slopes : A_r d, the slopes of a_r
    """

    A: tuple[Matrix, ...]
    slopes: tuple[Matrix, ...]
    body: Deformed

    def along(self, k: int, parts: Sequence[Any]) -> Any:
        """What a unit of mode k has of what every mode of the field has: x_k + sum_r (A_r d)_k x_r."""
        total = parts[k]
        for slope, part in zip(self.slopes, parts[len(parts) - len(self.slopes) :], strict=True):
            total = total + part * slope[k]
        return total

    def rates(self, rates: Sequence[Expr]) -> list[Expr]:
        """Of all amplitudes, (d', A_r d.d')."""
        return [*rates, *(slope @ vector(rates) for slope in self.slopes)]

    def changes(self, rates: Sequence[Expr], changes: Sequence[Expr]) -> list[Expr]:
        """Their rates, (d'', A_r d.d'' + d'.A_r d')."""
        drawn = [_square(A, rates) for A in self.A]
        return [*changes, *(e + more for e, more in zip(self.rates(changes)[len(changes) :], drawn, strict=True))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deformed:
    """A body that deforms, at given amplitudes.

    inertia : as if it were rigid
    P       : dh/dd_k, the momentum of a unit speed of each mode
    D       : of s (ds/dd_k)^T, (3, 3) each; its axial vector is the angular momentum of a unit speed
    M       : (m, m), the inertia of the modes themselves, constant unless there is a path
    path    : where the field is of second order and all of it is kept
    """

    inertia: Inertia
    P: tuple[Matrix, ...]
    D: tuple[Matrix, ...]
    M: Matrix
    constants: ModalInertia
    path: Path | None = None

    def pair(self, k: int, l: int) -> Matrix:
        """Of (ds/dd_k) (ds/dd_l)^T, (3, 3)."""
        C2 = self.constants.C2
        if self.path is None:
            return C2[k][l]
        found: Matrix = self.path.along(k, [self.path.along(l, row) for row in C2])
        return found

    @property
    def momenta(self) -> list[Wrench]:
        """Angular momentum about the origin and momentum of a unit speed of each mode."""
        return [Wrench(_axial(D), P) for D, P in zip(self.D, self.P, strict=True)]

    def momentum(self, V: Twist, rates: Sequence[Expr]) -> tuple[Wrench, list[Expr]]:
        """The momentum of the body and of its modes, where it moves with V and the modes with their rates."""
        whole, own = self.inertia @ V, (self.M @ vector(rates)).entries
        found = []
        for k, W in enumerate(self.momenta):
            whole = whole + Wrench(W.n * rates[k], W.f * rates[k])
            found.append(V.dot(W) + own[k])
        return whole, found

    def kinetic(self, V: Twist, rates: Sequence[Expr]) -> Expr:
        """Kinetic energy: half of V.mu and of the rates times the momenta of the modes."""
        mu, own = self.momentum(V, rates)
        twice: Expr = V.dot(mu) + vector(rates) @ vector(own)
        return twice / 2

    def needed(self, w: Matrix, S: Matrix, a: Matrix, rates: Sequence[Expr], changes: Sequence[Expr]) -> Wrench:
        """The wrench that deforming needs beside that of a rigid body.

        f = 2 w x (P d') + P d'' + H2 d' d',  n = 2 sum_k d_k' (tr D_k - D_k^T) w + B d'' + axial(G2) d' d'

        w, S, a : angular velocity, skew(w_dot) + skew(w)^2 and the acceleration of the origin less that of free fall
        """
        if self.path is not None:
            return self.path.body.needed(w, S, a, self.path.rates(rates), self.path.changes(rates, changes))
        f, n, moved = zeros(3), zeros(3), zeros(3)
        turned = zeros(3, 3)
        for k, (P, D) in enumerate(zip(self.P, self.D, strict=True)):
            moved, turned = moved + P * rates[k], turned + D * rates[k]
            f, n = f + P * changes[k], n + _axial(D) * changes[k]
            f = f + weighted(zeros(3), self.constants.H2[k], rates) * rates[k]
            n = n + _axial(weighted(zeros(3, 3), self.constants.G2[k], rates)) * rates[k]
        f = f + cross(w, moved) * 2
        n = n + (w * _trace(turned) - turned.T @ w) * 2
        return Wrench(n, f)

    def modal(self, w: Matrix, S: Matrix, a: Matrix, rates: Sequence[Expr], changes: Sequence[Expr]) -> list[Expr]:
        """The forces along the modes that the motion needs, without those of stiffness and damping.

        Q_k = P_k.a + sum_ij S_ji (D_k)_ij + (M d'')_k + 2 w.sum_l d_l' b_lk,  b_lk of phi_l x phi_k
        """
        if self.path is not None:
            every = self.path.body.modal(w, S, a, self.path.rates(rates), self.path.changes(rates, changes))
            return [self.path.along(k, every) for k in range(len(rates))]
        own = (self.M @ vector(changes)).entries
        found = []
        for k, (P, D) in enumerate(zip(self.P, self.D, strict=True)):
            spun = as_expr(0)
            for i in range(3):
                for j in range(3):
                    spun = spun + S[j, i] * D[i, j]
            swept = zeros(3)
            for l, rate in enumerate(rates):
                swept = swept + _axial(self.constants.C2[l][k]) * rate
            found.append(P @ a + spun + own[k] + (w @ swept) * 2)
        return found


def weighted(first: Matrix, rest: Sequence[Matrix], d: Sequence[Expr]) -> Matrix:
    """A matrix and others times their weights."""
    total = first
    for e, part in zip(d, rest, strict=True):
        total = total + part * e
    return total


def _square(A: Matrix, x: Sequence[Expr]) -> Expr:
    """x^T A x of a symmetric A, by the products of two entries, which others may share."""
    total = as_expr(0)
    for i, one in enumerate(x):
        for j, other in enumerate(x[: i + 1]):
            total = total + (A[i, j] if i == j else A[i, j] * 2) * (one * other)
    return total


def _trace(A: Matrix) -> Expr:
    return A[0, 0] + A[1, 1] + A[2, 2]  # type: ignore[no-any-return]


def _inertia(C: Matrix) -> Expr:
    """The trace, 0 where that is what rounding left of numbers."""
    found, parts = _trace(C), [C[i, i].number for i in range(3)]
    largest = max((abs(x) for x in parts if x is not None), default=0)
    return as_expr(0) if found.number is not None and abs(found.number) <= 1e-13 * largest else found


def _axial(D: Matrix) -> Matrix:
    """Of s r^T: s x r."""
    return vector([D[1, 2] - D[2, 1], D[2, 0] - D[0, 2], D[0, 1] - D[1, 0]])


def _about_origin(S: Matrix) -> Matrix:
    """tr(S) 1 - S, the diagonal without what cancels."""
    x, y, z = S[0, 0], S[1, 1], S[2, 2]
    sums = (y + z, x + z, x + y)
    return matrix([[sums[i] if i == j else -S[i, j] for j in range(3)] for i in range(3)])
