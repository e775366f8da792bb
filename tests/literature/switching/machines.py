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
