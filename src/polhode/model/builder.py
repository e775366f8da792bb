"""A model, one call a part."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from inspect import BoundArguments, Parameter, Signature
from typing import Any

from polhode.spatial import Pose

from . import values
from .body import WORLD, Body, Marker
from .constraints import Law
from .elements import ELEMENTS, Constraint, Element, Force, make
from .errors import Faults, closest, fault, grouped
from .flexible import Flexible
from .joint import Joint
from .keyframes import Keyframe
from .looks import Look
from .model import Model
from .motors import Handle, Motor, expanded, resolved
from .sensors import Sensor
from .spelling import spelled
from .states import State
from .switches import Names, Switch
from .switches import at as switch_at
from .switches import when as switch_when

GRAVITY = (0, 0, -9.81)
_ELSEWHERE = {  # what is part of another call
    "damper": "Give a joint its damping=, or make it a spring: build.spring(a, b, stiffness=0, length=0, damping=...).",
    "law": "A coordinate that follows a law of time: build.prescribe(coordinate, value).",
    "joint": "Give it with its body: build.body(name, joint=revolute(...), mass=...).",
}


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

    def __init__(
        self, name: str = "model", gravity: Any = GRAVITY, literal: bool = False, limits: str = "stop"
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise fault(f"Model: name is {name!r:.60}, expected text.")
        self.name = name
        self.gravity = values.entries(gravity, 3, f"Model {name!r}: gravity")
        self.literal, self.limits = literal, limits
        self.bodies: list[Body] = []
        self.markers: list[Marker] = []
        self.forces: list[Force] = []
        self.constraints: list[Constraint] = []
        self.states: list[State] = []
        self.switches: list[Switch] = []
        self.short: list[Element] = []  # what was said and stands for something else
        self.motors: list[Motor] = []
        self.keyframes: list[Keyframe] = []
        self.shapes: list[Look] = []
        self.sensors: list[Sensor] = []
        self.notes: list[str] = []
        self._taken: dict[str, int] = {}  # names of forces and constraints, with the number to try next

    def __repr__(self) -> str:
        return f"the builder {self.name!r:.20}: call build.build()"

    @spelled("build.body")
    def body(
        self,
        name: str,
        *,
        joint: Joint,
        mass: Any = None,
        parent: str = WORLD,
        at: Any = (0, 0, 0),
        rotation: Any = None,
        rpy: Any = None,
        quaternion: Any = None,
        com: Any = (0, 0, 0),
        inertia: Any = (0, 0, 0),
        flexible: Flexible | None = None,
    ) -> None:
        """Add a body on a joint.

        at      : origin of the joint in the parent
        rotation, rpy, quaternion : its axes there; a matrix, three angles about
                  the fixed x, y, z, or (w, x, y, z)
        com     : centre of mass in the body, whose origin is on the joint
        inertia : about the centre of mass; (xx, yy, zz), six entries with
                  xy xz yz, or 3 x 3. The default is a point mass.
        flexible : modes by which it deforms, as of `beam(...)`; mass, com and inertia are then those of a hub
                  besides, and mass may be left out
        """
        what = f"Body {name!r}"
        _require_text(what, name=name, parent=parent)
        if mass is None and flexible is None:
            raise fault(f"{what}: has no mass, expected mass=, which may be 0 for a body that only carries others.")
        if flexible is not None and not isinstance(flexible, Flexible):
            raise fault(f"{what}: flexible is {flexible!r:.60}, expected modes such as beam(length=1, mu=2, EI_z=300).")
        if not isinstance(joint, Joint):
            raise fault(f'{what}: joint is {joint!r:.60}, expected a joint such as revolute("z").')
        R = values.rotation(what, rotation, rpy, quaternion)
        self.bodies.append(
            Body(
                name=name,
                parent=parent,
                joint=joint if joint.name else replace(joint, name=name),
                pose=Pose(R, values.entries(at, 3, f"{what}: at")),
                mass=values.scalar(0 if mass is None else mass, f"{what}: mass"),
                com=values.entries(com, 3, f"{what}: com"),
                inertia=values.inertia(inertia, f"{what}: inertia"),
                flexible=flexible,
            )
        )

    @spelled("build.marker")
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

    def switch(
        self, *, at: Any = None, when: Any = None, direction: int = 0, engage: Names = (), release: Names = ()
    ) -> None:
        """Engage and release constraints in every simulation: `at` a time, or `when` something happens.

        when      : as of `ph.when`: an expression that passes 0, or a comparison that becomes true, or its text
        direction : of an expression, +1 on its way up, -1 on its way down, 0 both
        """
        if (at is None) == (when is None):
            said = "neither at nor when" if at is None else "both at and when"
            raise fault(f"Switch: has {said}, expected one of them.")
        if when is None and direction != 0:
            raise fault("Switch: has a time and a direction, expected a direction with when alone.")
        if when is None:
            self.switches.append(switch_at(at, engage=engage, release=release))
        else:
            self.switches.append(switch_when(when, direction, engage=engage, release=release))

    def __getattr__(self, name: str) -> Any:
        """The method of an element that was declared after this module; those before are methods of the class."""
        for kind in ELEMENTS.values():
            if name == _call(kind):
                return _method(kind).__get__(self)
        calls = [n for n in self.__dir__() if n not in self.__dict__]
        raise AttributeError(f"Builder has no {name!r}. {_ELSEWHERE.get(name) or closest(name, calls)}")

    def __dir__(self) -> list[str]:
        methods = [name for name in (*vars(type(self)), *self.__dict__) if not name.startswith("_")]
        return [*dict.fromkeys([*methods, *map(_call, ELEMENTS.values())])]

    def add(self, kind: type[Element], /, *args: Any, **given: Any) -> Handle | None:
        """Add a force, constraint, state, motor, keyframe, sensor or shape, by the arguments of its method."""
        bound = _bound(kind, args, given)
        bound.apply_defaults()
        found = bound.arguments
        found["name"] = found["name"] or self.unique_name(kind.named.format(**found))
        said = make(kind, found)
        part = said.stands_for()
        if part is not said:
            self.short.append(said)
        if isinstance(part, State):
            self.states.append(part)
            return None
        if isinstance(part, Keyframe):
            self.keyframes.append(part)
            return None
        if isinstance(part, Sensor):
            self.sensors.append(part)
            return None
        if isinstance(part, Look):
            self._taken.setdefault(part.name, 2)
            self.shapes.append(part)
            return None
        if isinstance(part, Motor):
            self.motors.append(part)
            return Handle(self.motors, part.name)
        self._taken.setdefault(part.name, 2)
        if isinstance(part, Force):
            self.forces.append(part)
        elif isinstance(part, Constraint):
            self.constraints.append(part)
        return None

    def unique_name(self, name: str) -> str:
        """A name for a part that has none, counted where it is taken."""
        if name not in self._taken:
            return name
        while (found := f"{name} {self._taken[name]}") in self._taken:
            self._taken[name] += 1
        return found

    def note(self, text: str) -> None:
        """Keep a remark for the report."""
        self.notes.append(text)

    def build(self) -> Model:
        """Check everything together and return the model."""
        faults = Faults()
        joints = [body.joint for body in self.bodies] + [joint for motor in self.motors for joint in motor.joints]
        modes = [mode for body in self.bodies for mode in body.modes]
        known = {
            "coordinate": dict.fromkeys([*(n for j in joints for n in j.coordinates()), *modes]),
            "speed": dict.fromkeys([*(n for j in joints for n in j.speeds()), *(f"{mode}_dot" for mode in modes)]),
            "joint": dict.fromkeys(joint.name for joint in joints if joint.nu),
        }
        for part in self.short:
            for text in part.missing(known):
                faults.add(text)
        laws = {(part.coordinate, part.value) for part in self.short if isinstance(part, Law) and part.active}
        for name, times in Counter(name for name, _ in laws).items():
            if times > 1:
                faults.add(
                    f"Coordinate {name!r} follows {times} laws at once, expected one. Leave out all but one, or give "
                    "the others active=False and engage them one at a time."
                )
        with faults.caught():
            model = self._model()
        faults.raise_any()
        return model

    def _model(self) -> Model:
        joints = [body.joint for body in self.bodies]
        motors = tuple(resolved(motor, joints) for motor in self.motors)
        markers = {marker.name: marker for marker in self.markers}
        frames = [WORLD, *(body.name for body in self.bodies), *markers, *(motor.name for motor in motors)]
        for motor in motors:
            if motor.on not in frames:
                raise fault(
                    f"{motor.what}: on is {motor.on!r:.60}, expected a body or marker. {closest(motor.on, frames)}"
                )
        parts = [expanded(motor, self.bodies, markers) for motor in motors]
        return Model(
            name=self.name,
            bodies=(*self.bodies, *(body for part in parts for body in part.bodies)),
            gravity=self.gravity,
            markers=tuple(self.markers),
            forces=(*self.forces, *(force for part in parts for force in part.forces)),
            constraints=(*self.constraints, *(c for part in parts for c in part.constraints)),
            states=(*self.states, *(state for part in parts for state in part.states)),
            motors=motors,
            keyframes=tuple(self.keyframes),
            shapes=tuple(self.shapes),
            sensors=tuple(self.sensors),
            switches=tuple(self.switches),
            notes=tuple(grouped(self.notes)),
            limits=self.limits,
            literal=self.literal,
        )


def _call(kind: type[Element]) -> str:
    """What the method that adds an element is called."""
    return kind.call or kind.table


def _method(kind: type[Element]) -> Any:
    """The method that adds an element: build.spring(...) for the element of table "spring"."""

    def method(self: Builder, *args: Any, **given: Any) -> Handle | None:
        return self.add(kind, *args, **given)

    method.__name__ = _call(kind)
    method.__qualname__, method.__doc__ = f"Builder.{method.__name__}", kind.__doc__
    own = Parameter("self", Parameter.POSITIONAL_ONLY)
    method.__signature__ = Signature([own, *kind.signature.parameters.values()])  # type: ignore[attr-defined]
    return method


for _kind in ELEMENTS.values():
    if _call(_kind) not in vars(Builder):
        setattr(Builder, _call(_kind), _method(_kind))


def _bound(kind: type[Element], args: tuple[Any, ...], given: dict[str, Any]) -> BoundArguments:
    """The arguments of a call, by name; what does not fit is told with the call."""
    call, known = f"build.{_call(kind)}", list(kind.signature.parameters)
    if unknown := [name for name in given if name not in known]:
        raise TypeError(f"{call}: there is no {unknown[0]!r}. {closest(unknown[0], known)}")
    try:
        return kind.signature.bind(*args, **given)
    except TypeError as error:
        raise TypeError(f"{call}: {error}. It takes {kind.signature}.") from None


def _require_text(what: str, **names: Any) -> None:
    for key, value in names.items():
        if not isinstance(value, str):
            raise fault(f"{what}: {key} is {value!r:.60}, expected the name as text.")
