"""Machines of the switching literature, in the plane and in space."""

from __future__ import annotations

from typing import Any

import numpy as np

import polhode as ph

G = 9.81


def compiled(build: ph.Builder) -> Any:
    return ph.formulate(build.build()).compile()


def in_plane(name: str, gravity: float = G) -> ph.Builder:
    """A builder whose body "body" slides along x and z and turns about y."""
    build = ph.Builder(name, gravity=(0, 0, -gravity))
    build.body("along x", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("along z", parent="along x", joint=ph.prismatic("z", name="z"), mass=0)
    return build


def turning(build: ph.Builder, mass: float, inertia: float) -> ph.Builder:
    joint = ph.revolute("y", name="a")
    build.body("body", parent="along z", joint=joint, mass=mass, inertia=(inertia, inertia, inertia))
    return build


def disc(mu: float, radius: float, mass: float = 2.0, slope: float = 0.0) -> Any:
    """A disc on a plane that falls towards +x by `slope`, x and z along and across it."""
    build = ph.Builder("disc", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    build.body("along x", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("along z", parent="along x", joint=ph.prismatic("z", name="z"), mass=0)
    turning(build, mass, mass * radius**2 / 2)
    build.contact("body", shape="disc", radius=radius, axis="y", friction=mu, name="ground")
    return compiled(build)


def rotors(**clutch: Any) -> Any:
    """Two rotors of inertia 2 and 3 on one axis, with a clutch between them that is open."""
    build = ph.Builder("rotors", gravity=(0, 0, 0))
    for name, inertia in (("p", 2.0), ("q", 3.0)):
        build.body(name, joint=ph.revolute("z", name=name), mass=1, inertia=(2, 2, inertia))
    build.clutch("p_dot", "q_dot", name="clutch", active=False, **clutch)
    return compiled(build)


def ball(restitution: float, **contact: Any) -> Any:
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", restitution=restitution, name="ground", **contact)
    return compiled(build)


def belt(mass: float, stiffness: float, speed: float, static: float, kinetic: float) -> Any:
    """A block on a belt, held by a spring."""
    build = ph.Builder("belt", gravity=(0, 0, -G))
    build.body("belt", joint=ph.prismatic("x", name="b"), mass=1)
    build.body("along x", joint=ph.prismatic("x", name="x", stiffness=stiffness), mass=0)
    build.body("block", parent="along x", joint=ph.prismatic("z", name="z"), mass=mass)
    build.contact("block", "belt", friction=kinetic, static=static, name="grip")
    build.prescribe("b", speed * ph.TIME)
    return compiled(build)


def rocking(wide: float = 0.2, high: float = 0.8) -> tuple[Any, dict[str, float]]:
    """A block of half sizes, and where it starts: half way to where it would fall over."""
    build = turning(in_plane("block"), 1.0, (wide**2 + high**2) / 3)
    for name, side in (("left", -1), ("right", 1)):
        build.marker(name, body="body", at=(side * wide, 0, -high))
        build.contact(name, friction=10.0, name=name)
    theta = np.arctan(wide / high) / 2
    s, c = np.sin(theta), np.cos(theta)
    return compiled(build), {"x": s * high - c * wide, "z": s * wide + c * high, "a": theta}


def box(half: tuple[float, float, float], mass: float, gravity: float = G, **contact: Any) -> Any:
    """A box whose eight corners may touch the ground."""
    build = ph.Builder("box", gravity=(0, 0, -gravity))
    squares = np.square(half)
    inertia = tuple(mass / 3 * (squares.sum() - squares))
    build.body("box", joint=ph.free(name="b", quaternion=True), mass=mass, inertia=inertia)
    for i in range(8):
        at = [h if i >> k & 1 else -h for k, h in enumerate(half)]
        build.marker(f"corner {i}", body="box", at=at)
        build.contact(f"corner {i}", name=f"corner {i}", **contact)
    return compiled(build)


def stack(masses: tuple[float, ...], size: float) -> tuple[Any, dict[str, float]]:
    """Blocks in the plane on top of each other, each on two corners, and where they rest."""
    build, half, start = ph.Builder("stack", gravity=(0, 0, -G)), size / 2, {}
    for i, mass in enumerate(masses):
        build.body(f"x{i}", joint=ph.prismatic("x", name=f"x{i}"), mass=0)
        build.body(f"z{i}", parent=f"x{i}", joint=ph.prismatic("z", name=f"z{i}"), mass=0)
        joint = ph.revolute("y", name=f"a{i}")
        build.body(f"block {i}", parent=f"z{i}", joint=joint, mass=mass, inertia=(mass * size**2 / 6,) * 3)
        build.marker(f"top {i}", body=f"block {i}", at=(0, 0, half))
        for side in (-1, 1):
            corner = f"corner {i} {side}"
            build.marker(corner, body=f"block {i}", at=(side * half, 0, -half))
            build.contact(corner, f"top {i - 1}" if i else "world", friction=0.5, name=corner)
        start[f"z{i}"] = size * (i + 0.5)
    return compiled(build), start
