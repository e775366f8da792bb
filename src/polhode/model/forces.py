"""Forces: laws that act on a model, apart from gravity and the joints' own."""

from __future__ import annotations

from polhode.graph import Expr, Matrix

from . import fields
from .elements import Force, element


@element
class SpringDamper(Force):
    """A spring and damper between two markers or bodies' origins: tension k (l - length) + d l_dot."""

    table = "spring"
    named = "spring {a} {b}"
    positional = 2
    depends = " depends on {}, expected constants. Use a potential or a wrench."

    name: str
    ends: tuple[str, str] = fields.markers()
    stiffness: Expr = fields.scalar(least=0)
    length: Expr = fields.scalar(least=0)
    damping: Expr = fields.scalar(0, least=0)


@element
class MarkerWrench(Force):
    """A force and torque at a marker, in the axes of the "world" or of the "marker"."""

    table = "wrench"
    named = "wrench at {marker}"
    positional = 1

    name: str
    marker: str = fields.marker()
    force: Matrix = fields.vector()
    torque: Matrix = fields.vector()
    axes: str = fields.choice(("world", "marker"), "world")


@element
class SpeedForce(Force):
    """A generalised force that does work on one speed: any expression of q, u, z, t and parameters."""

    table = "force"
    named = "force on {speed}"

    name: str
    speed: str = fields.speed()
    value: Expr = fields.scalar(of="anything")


@element
class Potential(Force):
    """A potential energy: any expression of q and parameters."""

    table = "potential"
    named = "potential"
    depends = " depends on {}, expected coordinates and parameters only."

    name: str
    energy: Expr = fields.scalar(of="coordinates")
