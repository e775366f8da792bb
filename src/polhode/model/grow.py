"""Mechanisms grown from a seed, to test what must hold for every one of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polhode.graph import Expr, evaluate, symbol

from .beam import Beam, beam
from .body import WORLD
from .builder import Builder
from .checks import past_origin
from .joint import Joint, compound, joint
from .model import Model
from .named import cylindrical, free, planar, prismatic, revolute, screw, spherical, universal, weld

Draw = random.Random


def _vector(draw: Draw, size: float = 1.0) -> list[float]:
    return [draw.uniform(-size, size) for _ in range(3)]


def _axis(draw: Draw) -> list[float] | str:
    """One of the axes half of the time, any direction otherwise, never a short one."""
    if draw.random() < 0.5:
        return draw.choice(["x", "y", "z", "-y"])
    return [draw.choice([-1, 1]) * draw.uniform(0.2, 1) for _ in range(3)]


def _map(draw: Draw) -> Joint:
    """A general screw: turning and advancing about no axis in particular."""
    return joint([*_vector(draw), *_vector(draw)])


def _skewed(draw: Draw) -> Joint:
    """A spherical joint on three axes that are not orthogonal."""
    rows = [[float(i == j) + draw.uniform(-0.3, 0.3) for j in range(3)] for i in range(3)]
    return joint([*rows, [0] * 3, [0] * 3, [0] * 3])


# closing joints by angles: every formulation takes them
HOLONOMIC: dict[str, Callable[[Draw], Joint]] = {
    "revolute": lambda draw: revolute(_axis(draw), at=_vector(draw) if draw.random() < 0.3 else (0, 0, 0)),
    "prismatic": lambda draw: prismatic(_axis(draw)),
    "screw": lambda draw: screw(_axis(draw), pitch=draw.uniform(-0.5, 0.5)),
    "cylindrical": lambda draw: cylindrical(_axis(draw)),
    "universal": lambda draw: universal(draw.choice([("x", "y"), ("z", "x"), ([1, 1, 0], "z")])),
    "planar": lambda draw: planar(_axis(draw)),
    "spherical": lambda draw: spherical(),
    "free": lambda draw: free(),
    "map": _map,
    "skewed": _skewed,
    "compound": lambda draw: compound([revolute("x"), prismatic(_axis(draw)), revolute("z")]),
}
# coordinates that are more than the speeds
REDUNDANT: dict[str, Callable[[Draw], Joint]] = {
    "spherical quaternion": lambda draw: spherical(quaternion=True),
    "free quaternion": lambda draw: free(quaternion=True),
    "nonholonomic": lambda draw: joint([[0, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]], nonholonomic=True),
    "skate": lambda draw: joint([[0, 0], [0, 0], [1, 0], [0, 1], [0, 0], [0, 0]], nonholonomic=True),
}
JOINTS = HOLONOMIC | REDUNDANT


def grow(
    seed: int,
    kinds: Sequence[str] | int = 5,
    forces: bool = False,
    symbolic: bool = False,
    flexible: float = 0,
    loops: bool = False,
) -> Model:
    """Grow a random tree of bodies.

    seed     : the same seed grows the same mechanism
    kinds    : the joints by name (see JOINTS), in order, or how many to draw
    forces   : add springs, dampers, a force law and a wrench
    symbolic : masses are symbols m1, m2, ... instead of numbers, those of beams mu1, mu2, ...
    flexible : the share of bodies that are beams on hubs, one at least unless it is 0; some carry a payload that is
               welded to them
    loops    : tie the last body to the ground at a point, and by a distance; both are open where it stands

    >>> grow(1, ["free", "revolute", "revolute"]).nu
    8
    >>> grow(1, ["free", "revolute", "revolute"], flexible=0.5).body("b2").modes
    ('b2_z1', 'b2_twist1')
    """
    draw, bend = random.Random(seed), random.Random(f"bent {seed}")  # rigid ones stay as they are
    names = [draw.choice(sorted(HOLONOMIC)) for _ in range(kinds)] if isinstance(kinds, int) else list(kinds)
    build = Builder(f"grown {seed}", gravity=_vector(draw, 10))
    bodies = [WORLD]
    beams: dict[str, Beam] = {}
    sure = bend.randrange(len(names)) if names else 0
    for i, kind in enumerate(names):
        principal = [draw.uniform(1, 1.9) for _ in range(3)]  # none above the sum of the others
        mass: Expr | float = draw.uniform(0.5, 2)
        mass = symbol(f"m{i + 1}") if symbolic else mass
        name = f"b{i + 1}"
        if flexible and (i == sure or bend.random() < flexible):
            beams[name] = _beam(bend, symbol(f"mu{i + 1}") if symbolic else bend.uniform(0.5, 2))
        parent = bodies[-1] if draw.random() < 0.6 else draw.choice(bodies)
        hinge = JOINTS[kind](draw)
        if name in beams and past_origin(hinge, beams[name]):
            del beams[name]
        build.body(
            name,
            parent=parent,
            joint=hinge,
            at=_at(draw, bend, beams.get(parent)),
            rpy=_vector(draw, 2),
            mass=mass,
            com=_vector(draw, 0.5),
            inertia=principal,
            flexible=beams.get(name),
        )
        bodies.append(name)
        build.marker(f"tip{i + 1}", body=name, at=_at(draw, bend, beams.get(name)), rpy=_vector(draw))
        if name in beams and bend.random() < 0.5:
            build.body(f"load{i + 1}", parent=name, joint=weld(), at=_beside(bend, beams[name]), rpy=_vector(bend),
                       mass=bend.uniform(0.1, 0.5), com=_vector(bend, 0.2), inertia=(0.1, 0.12, 0.15))  # fmt: skip
    if loops:
        build.marker("anchor", body=WORLD, at=_vector(bend, 3))
        build.loop("anchor", f"tip{len(names)}", name="closed")
        build.loop("anchor", "tip1", "distance", length=1, name="rod")
    if forces:
        _load(build, draw, bodies[1:])
    return build.build()


def _beam(draw: Draw, mu: Expr | float) -> Beam:
    """A beam with one or two modes of some of its ways to deform, in any direction, that may begin off the joint."""
    kinds = draw.sample(["y", "z", "twist", "stretch"], draw.choice([1, 2, 2, 3, 4]))
    stiff = {"y": "EI_z", "z": "EI_y", "twist": "GJ", "stretch": "EA"}
    ends = draw.choice(["clamped-free", "clamped-free", "pinned-pinned", "clamped-pinned"])
    given: dict[str, Any] = {stiff[kind]: draw.uniform(50, 500) for kind in kinds}
    return beam(
        length=draw.uniform(0.5, 2),
        mu=mu,
        **given,
        J_y=0.02,
        J_z=0.03,
        modes={kind: draw.choice([1, 1, 2]) for kind in kinds},
        ends=ends,
        shapes=draw.choice(["exact", "polynomial"]),
        axis=_axis(draw),
        start=_vector(draw, 0.2) if draw.random() < 0.3 and ends[0] == "c" else (0, 0, 0),
        damping=draw.choice([0, 0.02]),
        rotary=draw.random() < 0.3,
        order=draw.choice(["first", "second", "full"]),
    )


def _at(draw: Draw, bend: Draw, carrier: Beam | None) -> list[float]:
    """Somewhere on a body, which may be a beam."""
    anywhere = _vector(draw)
    return anywhere if carrier is None else _beside(bend, carrier)


def _beside(draw: Draw, carrier: Beam) -> list[float]:
    """A point of a beam at its end or between, on its axis or off it."""
    L = float(carrier.length)
    along = L if draw.random() < 0.4 else draw.uniform(0.1, 0.9) * L
    off = [0.0, 0.0] if draw.random() < 0.5 else [draw.uniform(-0.3, 0.3) for _ in range(2)]
    start, frame = np.array(evaluate(carrier.start, {})), np.array(evaluate(carrier.frame, {}))
    found: list[float] = (start + frame @ [along, *off]).tolist()
    return found


def _load(build: Builder, draw: Draw, bodies: list[str]) -> None:
    """Put forces of every kind on a mechanism."""
    build.marker("ground", body=WORLD, at=_vector(draw, 3))
    build.spring("ground", f"tip{len(bodies)}", stiffness=draw.uniform(1, 5), length=0.3, damping=draw.uniform(0, 1))
    build.spring("ground", "tip1", stiffness=draw.uniform(1, 5), length=0)
    model = build.build()
    first, last = symbol(model.coordinates[0]), symbol(model.speeds[-1])
    build.wrench("tip1", force=[first, 1, last], torque=_vector(draw), axes=draw.choice(["world", "marker"]))
    build.force(model.speeds[0], -last * draw.uniform(0.1, 1))
    build.potential(first**2 * draw.uniform(0.5, 2))
