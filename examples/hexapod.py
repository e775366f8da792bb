"""A six-legged machine of five joints a leg, 36 degrees of freedom, that stands, walks in tripods, and gets up.

Masses, lengths and gaits are ours. The controller is a part of the native code: the feet's places are expressions of
time, the joints' angles follow from them in closed form, and each joint has a torque proportional to what it is off.
SI units; x forward, y left, z up.
"""

from dataclasses import dataclass
from math import cos, pi, radians, sin
from typing import Any

import polhode as ph
from polhode.graph import diff

HIPS = {  # x, y, and the direction of the leg about z in degrees; with its phase in the gait
    "front_left": (0.20, 0.10, 60, 0.0),
    "front_right": (0.20, -0.10, -60, 0.5),
    "mid_left": (0.0, 0.12, 90, 0.5),
    "mid_right": (0.0, -0.12, -90, 0.0),
    "rear_left": (-0.20, 0.10, 120, 0.0),
    "rear_right": (-0.20, -0.10, -120, 0.5),
}
COXA, FEMUR, TIBIA = 0.06, 0.14, 0.20
OUT, DOWN = 0.24, 0.15  # from a hip to its foot, at rest
KP, KD, LIMIT = (200, 300, 200, 300, 200), (5, 6, 4, 6, 4), 25
GROUND = {"stiffness": 2e4, "dissipation": 2.0, "friction": 0.8, "slip_speed": 0.02}


def rod(mass: float, long: float, radius: float) -> dict[str, Any]:
    """Mass, centre and inertia of a rod along x."""
    slender = mass * (long**2 / 12 + radius**2 / 4)
    return {"mass": mass, "com": (long / 2, 0, 0), "inertia": (mass * radius**2 / 2, slender, slender)}


LINKS = (  # name, axis, where on the link before, and the link
    ("yaw", "z", 0.0, {"mass": 0.08, "inertia": (2e-5, 2e-5, 2e-5)}),
    ("lift", "y", 0.0, {"mass": 0.08, "inertia": (2e-5, 2e-5, 2e-5)}),
    ("twist", "x", 0.0, rod(0.12, COXA, 0.012)),
    ("femur", "y", COXA, rod(0.20, FEMUR, 0.012)),
    ("tibia", "y", FEMUR, rod(0.12, TIBIA, 0.010)),
)


def hexapod(ground: dict[str, Any] | None = None) -> ph.Model:
    """The machine on flat ground, or on what its contacts are said to be."""
    touching = GROUND if ground is None else ground
    build = ph.Builder("hexapod")
    build.body("body", joint=ph.free(quaternion=False), mass=5.0, inertia=(0.03, 0.12, 0.14))
    for leg, (x, y, degrees, _) in HIPS.items():
        parent, at, turned = "body", (x, y, 0), (0, 0, radians(degrees))
        for link, axis, along, inertia in LINKS:
            name = f"{leg}_{link}"
            joint = ph.revolute(axis, armature=0.01, damping=0.002)
            build.body(
                name, parent=parent, joint=joint, at=at if link == "yaw" else (along, 0, 0), rpy=turned, **inertia
            )
            build.actuator(name, {f"{name}_dot": 1}, lower=-LIMIT, upper=LIMIT)
            parent, turned = name, (0, 0, 0)
        build.marker(f"{leg}_foot", body=parent, at=(TIBIA, 0, 0))
        build.contact(f"{leg}_foot", name=f"ground {leg}", **touching)
    for k, (x, y) in enumerate(((0.18, 0.09), (0.18, -0.09), (-0.18, 0.09), (-0.18, -0.09))):
        build.marker(f"belly_{k}", body="body", at=(x, y, -0.03))
        build.contact(f"belly_{k}", name=f"ground belly {k}", **touching)
    return build.build()


def ramp(x: Any) -> Any:
    """From 0 to 1 with speed and acceleration 0 at both: x^3 (10 - 15 x + 6 x^2)."""
    x = ph.maximum(ph.minimum(x, 1), 0)
    return x**3 * (10 - 15 * x + 6 * x**2)


def angles(leg: str, foot: tuple[Any, Any, Any]) -> tuple[Any, ...]:
    """Of the joints of a leg whose foot is at a place in the body's axes; lift and twist stay at 0."""
    x, y, degrees, _ = HIPS[leg]
    c, s = cos(radians(degrees)), sin(radians(degrees))
    dx, dy, dz = foot[0] - x, foot[1] - y, foot[2]
    dx, dy = c * dx + s * dy, c * dy - s * dx
    r = ph.sqrt(dx**2 + dy**2) - COXA
    knee = ph.acos((r**2 + dz**2 - FEMUR**2 - TIBIA**2) / (2 * FEMUR * TIBIA))
    hip = -ph.atan2(dz, r) - ph.atan2(TIBIA * ph.sin(knee), FEMUR + TIBIA * ph.cos(knee))
    return ph.atan2(dy, dx), 0, 0, hip, knee


@dataclass(frozen=True)
class Gait:
    """How the feet are to move in the body's axes: three stand while three swing.

    stride, lift : m, of the feet; turn : rad, by which the feet are turned about z
    period, duty : s, and how much of it a foot stands
    level        : how much of a roll and pitch the legs make up for
    limp         : from when to when all motors are off; the machine lies then, and gets up in a second
    """

    stride: float = 0.12
    lift: float = 0.05
    turn: float = 0.0
    period: float = 1.0
    duty: float = 0.6
    level: float = 0.0
    limp: tuple[float, float] | None = None

    def foot(self, leg: str, phase: Any) -> tuple[Any, Any, Any]:
        """Where a foot is to be at a phase, 0 to 1, and time t."""
        x, y, degrees, _ = HIPS[leg]
        grown = ramp(ph.symbol("t"))
        done = ramp((phase - self.duty) / (1 - self.duty))
        along = grown * ph.select(phase < self.duty, 0.5 - phase / self.duty, done - 0.5)
        swing = ph.maximum(phase - self.duty, 0) / (1 - self.duty)
        x, y = x + OUT * cos(radians(degrees)), y + OUT * sin(radians(degrees))
        yaw = self.turn * along
        px = x * ph.cos(yaw) - y * ph.sin(yaw) + self.stride * along
        py = x * ph.sin(yaw) + y * ph.cos(yaw)
        raised = self.lift * grown * ph.sin(ph.pi * swing) ** 2
        height = DOWN - self._lying()
        roll, pitch = ph.symbols("body_ax body_ay")
        return px, py, raised - height + self.level * (roll * py - pitch * px)

    def _lying(self) -> Any:
        """How much lower than it stands the body is to be."""
        if self.limp is None:
            return 0
        return 0.10 * (1 - ramp(ph.symbol("t") - self.limp[1])) * (ph.symbol("t") > self.limp[0])

    def reference(self) -> dict[str, tuple[Any, Any]]:
        """Angles and rates of all joints at time t, as expressions."""
        t, phase = ph.symbols("t phase")
        found = {}
        for leg, (*_, offset) in HIPS.items():
            turned = 2 * ph.pi * (t / self.period + offset)
            part = ph.atan2(ph.sin(turned), ph.cos(turned)) / (2 * ph.pi)
            at = {phase: ph.select(part < 0, part + 1, part)}
            for wanted, link in zip(angles(leg, self.foot(leg, phase)), LINKS, strict=True):
                angle = wanted + 0 * t
                rate = diff(angle, phase) / self.period + diff(angle, t)
                found[f"{leg}_{link[0]}"] = ph.substitute(angle, at), ph.substitute(rate, at)
        return found

    def control(self) -> dict[str, Any]:
        """Torques of all joints; actuators have the limits."""
        found = {}
        for k, (name, (angle, rate)) in enumerate(self.reference().items()):
            q, u = ph.symbols(f"{name} {name}_dot")
            found[name] = (KP[k % 5] * (angle - q) + KD[k % 5] * (rate - u)) * self._awake()
        return found

    def _awake(self) -> Any:
        """1 while the motors act."""
        t = ph.symbol("t")
        return 1 if self.limp is None else ph.select((t > self.limp[0]) & (t < self.limp[1]), 0, 1)


def stand() -> dict[str, float]:
    """At rest with its feet on the ground."""
    found = {"body_z": 0.1455}
    for leg, (x, y, degrees, _) in HIPS.items():
        foot = (x + OUT * cos(radians(degrees)), y + OUT * sin(radians(degrees)), -DOWN)
        for angle, (link, *_) in zip(angles(leg, foot), LINKS, strict=True):
            found[f"{leg}_{link}"] = float(ph.evaluate(angle + 0 * ph.pi, {}))
    return found


def hills(height: float = 0.03, length: float = 0.35, begin: float = 0.0) -> Any:
    """Rough ground: waves across each other, which begin at some x."""
    x, y = ph.symbols("x y")
    k = 2 * pi / length
    return height / 2 * (ph.sin(k * x) * ph.cos(k * y / 1.3) + ph.sin(k * (x + y) / 1.7)) * ramp((x - begin) / 0.4)


def run(
    dyn: ph.Dynamics, gait: Gait, t_end: float, step: float = 2e-4, method: str = "euler", **given: Any
) -> ph.Trajectory:
    """Walk for some time."""
    start = {"q0": stand(), "tau": gait.control(), "method": method, "step": step} | given
    return ph.simulate(dyn, t_end=t_end, **start)
