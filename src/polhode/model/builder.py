"""A model, one call a part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polhode.graph import symbol
from polhode.spatial import Pose

from . import values
from .body import WORLD, Body, Marker
from .constraints import LOOPS, SHAPES, Constraint, KnifeEdge, Loop, Relation, Rolling
from .errors import Faults, closest, fault
from .expression import Symbols, parse
from .forces import Coupling, Force, MarkerWrench, Potential, SpeedForce, SpringDamper
from .joint import Joint
from .model import Model
from .states import State

GRAVITY = (0, 0, -9.81)


class Builder:
    """Collects the parts of a model; `build` checks and returns it.

    >>> from polhode.graph import symbols
    >>> from polhode.model import Builder, revolute
    >>> m, L, g = symbols("m L g")
    >>> build = Builder("pendulum", gravity=(0, 0, -g))
    >>> build.body("bob", joint=revolute("y", name="theta"), mass=m, com=(0, 0, -L))
    >>> build.build()
    pendulum: 1 body, nq = 1, nu = 1
    gravity (0, 0, -g)
    parameters L, g, m
    world
    └─ bob [revolute theta, mass m]
    """

    def __init__(self, name: str = "model", gravity: Any = GRAVITY, literal: bool = False) -> None:
        if not isinstance(name, str) or not name.strip():
            raise fault(f"Model: name is {name!r:.60}, expected text.")
        self.name = name
        self.gravity = values.entries(gravity, 3, f"Model {name!r}: gravity")
        self.literal = literal
        self.bodies: list[Body] = []
        self.markers: list[Marker] = []
        self.forces: list[Force] = []
        self.couplings: list[Coupling] = []
        self.constraints: list[Constraint] = []
        self.states: list[State] = []
        self.variables: list[tuple[str, str, str]] = []  # that must exist: constraint, "coordinate" or "speed", name
        self.notes: list[str] = []
        self._taken: dict[str, int] = {}  # names of forces and constraints, with the number to try next

    def body(
        self,
        name: str,
        *,
        joint: Joint,
        mass: Any,
        parent: str = WORLD,
        at: Any = (0, 0, 0),
        rotation: Any = None,
        rpy: Any = None,
        quaternion: Any = None,
        com: Any = (0, 0, 0),
        inertia: Any = (0, 0, 0),
    ) -> None:
        """Add a body on a joint.

        at      : origin of the joint in the parent
        rotation, rpy, quaternion : its axes there; a matrix, three angles about
                  the fixed x, y, z, or (w, x, y, z)
        com     : centre of mass in the body, whose origin is on the joint
        inertia : about the centre of mass; (xx, yy, zz), six entries with
                  xy xz yz, or 3 x 3. The default is a point mass.
        """
        what = f"Body {name!r}"
        _require_text(what, name=name, parent=parent)
        if not isinstance(joint, Joint):
            raise fault(f'{what}: joint is {joint!r:.60}, expected a joint such as revolute("z").')
        R = values.rotation(what, rotation, rpy, quaternion)
        self.bodies.append(
            Body(
                name=name,
                parent=parent,
                joint=joint if joint.name else replace(joint, name=name),
                pose=Pose(R, values.entries(at, 3, f"{what}: at")),
                mass=values.scalar(mass, f"{what}: mass"),
                com=values.entries(com, 3, f"{what}: com"),
                inertia=values.inertia(inertia, f"{what}: inertia"),
            )
        )

    def marker(
        self,
        name: str,
        *,
        body: str,
        at: Any = (0, 0, 0),
        rotation: Any = None,
        rpy: Any = None,
        quaternion: Any = None,
    ) -> None:
        """Add a named frame fixed to a body or to "world"."""
        what = f"Marker {name!r}"
        _require_text(what, name=name, body=body)
        R = values.rotation(what, rotation, rpy, quaternion)
        self.markers.append(Marker(name=name, body=body, pose=Pose(R, values.entries(at, 3, f"{what}: at"))))

    def spring(self, a: str, b: str, *, stiffness: Any, length: Any, damping: Any = 0, name: str = "") -> None:
        """Put a spring and damper between two markers or bodies' origins."""
        name = name or self.unique_name(f"spring {a} {b}")
        found = [values.scalar(v, f"Spring {name!r}: {key}") for key, v in
                 (("stiffness", stiffness), ("length", length), ("damping", damping))]  # fmt: skip
        for key, e in zip(("stiffness", "length", "damping"), found, strict=True):
            if (x := e.number) is not None and x < 0:
                raise fault(f"Spring {name!r}: {key} is {x:g}, expected 0 or more.")
        self._add(
            self.forces, SpringDamper(name=name, ends=(a, b), stiffness=found[0], length=found[1], damping=found[2])
        )

    def wrench(
        self, marker: str, *, force: Any = (0, 0, 0), torque: Any = (0, 0, 0), axes: str = "world", name: str = ""
    ) -> None:
        """Apply a force and torque at a marker, in the axes of "world" or of the "marker"."""
        name = name or self.unique_name(f"wrench at {marker}")
        if axes not in ("world", "marker"):
            raise fault(f'Wrench {name!r}: axes is {axes!r:.60}, expected "world" or "marker".')
        self._add(
            self.forces,
            MarkerWrench(
                name=name,
                marker=marker,
                force=values.entries(force, 3, f"Wrench {name!r}: force"),
                torque=values.entries(torque, 3, f"Wrench {name!r}: torque"),
                axes=axes,
            ),
        )

    def force(self, speed: str, value: Any, name: str = "") -> None:
        """Apply a generalised force to a speed: any expression of q, u, t and parameters."""
        name = name or self.unique_name(f"force on {speed}")
        self._add(self.forces, SpeedForce(name=name, speed=speed, value=values.scalar(value, f"Force {name!r}: value")))

    def potential(self, energy: Any, name: str = "") -> None:
        """Add a potential energy: any expression of q and parameters."""
        name = name or self.unique_name("potential")
        self._add(self.forces, Potential(name=name, energy=values.scalar(energy, f"Potential {name!r}: energy")))

    def _add(self, parts: list[Any], part: Any) -> None:
        parts.append(part)
        self._taken.setdefault(part.name, 2)

    def unique_name(self, name: str) -> str:
        """A name for a part that has none, counted where it is taken."""
        if name not in self._taken:
            return name
        while (found := f"{name} {self._taken[name]}") in self._taken:
            self._taken[name] += 1
        return found

    def coupling(self, coordinate: str, of: str, ratio: Any = 1, offset: Any = 0) -> None:
        """Say that a coordinate follows another: q = ratio * q_of + offset."""
        what = f"Coupling of {coordinate!r}"
        a, b = values.scalar(ratio, f"{what}: ratio"), values.scalar(offset, f"{what}: offset")
        self._add(self.couplings, Coupling(coordinate=coordinate, of=of, ratio=a, offset=b))

    def loop(self, a: str, b: str, kind: str = "point", *, axis: Any = "z", length: Any = None, name: str = "") -> None:
        """Close a loop: hold two markers together, entirely or in part.

        kind   : "point", "axis", "plane", "distance", "parallel", "orientation", "hinge",
                 "cylinder", "slider" or "weld"
        axis   : where one matters, the same in both markers
        length : of a "distance"
        """
        name = name or self.unique_name(f"{kind} {a} {b}")
        what = f"Constraint {name!r}"
        if kind not in LOOPS:
            raise fault(f"{what}: kind {kind!r:.60} is unknown. {closest(kind, LOOPS)}")
        if (length is not None) != (kind == "distance"):
            said = "has no length" if length is None else "has a length"
            raise fault(f'{what}: {said}, expected one for kind "distance" and for no other.')
        self._add(
            self.constraints,
            Loop(
                name=name,
                kind=kind,
                ends=(a, b),
                axis=values.axis(axis, f"{what}: axis"),
                length=values.scalar(1 if length is None else length, f"{what}: length"),
            ),
        )

    def constraint(self, value: Any, name: str = "") -> None:
        """Keep an expression at zero: of q, t and parameters, or also of speeds, linear in them."""
        name = name or self.unique_name("constraint")
        self._add(self.constraints, Relation(name=name, value=values.scalar(value, f"Constraint {name!r}: value")))

    def gear(self, a: str, b: str, ratio: Any, name: str = "") -> None:
        """Mesh two speeds: u_a = ratio u_b."""
        name = name or self.unique_name(f"gear {a} {b}")
        self.variables += [(name, "speed", a), (name, "speed", b)]
        self.constraint(symbol(a) - values.scalar(ratio, f"Constraint {name!r}: ratio") * symbol(b), name)

    def prescribe(self, coordinate: str, value: Any, name: str = "") -> None:
        """Make a coordinate follow a law of time."""
        name = name or self.unique_name(f"law of {coordinate}")
        self.variables.append((name, "coordinate", coordinate))
        self.constraint(symbol(coordinate) - values.scalar(value, f"Constraint {name!r}: value"), name)

    def knife_edge(self, marker: str, *, axis: Any = "y", name: str = "") -> None:
        """Allow the origin of a marker no velocity along an axis of it, as a blade or a wheel does."""
        name = name or self.unique_name(f"knife edge {marker}")
        self._add(
            self.constraints, KnifeEdge(name=name, marker=marker, axis=values.axis(axis, f"Constraint {name!r}: axis"))
        )

    def rolling(
        self, wheel: str, ground: str = WORLD, *, radius: Any, axis: Any = "y", shape: str = "disc", name: str = ""
    ) -> None:
        """Let a thin disc or a sphere roll without slip on the plane across the z axis of a marker.

        wheel : a marker at its centre, with the axis of the disc
        """
        name = name or self.unique_name(f"rolling {wheel}")
        what = f"Constraint {name!r}"
        if shape not in SHAPES:
            raise fault(f'{what}: shape is {shape!r:.60}, expected "disc" or "sphere".')
        r = values.scalar(radius, f"{what}: radius")
        if (x := r.number) is not None and not x > 0:
            raise fault(f"{what}: radius is {x:g}, expected more than 0.")
        unit = values.axis(axis, f"{what}: axis")
        self._add(self.constraints, Rolling(name=name, wheel=wheel, ground=ground, radius=r, shape=shape, axis=unit))

    def state(self, name: str, rate: Any, start: Any = 0) -> None:
        """Add a state that is not motion: zdot = rate, any expression of q, u, t, states and parameters.

        rate  : an expression, or its text
        start : its value at the beginning
        """
        what = f"State {name!r}"
        _require_text(what, name=name)
        rate = parse(rate, Symbols(), f"{what}: rate") if isinstance(rate, str) else rate
        law, value = values.scalar(rate, f"{what}: rate"), values.scalar(start, f"{what}: start")
        self.states.append(State(name=name, rate=law, start=value))

    def note(self, text: str) -> None:
        """Keep a remark for the report."""
        self.notes.append(text)

    def build(self) -> Model:
        """Check everything together and return the model."""
        faults = Faults()
        known = {
            "coordinate": dict.fromkeys(name for body in self.bodies for name in body.joint.coordinates()),
            "speed": dict.fromkeys(name for body in self.bodies for name in body.joint.speeds()),
        }
        for owner, kind, name in self.variables:
            if name not in known[kind]:
                faults.add(f"Constraint {owner!r}: {kind} {name!r} does not exist. {closest(name, known[kind])}")
        with faults.caught():
            model = self._model()
        faults.raise_any()
        return model

    def _model(self) -> Model:
        return Model(
            name=self.name,
            bodies=tuple(self.bodies),
            gravity=self.gravity,
            markers=tuple(self.markers),
            forces=tuple(self.forces),
            couplings=tuple(self.couplings),
            constraints=tuple(self.constraints),
            states=tuple(self.states),
            notes=tuple(self.notes),
            literal=self.literal,
        )


def _require_text(what: str, **names: Any) -> None:
    for key, value in names.items():
        if not isinstance(value, str):
            raise fault(f"{what}: {key} is {value!r:.60}, expected the name as text.")
