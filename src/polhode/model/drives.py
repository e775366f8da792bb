"""Actuators: forces with a control, which comes from outside.

A motor (see `motors`) is short for a rotor, for what couples it to joints, and for an actuator on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from polhode.graph import Expr, Matrix, maximum, minimum, substitute, symbol, zeros

from . import fields
from .elements import Force, element, with_values
from .forces import MarkerWrench, SpeedForce

if TYPE_CHECKING:
    from .model import Model

CONTROL = "{}_control"  # what the control of an actuator is called in expressions


@element
class Actuator(Force):
    """A force along speeds, or at a marker, that a control decides.

    along        : speeds with what each has of the force, as gears and levers do: Q_j = along_j force
    marker       : instead, a marker, with the `push` and the `twist` that a force of 1 makes there, in its axes
    force        : of q, u, z, t, parameters, and of the control, whose symbol is NAME_control; None for the control
    lower, upper : what the control is limited to; least, most : the force
    """

    table = "actuator"
    positional = 2

    name: str
    along: tuple[tuple[str, Expr], ...] = fields.weights()
    marker: str | None = fields.marker(optional=True)
    push: Matrix = fields.vector(of="constants")
    twist: Matrix = fields.vector(of="constants")
    force: Expr | None = fields.scalar(optional=True, of="anything")
    lower: Expr | None = fields.scalar(optional=True)
    upper: Expr | None = fields.scalar(optional=True)
    least: Expr | None = fields.scalar(optional=True)
    most: Expr | None = fields.scalar(optional=True)

    @property
    def control(self) -> Expr:
        """The symbol of its control."""
        return symbol(CONTROL.format(self.name))

    @property
    def limited(self) -> Expr:
        """The control within its limits."""
        return clamped(self.control, self.lower, self.upper)

    def value(self, within: Mapping[Expr, Expr]) -> Expr:
        """The force that acts, of controls within their limits."""
        law = self.control if self.force is None else self.force
        return clamped(substitute(law, within), self.least, self.most)

    def described(self) -> str:
        on = self.marker or ", ".join([name for name, _ in self.along[:4]] + ["..."] * (len(self.along) > 4))
        limits = (("control", self.lower, self.upper), ("force", self.least, self.most))
        said = [f", {what} {_span(low, high)}" for what, low, high in limits if (low, high) != (None, None)]
        return f"actuator on {on}" + "".join(said)

    def parts(self, within: Mapping[Expr, Expr]) -> Iterator[Force]:
        """The same as forces on speeds, or a wrench, of controls within their limits."""
        value = self.value(within)
        for speed, share in self.along:
            yield SpeedForce(name=f"{self.name} on {speed}", speed=speed, value=value * substitute(share, within))
        if self.marker is not None:
            force, torque = self.push * value, self.twist * value
            yield MarkerWrench(name=self.name, marker=self.marker, force=force, torque=torque, axes="marker")

    def faults(self) -> Iterator[str]:
        yield from Force.faults(self)
        if bool(self.along) == (self.marker is not None):
            said = "both speeds and a marker" if self.along else "neither speeds nor a marker"
            yield f'{self.what}: has {said} to act on, expected one of them: along={{"hip_dot": 1}} or marker="hand".'
        if self.marker is not None and self.push == zeros(3) and self.twist == zeros(3):
            yield f"{self.what}: has a marker, but neither push nor twist, so it does nothing. Give push=(0, 0, 1)."
        for low, high, what in ((self.lower, self.upper, "control"), (self.least, self.most, "force")):
            yield from unordered(self.what, what, low, high)


def unordered(owner: str, what: str, low: Expr | None, high: Expr | None) -> Iterator[str]:
    """Say that limits of a control or a force are the wrong way round, where they are."""
    a, b = (None if e is None else e.number for e in (low, high))
    if a is not None and b is not None and not a <= b:
        yield f"{owner}: its {what} is limited from {a:g} to {b:g}, expected the lower limit first."


def _span(low: Expr | None, high: Expr | None) -> str:
    """Limits in words."""
    least, most = (None if e is None else fields.short(e) for e in (low, high))
    return f"{least} to {most}" if least and most else f"from {least}" if least else f"up to {most}"


def clamped(e: Expr, low: Expr | None, high: Expr | None) -> Expr:
    """An expression within limits, where it has any."""
    e = e if low is None else maximum(e, low)
    return e if high is None else minimum(e, high)


def acted(model: Model) -> Model:
    """The model with its actuators as the forces that they are, and all controls in it within their limits."""
    if not model.actuators:
        return model
    within = model.limited_controls
    forces: list[Force] = []
    for force in model.forces:
        forces += force.parts(within) if isinstance(force, Actuator) else [with_values(force, within)]
    return replace(model, forces=tuple(forces), states=with_values(model.states, within), keyframes=(), sensors=())
