"""What a careful reader would want to know about a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polhode.spatial import Twist

from .algebra import twists
from .beam_report import beam_findings
from .body import Body
from .checks import unphysical
from .constraints import Coupling
from .definite import REMEDY, bending_limit
from .elements import Constraint
from .errors import grouped, listed
from .implied import limited
from .joint import Limits

if TYPE_CHECKING:
    from .model import Model


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


def report_on(model: Model) -> Report:
    """What a careful reader would want to know before trusting the model."""
    findings = list(model.notes)
    if model.literal:
        findings += [f for f in grouped(unphysical(model.bodies)) if f not in findings]
    for body, speeds in idle(model):
        findings += [
            f"Body {body.name!r}: nothing with inertia moves with the speed {speed!r}, so it is undetermined. "
            "Give the body inertia or the joint an armature."
            for speed in speeds
        ]
    for body in model.bodies:
        if (limit := bending_limit(body)) is not None:
            findings.append(
                f"Body {body.name!r}: where it bends by {100 * limit:.2g} % of its length in one mode, and sooner in "
                'several, its order "first" leaves one motion of its joint with its modes no inertia, and runs stop. '
                f"{REMEDY}"
            )
    findings += beam_findings(model)
    for c in model.couplings:
        findings.append(
            f"Coordinate {c.coordinate!r} should follow {c.of!r}: "
            f"{c.coordinate} = {c.ratio} * {c.of} + {c.offset}. "
            "Simulations hold that; M, c and tau leave both free."
        )
    if rows := [(c.name, c.rows) for c in model.holding if not isinstance(c, Coupling)]:
        shown = [f"{name!r} {n}" for name, n in rows[:8]] + ["..."] * (len(rows) > 8)
        many, free = sum(n for _, n in rows), f"all {model.nu} speeds" if model.nu > 1 else "the speed"
        findings.append(
            f"The constraint{'s have' if len(rows) > 1 else ' has'} {many} equation{'s' * (many > 1)}: "
            f"{', '.join(shown)}. Simulations hold {'them' if len(rows) > 1 else 'it'}; M, c and tau leave {free} free."
        )
    if stops := [stop.coordinate for stop in model.limit_stops]:
        acting = 'are stops in simulations; limits="ignore" in load(...) or Builder(...) leaves them out'
        how = acting if model.limits == "stop" else "are kept, but do not act in simulations"
        findings.append(f"Limits of {listed(stops)} {how}.")
    hinged = limited(body for body in model.bodies if body.joint.kind == "revolute")
    if turning := [name for name, limit in hinged if _in_degrees(limit)]:
        findings.append(f"Limits of {listed(turning)} are many turns, and look like degrees. They are in radians.")
    others = [name for name, limit in limited(model.bodies) if limit.speed is not None or limit.effort is not None]
    if others:
        findings.append(f"Limits of speed or effort of {listed(others)} are kept, but do not act in simulations.")
    if rubbing := [brake.speed for brake in model.friction_brakes]:
        findings.append(f"Dry friction on {listed(rubbing)} holds and slips in simulations; Q leaves it out.")
    if loose := [c for c in model.constraints if not c.holds]:
        shown = [f"{c.name!r} ({state_of(c)})" for c in loose[:8]] + ["..."] * (len(loose) > 8)
        findings.append(f"Simulations may engage and release {', '.join(shown)}; M, c and tau leave them out.")
    return Report(model.name, tuple(findings))


def _in_degrees(limit: Limits) -> bool:
    """Whether the limits of an angle are more than two turns, and round as degrees are."""
    ends = [x for x in (limit.lower, limit.upper) if x is not None and abs(x) < 1e6]
    return any(abs(x) > 4 * math.pi for x in ends) and all(x % 5 == 0 for x in ends)


def state_of(c: Constraint) -> str:
    """What a constraint does as declared, in a word or two."""
    if not c.active:
        return "released"
    return "engaged where it closes" if c.law == "unilateral" else "engaged"


def idle(model: Model) -> list[tuple[Body, list[str]]]:
    """The outermost bodies with speeds that move nothing with inertia where they are not deformed."""
    bodies = model.merged().bodies
    parents = {body.parent for body in bodies}
    return [(body, found) for body in bodies if body.name not in parents and (found := _idle(body))]


def _idle(body: Body) -> list[str]:
    """Speeds of the outermost part of a joint that move nothing with inertia, beyond rounding."""
    if not body.joint.parts:
        return []
    part, inertia = body.joint.parts[0], body.undeformed
    largest = max((abs(e.number) for e in inertia.matrix().entries if e.number is not None), default=0)

    def still(h: Twist) -> bool:
        x = h.dot(inertia @ h).number
        return x is not None and abs(x) <= 1e-14 * largest * max(abs(e.number or 1) for e in h.vector()) ** 2

    found = zip(body.joint.speeds(), twists(part.H), body.joint.armature, strict=False)
    return [speed for speed, h, a in found if a == 0 and still(h)]
