"""The six degree of freedom arm of section IV, for Polhode and for the reference."""

from fractions import Fraction

import numpy as np
from kwatny_reference import Chain, array

import polhode as ph
from polhode.formulations.chain import ChainBody

Q = ("s1", "s2", "e", "t1", "t2", "t3")
P = ("w1", "w2", "u1", "v1", "v2", "v3")
X, Y, Z = np.eye(6, dtype=int)[:3].tolist()


def bar(mass, length):
    """A slender bar along z."""
    I = mass * length**2 / 12
    return (0, 0, length / 2), (0, 0, length), mass, (I, I, Fraction(0))


def gripper(mass, length, radius):
    """The cylinder as printed, with 1/12 m R^2 about its axis (a solid cylinder has 1/2 m R^2)."""
    I = mass * (length**2 + 3 * radius**2) / 12
    return (0, 0, length / 2), (0, 0, length), mass, (I, I, mass * radius**2 / 12)


BODIES = (
    bar(Fraction(1), Fraction(3)),
    bar(Fraction(1), Fraction(3)),
    gripper(Fraction(1, 2), Fraction(7, 10), Fraction(7, 20)),
)


def joints(wrist):
    """Shoulder {1, 1}, elbow {1}, wrist {1, 1, 1} or {3}, with the paper's names."""
    return (
        ph.joint(array([Y, Z]).T, split=[1, 1], q=Q[:2], u=P[:2]),
        ph.joint(array([Y]).T, q=Q[2:3], u=P[2:3]),
        ph.joint(array([Y, Z, X]).T, split=wrist, q=Q[3:], u=P[3:]),
    )


def model(wrist):
    build = ph.Builder("arm", gravity=(0, 0, -1))
    at, parent = (0, 0, 0), "world"
    for name, joint, (com, outboard, mass, inertia) in zip(
        ("upper", "lower", "gripper"), joints(wrist), BODIES, strict=True
    ):
        build.body(name, parent=parent, at=at, joint=joint, mass=mass, com=com, inertia=inertia)
        at, parent = outboard, name
    build.marker("end", body="gripper", at=at)
    return build.build()


def chain_bodies():
    return [
        ChainBody(com=com, outboard=outboard, mass=mass, inertia=np.diag(array(inertia)).tolist())
        for com, outboard, mass, inertia in BODIES
    ]


def reference(wrist):
    """The same arm by first principles; a wrist of parts of the given sizes."""
    bodies = [(com, outboard, mass, np.diag(array(inertia))) for com, outboard, mass, inertia in BODIES]
    columns, parts = [Y, Z, X], []
    for size in wrist:
        parts.append(columns[:size])
        columns = columns[size:]
    return Chain([[[Y], [Z]], [[Y]], parts], bodies)
