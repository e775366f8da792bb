"""A model checked as a whole: its names, what they refer to, its switches and inertias."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from polhode.graph import cross, free_symbols, zeros

from . import values
from .algebra import twists
from .body import WORLD, Body
from .elements import Force
from .errors import Faults, ModelError, closest
from .flexible import Flexible
from .joint import Joint
from .states import TIME
from .switched import Stop
from .switches import When
from .welds import rigid_hosts, tied

if TYPE_CHECKING:
    from .model import Model


def check_names(model: Model, faults: Faults) -> None:
    """Note names that are missing, occur twice or belong to the ground or to time."""
    kinds: dict[str, list[str]] = {
        "Body": [body.name for body in model.bodies],
        "Frame": [*model.frames],
        "Joint": [body.joint.name for body in model.bodies if body.joint.nu],
        "Force": [force.name for force in model.forces],
        "Constraint": [c.name for c in model.switchable],
        # not model.coordinates, which would keep the order that bodies have now
        "Variable": [name for body in model.bodies for name in (*body.coordinates, *body.speeds)]
        + [state.name for state in model.states]
        + [str(s.value) for s in model.controls],
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
    speeds = {name for body in model.bodies for name in body.speeds}
    for actuator in model.actuators:
        if actuator.name in speeds:
            faults.add(
                f"{actuator.what}: that name is a speed's, so tau={{{actuator.name!r}: ...}} could mean either. "
                "Rename the actuator, or the motor that it belongs to."
            )
    if TIME.value in kinds["Variable"]:
        faults.add("Variable 't': that name belongs to time. Rename the coordinate, speed or state.")


def check_controls(model: Model, faults: Faults) -> None:
    """Note a force of an actuator that has a parameter almost of the name of its control, which is used nowhere."""
    used = free_symbols(model.laws())
    parameters = {*model.parameters}
    for actuator in model.actuators:
        if actuator.force is None or actuator.control in used:
            continue
        control = str(actuator.control.value)
        own = sorted(str(s.value) for s in free_symbols(actuator.force) & parameters)
        if close := get_close_matches(control, own, 1, 0.8):
            faults.add(
                f"{actuator.what}: its force has the parameter {close[0]!r}, and nothing has its control. "
                f"Did you mean {control!r}?"
            )


def depth_first(bodies: Sequence[Body], faults: Faults) -> Iterable[Body]:
    """Order bodies so that parents are before children; note those that hang on nothing or on themselves."""
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


def _check_stations(model: Model, faults: Faults) -> None:
    """Note what stands where a body that deforms has no section."""
    deforming = {body.name: body.flexible for body in model.bodies if body.flexible is not None}
    for body in model.bodies:
        if body.flexible is not None and past_origin(body.joint, body.flexible):
            faults.add(
                f"Body {body.name!r}: the axis of its joint goes through a place where it bends, and a body that "
                "deforms is held at its origin. Leave out the joint's at=, and have the beam begin elsewhere: "
                "start=(-1, 0, 0)."
            )
    placed = [(f"Body {body.name!r}", body.parent, body.pose) for body in model.bodies]
    for what, name, pose in (*placed, *((f"Marker {m.name!r}", m.body, m.pose) for m in model.markers)):
        if (flexible := deforming.get(name)) is not None:
            with faults.caught():
                flexible.station(pose.p, f"{what} on {name!r}")


def past_origin(joint: Joint, flexible: Flexible) -> bool:
    """Whether the axis of a hinge goes through a section that its modes move, away from the origin."""
    for h in (h for part in joint.parts for h in twists(part.H)):
        past = cross(h.w, h.v)
        if past != zeros(3) and all(e.number is not None for e in (*h.w, *past)):
            p = past / (h.w @ h.w)
            try:
                station = flexible.station(p, "axis")
            except ModelError:
                continue
            if not station.still and all(abs((e - x).number or 0) < 1e-9 for e, x in zip(p, station.p, strict=True)):
                return True
    return False


def check_references(model: Model, faults: Faults) -> None:
    """Note what refers to something that does not exist, or says a thing twice."""
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
    _check_stations(model, faults)
    for part in (*model.forces, *model.constraints):
        if (host := tied(part, hosts)) is not None:
            idle = "moves" if isinstance(part, Force) else "restricts"
            faults.add(f"{part.what} has both ends on {host!r}, which is rigid, so it {idle} nothing.")
        for text in (*part.missing(known), *part.faults()):
            faults.add(text)
    for shape in model.shapes:
        for text in (*shape.missing(known), *shape.faults()):
            faults.add(text)
    for motor in model.motors:
        for text in motor.faults():
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


def check_switches(model: Model, faults: Faults) -> None:
    """Note switches that do nothing, never happen, or name what cannot be switched."""
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


def unphysical(bodies: Iterable[Body]) -> list[str]:
    """Say which bodies no distribution of mass could have the inertia of."""
    found = []
    for body in bodies:
        reason = values.unphysical(body.mass, body.inertia)
        if reason is not None:
            found.append(f"Body {body.name!r}: {reason}.")
    return found


def _resisting(body: Body) -> list[tuple[str, float | None]]:
    """What must be above 0 of a body that deforms, None where it is no number yet."""
    if body.flexible is None:
        return []
    resists, flexible = body.flexible.stiffness, body.flexible
    stiff = [(f"the stiffness of its mode {mode!r}", resists[k, k].number) for k, mode in enumerate(flexible.modes)]
    return [("the length", flexible.length.number), ("the mass", flexible.inertia.m.number), *stiff]


def check_inertias(model: Model, faults: Faults) -> None:
    """Note masses below 0, and inertias that no body can have unless they are to be taken as they are."""
    for body in model.bodies:
        for text in inertia_faults(body, model.literal):
            faults.add(text)


def inertia_faults(body: Body, literal: bool) -> Iterator[str]:
    """Say what is wrong with the inertia of a body, as far as it is in numbers."""
    m = body.mass.number
    if m is not None and m < 0:
        yield f"Body {body.name!r}: mass is {m:.6g}, expected 0 or more."
    elif not literal and not body.rotor:
        yield from unphysical([body])
    for what, x in _resisting(body):
        if x is not None and x < 0:
            yield f"Body {body.name!r}: {what} is {x:.6g} with these values, expected 0 or more."
