"""The integrals over the mass of a beam: of its axis, and of its sections as they turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, matrix, mirrored, vector, zeros
from polhode.spatial.modal import ModalInertia, SecondOrder

from .beam_fields import ALONG, UNIT, Turn, block, second_order
from .flexible import SHORTENING
from .sections import Section, times
from .shapes import ONE, Shape, outboard, product

if TYPE_CHECKING:
    from .beam import Beam, Mode


def integrals(beam: Beam) -> ModalInertia:
    """Integrate over the points  s = (x, 0, 0) + r + d phi + 1/2 d d g  of a beam.

    phi_k  = a_k + theta_k x r
    g_kl   = -e_x int_0^x (transverse slopes)_k . (same)_l + 1/2 (theta_k x (theta_l x r) + theta_l x (theta_k x r))

    with a_k and theta_k the displacement and rotation of the section, r a point in it, whose second moments are J_z
    along y and J_y along z. So s is  axis + exp(skew(theta)) r  to second order. Unless `rotary`, theta_k here is the
    twist alone: masses keep their places as sections turn in bending. With the orders "full" and "paper", g = 0.

    Km and Kh of the shortening are H2 = -e_x Km and G2 = -e_x e_x^T Kh. Reference: [Book, eq. 25, 28, 30, 52].
    """
    L, mu, e = beam.length, beam.mu, UNIT[0]
    parts, many = beam.parts, range(len(beam.parts))
    spread = [(c, J) for c, J in ((1, beam.J_z), (2, beam.J_y)) if J is not None]  # along y and z

    m = _weighed(mu, ONE) * L
    h = vector(e.tolist()) * (_weighed(mu, ONE, power=1) * L**2)
    S = block(e, e) * (_weighed(mu, ONE, power=2) * L**3)
    for c, J in spread:
        S = S + block(UNIT[c], UNIT[c]) * (_weighed(J, ONE) * L)

    turns = [_turning(beam, mode) for mode in parts]
    P, C1 = [], []
    for k in many:
        a, f = ALONG.get(parts[k].kind), parts[k].shape
        P.append(zeros(3) if a is None else vector(a.tolist()) * (_weighed(mu, f) * L))
        own = zeros(3, 3) if a is None else block(e, a) * (_weighed(mu, f, power=1) * L**2)
        for c, J in spread:
            for t, by, turn in turns[k]:
                own = own + block(UNIT[c], np.cross(t, UNIT[c])) * (_weighed(J, turn) * L * by)
        C1.append(own)

    C2 = [[zeros(3, 3) for _ in many] for _ in many]
    H2 = [[zeros(3) for _ in many] for _ in many]
    G2 = [[zeros(3, 3) for _ in many] for _ in many]
    for k in many:
        for l in range(k, len(parts)):  # symmetric to the last digit
            C2[k][l] = _pair(beam, parts[k], parts[l], turns[k], turns[l], spread)
            C2[l][k] = C2[k][l].T
            if beam.order in SHORTENING:
                H2[k][l], G2[k][l] = _second(beam, parts[k], parts[l], turns[k], turns[l], spread)
                H2[l][k], G2[l][k] = H2[k][l], G2[k][l]
    found = ModalInertia(
        m=m, h=h, S=S, P=tuple(P), C1=tuple(C1),
        C2=tuple(map(tuple, C2)), H2=tuple(map(tuple, H2)), G2=tuple(map(tuple, G2)),
    )  # fmt: skip
    placed = _placed(beam.frame, beam.start, found)
    second = second_order(beam, found, turns) if beam.order == "second" else None
    if second is None:
        return placed
    whole = _placed(beam.frame, beam.start, second.whole)
    return replace(placed, second=SecondOrder(A=second.A, whole=whole))


def _turning(beam: Beam, mode: Mode) -> list[Turn]:
    """How a mode turns the masses of sections: twist about x, and with `rotary` the slopes of bending."""
    one = as_expr(1)
    if mode.kind == "twist":
        return [(UNIT[0], one, mode.shape)]
    if not beam.rotary or mode.kind == "stretch":
        return []
    return [(UNIT[2] if mode.kind == "y" else -UNIT[1], one / beam.length, mode.shape.slope)]


def _pair(
    beam: Beam, a: Mode, b: Mode, turns: list[Turn], others: list[Turn], spread: list[tuple[int, Section]]
) -> Matrix:
    """C2 of two modes: of a_k a_l^T and of (theta_k x r)(theta_l x r)^T."""
    total = zeros(3, 3)
    if a.kind in ALONG and b.kind in ALONG:
        total = block(ALONG[a.kind], ALONG[b.kind]) * (_weighed(beam.mu, a.shape, b.shape) * beam.length)
    for t, by, f in turns:
        for s, more, g in others:
            for c, J in spread:
                moved = block(np.cross(t, UNIT[c]), np.cross(s, UNIT[c]))
                total = total + moved * (_weighed(J, f, g) * beam.length * by * more)
    return total


def _second(
    beam: Beam, a: Mode, b: Mode, turns: list[Turn], others: list[Turn], spread: list[tuple[int, Section]]
) -> tuple[Matrix, Matrix]:
    """H2 and G2 of two modes."""
    e, L, mu = UNIT[0], beam.length, beam.mu
    H2, G2 = zeros(3), zeros(3, 3)
    if a.kind == b.kind and a.kind in ("y", "z"):
        f, g = a.shape.slope, b.shape.slope
        H2 = vector((-e).tolist()) * times(mu.scale, outboard(f, g, 0, mu))
        G2 = block(-e, e) * (times(mu.scale, outboard(f, g, 1, mu)) * L)
    for t, by, f in turns:
        for s, more, g in others:
            for c, J in spread:
                r = UNIT[c]
                twice = np.cross(t, np.cross(s, r)) + np.cross(s, np.cross(t, r))
                G2 = G2 + block(r, twice) * (_weighed(J, f, g) * L * by * more / 2)
    return H2, G2


def _weighed(weight: Section, f: Shape, g: Shape = ONE, power: int = 0) -> Expr:
    if weight.uniform and f is ONE and g is ONE:
        return weight.scale / (power + 1)
    return times(weight.scale, product(f, g, power, weight))


def _placed(R: Matrix, p: Matrix, I: ModalInertia) -> ModalInertia:
    """The same in the axes of the body, from its origin."""

    def outer(a: Matrix, b: Matrix) -> Matrix:
        return matrix([[x * y for y in b] for x in a])

    def turned(e: Matrix) -> Matrix:
        """R e R^T, symmetric to the last digit where e is."""
        return mirrored(R @ e @ R.T) if e == e.T else R @ e @ R.T

    many = range(len(I.P))
    C2 = {(k, l): turned(I.C2[k][l]) for k in many for l in many if l >= k}
    h, P = R @ I.h, [R @ e for e in I.P]
    H2 = [[R @ e for e in row] for row in I.H2]
    return ModalInertia(
        m=I.m,
        h=h + p * I.m,
        S=mirrored(turned(I.S) + outer(p, h) + outer(h, p) + outer(p, p) * I.m),
        P=tuple(P),
        C1=tuple(turned(e) + outer(p, a) for e, a in zip(I.C1, P, strict=True)),
        C2=tuple(tuple(C2[k, l] if l >= k else C2[l, k].T for l in many) for k in many),
        H2=tuple(map(tuple, H2)),
        G2=tuple(
            tuple(turned(e) + outer(p, a) for e, a in zip(*rows, strict=True)) for rows in zip(I.G2, H2, strict=True)
        ),
    )
