"""Mechanisms grown from a seed, to test what must hold for every one of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from polhode.graph import Expr, symbol

from .body import WORLD
from .builder import Builder
from .joint import Joint, compound, joint
from .model import Model
from .named import cylindrical, free, planar, prismatic, revolute, screw, spherical, universal

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


def grow(seed: int, kinds: Sequence[str] | int = 5, forces: bool = False, symbolic: bool = False) -> Model:
    """Grow a random tree of bodies.

    seed     : the same seed grows the same mechanism
    kinds    : the joints by name (see JOINTS), in order, or how many to draw
    forces   : add springs, dampers, a force law and a wrench
    symbolic : masses are symbols m1, m2, ... instead of numbers

    >>> grow(1, ["free", "revolute", "revolute"]).nu
    8
    """
    draw = random.Random(seed)
    names = [draw.choice(sorted(HOLONOMIC)) for _ in range(kinds)] if isinstance(kinds, int) else list(kinds)
    build = Builder(f"grown {seed}", gravity=_vector(draw, 10))
    bodies = [WORLD]
    for i, kind in enumerate(names):
        principal = [draw.uniform(1, 1.9) for _ in range(3)]  # none above the sum of the others
        mass: Expr | float = draw.uniform(0.5, 2)
        mass = symbol(f"m{i + 1}") if symbolic else mass
        build.body(
            f"b{i + 1}",
            parent=bodies[-1] if draw.random() < 0.6 else draw.choice(bodies),
            joint=JOINTS[kind](draw),
            at=_vector(draw),
            rpy=_vector(draw, 2),
            mass=mass,
            com=_vector(draw, 0.5),
            inertia=principal,
        )
        bodies.append(f"b{i + 1}")
        build.marker(f"tip{i + 1}", body=bodies[-1], at=_vector(draw), rpy=_vector(draw))
    if forces:
        _load(build, draw, bodies[1:])
    return build.build()


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
