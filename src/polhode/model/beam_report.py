"""What a careful reader would ask of beams: loads that their shapes do not expect, hubs that may be loads, damping."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polhode.graph import Expr, Matrix, as_expr
from polhode.spatial import Inertia

from .beam import Beam
from .body import Body
from .errors import listed
from .fields import short
from .sections import proportion

if TYPE_CHECKING:
    from .model import Model

HEAVY = 0.5  # of the mass of a beam: with two exact shapes a point of it changes the second frequency by 1.5 %
TURNS = 2e-3  # of m L^2: with two exact shapes such a moment of inertia changes the second frequency by 2 %
NEAR = 0.99  # of the length: at the tip


def beam_findings(model: Model) -> Iterator[str]:
    """Say what is doubtful about the beams of a model."""
    for body in model.bodies:
        if body.flexible is not None and not body.flexible.root.still and body.total != Inertia.zero():
            yield (
                f"Body {body.name!r}: its mass= and inertia= move with its undeformed line, and its joint turns with "
                "the end that its modes turn. A hub that turns with the joint is a body of its own, welded to that end."
            )
        if isinstance(body.flexible, Beam):
            yield from _of_load(model, body, body.flexible)
            yield from _of_hub(body, body.flexible)
            yield from _of_damping(body, body.flexible)


def _of_load(model: Model, body: Body, beam: Beam) -> Iterator[str]:
    """Loads at the tip that shapes of a free end, or of one with a mass, are not made for."""
    kinds = dict(beam.counts)
    if beam.shapes != "exact" or beam.ends not in ("clamped-free", "clamped-mass") or not kinds.keys() & {"y", "z"}:
        return
    there = [other for other in model.bodies if other.parent == body.name and _at_tip(beam, other)]
    heavy = [other for other in there if other.undeformed != Inertia.zero() or _carries(model, other)]
    turning = [other.name for other in heavy if _carries(model, other) or _turns(beam, other)]
    load = sum((other.mass + other.welded.m for other in heavy), as_expr(0))
    if turning:
        yield (
            f"Body {body.name!r}: its exact shapes do not curve at the free end, where {listed(turning)} turns with "
            'it, so that they converge slowly and frequencies are too high. Give the beam shapes="polynomial".'
        )
    elif beam.ends == "clamped-free" and ((load / beam.inertia.m).number or 0) > HEAVY:
        yield (
            f"Body {body.name!r}: its exact shapes are those of a free end, where {listed(o.name for o in heavy)} is. "
            f'Give the beam ends="clamped-mass" and tip_mass={short(load)}, or shapes="polynomial".'
        )
    elif beam.ends == "clamped-mass" and not heavy:
        yield (
            f"Body {body.name!r}: its shapes expect tip_mass={short(beam.tip_mass)} at the tip, which has no mass by "
            "itself, and nothing with mass is there. Weld a body of that mass to it."
        )


def _of_hub(body: Body, beam: Beam) -> Iterator[str]:
    """A hub that is so far along the beam that a payload was probably meant."""
    part = proportion(_along(beam, body.com), beam.length)
    if body.mass != 0 and part is not None and part > 0.5:
        yield (
            f"Body {body.name!r}: its mass={short(body.mass)} is that of a rigid hub, which does not move as the beam "
            f"bends, and com= puts it at {part:.3g} of the length. A payload is a body of its own, welded there."
        )


def _of_damping(body: Body, beam: Beam) -> Iterator[str]:
    over = [mode for mode, zeta in zip(beam.modes, beam.zeta, strict=True) if (zeta.number or 0) > 1]
    if over:
        yield (
            f"Body {body.name!r}: the damping ratio of {listed(over)} is above 1, so that these do not vibrate. "
            "One per cent is damping=0.01."
        )


def _along(beam: Beam, p: Matrix) -> Expr:
    """How far along a beam a point of its body is."""
    x: Expr = beam.frame.T[0] @ (p - beam.start)
    return x


def _at_tip(beam: Beam, other: Body) -> bool:
    return (proportion(_along(beam, other.pose.p), beam.length) or 0) >= NEAR


def _carries(model: Model, body: Body) -> bool:
    """Whether a body deforms, or others with mass are on it."""
    below = [other for other in model.bodies if other.parent == body.name]
    return body.flexible is not None or any(o.undeformed != Inertia.zero() or _carries(model, o) for o in below)


def _turns(beam: Beam, other: Body) -> bool:
    """Whether a body has a moment of inertia about the tip, beyond that of a small load."""
    tip = beam.start + beam.frame.T[0] * beam.length
    about = (other.pose @ other.total).shifted(-tip).I
    sizes = [(about[i, i] / (beam.inertia.m * beam.length**2)).number for i in range(3)]
    return any(size is not None and size > TURNS for size in sizes)
