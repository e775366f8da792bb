"""The laws of MJCF actuators as expressions: gain, bias and activation, with MuJoCo's muscle.

Reference: MuJoCo, Computation, "Actuation model"; Modeling, "Muscles". The force of a muscle is
-F0 (F_L(L) F_V(V) activation + F_P(L)), L its length and V its velocity in terms of what it has at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polhode.graph import Expr, as_expr, atan2, cos, less, less_equal, maximum, minimum, select, sin
from polhode.model.drives import clamped

from .mjcf_drives import Drive
from .xml import Number

SMALLEST = 1e-15  # what MuJoCo divides by at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Muscle:
    """What a muscle has beside its numbers in the file.

    reach : the lengths of what it pulls on between which it works
    force : F0, where the file has none
    """

    reach: tuple[float, float] = (0, 0)
    force: float = 0


def force_of(drive: Drive, command: Expr, length: Expr, velocity: Expr, muscle: Muscle, circle: float) -> Expr:
    """gain command + bias; on a circle of that radius a servo goes the short way."""
    b0, _, b2 = drive.biasprm[:3]
    if circle and drive.circles:
        return drive.gainprm[0] * _short_way(command - length, circle) + b0 + b2 * velocity
    return _gain(drive, length, velocity, muscle) * command + _bias(drive, length, velocity, muscle)


def _short_way(e: Expr, circle: float) -> Expr:
    """A difference of two lengths on a circle of that radius."""
    return circle * atan2(sin(e / circle), cos(e / circle))


def _gain(drive: Drive, length: Expr, velocity: Expr, muscle: Muscle) -> Expr:
    g = drive.gainprm
    if drive.gaintype == "fixed":
        return as_expr(g[0])
    if drive.gaintype == "affine":
        return g[0] + g[1] * length + g[2] * velocity
    L, V, F0 = _scaled(g, length, velocity, muscle)
    lmin, lmax, vmax, fvmax = g[4], g[5], g[6], g[8]
    return -F0 * active(L, lmin, lmax) * shortening(V / max(SMALLEST, vmax), fvmax)


def _bias(drive: Drive, length: Expr, velocity: Expr, muscle: Muscle) -> Expr:
    b = drive.biasprm
    if drive.biastype == "none":
        return as_expr(0)
    if drive.biastype == "affine":
        return b[0] + b[1] * length + b[2] * velocity
    L, _, F0 = _scaled(b, length, velocity, muscle)
    return -F0 * passive(L, b[5], b[7])


def _scaled(prm: Sequence[Number], length: Expr, velocity: Expr, muscle: Muscle) -> tuple[Expr, Expr, float]:
    """L, V and F0: (reach - L_T) / L0 is the range of the file."""
    low, high = muscle.reach
    L0 = (high - low) / max(SMALLEST, prm[1] - prm[0])
    LT = low - prm[0] * L0
    F0 = prm[2] if prm[2] >= 0 else muscle.force
    return (length - LT) / max(SMALLEST, L0), velocity / max(SMALLEST, L0), float(F0)


def active(L: Expr, lmin: Number, lmax: Number) -> Expr:
    """F_L: four parabolas from 0 at lmin through 1 at 1 to 0 at lmax, with one slope where they meet."""

    def side(x: Expr) -> Expr:  # from 1 at x = 0 to 0 at x = 1
        x = maximum(x, 0)
        return select(less(x, 0.5), 1 - 2 * x * x, 2 * minimum(x - 1, 0) ** 2)

    return select(less(L, 1), side((1 - L) / (1 - lmin)), side((L - 1) / (lmax - 1)))


def shortening(V: Expr, fvmax: Number) -> Expr:
    """F_V: 0 up to V = -1, 1 at rest, fvmax from V = fvmax - 1 on."""
    y = fvmax - 1
    rising = maximum(V + 1, 0) ** 2
    stretched = fvmax - minimum(V - y, 0) ** 2 / max(SMALLEST, y)
    return select(less_equal(V, 0), rising, stretched)


def passive(L: Expr, lmax: Number, fpmax: Number) -> Expr:
    """F_P: 0 up to L = 1, then a parabola up to halfway to lmax, then its tangent."""
    x = maximum((L - 1) / (0.5 * (lmax - 1)), 0)
    return fpmax * select(less_equal(x, 1), x * x / 2, x - 0.5)


def rate_of(
    drive: Drive, control: Expr, activation: Expr, limits: tuple[Expr | None, Expr | None], circle: float
) -> Expr:
    """What the activation changes by; at its limits it goes no further."""
    ahead = control - activation
    match drive.dyntype:
        case "integrator":
            rate = control
        case "muscle":
            rate = _muscle_rate(drive.dynprm, control, activation)
        case _:
            ahead = _short_way(ahead, circle) if circle and drive.circles else ahead
            rate = ahead / max(SMALLEST, drive.dynprm[0])
    low, high = limits
    if low is not None:
        rate = select(less_equal(activation, low), maximum(rate, 0), rate)
    return rate if high is None else select(less_equal(high, activation), minimum(rate, 0), rate)


def _muscle_rate(prm: Sequence[Number], control: Expr, activation: Expr) -> Expr:
    """(control - activation) / tau, with one tau to rise and one to fall; between them a smooth step, if any."""
    ahead = clamped(control, as_expr(0), as_expr(1)) - activation
    factor = 0.5 + 1.5 * clamped(activation, as_expr(0), as_expr(1))
    rising, falling = prm[0] * factor, prm[1] / factor
    if prm[2] > 0:
        x = clamped(ahead / prm[2] + 0.5, as_expr(0), as_expr(1))
        tau = falling + (rising - falling) * x**3 * (10 - 15 * x + 6 * x**2)
    else:
        tau = select(less(0, ahead), rising, falling)
    return ahead / maximum(tau, SMALLEST)
