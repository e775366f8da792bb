"""Motors: a rotor, what couples it to joints, and what drives it.

    u_j = drive_j alpha_dot        joints that turn with its shaft, one row each [NelsonQuinn, eq. 27, 48]
    alpha_dot = sum of sum_j u_j   joints that a cable or a tendon sums up, one row [NelsonQuinn, eq. 29]
    rho = ratio alpha_dot          the rotor, relative to the body that carries it

A motor is short for a body (the rotor), constraints or springs (the transmission), an actuator, and the state of its
current; all formulations have these. "quasicoordinate" embeds the transmissions: they are its D_3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polhode.graph import Expr, Matrix, as_expr, matrix, maximum, sign, symbol, zeros
from polhode.spatial import Pose

from . import fields
from .body import WORLD, Body, Marker
from .constraints import Relation
from .drives import CONTROL, Actuator
from .elements import Constraint, Element, Force, element
from .errors import ModelError, closest, fault
from .forces import Potential, SpeedForce
from .joint import Joint
from .named import revolute
from .states import State
from .switched import Clutch

if TYPE_CHECKING:
    from .model import Model

PARALLEL = 1e-9  # how far the cosine between axes along which a cable runs may be from 1 or -1
CURRENT = "{}_current"  # what the state of the current of a motor is called
LINKS = ("gear", "clutch", "reversing clutch")


@element
class Motor(Element):
    """A motor on a body, and what it turns.

    drives     : joints, or speeds, that turn with its shaft: u_j = drive_j alpha_dot
    cable      : whether the angles of these are measured from the body that carries the motor, not from the body before
                 each: cables run along the joints in between, whose axes are parallel [NelsonQuinn, eq. 29]
    sums       : joints, or speeds, that a cable sums up: alpha_dot = sum of sum_j u_j
    ratio      : turns of the rotor for one of the shaft
    inertia    : of the rotor about its axis; its mass belongs to the body that carries it. 0 for no rotor
    on, axis   : the body or marker that carries it, and its axis there
    damping    : of the rotor, a torque for each rad/s
    efficiency : of the power that the actuator sends through the transmission, either way
    link       : "gear" always turns what it drives; a "clutch" is a constraint for each joint, NAME JOINT, that is
                 engaged and released; a "reversing clutch" has another, NAME JOINT reversed, of the opposite sign
    capacity   : of clutches, at the joint
    stiffness  : makes the transmission yield: a spring for each joint, with its own damping `loss`, and `play` in rad
    constant, resistance, inductance : of an electrical motor, N m/A, ohm, H. Its control is the voltage then, and
                 NAME_current a state where it has an inductance; without these the control is the torque on the rotor
    lower, upper : limits of the control
    """

    table = "motor"
    positional = 1
    depends = ": its numbers depend on {}, expected constants. A ratio that changes is a gear: build.gear(a, b, ratio)."

    name: str
    drives: tuple[tuple[str, Expr], ...] = fields.weights("constants")
    sums: tuple[tuple[str, Expr], ...] = fields.weights("constants")
    ratio: Expr = fields.scalar(1)
    inertia: Expr = fields.scalar(0, least=0)
    on: str = fields.marker(WORLD)
    axis: Matrix = fields.axis("z")
    damping: Expr = fields.scalar(0, least=0)
    efficiency: Expr = fields.scalar(1, least=0, most=1)
    cable: bool = fields.flag(False)
    link: str = fields.choice(LINKS, "gear")
    capacity: Expr | None = fields.scalar(optional=True, least=0, of="anything")
    stiffness: Expr | None = fields.scalar(optional=True, above=0)
    loss: Expr = fields.scalar(0, least=0)
    play: Expr = fields.scalar(0, least=0)
    constant: Expr | None = fields.scalar(optional=True, above=0)
    resistance: Expr | None = fields.scalar(optional=True, above=0)
    inductance: Expr | None = fields.scalar(optional=True, above=0)
    lower: Expr | None = fields.scalar(optional=True)
    upper: Expr | None = fields.scalar(optional=True)

    @property
    def turns(self) -> bool:
        """Whether it has a rotor, which is a body."""
        return self.inertia != 0

    @property
    def joint(self) -> Joint:
        """The joint of its rotor."""
        return revolute(self.axis, name=self.name, damping=self.damping)

    @property
    def current(self) -> str:
        """What the state of its current is called."""
        return CURRENT.format(self.name)

    def row(self, speed: str) -> str:
        """What the constraint is called by which a speed turns with its shaft."""
        return f"{self.name} drives {speed}"

    @property
    def pulls(self) -> str:
        """What the constraint is called by which its cable sums joints up."""
        return f"{self.name} pulls"

    def determined(self) -> dict[str, str]:
        """The constraints of a transmission that always holds, each with the speed of a joint that it determines."""
        if self.link != "gear" or self.stiffness is not None:
            return {}
        if self.sums:
            return {self.pulls: self.sums[-1][0]} if self.turns else {}
        return {self.row(u): u for u, _ in (self.drives if self.turns else self.drives[1:])}

    def carrier(self, model: Model) -> str:
        """The body that carries it."""
        return model.frame(self.on)[0]

    def faults(self) -> Iterator[str]:
        yield from Element.faults(self)
        if self.ratio == 0 or self.efficiency == 0:
            yield f"{self.what}: its {'ratio' if self.ratio == 0 else 'efficiency'} is 0, expected more or less than 0."
        if self.drives and self.sums:
            yield f"{self.what}: drives joints and sums others up, expected one of them. Declare a second motor."
        loose = "a clutch" if self.link != "gear" else "a stiffness" if self.stiffness is not None else ""
        if loose and not self.turns:
            yield f"{self.what}: has {loose} but no rotor to turn by itself. Give its inertia=."
        if loose and self.sums:
            yield f"{self.what}: sums joints up by {loose}, expected joints that it drives. Use drives=."
        if self.cable and (loose or self.sums):
            yield f"{self.what}: is a cable with {loose or 'joints to sum up'}, expected joints that it always drives."
        if self.link != "gear" and self.stiffness is not None:
            yield f"{self.what}: has a clutch and a stiffness, expected one of them."
        if self.capacity is not None and self.link == "gear":
            yield f'{self.what}: has a capacity but no clutch. Give link="clutch".'
        if self.stiffness is None and (self.play != 0 or self.loss != 0):
            yield f"{self.what}: has play or loss but no stiffness, so it does not yield. Give stiffness=."
        if (self.constant is None) != (self.resistance is None):
            yield f"{self.what}: has a constant or a resistance, expected both of an electrical motor, or none."
        if self.inductance is not None and self.resistance is None:
            yield f"{self.what}: has an inductance but no resistance. Give constant= and resistance=, too."
        if any(e == 0 for _, e in (*self.drives, *self.sums)):
            yield f"{self.what}: turns a joint by 0, expected what is not 0. Leave the joint out."


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a motor is short for."""

    bodies: list[Body] = field(default_factory=list)
    forces: list[Force] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    @property
    def names(self) -> set[tuple[str, str]]:
        """The tables and names of forces, constraints and states."""
        return {(part.table, part.name) for part in (*self.forces, *self.constraints, *self.states)}


def resolved(motor: Motor, joints: list[Joint]) -> Motor:
    """The motor with speeds for the joints that it names."""
    single = {joint.name: joint.speeds()[0] for joint in joints if joint.nu == 1}
    speeds = [name for joint in joints for name in joint.speeds()]

    def known(pairs: tuple[tuple[str, Expr], ...]) -> tuple[tuple[str, Expr], ...]:
        for name, _ in pairs:
            if name not in speeds and name not in single:
                many = next((joint for joint in joints if joint.name == name and joint.nu > 1), None)
                if many is not None:
                    raise fault(
                        f"{motor.what}: joint {name!r} has {many.nu} speeds, expected one. Name the speed: "
                        f"{', '.join(many.speeds())}."
                    )
                raise fault(f"{motor.what}: there is no joint or speed {name!r}. {closest(name, [*single, *speeds])}")
        found = tuple((single.get(name, name) if name not in speeds else name, e) for name, e in pairs)
        for name, times in Counter(name for name, _ in found).items():
            if times > 1:
                raise fault(f"{motor.what}: turns {name!r} {times} times, expected once. Leave out all but one.")
        return found

    found = replace(motor, drives=known(motor.drives), sums=known(motor.sums))
    if wrong := list(found.faults()):
        raise ModelError(wrong)
    return found


def expanded(motor: Motor, bodies: Sequence[Body], markers: Mapping[str, Marker]) -> Parts:
    """The parts of a motor whose speeds are known, on these bodies."""
    found, joints = Parts(), [body.joint for body in bodies]
    rates = {u: _rate(motor, u, bodies, markers) for u, _ in motor.drives}
    speed, rho = f"{motor.name}_dot", symbol(f"{motor.name}_dot")
    if motor.turns:
        found.bodies.append(_rotor(motor, markers))
        along = [(speed, as_expr(1))]
    elif motor.sums:
        along = [(u, motor.ratio * e) for u, e in motor.sums]
        rho = _sum(dict(along))
    elif motor.drives:
        first, share = motor.drives[0]
        along = [(name, way * motor.ratio / share) for name, way in rates[first].items()]
        rho = _sum(rates[first]) * motor.ratio / share
    else:
        raise fault(f"{motor.what}: has neither a rotor nor a joint to turn. Give inertia= or drives=.")
    _transmission(motor, rates, joints, found)
    torque = _torque(motor, rho, found)
    if not motor.turns and motor.damping != 0:
        torque = torque - motor.damping * rho
    if motor.efficiency != 1:
        loses = sign(torque * rho)  # 1 where the actuator drives, -1 where it is driven
        eta = motor.efficiency
        torque = torque * ((eta + 1 / eta) + loses * (eta - 1 / eta)) / 2
    found.forces.append(
        Actuator(
            name=motor.name, along=tuple(along), marker=None, push=zeros(3), twist=zeros(3), force=torque,
            lower=motor.lower, upper=motor.upper, least=None, most=None,
        )
    )  # fmt: skip
    return found


def _rotor(motor: Motor, markers: Mapping[str, Marker]) -> Body:
    """The rotor: inertia about its axis alone."""
    a, at = motor.axis, markers.get(motor.on)
    about = matrix([[motor.inertia * x * y for y in a] for x in a])
    return Body(
        name=motor.name,
        parent=motor.on if at is None else at.body,
        joint=motor.joint,
        pose=Pose.identity() if at is None else at.pose,
        mass=as_expr(0),
        com=zeros(3),
        inertia=about,
        rotor=True,
    )


def _sum(speeds: Mapping[str, Expr]) -> Expr:
    return sum((symbol(name) * e for name, e in speeds.items()), as_expr(0))


def _rate(motor: Motor, u: str, bodies: Sequence[Body], markers: Mapping[str, Marker]) -> dict[str, Expr]:
    """What turns with the shaft: a speed, or, of a cable, all speeds from the carrier of the motor outward to it."""
    if not motor.cable:
        return {u: as_expr(1)}
    known, hinge = {body.name: body for body in bodies}, next(body for body in bodies if u in body.joint.speeds())
    on = _host(markers[motor.on].body if motor.on in markers else motor.on, known)
    axis, found, body = _axis(motor, hinge), {u: as_expr(1)}, hinge
    for _ in bodies:
        if _host(body.parent, known) == on:
            return found
        axis = body.pose.R @ axis  # in the body before, at rest: hinges between turn about it
        if body.parent not in known:
            break
        body = known[body.parent]
        if body.joint.nu:
            way = (axis @ _axis(motor, body)).number
            if way is None or abs(abs(way) - 1) > PARALLEL:
                raise fault(
                    f"{motor.what}: a cable to {u!r} along {body.name!r}, whose axis is not parallel. Say by how much "
                    "each joint moves the cable: sums={...}."
                )
            found[body.joint.speeds()[0]] = as_expr(1 if way > 0 else -1)
    raise fault(
        f"{motor.what}: a cable from {motor.on!r} cannot reach {u!r}, which it does not carry. Expected on= a body "
        f"that carries {hinge.name!r}."
    )


def _host(name: str, known: Mapping[str, Body]) -> str:
    """What a body is welded to, through any number of welds: itself where it has a joint."""
    for _ in known:
        if name not in known or known[name].joint.nu:
            break
        name = known[name].parent
    return name


def _axis(motor: Motor, body: Body) -> Matrix:
    """The axis of a hinge, in the frame of its body."""
    if body.joint.nu != 1 or len(body.joint.parts) != 1 or body.joint.parts[0].H[:3, 0] == zeros(3):
        raise fault(f"{motor.what}: a cable along joint {body.joint.name!r}, expected a hinge. Use sums={{...}}.")
    found: Matrix = body.joint.parts[0].H[:3, 0]
    return found


def _transmission(motor: Motor, rates: Mapping[str, dict[str, Expr]], joints: list[Joint], found: Parts) -> None:
    """What couples the rotor to joints, or joints to each other where there is no rotor."""
    rho, name = symbol(f"{motor.name}_dot"), motor.name
    if motor.sums:
        if motor.turns:
            shaft = _sum(dict(motor.sums))
            found.constraints.append(Relation(name=motor.pulls, value=rho - motor.ratio * shaft, active=True))
        return
    if not motor.turns:
        first, share = motor.drives[0]
        for u, e in motor.drives[1:]:
            row = _sum(rates[u]) - _sum(rates[first]) * (e / share)
            found.constraints.append(Relation(name=motor.row(u), value=row, active=True))
        return
    for u, e in motor.drives:
        share = e / motor.ratio
        if motor.stiffness is not None:
            _yielding(motor, u, share, joints, found)
        elif motor.link == "gear":
            found.constraints.append(Relation(name=motor.row(u), value=_sum(rates[u]) - share * rho, active=True))
        else:
            joint = next(joint.name for joint in joints if u in joint.speeds())
            label, ends = f"{name} {joint if u == f'{joint}_dot' else u}", (u, f"{name}_dot")
            found.constraints.append(Clutch(name=label, ends=ends, ratio=share, capacity=motor.capacity, active=True))
            if motor.link != "clutch":
                back = Clutch(name=f"{label} reversed", ends=ends, ratio=-share, capacity=motor.capacity, active=False)
                found.constraints.append(back)


def _yielding(motor: Motor, u: str, share: Expr, joints: list[Joint], found: Parts) -> None:
    """A spring between the shaft and a joint, with play, and its damper."""
    assert motor.stiffness is not None
    joint = next(joint for joint in joints if u in joint.speeds())
    if joint.nu != 1:
        raise fault(
            f"{motor.what}: yields towards {u!r}, one of {joint.nu} speeds of joint {joint.name!r}, expected a joint "
            "of one, whose angle winds the spring. Leave out stiffness=, or split the joint."
        )
    twist = symbol(motor.name) * share - symbol(joint.coordinates()[0])
    half = motor.play / 2
    wound = twist if motor.play == 0 else maximum(twist - half, 0) - maximum(-twist - half, 0)
    found.forces.append(Potential(name=f"{motor.name} winds {u}", energy=motor.stiffness * wound * wound / 2))
    if motor.loss != 0:
        rho, v = symbol(f"{motor.name}_dot"), symbol(u)
        drag = motor.loss * (share * rho - v)
        found.forces.append(SpeedForce(name=f"{motor.name} drags {u}", speed=u, value=drag))
        found.forces.append(SpeedForce(name=f"{u} drags {motor.name}", speed=f"{motor.name}_dot", value=-share * drag))


def _torque(motor: Motor, rho: Expr, found: Parts) -> Expr:
    """What acts on the rotor: the control, or what a voltage makes of it."""
    control = symbol(CONTROL.format(motor.name))
    if motor.constant is None or motor.resistance is None:
        return control
    if motor.inductance is None:
        return motor.constant * (control - motor.constant * rho) / motor.resistance
    current = symbol(motor.current)
    rate = (control - motor.resistance * current - motor.constant * rho) / motor.inductance
    found.states.append(State(name=motor.current, rate=rate, start=as_expr(0)))
    return motor.constant * current


class Handle:
    """A motor that was declared, to say what it drives."""

    def __init__(self, motors: list[Motor], name: str) -> None:
        self._motors, self.name = motors, name

    def drives(self, joints: Mapping[str, object]) -> Handle:
        """Joints, or speeds, that turn with its shaft, by name: u_j = drive_j alpha_dot."""
        return self._said("drives", joints)

    def sums(self, joints: Mapping[str, object]) -> Handle:
        """Joints, or speeds, that a cable sums up, by name: alpha_dot = sum of sum_j u_j."""
        return self._said("sums", joints)

    def _said(self, what: str, joints: Mapping[str, object]) -> Handle:
        place = next(i for i, motor in enumerate(self._motors) if motor.name == self.name)
        motor = self._motors[place]
        new = Motor.specs[what].made(joints, f"{motor.what}: {what}")
        known = {"drives": motor.drives, "sums": motor.sums}
        known[what] = (*known[what], *new)
        self._motors[place] = replace(motor, drives=known["drives"], sums=known["sums"])
        return self

    def __repr__(self) -> str:
        return f"Motor {self.name!r}"
