"""The model: what the user said, checked as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from polhode.graph import Expr, Matrix, as_expr, diff, free_symbols, substitute, symbol, topological
from polhode.spatial import Pose

from . import values
from .algebra import twists
from .body import WORLD, Body, Marker
from .constraints import Coupling, Relation
from .elements import Constraint, Element, Force
from .errors import Faults, closest, fault
from .states import State
from .switched import Brake, Stop
from .switches import Switch, When
from .tree import draw
from .values import scalar

if TYPE_CHECKING:
    import numpy as np

TIME = symbol("t")


@dataclass(frozen=True, kw_only=True)
class Model:
    """Bodies on a tree of joints, with the forces on them and the constraints between them.

    bodies      : parents before children, depth first
    gravity     : (3,), the acceleration of free fall
    constraints : couplings, loops, rolling and other laws that hold while the machine moves
    states      : what is not motion and changes by a law of its own
    switches    : what engages and releases constraints in every simulation
    notes       : what a reader left out or found doubtful
    limits      : "stop" where the limits of joints are stops, "ignore" where they are only kept
    literal     : take inertias as they are; otherwise an unphysical one is a fault

    Build one with `Builder`, or read one with `load`.
    """

    name: str
    bodies: tuple[Body, ...]
    gravity: Matrix
    markers: tuple[Marker, ...] = ()
    forces: tuple[Force, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    states: tuple[State, ...] = ()
    switches: tuple[Switch, ...] = ()
    notes: tuple[str, ...] = ()
    limits: str = "stop"
    literal: bool = False

    def __post_init__(self) -> None:
        faults = Faults()
        _check_names(self, faults)
        object.__setattr__(self, "bodies", tuple(_depth_first(self.bodies, faults)))
        _check_references(self, faults)
        _check_inertias(self, faults)
        _check_switches(self, faults)
        faults.raise_any()
        _check_symbols(self, faults)
        faults.raise_any()

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates q, in order."""
        return tuple(name for body in self.bodies for name in body.joint.coordinates())

    @cached_property
    def speeds(self) -> tuple[str, ...]:
        """Names of the speeds u, in order."""
        return tuple(name for body in self.bodies for name in body.joint.speeds())

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
        """The symbols that are neither coordinates nor speeds nor states nor time, in order of name."""
        found = free_symbols([*self._constants(), *self.laws()])
        names = (*self.coordinates, *self.speeds, *(state.name for state in self.states))
        variables = {symbol(name) for name in names} | {TIME}
        return tuple(sorted(found - variables, key=lambda s: str(s.value)))

    def _constants(self) -> list[Expr]:
        """Every expression that must not change with the state."""
        markers = [e for marker in self.markers for e in (*marker.pose.R.entries, *marker.pose.p)]
        return [e for body in self.bodies for e in body.quantities()] + [*self.gravity, *markers]

    def laws(self) -> list[Expr]:
        """Every expression of forces, constraints, states and switches."""
        found = [e for part in (*self.forces, *self.constraints, *self.states) for e in part.expressions()]
        return found + [switch.value for switch in self.switches if isinstance(switch, When)]

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
        found = []
        for joint in (body.joint for body in self.bodies):
            if joint.passive and joint.friction_speed == 0:
                speeds = joint.speeds()
                for speed, f in zip(speeds, joint.friction, strict=False):
                    if f != 0:
                        name = f"friction of {joint.name if len(speeds) == 1 else speed}"
                        found.append(Brake(name=name, speed=speed, capacity=f, active=True))
        return tuple(found)

    @cached_property
    def limit_stops(self) -> tuple[Stop, ...]:
        """The limits of the joints' coordinates as stops."""
        joints = [body.joint for body in self.bodies if body.joint.limits]
        rows = [pair for joint in joints for pair in zip(joint.coordinates(), joint.limits, strict=True)]
        found = []
        for name, limit in rows:
            bounds = [x if x is not None and abs(x) < float("inf") else None for x in (limit.lower, limit.upper)]
            if bounds != [None, None]:
                low, high = (None if x is None else as_expr(x) for x in bounds)
                given: dict[str, Any] = {"name": f"limit of {name}", "coordinate": name, "lower": low, "upper": high}
                given |= {"restitution": as_expr(0), "restitution_law": "newton", "active": True}
                found.append(Stop(**given, stiffness=None, damping=None, dissipation=None, exponent=None))
        return tuple(found)

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

        return np.array([x for body in self.bodies for x in body.joint.neutral()], dtype=float)

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
        if all(body.joint.nu for body in self.bodies):
            return self
        host: dict[str, tuple[str, Pose]] = {WORLD: (WORLD, Pose.identity())}
        kept: dict[str, Body] = {}
        markers = []
        for body in self.bodies:
            name, X_HP = host[body.parent]
            pose = X_HP @ body.pose
            if body.joint.nu:
                kept[body.name] = replace(body, parent=name, pose=pose)
                host[body.name] = (body.name, Pose.identity())
                continue
            host[body.name] = (name, pose)
            markers.append(Marker(name=body.name, body=name, pose=pose))
            if name != WORLD:
                kept[name] = replace(kept[name], welded=kept[name].welded + pose @ body.total)
        for marker in self.markers:
            name, X_HB = host[marker.body]
            markers.append(replace(marker, body=name, pose=X_HB @ marker.pose))
        # what was checked body by body is not judged again as a sum
        return replace(self, bodies=tuple(kept.values()), markers=tuple(markers), literal=True)

    def report(self) -> Report:
        """What a careful reader would want to know before trusting the model."""
        findings = list(self.notes)
        if self.literal:
            findings += [f for f in _unphysical(self.bodies) if f not in findings]
        merged = self.merged().bodies
        parents = {body.parent for body in merged}
        for body in merged:
            if body.name not in parents:
                findings += [
                    f"Body {body.name!r}: nothing with inertia moves with the speed {speed!r}, so it is undetermined. "
                    "Give the body inertia or the joint an armature."
                    for speed in _idle(body)
                ]
        for c in self.couplings:
            findings.append(
                f"Coordinate {c.coordinate!r} should follow {c.of!r}: "
                f"{c.coordinate} = {c.ratio} * {c.of} + {c.offset}. "
                "Simulations hold that; M, c and tau leave both free."
            )
        if rows := [(c.name, c.rows) for c in self.holding if not isinstance(c, Coupling)]:
            shown = [f"{name!r} {n}" for name, n in rows[:8]] + ["..."] * (len(rows) > 8)
            findings.append(
                f"The constraints have {sum(n for _, n in rows)} equations: {', '.join(shown)}. "
                f"Simulations hold them; M, c and tau leave all {self.nu} speeds free."
            )
        if stops := [stop.coordinate for stop in self.limit_stops]:
            acting = 'are stops in simulations; load(..., limits="ignore") leaves them out'
            how = acting if self.limits == "stop" else "are kept, but do not act in simulations"
            findings.append(f"Limits of {_listed(stops)} {how}.")
        if others := self._other_limits:
            findings.append(f"Limits of speed or effort of {_listed(others)} are kept, but do not act in simulations.")
        if rubbing := [brake.speed for brake in self.friction_brakes]:
            findings.append(f"Dry friction on {_listed(rubbing)} holds and slips in simulations; Q leaves it out.")
        if loose := [c for c in self.constraints if not c.holds]:
            shown = [f"{c.name!r} ({state_of(c)})" for c in loose[:8]] + ["..."] * (len(loose) > 8)
            findings.append(f"Simulations may engage and release {', '.join(shown)}; M, c and tau leave them out.")
        return Report(self.name, tuple(findings))

    @property
    def _other_limits(self) -> list[str]:
        """Coordinates whose speed or force is limited."""
        joints = [body.joint for body in self.bodies if body.joint.limits]
        rows = [pair for joint in joints for pair in zip(joint.coordinates(), joint.limits, strict=True)]
        return [name for name, limit in rows if limit.speed is not None or limit.effort is not None]

    def __str__(self) -> str:
        return draw(self)

    __repr__ = __str__


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*map(repr, names[:8])] + ["..."] * (len(names) > 8))


def state_of(c: Constraint) -> str:
    """What a constraint does as declared, in a word or two."""
    if not c.active:
        return "released"
    return "engaged where it closes" if c.law == "unilateral" else "engaged"


@dataclass(frozen=True, slots=True)
class Report:
    """Findings about a model, a sentence each."""

    model: str
    findings: tuple[str, ...]

    def __str__(self) -> str:
        if not self.findings:
            return f"{self.model}: nothing to report."
        n = len(self.findings)
        return f"{self.model}: {n} finding{'s' if n > 1 else ''}" + "".join(f"\n  - {f}" for f in self.findings)

    __repr__ = __str__


def with_values(part: Any, values: Mapping[Any, Expr]) -> Any:
    """A part of a model with values put into every expression of it."""
    if isinstance(part, (Expr, Matrix)):
        return substitute(part, values)  # type: ignore[type-var]  # one or the other
    if isinstance(part, tuple):
        return tuple(with_values(e, values) for e in part)
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{f.name: with_values(getattr(part, f.name), values) for f in fields(part)})
    return part


def _check_names(model: Model, faults: Faults) -> None:
    kinds: dict[str, list[str]] = {
        "Body": [body.name for body in model.bodies],
        "Frame": [*model.frames],
        "Joint": [body.joint.name for body in model.bodies if body.joint.nu],
        "Force": [force.name for force in model.forces],
        "Constraint": [c.name for c in model.switchable],
        # not model.coordinates, which would keep the order that bodies have now
        "Variable": [name for body in model.bodies for name in (*body.joint.coordinates(), *body.joint.speeds())]
        + [state.name for state in model.states],
    }
    for kind, names in kinds.items():
        for name in names:
            if not isinstance(name, str) or not name.strip():
                faults.add(f"{kind} without a name ({name!r}), expected text.")
            elif not name.isprintable():
                faults.add(f"{kind} {name!r}: expected a name on one line, of characters that can be printed.")
        for name, times in Counter(names).items():
            if times > 1 and (kind != "Frame" or kinds["Body"].count(name) < 2):
                faults.add(f"{kind} {name!r} exists {times} times, expected once. Rename all but one.")
    if WORLD in kinds["Frame"]:
        faults.add(f"Body or marker {WORLD!r}: that name belongs to the ground. Rename it.")
    if TIME.value in kinds["Variable"]:
        faults.add("Variable 't': that name belongs to time. Rename the coordinate, speed or state.")


def _depth_first(bodies: Sequence[Body], faults: Faults) -> Iterable[Body]:
    names = {body.name for body in bodies}
    children: dict[str, list[Body]] = {}
    for body in bodies:
        children.setdefault(body.parent, []).append(body)
        if body.parent not in names and body.parent != WORLD:
            faults.add(
                f"Body {body.name!r}: its parent {body.parent!r} does not exist. "
                f"{closest(body.parent, [WORLD, *sorted(names - {body.name})])}"
            )
    ordered: list[Body] = []
    waiting = list(reversed(children.get(WORLD, [])))
    seen: set[str] = set()
    while waiting:
        body = waiting.pop()
        if body.name not in seen:
            seen.add(body.name)
            ordered.append(body)
            waiting += reversed(children.get(body.name, []))
    lost = [body for body in bodies if body.name not in seen]
    parent = {body.name: body.parent for body in lost}
    followed: set[str] = set()
    for body in lost:
        path: dict[str, None] = {}
        name = body.name
        while name in parent and name not in followed:
            followed.add(name)
            path[name] = None
            name = parent[name]
        if name in path:
            ring = list(path)[list(path).index(name) :]
            shown = [*ring[:6], "..."] if len(ring) > 7 else ring
            faults.add(
                f"Bodies {' on '.join(map(repr, [*shown, name]))} form a cycle, expected a tree that ends at {WORLD!r}."
            )
    return [*ordered, *lost]


def rigid_hosts(bodies: Iterable[Body], markers: Iterable[Marker]) -> dict[str, str]:
    """What every frame is fixed to, through any number of welds: a body that moves, or the world."""
    found = {WORLD: WORLD}
    for body in bodies:
        found[body.name] = body.name if body.joint.nu else found.get(body.parent, body.parent)
    return found | {marker.name: found.get(marker.body, marker.body) for marker in markers}


def tied(part: Element, hosts: Mapping[str, str]) -> str | None:
    """The one thing that a part pulls or holds against itself, None for a part between two.

    A knife edge is between its marker and the world.
    """
    found = [hosts.get(end) for end in part.between()]
    return found[0] if len(found) == 2 and found[0] == found[1] else None


def _check_references(model: Model, faults: Faults) -> None:
    bodies = dict.fromkeys([WORLD, *(body.name for body in model.bodies)])
    known = {
        "marker": dict.fromkeys([WORLD, *model.frames]),
        "coordinate": dict.fromkeys(model.coordinates),
        "speed": dict.fromkeys(model.speeds),
        "joint": dict.fromkeys(body.joint.name for body in model.bodies if body.joint.nu),
    }
    hosts = rigid_hosts(model.bodies, model.markers)
    for marker in model.markers:
        if marker.body not in bodies:
            faults.add(f"Marker {marker.name!r}: body {marker.body!r} does not exist. {closest(marker.body, bodies)}")
    for part in (*model.forces, *model.constraints):
        if (host := tied(part, hosts)) is not None:
            idle = "moves" if isinstance(part, Force) else "restricts"
            faults.add(f"{part.what} has both ends on {host!r}, which is rigid, so it {idle} nothing.")
        check_names(part, known, faults)
        for text in part.faults():
            faults.add(text)
    for name, times in Counter(c.coordinate for c in model.switchable if isinstance(c, Stop)).items():
        if times > 1:
            faults.add(
                f"Coordinate {name!r} has {times} stops, expected one law for it. Leave out all but one, or the "
                'limits of the joints with limits="ignore".'
            )
    if model.limits not in ("stop", "ignore"):
        faults.add(f'Model {model.name!r}: limits is {model.limits!r:.60}, expected "stop" or "ignore".')
    for name, times in Counter(c.coordinate for c in model.couplings).items():
        if times > 1:
            faults.add(f"Coordinate {name!r} has {times} couplings, expected one. Make the others constraints.")


def _check_switches(model: Model, faults: Faults) -> None:
    names = [c.name for c in model.switchable]
    changing = {*model.coordinates, *model.speeds, *(state.name for state in model.states), TIME.value}
    for switch in model.switches:
        what = f"Switch {str(switch)!r}"
        for word, given in (("engage", switch.engage), ("release", switch.release)):
            for name in given:
                if name not in names:
                    faults.add(f"{what}: there is no constraint {name!r} to {word}. {closest(name, names)}")
        for name in {*switch.engage} & {*switch.release}:
            faults.add(f"{what} engages and releases {name!r}, expected one of the two.")
        if not (switch.engage or switch.release):
            faults.add(f"{what} does nothing. Give the names of constraints to engage or to release.")
        if isinstance(switch, When) and not changing & {s.value for s in free_symbols(switch.value)}:
            faults.add(
                f"{what}: nothing in it changes, so it never happens. Expected coordinates, speeds, states or t."
            )


def check_names(part: Element, known: Mapping[str, Iterable[str]], faults: Faults) -> None:
    """Note the markers, coordinates and speeds of an element that do not exist."""
    for kind, names in known.items():
        for name in part.uses(kind):
            if name not in names:
                faults.add(f"{part.what}: {kind} {name!r} does not exist. {closest(name, names)}")


def _idle(body: Body) -> list[str]:
    """Speeds of the outermost part of a joint that move nothing with inertia."""
    part, inertia = body.joint.parts[0], body.total
    found = zip(body.joint.speeds(), twists(part.H), body.joint.armature, strict=False)
    return [speed for speed, h, a in found if a == 0 and h.dot(inertia @ h) == 0]


def _unphysical(bodies: Iterable[Body]) -> list[str]:
    found = []
    for body in bodies:
        reason = values.unphysical(body.mass, body.inertia)
        if reason is not None:
            found.append(f"Body {body.name!r}: {reason}.")
    return found


def _check_inertias(model: Model, faults: Faults) -> None:
    for body in model.bodies:
        m = body.mass.number
        if m is not None and m < 0:
            faults.add(f"Body {body.name!r}: mass is {m:.6g}, expected 0 or more.")
        elif not model.literal:
            for text in _unphysical([body]):
                faults.add(text)


def _check_symbols(model: Model, faults: Faults) -> None:
    speeds = {symbol(name) for name in model.speeds}
    states = {symbol(state.name): state for state in model.states}
    variables = {symbol(name) for name in model.coordinates} | speeds | {TIME, *states}
    variables_of = _Dependence([*model._constants(), *model.laws()], variables)
    for body in model.bodies:
        for s in variables_of(body.quantities()):
            faults.add(
                f"Body {body.name!r} has a quantity that depends on {s}, a coordinate, speed, state or time. "
                "Expected a constant: rename the symbol, or move the dependence into a force."
            )
    rest = [*model.gravity, *(e for m in model.markers for e in (*m.pose.R.entries, *m.pose.p))]
    for s in variables_of(rest):
        faults.add(
            f"Gravity or a marker depends on {s}, a coordinate, speed, state or time. "
            "Expected constants: rename the symbol."
        )
    never: dict[str, set[Expr]] = {"constants": variables, "coordinates": speeds | {TIME, *states}, "anything": set()}
    for part in (*model.forces, *model.constraints, *model.states):
        for field, spec in part.specs.items():
            for s in variables_of(spec.entries(getattr(part, field))):
                if s in never[spec.of]:
                    faults.add(part.what + part.depends.format(s))
        if isinstance(part, Relation):
            _check_relation(part, variables_of([part.value]), speeds, states, faults)


class _Dependence:
    """Which variables expressions depend on; parts without any are walked once, for all that share them."""

    def __init__(self, exprs: Iterable[Expr], variables: set[Expr]) -> None:
        self.moving: set[Expr] = set()
        for e in topological(exprs):
            if e in variables or any(a in self.moving for a in e.args):
                self.moving.add(e)

    def __call__(self, exprs: Iterable[Expr]) -> list[Expr]:
        found = dict.fromkeys(e for e in exprs if e in self.moving)
        waiting = list(found)
        while waiting:
            new = dict.fromkeys(a for a in waiting.pop().args if a in self.moving and a not in found)
            found |= new
            waiting += new
        return sorted((e for e in found if e.op == "symbol"), key=str)


def _check_relation(
    relation: Relation, variables: list[Expr], speeds: set[Expr], states: dict[Expr, State], faults: Faults
) -> None:
    what = relation.what
    if not set(variables) - {TIME, *states}:
        faults.add(f"{what} has no coordinate and no speed, so it restricts nothing.")
    rates = [s for s in variables if s in speeds]
    for s in _nonlinear(relation.value, rates):
        faults.add(f"{what} is not linear in the speed {str(s)!r}, expected a sum of speeds times a(q, t).")
    for z in () if rates else [z for z in variables if z in states]:
        law = states[z].rate
        for s in _nonlinear(law, sorted(free_symbols(law) & speeds, key=str)):
            faults.add(
                f"{what} depends on the state {str(z)!r}, whose rate is not linear in the speed {str(s)!r}, so its "
                "own rate is not. Expected a rate linear in the speeds, or a constraint without that state."
            )


def _nonlinear(e: Expr, speeds: list[Expr]) -> list[Expr]:
    """The speeds that an expression is not linear in."""
    slopes = [(s, diff(e, s)) for s in speeds]
    return [s for s, slope in slopes if slope == 0 or free_symbols(slope) & set(speeds)]
