r"""How stiff a coupler may be: from the rate, the mass at the marker and the friction of the device.

The side of the machine. A step T of `moreau` takes a mass m from x and v: a first pass by F0, the force at x + v T/2
and v, leads to a mean speed w = v + T F0 / 2 m, by which x moves; the speed changes by F, the force at x + v T/2 and w:

    F0 = K (x_D - x - v T/2) + B (v_D - v),    F = F0 - B (w - v) = (1 - beta) F0,    beta = B T / 2 m

With the mean position xm = x + w T/2, that is x + v T/2 = xm - T^2 F0 / 4 m:

    F = K' (x_D - xm) + B' (v_D - w),    K' = K / D,  B' = B / D,    D = 1 - K T^2 / (4 m - 2 B T)

which is the implicit midpoint step of a coupler that is stiffer by 1/D. It makes no energy where D > 0, and nor does
the mass, which has F T (v + T F / 2 m) of what it is given, F T w: less by T^2 F^2 beta / (2 m (1 - beta)). D > 0 is

    K T^2 + 2 B T < 4 m

Beyond it K' and B' are negative, so that nothing is promised; the machine alone, its device at rest, gains energy from
K T^2 = 4 m - 2 B T + B^2 T^2 / m on, which is the same where B is 0.

A machine with springs and dampers of its own, -K_m q - C_m u, does the same with M - T^2 K_m / 4 - T C_m / 2 in place
of M: from M a = F0 and F0 = P + (T^2 K_m / 4 + T C_m / 2) a, where P are the forces at the mean position and w. So m is
the mass that a push at the marker meets of that matrix, which is less: a stiff machine leaves less to its coupler.

The side of the device. It moves by a in a step in which the force is held, by a- in the step before, from which its
speed is known, and the marker by c. What its own friction b and the coupler lose in a step is

    L = b a^2 / T - K' (a - c) a / 2 + B' (a- - c)(a - c) / T

With s = c - (a + a-)/2, the sum of L over steps is at least that of (b - B' - K' T/2) a^2/T + K' a s / 2 + B' s^2/T,
as |a a-| sums to no more than a^2; the last two are at least -K'^2 T a^2 / 16 B'. So nothing is gained, whatever
passive machine moves the marker, where

    b >= (B' + K' T / 4)^2 / B'

and no less will do: a = 1, -1, 1, ... with c = -a K' T / 4 B', as of a marker on a damper, gains for a smaller b.
Where the marker stands, c = 0, it is b >= K' T / 2 + B', of [Colgate, Schenkel 1997]; a hand that goes to and fro each
step gains if it is not. K' is largest, b / T, with B' = b / 4.

Reference: [Colgate, Schenkel 1997], Passivity of a class of sampled-data systems; [Brown, Colgate 1997], Passive
implementation of multibody simulations for haptic display.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.parameters import Call, ordered
from polhode.equations.program import program_of
from polhode.simulate.asked import is_number, movable

from .parameters import is_positive

LEAST = 0.5  # of D: a coupler that is felt twice as stiff as it is said to be
WEIGHTLESS = 1e-13  # of the inertias of speeds: what is less is rounding
NEAR = 1e-6  # m, rad, m/s or rad/s, by which forces of the machine itself are differentiated
ROUNDED = 1e-3  # of a device's friction, which nobody knows better: numbers rounded to four digits are no fault


class CouplerWarning(UserWarning):
    """A coupler that may make energy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stiffness:
    """What a coupler may have: stiffness, N/m, and damping, N s/m; for turning, N m and N m s."""

    stiffness: float
    damping: float
    turning_stiffness: float
    turning_damping: float


def effective_mass(
    dynamics: Dynamics, marker: str, q: Any, rate: float | None = None, **given: Any
) -> tuple[float, float]:  # fmt: skip
    """The least inertia that a torque and a force at a marker meet, kg m^2 and kg, over all directions.

    1 / (the largest eigenvalue of J M^-1 J^T), of the angular and of the linear part of J; inf where it cannot move.
    Constraints that hold only make it more.

    rate : what a step of 1/rate meets, ticks a second: springs and dampers of the machine itself make it less
    """
    movable(dynamics, "effective_mass")
    mobility = _mobility(dynamics, marker, q, rate, given)
    most = [float(np.linalg.eigvalsh(part)[-1]) for part in (mobility[:3, :3], mobility[3:, 3:])]
    turning, moving = (1 / x if x > 1e-24 * max(most) else inf for x in most)
    return turning, moving


def load(
    moving: tuple[float, float], turning: tuple[float, float], dynamics: Dynamics, marker: str, rate: float, q: Any,
    **given: Any,
) -> float:  # fmt: skip
    """The largest eigenvalue of (K T^2 + 2 B T) J M^-1 J^T / 4, of springs that move and turn a marker at once.

    Below 1 a step makes no energy: D > 0 in all directions, and where pushing turns, the two add up. M is what a step
    meets, as of `effective_mass`.

    moving, turning : stiffness and damping of each
    """
    pushes = np.repeat([K / rate**2 + 2 * B / rate for K, B in (turning, moving)], 3) / 4
    root = np.sqrt(pushes)
    return float(np.linalg.eigvalsh(root[:, None] * _mobility(dynamics, marker, q, rate, given) * root)[-1])


def _mobility(dynamics: Dynamics, marker: str, q: Any, rate: float | None, given: dict[str, Any]) -> np.ndarray:
    """J M^-1 J^T of a marker, (6, 6), by what a step meets where there is a rate."""
    M, J = (call(q, **_known(dynamics, call, given)) for call in (dynamics.mass_matrix, dynamics.jacobian(marker)))
    motions = np.eye(len(M)) if _weighs(M) else _held(dynamics, M, q, given)
    M, J = motions.T @ M @ motions, J @ motions
    if rate is not None:
        K, C = (motions.T @ part @ motions for part in _springs(dynamics, q, given))
        M = _met(M, K, C, 1 / rate)
    found: np.ndarray = J @ np.linalg.solve(M, J.T)
    return found


def _held(dynamics: Dynamics, M: np.ndarray, q: Any, given: dict[str, Any]) -> np.ndarray:
    """The motions that constraints allow which hold from the beginning, (nu, k), where some links have no mass."""
    known: dict[str, Any] = {key: given.get(key) for key in ("t", "z", "p")}
    sizes = np.sqrt(np.maximum(np.diagonal(M), 0.0))
    sizes[sizes == 0] = 1.0
    left, strong, _ = np.linalg.svd(dynamics.impulse(q, np.eye(len(M)), check=False, **known)[0].T * sizes[:, None])
    motions: np.ndarray = left[:, strong > 1e-9 * strong[0]] / sizes[:, None]
    if not _weighs(motions.T @ M @ motions):
        raise ValueError(
            f"Model {dynamics.equations.model.name!r}: something moves without mass at these coordinates, so a coupler "
            "of any stiffness makes energy. Give it mass, or constraints that are active."
        )
    return motions


def _weighs(M: np.ndarray) -> bool:
    """Whether a matrix of masses is more than rounding in every direction."""
    sizes = np.sqrt(np.maximum(np.diagonal(M), 0.0))
    return bool(sizes.all()) and float(np.linalg.eigvalsh(M / np.outer(sizes, sizes))[0]) > WEIGHTLESS


def _met(M: np.ndarray, K: np.ndarray, C: np.ndarray, T: float) -> np.ndarray:
    """M - T^2 K / 4 - T C / 2, of springs K and dampers C of the machine itself: what a step of T meets.

    A damper that no step could follow is dry friction made smooth, whose force is bounded: it is left out.
    """
    springs = M - T**2 / 4 * K
    for met in (springs - T / 2 * C, springs):
        if is_positive(met):
            return met
    at = float(np.max(np.linalg.eigvals(np.linalg.solve(M, T**2 / 4 * K)).real))
    warnings.warn(
        f"The machine has springs of its own that are too stiff for {1 / T:g} ticks a second: T^2 K M^-1 / 4 is "
        f"{at:.4g}, expected below 1. It may make energy by itself, so nothing is promised of a coupler. "
        "Take a higher rate.",
        CouplerWarning, stacklevel=5,
    )  # fmt: skip
    return M


def _springs(dynamics: Dynamics, q: Any, given: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """By how much the forces that hold the machine at rest change with small motions, and with speeds; symmetric."""
    needed, rates, n = dynamics.inverse_dynamics, dynamics.rates, len(dynamics.equations.u)
    known, moving = (_known(dynamics, call, given) for call in (needed, rates))
    here, none, each = np.tile(np.asarray(q, dtype=float), (n, 1)), np.zeros((n, n)), np.eye(n)
    way = NEAR * (rates(here, each, **moving) - rates(here, none, **moving))
    ahead, behind = (needed(dynamics.unit(here + sign * way), none, none, **known) for sign in (1, -1))
    faster, slower = (needed(here, sign * NEAR * each, none, **known) for sign in (1, -1))
    K, C = (ahead - behind) / (2 * NEAR), (faster - slower) / (2 * NEAR)
    return (K + K.T) / 2, (C + C.T) / 2


def _known(dynamics: Dynamics, call: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What a call takes, with the beginning where it needs a time or states that are not given."""
    if not isinstance(call, Call):
        return {key: value for key, value in given.items() if key not in ("t", "z")}
    found = dict(given)
    if call.timed:
        found.setdefault("t", 0.0)
    if call.stated and found.get("z") is None:
        names = dynamics.parameters
        found["z"] = program_of(dynamics).starts(ordered(call.name, found.get("p"), names, names))
    return found


def margin(stiffness: float, damping: float, mass: float, rate: float) -> float:
    """D = 1 - K T^2 / (4 m - 2 B T): passive on the side of the machine where it is above 0; -inf where B T >= 2 m."""
    T = 1 / rate
    left = 4 * mass - 2 * damping * T
    return 1 - stiffness * T**2 / left if left > 0 else -inf


def needed_damping(stiffness: float, damping: float, mass: float, rate: float) -> float:
    """The friction b of the device that makes its side passive: (B' + K' T / 4)^2 / B', N s/m."""
    D, T = margin(stiffness, damping, mass, rate), 1 / rate
    if D <= 0 or (damping == 0 and stiffness > 0):
        return inf
    return (damping + stiffness * T / 4) ** 2 / (damping * D) if damping else 0.0


def suggest(
    dynamics: Dynamics, marker: str, rate: float, q: Any = None, device_damping: float | None = None,
    turning_device_damping: float | None = None, turns: bool = True, steps: float | None = None, **given: Any,
) -> Stiffness:  # fmt: skip
    """The stiffest coupler at a marker that makes no energy, with the damping that goes with it.

    K' = c / T and B' = c / 4, with c = b, or what has D = 1/2 if that is less; then K = D K', B = D B'.

    q              : coordinates, at which the mass is taken; give those where it is lightest
    device_damping : friction b of the device, N s/m; None for a device that shows no force, as a mouse
    turns          : whether the coupler also turns the marker: both then share what the machine allows
    steps          : of the machine a second, where it takes more than the device is shown: for springs of its own
    """
    movable(dynamics, "suggest")
    if not is_number(rate) or not 0 < rate < inf:
        raise ValueError(f"suggest: rate is {rate!r:.40}, expected ticks a second.")
    for key, b in {"device_damping": device_damping, "turning_device_damping": turning_device_damping}.items():
        if b is not None and (not is_number(b) or not b > 0):
            raise ValueError(f"suggest: {key} is {b!r:.40}, expected a number above 0. Without friction no coupler is "
                             "passive; leave it out for a device that shows no force.")  # fmt: skip
    where = dynamics.equations.model.neutral() if q is None else q
    turning, moving = effective_mass(dynamics, marker, where, rate if steps is None else steps, **given)
    share = 0.5 if turns else 1.0
    K, B = _stiffest(moving * share, rate, device_damping)
    K_r, B_r = _stiffest(turning * share, rate, turning_device_damping) if turns else (0.0, 0.0)
    return Stiffness(stiffness=K, damping=B, turning_stiffness=K_r, turning_damping=B_r)


def _stiffest(mass: float, rate: float, b: float | None) -> tuple[float, float]:
    if mass == inf and b is None:
        return 0.0, 0.0  # nothing moves, and nothing is shown
    T = 1 / rate
    c = min(inf if b is None else b, 4 * (1 - LEAST) / (LEAST * (1.5 - LEAST / 2)) * mass / T)
    y = c * T / mass  # D^2 y / 2 - D (4 + 3 y / 2) + 4 = 0, from D = 1 - K T^2 / (4 m - 2 B T)
    half = 4 + 1.5 * y
    D = 8 / (half + (half**2 - 8 * y) ** 0.5)
    return D * c / T, D * c / 4


def warn_if_active(
    stiffness: float, damping: float, mass: float, rate: float, device_damping: float | None, turning: bool = False
) -> None:
    """Warn where a coupler may make energy, and say what would not; `turning` is for what it calls the units."""
    what, per, rubs, weighs = ("turning_", "N m", "N m s", "kg m^2") if turning else ("", "N/m", "N s/m", "kg")
    D, allowed = margin(stiffness, damping, mass, rate), _stiffest(mass, rate, device_damping)
    remedy = f"Take {what}stiffness {allowed[0]:.4g} {per} and {what}damping {allowed[1]:.4g} {rubs}, or a higher rate."
    said = f"The coupler has {what}stiffness {stiffness:.4g} {per} and {what}damping {damping:.4g} {rubs}"
    needed = needed_damping(stiffness, damping, mass, rate)
    if D <= 0:
        T = 1 / rate
        bound = f"(K T^2 + 2 B T) / 4 m is {(stiffness * T**2 + 2 * damping * T) / (4 * mass):.4g}, expected below 1"
        why = f"with {mass:.4g} {weighs} at the marker {bound}"
    elif device_damping is not None and device_damping < needed * (1 - ROUNDED):
        why = f"the device needs friction of {needed:.4g} {rubs}, and has {device_damping:.4g}"
    else:
        return
    warnings.warn(f"{said}: {why}, so it may make energy. {remedy}", CouplerWarning, stacklevel=4)


def warn_if_active_together(
    moving: tuple[float, float], turning: tuple[float, float], dynamics: Dynamics, marker: str, rate: float, q: Any,
    **given: Any,
) -> None:  # fmt: skip
    """Warn where springs that move and turn a marker may make energy together, though neither would alone."""
    nothing = (0.0, 0.0)
    alone = max(load(moving, nothing, dynamics, marker, rate, q, **given),
                load(nothing, turning, dynamics, marker, rate, q, **given))  # fmt: skip
    found = load(moving, turning, dynamics, marker, rate, q, **given)
    if found >= 1 > alone:
        said = (
            f"The coupler moves and turns {marker!r} at once: (K T^2 + 2 B T) J M^-1 J^T / 4 is {found:.4g}, expected "
            f"below 1, so it may make energy, though neither would alone. Take all of it {1.01 * found:.3g} times "
            "smaller, as suggest(turns=True) does, or a higher rate."
        )
        warnings.warn(said, CouplerWarning, stacklevel=4)
