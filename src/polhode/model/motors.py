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
from dataclasses import replace
from typing import TYPE_CHECKING

from polhode.graph import Expr, Matrix, absolute, as_expr, symbol, tanh, zeros

from . import fields
from .body import WORLD, Body, Marker
from .drives import CONTROL, Actuator, unordered
from .elements import Element, element
from .errors import ModelError, closest, fault
from .joint import Joint
from .stages import Stage, Train, joined, shaft_name
from .states import State
from .transmissions import Parts, hinge, rate, rotor, summed, transmission, turned

if TYPE_CHECKING:
    from .model import Model

SLOW = 1e-3  # rad/s
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
    efficiency : of power from the motor on, and efficiency_back of power towards it, the same where it is None. 0 or
                 less backward: it cannot be driven from behind, as worm gears cannot. The friction of the gear
                 depends on its load, which must be known: there is no inertia before it, or it has a stiffness
    slip_speed : rad/s of a rotor without inertia, below which the friction of its gear fades; 1e-3 where none is given
    stages     : gears between the rotor and the last one, the rotor's first, with the inertia of the shaft after each;
                 see `Stage`. `ratio`, `efficiency`, `stiffness` above are of the last
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
    efficiency_back: Expr | None = fields.scalar(optional=True)
    stages: tuple[Stage, ...] = fields.stages()
    slip_speed: Expr | None = fields.scalar(optional=True, above=0)
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
        """Whether it has a rotor or a shaft with inertia, which is a body."""
        return bool(self.shafts())

    @property
    def joints(self) -> list[Joint]:
        """The joints of its rotor and shafts."""
        return [hinge(self, name, shaft) for name, shaft in self.shafts()]

    @property
    def current(self) -> str:
        """What the state of its current is called."""
        return CURRENT.format(self.name)

    @property
    def last(self) -> Stage:
        """The gear before what it drives."""
        return Stage(
            ratio=self.ratio, efficiency=self.efficiency, efficiency_back=self.efficiency_back,
            stiffness=self.stiffness, loss=self.loss, play=self.play,
        )  # fmt: skip

    def shafts(self) -> list[tuple[str, Stage]]:
        """What turns with an inertia of its own, the rotor first, by the name of its body."""
        rotor = Stage(inertia=self.inertia, damping=self.damping)
        every = [(self.name, rotor), *((shaft_name(self.name, i), stage) for i, stage in enumerate(self.stages, 1))]
        return [(name, stage) for name, stage in every if stage.inertia != 0]

    def gears(self) -> list[tuple[str | None, str | None, Train]]:
        """What is before each gear, None for nothing with inertia; what is behind, None for joints; and the gear."""
        found: list[tuple[str | None, str | None, Train]] = []
        before, row = self.name if self.inertia != 0 else None, []
        for i, stage in enumerate(self.stages, 1):
            row.append(stage)
            if stage.inertia != 0:
                found.append((before, shaft_name(self.name, i), joined(row, self.what)))
                before, row = shaft_name(self.name, i), []
        return [*found, (before, None, joined([*row, self.last], self.what))]

    def row(self, speed: str) -> str:
        """What the constraint is called by which a speed turns with its shaft."""
        return f"{self.name} drives {speed}"

    @property
    def pulls(self) -> str:
        """What the constraint is called by which its cable sums joints up."""
        return f"{self.name} pulls"

    def determined(self) -> dict[str, str]:
        """The constraints of a transmission that always holds, each with the speed of a joint that it determines."""
        *inner, (_, _, last) = self.gears()
        rigid = [shaft for before, shaft, gear in inner if before and shaft and gear.yields is None]
        found = {self.row(f"{shaft}_dot"): f"{shaft}_dot" for shaft in rigid}
        if self.link != "gear" or last.yields is not None:
            return found
        if self.sums:
            return found | ({self.pulls: self.sums[-1][0]} if self.turns else {})
        return found | {self.row(u): u for u, _ in (self.drives if self.turns else self.drives[1:])}

    def carrier(self, model: Model) -> str:
        """The body that carries it."""
        return model.frame(self.on)[0]

    def faults(self) -> Iterator[str]:
        found = list(Element.faults(self))
        yield from found
        known = [
            *((f"{self.what}: stage {i}", stage) for i, stage in enumerate(self.stages, 1)),
            (self.what, self.last),
        ]
        wrong = [text for what, stage in known for text in stage.faults(what)]
        yield from dict.fromkeys(text for text in wrong if text not in found)
        if wrong:
            return
        yield from unordered(self.what, "control", self.lower, self.upper)
        if self.drives and self.sums:
            yield f"{self.what}: drives joints and sums others up, expected one of them. Declare a second motor."
        loose = "a clutch" if self.link != "gear" else "a stiffness" if self.stiffness is not None else ""
        if self.link != "gear" and not self.turns:
            yield f"{self.what}: has {loose} but no rotor to turn by itself. Give its inertia=."
        if loose and self.sums:
            yield f"{self.what}: sums joints up by {loose}, expected joints that it drives. Use drives=."
        if self.cable and (loose or self.sums):
            yield f"{self.what}: is a cable with {loose or 'joints to sum up'}, expected joints that it always drives."
        if self.link != "gear" and self.stiffness is not None:
            yield f"{self.what}: has a clutch and a stiffness, expected one of them."
        if self.capacity is not None and self.link == "gear":
            yield f'{self.what}: has a capacity but no clutch. Give link="clutch".'
        if (self.constant is None) != (self.resistance is None):
            yield f"{self.what}: has a constant or a resistance, expected both of an electrical motor, or none."
        if self.inductance is not None and self.resistance is None:
            yield f"{self.what}: has an inductance but no resistance. Give constant= and resistance=, too."
        if any(e == 0 for _, e in (*self.drives, *self.sums)):
            yield f"{self.what}: turns a joint by 0, expected what is not 0. Leave the joint out."
        yield from self._lossy()

    def _lossy(self) -> Iterator[str]:
        """What is wrong with its efficiencies: the load of a gear that has friction must be known."""
        if self.slip_speed is not None and (self.inertia != 0 or not self.gears()[0][2].loses):
            said = "an inertia, so that its gear sticks" if self.inertia != 0 else "no efficiency"
            yield f"{self.what}: has a slip_speed, and {said}. Leave out slip_speed=."
        for before, _, gear in self.gears():
            if before is None and gear.yields is not None:
                yield f"{self.what}: has a stiffness but no rotor to turn by itself. Give its inertia=."
            elif before is None and gear.locks:
                yield (
                    f"{self.what}: locks itself, and has no rotor: what it does then is not determined. Give inertia= "
                    "and stiffness=, of the gear."
                )
            elif before is not None and gear.yields is None and gear.loses:
                yield (
                    f"{self.what}: has an efficiency behind the inertia of {before!r}, which passes through the gear, "
                    "too, so that its load is not known before the accelerations are. Give the gear its stiffness=, by "
                    "which it is, with a loss= that damps it; or, where the loss of that inertia does not matter, "
                    f"leave out inertia= and give {self._armature()}."
                )

    def _armature(self) -> str:
        """What stands for the inertia of the rotor at the joint that it drives, in words."""
        x = None
        if len(self.drives) == 1 and not self.stages:
            x = (self.inertia * (self.ratio / self.drives[0][1]) ** 2).number
        return (
            "the joint an armature=, of ratio^2 inertia"
            if x is None
            else f"the joint of {self.drives[0][0]!r} an armature={x:.6g}"
        )


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
    rates = {u: rate(motor, u, bodies, markers) for u, _ in motor.drives}
    *inner, (last, _, gear) = motor.gears()
    found.bodies.extend(rotor(motor, name, stage, markers) for name, stage in motor.shafts())
    for before, shaft, between in inner:
        assert shaft is not None
        if before is not None:
            turned(motor, before, shaft, between, found)
    transmission(motor, last, gear, rates, joints, found)
    head = motor.gears()[0][2]  # where there is no rotor, it is before what turns first
    if motor.inertia != 0:
        along = [(f"{motor.name}_dot", as_expr(1))]
    elif motor.turns:
        along = [(f"{motor.shafts()[0][0]}_dot", head.ratio)]
    elif motor.sums:
        along = [(u, head.ratio * e) for u, e in motor.sums]
    elif motor.drives:
        first, share = motor.drives[0]
        along = [(name, way * head.ratio / share) for name, way in rates[first].items()]
    else:
        raise fault(f"{motor.what}: has neither a rotor nor a joint to turn. Give inertia= or drives=.")
    rho = summed(dict(along))
    torque = _torque(motor, rho, found)
    if motor.inertia == 0 and motor.damping != 0:
        torque = torque - motor.damping * rho
    if motor.inertia == 0 and head.loses:  # |torque| opposes motion, smoothly where there is next to none
        eta, back, slow = head.efficiency, head.back, as_expr(SLOW) if motor.slip_speed is None else motor.slip_speed
        torque = torque * (1 / back + eta) / 2 - absolute(torque) * tanh(rho / slow) * (1 / back - eta) / 2
    found.forces.append(
        Actuator(
            name=motor.name, along=tuple(along), marker=None, push=zeros(3), twist=zeros(3), force=torque,
            lower=motor.lower, upper=motor.upper, least=None, most=None,
        )
    )  # fmt: skip
    return found


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
