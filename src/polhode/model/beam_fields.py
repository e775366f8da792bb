"""What the points of a beam are displaced by to second order, as fields of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, matrix, vector, zeros
from polhode.spatial.modal import ModalInertia, SecondOrder

from .orthonormal import by_pairs, orthonormal
from .sections import Section, nodes, times
from .shapes import Shape, swept

if TYPE_CHECKING:
    from .beam import Beam

UNIT = np.eye(3, dtype=int)
ALONG = {"y": UNIT[1], "z": UNIT[2], "stretch": UNIT[0]}  # which way a mode moves the axis
Turn = tuple[np.ndarray, Expr, Shape]  # an axis, a factor and a shape


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Field:
    """psi(x/L) along one direction, of the axis or of an arm of the sections: points at r = e_arm times their distance.

    arm    : None for the axis, 1 or 2 for y or z of the sections
    along  : 0, 1, 2: the direction
    psi    : (q,) at points x/L
    weight : (q,), the mass of these points by its scale: the integral of psi^2 is 1
    A      : (m, m), the amplitude is 1/2 d^T A d
    mass   : the integral of the field's square; 1 where that is a number
    root   : the field is psi / root
    """

    arm: int | None
    along: int
    psi: np.ndarray
    weight: np.ndarray
    A: Matrix
    mass: Expr
    root: float


def second_order(beam: Beam, linear: ModalInertia, turns: list[list[Turn]]) -> SecondOrder | None:
    """The fields of second order of a beam, beside its modes, in its own axes; None where there are none.

    See `beam_inertia.integrals` for g. Fields of the axis are along x, those of the arms y and z of the sections along
    all directions that theta x (theta x r) has.
    """
    x, w = _points(beam)
    found = [
        *_family(beam, None, 0, beam.mu, x, w, _shortened(beam, x)),
        *(
            field
            for arm, J in ((1, beam.J_z), (2, beam.J_y))
            if J is not None
            for i in range(3)
            for field in _family(beam, arm, i, J, x, w, _turned(turns, arm, i, x))
        ),
    ]
    if not found:
        return None
    m, many = len(linear.P), len(found)
    C2 = [[zeros(3, 3)] * (m + many) for _ in range(m + many)]
    P, C1 = [*linear.P], [*linear.C1]
    for r, field in enumerate(found):
        e = UNIT[field.along]
        near, far = (_integral(field, x**power) for power in (0, 1))
        P.append(zeros(3) if field.arm is not None else vector(e.tolist()) * near)
        C1.append(block(UNIT[0], e) * (far * beam.length) if field.arm is None else block(UNIT[field.arm], e) * near)
        for k in range(m):
            C2[k][m + r] = _with_mode(beam, k, turns[k], field, x)
            C2[m + r][k] = C2[k][m + r].T
        for s, other in enumerate(found):
            if field.arm == other.arm:
                C2[m + r][m + s] = block(e, UNIT[other.along]) * _with_field(field, other, same=r == s)
    for k in range(m):
        C2[k][:m] = linear.C2[k]
    none = (zeros(3),) * (m + many)
    return SecondOrder(
        A=tuple(field.A for field in found),
        whole=ModalInertia(
            m=linear.m, h=linear.h, S=linear.S, P=tuple(P), C1=tuple(C1), C2=tuple(map(tuple, C2)),
            H2=(none,) * (m + many), G2=((zeros(3, 3),) * (m + many),) * (m + many),
        ),
    )  # fmt: skip


def block(a: np.ndarray, b: np.ndarray) -> Matrix:
    """a b^T."""
    return matrix(np.outer(a, b).tolist())


Pairs = Iterator[tuple[int, int, Expr, np.ndarray]]  # k <= l, a factor, and values at points


def _shortened(beam: Beam, x: np.ndarray) -> Pairs:
    """Of the axis, -int_0^x f_k' f_l' / L."""
    for k, a in enumerate(beam.parts):
        for l in range(k, len(beam.parts)):
            b = beam.parts[l]
            if a.kind == b.kind and a.kind in ("y", "z"):
                yield k, l, -1 / beam.length, swept(a.shape.slope, b.shape.slope, x)


def _turned(turns: list[list[Turn]], arm: int, i: int, x: np.ndarray) -> Pairs:
    """Of an arm, the direction i of 1/2 (theta_k x (theta_l x r) + theta_l x (theta_k x r))."""
    r = UNIT[arm]
    for k in range(len(turns)):
        for l in range(k, len(turns)):
            for t, by, f in turns[k]:
                for s, more, g in turns[l]:
                    twice = np.cross(t, np.cross(s, r)) + np.cross(s, np.cross(t, r))
                    if twice[i]:
                        yield k, l, by * more, f(x) * g(x) * twice[i] / 2


def _family(
    beam: Beam, arm: int | None, along: int, weight: Section, x: np.ndarray, w: np.ndarray, given: Pairs
) -> list[Field]:
    """Orthonormal functions of which the functions of all pairs of modes are made."""
    pairs = list(given)
    if not pairs:
        return []
    weights, many = w * weight.at(x), len(beam.parts)
    shares, psi = orthonormal(np.array([values for *_, values in pairs]) * np.sqrt(weights))
    A = by_pairs(shares, [(k, l) for k, l, *_ in pairs], many)
    factors = {(k, l): factor for k, l, factor, _ in pairs}
    mass = weight.scale * beam.length
    root = 1.0 if mass.number is None else sqrt(mass.number)
    return [
        Field(
            arm=arm,
            along=along,
            psi=values / np.sqrt(weights),
            weight=weights,
            A=matrix([[_share(factors, k, l, part[k, l] * root) for l in range(many)] for k in range(many)]),
            mass=mass if mass.number is None else as_expr(1),
            root=root,
        )
        for part, values in zip(A, psi, strict=True)
    ]


def _share(factors: dict[tuple[int, int], Expr], k: int, l: int, share: float) -> Expr:
    return times(factors[min(k, l), max(k, l)], float(share)) if share else as_expr(0)


def _integral(field: Field, values: np.ndarray) -> Expr:
    """Of the field times a function of x/L, over the mass."""
    found = float(np.sum(field.weight * field.psi * values))
    size = sqrt(float(np.sum(field.weight * values**2)))
    return times(field.mass, found * field.root) if abs(found) > 1e-13 * size else as_expr(0)


def _with_mode(beam: Beam, k: int, turns: list[Turn], field: Field, x: np.ndarray) -> Matrix:
    """C2 of a mode and a field."""
    mode, e = beam.parts[k], UNIT[field.along]
    if field.arm is None:
        a = ALONG.get(mode.kind)
        return zeros(3, 3) if a is None else block(a, e) * _integral(field, mode.shape(x))
    total = zeros(3, 3)
    for t, by, f in turns:
        total = total + block(np.cross(t, UNIT[field.arm]), e) * (_integral(field, f(x)) * by)
    return total


def _with_field(field: Field, other: Field, same: bool) -> Expr:
    """The integral of two functions of one family, or of two directions of one arm."""
    if field.along == other.along:
        return field.mass if same else as_expr(0)
    return _integral(field, other.psi / other.root)


def _points(beam: Beam) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points of x/L and weights, for products of four slopes."""
    given = [part for part in (beam.mu, beam.J_y, beam.J_z) if part is not None]
    breaks = tuple(sorted({at for part in given for at in part.breaks}))
    return nodes(breaks, 4 * max(mode.shape.waves for mode in beam.parts))
