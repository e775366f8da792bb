"""Planar machines with flexible beams: their numbers, and how they move in Polhode.

A machine is a record of numbers, from which an outside engine can make the same machine. Beams are uniform, straight
where nothing loads them, and neither shear nor stretch. All machines start at rest, undeformed.
"""

import math
from dataclasses import dataclass, fields, replace
from functools import singledispatch

import numpy as np

import polhode as ph

SAMPLE = 0.01  # seconds between what is kept


@dataclass(frozen=True, kw_only=True)
class Beam:
    """A uniform beam. [m, kg/m, N m^2, N]"""

    length: float
    mu: float
    EI: float
    EA: float = 1e6


@dataclass(frozen=True, kw_only=True)
class History:
    """What a machine did.

    t          : (n,)
    angles     : (n, k), of the section at the root of each beam against the x axis, unwrapped
    tips       : (n, k, 2), where each beam ends
    deflection : (n, k), how far each tip is from the tangent at the root, in lengths of the beam; of a beam that is
                 hinged at both ends its middle from the line between them
    crank      : (n,), the angle of the crank, if there is one
    """

    t: np.ndarray
    angles: np.ndarray
    tips: np.ndarray
    deflection: np.ndarray
    crank: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Pendulum:
    """A beam hinged at the origin, let go where it is horizontal."""

    beam: Beam
    gravity: float = 9.81
    span: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Two beams on hubs, without gravity; torques  peak sin(2 pi t/span)  turn the shoulder and the elbow.

    hubs  : mass and inertia of each about its hinge, where its beam begins
    tip   : a point mass at the end [kg]
    start : angles of shoulder and elbow
    """

    beams: tuple[Beam, Beam]
    hubs: tuple[tuple[float, float], tuple[float, float]]
    tip: float
    peaks: tuple[float, float]
    start: tuple[float, float] = (0.0, 0.5)
    span: float = 2.0

    def torque(self, joint, t):
        return self.peaks[joint] * math.sin(2 * math.pi * t / self.span)


@dataclass(frozen=True, kw_only=True)
class SliderCrank:
    """A rigid crank, balanced about the origin, a flexible rod and a slider along x; no gravity.

    The torque  peak sin(pi t/span)^2  turns the crank.
    crank : its length; inertia about its hinge
    """

    rod: Beam
    crank: float
    inertia: float
    slider: float
    peak: float
    start: float = 0.7
    span: float = 1.0

    def torque(self, t):
        return self.peak * math.sin(math.pi * t / self.span) ** 2


@dataclass(frozen=True, kw_only=True)
class FourBar:
    """A rigid crank and a rigid rocker, both balanced about their hinges, and a flexible coupler; no gravity.

    The torque  peak sin(pi t/span)^2  turns the crank. The rocker is hinged at (ground, 0), above the x axis.
    """

    coupler: Beam
    crank: float
    inertia: float
    rocker: float
    rocker_inertia: float
    ground: float
    peak: float
    start: float = 0.7
    span: float = 1.0

    def torque(self, t):
        return self.peak * math.sin(math.pi * t / self.span) ** 2

    @property
    def closed(self):
        """Where the coupler and the rocker meet as it begins."""
        a = self.crank * np.array([math.cos(self.start), math.sin(self.start)])
        d = np.array([self.ground, 0.0]) - a
        r, l = np.linalg.norm(d), self.coupler.length
        along = (l**2 - self.rocker**2 + r**2) / (2 * r)
        across = math.sqrt(l**2 - along**2)
        return a + d / r * along + np.array([-d[1], d[0]]) / r * across


PENDULUM = Pendulum(beam=Beam(length=1.0, mu=1.0, EI=10.0))
ARM = Arm(
    beams=(Beam(length=1.0, mu=0.5, EI=60.0), Beam(length=0.8, mu=0.4, EI=20.0)),
    hubs=((1.0, 0.1), (0.5, 0.02)),
    tip=0.3,
    peaks=(4.0, 1.0),
)
SLIDER_CRANK = SliderCrank(
    rod=Beam(length=0.5, mu=0.4, EI=1.0),
    crank=0.15,
    inertia=0.02,
    slider=0.3,
    peak=1.0,
)
FOUR_BAR = FourBar(
    coupler=Beam(length=0.9, mu=0.4, EI=25.0),
    crank=0.3,
    inertia=0.05,
    rocker=0.7,
    rocker_inertia=0.05,
    ground=1.0,
    peak=3.0,
)


def softer(machine, by):
    """The same machine with beams that resist bending less."""
    changed = {}
    for field in fields(machine):
        value = getattr(machine, field.name)
        if isinstance(value, Beam):
            changed[field.name] = replace(value, EI=value.EI / by)
        elif isinstance(value, tuple) and isinstance(value[0], Beam):
            changed[field.name] = tuple(replace(beam, EI=beam.EI / by) for beam in value)
    return replace(machine, **changed)


def _beam(beam, modes, order, **how):
    return ph.beam(length=beam.length, mu=beam.mu, EI_z=beam.EI, modes=modes, order=order, **how)


TURN = ph.revolute("z")


@singledispatch
def model(machine, modes, order, **how):
    """The machine in Polhode, its beams with as many modes each; `how` says which shapes.

    Beams are called b0, b1, their ends "end 0", "end 1", their beginnings "root 0", "root 1" and middles "middle 0".
    """
    raise TypeError(machine)


def _ends(build, k, beam):
    for name, at in (("root", 0), ("middle", beam.length / 2), ("end", beam.length)):
        build.marker(f"{name} {k}", body=f"b{k}", at=(at, 0, 0))


@model.register
def _(machine: Pendulum, modes, order, **how):
    build = ph.Builder("pendulum", gravity=(0, -machine.gravity, 0))
    build.body("b0", joint=TURN, flexible=_beam(machine.beam, modes, order, **how))
    _ends(build, 0, machine.beam)
    return build.build(), {}, {}


@model.register
def _(machine: Arm, modes, order, **how):
    build = ph.Builder("arm", gravity=(0, 0, 0))
    place = {}
    for k, (beam, (mass, inertia)) in enumerate(zip(machine.beams, machine.hubs, strict=True)):
        hub = {"mass": mass, "inertia": (inertia, 0, inertia)}
        build.body(f"b{k}", joint=TURN, flexible=_beam(beam, modes, order, **how), **hub, **place)
        place = {"parent": f"b{k}", "at": (beam.length, 0, 0)}
        _ends(build, k, beam)
    build.body("tip", joint=ph.weld(), mass=machine.tip, **place)
    swing = ph.sin(ph.TIME * (2 * math.pi / machine.span))
    tau = {f"b{k}_dot": peak * swing for k, peak in enumerate(machine.peaks)}
    return build.build(), {f"b{k}": angle for k, angle in enumerate(machine.start)}, tau


def _crank(build, machine):
    build.body("crank", joint=TURN, mass=1, inertia=(machine.inertia, 0, machine.inertia))
    return {"crank_dot": machine.peak * ph.sin(ph.TIME * (math.pi / machine.span)) ** 2}


@model.register
def _(machine: SliderCrank, modes, order, **how):
    build = ph.Builder("slider-crank", gravity=(0, 0, 0))
    tau = _crank(build, machine)
    build.body(
        "b0", parent="crank", at=(machine.crank, 0, 0), joint=TURN, flexible=_beam(machine.rod, modes, order, **how)
    )
    _ends(build, 0, machine.rod)
    build.body("slider", joint=ph.prismatic("x"), mass=machine.slider)
    build.loop("end 0", "slider", "axis", axis="z")
    down = -math.asin(machine.crank * math.sin(machine.start) / machine.rod.length)
    x = machine.crank * math.cos(machine.start) + machine.rod.length * math.cos(down)
    return build.build(), {"crank": machine.start, "b0": down - machine.start, "slider": x}, tau


@model.register
def _(machine: FourBar, modes, order, **how):
    build = ph.Builder("four-bar", gravity=(0, 0, 0))
    tau = _crank(build, machine)
    beam = _beam(machine.coupler, modes, order, **how)
    build.body("b0", parent="crank", at=(machine.crank, 0, 0), joint=TURN, flexible=beam)
    _ends(build, 0, machine.coupler)
    build.body(
        "rocker",
        at=(machine.ground, 0, 0),
        joint=TURN,
        mass=1,
        inertia=(machine.rocker_inertia, 0, machine.rocker_inertia),
    )
    build.marker("rocker end", body="rocker", at=(machine.rocker, 0, 0))
    build.loop("end 0", "rocker end", "axis", axis="z")
    end = machine.closed
    pin = machine.crank * np.array([math.cos(machine.start), math.sin(machine.start)])
    up = math.atan2(*(end - pin)[::-1])
    back = math.atan2(*(end - [machine.ground, 0])[::-1])
    return build.build(), {"crank": machine.start, "b0": up - machine.start, "rocker": back}, tau


def move(machine, modes=4, order="first", shapes="polynomial", ends="clamped-free", formulation="poincare", **how):
    """Move a machine in Polhode. Beams are clamped to where they begin, at a frame that may turn there."""
    made, q0, tau = model(machine, modes, order, shapes=shapes, ends=ends)
    traj = ph.simulate(ph.formulate(made, formulation).compile(), q0, None, machine.span, tau=tau, output=SAMPLE, **how)
    many = range(sum(body.flexible is not None for body in made.bodies))
    root, middle, tip = (
        np.stack([traj.pose(f"{name} {k}")[:, :2, 3] for k in many], 1) for name in ("root", "middle", "end")
    )
    R = np.stack([traj.pose(f"root {k}")[:, :2, 0] for k in many], 1)
    turned = np.unwrap(np.arctan2(R[..., 1], R[..., 0]), axis=0)
    lengths = np.array([float(body.flexible.length) for body in made.bodies if body.flexible is not None])
    crank = traj["crank"] if "crank" in q0 else None
    bent = deflection(root, middle, tip, turned, lengths, held=crank is not None)
    return History(t=traj.t, angles=turned, tips=tip, deflection=bent, crank=crank)


def deflection(root, middle, tip, angles, lengths, held):
    """How far beams bend, in lengths: the tip from the tangent at the root; where the tip is held, the middle from
    the line between the ends.
    """
    away, normal = tip - root, np.stack([-np.sin(angles), np.cos(angles)], -1)
    if held:
        normal = np.stack([-away[..., 1], away[..., 0]], -1) / np.linalg.norm(away, axis=-1, keepdims=True)
        away = middle - root
    return (away * normal).sum(-1) / lengths
