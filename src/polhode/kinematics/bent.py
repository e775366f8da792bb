"""Sections of flexible bodies as frames: where they are, and how the rates of the modes move them.

A section is turned by R = exp(skew(th)), th = Psi d. Its angular velocity in its own axes is Jr(th) th',

    R  = 1 + a skew(th) + b skew(th)^2        a = sin(t)/t,  b = (1 - cos t)/t^2,  t = |th|
    Jr = 1 - b skew(th) + c skew(th)^2        c = (t - sin t)/t^3

Where all modes turn it about one axis that is a sine and a cosine. In space a, b and c are power series of t^2,
exact to rounding up to a radian, so that nothing is divided by 0 where the body is straight.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import factorial

from polhode.graph import Expr, Matrix, as_expr, cross, identity, vector, zeros
from polhode.model.flexible import Flexible, Station
from polhode.spatial import Pose, Twist, axis_angle, skew
from polhode.spatial.modal import Deformed, weighted

TERMS = 8  # of a power series: what it leaves out, t^18 / 20!, is 4e-19 of 1 at a radian


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """What deforms of a flexible body, as a part of its link.

    at       : places of the modes' speeds among all
    d, rates : the amplitudes, and their speeds
    body     : its inertia at these amplitudes, with the rigid inertia that the body has besides
    """

    at: tuple[int, ...]
    d: tuple[Expr, ...]
    rates: tuple[Expr, ...]
    body: Deformed
    flexible: Flexible


@dataclass(frozen=True, slots=True, kw_only=True)
class Bent:
    """A section's motion in the frame of its body.

    X    : its pose
    H    : its twist by a unit speed of each mode, in its own axes
    bend : the rate of its twist H d' where d' is constant, likewise
    """

    X: Pose
    H: tuple[Twist, ...]
    bend: Twist

    def beside(self, rest: Pose) -> Bent:
        """The motion of a frame that is fixed to the section."""
        return Bent(X=self.X @ rest, H=tuple(rest.back(h) for h in self.H), bend=rest.back(self.bend))

    def inverse(self) -> Bent:
        """The motion of the body's frame as seen from the section."""
        return Bent(
            X=self.X.inverse(),
            H=tuple(_minus(self.X @ h) for h in self.H),
            bend=_minus(self.X @ self.bend),
        )


def bent(station: Station, d: tuple[Expr, ...], rates: tuple[Expr, ...]) -> Bent:
    """The motion of a section at amplitudes d."""
    amplitudes, speeds = vector(d), vector(rates)
    p, slopes, drawn = station.p, list(station.Phi.T.rows()), zeros(3)
    for k, row in enumerate(station.g):
        slopes[k] = weighted(slopes[k], row, d)
        drawn = drawn + weighted(zeros(3), row, rates) * rates[k]
    for k, Phi in enumerate(station.Phi.T.rows()):  # half of the slopes' second order
        p = p + (Phi + slopes[k]) * (d[k] / 2)
    R, turns, turning = _turned(station.Psi, amplitudes, speeds)
    H = tuple(Twist(w, R.T @ v) for w, v in zip(turns, slopes, strict=True))
    w, v = zeros(3), zeros(3)
    for h, rate in zip(H, rates, strict=True):
        w, v = w + h.w * rate, v + h.v * rate
    return Bent(X=Pose(R, p), H=H, bend=Twist(turning, R.T @ drawn - cross(w, v)))


def seen_from_joint(root: Station, d: tuple[Expr, ...], rates: tuple[Expr, ...]) -> Bent:
    """The motion of a body's frame as seen from its joint, which holds a section and is where the frame is at rest."""
    return bent(root, d, rates).beside(Pose.at(-root.p)).inverse()


def _turned(Psi: Matrix, d: Matrix, rates: Matrix) -> tuple[Matrix, list[Matrix], Matrix]:
    """R, the columns of Jr Psi, and Jr_dot th'."""
    columns, used = list(Psi.T.rows()), [i for i in range(3) if any(e != 0 for e in Psi[i])]
    if not used:
        return identity(3), columns, zeros(3)
    if len(used) == 1:
        axis = identity(3)[used[0]]
        return axis_angle(axis, Psi[used[0]] @ d), columns, zeros(3)
    th, th_dot = Psi @ d, Psi @ rates
    s, s_dot = th @ th, (th @ th_dot) * 2
    b, c, b_slope, c_slope = coefficients(s)
    turn = skew(th)
    R = identity(3) + turn * (1 - s * c) + (turn @ turn) * b
    turns = [psi - cross(th, psi) * b + cross(th, cross(th, psi)) * c for psi in columns]
    across = cross(th, th_dot)
    turning = cross(th, across) * (c_slope * s_dot) - across * (b_slope * s_dot) + cross(th_dot, across) * c
    return R, turns, turning


def coefficients(s: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """b and c of s = t^2, and their slopes by s, all from two series.

    With e = (1/2 - b) / s and f = (1/6 - c) / s the slopes are e - c/2 and (3 f - e)/2.
    """
    e, f = _series(s, 4), _series(s, 5)
    b, c = Fraction(1, 2) - s * e, Fraction(1, 6) - s * f
    return b, c, e - c / 2, (f * 3 - e) / 2


def _series(s: Expr, first: int) -> Expr:
    """sum_k (-s)^k / (2 k + first)!."""
    value = as_expr(0)
    for k in reversed(range(TERMS)):
        value = value * s + Fraction((-1) ** k, factorial(2 * k + first))
    return value


def _minus(V: Twist) -> Twist:
    return Twist(-V.w, -V.v)
