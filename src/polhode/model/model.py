"""The model: what the user said, checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from polhode.graph import Expr, Matrix, free_symbols, symbol
from polhode.spatial import Pose

from .body import WORLD, Body, Marker
from .checks import check_controls, check_inertias, check_names, check_references, check_switches, depth_first
from .constraints import Coupling
from .dependence import check_symbols
from .drives import Actuator
from .elements import Constraint, Force, with_values
from .elsewhere import Elsewhere
from .errors import Faults, closest, fault
from .html import table
from .implied import friction_brakes, limit_stops
from .keyframes import Keyframe, check_keyframes
from .looks import Look
from .motors import Motor
from .report import Report, report_on
from .sensors import Sensor, check_sensors
from .states import TIME, State
from .switched import Brake, Stop
from .switches import Switch, When
from .tree import draw
from .values import scalar
from .welds import merged

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class Model(Elsewhere):
    """Bodies on a tree of joints, with the forces on them and the constraints between them.

    bodies      : parents before children, depth first
    gravity     : (3,), the acceleration of free fall
    constraints : couplings, loops, rolling and other laws that hold while the machine moves
    states      : what is not motion and changes by a law of its own
    switches    : what engages and releases constraints in every simulation
    motors      : what was said of motors; their rotors, couplings and actuators are among the others
    keyframes   : states that have names
    sensors     : quantities that have names
    shapes      : what pictures draw of its bodies
    notes       : what a reader left out or found doubtful
    limits      : "stop" where the limits of joints are stops, "ignore" where they are only kept
    literal     : take inertias as they are; otherwise an unphysical one is a fault

    Build one with `Builder`, or read one with `load`.
    """

    _compiled: ClassVar[str] = "ph.formulate(model).compile()"
    _elsewhere: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("M", "c", "Q", "q", "u", "latex", "to_sympy", "to_c"), "ph.formulate(model).{name}"),
        **dict.fromkeys(("compile", "formulate", "equations"), "eq = ph.formulate(model), then eq.compile()"),
        **dict.fromkeys(
            ("forward_dynamics", "inverse_dynamics", "mass_matrix", "bias", "jacobian", "pose", "energy"),
            "dyn = ph.formulate(model).compile(), then dyn.{name}",
        ),
        "save": "ph.save(model, path)",
        "plot": "ph.simulate(ph.formulate(model).compile(), q0, u0, t_end).plot()",
    }

    name: str
    bodies: tuple[Body, ...]
    gravity: Matrix
    markers: tuple[Marker, ...] = ()
    forces: tuple[Force, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    states: tuple[State, ...] = ()
    switches: tuple[Switch, ...] = ()
    motors: tuple[Motor, ...] = ()
    keyframes: tuple[Keyframe, ...] = ()
    shapes: tuple[Look, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    notes: tuple[str, ...] = ()
    limits: str = "stop"
    literal: bool = False

    def __post_init__(self) -> None:
        faults = Faults()
        check_names(self, faults)
        object.__setattr__(self, "bodies", tuple(depth_first(self.bodies, faults)))
        check_references(self, faults)
        check_inertias(self, faults)
        check_switches(self, faults)
        faults.raise_any()
        check_symbols(self, faults)
        check_controls(self, faults)
        check_keyframes(self, faults)
        check_sensors(self, faults)
        faults.raise_any()

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates q, in order."""
        return tuple(name for body in self.bodies for name in body.coordinates)

    @cached_property
    def speeds(self) -> tuple[str, ...]:
        """Names of the speeds u, in order."""
        return tuple(name for body in self.bodies for name in body.speeds)

    @property
    def nq(self) -> int:
        return len(self.coordinates)

    @property
    def nu(self) -> int:
        return len(self.speeds)

    @property
    def nz(self) -> int:
        return len(self.states)

    @cached_property
    def parameters(self) -> tuple[Expr, ...]:
        """The symbols that are neither coordinates nor speeds nor states nor controls nor time, in order of name."""
        found = free_symbols([*self.constants(), *self.laws()])
        names = (*self.coordinates, *self.speeds, *(state.name for state in self.states))
        variables = {symbol(name) for name in names} | {TIME, *self.controls}
        return tuple(sorted(found - variables, key=lambda s: str(s.value)))

    def constants(self) -> list[Expr]:
        """Every expression that must not change with the state."""
        markers = [e for marker in self.markers for e in (*marker.pose.R.entries, *marker.pose.p)]
        looks = [e for shape in self.shapes for e in shape.expressions()]
        return [e for body in self.bodies for e in body.quantities()] + [*self.gravity, *markers, *looks]

    def laws(self) -> list[Expr]:
        """Every expression of forces, constraints, states, sensors and switches."""
        parts = (*self.forces, *self.constraints, *self.states, *self.sensors)
        found = [e for part in parts for e in part.expressions()]
        return found + [switch.value for switch in self.switches if isinstance(switch, When)]

    @cached_property
    def actuators(self) -> tuple[Actuator, ...]:
        """The forces that have a control."""
        return tuple(force for force in self.forces if isinstance(force, Actuator))

    @cached_property
    def controls(self) -> tuple[Expr, ...]:
        """The symbols of their controls."""
        return tuple(actuator.control for actuator in self.actuators)

    @cached_property
    def limited_controls(self) -> dict[Expr, Expr]:
        """The controls within their limits, of those that have any."""
        return {a.control: a.limited for a in self.actuators if a.limited is not a.control}

    @property
    def holding(self) -> tuple[Constraint, ...]:
        """The constraints that hold as declared, whatever the motion."""
        return tuple(c for c in self.constraints if c.holds)

    @cached_property
    def candidates(self) -> tuple[Constraint, ...]:
        """The others: what commands engage, what lets go by itself, and what joints imply."""
        return (*(c for c in self.constraints if not c.holds), *self.implied)

    @property
    def implied(self) -> tuple[Constraint, ...]:
        """What joints say of themselves: dry friction as brakes, and limits as stops where they are."""
        return (*self.friction_brakes, *(self.limit_stops if self.limits == "stop" else ()))

    @property
    def switchable(self) -> tuple[Constraint, ...]:
        """All that can be engaged and released."""
        return (*self.constraints, *self.implied)

    @cached_property
    def friction_brakes(self) -> tuple[Brake, ...]:
        """The dry friction of the joints as brakes that are engaged, where no friction_speed smooths it."""
        return friction_brakes(self.bodies)

    @cached_property
    def limit_stops(self) -> tuple[Stop, ...]:
        """The limits of the joints' coordinates as stops."""
        return limit_stops(self.bodies)

    @property
    def couplings(self) -> tuple[Coupling, ...]:
        """The constraints that make a coordinate follow another."""
        return tuple(c for c in self.constraints if isinstance(c, Coupling))

    def body(self, name: str) -> Body:
        """The body of that name."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise KeyError(f"There is no body {name!r}. {closest(name, [body.name for body in self.bodies])}")

    def keyframe(self, name: str) -> Keyframe:
        """The keyframe of that name."""
        for key in self.keyframes:
            if key.name == name:
                return key
        raise KeyError(f"There is no keyframe {name!r}. {closest(name, [key.name for key in self.keyframes])}")

    @property
    def poses(self) -> dict[str, np.ndarray]:
        """All coordinates, (nq,), of each keyframe by its name; "file" is where an MJCF file has its bodies."""
        import numpy as np

        found = {}
        for key in self.keyframes:
            given = {name: float(e) for name, e in key.q}
            pairs = zip(self.coordinates, self.neutral(), strict=True)
            found[key.name] = np.array([given.get(name, x) for name, x in pairs], dtype=float)
        return found

    def frame(self, name: str) -> tuple[str, Pose]:
        """The body that carries a marker, or a body's own frame, and the pose in it."""
        if name not in self._frames:
            raise KeyError(f"There is no marker or body {name!r}. {closest(name, self._frames)}")
        return self._frames[name]

    @cached_property
    def _frames(self) -> dict[str, tuple[str, Pose]]:
        bodies = {name: (name, Pose.identity()) for name in (WORLD, *(body.name for body in self.bodies))}
        return {marker.name: (marker.body, marker.pose) for marker in self.markers} | bodies

    def neutral(self) -> np.ndarray:
        """Coordinates at rest, (nq,): zeros, and quaternions that do not turn."""
        import numpy as np

        still = ((*body.joint.neutral(), *(0.0 for _ in body.modes)) for body in self.bodies)
        return np.array([x for part in still for x in part], dtype=float)

    def substituted(self, values: Mapping[Any, Any]) -> Model:
        """The same model with numbers, or expressions, for some of its parameters."""
        known = {str(s.value): s for s in self.parameters}
        for key in values:
            name = str(key.value) if isinstance(key, Expr) else key
            if name not in known:
                raise fault(f"{name!r} is no parameter of the model. {closest(name, known)}")
        given = {key: scalar(value, f"Value of {key!s:.60}") for key, value in values.items()}
        return cast(Model, with_values(self, given)) if given else self

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames: bodies, then markers."""
        return (*(body.name for body in self.bodies), *(marker.name for marker in self.markers))

    def merged(self) -> Model:
        """The same model with welded bodies made part of what they are welded to.

        Their frames stay as markers; what is welded to the world no longer counts as mass.
        """
        return merged(self)

    def report(self) -> Report:
        """What a careful reader would want to know before trusting the model."""
        return report_on(self)

    def __str__(self) -> str:
        return draw(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return table(self)
