"""The virtual coupler: a spring and a damper between a device and a marker of the machine.

    force  = clamp(K (p_D - p_M) + B (v_D - v_M)),   torque = clamp(K_r e + B_r (w_D - w_M))

at the marker M, and the opposite to the device D; e = 2 sin(theta/2) a, where M turns into D by theta about a. A clamp
keeps the direction and is the nearest point of a ball, which is monotone: so what is clamped stays passive, with the
energy K |d|^2 / 2 in store below the limit, and more slowly growing beyond.

What the device does comes in by controls of the machine, so that the compiled equations have the coupler in every
step; they stay as they are until the next sample.

Reference: [Colgate, Stanley, Brown 1995], [Brown, Colgate 1997], [Gillespie, section 5].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import acos, asin, cos, inf, pi, sin
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.graph import Expr, Matrix, as_expr, cross, maximum, sqrt, substitute, symbol, vector
from polhode.graph.matrix import dot
from polhode.kinematics import derive
from polhode.model import Model
from polhode.model.drives import CONTROL, Actuator
from polhode.model.errors import closest
from polhode.model.forces import MarkerWrench
from polhode.simulate.asked import is_number

from .sample import Sample

MOVED = ("x", "y", "z", "vx", "vy", "vz")
TURNED = ("qw", "qx", "qy", "qz", "wx", "wy", "wz")
HALF_TURN = 1e-4  # cos^2(theta/2) below which e falls again, so that it has a value at half a turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Coupler:
    """A model with a coupler in it; `coupler` makes one.

    model     : the machine with the coupler, to be formulated and run
    marker    : where it holds the machine
    name      : that its controls begin with
    stiffness, damping : K, N/m, and B, N s/m
    turning_stiffness, turning_damping : K_r, N m, and B_r, N m s; 0 where the device does not turn the marker
    most_force, most_torque : N, N m
    """

    model: Model
    marker: str
    name: str
    stiffness: float
    damping: float
    turning_stiffness: float
    turning_damping: float
    most_force: float
    most_torque: float

    @property
    def turns(self) -> bool:
        return self.turning_stiffness > 0 or self.turning_damping > 0

    @property
    def controls(self) -> tuple[str, ...]:
        """What its inputs are called: position, velocity, rotation and angular velocity of the device, and its grip."""
        return tuple(f"{self.name}_{key}" for key in (*MOVED, *(TURNED if self.turns else ()), "grip"))

    def inputs(self, sample: Sample, grip: float = 1.0) -> dict[str, float]:
        """A sample of the device as inputs of the machine; grip is 1 where it holds, 0 where it lets go."""
        w, v = sample.twist[:3], sample.twist[3:]
        turned = (*sample.rotation, *w) if self.turns else ()
        return dict(zip(self.controls, (*sample.position, *v, *turned, grip), strict=True))

    def stored(self, stretch: np.ndarray) -> float:
        """Energy in the springs, J, of a stretch [e, d, cos^2(theta/2)] as `Felt` gives it."""
        far = float(np.linalg.norm(stretch[3:6]))
        turned = 2 * acos(min(max(float(stretch[6]), 0.0), 1.0) ** 0.5)
        return _moved(self.stiffness, self.most_force, far) + _turned(self.turning_stiffness, self.most_torque, turned)

    def felt(self, dynamics: Dynamics) -> Felt:
        """What the coupler does, compiled, for the device."""
        return Felt(self, dynamics)


class Felt:
    """The wrench of a coupler on the machine, [torque, force] in the world's axes, at a state and a sample."""

    def __init__(self, coupler: Coupler, dynamics: Dynamics) -> None:
        eq = dynamics.equations
        self.coupler, self._actuators = coupler, [actuator.name for actuator in eq.model.actuators]
        if missing := [name for name in coupler.controls if name not in self._actuators]:
            raise ValueError(f"The dynamics have no {missing[0]!r}, expected those of the model with the coupler. "
                             "Give ph.formulate(coupler.model).compile().")  # fmt: skip
        torque, force, turn, away, near = _law(coupler, eq.model)
        both = substitute(vector([*torque, *force, *turn, *away, near]), eq.kinematics.quasi)
        self._call = dynamics._compile("coupler", {"q": eq.q, "u": eq.u}, both)

    def __call__(self, q: Any, u: Any, inputs: dict[str, float], **given: Any) -> tuple[np.ndarray, np.ndarray]:
        """The wrench, and the stretch [e, d, cos^2(theta/2)] that it comes from."""
        found = self._call(q, u, controls=[inputs.get(name, 0.0) for name in self._actuators], **given)
        return found[:6], found[6:]


def coupler(
    model: Model, marker: str, *, stiffness: float, damping: float, turning_stiffness: float = 0,
    turning_damping: float = 0, most_force: float = inf, most_torque: float = inf, name: str = "hand",
) -> Coupler:  # fmt: skip
    """Put a virtual coupler at a marker or body of a model; `suggest` says what stiffness a rate allows.

    >>> import polhode as ph
    >>> from polhode.interact import coupler
    >>> build = ph.Builder("sledge")
    >>> build.body("sledge", joint=ph.prismatic("x", name="x"), mass=2)
    >>> held = coupler(build.build(), "sledge", stiffness=500, damping=5, most_force=20)
    >>> held.controls
    ('hand_x', 'hand_y', 'hand_z', 'hand_vx', 'hand_vy', 'hand_vz', 'hand_grip')
    """
    if not isinstance(model, Model):
        known = {"Dynamics": "its model: dynamics.equations.model", "Builder": "what it builds: build.build()"}
        remedy = f" Give {known[type(model).__name__]}." if type(model).__name__ in known else ""
        raise TypeError(f"coupler takes a Model, found {type(model).__name__}.{remedy}")
    numbers = {"stiffness": stiffness, "damping": damping, "turning_stiffness": turning_stiffness,
               "turning_damping": turning_damping}  # fmt: skip
    for key, value in numbers.items():
        if not is_number(value) or not 0 <= value < inf:
            raise ValueError(f"coupler: {key} is {value!r:.40}, expected a number of 0 or more.")
    for key, value in {"most_force": most_force, "most_torque": most_torque}.items():
        if not is_number(value) or not value > 0:
            raise ValueError(f"coupler: {key} is {value!r:.40}, expected a number above 0.")
    frames = [*(body.name for body in model.bodies), *(m.name for m in model.markers)]
    if marker not in frames:
        raise ValueError(f"coupler: there is no marker {marker!r:.60}. {closest(marker, frames)}")
    bare = Coupler(model=model, marker=marker, name=name, most_force=most_force, most_torque=most_torque,
                   **numbers)  # fmt: skip
    torque, force, *_ = _law(bare, model)
    wrench = MarkerWrench(name=name, marker=marker, force=force, torque=torque, axes="world")
    return replace(bare, model=replace(model, forces=(*model.forces, *carriers(bare.controls, marker), wrench)))


def carriers(names: tuple[str, ...], marker: str) -> list[Actuator]:
    """Actuators that carry what comes in, as a control is that of an actuator, and do nothing by themselves."""
    return [
        Actuator(name=name, along=(), marker=marker, push=vector([1, 0, 0]), twist=vector([0, 0, 0]),
                 force=as_expr(0), lower=None, upper=None, least=None, most=None)
        for name in names
    ]  # fmt: skip


def _law(coupler: Coupler, model: Model) -> tuple[Matrix, Matrix, Matrix, Matrix, Expr]:
    """Torque, force, stretches e and d, and cos^2(theta/2), of coordinates and speeds of a model and of controls."""

    def given(*keys: str) -> Matrix:
        return vector([symbol(CONTROL.format(f"{coupler.name}_{key}")) for key in keys])

    motion = derive(model)
    X, V = motion.pose(coupler.marker), motion.velocity(coupler.marker)
    grip = given("grip")[0]
    d = given("x", "y", "z") - X.p
    force = _clamped(d * coupler.stiffness + (given("vx", "vy", "vz") - V.v) * coupler.damping, coupler.most_force)
    if not coupler.turns:
        nothing = vector([0, 0, 0])
        return nothing, force * grip, nothing, d, as_expr(1)
    e, near = _turn(X.R, given("qw", "qx", "qy", "qz"))
    slips = (given("wx", "wy", "wz") - V.w) * coupler.turning_damping
    torque = _clamped(e * coupler.turning_stiffness + slips, coupler.most_torque)
    return torque * grip, force * grip, e, d, near


def _turn(R_WM: Matrix, quaternion: Matrix) -> tuple[Matrix, Expr]:
    """2 sin(theta/2) a in the world's axes, from M to D; and cos^2(theta/2).

    The columns of both give sum m_i x d_i = 2 sin(theta) a and sum m_i . d_i = 4 cos^2(theta/2) - 1.
    """
    w, x, y, z = quaternion
    columns = (
        vector([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]),
        vector([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)]),
        vector([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]),
    )
    total, trace = vector([0, 0, 0]), as_expr(0)
    for k, d in enumerate(columns):
        m = vector([R_WM[i][k] for i in range(3)])
        total, trace = total + cross(m, d), trace + dot(m, d)
    near = (1 + trace) / 4
    return total * (as_expr(1) / (2 * sqrt(maximum(near, HALF_TURN)))), near


def _clamped(f: Matrix, most: float) -> Matrix:
    """A vector no longer than a limit: f F / max(|f|, F)."""
    if most == inf:
        return f
    length: Expr = sqrt(maximum(dot(f, f), most**2))
    return f * (most / length)


def _moved(K: float, most: float, far: float) -> float:
    """The integral of min(K s, F) over s."""
    if K == 0 or K * far <= most:
        return K * far**2 / 2
    return most * far - most**2 / (2 * K)


def _turned(K: float, most: float, theta: float) -> float:
    """The integral of min(K |e|, T) over s: |e| is 2 sin(s/2), and sin(s) / sqrt(HALF_TURN) near half a turn."""
    if K == 0:
        return 0.0
    steep = HALF_TURN**0.5
    falls = 2 * acos(steep)  # from there on
    bend = 2 * asin(most / (2 * K)) if most < 2 * K * sin(falls / 2) else inf
    s = min(theta, falls)
    found = 4 * K * (1 - cos(min(s, bend) / 2)) + (most * (s - bend) if s > bend else 0.0)
    if theta > falls:
        again = max(falls, pi - asin(min(most * steep / K, 1.0)))  # where it is below the limit again
        s = min(theta, again)
        found += most * (s - falls) if again > falls else 0.0
        found += K / steep * (cos(again) - cos(max(theta, again)))
    return found
