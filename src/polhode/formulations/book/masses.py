"""The inertia matrices of links, 4 x 4.

With h = [1, s] of every point and integrals over the mass:

    G   = int h h^T                  D_k = int h (dh/dd_k)^T           C_kl = int (dh/dd_k) (dh/dd_l)^T

The paper halves these, and doubles every trace they are in; we do neither. Where the field is of second order in d,
s = s0 + sum_k d_k phi_k + 1/2 sum_kl d_k d_l g_kl, as for beams that become shorter where they bend, G and D have parts
H2 and G2 that the paper has not, and points accelerate by g d' d' beside. With the order "second" dh/dd_k and so C_kl
depend on d; both are those of a linear field with more modes eta_r, whose amplitudes are 1/2 d^T A_r d.

Reference: [Book, eq. 24 to 30, 36, 37].
"""

from __future__ import annotations

from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_expr, matrix, zeros
from polhode.kinematics import Kinematics
from polhode.kinematics.bent import Modes
from polhode.spatial import Inertia
from polhode.spatial.modal import ModalInertia, SecondOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Pseudo:
    """A 4 x 4 inertia matrix [m h^T; h S] by its blocks. Reference: [Book, eq. 30, 37]; 2 G_i."""

    m: Expr
    h: Matrix
    S: Matrix

    def __add__(self, other: Pseudo) -> Pseudo:
        return Pseudo(m=self.m + other.m, h=self.h + other.h, S=self.S + other.S)

    def matrix(self) -> Matrix:
        """All 4 x 4 entries."""
        return matrix([[self.m, *self.h], *([self.h[i], *self.S[i]] for i in range(3))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Mass:
    """What a body weighs at its amplitudes.

    G      : of h h^T, a hub with it
    P, D   : the rows [P^T; D] of h (dh/dd_k)^T, whose first column is 0
    C      : of (ds/dd_k) (ds/dd_l)^T, k by l
    rates  : of the modes
    at     : places of their speeds
    H2, G2 : the rows of int h (g d' d')^T
    B      : of (g d' d') (ds/dd_k)^T, each; none where that is of higher order
    """

    G: Pseudo
    P: tuple[Matrix, ...] = ()
    D: tuple[Matrix, ...] = ()
    C: tuple[tuple[Matrix, ...], ...] = ()
    rates: tuple[Expr, ...] = ()
    at: tuple[int, ...] = ()
    H2: Matrix
    G2: Matrix
    B: tuple[Matrix, ...] = ()


def rigid(inertia: Inertia) -> Mass | None:
    """The matrix of a rigid body; none of a frame without mass."""
    if inertia == Inertia.zero():
        return None
    return Mass(G=pseudo(inertia), H2=zeros(3), G2=zeros(3, 3))


def pseudo(inertia: Inertia) -> Pseudo:
    """S = tr(I)/2 1 - I. Reference: [Book, eq. 30]."""
    I = inertia.I
    half = (I[0, 0] + I[1, 1] + I[2, 2]) / 2
    S = matrix([[half - I[i, j] if i == j else -I[i, j] for j in range(3)] for i in range(3)])
    return Pseudo(m=inertia.m, h=inertia.h, S=S)


def deformed(kin: Kinematics, k: int, modes: Modes) -> Mass:
    """The matrices of a flexible link.

    order "paper" leaves out what is quadratic in d from G [Book, eq. 37], and from nothing else; the others keep it.
    """
    name = next(name for name, carrier in kin.carriers.items() if carrier == k)
    hub = next(body for body in kin.model.bodies if body.name == name).total
    own = pseudo(hub) if hub != Inertia.zero() else _NONE
    I, d = modes.flexible.inertia, modes.d
    if I.second is not None:
        return _curved(I.second, modes, own)
    many = range(len(d))
    D = [_sum(I.C1[k], [I.C2[l][k] + I.G2[k][l] for l in many], d) for k in many]
    P = [_sum(I.P[k], list(I.H2[k]), d) for k in many]
    H2, G2 = zeros(3), zeros(3, 3)
    for a, one in enumerate(modes.rates):
        for b, other in enumerate(modes.rates):
            H2, G2 = H2 + I.H2[a][b] * (one * other), G2 + I.G2[a][b] * (one * other)
    return Mass(
        G=_whole(I, P, D, d, modes.flexible.order) + own,
        P=tuple(P),
        D=tuple(D),
        C=I.C2,
        rates=modes.rates,
        at=modes.at,
        H2=H2,
        G2=G2,
    )


def _curved(second: SecondOrder, modes: Modes, hub: Pseudo) -> Mass:
    """The same by the fields eta_r: dh/dd_k = sum_i T_ik (modes, fields)_i with T = [1; A_1 d; A_2 d; ...]."""
    I, m = second.whole, len(modes.d)
    every, many = range(len(I.P)), range(m)
    T = [[as_expr(int(i == k)) for k in many] for i in many]
    amplitudes, drawn = list(modes.d), [as_expr(0)] * m
    for A in second.A:
        T.append([sum((A[k, l] * e for l, e in enumerate(modes.d)), as_expr(0)) for k in many])
        amplitudes.append(sum((t * e for t, e in zip(T[-1], modes.d, strict=True)), as_expr(0)) / 2)
        pairs = ((k, l, A[k, l] * (2 if l < k else 1)) for k in many for l in range(k + 1))
        drawn.append(sum((modes.rates[k] * modes.rates[l] * a for k, l, a in pairs), as_expr(0)))
    z = tuple(amplitudes)
    D = [_sum(I.C1[i], [I.C2[j][i] for j in every], z) for i in every]
    columns = [tuple(column) for column in zip(*T, strict=True)]
    half = [[_sum(zeros(3, 3), list(I.C2[i]), column) for i in every] for column in columns]  # of field i and mode k
    return Mass(
        G=_whole(I, list(I.P), D, z, "second") + hub,
        P=tuple(_sum(zeros(3), list(I.P), column) for column in columns),
        D=tuple(_sum(zeros(3, 3), D, column) for column in columns),
        C=tuple(tuple(_sum(zeros(3, 3), half[l], column) for l in many) for column in columns),
        rates=modes.rates,
        at=modes.at,
        H2=_sum(zeros(3), list(I.P), tuple(drawn)),
        G2=_sum(zeros(3, 3), D, tuple(drawn)),
        B=tuple(_sum(zeros(3, 3), half[k], tuple(drawn)) for k in many),
    )


_NONE = Pseudo(m=as_expr(0), h=zeros(3), S=zeros(3, 3))


def _whole(I: ModalInertia, P: list[Matrix], D: list[Matrix], d: tuple[Expr, ...], order: str) -> Pseudo:
    """G. Reference: [Book, eq. 29, and 37 for order "paper"]."""
    h, S = I.h, I.S
    for k, e in enumerate(d):
        # what is quadratic in d is in P and D twice
        first, part = (I.P[k], I.C1[k]) if order == "paper" else ((I.P[k] + P[k]) / 2, (I.C1[k] + D[k]) / 2)
        h, S = h + first * e, S + (part + part.T) * e
    return Pseudo(m=I.m, h=h, S=S)


def _sum(first: Matrix, rest: list[Matrix], d: tuple[Expr, ...]) -> Matrix:
    """Reference: [Book, eq. 36]."""
    total = first
    for e, part in zip(d, rest, strict=True):
        total = total + part * e
    return total
