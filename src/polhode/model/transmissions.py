"""What couples a motor to joints: rotors and shafts, rows or springs, and the friction of gears.

A gear that yields has a torque t behind it, by its spring and damper. Its friction depends on that load,

    t_in = t + mean t + half |t| s,    s = sign(speed), or from -1 to 1 at rest

so it is a brake on what is before the gear, with a capacity of half |t|. It sticks, slips, and holds what cannot
drive it from behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polhode.graph import Expr, Matrix, absolute, as_expr, matrix, maximum, symbol, zeros
from polhode.spatial import Pose

from .body import Body, Marker
from .constraints import Relation
from .elements import Constraint, Force
from .errors import fault
from .forces import Potential, SpeedForce
from .joint import Joint
from .named import revolute
from .stages import Stage, Train
from .states import State
from .switched import Brake, Clutch

if TYPE_CHECKING:
    from .motors import Motor

PARALLEL = 1e-9  # how far the cosine between axes along which a cable runs may be from 1 or -1


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


def hinge(motor: Motor, name: str, shaft: Stage) -> Joint:
    """The joint of a rotor or a shaft."""
    return revolute(motor.axis if shaft.axis is None else shaft.axis, name=name, damping=shaft.damping)


def rotor(motor: Motor, name: str, shaft: Stage, markers: Mapping[str, Marker]) -> Body:
    """A rotor or a shaft: inertia about its axis alone."""
    on, a = shaft.on or motor.on, motor.axis if shaft.axis is None else shaft.axis
    at = markers.get(on)
    about = matrix([[shaft.inertia * x * y for y in a] for x in a])
    return Body(
        name=name,
        parent=on if at is None else at.body,
        joint=hinge(motor, name, shaft),
        pose=Pose.identity() if at is None else at.pose,
        mass=as_expr(0),
        com=zeros(3),
        inertia=about,
        rotor=True,
    )


def summed(speeds: Mapping[str, Expr]) -> Expr:
    return sum((symbol(name) * e for name, e in speeds.items()), as_expr(0))


def rate(motor: Motor, u: str, bodies: Sequence[Body], markers: Mapping[str, Marker]) -> dict[str, Expr]:
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


def turned(motor: Motor, before: str, shaft: str, gear: Train, found: Parts) -> None:
    """What couples a shaft to the rotor or the shaft before it."""
    if gear.yields is None:
        row = symbol(f"{shaft}_dot") - symbol(f"{before}_dot") / gear.ratio
        found.constraints.append(Relation(name=motor.row(f"{shaft}_dot"), value=row, active=True))
        return
    torque = _yielding(gear, before, f"{shaft}_dot", symbol(shaft), 1 / gear.ratio, found)
    _friction(gear, before, [torque], found)


def transmission(
    motor: Motor, before: str | None, gear: Train, rates: Mapping[str, dict[str, Expr]], joints: list[Joint],
    found: Parts,
) -> None:  # fmt: skip
    """What couples the last rotor or shaft to joints, or joints to each other where there is none."""
    if before is None:
        if not motor.sums:
            _tied(motor, rates, found)
        return
    rho = symbol(f"{before}_dot")
    if motor.sums:
        row = rho - gear.ratio * summed(dict(motor.sums))
        found.constraints.append(Relation(name=motor.pulls, value=row, active=True))
        return
    torques = []
    for u, e in motor.drives:
        share = e / gear.ratio
        if gear.yields is not None:
            torques.append(_yielding(gear, before, u, _angle(motor, u, joints), share, found))
        elif motor.link == "gear":
            found.constraints.append(Relation(name=motor.row(u), value=summed(rates[u]) - share * rho, active=True))
        else:
            _clutched(motor, before, u, share, joints, found)
    _friction(gear, before, torques, found)


def _tied(motor: Motor, rates: Mapping[str, dict[str, Expr]], found: Parts) -> None:
    """Joints that turn together, without a rotor."""
    if motor.drives:
        first, share = motor.drives[0]
        for u, e in motor.drives[1:]:
            row = summed(rates[u]) - summed(rates[first]) * (e / share)
            found.constraints.append(Relation(name=motor.row(u), value=row, active=True))


def _clutched(motor: Motor, before: str, u: str, share: Expr, joints: list[Joint], found: Parts) -> None:
    """A clutch between the last shaft and a joint, and one of the opposite sign."""
    joint = next(joint.name for joint in joints if u in joint.speeds())
    label, ends = f"{motor.name} {joint if u == f'{joint}_dot' else u}", (u, f"{before}_dot")
    found.constraints.append(Clutch(name=label, ends=ends, ratio=share, capacity=motor.capacity, active=True))
    if motor.link != "clutch":
        back = Clutch(name=f"{label} reversed", ends=ends, ratio=-share, capacity=motor.capacity, active=False)
        found.constraints.append(back)


def _angle(motor: Motor, u: str, joints: list[Joint]) -> Expr:
    """The coordinate of a joint that a spring turns."""
    joint = next(joint for joint in joints if u in joint.speeds())
    if joint.nu != 1:
        raise fault(
            f"{motor.what}: yields towards {u!r}, one of {joint.nu} speeds of joint {joint.name!r}, expected a joint "
            "of one, whose angle winds the spring. Leave out stiffness=, or split the joint."
        )
    return symbol(joint.coordinates()[0])


def _yielding(gear: Train, before: str, u: str, angle: Expr, share: Expr, found: Parts) -> Expr:
    """A spring behind a gear, with play, and its damper; the torque that they send back to what is before it."""
    spring = gear.yields
    assert spring is not None
    assert spring.stiffness is not None
    twist = symbol(before) * share - angle
    half = spring.play / 2
    wound = twist if spring.play == 0 else maximum(twist - half, 0) - maximum(-twist - half, 0)
    found.forces.append(Potential(name=f"{before} winds {u}", energy=spring.stiffness * wound * wound / 2))
    torque = spring.stiffness * wound
    if spring.loss != 0:
        rho = f"{before}_dot"
        drag = spring.loss * (share * symbol(rho) - symbol(u))
        found.forces.append(SpeedForce(name=f"{before} drags {u}", speed=u, value=drag))
        found.forces.append(SpeedForce(name=f"{u} drags {before}", speed=rho, value=-share * drag))
        torque = torque + drag
    return share * torque


def _friction(gear: Train, before: str, torques: Sequence[Expr], found: Parts) -> None:
    """The friction of a gear that yields, by the torques that pass: what is equal both ways, what opposes motion."""
    if not gear.loses or not torques:
        return
    (mean, half), rho = gear.split(), f"{before}_dot"
    if mean != 0:
        net = -mean * sum(torques[1:], torques[0])
        found.forces.append(SpeedForce(name=f"load on {before}", speed=rho, value=net))
    most = half * sum(map(absolute, torques[1:]), absolute(torques[0]))
    found.constraints.append(Brake(name=f"loss of {before}", speed=rho, capacity=most, active=True))
