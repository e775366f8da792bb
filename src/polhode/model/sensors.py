"""Sensors: quantities of a machine that have names. They change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polhode.graph import Expr

from . import fields
from .body import WORLD
from .elements import Element, element
from .errors import Faults

if TYPE_CHECKING:
    from .model import Model

OWN = ("gyro", "velocimeter", "accelerometer")  # in the axes of their marker
KINDS = ("value", "position", "rotation", "x axis", "y axis", "z axis", "velocity", "angular velocity", *OWN)


@element
class Sensor(Element):
    """What is to be known of a motion, by a name: an expression, or something of a marker.

    kind      : "value", an expression; of the marker "position", "rotation" (3 x 3), "x axis", "y axis", "z axis",
                "velocity" and "angular velocity", as the frame `reference` sees them and in its axes; "gyro",
                "velocimeter" and "accelerometer", in its own axes, the last one with gravity as such devices have it
    marker    : what is looked at, a marker or body
    reference : the frame that looks, the world where none is given
    value     : of q, u, z, t, parameters and controls
    """

    table = "sensor"
    positional = 2

    name: str
    kind: str = fields.choice(KINDS, "value")
    marker: str = fields.marker(WORLD)
    reference: str = fields.marker(WORLD)
    value: Expr = fields.scalar(0, of="anything")

    def described(self) -> str:
        return f"{self.kind} of {self.marker}" if self.kind != "value" else f"sensor {fields.cut(self.value)}"

    def faults(self) -> Iterator[str]:
        yield from Element.faults(self)
        if self.kind == "value" and (self.marker, self.reference) != (WORLD, WORLD):
            yield f'{self.what}: has a marker and the kind "value", expected one of {", ".join(KINDS[1:])}.'
        if self.kind != "value" and self.value != 0:
            yield f'{self.what}: has a value and the kind "{self.kind}", expected the kind "value".'
        if self.kind in OWN and self.reference != WORLD:
            yield f"{self.what}: is in the axes of its marker, expected no reference."


def check_sensors(model: Model, faults: Faults) -> None:
    """Note what sensors refer to that does not exist, and names that two have."""
    known = {"marker": dict.fromkeys([WORLD, *model.frames])}
    seen: set[str] = set()
    for sensor in model.sensors:
        if sensor.name in seen:
            faults.add(f"{sensor.what} exists twice, expected once. Rename one of them.")
        seen.add(sensor.name)
        for text in (*sensor.missing(known), *sensor.faults()):
            faults.add(text)
