"""Rows written as actions on two bodies are those whose slopes are taken, at states off the constraints too."""

import random

import numpy as np
import pytest

import polhode as ph
from polhode.graph import free_symbols
from polhode.kinematics import constrain, derive
from polhode.kinematics.actions import _rows, _written
from polhode.kinematics.candidates import candidates
from polhode.model.constraints import LOOPS


@pytest.mark.parametrize("kind", [*LOOPS, "disc", "sphere", "knife"])
@pytest.mark.parametrize("carried", [False, True])
def test_actions_are_the_slopes_of_the_rows(kind, carried):
    """With the slopes of psi by u and along the motion, on a tree with every kind of joint."""
    build = ph.Builder("tree")
    base = {}
    if carried:
        build.body("cart", joint=ph.free(), mass=2, inertia=(1, 2, 2.5))
        base = {"parent": "cart"}
    build.body("a", joint=ph.revolute((1, 2, 3)), at=(0.1, 0.2, 0.3), rpy=(0.3, 0.1, -0.4), mass=1, **base)
    build.body("b", parent="a", joint=ph.universal(("z", "x")), at=(0.5, 0, 0.1), mass=1, inertia=(1, 1, 1.5))
    build.body("c", joint=ph.spherical(quaternion=True), at=(1, 0, 0), mass=1, inertia=(1, 1.2, 1.5), **base)
    build.body("d", parent="c", joint=ph.screw("y", pitch=0.2), at=(0, 0.4, 0), rpy=(0, 0.5, 0), mass=1)
    build.body("e", parent="d", joint=ph.prismatic((1, 0, 1)), mass=1)
    build.marker("A", body="b", at=(0.2, -0.1, 0.3), rpy=(0.2, 0.4, 0.1))
    build.marker("B", body="e", at=(0.1, 0.3, -0.2), rpy=(-0.3, 0.2, 0.7))
    if kind in ("disc", "sphere"):
        build.rolling("A", "B", radius=0.3, shape=kind)
    elif kind == "knife":
        build.knife_edge("A", axis=(1, 2, 2))
    else:
        more = {"length": 0.7} if kind == "distance" else {}
        build.loop("A", "B", kind, axis=(1, 2, 2), **more)
    _compare(constrain(derive(build.build())))


@pytest.mark.parametrize("kind", ["point", "hinge", "weld", "axis"])
@pytest.mark.parametrize("ends", [("tip", "c"), ("c", "tip"), ("tip", "post"), ("post", "tip")])
def test_actions_of_latches_are_the_slopes_of_their_rows(kind, ends):
    """Also where one body carries the other, which decides the axes that a point is held in."""
    build = ph.Builder("tree")
    build.body("c", joint=ph.spherical(quaternion=True), at=(1, 0, 0), mass=1, inertia=(1, 1.2, 1.5))
    build.body("d", parent="c", joint=ph.screw("y", pitch=0.2), at=(0, 0.4, 0), rpy=(0, 0.5, 0), mass=1)
    build.body("e", parent="d", joint=ph.prismatic((1, 0, 1)), mass=1)
    build.marker("tip", body="e", at=(0.1, 0.3, -0.2), rpy=(-0.3, 0.2, 0.7))
    build.marker("post", body="world", at=(0.5, 0.2, 0.1), rpy=(0.1, 0.2, 0.3))
    build.latch(*ends, kind, axis=(1, 2, 2))
    _compare(candidates(derive(build.build())).rows)


def _compare(held):
    rows = dict(_rows(held.kinematics, set(held.names)))
    assert set(rows) == set(held.labels)
    n = len(held.kinematics.u)
    written = [(*_written(rows[label].actions, n), rows[label].sizes) for label in held.labels]
    draw = random.Random(3)
    names = {*held.kinematics.q, *held.kinematics.u, *free_symbols([*held.psi, *held.gamma])}
    for _ in range(3):
        values = {s: draw.uniform(-1, 1) for s in sorted(names, key=str)}
        turn = [s for s in names if str(s.value).startswith("c_q")]
        size = sum(values[s] ** 2 for s in turn) ** 0.5
        values |= {s: values[s] / size for s in turn}
        plain = zip(held.psi, held.J.rows(), held.gamma, held.reference.rows(), strict=True)
        for (psi, J, gamma, sizes), (p, slopes, g, squares) in zip(written, plain, strict=True):
            E2 = [sizes.get(j, 0 * psi) for j in range(n)]
            sides = [psi, *J, gamma, *E2], [p, *slopes, g, *squares]
            found, expected = (np.array(ph.evaluate(e, values)) for e in sides)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
